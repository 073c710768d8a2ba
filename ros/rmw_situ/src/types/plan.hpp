// A type compiled into a flat list of operations, with which messages are written, read and shown.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "types/description.hpp"

namespace rmw_situ {

// Numbers of one width that follow one another.
struct Numbers {
  // From the beginning of the block.
  size_t offset;
  size_t count;
  size_t width;
  bool is_bool;
};

// Padding in memory that is also padding in CDR.
struct Gap {
  size_t offset;
  size_t size;
};

// Bytes that lie in CDR as they lie in memory, if they begin at a multiple of `alignment`.
struct Block {
  // That of the first number; no other has a greater one.
  size_t alignment = 1;
  // From the first number to the end of the last one.
  size_t size = 0;
  // From an element to the next one, in memory and in CDR, if the block is an element of a container.
  size_t stride = 0;
  std::vector<Numbers> numbers;
  std::vector<Gap> gaps;
  bool has_bools = false;
};

enum class Element : uint8_t { kBlock, kString, kWString, kBits, kStruct };

struct Plan;

// An operation on a member, or on a run of members.
struct Op {
  // kBits: a std::vector<bool>, always in a sequence.
  Element element = Element::kBlock;
  Container container = Container::kNone;
  Language language = Language::kC;
  // Whether a sequence lies in memory as `layout.hpp` says; otherwise its functions are called.
  bool is_direct = true;
  // From the beginning of the struct whose plan this is.
  size_t offset = 0;
  // As in Member.
  size_t length = 0;
  size_t string_bound = 0;
  // The size and the alignment of an element in memory, and the least number of bytes that it has in CDR.
  size_t stride = 0;
  size_t alignment = 1;
  size_t least_size = 1;
  Block block;
  // The elements, if they are structs.
  std::unique_ptr<Plan> nested;
  // The member of a container. It lives as long as the description.
  const Member* member = nullptr;
  // The member for messages: "header.frame_id", "fields[].name".
  std::string path;
};

struct Plan {
  std::vector<Op> ops;
  // The least number of bytes that a struct has in CDR.
  size_t least_size = 0;
  // Whether all containers are direct, so that a shadow can be made.
  bool is_direct = true;
  // Whether there are bools other than those of std::vector<bool>.
  bool has_bools = false;
  // Whether something is in it that a shadow would not copy.
  bool has_pointers = false;
};

// Throws std::runtime_error if the type is too large to be compiled.
Plan compile(const Struct& type);

}  // namespace rmw_situ
