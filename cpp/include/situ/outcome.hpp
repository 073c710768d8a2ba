// Operations that raise exceptions: the result of a call is what the operation gives, or an exception.
//
// Service types of such operations have the types `Output`, `Exception` (a `std::variant`) and `Outcome` (a
// `situ::result` of both), and convert responses from and to outcomes.
#pragma once

#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include "situ/support/platform.hpp"
#include "situ/support/result.hpp"

namespace situ {
namespace detail {

/// The operation that has a response. Generated code declares the function beside the response.
template <class P>
using operation_of = decltype(situ_operation_of(static_cast<const P*>(nullptr)));

/// A response of an operation that raises exceptions.
template <class P>
concept outcome_response = requires {
  typename operation_of<P>;
};

/// Whether T is the outcome of the operation that has the response P.
template <class T, class P>
inline constexpr bool is_outcome = false;
template <class T, outcome_response P>
inline constexpr bool is_outcome<T, P> = std::is_same_v<T, typename operation_of<P>::Outcome>;

}  // namespace detail
}  // namespace situ
