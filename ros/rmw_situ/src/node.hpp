// A node.
#pragma once

#include <situ.h>

#include "support/check.hpp"
#include "wait/guard_condition.hpp"

namespace rmw_situ {

struct Node {
  NodeHandle handle;
  // Triggered when the graph has changed.
  rmw_guard_condition_t* graph_condition;
};

}  // namespace rmw_situ
