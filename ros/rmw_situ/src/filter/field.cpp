// Looks fields up in introspection of C and of C++, and reads them by their offsets.
#include "field.hpp"

#include <rcutils/error_handling.h>
#include <rosidl_runtime_c/string.h>
#include <rosidl_runtime_c/u16string.h>
#include <rosidl_typesupport_introspection_c/identifier.h>
#include <rosidl_typesupport_introspection_c/message_introspection.h>

#include <cstring>
#include <exception>
#include <rosidl_typesupport_introspection_cpp/field_types.hpp>
#include <rosidl_typesupport_introspection_cpp/identifier.hpp>
#include <rosidl_typesupport_introspection_cpp/message_introspection.hpp>

#include "filter_error.hpp"

namespace rmw_situ::filter {

namespace {

namespace types = rosidl_typesupport_introspection_cpp;
using MembersOfC = rosidl_typesupport_introspection_c__MessageMembers;
using MembersOfCpp = types::MessageMembers;

const rosidl_message_type_support_t* handle_of(const rosidl_message_type_support_t* support,
                                               const char* identifier) {
  const rosidl_message_type_support_t* handle = nullptr;
  try {
    handle = get_message_typesupport_handle(support, identifier);
  } catch (const std::exception&) {
    // The dispatchers throw if they cannot load the library of the introspection.
  }
  if (handle == nullptr) rcutils_reset_error();
  return handle;
}

std::string quoted(std::string_view text) { return "'" + std::string(text) + "'"; }

std::optional<Kind> kind_of(uint8_t type) {
  switch (type) {
    case types::ROS_TYPE_BOOLEAN:
      return Kind::Boolean;
    case types::ROS_TYPE_CHAR:
    case types::ROS_TYPE_WCHAR:
      return Kind::Character;
    case types::ROS_TYPE_OCTET:
    case types::ROS_TYPE_UINT8:
    case types::ROS_TYPE_UINT16:
    case types::ROS_TYPE_UINT32:
    case types::ROS_TYPE_UINT64:
      return Kind::Unsigned;
    case types::ROS_TYPE_INT8:
    case types::ROS_TYPE_INT16:
    case types::ROS_TYPE_INT32:
    case types::ROS_TYPE_INT64:
      return Kind::Signed;
    case types::ROS_TYPE_FLOAT:
      return Kind::Float;
    case types::ROS_TYPE_DOUBLE:
      return Kind::Double;
    case types::ROS_TYPE_LONG_DOUBLE:
      return Kind::LongDouble;
    case types::ROS_TYPE_STRING:
    case types::ROS_TYPE_WSTRING:
      return Kind::String;
    default:
      return std::nullopt;
  }
}

template <class Number>
Number load(const void* place) {
  Number number;
  std::memcpy(&number, place, sizeof number);
  return number;
}

}  // namespace

std::optional<Introspection> Introspection::find(const rosidl_message_type_support_t* support) {
  if (support == nullptr) return std::nullopt;
  const auto* handle = handle_of(support, rosidl_typesupport_introspection_c__identifier);
  if (handle != nullptr) return Introspection{false, handle->data};
  handle = handle_of(support, types::typesupport_identifier);
  if (handle != nullptr) return Introspection{true, handle->data};
  return std::nullopt;
}

Field::Field(const Introspection& type, const std::vector<FieldPart>& parts) : is_cpp_(type.is_cpp) {
  if (is_cpp_) {
    resolve(static_cast<const MembersOfCpp*>(type.members), parts);
  } else {
    resolve(static_cast<const MembersOfC*>(type.members), parts);
  }
}

template <class Members>
void Field::resolve(const Members* members, const std::vector<FieldPart>& parts) {
  for (size_t i = 0; i < parts.size(); ++i) {
    const FieldPart& part = parts[i];
    const auto* member = members->members_;
    const auto* const end = member + members->member_count_;
    while (member != end && part.name != member->name_) ++member;
    if (member == end) {
      throw FilterError(part.position, "the type " + std::string(members->message_name_) + " has no field " +
                                           quoted(part.name));
    }
    add_step(*member, part);
    const bool is_last = i + 1 == parts.size();
    if (member->type_id_ == types::ROS_TYPE_MESSAGE) {
      members = static_cast<const Members*>(member->members_->data);
      if (!is_last) continue;
      throw FilterError(part.position, "the field " + quoted(part.name) +
                                           " is a message; name a field of it, as in " +
                                           quoted(std::string(part.name) + ".field"));
    }
    if (!is_last) {
      throw FilterError(parts[i + 1].position,
                        "the field " + quoted(part.name) + " is no message and has no fields");
    }
    const auto kind = kind_of(member->type_id_);
    if (!kind) {
      throw FilterError(part.position, "the field " + quoted(part.name) + " has the unknown type " +
                                           std::to_string(member->type_id_));
    }
    type_id_ = member->type_id_;
    kind_ = *kind;
  }
}

template <class Member>
void Field::add_step(const Member& member, const FieldPart& part) {
  Step step;
  step.offset = member.offset_;
  if (member.is_array_ != part.index.has_value()) {
    throw FilterError(part.position,
                      "the field " + quoted(part.name) +
                          (member.is_array_ ? " is an array or a sequence; name an element of it, as in " +
                                                  quoted(std::string(part.name) + "[0]")
                                            : " is neither an array nor a sequence, and has no elements"));
  }
  if (member.is_array_) {
    // Zero stands for a sequence of any length.
    if (member.array_size_ != 0 && *part.index >= member.array_size_) {
      throw FilterError(part.position, "the field " + quoted(part.name) + " has at most " +
                                           std::to_string(member.array_size_) +
                                           " elements; none has the index " + std::to_string(*part.index));
    }
    step.is_element = true;
    step.index = *part.index;
    step.size_function = member.size_function;
    step.get_function = member.get_const_function;
    step.fetch_function = member.fetch_function;
    const bool is_bool = member.type_id_ == types::ROS_TYPE_BOOLEAN;
    if (step.size_function == nullptr ||
        (step.get_function == nullptr && !(is_bool && step.fetch_function != nullptr))) {
      throw FilterError(part.position, "the introspection of the field " + quoted(part.name) +
                                           " has no functions that read its elements");
    }
  }
  steps_.push_back(step);
}

bool Field::read(const void* message, Value& value) const {
  const auto* place = static_cast<const std::byte*>(message);
  for (const Step& step : steps_) {
    place += step.offset;
    if (!step.is_element) continue;
    if (step.index >= step.size_function(place)) return false;
    if (step.get_function == nullptr) {
      bool element = false;
      step.fetch_function(place, step.index, &element);
      value = Value::of_boolean(element);
      return true;
    }
    place = static_cast<const std::byte*>(step.get_function(place, step.index));
  }
  value = read_at(place);
  return true;
}

Value Field::read_at(const void* place) const {
  switch (type_id_) {
    case types::ROS_TYPE_BOOLEAN:
      // Not as a bool: a byte that is neither 0 nor 1 must not be undefined behaviour.
      return Value::of_boolean(load<uint8_t>(place) != 0);
    case types::ROS_TYPE_CHAR:
      return Value::of_text(kind_, Text{place, 1, false});
    case types::ROS_TYPE_WCHAR:
      return Value::of_text(kind_, Text{place, 1, true});
    case types::ROS_TYPE_OCTET:
    case types::ROS_TYPE_UINT8:
      return Value::of_unsigned(load<uint8_t>(place));
    case types::ROS_TYPE_UINT16:
      return Value::of_unsigned(load<uint16_t>(place));
    case types::ROS_TYPE_UINT32:
      return Value::of_unsigned(load<uint32_t>(place));
    case types::ROS_TYPE_UINT64:
      return Value::of_unsigned(load<uint64_t>(place));
    case types::ROS_TYPE_INT8:
      return Value::of_signed(load<int8_t>(place));
    case types::ROS_TYPE_INT16:
      return Value::of_signed(load<int16_t>(place));
    case types::ROS_TYPE_INT32:
      return Value::of_signed(load<int32_t>(place));
    case types::ROS_TYPE_INT64:
      return Value::of_signed(load<int64_t>(place));
    case types::ROS_TYPE_FLOAT:
      return Value::of_floating(kind_, load<float>(place));
    case types::ROS_TYPE_DOUBLE:
      return Value::of_floating(kind_, load<double>(place));
    case types::ROS_TYPE_LONG_DOUBLE:
      return Value::of_floating(kind_, load<long double>(place));
    case types::ROS_TYPE_STRING: {
      if (is_cpp_) {
        const auto& string = *static_cast<const std::string*>(place);
        return Value::of_text(kind_, Text{string.data(), string.size(), false});
      }
      const auto& string = *static_cast<const rosidl_runtime_c__String*>(place);
      return Value::of_text(kind_, Text{string.data, string.data == nullptr ? 0 : string.size, false});
    }
    default: {  // ROS_TYPE_WSTRING: `kind_of` knows no other.
      if (is_cpp_) {
        const auto& string = *static_cast<const std::u16string*>(place);
        return Value::of_text(kind_, Text{string.data(), string.size(), true});
      }
      const auto& string = *static_cast<const rosidl_runtime_c__U16String*>(place);
      return Value::of_text(kind_, Text{string.data, string.data == nullptr ? 0 : string.size, true});
    }
  }
}

}  // namespace rmw_situ::filter
