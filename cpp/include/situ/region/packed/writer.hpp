// Writes packed images: blocks one behind the other, in one pass.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <unordered_map>
#include <utility>
#include <vector>

#include "situ/region/detail/later.hpp"
#include "situ/region/packed/place.hpp"

namespace situ::region_detail {

/// Writes to memory of `capacity` bytes. What does not fit is counted and not written.
class packed_writer {
 public:
  /// The first `first` bytes are zero.
  packed_writer(std::byte* image, std::uint64_t capacity, std::uint64_t first) noexcept
      : image_(image), capacity_(capacity) {
    static_cast<void>(room(first, 1));
  }

  /// The current end of the image.
  [[nodiscard]] std::uint64_t end() const noexcept { return end_; }

  void put_bytes(std::uint64_t at, const void* from, std::uint64_t count) noexcept {
    if (count == 0 || count > capacity_ || at > capacity_ - count) return;
    std::memcpy(image_ + at, from, count);
  }
  void put_byte(std::uint64_t at, std::uint8_t byte) noexcept { put_bytes(at, &byte, 1); }
  void put_u32(std::uint64_t at, std::uint32_t word) noexcept { put_bytes(at, &word, sizeof(word)); }

  /// Takes the next `count` bytes from a multiple of `align` on. They are zero.
  std::uint32_t room(std::uint64_t count, std::uint32_t align) noexcept {
    const std::uint64_t place = aligned_to(end_, align);
    const std::uint64_t behind = place + count;
    if (end_ < capacity_) std::memset(image_ + end_, 0, std::min(behind, capacity_) - end_);
    end_ = behind;
    return static_cast<std::uint32_t>(place);
  }
  /// Sets the link at `at` to the next place at a multiple of `align`.
  std::uint32_t link(std::uint32_t at, std::uint32_t align) noexcept {
    const std::uint32_t place = room(0, align);
    put_u32(at, place - at);
    return place;
  }
  /// Places a value of a form, and sets the link at `at` to it.
  template <class Form>
  std::uint32_t value(std::uint32_t at) noexcept {
    const std::uint32_t place = link(at, Form::align);
    static_cast<void>(room(Form::size, 1));
    return place;
  }
  /// Sets the link at `at` to a block that begins with a length.
  void counted(std::uint32_t at, std::uint32_t length) noexcept {
    link(at, 1);
    while (length >= 0x80) {
      put_byte(room(1, 1), static_cast<std::uint8_t>(length | 0x80));
      length >>= 7;
    }
    put_byte(room(1, 1), static_cast<std::uint8_t>(length));
  }

  /// Writes a value with everything that it holds.
  template <class Form, class T>
  void whole(std::uint32_t at, const T& value) {
    Form::put(*this, at, value);
    later_.finish_all();
    for (const auto& [link, target] : weak_) {
      if (const auto known = shared_.find(target); known != shared_.end())
        put_u32(link, known->second == link ? packed_itself : known->second - link);
    }
  }
  /// Writes the target of a link with `visit()`: now, or after everything else.
  template <class Visit>
  void behind(const Visit& visit) {
    later_.run([visit] {
      visit();
      return true;
    });
  }
  /// The place of a shared value, and whether it has no place yet. Then it gets the next one.
  template <class Form>
  [[nodiscard]] std::pair<std::uint32_t, bool> shared(std::uint32_t at, const void* shared_value) {
    const auto [known, is_new] = shared_.try_emplace(shared_value, 0);
    if (is_new) {
      known->second = value<Form>(at);
    } else {
      put_u32(at, known->second - at);
    }
    return {known->second, is_new};
  }

  /// Writes the weak link at `at` to a shared value, when all values have their places.
  void weak(std::uint32_t at, const void* shared_value) { weak_.emplace_back(at, shared_value); }

 private:
  std::byte* image_;
  std::uint64_t capacity_;
  std::uint64_t end_ = 0;
  std::unordered_map<const void*, std::uint32_t> shared_;
  std::vector<std::pair<std::uint32_t, const void*>> weak_;
  walk_visits later_;
};

}  // namespace situ::region_detail
