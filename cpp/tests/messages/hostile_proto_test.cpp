// Names of packages, messages, enums, enumerators, fields and extensions of .proto files with a meaning in
// C++ or in generated code (tests/generated/schema/hostile/names.proto). The test is that they compile.
#include <gtest/gtest.h>

#include <cstdint>
#include <string_view>
#include <type_traits>
#include <vector>

#include "names.situ.hpp"

namespace {

using namespace std_::template_::self::situ;

/// Methods with changed names write values, which readers with changed names read. The bytes follow the
/// numbers of the fields.
TEST(HostileNames, of_protobuf_come_back) {
  ::situ::protobuf::growing_buffer memory;
  ::situ::protobuf::writer writer(memory);
  {
    AccessorsWriter message(writer);
    message.set_x("x");
    message.set_has_x(2);
    message.set_s_in_pieces_().push("s");
    message.set_s_in_pieces("p");
    message.set_set_s_in_pieces(5);
    message.set_table_(6);
    message.set_error(7);
    message.set_typeid(11);
    message.set_NAN(12);
    message.set_d().set_x(13);
    message.set_c_d().set_x(C_E_::C1);
    Extensions_SelfExtensionWriter(message).set_self("e");
  }
  ASSERT_EQ(writer.finish(), ::situ::protobuf::write_error::none);
  const std::vector<std::uint8_t> bytes(memory.written().begin(), memory.written().end());
  constexpr std::string_view expected(
      "\x0a\x01x\x10\x02\x1a\x01s\x22\x01p\x28\x05\x30\x06\x38\x07\x58\x0b\x60\x0c\x6a\x02\x08\x0d\x72\x02"
      "\x08\x00\xb2"
      "\x06\x01"
      "e",
      33);
  EXPECT_EQ(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()), expected);
  const AccessorsReader read(bytes);
  ASSERT_FALSE(read.error());
  EXPECT_EQ(read.x(), "x");
  EXPECT_TRUE(read.has_x_() && read.has_has_x());
  EXPECT_EQ(read.has_x(), 2);
  EXPECT_EQ(read.s(), "s");
  EXPECT_EQ(read.s_in_pieces(), "p");
  EXPECT_EQ(read.set_s_in_pieces(), 5);
  EXPECT_EQ(read.table__(), 6);
  EXPECT_EQ(read.error_(), 7);
  EXPECT_EQ(read.typeid_(), 11);
  EXPECT_EQ(read.NAN_(), 12);
  EXPECT_EQ(read.d().x(), 13);
  EXPECT_EQ(read.c_d().x(), C_E_::C1);
  EXPECT_EQ(read.choice(), Enumerators_Words::abstract);
  const Extensions_SelfExtensionReader extension(read);
  EXPECT_EQ(extension.self(), "e");
}

// Types that would get the same name stay distinct: names of the schema stay, others change.
static_assert(std::is_enum_v<C_DReader> && std::is_enum_v<C_E> && std::is_enum_v<C_E_> &&
              std::is_enum_v<typeid_>);
static_assert(std::is_class_v<C_D_Reader> && std::is_class_v<C_D__Reader> && std::is_class_v<CWriterWriter>);

}  // namespace
