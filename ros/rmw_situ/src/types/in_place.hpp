// Arrays of messages that lie in their CDR bytes before the message is written.
#pragma once

#include <cstddef>
#include <functional>

#include "types/plan.hpp"

namespace rmw_situ {

// Where an array that is about to be allocated will begin in the bytes of the message, with the
// encapsulation. It is the first sequence of numbers with this alignment that is empty now. If there is none,
// it is the first that has less than `size` bytes, because it grows. 0 if there is none either. The place is
// right as long as no member before it changes its size.
size_t place_of_array(const Plan& plan, const void* message, size_t size, size_t alignment);

// Where the elements at this address begin in the bytes of the message, with the encapsulation. 0 if the
// message has none there.
size_t place_of_elements(const Plan& plan, const void* message, const void* elements);

// Makes all sequences of numbers empty whose elements begin where `is_wanted` says, without freeing them.
void forget_elements(const Plan& plan, void* message, const std::function<bool(const void*)>& is_wanted);

}  // namespace rmw_situ
