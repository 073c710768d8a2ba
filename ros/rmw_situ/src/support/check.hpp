// Checks of the arguments of rmw's functions, and handles of Situ's C interface.
#pragma once

#include <rmw/check_type_identifiers_match.h>
#include <rmw/error_handling.h>
#include <rmw/types.h>
#include <situ.h>

#include <memory>
#include <new>

#include "identifier.hpp"

// Returns INVALID_ARGUMENT, with an error that names the argument, if it is NULL.
#define SITU_CHECK_ARGUMENT(argument_) RMW_CHECK_ARGUMENT_FOR_NULL(argument_, RMW_RET_INVALID_ARGUMENT)

// Returns INCORRECT_RMW_IMPLEMENTATION if the handle belongs to another middleware.
#define SITU_CHECK_HANDLE(handle_)                                                                           \
  do {                                                                                                       \
    SITU_CHECK_ARGUMENT(handle_);                                                                            \
    RMW_CHECK_TYPE_IDENTIFIERS_MATCH(#handle_, (handle_)->implementation_identifier, ::rmw_situ::identifier, \
                                     return RMW_RET_INCORRECT_RMW_IMPLEMENTATION);                           \
  } while (0)

// The same for functions that return a pointer.
#define SITU_CHECK_HANDLE_OR_NULL(handle_)                                                                   \
  do {                                                                                                       \
    RMW_CHECK_ARGUMENT_FOR_NULL(handle_, nullptr);                                                           \
    RMW_CHECK_TYPE_IDENTIFIERS_MATCH(#handle_, (handle_)->implementation_identifier, ::rmw_situ::identifier, \
                                     return nullptr);                                                        \
  } while (0)

namespace rmw_situ {

// What rmw returns for a failure of Situ. Sets rmw's error state to `what` and Situ's sentence.
rmw_ret_t failed(const char* what, const char* name, const situ_error& error);

// Runs a function of rmw, from which no exception may escape: `failure` is what it then returns.
template <class Function, class Result>
Result guarded(Result failure, Function&& function) noexcept {
  try {
    return function();
  } catch (const std::bad_alloc&) {
    RMW_SET_ERROR_MSG("out of memory");
  } catch (const std::exception& exception) {
    RMW_SET_ERROR_MSG_WITH_FORMAT_STRING("unexpected error: %s", exception.what());
  }
  return failure;
}

// Owners of handles of Situ.
template <auto Destroy>
struct Destroyer {
  template <class T>
  void operator()(T* handle) const noexcept {
    Destroy(handle);
  }
};
template <class T, auto Destroy>
using Handle = std::unique_ptr<T, Destroyer<Destroy>>;

using NodeHandle = Handle<situ_node, situ_node_destroy>;
using PublisherHandle = Handle<situ_publisher, situ_publisher_destroy>;
using SubscriberHandle = Handle<situ_subscriber, situ_subscriber_destroy>;

}  // namespace rmw_situ
