// Errors have the texts of spec/vectors/region/errors.txt, which the Rust tests read, too.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <string_view>

#include "region/character.hpp"
#include "situ/region.hpp"

namespace {

using situ::region_error;
using situ::region_fault;
using situ::region_problem;

// In the order of the enums, so that a value without a text in the list is found.
constexpr std::array<std::string_view, 8> faults = {"full",   "detached", "frozen",     "cycle",
                                                    "inside", "apart",    "misaligned", "small"};
static_assert(faults.size() == static_cast<std::size_t>(region_fault::small) + 1);
constexpr std::array<std::string_view, 37> problems = {
    "too_small",      "misaligned",   "not_a_region",    "wrong_version", "wrong_form",   "not_packed",
    "bad_length",     "wrong_schema", "wrong_layout",    "wrong_size",    "outside",      "misplaced",
    "unaligned_link", "overlap",      "wrong_back_link", "too_long",      "not_trimmed",  "not_a_bool",
    "not_utf8",       "not_sorted",   "not_hashed",      "wrong_count",   "wrong_seed",   "wrong_levels",
    "wrong_node",     "wrong_tree",   "holds_itself",    "shared_type",   "shared_count", "weak_target",
    "weak_count",     "bad_versions", "other_history",   "other_version", "not_zero",     "left_over",
    "no_memory"};
static_assert(problems.size() == static_cast<std::size_t>(region_problem::no_memory) + 1);

/// The position of a name, or the number of names.
template <std::size_t N>
std::size_t position(const std::array<std::string_view, N>& names, std::string_view name) {
  return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
}

TEST(RegionTexts, errors_have_the_texts_that_they_have_in_rust) {
  std::ifstream lines(SITU_VECTORS "/region/errors.txt");
  std::set<std::string> listed;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string language, name, wanted;
    std::uint64_t found = 0;
    std::uint64_t limit = 0;
    words >> language >> name >> found >> limit >> std::ws;
    std::getline(words, wanted);
    listed.insert(name);
    const std::string_view bare = std::string_view(name).substr(name.find('.') + 1);
    if (name.starts_with("fault.")) {
      const std::size_t at = position(faults, bare);
      ASSERT_EQ(at < faults.size(), language != "rust") << line;
      if (at == faults.size()) continue;
      EXPECT_EQ(region_error(static_cast<region_fault>(at), limit, found).what(), wanted) << name;
    } else {
      const std::size_t at = position(problems, bare);
      ASSERT_LT(at, problems.size()) << line;
      situ::region_invalid error{};
      error.problem = static_cast<region_problem>(at);
      error.found = found;
      error.limit = limit;
      error.name = "Kitchen";
      error.member = "when";
      EXPECT_EQ(error.message(), "message: " + wanted + " (at offset 0)") << name;
    }
  }
  for (const std::string_view it : faults) EXPECT_TRUE(listed.contains("fault." + std::string(it))) << it;
  for (const std::string_view it : problems) EXPECT_TRUE(listed.contains("problem." + std::string(it))) << it;
}

TEST(RegionTexts, an_unsuitable_buffer_is_named) {
  const auto error_of = [](std::span<std::byte> buffer) -> std::string {
    try {
      const situ::region<situ_test::Kitchen> made(buffer);
    } catch (const region_error& error) {
      return error.what();
    }
    return "";
  };
  alignas(16) static std::byte memory[1 << 16];
  const std::span<std::byte> whole(memory);
  EXPECT_EQ(error_of(whole.subspan(8)), "the buffer does not begin at a multiple of 16; give one that does");
  const std::string refused = error_of(whole.first(64));
  std::istringstream words(refused);
  std::string word;
  for (int i = 0; i < 8; ++i) words >> word;
  const std::size_t needed = std::stoul(word);
  EXPECT_EQ(refused, "there is room for 64 bytes, and " + std::to_string(needed) +
                         " are needed; give a larger buffer or a higher limit");
  EXPECT_EQ(error_of(whole.first(needed)), "") << "what it asks for is enough";
  EXPECT_NE(error_of(whole.first(needed - 1)), "") << "and the least";
}

}  // namespace
