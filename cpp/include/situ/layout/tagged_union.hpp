// tagged_union: the base of generated unions. It has a discriminator, and the one alternative that it
// selects.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <utility>

#include "situ/layout/storage.hpp"
#include "situ/support/error.hpp"

namespace situ {

/// The requested member of a union is not the one that the discriminator selects.
class bad_union_access : public std::logic_error {
 public:
  bad_union_access() : std::logic_error("the union holds another member than the requested one") {}
};

/// The index of the alternative of an empty union.
inline constexpr std::size_t no_alternative = static_cast<std::size_t>(-1);

namespace detail {

template <class D, class Cases, bool Trivial, class... Ts>
struct union_data {
  union_data() {}  // NOLINT(modernize-use-equals-default)
  union_data(const union_data&) = delete;
  union_data& operator=(const union_data&) = delete;

  D discriminator_;
  alignas(Ts...) std::byte bytes_[std::max({sizeof(Ts)...})];
};

template <class D, class Cases, class... Ts>
struct union_data<D, Cases, false, Ts...> {
  union_data() {}  // NOLINT(modernize-use-equals-default)
  union_data(const union_data&) = delete;
  union_data& operator=(const union_data&) = delete;
  ~union_data() { end(); }
  void end() noexcept {
    std::size_t index = 0;
    const std::size_t active = Cases::index_of(discriminator_);
    ((index++ == active ? destroy(reinterpret_cast<Ts*>(bytes_), 1) : void()), ...);
  }

  D discriminator_;
  alignas(Ts...) std::byte bytes_[std::max({sizeof(Ts)...})];
};

}  // namespace detail

/// The bytes are `{D discriminator; union { Ts... }}`. `Cases` maps a discriminator to an alternative
/// (`index_of`) and gives the discriminator of a new union (`initial`).
template <class D, class Cases, class... Ts>
class tagged_union
    : private detail::union_data<D, Cases, (std::is_trivially_destructible_v<Ts> && ...), Ts...> {
  static constexpr bool is_trivial = (std::is_trivially_destructible_v<Ts> && ...);
  using data_type = detail::union_data<D, Cases, is_trivial, Ts...>;
  using data_type::bytes_;
  using data_type::discriminator_;
  friend struct detail::access;

 public:
  using discriminator_type = D;
  using alternatives = std::tuple<Ts...>;
  template <std::size_t I>
  using alternative = std::tuple_element_t<I, alternatives>;

  tagged_union() { begin(Cases::initial); }
  tagged_union(const tagged_union& other) {
    begin(Cases::initial);
    assign(other);
  }
  tagged_union(tagged_union&& other) noexcept((std::is_nothrow_move_assignable_v<Ts> && ...)) {
    begin(Cases::initial);
    assign(std::move(other));
  }
  tagged_union& operator=(const tagged_union& other) {
    if (this != &other) assign(other);
    return *this;
  }
  tagged_union& operator=(tagged_union&& other) noexcept((std::is_nothrow_move_assignable_v<Ts> && ...)) {
    if (this != &other) assign(std::move(other));
    return *this;
  }
  ~tagged_union() = default;

  /// The value that selects the member.
  [[nodiscard]] D discriminator() const noexcept { return discriminator_; }
  /// The position of the selected member, or `no_alternative`.
  [[nodiscard]] std::size_t index() const noexcept { return Cases::index_of(discriminator_); }
  /// Sets the discriminator. A newly selected member starts with its default value.
  void select(D discriminator) {
    if (Cases::index_of(discriminator) != index()) {
      end();
      begin(discriminator);
    }
    discriminator_ = discriminator;
  }

  /// Calls `visit(index, member)` for the selected member, where `index` is a `std::integral_constant`.
  /// Returns the result of `visit`, or true when the union is empty.
  template <class Visitor>
  bool visit_active(Visitor&& visit) {
    return visit_some(*this, visit, std::index_sequence_for<Ts...>());
  }
  template <class Visitor>
  bool visit_active(Visitor&& visit) const {
    return visit_some(*this, visit, std::index_sequence_for<Ts...>());
  }

  /// Equal when the discriminators and the selected members are equal.
  [[nodiscard]] friend bool operator==(const tagged_union& a, const tagged_union& b) {
    return a.discriminator_ == b.discriminator_ && a.visit_active([&b](auto index, const auto& member) {
      return member == b.template at<decltype(index)::value>();
    });
  }

 protected:
  template <std::size_t I>
  [[nodiscard]] bool holds() const noexcept {
    return index() == I;
  }
  template <std::size_t I>
  [[nodiscard]] alternative<I>& get() {
    if (!holds<I>()) detail::raise(bad_union_access());
    return at<I>();
  }
  template <std::size_t I>
  [[nodiscard]] const alternative<I>& get() const {
    if (!holds<I>()) detail::raise(bad_union_access());
    return at<I>();
  }
  template <std::size_t I>
  [[nodiscard]] alternative<I>* get_if() noexcept {
    return holds<I>() ? &at<I>() : nullptr;
  }
  template <std::size_t I>
  [[nodiscard]] const alternative<I>* get_if() const noexcept {
    return holds<I>() ? &at<I>() : nullptr;
  }
  template <std::size_t I, class Value>
  alternative<I>& set(D discriminator, Value&& value) {
    if constexpr (std::is_same_v<std::remove_cvref_t<Value>, alternative<I>>) {
      if (!holds<I>() && is_within(&value)) {
        alternative<I> copy(std::forward<Value>(value));
        return set<I>(discriminator, std::move(copy));
      }
    }
    if (Cases::index_of(discriminator) != I) detail::raise(bad_union_access());
    select(discriminator);
    return at<I>() = detail::as<alternative<I>>(std::forward<Value>(value));
  }
  /// The same. Returns null and changes nothing if the discriminator selects another member.
  template <std::size_t I, class Value>
  [[nodiscard]] alternative<I>* try_set(D discriminator, Value&& value) {
    return Cases::index_of(discriminator) == I ? &set<I>(discriminator, std::forward<Value>(value)) : nullptr;
  }
  /// Makes a new value of a member in place of the old one. The arguments may be parts of the old value,
  /// which is why the new one is made before the old one ends. Without arguments, there is no second value.
  template <std::size_t I, class... Args>
  alternative<I>& emplace_at(D discriminator, Args&&... args) {
    if (Cases::index_of(discriminator) != I) detail::raise(bad_union_access());
    if constexpr (sizeof...(Args) == 0) {
      end();
      begin(discriminator);
      return at<I>();
    } else {
      return set<I>(discriminator, detail::make<alternative<I>>(std::forward<Args>(args)...));
    }
  }
  /// The same. Returns null and changes nothing if the discriminator selects another member.
  template <std::size_t I, class... Args>
  [[nodiscard]] alternative<I>* try_emplace_at(D discriminator, Args&&... args) {
    if (Cases::index_of(discriminator) != I) return nullptr;
    return &emplace_at<I>(discriminator, std::forward<Args>(args)...);
  }

 private:
  template <std::size_t I>
  alternative<I>& at() noexcept {
    return *reinterpret_cast<alternative<I>*>(bytes_);
  }
  template <std::size_t I>
  const alternative<I>& at() const noexcept {
    return *reinterpret_cast<const alternative<I>*>(bytes_);
  }
  bool is_within(const void* address) const noexcept {
    return !std::less<>()(address, static_cast<const void*>(bytes_)) &&
           std::less<>()(address, static_cast<const void*>(bytes_ + sizeof(bytes_)));
  }
  void begin(D discriminator) {
    discriminator_ = discriminator;
    std::size_t index = 0;
    const std::size_t active = Cases::index_of(discriminator);
    ((index++ == active ? void(detail::construct<Ts>(static_cast<void*>(bytes_))) : void()), ...);
  }
  void end() noexcept {
    if constexpr (!is_trivial) data_type::end();
  }
  template <class Other>
  void assign(Other&& other) {
    select(other.discriminator());
    other.visit_active([&](auto index, auto& member) {
      if constexpr (std::is_lvalue_reference_v<Other>) {
        at<decltype(index)::value>() = member;
      } else {
        at<decltype(index)::value>() = std::move(member);
      }
      return true;
    });
  }
  template <class Self, class Visitor, std::size_t... I>
  static bool visit_some(Self& self, Visitor& visit, std::index_sequence<I...> /*indices*/) {
    bool ok = true;
    const std::size_t active = self.index();
    ((I == active ? void(ok = visit(std::integral_constant<std::size_t, I>(), self.template at<I>()))
                  : void()),
     ...);
    return ok;
  }
};

namespace detail {
/// The base of a generated union with its storage; see region/containers/union.hpp.
template <class S, class D, class Cases, class... Ts>
struct union_in {
  using type = tagged_union<D, Cases, Ts...>;
};
}  // namespace detail

/// The base of a generated union with storage S.
template <class S, class D, class Cases, class... Ts>
using union_of = typename detail::union_in<S, D, Cases, Ts...>::type;

/// The storage of the alternatives of a union.
template <class U>
inline constexpr std::size_t payload_offset = [] {
  const auto largest = []<class... Ts>(const std::tuple<Ts...>*) { return std::max({alignof(Ts)...}); };
  const std::size_t align = largest(static_cast<const typename U::alternatives*>(nullptr));
  return (sizeof(typename U::discriminator_type) + align - 1) / align * align;
}();

}  // namespace situ
