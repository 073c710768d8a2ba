// Taking regions: the subscriber that `node.subscriber<T>()` returns for a T with storage in regions.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "situ/bus/c_abi/error.hpp"
#include "situ/bus/c_abi/type.hpp"
#include "situ/bus/raii/any_subscriber.hpp"
#include "situ/bus/raii/node.hpp"
#include "situ/bus/region/sample.hpp"
#include "situ/bus/typed/subscriber.hpp"
#include "situ/cdr.hpp"
#include "situ/convert.hpp"
#include "situ/region.hpp"
#include "situ/validate.hpp"

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
    if (status != SITU_OK || !open(next, why)) {
      detail::succeeded(status, raw, why);
      return;
    }
    taken.emplace(std::move(next));
  }

  bool open(sample<T>& taken, detail::failed& why) {
    const std::span bytes(static_cast<const std::byte*>(taken.raw_.body), taken.raw_.body_size);
    if (taken.raw_.encoding != SITU_REGION) return store(taken, bytes, why);
    region_invalid problem{};
    // Keeps the bitmap's memory from one large message to the next.
    region_detail::check_bitmap bits(for_large_);
    region_detail::image_versions versions;
    if (!region_detail::check_image<T>(bytes, bits, versions, problem)) {
      return refuse(taken, problem.message(), why);
    }
    if (versions.fewer) return renew(taken, bytes, why);
    std::uint32_t size = 0;
    std::memcpy(&size, bytes.data() + offsetof(region_detail::header, size), sizeof(size));
    taken.image_ = bytes.first(std::min<std::size_t>(size, bytes.size()));
    taken.value_ = reinterpret_cast<const T*>(bytes.data() + region_detail::root_offset);
    return true;
  }

  /// Reads an image of an older version through a copy, in which missing members have their defaults.
  bool renew(sample<T>& taken, std::span<const std::byte> bytes, detail::failed& why) {
    taken.image_ = bytes;
    auto own = taken.copy();
    if (!own) return refuse(taken, own.error().message(), why);
    keep(taken, std::make_unique<region<T>>(std::move(*own)));
    return true;
  }
  static void keep(sample<T>& taken, std::unique_ptr<region<T>> own) noexcept {
    taken.own_ = std::move(own);
    taken.image_ = taken.own_->bytes();
    taken.value_ = taken.own_->get();
  }

  /// Stores a serialized or flat message in a region, by way of the heap.
  bool store(sample<T>& taken, std::span<const std::byte> bytes, detail::failed& why) {
    rebind<T, heap> value;
    if (taken.raw_.encoding != SITU_FLAT) {
      if (auto done = decode(value, bytes); !done) return refuse(taken, done.error().message(), why);
    } else if constexpr (requires { typename rebind<T, flat>; }) {
      const std::span head(static_cast<const std::byte*>(taken.raw_.head), taken.raw_.head_size);
      auto found = validate_bytes<rebind<T, flat>>(head, bytes.size());
      if (!found) return refuse(taken, found.error().message(), why);
      if (auto done = convert(**found, value, bytes); !done)
        return refuse(taken, done.error().message(), why);
    } else {
      return refuse(taken, "the message is flat, but the type has no flat form", why);
    }
    auto own = std::make_unique<region<T>>();
    if (auto done = convert(value, **own); !done) return refuse(taken, done.error().message(), why);
    situ_count_copy(bytes.size());
    keep(taken, std::move(own));
    return true;
  }

  static bool refuse(const sample<T>& taken, const std::string& reason, detail::failed& why) {
    why.emplace(errc::malformed, "message " + std::to_string(taken.raw_.sequence) + " is not a valid " +
                                     std::string(T::situ_name) + ": " + reason);
    return false;
  }

  std::vector<std::uint64_t> for_large_;
};

namespace detail {

template <message T>
bool read_region(std::span<const std::byte> image, T& to, std::string& reason) {
  using form = rebind<T, in_region>;
  if constexpr (requires { form::template situ_region_parts<region_detail::member>(); }) {
    auto found = view_region<form>(image);
    if (!found && found.error().problem == region_problem::other_version) {
      auto own = region<form>::adopt(image);
      const auto done = own ? convert(**own, to) : result<void, convert_error>();
      reason = !own ? own.error().message() : !done ? done.error().message() : std::string();
      return reason.empty();
    }
    if (!found) {
      reason = found.error().message();
      return false;
    }
    if (auto done = convert(**found, to); !done) {
      reason = done.error().message();
      return false;
    }
    return true;
  } else {
    reason = "the message is a region, but the type has no region form";
    return false;
  }
}

}  // namespace detail
}  // namespace situ
