// Filters of messages of C: the same expressions give the same answers as for messages of C++. And whatever
// an expression is made of, parsing and evaluating it ends well.
#include <rosidl_runtime_c/primitives_sequence_functions.h>
#include <rosidl_runtime_c/string_functions.h>
#include <rosidl_runtime_c/u16string_functions.h>
#include <test_msgs/msg/arrays.h>
#include <test_msgs/msg/basic_types.h>
#include <test_msgs/msg/strings.h>
#include <test_msgs/msg/unbounded_sequences.h>
#include <test_msgs/msg/w_strings.h>

#include <random>
#include <test_msgs/msg/arrays.hpp>
#include <test_msgs/msg/unbounded_sequences.hpp>

#include "filter_testing.hpp"

namespace {

using rmw_situ::ContentFilter;
using rmw_situ::testing::Parameters;
using rmw_situ::testing::passes_handle;

TEST(FilterOfC, StringsAndSequencesAreRead) {
  const auto* support = ROSIDL_GET_MSG_TYPE_SUPPORT(test_msgs, msg, UnboundedSequences);
  auto* message = test_msgs__msg__UnboundedSequences__create();
  ASSERT_TRUE(rosidl_runtime_c__boolean__Sequence__init(&message->bool_values, 2));
  message->bool_values.data[0] = false;
  message->bool_values.data[1] = true;
  ASSERT_TRUE(rosidl_runtime_c__int64__Sequence__init(&message->int64_values, 1));
  message->int64_values.data[0] = -5000000000;
  ASSERT_TRUE(rosidl_runtime_c__String__Sequence__init(&message->string_values, 2));
  ASSERT_TRUE(rosidl_runtime_c__String__assign(&message->string_values.data[1], "second"));
  ASSERT_TRUE(test_msgs__msg__BasicTypes__Sequence__init(&message->basic_types_values, 3));
  message->basic_types_values.data[2].float32_value = 0.5F;
  EXPECT_TRUE(passes_handle(support, message, "bool_values[0] = FALSE AND bool_values[1] = TRUE"));
  EXPECT_TRUE(passes_handle(support, message, "int64_values[0] < -4999999999"));
  EXPECT_TRUE(passes_handle(support, message, "string_values[0] = '' AND string_values[1] LIKE 'sec%'"));
  EXPECT_TRUE(passes_handle(support, message, "basic_types_values[2].float32_value = 0.5"));
  EXPECT_FALSE(passes_handle(support, message, "int64_values[1] = 0"));
  EXPECT_FALSE(passes_handle(support, message, "basic_types_values[3].float32_value <> 0.5"));
  test_msgs__msg__UnboundedSequences__destroy(message);
}

TEST(FilterOfC, ArraysAreRead) {
  const auto* support = ROSIDL_GET_MSG_TYPE_SUPPORT(test_msgs, msg, Arrays);
  auto* message = test_msgs__msg__Arrays__create();
  message->uint32_values[2] = 77;
  message->bool_values[1] = true;
  message->basic_types_values[1].int8_value = -3;
  EXPECT_TRUE(passes_handle(support, message, "uint32_values[2] = 77 AND bool_values[1] = TRUE"));
  EXPECT_TRUE(passes_handle(support, message, "basic_types_values[1].int8_value = -3"));
  EXPECT_TRUE(passes_handle(support, message, "string_values_default[1] = 'max value'"));
  test_msgs__msg__Arrays__destroy(message);
}

TEST(FilterOfC, WideStringsAreRead) {
  const auto* support = ROSIDL_GET_MSG_TYPE_SUPPORT(test_msgs, msg, WStrings);
  auto* message = test_msgs__msg__WStrings__create();
  const uint16_t content[] = {'H', 0xF6, 0};
  ASSERT_TRUE(rosidl_runtime_c__U16String__assign(&message->wstring_value, content));
  EXPECT_TRUE(passes_handle(support, message, "wstring_value = 'H\xC3\xB6'"));
  test_msgs__msg__WStrings__destroy(message);
}

TEST(FilterOfC, AStringThatWasNeverInitializedIsEmpty) {
  const auto* support = ROSIDL_GET_MSG_TYPE_SUPPORT(test_msgs, msg, Strings);
  test_msgs__msg__Strings message{};
  EXPECT_TRUE(passes_handle(support, &message, "string_value = '' AND string_value LIKE '%'"));
}

TEST(FilterMutations, NoExpressionDoesHarm) {
  const std::vector<std::string> seeds = {
      "int32_values[0] = 5 AND NOT string_values[1] LIKE 'a%_b*' OR bool_values[2] = TRUE",
      "float64_values[2] BETWEEN %0 AND %99 OR uint64_values[0] >= 0xFFFFFFFFFFFFFFFF",
      "string_values[0] MATCH '(a|b){2,3}[^c-e]\\d?.*' AND basic_types_values[1].float32_value < -1.5e-3",
      "((int8_values[0] <> int16_values[0])) OR `text' = string_values[0]",
  };
  const std::string pieces[] = {"(",
                                ")",
                                "[",
                                "]",
                                "AND",
                                "NOT ",
                                "BETWEEN",
                                "%",
                                "'",
                                "`",
                                ".",
                                "1e",
                                "0x",
                                "{9",
                                "\\",
                                "|",
                                "*",
                                "\n",
                                "\xC3",
                                "9999999999999999999",
                                " LIKE ",
                                " MATCH ",
                                "int32_values",
                                std::string(1, '\0')};
  test_msgs::msg::UnboundedSequences message;
  message.int32_values = {5, 6};
  message.string_values = {"abab1", "axb"};
  message.bool_values = {true, false, true};
  message.basic_types_values.resize(2);
  Parameters parameters(100, "1.5");
  const auto* support =
      rosidl_typesupport_cpp::get_message_type_support_handle<test_msgs::msg::UnboundedSequences>();
  std::mt19937 random(1);
  const auto below = [&](size_t limit) { return static_cast<size_t>(random() % limit); };
  size_t valid = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string expression = seeds[below(seeds.size())];
    for (size_t changes = 1 + below(4); changes > 0; --changes) {
      const size_t at = below(expression.size() + 1);
      switch (below(4)) {
        case 0:
          expression.insert(at, pieces[below(std::size(pieces))]);
          break;
        case 1:
          expression.erase(at, 1 + below(5));
          break;
        case 2:
          if (at < expression.size()) expression[at] = static_cast<char>(random());
          break;
        default: {
          const std::string& other = seeds[below(seeds.size())];
          expression = expression.substr(0, at) + other.substr(below(other.size()));
        }
      }
    }
    const auto filter = ContentFilter::make(support, expression, parameters);
    if (filter) {
      ++valid;
      filter->passes(&message);
    } else {
      EXPECT_TRUE(rmw_error_is_set()) << expression;
      rmw_reset_error();
    }
  }
  // The mutations are small enough that many remain expressions.
  EXPECT_GT(valid, 100U);
}

}  // namespace
