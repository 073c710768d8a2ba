// Packed images: written and read as the vectors say, read in place, adopted, and refused if anything in them
// is wrong.
#include "situ/region/packed.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "region/cabinet.hpp"
#include "region/family.hpp"
#include "region/market.hpp"
#include "support/memory.hpp"
#include "support/vectors.hpp"

namespace {

using situ::adopt_packed;
using situ::packed;
using situ::view_packed;
using situ_test::aligned_bytes;
using situ_test::vector_image;

std::vector<std::byte> copy_of(std::span<const std::byte> bytes) { return {bytes.begin(), bytes.end()}; }

template <class T>
void held_to(const std::string& name) {
  situ::region<T> made;
  fill(*made);
  aligned_bytes image = vector_image(name + ".packed.bin");
  EXPECT_EQ(packed(made), copy_of(image.span()));
  const auto viewed = view_packed<T>(image.span());
  EXPECT_TRUE(viewed) << viewed.error().message();
  auto taken = adopt_packed<T>(image.span());
  ASSERT_TRUE(taken) << taken.error().message();
  EXPECT_EQ(taken->canonical(), made.canonical());
  EXPECT_EQ(packed(*taken), packed(made));
  auto live = situ::region<T>::adopt(taken->bytes());
  ASSERT_TRUE(live) << live.error().message();
  EXPECT_EQ(packed(*live), packed(made));
  // At any address.
  std::vector<std::byte> shifted(image.span().size() + 1);
  std::copy(image.span().begin(), image.span().end(), shifted.begin() + 1);
  EXPECT_TRUE(adopt_packed<T>(std::span(shifted).subspan(1)));
  std::vector<std::byte> memory(image.span().size());
  EXPECT_EQ(situ::packed_to(made, memory), memory.size());
  EXPECT_EQ(memory, packed(made));
  EXPECT_EQ(situ::packed_to(made, std::span(memory).first(memory.size() - 1)), memory.size());
}

TEST(PackedRegion, market) { held_to<situ_test::Market>("market"); }
TEST(PackedRegion, family) { held_to<situ_test::Family>("family"); }
TEST(PackedRegion, profile_before) { held_to<situ_test::before::Profile>("profile.before"); }
TEST(PackedRegion, profile_after) { held_to<situ_test::after::Profile>("profile.after"); }
TEST(PackedRegion, character) { held_to<situ_test::Character>("character"); }
TEST(PackedRegion, cabinet) { held_to<situ_test::Cabinet>("cabinet"); }
TEST(PackedRegion, kitchen) { held_to<situ_test::Kitchen>("kitchen"); }

TEST(PackedRegion, values_are_read_where_they_lie) {
  using situ_test::Character;
  aligned_bytes image = vector_image("character.packed.bin");
  const auto viewed = view_packed<Character>(image.span());
  ASSERT_TRUE(viewed);
  const auto& c = *viewed;
  EXPECT_EQ(c.get<&Character::id>(), 1U);
  EXPECT_EQ(c.get<&Character::name>(), "Hero");
  EXPECT_EQ(c.get<&Character::pos>().y, 2);
  const auto items = c.get<&Character::items>();
  EXPECT_EQ(items.size(), 5U);
  EXPECT_EQ(items.at(40).uuid, 7001U);
  EXPECT_TRUE(items.contains(50));
  EXPECT_FALSE(items.contains(41));
  EXPECT_EQ(items.find(41), items.end());
  EXPECT_THROW(static_cast<void>(items.at(41)), std::out_of_range);
  std::uint64_t before = 0;
  for (const auto& [key, item] : items) {
    EXPECT_EQ(key, before += 10);
    EXPECT_EQ(item.number, 6 - key / 10);
  }
  const auto equips = c.get<&Character::equips>();
  ASSERT_EQ(equips.size(), 2U);
  using situ_test::Equip;
  EXPECT_EQ(equips[1].get<&Equip::level>(), 6U);
  const auto attributes = equips[1].get<&Equip::attributes>().span();
  EXPECT_EQ(std::vector<float>(attributes.begin(), attributes.end()), (std::vector<float>{0, 1, 2}));
  std::uint32_t level = 5;
  for (const auto equip : equips) EXPECT_EQ(equip.get<&Equip::level>(), level++);
  EXPECT_THROW(static_cast<void>(equips.at(2)), std::out_of_range);
  EXPECT_EQ(c.get<&Character::skills>()[0].id, 1054U);
}

TEST(PackedRegion, all_kinds_are_read_where_they_lie) {
  using situ_test::Kitchen;
  using situ_test::Node;
  aligned_bytes image = vector_image("kitchen.packed.bin");
  const auto viewed = view_packed<Kitchen>(image.span());
  ASSERT_TRUE(viewed);
  const auto& k = *viewed;
  EXPECT_TRUE(k.get<&Kitchen::flag>());
  EXPECT_EQ(k.get<&Kitchen::three>()[1], -2);
  EXPECT_EQ(k.get<&Kitchen::names>()[1], "a name of more than eleven bytes");
  EXPECT_EQ(*k.get<&Kitchen::maybe>(), 2.5);
  EXPECT_EQ(k.get<&Kitchen::nickname>().value().view(), "the nickname is long");
  const auto root = *k.get<&Kitchen::tree>();
  const auto second = root.get<&Node::children>()[1];
  EXPECT_EQ((*second.get<&Node::next>()).get<&Node::value>(), 5);
  EXPECT_FALSE((*second.get<&Node::next>()).get<&Node::next>());
  std::string words;
  for (const std::string_view word : k.get<&Kitchen::words>()) words += std::string(word) + ";";
  EXPECT_EQ(words, "a rather long word;apple;mango;zebra;");
  EXPECT_EQ(k.get<&Kitchen::lists>().at("odd").span()[2], 5);
  for (int i = -200; i < 800; ++i) {
    EXPECT_EQ(k.get<&Kitchen::numbers>().contains(i), (i + 100) % 37 == 0 && -100 <= i && i < 640) << i;
  }
  EXPECT_EQ(k.get<&Kitchen::gear>().at("bow").get<&situ_test::Equip::attributes>()[0], 1.5F);
  EXPECT_FALSE(k.get<&Kitchen::gear>().contains("arrow"));
  EXPECT_TRUE(k.get<&Kitchen::bits>()[0]);
  EXPECT_FALSE(k.get<&Kitchen::bits>()[1]);
}

TEST(PackedRegion, unions_and_links_are_read_where_they_lie) {
  using situ_test::Market;
  using situ_test::Texture;
  aligned_bytes image = vector_image("market.packed.bin");
  const auto viewed = view_packed<Market>(image.span());
  ASSERT_TRUE(viewed);
  const auto& m = *viewed;
  EXPECT_EQ(m.get<&Market::shape>().get<"label">(), "a label of some length");
  EXPECT_EQ(m.get<&Market::shape>().discriminator(), 3);
  EXPECT_THROW(static_cast<void>(m.get<&Market::shape>().get<"radius">()), situ::bad_union_access);
  EXPECT_EQ(m.get<&Market::shapes>()[0].get<0>(), 2.5F);
  EXPECT_EQ(m.get<&Market::shapes>()[2].get<"points">().size(), 3U);
  EXPECT_EQ(m.get<&Market::choices>()[0].get<"big">(), -1);
  EXPECT_FALSE(m.get<&Market::choices>()[1].has_value());
  EXPECT_FALSE(m.get<&Market::choices>()[1].visit([](const auto&) { FAIL(); }));
  int visits = 0;
  EXPECT_TRUE(m.get<&Market::flagged>().visit([&visits](const auto&) { ++visits; }));
  EXPECT_EQ(visits, 1);
  const auto textures = m.get<&Market::textures>();
  EXPECT_TRUE(m.get<&Market::texture>() == textures[1]);
  EXPECT_FALSE(m.get<&Market::texture>() == textures[0]);
  EXPECT_TRUE((*textures[1]).get<&Texture::base>() == textures[0]);
  EXPECT_FALSE(textures[2]);
  EXPECT_EQ(m.get<&Market::prices>().at("price 22").uuid, 22U);
  EXPECT_EQ(m.get<&Market::nothing>().begin(), m.get<&Market::nothing>().end());
  // A member of a base.
  EXPECT_EQ(m.get<&Market::blade>().get<&situ_test::Equip::level>(), 5U);
  EXPECT_EQ(m.get<&Market::blade>().get<&situ_test::Blade::edge>(), 7);
  auto taken = adopt_packed<Market>(image.span());
  ASSERT_TRUE(taken);
  EXPECT_EQ((*taken)->textures[0].use_count(), 3U);
}

/// Changes each byte in several ways. The image is refused, or it is the only one of another value.
template <class T>
void spoil(std::span<const std::byte> good) {
  aligned_bytes image{good};
  std::size_t refused = 0;
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (const int flip : {1, 2, 0x80, 0xFF}) {
      image.span()[at] ^= static_cast<std::byte>(flip);
      const auto taken = adopt_packed<T>(image.span());
      EXPECT_EQ(static_cast<bool>(view_packed<T>(image.span())), static_cast<bool>(taken));
      if (taken) {
        EXPECT_EQ(packed(*taken), copy_of(image.span())) << at;
      } else {
        ++refused;
      }
      image.span()[at] ^= static_cast<std::byte>(flip);
    }
    EXPECT_FALSE(adopt_packed<T>(good.first(at)));
  }
  EXPECT_GT(refused, good.size() / 3);
}

TEST(PackedRegion, each_changed_byte_is_refused_or_another_value) {
  spoil<situ_test::Kitchen>(vector_image("kitchen.packed.bin").span());
  spoil<situ_test::Character>(vector_image("character.packed.bin").span());
  spoil<situ_test::after::Profile>(vector_image("profile.after.packed.bin").span());
}

TEST(PackedRegion, versions_differ_as_in_other_forms) {
  namespace before = situ_test::before;
  namespace after = situ_test::after;
  aligned_bytes old = vector_image("profile.before.packed.bin");
  const auto grown = adopt_packed<after::Profile>(old.span());
  ASSERT_TRUE(grown) << grown.error().message();
  aligned_bytes canonical = vector_image("profile.before.canonical.bin");
  EXPECT_EQ(grown->canonical(), situ::region<after::Profile>::adopt(canonical.span())->canonical());
  const auto viewed = view_packed<after::Profile>(old.span());
  ASSERT_FALSE(viewed);
  EXPECT_EQ(viewed.error().message(),
            "message: the image has 3 members of Profile, this program 6; adopt a copy (at offset 0)");
  aligned_bytes newer = vector_image("profile.after.packed.bin");
  const auto seen = view_packed<before::Profile>(newer.span());
  ASSERT_TRUE(seen) << seen.error().message();
  EXPECT_EQ(seen->get<&before::Profile::name>(), "the name of this profile");
  EXPECT_EQ((*seen->get<&before::Profile::best>()).get<&before::Record::when>(), 1'700'000'000U);
  const auto shrunk = adopt_packed<before::Profile>(newer.span());
  ASSERT_TRUE(shrunk) << shrunk.error().message();
  EXPECT_EQ(packed(*shrunk), copy_of(old.span()));
}

using Small = situ::region_union<"Small", std::uint8_t, situ::region_case<"half", std::uint16_t, 1>,
                                 situ::region_case<"text", situ::region_string, 2>>;
struct Corners {
  Small small;
  situ::region_optional<std::uint8_t> byte;
  situ::region_optional<std::uint16_t> half;
  situ::region_optional<situ::region_string> text;
  situ::region_optional<situ::region_vector<std::uint64_t>> list;
  situ::region_optional<situ::region_optional<situ::region_string>> twice;
  situ::region_optional<situ::region_hash_map<situ::region_string, Small>> table;
  situ::region_sorted_map<std::uint64_t, std::uint8_t> sparse;
  situ::region_ordered_map<situ::region_string, situ::region_vector<Small>> tree;
  std::uint8_t last;
};
SITU_REGION(Corners, small, byte, half, text, list, twice, table, sparse, tree, last)

TEST(PackedRegion, an_absent_value_is_not_an_empty_one) {
  situ::region<Corners> r;
  const auto held = [&r] {
    const auto taken = adopt_packed<Corners>(packed(r));
    ASSERT_TRUE(taken) << taken.error().message();
    EXPECT_EQ(taken->canonical(), r.canonical());
    EXPECT_EQ(packed(*taken), packed(r));
    EXPECT_EQ((*taken)->text.has_value(), r->text.has_value());
  };
  held();
  r->text.emplace();
  r->list.emplace();
  r->twice.emplace();
  r->table.emplace();
  r->byte.emplace();
  held();
  r->twice->emplace("abc");
  r->half = std::uint16_t{3};
  r->small.emplace<"text">(2, "ab");
  for (int i = 0; i < 9; ++i) {
    (*r->table)[std::to_string(i)].select(static_cast<std::uint8_t>(i % 4));
    r->sparse[static_cast<std::uint64_t>(i) * 1'000'000'007] = static_cast<std::uint8_t>(i);
    r->tree[std::string(static_cast<std::size_t>(i), 'k')].emplace_back();
  }
  r->last = 0xFF;
  held();
  const std::vector<std::byte> image = packed(r);
  spoil<Corners>(image);
  aligned_bytes there{std::span<const std::byte>(image)};
  const auto c = view_packed<Corners>(there.span());
  ASSERT_TRUE(c);
  EXPECT_EQ(c->get<&Corners::text>().value().size(), 0U);
  EXPECT_EQ(*c->get<&Corners::twice>().value(), "abc");
  EXPECT_EQ((*c->get<&Corners::table>()).at("7").discriminator(), 3);
  EXPECT_EQ(c->get<&Corners::last>(), 0xFF);
}

struct Chain {
  std::uint32_t number;
  situ::region_unique<Chain> next;
};
SITU_REGION(Chain, number, next)

TEST(PackedRegion, a_chain_of_links_has_any_length) {
  situ::region<Chain> r;
  Chain* last = &*r;
  for (std::uint32_t i = 0; i < 100'000; ++i) {
    last->number = i;
    last = &last->next.emplace();
  }
  const std::vector<std::byte> image = packed(r);
  EXPECT_EQ(image.size(), 32 + 100'001 * 8U);
  const auto taken = adopt_packed<Chain>(image);
  ASSERT_TRUE(taken) << taken.error().message();
  EXPECT_EQ(taken->canonical(), r.canonical());
}

TEST(PackedRegion, a_region_gets_the_room_that_it_needs) {
  situ::region<situ_test::Character> r;
  for (int i = 0; i < 100'000; ++i) r->attributes.push_back(1);
  situ::region_options options;
  options.limit = 4096;
  const auto taken = adopt_packed<situ_test::Character>(packed(r), options);
  ASSERT_TRUE(taken) << taken.error().message();
  EXPECT_EQ(taken->canonical(), r.canonical());
}

TEST(PackedRegion, other_forms_are_refused) {
  aligned_bytes canonical = vector_image("character.canonical.bin");
  const auto viewed = view_packed<situ_test::Character>(canonical.span());
  ASSERT_FALSE(viewed);
  EXPECT_EQ(viewed.error().message(),
            "message: the image has form 0, and is not a packed one (form 2) (at offset 6)");
  aligned_bytes image = vector_image("character.packed.bin");
  EXPECT_FALSE(situ::region<situ_test::Character>::adopt(image.span()));
}

}  // namespace
