// Converts a message between its region form and its other storages: the part of `situ::convert` for the
// containers of regions.
#pragma once

#include <concepts>
#include <cstddef>
#include <ranges>
#include <span>
#include <string_view>
#include <type_traits>

#include "situ/convert.hpp"
#include "situ/region/policy.hpp"

namespace situ::detail {

template <class T>
struct is_region_vector : std::false_type {};
template <class T>
struct is_region_vector<region_vector<T>> : std::true_type {};

template <class T>
struct is_region_shared : std::false_type {};
template <class T>
struct is_region_shared<region_shared<T>> : std::true_type {};

/// One of the two sides is a container of a region.
template <class From, class To>
requires(region_container<From> || region_container<To>) struct region_conversion<From, To> {
  template <class Converter>
  static bool run(Converter& by, const From& from, To& to) {
    if constexpr (region_container<To>) {
      return store(by, from, to);
    } else {
      return load(by, from, to);
    }
  }

 private:
  template <class Converter>
  static bool store(Converter& by, const From& from, To& to) {
    if constexpr (message_union<From>) {
      return by.convert_union(from, to);
    } else if constexpr (std::same_as<To, region_string>) {
      const std::string_view text(from);
      return to.try_assign(text) || by.fail(convert_error::no_room, text.size());
    } else if constexpr (requires { to.try_emplace(); }) {
      return store_optional(by, from, to);
    } else if constexpr (requires { typename To::mapped_type; }) {
      to.clear();
      std::size_t index = 0;
      for (const auto& entry : from) {
        auto* value = to.try_insert(key_of<typename To::key_view>(entry.first)).first;
        if (value == nullptr) return by.fail(convert_error::no_room, from.size());
        if (!by.convert(entry.second, *value)) return by.enter(index);
        ++index;
      }
      return true;
    } else if constexpr (is_region_vector<To>::value) {
      return store_elements(by, from, to);
    } else {
      to.clear();
      for (const auto& key : from) {
        const auto view = key_of<typename To::key_view>(key);
        (void)to.try_insert(view);
        if (!to.contains(view)) return by.fail(convert_error::no_room, from.size());
      }
      return true;
    }
  }

  template <class View, class Key>
  static View key_of(const Key& key) {
    return static_cast<View>(key);
  }

  template <class Converter>
  static bool store_optional(Converter& by, const From& from, To& to) {
    if (!from.has_value()) {
      to.reset();
      return true;
    }
    auto* const made = to.try_emplace();
    if (made == nullptr) return by.fail(convert_error::no_room, 1);
    return by.convert(*from, *made);
  }

  template <class Converter>
  static bool store_elements(Converter& by, const From& from, To& to) {
    using element = typename To::value_type;
    const auto all = [&](const auto& elements) {
      if constexpr (std::same_as<std::remove_cvref_t<decltype(*std::ranges::begin(elements))>, element>) {
        return to.try_assign_range(elements) || by.fail(convert_error::no_room, elements.size());
      } else {
        to.clear();
        if (!to.try_reserve(elements.size())) return by.fail(convert_error::no_room, elements.size());
        std::size_t index = 0;
        for (const auto& each : elements) {
          auto* const made = to.try_emplace_back();
          if (made == nullptr) return by.fail(convert_error::no_room, elements.size());
          if (!by.convert(each, *made)) return by.enter(index);
          ++index;
        }
        return true;
      }
    };
    if constexpr (bulk<From>) {
      const auto found = from.try_span(by.from_body());
      return found ? all(*found) : by.fail(by.from_body().size(), static_cast<std::size_t>(from.size()));
    } else {
      return all(from);
    }
  }

  template <class Converter>
  static bool load(Converter& by, const From& from, To& to) {
    if constexpr (message_union<From>) {
      return by.convert_union(from, to);
    } else if constexpr (string<To>) {
      if (!by.repeat(from.size(), sizeof(typename To::value_type))) return false;
      if constexpr (std::same_as<From, region_string>) {
        return by.assign_text(from.view(), to);
      } else {
        return by.assign_text(std::u16string_view(from.data(), from.size()), to);
      }
    } else if constexpr (optional<To>) {
      if (!from) {
        to.reset();
        return true;
      }
      const auto read = [&] { return by.nested([&] { return by.convert(*from, to.emplace()); }); };
      if constexpr (is_region_shared<From>::value) {
        return by.shared(from.get(), sizeof(*to), read);
      } else {
        return read();
      }
    } else if constexpr (map<To>) {
      return by.repeat(from.size(), sizeof(*to.begin())) &&
             by.nested([&] { return by.convert_map(from, to); });
    } else if constexpr (bulk<To>) {
      const auto found = to.try_span(by.to_body());
      if (!found || found->size() != from.size())
        return by.fail(static_cast<std::size_t>(to.size()), from.size());
      return copy(by, from, *found);
    } else {
      if (!by.repeat(from.size(), sizeof(typename To::value_type)) || !by.resize(to, from.size()))
        return false;
      return copy(by, from, to);
    }
  }
  template <class Converter, class Target>
  static bool copy(Converter& by, const From& from, Target&& to) {
    std::size_t index = 0;
    for (const auto& each : from) {
      if constexpr (std::same_as<From, region_hash_set<std::remove_cvref_t<decltype(each)>>> ||
                    std::is_scalar_v<std::remove_cvref_t<decltype(each)>>) {
        to[index] = each;
      } else if (!by.nested([&] { return by.convert(each, to[index]); })) {
        return by.enter(index);
      }
      ++index;
    }
    return true;
  }
};

}  // namespace situ::detail

namespace situ {

/// Assigns the same message from another storage, as `convert` makes it. After an error the value is
/// unchanged. Both the old and the new value need room. `from_body` holds the bulk fields of a flat message.
template <message From, region_message To>
requires(!std::same_as<From, To> && std::same_as<rebind<From, in_region>, To>)
    [[nodiscard]] result<void, convert_error> try_assign(To& to, const From& from,
                                                         std::span<const std::byte> from_body = {}) {
  detail::converter converter(from_body, {});
  // Reported if there is no room from the start.
  static_cast<void>(converter.fail(convert_error::no_room, 1));
  const bool done = region_detail::replace_whole(region_detail::header_of(to), to,
                                                 [&](To& made) { return converter.convert(from, made); });
  if (done) return {};
  return failure{converter.take_error()};
}

}  // namespace situ
