// What the elements of containers are made of where a value of their own type cannot be had.
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
/// What a value of type T is made of in braces and the like: itself, or the text of a string.
template <class T>
using argument_of = typename argument<T>::type;

}  // namespace situ::region_detail
