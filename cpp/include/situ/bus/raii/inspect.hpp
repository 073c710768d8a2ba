// Inspects the bus: topics, nodes, waiting publishers and copies. Removes the files that dead nodes left.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <vector>

#include "situ/bus/c_abi/error.hpp"
#include "situ/bus/raii/node.hpp"

namespace situ {

/// A topic with the numbers of its publishers, subscribers and messages.
struct topic_info {
  std::string name;
  std::string type_name;
  /// The type's schema, as canonical text.
  std::string schema;
  std::uint64_t schema_hash = 0;
  /// The number of messages published so far.
  std::uint64_t published = 0;
  std::uint64_t publishers = 0;
  std::uint64_t subscribers = 0;
};

/// A node and its process.
struct node_info {
  std::uint64_t id = 0;
  std::string name;
  std::string program;
  std::uint32_t pid = 0;
  /// False: the process died, and its node has not been removed yet.
  bool alive = false;
};

/// All topics, by name.
[[nodiscard]] inline std::vector<topic_info> topics(const root& where = {}) {
  std::vector<topic_info> found;
  const auto visit = [](const situ_topic_info* topic, void* context) noexcept {
    static_cast<std::vector<topic_info>*>(context)->push_back({topic->name, topic->type_name, topic->schema,
                                                               topic->schema_hash, topic->published,
                                                               topic->publishers, topic->subscribers});
  };
  situ_error raw;
  detail::failed why;
  const situ_root place = detail::to_c(where);
  detail::succeeded(situ_list_topics(&place, visit, &found, &raw), raw, why);
  detail::raise_if(why);
  return found;
}

/// All nodes, dead ones included, by name.
[[nodiscard]] inline std::vector<node_info> nodes(const root& where = {}) {
  std::vector<node_info> found;
  const auto visit = [](const situ_node_info* node, void* context) noexcept {
    static_cast<std::vector<node_info>*>(context)->push_back(
        {node->id, node->name, node->program, node->pid, node->alive != 0});
  };
  situ_error raw;
  detail::failed why;
  const situ_root place = detail::to_c(where);
  detail::succeeded(situ_list_nodes(&place, visit, &found, &raw), raw, why);
  detail::raise_if(why);
  return found;
}

/// A publisher that waits for a reliable subscriber to take.
struct wait_info {
  std::string topic;
  /// The node numbers of both.
  std::uint64_t publisher = 0;
  std::uint64_t subscriber = 0;
  /// The time waited so far.
  std::chrono::nanoseconds waited{0};
};

/// All publishers that have no room at the moment, and the subscribers that they wait for.
[[nodiscard]] inline std::vector<wait_info> waits(const root& where = {}) {
  std::vector<wait_info> found;
  const auto visit = [](const situ_wait_info* wait, void* context) noexcept {
    static_cast<std::vector<wait_info>*>(context)->push_back(
        {wait->topic, wait->publisher, wait->subscriber,
         std::chrono::nanoseconds(static_cast<std::chrono::nanoseconds::rep>(wait->waited_ns))});
  };
  situ_error raw;
  detail::failed why;
  const situ_root place = detail::to_c(where);
  detail::succeeded(situ_list_waits(&place, visit, &found, &raw), raw, why);
  detail::raise_if(why);
  return found;
}

/// The numbers of nodes and topics whose files `clean` removed.
struct cleaned {
  std::size_t nodes = 0;
  std::size_t topics = 0;
};

/// Removes files and registrations of dead nodes.
inline cleaned clean(const root& where = {}) {
  situ_error raw;
  detail::failed why;
  cleaned removed;
  const situ_root place = detail::to_c(where);
  detail::succeeded(situ_clean(&place, &removed.nodes, &removed.topics, &raw), raw, why);
  detail::raise_if(why);
  return removed;
}

/// Copies of messages that were made in this process: copied, serialized, decoded or converted.
struct copy_count {
  std::uint64_t copies = 0;
  std::uint64_t bytes = 0;
};

/// The number of copies so far.
[[nodiscard]] inline copy_count copies() noexcept {
  copy_count count;
  situ_copies(&count.copies, &count.bytes);
  return count;
}

}  // namespace situ
