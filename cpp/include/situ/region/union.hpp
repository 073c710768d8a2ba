// region_union: one of several members within a region, chosen by a discriminator.
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

#include "situ/region/staged.hpp"

namespace situ {

/// Text as an argument of a template.
template <std::size_t N>
struct region_name {
  char text[N]{};
  consteval region_name(const char (&from)[N]) { std::copy_n(from, N, text); }
  [[nodiscard]] constexpr std::string_view view() const { return {text, N - 1}; }
};

/// Among the labels of a case: it is selected by every discriminator that selects no other.
struct region_default {
  friend constexpr bool operator==(region_default, region_default) = default;
};

/// A member of a union: its name, its type, and the values of the discriminator that select it.
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

/// One of several members, as IDL's unions have them:
///
///     using Value = situ::region_union<"Value", std::int32_t,
///                                      situ::region_case<"number", double, 0>,
///                                      situ::region_case<"text", situ::region_string, 1, 2,
///                                      situ::region_default{}>>;
///     value.emplace<"text">(1, "seven");    value.get<"text">()
///
/// A discriminator that selects no member stands for no value. A new union has the discriminator 0.
template <region_name Name, class D, class... Cases>
class region_union {
  static_assert(std::is_integral_v<D> || std::is_enum_v<D>,
                "the discriminator of a union is an integer, boolean or enum");
  static_assert(sizeof...(Cases) > 0, "a union has at least one member");
  static_assert((Cases::is_default + ...) <= 1, "a union has one default member at most");

  static constexpr std::size_t link_offset = sizeof(D) == 8 ? 8 : 4;
  static constexpr std::size_t member_alignment = std::max({alignof(typename Cases::type)...});
  static constexpr std::size_t member_size = std::max({sizeof(typename Cases::type)...});
  static constexpr std::size_t member_offset =
      (link_offset + 4 + member_alignment - 1) / member_alignment * member_alignment;

 public:
  using situ_region_container = region_union;
  using discriminator_type = D;
  static constexpr std::size_t npos = sizeof...(Cases);
  /// The case of a name.
  template <region_name Wanted>
  static constexpr std::size_t index_of = [] {
    constexpr bool is[] = {Cases::name == Wanted.view()...};
    return static_cast<std::size_t>(std::find(is, is + npos, true) - is);
  }();
  template <region_name Wanted>
  using member_type = typename std::tuple_element_t<index_of<Wanted>, std::tuple<Cases...>>::type;

  region_union() noexcept = default;
  region_union(const region_union&) = delete;
  region_union& operator=(const region_union& other) {
    if (!situ_store(other)) region_detail::raise_fault(region());
    return *this;
  }

  [[nodiscard]] D discriminator() const noexcept { return discriminator_; }
  /// Which member is selected; `npos` when there is no value.
  [[nodiscard]] std::size_t index() const noexcept { return index_for(discriminator_); }
  [[nodiscard]] bool has_value() const noexcept { return index() != npos; }
  template <region_name Wanted>
  [[nodiscard]] bool holds() const noexcept {
    return index() == checked_index<Wanted>();
  }
  /// The member; null when it is not the one selected.
  template <region_name Wanted>
  [[nodiscard]] member_type<Wanted>* get_if() noexcept {
    return holds<Wanted>() ? as<member_type<Wanted>>() : nullptr;
  }
  template <region_name Wanted>
  [[nodiscard]] const member_type<Wanted>* get_if() const noexcept {
    return const_cast<region_union*>(this)->template get_if<Wanted>();
  }
  /// The member; throws std::out_of_range when it is not the one selected.
  template <region_name Wanted>
  [[nodiscard]] member_type<Wanted>& get() {
    if (!holds<Wanted>()) detail::raise_out_of_range("region_union::get: another member is selected");
    return *as<member_type<Wanted>>();
  }
  template <region_name Wanted>
  [[nodiscard]] const member_type<Wanted>& get() const {
    return const_cast<region_union*>(this)->template get<Wanted>();
  }
  /// Calls `visit` with the member that is selected, if there is one.
  template <class Visit>
  void visit(const Visit& visit) {
    with_active([&visit](auto, auto& member) {
      visit(member);
      return true;
    });
  }
  template <class Visit>
  void visit(const Visit& visit) const {
    const_cast<region_union*>(this)->visit([&visit](auto& member) { visit(std::as_const(member)); });
  }

  /// Selects what a discriminator stands for. Unless it is the member that is selected already, that one
  /// ends, and the new one has its default value.
  void select(D discriminator) noexcept {
    if (index_for(discriminator) != index()) {
      clear();
      discriminator_ = discriminator;
      begin_active();
    }
    discriminator_ = discriminator;
  }
  /// Makes a new value of a member in place of what is there; null, and unchanged, when there is no room.
  /// `discriminator` is one that selects the member.
  template <region_name Wanted, class... Args>
  [[nodiscard]] member_type<Wanted>* try_emplace(D discriminator, const Args&... args) {
    using M = member_type<Wanted>;
    if (index_for(discriminator) != checked_index<Wanted>())
      detail::raise_out_of_range("region_union::emplace: the discriminator selects another member");
    region_detail::staged_value<M> fresh(region());
    if (!fresh.make([&args...](M& made) { return region_detail::store_all(made, args...); })) return nullptr;
    clear();
    discriminator_ = discriminator;
    fresh.move_to(as<M>());
    return as<M>();
  }
  template <region_name Wanted, class... Args>
  member_type<Wanted>& emplace(D discriminator, const Args&... args) {
    auto* made = try_emplace<Wanted>(discriminator, args...);
    if (made == nullptr) region_detail::raise_fault(region());
    return *made;
  }

  friend bool operator==(const region_union& a, const region_union& b) {
    return a.discriminator_ == b.discriminator_ &&
           const_cast<region_union&>(a).with_active([&b](auto i, auto& member) {
             using M = std::remove_reference_t<decltype(member)>;
             static_cast<void>(i);
             return region_detail::equal(member, *const_cast<region_union&>(b).template as<M>());
           });
  }

  // What the walks over a region call.
  static consteval bool has_links() { return true; }
  void situ_attach(region_detail::header* h) noexcept {
    region_ = static_cast<std::int32_t>(region_detail::bytes_of(h) - region_detail::bytes_of(this));
    begin_active();
  }
  void situ_moved(std::int32_t distance) noexcept {
    region_ += distance;
    with_active([distance](auto, auto& member) {
      region_detail::moved(member, distance);
      return true;
    });
  }
  /// The value becomes that of a new union.
  void situ_release() noexcept {
    clear();
    discriminator_ = D{};
    begin_active();
  }
  [[nodiscard]] bool situ_store(const region_union& from) {
    if (&from == this) return true;
    return const_cast<region_union&>(from).with_active_or(
        [this, &from](auto i, auto& member) {
          using M = std::remove_reference_t<decltype(member)>;
          if (index() == i) {
            if (!region_detail::store(*as<M>(), member)) return false;
            discriminator_ = from.discriminator_;
            return true;
          }
          region_detail::staged_value<M> fresh(region());
          if (!fresh.make([&member](M& made) { return region_detail::store(made, member); })) return false;
          clear();
          discriminator_ = from.discriminator_;
          fresh.move_to(as<M>());
          return true;
        },
        [this, &from] {
          clear();
          discriminator_ = from.discriminator_;
          return true;
        });
  }
  template <class Writer>
  void situ_write(Writer& writer, std::uint32_t at) const {
    writer.put_zeros(at, sizeof(region_union));
    writer.put_bytes(at, &discriminator_, sizeof(D));
    writer.put_back_link(at, at + std::uint32_t{link_offset});
    const_cast<region_union*>(this)->with_active([&writer, at](auto, auto& member) {
      writer.put(at + std::uint32_t{member_offset}, member);
      return true;
    });
  }
  template <class Check>
  [[nodiscard]] bool situ_check(Check& check, std::uint32_t at) const {
    constexpr std::uint32_t behind_link = link_offset + 4;
    if (!check.value(discriminator_, at)) return check.enter_member("discriminator");
    if (!check.back_link(at, region_) ||
        !check.zero(at + std::uint32_t{sizeof(D)}, at + std::uint32_t{link_offset}) ||
        !check.zero(at + behind_link, at + std::uint32_t{member_offset})) {
      return false;
    }
    const std::uint32_t begin = at + std::uint32_t{member_offset};
    const std::uint32_t end = at + std::uint32_t{sizeof(region_union)};
    return const_cast<region_union*>(this)->with_active_or(
        [&check, begin, end](auto i, auto& member) {
          using M = std::remove_reference_t<decltype(member)>;
          constexpr std::string_view names[] = {Cases::name...};
          if (!check.value(std::as_const(member), begin)) return check.enter_member(names[i]);
          return check.zero(begin + std::uint32_t{sizeof(M)}, end);
        },
        [&check, begin, end] { return check.zero(begin, end); });
  }
  static std::string situ_kind() { return std::string(Name.view()); }
  template <class Lines>
  static void situ_lines(Lines& /*lines*/, const std::string& /*path*/) {}
  template <class Visit>
  static void situ_needs(Visit& visit) {
    if constexpr (requires { visit.template add_union<region_union>(); }) {
      visit.template add_union<region_union>();
    } else {
      (visit.template need<typename Cases::type>(), ...);
    }
  }
  /// Calls `line` with name, kind of labels, and the type of each member; see the layout hash.
  template <class Line>
  static void situ_describe(const Line& line) {
    (line.template operator()<typename Cases::type>(Cases::name, labels<Cases>(), member_offset), ...);
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
  static constexpr std::size_t index_for(D discriminator) noexcept {
    std::size_t found = npos;
    std::size_t otherwise = npos;
    std::size_t i = 0;
    ((found = found == npos && Cases::has_label(discriminator) ? i : found,
      otherwise = Cases::is_default ? i : otherwise, ++i),
     ...);
    return found == npos ? otherwise : found;
  }
  template <region_name Wanted>
  static consteval std::size_t checked_index() {
    static_assert(index_of<Wanted> != npos, "the union has no member of this name");
    return index_of<Wanted>;
  }
  template <class M>
  [[nodiscard]] M* as() noexcept {
    return std::launder(reinterpret_cast<M*>(members_));
  }
  /// Calls `visit` with the number of the member that is selected and the member; `otherwise` when there is
  /// none.
  template <class Visit, class Otherwise>
  bool with_active_or(const Visit& visit, const Otherwise& otherwise) {
    const std::size_t active = index();
    if (active == npos) return otherwise();
    bool done = true;
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (void)((active == I
                  ? (done = visit(std::integral_constant<std::size_t, I>(), *as<typename Cases::type>()),
                     true)
                  : false) ||
             ...);
    }
    (std::index_sequence_for<Cases...>());
    return done;
  }
  template <class Visit>
  bool with_active(const Visit& visit) {
    return with_active_or(visit, [] { return true; });
  }
  /// Ends the member that is selected; its memory becomes zero.
  void clear() noexcept {
    with_active([](auto, auto& member) {
      region_detail::release(member);
      return true;
    });
    std::memset(members_, 0, sizeof(members_));
  }
  /// Gives the member that is selected its default value, in zeroed memory.
  void begin_active() noexcept {
    with_active([this](auto, auto& member) {
      region_detail::begin<std::remove_reference_t<decltype(member)>>(region(), &member);
      return true;
    });
  }
  [[nodiscard]] region_detail::header* region() noexcept {
    return region_ == 0 ? nullptr
                        : reinterpret_cast<region_detail::header*>(region_detail::bytes_of(this) + region_);
  }

  D discriminator_{};
  alignas(link_offset) std::int32_t region_ = 0;
  alignas(member_alignment) std::byte members_[member_size] = {};
};

}  // namespace situ
