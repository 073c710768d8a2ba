// Weak links: to parents and across a ring, to values that have ended, in copies and in compacted regions.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "region/family.hpp"
#include "situ/region.hpp"
#include "situ/region/packed.hpp"
#include "support/memory.hpp"
#include "support/vectors.hpp"

namespace {

using situ_test::aligned_bytes;
using situ_test::Family;
using situ_test::Home;
using situ_test::Person;

std::vector<std::byte> copy_of(std::span<const std::byte> bytes) { return {bytes.begin(), bytes.end()}; }

/// The region is one that its own check accepts.
template <class T>
void good(const situ::region<T>& r) {
  aligned_bytes image(r.size());
  std::ranges::copy(r.bytes(), image.span().begin());
  const auto taken = situ::region<T>::adopt(image.span());
  ASSERT_TRUE(taken) << taken.error().message();
  EXPECT_EQ(taken->canonical(), r.canonical());
}

/// The bytes of a region that belong to values.
template <class T>
std::size_t used(const situ::region<T>& r) {
  aligned_bytes image(r.size());
  std::ranges::copy(r.bytes(), image.span().begin());
  const auto taken = situ::region<T>::adopt(image.span());
  return taken->size() - taken->free_bytes();
}

TEST(RegionWeak, values_are_read_behind_links) {
  situ::region<Family> made;
  fill(*made);
  good(made);
  const Family& f = *made;
  const Person& dan = *f.youngest.lock();
  EXPECT_EQ(dan.name, "Daniel of the hill");
  EXPECT_EQ(dan.parent.lock()->parent.lock()->name, "Ann");
  EXPECT_TRUE(dan.friends.at("an uncle who moved").expired());
  EXPECT_EQ(dan.friends.at("an uncle who moved").lock(), nullptr);
  EXPECT_EQ(f.youngest, f.names.at("dan"));
  EXPECT_EQ(f.home->lock()->next.lock()->next.lock()->next, f.homes[0]);
  EXPECT_EQ(f.home->use_count(), 2U);
  const std::vector<std::byte> image = packed(made);
  aligned_bytes aligned(image.size());
  std::ranges::copy(image, aligned.span().begin());
  const auto read = situ::view_packed<Family>(aligned.span());
  ASSERT_TRUE(read) << read.error().message();
  const auto ann = *(*read->get<&Family::youngest>()).get<&Person::parent>();
  const auto above = *ann.get<&Person::parent>();
  EXPECT_EQ(above.get<&Person::name>().view(), "Ann");
  // Ann begins with the link to herself.
  EXPECT_TRUE(above.get<&Person::parent>() == ann.get<&Person::parent>());
  EXPECT_FALSE(read->get<&Family::gone>()[0]);
}

TEST(RegionWeak, values_that_links_lead_to_are_not_printed) {
  situ::region<Family> r;
  fill(*r);
  EXPECT_EQ(situ::to_string(r->sold), "[none, weak, none, none, none]");
  EXPECT_EQ(situ::to_string(*r->homes[3]), "Home{rent: 1, next: weak}");
}

TEST(RegionWeak, the_last_shared_link_ends_a_value_and_the_last_weak_link_frees_its_block) {
  situ::region<Family> r;
  const std::size_t before = used(r);
  r->eldest.emplace().name = "a name in a block of its own";
  r->eldest->parent = r->eldest;
  r->eldest->friends["myself"] = r->eldest;
  r->youngest = r->eldest;
  r->gone[1] = r->eldest;
  r->eldest.reset();
  EXPECT_TRUE(r->youngest.expired());
  EXPECT_EQ(used(r), before + 16);
  good(r);
  // An ended value is not linked to again.
  r->eldest.share(r->youngest);
  EXPECT_FALSE(r->eldest);
  r->gone[0] = r->youngest;
  EXPECT_EQ(r->gone[0].lock(), nullptr);
  r->youngest.reset();
  EXPECT_EQ(used(r), before + 16);
  good(r);
  r->gone[1] = nullptr;
  EXPECT_EQ(used(r), before);
  good(r);
}

TEST(RegionWeak, a_weak_link_becomes_a_shared_one_but_makes_no_cycle_of_them) {
  situ::region<Family> r;
  fill(*r);
  auto& to = r->eldest->children[1]->children.emplace_back();
  to.share(r->youngest);
  r->eldest->children[0]->children.clear();
  EXPECT_EQ(r->youngest.lock()->name, "Daniel of the hill");
  good(r);
  auto& cycle = r->eldest->children[1]->children[0]->children.emplace_back();
  EXPECT_FALSE(cycle.try_share(r->eldest->parent));
  EXPECT_FALSE(cycle);
  EXPECT_THROW(cycle.share(r->eldest->parent), situ::region_error);
  r->eldest->children[1]->children[0]->children.clear();
  good(r);
  // A value of another region is copied to a shared link, and a weak link does not lead there.
  situ::region<Family> other;
  other->eldest.share(r->eldest->children[1]->parent);
  EXPECT_EQ(other->eldest->name, "Ann");
  EXPECT_NE(other->eldest.get(), r->eldest.get());
  other->youngest = r->youngest;
  EXPECT_TRUE(other->youngest.expired());
  good(other);
  good(r);
}

TEST(RegionWeak, links_lead_to_copies_within_a_copy_and_else_nowhere) {
  situ::region<Family> r;
  fill(*r);
  situ::region<Family> other;
  other->eldest.share(r->eldest->children[0]);
  const Person& ben = *other->eldest;
  EXPECT_TRUE(ben.parent.expired());
  EXPECT_EQ(ben.children[0]->parent, other->eldest);
  EXPECT_TRUE(ben.children[0]->friends.at("aunt").expired());
  good(other);
  // Elements are copied one by one. What a link of one leads to is not copied with it.
  other->homes = r->homes;
  EXPECT_EQ(other->homes[2]->rent, 0.5);
  EXPECT_TRUE(other->homes[0]->next.expired());
  good(other);
  // Within a region, copies of links lead to the same values.
  r->sold.push_back(r->sold[1]);
  const auto sold = r->sold.size();
  situ::assign(r->names["another name of Ben"], r->names["a name that is long"]);
  EXPECT_EQ(r->names.at("another name of Ben"), r->names.at("a name that is long"));
  EXPECT_EQ(r->sold[sold - 1], r->homes[3]);
  r->home = r->home;
  EXPECT_EQ(*r->home, r->homes[0]);
  good(r);
  situ::region<Family> copy = situ::region<Family>::adopt(r.canonical()).value();
  EXPECT_TRUE(copy == r);
  copy->youngest = nullptr;
  EXPECT_FALSE(copy == r);
}

TEST(RegionWeak, links_survive_moves_and_compaction) {
  situ::region<Family> r;
  fill(*r);
  for (int i = 0; i < 100; ++i) {
    r->sold.emplace(r->sold.begin());
    r->names["another name " + std::to_string(i)] = r->youngest;
  }
  good(r);
  const std::vector<std::byte> before = r.canonical();
  r.compact_in_place();
  good(r);
  EXPECT_EQ(r.canonical(), before);
  EXPECT_EQ(r->youngest.lock()->name, "Daniel of the hill");
  using std::swap;
  swap(r->sold[0], r->sold[101]);
  EXPECT_EQ(r->sold[0], r->homes[3]);
  r->eldest->children.clear();
  EXPECT_TRUE(r->youngest.expired());
  good(r);
  r.compact_in_place();
  good(r);
}

TEST(RegionWeak, any_order_of_changes_leaves_a_good_region) {
  std::mt19937 random(7);
  const auto next = [&random](std::uint32_t below) { return static_cast<std::size_t>(random() % below); };
  for (int round = 0; round < 100; ++round) {
    situ::region<Family> r;
    fill(*r);
    for (int step = 0; step < 20; ++step) {
      const std::size_t i = next(5);
      switch (next(8)) {
        case 0:
          r->homes[i].reset();
          break;
        case 1:
          r->sold[i].reset();
          break;
        case 2:
          r->homes[4 - i].share(r->sold[i]);
          break;
        case 3:
          r->sold[next(5)] = r->homes[i];
          break;
        case 4:
          r->homes[i].emplace().next = r->homes[i];
          break;
        case 5:
          r.compact_in_place();
          break;
        case 6:
          if (r->eldest && r->eldest->children.size() > i / 2) r->eldest->children.resize(i / 2);
          break;
        default:
          r->guests.erase(static_cast<std::uint16_t>(next(100)));
      }
    }
    good(r);
  }
}

/// Each byte of the images is changed. An image is refused, or a good one.
TEST(RegionWeak, every_spoilt_byte_is_refused_or_harmless) {
  for (const std::string form : {"canonical", "live"}) {
    aligned_bytes vector = situ_test::vector_image("family." + form + ".bin");
    const std::vector<std::byte> image = copy_of(vector.span());
    for (std::size_t at = 0; at < image.size(); ++at) {
      for (const unsigned flip : {1U, 0x10U, 0x80U, 0xFFU}) {
        std::ranges::copy(image, vector.span().begin());
        vector.span()[at] ^= static_cast<std::byte>(flip);
        auto taken = situ::region<Family>::adopt(vector.span());
        if (!taken) continue;
        if (form == "canonical" && at != 6) {
          EXPECT_EQ(taken->canonical(), copy_of(vector.span())) << at;
        }
        (*taken)->eldest.reset();
        (*taken)->homes.clear();
        good(*taken);
        taken->compact_in_place();
        good(*taken);
      }
    }
  }
}

struct Stone;
struct Step {
  situ::region_unique<Step> next;
  situ::region_weak<Stone> first;
};
SITU_REGION(Step, next, first)
struct Stone {
  situ::region_unique<Step> steps;
  situ::region_weak<Stone> itself;
};
SITU_REGION(Stone, steps, itself)
struct Wall {
  situ::region_shared<Stone> stone;
  situ::region_weak<Stone> first;
};
SITU_REGION(Wall, stone, first)

TEST(RegionWeak, a_value_that_ends_at_the_end_of_a_long_chain_is_freed_once) {
  for (const int levels : {1, 62, 63, 64, 65, 20'000}) {
    situ::region<Wall> r;
    const std::size_t before = used(r);
    r->stone.emplace().itself = r->stone;
    r->first = r->stone;
    Step* step = &r->stone->steps.emplace();
    for (int i = 0; i < levels; ++i) {
      step->first = r->stone;
      step = &step->next.emplace();
    }
    good(r);
    const auto taken = situ::adopt_packed<Wall>(packed(r));
    ASSERT_TRUE(taken) << taken.error().message();
    EXPECT_EQ(taken->canonical(), r.canonical());
    r.compact_in_place();
    good(r);
    r->stone.reset();
    EXPECT_TRUE(r->first.expired());
    good(r);
    r->first.reset();
    EXPECT_EQ(used(r), before);
  }
}

}  // namespace
