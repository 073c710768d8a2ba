// Checks of text, booleans and padding, at every length and every place.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "situ/region.hpp"

namespace {

struct Note {
  situ::region_string text;
  std::uint64_t number;
};
SITU_REGION(Note, text, number)

struct Two {
  situ::region_string first;
  situ::region_string second;
};
SITU_REGION(Two, first, second)

struct Flags {
  situ::region_vector<bool> flags;
};
SITU_REGION(Flags, flags)

enum class Answer : bool { no, yes };
struct Answers {
  Answer one;
  std::array<Answer, 2> two;
  situ::region_vector<Answer> many;
  situ::region_union<"Reply", Answer, situ::region_case<"why", std::uint32_t, Answer::yes>> reply;
};
SITU_REGION(Answers, one, two, many, reply)

struct Gaps {
  std::uint8_t a;
  std::uint64_t b;
  std::uint8_t c;
  std::uint32_t d;
  std::uint8_t e;
  std::uint16_t f;
  std::uint64_t g;
  std::uint8_t h;
};
SITU_REGION(Gaps, a, b, c, d, e, f, g, h)

using Bytes = std::vector<std::byte>;

/// The place of a note's text in its canonical image, and the end of its bytes.
struct Place {
  std::size_t begin;
  std::size_t end;
};
Place place(std::size_t count) {
  return count <= 11 ? Place{64, 75} : Place{96, 96 + (count + 15) / 16 * 16};
}

/// Returns the canonical image of a text, or the same bytes marked as a live image.
Bytes image_of(const std::string& text, bool live) {
  situ::region<Note> r;
  r->text = text;
  Bytes image = r.canonical();
  image[6] = std::byte{live};
  return image;
}

template <class T>
std::optional<std::string> error_of(const Bytes& image) {
  auto taken = situ::region<T>::adopt(image);
  if (taken) return std::nullopt;
  return taken.error().message();
}

std::string at(const std::string& words, std::size_t offset) {
  return words + " (at offset " + std::to_string(offset) + ")";
}

TEST(RegionCheck, an_invalid_byte_of_text_is_found_at_every_place) {
  for (const bool live : {false, true}) {
    for (std::size_t count = 1; count <= 70; ++count) {
      const auto [begin, end] = place(count);
      const Bytes image = image_of(std::string(count, 'a'), live);
      ASSERT_EQ(error_of<Note>(image), std::nullopt);
      for (std::size_t i = 0; i < count; ++i) {
        Bytes spoilt = image;
        spoilt[begin + i] = std::byte{0x80};
        ASSERT_EQ(error_of<Note>(spoilt),
                  at("text: the text is not UTF-8 from byte " + std::to_string(i) + " on", 64));
      }
      // Bytes after the text are padding: in a canonical image they are zero.
      for (std::size_t i = begin + count; i < end; ++i) {
        for (const auto value : {std::byte{0x01}, std::byte{0x80}}) {
          Bytes spoilt = image;
          spoilt[i] = value;
          const std::string where = std::to_string(i);
          const auto wanted =
              live ? std::nullopt
                   : std::optional(
                         at("text: the byte at offset " + where + " belongs to nothing and is not zero", i));
          ASSERT_EQ(error_of<Note>(spoilt), wanted) << count;
        }
      }
    }
  }
}

TEST(RegionCheck, letters_of_several_bytes_are_valid_at_every_place) {
  for (const std::string letter : {"\xC3\xBC", "\xE2\x82\xAC", "\xF0\x9D\x84\x9E"}) {
    for (std::size_t before = 0; before < 40; ++before) {
      for (const std::size_t behind : {0U, 1U, 7U, 20U}) {
        const std::string text = std::string(before, 'a') + letter + std::string(behind, 'b');
        for (const bool live : {false, true}) {
          Bytes image = image_of(text, live);
          auto taken = situ::region<Note>::adopt(image);
          ASSERT_TRUE(taken);
          ASSERT_EQ((*taken)->text.view(), text);
          // Without its last byte, the character is not valid.
          image[place(text.size()).begin + before + letter.size() - 1] = std::byte{'x'};
          ASSERT_EQ(error_of<Note>(image),
                    at("text: the text is not UTF-8 from byte " + std::to_string(before) + " on", 64));
        }
      }
    }
  }
}

TEST(RegionCheck, blocks_may_not_share_a_granule_anywhere_in_the_bitmap) {
  // The length of the first text places the second at the start of another word of the bitmap, or at its end.
  for (std::size_t count = 16; count <= 4096; count += 16) {
    situ::region<Two> r;
    r->first = std::string(count, 'a');
    r->second = std::string(20, 'b');
    const auto bytes = r.bytes();
    Bytes image(bytes.begin(), bytes.end());
    ASSERT_EQ(error_of<Two>(image), std::nullopt);
    // The second link leads one granule further back: into the last granule of the first text.
    std::int32_t link = 0;
    std::memcpy(&link, image.data() + 80, sizeof(link));
    link -= 16;
    std::memcpy(image.data() + 80, &link, sizeof(link));
    ASSERT_EQ(error_of<Two>(image),
              at("second: the block at offset " + std::to_string(80 + link) + " is part of another one", 80));
  }
}

TEST(RegionCheck, a_block_may_not_begin_in_a_granule_of_another_one) {
  // Small and large images: their bitmaps lie in different places.
  for (const std::uint32_t granules : {1U, 57U, 58U, 59U, 122U, 300U, 5000U}) {
    situ::region<Two> r;
    r->first = std::string(granules * 16, 'a');
    r->second = std::string(12, 'b');
    // Header and root take six granules, the first block the next ones; the second block follows.
    const auto bytes = r.bytes();
    Bytes image(bytes.begin(), bytes.end());
    ASSERT_EQ(image.size(), (6 + granules + 1) * 16);
    for (std::uint32_t granule = 4; granule <= 6 + granules; ++granule) {
      const std::uint32_t link = granule * 16 - 80;
      std::memcpy(image.data() + 80, &link, sizeof(link));
      const auto wanted =
          "second: the block at offset " + std::to_string(granule * 16) + " is part of another one";
      const bool is_taken = granule < 6 + granules;
      ASSERT_EQ(error_of<Two>(image), is_taken ? std::optional(at(wanted, 80)) : std::nullopt);
    }
  }
}

TEST(RegionCheck, an_invalid_boolean_is_found_at_every_place) {
  for (std::size_t count = 1; count <= 40; ++count) {
    situ::region<Flags> r;
    for (std::size_t i = 0; i < count; ++i) r->flags.push_back(i % 3 == 0);
    for (const bool live : {false, true}) {
      Bytes image = r.canonical();
      image[6] = std::byte{live};
      ASSERT_EQ(error_of<Flags>(image), std::nullopt);
      for (std::size_t i = 0; i < count; ++i) {
        for (const unsigned value : {2U, 0x80U}) {
          Bytes spoilt = image;
          spoilt[80 + i] = static_cast<std::byte>(value);
          ASSERT_EQ(error_of<Flags>(spoilt), at("flags[" + std::to_string(i) + "]: " + std::to_string(value) +
                                                    " is not a boolean; only 0 and 1 are",
                                                80 + i));
        }
      }
    }
  }
}

TEST(RegionCheck, bytes_between_and_behind_members_are_zero_in_a_canonical_image) {
  const Bytes image = situ::region<Gaps>().canonical();
  ASSERT_EQ(image.size(), 64U + 48U);
  // a, 7, b; c, 3, d; e, 1, f, 4, g; h and 7.
  const std::string gaps = ".-------.........---.....-..----.........-------";
  for (std::size_t i = 0; i < 48; ++i) {
    Bytes spoilt = image;
    spoilt[64 + i] = std::byte{0x40};
    const std::string where = std::to_string(64 + i);
    const auto wanted =
        at("message: the byte at offset " + where + " belongs to nothing and is not zero", 64 + i);
    ASSERT_EQ(error_of<Gaps>(spoilt), gaps[i] == '-' ? std::optional(wanted) : std::nullopt) << i;
    spoilt[6] = std::byte{1};
    ASSERT_EQ(error_of<Gaps>(spoilt), std::nullopt) << i;
  }
}

TEST(RegionCheck, an_enum_of_booleans_is_a_boolean) {
  situ::region<Answers> r;
  r->many.assign(20, Answer::yes);
  for (Bytes image : {Bytes(r.bytes().begin(), r.bytes().end()), r.canonical()}) {
    const auto refused = [&image](std::size_t at, std::uint8_t value) {
      Bytes bad = image;
      bad[at] = std::byte{value};
      const auto adopted = situ::region<Answers>::adopt(bad);
      return adopted ? "accepted" : adopted.error().message();
    };
    // one, two: 64 to 67; many: 68; reply: 84, rounded up to 16: its block follows at 96.
    EXPECT_EQ(refused(64, 1), "accepted");
    EXPECT_EQ(refused(64, 7), "one: 7 is not a boolean; only 0 and 1 are (at offset 64)");
    EXPECT_EQ(refused(66, 2), "two[1]: 2 is not a boolean; only 0 and 1 are (at offset 66)");
    EXPECT_EQ(refused(84, 1), "accepted");
    EXPECT_EQ(refused(84, 5), "reply.discriminator: 5 is not a boolean; only 0 and 1 are (at offset 84)");
    EXPECT_EQ(refused(96, 0), "accepted");
    EXPECT_EQ(refused(113, 255), "many[17]: 255 is not a boolean; only 0 and 1 are (at offset 113)");
  }
}

}  // namespace
