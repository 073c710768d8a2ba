// Common parts of the tests of the bus: a root directory of their own, removed at the end.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "situ/bus.hpp"

namespace bus_test {

class Bus : public ::testing::Test {
 protected:
  Bus() : root_{fresh(), {}} {}
  ~Bus() override { std::filesystem::remove_all(root_.path); }

  situ::node node(const std::string& name) const { return situ::node(name, root_); }

  /// All files below the root, except directories that always exist.
  std::vector<std::string> leftovers() const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root_.path)) {
      const std::string name = entry.path().lexically_relative(root_.path).string();
      // The control file of traces always exists as well.
      if (name != "nodes" && name != "topics" && !name.starts_with("trace")) found.push_back(name);
    }
    return found;
  }

  situ::root root_;

 private:
  static std::string fresh() {
    static std::atomic<int> count{0};
    return "/dev/shm/situ-test-cpp-" + std::to_string(::getpid()) + "-" + std::to_string(count++);
  }
};

/// The error that an operation throws.
template <class Operation>
situ::error error_of(Operation&& operation) {
  try {
    operation();
  } catch (const situ::error& thrown) {
    return thrown;
  }
  ADD_FAILURE() << "nothing was thrown";
  return {situ::errc::internal, "nothing was thrown"};
}

}  // namespace bus_test
