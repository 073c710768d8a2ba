// The names of this middleware: of its handles, of its serialization, and of the nodes that belong to
// contexts.
#pragma once

namespace rmw_situ {

inline constexpr char identifier[] = "rmw_situ";
inline constexpr char serialization_format[] = "cdr";
inline constexpr char own_node_name[] = "_rmw_situ";

}  // namespace rmw_situ
