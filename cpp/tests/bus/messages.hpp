// Messages in the form that the generator writes, for tests of the bus: every kind of variable-length member,
// and a bulk field.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "situ/layout/message.hpp"
#include "situ/layout/policy.hpp"

namespace bus_test {

template <class S>
struct Scan_ {
  static constexpr std::string_view situ_name = "test::Scan";
  static constexpr std::string_view schema =
      "module test {\n  struct Scan {\n    uint32 id;\n    string<15> name;\n    sequence<uint16, 4> "
      "levels;\n"
      "    @bulk sequence<float> ranges;\n  };\n};\n";
  static constexpr std::uint64_t schema_hash = 0x5ca9'5ca9'5ca9'5ca9;
  static constexpr std::uint64_t layout_hash =
      S::kind == situ::storage_kind::flat ? 0x1a0d'1a0d'1a0d'1a0d : 0;
  static constexpr situ::extensibility situ_extensibility = situ::extensibility::final;
  using situ_storage = S;
  template <class Other>
  using situ_rebind = Scan_<Other>;

  std::uint32_t id = 0;
  typename S::template string<15> name;
  typename S::template sequence<std::uint16_t, 4> levels;
  typename S::template bulk<float> ranges;

  using situ_types = situ::type_list<decltype(id), decltype(name), decltype(levels), decltype(ranges)>;

  struct bulk_lengths {
    std::size_t ranges = 0;
  };
  static std::optional<std::size_t> body_size(const bulk_lengths& lengths) {
    return situ::detail::body_size<Scan_>(lengths);
  }
  static Scan_* init_at(void* place, const bulk_lengths& lengths) {
    return situ::detail::init_at<Scan_>(place, lengths);
  }
  static bulk_lengths situ_bulk_lengths(const Scan_& value) {
    return {.ranges = static_cast<std::size_t>(value.ranges.size())};
  }
  static bool situ_place_bulk(Scan_* where, const bulk_lengths& lengths, situ::body_layout& body) {
    return situ::detail::place_bulk(where, &Scan_::ranges, lengths.ranges, body);
  }

  template <class Visitor, class... Messages>
  static constexpr bool situ_members(Visitor&& visit, Messages&... messages) {
    return visit(situ::member_info{"id", 0}, messages.id...) &&
           visit(situ::member_info{"name", 1}, messages.name...) &&
           visit(situ::member_info{"levels", 2}, messages.levels...) &&
           visit(situ::member_info{"ranges", 3}, messages.ranges...);
  }

  friend bool operator==(const Scan_&, const Scan_&) = default;
};

using Scan = Scan_<situ::flat>;
using HeapScan = Scan_<situ::heap>;

static_assert(situ::flat_message<Scan> && !situ::flat_message<HeapScan>);

/// The same with a longer name: another layout with the same schema hash, as in a forged or outdated type.
struct Relaid : Scan {
  static constexpr std::uint64_t layout_hash = 0xbad0'bad0'bad0'bad0;
};

/// Another type without variable-length members: flat, although it is not declared so.
template <class S>
struct Tick_ {
  static constexpr std::string_view situ_name = "test::Tick";
  static constexpr std::string_view schema = "module test {\n  struct Tick {\n    uint64 count;\n  };\n};\n";
  static constexpr std::uint64_t schema_hash = 0x71c4;
  static constexpr std::uint64_t layout_hash = situ::if_flat<S>(0x71c5);
  static constexpr situ::extensibility situ_extensibility = situ::extensibility::final;
  using situ_storage = S;
  template <class Other>
  using situ_rebind = Tick_<Other>;
  using situ_types = situ::type_list<std::uint64_t>;
  using bulk_lengths = situ::no_bulk;

  std::uint64_t count = 0;

  static std::optional<std::size_t> body_size(bulk_lengths lengths) {
    return situ::detail::body_size<Tick_>(lengths);
  }
  static Tick_* init_at(void* place, bulk_lengths lengths) {
    return situ::detail::init_at<Tick_>(place, lengths);
  }
  template <class Visitor, class... Messages>
  static constexpr bool situ_members(Visitor&& visit, Messages&... messages) {
    return visit(situ::member_info{"count", 0}, messages.count...);
  }
  friend bool operator==(const Tick_&, const Tick_&) = default;
};

using Tick = Tick_<situ::heap>;

static_assert(situ::flat_message<Tick>);

/// The same, but too large for a row: subscribers read it in its publisher's memory.
template <class S>
struct Page_ {
  static constexpr std::string_view situ_name = "test::Page";
  static constexpr std::string_view schema =
      "module test {\n  struct Page {\n    uint64 count;\n    uint64 rest[15];\n  };\n};\n";
  static constexpr std::uint64_t schema_hash = 0x9a6e;
  static constexpr std::uint64_t layout_hash = situ::if_flat<S>(0x9a6f);
  static constexpr situ::extensibility situ_extensibility = situ::extensibility::final;
  using situ_storage = S;
  template <class Other>
  using situ_rebind = Page_<Other>;
  using situ_types = situ::type_list<std::uint64_t, std::array<std::uint64_t, 15>>;
  using bulk_lengths = situ::no_bulk;

  std::uint64_t count = 0;
  std::array<std::uint64_t, 15> rest{};

  static std::optional<std::size_t> body_size(bulk_lengths lengths) {
    return situ::detail::body_size<Page_>(lengths);
  }
  static Page_* init_at(void* place, bulk_lengths lengths) {
    return situ::detail::init_at<Page_>(place, lengths);
  }
  template <class Visitor, class... Messages>
  static constexpr bool situ_members(Visitor&& visit, Messages&... messages) {
    return visit(situ::member_info{"count", 0}, messages.count...) &&
           visit(situ::member_info{"rest", 1}, messages.rest...);
  }
  friend bool operator==(const Page_&, const Page_&) = default;
};

using Page = Page_<situ::heap>;

static_assert(situ::flat_message<Page> && sizeof(Page) == 128);

}  // namespace bus_test
