// The language of filters: precedence, comparisons, types, errors. The values follow from the text of
// DDS 1.4, annex B, and of SQL.
#include <cmath>
#include <limits>
#include <test_msgs/msg/arrays.hpp>
#include <test_msgs/msg/basic_types.hpp>
#include <test_msgs/msg/bounded_sequences.hpp>
#include <test_msgs/msg/builtins.hpp>
#include <test_msgs/msg/multi_nested.hpp>
#include <test_msgs/msg/nested.hpp>
#include <test_msgs/msg/strings.hpp>
#include <test_msgs/msg/unbounded_sequences.hpp>
#include <test_msgs/msg/w_strings.hpp>

#include "filter_testing.hpp"

namespace {

using rmw_situ::testing::error_for;
using rmw_situ::testing::Parameters;
using rmw_situ::testing::passes;
using test_msgs::msg::Arrays;
using test_msgs::msg::BasicTypes;
using test_msgs::msg::BoundedSequences;
using test_msgs::msg::Builtins;
using test_msgs::msg::MultiNested;
using test_msgs::msg::Nested;
using test_msgs::msg::Strings;
using test_msgs::msg::UnboundedSequences;
using test_msgs::msg::WStrings;

BasicTypes basic() {
  BasicTypes message;
  message.bool_value = true;
  message.byte_value = 200;
  message.char_value = 'A';
  message.float32_value = 3.14F;
  message.float64_value = 3.14;
  message.int8_value = -8;
  message.uint8_value = 8;
  message.int16_value = -1600;
  message.uint16_value = 1600;
  message.int32_value = -32;
  message.uint32_value = 4000000000U;
  message.int64_value = std::numeric_limits<int64_t>::min();
  message.uint64_value = std::numeric_limits<uint64_t>::max();
  return message;
}

Strings text(const std::string& value) {
  Strings message;
  message.string_value = value;
  return message;
}

TEST(FilterLanguage, EveryOperatorComparesIntegers) {
  const BasicTypes message = basic();
  EXPECT_TRUE(passes(message, "int32_value = -32"));
  EXPECT_FALSE(passes(message, "int32_value = 32"));
  EXPECT_TRUE(passes(message, "int32_value <> 32"));
  EXPECT_TRUE(passes(message, "int32_value != 32"));
  EXPECT_FALSE(passes(message, "int32_value <> -32"));
  EXPECT_TRUE(passes(message, "int32_value < -31"));
  EXPECT_FALSE(passes(message, "int32_value < -32"));
  EXPECT_TRUE(passes(message, "int32_value <= -32"));
  EXPECT_FALSE(passes(message, "int32_value <= -33"));
  EXPECT_TRUE(passes(message, "int32_value > -33"));
  EXPECT_FALSE(passes(message, "int32_value > -32"));
  EXPECT_TRUE(passes(message, "int32_value >= -32"));
  EXPECT_FALSE(passes(message, "int32_value >= -31"));
}

TEST(FilterLanguage, EachTypeOfNumberIsRead) {
  const BasicTypes message = basic();
  EXPECT_TRUE(passes(message, "bool_value = TRUE"));
  EXPECT_TRUE(passes(message, "byte_value = 200"));
  EXPECT_TRUE(passes(message, "char_value = 65"));
  EXPECT_TRUE(passes(message, "float32_value = 3.14"));
  EXPECT_TRUE(passes(message, "float64_value = 3.14"));
  EXPECT_TRUE(passes(message, "int8_value = -8"));
  EXPECT_TRUE(passes(message, "uint8_value = 8"));
  EXPECT_TRUE(passes(message, "int16_value = -1600"));
  EXPECT_TRUE(passes(message, "uint16_value = 1600"));
  EXPECT_TRUE(passes(message, "uint32_value = 4000000000"));
  EXPECT_TRUE(passes(message, "int64_value = -9223372036854775808"));
  EXPECT_TRUE(passes(message, "uint64_value = 18446744073709551615"));
}

TEST(FilterLanguage, SignedAndUnsignedCompareByTheirValues) {
  const BasicTypes message = basic();
  EXPECT_TRUE(passes(message, "int8_value < uint64_value"));
  EXPECT_TRUE(passes(message, "uint64_value > int64_value"));
  EXPECT_FALSE(passes(message, "uint64_value = -1"));
  EXPECT_TRUE(passes(message, "uint64_value > -1"));
}

TEST(FilterLanguage, LiteralsHaveTheFormsOfTheStandard) {
  BasicTypes message;
  message.int32_value = 10;
  message.float64_value = 2500.0;
  EXPECT_TRUE(passes(message, "int32_value = 0xA"));
  EXPECT_TRUE(passes(message, "int32_value = 0X0a"));
  EXPECT_TRUE(passes(message, "int32_value = +10"));
  EXPECT_TRUE(passes(message, "int32_value = 010"));
  EXPECT_TRUE(passes(message, "int32_value > -0x10"));
  EXPECT_TRUE(passes(message, "int32_value = 10.0"));
  EXPECT_TRUE(passes(message, "int32_value < 10.5"));
  EXPECT_TRUE(passes(message, "float64_value = 2.5e3"));
  EXPECT_TRUE(passes(message, "float64_value = 25E+2"));
  EXPECT_TRUE(passes(message, "float64_value = 25000e-1"));
  EXPECT_TRUE(passes(message, "float64_value > .5"));
  EXPECT_TRUE(passes(message, "float64_value > -.5"));
  EXPECT_TRUE(passes(message, "float64_value = 2500"));
}

TEST(FilterLanguage, FloatingFieldsCompareInTheirOwnPrecision) {
  BasicTypes message;
  message.float32_value = 0.1F;
  message.float64_value = 0.1;
  EXPECT_TRUE(passes(message, "float32_value = 0.1"));
  EXPECT_TRUE(passes(message, "float64_value = 0.1"));
  // 0.1 of 32 bits is larger than 0.1 of 64 bits.
  EXPECT_TRUE(passes(message, "float32_value > float64_value"));
  message.float32_value = 16777216.0F;
  EXPECT_TRUE(passes(message, "float32_value = 16777217"));
  EXPECT_TRUE(passes(message, "float32_value < 1e300"));
  EXPECT_TRUE(passes(message, "float32_value BETWEEN -1e300 AND 1e300"));
  message.float32_value = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(passes(message, "float32_value > 1e300"));
  message.float32_value = std::nanf("");
  EXPECT_FALSE(passes(message, "float32_value = 0"));
  EXPECT_TRUE(passes(message, "float32_value <> 0"));
  EXPECT_FALSE(passes(message, "float32_value = float32_value"));
  EXPECT_FALSE(passes(message, "float32_value BETWEEN -1e30 AND 1e30"));
}

TEST(FilterLanguage, IntegersBeyondThePrecisionOfDoublesStayExact) {
  BasicTypes message;
  message.int64_value = (int64_t{1} << 53) + 1;
  message.float64_value = 9007199254740992.0;
  EXPECT_FALSE(passes(message, "int64_value = float64_value"));
  EXPECT_TRUE(passes(message, "int64_value > 9007199254740992.0"));
}

TEST(FilterLanguage, BooleansCompareWithBooleansAndIntegers) {
  BasicTypes message;
  message.bool_value = false;
  EXPECT_TRUE(passes(message, "bool_value = FALSE"));
  EXPECT_TRUE(passes(message, "bool_value = false"));
  EXPECT_TRUE(passes(message, "bool_value <> TRUE"));
  EXPECT_TRUE(passes(message, "bool_value < TRUE"));
  EXPECT_TRUE(passes(message, "bool_value = 0"));
  EXPECT_TRUE(passes(message, "bool_value = int32_value"));
  EXPECT_NE(error_for<BasicTypes>("bool_value = 1.5"), "");
  EXPECT_NE(error_for<BasicTypes>("bool_value = float32_value"), "");
  EXPECT_NE(error_for<BasicTypes>("bool_value = 'true'"), "");
}

TEST(FilterLanguage, NotBindsStrongerThanAndAndThanOr) {
  BasicTypes message;
  message.int8_value = 1;
  message.int16_value = 2;
  message.int32_value = 3;
  const std::string yes = "int8_value = 1", no = "int8_value = 0";
  EXPECT_TRUE(passes(message, yes + " OR " + no + " AND " + no));
  EXPECT_FALSE(passes(message, "(" + yes + " OR " + no + ") AND " + no));
  EXPECT_TRUE(passes(message, "NOT " + no + " OR " + yes));
  EXPECT_TRUE(passes(message, "NOT " + yes + " OR " + yes));
  EXPECT_FALSE(passes(message, "NOT (" + yes + " OR " + yes + ")"));
  EXPECT_FALSE(passes(message, "NOT " + no + " AND " + no));
  EXPECT_TRUE(passes(message, "NOT NOT " + yes));
  EXPECT_TRUE(passes(message, "((" + yes + "))"));
  EXPECT_TRUE(passes(message, no + " AND " + yes + " OR " + yes));
  EXPECT_TRUE(passes(message, yes + " AND " + yes + " AND NOT " + no));
  EXPECT_FALSE(passes(message, no + " OR " + no + " OR " + no));
}

TEST(FilterLanguage, KeywordsAndSpacesAreFree) {
  BasicTypes message;
  message.int32_value = 5;
  message.bool_value = true;
  EXPECT_TRUE(passes(message, "int32_value=5 and(bool_value=True)"));
  EXPECT_TRUE(passes(message, " \t\nint32_value\n>=\t5\r\nAnd Not bool_value = fAlse "));
  EXPECT_TRUE(passes(message, "int32_value not\tbetween 6 and 7"));
}

TEST(FilterLanguage, AnEmptyExpressionPassesEverything) {
  EXPECT_TRUE(passes(BasicTypes(), ""));
  EXPECT_TRUE(passes(BasicTypes(), " \n"));
}

TEST(FilterLanguage, EitherSideMayBeTheField) {
  const BasicTypes message = basic();
  EXPECT_TRUE(passes(message, "-33 < int32_value"));
  EXPECT_FALSE(passes(message, "-33 > int32_value"));
  EXPECT_TRUE(passes(message, "int8_value < uint8_value"));
  EXPECT_TRUE(passes(message, "3.14 = float32_value"));
  EXPECT_NE(error_for<BasicTypes>("1 = 1"), "");
  EXPECT_NE(error_for<BasicTypes>("%0 = 1", {"1"}), "");
}

TEST(FilterLanguage, BetweenIncludesItsBounds) {
  BasicTypes message;
  for (const int value : {4, 5, 7, 9, 10}) {
    message.int32_value = value;
    const bool is_in = value >= 5 && value <= 9;
    EXPECT_EQ(passes(message, "int32_value BETWEEN 5 AND 9"), is_in) << value;
    EXPECT_EQ(passes(message, "int32_value NOT BETWEEN 5 AND 9"), !is_in) << value;
    EXPECT_EQ(passes(message, "int32_value BETWEEN %0 AND %1 AND int8_value = 0", {"5", "9"}), is_in)
        << value;
    EXPECT_EQ(passes(message, "NOT int32_value BETWEEN 4.5 AND 9.5"), !is_in) << value;
    EXPECT_FALSE(passes(message, "int32_value BETWEEN 9 AND 5")) << value;
  }
  EXPECT_TRUE(passes(text("m"), "string_value BETWEEN 'a' AND 'z'"));
  EXPECT_FALSE(passes(text("z1"), "string_value BETWEEN 'a' AND 'z'"));
  EXPECT_NE(error_for<BasicTypes>("5 BETWEEN 1 AND 9"), "");
  EXPECT_NE(error_for<BasicTypes>("int32_value BETWEEN int8_value AND 9"), "");
  EXPECT_NE(error_for<BasicTypes>("int32_value BETWEEN 1 OR 9"), "");
  EXPECT_NE(error_for<BasicTypes>("int32_value BETWEEN 'a' AND 9"), "");
  EXPECT_NE(error_for<BasicTypes>("int32_value NOT 5"), "");
}

TEST(FilterLanguage, ParametersAreLiterals) {
  BasicTypes message = basic();
  EXPECT_TRUE(passes(message, "int32_value = %0", {"-32"}));
  EXPECT_TRUE(passes(message, "float32_value = %1 AND bool_value = %0", {"TRUE", "3.14"}));
  EXPECT_TRUE(passes(message, "int32_value = %0 AND float64_value > %0", {" -32 "}));
  EXPECT_TRUE(passes(text("it is"), "string_value = %0", {"'it is'"}));
  EXPECT_TRUE(passes(message, "int32_value = -32", {"never used", "17"}));
  Parameters hundred(100, "0");
  hundred[99] = "-32";
  EXPECT_TRUE(passes(message, "int32_value = %99", hundred));
  hundred.push_back("0");
  EXPECT_NE(error_for<BasicTypes>("int32_value = %0", hundred), "");
  EXPECT_NE(error_for<BasicTypes>("int32_value = %0").find("there is no parameter %0"), std::string::npos);
  EXPECT_NE(error_for<BasicTypes>("int32_value = %2", {"1", "2"}), "");
  EXPECT_NE(error_for<BasicTypes>("int32_value = %100", hundred), "");
  EXPECT_NE(error_for<BasicTypes>("int32_value = %", {"1"}), "");
  EXPECT_NE(error_for<BasicTypes>("int32_value = %0", {"int8_value"}), "");
  EXPECT_NE(error_for<BasicTypes>("int32_value = %0", {"%0"}), "");
  EXPECT_NE(error_for<BasicTypes>("int32_value = %0", {""}), "");
  EXPECT_NE(error_for<BasicTypes>("int32_value = %0", {"1 OR 1"}), "");
  EXPECT_NE(error_for<Strings>("string_value = %0", {"text"}).find("needs quotes"), std::string::npos);
}

TEST(FilterLanguage, StringsCompareByCharacters) {
  EXPECT_TRUE(passes(text("hello"), "string_value = 'hello'"));
  EXPECT_TRUE(passes(text("hello"), "string_value = `hello'"));
  EXPECT_FALSE(passes(text("hello"), "string_value = 'hell'"));
  EXPECT_TRUE(passes(text("hello"), "string_value > 'hell'"));
  EXPECT_TRUE(passes(text("Z"), "string_value < 'a'"));
  EXPECT_TRUE(passes(text(""), "string_value = ''"));
  EXPECT_TRUE(passes(text("x"), "string_value = 'x'"));
  EXPECT_TRUE(passes(text("'"), "string_value = '''"));
  EXPECT_TRUE(passes(text("a"), "string_value < '\xC3\xA4'"));
  EXPECT_TRUE(passes(text("%"), "string_value = '%'"));
  Strings two = text("same");
  two.bounded_string_value = "same";
  EXPECT_TRUE(passes(two, "string_value = bounded_string_value"));
  EXPECT_FALSE(passes(text(std::string("a\0b", 3)), "string_value = 'a'"));
  const std::string large(100000, 'y');
  EXPECT_TRUE(passes(text(large), "string_value > 'x' AND string_value LIKE 'y%y'"));
}

TEST(FilterLanguage, LikeHasWildcards) {
  const auto like = [](const std::string& value, const std::string& pattern) {
    return passes(text(value), "string_value LIKE '" + pattern + "'");
  };
  EXPECT_TRUE(like("camera_left", "camera%"));
  EXPECT_TRUE(like("camera_left", "camera*"));
  EXPECT_TRUE(like("camera_left", "%left"));
  EXPECT_TRUE(like("camera_left", "%era%le%"));
  EXPECT_TRUE(like("camera_left", "______?left"));
  EXPECT_FALSE(like("camera_left", "camera"));
  EXPECT_FALSE(like("camera_left", "Camera%"));
  EXPECT_FALSE(like("camera_left", "camera_lef"));
  EXPECT_FALSE(like("camera_left", "camera_left_"));
  EXPECT_TRUE(like("", "%"));
  EXPECT_FALSE(like("", "_"));
  EXPECT_TRUE(like("", ""));
  EXPECT_TRUE(like("aXbXc", "a%X%c"));
  EXPECT_TRUE(like("ab.c", "ab.c"));
  EXPECT_FALSE(like("abxc", "ab.c"));
  EXPECT_TRUE(like("mississippi", "m%iss%pi"));
  EXPECT_FALSE(like("mississippi", "m%iss%pix"));
  // One character of two bytes.
  EXPECT_TRUE(like("\xC3\xA4", "_"));
  EXPECT_FALSE(like("\xC3\xA4", "__"));
  // Each byte that belongs to no character counts as one.
  EXPECT_TRUE(like("\xC3\xFF", "__"));
  EXPECT_TRUE(passes(text("b"), "NOT string_value like 'a%'"));
  EXPECT_TRUE(passes(text("abc"), "string_value LIKE %0", {"'a%'"}));
  EXPECT_NE(error_for<BasicTypes>("int32_value LIKE '3%'"), "");
  EXPECT_NE(error_for<Strings>("string_value LIKE 3"), "");
  EXPECT_NE(error_for<Strings>("'a' LIKE 'a'"), "");
}

TEST(FilterLanguage, LikeDoesNotTakeExponentialTime) {
  std::string pattern;
  for (int i = 0; i < 100; ++i) pattern += "%a";
  EXPECT_FALSE(passes(text(std::string(5000, 'a')), "string_value LIKE '" + pattern + "b'"));
}

TEST(FilterLanguage, MatchHasRegularExpressions) {
  const auto match = [](const std::string& value, const std::string& pattern) {
    return passes(text(value), "string_value MATCH '" + pattern + "'");
  };
  EXPECT_TRUE(match("lidar42", "[a-z]+[0-9]{2}"));
  EXPECT_FALSE(match("lidar4", "[a-z]+[0-9]{2}"));
  EXPECT_FALSE(match("lidar421", "[a-z]+[0-9]{2}"));
  EXPECT_TRUE(match("lidar", "lidar|radar"));
  EXPECT_TRUE(match("radar", "(?:li|ra)dar"));
  EXPECT_FALSE(match("sonar", "(li|ra)dar"));
  EXPECT_TRUE(match("abab", "(ab)*"));
  EXPECT_FALSE(match("aba", "(ab)*"));
  EXPECT_TRUE(match("", "(ab)*"));
  EXPECT_TRUE(match("aaa", "a{2,3}"));
  EXPECT_FALSE(match("aaaa", "a{2,3}"));
  EXPECT_FALSE(match("a", "a{2,}"));
  EXPECT_TRUE(match("aaaaaa", "a{2,}"));
  EXPECT_TRUE(match("", "a{0}"));
  EXPECT_FALSE(match("a", "a{0}"));
  EXPECT_TRUE(match("abcabcabc", "((a)(bc)?){3}"));
  EXPECT_TRUE(match("aabca", "((a)(bc)?){3}"));
  EXPECT_FALSE(match("aabc", "((a)(bc)?){3}"));
  EXPECT_TRUE(match("x.y", "x\\.y"));
  EXPECT_FALSE(match("x-y", "x\\.y"));
  EXPECT_TRUE(match("x-y", "x.y"));
  EXPECT_TRUE(match("a]", "[\\]a]+"));
  EXPECT_TRUE(match("a-b", "[a-]+b"));
  EXPECT_TRUE(match("zz", "[^a-y]*"));
  EXPECT_FALSE(match("za", "[^a-y]*"));
  EXPECT_TRUE(match("12 a_", "\\d+\\s\\w+"));
  EXPECT_TRUE(match("a1", "\\D[\\d]"));
  EXPECT_TRUE(match("\xC3\xA4", "[\\W]"));
  EXPECT_FALSE(match("a", "[\\W]"));
  EXPECT_TRUE(match("abc", "^abc$"));
  EXPECT_TRUE(match("abc", "a.*?c"));
  EXPECT_TRUE(passes(text("abc"), "string_value MATCH %0", {"'a.c'"}));
  for (const std::string bad :
       {"(", ")", "a)", "[", "[b-a]", "*", "a**", "a{", "a{3,1}", "a{1000}", "\\", "(?=a)", "\\1", "\\b",
        "[[:alpha:]]", "(((a{100}){100}){100}){100}", "a^", "$a"}) {
    EXPECT_NE(error_for<Strings>("string_value MATCH '" + bad + "'"), "") << bad;
  }
  EXPECT_NE(error_for<Strings>("string_value MATCH '" + std::string(300, '(') + "'"), "");
  EXPECT_NE(error_for<Strings>("string_value MATCH bounded_string_value"), "");
}

TEST(FilterLanguage, MatchDoesNotTakeExponentialTime) {
  EXPECT_FALSE(passes(text(std::string(5000, 'a')), "string_value MATCH '(a*)*(a|aa)+b'"));
}

TEST(FilterLanguage, WideStringsCompareWithNarrowLiterals) {
  WStrings message;
  message.wstring_value = u"Hell\u00F6 \U0001F916";
  message.array_of_wstrings[2] = u"third";
  EXPECT_TRUE(passes(message, "wstring_value = 'Hell\xC3\xB6 \xF0\x9F\xA4\x96'"));
  EXPECT_TRUE(passes(message, "wstring_value LIKE 'Hell_ _'"));
  EXPECT_TRUE(passes(message, "wstring_value MATCH 'Hell. .'"));
  EXPECT_TRUE(passes(message, "wstring_value > 'Hello'"));
  EXPECT_TRUE(passes(message, "array_of_wstrings[2] = 'third'"));
  EXPECT_TRUE(passes(message, "array_of_wstrings[0] = ''"));
  message.wstring_value = std::u16string(1, char16_t{0xD800});
  EXPECT_TRUE(passes(message, "wstring_value LIKE '_'"));
}

TEST(FilterLanguage, FieldsAreFoundAtAnyDepth) {
  Nested nested;
  nested.basic_types_value.int32_value = 7;
  EXPECT_TRUE(passes(nested, "basic_types_value.int32_value = 7"));
  Builtins builtins;
  builtins.time_value.sec = 12;
  EXPECT_TRUE(passes(builtins, "time_value.sec > 11 AND duration_value.sec = 0"));
  MultiNested deep;
  deep.unbounded_sequence_of_unbounded_sequences.resize(3);
  deep.unbounded_sequence_of_unbounded_sequences[2].basic_types_values.resize(2);
  deep.unbounded_sequence_of_unbounded_sequences[2].basic_types_values[1].uint16_value = 65000;
  deep.array_of_arrays[1].string_values[2] = "here";
  EXPECT_TRUE(passes(
      deep, "unbounded_sequence_of_unbounded_sequences[2].basic_types_values[1].uint16_value = 65000"));
  EXPECT_TRUE(passes(deep, "array_of_arrays[1].string_values[2] LIKE 'h%'"));
  EXPECT_NE(error_for<Nested>("basic_types_value = 7").find("is a message"), std::string::npos);
  EXPECT_NE(error_for<Nested>("basic_types_value.none = 7").find("no field 'none'"), std::string::npos);
  EXPECT_NE(error_for<Nested>("basic_types_value.int32_value.more = 7"), "");
  EXPECT_NE(error_for<Nested>("basic_types_value. = 7"), "");
  EXPECT_NE(error_for<Nested>("basic_types_value[0].int32_value = 7"), "");
}

TEST(FilterLanguage, ElementsOfArraysAndSequencesAreReadWithinTheirBounds) {
  Arrays arrays;
  arrays.bool_values = {false, true, false};
  arrays.string_values = {"a", "b", "c"};
  arrays.float64_values = {1.5, 2.5, 3.5};
  EXPECT_TRUE(passes(arrays, "bool_values[1] = TRUE AND bool_values[2] = FALSE"));
  EXPECT_TRUE(passes(arrays, "string_values[2] = 'c' AND float64_values[0] = 1.5"));
  EXPECT_NE(error_for<Arrays>("bool_values[3] = TRUE").find("at most 3 elements"), std::string::npos);
  EXPECT_NE(error_for<Arrays>("bool_values = TRUE").find("name an element"), std::string::npos);
  EXPECT_NE(error_for<Arrays>("bool_values[-1] = TRUE"), "");
  EXPECT_NE(error_for<Arrays>("bool_values[1 = TRUE"), "");
  EXPECT_NE(error_for<Arrays>("bool_values[99999999999999999999] = TRUE"), "");
  EXPECT_NE(error_for<BoundedSequences>("int32_values[3] = 1"), "");

  UnboundedSequences sequences;
  sequences.bool_values = {true, false};
  sequences.int16_values = {7};
  sequences.string_values = {"x", "y"};
  EXPECT_TRUE(passes(sequences, "bool_values[0] = TRUE AND bool_values[1] = FALSE"));
  EXPECT_TRUE(passes(sequences, "int16_values[0] = 7 AND string_values[1] = 'y'"));
  // What is not there is neither equal nor unequal.
  for (const std::string missing :
       {"int16_values[1] = 0", "int16_values[1] <> 0", "bool_values[2] = FALSE",
        "int16_values[18446744073709551615] = 0", "string_values[2] LIKE '%'", "string_values[2] MATCH '.*'",
        "int16_values[1] BETWEEN -1 AND 1", "int16_values[1] NOT BETWEEN -1 AND 1",
        "basic_types_values[0].int8_value = 0"}) {
    EXPECT_FALSE(passes(sequences, missing)) << missing;
    EXPECT_FALSE(passes(sequences, "NOT (" + missing + ")")) << missing;
    EXPECT_FALSE(passes(sequences, missing + " AND int16_values[0] = 7")) << missing;
    EXPECT_TRUE(passes(sequences, missing + " OR int16_values[0] = 7")) << missing;
    EXPECT_TRUE(passes(sequences, "NOT (" + missing + " AND int16_values[0] = 8)")) << missing;
  }
}

TEST(FilterLanguage, ErrorsSayWhereAndWhat) {
  const auto error = [](const std::string& expression) { return error_for<BasicTypes>(expression); };
  EXPECT_NE(
      error("int32_value = ").find("column 15: expected a field, a literal or a parameter, found the end"),
      std::string::npos);
  EXPECT_NE(error("nothing = 1").find("column 1: the type BasicTypes has no field 'nothing'"),
            std::string::npos);
  EXPECT_NE(error("int32_value == 1").find("column 14"), std::string::npos);
  EXPECT_NE(error("int32_value = 'a'").find("a character cannot be compared with a signed integer"),
            std::string::npos);
  for (const std::string bad : {"int32_value",
                                "int32_value 1",
                                "= 1",
                                "AND",
                                "NOT",
                                "(",
                                ")",
                                "()",
                                "(int32_value = 1",
                                "int32_value = 1)",
                                "int32_value = 1 AND",
                                "int32_value = 1 int8_value = 1",
                                "int32_value = 12abc",
                                "int32_value = 1.",
                                "int32_value = 1.2.3",
                                "int32_value = 0x",
                                "int32_value = 18446744073709551616",
                                "int32_value = -9223372036854775809",
                                "float64_value = 1e99999",
                                "int32_value ! 1",
                                "int32_value = 'abc",
                                "int32_value = 'a\nb'",
                                "int32_value = $1",
                                "int32_value = \xFF",
                                "bool_value",
                                "NOT bool_value",
                                "int32_value = 1; int8_value = 1",
                                "int32_value.x = 1",
                                "1",
                                "'a'",
                                "int32_value = int32_value = 1"}) {
    EXPECT_NE(error(bad), "") << bad;
  }
  EXPECT_NE(error(std::string("int32_value = 1\0", 16)), "");
}

TEST(FilterLanguage, DepthAndLengthAreLimited) {
  const std::string condition = "int32_value = 0";
  const std::string deep = std::string(99, '(') + condition + std::string(99, ')');
  EXPECT_TRUE(passes(BasicTypes(), deep));
  EXPECT_NE(error_for<BasicTypes>(std::string(10000, '(') + condition + std::string(10000, ')')), "");
  std::string nots;
  for (int i = 0; i < 10000; ++i) nots += "NOT ";
  EXPECT_NE(error_for<BasicTypes>(nots + condition), "");
  std::string long_list = condition;
  for (int i = 0; i < 3000; ++i) long_list += " AND " + condition;
  EXPECT_TRUE(passes(BasicTypes(), long_list));
  EXPECT_NE(error_for<BasicTypes>(std::string(70000, ' ') + condition), "");
}

TEST(FilterLanguage, ATypeWithoutIntrospectionIsAnError) {
  const auto error = rmw_situ::testing::error_of(nullptr, "int32_value = 1");
  EXPECT_NE(error.find("no introspection"), std::string::npos);
}

}  // namespace
