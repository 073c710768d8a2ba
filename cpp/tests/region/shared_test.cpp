// Shared links and unions: the lifetime of their values, their images, and refused operations.
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "region/character.hpp"
#include "region/refused.hpp"
#include "support/memory.hpp"

namespace {

using situ::region;
using situ::region_case;
using situ_test::aligned_bytes;
using situ_test::refused;

struct Texture {
  situ::region_string name;
  situ::region_vector<std::uint32_t> pixels;
};
SITU_REGION(Texture, name, pixels)

/// Nodes of a graph without cycles.
struct Step {
  std::int32_t number;
  situ::region_vector<situ::region_shared<Step>> next;
  situ::region_shared<Texture> texture;
};
SITU_REGION(Step, number, next, texture)

struct Scene {
  situ::region_shared<Texture> first;
  situ::region_vector<situ::region_shared<Texture>> textures;
  situ::region_shared<Step> steps;
};
SITU_REGION(Scene, first, textures, steps)

enum class Kind : std::int8_t { number = 0, text = 1, words = 2, nothing = 9 };

using Value = situ::region_union<"Value", Kind, region_case<"number", double, Kind::number>,
                                 region_case<"text", situ::region_string, Kind::text>,
                                 region_case<"words", situ::region_vector<situ::region_string>, Kind::words>>;
using Wide = situ::region_union<"Wide", std::uint64_t, region_case<"text", situ::region_string, 1, 2>,
                                region_case<"flag", bool, situ::region_default{}>>;
using Either = situ::region_union<"Either", bool, region_case<"left", situ::region_string, false>,
                                  region_case<"right", std::uint16_t, true>>;

struct Values {
  Value value;
  Wide wide;
  Either either;
  situ::region_vector<Value> many;
};
SITU_REGION(Values, value, wide, either, many)

void fill(Scene& s) {
  s.first.emplace("stone");
  s.first->pixels = {1, 2, 3};
  s.textures.push_back(s.first);
  s.textures.emplace_back().emplace("grass, which is green");
  s.textures.push_back(s.first);
  Step& one = s.steps.emplace(1);
  one.next.emplace_back().emplace(2);
  one.next.emplace_back().emplace(3);
  one.next[1]->next.emplace_back().share(one.next[0]);
  one.texture = s.textures[1];
}

TEST(RegionShared, lives_as_long_as_a_link_leads_to_it) {
  region<Scene> r;
  const std::size_t empty = r.size();
  fill(*r);
  EXPECT_EQ(r->first.use_count(), 3U);
  EXPECT_EQ(r->textures[0].get(), r->first.get());
  EXPECT_EQ(r->textures[2]->name, "stone");
  r->textures.erase(r->textures.begin());
  r->first.reset();
  EXPECT_EQ(r->textures[1].use_count(), 1U);
  EXPECT_EQ(r->textures[1]->pixels[2], 3U);
  EXPECT_EQ(r->textures[0].use_count(), 2U);
  r->textures.clear();
  EXPECT_EQ(r->steps->texture.use_count(), 1U);
  EXPECT_EQ(r->steps->next[1]->next[0].use_count(), 2U);
  r->steps = r->steps->next[1];
  EXPECT_EQ(r->steps->number, 3);
  EXPECT_EQ(r->steps->next[0]->number, 2);
  r->steps.reset();
  r->textures.shrink_to_fit();
  r.trim();
  EXPECT_EQ(r.size(), empty);
  EXPECT_EQ(r.free_bytes(), 0U);
}

TEST(RegionShared, a_link_to_itself_is_refused) {
  region<Scene> r;
  fill(*r);
  Step& two = *r->steps->next[0];
  auto& link = two.next.emplace_back();
  EXPECT_FALSE(link.try_share(r->steps));
  EXPECT_THROW(link = r->steps->next[0], situ::region_error);
  EXPECT_FALSE(link);
  EXPECT_TRUE(link.try_share(r->steps->next[0]) == false);
  // A link that is stored with a new element has no final place yet.
  try {
    two.next.push_back(r->steps);
    FAIL();
  } catch (const situ::region_error& error) {
    EXPECT_EQ(error.fault(), situ::region_fault::cycle);
  }
  EXPECT_EQ(two.next.size(), 1U);
  EXPECT_EQ(refused<Scene>(r.bytes()), "accepted");
  EXPECT_EQ(refused<Scene>(r.canonical()), "accepted");
}

TEST(RegionShared, images_keep_shared_values) {
  region<Scene> a;
  fill(*a);
  const std::vector<std::byte> canonical = a.canonical();
  for (const bool live : {true, false}) {
    aligned_bytes sent(live ? a.bytes() : std::span<const std::byte>(canonical));
    auto b = region<Scene>::adopt(sent.span());
    ASSERT_TRUE(b) << b.error().message();
    EXPECT_EQ(b->canonical(), canonical);
    EXPECT_EQ((*b)->first.use_count(), 3U);
    (*b)->textures.clear();
    (*b)->first->name = "changed";
    EXPECT_EQ((*b)->first.use_count(), 1U);
    EXPECT_EQ((*b)->steps->texture->name, "grass, which is green");
  }
  // The copy in another region has a value of its own.
  region<Scene> c;
  c->first = a->first;
  EXPECT_EQ(c->first.use_count(), 1U);
  EXPECT_EQ(c->first->name, "stone");
}

TEST(RegionShared, wrong_counts_types_and_cycles_are_found) {
  region<Scene> r;
  fill(*r);
  aligned_bytes counted(r.bytes());
  const auto at = [&r](const void* object) {
    return static_cast<std::size_t>(static_cast<const std::byte*>(object) - r.bytes().data());
  };
  const std::size_t stone = at(r->first.get()) - 8;
  counted.span()[stone] = std::byte{2};
  EXPECT_EQ(
      refused<Scene>(counted.span()),
      "message: the shared value counts 2 links, but 3 lead to it (at offset " + std::to_string(stone) + ")");
  const auto redirected = [&](const void* link, std::size_t to) {
    aligned_bytes bad(r.bytes());
    const auto distance = static_cast<std::int32_t>(to) - static_cast<std::int32_t>(at(link));
    std::memcpy(bad.span().data() + at(link), &distance, sizeof(distance));
    return refused<Scene>(bad.span());
  };
  EXPECT_EQ(redirected(&r->steps, stone), "steps: the shared value at offset " + std::to_string(stone) +
                                              " is of another type (at offset 88)");
  const std::size_t steps = at(r->steps.get()) - 8;
  EXPECT_EQ(redirected(&r->steps->next[1]->next[0], steps),
            "steps.next[1].next[0]: the shared value at offset " + std::to_string(steps) +
                " holds this link to itself (at offset " + std::to_string(at(&r->steps->next[1]->next[0])) +
                ")");
}

TEST(RegionShared, any_number_of_links_leads_on_along_a_path) {
  region<Scene> r;
  Step* last = &r->steps.emplace(0);
  // Each step is two links: to the elements, and to the next step.
  for (int i = 1; i < 32; ++i) last = &last->next.emplace_back().emplace(i);
  EXPECT_EQ(refused<Scene>(r.bytes()), "accepted");
  last->texture.emplace("x");
  EXPECT_EQ(refused<Scene>(r.bytes()), "accepted");
  last->next.emplace_back().emplace(99);
  EXPECT_EQ(refused<Scene>(r.bytes()), "accepted");
}

struct Box;
using Boxed = situ::region_union<"Boxed", std::uint32_t, region_case<"box", situ::region_unique<Box>, 1, 2>>;
struct Box {
  Boxed inner;
  situ::region_string name;
};
SITU_REGION(Box, inner, name)
struct BoxRoot {
  Boxed outer;
};
SITU_REGION(BoxRoot, outer)

TEST(RegionUnion, may_become_a_copy_of_one_that_it_holds) {
  region<BoxRoot> r;
  Box& box = r->outer.emplace<"box">(1).emplace();
  box.inner.emplace<"box">(2).emplace().name = "a name that needs a block";
  r->outer = box.inner;
  EXPECT_EQ(r->outer.discriminator(), 2U);
  EXPECT_EQ(r->outer.get<"box">()->name, "a name that needs a block");
  r->outer.get<"box">()->inner.select(9);
  r->outer = r->outer.get<"box">()->inner;
  EXPECT_EQ(r->outer.discriminator(), 9U);
  EXPECT_FALSE(r->outer.has_value());
  EXPECT_EQ(refused<BoxRoot>(r.bytes()), "accepted");
}

TEST(RegionUnion, holds_one_of_its_members) {
  region<Values> r;
  EXPECT_EQ(r->value.get<"number">(), 0.0);
  EXPECT_TRUE(r->wide.holds<"flag">());
  EXPECT_EQ(r->either.get<"left">(), "");
  r->value.emplace<"text">(Kind::text, "a text that needs a block");
  EXPECT_EQ(r->value.get<"text">(), "a text that needs a block");
  EXPECT_EQ(r->value.get_if<"number">(), nullptr);
  EXPECT_THROW((void)r->value.get<"number">(), situ::bad_union_access);
  EXPECT_THROW(r->value.emplace<"text">(Kind::number, "x"), situ::bad_union_access);
  // The arguments may be part of the member that is released.
  r->value.emplace<"words">(Kind::words, std::vector<std::string>{"one", "two which is a long word"});
  r->value.emplace<"text">(Kind::text, r->value.get<"words">()[1]);
  EXPECT_EQ(r->value.get<"text">(), "two which is a long word");
  r->value.select(Kind::nothing);
  EXPECT_FALSE(r->value.has_value());
  r->wide.emplace<"text">(2, "wide");
  EXPECT_EQ(r->wide.discriminator(), 2U);
  r->wide.select(1);
  EXPECT_EQ(r->wide.get<"text">(), "wide");
  r->wide.select(77);
  EXPECT_FALSE(r->wide.get<"flag">());
  r->either.emplace<"right">(true, 7);
  for (int i = 0; i < 50; ++i)
    r->many.emplace_back().emplace<"text">(Kind::text, "number " + std::to_string(i * i * 1000));
  r->many.erase(r->many.begin() + 3);
  EXPECT_EQ(r->many[3].get<"text">(), "number 16000");
  r->value = r->many[5];
  EXPECT_EQ(r->value, r->many[5]);
  std::size_t size = 0;
  std::as_const(*r).value.visit([&size](const auto& member) { size = sizeof(member); });
  EXPECT_EQ(size, sizeof(situ::region_string));

  for (const bool live : {true, false}) {
    const std::vector<std::byte> canonical = r.canonical();
    aligned_bytes sent(live ? r.bytes() : std::span<const std::byte>(canonical));
    auto taken = region<Values>::adopt(sent.span());
    ASSERT_TRUE(taken) << taken.error().message();
    EXPECT_EQ(taken->canonical(), r.canonical());
    (*taken)->many.clear();
    EXPECT_EQ((*taken)->either.get<"right">(), 7);
  }
}

/// Computed by hand from spec/region.md.
TEST(RegionUnion, lies_as_the_format_says) {
  EXPECT_EQ(sizeof(Value), 24U);
  EXPECT_EQ(alignof(Value), 8U);
  EXPECT_EQ(sizeof(Wide), 32U);
  EXPECT_EQ(sizeof(Either), 24U);
  EXPECT_EQ(alignof(Either), 4U);
  EXPECT_EQ(situ::region_detail::layout_text<Values>(),
            "region-v2 Values\n"
            "Values 0 96 8 struct\n"
            "Values.value 0 24 8 Value\n"
            "Values.wide 24 32 8 Wide\n"
            "Values.either 56 24 4 Either\n"
            "Values.many 80 16 4 vector\n"
            "Values.many[] 0 24 8 Value\n"
            "Value 0 24 8 union\n"
            "Value.discriminator 0 1 1 int8\n"
            "Value.number 8 8 8 0:double\n"
            "Value.text 8 16 4 1:string\n"
            "Value.words 8 16 4 2:vector\n"
            "Value.words[] 0 16 4 string\n"
            "Wide 0 32 8 union\n"
            "Wide.discriminator 0 8 8 uint64\n"
            "Wide.text 12 16 4 1,2:string\n"
            "Wide.flag 12 1 1 default:boolean\n"
            "Either 0 24 4 union\n"
            "Either.discriminator 0 1 1 boolean\n"
            "Either.left 8 16 4 0:string\n"
            "Either.right 8 2 2 1:uint16\n");
  region<Values> r;
  aligned_bytes bad(r.canonical());
  bad.span()[64 + 56] = std::byte{2};
  EXPECT_EQ(refused<Values>(bad.span()),
            "either.discriminator: 2 is not a boolean; only 0 and 1 are (at offset 120)");
  bad.span()[64 + 56] = std::byte{1};
  EXPECT_EQ(refused<Values>(bad.span()).substr(0, 7), "either:");
}

}  // namespace
