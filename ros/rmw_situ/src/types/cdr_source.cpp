// The bytes of a message in CDR that another process wrote, with checks of everything that is read.
#include "types/cdr_source.hpp"

#include <rmw/error_handling.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace rmw_situ {
namespace {

static_assert(std::endian::native == std::endian::little);

uint32_t load(const std::byte* from, bool is_swapped) {
  uint32_t value;
  std::memcpy(&value, from, sizeof(value));
  return is_swapped ? __builtin_bswap32(value) : value;
}

template <class Number>
void swap_all(std::byte* at, size_t count, Number (*swapped)(Number)) {
  for (size_t i = 0; i < count; i++, at += sizeof(Number)) {
    Number number;
    std::memcpy(&number, at, sizeof(number));
    number = swapped(number);
    std::memcpy(at, &number, sizeof(number));
  }
}

void swap_numbers(std::byte* at, size_t count, size_t width) {
  switch (width) {
    case 2:
      return swap_all<uint16_t>(at, count, [](uint16_t it) -> uint16_t { return __builtin_bswap16(it); });
    case 4:
      return swap_all<uint32_t>(at, count, [](uint32_t it) -> uint32_t { return __builtin_bswap32(it); });
    case 8:
      return swap_all<uint64_t>(at, count, [](uint64_t it) -> uint64_t { return __builtin_bswap64(it); });
    default:
      return;
  }
}

// Calls `visit(first, number)` for all bools in so many elements.
template <class Byte, class Visit>
void for_bools(const Block& block, Byte* elements, size_t count, Visit&& visit) {
  for (const Numbers& numbers : block.numbers) {
    if (!numbers.is_bool) continue;
    // Elements that are nothing but bools follow one another.
    bool is_dense = block.stride == numbers.count;
    size_t groups = is_dense ? 1 : count;
    size_t at_once = is_dense ? numbers.count * count : numbers.count;
    for (size_t i = 0; i < groups; i++) visit(elements + i * block.stride + numbers.offset, at_once);
  }
}

}  // namespace

bool are_bools_valid(const Block& block, const std::byte* elements, size_t count) {
  std::byte seen{0};
  for_bools(block, elements, count, [&seen](const std::byte* at, size_t bools) {
    for (size_t i = 0; i < bools; i++) seen |= at[i];
  });
  return seen <= std::byte{1};
}

void normalize_bools(const Block& block, std::byte* elements, size_t count) {
  for_bools(block, elements, count, [](std::byte* at, size_t bools) {
    for (size_t i = 0; i < bools; i++) at[i] = std::byte{at[i] != std::byte{0}};
  });
}

// What is read only moves forward: bytes that were read are not copied again.
bool CdrSource::fetch(size_t begin, size_t size) {
  if (begin >= fetched_begin_ && begin + size <= fetched_end_) return true;
  // Small copies cost as much as this one.
  constexpr size_t at_once = 4096;
  const size_t count = std::min(std::max(size, at_once), from_.size() - begin);
  if (!device_->read(begin, image_ + begin, count)) return false;
  fetched_begin_ = begin;
  fetched_end_ = begin + count;
  return true;
}

const std::byte* CdrSource::take_on_device(const Op& what, size_t count) {
  constexpr size_t least = 4096;
  const Block& block = what.block;
  if (device_ == nullptr || is_swapped_ || block.has_bools || count > from_.size()) return nullptr;
  const size_t size = (count - 1) * block.stride + block.size;
  const size_t begin = (position_ + block.alignment - 1) & ~(block.alignment - 1);
  const size_t end = payload().size();
  if (size < least || begin > end || size > end - begin) return nullptr;
  const uint64_t address = device_->address() + kEncapsulationSize + begin;
  if (device_->address() == 0 || address % what.alignment != 0) return nullptr;
  position_ = begin + size;
  return reinterpret_cast<const std::byte*>(address);
}

bool CdrSource::open() {
  if (from_.size() < kEncapsulationSize) {
    RMW_SET_ERROR_MSG_WITH_FORMAT_STRING(
        "a message of '%s' cannot be read: it has %zu bytes, and the first 4 should say how it is serialized",
        ros_name_.c_str(), from_.size());
    return false;
  }
  if (device_ != nullptr && !fetch(0, kEncapsulationSize)) return false;
  unsigned kind = std::to_integer<unsigned>(from_[0]) << 8 | std::to_integer<unsigned>(from_[1]);
  if (kind > 1) {
    const char* name = "an unknown encoding";
    if (kind == 2 || kind == 3) name = "a list of parameters of XCDR1";
    if (kind >= 6 && kind <= 11) name = "XCDR2";
    RMW_SET_ERROR_MSG_WITH_FORMAT_STRING(
        "a message of '%s' cannot be read: its encapsulation is 0x%04x, %s; messages of ROS 2 have 0x0000 or "
        "0x0001, XCDR1: change the encoding of the sender",
        ros_name_.c_str(), kind, name);
    return false;
  }
  is_swapped_ = kind == 0;
  return true;
}

const std::byte* CdrSource::take(const Op& what, size_t size, size_t alignment) {
  size_t end = payload().size();
  size_t begin = (position_ + alignment - 1) & ~(alignment - 1);
  if (begin > end || size > end - begin) {
    RMW_SET_ERROR_MSG_WITH_FORMAT_STRING(
        "a message of '%s' cannot be read: it ends at byte %zu, but '%s' needs %zu bytes from byte %zu on: "
        "it is "
        "damaged or has another type",
        ros_name_.c_str(), from_.size(), what.path.c_str(), size, begin + kEncapsulationSize);
    return nullptr;
  }
  if (device_ != nullptr && !fetch(kEncapsulationSize + begin, size)) return nullptr;
  position_ = begin + size;
  return payload().data() + begin;
}

bool CdrSource::take_number(const Op& what, uint32_t& value) {
  const std::byte* at = take(what, sizeof(value), sizeof(value));
  if (at == nullptr) return false;
  value = load(at, is_swapped_);
  return true;
}

bool CdrSource::take_count(const Op& what, size_t& count) {
  uint32_t value;
  if (!take_number(what, value)) return false;
  if (what.length != 0 && value > what.length) {
    RMW_SET_ERROR_MSG_WITH_FORMAT_STRING(
        "a message of '%s' cannot be read: '%s' has %u elements, but its bound is %zu", ros_name_.c_str(),
        what.path.c_str(), value, what.length);
    return false;
  }
  // No memory is allocated for elements that cannot be there.
  size_t least = what.least_size == 0 ? 1 : what.least_size;
  if (value > rest() / least) {
    RMW_SET_ERROR_MSG_WITH_FORMAT_STRING(
        "a message of '%s' cannot be read: '%s' has %u elements, but only %zu bytes follow: it is damaged or "
        "has "
        "another type",
        ros_name_.c_str(), what.path.c_str(), value, rest());
    return false;
  }
  count = value;
  return true;
}

bool CdrSource::take_string(const Op& what, Text& text) {
  uint32_t length;
  if (!take_number(what, length)) return false;
  // Some writers count no zero for an empty string, and others leave out the zero.
  if (length == 0) {
    text = {nullptr, 0, false};
    return true;
  }
  const std::byte* at = take(what, length, 1);
  if (at == nullptr) return false;
  text.data = reinterpret_cast<const char*>(at);
  text.is_terminated = at[length - 1] == std::byte{0};
  text.size = text.is_terminated ? length - 1 : length;
  if (what.string_bound != 0 && text.size > what.string_bound) {
    RMW_SET_ERROR_MSG_WITH_FORMAT_STRING(
        "a message of '%s' cannot be read: the string '%s' has %zu characters, but its bound is %zu",
        ros_name_.c_str(), what.path.c_str(), text.size, what.string_bound);
    return false;
  }
  return true;
}

bool CdrSource::take_wide_string(const Op& what, WideText& text) {
  uint32_t length;
  if (!take_number(what, length)) return false;
  text = {nullptr, 0};
  if (length == 0) return true;
  if (what.string_bound != 0 && length > what.string_bound) {
    RMW_SET_ERROR_MSG_WITH_FORMAT_STRING(
        "a message of '%s' cannot be read: the string '%s' has %u characters, but its bound is %zu",
        ros_name_.c_str(), what.path.c_str(), length, what.string_bound);
    return false;
  }
  const std::byte* at = take(what, size_t{length} * 4, 1);
  if (at == nullptr) return false;
  for (size_t i = 0; i < length; i++) {
    uint32_t unit = load(at + 4 * i, is_swapped_);
    if (unit > UINT16_MAX) {
      RMW_SET_ERROR_MSG_WITH_FORMAT_STRING(
          "a message of '%s' cannot be read: a character of the wide string '%s' is 0x%x, which has more "
          "than 16 "
          "bits",
          ros_name_.c_str(), what.path.c_str(), unit);
      return false;
    }
  }
  text = {at, length};
  return true;
}

void CdrSource::copy_wide(const WideText& text, void* to) const {
  auto* place = static_cast<std::byte*>(to);
  for (size_t i = 0; i < text.size; i++) {
    auto unit = static_cast<uint16_t>(load(text.data + 4 * i, is_swapped_));
    std::memcpy(place + 2 * i, &unit, sizeof(unit));
  }
}

bool CdrSource::check_bools(const Op& what, const std::byte* elements, size_t count) const {
  if (!what.block.has_bools || are_bools_valid(what.block, elements, count)) return true;
  RMW_SET_ERROR_MSG_WITH_FORMAT_STRING(
      "a message of '%s' cannot be read: a bool in or behind '%s' is neither 0 nor 1: it is damaged or has "
      "another type",
      ros_name_.c_str(), what.path.c_str());
  return false;
}

void CdrSource::swap_block(const Block& block, std::byte* elements, size_t count) const {
  if (!is_swapped_) return;
  for (const Numbers& numbers : block.numbers) {
    if (block.stride == numbers.count * numbers.width) {
      swap_numbers(elements, numbers.count * count, numbers.width);
      continue;
    }
    for (size_t i = 0; i < count; i++) {
      swap_numbers(elements + i * block.stride + numbers.offset, numbers.count, numbers.width);
    }
  }
}

}  // namespace rmw_situ
