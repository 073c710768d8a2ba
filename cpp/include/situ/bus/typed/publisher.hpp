// Publishing: flat messages are built in place, others are serialized directly into shared memory.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <new>
#include <string>
#include <type_traits>
#include <utility>

#include "situ/bus/c_abi/error.hpp"
#include "situ/bus/c_abi/type.hpp"
#include "situ/bus/raii/any_publisher.hpp"
#include "situ/bus/raii/node.hpp"
#include "situ/bus/typed/loan.hpp"
#include "situ/cdr.hpp"
#include "situ/convert.hpp"
#include "situ/layout/message.hpp"

namespace situ {

/// Publishes messages of type T. May move between threads, but only one thread may use it at a time.
template <message T>
class publisher : public any_publisher {
 public:
  /// The numbers of elements in the bulk fields of a message: `{.data = 640 * 480}`.
  using bulk_lengths = typename T::bulk_lengths;

  /// Joins a topic.
  publisher(const node& on, const std::string& topic, const publisher_qos& qos = {},
            const placement& where = {}) {
    detail::failed why;
    create(on, topic, qos, where, detail::type_description::of<T>(), why);
    detail::raise_if(why);
  }
  /// As the constructor, without an exception.
  [[nodiscard]] static result<publisher, error> try_create(const node& on, const std::string& topic,
                                                           const publisher_qos& qos = {},
                                                           const placement& where = {}) {
    detail::failed why;
    publisher made;
    made.create(on, topic, qos, where, detail::type_description::of<T>(), why);
    return detail::result_of(std::move(made), std::move(why));
  }

  /// Lends a message, default-initialized in place. The cost does not depend on the bounds of the type: only
  /// occupied bytes are written. The body has room for the given bulk lengths.
  [[nodiscard]] situ::loan<T> loan(const bulk_lengths& lengths = {}) requires flat_message<T> {
    detail::failed why;
    situ::loan<T> lent;
    lend(lent, lengths, why);
    detail::raise_if(why);
    return lent;
  }
  /// As `loan`, without an exception.
  [[nodiscard]] result<situ::loan<T>, error> try_loan(const bulk_lengths& lengths = {}) requires
      flat_message<T> {
    detail::failed why;
    situ::loan<T> lent;
    lend(lent, lengths, why);
    return detail::result_of(std::move(lent), std::move(why));
  }

  /// Publishes a message from other memory, and returns its number in the topic's order. Of a flat message,
  /// the occupied bytes are copied. A message on the heap is serialized into shared memory or, by a publisher
  /// of its flat form, converted.
  template <message M>
  requires std::same_as<M, T> ||(flat_message<T>&& std::same_as<M, rebind<T, heap>>)std::uint64_t
      publish(const M& value) {
    detail::failed why;
    const std::uint64_t sequence = copy_and_publish(value, why);
    detail::raise_if(why);
    return sequence;
  }
  /// As `publish`, without an exception.
  template <message M>
  requires std::same_as<M, T> ||(flat_message<T>&& std::same_as<M, rebind<T, heap>>)
      [[nodiscard]] result<std::uint64_t, error> try_publish(const M& value) {
    detail::failed why;
    std::uint64_t sequence = copy_and_publish(value, why);
    return detail::result_of(std::move(sequence), std::move(why));
  }

 private:
  static constexpr bool has_bulk = !std::is_same_v<bulk_lengths, no_bulk>;

  publisher() = default;
  bool lend(situ::loan<T>& lent, const bulk_lengths& lengths, detail::failed& why) {
    static_assert(alignof(T) <= 64);
    const auto body = T::body_size(lengths);
    if (!body) {
      why.emplace(errc::invalid_argument,
                  std::string(T::situ_name) +
                      " cannot be lent: a bulk length exceeds its bound or the address space");
      return false;
    }
    if (!lent.raw_.lend(handle(), sizeof(T), alignof(T), *body, why)) return false;
    T::init_at(lent.raw_.head(), lengths);
    return true;
  }

  template <message M>
  std::uint64_t copy_and_publish(const M& value, detail::failed& why) {
    if constexpr (!flat_message<T>) {
      return serialize_and_publish(value, why);
    } else if constexpr (std::same_as<M, T>) {
      static_assert(!has_bulk,
                    "the bulk fields of a flat message lie in its body: use loan() and fill its body");
      detail::raw_loan lent;
      if (!lent.lend(handle(), sizeof(T), alignof(T), 0, why)) return 0;
      ::new (lent.head()) T(value);
      situ_count_copy(sizeof(T));
      return lent.publish(why);
    } else {
      situ::loan<T> lent;
      // Both types of lengths have the same members: the generator writes them once for all storages.
      if (!lend(lent, std::bit_cast<bulk_lengths>(bulk_lengths_of(value)), why)) return 0;
      if (auto done = convert(value, *lent, {}, lent.body()); !done) {
        why.emplace(errc::invalid_argument,
                    std::string(T::situ_name) + " cannot be published: " + done.error().message());
        return 0;
      }
      situ_count_copy(sizeof(T) + lent.body().size());
      return lent.raw_.publish(why);
    }
  }

  std::uint64_t serialize_and_publish(const T& value, detail::failed& why) {
    const auto refuse = [&why](const encode_error& problem) {
      why.emplace(errc::invalid_argument,
                  std::string(T::situ_name) + " cannot be serialized: " + problem.message());
      return std::uint64_t{0};
    };
    const auto size = encoded_size(value);
    if (!size) return refuse(size.error());
    detail::raw_loan lent;
    if (!lent.lend(handle(), 0, 1, *size, why)) return 0;
    const auto written = encode(value, lent.body());
    if (!written) return refuse(written.error());
    situ_count_copy(*written);
    return lent.publish(why);
  }
};

}  // namespace situ
