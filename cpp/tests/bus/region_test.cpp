// Regions on topics from C++: built in the slot, which grows in place; taken in place; forwarded; and mixed
// with messages on the heap.
#include "region.hpp"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "bus/scratch.hpp"
#include "support/allocations.hpp"

namespace bus_test {
namespace {

using game::Character;
using heap_character = situ::rebind<Character, situ::heap>;

TEST_F(Bus, a_region_is_built_in_its_slot_and_read_there) {
  const auto on = node("n");
  auto publisher = on.publisher<Character>("characters");
  auto subscriber = on.subscriber<Character>("characters");
  auto loan = publisher.loan();
  loan->name = "Hero";
  loan->skills.emplace_back(1054, 3);
  loan.publish();
  const auto sample = subscriber.take();
  ASSERT_TRUE(sample);
  EXPECT_EQ((*sample)->name, "Hero");
  EXPECT_EQ((*sample)->skills[0].id, 1054U);
  EXPECT_FALSE(sample->is_copy());
  EXPECT_FALSE(subscriber.take());
}

TEST_F(Bus, sizes_that_no_region_can_have_are_refused) {
  const auto on = node("n");
  auto publisher = on.publisher<Character>("characters");
  auto loan = publisher.loan();
  loan->name = "one that needs a block of its own";
  const auto before = loan.canonical();
  for (std::size_t less = 0; less < 4096; less += 8) {
    const std::size_t bytes = std::size_t(-1) - less;
    EXPECT_FALSE(loan.reserve(bytes)) << less;
    EXPECT_FALSE(publisher.try_loan(bytes)) << less;
  }
  EXPECT_FALSE(loan.reserve(std::size_t{1} << 31));
  EXPECT_THROW(loan->skills.resize(std::size_t{1} << 61), situ::region_error);
  EXPECT_EQ(loan.canonical(), before);
  loan->name = "and still has memory of its own to take from";
  loan.publish();
}

TEST_F(Bus, a_region_outgrows_its_slot) {
  const auto on = node("n");
  auto publisher = on.publisher<Character>("characters");
  auto subscriber = on.subscriber<Character>("characters");
  const auto fill = [&publisher] {
    auto loan = publisher.loan();
    for (std::uint64_t key = 0; key < 5000; ++key) {
      loan.change([key](Character& c) { return c.items.try_insert(key, 1, 2, key * 7).first; });
    }
    loan.publish();
  };
  fill();
  {
    const auto sample = subscriber.take();
    ASSERT_TRUE(sample);
    EXPECT_EQ((*sample)->items.size(), 5000U);
    EXPECT_EQ((*sample)->items.at(4999).uuid, 4999U * 7);
  }
  // The next loan starts with the memory that this message needed. No operation throws.
  auto loan = publisher.loan();
  for (std::uint64_t key = 0; key < 5000; ++key) loan->items.emplace(key, 1, 2, key);
  loan.publish();
  // Operations that would throw get more memory automatically, even several in one call.
  auto larger = publisher.loan();
  larger.change([](Character& c) {
    c.path.resize(100000);
    c.attributes.resize(1000000);
    c.name = std::string(3000000, 'x');
  });
  EXPECT_EQ(larger->path.size(), 100000U);
  EXPECT_EQ(larger->attributes.size(), 1000000U);
  EXPECT_EQ(larger->name.size(), 3000000U);
  EXPECT_GT(larger.publish(), 0U);
}

/// Growth is visible only to callers that request it.
TEST_F(Bus, operations_that_outgrow_their_slot_continue) {
  const auto on = node("n");
  auto publisher = on.publisher<Character>("characters");
  auto subscriber = on.subscriber<Character>("characters");
  situ::region<Character> expected;
  const auto fill = [](auto& region) {
    for (std::uint64_t key = 0; key < 3000; ++key) region->items.emplace(key, 1, 2, key * 7);
    for (std::uint32_t i = 0; i < 3000; ++i) region->skills.emplace_back(i, i);
    region->name = std::string(100000, 'n');
    region->path.resize(20000);
    region->attributes = std::vector<float>(50000, 1.5F);
    for (int i = 0; i < 300; ++i) {
      auto& equip = region->equips.emplace_back();
      equip.level = static_cast<std::uint32_t>(i);
      equip.attributes.resize(300);
    }
    // Also copies values of the region itself.
    for (int i = 0; i < 4; ++i) region->equips.emplace_back() = region->equips[0];
    region->name.append(region->name);
  };
  auto loan = publisher.loan();
  fill(loan);
  fill(expected);
  EXPECT_EQ(loan.canonical(), expected.canonical());
  loan.publish();
  const auto sample = subscriber.take();
  ASSERT_TRUE(sample);
  const auto copy = sample->copy();
  ASSERT_TRUE(copy);
  EXPECT_EQ(copy->canonical(), expected.canonical());

  // A loan still grows after a move, after compaction, and if it started from a message.
  auto first = publisher.loan();
  auto moved = std::move(first);
  moved->path.resize(200000);
  moved.compact();
  moved->path.resize(500000);
  EXPECT_TRUE(moved.try_compact());
  EXPECT_EQ(moved.bytes().size(), moved.canonical().size());
  moved->skills.reserve(1000);
  moved.compact_in_place();
  EXPECT_EQ(moved->path.capacity(), 500000U);
  moved->path.resize(600000);
  auto edited = publisher.edit(*sample);
  edited->path.resize(300000);
  EXPECT_EQ(edited->skills[2999].id, 2999U);
  // `change` reports growth.
  auto asked = publisher.loan();
  EXPECT_FALSE(asked->path.try_resize(20000000));
}

/// A reference taken before the region grew still refers to the loan, and not to a published message.
TEST_F(Bus, references_into_a_loan_stay_valid) {
  const auto on = node("n");
  auto publisher = on.publisher<Character>("characters", {.depth = 100});
  auto subscriber = on.subscriber<Character>("characters");
  auto loan = publisher.loan();
  auto& first = loan->skills.emplace_back(1054, 3);
  auto& path = loan->path;
  const std::byte* const begin = loan.bytes().data();
  std::vector<situ::sample<Character>> samples;
  std::vector<std::vector<std::byte>> images;
  for (std::size_t size = 1000; size < 20000000; size *= 2) {
    path.resize(size);
    // If the loan had moved, this message would lie in its old place.
    auto other = publisher.loan();
    other->path.resize(size / 2);
    other.publish();
    samples.push_back(*subscriber.take());
    images.emplace_back(samples.back().bytes().begin(), samples.back().bytes().end());
  }
  EXPECT_EQ(loan.bytes().data(), begin);
  first.id = 666;
  EXPECT_EQ(loan->skills[0].id, 666U);
  EXPECT_EQ(&first, &loan->skills[0]);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    EXPECT_TRUE(std::ranges::equal(samples[i].bytes(), images[i])) << i;
  }
  loan.publish();
  const auto sample = subscriber.take();
  ASSERT_TRUE(sample);
  EXPECT_EQ((*sample)->skills[0].id, 666U);
  EXPECT_EQ((*sample)->path.size(), path.size());
}

/// Unused memory of a loan returns to the system when the loan is published.
TEST_F(Bus, unused_memory_of_a_loan_returns_to_the_system) {
  const auto on = node("n");
  auto publisher = on.publisher<Character>("characters");
  auto subscriber = on.subscriber<Character>("characters");
  auto loan = publisher.loan();
  loan->path.resize(20000000);
  EXPECT_GT(publisher.statistics().memory_bytes, 20000000U);
  loan->path.clear();
  loan->path.shrink_to_fit();
  loan->level = 7;
  loan.publish();
  EXPECT_LT(publisher.statistics().memory_bytes, 1000000U);
  const auto sample = subscriber.take();
  ASSERT_TRUE(sample);
  EXPECT_EQ((*sample)->level, 7U);
}

/// Sizes that can never fit fail at once.
TEST_F(Bus, sizes_that_fit_no_slot_fail_at_once) {
  const auto on = node("n");
  auto publisher = on.publisher<Character>("characters");
  auto loan = publisher.loan();
  const std::byte* const place = loan.bytes().data();
  EXPECT_THROW(loan->path.resize(std::size_t{1} << 40), situ::region_error);
  // The maximum is 2 GiB less 16 bytes, which includes the root.
  EXPECT_THROW(loan->attributes.resize((std::size_t{1} << 29) - 4), situ::region_error);
  EXPECT_FALSE(loan.change([](Character& c) { return c.path.try_resize(std::size_t{1} << 40); }));
  // A larger slot does not help operations that fail for another reason.
  EXPECT_EQ(loan.change([](Character& c) { return c.items.erase(5); }), 0U);
  EXPECT_THROW(loan.change([](Character& c) { c.path.resize(std::size_t{1} << 40); }), situ::region_error);
  EXPECT_EQ(loan.bytes().data(), place);
  EXPECT_EQ(publisher.statistics().slots_in_use, 1U);
  // Values that fit are not copied.
  const std::uint64_t before = situ::copies().bytes;
  loan->path.resize(1000000);
  EXPECT_EQ(situ::copies().bytes, before);
  EXPECT_EQ(loan.bytes().data(), place);
  // The reserved size is available.
  for (const std::size_t bytes : {std::size_t{20'000'000}, std::size_t{70'000'000}}) {
    ASSERT_TRUE(loan.reserve(bytes));
    const std::uint64_t moved = situ::copies().bytes;
    const std::size_t block = bytes - loan.bytes().size();
    loan->attributes.reserve(block / sizeof(float));
    EXPECT_EQ(situ::copies().bytes, moved);
    loan->attributes.shrink_to_fit();
  }
}

TEST_F(Bus, a_region_is_forwarded) {
  const auto on = node("n");
  auto first = on.publisher<Character>("built");
  auto built = on.subscriber<Character>("built");
  auto second = on.publisher<Character>("edited");
  auto edited = on.subscriber<Character>("edited");
  auto loan = first.loan();
  loan->items.emplace(5);
  loan.publish();
  const auto sample = built.take();
  ASSERT_TRUE(sample);
  auto next = second.edit(*sample);
  next->items.erase(5);
  next->name = "a name of more than eleven bytes";
  next.publish();
  const auto after = edited.take();
  ASSERT_TRUE(after);
  EXPECT_EQ((*after)->items.size(), 0U);
  EXPECT_EQ((*sample)->items.size(), 1U);
  situ::region<Character> expected;
  expected->name = "a name of more than eleven bytes";
  const auto copy = after->copy();
  ASSERT_TRUE(copy);
  EXPECT_EQ(copy->canonical(), expected.canonical());
}

TEST_F(Bus, messages_on_the_heap_and_regions_convert) {
  const auto on = node("n");
  auto regions = on.publisher<Character>("characters");
  auto heap = on.publisher<heap_character>("characters");
  auto take_region = on.subscriber<Character>("characters");
  auto take_heap = on.subscriber<heap_character>("characters");
  heap_character value;
  value.name = "a name of more than eleven bytes";
  value.path.resize(1000);
  regions.publish(value);
  heap.publish(value);
  for (const bool from_region : {true, false}) {
    const auto region = take_region.take();
    ASSERT_TRUE(region);
    EXPECT_EQ(region->is_copy(), !from_region);
    EXPECT_EQ((*region)->path.size(), 1000U);
    const auto message = take_heap.take();
    ASSERT_TRUE(message);
    EXPECT_EQ(**message, value);
  }
}

TEST_F(Bus, hostile_regions_are_errors) {
  const auto on = node("n");
  auto regions = on.subscriber<Character>("characters");
  auto heap = on.subscriber<heap_character>("characters");
  auto publisher = on.publisher<Character>("characters");
  int refused = 0;
  int taken = 0;
  for (std::size_t at = 64; at < 400; ++at) {
    auto loan = publisher.loan();
    loan->name = "a name of more than eleven bytes";
    loan->skills.emplace_back(1, 2);
    const_cast<std::byte*>(loan.bytes().data())[at] ^= std::byte{0x81};
    loan.publish();
    if (auto sample = regions.try_take()) {
      ++taken;
    } else {
      ++refused;
      EXPECT_NE(sample.error().message().find("game::Character"), std::string::npos);
    }
    (void)heap.try_take();
  }
  EXPECT_GT(refused, 50);
  EXPECT_GT(taken, 50);
}

TEST_F(Bus, lending_publishing_and_taking_regions_allocate_nothing) {
  const auto on = node("n");
  auto publisher = on.publisher<Character>("characters");
  auto subscriber = on.subscriber<Character>("characters");
  auto editor = on.publisher<Character>("edited");
  auto edited = on.subscriber<Character>("edited");
  const auto hop = [&](std::uint32_t id) {
    auto loan = publisher.loan();
    loan->id = id;
    for (std::uint32_t i = 0; i < 20; ++i) loan->skills.emplace_back(i, id);
    loan.publish();
    const auto sample = subscriber.take();
    if (!sample || (*sample)->skills.size() != 20) return false;
    auto next = editor.edit(*sample);
    next->skills[19].level += 1;
    next.publish();
    const auto after = edited.take();
    return after.has_value() && (*after)->skills[19].level == id + 1;
  };
  for (std::uint32_t id = 0; id < 100; ++id) ASSERT_TRUE(hop(id));
  const std::uint64_t before = situ_test::allocations.load();
  bool all = true;
  for (std::uint32_t id = 0; id < 1000; ++id) all = all && hop(id);
  EXPECT_EQ(situ_test::allocations.load() - before, 0U);
  EXPECT_TRUE(all);
}

/// From here on the process is killed at its first system call, except exit.
void forbid_system_calls() {
  // If the clock needs a system call, the test cannot forbid system calls.
  std::string clock;
  std::ifstream("/sys/devices/system/clocksource/clocksource0/current_clocksource") >> clock;
  const bool fast =
      clock == "tsc" || clock == "kvm-clock" || clock.starts_with("hyperv") || clock == "arch_sys_counter";
  const auto allowed = static_cast<std::uint32_t>(fast ? SYS_exit_group : SYS_clock_gettime);
  std::array<sock_filter, 5> filter{{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, allowed, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
  const sock_fprog program{filter.size(), filter.data()};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    ::_exit(1);
  }
}

/// Returns how a process that runs `work` ends: its status, or less than 0 for a signal.
template <class Work>
int end_of(Work&& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    work();
    ::_exit(42);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

TEST_F(Bus, a_hop_of_regions_does_not_call_the_system) {
  const auto hops = [this](std::uint32_t skills) {
    const auto on = node("hop");
    auto publisher = on.publisher<Character>("built");
    auto subscriber = on.subscriber<Character>("built");
    auto editor = on.publisher<Character>("edited");
    auto edited = on.subscriber<Character>("edited");
    const auto hop = [&](std::uint32_t count) {
      auto loan = publisher.loan();
      for (std::uint32_t i = 0; i < count; ++i) loan->skills.emplace_back(i, i);
      loan.publish();
      const auto sample = subscriber.take();
      if (!sample) ::_exit(1);
      auto next = editor.edit(*sample);
      next->skills[count - 1].level += 1;
      next.publish();
      const auto after = edited.take();
      if (!after || (*after)->skills[count - 1].level != count) ::_exit(2);
    };
    for (int i = 0; i < 100; ++i) hop(20);
    forbid_system_calls();
    for (int i = 0; i < 500; ++i) hop(skills);
    ::_exit(42);
  };
  EXPECT_EQ(end_of([&] { hops(20); }), 42);
  EXPECT_EQ(end_of([&] { hops(1000000); }), -SIGSYS) << "more memory needs a system call";
}

}  // namespace
}  // namespace bus_test
