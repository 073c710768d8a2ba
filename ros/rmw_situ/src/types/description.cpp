// One description of a message type, made from the introspection of C or of C++.
#include "types/description.hpp"

#include <rcutils/error_handling.h>
#include <rosidl_typesupport_introspection_c/field_types.h>
#include <rosidl_typesupport_introspection_c/identifier.h>
#include <rosidl_typesupport_introspection_c/message_introspection.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <rosidl_typesupport_introspection_cpp/identifier.hpp>
#include <rosidl_typesupport_introspection_cpp/message_introspection.hpp>
#include <stdexcept>
#include <type_traits>

#include "support/release.hpp"

namespace rmw_situ {
namespace {

using MembersC = rosidl_typesupport_introspection_c__MessageMembers;
using MembersCpp = rosidl_typesupport_introspection_cpp::MessageMembers;

// The tests compile with stand-ins for Lyrical's headers.
#ifdef RMW_SITU_EXPECT_LYRICAL
static_assert(requires(MembersC in_c, MembersCpp in_cpp) {
  in_c.members_->is_rosidl_buffer_;
  in_cpp.members_->is_rosidl_buffer_;
});
#endif

// As deep as schemas of Situ may be.
constexpr size_t kMaxDepth = 100;
// An array of a message has at most 2^32 elements, and its struct at most 4 GiB.
constexpr size_t kMaxSize = UINT32_MAX;

size_t align_up(size_t offset, size_t alignment) { return (offset + alignment - 1) / alignment * alignment; }

bool is_introspection_of(const rosidl_message_type_support_t& handle, const char* identifier) {
  return handle.typesupport_identifier != nullptr &&
         std::strcmp(handle.typesupport_identifier, identifier) == 0;
}

// "a__b" of C and "a::b" of C++ are both "a::b". Names of packages have no double underscores.
std::string qualified(const char* space, const char* name) {
  std::string result;
  for (const char* at = space; *at != 0; at++) {
    if (at[0] == '_' && at[1] == '_') {
      result += "::";
      at++;
    } else {
      result += *at;
    }
  }
  return result + "::" + name;
}

Kind kind_of(uint8_t type_id, const std::string& path) {
  switch (type_id) {
    case rosidl_typesupport_introspection_c__ROS_TYPE_BOOLEAN:
      return Kind::kBool;
    case rosidl_typesupport_introspection_c__ROS_TYPE_CHAR:
      return Kind::kChar;
    case rosidl_typesupport_introspection_c__ROS_TYPE_WCHAR:
      return Kind::kWChar;
    case rosidl_typesupport_introspection_c__ROS_TYPE_INT8:
      return Kind::kInt8;
    case rosidl_typesupport_introspection_c__ROS_TYPE_OCTET:
    case rosidl_typesupport_introspection_c__ROS_TYPE_UINT8:
      return Kind::kUint8;
    case rosidl_typesupport_introspection_c__ROS_TYPE_INT16:
      return Kind::kInt16;
    case rosidl_typesupport_introspection_c__ROS_TYPE_UINT16:
      return Kind::kUint16;
    case rosidl_typesupport_introspection_c__ROS_TYPE_INT32:
      return Kind::kInt32;
    case rosidl_typesupport_introspection_c__ROS_TYPE_UINT32:
      return Kind::kUint32;
    case rosidl_typesupport_introspection_c__ROS_TYPE_INT64:
      return Kind::kInt64;
    case rosidl_typesupport_introspection_c__ROS_TYPE_UINT64:
      return Kind::kUint64;
    case rosidl_typesupport_introspection_c__ROS_TYPE_FLOAT:
      return Kind::kFloat;
    case rosidl_typesupport_introspection_c__ROS_TYPE_DOUBLE:
      return Kind::kDouble;
    case rosidl_typesupport_introspection_c__ROS_TYPE_STRING:
      return Kind::kString;
    case rosidl_typesupport_introspection_c__ROS_TYPE_WSTRING:
      return Kind::kWString;
    case rosidl_typesupport_introspection_c__ROS_TYPE_MESSAGE:
      return Kind::kStruct;
    case rosidl_typesupport_introspection_c__ROS_TYPE_LONG_DOUBLE:
      throw std::runtime_error("member '" + path +
                               "' is a long double, which Situ does not support: use a double");
    default:
      throw std::runtime_error("member '" + path + "' has the unknown kind " + std::to_string(type_id) +
                               ": rmw_situ was built for another release of ROS 2");
  }
}

// The size and the alignment of an element, or of a member that is no container, in memory.
size_t element_size(const Member& member, Language language) {
  switch (member.kind) {
    case Kind::kString:
      return language == Language::kC ? 3 * sizeof(void*) : sizeof(std::string);
    case Kind::kWString:
      return language == Language::kC ? 3 * sizeof(void*) : sizeof(std::u16string);
    case Kind::kStruct:
      return member.type->size;
    default:
      return width(member.kind);
  }
}

size_t member_alignment(const Member& member) {
  if (member.container == Container::kSequence) return alignof(void*);
  switch (member.kind) {
    case Kind::kString:
    case Kind::kWString:
      return alignof(void*);
    case Kind::kStruct:
      return member.type->alignment;
    default:
      return width(member.kind);
  }
}

// Whether all bytes of messages are numbers, and padding as C has it.
bool is_plain(const Struct& type) {
  size_t end = 0;
  for (const Member& member : type.members) {
    bool plain = member.kind == Kind::kStruct ? member.type->is_plain : width(member.kind) != 0;
    if (!plain || member.container == Container::kSequence) return false;
    if (member.offset != align_up(end, member_alignment(member))) return false;
    size_t count = member.container == Container::kArray ? member.length : 1;
    end = member.offset + count * element_size(member, type.language);
  }
  return end != 0 && type.size == align_up(end, type.alignment);
}

class Describer {
 public:
  template <class Members>
  const Struct* add(const rosidl_message_type_support_t& handle, size_t depth) {
    auto [found, is_new] = known_.try_emplace(handle.data, nullptr);
    if (!is_new) {
      if (found->second == nullptr) throw std::runtime_error("a type contains itself");
      return found->second;
    }
    if (handle.data == nullptr) throw std::runtime_error("the introspection of a type has no data");
    if (depth > kMaxDepth) throw std::runtime_error("types are nested more than 100 deep");
    const Members& from = *static_cast<const Members*>(handle.data);
    auto made = std::make_unique<Struct>();
    made->name = qualified(from.message_namespace_, from.message_name_);
    made->size = from.size_of_;
    if (made->size > kMaxSize) throw std::runtime_error("'" + made->name + "' is larger than 4 GiB");
    if constexpr (std::is_same_v<Members, MembersCpp>) {
      made->language = Language::kCpp;
      made->init_cpp = from.init_function;
    } else {
      made->init_c = from.init_function;
    }
    made->fini = from.fini_function;
    if (from.member_count_ != 0 && from.members_ == nullptr) {
      throw std::runtime_error("'" + made->name + "' has no members in its introspection");
    }
    for (size_t i = 0; i < from.member_count_; i++) {
      made->members.push_back(member(*made, from.members_[i], depth));
      made->alignment = std::max(made->alignment, member_alignment(made->members.back()));
    }
    made->is_plain = is_plain(*made);
    known_[handle.data] = made.get();
    result_.structs.push_back(std::move(made));
    return result_.structs.back().get();
  }

  Description take() { return std::move(result_); }

 private:
  template <class From>
  Member member(const Struct& in, const From& from, size_t depth) {
    constexpr bool kIsCpp = std::is_same_v<From, rosidl_typesupport_introspection_cpp::MessageMember>;
    Member made;
    if (from.name_ == nullptr) throw std::runtime_error("'" + in.name + "' has a member without a name");
    made.name = from.name_;
    std::string path = in.name + "." + made.name;
    made.kind = kind_of(from.type_id_, path);
    made.is_key = release::is_key(from);
    made.offset = from.offset_;
    made.string_bound = from.string_upper_bound_;
    if (made.kind == Kind::kStruct) {
      if (from.members_ == nullptr) throw std::runtime_error("member '" + path + "' has no type");
      using Members = std::conditional_t<kIsCpp, MembersCpp, MembersC>;
      made.type = add<Members>(*from.members_, depth + 1);
    }
    if (from.is_array_) {
      made.length = from.array_size_;
      made.size = from.size_function;
      made.get_const = from.get_const_function;
      made.get = from.get_function;
      bool is_sequence = from.is_upper_bound_ || from.array_size_ == 0;
      made.container = is_sequence ? Container::kSequence : Container::kArray;
      made.is_buffer = is_sequence && release::is_buffer(from);
      if constexpr (kIsCpp) {
        made.resize_cpp = from.resize_function;
      } else {
        made.resize_c = from.resize_function;
      }
      bool has_bits = kIsCpp && made.kind == Kind::kBool;
      bool is_complete = made.size != nullptr && from.resize_function != nullptr &&
                         (has_bits || (made.get != nullptr && made.get_const != nullptr));
      if (is_sequence && !is_complete) {
        throw std::runtime_error("member '" + path + "' is a sequence, but has no functions to access it");
      }
    }
    bool in_array = made.container == Container::kArray;
    size_t count = in_array ? made.length : 1;
    size_t size = element_size(made, in.language);
    if (made.container == Container::kSequence)
      size = made.is_buffer && kIsCpp ? sizeof(void*) : 3 * sizeof(void*);
    if (made.offset > in.size || count > (in.size - made.offset) / std::max<size_t>(size, 1)) {
      throw std::runtime_error("member '" + path + "' lies beyond the end of its struct of " +
                               std::to_string(in.size) + " bytes");
    }
    return made;
  }

  std::map<const void*, const Struct*> known_;
  Description result_;
};

}  // namespace

size_t width(Kind kind) {
  switch (kind) {
    case Kind::kBool:
    case Kind::kChar:
    case Kind::kInt8:
    case Kind::kUint8:
      return 1;
    case Kind::kWChar:
    case Kind::kInt16:
    case Kind::kUint16:
      return 2;
    case Kind::kInt32:
    case Kind::kUint32:
    case Kind::kFloat:
      return 4;
    case Kind::kInt64:
    case Kind::kUint64:
    case Kind::kDouble:
      return 8;
    default:
      return 0;
  }
}

bool Member::resize(void* at, size_t count) const {
  if (resize_c != nullptr) return resize_c(at, count);
  resize_cpp(at, count);
  return true;
}

const rosidl_message_type_support_t* find_introspection(const rosidl_message_type_support_t* support) {
  if (support == nullptr || support->func == nullptr) return nullptr;
  const char* const identifiers[] = {rosidl_typesupport_introspection_c__identifier,
                                     rosidl_typesupport_introspection_cpp::typesupport_identifier};
  for (const char* identifier : identifiers) {
    // A dispatcher loads the library with the introspection.
    const rosidl_message_type_support_t* found = get_message_typesupport_handle(support, identifier);
    if (found != nullptr) return found;
    rcutils_reset_error();
  }
  return nullptr;
}

Description describe(const rosidl_message_type_support_t& introspection) {
  Describer describer;
  if (is_introspection_of(introspection, rosidl_typesupport_introspection_c__identifier)) {
    describer.add<MembersC>(introspection, 0);
  } else if (is_introspection_of(introspection,
                                 rosidl_typesupport_introspection_cpp::typesupport_identifier)) {
    describer.add<MembersCpp>(introspection, 0);
  } else {
    throw std::runtime_error("the handle is not one of introspection");
  }
  return describer.take();
}

}  // namespace rmw_situ
