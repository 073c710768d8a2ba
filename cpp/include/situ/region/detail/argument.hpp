// The argument types for elements of containers, for elements that cannot be passed by value.
#pragma once

namespace situ::region_detail {

template <class T>
struct argument {
  using type = T;
};
template <class T>
requires requires { typename T::situ_argument; }
struct argument<T> {
  using type = typename T::situ_argument;
};
/// The argument for a value of type T in braces and bulk operations: T itself, or the text of a string.
template <class T>
using argument_of = typename argument<T>::type;

}  // namespace situ::region_detail
