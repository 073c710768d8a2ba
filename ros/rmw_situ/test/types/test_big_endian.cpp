// Messages with the other byte order, written by the type support of Fast DDS, are read and shown.
#include <dlfcn.h>
#include <fastcdr/Cdr.h>
#include <fastcdr/FastBuffer.h>
#include <gtest/gtest.h>
#include <rmw/error_handling.h>
#include <rosidl_typesupport_fastrtps_cpp/message_type_support.h>

#include <string>
#include <vector>

#include "read_only.hpp"
#include "support.hpp"

namespace rmw_situ::test {
namespace {

using Bytes = std::vector<std::byte>;

Bytes write_big_endian(const message_type_support_callbacks_t& type, const void* message, size_t size) {
  std::vector<char> memory(size + 1024);
  eprosima::fastcdr::FastBuffer buffer(memory.data(), memory.size());
  eprosima::fastcdr::Cdr cdr(buffer, eprosima::fastcdr::Cdr::BIG_ENDIANNESS,
                             eprosima::fastcdr::CdrVersion::XCDRv1);
  cdr.set_encoding_flag(eprosima::fastcdr::EncodingAlgorithmFlag::PLAIN_CDR);
  cdr.serialize_encapsulation();
  EXPECT_TRUE(type.cdr_serialize(message, cdr));
  const auto* begin = reinterpret_cast<const std::byte*>(memory.data());
  return {begin, begin + cdr.get_serialized_data_length()};
}

class BigEndian : public testing::TestWithParam<TypeCase> {};

TEST_P(BigEndian, MessagesAreReadAndShown) {
  const auto* support = GetParam().support();
  const MessageType* type = MessageType::find(support);
  ASSERT_NE(type, nullptr);
  Description description = describe(*find_introspection(support));
  const char* name = GetParam().language == Language::kC ? "rosidl_typesupport_fastrtps_c"
                                                         : "rosidl_typesupport_fastrtps_cpp";
  const auto* fast = get_message_typesupport_handle(support, name);
  ASSERT_NE(fast, nullptr);
  const auto& callbacks = *static_cast<const message_type_support_callbacks_t*>(fast->data);
  auto shadow = type->make_shadow();
  for (uint64_t seed = 1; seed <= 8 && !HasFailure(); seed++) {
    Message message(*type);
    Filler(seed, seed == 8 ? Fill::kFull : Fill::kRandom).fill(description.root(), message.get());
    Bytes expected = message.cdr();
    Bytes bytes = write_big_endian(callbacks, message.get(), expected.size());
    ASSERT_EQ(bytes[1], std::byte{0});
    Message read(*type);
    ReadOnly from(bytes);
    ASSERT_TRUE(type->read_cdr(from.bytes(), read.get())) << rmw_get_error_string().str;
    EXPECT_EQ(read.cdr(), expected);
    if (shadow == nullptr) continue;
    ASSERT_TRUE(shadow->show(from.bytes())) << rmw_get_error_string().str;
    Bytes shown(type->cdr_size(shadow->message()));
    ASSERT_TRUE(type->write_cdr(shadow->message(), shown));
    EXPECT_EQ(shown, expected);
  }
}

INSTANTIATE_TEST_SUITE_P(Types, BigEndian, testing::ValuesIn(all_cases()),
                         [](const auto& of) { return case_name(of.param); });

}  // namespace
}  // namespace rmw_situ::test
