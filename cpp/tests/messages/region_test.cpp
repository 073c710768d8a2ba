// The region forms of generated types: built, converted from and to the other storages, and compared with the
// bytes that Rust writes.
#include "region.hpp"

#include <gtest/gtest.h>

#include <string>
#include <type_traits>
#include <vector>

#include "situ/region.hpp"
#include "support/vectors.hpp"

namespace {

using situ_test::granule;
using situ_test::vector_image;
using pantry_region = situ::region<game::Pantry>;
using heap_pantry = situ::rebind<game::Pantry, situ::heap>;

/// The values of spec/vectors/region_schema.py.
heap_pantry pantry() {
  heap_pantry p;
  const auto inner = [](const char* text, std::initializer_list<std::int16_t> numbers) {
    game::Inner made;
    made.text = text;
    made.numbers = numbers;
    return made;
  };
  p.flag = false;
  p.small = 3;
  p.letter = 'q';
  p.wide_letter = u'€';
  p.ratio = -0.25;
  p.short_text = "short";
  p.long_text = "longer than eleven";
  p.bounded_text = "twelve bytes";
  p.wide_text = u"wide \U0001f600";
  p.colour = game::Colour::RED;
  p.marks = game::Marks::RARE;
  p.flagged.on = true;
  p.flagged.letter = 'f';
  p.flagged.count = 9;
  p.several[0].on = true;
  p.several[0].letter = 'a';
  p.several[0].count = 1;
  p.grid = {{{1, 2, 3}, {4, 5, 6}}};
  p.names = {"one", "the second one of them"};
  p.inner = inner("the inner text is long", {1, -2});
  p.inners = {inner("a", {}), inner("b", {7})};
  p.bits = {true, false, true};
  p.letters = {'h', 'i'};
  p.colours = {game::Colour::BLUE, game::Colour{77}};
  p.words = {"x", "a word of many letters"};
  p.nested = {{1, 2}, {}, {3}};
  p.wide_words = {p.wide_text};
  p.cloud.resize(1);
  p.cloud[0].x = 1;
  p.cloud[0].y = 2;
  p.cloud[0].z = 3;
  p.by_name["k"] = inner("v", {4});
  p.by_number[-1] = "minus one";
  p.by_number[1000] = "a thousand and more";
  p.by_colour[game::Colour::RED] = 1;
  p.by_colour[game::Colour::BLUE] = 2;
  p.set_of_words = {"apple", "mango"};
  p.set_of_numbers = {5};
  p.set_of_colours = {game::Colour::GREEN};
  p.maybe = 2.5;
  p.nickname = "nick";
  p.linked = inner("far away", {8, 9});
  return p;
}

/// The talk's example.
TEST(RegionMessages, a_character_is_built_edited_and_sent) {
  situ::region<game::Character> r;
  r->name = "Hero";
  r->level += 60;
  r->skills.emplace_back(1054, 3);
  r->items.emplace(7, 7, 1, 70, 700);
  r->items.emplace(5);
  r->items.erase(5);
  auto& equip = r->equips.emplace_back();
  equip.base.number = 2;
  equip.attributes.push_back(1.5F);

  auto received = situ::region<game::Character>::adopt(r.bytes());
  ASSERT_TRUE(received) << received.error().message();
  auto& c = **received;
  c.skills[0].level += 1;
  EXPECT_EQ(c.name, "Hero");
  EXPECT_EQ(c.skills[0].level, 4U);
  EXPECT_EQ(c.items.size(), 1U);
  EXPECT_EQ(c.items.at(7).uuid, 70U);
  EXPECT_EQ(c.equips[0].base.number, 2U);
  EXPECT_EQ(c.equips[0].attributes[0], 1.5F);
}

/// A struct of numbers is one type in all storages; the others lead to their types in regions.
static_assert(std::is_same_v<game::Skill, situ::rebind<game::Skill, situ::in_region>>);
static_assert(std::is_same_v<game::Skill, game::Skill_<situ::heap>>);
static_assert(std::is_same_v<game::Skill, decltype(game::Character::skills)::value_type>);
static_assert(std::is_same_v<game::Skill::in_region, game::Skill>);
static_assert(std::is_same_v<game::Equip::in_region, decltype(game::Character::equips)::value_type>);
static_assert(std::is_same_v<game::Character::in_region, game::Character>);

TEST(RegionMessages, structs_of_numbers_need_no_conversion) {
  const game::Skill jump{1054, 3};
  const std::vector<game::Position> way{{1, 2, 3}, {4, 5, 6}};
  situ::region<game::Character> r;
  r->skills.push_back(jump);
  r->items[7] = game::Item{7, 1, 70, 700};
  r->pos = way.back();
  r->path = way;
  const game::Skill read = r->skills[0];
  EXPECT_EQ(read, jump);
  EXPECT_EQ(r->items.at(7).timestamp, 700U);
  EXPECT_EQ(r->pos.z, 6);
  EXPECT_EQ(r->path[1], r->pos);
  game::Equip::in_region& equip = r->equips.emplace_back();
  equip.attributes.push_back(1.5F);
  EXPECT_EQ(r->equips[0].attributes.size(), 1U);
  // As the root, too.
  situ::region_of<game::Skill> alone;
  *alone = jump;
  const auto taken = situ::region<game::Skill>::adopt(alone.bytes());
  ASSERT_TRUE(taken) << taken.error().message();
  EXPECT_EQ(**taken, jump);
}

TEST(RegionMessages, new_values_have_their_defaults) {
  const pantry_region r;
  EXPECT_TRUE(r->flag);
  EXPECT_EQ(r->small, -5);
  EXPECT_EQ(r->letter, 'x');
  EXPECT_EQ(r->short_text, "eleven byte");
  EXPECT_EQ(r->long_text, "");
  EXPECT_EQ(r->colour, game::Colour::GREEN);
  EXPECT_EQ(r->blue, game::Colour::BLUE);
  EXPECT_FALSE(r->maybe || r->nickname || r->linked);
}

TEST(RegionMessages, the_bytes_are_those_of_the_vectors) {
  const std::vector<granule> canonical = vector_image("pantry.canonical.bin").granules;
  const auto bytes = std::as_bytes(std::span(canonical));
  pantry_region r;
  const auto done = situ::convert(pantry(), *r);
  ASSERT_TRUE(done) << done.error().message();
  EXPECT_EQ(r.canonical(), std::vector<std::byte>(bytes.begin(), bytes.end()));

  const std::vector<granule> live = vector_image("pantry.live.bin").granules;
  auto taken = pantry_region::adopt(std::as_bytes(std::span(live)));
  ASSERT_TRUE(taken) << taken.error().message();
  EXPECT_EQ(taken->canonical(), r.canonical());
  heap_pantry back;
  const auto read = situ::convert(**taken, back);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(back, pantry());
}

TEST(RegionMessages, a_stored_value_replaces_the_old_one_completely) {
  pantry_region r;
  ASSERT_TRUE(situ::convert(pantry(), *r));
  ASSERT_TRUE(situ::convert(heap_pantry(), *r));
  pantry_region fresh;
  ASSERT_TRUE(situ::convert(heap_pantry(), *fresh));
  EXPECT_EQ(r.canonical(), fresh.canonical());
}

TEST(RegionMessages, flat_messages_go_into_regions_and_come_back) {
  using flat = situ::rebind<game::Bounded, situ::flat>;
  game::Bounded heap;
  heap.name = "flat";
  heap.path.resize(1);
  heap.path[0].x = 1;
  heap.names[-3] = "three";
  heap.samples = {1, 2, 3};
  situ::region_of<game::Bounded> from_heap;
  ASSERT_TRUE(situ::convert(heap, *from_heap));

  const flat::bulk_lengths lengths{.samples = 3};
  std::vector<std::byte> body(*flat::body_size(lengths));
  alignas(flat) std::byte place[sizeof(flat)];
  flat* message = flat::init_at(place, lengths);
  ASSERT_TRUE(situ::convert(*from_heap, *message, {}, body));
  EXPECT_EQ(message->name, "flat");
  EXPECT_EQ(message->samples.try_span(std::span<const std::byte>(body))->back(), 3);
  situ::region_of<game::Bounded> from_flat;
  ASSERT_TRUE(situ::convert(*message, *from_flat, body));
  EXPECT_EQ(from_flat.canonical(), from_heap.canonical());
}

TEST(RegionMessages, bounds_hold_where_a_region_is_converted) {
  situ::region_of<game::Bounded> r;
  r->name = "nine byte";
  game::Bounded heap;
  const auto done = situ::convert(*r, heap);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message(), "name: 9 elements do not fit into 8");
}

TEST(RegionMessages, a_full_region_reports_it) {
  std::vector<granule> memory(256);
  pantry_region r(std::as_writable_bytes(std::span(memory)));
  heap_pantry large = pantry();
  large.words.resize(1000);
  const auto done = situ::convert(large, *r);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message(),
            "words: the region has no room for 1000 elements; give it a higher limit");
}

TEST(RegionMessages, whole_assignment_succeeds_or_changes_nothing) {
  std::vector<granule> memory(256);
  pantry_region r(std::as_writable_bytes(std::span(memory)));
  EXPECT_TRUE(situ::try_assign(*r, pantry()));
  const std::vector<std::byte> before = r.canonical();
  heap_pantry large = pantry();
  large.long_text = "a long text that comes before all that there is no room for";
  large.words.resize(1000);
  const auto done = situ::try_assign(*r, large);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message(),
            "words: the region has no room for 1000 elements; give it a higher limit");
  EXPECT_EQ(r.canonical(), before);
  EXPECT_TRUE(situ::region<game::Pantry>::adopt(r.bytes()));
  pantry_region roomy;
  ASSERT_TRUE(situ::try_assign(*roomy, pantry()));
  EXPECT_EQ(roomy.canonical(), before);
  ASSERT_TRUE(situ::try_assign(*roomy, large));
  EXPECT_EQ(roomy->words.size(), 1000U);
  EXPECT_EQ(roomy->long_text, large.long_text);
  EXPECT_TRUE(situ::try_assign(*roomy, *r));
  EXPECT_EQ(roomy.canonical(), before);
}

TEST(RegionMessages, another_schema_is_refused) {
  const pantry_region r;
  const auto other = situ::view_region<game::Character>(r.bytes());
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().message().find("schema hash"), std::string::npos) << other.error().message();
}

TEST(RegionMessages, trees_go_back_and_forth) {
  game::Tree tree;
  tree.value = 1;
  tree.children.resize(2);
  tree.children[1].children.resize(1);
  tree.children[1].children[0].value = 4;
  situ::region_of<game::Tree> r;
  ASSERT_TRUE(situ::convert(tree, *r));
  game::Tree back;
  ASSERT_TRUE(situ::convert(*r, back));
  EXPECT_EQ(back, tree);
}

}  // namespace
