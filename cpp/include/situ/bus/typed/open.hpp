// Reading messages that were taken: flat ones in place, others through a copy.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "situ.h"
#include "situ/bus/c_abi/error.hpp"
#include "situ/bus/typed/sample.hpp"
#include "situ/cdr.hpp"
#include "situ/convert.hpp"
#include "situ/layout/message.hpp"
#include "situ/validate.hpp"

namespace situ::detail {

/// Reads a region into a message with another storage. On failure returns false, with the reason. Defined in
/// bus/region/subscriber.hpp.
template <message T>
bool read_region(std::span<const std::byte> image, T& to, std::string& reason);

/// Makes samples of what was taken.
struct opener {
  /// A sample that holds nothing.
  template <message T>
  static sample<T> none() {
    return sample<T>(typename sample<T>::key{});
  }
  /// What C takes into.
  template <message T>
  static situ_sample& raw(sample<T>& of) noexcept {
    return of.raw_;
  }

  /// Makes a message of the bytes that were taken.
  template <message T>
  static bool open(sample<T>& taken, failed& why) {
    if (taken.raw_.encoding == SITU_REGION) return region_copy(taken, why);
    if (taken.raw_.encoding != SITU_FLAT) return decode_copy(taken, why);
    if constexpr (flat_message<T>) {
      taken.value_ = view<T>(taken.raw_, why);
      return taken.value_ != nullptr;
    } else if constexpr (requires { typename rebind<T, flat>; }) {
      return convert_copy(taken, why);
    } else {
      return refuse<T>(taken.raw_, "the message is flat, but the type has no flat form", why);
    }
  }

 private:
  template <flat_message M>
  static const M* view(const situ_sample& raw, failed& why) {
    auto found = validate_bytes<M>({static_cast<const std::byte*>(raw.head), raw.head_size}, raw.body_size);
    if (found) return *found;
    refuse<M>(raw, found.error().message(), why);
    return nullptr;
  }

  template <message T>
  static bool decode_copy(sample<T>& taken, failed& why) {
    auto copy = std::make_unique_for_overwrite<typename sample<T>::copy>();
    const std::span bytes(static_cast<const std::byte*>(taken.raw_.body), taken.raw_.body_size);
    if (auto done = decode(copy->value, bytes, copy->body); !done) {
      return refuse<T>(taken.raw_, done.error().message(), why);
    }
    return keep(taken, std::move(copy), bytes.size());
  }

  template <message T>
  static bool region_copy(sample<T>& taken, failed& why) {
    auto copy = std::make_unique<typename sample<T>::copy>();
    const std::span image(static_cast<const std::byte*>(taken.raw_.body), taken.raw_.body_size);
    std::string reason;
    if (!read_region(image, copy->value, reason)) return refuse<T>(taken.raw_, reason, why);
    return keep(taken, std::move(copy), image.size());
  }

  template <message T>
  static bool convert_copy(sample<T>& taken, failed& why) {
    const rebind<T, flat>* found = view<rebind<T, flat>>(taken.raw_, why);
    if (found == nullptr) return false;
    const std::span body(static_cast<const std::byte*>(taken.raw_.body), taken.raw_.body_size);
    auto copy = std::make_unique_for_overwrite<typename sample<T>::copy>();
    if (auto done = convert(*found, copy->value, body); !done) {
      return refuse<T>(taken.raw_, done.error().message(), why);
    }
    return keep(taken, std::move(copy), taken.raw_.head_size + body.size());
  }

  /// Keeps a copy to read from, and releases the message's memory in the bus.
  template <message T>
  static bool keep(sample<T>& taken, std::unique_ptr<typename sample<T>::copy> copy, std::size_t bytes) {
    situ_sample_release(&taken.raw_);
    situ_count_copy(bytes);
    taken.copy_ = std::move(copy);
    taken.value_ = &taken.copy_->value;
    return true;
  }

  template <message T>
  static bool refuse(const situ_sample& raw, const std::string& reason, failed& why) {
    why.emplace(errc::malformed, "message " + std::to_string(raw.sequence) + " is not a valid " +
                                     std::string(T::situ_name) + ": " + reason);
    return false;
  }
};

}  // namespace situ::detail
