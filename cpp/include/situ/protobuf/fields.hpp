// Iterates over the fields of an encoded protobuf message, without copying.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <span>

#include "situ/protobuf/wire.hpp"

namespace situ::protobuf {

/// One field, in the message's bytes.
struct field {
  std::uint32_t number = 0;
  wire_type wire = wire_type::varint;
  /// The value of a varint, fixed32 or fixed64.
  std::uint64_t value = 0;
  /// The content of a string, bytes, message, packed field or group.
  std::span<const std::uint8_t> content;
  /// The whole field, tag included.
  std::span<const std::uint8_t> bytes;
  /// The offsets of its tag and of its value in the message. The length of bytes is part of the value.
  std::uint32_t at = 0, value_at = 0;
};

namespace detail {

/// A position in bytes that are read from front to back. If a function fails, it stores the problem and
/// returns false.
class cursor {
 public:
  constexpr cursor() noexcept = default;
  constexpr explicit cursor(std::span<const std::uint8_t> bytes, std::size_t at = 0) noexcept
      : data_(bytes.data()), size_(bytes.size()), at_(at) {}

  [[nodiscard]] constexpr std::size_t at() const noexcept { return at_; }
  [[nodiscard]] constexpr bool at_end() const noexcept { return at_ >= size_; }
  [[nodiscard]] constexpr read_problem problem() const noexcept { return problem_; }

  SITU_PROTOBUF_INLINE bool varint(std::uint64_t& value) noexcept {
    if (at_ < size_ && data_[at_] < 0x80) [[likely]] {
      value = data_[at_++];
      return true;
    }
    return long_varint(value);
  }

  template <class T>
  SITU_PROTOBUF_INLINE bool fixed(T& value) noexcept {
    if (size_ - at_ < sizeof(T)) return fail(read_problem::truncated);
    std::memcpy(&value, data_ + at_, sizeof(T));
    at_ += sizeof(T);
    return true;
  }

  SITU_PROTOBUF_INLINE bool delimited(std::span<const std::uint8_t>& content) noexcept {
    std::uint64_t length = 0;
    if (!varint(length)) return false;
    if (length > size_ - at_) return fail(read_problem::truncated);
    content = {data_ + at_, static_cast<std::size_t>(length)};
    at_ += content.size();
    return true;
  }

  SITU_PROTOBUF_INLINE bool next(field& it) noexcept {
    it.at = static_cast<std::uint32_t>(at_);
    if (!tag(it.number, it.wire)) return false;
    it.value_at = static_cast<std::uint32_t>(at_);
    std::uint32_t four = 0;
    switch (it.wire) {
      case wire_type::varint:
        if (!varint(it.value)) return false;
        break;
      case wire_type::fixed64:
        if (!fixed(it.value)) return false;
        break;
      case wire_type::bytes:
        if (!delimited(it.content)) return false;
        break;
      case wire_type::group:
        if (!group(it.number, it.content)) return false;
        break;
      case wire_type::group_end:
        return fail(read_problem::unexpected_group_end);
      case wire_type::fixed32:
        if (!fixed(four)) return false;
        it.value = four;
        break;
    }
    it.bytes = {data_ + it.at, at_ - it.at};
    return true;
  }

 private:
  SITU_PROTOBUF_COLD bool fail(read_problem problem) noexcept {
    problem_ = problem;
    return false;
  }

  SITU_PROTOBUF_OUT_OF_LINE bool long_varint(std::uint64_t& value) noexcept {
    const std::size_t left = at_ < size_ ? size_ - at_ : 0;
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < left && i < max_varint; ++i) {
      const std::uint8_t byte = data_[at_ + i];
      // Bits beyond 64 are dropped, as all implementations do.
      sum |= static_cast<std::uint64_t>(byte & 0x7fU) << (7 * i);
      if (byte < 0x80) {
        at_ += i + 1;
        value = sum;
        return true;
      }
    }
    return fail(left < max_varint ? read_problem::truncated : read_problem::long_varint);
  }

  SITU_PROTOBUF_INLINE bool tag(std::uint32_t& number, wire_type& wire) noexcept {
    std::uint64_t whole = 0;
    if (!varint(whole)) return false;
    const std::uint32_t bits = static_cast<std::uint32_t>(whole & 7U);
    if (whole > 0xffffffffU || whole < 8 || bits > 5) return fail(read_problem::invalid_tag);
    number = static_cast<std::uint32_t>(whole >> 3U);
    wire = static_cast<wire_type>(bits);
    return true;
  }

  /// Reads the content of a group, and skips its end.
  SITU_PROTOBUF_COLD bool group(std::uint32_t number, std::span<const std::uint8_t>& content) noexcept {
    const std::size_t begin = at_;
    std::array<std::uint32_t, max_read_levels> open;
    open[0] = number;
    for (std::size_t depth = 1;;) {
      const std::size_t before = at_;
      wire_type wire{};
      if (!tag(number, wire)) return false;
      std::uint64_t value = 0;
      std::uint32_t four = 0;
      std::span<const std::uint8_t> skipped;
      switch (wire) {
        case wire_type::varint:
          if (!varint(value)) return false;
          break;
        case wire_type::fixed64:
          if (!fixed(value)) return false;
          break;
        case wire_type::fixed32:
          if (!fixed(four)) return false;
          break;
        case wire_type::bytes:
          if (!delimited(skipped)) return false;
          break;
        case wire_type::group:
          if (depth == open.size()) return fail(read_problem::too_deep);
          open[depth++] = number;
          break;
        case wire_type::group_end:
          if (open[--depth] != number) return fail(read_problem::unexpected_group_end);
          if (depth == 0) {
            content = {data_ + begin, before - begin};
            return true;
          }
          break;
      }
    }
  }

  const std::uint8_t* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t at_ = 0;
  read_problem problem_ = read_problem::none;
};

/// A single-pass iterator of a range that computes one element at a time: `Range` has `advance()`, which
/// returns false at the end, and `current()`.
template <class Range>
class once {
 public:
  using value_type = typename Range::value_type;
  using difference_type = std::ptrdiff_t;
  using iterator_concept = std::input_iterator_tag;

  once() noexcept = default;
  explicit once(Range& range) noexcept : range_(range.advance() ? &range : nullptr) {}
  value_type operator*() const { return range_->current(); }
  once& operator++() {
    if (!range_->advance()) range_ = nullptr;
    return *this;
  }
  void operator++(int) { ++*this; }
  friend bool operator==(const once& it, std::default_sentinel_t) noexcept { return it.range_ == nullptr; }

 private:
  Range* range_ = nullptr;
};

}  // namespace detail

/// Iterates over the fields of a message, once: `for (const field& it : fields(bytes))`. The iteration ends
/// after an error, which error() returns.
class fields {
 public:
  using value_type = const field&;

  /// The fields of an encoded message, from an offset at which a field begins.
  explicit fields(std::span<const std::uint8_t> bytes, std::size_t from = 0) noexcept
      : cursor_(bytes, from), too_long_(bytes.size() > max_length) {}

  [[nodiscard]] detail::once<fields> begin() noexcept { return detail::once<fields>(*this); }
  [[nodiscard]] std::default_sentinel_t end() const noexcept { return {}; }
  [[nodiscard]] const read_error& error() const noexcept { return error_; }

  /// Advances to the next field; false at the end.
  SITU_PROTOBUF_INLINE bool advance() noexcept {
    if (error_ || cursor_.at_end()) return false;
    const std::size_t at = cursor_.at();
    if (!too_long_ && cursor_.next(field_)) [[likely]] {
      return true;
    }
    error_ = too_long_ ? read_error{read_problem::too_long, 0} : read_error{cursor_.problem(), at};
    return false;
  }
  [[nodiscard]] const field& current() const noexcept { return field_; }

 private:
  detail::cursor cursor_;
  field field_;
  read_error error_;
  bool too_long_;
};

}  // namespace situ::protobuf
