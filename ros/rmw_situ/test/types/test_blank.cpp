// What a lent message holds: which arrays are left as they are.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>

#include "types/blank.hpp"
#include "types/description.hpp"

namespace rmw_situ::test {
namespace {

struct Inner {
  uint32_t count;
  uint8_t pixels[5000];
};

struct Outer {
  uint8_t first;
  float small[1024];
  double large[1000];
  bool flags[5000];
  Inner inner;
  uint16_t calibration[3000];
  uint8_t last;
};

Member member(const char* name, Kind kind, size_t offset, size_t length = 0, const Struct* type = nullptr) {
  Member made;
  made.name = name;
  made.kind = kind;
  made.container = length == 0 ? Container::kNone : Container::kArray;
  made.offset = offset;
  made.length = length;
  made.type = type;
  return made;
}

TEST(Blank, leaves_large_arrays_of_numbers_without_defaults) {
  Struct inner;
  inner.size = sizeof(Inner);
  inner.members = {member("count", Kind::kUint32, offsetof(Inner, count)),
                   member("pixels", Kind::kUint8, offsetof(Inner, pixels), 5000)};
  Struct outer;
  outer.size = sizeof(Outer);
  outer.members = {member("first", Kind::kUint8, offsetof(Outer, first)),
                   member("small", Kind::kFloat, offsetof(Outer, small), 1024),
                   member("large", Kind::kDouble, offsetof(Outer, large), 1000),
                   member("flags", Kind::kBool, offsetof(Outer, flags), 5000),
                   member("inner", Kind::kStruct, offsetof(Outer, inner), 0, &inner),
                   member("calibration", Kind::kUint16, offsetof(Outer, calibration), 3000),
                   member("last", Kind::kUint8, offsetof(Outer, last))};

  const auto initial = std::make_unique<Outer>();
  std::memset(initial.get(), 0, sizeof(Outer));
  initial->first = 1;
  initial->inner.count = 2;
  initial->calibration[2999] = 3;
  initial->last = 4;
  const Blank blank(outer, std::as_bytes(std::span(initial.get(), 1)));

  const auto lent = std::make_unique<Outer>();
  std::memset(static_cast<void*>(lent.get()), 7, sizeof(Outer));
  blank.write(lent.get());
  EXPECT_EQ(lent->first, 1);
  for (const float value : lent->small) ASSERT_EQ(value, 0);
  for (const unsigned char& byte : std::span(reinterpret_cast<unsigned char*>(lent->large), 8000))
    ASSERT_EQ(byte, 7);
  for (const unsigned char& byte : std::span(reinterpret_cast<unsigned char*>(lent->flags), 5000))
    ASSERT_EQ(byte, 0);
  EXPECT_EQ(lent->inner.count, 2U);
  for (const uint8_t pixel : lent->inner.pixels) ASSERT_EQ(pixel, 7);
  for (size_t i = 0; i < 2999; ++i) ASSERT_EQ(lent->calibration[i], 0);
  EXPECT_EQ(lent->calibration[2999], 3);
  EXPECT_EQ(lent->last, 4);
}

}  // namespace
}  // namespace rmw_situ::test
