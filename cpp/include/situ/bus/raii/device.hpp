// Memory domains: where messages lie, spans of device memory, and streams of work on it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "situ.h"
#include "situ/bus/c_abi/error.hpp"
#include "situ/bus/c_abi/handle.hpp"
#include "situ/bus/c_abi/qos.hpp"
#include "situ/memory.h"

namespace situ {

class node;
template <class T>
class device_span;

/// How the memory of a publisher's messages is allocated: see situ.h.
enum class strategy : std::uint32_t {
  size_classes = SITU_SIZE_CLASSES,  ///< by classes of size
  ring = SITU_RING,                  ///< in the order of publication
  /// in slots of one size, all of which have memory from the start: see `placement::fixed_slots`
  fixed_slots = SITU_FIXED_SLOTS,
};

/// The domain in which a publisher places bodies, or in which a subscriber takes: `{.domain = "cuda:0"}`.
struct placement {
  /// "host", "emulated:0", "vulkan:0" or "cuda:0". The domain is opened on first use.
  std::string domain = "host";
  /// The maximum memory in bytes for a publisher's bodies, or for the copies that a subscriber makes. Zero:
  /// no limit on the host, and 256 MiB in domains that allocate their memory at once.
  std::uint64_t capacity = 0;
  /// The publisher copies each message into every domain with a subscriber right after publishing. Otherwise
  /// the first subscriber in the domain that takes the message copies it. Copies into a device run in the
  /// background; the publisher's destructor waits for them for at most one second.
  bool eager_copies = false;
  /// Whether messages in a domain other than the host's may be serialized. A participant that sets it reads
  /// or writes the bytes of the encoding there by itself.
  bool serialized = false;
  /// How a publisher's memory is allocated.
  situ::strategy strategy = situ::strategy::size_classes;
  /// With `strategy::fixed_slots`, the number of slots, and the size in bytes of the largest message, head
  /// and body together: see situ_memory_options in situ/memory.h.
  std::uint32_t fixed_slots = 0;
  std::uint64_t slot_size = 0;
  /// Huge pages for a publisher's memory, where whole ones fit.
  bool huge_pages = false;
  /// The NUMA node from which a publisher's memory should come.
  std::optional<std::uint32_t> numa_node{};
};

/// The state of a message's fence.
enum class fence_state : int {
  complete = SITU_COMPLETE,  ///< all bytes are written
  pending = SITU_PENDING,    ///< bytes are still being written
  poisoned = SITU_POISONED,  ///< the writer failed: the message never becomes complete
};

/// The point at which a message is complete: see situ.h.
using fence = situ_fence;

namespace detail {

/// The placement for C. Valid as long as `where`.
inline situ_placement to_c(const placement& where) noexcept {
  return {where.domain.c_str(), where.capacity, where.eager_copies ? 1U : 0U,
          static_cast<std::uint32_t>(where.strategy), where.serialized ? 1U : 0U};
}

/// The rest of a placement for C.
inline situ_memory_options memory_of(const placement& where) noexcept {
  return {where.fixed_slots, where.slot_size, where.huge_pages ? 1U : 0U,
          where.numa_node.has_value() ? 1U : 0U, where.numa_node.value_or(0)};
}

/// The part of a payload that belongs to a bulk field. Empty if the field lies outside the payload.
template <class U, class Field>
device_span<U> part_of(const situ_span& payload, const Field& field) noexcept {
  if (!field.fits(payload.size)) return device_span<U>({});
  situ_span part = payload;
  part.address += field.offset();
  part.offset += field.offset();
  part.size = field.size() * sizeof(U);
  return device_span<U>(part);
}

}  // namespace detail

/// Elements in a domain's memory, for work on its streams. Valid as long as the loan or sample that it came
/// from, which must outlive that work.
template <class T>
class device_span {
 public:
  explicit device_span(const situ_span& raw) noexcept : raw_(raw) {}

  /// The first element, as kernels of a domain with addresses see it. The CPU may use it in the host's domain
  /// only.
  [[nodiscard]] T* data() const noexcept {
    return reinterpret_cast<T*>(static_cast<std::uintptr_t>(raw_.address));
  }
  /// The number of elements.
  [[nodiscard]] std::size_t size() const noexcept { return static_cast<std::size_t>(raw_.size / sizeof(T)); }
  [[nodiscard]] std::size_t size_bytes() const noexcept { return static_cast<std::size_t>(raw_.size); }
  [[nodiscard]] bool empty() const noexcept { return raw_.size == 0; }
  /// Address, offset, memory and domain: see situ.h.
  [[nodiscard]] const situ_span& raw() const noexcept { return raw_; }

 private:
  situ_span raw_;
};

/// A queue of work on a domain, done in order. All threads may use it at once.
class stream {
 public:
  /// Creates a stream on a domain that the node has.
  stream(const node& on, const std::string& domain);
  /// As the constructor, without an exception.
  [[nodiscard]] static result<stream, error> try_create(const node& on, const std::string& domain);

  /// Waits until all enqueued work is done. Returns false if the timeout passes first. Throws if work failed.
  bool synchronize(std::chrono::nanoseconds timeout = forever) const {
    situ_error raw;
    detail::failed why;
    const situ_status status = situ_stream_synchronize(handle_.get(), detail::limit_of(timeout), &raw);
    detail::succeeded(status, raw, why);
    detail::raise_if(why);
    return status == SITU_OK;
  }

  /// The handle for the C interface.
  [[nodiscard]] situ_stream* handle() const noexcept { return handle_.get(); }

 private:
  stream() = default;
  void create(situ_node* on, const std::string& domain, detail::failed& why) {
    situ_error raw;
    situ_stream* made = nullptr;
    if (detail::succeeded(situ_stream_create(on, domain.c_str(), &made, &raw), raw, why)) {
      handle_.reset(made);
    }
  }

  detail::owner<situ_stream> handle_;
};

}  // namespace situ
