// Forked processes: a child's copies of handles throw, and destroying them changes nothing in the parent.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <optional>
#include <utility>

#include "bus/messages.hpp"
#include "bus/scratch.hpp"

namespace bus_test {
namespace {

TEST_F(Bus, a_forked_childs_copies_of_handles_do_nothing) {
  std::optional<situ::node> on(node("parent"));
  std::optional subscriber(on->subscriber<Page>("pages"));
  std::optional publisher(on->publisher<Page>("pages"));
  publisher->publish(Page{.count = 5});
  auto held = subscriber->take();
  ASSERT_TRUE(held.has_value());
  std::optional loan(publisher->loan());
  (*loan)->count = 6;
  const auto files = leftovers();
  const pid_t child = ::fork();
  if (child == 0) {
    (*loan)->count = 7;
    EXPECT_EQ((*held)->count, 0U) << "private zeroes";
    EXPECT_EQ(error_of([&] { (void)subscriber->take(); }).code(), situ::errc::forked);
    EXPECT_EQ(error_of([&] { (void)subscriber->wait(); }).code(), situ::errc::forked);
    EXPECT_EQ(error_of([&] { (void)subscriber->receive(); }).code(), situ::errc::forked);
    EXPECT_EQ(error_of([&] { (void)situ::wait_any(situ::forever, *subscriber); }).code(), situ::errc::forked);
    EXPECT_EQ(error_of([&] { (void)subscriber->fd(); }).code(), situ::errc::forked);
    EXPECT_EQ(error_of([&] { (void)loan->publish(); }).code(), situ::errc::forked);
    EXPECT_EQ(error_of([&] { (void)publisher->loan(); }).code(), situ::errc::forked);
    EXPECT_EQ(error_of([&] { (void)on->subscriber<Page>("pages"); }).code(), situ::errc::forked);
    loan.reset();
    held.reset();
    publisher.reset();
    subscriber.reset();
    on.reset();
    {
      const auto own = node("child");
      auto mine = own.subscriber<Page>("mine");
      auto to = own.publisher<Page>("mine");
      to.publish(Page{.count = 8});
      const auto taken = mine.receive();
      EXPECT_TRUE(taken.has_value() && (*taken)->count == 8);
    }
    ::_exit(HasFailure() ? 1 : 0);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "the child failed";
  EXPECT_EQ(leftovers(), files);
  EXPECT_EQ((*held)->count, 5U);
  loan->publish();
  const auto next = subscriber->take();
  ASSERT_TRUE(next.has_value());
  EXPECT_EQ((*next)->count, 6U);
}

}  // namespace
}  // namespace bus_test
