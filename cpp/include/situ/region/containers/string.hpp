// region_string: text within a region. Up to 11 bytes lie in the string itself.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>

#include "situ/region/detail/swap.hpp"
#include "situ/support/iteration.hpp"
#include "situ/support/text_search.hpp"
#include "situ/support/utf8.hpp"

namespace situ {

/// UTF-8 text in the region that contains the string. It reads like a std::string_view and changes like a
/// std::string. There is no terminating zero. Positions are in bytes: text that is cut within a character is
/// not UTF-8, and readers refuse it. Operations that need memory throw `region_error` if there is none; the
/// `try_` forms return false, and the string is unchanged. Text to store may be part of the string.
class region_string : public detail::text_search<region_string, char>,
                      public detail::iteration<region_string> {
 public:
  using value_type = char;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;
  using reference = char&;
  using const_reference = const char&;
  using const_iterator = const char*;
  using iterator = char*;
  using reverse_iterator = std::reverse_iterator<iterator>;
  using const_reverse_iterator = std::reverse_iterator<const_iterator>;
  using situ_region_container = region_string;
  using situ_argument = std::string_view;

  /// The maximum length without a block. Longer text has a block of its own.
  static constexpr size_type inline_capacity = 11;

  region_string() noexcept = default;
  region_string(const region_string&) = delete;
  /// Returns the text if it has up to 11 bytes, otherwise an empty string: for a value that is moved into a
  /// region next.
  [[nodiscard]] static region_string situ_short(std::string_view text) noexcept {
    return region_string(text);
  }
  region_string& operator=(const region_string& other) {
    assign(other.view());
    return *this;
  }
  region_string& operator=(std::string_view text) {
    assign(text);
    return *this;
  }
  region_string& operator=(char c) { return *this = std::string_view(&c, 1); }
  region_string& operator=(std::initializer_list<char> text) {
    return *this = std::string_view(text.begin(), text.size());
  }
  region_string& operator=(std::nullptr_t) = delete;

  [[nodiscard]] size_type size() const noexcept { return is_short() ? tag() & 0x0FU : u_.far.len; }
  [[nodiscard]] size_type length() const noexcept { return size(); }
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }
  [[nodiscard]] size_type capacity() const noexcept {
    return is_short() || u_.far.cap == 0 ? inline_capacity : u_.far.cap;
  }
  [[nodiscard]] char* data() noexcept { return const_cast<char*>(std::as_const(*this).data()); }
  [[nodiscard]] const char* data() const noexcept {
    if (is_short() || u_.far.data == 0) return u_.chars;
    return reinterpret_cast<const char*>(region_detail::bytes_of(this) + u_.far.data);
  }
  [[nodiscard]] std::string_view view() const noexcept { return {data(), size()}; }
  operator std::string_view() const noexcept { return view(); }
  /// A copy. There is no `c_str`, because the text has no terminating zero: use `str().c_str()`.
  operator std::string() const { return str(); }
  [[nodiscard]] std::string str() const { return std::string(view()); }
  [[nodiscard]] iterator begin() noexcept { return data(); }
  [[nodiscard]] iterator end() noexcept { return data() + size(); }
  [[nodiscard]] const_iterator begin() const noexcept { return data(); }
  [[nodiscard]] const_iterator end() const noexcept { return data() + size(); }
  [[nodiscard]] char& operator[](size_type index) noexcept { return data()[index]; }
  [[nodiscard]] const char& operator[](size_type index) const noexcept { return data()[index]; }
  [[nodiscard]] char& at(size_type index) {
    if (index >= size()) detail::raise_out_of_range("region_string::at: no such character");
    return data()[index];
  }
  [[nodiscard]] const char& at(size_type index) const { return const_cast<region_string*>(this)->at(index); }
  /// Returns the character, or null.
  [[nodiscard]] char* try_at(size_type index) noexcept { return index < size() ? data() + index : nullptr; }
  [[nodiscard]] const char* try_at(size_type index) const noexcept {
    return const_cast<region_string*>(this)->try_at(index);
  }
  [[nodiscard]] char& front() noexcept { return *data(); }
  [[nodiscard]] const char& front() const noexcept { return *data(); }
  [[nodiscard]] char& back() noexcept { return data()[size() - 1]; }
  [[nodiscard]] const char& back() const noexcept { return data()[size() - 1]; }

  /// Returns a view of part of the text in place. `from` is at most the size.
  [[nodiscard]] std::string_view substr(size_type from = 0, size_type count = npos) const {
    check_position(from);
    return {data() + from, std::min(count, size() - from)};
  }
  /// The same. Returns nothing if the string is shorter than `from`.
  [[nodiscard]] std::optional<std::string_view> try_substr(size_type from, size_type count = npos) const {
    if (from > size()) return std::nullopt;
    return substr(from, count);
  }

  /// Becomes a copy of the text, which may be part of this string. Returns false and changes nothing if there
  /// is no room.
  [[nodiscard]] bool try_assign(std::string_view text) {
    if (region_ == 0) return text.empty();
    if (text.size() > region_detail::max_size) return region_detail::refuse_size(region());
    if (text.size() <= capacity()) {
      const bool here = is_here();
      const size_type before = size();
      if (!text.empty()) std::memmove(characters(), text.data(), text.size());
      set_size(here, before, text.size());
      return true;
    }
    return replace_block(text, {}, text.size());
  }
  void assign(std::string_view text) {
    if (!try_assign(text)) region_detail::in_larger(region(), [&] { return this->try_assign(text); });
  }
  /// Becomes `count` copies of one character. Returns false and changes nothing if there is no room.
  [[nodiscard]] bool try_assign(size_type count, char c) {
    if (region_ == 0) return count == 0;
    if (count > region_detail::max_size) return region_detail::refuse_size(region());
    if (count > capacity() && !replace_by_less({}, {}, {}, count)) return false;
    const bool here = is_here();
    const size_type before = size();
    if (count != 0) std::memset(characters(), c, count);
    set_size(here, before, count);
    return true;
  }
  void assign(size_type count, char c) {
    if (!try_assign(count, c)) region_detail::in_larger(region(), [&] { return this->try_assign(count, c); });
  }
  [[nodiscard]] bool try_append(std::string_view text) {
    if (text.empty()) return true;
    if (region_ == 0) return false;
    if (text.size() > region_detail::max_size - size()) return region_detail::refuse_size(region());
    const size_type count = size() + text.size();
    if (count <= capacity()) {
      const bool here = is_here();
      const size_type before = size();
      std::memmove(characters() + before, text.data(), text.size());
      set_size(here, before, count);
      return true;
    }
    return replace_block(view(), text, region_detail::next_capacity(region(), size(), count, 1)) ||
           replace_by_less(view(), text, {}, count);
  }
  region_string& append(std::string_view text) {
    if (try_append(text)) return *this;
    return *region_detail::in_larger(region(), [&] { return this->try_append(text) ? this : nullptr; });
  }
  [[nodiscard]] bool try_append(size_type count, char c) {
    if (count > region_detail::max_size - size()) return region_detail::refuse_size(region());
    return try_resize(size() + count, c);
  }
  region_string& append(size_type count, char c) {
    if (try_append(count, c)) return *this;
    return *region_detail::in_larger(region(), [&] { return this->try_append(count, c) ? this : nullptr; });
  }
  region_string& operator+=(std::string_view text) { return append(text); }
  region_string& operator+=(char c) { return append({&c, 1}); }
  [[nodiscard]] bool try_push_back(char c) { return try_append({&c, 1}); }
  void push_back(char c) { append({&c, 1}); }
  void pop_back() noexcept { set_size(is_here(), size(), size() - 1); }

  /// Replaces `count` bytes, or all following bytes if they are fewer, from `from` on. Returns false and
  /// changes nothing if there is no room, or if the string is shorter than `from`.
  [[nodiscard]] bool try_replace(size_type from, size_type count, std::string_view text) {
    const size_type before = size();
    if (from > before) return false;
    count = std::min(count, before - from);
    if (text.size() > count && region_ == 0) return false;
    if (text.size() > region_detail::max_size - (before - count)) return region_detail::refuse_size(region());
    const std::string_view behind = view().substr(from + count);
    const size_type after = before - count + text.size();
    if (after > capacity()) return replace_by_less(view().substr(0, from), text, behind, after);
    const bool here = is_here();
    char kept[inline_capacity];
    if (!text.empty() && is_part(text)) {
      // The move below would overwrite the text.
      if (text.size() > inline_capacity)
        return replace_block(view().substr(0, from), text, capacity(), behind);
      std::memcpy(kept, text.data(), text.size());
      text = {kept, text.size()};
    }
    char* const at = characters() + from;
    std::memmove(at + text.size(), behind.data(), behind.size());
    if (!text.empty()) std::memcpy(at, text.data(), text.size());
    set_size(here, before, after);
    return true;
  }
  region_string& replace(size_type from, size_type count, std::string_view text) {
    check_position(from);
    if (try_replace(from, count, text)) return *this;
    return *region_detail::in_larger(region(),
                                     [&] { return this->try_replace(from, count, text) ? this : nullptr; });
  }
  /// Inserts text before a position; see `try_replace`.
  [[nodiscard]] bool try_insert(size_type at, std::string_view text) { return try_replace(at, 0, text); }
  region_string& insert(size_type at, std::string_view text) { return replace(at, 0, text); }
  /// Needs no memory. Returns false only if the string is shorter than `from`.
  [[nodiscard]] bool try_erase(size_type from, size_type count = npos) {
    return try_replace(from, count, {});
  }
  region_string& erase(size_type from = 0, size_type count = npos) { return replace(from, count, {}); }
  /// Cuts the text, or appends copies of a character.
  [[nodiscard]] bool try_resize(size_type count, char c = '\0') {
    const size_type before = size();
    if (count > before) {
      if (region_ == 0) return false;
      if (count > region_detail::max_size) return region_detail::refuse_size(region());
      if (count > capacity() && !replace_by_less(view(), {}, {}, count)) return false;
      const bool here = is_here();
      std::memset(characters() + before, c, count - before);
      set_size(here, before, count);
    } else {
      set_size(is_here(), before, count);
    }
    return true;
  }
  void resize(size_type count, char c = '\0') {
    if (!try_resize(count, c)) region_detail::in_larger(region(), [&] { return this->try_resize(count, c); });
  }
  void clear() noexcept { set_size(is_here(), size(), 0); }
  [[nodiscard]] bool try_reserve(size_type count) {
    return count <= capacity() || (region_ != 0 && replace_block(view(), {}, count));
  }
  void reserve(size_type count) {
    if (!try_reserve(count)) region_detail::in_larger(region(), [&] { return this->try_reserve(count); });
  }
  /// Gives unused memory back to the region.
  void shrink_to_fit() noexcept {
    if (is_short() || u_.far.data == 0) return;
    const size_type count = u_.far.len;
    char* const block = characters();
    if (count > inline_capacity) {
      region_detail::shorten(region(), block, u_.far.cap, count);
      u_.far.cap = static_cast<std::uint32_t>(count);
      return;
    }
    const std::uint32_t bytes = u_.far.cap;
    char kept[inline_capacity] = {};
    std::memcpy(kept, block, count);
    region_detail::deallocate(region(), block, bytes);
    u_ = {};
    std::memcpy(u_.chars, kept, count);
    if (count != 0) set_tag(count);
  }

  /// Exchanges two strings of one region, as `situ::swap` does.
  void swap(region_string& other);

  friend bool operator==(const region_string& a, const region_string& b) noexcept {
    return a.view() == b.view();
  }
  friend bool operator==(const region_string& a, std::string_view b) noexcept { return a.view() == b; }
  friend bool operator==(const region_string& a, const char* b) noexcept { return a.view() == b; }
  friend std::strong_ordering operator<=>(const region_string& a, const region_string& b) noexcept {
    return a.view() <=> b.view();
  }
  friend std::strong_ordering operator<=>(const region_string& a, std::string_view b) noexcept {
    return a.view() <=> b;
  }
  friend std::ostream& operator<<(std::ostream& out, const region_string& text) { return out << text.view(); }
  [[nodiscard]] friend std::string operator+(const region_string& a, const region_string& b) {
    return a.str().append(b.view());
  }
  [[nodiscard]] friend std::string operator+(const region_string& a, std::string_view b) {
    return a.str().append(b);
  }
  [[nodiscard]] friend std::string operator+(std::string_view a, const region_string& b) {
    return std::string(a).append(b.view());
  }

  // The interface for walks over a region.
  static consteval bool has_links() { return true; }
  void situ_attach(region_detail::header* h) noexcept { region_ = region_detail::link_from(this, h); }
  void situ_moved(std::int32_t distance) noexcept {
    if (!is_short() && u_.far.data != 0) u_.far.data += distance;
    region_ += distance;
  }
  template <class Walk>
  void situ_compact(Walk& walk) noexcept {
    if (walk.trims()) shrink_to_fit();
    walk.back_link(this, region_);
    if (!is_short() && u_.far.data != 0) static_cast<void>(walk.link(u_.far.data));
  }
  void situ_release() noexcept {
    if (!is_short() && u_.far.data != 0) region_detail::deallocate(region(), characters(), u_.far.cap);
    u_ = {};
  }
  [[nodiscard]] region_detail::header* situ_region() noexcept { return region(); }
  [[nodiscard]] bool situ_store(std::string_view text) { return try_assign(text); }
  template <class Writer>
  void situ_write(Writer& writer, std::uint32_t at) const {
    const std::string_view text = view();
    if (text.size() > inline_capacity) {
      const auto count = static_cast<std::uint32_t>(text.size());
      writer.put_container(at, count, count);
      writer.put_bytes(writer.place(at, count), text.data(), text.size());
      return;
    }
    writer.put_container(at, 0, 0);
    writer.put_bytes(at, text.data(), text.size());
    if (!text.empty()) writer.put_byte(at + inline_capacity, static_cast<std::uint8_t>(0x80U | text.size()));
  }
  template <class Check>
  [[nodiscard, gnu::always_inline]] bool situ_check(Check& check, std::uint32_t at) const {
    const region_detail::halves all = region_detail::load_halves(this);
    if (!check.back_link(at, static_cast<std::int32_t>(all.high >> 32U))) return false;
    const auto tag = static_cast<std::uint32_t>(all.high >> 24U & 0xFFU);
    // The checks up to the next `return true` accept nearly all strings.
    if ((tag & 0x80U) == 0) return check_far(check, at, all);
    const std::uint32_t count = tag & 0x7FU;
    if (count - 1 < inline_capacity &&
        region_detail::is_ascii_then_zero({all.low, all.high & 0xFF'FFFFU}, count))
      return true;
    return check_short(check, at, count);
  }

  static std::string situ_kind() { return "string"; }
  template <class Lines>
  static void situ_lines(Lines& /*lines*/, const std::string& /*path*/) {}
  template <class Visit>
  static constexpr void situ_needs(Visit& /*visit*/) {}

 private:
  struct far_text {
    std::int32_t data;
    std::uint32_t len;
    std::uint32_t cap;
  };
  union storage_union {
    far_text far;
    char chars[12];
  };

  /// The last byte of the capacity. Its highest bit, which no capacity has, means that the characters lie in
  /// the string itself.
  [[nodiscard]] unsigned tag() const noexcept {
    return static_cast<unsigned char>(u_.chars[inline_capacity]);
  }
  [[nodiscard]] bool is_short() const noexcept { return (tag() & 0x80U) != 0; }
  void set_tag(size_type count) noexcept { u_.chars[inline_capacity] = static_cast<char>(0x80U | count); }
  [[nodiscard]] region_detail::header* region() noexcept { return region_detail::header_at(this, region_); }
  [[nodiscard]] char* characters() noexcept { return const_cast<char*>(data()); }
  template <class Check>
  [[nodiscard, gnu::noinline]] bool check_short(Check& check, std::uint32_t at, std::uint32_t count) const {
    if (count > inline_capacity) return check.fail(region_problem::too_long, at, count, inline_capacity);
    if (Check::canonical && count == 0) return check.fail(region_problem::not_trimmed, at, 0x80, 0);
    return check.zero(at + count, at + inline_capacity) && check_utf8(check, at, u_.chars, count);
  }
  template <class Check>
  [[nodiscard, gnu::noinline]] bool check_far(Check& check, std::uint32_t at,
                                              region_detail::halves all) const {
    if constexpr (Check::canonical) {
      const auto len = static_cast<std::uint32_t>(all.low >> 32U);
      if (len == static_cast<std::uint32_t>(all.high) && len > inline_capacity &&
          check.is_next(at, static_cast<std::int32_t>(all.low), len) &&
          is_ascii_block(check.at(check.cursor()), len)) {
        check.take_next(len);
        return true;
      }
    }
    return check_block(check, at);
  }
  template <class Check>
  [[nodiscard, gnu::noinline]] bool check_block(Check& check, std::uint32_t at) const {
    const auto [data, len, cap] = u_.far;
    if (!check.fits(at, len, cap, Check::canonical ? len : cap)) return false;
    if (cap == 0) {
      return data == 0 ||
             check.outside(at, std::uint64_t{at} + static_cast<std::uint64_t>(std::int64_t{data}));
    }
    if (Check::canonical && len <= inline_capacity)
      return check.fail(region_problem::not_trimmed, at, cap, 0);
    std::uint32_t block = 0;
    if (!check.claim(at, data, cap, len, block)) return false;
    const std::byte* const text = check.at(block);
    if (is_ascii_block(text, len)) return true;
    return check_utf8(check, at, reinterpret_cast<const char*>(text), len);
  }
  /// Whether a block begins with `len` bytes of ASCII, and the rest of the last granule is zero.
  [[nodiscard, gnu::always_inline]] static bool is_ascii_block(const std::byte* text,
                                                               std::uint32_t len) noexcept {
    if (len == 0) return true;
    std::uint64_t any = 0;
    for (; len > region_detail::granule; len -= region_detail::granule, text += region_detail::granule) {
      const region_detail::halves all = region_detail::load_halves(text);
      any |= all.low | all.high;
    }
    return (any & region_detail::highest_bits) == 0 &&
           region_detail::is_ascii_then_zero(region_detail::load_halves(text), len);
  }
  template <class Check>
  [[nodiscard, gnu::noinline]] static bool check_utf8(Check& check, std::uint32_t at, const char* text,
                                                      std::uint32_t count) {
    const size_type good = utf8_valid_up_to({text, count});
    return good == count || check.fail(region_problem::not_utf8, at, good);
  }
  /// Whether the characters lie in the string itself. Call this before writing characters, because they
  /// overlap the link.
  [[nodiscard]] bool is_here() const noexcept { return is_short() || u_.far.data == 0; }
  /// Sets the size after the characters are written to the place that `here` indicates. Characters that are
  /// no longer used become zero.
  void set_size(bool here, size_type before, size_type count) noexcept {
    if (!here) {
      if (count < before) std::memset(characters() + count, 0, before - count);
      u_.far.len = static_cast<std::uint32_t>(count);
      return;
    }
    if (count < before) std::memset(u_.chars + count, 0, before - count);
    if (count == 0) {
      u_ = {};
    } else {
      set_tag(count);
    }
  }
  void check_position(size_type at) const {
    if (at > size()) detail::raise_out_of_range("region_string: the position lies beyond the end");
  }
  /// Whether text is part of this string.
  [[nodiscard]] bool is_part(std::string_view text) const noexcept {
    return !std::less<>()(text.data(), data()) && std::less<>()(text.data(), data() + size());
  }
  /// Allocates a new block for three texts and for `needed` bytes: as large as the growth policy requires, or
  /// smaller if there is no room for that.
  [[nodiscard, gnu::noinline]] bool replace_by_less(std::string_view first, std::string_view second,
                                                    std::string_view third, size_type needed) {
    return region_detail::with_room(region(), size(), needed, 1, [&](std::uint64_t capacity) {
      return replace_block(first, second, capacity, third);
    });
  }
  /// Allocates a new block for texts that may be part of the old one.
  [[nodiscard]] bool replace_block(std::string_view first, std::string_view second, std::uint64_t capacity,
                                   std::string_view third = {}) {
    if (capacity > region_detail::max_size) return region_detail::refuse_size(region());
    capacity = region_detail::in_granules(capacity);
    const size_type count = first.size() + second.size() + third.size();
    auto* block = static_cast<char*>(region_detail::allocate(region(), capacity, count));
    if (block == nullptr) return false;
    if (!first.empty()) std::memcpy(block, first.data(), first.size());
    if (!second.empty()) std::memcpy(block + first.size(), second.data(), second.size());
    if (!third.empty()) std::memcpy(block + count - third.size(), third.data(), third.size());
    situ_release();
    u_.far.data = region_detail::link_from(this, block);
    u_.far.len = static_cast<std::uint32_t>(count);
    u_.far.cap = static_cast<std::uint32_t>(capacity);
    return true;
  }

  explicit region_string(std::string_view text) noexcept {
    if (text.empty() || text.size() > inline_capacity) return;
    std::memcpy(u_.chars, text.data(), text.size());
    set_tag(text.size());
  }

  storage_union u_{};
  std::int32_t region_ = 0;
};
static_assert(sizeof(region_string) == 16 && alignof(region_string) == 4);

/// Hashes text, and strings of regions as text: for tables of the standard library in which text of any kind
/// is looked up without a copy, `std::unordered_map<std::string, int, situ::text_hash, situ::text_equal>`.
/// The keys may also be `std::reference_wrapper<const region_string>`.
struct text_hash {
  using is_transparent = void;
  [[nodiscard]] std::size_t operator()(std::string_view text) const noexcept {
    return std::hash<std::string_view>()(text);
  }
  [[nodiscard]] std::size_t operator()(const region_string& text) const noexcept {
    return (*this)(text.view());
  }
};
/// Whether two texts are equal, each as `text_hash` takes them.
struct text_equal {
  using is_transparent = void;
  template <class A, class B>
  [[nodiscard]] bool operator()(const A& a, const B& b) const noexcept {
    return of(a) == of(b);
  }

 private:
  static std::string_view of(std::string_view text) noexcept { return text; }
  static std::string_view of(const region_string& text) noexcept { return text.view(); }
};

// Defined here, where region_string is complete.
inline void region_string::swap(region_string& other) { situ::swap(*this, other); }

}  // namespace situ

/// Equal to the hash of the text as a `std::string_view`.
template <>
struct std::hash<situ::region_string> {
  std::size_t operator()(const situ::region_string& text) const noexcept {
    return std::hash<std::string_view>()(text.view());
  }
};
