// Writing messages into shared memory: flat ones are built or copied there, others are serialized.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <new>
#include <string>
#include <type_traits>

#include "situ.h"
#include "situ/bus/c_abi/error.hpp"
#include "situ/bus/raii/raw_loan.hpp"
#include "situ/cdr.hpp"
#include "situ/convert.hpp"
#include "situ/layout/message.hpp"

namespace situ::detail {

/// A value that can be sent as a T: a T, or the message on the heap with the flat form T.
template <class M, class T>
concept value_of = message<M> &&(std::same_as<M, T> || (flat_message<T> && std::same_as<M, rebind<T, heap>>));

/// Lends memory with `lend(raw_loan&, head, align, body, failed&)`, and default-initializes a flat message
/// there.
template <message T, class Lend>
bool lend_flat(raw_loan& lent, const typename T::bulk_lengths& lengths, const Lend& lend, failed& why) {
  static_assert(alignof(T) <= 64);
  const auto body = T::body_size(lengths);
  if (!body) {
    why.emplace(
        errc::invalid_argument,
        std::string(T::situ_name) + " cannot be lent: a bulk length exceeds its bound or the address space");
    return false;
  }
  if (!lend(lent, sizeof(T), alignof(T), *body, why)) return false;
  T::init_at(lent.head(), lengths);
  return true;
}

/// Lends memory with `lend`, and serializes a value into it.
template <message T, class Lend>
bool serialize(raw_loan& lent, const T& value, const Lend& lend, failed& why) {
  const auto refuse = [&why](const encode_error& problem) {
    why.emplace(errc::invalid_argument,
                std::string(T::situ_name) + " cannot be serialized: " + problem.message());
    return false;
  };
  const auto size = encoded_size(value);
  if (!size) return refuse(size.error());
  if (!lend(lent, std::size_t{0}, std::size_t{1}, *size, why)) return false;
  const auto written = encode(value, lent.body());
  if (!written) return refuse(written.error());
  situ_count_copy(*written);
  return true;
}

/// Lends memory with `lend`, and writes a value into it as a T.
template <message T, value_of<T> M, class Lend>
bool write_value(raw_loan& lent, const M& value, const Lend& lend, failed& why) {
  using bulk_lengths = typename T::bulk_lengths;
  if constexpr (!flat_message<T>) {
    return serialize(lent, value, lend, why);
  } else if constexpr (std::same_as<M, T>) {
    static_assert(std::is_same_v<bulk_lengths, no_bulk>,
                  "the bulk fields of a flat message lie in its body: use loan() and fill its body");
    if (!lend(lent, sizeof(T), alignof(T), std::size_t{0}, why)) return false;
    ::new (lent.head()) T(value);
    situ_count_copy(sizeof(T));
    return true;
  } else {
    // Both types of lengths have the same members: the generator writes them once for all storages.
    if (!lend_flat<T>(lent, std::bit_cast<bulk_lengths>(bulk_lengths_of(value)), lend, why)) return false;
    if (auto done = convert(value, *static_cast<T*>(lent.head()), {}, lent.body()); !done) {
      why.emplace(errc::invalid_argument,
                  std::string(T::situ_name) + " cannot be sent: " + done.error().message());
      return false;
    }
    situ_count_copy(sizeof(T) + lent.body().size());
    return true;
  }
}

}  // namespace situ::detail
