// region_union: one of several members within a region, selected by a discriminator.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "situ/layout/tagged_union.hpp"
#include "situ/region/detail/swap.hpp"

namespace situ {

/// Text as a template argument.
template <std::size_t N>
struct region_name {
  char text[N]{};
  consteval region_name(const char (&from)[N]) { std::copy_n(from, N, text); }
  [[nodiscard]] constexpr std::string_view view() const { return {text, N - 1}; }
};

/// A label of the case for all discriminators that select no other case.
struct region_default {
  friend constexpr bool operator==(region_default, region_default) = default;
};

/// A member of a union: its name, its type, and the discriminators that select it.
template <region_name Name, class T, auto... Labels>
struct region_case {
  using type = T;
  static constexpr std::string_view name = Name.view();
  static constexpr bool is_default =
      (std::is_same_v<std::remove_cv_t<decltype(Labels)>, region_default> || ...);

  template <class D>
  static constexpr bool has_label(D discriminator) noexcept {
    return (is(discriminator, Labels) || ...);
  }
  /// Calls `visit` with each label.
  template <class D, class Visit>
  static constexpr void for_each_label(const Visit& visit) {
    (visit_label<D>(visit, Labels), ...);
  }

 private:
  template <class D, class L>
  static constexpr bool is(D discriminator, L label) noexcept {
    if constexpr (std::is_same_v<L, region_default>) {
      return false;
    } else {
      return discriminator == static_cast<D>(label);
    }
  }
  template <class D, class Visit, class L>
  static constexpr void visit_label(const Visit& visit, L label) {
    if constexpr (!std::is_same_v<L, region_default>) visit(static_cast<D>(label));
  }
};

/// The base of unions in regions: one of several members, which a discriminator selects. `Cases` has the
/// member that a discriminator selects (`index_of`), the discriminator of a new union (`initial`), and the
/// names.
template <class Cases, class D, class... Ts>
class basic_region_union {
  static_assert(region_detail::scalar<D> && std::is_integral_v<region_detail::number_of<D>>,
                "the discriminator of a union is an integer, boolean or enum");
  static_assert(sizeof...(Ts) > 0, "a union has at least one member");

  static constexpr std::size_t link_offset = sizeof(D) == 8 ? 8 : 4;
  static constexpr std::size_t member_alignment = std::max({alignof(Ts)...});
  static constexpr std::size_t member_size = std::max({sizeof(Ts)...});
  static constexpr std::size_t member_offset =
      (link_offset + 4 + member_alignment - 1) / member_alignment * member_alignment;

 public:
  using situ_region_container = basic_region_union;
  using discriminator_type = D;
  using alternatives = std::tuple<Ts...>;
  template <std::size_t I>
  using alternative = std::tuple_element_t<I, alternatives>;

  basic_region_union() noexcept = default;
  basic_region_union(const basic_region_union&) = delete;
  basic_region_union& operator=(const basic_region_union& other) {
    if (situ_store(other)) return *this;
    return *region_detail::in_larger(region(), [&] { return this->situ_store(other) ? this : nullptr; });
  }

  /// The same without exceptions. Returns false and changes nothing if there is no room.
  [[nodiscard]] bool try_assign(const basic_region_union& other) { return situ_store(other); }

  [[nodiscard]] D discriminator() const noexcept { return discriminator_; }
  /// Returns the number of the selected member, or `no_alternative` if there is no value.
  [[nodiscard]] std::size_t index() const noexcept { return Cases::index_of(discriminator_); }
  [[nodiscard]] bool has_value() const noexcept { return index() != no_alternative; }
  /// Calls `visit` with the selected member and returns its result, which has one type for all members.
  /// Without a value, `visit` is not called; if it returns a value, this throws `bad_union_access`.
  template <class Visit>
  decltype(auto) visit(const Visit& visit) {
    return visit_from<std::invoke_result_t<const Visit&, alternative<0>&>, 0>(*this, visit);
  }
  template <class Visit>
  decltype(auto) visit(const Visit& visit) const {
    return visit_from<std::invoke_result_t<const Visit&, const alternative<0>&>, 0>(*this, visit);
  }
  /// Calls `visit(index, member)` for the selected member, where `index` is a `std::integral_constant`.
  /// Returns the result of `visit`, or true when there is no value.
  template <class Visit>
  bool visit_active(const Visit& visit) {
    return visit_active_or(visit, [] { return true; });
  }
  template <class Visit>
  bool visit_active(const Visit& visit) const {
    return const_cast<basic_region_union*>(this)->visit_active(
        [&visit](auto index, auto& member) { return visit(index, std::as_const(member)); });
  }

  /// Sets the discriminator. If it selects another member, the old member is released and the new one has its
  /// default value.
  void select(D discriminator) noexcept {
    if (Cases::index_of(discriminator) != index()) {
      clear();
      discriminator_ = discriminator;
      begin_active();
    }
    discriminator_ = discriminator;
  }
  /// Exchanges two unions of one region, as `situ::swap` does.
  void swap(basic_region_union& other) { situ::swap(*this, other); }

  friend bool operator==(const basic_region_union& a, const basic_region_union& b) {
    return a.discriminator_ == b.discriminator_ && a.visit_active([&b](auto i, const auto& member) {
      return region_detail::equal(member,
                                  *const_cast<basic_region_union&>(b).template at<decltype(i)::value>());
    });
  }

  // The interface for walks over a region.
  static consteval bool has_links() { return true; }
  void situ_attach(region_detail::header* h) noexcept {
    region_ = region_detail::link_from(this, h);
    begin_active();
  }
  void situ_moved(std::int32_t distance) noexcept {
    region_ += distance;
    visit_active([distance](auto, auto& member) {
      region_detail::moved(member, distance);
      return true;
    });
  }
  template <class Walk>
  void situ_compact(Walk& walk) noexcept {
    walk.back_link(this, region_);
    visit_active([&walk](auto, auto& member) {
      walk.value(member);
      return true;
    });
  }
  /// Resets the value to that of a new union.
  void situ_release() noexcept {
    clear();
    discriminator_ = Cases::initial;
    begin_active();
  }
  [[nodiscard]] region_detail::header* situ_region() noexcept { return region(); }
  [[nodiscard]] bool situ_store(const basic_region_union& from) {
    if (&from == this) return true;
    // The source may be part of the member that is released.
    const D discriminator = from.discriminator_;
    return const_cast<basic_region_union&>(from).visit_active_or(
        [this, discriminator](auto i, auto& member) {
          constexpr std::size_t selected = decltype(i)::value;
          if (index() == selected) {
            if (!region_detail::store_whole(region(), *at<selected>(), member)) return false;
            discriminator_ = discriminator;
            return true;
          }
          return try_replace<selected>(discriminator, member) != nullptr;
        },
        [this, discriminator] {
          clear();
          discriminator_ = discriminator;
          return true;
        });
  }
  template <class Writer>
  void situ_write(Writer& writer, std::uint32_t to) const {
    writer.put_zeros(to, sizeof(basic_region_union));
    writer.put_bytes(to, &discriminator_, sizeof(D));
    writer.put_back_link(to, to + std::uint32_t{link_offset});
    visit_active([&writer, to](auto, const auto& member) {
      writer.put(to + std::uint32_t{member_offset}, member);
      return true;
    });
  }
  template <class Check>
  [[nodiscard]] bool situ_check(Check& check, std::uint32_t place) const {
    constexpr std::uint32_t behind_link = link_offset + 4;
    if (!check.value(discriminator_, place)) return check.enter_member("discriminator");
    if (!check.back_link(place, region_) ||
        !check.zero(place + std::uint32_t{sizeof(D)}, place + std::uint32_t{link_offset}) ||
        !check.zero(place + behind_link, place + std::uint32_t{member_offset})) {
      return false;
    }
    const std::uint32_t begin = place + std::uint32_t{member_offset};
    const std::uint32_t end = place + std::uint32_t{sizeof(basic_region_union)};
    return const_cast<basic_region_union*>(this)->visit_active_or(
        [&check, begin, end](auto i, auto& member) {
          using M = std::remove_reference_t<decltype(member)>;
          if (!check.value(std::as_const(member), begin)) return check.enter_member(Cases::names[i]);
          return check.zero(begin + std::uint32_t{sizeof(M)}, end);
        },
        [&check, begin, end] { return check.zero(begin, end); });
  }
  /// The number of the member that a discriminator selects, and its name.
  static constexpr std::size_t situ_index_of(D discriminator) noexcept {
    return Cases::index_of(discriminator);
  }
  static constexpr std::string_view situ_name_of(std::size_t index) noexcept { return Cases::names[index]; }
  static std::string situ_kind() { return std::string(Cases::name); }
  template <class Lines>
  static void situ_lines(Lines& /*lines*/, const std::string& /*path*/) {}
  template <class Visit>
  static constexpr void situ_needs(Visit& visit) {
    if constexpr (requires { visit.template add_union<basic_region_union>(); }) {
      visit.template add_union<basic_region_union>();
    } else {
      (visit.template need<Ts>(), ...);
    }
  }
  /// Calls `line` with the name, the kind of labels and the type of each member: see the layout hash.
  template <class Line>
  static void situ_describe(const Line& line) {
    std::size_t i = 0;
    ((line.template operator()<Ts>(Cases::names[i], Cases::labels_of(i), member_offset), ++i), ...);
  }

 protected:
  template <std::size_t I>
  [[nodiscard]] bool holds() const noexcept {
    return index() == I;
  }
  template <std::size_t I>
  [[nodiscard]] alternative<I>* get_if() noexcept {
    return holds<I>() ? at<I>() : nullptr;
  }
  template <std::size_t I>
  [[nodiscard]] const alternative<I>* get_if() const noexcept {
    return const_cast<basic_region_union*>(this)->template get_if<I>();
  }
  template <std::size_t I>
  [[nodiscard]] alternative<I>& get() {
    if (!holds<I>()) detail::raise(bad_union_access());
    return *at<I>();
  }
  template <std::size_t I>
  [[nodiscard]] const alternative<I>& get() const {
    return const_cast<basic_region_union*>(this)->template get<I>();
  }
  template <std::size_t I, class Value>
  alternative<I>& set(D discriminator, const Value& value) {
    return emplace_at<I>(discriminator, value);
  }
  template <std::size_t I, class Value>
  [[nodiscard]] alternative<I>* try_set(D discriminator, const Value& value) {
    return try_emplace_at<I>(discriminator, value);
  }
  /// Makes a new value of a member in place of the old one. Returns null and changes nothing if there is no
  /// room, or if the discriminator selects another member.
  template <std::size_t I, class... Args>
  [[nodiscard]] alternative<I>* try_emplace_at(D discriminator, const Args&... args) {
    if (Cases::index_of(discriminator) != I) return nullptr;
    return try_replace<I>(discriminator, args...);
  }
  template <std::size_t I, class... Args>
  alternative<I>& emplace_at(D discriminator, const Args&... args) {
    if (Cases::index_of(discriminator) != I) detail::raise(bad_union_access());
    auto* made = try_emplace_at<I>(discriminator, args...);
    if (made == nullptr)
      made = region_detail::in_larger(
          region(), [&] { return this->template try_emplace_at<I>(discriminator, args...); });
    return *made;
  }

 private:
  template <std::size_t I, class... Args>
  [[nodiscard]] alternative<I>* try_replace(D discriminator, const Args&... args) {
    using M = alternative<I>;
    region_detail::staged_value<M> fresh(region());
    if (!fresh.make([&args...](M& made) { return region_detail::store_all(made, args...); })) return nullptr;
    clear();
    discriminator_ = discriminator;
    fresh.move_to(at<I>());
    return at<I>();
  }
  template <std::size_t I>
  [[nodiscard]] alternative<I>* at() noexcept {
    return std::launder(reinterpret_cast<alternative<I>*>(members_));
  }
  template <std::size_t I>
  [[nodiscard]] const alternative<I>* at() const noexcept {
    return const_cast<basic_region_union*>(this)->template at<I>();
  }
  template <class R, std::size_t I, class Self, class Visit>
  static R visit_from(Self& self, const Visit& visit) {
    if constexpr (I != sizeof...(Ts)) {
      if (self.index() == I) return static_cast<R>(visit(*self.template at<I>()));
      return visit_from<R, I + 1>(self, visit);
    } else if constexpr (!std::is_void_v<R>) {
      detail::raise(bad_union_access());
    }
  }
  /// Calls `visit` with the number of the selected member and the member, or `otherwise` when there is none.
  template <class Visit, class Otherwise>
  bool visit_active_or(const Visit& visit, const Otherwise& otherwise) {
    const std::size_t active = index();
    if (active == no_alternative) return otherwise();
    bool done = true;
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (void)((active == I ? (done = visit(std::integral_constant<std::size_t, I>(), *at<I>()), true)
                          : false) ||
             ...);
    }
    (std::index_sequence_for<Ts...>());
    return done;
  }
  /// Releases the selected member. Its memory becomes zero.
  void clear() noexcept {
    visit_active([](auto, auto& member) {
      region_detail::release(member);
      return true;
    });
    std::memset(members_, 0, sizeof(members_));
  }
  /// Gives the selected member its default value, in zeroed memory.
  void begin_active() noexcept {
    visit_active([this](auto, auto& member) {
      region_detail::begin<std::remove_reference_t<decltype(member)>>(region(), &member);
      return true;
    });
  }
  [[nodiscard]] region_detail::header* region() noexcept { return region_detail::header_at(this, region_); }

  D discriminator_ = Cases::initial;
  alignas(link_offset) std::int32_t region_ = 0;
  alignas(member_alignment) std::byte members_[member_size] = {};
};

namespace region_detail {

/// The cases of a `region_union`, in the form that `basic_region_union` needs.
template <region_name Name, class D, class... Cases>
struct union_cases {
  static constexpr D initial{};
  static constexpr std::string_view name = Name.view();
  static constexpr std::string_view names[] = {Cases::name...};

  static constexpr std::size_t index_of(D discriminator) noexcept {
    std::size_t found = no_alternative;
    std::size_t otherwise = no_alternative;
    std::size_t i = 0;
    ((found = found == no_alternative && Cases::has_label(discriminator) ? i : found,
      otherwise = Cases::is_default ? i : otherwise, ++i),
     ...);
    return found == no_alternative ? otherwise : found;
  }
  static std::string labels_of(std::size_t index) {
    std::string text;
    std::size_t i = 0;
    ((text = i++ == index ? labels<Cases>() : text), ...);
    return text;
  }

 private:
  template <class Case>
  static std::string labels() {
    std::vector<D> each;
    Case::template for_each_label<D>([&each](D label) { each.push_back(label); });
    std::sort(each.begin(), each.end());
    std::string text;
    for (const D label : each) {
      if (!text.empty()) text += ',';
      if constexpr (std::is_enum_v<D>) {
        text += std::to_string(static_cast<std::underlying_type_t<D>>(label));
      } else {
        text += std::to_string(label);
      }
    }
    if (Case::is_default) text += text.empty() ? "default" : ",default";
    return text;
  }
};

}  // namespace region_detail

namespace detail {

/// The same for the cases of a generated union.
template <class Cases>
struct generated_cases : Cases {
  static std::string labels_of(std::size_t index) { return std::string(Cases::labels[index]); }
};

}  // namespace detail

/// One of several members, like a union of IDL:
///
///     using Value = situ::region_union<"Value", std::int32_t,
///                                      situ::region_case<"number", double, 0>,
///                                      situ::region_case<"text", situ::region_string, 1, 2,
///                                      situ::region_default{}>>;
///     value.emplace<"text">(1, "seven");    value.get<"text">()
///
/// If the discriminator selects no member, there is no value. A new union has the discriminator 0.
template <region_name Name, class D, class... Cases>
class region_union
    : public basic_region_union<region_detail::union_cases<Name, D, Cases...>, D, typename Cases::type...> {
  static_assert((Cases::is_default + ...) <= 1, "a union has one default member at most");

  using base = basic_region_union<region_detail::union_cases<Name, D, Cases...>, D, typename Cases::type...>;

 public:
  static constexpr std::size_t npos = no_alternative;
  /// The case with a name.
  template <region_name Wanted>
  static constexpr std::size_t index_of = [] {
    constexpr bool is[] = {Cases::name == Wanted.view()...};
    const auto found = static_cast<std::size_t>(std::find(is, is + sizeof...(Cases), true) - is);
    return found == sizeof...(Cases) ? npos : found;
  }();
  template <region_name Wanted>
  using member_type = typename base::template alternative<index_of<Wanted>>;

  template <region_name Wanted>
  [[nodiscard]] bool holds() const noexcept {
    return base::template holds<checked_index<Wanted>()>();
  }
  /// The member, or null when it is not selected.
  template <region_name Wanted>
  [[nodiscard]] member_type<Wanted>* get_if() noexcept {
    return base::template get_if<checked_index<Wanted>()>();
  }
  template <region_name Wanted>
  [[nodiscard]] const member_type<Wanted>* get_if() const noexcept {
    return base::template get_if<checked_index<Wanted>()>();
  }
  /// The member. Throws `bad_union_access` if it is not selected.
  template <region_name Wanted>
  [[nodiscard]] member_type<Wanted>& get() {
    return base::template get<checked_index<Wanted>()>();
  }
  template <region_name Wanted>
  [[nodiscard]] const member_type<Wanted>& get() const {
    return base::template get<checked_index<Wanted>()>();
  }
  /// Makes a new value of a member in place of the old one. `discriminator` must select the member; if it
  /// does not, `emplace` throws `bad_union_access`. `try_emplace` then returns null, as when there is no
  /// room, and the union is unchanged.
  template <region_name Wanted, class... Args>
  [[nodiscard]] member_type<Wanted>* try_emplace(D discriminator, const Args&... args) {
    return base::template try_emplace_at<checked_index<Wanted>()>(discriminator, args...);
  }
  template <region_name Wanted, class... Args>
  member_type<Wanted>& emplace(D discriminator, const Args&... args) {
    return base::template emplace_at<checked_index<Wanted>()>(discriminator, args...);
  }

 private:
  template <region_name Wanted>
  static consteval std::size_t checked_index() {
    static_assert(index_of<Wanted> != npos, "the union has no member of this name");
    return index_of<Wanted>;
  }
};

}  // namespace situ
