// One description of a message type, made from the introspection of C or of C++.
#pragma once

#include <rosidl_runtime_c/message_initialization.h>
#include <rosidl_runtime_c/message_type_support_struct.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <rosidl_runtime_cpp/message_initialization.hpp>
#include <string>
#include <vector>

namespace rmw_situ {

enum class Language : uint8_t { kC, kCpp };

// What a member is, or what the elements of an array or a sequence are.
enum class Kind : uint8_t {
  kBool,
  kChar,
  kWChar,
  kInt8,
  kUint8,
  kInt16,
  kUint16,
  kInt32,
  kUint32,
  kInt64,
  kUint64,
  kFloat,
  kDouble,
  kString,
  kWString,
  kStruct
};

enum class Container : uint8_t { kNone, kArray, kSequence };

// The bytes of a number, in memory and in CDR; 0 for strings and structs.
size_t width(Kind kind);

struct Struct;

// A member of a struct. The functions take the address of the member; they are those of introspection.
struct Member {
  std::string name;
  Kind kind = Kind::kUint8;
  Container container = Container::kNone;
  bool is_key = false;
  // Whether a sequence is a rosidl::Buffer, which only its functions can access (support/release.hpp).
  bool is_buffer = false;
  // From the beginning of the struct in memory.
  size_t offset = 0;
  // The number of elements of an array; the bound of a sequence, or 0.
  size_t length = 0;
  // The bound of a string or of the strings in a container, or 0.
  size_t string_bound = 0;
  // The type of a struct or of the structs in a container.
  const Struct* type = nullptr;

  size_t (*size)(const void*) = nullptr;
  const void* (*get_const)(const void*, size_t) = nullptr;
  void* (*get)(void*, size_t) = nullptr;
  bool (*resize_c)(void*, size_t) = nullptr;
  void (*resize_cpp)(void*, size_t) = nullptr;

  // Sets the length of a sequence. False, or std::bad_alloc, if there is no memory.
  bool resize(void* at, size_t count) const;
};

struct Struct {
  // "sensor_msgs::msg::Image".
  std::string name;
  Language language = Language::kC;
  size_t size = 0;
  size_t alignment = 1;
  std::vector<Member> members;
  // Numbers, arrays of numbers, and structs of them, at the offsets that Situ's flat layout gives them.
  bool is_plain = false;

  void (*init_c)(void*, rosidl_runtime_c__message_initialization) = nullptr;
  void (*init_cpp)(void*, rosidl_runtime_cpp::MessageInitialization) = nullptr;
  void (*fini)(void*) = nullptr;
};

// A type with all types that it needs.
struct Description {
  // Each once, after those it needs: the order of the canonical text.
  std::vector<std::unique_ptr<Struct>> structs;

  const Struct& root() const { return *structs.back(); }
};

// The handle of introspection to which a handle leads, or NULL.
const rosidl_message_type_support_t* find_introspection(const rosidl_message_type_support_t* support);

// Describes the type of a handle of introspection. Throws std::runtime_error, with a sentence that names the
// member, if it is malformed or has a kind of member that Situ does not support.
Description describe(const rosidl_message_type_support_t& introspection);

}  // namespace rmw_situ
