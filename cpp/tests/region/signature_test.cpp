// Types with the same name, from several namespaces, are different types: in the layout hash, and in all data
// about a type. The tests are like those in crates/situ-region/tests/region/signature.rs.
#include <gtest/gtest.h>

#include <array>
#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>

#include "situ/region.hpp"

namespace {

using situ::region;

namespace numbers {
struct Item {
  std::uint32_t x;
};
SITU_REGION(Item, x)
struct Pos {
  std::uint32_t lat;
  std::uint32_t lon;
};
SITU_REGION(Pos, lat, lon)
}  // namespace numbers
namespace floats {
struct Pos {
  float lon;
  float lat;
};
SITU_REGION(Pos, lon, lat)
}  // namespace floats
namespace trees {
struct Item {
  situ::region_ordered_set<std::uint64_t> m;
};
SITU_REGION(Item, m)
}  // namespace trees
namespace growing {
struct alignas(8) Item {
  numbers::Item plain;
};
SITU_REGION_APPENDABLE(Item, plain)
struct alignas(8) Record {
  std::uint64_t id;
};
SITU_REGION_APPENDABLE(Record, id)
}  // namespace growing
namespace others {
struct alignas(8) Record {
  std::uint32_t number;
};
SITU_REGION_APPENDABLE(Record, number)
}  // namespace others

struct Twins {
  numbers::Item first;
  trees::Item second;
  situ::region_vector<trees::Item> more;
  situ::region_vector<numbers::Item> others;
};
SITU_REGION(Twins, first, second, more, others)

TEST(RegionSignature, each_type_of_a_name_has_its_lines) {
  EXPECT_EQ(situ::region_detail::layout_text<Twins>(),
            "region-v2 Twins\n"
            "Twins 0 52 4 struct\n"
            "Twins.first 0 4 4 Item\n"
            "Twins.second 4 16 4 Item#2\n"
            "Twins.more 20 16 4 vector\n"
            "Twins.more[] 0 16 4 Item#2\n"
            "Twins.others 36 16 4 vector\n"
            "Twins.others[] 0 4 4 Item\n"
            "Item 0 4 4 struct\n"
            "Item.x 0 4 4 uint32\n"
            "Item#2 0 16 4 struct\n"
            "Item#2.m 0 16 4 ordered_set\n"
            "Item#2.m[] 0 8 8 uint64\n");
}

using Number = situ::region_union<"Value", std::int32_t, situ::region_case<"n", std::uint64_t, 0>>;
using Text = situ::region_union<"Value", std::int32_t, situ::region_case<"a", std::uint32_t, 0>,
                                situ::region_case<"b", situ::region_string, 1>>;
struct Choices {
  Number x;
  Text y;
};
SITU_REGION(Choices, x, y)

TEST(RegionSignature, each_union_of_a_name_has_its_lines) {
  EXPECT_EQ(situ::region_detail::layout_text<Choices>(),
            "region-v2 Choices\n"
            "Choices 0 40 8 struct\n"
            "Choices.x 0 16 8 Value\n"
            "Choices.y 16 24 4 Value#2\n"
            "Value 0 16 8 union\n"
            "Value.discriminator 0 4 4 int32\n"
            "Value.n 8 8 8 0:uint64\n"
            "Value#2 0 24 4 union\n"
            "Value#2.discriminator 0 4 4 int32\n"
            "Value#2.a 8 4 4 0:uint32\n"
            "Value#2.b 8 16 4 1:string\n");
}

namespace first_version {
struct Track {
  numbers::Item item;
  numbers::Pos from;
  numbers::Pos to;
};
SITU_REGION(Track, item, from, to)
}  // namespace first_version
namespace second_version {
struct Track {
  numbers::Item item;
  numbers::Pos from;
  floats::Pos to;
};
SITU_REGION(Track, item, from, to)
}  // namespace second_version
namespace third_version {
struct Track {
  numbers::Item item;
  floats::Pos from;
  floats::Pos to;
};
SITU_REGION(Track, item, from, to)
}  // namespace third_version

TEST(RegionSignature, another_layout_under_the_same_names_is_refused) {
  const region<first_version::Track> r;
  const auto second = region<second_version::Track>::adopt(r.bytes());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().problem, situ::region_problem::wrong_layout);
  std::array<char, 17> theirs{};
  std::array<char, 17> ours{};
  std::snprintf(theirs.data(), theirs.size(), "%016" PRIx64,
                situ::region_detail::layout_hash<first_version::Track>());
  std::snprintf(ours.data(), ours.size(), "%016" PRIx64,
                situ::region_detail::layout_hash<second_version::Track>());
  // The same text as in Rust.
  EXPECT_EQ(second.error().message(),
            "message: the image is not of Track as it is laid out here: its layout hash is " +
                std::string(theirs.data()) + ", that of Track " + ours.data() +
                "; generate both programs from the same schema (at offset 16)");
  EXPECT_FALSE(region<third_version::Track>::adopt(r.bytes()));
  EXPECT_FALSE(region<third_version::Track>::adopt(region<second_version::Track>().bytes()));
}

struct Both {
  numbers::Item first;
  trees::Item second;
};
SITU_REGION(Both, first, second)

TEST(RegionSignature, a_tree_behind_a_name_that_was_met_counts) {
  // A tree of three nodes. The canonical ones take one more granule.
  region<Both> r;
  auto& keys = r->second.m;
  for (std::uint64_t i = 0; i < 32; ++i) keys.insert(1'000'000 + i * 1000);
  keys.insert(999'999);
  for (std::uint64_t i = 0; i < 4; ++i) keys.insert(1'031'001 + i);
  r.compact_in_place();
  EXPECT_EQ(r.canonical_bound(), r.size() + 16);
  EXPECT_EQ(r.canonical().size(), r.size() + 16);
}

struct Deep;
namespace plain {
struct Wrap {
  numbers::Item item;
};
SITU_REGION(Wrap, item)
}  // namespace plain
namespace linked {
struct Wrap {
  situ::region_vector<situ::region_shared<Deep>> to;
};
SITU_REGION(Wrap, to)
}  // namespace linked
struct Deep {
  plain::Wrap first;
  linked::Wrap second;
};
SITU_REGION(Deep, first, second)
struct Start {
  situ::region_shared<Deep> deep;
};
SITU_REGION(Start, deep)

TEST(RegionSignature, links_behind_a_name_that_was_met_make_no_cycle) {
  region<Start> r;
  r->deep.emplace();
  EXPECT_FALSE(r->deep->second.to.emplace_back().try_share(r->deep));
  EXPECT_TRUE(region<Start>::adopt(r.bytes()));
}

TEST(RegionSignature, appendable_structs_are_distinguished_from_their_members) {
  const region<growing::Item> r;
  std::uint32_t table = 0;
  std::memcpy(&table, r.bytes().data() + 60, sizeof(table));
  std::uint64_t history = 0;
  std::memcpy(&history, r.bytes().data() + table + 24, sizeof(history));
  // The hash of "<hash of region-appendable-v1 Item\n>\nItem.plain 0 4 4 Item#2\nItem#2 0 4 4 struct\n
  // Item#2.x 0 4 4 uint32\n", by Python's hashlib.
  EXPECT_EQ(history, 0x7cb11f303ec90594U);
}

struct Records {
  situ::region_unique<growing::Record> one;
  situ::region_unique<others::Record> another;
};
SITU_REGION(Records, one, another)

TEST(RegionSignature, two_appendable_structs_have_two_names) {
  EXPECT_THROW(static_cast<void>(situ::view_region<Records>({})), std::logic_error);
}

/// A union that contains values of its own type.
struct Json
    : situ::region_union<"Json", std::int32_t, situ::region_case<"list", situ::region_vector<Json>, 0>,
                         situ::region_case<"number", double, 1>> {};
struct Document {
  Json root;
};
SITU_REGION(Document, root)

TEST(RegionSignature, a_union_may_hold_others_of_its_kind) {
  region<Document> r;
  r->root.emplace<"list">(0).emplace_back().emplace<"number">(1, 2.5);
  const auto read = region<Document>::adopt(r.canonical());
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ((*read)->root.get<"list">()[0].get<"number">(), 2.5);
}

}  // namespace
