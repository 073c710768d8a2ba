// Windows of regions in programs that lock their memory: only used memory is locked.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

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

/// The exit status of a child that takes `before` windows, locks its memory, and takes a hundred more.
int locks(int before, int flags) {
  const pid_t child = ::fork();
  if (child == 0) {
    // A defect must not take the machine's memory: without a limit, it would take 16 GiB.
    const rlimit limit{2048 * mib, 2048 * mib};
    ::setrlimit(RLIMIT_AS, &limit);
    take(before);
    const std::size_t start = resident();
    if (::mlockall(flags) != 0) ::_exit(0);  // this process may not
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

TEST(locked, windows_take_what_is_used_where_memory_is_locked_from_the_start) {
  EXPECT_EQ(locks(0, MCL_FUTURE), 0);
}

TEST(locked, windows_take_what_is_used_where_memory_is_locked_later) {
  EXPECT_EQ(locks(3, MCL_CURRENT | MCL_FUTURE), 0);
}

}  // namespace
