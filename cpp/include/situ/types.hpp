// Generated message types include this header: the storage of fields, and the walks over them.
//
// The folder is layout/:
//
//   allocator storage                                the place of elements: inside the message, or on a heap
//   bounded_string bounded_vector bounded_map inline_optional tagged_union bulk enumeration   field types
//   policy                                           the field types of each storage: situ::flat, situ::heap
//   message print locate                             walks over the fields of any message
//
// Users of messages find more in convert.hpp (flat to heap and back), validate.hpp (bytes from another
// process), cdr.hpp and region.hpp. support/ holds the parts that all folders share: errors, results, paths,
// UTF-8.
#pragma once

#include "situ/layout/enumeration.hpp"
#include "situ/layout/message.hpp"
#include "situ/layout/policy.hpp"
#include "situ/layout/print.hpp"
#include "situ/layout/tagged_union.hpp"
