// inline_optional compared with std::optional.
#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <string>

#include "containers/tracked.hpp"
#include "situ/layout/inline_optional.hpp"

namespace {

using situ::inline_optional;
using situ_test::tracked;

TEST(Optional, behaves_like_a_standard_one) {
  const std::ptrdiff_t alive_before = tracked::alive;
  {
    std::mt19937 random(3);
    inline_optional<tracked> a;
    inline_optional<tracked> b;
    std::optional<tracked> model_a;
    std::optional<tracked> model_b;
    for (int step = 0; step < 2000; ++step) {
      switch (std::uniform_int_distribution<int>(0, 7)(random)) {
        case 0:
          a = tracked(step);
          model_a = tracked(step);
          break;
        case 1:
          a.emplace(step);
          model_a.emplace(step);
          break;
        case 2:
          a.reset();
          model_a.reset();
          break;
        case 3:
          a = std::nullopt;
          model_a = std::nullopt;
          break;
        case 4:
          b = a;
          model_b = model_a;
          break;
        case 5:
          b = inline_optional<tracked>(a);
          model_b = model_a;
          break;
        case 6:
          swap(a, b);
          swap(model_a, model_b);
          break;
        case 7:
          EXPECT_EQ(a.value_or(tracked(-1)), model_a.value_or(tracked(-1)));
          EXPECT_EQ(a == b, model_a == model_b);
          EXPECT_EQ(a <=> b, model_a <=> model_b);
          break;
      }
      ASSERT_EQ(a, model_a) << "step " << step;
      ASSERT_EQ(b, model_b) << "step " << step;
    }
  }
  EXPECT_EQ(tracked::alive, alive_before);
}

TEST(Optional, reads_like_an_optional) {
  inline_optional<std::string> name = "ada";
  ASSERT_TRUE(name);
  EXPECT_EQ(*name, "ada");
  EXPECT_EQ(name->size(), 3U);
  EXPECT_EQ(name, std::string("ada"));
  EXPECT_EQ(*std::move(name), "ada");
  name = std::optional<std::string>();
  EXPECT_EQ(name, std::nullopt);
  EXPECT_THROW((void)name.value(), std::bad_optional_access);
  name = std::optional<std::string>("eve");
  EXPECT_EQ(name.value(), "eve");
}

TEST(Optional, counts_only_one_as_present) {
  inline_optional<int> number = 5;
  const std::uint8_t wild = 7;
  std::memcpy(static_cast<void*>(&number), &wild, 1);
  EXPECT_FALSE(number.has_value());
}

}  // namespace
