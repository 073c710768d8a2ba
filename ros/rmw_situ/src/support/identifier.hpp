// The name of this middleware, which every handle carries.
#pragma once

namespace rmw_situ {

inline constexpr char identifier[] = "rmw_situ";
inline constexpr char serialization_format[] = "cdr";

}  // namespace rmw_situ
