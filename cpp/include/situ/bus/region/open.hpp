// Opening samples of regions: a region is checked and read in place; another message is stored in a region.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "situ.h"
#include "situ/bus/c_abi/error.hpp"
#include "situ/bus/region/sample.hpp"
#include "situ/bus/typed/open.hpp"
#include "situ/cdr.hpp"
#include "situ/convert.hpp"
#include "situ/region.hpp"
#include "situ/validate.hpp"

namespace situ::detail {

/// Makes samples of regions of what was taken.
struct region_opener {
  /// A sample that holds nothing.
  template <region_message T>
  static sample<T> none() noexcept {
    return sample<T>();
  }
  /// What C takes into.
  template <region_message T>
  static situ_sample& raw(sample<T>& of) noexcept {
    return of.raw_;
  }

  /// Makes a message of the bytes that were taken. `for_large` keeps the bitmap's memory from one large
  /// message to the next.
  template <region_message T>
  static bool open(sample<T>& taken, std::vector<std::uint64_t>& for_large, failed& why) {
    const std::span bytes(static_cast<const std::byte*>(taken.raw_.body), taken.raw_.body_size);
    if (taken.raw_.encoding != SITU_REGION) return store(taken, bytes, why);
    region_invalid problem{};
    region_detail::check_bitmap bits(for_large);
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

 private:
  /// Reads an image of an older version through a copy, in which missing members have their defaults.
  template <region_message T>
  static bool renew(sample<T>& taken, std::span<const std::byte> bytes, failed& why) {
    taken.image_ = bytes;
    auto own = taken.copy();
    if (!own) return refuse(taken, own.error().message(), why);
    keep(taken, std::make_unique<region<T>>(std::move(*own)));
    return true;
  }
  template <region_message T>
  static void keep(sample<T>& taken, std::unique_ptr<region<T>> own) noexcept {
    taken.own_ = std::move(own);
    taken.image_ = taken.own_->bytes();
    taken.value_ = taken.own_->get();
  }

  /// Stores a serialized or flat message in a region, by way of the heap.
  template <region_message T>
  static bool store(sample<T>& taken, std::span<const std::byte> bytes, failed& why) {
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

  template <region_message T>
  static bool refuse(const sample<T>& taken, const std::string& reason, failed& why) {
    why.emplace(errc::malformed, "message " + std::to_string(taken.raw_.sequence) + " is not a valid " +
                                     std::string(T::situ_name) + ": " + reason);
    return false;
  }
};

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

}  // namespace situ::detail
