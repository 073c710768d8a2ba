// The packed forms of strings, vectors, optionals, links and unions.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "situ/region/containers/optional.hpp"
#include "situ/region/containers/shared.hpp"
#include "situ/region/containers/string.hpp"
#include "situ/region/containers/union.hpp"
#include "situ/region/containers/unique.hpp"
#include "situ/region/containers/vector.hpp"
#include "situ/region/containers/weak.hpp"
#include "situ/region/packed/form.hpp"
#include "situ/support/utf8.hpp"

namespace situ {
namespace region_detail {

inline void put_packed_text(packed_writer& writer, std::uint32_t at, std::string_view text) {
  if (text.empty()) return;
  if (text.size() > packed_short) {
    writer.counted(at, static_cast<std::uint32_t>(text.size()));
    writer.put_bytes(writer.room(text.size(), 1), text.data(), text.size());
    return;
  }
  writer.put_bytes(at, text.data(), text.size());
  writer.put_byte(at + packed_short, static_cast<std::uint8_t>(packed_tag | text.size()));
}

template <>
struct packed_form<region_string> : packed_linked_form<region_string> {
  static constexpr bool is_link = true;

  static bool is_empty(const region_string& value) noexcept { return value.empty(); }
  static void put(packed_writer& writer, std::uint32_t at, const region_string& value) {
    put_packed_text(writer, at, value.view());
  }
  [[nodiscard]] static bool check(checker<true>& check, std::uint32_t at) {
    const std::uint32_t link = packed_word(check.at(at));
    if (link == 0) return true;
    std::uint32_t begin = at;
    std::uint32_t length = (link >> 24) & 0x7F;
    if ((link >> 31) != 0) {
      if (length == 0 || length > packed_short)
        return check.fail(region_problem::bad_length, at, at + packed_short);
      if (!check.zero(at + length, at + packed_short)) return false;
    } else if (!check.packed_link(at, 1, begin) || !check.packed_length(packed_short + 1, length) ||
               !check.packed_room(at, length, 1, begin)) {
      return false;
    }
    if ((any_bits(check.at(begin), length) & highest_bits) == 0) return true;
    const std::size_t good = utf8_valid_up_to({reinterpret_cast<const char*>(check.at(begin)), length});
    return good == length || check.fail(region_problem::not_utf8, at, good);
  }
  [[nodiscard]] static bool unpack(packed_reader& /*reader*/, region_string& to, const std::byte* from) {
    return to.try_assign(packed_text(from));
  }
};

/// The elements of a vector of a checked image.
template <class T>
struct packed_elements {
  const std::byte* first;
  std::uint32_t count;

  static packed_elements at(const std::byte* link) noexcept {
    const packed_length counted = packed_counted(link);
    return {packed_aligned(counted.behind, packed_form<T>::align), counted.length};
  }
};

template <class T>
struct packed_form<region_vector<T>> : packed_linked_form<region_vector<T>> {
  static constexpr bool is_link = true;

  static bool is_empty(const region_vector<T>& value) noexcept { return value.empty(); }
  static void put(packed_writer& writer, std::uint32_t at, const region_vector<T>& value) {
    if (value.empty()) return;
    writer.counted(at, static_cast<std::uint32_t>(value.size()));
    const std::uint32_t place = writer.room(value.size() * packed_form<T>::size, packed_form<T>::align);
    const auto all = [&writer, place, &value] { put_packed(writer, place, value.data(), value.size()); };
    if constexpr (packed_same<T>) {
      all();
    } else {
      writer.behind([&writer, place, of = &value] { put_packed(writer, place, of->data(), of->size()); });
    }
  }
  [[nodiscard]] static bool check(checker<true>& check, std::uint32_t at) {
    if (packed_word(check.at(at)) == 0) return true;
    std::uint32_t place = 0;
    std::uint32_t count = 0;
    if (!check.packed_link(at, 1, place) || !check.packed_length(1, count) ||
        !check.packed_room(at, std::uint64_t{count} * packed_form<T>::size, packed_form<T>::align, place)) {
      return false;
    }
    if constexpr (packed_same<T>) {
      return check_packed_elements<T>(check, place, count);
    } else {
      return check.deeper([&check, place, count] { return check_packed_elements<T>(check, place, count); });
    }
  }
  [[nodiscard]] static bool unpack(packed_reader& reader, region_vector<T>& to, const std::byte* from) {
    const auto [first, count] = packed_elements<T>::at(from);
    if (count == 0) return true;
    if constexpr (packed_same<T>) {
      return to.try_assign_range(std::span(reinterpret_cast<const T*>(first), count));
    } else {
      if (!to.try_reserve(count)) return false;
      for (std::uint32_t i = 0; i < count; ++i) {
        if (to.try_emplace_back() == nullptr) return false;
      }
      return reader.behind([&reader, of = &to, from = first, count = count] {
        return unpack_elements(reader, of->data(), from, count);
      });
    }
  }
};

template <class T>
struct packed_form<region_optional<T>> : packed_linked_form<region_optional<T>> {
  using inner = packed_form<T>;
  /// A value of less than four bytes lies behind a flag, others behind a link. The link of a container is
  /// also that of the optional.
  static constexpr bool is_inside = inner::size < packed_link_size;
  static constexpr std::uint32_t size = is_inside ? inner::align + inner::size : packed_link_size;
  static constexpr std::uint32_t align = is_inside ? inner::align : 1;

  static void put(packed_writer& writer, std::uint32_t at, const region_optional<T>& value) {
    if (!value.has_value()) return;
    if constexpr (inner::is_link) {
      if (inner::is_empty(*value)) return writer.put_u32(at, packed_empty);
      inner::put(writer, at, *value);
    } else if constexpr (is_inside) {
      writer.put_byte(at, 1);
      inner::put(writer, at + inner::align, *value);
    } else {
      inner::put(writer, writer.value<inner>(at), *value);
    }
  }
  [[nodiscard]] static bool check(checker<true>& check, std::uint32_t at) {
    if constexpr (is_inside) {
      const auto flag = std::to_integer<std::uint8_t>(*check.at(at));
      if (flag > 1) return check.fail(region_problem::not_a_bool, at, flag);
      if (flag == 0) return check.zero(at + 1, at + size);
      return check.zero(at + 1, at + inner::align) && inner::check(check, at + inner::align);
    } else {
      const std::uint32_t link = packed_word(check.at(at));
      if (link == 0 || (inner::is_link && link == packed_empty)) return true;
      if constexpr (inner::is_link) {
        return inner::check(check, at);
      } else {
        std::uint32_t place = 0;
        return check.template packed_value<T, inner>(at, place) && inner::check(check, place);
      }
    }
  }
  /// The place of the value; null without one.
  static const std::byte* value_at(const std::byte* at) noexcept {
    if constexpr (is_inside) {
      return *at == std::byte{0} ? nullptr : at + inner::align;
    } else {
      if (packed_word(at) == 0) return nullptr;
      return inner::is_link ? at : packed_target(at);
    }
  }
  [[nodiscard]] static bool unpack(packed_reader& reader, region_optional<T>& to, const std::byte* from) {
    const std::byte* const value = value_at(from);
    if (value == nullptr) {
      to.reset();
      return true;
    }
    T* const made = to.has_value() ? &*to : to.try_emplace();
    return made != nullptr && inner::unpack(reader, *made, value);
  }
};

template <class T>
struct packed_form<region_unique<T>> : packed_linked_form<region_unique<T>> {
  static void put(packed_writer& writer, std::uint32_t at, const region_unique<T>& value) {
    if (!value) return;
    using inner = packed_form<T>;
    writer.behind(
        [&writer, place = writer.value<inner>(at), of = value.get()] { inner::put(writer, place, *of); });
  }
  [[nodiscard]] static bool check(checker<true>& check, std::uint32_t at) {
    if (packed_word(check.at(at)) == 0) return true;
    using inner = packed_form<T>;
    std::uint32_t place = 0;
    return check.template packed_value<T, inner>(at, place) &&
           check.deeper([&check, place] { return inner::check(check, place); });
  }
  [[nodiscard]] static bool unpack(packed_reader& reader, region_unique<T>& to, const std::byte* from) {
    if (packed_word(from) == 0) return true;
    T* const made = to.try_emplace();
    if (made == nullptr) return false;
    return reader.behind([&reader, made, value = packed_target(from)] {
      return packed_form<T>::unpack(reader, *made, value);
    });
  }
};

template <class T>
struct packed_form<region_shared<T>> : packed_linked_form<region_shared<T>> {
  static void put(packed_writer& writer, std::uint32_t at, const region_shared<T>& value) {
    if (!value) return;
    using inner = packed_form<T>;
    const auto [place, is_new] = writer.shared<inner>(at, value.get());
    if (is_new) writer.behind([&writer, place = place, of = value.get()] { inner::put(writer, place, *of); });
  }
  [[nodiscard]] static bool check(checker<true>& check, std::uint32_t at) {
    const std::uint32_t link = packed_word(check.at(at));
    return link == 0 || check.template packed_shared<T, packed_form<T>>(at, at + link);
  }
  [[nodiscard]] static bool unpack(packed_reader& reader, region_shared<T>& to, const std::byte* from) {
    if (packed_word(from) == 0) return true;
    const std::byte* const value = packed_target(from);
    if (void*& known = reader.shared(value); known != nullptr) {
      to.situ_link(known);
    } else {
      T* const made = to.try_emplace();
      if (made == nullptr) return false;
      known = to.situ_block();
      return reader.behind([&reader, made, value] { return packed_form<T>::unpack(reader, *made, value); });
    }
    return true;
  }
};

template <class T>
struct packed_form<region_weak<T>> : packed_linked_form<region_weak<T>> {
  static void put(packed_writer& writer, std::uint32_t at, const region_weak<T>& value) {
    if (!value.expired()) writer.weak(at, value.lock());
  }
  [[nodiscard]] static bool check(checker<true>& check, std::uint32_t at) {
    const std::uint32_t link = packed_word(check.at(at));
    if (link != 0) check.template weak<T>(at, link == packed_itself ? at : at + link);
    return true;
  }
  [[nodiscard]] static bool unpack(packed_reader& reader, region_weak<T>& to, const std::byte* from) {
    if (packed_word(from) != 0) reader.weak(to, packed_weak_target(from));
    return true;
  }
};

/// The layout of a union in packed images.
template <class D, class... Ts>
struct packed_union_layout {
  static constexpr std::uint32_t greatest = std::max({packed_form<Ts>::size...});
  static constexpr bool is_inside = greatest <= packed_link_size;
  static constexpr std::uint32_t value_size = is_inside ? greatest : packed_link_size;
  static constexpr std::uint32_t value_align = is_inside ? std::max({packed_form<Ts>::align...}) : 1;
  static constexpr auto value = static_cast<std::uint32_t>(aligned_to(sizeof(D), value_align));
  static constexpr std::uint32_t align = std::max<std::uint32_t>(alignof(D), value_align);
  static constexpr auto size = static_cast<std::uint32_t>(aligned_to(value + value_size, align));
};
template <class D, class Members>
struct packed_union_of;
template <class D, class... Ts>
struct packed_union_of<D, std::tuple<Ts...>> {
  using type = packed_union_layout<D, Ts...>;
};

template <variant U>
struct packed_form<U> : packed_linked_form<U> {
  using D = typename U::discriminator_type;
  using layout = typename packed_union_of<D, typename U::alternatives>::type;
  static constexpr std::uint32_t size = layout::size;
  static constexpr std::uint32_t align = layout::align;

  static D discriminator(const std::byte* at) noexcept {
    D value;
    std::memcpy(&value, at, sizeof(value));
    return value;
  }
  /// The place of the value of a union that has one.
  static const std::byte* value_at(const std::byte* at) noexcept {
    return layout::is_inside ? at + layout::value : packed_target(at + layout::value);
  }
  static void put(packed_writer& writer, std::uint32_t at, const U& value) {
    const D selected = value.discriminator();
    writer.put_bytes(at, &selected, sizeof(D));
    value.visit_active([&writer, at](auto, const auto& member) {
      using inner = packed_form<std::remove_cvref_t<decltype(member)>>;
      const std::uint32_t place = at + layout::value;
      inner::put(writer, layout::is_inside ? place : writer.value<inner>(place), member);
      return true;
    });
  }
  [[nodiscard]] static bool check(checker<true>& check, std::uint32_t at) {
    if constexpr (boolean<D>) {
      const auto byte = std::to_integer<std::uint8_t>(*check.at(at));
      if (byte > 1) {
        check.fail(region_problem::not_a_bool, at, byte);
        return check.enter_member("discriminator");
      }
    }
    const std::uint32_t value = at + layout::value;
    if (!check.zero(at + std::uint32_t{sizeof(D)}, value)) return false;
    const std::size_t active = U::situ_index_of(discriminator(check.at(at)));
    std::uint32_t end = value;
    const bool good = for_active(active, [&]<class M>(std::type_identity<M>) {
      using inner = packed_form<M>;
      std::uint32_t place = value;
      end = value + (layout::is_inside ? inner::size : packed_link_size);
      if (!layout::is_inside && !check.template packed_value<M, inner>(value, place))
        return check.enter_member(U::situ_name_of(active));
      return inner::check(check, place) || check.enter_member(U::situ_name_of(active));
    });
    return good && check.zero(end, at + size);
  }
  [[nodiscard]] static bool unpack(packed_reader& reader, U& to, const std::byte* from) {
    to.select(discriminator(from));
    return to.visit_active([&reader, from](auto, auto& member) {
      using inner = packed_form<std::remove_cvref_t<decltype(member)>>;
      return inner::unpack(reader, member, value_at(from));
    });
  }

  /// Calls `visit` with the type of the active member; true without one.
  template <class Visit>
  static bool for_active(std::size_t active, const Visit& visit) {
    bool done = true;
    [&]<class... Ts>(std::type_identity<std::tuple<Ts...>>) {
      std::size_t i = 0;
      (void)((active == i++ ? (done = visit(std::type_identity<Ts>()), true) : false) || ...);
    }(std::type_identity<typename U::alternatives>());
    return done;
  }
};

/// Iterates over consecutive values of a packed image.
template <class T>
class packed_iterator {
 public:
  using iterator_concept = std::random_access_iterator_tag;
  using iterator_category = std::input_iterator_tag;
  using value_type = std::remove_cvref_t<packed_view<T>>;
  using difference_type = std::ptrdiff_t;
  using pointer = void;
  using reference = packed_view<T>;

  packed_iterator() noexcept = default;
  explicit packed_iterator(const std::byte* at) noexcept : at_(at) {}

  reference operator*() const noexcept { return packed_form<T>::see(at_); }
  reference operator[](difference_type step) const noexcept { return *(*this + step); }
  packed_iterator& operator++() noexcept { return *this += 1; }
  packed_iterator operator++(int) noexcept { return std::exchange(*this, *this + 1); }
  packed_iterator& operator--() noexcept { return *this -= 1; }
  packed_iterator operator--(int) noexcept { return std::exchange(*this, *this - 1); }
  packed_iterator& operator+=(difference_type step) noexcept {
    at_ += step * difference_type{packed_form<T>::size};
    return *this;
  }
  packed_iterator& operator-=(difference_type step) noexcept { return *this += -step; }
  packed_iterator operator+(difference_type step) const noexcept { return packed_iterator(*this) += step; }
  packed_iterator operator-(difference_type step) const noexcept { return packed_iterator(*this) -= step; }
  friend packed_iterator operator+(difference_type step, const packed_iterator& at) noexcept {
    return at + step;
  }
  difference_type operator-(const packed_iterator& other) const noexcept {
    return (at_ - other.at_) / difference_type{packed_form<T>::size};
  }
  friend bool operator==(const packed_iterator&, const packed_iterator&) noexcept = default;
  friend auto operator<=>(const packed_iterator&, const packed_iterator&) noexcept = default;

 private:
  const std::byte* at_ = nullptr;
};

}  // namespace region_detail

/// A string of a packed image.
template <>
class packed_ref<region_string> {
 public:
  explicit packed_ref(const std::byte* at) noexcept : text_(region_detail::packed_text(at)) {}

  [[nodiscard]] std::string_view view() const noexcept { return text_; }
  operator std::string_view() const noexcept { return text_; }
  [[nodiscard]] std::string str() const { return std::string(text_); }
  [[nodiscard]] std::size_t size() const noexcept { return text_.size(); }
  [[nodiscard]] bool empty() const noexcept { return text_.empty(); }
  friend bool operator==(const packed_ref& a, std::string_view b) noexcept { return a.text_ == b; }
  friend bool operator==(const packed_ref& a, const packed_ref& b) noexcept { return a.text_ == b.text_; }

 private:
  std::string_view text_;
};

/// A vector of a packed image. Its elements are references, or a `packed_ref` each.
template <class T>
class packed_ref<region_vector<T>> {
  using form = region_detail::packed_form<T>;

 public:
  using value_type = T;
  using iterator = region_detail::packed_iterator<T>;
  using const_iterator = iterator;

  explicit packed_ref(const std::byte* at) noexcept : all_(region_detail::packed_elements<T>::at(at)) {}

  [[nodiscard]] std::size_t size() const noexcept { return all_.count; }
  [[nodiscard]] bool empty() const noexcept { return all_.count == 0; }
  [[nodiscard]] packed_t<T> operator[](std::size_t index) const noexcept {
    return form::see(all_.first + index * form::size);
  }
  [[nodiscard]] packed_t<T> at(std::size_t index) const {
    if (index >= size()) detail::raise_out_of_range("no such element in the vector of a packed image");
    return (*this)[index];
  }
  [[nodiscard]] iterator begin() const noexcept { return iterator(all_.first); }
  [[nodiscard]] iterator end() const noexcept { return begin() + all_.count; }
  /// The elements in place.
  [[nodiscard]] std::span<const T> span() const noexcept requires region_detail::packed_same<T> {
    return {reinterpret_cast<const T*>(all_.first), all_.count};
  }

 private:
  region_detail::packed_elements<T> all_;
};

/// An array of a packed image, whose elements have containers.
template <class T, std::size_t N>
class packed_ref<std::array<T, N>> {
  using form = region_detail::packed_form<T>;

 public:
  using iterator = region_detail::packed_iterator<T>;
  using const_iterator = iterator;

  explicit packed_ref(const std::byte* at) noexcept : at_(at) {}

  [[nodiscard]] static constexpr std::size_t size() noexcept { return N; }
  [[nodiscard]] packed_t<T> operator[](std::size_t index) const noexcept {
    return form::see(at_ + index * form::size);
  }
  [[nodiscard]] iterator begin() const noexcept { return iterator(at_); }
  [[nodiscard]] iterator end() const noexcept { return begin() + std::ptrdiff_t{N}; }

 private:
  const std::byte* at_;
};

/// An optional of a packed image.
template <class T>
class packed_ref<region_optional<T>> {
 public:
  explicit packed_ref(const std::byte* at) noexcept
      : value_(region_detail::packed_form<region_optional<T>>::value_at(at)) {}

  [[nodiscard]] bool has_value() const noexcept { return value_ != nullptr; }
  explicit operator bool() const noexcept { return has_value(); }
  [[nodiscard]] packed_t<T> operator*() const noexcept { return region_detail::packed_form<T>::see(value_); }
  [[nodiscard]] packed_t<T> value() const {
    if (!has_value()) detail::raise(std::bad_optional_access());
    return **this;
  }

 private:
  const std::byte* value_;
};

namespace region_detail {

/// A link of a packed image.
template <class T>
class packed_link {
 public:
  explicit packed_link(const std::byte* at) noexcept
      : value_(packed_word(at) == 0 ? nullptr : packed_target(at)) {}

  explicit operator bool() const noexcept { return value_ != nullptr; }
  [[nodiscard]] packed_t<T> operator*() const noexcept { return packed_form<T>::see(value_); }

 protected:
  const std::byte* value_;
};

}  // namespace region_detail

/// A link of a packed image to a value of its own.
template <class T>
class packed_ref<region_unique<T>> : public region_detail::packed_link<T> {
 public:
  using region_detail::packed_link<T>::packed_link;
};

/// A link of a packed image to a value to which other links may lead as well. Equal links lead to one value.
template <class T>
class packed_ref<region_shared<T>> : public region_detail::packed_link<T> {
 public:
  using region_detail::packed_link<T>::packed_link;
  friend bool operator==(const packed_ref& a, const packed_ref& b) noexcept { return a.value_ == b.value_; }
};

/// A weak link of a packed image to the value of shared links.
template <class T>
class packed_ref<region_weak<T>> : public region_detail::packed_link<T> {
 public:
  explicit packed_ref(const std::byte* at) noexcept : region_detail::packed_link<T>(at) {
    if (*this) this->value_ = region_detail::packed_weak_target(at);
  }
  friend bool operator==(const packed_ref& a, const packed_ref& b) noexcept { return a.value_ == b.value_; }
};

/// A union of a packed image.
template <region_detail::variant U>
class packed_ref<U> {
  using form = region_detail::packed_form<U>;

 public:
  template <std::size_t I>
  using alternative = std::tuple_element_t<I, typename U::alternatives>;

  explicit packed_ref(const std::byte* at) noexcept : at_(at) {}

  [[nodiscard]] typename U::discriminator_type discriminator() const noexcept {
    return form::discriminator(at_);
  }
  /// The number of the selected member, or `no_alternative` if there is no value.
  [[nodiscard]] std::size_t index() const noexcept { return U::situ_index_of(discriminator()); }
  [[nodiscard]] bool has_value() const noexcept { return index() != no_alternative; }
  /// The member of a number. Throws `bad_union_access` if it is not selected.
  template <std::size_t I>
  [[nodiscard]] packed_t<alternative<I>> get() const {
    if (index() != I) detail::raise(bad_union_access());
    return region_detail::packed_form<alternative<I>>::see(form::value_at(at_));
  }
  /// The member of a name, of a `region_union`.
  template <region_name Name>
  [[nodiscard]] decltype(auto) get() const requires requires {
    U::template index_of<Name>;
  }
  { return get<U::template index_of<Name>>(); }
  /// Calls `visit` with the selected member, if there is one. Returns whether there is.
  template <class Visit>
  bool visit(const Visit& visit) const {
    bool found = false;
    form::for_active(index(), [&]<class M>(std::type_identity<M>) {
      visit(region_detail::packed_form<M>::see(form::value_at(at_)));
      return found = true;
    });
    return found;
  }

 private:
  const std::byte* at_;
};

}  // namespace situ
