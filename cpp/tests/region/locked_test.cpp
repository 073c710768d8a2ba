// Windows of regions in programs that lock their memory: only used memory is locked.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fstream>

#include "situ/region/memory/address_window.hpp"

namespace {

constexpr std::size_t mib = 1 << 20;

/// The memory of this process in bytes.
std::size_t resident() {
  std::ifstream pages("/proc/self/statm");
  std::size_t all = 0, here = 0;
  pages >> all >> here;
  return here * 4096;
}

/// Takes windows of the smallest size, and uses the first bytes of each.
void take(int count) {
  for (int i = 0; i < count; ++i) {
    const auto window = situ::region_detail::address_window_pool::instance().take(1 << 20);
    ASSERT_NE(window.begin, nullptr);
    std::memset(window.begin, 1, 100);
  }
}

/// The exit code of a child that may not lock its memory.
constexpr int no_permission = 77;

/// Returns the exit status of a child that takes `before` windows, locks its memory, and takes a hundred
/// more.
int locks(int before, int flags) {
  const pid_t child = ::fork();
  if (child == 0) {
    // A defect must not take the machine's memory. Without a limit, it would take 16 GiB.
    const rlimit limit{2048 * mib, 2048 * mib};
    ::setrlimit(RLIMIT_AS, &limit);
    // The permission is checked before windows exist: a later failure is a defect of the windows.
    if (::mlockall(MCL_CURRENT) != 0) ::_exit(no_permission);
    ::munlockall();
    take(before);
    const std::size_t start = resident();
    EXPECT_EQ(::mlockall(flags), 0) << std::strerror(errno);
    EXPECT_LT(resident() - start, 96 * mib) << "by the call";
    const std::size_t then = resident();
    take(100);
    EXPECT_LT(resident() - then, 16 * mib) << "by 100 windows of which a page is used";
    ::_exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return status;
}

void expect_success(int status) {
  ASSERT_TRUE(WIFEXITED(status)) << status;
  if (WEXITSTATUS(status) == no_permission) GTEST_SKIP() << "this process may not lock its memory";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(locked, windows_lock_only_used_memory_if_memory_is_locked_from_the_start) {
  expect_success(locks(0, MCL_FUTURE));
}

TEST(locked, windows_lock_only_used_memory_if_memory_is_locked_later) {
  expect_success(locks(3, MCL_CURRENT | MCL_FUTURE));
}

}  // namespace
