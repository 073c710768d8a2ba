// Messages are written as rmw_fastrtps_cpp writes them, and read from its bytes.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <rmw/error_handling.h>
#include <rmw/rmw.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "support.hpp"

namespace rmw_situ::test {
namespace {

using Bytes = std::vector<std::byte>;

// The serializer of rmw_fastrtps_cpp, in a library that is loaded for itself.
class FastRtps {
 public:
  FastRtps() {
    void* library = dlopen("librmw_fastrtps_cpp.so", RTLD_LAZY | RTLD_LOCAL);
    if (library == nullptr) return;
    serialize_ = reinterpret_cast<decltype(&rmw_serialize)>(dlsym(library, "rmw_serialize"));
    deserialize_ = reinterpret_cast<decltype(&rmw_deserialize)>(dlsym(library, "rmw_deserialize"));
  }
  bool is_there() const { return serialize_ != nullptr && deserialize_ != nullptr; }

  // With zeros in padding, which is otherwise what was there before.
  Bytes write(const void* message, const rosidl_message_type_support_t* support) const {
    rmw_serialized_message_t to = rmw_get_zero_initialized_serialized_message();
    rcutils_allocator_t allocator = rcutils_get_default_allocator();
    EXPECT_EQ(rmw_serialized_message_init(&to, 1 << 20, &allocator), RMW_RET_OK);
    std::memset(to.buffer, 0, to.buffer_capacity);
    EXPECT_EQ(serialize_(message, support, &to), RMW_RET_OK) << rmw_get_error_string().str;
    const auto* begin = reinterpret_cast<const std::byte*>(to.buffer);
    Bytes bytes(begin, begin + to.buffer_length);
    EXPECT_EQ(rmw_serialized_message_fini(&to), RMW_RET_OK);
    return bytes;
  }

  void read(Bytes bytes, void* message, const rosidl_message_type_support_t* support) const {
    rmw_serialized_message_t from = rmw_get_zero_initialized_serialized_message();
    from.buffer = reinterpret_cast<uint8_t*>(bytes.data());
    from.buffer_length = from.buffer_capacity = bytes.size();
    EXPECT_EQ(deserialize_(&from, support, message), RMW_RET_OK) << rmw_get_error_string().str;
  }

 private:
  decltype(&rmw_serialize) serialize_ = nullptr;
  decltype(&rmw_deserialize) deserialize_ = nullptr;
};

const FastRtps& fast_rtps() {
  static const FastRtps loaded;
  return loaded;
}

class Cdr : public testing::TestWithParam<TypeCase> {
 protected:
  void SetUp() override {
    support_ = GetParam().support();
    ASSERT_NE(support_, nullptr);
    type_ = MessageType::find(support_);
    ASSERT_NE(type_, nullptr) << rmw_get_error_string().str;
    description_ = describe(*find_introspection(support_));
  }

  // A message with these bytes, which must be read completely.
  void expect_read(const Bytes& bytes, const Message& expected) {
    Message read(*type_);
    // What a message held before makes no difference.
    Filler(7).fill(description_.root(), read.get());
    ASSERT_TRUE(type_->read_cdr(bytes, read.get())) << rmw_get_error_string().str;
    EXPECT_EQ(read.cdr(), expected.cdr());
    if (fast_rtps().is_there()) {
      EXPECT_EQ(fast_rtps().write(read.get(), support_), fast_rtps().write(expected.get(), support_));
    }
  }

  void expect_same(const Message& message) {
    Bytes ours = message.cdr();
    expect_read(ours, message);
    if (!fast_rtps().is_there()) return;
    Bytes theirs = fast_rtps().write(message.get(), support_);
    // Their size is computed first, and may be too large.
    ASSERT_GE(theirs.size(), ours.size());
    EXPECT_TRUE(std::equal(ours.begin(), ours.end(), theirs.begin()));
    EXPECT_TRUE(std::all_of(theirs.begin() + static_cast<ptrdiff_t>(ours.size()), theirs.end(),
                            [](std::byte it) { return it == std::byte{0}; }));
    expect_read(theirs, message);
    Message read(*type_);
    fast_rtps().read(ours, read.get(), support_);
    EXPECT_EQ(read.cdr(), ours);
  }

  const rosidl_message_type_support_t* support_ = nullptr;
  const MessageType* type_ = nullptr;
  Description description_;
};

TEST_P(Cdr, DefaultsAreTheBytesOfFastRtps) { expect_same(Message(*type_)); }

TEST_P(Cdr, RandomValuesAreTheBytesOfFastRtps) {
  for (uint64_t seed = 1; seed <= 20 && !HasFailure(); seed++) {
    SCOPED_TRACE(seed);
    Message message(*type_);
    Filler(seed).fill(description_.root(), message.get());
    expect_same(message);
  }
}

TEST_P(Cdr, FullMessagesAreTheBytesOfFastRtps) {
  Message message(*type_);
  Filler(1, Fill::kFull).fill(description_.root(), message.get());
  expect_same(message);
}

INSTANTIATE_TEST_SUITE_P(Types, Cdr, testing::ValuesIn(all_cases()),
                         [](const auto& of) { return case_name(of.param); });

}  // namespace
}  // namespace rmw_situ::test
