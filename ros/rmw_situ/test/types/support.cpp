// What the tests of types share: types of installed packages by their names, messages, and random values.
#include "support.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <rmw/error_handling.h>
#include <rosidl_runtime_c/string_functions.h>
#include <rosidl_runtime_c/u16string_functions.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <new>
#include <sstream>

namespace rmw_situ::test {
namespace {

// "a::b::C" as "a__b__C".
std::string with_underscores(std::string name) {
  std::replace(name.begin(), name.end(), ':', '_');
  return name;
}

void* symbol(const std::string& name, Language language, const std::string& function) {
  std::string support = language == Language::kC ? "rosidl_typesupport_c" : "rosidl_typesupport_cpp";
  std::string package = name.substr(0, name.find(':'));
  void* library = dlopen(("lib" + package + "__" + support + ".so").c_str(), RTLD_LAZY | RTLD_GLOBAL);
  if (library == nullptr) return nullptr;
  return dlsym(library, (support + "__" + function + "__" + with_underscores(name)).c_str());
}

}  // namespace

const std::vector<KnownType>& known_types() {
  static const std::vector<KnownType> types = [] {
    std::vector<KnownType> read;
    std::ifstream file(SITU_TEST_TYPES_DIR "/hashes.txt");
    for (std::string line; std::getline(file, line);) {
      if (line.empty() || line[0] == '#') continue;
      KnownType type;
      std::istringstream(line) >> type.name >> type.schema_hash >> type.layout_hash;
      read.push_back(type);
    }
    return read;
  }();
  return types;
}

const rosidl_message_type_support_t* message_support(const std::string& name, Language language) {
  auto get = reinterpret_cast<const rosidl_message_type_support_t* (*)()>(
      symbol(name, language, "get_message_type_support_handle"));
  return get == nullptr ? nullptr : get();
}

const rosidl_service_type_support_t* service_support(const std::string& name, Language language) {
  auto get = reinterpret_cast<const rosidl_service_type_support_t* (*)()>(
      symbol(name, language, "get_service_type_support_handle"));
  return get == nullptr ? nullptr : get();
}

std::vector<TypeCase> all_cases() {
  std::vector<TypeCase> cases;
  for (const KnownType& type : known_types()) {
    cases.push_back({type.name, Language::kC});
    cases.push_back({type.name, Language::kCpp});
  }
  return cases;
}

std::string case_name(const TypeCase& of) {
  return with_underscores(of.name) + (of.language == Language::kC ? "_in_C" : "_in_Cpp");
}

Message::Message(const MessageType& type)
    : type_(type), memory_(::operator new(type.size(), std::align_val_t(16))) {
  // Members that are not initialized would have these bytes.
  std::memset(memory_, 0xa5, type.size());
  EXPECT_TRUE(type.init(memory_)) << rmw_get_error_string().str;
}

Message::~Message() {
  type_.fini(memory_);
  ::operator delete(memory_, std::align_val_t(16));
}

std::vector<std::byte> Message::cdr() const {
  std::vector<std::byte> bytes(type_.cdr_size(memory_), std::byte{0xee});
  EXPECT_TRUE(type_.write_cdr(memory_, bytes)) << rmw_get_error_string().str;
  rcutils_reset_error();
  return bytes;
}

void Filler::fill(const Struct& type, void* message) {
  depth_++;
  for (const Member& each : type.members) {
    member(each, type.language, static_cast<std::byte*>(message) + each.offset);
  }
  depth_--;
}

size_t Filler::length(size_t bound, std::initializer_list<size_t> choices) {
  size_t chosen = how_ == Fill::kFull ? *(choices.end() - 1) : *(choices.begin() + next() % choices.size());
  if (bound == 0) return chosen;
  return how_ == Fill::kFull ? bound : std::min(chosen, bound);
}

void Filler::member(const Member& member, Language language, std::byte* at) {
  if (member.container == Container::kNone) return element(member, language, at);
  size_t count = member.length;
  if (member.container == Container::kSequence) {
    // Sequences in sequences become short, so that messages do.
    count = depth_ > 2 ? length(member.length, {0, 1, 2}) : length(member.length, {0, 1, 2, 3, 5, 8, 33});
    ASSERT_TRUE(member.resize(at, count));
  }
  if (language == Language::kCpp && member.kind == Kind::kBool && member.container == Container::kSequence) {
    auto& bits = *reinterpret_cast<std::vector<bool>*>(at);
    for (size_t i = 0; i < count; i++) bits[i] = next() % 2 != 0;
    return;
  }
  for (size_t i = 0; i < count; i++) element(member, language, member.get(at, i));
}

void Filler::element(const Member& member, Language language, void* at) {
  if (member.kind == Kind::kStruct) return fill(*member.type, at);
  if (member.kind == Kind::kBool) {
    *static_cast<bool*>(at) = next() % 2 != 0;
  } else if (width(member.kind) != 0) {
    uint64_t value = next();
    std::memcpy(at, &value, width(member.kind));
  } else {
    // Around the longest text without memory of its own: 15 bytes, or 7 units of 16 bits.
    size_t size = length(member.string_bound, {0, 1, 6, 7, 8, 14, 15, 16, 17, 70});
    std::u16string text;
    for (size_t i = 0; i < size; i++) text += static_cast<char16_t>(1 + next() % 0xffff);
    if (member.kind == Kind::kWString) {
      if (language == Language::kCpp) {
        *static_cast<std::u16string*>(at) = text;
      } else {
        auto* wide = static_cast<rosidl_runtime_c__U16String*>(at);
        ASSERT_TRUE(rosidl_runtime_c__U16String__resize(wide, size));
        std::copy(text.begin(), text.end(), wide->data);
      }
      return;
    }
    std::string narrow;
    for (char16_t unit : text) narrow += static_cast<char>(1 + unit % 255);
    if (language == Language::kCpp) {
      *static_cast<std::string*>(at) = narrow;
    } else {
      ASSERT_TRUE(rosidl_runtime_c__String__assignn(static_cast<rosidl_runtime_c__String*>(at), narrow.data(),
                                                    narrow.size()));
    }
  }
}

}  // namespace rmw_situ::test
