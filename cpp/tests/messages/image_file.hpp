// Images of regions in the files of spec/vectors, in memory where they can be read.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace situ_test {

struct alignas(16) granule {
  std::byte bytes[16];
};

inline std::vector<granule> file(const std::string& name) {
  std::ifstream in(std::string(SITU_VECTORS "/region/") + name, std::ios::binary);
  EXPECT_TRUE(in) << name;
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  std::vector<granule> image(text.size() / 16);
  std::memcpy(image.data(), text.data(), image.size() * 16);
  return image;
}

}  // namespace situ_test
