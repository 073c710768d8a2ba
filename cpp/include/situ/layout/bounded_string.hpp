// bounded_string<N, Alloc> and bounded_wstring<N, Alloc>: std::string and std::u16string with a bound.
#pragma once

#include <algorithm>
#include <compare>
#include <concepts>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <istream>
#include <iterator>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "situ/layout/storage.hpp"
#include "situ/support/iteration.hpp"
#include "situ/support/text_search.hpp"

namespace situ {
namespace detail {

/// Any type that converts to a text view: another string, a view, a literal; but not a null pointer constant.
template <class S, class Char>
concept text_like =
    std::convertible_to<const S&, std::basic_string_view<Char>> && !std::same_as<S, std::nullptr_t>;

}  // namespace detail

/// Text of at most N code units, plus a terminating zero, with the interface of std::basic_string. With
/// `inline_allocator` its bytes are `{u32 length; Char[N + 1]}`, and the bytes after the terminating zero are
/// never touched. Exceeding N throws `bound_error`; the `try_` forms return false instead and change nothing.
template <class Char, std::size_t N, class Alloc = std::allocator<Char>>
class basic_bounded_string : public detail::text_search<basic_bounded_string<Char, N, Alloc>, Char>,
                             public detail::iteration<basic_bounded_string<Char, N, Alloc>> {
  static_assert(N < 0xFFFF'FFFFU, "a bound lies below 2^32 - 1; an unbounded string is a std::basic_string");
  using storage_type = storage<N + 1, Char, Alloc>;
  friend struct detail::access;

 public:
  using traits_type = std::char_traits<Char>;
  using value_type = Char;
  using allocator_type = typename storage_type::allocator_type;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;
  using reference = Char&;
  using const_reference = const Char&;
  using pointer = Char*;
  using const_pointer = const Char*;
  using iterator = Char*;
  using const_iterator = const Char*;
  using reverse_iterator = std::reverse_iterator<iterator>;
  using const_reverse_iterator = std::reverse_iterator<const_iterator>;
  using view_type = std::basic_string_view<Char>;

  using detail::text_search<basic_bounded_string, Char>::npos;
  /// The largest number of code units.
  static constexpr size_type bound = N;
  /// Whether the text lies inside the string itself.
  static constexpr bool is_inline = storage_type::is_inline;

  basic_bounded_string() noexcept(noexcept(storage_type())) { start(); }
  explicit basic_bounded_string(const allocator_type& allocator) : storage_(allocator) { start(); }
  basic_bounded_string(size_type count, Char unit, const allocator_type& allocator = {})
      : storage_(allocator) {
    start();
    assign(count, unit);
  }
  basic_bounded_string(const Char* text, size_type count, const allocator_type& allocator = {})
      : storage_(allocator) {
    start();
    assign(view_type(text, count));
  }
  basic_bounded_string(const Char* text, const allocator_type& allocator = {}) : storage_(allocator) {
    start();
    assign(view_type(text));
  }
  template <detail::text_like<Char> S>
  requires(!std::convertible_to<const S&, const Char*>) &&
      (!std::derived_from<S, basic_bounded_string>)basic_bounded_string(const S& text,
                                                                        const allocator_type& allocator = {})
      : storage_(allocator) {
    start();
    assign(view_type(text));
  }
  template <detail::text_like<Char> S>
  basic_bounded_string(const S& text, size_type position, size_type count,
                       const allocator_type& allocator = {})
      : storage_(allocator) {
    start();
    assign(checked_substr(view_type(text), position, count));
  }
  template <std::input_iterator It>
  basic_bounded_string(It first, It last, const allocator_type& allocator = {}) : storage_(allocator) {
    start();
    assign(first, last);
  }
  basic_bounded_string(std::initializer_list<Char> units, const allocator_type& allocator = {})
      : storage_(allocator) {
    start();
    assign(units);
  }
  basic_bounded_string(std::nullptr_t) = delete;
  basic_bounded_string(const basic_bounded_string& other) : storage_(other.storage_.allocator_for_copy()) {
    start();
    assign(other.view());
  }
  basic_bounded_string(const basic_bounded_string& other, size_type position, size_type count = npos,
                       const allocator_type& allocator = {})
      : storage_(allocator) {
    start();
    assign(checked_substr(other.view(), position, count));
  }
  basic_bounded_string(basic_bounded_string&& other) noexcept
      : size_(static_cast<std::uint32_t>(other.size())), storage_(std::move(other.storage_), other.units()) {
    other.start();
  }
  ~basic_bounded_string() = default;

  basic_bounded_string& operator=(const basic_bounded_string& other) {
    if (this != &other) {
      size_type used = 0;
      storage_.adopt_allocator(other.storage_, used);
      if (storage_.capacity() == 0) size_ = 0;
      assign(other.view());
    }
    return *this;
  }
  basic_bounded_string& operator=(basic_bounded_string&& other) noexcept {
    if (this == &other) return *this;
    const size_type count = other.size();
    if (storage_.take(std::move(other.storage_), units(), other.units())) {
      size_ = static_cast<std::uint32_t>(count);
    } else {
      assign(other.view());
    }
    other.start();
    return *this;
  }
  template <detail::text_like<Char> S>
  requires(!std::derived_from<S, basic_bounded_string>) basic_bounded_string& operator=(const S& text) {
    return assign(view_type(text));
  }
  basic_bounded_string& operator=(Char unit) { return assign(1, unit); }
  basic_bounded_string& operator=(std::initializer_list<Char> units) { return assign(units); }
  basic_bounded_string& operator=(std::nullptr_t) = delete;

  basic_bounded_string& assign(view_type text) { return replace_units(0, size(), text.data(), text.size()); }
  basic_bounded_string& assign(const Char* text, size_type count) { return assign(view_type(text, count)); }
  basic_bounded_string& assign(size_type count, Char unit) {
    clear();
    return append(count, unit);
  }
  template <detail::text_like<Char> S>
  basic_bounded_string& assign(const S& text, size_type position, size_type count = npos) {
    return assign(checked_substr(view_type(text), position, count));
  }
  template <std::input_iterator It>
  basic_bounded_string& assign(It first, It last) {
    if constexpr (std::contiguous_iterator<It> && std::same_as<std::iter_value_t<It>, Char>) {
      return assign(view_type(std::to_address(first), static_cast<size_type>(last - first)));
    } else {
      clear();
      for (; first != last; ++first) push_back(*first);
      return *this;
    }
  }
  basic_bounded_string& assign(std::initializer_list<Char> units) {
    return assign(view_type(units.begin(), units.size()));
  }
  [[nodiscard]] bool try_assign(view_type text) {
    if (text.size() > N) return false;
    assign(text);
    return true;
  }

  [[nodiscard]] allocator_type get_allocator() const noexcept { return storage_.allocator(); }

  [[nodiscard]] view_type view() const noexcept { return view_type(data(), size()); }
  operator view_type() const noexcept { return view(); }
  /// A copy as a standard string.
  [[nodiscard]] std::basic_string<Char> str() const { return std::basic_string<Char>(view()); }
  explicit operator std::basic_string<Char>() const { return str(); }

  [[nodiscard]] reference operator[](size_type index) noexcept { return data()[index]; }
  [[nodiscard]] const_reference operator[](size_type index) const noexcept { return data()[index]; }
  [[nodiscard]] reference at(size_type index) {
    if (index >= size()) detail::raise_out_of_range("situ::bounded_string::at: no such element");
    return data()[index];
  }
  [[nodiscard]] const_reference at(size_type index) const {
    if (index >= size()) detail::raise_out_of_range("situ::bounded_string::at: no such element");
    return data()[index];
  }
  [[nodiscard]] reference front() noexcept { return data()[0]; }
  [[nodiscard]] const_reference front() const noexcept { return data()[0]; }
  [[nodiscard]] reference back() noexcept { return data()[size() - 1]; }
  [[nodiscard]] const_reference back() const noexcept { return data()[size() - 1]; }
  [[nodiscard]] const Char* c_str() const noexcept { return data(); }
  [[nodiscard]] const Char* data() const noexcept {
    if constexpr (is_inline) {
      return storage_.data();
    } else {
      return storage_.data() != nullptr ? storage_.data() : empty_text();
    }
  }
  [[nodiscard]] Char* data() noexcept {
    if constexpr (is_inline) {
      return storage_.data();
    } else {
      // In an empty string without memory, only the terminating zero may be written, and only with zero.
      return storage_.data() != nullptr ? storage_.data() : empty_text();
    }
  }

  [[nodiscard]] iterator begin() noexcept { return data(); }
  [[nodiscard]] const_iterator begin() const noexcept { return data(); }
  [[nodiscard]] iterator end() noexcept { return data() + size(); }
  [[nodiscard]] const_iterator end() const noexcept { return data() + size(); }

  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] size_type size() const noexcept { return detail::stored_count<N, Alloc>(size_); }
  [[nodiscard]] size_type length() const noexcept { return size(); }
  [[nodiscard]] static constexpr size_type max_size() noexcept { return N; }
  [[nodiscard]] size_type capacity() const noexcept {
    return storage_.capacity() == 0 ? 0 : storage_.capacity() - 1;
  }
  void reserve(size_type count = 0) {
    if (count > N) detail::raise_bound(this, N, count);
    make_room(count);
  }
  void shrink_to_fit() { storage_.shrink(size() == 0 ? 0 : units()); }
  void clear() noexcept { set_size(0); }

  void push_back(Char unit) {
    if (size() == N) detail::raise_bound(this, N, N + 1);
    make_room(size() + 1);
    storage_[size()] = unit;
    set_size(size() + 1);
  }
  void pop_back() noexcept { set_size(size() - 1); }
  [[nodiscard]] bool try_push_back(Char unit) {
    if (size() == N) return false;
    push_back(unit);
    return true;
  }
  [[nodiscard]] bool try_append(view_type text) {
    if (text.size() > N - size()) return false;
    append(text);
    return true;
  }

  basic_bounded_string& append(view_type text) { return replace_units(size(), 0, text.data(), text.size()); }
  basic_bounded_string& append(const Char* text, size_type count) { return append(view_type(text, count)); }
  basic_bounded_string& append(size_type count, Char unit) { return replace_with(size(), 0, count, unit); }
  template <detail::text_like<Char> S>
  basic_bounded_string& append(const S& text, size_type position, size_type count = npos) {
    return append(checked_substr(view_type(text), position, count));
  }
  template <std::input_iterator It>
  basic_bounded_string& append(It first, It last) {
    const std::basic_string<Char> units(first, last);
    return append(view_type(units));
  }
  basic_bounded_string& append(std::initializer_list<Char> units) {
    return append(view_type(units.begin(), units.size()));
  }
  basic_bounded_string& operator+=(view_type text) { return append(text); }
  basic_bounded_string& operator+=(Char unit) {
    push_back(unit);
    return *this;
  }
  basic_bounded_string& operator+=(std::initializer_list<Char> units) { return append(units); }

  basic_bounded_string& insert(size_type position, view_type text) {
    check_position(position);
    return replace_units(position, 0, text.data(), text.size());
  }
  basic_bounded_string& insert(size_type position, const Char* text, size_type count) {
    return insert(position, view_type(text, count));
  }
  basic_bounded_string& insert(size_type position, size_type count, Char unit) {
    check_position(position);
    return replace_with(position, 0, count, unit);
  }
  iterator insert(const_iterator position, Char unit) { return insert(position, 1, unit); }
  iterator insert(const_iterator position, size_type count, Char unit) {
    const size_type index = index_of(position);
    replace_with(index, 0, count, unit);
    return begin() + index;
  }
  template <std::input_iterator It>
  iterator insert(const_iterator position, It first, It last) {
    const size_type index = index_of(position);
    const std::basic_string<Char> units(first, last);
    replace_units(index, 0, units.data(), units.size());
    return begin() + index;
  }
  iterator insert(const_iterator position, std::initializer_list<Char> units) {
    return insert(position, units.begin(), units.end());
  }

  basic_bounded_string& erase(size_type position = 0, size_type count = npos) {
    check_position(position);
    return replace_units(position, std::min(count, size() - position), nullptr, 0);
  }
  iterator erase(const_iterator position) { return erase(position, position + 1); }
  iterator erase(const_iterator first, const_iterator last) {
    const size_type index = index_of(first);
    replace_units(index, static_cast<size_type>(last - first), nullptr, 0);
    return begin() + index;
  }

  basic_bounded_string& replace(size_type position, size_type count, view_type text) {
    check_position(position);
    return replace_units(position, std::min(count, size() - position), text.data(), text.size());
  }
  basic_bounded_string& replace(size_type position, size_type count, const Char* text, size_type text_count) {
    return replace(position, count, view_type(text, text_count));
  }
  basic_bounded_string& replace(size_type position, size_type count, size_type times, Char unit) {
    check_position(position);
    return replace_with(position, std::min(count, size() - position), times, unit);
  }
  basic_bounded_string& replace(const_iterator first, const_iterator last, view_type text) {
    return replace_units(index_of(first), static_cast<size_type>(last - first), text.data(), text.size());
  }
  basic_bounded_string& replace(const_iterator first, const_iterator last, size_type times, Char unit) {
    return replace_with(index_of(first), static_cast<size_type>(last - first), times, unit);
  }

  void resize(size_type count, Char unit = Char()) {
    if (!try_resize(count, unit)) detail::raise_bound(this, N, count);
  }
  [[nodiscard]] bool try_resize(size_type count, Char unit = Char()) {
    if (count > N) return false;
    if (count > size()) {
      append(count - size(), unit);
    } else {
      set_size(count);
    }
    return true;
  }

  size_type copy(Char* to, size_type count, size_type position = 0) const {
    const view_type part = checked_substr(view(), position, count);
    traits_type::copy(to, part.data(), part.size());
    return part.size();
  }
  [[nodiscard]] basic_bounded_string substr(size_type position = 0, size_type count = npos) const {
    return basic_bounded_string(checked_substr(view(), position, count));
  }
  void swap(basic_bounded_string& other) noexcept { std::swap(*this, other); }
  friend void swap(basic_bounded_string& a, basic_bounded_string& b) noexcept { std::swap<>(a, b); }

 private:
  static Char* empty_text() noexcept {
    static Char zero[1] = {};
    return zero;
  }
  void start() noexcept {
    size_ = 0;
    if constexpr (is_inline) storage_[0] = Char();
  }
  /// The code units that the storage must keep: the text and its terminating zero.
  size_type units() const noexcept { return storage_.capacity() == 0 ? 0 : size() + 1; }
  void make_room(size_type count) {
    const bool fresh = storage_.capacity() == 0;
    if (count + 1 > storage_.capacity()) storage_.reserve(count + 1, units());
    if (fresh && !is_inline && storage_.capacity() != 0) storage_[0] = Char();
  }
  void set_size(size_type count) noexcept {
    size_ = static_cast<std::uint32_t>(count);
    if (storage_.capacity() != 0) storage_[count] = Char();
  }
  size_type index_of(const_iterator position) const noexcept {
    return static_cast<size_type>(position - begin());
  }
  void check_position(size_type position) const {
    if (position > size())
      detail::raise_out_of_range("situ::bounded_string: the position lies beyond the end");
  }
  static view_type checked_substr(view_type text, size_type position, size_type count) {
    if (position > text.size())
      detail::raise_out_of_range("situ::bounded_string: the position lies beyond the end");
    return view_type(text.data() + position, std::min(count, text.size() - position));
  }

  /// Replaces `count` units at `position` (both in range) by `with_count` units, which may be part of this
  /// string.
  basic_bounded_string& replace_units(size_type position, size_type count, const Char* with,
                                      size_type with_count) {
    if (with_count > N - (size() - count)) detail::raise_bound(this, N, size() - count + with_count);
    if (with_count != 0 && position != size() && aliases(with)) {
      const std::basic_string<Char> copy(with, with_count);
      return replace_units(position, count, copy.data(), copy.size());
    }
    const size_type total = size() - count + with_count;
    if (total + 1 > storage_.capacity() && aliases(with)) {
      const std::basic_string<Char> copy(with, with_count);
      return replace_units(position, count, copy.data(), copy.size());
    }
    if (total != 0) make_room(total);
    if (with_count != count && position + count != size()) {
      traits_type::move(data() + position + with_count, data() + position + count, size() - position - count);
    }
    if (with_count != 0) traits_type::move(data() + position, with, with_count);
    set_size(total);
    return *this;
  }
  basic_bounded_string& replace_with(size_type position, size_type count, size_type times, Char unit) {
    if (times > N - (size() - count)) detail::raise_bound(this, N, size() - count + times);
    const size_type total = size() - count + times;
    if (total != 0) make_room(total);
    if (times != count && position + count != size()) {
      traits_type::move(data() + position + times, data() + position + count, size() - position - count);
    }
    if (times != 0) traits_type::assign(data() + position, times, unit);
    set_size(total);
    return *this;
  }
  bool aliases(const Char* text) const noexcept {
    return std::less_equal<>()(data(), text) && std::less_equal<>()(text, data() + size());
  }

  std::uint32_t size_ = 0;
  storage_type storage_;
};

/// UTF-8 text of at most N bytes.
template <std::size_t N, class Alloc = std::allocator<char>>
using bounded_string = basic_bounded_string<char, N, Alloc>;

/// UTF-16 text of at most N code units.
template <std::size_t N, class Alloc = std::allocator<char16_t>>
using bounded_wstring = basic_bounded_string<char16_t, N, Alloc>;

template <class C, std::size_t N, class A, std::size_t M, class B>
[[nodiscard]] bool operator==(const basic_bounded_string<C, N, A>& a,
                              const basic_bounded_string<C, M, B>& b) noexcept {
  return a.view() == b.view();
}
template <class C, std::size_t N, class A, std::size_t M, class B>
[[nodiscard]] auto operator<=>(const basic_bounded_string<C, N, A>& a,
                               const basic_bounded_string<C, M, B>& b) noexcept {
  return a.view() <=> b.view();
}
template <class C, std::size_t N, class A>
[[nodiscard]] bool operator==(const basic_bounded_string<C, N, A>& a,
                              std::type_identity_t<std::basic_string_view<C>> b) noexcept {
  return a.view() == b;
}
template <class C, std::size_t N, class A>
[[nodiscard]] auto operator<=>(const basic_bounded_string<C, N, A>& a,
                               std::type_identity_t<std::basic_string_view<C>> b) noexcept {
  return a.view() <=> b;
}

/// A sum may exceed both bounds, so it is a standard string.
template <class C, std::size_t N, class A, std::size_t M, class B>
[[nodiscard]] std::basic_string<C> operator+(const basic_bounded_string<C, N, A>& a,
                                             const basic_bounded_string<C, M, B>& b) {
  return a.str().append(b.view());
}
template <class C, std::size_t N, class A>
[[nodiscard]] std::basic_string<C> operator+(const basic_bounded_string<C, N, A>& a,
                                             std::type_identity_t<std::basic_string_view<C>> b) {
  return a.str().append(b);
}
template <class C, std::size_t N, class A>
[[nodiscard]] std::basic_string<C> operator+(std::type_identity_t<std::basic_string_view<C>> a,
                                             const basic_bounded_string<C, N, A>& b) {
  return std::basic_string<C>(a).append(b.view());
}
template <class C, std::size_t N, class A>
[[nodiscard]] std::basic_string<C> operator+(const basic_bounded_string<C, N, A>& a,
                                             std::type_identity_t<C> b) {
  auto sum = a.str();
  sum.push_back(b);
  return sum;
}
template <class C, std::size_t N, class A>
[[nodiscard]] std::basic_string<C> operator+(std::type_identity_t<C> a,
                                             const basic_bounded_string<C, N, A>& b) {
  return std::basic_string<C>(1, a).append(b.view());
}

template <class C, std::size_t N, class A, class U>
std::size_t erase(basic_bounded_string<C, N, A>& text, const U& unit) {
  const auto rest = std::remove(text.begin(), text.end(), unit);
  const auto count = static_cast<std::size_t>(text.end() - rest);
  text.erase(rest, text.end());
  return count;
}
template <class C, std::size_t N, class A, class Predicate>
std::size_t erase_if(basic_bounded_string<C, N, A>& text, Predicate predicate) {
  const auto rest = std::remove_if(text.begin(), text.end(), predicate);
  const auto count = static_cast<std::size_t>(text.end() - rest);
  text.erase(rest, text.end());
  return count;
}

template <class C, std::size_t N, class A>
std::basic_ostream<C>& operator<<(std::basic_ostream<C>& out, const basic_bounded_string<C, N, A>& text) {
  return out << text.view();
}
/// Reads a word. One that exceeds the bound sets the stream's fail bit and leaves the text unchanged.
template <class C, std::size_t N, class A>
std::basic_istream<C>& operator>>(std::basic_istream<C>& in, basic_bounded_string<C, N, A>& text) {
  std::basic_string<C> word;
  if (in >> word && !text.try_assign(word)) in.setstate(std::ios_base::failbit);
  return in;
}
/// Reads a line. One that exceeds the bound sets the stream's fail bit and leaves the text unchanged.
template <class C, std::size_t N, class A>
std::basic_istream<C>& getline(std::basic_istream<C>& in, basic_bounded_string<C, N, A>& text,
                               C end = C('\n')) {
  std::basic_string<C> line;
  if (std::getline(in, line, end) && !text.try_assign(line)) in.setstate(std::ios_base::failbit);
  return in;
}

}  // namespace situ

/// Hashes like a string view of the same text.
template <class C, std::size_t N, class A>
struct std::hash<situ::basic_bounded_string<C, N, A>> {
  std::size_t operator()(const situ::basic_bounded_string<C, N, A>& text) const noexcept {
    return std::hash<std::basic_string_view<C>>()(text.view());
  }
};
