// A context: what the nodes of one rmw_init share.
#pragma once

#include <rmw/init.h>
#include <situ.h>
#include <situ/events.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "graph/graph.hpp"
#include "support/check.hpp"
#include "wait/listener.hpp"

// The name is rmw's.
struct rmw_context_impl_s {
  rmw_context_impl_s(const situ_root& root_, std::string enclave_, uint64_t spin_ns_)
      : root(root_), enclave(std::move(enclave_)), spin_ns(spin_ns_), graph(root) {}

  const situ_root root;
  const std::string enclave;
  // How long a wait may look for messages before it sleeps.
  const uint64_t spin_ns;
  std::atomic<bool> is_shut_down = false;

  // All threads may use these at once.
  rmw_situ::Graph graph;
  rmw_situ::Listener listener;

  // Whether a node of Situ is one of this context.
  bool has_node(uint64_t id) {
    const std::lock_guard lock(nodes_mutex);
    return nodes.contains(id);
  }
  // The node of wait sets. Not one of the user's: a wait set keeps its node in the graph, also when the user
  // has destroyed it. Other contexts do not show it.
  situ_status get_own_node(const situ_node** node, situ_error* error);
  situ_status create_wait_set(situ_wait_set** set, situ_error* error);
  // Starts the threads that look for events, unless they run: otherwise the first wait would start them. The
  // event is any of this context.
  situ_status start_events(const situ_event* event, situ_error* error);

  std::mutex nodes_mutex;
  std::unordered_map<uint64_t, situ_node*> nodes;
  rmw_situ::NodeHandle own_node;
  std::atomic<bool> looks_for_events = false;
};
