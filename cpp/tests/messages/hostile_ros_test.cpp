// Names of packages, messages, services, fields and constants of ROS with a meaning in C++ or in generated
// code (tests/generated/schema/hostile/share). The test is that they compile.
#include <gtest/gtest.h>

#include "names/msg/all.hpp"
#include "names/msg/everything.hpp"
#include "names/srv/everything.hpp"
#include "names/srv/future.hpp"
#include "names/srv/s.hpp"
#include "situ/bus.hpp"
#include "std/msg/everything.hpp"
#include "std/srv/s.hpp"

namespace {

TEST(HostileNames, of_ros) {
  std_::msg::Everything everything;
  everything.operator_ = "x";
  EXPECT_EQ(everything.operator_, "x");
  EXPECT_EQ(std_::msg::Everything::S_, names::msg::Everything::S_);
  EXPECT_EQ(std_::srv::S::Request::S_, 1);
}

}  // namespace
