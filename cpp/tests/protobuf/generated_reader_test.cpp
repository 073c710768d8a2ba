// Readers that Situ generates for .proto files: the message of the vectors in every form, and the features of
// proto2 and editions.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "edition.situ.hpp"
#include "kitchen.situ.hpp"
#include "legacy.situ.hpp"
#include "support/vectors.hpp"

namespace {

using situ::kitchen::Fruit;
using situ::kitchen::KitchenReader;
using situ_test::vector_bytes;
using bytes = std::vector<std::uint8_t>;

template <class Fill>
bytes written(Fill&& fill) {
  situ::protobuf::growing_buffer buffer;
  situ::protobuf::writer out(buffer);
  fill(out);
  EXPECT_EQ(out.finish(), situ::protobuf::write_error::none);
  return bytes(buffer.written().begin(), buffer.written().end());
}

template <class T, class Range>
std::vector<T> all(Range range) {
  std::vector<T> found;
  for (const auto each : range) found.push_back(each);
  return found;
}

TEST(protobuf_generated_reader, every_form_of_the_kitchen) {
  for (const auto* name :
       {"kitchen.bin", "kitchen.chunks5.bin", "kitchen.chunks16.bin", "kitchen.chunks64.bin"}) {
    const bytes message = vector_bytes<std::uint8_t>(name);
    const KitchenReader it(message);
    ASSERT_FALSE(it.error()) << name;
    EXPECT_EQ(it.int32(), -1);
    EXPECT_EQ(it.int64(), std::numeric_limits<std::int64_t>::min());
    EXPECT_EQ(it.uint32(), 0xffffffff);
    EXPECT_EQ(it.uint64(), 0xffffffffffffffff);
    EXPECT_EQ(it.sint32(), -2);
    EXPECT_EQ(it.sint64(), std::numeric_limits<std::int64_t>::min());
    EXPECT_EQ(it.fixed32(), 0x01020304U);
    EXPECT_EQ(it.fixed64(), 0x0102030405060708U);
    EXPECT_EQ(it.sfixed32(), -7);
    EXPECT_EQ(it.sfixed64(), -8);
    EXPECT_EQ(it.float_(), 1.5F);
    EXPECT_EQ(it.double_(), -2.25);
    EXPECT_TRUE(it.bool_());
    EXPECT_EQ(it.string(), "Gr\303\274\303\237e, \360\237\246\200");
    EXPECT_EQ(bytes(it.bytes().begin(), it.bytes().end()), (bytes{0, 0xff, 0x80}));
    const KitchenReader child = it.child();
    EXPECT_EQ(child.int32(), 150);
    EXPECT_EQ(child.string(), std::string(130, 'n'));
    EXPECT_TRUE(it.child().child().bool_());
    EXPECT_FALSE(child.has_bool());
    EXPECT_FALSE(child.child().has_child());
    std::vector<std::uint32_t> children;
    for (const KitchenReader& each : it.children()) children.push_back(each.uint32());
    EXPECT_EQ(children, (std::vector<std::uint32_t>{0, 7}));
    EXPECT_EQ(all<std::int32_t>(it.packed()), (std::vector<std::int32_t>{3, 270, 86942, -1}));
    EXPECT_EQ(all<double>(it.doubles()), (std::vector<double>{0.5, -1.5}));
    EXPECT_EQ(all<std::int64_t>(it.zigzags()), (std::vector<std::int64_t>{-1, 1, std::int64_t{1} << 40}));
    EXPECT_EQ(all<bool>(it.bools()), (std::vector<bool>{true, false, true}));
    EXPECT_EQ(all<std::string_view>(it.strings()), (std::vector<std::string_view>{"", "b"}));
    EXPECT_EQ(it.fruit(), Fruit::ORANGE);
    EXPECT_FALSE(it.has_number() || it.has_message());
    EXPECT_EQ(it.text(), "one, two");
    EXPECT_EQ(all<Fruit>(it.fruits()), (std::vector<Fruit>{Fruit::APPLE, Fruit::FRUIT_UNKNOWN}));
    EXPECT_EQ(all<std::uint64_t>(it.unpacked()), (std::vector<std::uint64_t>{1, 300}));
    for (const auto& entry : it.scores()) {
      EXPECT_EQ(entry.key(), "a");
      EXPECT_EQ(entry.value(), 1);
    }
    for (const auto& entry : it.named()) {
      EXPECT_EQ(entry.key(), 7U);
      const KitchenReader value = entry.value();
      EXPECT_EQ(value.string(), "x");
    }
    EXPECT_TRUE(it.unknown_fields().begin() == it.unknown_fields().end());
  }
}

TEST(protobuf_generated_reader, proto2_has_defaults_and_closed_enums) {
  using situ::legacy::LegacyReader;
  using situ::legacy::LegacyWriter;
  using situ::legacy::Mode;
  const LegacyReader empty;
  EXPECT_EQ(empty.negative(), -5);
  EXPECT_EQ(empty.huge(), std::numeric_limits<float>::infinity());
  EXPECT_EQ(empty.tenth(), 0.1);
  EXPECT_TRUE(empty.on());
  EXPECT_EQ(empty.greeting(), "hey \"you\"\n");
  EXPECT_EQ(bytes(empty.raw().begin(), empty.raw().end()), (bytes{1, 0xff, '"', 'a'}));
  EXPECT_EQ(empty.mode(), Mode::SLOW);

  const bytes message = written([](situ::protobuf::writer& out) {
    LegacyWriter it(out);
    it.set_mode(Mode::FAST);
    it.set_mode(static_cast<Mode>(9));
    it.add_modes(Mode::FAST);
    it.add_modes(static_cast<Mode>(9));
    it.set_packed_modes(std::array{static_cast<Mode>(1), Mode::SLOW});
    it.set_yes(true);
    auto no = it.set_no();
    no.add_match().set_type(4);
  });
  const LegacyReader it(message);
  EXPECT_EQ(it.mode(), Mode::FAST);
  EXPECT_EQ(all<Mode>(it.modes()), std::vector<Mode>{Mode::FAST});
  EXPECT_EQ(all<Mode>(it.packed_modes()), std::vector<Mode>{Mode::SLOW});
  EXPECT_FALSE(it.has_yes());
  EXPECT_EQ(it.no().side(), situ::legacy::Legacy_Side::RIGHT);
  for (const auto& each : it.no().match()) EXPECT_EQ(each.type(), 4);
  std::size_t unknown = 0;
  const situ::legacy::NothingReader nothing(message);
  for ([[maybe_unused]] const auto& each : nothing.unknown_fields()) ++unknown;
  EXPECT_EQ(unknown, 7U);
}

TEST(protobuf_generated_reader, an_edition_has_the_features_that_it_sets) {
  using namespace situ::edition;
  const EditionReader empty;
  EXPECT_EQ(empty.plain(), 7);
  EXPECT_EQ(empty.text(), std::string_view("a\0b", 3));
  EXPECT_EQ(empty.mode(), Mode::SLOW);
  // Packed and expanded numbers, unknown modes with the value 9, a number in a oneof.
  const bytes message{0x1a, 2, 1, 2, 0x20, 3, 0x20, 4, 0x28, 9, 0x30, 9, 0x50, 6, 0x48, 9, 0x5a, 3, 2, 9, 1};
  const bytes ours = written([](situ::protobuf::writer& out) {
    EditionWriter it(out);
    it.set_packed(std::array{1, 2});
    it.add_expanded(3);
    it.add_expanded(4);
    it.set_mode(static_cast<Mode>(9));
    it.set_loose(static_cast<Loose>(9));
    it.set_other(6);
    it.set_one(static_cast<Mode>(9));
    it.set_all(std::array{Mode::FAST, static_cast<Mode>(9), Mode::SLOW});
  });
  EXPECT_EQ(ours, message);
  const EditionReader it(message);
  EXPECT_FALSE(it.has_mode());
  EXPECT_EQ(it.loose(), static_cast<Loose>(9));
  EXPECT_FALSE(it.has_one());
  EXPECT_EQ(it.other(), 6U);
  EXPECT_EQ(all<Mode>(it.all()), (std::vector<Mode>{Mode::FAST, Mode::SLOW}));
  std::vector<std::uint32_t> unknown;
  for (const auto& each : it.unknown_fields()) unknown.push_back(each.number);
  EXPECT_EQ(unknown, (std::vector<std::uint32_t>{5, 9}));
}

TEST(protobuf_generated_reader, groups_and_extensions) {
  using namespace situ::legacy;
  const bytes message = vector_bytes<std::uint8_t>("grouped.bin");
  const GroupedReader it(message);
  EXPECT_EQ(it.single().x(), -1);
  const auto single = it.single();
  const auto inner = single.inner();
  EXPECT_EQ(inner.text(), "in");
  std::vector<std::int32_t> many;
  for (const auto& each : it.many()) many.push_back(each.x());
  EXPECT_EQ(many, (std::vector<std::int32_t>{1, 0, 300}));
  EXPECT_TRUE(it.picked().yes());
  EXPECT_EQ(it.foo_bar() + it.fooBar(), 11);
  EXPECT_EQ(PlainExtensionReader(it).plain(), 7);
  const PackedNumbersExtensionReader numbers(it);
  EXPECT_EQ(all<std::int32_t>(numbers.packed_numbers()), (std::vector<std::int32_t>{-1, 2}));
  const auto extra = ExtraExtensionReader(it).extra();
  EXPECT_EQ(extra.text(), "more");
  std::vector<Legacy_Side> sides;
  for (const auto& each : InnersExtensionReader(it).inners()) sides.push_back(each.side());
  EXPECT_EQ(sides, (std::vector<Legacy_Side>{Legacy_Side::LEFT, Legacy_Side::RIGHT}));
  EXPECT_EQ(ModeExtensionReader(it).mode(), Mode::FAST);
  const NotesExtensionReader notes(it);
  EXPECT_EQ(all<std::string_view>(notes.notes()), (std::vector<std::string_view>{"a", "b"}));
  const Scope_RawExtensionReader raw(it);
  EXPECT_EQ(raw.raw().size(), 2U);
  EXPECT_EQ(ModeExtensionReader(GroupedReader()).mode(), Mode::SLOW);

  // Repeated groups are merged, and so are their extensions.
  bytes twice = message;
  twice.insert(twice.end(), {0x0b, 0x08, 9, 0x0c});
  const auto merged = GroupedReader(twice).single();
  EXPECT_EQ(merged.x(), 9);
  const auto still = merged.inner();
  EXPECT_EQ(still.text(), "in");

  const bytes delimited = vector_bytes<std::uint8_t>("delimited.bin");
  const situ::edition::EditionReader edition(delimited);
  EXPECT_EQ(edition.child().plain(), 2);
  EXPECT_EQ(edition.delimited().plain(), 3);
  EXPECT_TRUE(edition.delimited().has_delimited());
  std::vector<std::int32_t> plain;
  for (const auto& each : edition.each()) plain.push_back(each.plain());
  EXPECT_EQ(plain, (std::vector<std::int32_t>{4, 7}));
  EXPECT_TRUE(situ::edition::FurtherExtensionReader(edition).further());
}

}  // namespace
