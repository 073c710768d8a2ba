// Sequences that do not lie in memory as expected are accessed by the functions of introspection, with the
// same result.
#include <gtest/gtest.h>
#include <rmw/error_handling.h>

#include <stdexcept>
#include <vector>

#include "support.hpp"
#include "types/cdr_read.hpp"
#include "types/cdr_write.hpp"
#include "types/layout.hpp"
#include "types/plan.hpp"

namespace rmw_situ::test {
namespace {

void make_indirect(Plan& plan) {
  plan.is_direct = false;
  for (Op& op : plan.ops) {
    op.is_direct = false;
    if (op.nested) make_indirect(*op.nested);
  }
}

class Functions : public testing::TestWithParam<TypeCase> {};

TEST_P(Functions, ReadAndWriteTheSameMessages) {
  const auto* support = GetParam().support();
  const MessageType* type = MessageType::find(support);
  ASSERT_NE(type, nullptr);
  Description description = describe(*find_introspection(support));
  Plan plan = compile(description.root());
  EXPECT_TRUE(plan.is_direct);
  make_indirect(plan);
  for (uint64_t seed = 1; seed <= 5; seed++) {
    Message message(*type);
    Filler(seed).fill(description.root(), message.get());
    std::vector<std::byte> expected = message.cdr();
    ASSERT_EQ(measure_cdr(plan, message.get()), expected.size());
    std::vector<std::byte> written(expected.size());
    ASSERT_TRUE(write_cdr(plan, type->ros_name(), message.get(), written)) << rmw_get_error_string().str;
    EXPECT_EQ(written, expected);
    Message read(*type);
    CdrSource source(written, type->ros_name());
    ASSERT_TRUE(source.open() && read_cdr(plan, source, read.get())) << rmw_get_error_string().str;
    EXPECT_EQ(read.cdr(), expected);
  }
}

INSTANTIATE_TEST_SUITE_P(Types, Functions, testing::ValuesIn(all_cases()),
                         [](const auto& of) { return case_name(of.param); });

TEST(Layout, IsAsExpectedHere) { EXPECT_TRUE(cpp_layouts_hold()); }

// Lyrical's rosidl::Buffer is no vector: its functions would follow a forged pointer.
TEST(Layout, OfABufferIsNotForged) {
  Description description =
      describe(*find_introspection(message_support("sensor_msgs::msg::Image", Language::kCpp)));
  Member& data = description.structs.back()->members.back();
  ASSERT_EQ(data.name, "data");
  data.is_buffer = true;
  data.size = [](const void*) -> size_t { throw std::logic_error("a forged buffer was read"); };
  Plan plan = compile(description.root());
  EXPECT_FALSE(plan.ops.back().is_direct);
  EXPECT_FALSE(plan.is_direct);
}

// A function that sees something else than what lies in memory.
size_t other_size(const void*) { return 1; }

TEST(Layout, OfASequenceWithAnotherIsNoticed) {
  Description description =
      describe(*find_introspection(message_support("sensor_msgs::msg::JointState", Language::kCpp)));
  for (Member member : description.root().members) {
    if (member.container != Container::kSequence || member.kind != Kind::kDouble) continue;
    EXPECT_TRUE(sequence_layout_holds(member, sizeof(double)));
    EXPECT_FALSE(sequence_layout_holds(member, sizeof(float)));
    member.size = other_size;
    EXPECT_FALSE(sequence_layout_holds(member, sizeof(double)));
  }
}

}  // namespace
}  // namespace rmw_situ::test
