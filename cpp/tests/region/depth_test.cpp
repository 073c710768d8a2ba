// Chains of links of any length: read, copied, compared, compacted and released without recursion.
#include <gtest/gtest.h>
#include <pthread.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "situ/region.hpp"
#include "situ/region/packed.hpp"

namespace {

struct Chain {
  std::uint32_t number;
  situ::region_unique<Chain> next;
};
SITU_REGION(Chain, number, next)

struct Lists {
  std::uint32_t number;
  situ::region_vector<Lists> inner;
};
SITU_REGION(Lists, number, inner)

struct Graph {
  situ::region_shared<Graph> to;
  situ::region_shared<Graph> also;
};
SITU_REGION(Graph, to, also)

struct Mixed {
  std::uint32_t number;
  situ::region_sorted_map<std::uint32_t, situ::region_unique<Mixed>> sorted;
  situ::region_hash_map<std::uint32_t, situ::region_unique<Mixed>> table;
  situ::region_ordered_map<std::uint32_t, situ::region_unique<Mixed>> tree;
  situ::region_vector<situ::region_unique<Mixed>> alone;
  situ::region_shared<Mixed> shared;
};
SITU_REGION(Mixed, number, sorted, table, tree, alone, shared)

constexpr std::uint32_t length = 100'000;

using image = std::vector<std::byte>;

/// Calls a function on a thread with a stack on which chains of some thousand links overflow by recursion.
template <class Function>
void on_a_small_stack(Function function) {
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, std::size_t{256} << 10), 0);
  pthread_t thread{};
  const auto run = [](void* called) -> void* {
    (*static_cast<Function*>(called))();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, run, &function), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

template <class T>
situ::region<T> adopted(std::span<const std::byte> from) {
  auto made = situ::region<T>::adopt(from);
  if (!made) ADD_FAILURE() << made.error().message();
  return std::move(*made);
}

/// Reads, copies and compacts a value. Returns the canonical image.
template <class T>
image goes_through_all(situ::region<T>& r) {
  const image canonical = r.canonical();
  EXPECT_TRUE(adopted<T>(canonical).canonical() == canonical);
  EXPECT_TRUE(adopted<T>(r.bytes()).canonical() == canonical);
  const situ::region<T> copy(r);
  EXPECT_TRUE(copy.canonical() == canonical);
  const auto unpacked = situ::adopt_packed<T>(situ::packed(r));
  EXPECT_TRUE(unpacked && unpacked->canonical() == canonical);
  r.compact_in_place();
  EXPECT_TRUE(r.canonical() == canonical);
  r.compact();
  EXPECT_TRUE(r.canonical() == canonical);
  return canonical;
}

template <class T>
void expect_empty(situ::region<T>& r) {
  r.trim();
  EXPECT_EQ(r.size(), situ::region<T>().size());
}

std::uint32_t word(const image& from, std::size_t at) {
  std::uint32_t found = 0;
  std::memcpy(&found, from.data() + at, sizeof(found));
  return found;
}

TEST(depth, a_chain_of_unique_links_has_any_length) {
  situ::region<Chain> r;
  Chain* last = r.get();
  for (std::uint32_t i = 0; i < length; ++i) {
    last->number = i;
    last = &last->next.emplace();
  }
  const image canonical = goes_through_all(r);
  // A value has twelve bytes, and so a block of sixteen; it follows the value that leads to it.
  ASSERT_EQ(canonical.size(), 64 + 16 * (std::size_t{length} + 1));
  for (std::uint32_t i = 0; i < length; ++i) {
    ASSERT_EQ(word(canonical, 64 + 16 * std::size_t{i}), i);
    ASSERT_EQ(word(canonical, 64 + 16 * std::size_t{i} + 4), 12);
  }
  r->next.reset();
  expect_empty(r);
}

TEST(depth, a_chain_of_vectors_has_any_length) {
  situ::region<Lists> r;
  Lists* last = r.get();
  for (std::uint32_t i = 0; i < length; ++i) last = &last->inner.emplace_back();
  static_cast<void>(goes_through_all(r));
  r->inner = {};
  expect_empty(r);
}

/// Values that lead to the next one twice: 2^count paths.
void lead_twice(situ::region<Graph>& r, std::uint32_t count) {
  Graph* last = r.get();
  for (std::uint32_t i = 0; i < count; ++i) {
    Graph& next = last->to.emplace();
    last->also.share(last->to);
    last = &next;
  }
}

TEST(depth, a_chain_of_shared_links_has_any_length) {
  situ::region<Graph> r;
  lead_twice(r, length);
  static_cast<void>(goes_through_all(r));
  r->to.reset();
  r->also.reset();
  expect_empty(r);
}

TEST(depth, a_long_cycle_of_shared_links_is_refused) {
  situ::region<Graph> r;
  lead_twice(r, 1000);
  image bytes = r.canonical();
  // The last value leads to the second one, at 112, which then has three links.
  const std::int32_t last = 80 + 32 * 999 + 8;
  const std::int32_t link = 112 - last;
  std::memcpy(bytes.data() + last, &link, sizeof(link));
  ASSERT_EQ(word(bytes, 112), 2);
  bytes[112] = std::byte{3};
  const auto refused = situ::region<Graph>::adopt(bytes);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message(),
            "message: the shared value at offset 112 holds this link to itself (at offset 112)");
}

TEST(depth, a_path_begins_where_the_chain_that_was_noted_does) {
  situ::region<Chain> r;
  Chain* last = r.get();
  for (std::uint32_t i = 0; i < 70; ++i) last = &last->next.emplace();
  image bytes = r.canonical();
  // 64 links are followed at once; the value behind the 65th is the first of those that are noted.
  bytes[64 + 16 * 67 + 8] ^= std::byte{1};
  EXPECT_EQ(situ::region<Chain>::adopt(bytes).error().path.shown(), "(deep).next.next.next");
  bytes[64 + 16 * 67 + 8] ^= std::byte{1};
  bytes[64 + 16 * 64 + 8] ^= std::byte{1};
  std::string path = "next";
  for (int i = 1; i < 65; ++i) path += ".next";
  EXPECT_EQ(situ::region<Chain>::adopt(bytes).error().path.shown(), path);
}

TEST(depth, containers_of_all_kinds_may_be_nested_deeply) {
  situ::region<Mixed> r;
  Mixed* last = r.get();
  for (std::uint32_t i = 0; i < 1000; ++i) {
    last->number = i;
    last->sorted[1].emplace().number = i;
    last->shared.emplace().number = i;
    last->alone.emplace_back().emplace();
    Mixed* const values[] = {&last->sorted[7].emplace(), &last->table[7].emplace(), &last->tree[7].emplace(),
                             &last->alone.emplace_back().emplace(), last->shared.get()};
    last = values[i % 5];
  }
  static_cast<void>(goes_through_all(r));
  *r = *situ::region<Mixed>();
  r->sorted.shrink_to_fit();
  r->alone.shrink_to_fit();
  EXPECT_EQ(r.canonical(), situ::region<Mixed>().canonical());
}

/// The last value of a chain.
Chain& last_of(Chain& first) {
  Chain* at = &first;
  while (at->next) at = at->next.get();
  return *at;
}

void make_chain(situ::region<Chain>& r, std::uint32_t count) {
  Chain* last = r.get();
  for (std::uint32_t i = 0; i < count; ++i) {
    last->number = i;
    last = &last->next.emplace();
  }
}

TEST(depth, a_chain_of_a_million_links_is_copied_and_compared) {
  on_a_small_stack([] {
    situ::region<Chain> r;
    make_chain(r, 1'000'000);
    const image canonical = goes_through_all(r);
    situ::region<Chain> copy;
    *copy = *r;
    EXPECT_TRUE(copy.canonical() == canonical);
    EXPECT_TRUE(copy->next == r->next);
    last_of(*copy).number = 7;
    EXPECT_FALSE(copy->next == r->next);
    last_of(*copy).next.emplace();
    EXPECT_FALSE(copy->next == r->next);
    copy->next.reset();
    expect_empty(copy);
  });
}

TEST(depth, a_part_of_a_long_chain_is_copied_within_its_region) {
  on_a_small_stack([] {
    situ::region<Chain> r;
    make_chain(r, length);
    situ::assign(last_of(*r).next, r->next);
    std::uint32_t count = 0;
    for (const Chain* at = r.get(); at->next; at = at->next.get()) ++count;
    EXPECT_EQ(count, 2 * length);
    EXPECT_TRUE(adopted<Chain>(r.bytes()).canonical() == r.canonical());
    r->next = r->next->next->next;
    EXPECT_EQ(r->next->number, 3);
    EXPECT_TRUE(adopted<Chain>(r.bytes()).canonical() == r.canonical());
  });
}

TEST(depth, a_chain_of_vectors_is_copied_and_compared) {
  on_a_small_stack([] {
    situ::region<Lists> r;
    Lists* last = r.get();
    for (std::uint32_t i = 0; i < length; ++i) last = &last->inner.emplace_back();
    situ::region<Lists> copy;
    copy->inner = r->inner;
    EXPECT_TRUE(copy->inner == r->inner);
    EXPECT_TRUE(copy.canonical() == r.canonical());
    last->number = 1;
    EXPECT_FALSE(copy->inner == r->inner);
  });
}

TEST(depth, a_copy_of_a_shared_chain_in_another_region_keeps_what_is_shared) {
  on_a_small_stack([] {
    situ::region<Graph> r;
    lead_twice(r, length);
    situ::region<Graph> copy;
    copy->to = r->to;
    EXPECT_EQ(copy->to.use_count(), 1);
    EXPECT_EQ(copy->to->to.use_count(), 2);
    copy->also = copy->to;
    EXPECT_TRUE(copy.canonical() == r.canonical());
  });
}

struct Marked {
  situ::region_unique<Marked> next;
  situ::region_shared<std::uint32_t> mark;
};
SITU_REGION(Marked, next, mark)

TEST(depth, deep_copies_in_a_region_share_what_other_copies_share) {
  situ::region<Marked> r;
  r->mark.emplace(7);
  Marked* last = r.get();
  for (int i = 0; i < 100; ++i) {
    last = &last->next.emplace();
    last->mark.share(r->mark);
  }
  EXPECT_EQ(r->mark.use_count(), 101);
  auto& copy = last->next.emplace();
  copy.next = r->next->next;
  // Of 98 links after the first two, each leads to the one value.
  EXPECT_EQ(r->mark.use_count(), 101 + 99);
  EXPECT_TRUE(adopted<Marked>(r.bytes()).canonical() == r.canonical());
  r->next.reset();
  EXPECT_EQ(r->mark.use_count(), 1);
}

struct Owning {
  situ::region_unique<Owning> next;
  situ::region_shared<Owning> also;
};
SITU_REGION(Owning, next, also)

TEST(depth, deep_copies_in_a_region_make_no_links_that_could_be_cycles) {
  situ::region<Owning> r;
  Owning* last = r.get();
  for (int i = 0; i < 100; ++i) last = &last->next.emplace();
  last->also.emplace();
  situ::region<Owning> copy;
  EXPECT_TRUE(copy->next.try_assign(r->next)) << "another region";
  const image before = r.canonical();
  EXPECT_FALSE(r->also.emplace().next.try_assign(r->next));
  r->also.reset();
  EXPECT_TRUE(r.canonical() == before);
}

TEST(depth, a_long_chain_without_room_for_its_copy_changes_nothing) {
  situ::region<Chain> r;
  make_chain(r, 2000);
  std::vector<std::byte> memory(16 * 1500);
  situ::region<Chain> small{std::span<std::byte>(memory)};
  small->number = 3;
  small->next.emplace().number = 4;
  const image before = small.canonical();
  EXPECT_FALSE(small->next.try_assign(r->next->next));
  EXPECT_TRUE(small.canonical() == before);
  EXPECT_FALSE(situ::try_assign(*small, *r));
  EXPECT_TRUE(small.canonical() == before);
}

struct Either {
  std::uint32_t number;
  situ::region_unique<Either> next;
  /// Equal if one of the members is.
  friend bool operator==(const Either& a, const Either& b) {
    return a.number == b.number || a.next == b.next;
  }
};
SITU_REGION(Either, number, next)

TEST(depth, operators_of_structs_get_results_that_are_final) {
  situ::region<Either> r;
  Either* last = r.get();
  for (std::uint32_t i = 0; i < 200; ++i) last = &last->next.emplace(i);
  const situ::region<Either> copy(r);
  for (Either* at = r.get(); at->next; at = at->next.get()) at->number += 1000;
  last->number = 5000;
  last->next.emplace();
  EXPECT_FALSE(r->next == copy->next) << "no number is equal, and one chain is longer";
}

}  // namespace
