// The files of spec/vectors/region.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "region/memory.hpp"

namespace situ_test {

inline aligned_bytes vector(const std::string& name) {
  std::ifstream in(std::string(SITU_VECTORS "/region/") + name, std::ios::binary);
  EXPECT_TRUE(in) << name;
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  return aligned_bytes(std::as_bytes(std::span(text)));
}

}  // namespace situ_test
