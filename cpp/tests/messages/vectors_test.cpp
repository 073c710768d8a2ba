// The vectors of spec/vectors, written and read: the same bytes as in every other implementation.
#include "support/vectors.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <type_traits>

#include "messages/kitchen_values.hpp"
#include "situ/cdr.hpp"
#include "situ/convert.hpp"
#include "situ/region.hpp"
#include "situ/validate.hpp"

namespace {

using namespace situ_test;

template <class T>
struct vector_of;
template <>
struct vector_of<kitchen::Primitives> {
  static constexpr const char* name = "primitives";
};
template <>
struct vector_of<kitchen::Containers> {
  static constexpr const char* name = "containers";
};
template <>
struct vector_of<kitchen::Optionals> {
  static constexpr const char* name = "optionals";
};
template <>
struct vector_of<kitchen::Unions> {
  static constexpr const char* name = "unions";
};
template <>
struct vector_of<kitchen::Derived> {
  static constexpr const char* name = "derived";
};
template <>
struct vector_of<kitchen::Growing> {
  static constexpr const char* name = "growing";
};
template <>
struct vector_of<kitchen::Changing> {
  static constexpr const char* name = "changing";
};
template <>
struct vector_of<kitchen::Heaped> {
  static constexpr const char* name = "heaped";
};
template <>
struct vector_of<kitchen::Thicket> {
  static constexpr const char* name = "thicket";
};

/// The message of a vector, with the storage of T.
template <class T>
std::unique_ptr<built<T>> original() {
  if constexpr (std::is_same_v<situ::rebind<T, heap>, situ::rebind<kitchen::Derived, heap>>) {
    const typename T::bulk_lengths lengths{
        .base = {.left = {.samples = 2}}, .raw = 70, .right = {.samples = 1}, .points = 2, .none = 0};
    auto made = std::make_unique<built<T>>(lengths);
    fill(**made, made->body());
    return made;
  } else {
    auto made = std::make_unique<built<T>>();
    fill(**made);
    return made;
  }
}

template <class T>
class FlatVector : public testing::Test {};
using flat_types = testing::Types<kitchen::Primitives, kitchen::Containers, kitchen::Optionals,
                                  kitchen::Unions, kitchen::Derived>;
TYPED_TEST_SUITE(FlatVector, flat_types);

/// The body of a vector. Messages without bulk fields have no file.
std::vector<std::byte> body_of(const std::string& name) {
  if (!std::filesystem::exists(SITU_VECTORS "/" + name + ".body.bin")) return {};
  return vector_bytes(name + ".body.bin");
}

TYPED_TEST(FlatVector, is_written) {
  const std::string name = std::string("flat/") + vector_of<TypeParam>::name;
  const auto expected = vector_bytes(name + ".head.bin");
  const auto mask = vector_bytes(name + ".mask.bin");
  const auto message = original<TypeParam>();
  const auto written = message->head_bytes();
  ASSERT_EQ(expected.size(), sizeof(TypeParam));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (mask[i] != std::byte{0}) {
      ASSERT_EQ(written[i], std::to_integer<unsigned>(expected[i])) << "byte " << i;
    }
  }
  const auto body = body_of(name);
  ASSERT_EQ(message->body().size(), body.size());
  // Among the elements only points have padding, which is zero in the vector as in the body.
  ASSERT_TRUE(std::equal(body.begin(), body.end(), message->body().begin()));
}

TYPED_TEST(FlatVector, is_read) {
  const std::string name = std::string("flat/") + vector_of<TypeParam>::name;
  const auto head = vector_bytes(name + ".head.bin");
  const auto body = body_of(name);
  built<TypeParam> copy;
  ASSERT_EQ(head.size(), sizeof(TypeParam));
  std::memcpy(static_cast<void*>(&*copy), head.data(), head.size());
  const auto checked = situ::validate(&*copy, body.size());
  ASSERT_TRUE(checked) << checked.error().message();
  const auto expected = original<TypeParam>();
  EXPECT_EQ(*copy, **expected);
  aligned_body aligned(body.size());
  if (!body.empty()) std::memcpy(aligned.bytes().data(), body.data(), body.size());
  EXPECT_EQ(situ::to_heap(*copy, aligned.bytes()), situ::to_heap(**expected, expected->body()));
}

template <class T>
class CdrVector : public testing::Test {
 public:
  static std::vector<std::byte> file(situ::encoding version, bool big) {
    return vector_bytes(std::string("cdr/") + vector_of<T>::name +
                        (version == situ::encoding::xcdr1 ? ".xcdr1" : ".xcdr2") +
                        (big ? ".be.bin" : ".le.bin"));
  }
};
using all_types =
    testing::Types<kitchen::Primitives, kitchen::Containers, kitchen::Optionals, kitchen::Unions,
                   kitchen::Derived, kitchen::Growing, kitchen::Changing, kitchen::Heaped, kitchen::Thicket>;
TYPED_TEST_SUITE(CdrVector, all_types);

template <class T>
void expect_written(situ::encoding version, const std::vector<std::byte>& expected) {
  const auto message = original<T>();
  const auto bytes = situ::encode_to_vector(**message, version, message->body());
  ASSERT_TRUE(bytes) << bytes.error().message();
  EXPECT_EQ(*bytes, expected);
}

template <class T>
void expect_read(const std::vector<std::byte>& bytes) {
  const auto expected = original<T>();
  built<T> copy;
  std::vector<std::byte> body;
  const auto read = situ::decode(*copy, bytes, body);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(situ::to_heap(*copy, body), situ::to_heap(**expected, expected->body()));
}

TYPED_TEST(CdrVector, is_written) {
  for (const auto version : {situ::encoding::xcdr1, situ::encoding::xcdr2}) {
    const auto expected = this->file(version, false);
    ASSERT_GT(expected.size(), 4U);
    expect_written<situ::rebind<TypeParam, heap>>(version, expected);
    if constexpr (situ::flat_message<TypeParam>) expect_written<TypeParam>(version, expected);
  }
}

TYPED_TEST(CdrVector, is_read) {
  for (const auto version : {situ::encoding::xcdr1, situ::encoding::xcdr2}) {
    for (const bool big : {false, true}) {
      const auto bytes = this->file(version, big);
      ASSERT_GT(bytes.size(), 4U);
      expect_read<situ::rebind<TypeParam, heap>>(bytes);
      if constexpr (situ::flat_message<TypeParam>) expect_read<TypeParam>(bytes);
    }
  }
}

/// Every truncated message is an error or, if the type may end early, another message. It never causes a
/// crash.
TYPED_TEST(CdrVector, is_read_or_refused_wherever_it_ends) {
  constexpr bool may_end_early = TypeParam::situ_extensibility == situ::extensibility::appendable;
  for (const auto version : {situ::encoding::xcdr1, situ::encoding::xcdr2}) {
    const auto bytes = this->file(version, false);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      // A copy of exactly this size, so that the address sanitizer detects any access beyond it.
      const std::vector<std::byte> part(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
      situ::rebind<TypeParam, heap> message;
      const auto read = situ::decode(message, part);
      if (!may_end_early) {
        ASSERT_FALSE(read) << size << " of " << bytes.size() << " bytes";
        ASSERT_LE(read.error().offset, size);
        ASSERT_FALSE(read.error().message().empty());
      }
    }
  }
}

/// A type that contains itself through several containers has the same bytes in a region as in Rust.
TEST(RegionVector, thicket) {
  using in_region = situ::rebind<kitchen::Thicket, situ::in_region>;
  situ::region<in_region> r;
  fill_thicket(*r);
  const auto canonical = vector_bytes("region/thicket.canonical.bin");
  EXPECT_EQ(r.canonical(), canonical);
  kitchen::Thicket expected;
  fill(expected);
  for (const char* form : {"canonical", "live"}) {
    const auto taken =
        situ::region<in_region>::adopt(vector_bytes(std::string("region/thicket.") + form + ".bin"));
    ASSERT_TRUE(taken) << taken.error().message();
    kitchen::Thicket message;
    ASSERT_TRUE(situ::convert(**taken, message));
    EXPECT_EQ(message, expected);
  }
}

}  // namespace
