// region_vector<T>: a vector within a region, with the interface of std::vector.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <ranges>
#include <span>
#include <string>
#include <type_traits>

#include "situ/region/detail/argument.hpp"
#include "situ/region/detail/element_iterator.hpp"
#include "situ/region/detail/later.hpp"
#include "situ/region/detail/ranges.hpp"
#include "situ/region/detail/reflect.hpp"
#include "situ/region/detail/staged.hpp"
#include "situ/region/detail/vector_order.hpp"
#include "situ/support/iteration.hpp"

#if defined(__GNUC__) && !defined(__clang__)
// As in `relocate`.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wstringop-overflow"
#endif
namespace situ {

/// A vector with elements in the region that contains the vector. It finds the region's memory through a link
/// to the header. It is not copied or moved by value; assignment copies the elements, also across regions.
/// Operations that need memory throw `region_error` if there is none; the `try_` forms return false or null,
/// and the vector is unchanged.
template <class T>
class region_vector : public region_detail::vector_order<region_vector<T>, T>,
                      public detail::iteration<region_vector<T>> {
 public:
  using value_type = T;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;
  using reference = T&;
  using const_reference = const T&;
  using pointer = T*;
  using const_pointer = const T*;
  using iterator = region_detail::element_iterator<T>;
  using const_iterator = region_detail::element_iterator<const T>;
  using reverse_iterator = std::reverse_iterator<iterator>;
  using const_reverse_iterator = std::reverse_iterator<const_iterator>;
  using situ_region_container = region_vector;
  /// The type of arguments for elements in braces and in bulk operations. For strings, text.
  using argument = region_detail::argument_of<T>;

  region_vector() noexcept = default;
  region_vector(const region_vector&) = delete;
  region_vector& operator=(const region_vector& other) {
    if (try_assign_range(other)) return *this;
    return *region_detail::in_larger(region(),
                                     [&] { return this->try_assign_range(other) ? this : nullptr; });
  }
  region_vector& operator=(std::initializer_list<argument> values) {
    assign_range(values);
    return *this;
  }
  /// Copies any range with elements that can be stored.
  template <class R>
  requires(!std::is_same_v<std::remove_cvref_t<R>, region_vector> &&
           std::ranges::input_range<R>) region_vector&
  operator=(R&& range) {
    assign_range(range);
    return *this;
  }

  [[nodiscard]] size_type size() const noexcept { return len_; }
  [[nodiscard]] size_type capacity() const noexcept { return cap_; }
  /// The number of elements that fit into the largest region.
  [[nodiscard]] static constexpr size_type max_size() noexcept { return max_elements; }
  [[nodiscard]] bool empty() const noexcept { return len_ == 0; }
  /// Returns the elements. The pointer is never null, even for a vector that never had elements: this saves a
  /// check.
  [[nodiscard]] T* data() noexcept { return reinterpret_cast<T*>(region_detail::bytes_of(this) + data_); }
  [[nodiscard]] const T* data() const noexcept {
    return reinterpret_cast<const T*>(region_detail::bytes_of(this) + data_);
  }

  [[nodiscard]] iterator begin() noexcept { return iterator_of(data()); }
  [[nodiscard]] iterator end() noexcept { return iterator_of(data() + len_); }
  [[nodiscard]] const_iterator begin() const noexcept { return region_detail::iterator_at(data(), 0); }
  [[nodiscard]] const_iterator end() const noexcept { return region_detail::iterator_at(data(), len_); }

  [[nodiscard]] T& operator[](size_type index) noexcept { return data()[index]; }
  [[nodiscard]] const T& operator[](size_type index) const noexcept { return data()[index]; }
  [[nodiscard]] T& at(size_type index) {
    if (index >= len_) detail::raise_out_of_range("region_vector::at: no such element");
    return data()[index];
  }
  [[nodiscard]] const T& at(size_type index) const { return const_cast<region_vector*>(this)->at(index); }
  /// Returns the element, or null.
  [[nodiscard]] T* try_at(size_type index) noexcept { return index < len_ ? data() + index : nullptr; }
  [[nodiscard]] const T* try_at(size_type index) const noexcept {
    return const_cast<region_vector*>(this)->try_at(index);
  }
  [[nodiscard]] T& front() noexcept { return *data(); }
  [[nodiscard]] const T& front() const noexcept { return *data(); }
  [[nodiscard]] T& back() noexcept { return data()[len_ - 1]; }
  [[nodiscard]] const T& back() const noexcept { return data()[len_ - 1]; }
  operator std::span<T>() noexcept { return {data(), size()}; }
  operator std::span<const T>() const noexcept { return {data(), size()}; }

  /// Appends a new element: a number or container is made from one value, a struct from its first members.
  template <class... Args>
  [[nodiscard]] T* try_emplace_back(const Args&... args) {
    if (len_ < cap_) [[likely]] {
      const access open(*this);
      region_detail::unfinished<T> made(region(), data() + len_);
      if (!region_detail::store_all(*made, args...)) return nullptr;
      ++len_;
      return made.keep();
    }
    return grow_and_emplace(args...);
  }
  template <class... Args>
  T& emplace_back(const Args&... args) {
    T* made = try_emplace_back(args...);
    if (made == nullptr)
      made = region_detail::in_larger(region(), [&] { return this->try_emplace_back(args...); });
    return *made;
  }
  [[nodiscard, gnu::always_inline]] bool try_push_back(const T& value) {
    if constexpr (region_detail::is_dense<T>) {
      const std::uint32_t count = len_;
      if (count < cap_) [[likely]] {
        const access open(*this);
        std::memcpy(static_cast<void*>(data() + count), static_cast<const void*>(&value), sizeof(T));
        len_ = count + 1;
        return true;
      }
    }
    return try_emplace_back(value) != nullptr;
  }
  [[gnu::always_inline]] void push_back(const T& value) {
    if (!try_push_back(value)) region_detail::in_larger(region(), [&] { return this->try_push_back(value); });
  }
  /// Appends a value that converts to an element, such as a string_view for a string.
  template <class U>
  requires(!std::is_same_v<T, U>) void push_back(const U& value) { emplace_back(value); }
  template <class U>
  requires(!std::is_same_v<T, U>) [[nodiscard]] bool try_push_back(const U& value) {
    return try_emplace_back(value) != nullptr;
  }
  void pop_back() noexcept {
    const access open(*this);
    const std::uint32_t count = len_ - 1;
    T* const last = data() + count;
    region_detail::release(*last);
    // A constant size: the compiler emits stores instead of a call.
    std::memset(static_cast<void*>(last), 0, sizeof(T));
    // Written last: the compiler must assume that the stores before may change the length, and would read it
    // again. In a loop each change would then wait for that read.
    len_ = count;
  }

  /// Inserts a new element before `position`. Returns null if there is no room.
  template <class... Args>
  [[nodiscard]] iterator try_emplace(const_iterator position, const Args&... args) {
    const size_type index = index_of(position);
    if constexpr (!region_detail::has_links<T>) {
      if (len_ < cap_) [[likely]] {
        const access open(*this);
        // Made outside the vector, because the arguments may be part of the vector. This needs no memory.
        alignas(T) std::byte kept[sizeof(T)]{};
        static_cast<void>(region_detail::store_all(*region_detail::begin<T>(nullptr, kept), args...));
        T* const at = data() + index;
        std::memmove(static_cast<void*>(at + 1), static_cast<const void*>(at), (len_ - index) * sizeof(T));
        std::memcpy(static_cast<void*>(at), kept, sizeof(T));
        ++len_;
        region_detail::note_cut(data(), index);
        return iterator_of(at);
      }
    }
    if (try_emplace_back(args...) == nullptr) return nullptr;
    rotate_last_to(index);
    return begin() + index;
  }
  template <class... Args>
  iterator emplace(const_iterator position, const Args&... args) {
    const auto index = position - begin();
    iterator made = try_emplace(position, args...);
    if (made == nullptr) {
      made = region_detail::in_larger(region(),
                                      [&] { return this->try_emplace(this->begin() + index, args...); });
    }
    return made;
  }
  iterator insert(const_iterator position, const argument& value) { return emplace(position, value); }
  iterator insert(const_iterator position, size_type count, const argument& value) {
    return insert_range(position, region_detail::repeated{value, count});
  }
  template <std::forward_iterator It>
  iterator insert(const_iterator position, It first, It last) {
    return insert_range(position, region_detail::between{first, last});
  }
  iterator insert(const_iterator position, std::initializer_list<argument> values) {
    return insert_range(position, values);
  }
  [[nodiscard]] bool try_insert(const_iterator position, const argument& value) {
    return try_emplace(position, value) != nullptr;
  }
  [[nodiscard]] bool try_insert(const_iterator position, size_type count, const argument& value) {
    return try_insert_range(position, region_detail::repeated{value, count});
  }
  template <std::forward_iterator It>
  [[nodiscard]] bool try_insert(const_iterator position, It first, It last) {
    return try_insert_range(position, region_detail::between{first, last});
  }
  [[nodiscard]] bool try_insert(const_iterator position, std::initializer_list<argument> values) {
    return try_insert_range(position, values);
  }
  /// Inserts a copy of a range, which may be part of this vector, before `position`. Returns false and
  /// changes nothing if there is no room.
  template <std::ranges::forward_range R>
  [[nodiscard]] bool try_insert_range(const_iterator position, R&& range) {
    const access open(*this);
    const size_type index = index_of(position);
    const auto count = static_cast<size_type>(std::ranges::distance(range));
    if (count > max_elements - len_) return region_detail::refuse_size(region());
    if (count > cap_ - len_) {
      const new_room found = make_room(std::uint64_t{len_} + count, index);
      if (!found.here) return found.block != nullptr && insert_moving(found, index, count, range);
    }
    return insert_here(index, count, range);
  }
  template <std::ranges::forward_range R>
  iterator insert_range(const_iterator position, R&& range) {
    const auto index = position - begin();
    if (try_insert_range(position, range)) return begin() + index;
    return region_detail::in_larger(region(), [&] {
      return this->try_insert_range(this->begin() + index, range) ? this->begin() + index : nullptr;
    });
  }
  template <std::ranges::forward_range R>
  [[nodiscard]] bool try_append_range(R&& range) {
    return try_insert_range(end(), range);
  }
  template <std::ranges::forward_range R>
  void append_range(R&& range) {
    insert_range(end(), range);
  }
  iterator erase(const_iterator position) noexcept {
    const access open(*this);
    T* const at = data() + index_of(position);
    region_detail::release(*at);
    T* const last = data() + --len_;
    region_detail::relocate(at, at + 1, static_cast<size_type>(last - at));
    std::memset(static_cast<void*>(last), 0, sizeof(T));
    region_detail::note_cut(data(), static_cast<size_type>(at - data()));
    return iterator_of(at);
  }
  iterator erase(const_iterator first, const_iterator last) noexcept {
    const access open(*this);
    T* const from = data() + index_of(first);
    T* const to = data() + index_of(last);
    for (T* each = from; each != to; ++each) region_detail::release(*each);
    region_detail::relocate(from, to, static_cast<size_type>(data() + len_ - to));
    const auto gone = static_cast<std::uint32_t>(to - from);
    len_ -= gone;
    discard(data() + len_, gone);
    region_detail::note_cut(data(), static_cast<size_type>(from - data()));
    return iterator_of(from);
  }
  /// Erases the elements for which `is_gone` is true, and returns their number; see `erase_if`.
  template <class Predicate>
  size_type situ_erase_if(const Predicate& is_gone) {
    const access open(*this);
    // Closes the gap even if the predicate throws, so that no element lies in two places.
    struct closing {
      region_vector& vector;
      std::uint32_t to = 0;
      std::uint32_t from = 0;
      std::uint32_t first_gone = ~std::uint32_t{0};
      ~closing() {
        region_detail::note_cut(vector.data(), first_gone);
        T* const first = vector.data();
        const std::uint32_t rest = vector.len_ - from;
        if (from != to) region_detail::relocate(first + to, first + from, rest);
        discard(first + to + rest, from - to);
        vector.len_ = to + rest;
      }
    } gap{*this};
    for (; gap.from < len_; ++gap.from) {
      T* const each = data() + gap.from;
      if (is_gone(*each)) {
        gap.first_gone = std::min(gap.first_gone, gap.from);
        region_detail::release(*each);
      } else {
        region_detail::relocate(data() + gap.to++, each, 1);
      }
    }
    return gap.from - gap.to;
  }
  void clear() noexcept {
    const access open(*this);
    for (T& each : *this) region_detail::release(each);
    discard(data(), len_);
    len_ = 0;
  }

  [[nodiscard]] bool try_resize(size_type count) {
    const access open(*this);
    if (count < len_) {
      erase(begin() + count, end());
      return true;
    }
    if (count > cap_ && !region_detail::with_room(region(), cap_, count, sizeof(T), [&](std::uint64_t room) {
          return change_capacity(room);
        })) {
      return false;
    }
    while (len_ < count) region_detail::begin<T>(region(), data() + len_++);
    return true;
  }
  /// New elements are copies of a value.
  [[nodiscard]] bool try_resize(size_type count, const argument& value) {
    if (count > len_) return try_insert_range(end(), region_detail::repeated{value, count - len_});
    erase(begin() + count, end());
    return true;
  }
  void resize(size_type count, const argument& value) {
    if (!try_resize(count, value))
      region_detail::in_larger(region(), [&] { return this->try_resize(count, value); });
  }
  void resize(size_type count) {
    if (!try_resize(count)) region_detail::in_larger(region(), [&] { return this->try_resize(count); });
  }
  [[nodiscard]] bool try_reserve(size_type count) {
    const access open(*this);
    return count <= cap_ || change_capacity(count);
  }
  void reserve(size_type count) {
    if (!try_reserve(count)) region_detail::in_larger(region(), [&] { return this->try_reserve(count); });
  }
  /// Gives unused memory back to the region.
  void shrink_to_fit() noexcept {
    if (len_ == cap_) return;
    const access open(*this);
    region_detail::shorten(region(), data(), bytes(cap_), bytes(len_));
    cap_ = len_;
    if (cap_ == 0) data_ = 0;
  }

  /// Becomes a copy of a range, which may be part of this vector. Returns false and changes nothing if there
  /// is no room.
  template <std::ranges::input_range R>
  [[nodiscard]] bool try_assign_range(R&& range) {
    if constexpr (std::is_same_v<std::remove_cvref_t<R>, region_vector>) {
      if (&range == this) return true;
    }
    const access open(*this);
    if constexpr (!region_detail::has_links<T> && std::ranges::contiguous_range<R> &&
                  std::ranges::sized_range<R> && std::is_same_v<std::ranges::range_value_t<R>, T>) {
      const auto count = static_cast<size_type>(std::ranges::size(range));
      if (count <= cap_) [[likely]] {
        const std::uint32_t before = len_;
        if constexpr (region_detail::is_dense<T>) {
          if (count != 0) put<decltype(std::span(range))::extent>(data(), std::ranges::data(range), count);
        } else {
          // Copies members, not padding: padding is zero in a region. If the range is part of this vector,
          // the first elements are copied first, downwards.
          const T* from = std::ranges::data(range);
          for (size_type i = 0; i < count; ++i) static_cast<void>(region_detail::store(data()[i], from[i]));
        }
        if (count < before) discard(data() + count, before - static_cast<std::uint32_t>(count));
        len_ = static_cast<std::uint32_t>(count);
        region_detail::note_cut(data(), 0);
        return true;
      }
    }
    return replace_by(range);
  }
  template <std::ranges::input_range R>
  void assign_range(R&& range) {
    if (!try_assign_range(range))
      region_detail::in_larger(region(), [&] { return this->try_assign_range(range); });
  }
  template <std::input_iterator It>
  void assign(It first, It last) {
    assign_range(region_detail::between{first, last});
  }
  void assign(size_type count, const argument& value) { assign_range(region_detail::repeated{value, count}); }
  void assign(std::initializer_list<argument> values) { assign_range(values); }
  template <std::input_iterator It>
  [[nodiscard]] bool try_assign(It first, It last) {
    return try_assign_range(region_detail::between{first, last});
  }
  [[nodiscard]] bool try_assign(size_type count, const argument& value) {
    return try_assign_range(region_detail::repeated{value, count});
  }
  [[nodiscard]] bool try_assign(std::initializer_list<argument> values) { return try_assign_range(values); }
  template <std::ranges::input_range R>
  [[nodiscard]] bool try_assign(R&& range) {
    return try_assign_range(range);
  }

  friend bool operator==(const region_vector& a, const region_vector& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const T& x, const T& y) { return region_detail::equal(x, y); });
  }
  /// As std::erase_if and std::erase: returns the number of erased elements.
  template <class Predicate>
  friend size_type erase_if(region_vector& vector, const Predicate& is_gone) {
    return vector.situ_erase_if(is_gone);
  }
  template <class U>
  friend size_type erase(region_vector& vector, const U& value) {
    return vector.situ_erase_if([&value](const T& each) { return each == value; });
  }

  // The interface for walks over a region.
  static consteval bool has_links() { return true; }
  void situ_attach(region_detail::header* h) noexcept { region_ = region_detail::link_from(this, h); }
  void situ_moved(std::int32_t distance) noexcept {
    if (data_ != 0) data_ += distance;
    region_ += distance;
  }
  template <class Walk>
  void situ_compact(Walk& walk) noexcept {
    if (walk.trims()) shrink_to_fit();
    walk.back_link(this, region_);
    if (data_ == 0) return;
    T* const first = reinterpret_cast<T*>(walk.link(data_));
    if constexpr (region_detail::has_links<T>) {
      walk.behind([&walk, first, count = len_] { walk.elements(first, count); });
    }
  }
  void situ_release() noexcept {
    if (data_ == 0) return;
    const auto release = [h = region(), first = data(), count = len_, cap = cap_] {
      for (std::uint32_t i = 0; i < count; ++i) region_detail::release(first[i]);
      region_detail::deallocate(h, first, bytes(cap));
    };
    data_ = 0;
    len_ = 0;
    cap_ = 0;
    if constexpr (region_detail::has_links<T>) {
      region_detail::release_behind(release);
    } else {
      release();
    }
  }
  template <class R>
  [[nodiscard]] bool situ_store(R&& range) {
    return try_assign_range(range);
  }
  /// Marks the unused capacity, or removes the mark; see memory/poison.hpp.
  void situ_mark_unused(bool marked) noexcept {
    if (data_ == 0) return;
    const auto used = static_cast<std::size_t>(bytes(len_));
    const std::size_t unused = region_detail::in_granules(bytes(cap_)) - used;
    if (marked) {
      region_detail::poison(region_detail::bytes_of(data()) + used, unused);
    } else {
      region_detail::unpoison(region_detail::bytes_of(data()) + used, unused);
    }
  }
  [[nodiscard]] region_detail::header* situ_region() noexcept { return region(); }
  template <class Writer>
  void situ_write(Writer& writer, std::uint32_t at) const {
    writer.put_container(at, len_, len_);
    if (len_ == 0) return;
    const std::uint32_t to = writer.place(at, bytes(len_));
    if constexpr (region_detail::has_links<T>) {
      writer.behind([&writer, to, first = data(), count = len_] { writer.put_elements(to, first, count); });
    } else {
      writer.put_elements(to, data(), len_);
    }
  }
  template <class Check>
  [[nodiscard]] bool situ_check(Check& check, std::uint32_t at) const {
    return situ_check(check, at, [] { return true; });
  }
  /// Then calls `also()`, and returns what it does.
  template <class Check, class Also>
  [[nodiscard]] bool situ_check(Check& check, std::uint32_t at, const Also& also) const {
    if (!check.container(at, region_, len_, cap_, Check::canonical ? len_ : cap_)) return false;
    if (cap_ == 0)
      return data_ == 0 ||
             check.outside(at, std::uint64_t{at} + static_cast<std::uint64_t>(std::int64_t{data_}));
    std::uint32_t block = 0;
    if (!check.claim(at, data_, bytes(cap_), bytes(len_), block)) return false;
    const auto all = [this, &check, block, also] {
      return check.elements(reinterpret_cast<const T*>(check.at(block)), len_, block) && also();
    };
    return region_detail::has_links<T> ? check.deeper(all) : all();
  }

  static std::string situ_kind() { return "vector"; }
  template <class Lines>
  static void situ_lines(Lines& lines, const std::string& path) {
    lines.template add_value<T>(path + "[]", 0);
  }
  template <class Visit>
  static constexpr void situ_needs(Visit& visit) {
    visit.template need<T>();
  }

 private:
  using access = region_detail::capacity_access<region_vector>;

  [[nodiscard]] iterator iterator_of(T* at) noexcept {
    return region_detail::iterator_at(data(), static_cast<size_type>(at - data()));
  }
  [[nodiscard]] size_type index_of(const_iterator position) const noexcept {
    region_detail::check_fresh(position);
    return static_cast<size_type>(position - begin());
  }

  /// The number of elements that fit into the largest region.
  static constexpr std::uint64_t max_elements = region_detail::max_size / sizeof(T);
  static std::uint64_t bytes(std::uint64_t count) noexcept { return count * sizeof(T); }
  /// Copies elements from anywhere, this vector included. A few bytes of constant size pass through
  /// registers, without a call.
  template <std::size_t Extent>
  static void put(T* to, const T* from, size_type count) noexcept {
    if constexpr (Extent <= 64 / sizeof(T)) {
      put_bytes<Extent * sizeof(T)>(reinterpret_cast<std::byte*>(to),
                                    reinterpret_cast<const std::byte*>(from));
    } else {
      std::memmove(static_cast<void*>(to), static_cast<const void*>(from), count * sizeof(T));
    }
  }
  /// Copies the last `Left` bytes. The bytes after a piece are read before the piece is written, so that each
  /// piece is a variable of its own and stays in a register.
  template <std::size_t Left>
  [[gnu::always_inline]] static void put_bytes(std::byte* to, const std::byte* from) noexcept {
    if constexpr (Left != 0) {
      constexpr std::size_t here = std::min<std::size_t>(Left, region_detail::granule);
      struct {
        std::byte bytes[here];
      } piece;
      std::memcpy(&piece, from, here);
      put_bytes<Left - here>(to + here, from + here);
      std::memcpy(to, &piece, here);
    }
  }
  [[nodiscard]] region_detail::header* region() noexcept { return region_detail::header_at(this, region_); }
  /// Sets bytes without elements to zero, like all unused memory.
  static void discard(T* from, std::uint32_t count) noexcept {
    if (count != 0) std::memset(static_cast<void*>(from), 0, bytes(count));
  }
  void set_data(void* block) noexcept {
    data_ = block == nullptr ? 0 : region_detail::link_from(this, block);
  }

  [[nodiscard]] bool change_capacity(std::uint64_t capacity) {
    if (capacity > max_elements) return region_detail::refuse_size(region());
    if (data_ != 0 && region_detail::extend(region(), data(), bytes(cap_), bytes(capacity))) {
      cap_ = static_cast<std::uint32_t>(capacity);
      return true;
    }
    void* block = region_detail::allocate_for(this, region(), bytes(capacity), bytes(len_));
    if (block == nullptr) return false;
    take_block(block, capacity);
    return true;
  }
  void take_block(void* block, std::uint64_t capacity) noexcept {
    region_detail::relocate(static_cast<T*>(block), data(), len_);
    if (data_ != 0) region_detail::deallocate(region(), data(), bytes(cap_));
    set_data(block);
    cap_ = static_cast<std::uint32_t>(capacity);
  }
  /// Becomes a copy of a range. The copy is built beside the old elements: the range may be made of them, and
  /// a failure changes nothing.
  template <std::ranges::input_range R>
  [[nodiscard, gnu::noinline]] bool replace_by(R& range) {
    staged fresh(region());
    if constexpr (std::ranges::sized_range<R>) {
      if (!fresh.reserve(static_cast<size_type>(std::ranges::size(range)))) return false;
    }
    for (const auto& each : range) {
      if (!fresh.append(each)) return false;
    }
    situ_release();
    fresh.move_to(*this);
    return true;
  }
  /// Room for more elements: the old block made longer (`here`), a new block without elements yet, or no
  /// room.
  struct new_room {
    bool here = false;
    T* block = nullptr;
    std::uint64_t capacity = 0;
  };
  /// The caller writes the first `written` bytes of a new block.
  [[nodiscard, gnu::noinline]] new_room make_room(std::uint64_t needed, std::uint64_t written) {
    new_room found;
    static_cast<void>(
        region_detail::with_room(region(), cap_, needed, sizeof(T), [&](std::uint64_t capacity) {
          if (data_ != 0 && region_detail::extend(region(), data(), bytes(cap_), bytes(capacity))) {
            cap_ = static_cast<std::uint32_t>(capacity);
            found.here = true;
            return true;
          }
          void* const block = region_detail::allocate_for(this, region(), bytes(capacity), bytes(written));
          found.block = static_cast<T*>(block);
          found.capacity = capacity;
          return block != nullptr;
        }));
    return found;
  }
  /// The arguments may be part of an element that moves below. The new element is therefore made first.
  template <class... Args>
  [[nodiscard, gnu::noinline]] T* grow_and_emplace(const Args&... args) {
    const access open(*this);
    const std::uint64_t capacity =
        region_detail::next_capacity(region(), cap_, std::uint64_t{len_} + 1, sizeof(T));
    if (capacity <= max_elements) [[likely]] {
      if (data_ != 0 && region_detail::extend(region(), data(), bytes(cap_), bytes(capacity))) {
        cap_ = static_cast<std::uint32_t>(capacity);
        return try_emplace_back(args...);
      }
      void* const block = region_detail::allocate_for(this, region(), bytes(capacity), bytes(len_));
      if (block != nullptr) [[likely]]
        return emplace_moving(static_cast<T*>(block), capacity, args...);
    }
    return grow_by_less_and_emplace(args...);
  }
  template <class... Args>
  [[nodiscard, gnu::cold, gnu::noinline]] T* grow_by_less_and_emplace(const Args&... args) {
    const new_room found = make_room(std::uint64_t{len_} + 1, len_);
    if (found.here) return try_emplace_back(args...);
    return found.block == nullptr ? nullptr : emplace_moving(found.block, found.capacity, args...);
  }
  template <class... Args>
  [[nodiscard, gnu::always_inline]] T* emplace_moving(T* block, std::uint64_t capacity, const Args&... args) {
    region_detail::unfinished<T> made(region(), block + len_, block, bytes(capacity));
    if (!region_detail::store_all(*made, args...)) return nullptr;
    made.keep();
    take_block(block, capacity);
    return data() + len_++;
  }
  void rotate_last_to(size_type index) noexcept {
    const size_type last = len_ - 1;
    if (index == last) return;
    region_detail::note_cut(data(), index);
    alignas(T) std::byte kept[sizeof(T)];
    std::memcpy(kept, static_cast<const void*>(data() + last), sizeof(T));
    region_detail::relocate(data() + index + 1, data() + index, last - index);
    std::memcpy(static_cast<void*>(data() + index), kept, sizeof(T));
    if constexpr (region_detail::has_links<T>) {
      region_detail::moved(data()[index], static_cast<std::int32_t>((last - index) * sizeof(T)));
    }
  }

  /// Whether a range can be copied as bytes.
  template <class R>
  static constexpr bool is_bytes = region_detail::is_dense<T>&& std::ranges::contiguous_range<R>&&
      std::is_same_v<std::ranges::range_value_t<R>, T>;
  /// Makes `count` elements of a range in zeroed memory. If there is no room, or the range throws, none of
  /// them remain.
  template <class R>
  [[nodiscard]] bool make_elements(T* at, size_type count, R& range) {
    if constexpr (is_bytes<R>) {
      if (count != 0) std::memcpy(static_cast<void*>(at), std::ranges::data(range), bytes(count));
      return true;
    }
    struct unfinished {
      T* first;
      T* behind;
      size_type count;
      ~unfinished() {
        if (first == nullptr) return;
        while (behind != first) region_detail::release(*--behind);
        discard(first, static_cast<std::uint32_t>(count));
      }
    } made{at, at, count};
    for (const auto& each : range) {
      if (!region_detail::store(*region_detail::begin<T>(region(), made.behind++), each)) return false;
    }
    made.first = nullptr;
    return true;
  }
  /// Inserts in place: the block has room.
  template <class R>
  [[nodiscard]] bool insert_here(size_type index, size_type count, R& range) {
    if constexpr (is_bytes<R>) {
      const T* const from = std::ranges::data(range);
      if (count != 0 && (std::less_equal<>()(from + count, data()) || !std::less<>()(from, data() + len_))) {
        T* const at = data() + index;
        std::memmove(static_cast<void*>(at + count), static_cast<const void*>(at), bytes(len_ - index));
        std::memcpy(static_cast<void*>(at), from, bytes(count));
        region_detail::note_cut(data(), index);
        len_ += static_cast<std::uint32_t>(count);
        return true;
      }
    }
    // Made after the existing elements first, because the range may refer to those.
    if (!make_elements(data() + len_, count, range)) return false;
    const size_type before = len_;
    region_detail::note_cut(data(), index);
    len_ += static_cast<std::uint32_t>(count);
    region_detail::rotate(data() + index, data() + before, data() + len_);
    return true;
  }
  /// Moves the elements to another block, after the inserted ones are made there.
  template <class R>
  [[nodiscard]] bool insert_moving(const new_room& to, size_type index, size_type count, R& range) {
    struct unfinished {
      region_vector& vector;
      const new_room& to;
      bool done = false;
      ~unfinished() {
        if (!done) region_detail::deallocate(vector.region(), to.block, bytes(to.capacity));
      }
    } block{*this, to};
    if (!make_elements(to.block + index, count, range)) return false;
    block.done = true;
    region_detail::relocate(to.block, data(), index);
    region_detail::relocate(to.block + index + count, data() + index, len_ - index);
    if (data_ != 0) region_detail::deallocate(region(), data(), bytes(cap_));
    set_data(to.block);
    cap_ = static_cast<std::uint32_t>(to.capacity);
    len_ += static_cast<std::uint32_t>(count);
    return true;
  }

  /// Elements under construction. They are released unless the vector takes them.
  class staged {
   public:
    explicit staged(region_detail::header* h) noexcept : header_(h) {}
    staged(const staged&) = delete;
    staged& operator=(const staged&) = delete;
    ~staged() {
      if (block_ == nullptr) return;
      for (std::uint32_t i = 0; i < len_; ++i) region_detail::release(block_[i]);
      region_detail::deallocate(header_, block_, bytes(cap_));
    }
    [[nodiscard]] bool reserve(std::uint64_t count) {
      if (count <= cap_) return true;
      if (count > max_elements) return region_detail::refuse_size(header_);
      void* block = region_detail::allocate(header_, bytes(count));
      if (block == nullptr) return false;
      region_detail::relocate(static_cast<T*>(block), block_, len_);
      if (block_ != nullptr) region_detail::deallocate(header_, block_, bytes(cap_));
      block_ = static_cast<T*>(block);
      cap_ = static_cast<std::uint32_t>(count);
      return true;
    }
    template <class U>
    [[nodiscard]] bool append(const U& value) {
      if (len_ == cap_ &&
          !region_detail::with_room(header_, cap_, std::uint64_t{len_} + 1, sizeof(T),
                                    [this](std::uint64_t capacity) { return reserve(capacity); })) {
        return false;
      }
      T* made = region_detail::begin<T>(header_, block_ + len_++);
      return region_detail::store(*made, value);
    }
    void move_to(region_vector& vector) noexcept {
      vector.set_data(block_);
      vector.len_ = len_;
      vector.cap_ = cap_;
      block_ = nullptr;
    }

   private:
    region_detail::header* header_;
    T* block_ = nullptr;
    std::uint32_t len_ = 0;
    std::uint32_t cap_ = 0;
  };

  std::int32_t data_ = 0;
  std::uint32_t len_ = 0;
  std::uint32_t cap_ = 0;
  std::int32_t region_ = 0;
};

/// Whether a range, such as a std::vector, has the same elements.
template <class T, class R>
requires(!std::is_same_v<R, region_vector<T>> && std::ranges::input_range<const R>) bool operator==(
    const region_vector<T>& a, const R& b) {
  auto at = a.begin();
  for (const auto& each : b) {
    if (at == a.end() || !(*at == each)) return false;
    ++at;
  }
  return at == a.end();
}
/// As for std::vector: compares the first elements that differ.
template <std::three_way_comparable T>
auto operator<=>(const region_vector<T>& a, const region_vector<T>& b) {
  return std::lexicographical_compare_three_way(a.begin(), a.end(), b.begin(), b.end());
}

}  // namespace situ
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
