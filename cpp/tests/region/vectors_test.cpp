// The vectors of spec/vectors/region: written to the byte, read, edited, and sent on.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "region/character.hpp"

namespace {

struct alignas(16) granule {
  std::byte bytes[16];
};

std::vector<granule> file(const std::string& name) {
  std::ifstream in(std::string(SITU_VECTORS "/region/") + name, std::ios::binary);
  EXPECT_TRUE(in) << name;
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  std::vector<granule> image(text.size() / 16);
  std::memcpy(image.data(), text.data(), image.size() * 16);
  return image;
}

template <class T>
void held_to(const std::string& name) {
  situ::region<T> made;
  situ_test::fill(*made);
  const std::vector<granule> canonical = file(name + ".canonical.bin");
  const auto bytes = std::as_bytes(std::span(canonical));
  EXPECT_EQ(made.canonical(), std::vector<std::byte>(bytes.begin(), bytes.end()));
  const auto viewed = situ::view_region<T>(bytes);
  EXPECT_TRUE(viewed) << viewed.error().message();

  const std::vector<granule> live = file(name + ".live.bin");
  auto taken = situ::region<T>::adopt(std::as_bytes(std::span(live)));
  ASSERT_TRUE(taken) << taken.error().message();
  EXPECT_EQ(taken->canonical(), made.canonical());
  // The rubbish between the blocks is gone.
  const std::string_view now(reinterpret_cast<const char*>(taken->bytes().data()), taken->bytes().size());
  EXPECT_EQ(now.find("\xA5\xA5\xA5\xA5"), std::string_view::npos);
}

TEST(RegionVectors, character) { held_to<situ_test::Character>("character"); }
TEST(RegionVectors, kitchen) { held_to<situ_test::Kitchen>("kitchen"); }

}  // namespace
