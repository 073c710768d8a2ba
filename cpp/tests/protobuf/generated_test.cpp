// Writers that Situ generates for .proto files write the vectors' message. Features of proto2 and unusual
// names compile.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "edition_2024.situ.hpp"
#include "kitchen.situ.hpp"
#include "legacy.situ.hpp"
#include "support/vectors.hpp"

namespace {

using situ::kitchen::Fruit;
using situ::protobuf::write_error;
using situ_test::vector_bytes;

TEST(protobuf_generated, kitchen) {
  situ::protobuf::growing_buffer buffer;
  situ::protobuf::writer out(buffer);
  {
    situ::kitchen::KitchenWriter it(out);
    it.set_int32(-1);
    it.set_int64(std::numeric_limits<std::int64_t>::min());
    it.set_uint32(0xffffffff);
    it.set_uint64(0xffffffffffffffff);
    it.set_sint32(-2);
    it.set_sint64(std::numeric_limits<std::int64_t>::min());
    it.set_fixed32(0x01020304);
    it.set_fixed64(0x0102030405060708);
    it.set_sfixed32(-7);
    it.set_sfixed64(-8);
    it.set_float(1.5F);
    it.set_double(-2.25);
    it.set_bool(true);
    it.set_string("Gr\303\274\303\237e, \360\237\246\200");
    it.set_bytes(std::array<std::uint8_t, 3>{0, 0xff, 0x80});
    {
      auto child = it.set_child();
      child.set_int32(150);
      child.set_string(std::string(130, 'n'));
      child.set_child().set_bool(true);
    }
    { const auto empty = it.add_children(); }
    it.add_children().set_uint32(7);
    it.set_packed(std::array{3, 270, 86942, -1});
    it.set_doubles(std::array{0.5, -1.5});
    it.set_zigzags(std::array<std::int64_t, 3>{-1, 1, std::int64_t{1} << 40});
    it.set_bools(std::array{true, false, true});
    it.add_strings("");
    it.add_strings("b");
    it.set_fruit(Fruit::ORANGE);
    it.set_text_in_pieces().push("one, two");
    it.set_fruits(std::array{Fruit::APPLE, Fruit::FRUIT_UNKNOWN});
    it.add_unpacked(1);
    it.add_unpacked(300);
    it.add_scores("a", 1);
    auto named = it.add_named();
    named.set_key(7);
    named.set_value().set_string("x");
  }
  ASSERT_EQ(out.finish(), write_error::none);
  const auto expected = vector_bytes<std::uint8_t>("kitchen.bin");
  EXPECT_EQ(std::vector<std::uint8_t>(buffer.written().begin(), buffer.written().end()), expected);
}

TEST(protobuf_generated, legacy) {
  situ::protobuf::growing_buffer buffer;
  situ::protobuf::writer out(buffer);
  {
    situ::legacy::LegacyWriter it(out);
    it.set_mode(situ::legacy::Mode::FAST);
    it.set_time().set_seconds(5);
    auto inner = it.set_inner();
    inner.set_side(situ::legacy::Legacy_Side::RIGHT);
    inner.add_match().set_type(4);
  }
  ASSERT_EQ(out.finish(), write_error::none);
  const std::vector<std::uint8_t> expected{0x38, 0xf9, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                                           0xff, 0xff, 0x01, 0x5a, 2,    0x08, 5,    0x52,
                                           6,    0x08, 2,    0x1a, 2,    0x08, 4};
  EXPECT_EQ(std::vector<std::uint8_t>(buffer.written().begin(), buffer.written().end()), expected);
}

template <class Writer, class Fill>
std::vector<std::uint8_t> written(Fill&& fill) {
  situ::protobuf::growing_buffer buffer;
  situ::protobuf::writer out(buffer);
  {
    Writer it(out);
    fill(it);
  }
  EXPECT_EQ(out.finish(), write_error::none);
  return {buffer.written().begin(), buffer.written().end()};
}

TEST(protobuf_generated, groups_and_extensions) {
  using namespace situ::legacy;
  const auto grouped = written<GroupedWriter>([](GroupedWriter& it) {
    {
      auto single = it.set_single();
      single.set_x(-1);
      single.set_inner().set_text("in");
    }
    it.add_many().set_x(1);
    { const auto empty = it.add_many(); }
    it.add_many().set_x(300);
    it.set_picked().set_yes(true);
    it.set_foo_bar(5);
    it.set_fooBar(6);
    PlainExtensionWriter(it).set_plain(7);
    PackedNumbersExtensionWriter(it).set_packed_numbers(std::array{-1, 2});
    ExtraExtensionWriter(it).set_extra().set_text("more");
    {
      InnersExtensionWriter inners(it);
      inners.add_inners().set_side(Legacy_Side::LEFT);
      const auto empty = inners.add_inners();
    }
    ModeExtensionWriter(it).set_mode(Mode::FAST);
    NotesExtensionWriter(it).add_notes("a");
    NotesExtensionWriter(it).add_notes("b");
    Scope_RawExtensionWriter(it).set_raw(std::array<std::uint8_t, 2>{0, 0xff});
  });
  EXPECT_EQ(grouped, vector_bytes<std::uint8_t>("grouped.bin"));

  using situ::newest::NewestWriter;
  const auto newest = written<NewestWriter>([](NewestWriter& it) {
    it.set_number(1);
    it.set_detail().set_text("a");
    it.set_older().set_plain(2);
    it.set_kind(situ::newest::Kind::KIND_KNOWN);
    situ::newest::FurtherDetailExtensionWriter(it).set_further_detail().set_text("b");
  });
  EXPECT_EQ(newest, vector_bytes<std::uint8_t>("newest.bin"));

  // A message cannot be written while an extension of it is being written.
  situ::protobuf::growing_buffer buffer;
  situ::protobuf::writer out(buffer);
  {
    GroupedWriter it(out);
    const PlainExtensionWriter plain(it);
    it.set_other(1);
  }
  EXPECT_EQ(out.finish(), write_error::wrong_order);
}

}  // namespace
