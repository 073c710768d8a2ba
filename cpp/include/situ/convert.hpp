// Converts a message between its storages, situ::flat to situ::heap and back, and to other structs with the
// same members.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <set>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "situ/layout/message.hpp"
#include "situ/support/path.hpp"
#include "situ/support/result.hpp"

namespace situ {

/// A message does not fit into the other storage.
struct convert_error {
  /// A bound with the meaning: the target region is full.
  static constexpr std::size_t no_room = static_cast<std::size_t>(-1);
  /// A bound with the meaning: the source region has values behind several links, which would be copied too
  /// often.
  static constexpr std::size_t too_many_copies = static_cast<std::size_t>(-2);
  /// A bound with the meaning: the values of the source region are nested too deeply.
  static constexpr std::size_t too_deep = static_cast<std::size_t>(-3);
  /// A bound with the meaning: a weak link of the source region leads to a value, and only regions have weak
  /// links.
  static constexpr std::size_t weak_link = static_cast<std::size_t>(-4);

  /// The member that does not fit.
  field_path path{};
  /// The number of elements that the target can hold. For a bulk field, the number that the target was made
  /// for.
  std::size_t bound = 0;
  /// The number of elements of the source.
  std::size_t size = 0;

  /// The error as one sentence.
  [[nodiscard]] std::string message() const {
    if (bound == no_room) {
      return path.shown() + ": the region has no room for " + std::to_string(size) +
             " elements; give it a higher limit";
    }
    if (bound == too_many_copies) {
      return path.shown() + ": values to which several links lead would become more than " +
             std::to_string(size) + " bytes of copies; take the message as a region";
    }
    if (bound == too_deep) {
      return path.shown() + ": values are nested more than " + std::to_string(size) +
             " deep; take the message as a region";
    }
    if (bound == weak_link) {
      return path.shown() +
             ": a weak link leads to a value, and only regions have weak links; take the message as a region";
    }
    return path.shown() + ": " + std::to_string(size) + " elements do not fit into " + std::to_string(bound);
  }
};

namespace detail {

/// Containers of regions identify themselves by this member.
template <class T>
concept region_container = requires {
  typename T::situ_region_container;
};
/// The conversion of containers of regions: see region/convert.hpp.
template <class From, class To>
struct region_conversion;

class converter {
 public:
  converter(std::span<const std::byte> from_body, std::span<std::byte> to_body)
      : from_body_(from_body), to_body_(to_body) {}

  template <class From, class To>
  bool convert(const From& from, To& to) {
    if constexpr (std::is_same_v<From, To> && !bulk<From> && !message<From>) {
      to = from;
      return true;
    } else if constexpr (region_container<From> || region_container<To>) {
      return region_conversion<From, To>::run(*this, from, to);
    } else if constexpr (bulk<From> || bulk<To>) {
      return convert_bulk(from, to);
    } else if constexpr (string<From>) {
      return convert_string(from, to);
    } else if constexpr (sequence<From> || sequence<To>) {
      return resize(to, from.size()) && convert_elements(from, to);
    } else if constexpr (array<From>) {
      return convert_elements(from, to);
    } else if constexpr (map<From>) {
      return convert_map(from, to);
    } else if constexpr (optional<From>) {
      if (!from.has_value()) {
        to.reset();
        return true;
      }
      return convert(*from, to.emplace());
    } else if constexpr (message_union<From>) {
      return convert_union(from, to);
    } else {
      // One of them may be a struct of another generator, with members of the same names.
      using described = std::conditional_t<message<From>, From, To>;
      const bool done = described::situ_members(
          [&](const member_info& info, const auto& a, auto& b) { return convert(a, b) || enter(info.name); },
          from, to);
      if constexpr (message<From> && message<To> && requires { described::situ_has_weak_links; }) {
        const auto leave_out = [this](std::string_view name, const auto& a, auto& b) {
          return this->leave_out_weak(a, b) || enter(name);
        };
        return done && described::situ_weak_members(leave_out, from, to);
      } else {
        return done;
      }
    }
  }

  convert_error take_error() { return std::move(error_); }

  // For region_conversion.
  [[nodiscard]] std::span<const std::byte> from_body() const noexcept { return from_body_; }
  [[nodiscard]] std::span<std::byte> to_body() const noexcept { return to_body_; }
  bool fail(std::size_t bound, std::size_t size) {
    error_ = convert_error{{}, bound, size};
    return false;
  }
  bool enter(std::string_view name) {
    error_.path.enter_member(name);
    return false;
  }
  bool enter(std::size_t index) {
    error_.path.enter_element(index);
    return false;
  }
  /// Reads a value of a region behind a link that may not be the only one, with `read()`. Counts values that
  /// were read before, because a few links can form very many paths.
  template <class Read>
  bool shared(const void* value, std::size_t size, const Read& read) {
    const bool outer = again_;
    again_ = !seen_.insert(value).second || again_;
    const bool done = repeat(1, size) && read();
    again_ = outer;
    return done;
  }
  /// Reads what a container of a region holds with `read()`, one level deeper. Messages outside of regions
  /// are read, encoded and destroyed by recursion, so that their depth has a limit; that of CDR is the same.
  template <class Read>
  bool nested(const Read& read) {
    constexpr std::size_t max_nesting = 128;
    if (depth_ == max_nesting) return fail(convert_error::too_deep, max_nesting);
    ++depth_;
    const bool done = read();
    --depth_;
    return done;
  }
  /// Counts `count` elements of `size` bytes that are read, possibly again.
  bool repeat(std::size_t count, std::size_t size) {
    if (!again_) return true;
    constexpr std::size_t max_copied = std::size_t{64} << 20;
    copied_ += count * size;
    return copied_ <= max_copied || fail(convert_error::too_many_copies, max_copied);
  }
  template <class To>
  bool resize(To& to, std::size_t count) {
    if constexpr (is_bounded_vector<To>::value) {
      return to.try_resize(count) || fail(To::bound, count);
    } else {
      // Vectors of other generators may be bounded.
      if (count > to.max_size()) return fail(to.max_size(), count);
      to.resize(count);
      return true;
    }
  }
  template <class Text, class To>
  bool assign_text(const Text& text, To& to) {
    if constexpr (requires { to.try_assign(text); }) {
      return to.try_assign(text) || fail(To::bound, text.size());
    } else {
      to.assign(text);
      return true;
    }
  }
  template <class From, class To>
  bool convert_map(const From& from, To& to) {
    if constexpr (requires { To::bound; }) {
      if (from.size() > To::bound) return fail(To::bound, from.size());
    }
    to.clear();
    std::size_t index = 0;
    for (const auto& entry : from) {
      typename To::key_type key{};
      if (!convert(entry.first, key) || !convert(entry.second, to[std::move(key)])) return enter(index);
      ++index;
    }
    return true;
  }

  template <class From, class To>
  bool convert_union(const From& from, To& to) {
    to.select(from.discriminator());
    return from.visit_active([&](auto index, const auto& member) {
      constexpr std::size_t selected = decltype(index)::value;
      const bool ok = to.visit_active([&](auto other, auto& target) {
        if constexpr (decltype(other)::value == selected) {
          return convert(member, target);
        } else {
          return true;
        }
      });
      return ok || enter(From::situ_cases[selected].name);
    });
  }

 private:
  /// Refuses a weak link that leads to a value. One in the target leads to none: the source has no member for
  /// it.
  template <class From, class To>
  bool leave_out_weak(const From& from, To& to) {
    if constexpr (region_container<From>) {
      if (!from.expired()) return fail(convert_error::weak_link, 1);
    }
    if constexpr (region_container<To>) to.reset();
    return true;
  }
  template <class From, class To>
  bool convert_elements(const From& from, To& to) {
    if constexpr (std::is_same_v<typename From::value_type, typename To::value_type>) {
      std::copy(from.begin(), from.end(), to.begin());
    } else {
      for (std::size_t i = 0; i < from.size(); ++i) {
        if (!convert(from[i], to[i])) return enter(i);
      }
    }
    return true;
  }
  template <class From, class To>
  bool convert_string(const From& from, To& to) {
    return assign_text(std::basic_string_view<typename From::value_type>(from), to);
  }
  /// The elements are plain, so both storages have the same bytes.
  template <class From, class To>
  bool convert_bulk(const From& from, To& to) {
    static_assert(sizeof(typename From::value_type) == sizeof(typename To::value_type));
    std::span<const std::byte> source;
    if constexpr (bulk<From>) {
      const auto found = from.try_span(from_body_);
      if (!found) return fail(from_body_.size(), static_cast<std::size_t>(from.size()));
      source = std::as_bytes(*found);
    } else {
      source = std::as_bytes(std::span(from));
    }
    std::span<std::byte> target;
    if constexpr (bulk<To>) {
      const auto found = to.try_span(to_body_);
      if (!found || found->size() != from.size())
        return fail(static_cast<std::size_t>(to.size()), from.size());
      target = std::as_writable_bytes(*found);
    } else {
      if (!resize(to, static_cast<std::size_t>(from.size()))) return false;
      target = std::as_writable_bytes(std::span(to));
    }
    if (!source.empty()) std::memcpy(target.data(), source.data(), source.size());
    return true;
  }

  std::span<const std::byte> from_body_;
  std::span<std::byte> to_body_;
  convert_error error_{};
  std::set<const void*> seen_;
  bool again_ = false;
  std::size_t copied_ = 0;
  std::size_t depth_ = 0;
};

}  // namespace detail

/// Copies a message into the same message with another storage. The bodies belong to the flat side, for
/// messages with bulk fields. A flat target must be made for the lengths of the source (`bulk_lengths_of`).
/// After an error only some members of the target are set.
template <message From, message To>
requires std::same_as<rebind<From, typename To::situ_storage>, To>
[[nodiscard]] result<void, convert_error> convert(const From& from, To& to,
                                                  std::span<const std::byte> from_body = {},
                                                  std::span<std::byte> to_body = {}) {
  detail::converter converter(from_body, to_body);
  if (converter.convert(from, to)) return {};
  return failure{converter.take_error()};
}

/// Copies a message into a struct that Situ did not generate, or back. The struct has the same members by the
/// same names, such as the one that rosidl_generator_cpp generates from the same definition. The body belongs
/// to the message, for messages with bulk fields. After an error only some members of the target are set.
template <class From, class To>
requires(message<From> != message<To>)
    [[nodiscard]] result<void, convert_error> convert(const From& from, To& to,
                                                      std::span<const std::byte> from_body = {},
                                                      std::span<std::byte> to_body = {}) {
  detail::converter converter(from_body, to_body);
  if (converter.convert(from, to)) return {};
  return failure{converter.take_error()};
}

/// The heap form of a flat message. `body` holds its bulk fields. Throws `bound_error` if a field lies
/// outside `body`.
template <message From>
[[nodiscard]] rebind<From, heap> to_heap(const From& from, std::span<const std::byte> body = {}) {
  rebind<From, heap> to;
  if (auto done = convert(from, to, body); !done) {
    detail::raise(bound_error(done.error().path.text(), done.error().bound, done.error().size));
  }
  return to;
}

}  // namespace situ
