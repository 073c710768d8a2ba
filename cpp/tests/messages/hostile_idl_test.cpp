// Names of types, members, cases, enumerators, constants and modules with a meaning in C++ or in generated
// code (tests/generated/schema/hostile/names.idl). The test is that they compile.
#include <gtest/gtest.h>

#include <vector>

#include "names.hpp"
#include "situ/bus.hpp"
#include "situ/cdr.hpp"

namespace {

TEST(HostileNames, change_by_the_rule) {
  places0::Members members;
  members.class_ = {1};
  members.schema_ = {2};
  members.schema__ = {3};
  members.S__ = {4};
  members.S_ = {5};
  EXPECT_EQ(members.schema_.size(), 1U);
  places0::PlainCases cases;
  cases.set_x_(5);
  EXPECT_TRUE(cases.has_x_());
  EXPECT_EQ(cases.x(), 5);
  EXPECT_EQ(Foo_::situ_name, "Foo_");
  EXPECT_EQ(Foo::situ_name, "Foo");
}

TEST(HostileNames, messages_come_back) {
  std_::Point point;
  point.name = "std";
  point.more.resize(1);
  const auto bytes = situ::encode_to_vector(point, situ::encoding::xcdr1);
  ASSERT_TRUE(bytes);
  std_::Point back;
  ASSERT_TRUE(situ::decode(back, *bytes));
  EXPECT_EQ(back, point);
}

}  // namespace
