// Taking regions: the subscriber that `node.subscriber<T>()` returns for a T with storage in regions.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "situ/bus/c_abi/error.hpp"
#include "situ/bus/c_abi/type.hpp"
#include "situ/bus/raii/any_subscriber.hpp"
#include "situ/bus/raii/node.hpp"
#include "situ/bus/region/open.hpp"
#include "situ/bus/region/sample.hpp"
#include "situ/bus/typed/subscriber.hpp"
#include "situ/region.hpp"

namespace situ {

/// Subscribes to regions of type T. May move between threads, but only one thread may use it at a time. Its
/// samples may go to other threads.
template <region_message T>
class subscriber<T> : public any_subscriber {
 public:
  /// Joins a topic.
  subscriber(const node& on, const std::string& topic, const subscriber_qos& qos = {},
             const placement& where = {}) {
    detail::failed why;
    join(on, topic, qos, where, why);
    detail::raise_if(why);
  }
  /// As the constructor, without an exception.
  [[nodiscard]] static result<subscriber, error> try_create(const node& on, const std::string& topic,
                                                            const subscriber_qos& qos = {},
                                                            const placement& where = {}) {
    detail::failed why;
    subscriber made;
    made.join(on, topic, qos, where, why);
    return detail::result_of(std::move(made), std::move(why));
  }

  /// Takes the next message, if there is one, without waiting. A region is checked and read in place. A
  /// serialized or flat message is stored in a region of this process. If a message cannot be read, the
  /// exception skips it.
  [[nodiscard]] std::optional<sample<T>> take() {
    detail::failed why;
    std::optional<sample<T>> taken;
    take_into(taken, why);
    detail::raise_if(why);
    return taken;
  }
  /// As `take`, without an exception.
  [[nodiscard]] result<std::optional<sample<T>>, error> try_take() {
    detail::failed why;
    std::optional<sample<T>> taken;
    take_into(taken, why);
    return detail::result_of(std::move(taken), std::move(why));
  }

  /// Waits for the next message and takes it. Returns nothing if the timeout passes first.
  [[nodiscard]] std::optional<sample<T>> receive(std::chrono::nanoseconds timeout = forever) {
    using clock = std::chrono::steady_clock;
    const auto start = clock::now();
    for (auto left = timeout;;) {
      std::optional<sample<T>> taken = take();
      if (taken || !wait(left)) return taken;
      if (timeout != forever) left = timeout - (clock::now() - start);
    }
  }

 private:
  subscriber() = default;
  void join(const node& on, const std::string& topic, const subscriber_qos& qos, const placement& where,
            detail::failed& why) {
    create(on, topic, qos, where, detail::type_description::of_region<T>(region_detail::layout_hash<T>()),
           why);
  }

  void take_into(std::optional<sample<T>>& taken, detail::failed& why) {
    situ_error raw;
    sample<T> next;
    const situ_status status = situ_subscriber_take(handle(), &next.raw_, &raw);
    if (status != SITU_OK || !detail::region_opener::open(next, for_large_, why)) {
      detail::succeeded(status, raw, why);
      return;
    }
    taken.emplace(std::move(next));
  }

  std::vector<std::uint64_t> for_large_;
};

}  // namespace situ
