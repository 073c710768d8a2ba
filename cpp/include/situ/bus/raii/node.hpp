// A node: a named participant of the bus that lives as long as its process.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "situ/bus/c_abi/error.hpp"
#include "situ/bus/c_abi/handle.hpp"
#include "situ/bus/c_abi/qos.hpp"
#include "situ/bus/raii/device.hpp"
#include "situ/bus/service/options.hpp"
#include "situ/layout/message.hpp"

namespace situ {

template <message T>
class publisher;
template <message T>
class subscriber;

/// The id of a publisher or subscriber, which never repeats. The first 8 bytes are the number of its node.
using endpoint_id = std::array<std::uint8_t, 16>;

/// The directory in which the bus keeps its files, and the users that may use it. Without a path:
/// `$SITU_ROOT` or, if that is not set, `/dev/shm/situ-<uid>`.
struct root {
  std::string path{};
  /// The number of the group that may use the directory. Requires a path. Without a group, only the owner may
  /// use it.
  std::optional<std::uint32_t> group{};
  /// The graph domain: programs of different graph domains do not meet. Without one: 0 if there is a path,
  /// otherwise `$SITU_DOMAIN` or, if that is not set, 0.
  std::optional<std::uint32_t> graph_domain{};
};

/// What a node may be told beside its name and its root.
struct node_options {
  /// The namespace: names that each begin with a `/`, for example `/robot/arm`. Empty: `/`.
  std::string node_namespace{};
  /// Up to SITU_MAX_USER_DATA bytes that all participants can read (`situ::graph`).
  std::vector<std::byte> user_data{};
};

namespace detail {

/// The root for C. Valid as long as `where`.
inline situ_root to_c(const root& where) noexcept {
  return {where.path.empty() ? nullptr : where.path.c_str(), where.group.value_or(SITU_NO_GROUP),
          where.graph_domain.value_or(SITU_DEFAULT_DOMAIN)};
}

}  // namespace detail

/// A named participant of the bus. Publishers and subscribers are created from it and may outlive it. All
/// threads may use it at once.
class node {
 public:
  /// Joins the bus, and removes files and registrations of dead nodes. A process may have many nodes, also of
  /// the same name.
  explicit node(const std::string& name, const root& where = {}, const node_options& options = {}) {
    detail::failed why;
    create(name, where, options, why);
    detail::raise_if(why);
  }
  /// As the constructor, without an exception.
  [[nodiscard]] static result<node, error> try_create(const std::string& name, const root& where = {},
                                                      const node_options& options = {}) {
    detail::failed why;
    node made;
    made.create(name, where, options, why);
    return detail::result_of(std::move(made), std::move(why));
  }

  [[nodiscard]] std::string_view name() const noexcept {
    return handle_ ? situ_node_name(handle_.get()) : std::string_view();
  }
  /// The node's namespace: `/` if it was given none.
  [[nodiscard]] std::string_view node_namespace() const noexcept {
    return handle_ ? situ_node_namespace(handle_.get()) : std::string_view();
  }
  /// The node's number. Messages name their publisher's node by it.
  [[nodiscard]] std::uint64_t id() const noexcept { return situ_node_id(handle_.get()); }

  /// Joins a topic as publisher.
  template <message T>
  [[nodiscard]] situ::publisher<T> publisher(const std::string& topic, const publisher_qos& qos = {},
                                             const placement& where = {}) const {
    return situ::publisher<T>(*this, topic, qos, where);
  }
  /// Joins a topic as subscriber.
  template <message T>
  [[nodiscard]] situ::subscriber<T> subscriber(const std::string& topic, const subscriber_qos& qos = {},
                                               const placement& where = {}) const {
    return situ::subscriber<T>(*this, topic, qos, where);
  }
  /// Joins a service as client: `node.client<Request, Reply>("name")`, or `node.client<S>("name")` for a
  /// service type S.
  template <class... Types>
  [[nodiscard]] situ::client<Types...> client(const std::string& service,
                                              const service_options& options = {}) const {
    return situ::client<Types...>(*this, service, options);
  }
  /// Joins a service as server.
  template <class... Types>
  [[nodiscard]] situ::server<Types...> server(const std::string& service,
                                              const service_options& options = {}) const {
    return situ::server<Types...>(*this, service, options);
  }
  /// As `client`, without an exception.
  template <class... Types>
  [[nodiscard]] result<situ::client<Types...>, error> try_client(const std::string& service,
                                                                 const service_options& options = {}) const {
    return situ::client<Types...>::try_create(*this, service, options);
  }
  /// As `server`, without an exception.
  template <class... Types>
  [[nodiscard]] result<situ::server<Types...>, error> try_server(const std::string& service,
                                                                 const service_options& options = {}) const {
    return situ::server<Types...>::try_create(*this, service, options);
  }
  /// As `publisher`, without an exception.
  template <message T>
  [[nodiscard]] result<situ::publisher<T>, error> try_publisher(const std::string& topic,
                                                                const publisher_qos& qos = {},
                                                                const placement& where = {}) const {
    return situ::publisher<T>::try_create(*this, topic, qos, where);
  }
  /// As `subscriber`, without an exception.
  template <message T>
  [[nodiscard]] result<situ::subscriber<T>, error> try_subscriber(const std::string& topic,
                                                                  const subscriber_qos& qos = {},
                                                                  const placement& where = {}) const {
    return situ::subscriber<T>::try_create(*this, topic, qos, where);
  }

  /// The handle for the C interface.
  [[nodiscard]] situ_node* handle() const noexcept { return handle_.get(); }

 private:
  node() = default;
  void create(const std::string& name, const root& where, const node_options& options, detail::failed& why) {
    if (situ_version() / 1000 != SITU_VERSION / 1000) {
      why.emplace(errc::internal, "compiled for libsitu " SITU_VERSION_STRING ", but libsitu " +
                                      std::string(situ_version_string()) +
                                      " is loaded; install the one that belongs to the headers");
      return;
    }
    situ_error raw;
    situ_node* made = nullptr;
    const situ_root place = detail::to_c(where);
    const situ_node_options terms = {
        &place, options.node_namespace.empty() ? nullptr : options.node_namespace.c_str(),
        options.user_data.data(), options.user_data.size()};
    if (detail::succeeded(situ_node_create_with(name.c_str(), &terms, &made, &raw), raw, why))
      handle_.reset(made);
  }

  detail::owner<situ_node> handle_;
};

inline stream::stream(const node& on, const std::string& domain) {
  detail::failed why;
  create(on.handle(), domain, why);
  detail::raise_if(why);
}

inline result<stream, error> stream::try_create(const node& on, const std::string& domain) {
  detail::failed why;
  stream made;
  made.create(on.handle(), domain, why);
  return detail::result_of(std::move(made), std::move(why));
}

}  // namespace situ
