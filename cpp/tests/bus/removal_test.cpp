// Files that are removed or made shorter while in use: a separate kind of error.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <string>

#include "bus/messages.hpp"
#include "bus/scratch.hpp"

namespace bus_test {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

/// Truncates each file below a directory whose path has this ending. Returns their number.
int empty_all(const std::string& directory, std::string_view ending) {
  int count = 0;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    if (!entry.is_regular_file() || !entry.path().string().ends_with(ending)) continue;
    fs::resize_file(entry.path(), 0);
    ++count;
  }
  return count;
}

/// Repeats an operation until it fails, and returns the error.
template <class Operation>
situ::error eventual_error_of(Operation&& operation) {
  const auto end = std::chrono::steady_clock::now() + 20s;
  do {
    try {
      operation();
    } catch (const situ::error& thrown) {
      return thrown;
    }
    ::usleep(10'000);
  } while (std::chrono::steady_clock::now() < end);
  ADD_FAILURE() << "nothing was thrown";
  return {situ::errc::internal, "nothing was thrown"};
}

TEST_F(Bus, a_removed_root_is_an_error_of_its_own) {
  const auto on = node("n");
  auto publisher = on.publisher<Tick>("ticks");
  auto subscriber = on.subscriber<Tick>("ticks");
  fs::remove_all(root_.path);
  EXPECT_EQ(eventual_error_of([&] { publisher.publish(Tick{.count = 5}); }).code(), situ::errc::removed);
  EXPECT_EQ(eventual_error_of([&] { (void)subscriber.receive(10ms); }).code(), situ::errc::removed);
  const auto refused = error_of([&] { (void)on.publisher<Tick>("others"); });
  EXPECT_EQ(refused.code(), situ::errc::removed);
  EXPECT_NE(std::string(refused.what()).find(root_.path), std::string::npos) << refused.what();
}

/// The exit status of a child that uses a topic whose publisher's memory is removed.
int shortened(const situ::root& where, bool guarded) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (guarded) {
      situ::install_guard();
      if (!situ::try_install_guard()) ::_exit(2);
    }
    const situ::node on("n", where);
    auto publisher = on.publisher<Page>("pages");
    auto subscriber = on.subscriber<Page>("pages");
    publisher.publish(Page{.count = 5});
    publisher.publish(Page{.count = 6});
    const auto held = subscriber.take();
    EXPECT_EQ(empty_all(where.path, ".data"), 1);
    const volatile std::uint64_t& count = (*held)->count;
    EXPECT_EQ(count, 0U);
    const auto lost = error_of([&] { (void)subscriber.take(); });
    EXPECT_EQ(lost.code(), situ::errc::malformed) << lost.what();
    EXPECT_EQ(empty_all(where.path, "/topic"), 1);
    EXPECT_EQ(eventual_error_of([&] { (void)subscriber.take(); }).code(), situ::errc::removed);
    ::_exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return status;
}

TEST_F(Bus, with_the_guard_shortened_files_are_errors) { EXPECT_EQ(shortened(root_, true), 0); }

TEST_F(Bus, without_the_guard_shortened_files_end_the_process) {
  const int status = shortened(root_, false);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS) << status;
}

}  // namespace
}  // namespace bus_test
