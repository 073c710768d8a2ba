// Validation of bytes from another process: every fault is found and named.
#include "situ/validate.hpp"

#include <gtest/gtest.h>

#include <random>

#include "messages/kitchen_values.hpp"
#include "situ/layout/print.hpp"

namespace {

using namespace situ_test;

template <class T>
void poke(T& message, const void* where, std::uint64_t value, std::size_t size) {
  const auto offset = static_cast<const std::byte*>(where) - reinterpret_cast<const std::byte*>(&message);
  std::memcpy(reinterpret_cast<std::byte*>(&message) + offset, &value, size);
}

/// Starts with a new message, regardless of the bytes.
template <class T>
void refill(built<T>& message) {
  T::init_at(&*message);
  fill(*message);
}

template <class T>
void expect_problem(const T& message, situ::validate_problem problem, const std::string& text,
                    std::size_t body = 0) {
  const auto checked = situ::validate(&message, body);
  ASSERT_FALSE(checked) << text;
  EXPECT_EQ(checked.error().problem, problem);
  EXPECT_EQ(checked.error().message(), text);
}

using situ::validate_problem;

TEST(Validate, accepts_valid_messages) {
  built<kitchen::Containers> containers;
  fill(*containers);
  EXPECT_TRUE(situ::validate(&*containers, 0));
  built<kitchen::Unions> unions;
  fill(*unions);
  EXPECT_TRUE(situ::validate(&*unions, 0));
  built<kitchen::Derived> derived(derived_lengths);
  EXPECT_TRUE(situ::validate(&*derived, 320));
}

TEST(Validate, lengths) {
  built<kitchen::Containers> m;
  refill(m);
  poke(*m, &m->shorts, 6, 4);
  expect_problem(*m, validate_problem::too_long, "shorts: length 6 exceeds its bound 5");
  refill(m);
  poke(*m, &m->nested[1], 5, 4);
  expect_problem(*m, validate_problem::too_long, "nested[1]: length 5 exceeds its bound 4");
  refill(m);
  poke(*m, &m->labels[0].text, 9, 4);
  expect_problem(*m, validate_problem::too_long, "labels[0].text: length 9 exceeds its bound 8");
  refill(m);
  poke(*m, &m->ages, 0xFFFF'FFFF, 4);
  expect_problem(*m, validate_problem::too_long, "ages: length 4294967295 exceeds its bound 3");
}

TEST(Validate, booleans) {
  built<kitchen::Primitives> m;
  poke(*m, &m->truth, 2, 1);
  expect_problem(*m, validate_problem::not_a_bool, "truth: 2 is not a boolean; only 0 and 1 are");
  built<kitchen::Containers> c;
  fill(*c);
  poke(*c, &c->flags[2], 255, 1);
  expect_problem(*c, validate_problem::not_a_bool, "flags[2]: 255 is not a boolean; only 0 and 1 are");
  built<kitchen::Optionals> o;
  fill(*o);
  poke(*o, &o->label, 3, 1);
  expect_problem(*o, validate_problem::not_a_bool, "label: 3 is not a boolean; only 0 and 1 are");
  built<kitchen::Unions> u;
  fill(*u);
  poke(*u, &u->on, 9, 1);
  expect_problem(*u, validate_problem::not_a_bool, "on: 9 is not a boolean; only 0 and 1 are");
}

TEST(Validate, text) {
  built<kitchen::Containers> m;
  refill(m);
  poke(*m, m->text.data() + 1, 0xFF, 1);
  expect_problem(*m, validate_problem::not_utf8, "text: the text is not UTF-8 from byte 1 on");
  refill(m);
  poke(*m, m->words[2].data() + 3, 'x', 1);
  expect_problem(*m, validate_problem::not_terminated,
                 "words[2]: the terminating zero after 3 characters is missing");
  refill(m);
  poke(*m, m->wide_text.data() + 2, 'x', 2);
  expect_problem(*m, validate_problem::not_terminated,
                 "wide_text: the terminating zero after 2 characters is missing");
}

TEST(Validate, maps) {
  built<kitchen::Containers> m;
  refill(m);
  poke(*m, &m->numbers.begin()[1].first, 2, 2);
  expect_problem(*m, validate_problem::not_sorted, "numbers: key 1 is not greater than the key before it");
  refill(m);
  poke(*m, m->ages.begin()[2].first.data() + 1, 'a', 1);
  expect_problem(*m, validate_problem::not_utf8, "ages[2]: the text is not UTF-8 from byte 0 on");
  poke(*m, m->ages.begin()[2].first.data() + 1, 0xA4, 1);
  poke(*m, m->ages.begin()[2].first.data() + 2, 'x', 1);
  expect_problem(*m, validate_problem::not_terminated,
                 "ages[2]: the terminating zero after 2 characters is missing");
  refill(m);
  poke(*m, m->ages.begin()[2].first.data(), 'a', 2);
  poke(*m, &m->ages.begin()[2].first, 1, 4);
  expect_problem(*m, validate_problem::not_sorted, "ages: key 2 is not greater than the key before it");
}

TEST(Validate, unions) {
  built<kitchen::Unions> m;
  refill(m);
  poke(*m, m->named.name().data() + 3, 'x', 1);
  expect_problem(*m, validate_problem::not_terminated,
                 "named.name: the terminating zero after 3 characters is missing");
  refill(m);
  poke(*m, &m->round, 1234, 4);
  EXPECT_TRUE(situ::validate(&*m, 0))
      << "an unknown discriminator selects the default case, and any number is one";
  EXPECT_EQ(m->round.discriminator(), kitchen::Color{1234});
}

TEST(Validate, bulk_fields_lie_within_the_body) {
  built<kitchen::Derived> m(derived_lengths);
  EXPECT_TRUE(situ::validate(&*m, 320));
  expect_problem(*m, validate_problem::outside_body,
                 "none: bulk data at 320 lies outside the body of 319 bytes", 319);
  built<kitchen::Base> b({.left = {.samples = 2}});
  expect_problem(*b, validate_problem::outside_body,
                 "left.samples: bulk data at 0 lies outside the body of 7 bytes", 7);
  EXPECT_TRUE(situ::validate(&*b, 8));
  poke(*b, &b->left.samples, 2, 8);
  expect_problem(*b, validate_problem::misaligned, "left.samples: bulk data at 2 is not aligned to 4", 64);
  poke(*b, &b->left.samples, ~std::uint64_t{0}, 8);
  expect_problem(*b, validate_problem::outside_body,
                 "left.samples: bulk data at 18446744073709551615 lies outside the body of 64 bytes", 64);
  b->left.samples = situ::bulk_ref<float>(0, ~std::uint64_t{0} / 2);
  expect_problem(*b, validate_problem::outside_body,
                 "left.samples: bulk data at 0 lies outside the body of 64 bytes", 64);
  built<kitchen::Derived> p(derived_lengths);
  p->points = situ::bulk_ref<kitchen::Point, 100>(0, 101);
  expect_problem(*p, validate_problem::too_long, "points: length 101 exceeds its bound 100", 10000);
}

TEST(Validate, size_and_address) {
  built<kitchen::Primitives> m;
  alignas(16) std::byte bytes[sizeof(kitchen::Primitives) + 16] = {};
  const std::span<const std::byte> all(bytes);
  EXPECT_TRUE(situ::validate_bytes<kitchen::Primitives>(all.first(sizeof(kitchen::Primitives)), 0));
  const auto small = situ::validate_bytes<kitchen::Primitives>(all.first(3), 0);
  EXPECT_EQ(small.error().message(), "message: there are 3 bytes, but the type has 80");
  const auto odd = situ::validate_bytes<kitchen::Primitives>(all.subspan(1, sizeof(kitchen::Primitives)), 0);
  EXPECT_EQ(odd.error().message(), "message: the bytes do not lie at a multiple of 8");
}

/// For any bytes, checking them and reading an accepted message stays within the message. The sanitizers
/// detect all other faults.
template <class T>
void survive_noise(unsigned seed) {
  std::mt19937 random(seed);
  built<T> m;
  int accepted = 0;
  for (int round = 0; round < 3000; ++round) {
    if (round % 3 == 0) {
      if constexpr (requires { fill(*m); }) {
        refill(m);
      } else {
        T::init_at(&*m, derived_lengths);
      }
    }
    auto* bytes = reinterpret_cast<std::byte*>(&*m);
    for (int change = 0; change < 3; ++change)
      bytes[random() % sizeof(T)] = static_cast<std::byte>(random() >> (random() % 8));
    if (situ::validate(&*m, random() % 400)) {
      ++accepted;
      EXPECT_FALSE(to_string(*m).empty());
      EXPECT_EQ(*m == *m, *m == *m);
      [[maybe_unused]] const T copy(*m);
    }
  }
  EXPECT_GT(accepted, 0);
}

TEST(Validate, survives_noise) {
  survive_noise<kitchen::Primitives>(1);
  survive_noise<kitchen::Containers>(2);
  survive_noise<kitchen::Optionals>(3);
  survive_noise<kitchen::Unions>(4);
  survive_noise<kitchen::Derived>(5);
}

}  // namespace
