// Regions: growable, relocatable data whose memory is the message. Everything of situ/region/.
#pragma once

#include "situ/region/convert.hpp"
#include "situ/region/flat_map.hpp"
#include "situ/region/flat_set.hpp"
#include "situ/region/hash_map.hpp"
#include "situ/region/hash_set.hpp"
#include "situ/region/movable.hpp"
#include "situ/region/optional.hpp"
#include "situ/region/ordered_map.hpp"
#include "situ/region/ordered_set.hpp"
#include "situ/region/policy.hpp"
#include "situ/region/region.hpp"
#include "situ/region/shared.hpp"
#include "situ/region/string.hpp"
#include "situ/region/union.hpp"
#include "situ/region/unique.hpp"
#include "situ/region/vector.hpp"
