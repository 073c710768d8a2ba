// The protobuf writer in C++: the vectors that Rust writes and protoc reads, arrays filled to the last byte,
// chunks, order.
#include "situ/protobuf/writer.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "situ/protobuf/fields.hpp"
#include "support/vectors.hpp"

namespace {

using situ::protobuf::fixed_buffer;
using situ::protobuf::growing_buffer;
using situ::protobuf::message;
using situ::protobuf::packed;
using situ::protobuf::patch;
using situ::protobuf::pieces;
using situ::protobuf::scattered_buffer;
using situ::protobuf::streamed_buffer;
using situ::protobuf::write_error;
using situ::protobuf::writer;
using situ_test::vector_bytes;
using bytes = std::vector<std::uint8_t>;

enum class fruit : std::int32_t { unknown = 0, apple = 1, orange = 2 };

/// The message of kitchen.txt.
void kitchen(message& it) {
  it.int32(1, -1);
  it.int64(2, std::numeric_limits<std::int64_t>::min());
  it.uint32(3, 0xffffffff);
  it.uint64(4, 0xffffffffffffffff);
  it.sint32(5, -2);
  it.sint64(6, std::numeric_limits<std::int64_t>::min());
  it.fixed32(7, 0x01020304);
  it.fixed64(8, 0x0102030405060708);
  it.sfixed32(9, -7);
  it.sfixed64(10, -8);
  it.float32(11, 1.5F);
  it.float64(12, -2.25);
  it.boolean(13, true);
  it.string(14, "Gr\303\274\303\237e, \360\237\246\200");
  it.bytes(15, bytes{0, 0xff, 0x80});
  {
    message child(it, 16);
    child.int32(1, 150);
    child.string(14, std::string(130, 'n'));
    child.nested(16).boolean(13, true);
  }
  { const message empty = it.nested(17); }
  it.nested(17).uint32(3, 7);
  it.packed_int32(18, std::array{3, 270, 86942, -1});
  it.packed_fixed<double>(19, std::array{0.5, -1.5});
  it.packed_sint64(20, std::array<std::int64_t, 3>{-1, 1, std::int64_t{1} << 40});
  it.packed_fixed<bool>(21, std::array{true, false, true});
  it.string(22, "");
  it.string(22, "b");
  it.enumeration(23, fruit::orange);
  {
    pieces text(it, 25);
    text.push("one, ");
    text.push("two");
  }
  {
    packed fruits(it, 27);
    fruits.varint(fruit::apple);
    fruits.varint(fruit::unknown);
  }
  it.uint64(2047, 1);
  it.uint64(2047, 300);
  {
    message entry(it, 2048);
    entry.string(1, "a");
    entry.int32(2, 1);
  }
  message entry(it, 536870911);
  entry.uint32(1, 7);
  entry.nested(2).string(14, "x");
}

template <class Fill>
write_error write(situ::protobuf::delegate& buffer, Fill&& fill) {
  writer out(buffer);
  {
    message it(out);
    fill(it);
  }
  return out.finish();
}

bytes copy(std::span<const std::uint8_t> written) { return bytes(written.begin(), written.end()); }

TEST(protobuf, one_piece_is_what_protoc_writes) {
  growing_buffer buffer(1);
  EXPECT_EQ(write(buffer, kitchen), write_error::none);
  EXPECT_EQ(copy(buffer.written()), vector_bytes<std::uint8_t>("kitchen.bin"));
}

TEST(protobuf, numbers_of_every_length_are_written_as_byte_by_byte) {
  for (unsigned bits = 0; bits < 64; ++bits) {
    const std::uint64_t least = std::uint64_t{1} << bits;
    const std::uint64_t mixed = least | (0x5555555555555555U & (least - 1));
    for (const std::uint64_t value : {least - 1, least, least + 1, mixed, ~(least - 1)}) {
      bytes expected{8};
      for (std::uint64_t rest = value; expected.size() == 1 || rest != 0; rest >>= 7U) {
        expected.push_back(static_cast<std::uint8_t>((rest & 0x7fU) | (rest >> 7U != 0 ? 0x80U : 0U)));
      }
      // In the middle of an array, and at its end, where each byte is checked.
      for (const std::size_t size : {std::size_t{64}, expected.size()}) {
        bytes memory(size);
        fixed_buffer buffer(memory);
        writer out(buffer);
        message(out).uint64(1, value);
        ASSERT_EQ(out.finish(), write_error::none) << value;
        EXPECT_EQ(bytes(buffer.written().begin(), buffer.written().end()), expected) << value;
      }
    }
  }
}

TEST(protobuf, chunks_are_those_of_rust) {
  for (const std::size_t size : {5U, 16U, 64U}) {
    scattered_buffer buffer(size);
    EXPECT_EQ(write(buffer, kitchen), write_error::none);
    EXPECT_EQ(buffer.to_vector(),
              vector_bytes<std::uint8_t>("kitchen.chunks" + std::to_string(size) + ".bin"));
  }
}

TEST(protobuf, an_array_may_be_filled_to_its_last_byte) {
  const bytes expected = vector_bytes<std::uint8_t>("kitchen.bin");
  bytes memory(expected.size());
  fixed_buffer buffer{std::span(memory)};
  EXPECT_EQ(write(buffer, kitchen), write_error::none);
  EXPECT_EQ(copy(buffer.written()), expected);
  for (std::size_t size = 0; size < expected.size(); ++size) {
    fixed_buffer smaller{std::span(memory).first(size)};
    EXPECT_EQ(write(smaller, kitchen), write_error::full) << size;
    EXPECT_TRUE(smaller.written().empty());
  }
}

TEST(protobuf, a_stream_gives_chunks_and_later_their_patches) {
  struct {
    void chunk(std::uint32_t number, std::span<const std::uint8_t> data, std::size_t) {
      ASSERT_EQ(number, given.size());
      given.push_back(copy(data));
    }
    void patches(std::span<const patch> list) {
      for (const patch& each : list) each.apply(given[each.number].data());
    }
    std::vector<bytes> given;
  } sink;
  std::array<std::uint8_t, 16> memory;
  std::array<patch, 1> patches;
  streamed_buffer buffer(memory, patches, sink);
  EXPECT_EQ(write(buffer, kitchen), write_error::none);
  bytes all;
  for (const bytes& each : sink.given) all.insert(all.end(), each.begin(), each.end());
  EXPECT_EQ(all, vector_bytes<std::uint8_t>("kitchen.chunks16.bin"));
}

TEST(protobuf, widths_that_were_expected_wrongly_do_not_change_the_bytes) {
  growing_buffer buffer;
  const std::array<std::size_t, 7> lengths{5, 200, 20000, 3, 127, 128, 0};
  EXPECT_EQ(write(buffer,
                  [&](message& it) {
                    for (auto n : lengths) it.nested(1).raw(bytes(n));
                  }),
            write_error::none);
  bytes expected;
  for (const std::size_t length : lengths) {
    expected.push_back(0x0a);
    std::size_t left = length;
    for (; left >= 0x80; left >>= 7) expected.push_back(static_cast<std::uint8_t>(left | 0x80));
    expected.push_back(static_cast<std::uint8_t>(left));
    expected.resize(expected.size() + length);
  }
  EXPECT_EQ(copy(buffer.written()), expected);
}

TEST(protobuf, a_parent_is_not_written_while_its_child_is_open) {
  growing_buffer buffer;
  writer out(buffer);
  message parent(out);
  {
    message child(parent, 1);
    parent.int32(2, 7);
    child.int32(1, 8);
  }
  EXPECT_EQ(out.error(), write_error::wrong_order);
  EXPECT_EQ(out.finish(), write_error::wrong_order);

  out.restart();
  const message two_children(parent, 1);
  const message other(parent, 2);
  EXPECT_EQ(out.error(), write_error::wrong_order);
}

TEST(protobuf, nothing_is_finished_while_something_is_open) {
  growing_buffer buffer;
  writer out(buffer);
  message parent(out);
  const message child(parent, 1);
  EXPECT_EQ(out.finish(), write_error::wrong_order);
}

TEST(protobuf, mistakes_are_reported_at_the_end) {
  growing_buffer buffer;
  EXPECT_EQ(write(buffer, [](message& it) { it.nested(0).boolean(1, true); }), write_error::invalid_field);
  EXPECT_EQ(write(buffer, [](message& it) { it.string(1U << 29, ""); }), write_error::invalid_field);
  scattered_buffer small(4);
  EXPECT_EQ(write(small, [](message& it) { it.nested(1).boolean(1, true); }), write_error::chunk_too_small);
  writer out(buffer);
  EXPECT_EQ(out.finish(), write_error::none);
  EXPECT_EQ(out.finish(), write_error::finished);
}

void nest(message& it, unsigned levels) {
  if (levels == 0) return;
  message child(it, 1);
  nest(child, levels - 1);
}

TEST(protobuf, messages_nest_to_the_last_level) {
  growing_buffer buffer;
  EXPECT_EQ(write(buffer, [](message& it) { nest(it, 128); }), write_error::none);
  // 63 levels have lengths of one byte (0 to 126), the others of two.
  EXPECT_EQ(buffer.written().size(), 64 * 2 + 64 * 3);
  EXPECT_EQ(write(buffer, [](message& it) { nest(it, 129); }), write_error::too_deep);
}

/// A message of numbers, messages and groups, and its bytes from an encoder that computes all sizes first.
struct node {
  std::uint32_t field = 1;
  bool is_group = false;
  std::vector<node> children;

  void write(message& it) const {
    it.uint32(1, field);
    for (const node& child : children) {
      if (child.is_group) {
        auto inner = it.group(child.field);
        child.write(inner);
      } else {
        auto inner = it.nested(child.field);
        child.write(inner);
      }
    }
    it.uint64(2, std::uint64_t{1} << 40);
  }

  [[nodiscard]] bytes encoded() const {
    bytes all{8, static_cast<std::uint8_t>(field)};
    for (const node& child : children) {
      const bytes content = child.encoded();
      all.push_back(static_cast<std::uint8_t>(child.field << 3U | (child.is_group ? 3U : 2U)));
      if (!child.is_group) {
        std::uint8_t length[situ::protobuf::detail::max_varint];
        const std::uint8_t* const end = situ::protobuf::detail::put_varint(length, content.size());
        all.insert(all.end(), static_cast<const std::uint8_t*>(length), end);
      }
      all.insert(all.end(), content.begin(), content.end());
      if (child.is_group) all.push_back(static_cast<std::uint8_t>(child.field << 3U | 4U));
    }
    for (const int byte : {0x10, 0x80, 0x80, 0x80, 0x80, 0x80, 0x20})
      all.push_back(static_cast<std::uint8_t>(byte));
    return all;
  }

  /// The same from bytes whose lengths may have redundant bytes.
  static node read(std::span<const std::uint8_t> content, std::uint32_t field, bool is_group) {
    node it{field, is_group, {}};
    situ::protobuf::fields all(content);
    for (const auto& each : all) {
      if (each.number == 1) {
        EXPECT_EQ(each.value, field);
      } else if (each.number != 2) {
        it.children.push_back(read(each.content, each.number, each.wire == situ::protobuf::wire_type::group));
      }
    }
    EXPECT_FALSE(all.error());
    return it;
  }
};

node tree(std::uint32_t levels, std::uint32_t& random, std::uint32_t field = 1) {
  node it{field, (random >> 16U) % 2 == 1, {}};
  for (std::uint32_t i = 0; levels > 0 && i < 3; ++i) {
    random = random * 1664525U + 1013904223U;
    it.children.push_back(tree(levels - 1, random, 3 + i));
  }
  return it;
}

TEST(protobuf, groups_begin_and_end_with_tags_in_memory_of_every_kind) {
  std::uint32_t random = 1;
  for (int round = 0; round < 4; ++round) {
    const node root = tree(4, random);
    const bytes expected = root.encoded();
    for (std::size_t less = 0; less < 30; ++less) {
      bytes memory(expected.size() - less);
      fixed_buffer buffer{std::span(memory)};
      EXPECT_EQ(write(buffer, [&](message& it) { root.write(it); }),
                less == 0 ? write_error::none : write_error::full);
      EXPECT_EQ(memory == expected, less == 0);
    }
    for (std::size_t size = 5; size < 100; ++size) {
      scattered_buffer buffer(size);
      ASSERT_EQ(write(buffer, [&](message& it) { root.write(it); }), write_error::none);
      const bytes all = buffer.to_vector();
      ASSERT_EQ(node::read(all, 1, false).encoded(), expected) << size;
    }
  }
}

}  // namespace
