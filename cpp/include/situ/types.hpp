// What generated message types are made of: the one header that they include.
#pragma once

#include "situ/enumeration.hpp"
#include "situ/message.hpp"
#include "situ/policy.hpp"
#include "situ/print.hpp"
#include "situ/tagged_union.hpp"
