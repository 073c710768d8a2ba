// Compaction in place: sizes computed by hand, buffers without room, shared values, large images.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "region/family.hpp"
#include "region/market.hpp"
#include "support/memory.hpp"
#include "support/vectors.hpp"

namespace {

using situ_test::aligned_bytes;

struct Shelf {
  situ::region_vector<situ::region_string> texts;
};
SITU_REGION(Shelf, texts)

struct Twice {
  std::uint32_t number;
  situ::region_shared<Twice> left;
  situ::region_shared<Twice> right;
};
SITU_REGION(Twice, number, left, right)

struct Tables {
  situ::region_hash_map<situ::region_string, situ::region_string> known;
  situ::region_ordered_set<std::uint64_t> numbers;
};
SITU_REGION(Tables, known, numbers)

/// The header and a root that is a vector.
constexpr std::size_t first = 64 + 16;

std::string repeated(std::string_view text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

/// Compacts a region in place. It then holds the same value, and no other data.
template <class T>
void compact_in_place(situ::region<T>& r) {
  const auto canonical = r.canonical();
  r.trim();
  const std::size_t used = r.size() - r.free_bytes();
  r.compact_in_place();
  EXPECT_EQ(r.canonical(), canonical);
  EXPECT_EQ(r.free_bytes(), 0U);
  EXPECT_LE(r.size(), used);
  // All blocks are reachable from the root. A receiver therefore finds no free memory either.
  aligned_bytes sent(r.bytes());
  const auto adopted = situ::region<T>::adopt(sent.span());
  ASSERT_TRUE(adopted) << adopted.error().message();
  EXPECT_EQ(adopted->canonical(), canonical);
  EXPECT_EQ(adopted->size(), r.size());
  EXPECT_EQ(adopted->free_bytes(), 0U);
}

/// An image with zeros in the part of the header that belongs to the editing process.
std::vector<std::byte> without_working_part(std::span<const std::byte> image, bool versions) {
  std::vector<std::byte> bytes(image.begin(), image.end());
  std::fill(bytes.begin() + 32, bytes.begin() + (versions ? 60 : 64), std::byte{0});
  return bytes;
}

template <class T>
void held_to(const std::string& name) {
  aligned_bytes live = situ_test::vector_image(name + ".live.bin");
  auto taken = situ::region<T>::adopt(live.span());
  ASSERT_TRUE(taken) << taken.error().message();
  taken->compact_in_place();
  aligned_bytes compacted = situ_test::vector_image(name + ".compacted.bin");
  const std::span<const std::byte> wanted = compacted.span();
  EXPECT_EQ(without_working_part(taken->bytes(), name.starts_with("profile")),
            std::vector<std::byte>(wanted.begin(), wanted.end()));
  EXPECT_TRUE(situ::view_region<T>(wanted));
}

TEST(RegionCompaction, is_held_to_the_vectors) {
  held_to<situ_test::Market>("market");
  held_to<situ_test::Family>("family");
  held_to<situ_test::Character>("character");
  held_to<situ_test::Kitchen>("kitchen");
  held_to<situ_test::before::Profile>("profile.before");
  held_to<situ_test::after::Profile>("profile.after");
}

TEST(RegionCompaction, freed_values_are_gone_and_their_bytes_are_zero) {
  for (const bool monotonic : {false, true}) {
    for (const bool zero_on_free : {true, false}) {
      aligned_bytes memory(8192);
      std::ranges::fill(memory.span(), std::byte{0xA5});
      situ::region_options options;
      options.zero_on_free = zero_on_free;
      if (monotonic) options.allocation = situ::region_allocation::of<situ::monotonic_allocator>();
      situ::region<Shelf> r(memory.span(), options);
      r->texts.reserve(10);
      r->texts.push_back(repeated("erased ", 40));
      r->texts.push_back(repeated("kept ", 20));
      r->texts.push_back(repeated("shortened ", 30));
      r->texts.push_back(repeated("kept ", 7));
      r->texts.erase(r->texts.begin());
      r->texts[1] = "a dozen bytes";
      r->texts.push_back("a long text becomes short");
      r->texts[3] = "short";
      const std::size_t before = r.size();
      compact_in_place(r);
      // Four texts of 16 bytes in the vector; 100, 13 and 35 characters in blocks of 7, 1 and 3 granules, and
      // a short text.
      EXPECT_EQ(r.size(), first + 4 * 16 + (7 + 1 + 3) * 16);
      ASSERT_EQ(r->texts.size(), 4U);
      EXPECT_EQ(r->texts[0], repeated("kept ", 20));
      EXPECT_EQ(r->texts[1], "a dozen bytes");
      EXPECT_EQ(r->texts[2], repeated("kept ", 7));
      EXPECT_EQ(r->texts[3], "short");
      const std::string_view now(reinterpret_cast<const char*>(r.bytes().data()),
                                 zero_on_free ? before : r.size());
      for (const char* gone : {"erased", "shortened", "becomes"}) {
        EXPECT_EQ(now.find(gone), std::string_view::npos) << gone;
      }
      if (zero_on_free) {
        EXPECT_EQ(now.find_first_not_of('\0', r.size()), std::string_view::npos);
      }
      r->texts.push_back(repeated("goes on ", 20));
      compact_in_place(r);
      EXPECT_EQ(r->texts[4], repeated("goes on ", 20));
    }
  }
}

TEST(RegionCompaction, a_full_buffer_has_room_again) {
  aligned_bytes memory(4096);
  situ::region<Shelf> r(memory.span());
  r->texts.reserve(44);
  std::size_t count = 0;
  while (r->texts.try_emplace_back(std::string(50, static_cast<char>('a' + count % 26))) != nullptr) ++count;
  for (std::size_t i = count / 2; i-- > 0;) r->texts.erase(r->texts.begin() + i * 2);
  const std::string large(600, 'x');
  ASSERT_EQ(r->texts.try_emplace_back(large), nullptr) << "the free memory is fragmented";
  compact_in_place(r);
  ASSERT_NE(r->texts.try_emplace_back(large), nullptr);
  EXPECT_EQ(r->texts.back(), large);
  compact_in_place(r);
}

/// In each of sixty levels two links lead to the same value. A walk along all paths would never end.
TEST(RegionCompaction, a_shared_value_is_visited_once) {
  situ::region<Twice> r;
  r->right.emplace();
  Twice* node = r.get();
  for (std::uint32_t level = 60; level != 0; --level) {
    node->number = level;
    node->left.emplace();
    node->right.share(node->left);
    node = node->left.get();
  }
  compact_in_place(r);
  node = r.get();
  for (std::uint32_t level = 60; level != 0; --level) {
    EXPECT_EQ(node->number, level);
    EXPECT_EQ(node->left, node->right);
    EXPECT_EQ(node->left.use_count(), 2U);
    node = node->right.get();
  }
}

TEST(RegionCompaction, nodes_are_trimmed_and_empty_tables_end) {
  situ::region<Tables> r;
  for (std::uint64_t number = 0; number < 31; ++number) {
    r->numbers.insert(number);
    r->known.insert_or_assign("a key of some length " + std::to_string(number), "a value of some length");
  }
  for (std::uint64_t number = 0; number < 31; ++number) {
    if (number >= 3) r->numbers.erase(number);
    r->known.erase("a key of some length " + std::to_string(number));
  }
  compact_in_place(r);
  // A root of two containers, and one leaf of three numbers, which begin at 8.
  EXPECT_EQ(r.size(), 64U + 32 + 32);
  r->numbers.insert(100);
  EXPECT_EQ(r->numbers.size(), 4U);
}

/// A bitmap with more words than parts on the stack.
TEST(RegionCompaction, a_large_image_is_compacted) {
  situ::region<Shelf> r;
  for (int i = 0; i < 20'000; ++i) r->texts.push_back(repeated("the text " + std::to_string(i), 1 + i % 12));
  ASSERT_GT(r.size(), std::size_t{1} << 20);
  for (std::size_t i = 20'000; i-- > 0;) {
    if (i % 3 == 0) r->texts[i] = "";
  }
  compact_in_place(r);
  for (int i = 0; i < 20'000; ++i) {
    ASSERT_EQ(r->texts[static_cast<std::size_t>(i)],
              i % 3 == 0 ? "" : repeated("the text " + std::to_string(i), 1 + i % 12));
  }
}

/// Parts have more than a word. This happens if there is no memory for one part per word.
TEST(RegionCompaction, places_are_counted) {
  std::vector<std::uint64_t> words_before(5000);
  const situ::region_detail::granule_bits bits(
      reinterpret_cast<std::byte*>(words_before.data() + words_before.size()));
  for (std::size_t i = 0; i < words_before.size(); ++i) bits[i] = (std::uint64_t{1} << (i % 50)) - 1;
  for (const std::uint32_t words : {50U, 1024U, 1025U, 5000U}) {
    const situ::region_detail::compacted_places places(bits, words);
    std::uint32_t used = 0;
    for (std::uint32_t word = 0; word < words; ++word) {
      used += word % 50;
      if (word % 50 == 0) continue;
      const std::uint32_t last = word * 64 + word % 50 - 1;
      ASSERT_EQ(places.of(last * 16 + 5), (used - 1) * 16 + 5) << words << " words, word " << word;
    }
  }
}

}  // namespace
