// Reads messages in CDR by a plan.
#include "types/cdr_read.hpp"

#include <rmw/error_handling.h>
#include <rosidl_runtime_c/string_functions.h>
#include <rosidl_runtime_c/u16string_functions.h>

#include <cstring>
#include <new>
#include <vector>

#include "types/layout.hpp"

namespace rmw_situ {
namespace {

bool no_memory(const Op& op, const CdrSource& source, size_t count) {
  RMW_SET_ERROR_MSG_WITH_FORMAT_STRING(
      "a message of '%s' cannot be read: there is no memory for '%s' of %zu elements",
      source.ros_name().c_str(), op.path.c_str(), count);
  return false;
}

bool read_string(const Op& op, CdrSource& source, std::byte* at) {
  CdrSource::Text text;
  if (!source.take_string(op, text)) return false;
  if (op.language == Language::kCpp) {
    reinterpret_cast<std::string*>(at)->assign(text.size == 0 ? "" : text.data, text.size);
    return true;
  }
  auto& string = *reinterpret_cast<rosidl_runtime_c__String*>(at);
  if (string.data != nullptr && string.capacity > text.size) {
    if (text.size != 0) std::memcpy(string.data, text.data, text.size);
    string.data[text.size] = 0;
    string.size = text.size;
    return true;
  }
  return rosidl_runtime_c__String__assignn(&string, text.size == 0 ? "" : text.data, text.size) ||
         no_memory(op, source, text.size);
}

bool read_wide_string(const Op& op, CdrSource& source, std::byte* at) {
  CdrSource::WideText text;
  if (!source.take_wide_string(op, text)) return false;
  if (op.language == Language::kCpp) {
    auto& string = *reinterpret_cast<std::u16string*>(at);
    string.resize(text.size);
    source.copy_wide(text, string.data());
    return true;
  }
  auto& string = *reinterpret_cast<rosidl_runtime_c__U16String*>(at);
  if (!rosidl_runtime_c__U16String__resize(&string, text.size)) return no_memory(op, source, text.size);
  source.copy_wide(text, string.data);
  return true;
}

bool read_bits(const Op& op, CdrSource& source, std::byte* at, size_t count) {
  const std::byte* from = count == 0 ? nullptr : source.take_block(op, count);
  if (count != 0 && (from == nullptr || !source.check_bools(op, from, count))) return false;
  if (!op.member->resize(at, count)) return no_memory(op, source, count);
  auto& bits = *reinterpret_cast<std::vector<bool>*>(at);
  for (size_t i = 0; i < count; i++) bits[i] = from[i] != std::byte{0};
  return true;
}

// Copies elements, and then checks the copy.
bool read_block(const Op& op, CdrSource& source, const std::byte* from, std::byte* to, size_t count) {
  size_t size = (count - 1) * op.block.stride + op.block.size;
  std::memcpy(to, from, size);
  if (!source.check_bools(op, to, count)) {
    std::memset(to, 0, size);
    return false;
  }
  source.swap_block(op.block, to, count);
  return true;
}

// Sets the length of a sequence whose elements are numbers, without writing zeros that would be overwritten.
// False if its functions have to do it.
bool resize_numbers(const Op& op, std::byte* at, size_t count) {
  if (!op.is_direct) return false;
  if (op.language == Language::kC) {
    auto& sequence = *reinterpret_cast<SequenceC*>(at);
    if (sequence.data == nullptr || sequence.capacity < count) return false;
    sequence.size = count;
    return true;
  }
  auto& vector = *reinterpret_cast<VectorCpp*>(at);
  size_t size = count * op.stride;
  if (size > static_cast<size_t>(vector.end_of_memory - vector.begin)) {
    // As std::allocator does it for elements whose alignment is not extended.
    auto* memory = static_cast<std::byte*>(::operator new(size));
    ::operator delete(vector.begin);
    vector.begin = memory;
    vector.end_of_memory = memory + size;
  }
  vector.end = vector.begin + size;
  return true;
}

// Sets the length of a sequence, and finds its elements.
bool resize(const Op& op, CdrSource& source, std::byte* at, size_t count, std::byte*& elements) {
  bool is_sized = op.element == Element::kBlock && resize_numbers(op, at, count);
  if (!is_sized && op.member->size(at) != count && !op.member->resize(at, count)) {
    return no_memory(op, source, count);
  }
  elements = count == 0 ? nullptr : static_cast<std::byte*>(op.member->get(at, 0));
  return true;
}

bool read_container(const Op& op, CdrSource& source, std::byte* at) {
  size_t count = op.length;
  std::byte* elements = at;
  if (op.container == Container::kSequence) {
    if (!source.take_count(op, count)) return false;
    if (op.element == Element::kBits) return read_bits(op, source, at, count);
  }
  if (op.element == Element::kBlock) {
    const std::byte* from = count == 0 ? nullptr : source.take_block(op, count);
    if (from == nullptr && count != 0) return false;
    if (op.container == Container::kSequence && !resize(op, source, at, count, elements)) return false;
    return count == 0 || read_block(op, source, from, elements, count);
  }
  if (op.container == Container::kSequence && !resize(op, source, at, count, elements)) return false;
  for (size_t i = 0; i < count; i++) {
    std::byte* element = elements + i * op.stride;
    bool is_read = op.element == Element::kStruct   ? read_cdr(*op.nested, source, element)
                   : op.element == Element::kString ? read_string(op, source, element)
                                                    : read_wide_string(op, source, element);
    if (!is_read) return false;
  }
  return true;
}

bool read_run(const Op& op, CdrSource& source, std::byte* at) {
  const std::byte* from = source.take_block(op, 1);
  return from != nullptr && read_block(op, source, from, at, 1);
}

}  // namespace

bool read_cdr(const Plan& plan, CdrSource& source, void* message) {
  for (const Op& op : plan.ops) {
    std::byte* at = static_cast<std::byte*>(message) + op.offset;
    bool is_read = op.container != Container::kNone ? read_container(op, source, at)
                   : op.element == Element::kBlock  ? read_run(op, source, at)
                   : op.element == Element::kString ? read_string(op, source, at)
                                                    : read_wide_string(op, source, at);
    if (!is_read) return false;
  }
  return true;
}

}  // namespace rmw_situ
