// Regions: memory, images, validation, and the character of the offset-data-structure talk.
#include "situ/region.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "region/character.hpp"
#include "region/refused.hpp"
#include "support/memory.hpp"

namespace {

using situ::region;
using situ::region_problem;
using situ_test::aligned_bytes;
using situ_test::Character;
using situ_test::Kitchen;
using situ_test::Node;
using situ_test::refused;

/// A view of a temporary image does not compile.
template <class Image>
concept viewable = requires(Image&& image) {
  situ::view_region<Character>(std::forward<Image>(image));
};
static_assert(viewable<std::vector<std::byte>&> && viewable<const std::vector<std::byte>&>);
static_assert(viewable<std::span<const std::byte>> && viewable<std::span<std::byte>>);
static_assert(!viewable<std::vector<std::byte>> && !viewable<const std::vector<std::byte>>);
static_assert(!viewable<std::array<std::byte, 96>>);

TEST(Region, reads_like_the_talk) {
  region<Character> r;
  situ_test::fill(*r);
  EXPECT_EQ(r->skills.size(), 2U);
  EXPECT_EQ(r->skills[0].id, 1054U);
  EXPECT_EQ(r->name, "Hero");
  EXPECT_EQ(r->items.at(40).uuid, 7001U);
  EXPECT_EQ(r->items.begin()->first, 10U);
  EXPECT_EQ(r->items.erase(20), 1U);
  EXPECT_EQ(r->items.size(), 4U);
  EXPECT_FLOAT_EQ(r->equips[1].attributes.back(), 2.0F);
}

TEST(Region, an_image_is_taken_on_without_decoding_and_changed) {
  region<Kitchen> a;
  situ_test::fill(*a);
  for (const bool canonical : {false, true}) {
    const std::vector<std::byte> sent =
        canonical ? a.canonical() : std::vector<std::byte>(a.bytes().begin(), a.bytes().end());
    aligned_bytes received{std::span(sent)};
    auto b = region<Kitchen>::adopt(received.span());
    ASSERT_TRUE(b) << b.error().message();
    EXPECT_EQ(b->canonical(), a.canonical());
    (*b)->words.insert("another word, also long");
    (*b)->gear.erase("bow");
    (*b)->tree->children.clear();
    EXPECT_TRUE((*b)->words.contains("another word, also long"));
    EXPECT_EQ(refused<Kitchen>(b->bytes()), "accepted");
    EXPECT_EQ(refused<Kitchen>(b->canonical()), "accepted");
  }
}

TEST(Region, equal_values_have_equal_canonical_images_for_any_history) {
  region<Kitchen> a;
  region<Kitchen> b;
  for (int i = 500; i > 0; --i) b->numbers.insert(i * 91);
  for (int i = 500; i > 0; --i) b->numbers.erase(i * 91);
  b->bits.resize(1000);
  b->bits.clear();
  for (int i = 19; i >= 0; --i) b->numbers.insert(i * 37 - 100);
  for (const char* name : {"bow", "x", "a shield that is heavy"}) b->gear[name].level = 9;
  b->gear.clear();
  situ_test::fill(*a);
  situ_test::fill(*b);
  EXPECT_EQ(a.canonical(), b.canonical());
  region<Kitchen> c;
  *c = *b;
  EXPECT_EQ(a.canonical(), c.canonical());
  const region<Kitchen> d = b;
  EXPECT_EQ(a.canonical(), d.canonical());
  b.compact();
  EXPECT_EQ(a.canonical(), b.canonical());
  EXPECT_EQ(b.bytes().size(), b.canonical().size());
  EXPECT_EQ(b.free_bytes(), 0U);
}

TEST(Region, erased_data_is_in_neither_image) {
  region<Character> r;
  situ_test::fill(*r);
  const std::size_t before = r.canonical().size();
  for (std::uint64_t i = 0; i < 100'000; ++i) {
    r->items.emplace(1000 + i, situ_test::Item{1, 2, 0xDEAD'BEEF'DEAD'BEEF, 3});
    r->items.erase(1000 + i);
    if (i % 100 == 0) {
      r->name = "SECRET, a name that needs a block";
      r->name = "Hero";
    }
  }
  r->name.shrink_to_fit();
  EXPECT_EQ(r.canonical().size(), before);
  const std::string_view live(reinterpret_cast<const char*>(r.bytes().data()), r.bytes().size());
  EXPECT_EQ(live.find("SECRET"), std::string_view::npos);
  EXPECT_EQ(live.find("\xEF\xBE\xAD\xDE"), std::string_view::npos);
}

TEST(Region, a_window_grows_in_place) {
  region<Character> r;
  const Character* const where = r.get();
  r->name = "someone with a long name";
  const char* const name = r->name.data();
  for (int i = 0; i < 100'000; ++i) r->path.emplace_back(i, i, i);
  EXPECT_EQ(r.get(), where);
  EXPECT_EQ(r->name.data(), name);
  EXPECT_EQ(r->path[99'999].z, 99'999.0F);
  EXPECT_EQ(refused<Character>(r.bytes()), "accepted");
}

TEST(Region, windows_are_used_again_and_are_clean) {
  for (int round = 0; round < 3; ++round) {
    std::vector<std::unique_ptr<region<Character>>> many;
    for (int i = 0; i < 200; ++i) {
      many.push_back(std::make_unique<region<Character>>());
      EXPECT_EQ((*many.back())->path.size(), 0U);
      for (int j = 0; j < (i == 0 ? 20'000 : 20); ++j) (*many.back())->path.emplace_back(1, 2, 3);
      situ_test::fill(**many.back());
    }
    EXPECT_EQ(many.front()->get()->skills[0].id, 1054U);
  }
}

TEST(Region, a_fixed_buffer_reports_when_it_is_full_and_stays_valid) {
  aligned_bytes memory(4096);
  region<Kitchen> r(memory.span());
  situ_test::fill(*r);
  const std::vector<std::byte> before = r.canonical();
  std::size_t added = 0;
  while (r->words.try_insert("word number " + std::to_string(added)).first != nullptr) ++added;
  EXPECT_GT(added, 10U);
  EXPECT_THROW(r->words.insert("one more word"), situ::region_error);
  EXPECT_THROW(r->gear["one more piece"], situ::region_error);
  EXPECT_THROW(r->lists["one more list"].resize(5000), situ::region_error);
  EXPECT_FALSE(r->nickname->try_append(std::string(4000, 'x')));
  EXPECT_EQ(refused<Kitchen>(r.bytes()), "accepted");
  r->lists.erase("one more list");
  while (added != 0) r->words.erase("word number " + std::to_string(--added));
  EXPECT_EQ(r.canonical(), before);
  const std::vector<std::byte> image(r.bytes().begin(), r.bytes().end());
  aligned_bytes other(8192);
  std::memcpy(other.span().data(), image.data(), image.size());
  auto again = region<Kitchen>::adopt_in_place(other.span());
  ASSERT_TRUE(again) << again.error().message();
  (*again)->words.insert("there is room again");
  EXPECT_THROW(region<Kitchen>(memory.span().first(100)), situ::region_error);
}

TEST(Region, a_movable_one_is_reached_through_handles) {
  situ::movable_region<Character> r;
  const auto skills = r.root().member<&Character::skills>();
  const auto equips = r.root().member<&Character::equips>();
  for (int i = 0; i < 10'000; ++i) {
    skills.change([i](auto& v) { return v.try_emplace_back(i, i + 1); });
    equips.change([i](auto& v) { return v.try_emplace_back(situ_test::Item{}, i); });
    equips[static_cast<std::size_t>(i)].member<&situ_test::Equip::attributes>().change(
        [](auto& v) { return v.try_emplace_back(0.5F); });
  }
  EXPECT_EQ(r->skills[9'999].level, 10'000U);
  EXPECT_EQ(r->equips[9'999].attributes[0], 0.5F);
  region<Character> same;
  for (int i = 0; i < 10'000; ++i) {
    same->skills.emplace_back(i, i + 1);
    same->equips.emplace_back(situ_test::Item{}, i).attributes.push_back(0.5F);
  }
  EXPECT_EQ(r.canonical(), same.canonical());
  aligned_bytes sent{r.bytes()};
  auto taken = situ::movable_region<Character>::adopt(sent.span());
  ASSERT_TRUE(taken) << taken.error().message();
  EXPECT_EQ(taken->canonical(), r.canonical());
}

TEST(Region, values_may_be_made_of_values_that_move) {
  region<Character> r;
  r->skills.emplace_back(1, 2);
  for (int i = 0; i < 100; ++i) r->skills.push_back(r->skills[0]);
  EXPECT_EQ(r->skills[100].level, 2U);
  region<Kitchen> k;
  k->words.insert("a word of some length");
  k->names[0] = "twelve bytes";
  for (int i = 0; i < 10; ++i) k->names[0].append(k->names[0]);
  EXPECT_EQ(k->names[0].size(), 12U << 10);
  k->names[0] = k->names[0].view().substr(12, 24);
  EXPECT_EQ(k->names[0], "twelve bytestwelve bytes");
  region<Node> n;
  n->children.emplace_back(1).children.emplace_back(2).children.emplace_back(3);
  n->children = n->children[0].children;
  EXPECT_EQ(n->children[0].children[0].value, 3);
}

TEST(Region, errors_name_path_offset_and_reason) {
  region<Kitchen> r;
  situ_test::fill(*r);
  const std::vector<std::byte> good = r.canonical();
  EXPECT_EQ(refused<Kitchen>(good), "accepted");
  const auto spoilt = [&good](std::size_t at, int value) {
    std::vector<std::byte> bad = good;
    bad[at] = static_cast<std::byte>(value);
    return refused<Kitchen>(bad);
  };
  constexpr std::size_t root = 64;
  EXPECT_EQ(spoilt(0, 'X'), "message: no region: the bytes do not begin with SRGN (at offset 0)");
  EXPECT_EQ(spoilt(root, 2), "flag: 2 is not a boolean; only 0 and 1 are (at offset 64)");
  EXPECT_EQ(spoilt(root + 1, 1),
            "message: the byte at offset 65 belongs to nothing and is not zero (at offset 65)");
  const std::size_t name = root + offsetof(Kitchen, names) + 16;
  EXPECT_EQ(spoilt(name + 3, 0x40).substr(0, 9), "names[1]:");
  EXPECT_EQ(spoilt(name + 4, 0xFF),
            "names[1]: length 255 exceeds the capacity 32 (at offset " + std::to_string(name) + ")");
  EXPECT_EQ(spoilt(root + offsetof(Kitchen, maybe), 3).substr(0, 27), "maybe: 3 is not a boolean; ");
  EXPECT_NE(refused<Character>(good).find("layout hash"), std::string::npos);
  std::vector<std::byte> longer = good;
  longer.resize(good.size() + 16);
  EXPECT_EQ(refused<Kitchen>(longer), "accepted");
  EXPECT_NE(refused<Kitchen>(std::span(good).first(good.size() - 16)).find("the header says"),
            std::string::npos);

  std::vector<std::byte> live(r.bytes().begin(), r.bytes().end());
  const std::size_t words = root + offsetof(Kitchen, words);
  std::int32_t link = 0x7000'0000;
  std::memcpy(live.data() + words, &link, sizeof(link));
  EXPECT_EQ(refused<Kitchen>(live), "words: offset " + std::to_string(link + static_cast<int>(words)) +
                                        " outside the image of " + std::to_string(live.size()) +
                                        " bytes (at offset " + std::to_string(words) + ")");

  // Two vectors with the same block.
  region<Character> two;
  situ_test::fill(*two);
  live.assign(two.bytes().begin(), two.bytes().end());
  const std::size_t path = root + offsetof(Character, path);
  const std::size_t attributes = root + offsetof(Character, attributes);
  std::memcpy(&link, live.data() + path, sizeof(link));
  const auto block = link + static_cast<std::int32_t>(path);
  link = block - static_cast<std::int32_t>(attributes);
  std::memcpy(live.data() + attributes, &link, sizeof(link));
  EXPECT_EQ(refused<Character>(live), "attributes: the block at offset " + std::to_string(block) +
                                          " is part of another one (at offset " + std::to_string(attributes) +
                                          ")");
}

TEST(Region, every_spoilt_byte_of_an_image_is_refused_or_harmless) {
  region<Kitchen> r;
  situ_test::fill(*r);
  for (const bool canonical : {true, false}) {
    const std::vector<std::byte> good =
        canonical ? r.canonical() : std::vector<std::byte>(r.bytes().begin(), r.bytes().end());
    for (std::size_t at = 0; at < good.size(); ++at) {
      for (const int flip : {1, 0x80, 0xFF}) {
        aligned_bytes bad{std::span(good)};
        bad.span()[at] ^= static_cast<std::byte>(flip);
        auto taken = region<Kitchen>::adopt(bad.span());
        if (!taken) continue;
        // An accepted image is a valid value: all of it can be read, and its canonical image is accepted and
        // stays the same.
        aligned_bytes again{std::span<const std::byte>(taken->canonical())};
        const auto twice = region<Kitchen>::adopt(again.span());
        ASSERT_TRUE(twice) << at << ": " << twice.error().message();
        ASSERT_EQ(twice->canonical(), taken->canonical()) << at;
        // A canonical image is the only one of its value.
        if (canonical && at != 6) {  // byte 6 is the form of the image
          ASSERT_EQ(taken->canonical(), std::vector<std::byte>(bad.span().begin(), bad.span().end())) << at;
        }
      }
    }
  }
}

TEST(Region, depth_has_no_bound) {
  const auto chain = [](int depth) {
    region<Node> r;
    Node* at = r.get();
    for (int i = 0; i < depth; ++i) at = &at->next.emplace(i);
    return refused<Node>(r.bytes());
  };
  EXPECT_EQ(chain(64), "accepted");
  EXPECT_EQ(chain(65), "accepted");
}

TEST(Region, a_container_outside_of_a_region_reports_it) {
  situ::region_vector<int> alone;
  EXPECT_FALSE(alone.try_reserve(1));
  try {
    alone.push_back(1);
    FAIL();
  } catch (const situ::region_error& error) {
    EXPECT_EQ(error.fault(), situ::region_fault::detached);
  }
}

TEST(Region, sizes_are_those_of_the_format) {
  EXPECT_EQ(sizeof(situ::region_string), 16U);
  EXPECT_EQ(sizeof(situ::region_vector<double>), 16U);
  EXPECT_EQ(sizeof(situ::region_hash_map<int, double>), 16U);
  EXPECT_EQ(sizeof(situ::region_unique<Node>), 8U);
  EXPECT_EQ(sizeof(situ::region_optional<double>), 16U);
  EXPECT_EQ(sizeof(Character), 136U);
  EXPECT_EQ(situ::region_detail::layout_text<situ_test::Equip>(),
            "region-v2 Equip\n"
            "Equip 0 48 8 struct\n"
            "Equip.base 0 24 8 Item\n"
            "Equip.level 24 4 4 uint32\n"
            "Equip.attributes 28 16 4 vector\n"
            "Equip.attributes[] 0 4 4 float\n"
            "Item 0 24 8 struct\n"
            "Item.id 0 4 4 uint32\n"
            "Item.number 4 4 4 uint32\n"
            "Item.uuid 8 8 8 uint64\n"
            "Item.timestamp 16 8 8 uint64\n");
  // echo -n abc | sha256sum
  EXPECT_EQ(situ::region_detail::sha256_u64("abc"), 0xeacf018fbf1678baU);
}

}  // namespace
