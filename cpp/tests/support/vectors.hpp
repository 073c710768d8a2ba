// Reads the files below spec/vectors, or below the part of it that the target names in SITU_VECTORS.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "support/memory.hpp"

namespace situ_test {

/// Returns the content of a file. The test fails if there is no such file.
template <class Byte = std::byte>
std::vector<Byte> vector_bytes(const std::string& name) {
  std::ifstream in(SITU_VECTORS "/" + name, std::ios::binary);
  EXPECT_TRUE(in) << name;
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const auto* first = reinterpret_cast<const Byte*>(text.data());
  return {first, first + text.size()};
}

/// Returns an image of a region, in aligned memory.
inline aligned_bytes vector_image(const std::string& name) {
  return aligned_bytes(vector_bytes("region/" + name));
}

}  // namespace situ_test
