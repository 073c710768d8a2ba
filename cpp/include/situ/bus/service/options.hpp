// The options and the types of clients and servers, and their form in C.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "situ.h"
#include "situ/bus/c_abi/qos.hpp"
#include "situ/bus/raii/device.hpp"
#include "situ/layout/message.hpp"
#include "situ/service.h"

namespace situ {

/// The options of a client or a server: `{.max_calls = 1000}`.
struct service_options {
  /// How many calls a client may have under way at once, at most 32,768. A server ignores it.
  std::size_t max_calls = 64;
  /// How many of its messages may wait to be taken: a client's requests by the slowest server, a server's
  /// replies by a client.
  std::size_t depth = 64;
  /// How many of others' messages may wait for it. Beyond it the oldest are skipped, and no other
  /// participant waits for this one. 0: all are kept.
  std::size_t keep_last = 0;
  /// How many messages of others it may hold at a time.
  std::size_t max_held = 256;
  /// Which participants' messages it reads in place.
  situ::trust trust = situ::trust::same_user;
  /// The largest message in bytes, and the largest part of another's memory that is mapped.
  std::uint64_t max_message = std::uint64_t{4} << 30;
  std::uint64_t max_pool = std::uint64_t{256} << 30;
  /// False: its messages carry no time stamps, and sending does not read the clock.
  bool stamps = true;
  /// The memory domain of requests: of those that a client sends, or in which a server takes them.
  placement requests{};
  /// The memory domain of replies: of those that a server sends, or in which a client takes them.
  placement replies{};
  /// Up to SITU_MAX_USER_DATA bytes that all participants can read (`situ::graph`).
  std::vector<std::byte> user_data{};
};

/// A service type, as `situ gen` makes it of a `.srv` file.
template <class S>
concept service_type = requires {
  typename S::Request;
  typename S::Response;
};

namespace detail {

/// The options for C. Valid as long as `options`.
inline situ_service_options to_c(const service_options& options) noexcept {
  situ_service_options raw = situ_service_options_default();
  raw.max_calls = options.max_calls;
  raw.depth = options.depth;
  raw.keep_last = options.keep_last;
  raw.max_held = options.max_held;
  raw.max_message = options.max_message;
  raw.max_pool = options.max_pool;
  raw.trust = static_cast<std::uint32_t>(options.trust);
  raw.without_stamps = options.stamps ? 0 : 1;
  raw.requests = to_c(options.requests);
  raw.replies = to_c(options.replies);
  raw.user_data = options.user_data.data();
  raw.user_data_size = options.user_data.size();
  return raw;
}

/// The types of requests and replies that the arguments of a client or server name.
template <class... Types>
struct service_types;
template <message Q, message P>
struct service_types<Q, P> {
  using request = Q;
  using reply = P;
};
template <service_type S>
struct service_types<S> {
  using request = typename S::Request;
  using reply = typename S::Response;
};

}  // namespace detail

template <message Q, message P>
class basic_client;
template <message Q, message P>
class basic_server;

/// A client of a service: `situ::client<Request, Reply>`, or `situ::client<S>` for a service type S.
template <class... Types>
using client = basic_client<typename detail::service_types<Types...>::request,
                            typename detail::service_types<Types...>::reply>;
/// A server of a service: `situ::server<Request, Reply>`, or `situ::server<S>` for a service type S.
template <class... Types>
using server = basic_server<typename detail::service_types<Types...>::request,
                            typename detail::service_types<Types...>::reply>;

}  // namespace situ
