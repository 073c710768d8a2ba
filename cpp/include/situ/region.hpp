// Regions: growable, relocatable data whose memory is the message. This header includes all public ones.
//
// The folders of region/:
//
//   region.hpp movable.hpp policy.hpp convert.hpp error.hpp   the types that users hold, and their errors
//   to_std.hpp   copies as types of the standard library; include it to use them, as this header does not
//   print.hpp    readable text; format.hpp, which users include, is the same for std::format and fmt
//   sort.hpp     sorts elements that cannot leave the region
//   containers/  string, vector, optional, unique, shared, weak, union, and the maps and sets
//   memory/      the allocator, compaction in place, and the address windows in which regions grow
//   packed.hpp packed/   packed images; include packed.hpp to use them, as this header does not
//   image/       the format of spec/region.md: header, checks, canonical images, versions, layout hashes
//   detail/      reflection, and the parts of the containers: B-tree, hash table, staging, swapping
#pragma once

#include "situ/region/containers/hash_map.hpp"
#include "situ/region/containers/hash_set.hpp"
#include "situ/region/containers/optional.hpp"
#include "situ/region/containers/ordered_map.hpp"
#include "situ/region/containers/ordered_set.hpp"
#include "situ/region/containers/shared.hpp"
#include "situ/region/containers/sorted_map.hpp"
#include "situ/region/containers/sorted_set.hpp"
#include "situ/region/containers/string.hpp"
#include "situ/region/containers/union.hpp"
#include "situ/region/containers/unique.hpp"
#include "situ/region/containers/vector.hpp"
#include "situ/region/containers/weak.hpp"
#include "situ/region/convert.hpp"
#include "situ/region/movable.hpp"
#include "situ/region/policy.hpp"
#include "situ/region/print.hpp"
#include "situ/region/region.hpp"
#include "situ/region/sort.hpp"
