// bounded_vector<T, N, Alloc>: std::vector with a bound. The allocator decides whether the elements lie in
// place or on the heap.
#pragma once

#include <algorithm>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <ranges>
#include <span>
#include <type_traits>
#include <utility>

#include "situ/layout/storage.hpp"
#include "situ/support/iteration.hpp"

namespace situ {

/// Makes `resize` leave new elements of a plain type uninitialized, for memory that is overwritten next.
struct default_init_t {};
inline constexpr default_init_t default_init{};

namespace detail {

/// Whether destruction does nothing. Does not require a complete T unless the elements lie in place.
template <class T, class Alloc>
consteval bool is_trivial_vector() {
  if constexpr (is_inline_allocator_v<Alloc>) {
    return std::is_trivially_destructible_v<T>;
  } else {
    return false;
  }
}

/// The state of a vector and its destructor. The destructor is trivial wherever destruction does nothing.
template <class T, std::size_t N, class Alloc, bool Trivial = is_trivial_vector<T, Alloc>()>
struct vector_data {
  vector_data() {}  // NOLINT(modernize-use-equals-default)
  explicit vector_data(const typename storage<N, T, Alloc>::allocator_type& allocator)
      : storage_(allocator) {}
  vector_data(vector_data&& other) noexcept
      : size_(static_cast<length_t<N>>(other.count())), storage_(std::move(other.storage_), size_) {
    other.size_ = 0;
  }
  vector_data(const vector_data&) = delete;
  vector_data& operator=(const vector_data&) = delete;
  ~vector_data() { destroy(storage_.data(), count()); }

  std::size_t count() const noexcept { return stored_count<N, Alloc>(size_); }

  length_t<N> size_ = 0;
  storage<N, T, Alloc> storage_;
};

template <class T, std::size_t N, class Alloc>
struct vector_data<T, N, Alloc, true> {
  vector_data() {}  // NOLINT(modernize-use-equals-default)
  explicit vector_data(const typename storage<N, T, Alloc>::allocator_type& /*allocator*/) {}
  vector_data(vector_data&& other) noexcept
      : size_(static_cast<length_t<N>>(other.count())), storage_(std::move(other.storage_), size_) {
    other.size_ = 0;
  }
  vector_data(const vector_data&) = delete;
  vector_data& operator=(const vector_data&) = delete;

  std::size_t count() const noexcept { return stored_count<N, Alloc>(size_); }

  length_t<N> size_ = 0;
  storage<N, T, Alloc> storage_;
};

template <class It>
concept input_iterator = std::input_iterator<It>;

/// A range with elements that convert to T, other than a braced list.
template <class R, class T>
concept range_of =
    std::ranges::input_range<R> && std::constructible_from<T, std::ranges::range_reference_t<R>>;

}  // namespace detail

/// A sequence of at most N elements with the interface of std::vector. With `inline_allocator` its bytes are
/// `{u32 length; T[N]}`, and elements beyond the length are never touched. Exceeding N throws `bound_error`;
/// the `try_` forms return false (or null) instead and change nothing.
template <class T, std::size_t N, class Alloc = std::allocator<T>>
class bounded_vector : private detail::vector_data<T, N, Alloc>,
                       public detail::iteration<bounded_vector<T, N, Alloc>> {
  using data_type = detail::vector_data<T, N, Alloc>;
  using data_type::size_;
  using data_type::storage_;
  friend struct detail::access;

 public:
  using value_type = T;
  using allocator_type = typename storage<N, T, Alloc>::allocator_type;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;
  using reference = T&;
  using const_reference = const T&;
  using pointer = T*;
  using const_pointer = const T*;
  using iterator = T*;
  using const_iterator = const T*;
  using reverse_iterator = std::reverse_iterator<iterator>;
  using const_reverse_iterator = std::reverse_iterator<const_iterator>;

  /// The largest number of elements.
  static constexpr size_type bound = N;
  /// Whether the elements lie inside the vector itself.
  static constexpr bool is_inline = storage<N, T, Alloc>::is_inline;

  bounded_vector() {}  // NOLINT(modernize-use-equals-default): see storage
  explicit bounded_vector(const allocator_type& allocator) noexcept : data_type(allocator) {}
  explicit bounded_vector(size_type count, const allocator_type& allocator = {}) : data_type(allocator) {
    resize(count);
  }
  bounded_vector(size_type count, const T& value, const allocator_type& allocator = {})
      : data_type(allocator) {
    assign(count, value);
  }
  template <detail::input_iterator It>
  bounded_vector(It first, It last, const allocator_type& allocator = {}) : data_type(allocator) {
    assign(first, last);
  }
  bounded_vector(std::initializer_list<T> values, const allocator_type& allocator = {})
      : data_type(allocator) {
    assign(values.begin(), values.end());
  }
  /// Copies any other range: a std::vector, a span, a bounded vector with another bound.
  template <class R>
  requires(!std::same_as<std::remove_cvref_t<R>, bounded_vector>) &&
      detail::range_of<R, T> explicit bounded_vector(R&& range, const allocator_type& allocator = {})
      : data_type(allocator) {
    assign_range(std::forward<R>(range));
  }
  bounded_vector(const bounded_vector& other) : data_type(other.storage_.allocator_for_copy()) {
    assign(other.begin(), other.end());
  }
  bounded_vector(const bounded_vector& other, const allocator_type& allocator) : data_type(allocator) {
    assign(other.begin(), other.end());
  }
  bounded_vector(bounded_vector&& other) noexcept = default;
  bounded_vector(bounded_vector&& other, const allocator_type& allocator) : data_type(allocator) {
    take(std::move(other));
  }
  ~bounded_vector() = default;

  bounded_vector& operator=(const bounded_vector& other) {
    if (this != &other) {
      size_type used = size();
      storage_.adopt_allocator(other.storage_, used);
      set_size(used);
      assign(other.begin(), other.end());
    }
    return *this;
  }
  bounded_vector& operator=(bounded_vector&& other) noexcept(noexcept(take(std::move(other)))) {
    if (this != &other) take(std::move(other));
    return *this;
  }
  bounded_vector& operator=(std::initializer_list<T> values) {
    assign(values.begin(), values.end());
    return *this;
  }
  template <class R>
  requires(!std::same_as<std::remove_cvref_t<R>, bounded_vector>) &&
      detail::range_of<R, T> bounded_vector& operator=(R&& range) {
    assign_range(std::forward<R>(range));
    return *this;
  }

  void assign(size_type count, const T& value) {
    if (!try_assign(count, value)) detail::raise_bound(this, N, count);
  }
  template <detail::input_iterator It>
  void assign(It first, It last) {
    if constexpr (std::forward_iterator<It>) {
      if (!try_assign(first, last)) detail::raise_bound(this, N, distance(first, last));
    } else {
      clear();
      for (; first != last; ++first) emplace_back(*first);
    }
  }
  void assign(std::initializer_list<T> values) { assign(values.begin(), values.end()); }
  template <detail::range_of<T> R>
  void assign_range(R&& range) {
    if constexpr (std::ranges::common_range<R>) {
      assign(std::ranges::begin(range), std::ranges::end(range));
    } else {
      clear();
      for (auto&& element : range) emplace_back(std::forward<decltype(element)>(element));
    }
  }
  [[nodiscard]] bool try_assign(size_type count, const T& value) {
    if (count > max_size()) return false;
    const T copy(value);
    clear();
    storage_.reserve_exactly(count, 0);
    for (size_type i = 0; i < count; ++i) append_one(copy);
    return true;
  }
  template <std::forward_iterator It>
  [[nodiscard]] bool try_assign(It first, It last) {
    const size_type count = distance(first, last);
    if (count > max_size()) return false;
    if constexpr (is_plain_source<It>) {
      // The source may be part of this vector. The bytes therefore move first, and the length changes
      // afterwards.
      if (count > capacity()) {
        storage_.reserve_exactly(count, std::exchange(size_, detail::length_t<N>()));
      }
      if (count != 0) std::memmove(static_cast<void*>(data()), std::to_address(first), count * sizeof(T));
      set_size(count);
    } else {
      clear();
      storage_.reserve_exactly(count, 0);
      for (; first != last; ++first) append_one(*first);
    }
    return true;
  }

  [[nodiscard]] allocator_type get_allocator() const noexcept { return storage_.allocator(); }

  [[nodiscard]] reference operator[](size_type index) noexcept { return storage_[index]; }
  [[nodiscard]] const_reference operator[](size_type index) const noexcept { return storage_[index]; }
  [[nodiscard]] reference at(size_type index) {
    if (index >= size()) detail::raise_out_of_range("situ::bounded_vector::at: no such element");
    return storage_[index];
  }
  [[nodiscard]] const_reference at(size_type index) const {
    if (index >= size()) detail::raise_out_of_range("situ::bounded_vector::at: no such element");
    return storage_[index];
  }
  [[nodiscard]] reference front() noexcept { return storage_[0]; }
  [[nodiscard]] const_reference front() const noexcept { return storage_[0]; }
  [[nodiscard]] reference back() noexcept { return storage_[size() - 1]; }
  [[nodiscard]] const_reference back() const noexcept { return storage_[size() - 1]; }
  [[nodiscard]] pointer data() noexcept { return storage_.data(); }
  [[nodiscard]] const_pointer data() const noexcept { return storage_.data(); }

  [[nodiscard]] iterator begin() noexcept { return data(); }
  [[nodiscard]] const_iterator begin() const noexcept { return data(); }
  [[nodiscard]] iterator end() noexcept { return data() + size(); }
  [[nodiscard]] const_iterator end() const noexcept { return data() + size(); }

  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] bool full() const noexcept { return size() == max_size(); }
  [[nodiscard]] size_type size() const noexcept { return data_type::count(); }
  [[nodiscard]] static constexpr size_type max_size() noexcept { return storage<N, T, Alloc>::max_size(); }
  [[nodiscard]] size_type capacity() const noexcept { return storage_.capacity(); }
  void reserve(size_type count) {
    if (count > max_size()) detail::raise_bound(this, N, count);
    storage_.reserve_exactly(count, size());
  }
  void shrink_to_fit() { storage_.shrink(size()); }

  void clear() noexcept {
    detail::destroy(data(), size());
    size_ = 0;
  }

  iterator insert(const_iterator position, const T& value) { return emplace(position, value); }
  iterator insert(const_iterator position, T&& value) { return emplace(position, std::move(value)); }
  iterator insert(const_iterator position, size_type count, const T& value) {
    const size_type index = index_of(position);
    const T copy(value);
    make_room_or_raise(count);
    for (size_type i = 0; i < count; ++i) append_one(copy);
    return rotate_back(index, count);
  }
  template <detail::input_iterator It>
  iterator insert(const_iterator position, It first, It last) {
    const size_type index = index_of(position);
    const size_type before = size();
    if constexpr (std::forward_iterator<It>) make_room_or_raise(distance(first, last));
    for (; first != last; ++first) emplace_back(*first);
    return rotate_back(index, size() - before);
  }
  iterator insert(const_iterator position, std::initializer_list<T> values) {
    return insert(position, values.begin(), values.end());
  }
  template <detail::range_of<T> R>
  iterator insert_range(const_iterator position, R&& range) {
    if constexpr (std::ranges::common_range<R>) {
      return insert(position, std::ranges::begin(range), std::ranges::end(range));
    } else {
      const size_type index = index_of(position);
      const size_type before = size();
      for (auto&& element : range) emplace_back(std::forward<decltype(element)>(element));
      return rotate_back(index, size() - before);
    }
  }
  template <class... Args>
  iterator emplace(const_iterator position, Args&&... args) {
    const size_type index = index_of(position);
    emplace_back(std::forward<Args>(args)...);
    return rotate_back(index, 1);
  }

  iterator erase(const_iterator position) { return erase(position, position + 1); }
  iterator erase(const_iterator first, const_iterator last) {
    const iterator to = begin() + index_of(first);
    if (first != last) {
      const iterator rest = std::move(begin() + index_of(last), end(), to);
      const auto left = static_cast<size_type>(rest - begin());
      detail::destroy(rest, size() - left);
      set_size(left);
    }
    return to;
  }

  void push_back(const T& value) { emplace_back(value); }
  void push_back(T&& value) { emplace_back(std::move(value)); }
  template <class... Args>
  reference emplace_back(Args&&... args) {
    if (size() >= max_size()) detail::raise_bound(this, N, size() + 1);
    if constexpr (!is_inline) {
      if (size() == capacity()) return grow_and_append(std::forward<Args>(args)...);
    }
    return append_one(std::forward<Args>(args)...);
  }
  /// Returns null if the vector is full.
  [[nodiscard]] pointer try_push_back(const T& value) { return full() ? nullptr : &emplace_back(value); }
  [[nodiscard]] pointer try_push_back(T&& value) {
    return full() ? nullptr : &emplace_back(std::move(value));
  }
  template <class... Args>
  [[nodiscard]] pointer try_emplace_back(Args&&... args) {
    return full() ? nullptr : &emplace_back(std::forward<Args>(args)...);
  }
  template <detail::range_of<T> R>
  void append_range(R&& range) {
    insert_range(end(), std::forward<R>(range));
  }
  void pop_back() noexcept {
    storage_.destroy_at(size() - 1);
    set_size(size() - 1);
  }

  void resize(size_type count) {
    if (!try_resize(count)) detail::raise_bound(this, N, count);
  }
  void resize(size_type count, const T& value) {
    if (count > size()) {
      insert(end(), count - size(), value);
    } else {
      truncate(count);
    }
  }
  /// New elements keep the old bytes of their memory.
  void resize(size_type count, default_init_t /*tag*/) requires std::is_trivially_default_constructible_v<T> {
    if (count > max_size()) detail::raise_bound(this, N, count);
    storage_.reserve(count, size());
    set_size(count);
  }
  [[nodiscard]] bool try_resize(size_type count) {
    if (count > max_size()) return false;
    if (count <= size()) {
      truncate(count);
      return true;
    }
    storage_.reserve(count, size());
    if constexpr (std::is_trivially_default_constructible_v<T> && !detail::has_default_enumerator<T>) {
      std::uninitialized_value_construct(end(), begin() + count);
      set_size(count);
    } else {
      while (size() < count) append_one();
    }
    return true;
  }

  void swap(bounded_vector& other) noexcept(noexcept(take(std::move(other)))) {
    bounded_vector mine(std::move(*this));
    take(std::move(other));
    other.take(std::move(mine));
  }
  friend void swap(bounded_vector& a, bounded_vector& b) noexcept(noexcept(a.swap(b))) { a.swap(b); }

 private:
  template <class It>
  static constexpr bool is_plain_source =
      std::contiguous_iterator<It>&& std::same_as<std::iter_value_t<It>, T>&& std::is_trivially_copyable_v<T>;

  template <class It>
  static size_type distance(It first, It last) {
    return static_cast<size_type>(std::distance(first, last));
  }
  size_type index_of(const_iterator position) const noexcept {
    return static_cast<size_type>(position - begin());
  }
  void set_size(size_type count) noexcept { size_ = static_cast<detail::length_t<N>>(count); }

  template <class... Args>
  reference append_one(Args&&... args) {
    const size_type index = size();
    T& made = storage_.construct_at(index, std::forward<Args>(args)...);
    set_size(index + 1);
    return made;
  }
  /// The arguments may refer into this vector, so the new element is constructed before the old ones move.
  template <class... Args>
  reference grow_and_append(Args&&... args) {
    T made = detail::make<T>(std::forward<Args>(args)...);
    storage_.reserve(size() + 1, size());
    return append_one(std::move(made));
  }
  void make_room_or_raise(size_type more) {
    if (more > max_size() - size()) detail::raise_bound(this, N, size() + more);
    storage_.reserve(size() + more, size());
  }
  iterator rotate_back(size_type index, size_type count) {
    std::rotate(begin() + index, end() - count, end());
    return begin() + index;
  }
  void truncate(size_type count) noexcept {
    detail::destroy(data() + count, size() - count);
    set_size(count);
  }
  void take(bounded_vector&& other) noexcept(
      is_inline || std::allocator_traits<allocator_type>::is_always_equal::value ||
      std::allocator_traits<allocator_type>::propagate_on_container_move_assignment::value) {
    if (storage_.take(std::move(other.storage_), size(), other.size())) {
      set_size(other.size());
      other.size_ = 0;
    } else {
      assign(std::make_move_iterator(other.begin()), std::make_move_iterator(other.end()));
      other.clear();
    }
  }
};

namespace detail {

template <class V>
struct is_bounded_vector : std::false_type {};
template <class T, std::size_t N, class A>
struct is_bounded_vector<bounded_vector<T, N, A>> : std::true_type {};

/// A contiguous range of T that is not itself a bounded vector, for comparisons.
template <class R, class T>
concept foreign_span = std::ranges::contiguous_range<const R> && std::ranges::sized_range<const R> &&
    std::same_as<std::ranges::range_value_t<const R>, T> && !is_bounded_vector<std::remove_cvref_t<R>>::value;

}  // namespace detail

template <class T, std::size_t N, class A, std::size_t M, class B>
[[nodiscard]] bool operator==(const bounded_vector<T, N, A>& a, const bounded_vector<T, M, B>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}
template <class T, std::size_t N, class A, detail::foreign_span<T> R>
[[nodiscard]] bool operator==(const bounded_vector<T, N, A>& a, const R& b) {
  return std::equal(a.begin(), a.end(), std::ranges::begin(b), std::ranges::end(b));
}
template <class T, std::size_t N, class A, std::size_t M, class B>
[[nodiscard]] auto operator<=>(const bounded_vector<T, N, A>& a, const bounded_vector<T, M, B>& b) {
  return std::lexicographical_compare_three_way(a.begin(), a.end(), b.begin(), b.end(),
                                                std::compare_three_way());
}
template <class T, std::size_t N, class A, detail::foreign_span<T> R>
[[nodiscard]] auto operator<=>(const bounded_vector<T, N, A>& a, const R& b) {
  return std::lexicographical_compare_three_way(a.begin(), a.end(), std::ranges::begin(b),
                                                std::ranges::end(b), std::compare_three_way());
}

template <class T, std::size_t N, class A, class U>
std::size_t erase(bounded_vector<T, N, A>& vector, const U& value) {
  const auto rest = std::remove(vector.begin(), vector.end(), value);
  const auto count = static_cast<std::size_t>(vector.end() - rest);
  vector.erase(rest, vector.end());
  return count;
}
template <class T, std::size_t N, class A, class Predicate>
std::size_t erase_if(bounded_vector<T, N, A>& vector, Predicate predicate) {
  const auto rest = std::remove_if(vector.begin(), vector.end(), predicate);
  const auto count = static_cast<std::size_t>(vector.end() - rest);
  vector.erase(rest, vector.end());
  return count;
}

}  // namespace situ
