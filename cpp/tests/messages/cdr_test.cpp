// CDR beyond the vectors: types that grew, long parameters, encodings of other writers, wrong lengths,
// limits, and random bytes.
#include "situ/cdr.hpp"

#include <gtest/gtest.h>

#include <random>

#include "extras.hpp"
#include "messages/kitchen_values.hpp"
#include "situ/convert.hpp"

namespace {

using namespace situ_test;
using situ::decode_problem;
using situ::encode_problem;
using situ::encoding;

constexpr encoding versions[] = {encoding::xcdr1, encoding::xcdr2};

std::vector<std::byte> bytes_of(std::initializer_list<unsigned> values) {
  std::vector<std::byte> bytes;
  for (const unsigned value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

template <class T>
std::vector<std::byte> encoded(const T& message, encoding version) {
  auto bytes = situ::encode_to_vector(message, version);
  EXPECT_TRUE(bytes) << bytes.error().message();
  EXPECT_EQ(bytes->size(), situ::encoded_size(message, version).value());
  return *bytes;
}

template <class T>
T decoded(const std::vector<std::byte>& bytes) {
  T message;
  const auto read = situ::decode(message, bytes);
  EXPECT_TRUE(read) << read.error().message();
  return message;
}

template <class T>
situ::decode_error refused(const std::vector<std::byte>& bytes) {
  T message;
  auto read = situ::decode(message, bytes);
  if (read) {
    ADD_FAILURE() << "was read";
    return {};
  }
  return std::move(read).error();
}

TEST(Cdr, appendable_types_may_grow) {
  extras::Long grown;
  grown.first = 5;
  grown.second = 6;
  grown.third = "drei";
  for (const encoding version : versions) {
    EXPECT_EQ(decoded<extras::Short>(encoded(grown, version)).first, 5);
    extras::Short before;
    before.first = 4;
    extras::Long read;
    read.second = 99;
    read.third = "old";
    ASSERT_TRUE(situ::decode(read, encoded(before, version)));
    EXPECT_EQ(read.first, 4);
    EXPECT_EQ(read.second, 7) << "the default";
    EXPECT_EQ(read.third, "three") << "the default";
  }
}

TEST(Cdr, appendable_types_may_grow_within_others) {
  extras::HoldsLong grown;
  grown.parts.resize(2);
  grown.parts[0].first = 1;
  grown.parts[1].first = 2;
  grown.behind = 3;
  const auto read = decoded<extras::HoldsShort>(encoded(grown, encoding::xcdr2));
  ASSERT_EQ(read.parts.size(), 2U);
  EXPECT_EQ(read.parts[1].first, 2);
  EXPECT_EQ(read.behind, 3);
  const auto back = decoded<extras::HoldsLong>(encoded(read, encoding::xcdr2));
  EXPECT_EQ(back.parts[1].first, 2);
  EXPECT_EQ(back.parts[1].third, "three");
  EXPECT_EQ(back.behind, 3);
}

TEST(Cdr, members_of_mutable_types_come_and_go) {
  extras::Many many;
  many.one = 1;
  many.two = 2.5;
  many.three = "3";
  many.words = {"a", "b"};
  for (const encoding version : versions) {
    const auto few = decoded<extras::Few>(encoded(many, version));
    EXPECT_EQ(few.one, 1);
    EXPECT_EQ(few.three, "3");
    extras::Many read = many;
    ASSERT_TRUE(situ::decode(read, encoded(few, version)));
    EXPECT_EQ(read.one, 1);
    EXPECT_EQ(read.two, 0) << "the default";
    EXPECT_TRUE(read.words.empty());
  }
}

TEST(Cdr, unknown_members_that_must_be_understood_are_errors) {
  extras::Strict strict;
  strict.two = 2;
  for (const encoding version : versions) {
    const auto error = refused<extras::Few>(encoded(strict, version));
    EXPECT_EQ(error.problem, decode_problem::unknown_member);
    EXPECT_EQ(error.found, 2U);
  }
}

TEST(Cdr, long_parameters_have_long_headers) {
  extras::Few few;
  for (const std::size_t size : {65530U, 65531U, 70000U}) {
    few.three.assign(size, 'x');
    const auto bytes = encoded(few, encoding::xcdr1);
    // Encapsulation, `one` with its header, a header, a length, the text with its zero, padding, the end of
    // the list.
    const std::size_t header = 4 + size + 1 <= 65535 ? 4 : 12;
    const std::size_t end = 4 + (8 + header + 4 + size + 1 + 3) / 4 * 4;
    EXPECT_EQ(bytes.size(), end + 4);
    EXPECT_EQ(decoded<extras::Few>(bytes), few);
  }
}

/// Bytes written by hand, in the encodings of other writers.
TEST(Cdr, headers_of_other_writers_are_read) {
  // XCDR1: an extended header for a small id, a parameter to ignore, a vendor-specific one, a length padded
  // to four.
  const auto v1 = bytes_of({0,    3,    0, 0,                          //
                            0x03, 0x3F, 4, 0, 0xFF, 0xFF, 0xFF, 0xFF,  // PID_IGNORE
                            0x01, 0x80, 4, 0, 9,    9,    9,    9,     // a vendor's id 1
                            0x01, 0x7F, 8, 0, 1,    0,    0,    0,    4,   0, 0, 0, 7, 0, 0, 0,  // one = 7
                            0x03, 0x00, 8, 0, 2,    0,    0,    0,    'h', 0, 0, 0,  // three = "h", padded
                            0x02, 0x3F, 0, 0});
  const auto few = decoded<extras::Few>(v1);
  EXPECT_EQ(few.one, 7);
  EXPECT_EQ(few.three, "h");
  // XCDR2: the length code 5 for a string. The string's own length is also that of the parameter. The padding
  // is counted at the end.
  const auto v2 = bytes_of({0,    0x0B, 0, 0,                               //
                            20,   0,    0, 0,                               // the delimiter
                            0x03, 0,    0, 0x50, 2, 0, 0, 0, 'h', 0, 0, 0,  // three
                            0x01, 0,    0, 0x20, 7, 0, 0, 0});              // one
  const auto other = decoded<extras::Few>(v2);
  EXPECT_EQ(other.one, 7);
  EXPECT_EQ(other.three, "h");
  // Length codes 6 and 7 count elements of 4 and 8 bytes.
  const auto codes =
      bytes_of({0,    0x0B, 0, 0,    40, 0, 0, 0,                               //
                0x77, 0,    0, 0x60, 1,  0, 0, 0, 1,    1, 1, 1,                // skipped: 4 + 4
                0x78, 0,    0, 0x70, 1,  0, 0, 0, 1,    1, 1, 1,   1, 1, 1, 1,  // skipped: 4 + 8
                0x01, 0,    0, 0x20, 8,  0, 0, 0, 0x03, 0, 0, 0x40});
  EXPECT_EQ(refused<extras::Few>(codes).problem, decode_problem::truncated);
  auto whole = codes;
  whole[4] = std::byte{36};
  whole.resize(whole.size() - 4);
  EXPECT_EQ(decoded<extras::Few>(whole).one, 8);
}

TEST(Cdr, the_last_of_repeated_members_wins) {
  const auto bytes = bytes_of({0, 3, 0, 0,                             //
                               1, 0, 4, 0, 1, 0,    0, 0, 1, 0, 4, 0,  //
                               2, 0, 0, 0, 2, 0x7F, 0, 0});
  EXPECT_EQ(decoded<extras::Few>([&] {
              auto fixed = bytes;
              fixed[20] = std::byte{0x02};
              fixed[21] = std::byte{0x3F};
              return fixed;
            }())
                .one,
            2);
}

TEST(Cdr, padding_at_the_end_is_dropped_when_announced) {
  // An appendable type may end early: with three announced bytes of padding, `second` is absent.
  auto bytes = bytes_of({0, 1, 0, 3, 5, 0, 0, 0, 0, 0, 0, 0});
  bytes.resize(8);
  bytes[3] = std::byte{2};
  EXPECT_EQ(decoded<extras::Long>(bytes).second, 7);
  bytes[3] = std::byte{0};
  EXPECT_EQ(refused<extras::Long>(bytes).problem, decode_problem::truncated)
      << "two bytes that are not a member";
}

TEST(Cdr, strings_without_their_zero_are_accepted) {
  const auto bytes =
      bytes_of({0, 1, 0, 0, 2, 0, 0, 0, 'h', 'i', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
  EXPECT_EQ(decoded<extras::Limits>(bytes).text, "hi");
  const auto none = bytes_of({0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
  EXPECT_EQ(decoded<extras::Limits>(none).text, "");
}

TEST(Cdr, errors_name_member_and_byte) {
  const auto message = [](const std::vector<std::byte>& bytes) {
    return refused<extras::Limits>(bytes).message();
  };
  EXPECT_EQ(message(bytes_of({0, 1})), "message, byte 0: 4 bytes are needed, but only 2 are left");
  EXPECT_EQ(message(bytes_of({1, 1, 0, 0})), "message, byte 0: the encapsulation id 257 is none of CDR's");
  EXPECT_EQ(message(bytes_of({0, 3, 0, 0})),
            "message, byte 0: the encapsulation id 3 does not fit the extensibility of the type");
  EXPECT_EQ(message(bytes_of({0, 1, 0, 0, 1, 0})), "text, byte 4: 4 bytes are needed, but only 2 are left");
  EXPECT_EQ(message(bytes_of({0, 1, 0, 0, 9, 0, 0, 0, 'x', 0})),
            "text, byte 4: length 9 is more than the 2 bytes that are left can hold");
  EXPECT_EQ(message(bytes_of({0, 1, 0, 0, 6, 0, 0, 0, 'a', 'b', 'c', 'd', 'e', 0})),
            "text, byte 8: length 5 exceeds its bound 4");
  EXPECT_EQ(message(bytes_of({0, 1, 0, 0, 2, 0, 0, 0, 0xFF, 0})),
            "text, byte 8: the text is not UTF-8 from byte 0 on");
  const auto four = bytes_of({0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 1, 2, 3, 4});
  EXPECT_EQ(message(four), "bytes, byte 20: length 4 exceeds its bound 3");
  EXPECT_EQ(message(bytes_of({0, 7, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 1, 2, 3})),
            "wide, byte 16: a wide string cannot have 3 bytes");
}

TEST(Cdr, encoding_errors_name_the_member) {
  kitchen::Growing growing = situ_test::growing(1);
  std::byte little[10];
  auto result = situ::encode(growing, little);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().problem, encode_problem::no_room);
  EXPECT_EQ(result.error().path.text(), "maybe");
  growing.second = "\xFF";
  const auto bytes = situ::encode_to_vector(growing);
  ASSERT_FALSE(bytes);
  EXPECT_EQ(bytes.error().message(), "second: the text is not UTF-8 from byte 0 on");
  built<kitchen::Base> base({.left = {.samples = 4}});
  const auto bulk =
      situ::encode_to_vector(*base, encoding::xcdr1, std::span<const std::byte>(base.body()).first(8));
  ASSERT_FALSE(bulk);
  EXPECT_EQ(bulk.error().message(), "left.samples: bulk data at 0 lies outside the body of 8 bytes");
}

TEST(Cdr, a_buffer_of_every_size_is_enough_or_refused) {
  kitchen::Heaped heaped;
  fill(heaped);
  for (const encoding version : versions) {
    const std::size_t size = situ::encoded_size(heaped, version).value();
    for (std::size_t room = 0; room <= size; ++room) {
      std::vector<std::byte> out(room);
      EXPECT_EQ(situ::encode(heaped, out, version).has_value(), room == size);
    }
  }
}

TEST(Cdr, a_body_that_is_too_small_is_refused) {
  built<kitchen::Derived> original(derived_lengths);
  fill(*original, original.body());
  const auto bytes = situ::encode_to_vector(*original, encoding::xcdr1, original.body()).value();
  kitchen::Derived copy;
  aligned_body body(320);
  ASSERT_TRUE(situ::decode(copy, bytes, body.bytes()));
  EXPECT_EQ(copy, *original) << "the places are those of the original";
  EXPECT_EQ(situ::to_heap(copy, body.bytes()), situ::to_heap(*original, original.body()));
  const auto refused = situ::decode(copy, bytes, body.bytes().first(260));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().problem, decode_problem::no_room);
  EXPECT_EQ(refused.error().path.text(), "points");
}

TEST(Cdr, nesting_is_bounded) {
  // Each level is a sequence of one element, which is a struct.
  const auto nested = [](unsigned levels) {
    auto bytes = bytes_of({0, 1, 0, 0});
    for (unsigned i = 0; i < levels; ++i) bytes.insert(bytes.end(), {std::byte{1}, {}, {}, {}});
    bytes.insert(bytes.end(), 4, std::byte{});
    return bytes;
  };
  EXPECT_TRUE(situ::decode(*std::make_unique<extras::Deep>(), nested(63)));
  EXPECT_EQ(refused<extras::Deep>(nested(64)).problem, decode_problem::too_deep);
  EXPECT_EQ(refused<extras::Deep>(nested(100'000)).problem, decode_problem::too_deep);
  extras::Deep deep;
  for (int i = 0; i < 64; ++i) {
    extras::Deep outer;
    outer.inner.push_back(std::move(deep));
    deep = std::move(outer);
  }
  EXPECT_EQ(situ::encode_to_vector(deep).error().problem, encode_problem::too_deep);
}

TEST(Cdr, a_length_alone_allocates_nothing) {
  const auto lie = bytes_of({0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF});
  const auto error = refused<extras::Unlimited>(lie);
  EXPECT_EQ(error.problem, decode_problem::lying_length);
  EXPECT_EQ(error.path.text(), "bytes");
  // Each element of four bytes becomes one of more than five hundred. The length of a message limits its
  // memory.
  auto wasteful = bytes_of({0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
  const std::uint32_t count = 400'000;
  wasteful.resize(12 + count * std::size_t{4});
  const auto length = static_cast<std::uint32_t>(wasteful.size() - 8);
  std::memcpy(wasteful.data() + 4, &length, 4);
  std::memcpy(wasteful.data() + 8, &count, 4);
  EXPECT_EQ(refused<extras::Empties>(wasteful).problem, decode_problem::too_much_memory);
}

/// If random bytes decode, the message encodes and decodes to itself. The sanitizers detect all other faults.
template <class T>
void survive_noise(unsigned seed) {
  std::mt19937 random(seed);
  int accepted = 0;
  for (const encoding version : versions) {
    T original;
    fill(original);
    const auto good = encoded(original, version);
    for (int round = 0; round < 4000; ++round) {
      auto bytes = good;
      for (unsigned change = random() % 4; change != 0; --change) {
        bytes[random() % bytes.size()] = static_cast<std::byte>(random() >> (random() % 8));
      }
      if (random() % 4 == 0) bytes.resize(random() % (bytes.size() + 8));
      T message;
      if (!situ::decode(message, bytes)) continue;
      ++accepted;
      const auto again = situ::encode_to_vector(message, version);
      ASSERT_TRUE(again) << again.error().message();
      T copy;
      ASSERT_TRUE(situ::decode(copy, *again));
      ASSERT_EQ(situ::encode_to_vector(copy, version).value(), *again);
    }
  }
  EXPECT_GT(accepted, 100);
}

TEST(Cdr, survives_noise) {
  survive_noise<kitchen::Primitives>(1);
  survive_noise<kitchen::Containers>(2);
  survive_noise<kitchen::Containers_<heap>>(3);
  survive_noise<kitchen::Optionals>(4);
  survive_noise<kitchen::Unions_<heap>>(5);
  survive_noise<kitchen::Changing>(6);
  survive_noise<kitchen::Heaped>(7);
}

TEST(Cdr, vectors_keep_their_memory) {
  extras::Unlimited source;
  source.bytes.assign(100'000, 7);
  source.doubles.assign(1000, 0.5);
  const auto bytes = encoded(source, encoding::xcdr1);
  extras::Unlimited target;
  ASSERT_TRUE(situ::decode(target, bytes));
  const auto* before = target.bytes.data();
  ASSERT_TRUE(situ::decode(target, bytes));
  EXPECT_EQ(target.bytes.data(), before);
  EXPECT_EQ(target, source);
}

}  // namespace
