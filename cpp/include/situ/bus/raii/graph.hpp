// The graph: which nodes there are, what each publishes, subscribes to, calls and serves, and waiting for
// changes.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "situ/bus/c_abi/error.hpp"
#include "situ/bus/c_abi/handle.hpp"
#include "situ/bus/c_abi/qos.hpp"
#include "situ/bus/raii/node.hpp"
#include "situ/graph.h"

namespace situ {

/// The kind of an endpoint.
enum class endpoint_role : std::uint32_t {
  publisher = SITU_ROLE_PUBLISHER,
  subscriber = SITU_ROLE_SUBSCRIBER,
  client = SITU_ROLE_CLIENT,
  server = SITU_ROLE_SERVER,
};

/// A publisher, a subscriber, a client or a server, as its node describes it.
struct endpoint_info {
  /// It never repeats: that of `any_publisher::id`.
  endpoint_id id{};
  endpoint_role role = endpoint_role::publisher;
  /// A situ_encoding; of a service, that of requests.
  std::uint32_t encoding = 0;
  /// The name of its topic or service.
  std::string name;
  /// The name of its type: of a service `<request> -> <reply>`. A name of more than 544 bytes is cut.
  std::string type_name;
  /// The memory domain of its messages, for example `host`.
  std::string domain;
  std::uint64_t schema_hash = 0;
  std::uint64_t layout_hash = 0;
  situ::reliability reliability = situ::reliability::best_effort;
  situ::durability durability = situ::durability::volatile_;
  /// How many messages stay available, or are kept. Zero: all.
  std::uint64_t depth = 0;
  /// Zero: none.
  std::chrono::nanoseconds deadline{0};
  std::chrono::nanoseconds lifespan{0};
  std::chrono::nanoseconds lease{0};
  situ::liveliness liveliness = situ::liveliness::automatic;
  std::vector<std::byte> user_data;
};

/// A living node and its endpoints.
struct graph_node {
  std::uint64_t id = 0;
  std::string name;
  /// `/`, or names that each begin with a `/`.
  std::string node_namespace;
  std::string program;
  std::vector<std::byte> user_data;
  std::uint32_t pid = 0;
  /// By role and name.
  std::vector<endpoint_info> endpoints;
};

namespace detail {

inline std::vector<std::byte> bytes_of(const void* data, std::size_t size) {
  const auto* bytes = static_cast<const std::byte*>(data);
  return size == 0 ? std::vector<std::byte>() : std::vector<std::byte>(bytes, bytes + size);
}

/// A time of C. One that is too long for this type is its longest.
inline std::chrono::nanoseconds time_of(std::uint64_t nanoseconds) noexcept {
  constexpr auto longest = static_cast<std::uint64_t>(std::chrono::nanoseconds::max().count());
  return std::chrono::nanoseconds(static_cast<std::int64_t>(std::min(nanoseconds, longest)));
}

inline endpoint_info endpoint_of(const situ_endpoint_info& raw) {
  endpoint_info made;
  std::copy(std::begin(raw.id), std::end(raw.id), made.id.begin());
  made.role = static_cast<endpoint_role>(raw.role);
  made.encoding = raw.encoding;
  made.name = raw.name;
  made.type_name = raw.type_name;
  made.domain = raw.domain;
  made.schema_hash = raw.schema_hash;
  made.layout_hash = raw.layout_hash;
  made.reliability = static_cast<reliability>(raw.reliability);
  made.durability = static_cast<durability>(raw.durability);
  made.depth = raw.depth;
  made.deadline = time_of(raw.deadline_ns);
  made.lifespan = time_of(raw.lifespan_ns);
  made.lease = time_of(raw.lease_ns);
  made.liveliness = static_cast<situ::liveliness>(raw.liveliness);
  made.user_data = bytes_of(raw.user_data, raw.user_data_size);
  return made;
}

}  // namespace detail

/// The present graph: all living nodes, by namespace and name, with their endpoints.
[[nodiscard]] inline std::vector<graph_node> graph(const root& where = {}) {
  std::vector<graph_node> found;
  const auto visit_node = [](const situ_graph_node* node, void* context) noexcept {
    static_cast<std::vector<graph_node>*>(context)->push_back(
        {node->id,
         node->name,
         node->node_namespace,
         node->program,
         detail::bytes_of(node->user_data, node->user_data_size),
         node->pid,
         {}});
  };
  const auto visit_endpoint = [](const situ_graph_node*, const situ_endpoint_info* endpoint,
                                 void* context) noexcept {
    auto& nodes = *static_cast<std::vector<graph_node>*>(context);
    nodes.back().endpoints.push_back(detail::endpoint_of(*endpoint));
  };
  situ_error raw;
  detail::failed why;
  const situ_root place = detail::to_c(where);
  detail::succeeded(situ_graph_read(&place, visit_node, visit_endpoint, &found, &raw), raw, why);
  detail::raise_if(why);
  return found;
}

/// Tells when the graph has changed: nodes or endpoints were created or destroyed, or a process has died. It
/// does not say what. Create the watch first and read the graph then, so that no change is missed.
///
///   situ::graph_watch watch;
///   do show(situ::graph());
///   while (watch.wait());
///
/// All threads may use a watch at once. Wait sets and executors take its descriptor:
/// `set.attach(watch.fd())`.
class graph_watch {
 public:
  explicit graph_watch(const root& where = {}) {
    detail::failed why;
    create(where, why);
    detail::raise_if(why);
  }
  /// As the constructor, without an exception.
  [[nodiscard]] static result<graph_watch, error> try_create(const root& where = {}) {
    detail::failed why;
    graph_watch made{nothing{}};
    made.create(where, why);
    return detail::result_of(std::move(made), std::move(why));
  }

  /// Whether the graph may have changed since the last call, or since the watch was created. Does not wait.
  [[nodiscard]] bool take() const { return raised(try_take()); }
  /// As `take`, without an exception.
  [[nodiscard]] result<bool, error> try_take() const {
    return changed([&](situ_error* raw) { return situ_graph_watch_take(handle_.get(), raw); });
  }

  /// Waits until the graph may have changed. Returns false if the timeout passes first.
  [[nodiscard]] bool wait(std::chrono::nanoseconds timeout = forever) const {
    return raised(try_wait(timeout));
  }
  /// As `wait`, without an exception.
  [[nodiscard]] result<bool, error> try_wait(std::chrono::nanoseconds timeout = forever) const {
    return changed([&](situ_error* raw) {
      return situ_graph_watch_wait(handle_.get(), detail::limit_of(timeout), raw);
    });
  }

  /// A descriptor for epoll, wait sets and executors, which is readable until `take` is called after a
  /// change. The watch owns it.
  [[nodiscard]] int fd() const noexcept { return situ_graph_watch_fd(handle_.get()); }

 private:
  struct nothing {};
  explicit graph_watch(nothing) noexcept {}

  void create(const root& where, detail::failed& why) {
    situ_error raw;
    situ_graph_watch* made = nullptr;
    const situ_root place = detail::to_c(where);
    if (detail::succeeded(situ_graph_watch_create(&place, &made, &raw), raw, why)) handle_.reset(made);
  }

  template <class Call>
  result<bool, error> changed(Call call) const {
    situ_error raw;
    detail::failed why;
    const situ_status status = call(&raw);
    detail::succeeded(status, raw, why);
    return detail::result_of(status == SITU_OK, std::move(why));
  }

  static bool raised(result<bool, error> made) {
    if (!made) detail::raise(made.error());
    return *made;
  }

  detail::owner<situ_graph_watch> handle_;
};

}  // namespace situ
