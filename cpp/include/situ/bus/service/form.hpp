// The forms in which requests and replies travel: messages, flat or on the heap, and regions.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "situ.h"
#include "situ/bus/c_abi/error.hpp"
#include "situ/bus/c_abi/type.hpp"
#include "situ/bus/raii/raw_loan.hpp"
#include "situ/bus/region/open.hpp"
#include "situ/bus/region/region_loan.hpp"
#include "situ/bus/typed/flat_loan.hpp"
#include "situ/bus/typed/open.hpp"
#include "situ/bus/typed/write.hpp"
#include "situ/layout/message.hpp"
#include "situ/region.hpp"

namespace situ::detail {

/// The type of requests or replies, for C.
template <message T>
type_description describe() {
  if constexpr (region_message<T>) {
    return type_description::of_region<T>(region_detail::layout_hash<T>());
  } else {
    return type_description::of<T>();
  }
}

/// A value that can be sent as a T: see `value_of`. For a region, the message on the heap.
template <class M, class T>
concept sendable_as = (region_message<T> && message<M> && std::same_as<M, rebind<T, heap>>) ||
                      (!region_message<T> && value_of<M, T>);

/// The base of a request or a reply under construction.
template <message T>
struct built_as {
  using type = flat_loan<T>;
};
template <region_message T>
struct built_as<T> {
  using type = region_loan<T>;
};
template <message T>
using built = typename built_as<T>::type;

/// A sample that holds nothing.
template <message T>
sample<T> no_sample() {
  if constexpr (region_message<T>) {
    return region_opener::none<T>();
  } else {
    return opener::none<T>();
  }
}

/// What C takes into.
template <message T>
situ_sample& raw_of(sample<T>& of) noexcept {
  if constexpr (region_message<T>) {
    return region_opener::raw(of);
  } else {
    return opener::raw(of);
  }
}

/// Makes a message of the bytes that were taken. `for_large` keeps memory for checks of large regions.
template <message T>
bool open_sample(sample<T>& taken, std::vector<std::uint64_t>& for_large, failed& why) {
  if constexpr (region_message<T>) {
    return region_opener::open(taken, for_large, why);
  } else {
    return opener::open(taken, why);
  }
}

}  // namespace situ::detail
