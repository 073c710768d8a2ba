// Fields that a filter names: found once in rosidl's introspection, then read from messages.
#pragma once

#include <rosidl_runtime_c/message_type_support_struct.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "value.hpp"

namespace rmw_situ::filter {

// The introspection of a type, of the language in which its messages are.
struct Introspection {
  // Of C++ instead of C.
  bool is_cpp = false;
  // `MessageMembers` of that language.
  const void* members = nullptr;

  // Nothing if there is none for this handle.
  static std::optional<Introspection> find(const rosidl_message_type_support_t* support);
};

// One part of a field's name: `name` or `name[index]`.
struct FieldPart {
  std::string_view name;
  std::optional<uint64_t> index;
  // Where the part begins in the expression.
  size_t position = 0;
};

// A number or text in a message, which may be the element of an array or sequence, at any depth.
class Field {
 public:
  // Throws `FilterError` if the type has no such field, or the field is neither number nor text.
  Field(const Introspection& type, const std::vector<FieldPart>& parts);
  Kind kind() const { return kind_; }
  // False if the message's sequence has no such element.
  bool read(const void* message, Value& value) const;

 private:
  // From a message to a member of it, or to an element of the member.
  struct Step {
    uint32_t offset = 0;
    bool is_element = false;
    size_t index = 0;
    size_t (*size_function)(const void*) = nullptr;
    const void* (*get_function)(const void*, size_t) = nullptr;
    // Elements that have no address: booleans in a `std::vector`.
    void (*fetch_function)(const void*, size_t, void*) = nullptr;
  };

  template <class Members>
  void resolve(const Members* members, const std::vector<FieldPart>& parts);
  template <class Member>
  void add_step(const Member& member, const FieldPart& part);
  Value read_at(const void* place) const;

  std::vector<Step> steps_;
  bool is_cpp_;
  uint8_t type_id_ = 0;
  Kind kind_ = Kind::Unsigned;
};

}  // namespace rmw_situ::filter
