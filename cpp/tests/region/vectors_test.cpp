// The vectors of spec/vectors/region: written byte for byte, read, edited, and sent on.
#include "support/vectors.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <fstream>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "region/cabinet.hpp"
#include "region/family.hpp"
#include "region/market.hpp"
#include "situ/region/packed.hpp"
#include "support/memory.hpp"

namespace {

using situ_test::aligned_bytes;
using situ_test::vector_image;

template <class T>
void held_to(const std::string& name) {
  situ::region<T> made;
  fill(*made);
  aligned_bytes canonical = vector_image(name + ".canonical.bin");
  const std::span<const std::byte> bytes = canonical.span();
  EXPECT_EQ(made.canonical(), std::vector<std::byte>(bytes.begin(), bytes.end()));
  const auto viewed = situ::view_region<T>(bytes);
  EXPECT_TRUE(viewed) << viewed.error().message();

  aligned_bytes live = vector_image(name + ".live.bin");
  auto taken = situ::region<T>::adopt(live.span());
  ASSERT_TRUE(taken) << taken.error().message();
  EXPECT_EQ(taken->canonical(), made.canonical());
  // Old bytes between the blocks are overwritten.
  const std::string_view now(reinterpret_cast<const char*>(taken->bytes().data()), taken->bytes().size());
  EXPECT_EQ(now.find("\xA5\xA5\xA5\xA5"), std::string_view::npos);
}

/// An image that a peer edited and sent on equals the image that this program creates with the same edits,
/// byte for byte.
TEST(RegionVectors, are_edited_and_sent_on_with_the_same_canonical_image) {
  situ::region<situ_test::Market> made;
  situ_test::fill(*made);
  const auto edit = [](situ_test::Market& m) {
    for (std::uint32_t i = 0; i < 200; ++i) m.index.erase(i * 5);
    m.prices.erase("price 7");
    m.words.insert("a new word");
    m.shape.select(1);
    m.shapes.erase(m.shapes.begin());
    m.textures[3].reset();
    m.texture.reset();
    m.blade.attributes.push_back(0.25F);
    m.boxed.erase(1);
  };
  edit(*made);
  for (const char* form : {"canonical", "live"}) {
    aligned_bytes image = vector_image(std::string("market.") + form + ".bin");
    auto taken = situ::region<situ_test::Market>::adopt(image.span());
    ASSERT_TRUE(taken) << taken.error().message();
    edit(**taken);
    EXPECT_EQ(taken->canonical(), made.canonical());
  }
}

/// Returns the reason that an image is refused, or an empty text for a valid region.
template <class T>
std::string why_not(std::span<const std::byte> image, bool is_packed) {
  if (is_packed) {
    const auto taken = situ::adopt_packed<T>(image);
    return taken ? "" : taken.error().message();
  }
  const auto taken = situ::region<T>::adopt(image);
  return taken ? "" : taken.error().message();
}

/// Each line names an image, an offset, the bytes written there in hexadecimal, and the error.
TEST(RegionVectors, invalid_ones_are_refused_with_the_texts_of_the_format) {
  std::ifstream lines(SITU_VECTORS "/region/refused.txt");
  ASSERT_TRUE(lines);
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    std::istringstream words(line);
    std::string name;
    std::size_t at = 0;
    std::string bytes;
    std::string error;
    words >> name >> at >> bytes >> std::ws;
    ASSERT_TRUE(std::getline(words, error)) << line;
    aligned_bytes image = vector_image(name + ".bin");
    for (std::size_t i = 0; i < bytes.size() / 2; ++i) {
      image.span()[at + i] = static_cast<std::byte>(std::stoul(bytes.substr(2 * i, 2), nullptr, 16));
    }
    const bool is_packed = name.ends_with(".packed");
    const std::string found =
        name.starts_with("market.")    ? why_not<situ_test::Market>(image.span(), is_packed)
        : name.starts_with("family.")  ? why_not<situ_test::Family>(image.span(), is_packed)
        : name.starts_with("kitchen.") ? why_not<situ_test::Kitchen>(image.span(), is_packed)
        : name.starts_with("cabinet.") ? why_not<situ_test::Cabinet>(image.span(), is_packed)
                                       : why_not<situ_test::before::Profile>(image.span(), is_packed);
    EXPECT_EQ(found, error) << line;
  }
  EXPECT_GE(count, 60);
}

TEST(RegionVectors, market) { held_to<situ_test::Market>("market"); }
TEST(RegionVectors, family) { held_to<situ_test::Family>("family"); }
TEST(RegionVectors, profile_before) { held_to<situ_test::before::Profile>("profile.before"); }
TEST(RegionVectors, profile_after) { held_to<situ_test::after::Profile>("profile.after"); }
TEST(RegionVectors, character) { held_to<situ_test::Character>("character"); }
TEST(RegionVectors, cabinet) { held_to<situ_test::Cabinet>("cabinet"); }
TEST(RegionVectors, kitchen) { held_to<situ_test::Kitchen>("kitchen"); }

}  // namespace
