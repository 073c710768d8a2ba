// Publishing regions: the publisher that `node.publisher<T>()` returns for a T with storage in regions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "situ/bus/c_abi/error.hpp"
#include "situ/bus/c_abi/type.hpp"
#include "situ/bus/raii/any_publisher.hpp"
#include "situ/bus/raii/node.hpp"
#include "situ/bus/region/loan.hpp"
#include "situ/bus/region/sample.hpp"
#include "situ/bus/typed/publisher.hpp"
#include "situ/convert.hpp"
#include "situ/region.hpp"

namespace situ {

/// Publishes regions of type T. May move between threads while it has no loan, but only one thread may use it
/// at a time.
template <region_message T>
class publisher<T> : public any_publisher {
 public:
  /// Joins a topic.
  publisher(const node& on, const std::string& topic, const publisher_qos& qos = {},
            const placement& where = {}) {
    detail::failed why;
    join(on, topic, qos, where, why);
    detail::raise_if(why);
  }
  /// As the constructor, without an exception.
  [[nodiscard]] static result<publisher, error> try_create(const node& on, const std::string& topic,
                                                           const publisher_qos& qos = {},
                                                           const placement& where = {}) {
    detail::failed why;
    publisher made;
    made.join(on, topic, qos, where, why);
    return detail::result_of(std::move(made), std::move(why));
  }

  /// Lends a region with a new value. It has the memory that the last messages needed, and at least `bytes`.
  /// It can grow to eight times as much, and to at least 256 MiB.
  [[nodiscard]] situ::loan<T> loan(std::size_t bytes = 0) {
    detail::failed why;
    situ::loan<T> lent(memory_);
    lent.begin(bytes, lender(), why);
    detail::raise_if(why);
    return lent;
  }
  /// As `loan`, without an exception.
  [[nodiscard]] result<situ::loan<T>, error> try_loan(std::size_t bytes = 0) {
    detail::failed why;
    situ::loan<T> lent(memory_);
    lent.begin(bytes, lender(), why);
    return detail::result_of(std::move(lent), std::move(why));
  }
  /// Lends a region that starts as a copy of a message taken from any topic. The copy is checked.
  [[nodiscard]] situ::loan<T> edit(const sample<T>& from) {
    detail::failed why;
    situ::loan<T> lent(memory_);
    edit(lent, from, why);
    detail::raise_if(why);
    return lent;
  }
  /// As `edit`, without an exception.
  [[nodiscard]] result<situ::loan<T>, error> try_edit(const sample<T>& from) {
    detail::failed why;
    situ::loan<T> lent(memory_);
    edit(lent, from, why);
    return detail::result_of(std::move(lent), std::move(why));
  }

  /// Publishes the value of a message on the heap, and returns its number in the topic's order.
  std::uint64_t publish(const rebind<T, heap>& value) {
    situ::loan<T> lent = loan();
    detail::failed why;
    lent.store(value, why);
    detail::raise_if(why);
    return lent.publish();
  }

 private:
  publisher() = default;
  void join(const node& on, const std::string& topic, const publisher_qos& qos, const placement& where,
            detail::failed& why) {
    create(on, topic, qos, where, detail::type_description::of_region<T>(region_detail::layout_hash<T>()),
           why);
  }
  [[nodiscard]] auto lender() const noexcept {
    return [from = handle()](detail::raw_loan& lent, std::size_t body, std::size_t room,
                             detail::failed& why) { return lent.lend_growing(from, body, room, why); };
  }
  void edit(situ::loan<T>& lent, const sample<T>& from, detail::failed& why) {
    region_invalid problem{};
    if (edit_image(lent, from.bytes(), problem, why) || why) return;
    if (problem.problem == region_problem::other_version) {
      // The image is of a newer version. The copy drops members that this program does not know.
      auto known = from.copy();
      lent.raw_ = {};
      if (known && (edit_image(lent, known->bytes(), problem, why) || why)) return;
      if (!known) problem = std::move(known.error());
    }
    why.emplace(errc::malformed, "the message was changed after it was published: " + problem.message());
  }
  bool edit_image(situ::loan<T>& lent, std::span<const std::byte> image, region_invalid& problem,
                  detail::failed& why) {
    const std::size_t room = std::max(situ::loan<T>::room_for(image.size()), memory_.hint);
    if (!lent.lend_memory(room, lender(), why)) return false;
    std::memcpy(lent.raw_.body().data(), image.data(), image.size());
    situ_count_copy(image.size());
    auto adopted = region<T>::adopt_in_place(lent.raw_.body(), memory_.for_large);
    if (!adopted) {
      problem = std::move(adopted.error());
      return false;
    }
    lent.region_.emplace(std::move(*adopted));
    lent.grows();
    return true;
  }
  detail::region_memory memory_;
};

}  // namespace situ
