// Counts the system calls of a function, and the allocations of memory.
#pragma once

#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstddef>
#include <functional>
#include <thread>
#include <vector>

namespace rmw_situ_test {

inline std::atomic<int> calls = 0;
inline std::atomic<int> last_call = -1;

// From here on, the thread's system calls are counted and not made. Those that only manage memory are made,
// and so is what ends a thread.
inline void count_system_calls() {
  struct sigaction action = {};
  action.sa_flags = SA_SIGINFO;
  action.sa_sigaction = [](int, siginfo_t* info, void*) {
    ++calls;
    last_call = info->si_syscall;
  };
  ASSERT_EQ(sigaction(SIGSYS, &action, nullptr), 0);
  const int free_ones[] = {
      SYS_brk,  SYS_mmap,         SYS_munmap,         SYS_madvise,    SYS_mprotect,       SYS_mremap,
      SYS_exit, SYS_rt_sigreturn, SYS_rt_sigprocmask, SYS_exit_group, SYS_set_robust_list};
  std::vector<sock_filter> filter = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
  for (const int number : free_ones) {
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(number), 0, 1));
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  }
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP));
  const sock_fprog program = {static_cast<unsigned short>(filter.size()), filter.data()};
  ASSERT_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
  ASSERT_EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

// How many system calls a function makes.
inline int system_calls_of(const std::function<void()>& function) {
  int made = -1;
  std::thread([&] {
    count_system_calls();
    calls = 0;
    function();
    made = calls;
  }).join();
  return made;
}

// Whether allocations are counted: not under a sanitizer, which allocates by itself.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool counts_allocations = false;
#else
inline constexpr bool counts_allocations = true;
#endif
// Those of this thread since its begin.
size_t allocations();

}  // namespace rmw_situ_test
