// Reads messages in CDR by a plan.
#pragma once

#include "types/cdr_source.hpp"
#include "types/plan.hpp"

namespace rmw_situ {

// Reads into an initialized message. False, with rmw's error state set, if the bytes are no message of this
// type: the message is then valid, and holds a part of what was read. Throws std::bad_alloc.
bool read_cdr(const Plan& plan, CdrSource& source, void* message);

}  // namespace rmw_situ
