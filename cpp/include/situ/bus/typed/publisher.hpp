// Publishing: flat messages are built in place, others are serialized directly into shared memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "situ/bus/c_abi/error.hpp"
#include "situ/bus/c_abi/type.hpp"
#include "situ/bus/raii/any_publisher.hpp"
#include "situ/bus/raii/node.hpp"
#include "situ/bus/raii/raw_loan.hpp"
#include "situ/bus/typed/loan.hpp"
#include "situ/bus/typed/write.hpp"
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
  template <detail::value_of<T> M>
  std::uint64_t publish(const M& value) {
    detail::failed why;
    const std::uint64_t sequence = copy_and_publish(value, why);
    detail::raise_if(why);
    return sequence;
  }
  /// As `publish`, without an exception.
  template <detail::value_of<T> M>
  [[nodiscard]] result<std::uint64_t, error> try_publish(const M& value) {
    detail::failed why;
    std::uint64_t sequence = copy_and_publish(value, why);
    return detail::result_of(std::move(sequence), std::move(why));
  }

  /// Publishes messages in this order, usually with one wake-up, and returns the number of the last one in
  /// the topic's order; nothing if there are none. Published loans are empty afterwards. If one fails, those
  /// before it were published, and it and the others are still valid. An empty loan is an error, before the
  /// first message is published. See situ/batch.h.
  std::optional<std::uint64_t> publish_all(std::span<situ::loan<T>> loans) requires flat_message<T> {
    detail::failed why;
    std::optional<std::uint64_t> last;
    publish_all(loans, last, why);
    detail::raise_if(why);
    return last;
  }
  /// The same, and removes published loans: after an exception, `loans` has those that were not published.
  std::optional<std::uint64_t> publish_all(std::vector<situ::loan<T>>& loans) requires flat_message<T> {
    detail::failed why;
    std::optional<std::uint64_t> last;
    publish_and_remove(loans, last, why);
    detail::raise_if(why);
    return last;
  }
  /// As `publish_all`, without an exception.
  [[nodiscard]] result<std::optional<std::uint64_t>, error> try_publish_all(
      std::span<situ::loan<T>> loans) requires flat_message<T> {
    detail::failed why;
    std::optional<std::uint64_t> last;
    publish_all(loans, last, why);
    return detail::result_of(std::move(last), std::move(why));
  }
  [[nodiscard]] result<std::optional<std::uint64_t>, error> try_publish_all(
      std::vector<situ::loan<T>>& loans) requires flat_message<T> {
    detail::failed why;
    std::optional<std::uint64_t> last;
    publish_and_remove(loans, last, why);
    return detail::result_of(std::move(last), std::move(why));
  }

 private:
  publisher() = default;
  /// Lends memory of this publisher.
  [[nodiscard]] auto lender() const noexcept {
    return [from = handle()](detail::raw_loan& lent, std::size_t head, std::size_t align, std::size_t body,
                             detail::failed& why) { return lent.lend(from, head, align, body, why); };
  }
  bool lend(situ::loan<T>& lent, const bulk_lengths& lengths, detail::failed& why) {
    return detail::lend_flat<T>(lent.raw_, lengths, lender(), why);
  }
  static std::size_t publish_all(std::span<situ::loan<T>> loans, std::optional<std::uint64_t>& last,
                                 detail::failed& why) {
    static_assert(sizeof(situ::loan<T>) == sizeof(detail::raw_loan), "an array of loans is one of raw loans");
    detail::raw_loan* const first = loans.empty() ? nullptr : &loans.front().raw_;
    return detail::raw_loan::publish_all(first, loans.size(), last, why);
  }
  static void publish_and_remove(std::vector<situ::loan<T>>& loans, std::optional<std::uint64_t>& last,
                                 detail::failed& why) {
    const std::size_t published = publish_all(std::span(loans), last, why);
    loans.erase(loans.begin(), loans.begin() + static_cast<std::ptrdiff_t>(published));
  }
  template <message M>
  std::uint64_t copy_and_publish(const M& value, detail::failed& why) {
    detail::raw_loan lent;
    if (!detail::write_value<T>(lent, value, lender(), why)) return 0;
    return lent.publish(why);
  }
};

}  // namespace situ
