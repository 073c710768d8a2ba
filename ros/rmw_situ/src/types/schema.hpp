// The canonical text and the hashes of a type, by the rules of spec/schema.md and spec/signature.md.
#pragma once

#include <cstdint>
#include <string>

#include "types/description.hpp"

namespace rmw_situ {

// The canonical text, without defaults and units: introspection has none. They are not part of the hash.
std::string schema_text(const Description& type);

// Of a type with this canonical text.
uint64_t schema_hash(const Description& type, const std::string& text);

// The hash of the flat layout of a plain type.
uint64_t layout_hash(const Description& type);

}  // namespace rmw_situ
