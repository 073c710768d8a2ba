// Bytes that are no message are refused with an error, and nothing beyond them is read.
#include <gtest/gtest.h>
#include <rmw/error_handling.h>
#include <rosidl_runtime_c/string_functions.h>
#include <test_msgs/msg/unbounded_sequences.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <sensor_msgs/msg/image.hpp>
#include <std_msgs/msg/string.hpp>
#include <string>
#include <test_msgs/msg/basic_types.hpp>
#include <test_msgs/msg/bounded_sequences.hpp>
#include <test_msgs/msg/strings.hpp>
#include <test_msgs/msg/w_strings.hpp>
#include <vector>

#include "read_only.hpp"
#include "support.hpp"

namespace rmw_situ::test {
namespace {

using Bytes = std::vector<std::byte>;

// The message of the error that is set, which is reset.
std::string take_error() {
  EXPECT_TRUE(rmw_error_is_set());
  std::string text = rmw_get_error_string().str;
  rmw_reset_error();
  return text;
}

Bytes bytes_of(std::initializer_list<int> values) {
  Bytes bytes;
  for (int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

const MessageType& find(const char* name, Language language = Language::kCpp) {
  return *MessageType::find(message_support(name, language));
}

template <class T>
Bytes write(const MessageType& type, const T& message) {
  Bytes bytes(type.cdr_size(&message));
  EXPECT_TRUE(type.write_cdr(&message, bytes)) << rmw_get_error_string().str;
  return bytes;
}

class Mutated : public testing::TestWithParam<TypeCase> {};

// Changes some bytes, as a damaged or a malicious sender would.
void mutate(Bytes& bytes, Filler& random) {
  constexpr uint32_t kLengths[] = {0,   1,     2,          3,          15,         16,
                                   255, 65536, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff};
  for (uint64_t changes = 1 + random.next() % 3; changes > 0; changes--) {
    size_t at = bytes.size() < 5 ? 0 : 4 + random.next() % (bytes.size() - 4);
    switch (random.next() % 8) {
      case 0:
        bytes.resize(random.next() % (bytes.size() + 1));
        break;
      case 1:
        bytes.resize(bytes.size() + random.next() % 9, static_cast<std::byte>(random.next()));
        break;
      case 2:
        if (bytes.size() > 2) bytes[1] ^= std::byte{1};
        break;
      case 3:
        if (at < bytes.size()) bytes[at] = static_cast<std::byte>(random.next());
        break;
      default: {
        uint32_t length = random.next() % 2 == 0 ? kLengths[random.next() % std::size(kLengths)]
                                                 : static_cast<uint32_t>(random.next() % (bytes.size() + 1));
        at = at / 4 * 4;
        if (at + sizeof(length) <= bytes.size()) std::memcpy(bytes.data() + at, &length, sizeof(length));
      }
    }
  }
}

// More rounds, for longer runs under sanitizers: SITU_FUZZ_ROUNDS.
uint64_t rounds() {
  const char* text = std::getenv("SITU_FUZZ_ROUNDS");
  return text == nullptr ? 40 : std::strtoull(text, nullptr, 10);
}

TEST_P(Mutated, MessagesAreReadAndShownAlikeOrRefused) {
  const auto* support = GetParam().support();
  const MessageType* type = MessageType::find(support);
  ASSERT_NE(type, nullptr);
  Description description = describe(*find_introspection(support));
  auto shadow = type->make_shadow();
  Message read(*type);
  Filler random(std::hash<std::string>()(GetParam().name));
  Bytes original;
  for (uint64_t round = 0; round < rounds() && !HasFailure(); round++) {
    if (round % 10 == 0) {
      Message message(*type);
      Filler(random.next()).fill(description.root(), message.get());
      original = message.cdr();
    }
    Bytes bytes = original;
    mutate(bytes, random);
    ReadOnly from(bytes);
    bool is_read = type->read_cdr(from.bytes(), read.get());
    EXPECT_EQ(rmw_error_is_set(), !is_read);
    rmw_reset_error();
    // Whatever was read is a valid message.
    Bytes again = read.cdr();
    if (shadow != nullptr) {
      EXPECT_EQ(shadow->show(from.bytes()), is_read);
      EXPECT_EQ(rmw_error_is_set(), !is_read);
      rmw_reset_error();
      if (is_read) {
        Bytes shown(type->cdr_size(shadow->message()));
        EXPECT_TRUE(type->write_cdr(shadow->message(), shown));
        EXPECT_EQ(shown, again);
      }
      shadow->clear();
    }
    if (is_read) {
      Message second(*type);
      ASSERT_TRUE(type->read_cdr(again, second.get()));
      EXPECT_EQ(second.cdr(), again);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, Mutated, testing::ValuesIn(all_cases()),
                         [](const auto& of) { return case_name(of.param); });

TEST(Hostile, EveryTruncationIsRefused) {
  const MessageType& type = find("test_msgs::msg::UnboundedSequences", Language::kC);
  Message message(type);
  Filler(3).fill(
      describe(*find_introspection(message_support("test_msgs::msg::UnboundedSequences", Language::kC)))
          .root(),
      message.get());
  Bytes bytes = message.cdr();
  Message read(type);
  for (size_t size = 0; size < bytes.size(); size++) {
    ReadOnly from({bytes.data(), size});
    ASSERT_FALSE(type.read_cdr(from.bytes(), read.get())) << size;
    take_error();
  }
}

TEST(Hostile, BytesBehindTheMessageAreIgnored) {
  const MessageType& type = find("std_msgs::msg::String");
  std_msgs::msg::String message;
  message.data = "text";
  Bytes bytes = write(type, message);
  bytes.resize(bytes.size() + 7, std::byte{0xff});
  std_msgs::msg::String read;
  ASSERT_TRUE(type.read_cdr(bytes, &read));
  EXPECT_EQ(read, message);
}

TEST(Hostile, OtherEncapsulationsAreRefused) {
  const MessageType& type = find("std_msgs::msg::String");
  std_msgs::msg::String read;
  for (int kind : {2, 3, 6, 7, 8, 9, 10, 11, 12, 255}) {
    EXPECT_FALSE(type.read_cdr(bytes_of({0, kind, 0, 0, 1, 0, 0, 0, 0}), &read));
    EXPECT_NE(take_error().find("encapsulation"), std::string::npos);
  }
  EXPECT_FALSE(type.read_cdr(bytes_of({0, 1, 0}), &read));
  take_error();
}

TEST(Hostile, StringsWithoutAZeroAreRead) {
  const MessageType& type = find("std_msgs::msg::String");
  auto shadow = type.make_shadow();
  const auto& shown = *static_cast<const std_msgs::msg::String*>(shadow->message());
  std_msgs::msg::String read;
  std::string text = "a text that has more than fifteen characters";
  Bytes bytes = bytes_of({0, 1, 0, 0, static_cast<int>(text.size()), 0, 0, 0});
  for (char c : text) bytes.push_back(static_cast<std::byte>(c));
  ReadOnly from(bytes);
  ASSERT_TRUE(type.read_cdr(from.bytes(), &read));
  EXPECT_EQ(read.data, text);
  ASSERT_TRUE(shadow->show(from.bytes()));
  EXPECT_EQ(shown.data, text);
  EXPECT_EQ(std::strlen(shown.data.c_str()), text.size());
  // The empty string may have no zero either.
  bytes = bytes_of({0, 1, 0, 0, 0, 0, 0, 0});
  ASSERT_TRUE(type.read_cdr(bytes, &read));
  EXPECT_EQ(read.data, "");
  ASSERT_TRUE(shadow->show(bytes));
  EXPECT_EQ(shown.data, "");
}

TEST(Hostile, ALengthThatCannotBeThereAllocatesNothing) {
  const MessageType& type = find("sensor_msgs::msg::Image");
  sensor_msgs::msg::Image image;
  Bytes bytes = write(type, image);
  const uint32_t length = 0xfffffff0;
  std::memcpy(bytes.data() + bytes.size() - sizeof(length), &length, sizeof(length));
  EXPECT_FALSE(type.read_cdr(bytes, &image));
  std::string error = take_error();
  EXPECT_NE(error.find("'data' has 4294967280 elements, but only 0 bytes follow"), std::string::npos)
      << error;
  EXPECT_EQ(image.data.capacity(), 0u);
  EXPECT_FALSE(type.make_shadow()->show(bytes));
  take_error();
}

TEST(Hostile, BoolsThatAreNeitherZeroNorOneAreRefused) {
  const MessageType& type = find("test_msgs::msg::BasicTypes");
  test_msgs::msg::BasicTypes message;
  ASSERT_TRUE(type.is_plain());
  std::span<std::byte> head(reinterpret_cast<std::byte*>(&message), sizeof(message));
  EXPECT_TRUE(type.check_plain(head));
  EXPECT_FALSE(type.check_plain(head.first(head.size() - 1)));
  take_error();
  Bytes bytes = write(type, message);
  bytes[4] = std::byte{2};
  EXPECT_FALSE(type.read_cdr(bytes, &message));
  EXPECT_NE(take_error().find("'bool_value'"), std::string::npos);
  // The message that could not be read can be used nevertheless.
  EXPECT_EQ(head[offsetof(test_msgs::msg::BasicTypes, bool_value)], std::byte{0});
  Bytes copy(head.begin(), head.end());
  copy[offsetof(test_msgs::msg::BasicTypes, bool_value)] = std::byte{0x80};
  EXPECT_FALSE(type.check_plain(copy));
  EXPECT_NE(take_error().find("'bool_value'"), std::string::npos);
}

// A program of C may publish what lies in memory that it has not set.
TEST(Hostile, BoolsThatWereNotSetArePublishedAsZeroOrOne) {
  const MessageType& type = find("test_msgs::msg::BasicTypes");
  test_msgs::msg::BasicTypes message;
  auto* const bytes = reinterpret_cast<std::byte*>(&message);
  constexpr size_t kBool = offsetof(test_msgs::msg::BasicTypes, bool_value);
  bytes[kBool] = std::byte{0x80};
  const Bytes written = write(type, message);
  EXPECT_EQ(written[4], std::byte{1});
  type.normalize_plain(&message);
  EXPECT_EQ(bytes[kBool], std::byte{1});
  bytes[kBool] = std::byte{0};
  type.normalize_plain(&message);
  EXPECT_EQ(bytes[kBool], std::byte{0});
}

TEST(Hostile, WideCharactersOfMoreThan16BitsAreRefused) {
  const MessageType& type = find("test_msgs::msg::WStrings");
  test_msgs::msg::WStrings message;
  message.wstring_value = u"x";
  Bytes bytes = write(type, message);
  ASSERT_EQ(bytes[8], std::byte{'x'});
  bytes[10] = std::byte{1};
  EXPECT_FALSE(type.read_cdr(bytes, &message));
  EXPECT_NE(take_error().find("'wstring_value' is 0x10078"), std::string::npos);
}

TEST(Hostile, BoundsAreEnforced) {
  const MessageType& type = find("test_msgs::msg::Strings");
  test_msgs::msg::Strings message;
  message.bounded_string_value.assign(23, 'x');
  Bytes bytes(type.cdr_size(&message));
  EXPECT_FALSE(type.write_cdr(&message, bytes));
  EXPECT_NE(take_error().find("'bounded_string_value' has 23 characters, but its bound is 22"),
            std::string::npos);
  message.bounded_string_value.resize(22);
  bytes = write(type, message);
  Bytes text = bytes_of({23, 0, 0, 0, 'x'});
  auto at = std::search(bytes.begin(), bytes.end(), text.begin(), text.end());
  ASSERT_NE(at, bytes.end());
  // The zero becomes a character.
  ASSERT_EQ(at[4 + 22], std::byte{0});
  at[4 + 22] = std::byte{'x'};
  EXPECT_FALSE(type.read_cdr(bytes, &message));
  EXPECT_NE(take_error().find("'bounded_string_value' has 23 characters, but its bound is 22"),
            std::string::npos);
}

TEST(Hostile, AStringOfCWithoutMemoryIsRefused) {
  const MessageType& type = find("test_msgs::msg::UnboundedSequences", Language::kC);
  Message message(type);
  auto& raw = *static_cast<test_msgs__msg__UnboundedSequences*>(message.get());
  ASSERT_TRUE(rosidl_runtime_c__String__Sequence__init(&raw.string_values, 2));
  char* data = raw.string_values.data[1].data;
  raw.string_values.data[1].data = nullptr;
  Bytes bytes(type.cdr_size(&raw));
  EXPECT_FALSE(type.write_cdr(&raw, bytes));
  EXPECT_NE(take_error().find("'string_values' has no memory"), std::string::npos);
  raw.string_values.data[1].data = data;
  EXPECT_TRUE(type.write_cdr(&raw, bytes));
  // A buffer of another size than that of the message.
  EXPECT_FALSE(type.write_cdr(&raw, std::span(bytes).first(bytes.size() - 1)));
  EXPECT_NE(take_error().find("does not fit"), std::string::npos);
}

}  // namespace
}  // namespace rmw_situ::test
