// Stale references into regions are reported by AddressSanitizer. This program is always built with it.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "situ/region.hpp"

namespace situ_test {

struct Part {
  situ::region_string name;
  situ::region_vector<std::uint32_t> numbers;
};
SITU_REGION(Part, name, numbers)

struct Machine {
  situ::region_vector<std::uint32_t> numbers;
  situ::region_vector<Part> parts;
  situ::region_string name;
  situ::region_sorted_map<std::uint32_t, Part> sorted;
  situ::region_hash_map<std::uint32_t, situ::region_string> hash;
  situ::region_ordered_map<std::uint32_t, std::uint32_t> ordered;
  situ::region_unique<Part> far;
};
SITU_REGION(Machine, numbers, parts, name, sorted, hash, ordered, far)

}  // namespace situ_test

namespace {

using situ_test::Machine;

static_assert(situ::region_detail::poisons, "this program is built with AddressSanitizer");

// The second is the kind for an address within eight bytes of which some are accessible.
constexpr const char* report = "AddressSanitizer: (use-after-poison|unknown-crash)";

/// Reads a value so that no compiler leaves the read out.
template <class T>
void use(const T& value) {
  std::array<volatile char, sizeof(T)> to{};
  const auto* const from = reinterpret_cast<const char*>(&value);
  for (std::size_t i = 0; i < sizeof(T); ++i) to[i] = from[i];
}
/// Reads an image as a sender does.
std::vector<std::byte> sent(std::span<const std::byte> image) { return {image.begin(), image.end()}; }

class Poison : public testing::Test {
 protected:
  Poison() { r->numbers = {1, 2, 3, 4}; }
  /// Makes a vector move: a block comes behind its own, which is then too small.
  void move_numbers() {
    r->name = "a block behind the numbers, so that these cannot grow in place";
    while (r->numbers.size() < 100) r->numbers.push_back(5);
  }
  situ::region<Machine> r;
};

TEST_F(Poison, CatchesReferencesIteratorsAndSpansOfMovedElements) {
  const std::uint32_t& reference = r->numbers[1];
  const auto iterator = r->numbers.begin();
  const std::span<std::uint32_t> span = r->numbers;
  use(reference);
  move_numbers();
  EXPECT_NE(&reference, &r->numbers[1]);
  EXPECT_DEATH(use(reference), report);
  EXPECT_DEATH(use(*iterator), report);
  EXPECT_DEATH(use(span[3]), report);
  for (const std::uint32_t each : r->numbers) use(each);
}

TEST_F(Poison, CatchesUnusedCapacity) {
  const std::span<std::uint32_t> span = r->numbers;
  r->numbers.pop_back();
  use(span[2]);
  EXPECT_DEATH(use(span[3]), report);
  r->numbers.erase(r->numbers.begin());
  EXPECT_DEATH(use(span[2]), report);
  r->numbers.push_back(7);
  use(span[2]);
  r->numbers.reserve(64);
  const std::uint32_t* const behind = r->numbers.data() + r->numbers.size();
  EXPECT_DEATH(use(*behind), report);
  r->numbers.clear();
  EXPECT_DEATH(use(r->numbers.data()[0]), report);
  r->numbers.resize(64);
  use(r->numbers.data()[63]);
  r->numbers.assign(2, 9);
  EXPECT_DEATH(use(r->numbers.data()[2]), report);
}

TEST_F(Poison, CatchesWhatContainersFree) {
  r->far.emplace().name = "a part in a block of its own";
  const situ_test::Part& part = *r->far;
  const std::string_view name = part.name;
  use(name[0]);
  r->far.reset();
  EXPECT_DEATH(use(name[0]), report);
  EXPECT_DEATH(use(part), report);
  for (std::uint32_t i = 0; i < 3; ++i) r->sorted[i].numbers = {i, i};
  const situ_test::Part& value = r->sorted.begin()->second;
  const std::uint32_t& number = r->sorted.at(0).numbers[0];
  r->numbers.shrink_to_fit();
  for (std::uint32_t i = 3; i < 40; ++i) r->sorted[i].numbers = {i, i};
  EXPECT_DEATH(use(value), report);
  use(number);  // it did not move
  r->sorted.erase(0);
  EXPECT_DEATH(use(number), report);
  r->hash[1] = "one that is longer than eleven bytes";
  const std::string_view text = r->hash.at(1);
  r->hash.clear();
  EXPECT_DEATH(use(text[0]), report);
  r->ordered[1] = 2;
  const std::uint32_t& two = r->ordered.at(1);
  r->ordered.clear();
  EXPECT_DEATH(use(two), report);
}

TEST_F(Poison, LeavesLiveImagesReadable) {
  move_numbers();
  r->numbers.resize(20);
  r->parts.emplace_back().numbers = {1, 2, 3};
  r->parts.clear();
  const std::vector<std::byte> image = sent(r.bytes());
  auto adopted = situ::region<Machine>::adopt(image);
  ASSERT_TRUE(adopted) << adopted.error().message();
  EXPECT_EQ(*adopted, r);
  EXPECT_TRUE(situ::view_region<Machine>(r.bytes()));
  // Marks return with the next change.
  const std::uint32_t& last = r->numbers[19];
  r->numbers.pop_back();
  EXPECT_DEATH(use(last), report);
  EXPECT_EQ(sent(r.bytes()).size(), r.size());
}

TEST_F(Poison, LeavesWholeRegionsUsable) {
  move_numbers();
  r->numbers.resize(20);
  r->parts.emplace_back().numbers = {1, 2, 3};
  r->parts.clear();
  const std::vector<std::byte> before = r.canonical();
  situ::region<Machine> copy = r;
  EXPECT_EQ(copy.canonical(), before);
  copy->numbers.clear();
  copy = r;
  EXPECT_EQ(copy.canonical(), before);
  r.compact_in_place();
  EXPECT_EQ(r.canonical(), before);
  r->numbers.push_back(1);
  r->numbers.pop_back();
  r.compact();
  r.preallocate(4096);
  EXPECT_EQ(r.canonical(), before);
  r->numbers.push_back(1);
  r->numbers.pop_back();
  r.trim();
  EXPECT_EQ(sent({reinterpret_cast<const std::byte*>(r.bytes().data()), r.size()}).size(), r.size());
}

TEST_F(Poison, EndsWithTheRegion) {
  alignas(16) std::array<std::byte, 8192> buffer{};
  alignas(16) std::array<std::byte, 16384> larger{};
  {
    situ::region<Machine> in_buffer(buffer);
    in_buffer->numbers.resize(100);
    const std::uint32_t& last = in_buffer->numbers[99];
    in_buffer->numbers.clear();
    in_buffer->numbers.shrink_to_fit();
    EXPECT_DEATH(use(last), report);
    ASSERT_TRUE(in_buffer.continue_in(larger));
    use(buffer);
    in_buffer->numbers.resize(100);
    in_buffer->numbers.resize(50);
    situ::region<Machine> moved = std::move(in_buffer);
    moved->numbers.resize(60);
  }
  use(larger);
  // The next region in the same window.
  for (int i = 0; i < 3; ++i) {
    situ::region<Machine> again;
    for (std::uint32_t j = 0; j < 1000; ++j) again->numbers.push_back(j);
    again->numbers.resize(10);
    again->name = std::string(5000, 'x');
    again->name.clear();
    again->name.shrink_to_fit();
  }
  // A refused image leaves nothing to be read.
  std::vector<std::byte> image = sent(r.bytes());
  std::memset(image.data() + 32, 0x7F, image.size() - 32);
  EXPECT_FALSE(situ::region<Machine>::adopt(image));
  std::memset(larger.data() + 32, 0x7F, larger.size() - 32);
  EXPECT_FALSE(situ::region<Machine>::adopt_in_place(larger));
}

TEST_F(Poison, LeavesMovableRegionsUsable) {
  situ::movable_region<Machine> moving;
  for (std::uint32_t i = 0; i < 5000; ++i) {
    moving.root().change([i](Machine& machine) {
      if (machine.numbers.size() > 10 && i % 7 == 0) machine.numbers.pop_back();
      return machine.numbers.try_push_back(i);
    });
  }
  const auto image = sent(moving.bytes());
  EXPECT_TRUE(situ::region<Machine>::adopt(image));
}

}  // namespace
