// The protobuf reader: merging, oneofs, closed enums, unknown fields, and bytes that are not a message.
#include "situ/protobuf/reader.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "situ/protobuf/writer.hpp"

namespace {

using situ::protobuf::nested;
using situ::protobuf::read_problem;
using situ::protobuf::wire_type;
namespace kind = situ::protobuf::kind;
using bytes = std::vector<std::uint8_t>;

enum class closed : std::int32_t { one = 1, two = 2 };

/// oneof { uint32 a = 1; Choice b = 2; int32 c = 3 }, oneof { closed d = 4; closed e = 5 }, repeated sint32 f
/// = 6, repeated Choice g = 7, string h = 8, repeated fixed32 i = 9.
struct layout {
  static constexpr std::size_t size = 9;
  static constexpr std::array<std::pair<std::uint16_t, std::uint16_t>, 9> oneofs{
      {{0, 3}, {0, 3}, {0, 3}, {3, 5}, {3, 5}, {0, 0}, {0, 0}, {0, 0}, {0, 0}}};
  static constexpr int slot(std::uint32_t number, wire_type wire) noexcept {
    switch (number) {
      case 1:
      case 3:
      case 4:
      case 5:
        return wire == wire_type::varint ? static_cast<int>(number) - 1 : -1;
      case 6:
        return wire == wire_type::varint || wire == wire_type::bytes ? 5 : -1;
      case 2:
      case 7:
      case 8:
        return wire == wire_type::bytes ? static_cast<int>(number) - 1 : -1;
      case 9:
        return wire == wire_type::fixed32 || wire == wire_type::bytes ? 8 : -1;
      default:
        return -1;
    }
  }
  static constexpr bool accepts(int slot, std::int32_t number) noexcept {
    return (slot != 3 && slot != 4) || number == 1 || number == 2;
  }
};
using table = situ::protobuf::table<layout>;

read_problem problem(const bytes& message) { return table(message).error().problem; }

TEST(protobuf_reader, the_last_value_counts_and_packed_is_as_good_as_unpacked) {
  // f is -1, then packed {1, -2}, then 2; i is packed {1}, then 2.
  const bytes message{0x30, 1, 0x32, 2, 2, 3, 0x30, 4,    0x4a, 4,    1, 0,
                      0,    0, 0x4d, 2, 0, 0, 0,    0x08, 1,    0x08, 9};
  const table it(message);
  EXPECT_FALSE(it.error());
  EXPECT_EQ(it.get<kind::uint32>(0, 0), 9U);
  std::vector<std::int32_t> numbers;
  for (const std::int32_t each : it.all<kind::sint32>(5)) numbers.push_back(each);
  EXPECT_EQ(numbers, (std::vector<std::int32_t>{-1, 1, -2, 2}));
  std::vector<std::uint32_t> fixed;
  for (const std::uint32_t each : it.all<kind::fixed32>(8)) fixed.push_back(each);
  EXPECT_EQ(fixed, (std::vector<std::uint32_t>{1, 2}));
}

TEST(protobuf_reader, messages_are_merged_and_hold_what_they_are_made_of) {
  // b{f = -1, h = "x"}, b{h = "y", b{a = 1}}, b{b{c = 2}}.
  const bytes message{0x12, 5,    0x30, 1, 0x42, 1,    'x', 0x12, 7, 0x42, 1,
                      'y',  0x12, 2,    8, 1,    0x12, 4,   0x12, 2, 0x18, 2};
  table inner;
  {
    const table it(message);
    inner = it.get_message<table>(1).get_message<table>(1);
    const table merged = it.get_message<table>(1);
    EXPECT_EQ(merged.get_string(7), "y");
    for (const std::int32_t each : merged.all<kind::sint32>(5)) EXPECT_EQ(each, -1);
  }
  // The later member of the oneof has replaced the earlier one.
  EXPECT_FALSE(inner.has(0));
  EXPECT_EQ(inner.get<kind::int32>(2, 0), 2);
}

TEST(protobuf_reader, the_last_member_of_a_oneof_stays) {
  const bytes message{0x12, 2, 0x08, 1, 0x18, 7, 0x12, 2, 0x18, 2, 0x12, 2, 0x18, 3};
  const table it(message);
  EXPECT_FALSE(it.has(0) || it.has(2));
  // The first b was dropped when the second came.
  const table b = it.get_message<table>(1);
  EXPECT_EQ(bytes(b.bytes().begin(), b.bytes().end()), (bytes{0x18, 2, 0x18, 3}));
}

TEST(protobuf_reader, numbers_that_a_closed_enum_does_not_have_are_unknown_fields) {
  const bytes message{0x20, 1, 0x28, 9, 0x20, 9};
  const table it(message);
  EXPECT_EQ(it.get<kind::enumeration<closed>>(3, closed::two), closed::one);
  std::vector<std::uint64_t> unknown;
  for (const auto& each : it.unknown_fields()) unknown.push_back(each.value);
  EXPECT_EQ(unknown, (std::vector<std::uint64_t>{9, 9}));
}

TEST(protobuf_reader, unknown_fields_are_kept_as_they_are) {
  // A field 15 of bytes, the known 1, a group 19 with a varint, and field 1 of the wrong wire type.
  const bytes message{0x7a, 1, 0xff, 0x08, 3, 0x9b, 1, 0x08, 1, 0x9c, 1, 0x0d, 1, 0, 0, 0};
  const table it(message);
  EXPECT_EQ(it.get<kind::uint32>(0, 0), 3U);
  std::vector<std::pair<std::uint32_t, std::size_t>> unknown;
  for (const auto& each : it.unknown_fields()) unknown.emplace_back(each.number, each.bytes.size());
  EXPECT_EQ(unknown, (std::vector<std::pair<std::uint32_t, std::size_t>>{{15, 3}, {19, 6}, {1, 5}}));
}

TEST(protobuf_reader, invalid_messages_are_refused_with_the_place_of_the_fault) {
  EXPECT_EQ(problem({0x08, 1, 0x08}), read_problem::truncated);
  EXPECT_EQ(table(bytes{0x08, 1, 0x08}).error().at, 2U);
  EXPECT_FALSE(table(bytes{0x08, 1, 0x08}).has(0));
  EXPECT_EQ(problem({0x0a, 5, 1}), read_problem::truncated);
  EXPECT_EQ(problem({0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f}), read_problem::truncated);
  EXPECT_EQ(problem({0x00, 1}), read_problem::invalid_tag);
  EXPECT_EQ(problem({0x0e, 1}), read_problem::invalid_tag);
  EXPECT_EQ(problem({0x88, 0x80, 0x80, 0x80, 0x10, 1}), read_problem::invalid_tag);
  EXPECT_EQ(problem({0x0c}), read_problem::unexpected_group_end);
  EXPECT_EQ(problem({0x0b, 0x14}), read_problem::unexpected_group_end);
  EXPECT_EQ(problem(bytes(1000, 0x0b)), read_problem::too_deep);
  EXPECT_EQ(problem({0x0b}), read_problem::truncated);
  bytes longer{0x08};
  longer.insert(longer.end(), 11, 0xff);
  EXPECT_EQ(problem(longer), read_problem::long_varint);
  // A packed field with a truncated last number: the error appears on iteration.
  const bytes packed{0x32, 2, 2, 0x80};
  const table it(packed);
  auto numbers = it.all<kind::sint32>(5);
  std::size_t count = 0;
  for ([[maybe_unused]] const auto each : numbers) ++count;
  EXPECT_EQ(count, 1U);
  EXPECT_EQ(numbers.error(), (situ::protobuf::read_error{read_problem::truncated, 1}));
}

TEST(protobuf_reader, nesting_is_bounded) {
  bytes message;
  for (int level = 0; level < 120; ++level) {
    bytes outer{0x12};
    situ::protobuf::growing_buffer buffer;
    situ::protobuf::writer out(buffer);
    situ::protobuf::message(out).bytes(2, message);
    ASSERT_EQ(out.finish(), situ::protobuf::write_error::none);
    message.assign(buffer.written().begin(), buffer.written().end());
  }
  table it(message);
  int levels = 0;
  for (; !it.error() && it.has(1); ++levels) {
    const table next = it.get_message<table>(1);
    it = next;
  }
  EXPECT_EQ(levels, 100);
  EXPECT_EQ(it.error().problem, read_problem::too_deep);
}

/// Reads everything in the message.
std::size_t visit(const table& it, int depth = 0) {
  std::size_t seen = it.get<kind::uint32>(0, 0) + it.get_string(7).size();
  for (const auto each : it.all<kind::sint32>(5)) seen += static_cast<std::uint32_t>(each);
  for (const auto each : it.all<kind::fixed32>(8)) seen += each;
  for (const auto& each : it.unknown_fields()) seen += each.content.size();
  if (depth < 5) {
    seen += visit(it.get_message<table>(1), depth + 1);
    for (const table& each : it.all_messages<table>(6)) seen += visit(each, depth + 1);
  }
  return seen;
}

TEST(protobuf_reader, cut_and_flipped_messages_are_errors_or_messages) {
  std::mt19937 random(7);
  std::size_t read = 0;
  for (int round = 0; round < 20000; ++round) {
    bytes message;
    for (std::size_t n = random() % 24; n > 0; --n) {
      // Mostly known tags and short lengths.
      const std::array<std::uint8_t, 8> likely{0x08, 0x12, 0x18, 0x30, 0x32, 0x3a, 0x42, 0x4a};
      message.push_back(random() % 3 == 0 ? static_cast<std::uint8_t>(random() % 12) : likely[random() % 8]);
    }
    const table it(message);
    if (!it.error()) ++read;
    visit(it);
  }
  EXPECT_GT(read, 1000U);
}

TEST(protobuf_reader, a_message_of_256_mebibytes_through_chunks_of_4_kibibytes) {
  constexpr std::uint64_t records = 1U << 18U;
  bytes record(1018);
  for (std::size_t i = 0; i < record.size(); ++i) record[i] = static_cast<std::uint8_t>(i * 7);
  // The bytes that leave the process, and the offsets at which the chunks begin.
  struct {
    void chunk(std::uint32_t, std::span<const std::uint8_t> data, std::size_t) {
      starts.push_back(given.size());
      given.insert(given.end(), data.begin(), data.end());
    }
    void patches(std::span<const situ::protobuf::patch> list) {
      for (const auto& each : list) each.apply(given.data() + starts[each.number]);
    }
    bytes given;
    std::vector<std::size_t> starts;
  } sink;
  sink.given.reserve(std::size_t{280} << 20U);
  std::array<std::uint8_t, 4096> memory;
  std::array<situ::protobuf::patch, 8> patches;
  situ::protobuf::streamed_buffer buffer(memory, patches, sink);
  situ::protobuf::writer out(buffer);
  {
    situ::protobuf::message root(out);
    situ::protobuf::message outer(root, 1);
    situ::protobuf::message inner(outer, 2);
    for (std::uint64_t number = 0; number < records; ++number) {
      situ::protobuf::message each(inner, 3);
      each.uint64(1, number);
      each.bytes(2, record);
    }
  }
  ASSERT_EQ(out.finish(), situ::protobuf::write_error::none);
  ASSERT_GT(sink.given.size(), std::size_t{256} << 20U);

  // One field that ends at the end of the message, one field in it, and then the records, all complete.
  std::span<const std::uint8_t> content = sink.given;
  for (const std::uint32_t number : {1U, 2U}) {
    situ::protobuf::fields level(content);
    ASSERT_TRUE(level.advance());
    ASSERT_EQ(level.current().number, number);
    // A tag, five bytes of length, and the rest.
    ASSERT_EQ(level.current().content.size() + 6, content.size());
    content = level.current().content;
  }
  situ::protobuf::fields all(content);
  std::uint64_t count = 0;
  for (const auto& each : all) {
    situ::protobuf::fields parts(each.content);
    ASSERT_TRUE(parts.advance() && parts.current().value == count);
    ASSERT_TRUE(parts.advance() && std::ranges::equal(parts.current().content, record));
    ASSERT_FALSE(parts.advance());
    ++count;
  }
  EXPECT_FALSE(all.error());
  EXPECT_EQ(count, records);
}

}  // namespace
