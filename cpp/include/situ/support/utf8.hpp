// Checks UTF-8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace situ {
namespace detail {

/// The number of bytes of the well-formed sequence at the front of `text`, or 0 if there is none.
constexpr std::size_t utf8_sequence(std::string_view text) noexcept {
  const auto at = [text](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const auto continues = [&at](std::size_t i) { return (at(i) & 0xC0U) == 0x80U; };
  const unsigned first = at(0);
  if (first < 0x80U) return 1;
  if (first < 0xC2U) return 0;
  if (first < 0xE0U) return continues(1) ? 2 : 0;
  if (first < 0xF0U) {
    const unsigned low = first == 0xE0U ? 0xA0U : 0x80U;   // shorter forms exist
    const unsigned high = first == 0xEDU ? 0x9FU : 0xBFU;  // surrogates
    return at(1) >= low && at(1) <= high && continues(2) ? 3 : 0;
  }
  if (first < 0xF5U) {
    const unsigned low = first == 0xF0U ? 0x90U : 0x80U;   // shorter forms exist
    const unsigned high = first == 0xF4U ? 0x8FU : 0xBFU;  // beyond U+10FFFF
    return at(1) >= low && at(1) <= high && continues(2) && continues(3) ? 4 : 0;
  }
  return 0;
}

}  // namespace detail

/// The number of leading bytes that are well-formed UTF-8, up to the size of the text.
inline std::size_t utf8_valid_up_to(std::string_view text) noexcept {
  std::size_t done = 0;
  while (done < text.size()) {
    std::uint64_t eight = 0;
    while (text.size() - done >= sizeof(eight)) {
      std::memcpy(&eight, text.data() + done, sizeof(eight));
      if ((eight & 0x8080'8080'8080'8080U) != 0) break;
      done += sizeof(eight);
    }
    if (done == text.size()) break;
    const std::size_t step = detail::utf8_sequence(text.substr(done, 4));
    if (step == 0) break;
    done += step;
  }
  return done;
}

/// Whether the text is well-formed UTF-8.
inline bool is_utf8(std::string_view text) noexcept { return utf8_valid_up_to(text) == text.size(); }

}  // namespace situ
