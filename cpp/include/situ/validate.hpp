// Checks that bytes written by another process are a valid flat message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>

#include "situ/layout/message.hpp"
#include "situ/support/path.hpp"
#include "situ/support/result.hpp"
#include "situ/support/utf8.hpp"

namespace situ {

/// A problem of bytes that should be a flat message.
enum class validate_problem {
  too_long,        ///< a length (`found`) is greater than the schema allows (`limit`)
  not_a_bool,      ///< a boolean or a presence flag (`found`) is neither 0 nor 1
  not_utf8,        ///< the text is not UTF-8 from byte `found` on
  not_terminated,  ///< no terminating zero follows the `found` characters
  not_sorted,      ///< key number `found` of a map is not greater than the one before it
  outside_body,    ///< bulk data at `found` lies outside the body of `limit` bytes
  misaligned,      ///< bulk data at `found` is not aligned to `limit`
  wrong_size,      ///< there are `found` bytes, but the type has `limit`
  wrong_address,   ///< the bytes do not start at a multiple of `limit`
};

/// Bytes that should be a flat message are not valid.
struct validate_error {
  validate_problem problem;
  /// The member at fault.
  field_path path{};
  std::uint64_t found = 0;
  std::uint64_t limit = 0;

  /// The error as one sentence.
  [[nodiscard]] std::string message() const { return path.shown() + ": " + problem_text(); }

 private:
  [[nodiscard]] std::string problem_text() const {
    const std::string f = std::to_string(found);
    const std::string l = std::to_string(limit);
    switch (problem) {
      case validate_problem::too_long:
        return "length " + f + " exceeds its bound " + l;
      case validate_problem::not_a_bool:
        return f + " is not a boolean; only 0 and 1 are";
      case validate_problem::not_utf8:
        return "the text is not UTF-8 from byte " + f + " on";
      case validate_problem::not_terminated:
        return "the terminating zero after " + f + " characters is missing";
      case validate_problem::not_sorted:
        return "key " + f + " is not greater than the key before it";
      case validate_problem::outside_body:
        return "bulk data at " + f + " lies outside the body of " + l + " bytes";
      case validate_problem::misaligned:
        return "bulk data at " + f + " is not aligned to " + l;
      case validate_problem::wrong_size:
        return "there are " + f + " bytes, but the type has " + l;
      case validate_problem::wrong_address:
        return "the bytes do not lie at a multiple of " + l;
    }
    return "unknown problem";
  }
};

namespace detail {

/// Whether some bytes of the right size are not a valid T.
template <class T>
struct can_be_invalid : std::bool_constant<!scalar<T> || std::is_same_v<T, bool>> {};
template <class T, std::size_t N>
struct can_be_invalid<std::array<T, N>> : can_be_invalid<T> {};
template <class List>
struct any_can_be_invalid;
template <class... Ts>
struct any_can_be_invalid<type_list<Ts...>> : std::disjunction<can_be_invalid<Ts>...> {};
template <message T>
struct can_be_invalid<T> : any_can_be_invalid<typename T::situ_types> {};

class validator {
 public:
  explicit validator(std::uint64_t body_size) : body_size_(body_size) {}

  /// Never reads through a type that has invalid values (such as bool) before the bytes are known to be
  /// valid.
  template <class T>
  bool check(const T& value) {
    if constexpr (!can_be_invalid<T>::value) {
      return true;
    } else if constexpr (std::is_same_v<T, bool>) {
      return check_flag(*reinterpret_cast<const unsigned char*>(&value));
    } else if constexpr (string<T>) {
      return check_string(value);
    } else if constexpr (sequence<T>) {
      const std::uint64_t length = access::stored_size(value);
      if (length > T::bound) return fail(validate_problem::too_long, length, T::bound);
      return check_elements(value.data(), static_cast<std::size_t>(length));
    } else if constexpr (array<T>) {
      return check_elements(value.data(), value.size());
    } else if constexpr (map<T>) {
      return check(access::entries(value)) && check_order(value);
    } else if constexpr (optional<T>) {
      const std::uint8_t present = access::presence(value);
      return check_flag(present) && (present == 0 || check(*value));
    } else if constexpr (bulk<T>) {
      return check_bulk(value);
    } else if constexpr (message_union<T>) {
      return check(access::discriminator(value)) && value.visit_active([&](auto index, const auto& member) {
        return check(member) || enter(T::situ_cases[decltype(index)::value].name);
      });
    } else if constexpr (message<T>) {
      return T::situ_members(
          [&](const member_info& info, const auto& member) { return check(member) || enter(info.name); },
          value);
    } else {
      return check(value.first) && check(value.second);  // an entry of a map
    }
  }

  validate_error take_error() { return std::move(error_); }

 private:
  bool fail(validate_problem problem, std::uint64_t found, std::uint64_t limit = 0) {
    error_ = validate_error{problem, {}, found, limit};
    return false;
  }
  bool enter(std::string_view name) {
    error_.path.enter_member(name);
    return false;
  }
  bool check_flag(unsigned char byte) { return byte <= 1 || fail(validate_problem::not_a_bool, byte); }
  template <class T>
  bool check_string(const T& text) {
    const std::uint64_t length = access::stored_size(text);
    if (length > T::bound) return fail(validate_problem::too_long, length, T::bound);
    if (text.data()[length] != typename T::value_type())
      return fail(validate_problem::not_terminated, length);
    if constexpr (std::is_same_v<typename T::value_type, char>) {
      const std::size_t good = utf8_valid_up_to(text.view());
      if (good != length) return fail(validate_problem::not_utf8, good);
    }
    return true;
  }
  template <class T>
  bool check_elements(const T* elements, std::size_t count) {
    if constexpr (can_be_invalid<T>::value) {
      for (std::size_t i = 0; i < count; ++i) {
        if (!check(elements[i])) {
          error_.path.enter_element(i);
          return false;
        }
      }
    }
    return true;
  }
  template <class M>
  bool check_order(const M& entries) {
    for (std::size_t i = 1; i < entries.size(); ++i) {
      if (!entries.key_comp()(entries.begin()[i - 1].first, entries.begin()[i].first))
        return fail(validate_problem::not_sorted, i);
    }
    return true;
  }
  template <class T, std::size_t N>
  bool check_bulk(const bulk_ref<T, N>& where) {
    if (where.size() > N) return fail(validate_problem::too_long, where.size(), N);
    if (where.offset() > body_size_ || where.size() > (body_size_ - where.offset()) / sizeof(T)) {
      return fail(validate_problem::outside_body, where.offset(), body_size_);
    }
    if (!where.fits(body_size_)) return fail(validate_problem::misaligned, where.offset(), alignof(T));
    return true;
  }

  std::uint64_t body_size_;
  validate_error error_{};
};

}  // namespace detail

/// Checks the bytes of a flat message whose body has `body_size` bytes: lengths, booleans, text, the order of
/// maps, and that bulk fields lie within the body. `candidate` points to `sizeof(T)` readable, aligned bytes
/// of any content.
template <flat_message T>
[[nodiscard]] result<void, validate_error> validate(const T* candidate, std::size_t body_size) {
  detail::validator validator(body_size);
  if (validator.check(*candidate)) return {};
  return failure{validator.take_error()};
}

/// The flat message in `head` with a body of `body_size` bytes, if it is valid.
template <flat_message T>
[[nodiscard]] result<const T*, validate_error> validate_bytes(std::span<const std::byte> head,
                                                              std::size_t body_size) {
  if (head.size() != sizeof(T)) {
    return failure{validate_error{validate_problem::wrong_size, {}, head.size(), sizeof(T)}};
  }
  if (reinterpret_cast<std::uintptr_t>(head.data()) % alignof(T) != 0) {
    return failure{validate_error{validate_problem::wrong_address, {}, 0, alignof(T)}};
  }
  const T* candidate = reinterpret_cast<const T*>(head.data());
  auto checked = validate(candidate, body_size);
  if (!checked) return failure{std::move(checked).error()};
  return candidate;
}

}  // namespace situ
