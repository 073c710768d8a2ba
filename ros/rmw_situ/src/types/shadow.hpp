// Makes shadows: messages whose strings and sequences point into CDR bytes.
#pragma once

#include <memory>
#include <string>

#include "types/message_type.hpp"
#include "types/plan.hpp"

namespace rmw_situ {

// Plan, type and name live as long as the shadow. The layouts of the plan hold. Throws std::bad_alloc.
std::unique_ptr<Shadow> make_shadow(const Plan& plan, const Struct& type, const std::string& ros_name);

}  // namespace rmw_situ
