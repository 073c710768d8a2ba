// Structs with padding, between members and at the end, that have the same layout in memory and in CDR.
#include <gtest/gtest.h>
#include <rmw/error_handling.h>
#include <rosidl_typesupport_introspection_c/field_types.h>
#include <rosidl_typesupport_introspection_c/identifier.h>
#include <rosidl_typesupport_introspection_c/message_introspection.h>

#include <cstdlib>
#include <cstring>
#include <new>
#include <rosidl_typesupport_introspection_cpp/identifier.hpp>
#include <rosidl_typesupport_introspection_cpp/message_introspection.hpp>
#include <vector>

#include "read_only.hpp"
#include "types/layout.hpp"
#include "types/message_type.hpp"

namespace rmw_situ::test {
namespace {

using Bytes = std::vector<std::byte>;
using MemberC = rosidl_typesupport_introspection_c__MessageMember;
using MembersC = rosidl_typesupport_introspection_c__MessageMembers;
using MemberCpp = rosidl_typesupport_introspection_cpp::MessageMember;
using MembersCpp = rosidl_typesupport_introspection_cpp::MessageMembers;

struct Padded {
  double a;
  bool b;
  uint32_t c;
  uint8_t d;
};
static_assert(sizeof(Padded) == 24);

template <class Sequence>
struct Outer {
  uint8_t first;
  Padded fixed[2];
  Sequence many;
  uint8_t last;
};
using OuterC = Outer<SequenceC>;
using OuterCpp = Outer<std::vector<Padded>>;

// The elements of each kind of sequence.
Padded* elements(OuterC& outer) { return static_cast<Padded*>(outer.many.data); }
Padded* elements(OuterCpp& outer) { return outer.many.data(); }

size_t two(const void*) { return 2; }
const void* get_fixed_const(const void* at, size_t i) { return static_cast<const Padded*>(at) + i; }
void* get_fixed(void* at, size_t i) { return static_cast<Padded*>(at) + i; }

size_t size_c(const void* at) { return static_cast<const SequenceC*>(at)->size; }
const void* get_const_c(const void* at, size_t i) {
  return static_cast<const Padded*>(static_cast<const SequenceC*>(at)->data) + i;
}
void* get_c(void* at, size_t i) { return static_cast<Padded*>(static_cast<SequenceC*>(at)->data) + i; }
bool resize_c(void* at, size_t size) {
  auto& sequence = *static_cast<SequenceC*>(at);
  std::free(sequence.data);
  sequence = {size == 0 ? nullptr : std::calloc(size, sizeof(Padded)), size, size};
  return size == 0 || sequence.data != nullptr;
}
void init_c(void* message, rosidl_runtime_c__message_initialization) { new (message) OuterC(); }
void fini_c(void* message) { std::free(static_cast<OuterC*>(message)->many.data); }

size_t size_cpp(const void* at) { return static_cast<const std::vector<Padded>*>(at)->size(); }
const void* get_const_cpp(const void* at, size_t i) {
  return &(*static_cast<const std::vector<Padded>*>(at))[i];
}
void* get_cpp(void* at, size_t i) { return &(*static_cast<std::vector<Padded>*>(at))[i]; }
void resize_cpp(void* at, size_t size) { static_cast<std::vector<Padded>*>(at)->resize(size); }
void init_cpp(void* message, rosidl_runtime_cpp::MessageInitialization) { new (message) OuterCpp(); }
void fini_cpp(void* message) { static_cast<OuterCpp*>(message)->~OuterCpp(); }

constexpr uint8_t kDouble = rosidl_typesupport_introspection_c__ROS_TYPE_DOUBLE;
constexpr uint8_t kBool = rosidl_typesupport_introspection_c__ROS_TYPE_BOOLEAN;
constexpr uint8_t kUint32 = rosidl_typesupport_introspection_c__ROS_TYPE_UINT32;
constexpr uint8_t kUint8 = rosidl_typesupport_introspection_c__ROS_TYPE_UINT8;
constexpr uint8_t kMessage = rosidl_typesupport_introspection_c__ROS_TYPE_MESSAGE;

template <class Member>
Member number(const char* name, uint8_t type, size_t offset) {
  Member member{};
  member.name_ = name;
  member.type_id_ = type;
  member.offset_ = static_cast<uint32_t>(offset);
  return member;
}

template <class Member>
Member structs(const char* name, const rosidl_message_type_support_t* type, size_t offset, size_t length) {
  Member member = number<Member>(name, kMessage, offset);
  member.members_ = type;
  member.is_array_ = true;
  member.array_size_ = length;
  member.size_function = two;
  member.get_const_function = get_fixed_const;
  member.get_function = get_fixed;
  return member;
}

rosidl_message_type_support_t handle(const char* identifier, const void* data) {
  rosidl_message_type_support_t made{};
  made.typesupport_identifier = identifier;
  made.data = data;
  made.func = get_message_typesupport_handle_function;
  return made;
}

// The introspection that rosidl would generate for `OuterC` and `OuterCpp`.
template <class Message, class Member, class Members>
const MessageType* find_type(const char* identifier, const char* space, Member many,
                             decltype(Members::init_function) init, void (*fini)(void*)) {
  static const Member inner_members[] = {
      number<Member>("a", kDouble, offsetof(Padded, a)), number<Member>("b", kBool, offsetof(Padded, b)),
      number<Member>("c", kUint32, offsetof(Padded, c)), number<Member>("d", kUint8, offsetof(Padded, d))};
  static const Members inner{space, "Padded", 4, sizeof(Padded), false, inner_members, nullptr, nullptr};
  static const rosidl_message_type_support_t inner_handle = handle(identifier, &inner);
  many.members_ = &inner_handle;
  static const Member outer_members[] = {number<Member>("first", kUint8, offsetof(Message, first)),
                                         structs<Member>("fixed", &inner_handle, offsetof(Message, fixed), 2),
                                         many, number<Member>("last", kUint8, offsetof(Message, last))};
  static const Members outer{space, "Outer", 4, sizeof(Message), false, outer_members, init, fini};
  static const rosidl_message_type_support_t outer_handle = handle(identifier, &outer);
  return MessageType::find(&outer_handle);
}

template <class Message>
const MessageType* find_type();

template <>
const MessageType* find_type<OuterC>() {
  auto many = structs<MemberC>("many", nullptr, offsetof(OuterC, many), 0);
  many.size_function = size_c;
  many.get_const_function = get_const_c;
  many.get_function = get_c;
  many.resize_function = resize_c;
  return find_type<OuterC, MemberC, MembersC>(rosidl_typesupport_introspection_c__identifier, "padding__msg",
                                              many, init_c, fini_c);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"
template <>
const MessageType* find_type<OuterCpp>() {
  auto many = structs<MemberCpp>("many", nullptr, offsetof(OuterCpp, many), 0);
  many.size_function = size_cpp;
  many.get_const_function = get_const_cpp;
  many.get_function = get_cpp;
  many.resize_function = resize_cpp;
  return find_type<OuterCpp, MemberCpp, MembersCpp>(
      rosidl_typesupport_introspection_cpp::typesupport_identifier, "padding::msg", many, init_cpp, fini_cpp);
}
#pragma GCC diagnostic pop

// The members, in memory whose padding is not zero.
void set(Padded* at, double a, bool b, uint32_t c, uint8_t d) {
  std::memset(static_cast<void*>(at), 0xa5, sizeof(*at));
  at->a = a;
  at->b = b;
  at->c = c;
  at->d = d;
}

void put(Bytes& bytes, size_t offset, const auto& value) {
  std::memcpy(bytes.data() + 4 + offset, &value, sizeof(value));
}

// As the rules of CDR have it.
Bytes expected_bytes() {
  Bytes bytes(4 + 98);
  bytes[1] = std::byte{1};
  put(bytes, 0, uint8_t{1});
  const size_t begins[] = {8, 32, 56, 80};
  for (size_t i = 0; i < 4; i++) {
    put(bytes, begins[i], 1.5 + static_cast<double>(i));
    put(bytes, begins[i] + 8, i % 2 == 0);
    put(bytes, begins[i] + 12, static_cast<uint32_t>(1000 + i));
    put(bytes, begins[i] + 16, static_cast<uint8_t>(10 + i));
  }
  put(bytes, 52, uint32_t{2});
  put(bytes, 97, uint8_t{9});
  return bytes;
}

template <class Message>
class Padding : public testing::Test {};

using Messages = testing::Types<OuterC, OuterCpp>;
TYPED_TEST_SUITE(Padding, Messages);

TYPED_TEST(Padding, IsWrittenAsZeroes) {
  const MessageType* type = find_type<TypeParam>();
  ASSERT_NE(type, nullptr) << rmw_get_error_string().str;
  TypeParam message{};
  message.first = 1;
  message.last = 9;
  if constexpr (std::is_same_v<TypeParam, OuterC>) {
    resize_c(&message.many, 2);
  } else {
    message.many.resize(2);
  }
  for (size_t i = 0; i < 4; i++) {
    Padded* at = i < 2 ? message.fixed + i : elements(message) + i - 2;
    set(at, 1.5 + static_cast<double>(i), i % 2 == 0, static_cast<uint32_t>(1000 + i),
        static_cast<uint8_t>(10 + i));
  }
  Bytes bytes(type->cdr_size(&message));
  ASSERT_TRUE(type->write_cdr(&message, bytes));
  EXPECT_EQ(bytes, expected_bytes());
  if constexpr (std::is_same_v<TypeParam, OuterC>) std::free(message.many.data);
}

template <class Message>
void expect_values(Message& message) {
  EXPECT_EQ(message.first, 1);
  EXPECT_EQ(message.last, 9);
  for (size_t i = 0; i < 4; i++) {
    const Padded& at = i < 2 ? message.fixed[i] : elements(message)[i - 2];
    EXPECT_EQ(at.a, 1.5 + static_cast<double>(i));
    EXPECT_EQ(at.b, i % 2 == 0);
    EXPECT_EQ(at.c, 1000 + i);
    EXPECT_EQ(at.d, 10 + i);
  }
}

TYPED_TEST(Padding, MayHoldAnythingInWhatIsRead) {
  const MessageType* type = find_type<TypeParam>();
  ASSERT_NE(type, nullptr);
  Bytes bytes = expected_bytes();
  for (size_t offset : {1, 7, 17, 19, 25, 31, 41, 49, 51, 65, 73, 79, 89})
    bytes[4 + offset] = std::byte{0xee};
  alignas(TypeParam) std::byte memory[sizeof(TypeParam)];
  ASSERT_TRUE(type->init(memory));
  auto& message = *reinterpret_cast<TypeParam*>(memory);
  ReadOnly from(bytes);
  EXPECT_TRUE(type->read_cdr(from.bytes(), &message)) << rmw_get_error_string().str;
  expect_values(message);
  type->fini(memory);
}

TYPED_TEST(Padding, AtTheEndOfTheLastElementIsNotReadBeyondTheMessage) {
  const MessageType* type = find_type<TypeParam>();
  ASSERT_NE(type, nullptr);
  auto shadow = type->make_shadow();
  ASSERT_NE(shadow, nullptr);
  Bytes bytes = expected_bytes();
  auto& message = *static_cast<TypeParam*>(shadow->message());
  // The elements end 17 bytes behind the beginning of the last one, and 1 byte before the end of the message.
  ReadOnly aligned(bytes, 4);
  ASSERT_TRUE(shadow->show(aligned.bytes()));
  expect_values(message);
  EXPECT_FALSE(aligned.has(elements(message)));
  // With more bytes behind them they are shown in place.
  bytes.resize(bytes.size() + 8);
  ReadOnly longer(bytes, 4);
  ASSERT_TRUE(shadow->show(longer.bytes()));
  expect_values(message);
  EXPECT_TRUE(longer.has(elements(message)));
  // A bool in the last element.
  bytes[4 + 88] = std::byte{3};
  EXPECT_FALSE(shadow->show(bytes));
  EXPECT_TRUE(rmw_error_is_set());
  rmw_reset_error();
}

}  // namespace
}  // namespace rmw_situ::test
