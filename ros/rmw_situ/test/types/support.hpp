// What the tests of types share: types of installed packages by their names, messages, and random values.
#pragma once

#include <rosidl_runtime_c/message_type_support_struct.h>
#include <rosidl_runtime_c/service_type_support_struct.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "types/description.hpp"
#include "types/message_type.hpp"

namespace rmw_situ::test {

// A line of hashes.txt.
struct KnownType {
  std::string name;  // "sensor_msgs::msg::Image"
  std::string schema_hash;
  std::string layout_hash;  // "-" if there is none
};

const std::vector<KnownType>& known_types();

// The handle of a type in rosidl_typesupport_c or rosidl_typesupport_cpp. NULL if its package is not
// installed.
const rosidl_message_type_support_t* message_support(const std::string& name, Language language);
const rosidl_service_type_support_t* service_support(const std::string& name, Language language);

// A type of either language; a parameter of tests.
struct TypeCase {
  std::string name;
  Language language;

  const rosidl_message_type_support_t* support() const { return message_support(name, language); }
};

// Each known type in both languages.
std::vector<TypeCase> all_cases();
std::string case_name(const TypeCase& of);

// A message that is initialized and finalized by its type.
class Message {
 public:
  explicit Message(const MessageType& type);
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;
  ~Message();

  void* get() { return memory_; }
  const void* get() const { return memory_; }
  const MessageType& type() const { return type_; }
  // As `write_cdr` writes it.
  std::vector<std::byte> cdr() const;

 private:
  const MessageType& type_;
  void* memory_;
};

// How messages are filled: with random values, or with as much as the bounds allow.
enum class Fill { kRandom, kFull };

// Sets all members by the functions of introspection.
class Filler {
 public:
  explicit Filler(uint64_t seed, Fill how = Fill::kRandom) : random_(seed), how_(how) {}

  void fill(const Struct& type, void* message);
  uint64_t next() { return random_(); }

 private:
  void member(const Member& member, Language language, std::byte* at);
  void element(const Member& member, Language language, void* at);
  size_t length(size_t bound, std::initializer_list<size_t> choices);

  std::mt19937_64 random_;
  Fill how_;
  size_t depth_ = 0;
};

}  // namespace rmw_situ::test
