// Owned handles of C: each is destroyed by the function for its type.
#pragma once

#include <memory>

#include "situ.h"
#include "situ/blackboard.h"
#include "situ/execute.h"
#include "situ/graph.h"
#include "situ/service.h"

namespace situ::detail {

/// Calls the C function that destroys a handle.
struct destroyer {
  void operator()(situ_node* handle) const noexcept { situ_node_destroy(handle); }
  void operator()(situ_publisher* handle) const noexcept { situ_publisher_destroy(handle); }
  void operator()(situ_subscriber* handle) const noexcept { situ_subscriber_destroy(handle); }
  void operator()(situ_client* handle) const noexcept { situ_client_destroy(handle); }
  void operator()(situ_server* handle) const noexcept { situ_server_destroy(handle); }
  void operator()(situ_stream* handle) const noexcept { situ_stream_destroy(handle); }
  void operator()(situ_interrupter* handle) const noexcept { situ_interrupter_destroy(handle); }
  void operator()(situ_guard_condition* handle) const noexcept { situ_guard_condition_destroy(handle); }
  void operator()(situ_clock* handle) const noexcept { situ_clock_destroy(handle); }
  void operator()(situ_timer* handle) const noexcept { situ_timer_destroy(handle); }
  void operator()(situ_wait_set* handle) const noexcept { situ_wait_set_destroy(handle); }
  void operator()(situ_callback_group* handle) const noexcept { situ_callback_group_destroy(handle); }
  void operator()(situ_graph_watch* handle) const noexcept { situ_graph_watch_destroy(handle); }
  void operator()(situ_event* handle) const noexcept { situ_event_destroy(handle); }
  void operator()(situ_blackboard_writer* handle) const noexcept { situ_blackboard_writer_destroy(handle); }
  void operator()(situ_blackboard_reader* handle) const noexcept { situ_blackboard_reader_destroy(handle); }
  void operator()(situ_executor* handle) const noexcept { situ_executor_destroy(handle); }
};

template <class Handle>
using owner = std::unique_ptr<Handle, destroyer>;

}  // namespace situ::detail
