// CDR compared with independent implementations: the messages stored in spec/vectors/cdr and, when
// tests/interop/cyclone.py runs this program, an exchange of new ones. The tests with every ROS type exchange
// those types.
#include "interop/cases.hpp"
#include "kinds.hpp"
#include "messages.hpp"

namespace {

using namespace situ_test;

template <class T>
class KeptMessages : public testing::Test {};

using kept_types =
    testing::Types<kinds::Numbers, kinds::Named, kinds::Pair, kinds::Texts, kinds::Lists, kinds::Arrays,
                   kinds::Maps, kinds::TextMaps, kinds::Maybe, kinds::Derived, kinds::Unions, kinds::Chosen,
                   kinds::Lettered, kinds::Step, kinds::StepLonger, kinds::Growing, kinds::Changing,
                   kinds::ChangingBefore, kinds::Nested, kinds::Keyed, kinds::Bounded, kinds::BoundedChanging,
                   situ::rebind<kinds::Bounded, situ::flat>, situ::rebind<kinds::BoundedChanging, situ::flat>,
                   test_msgs::msg::BasicTypes, test_msgs::msg::Empty, test_msgs::msg::Strings,
                   test_msgs::msg::WStrings, test_msgs::msg::Defaults, test_msgs::msg::BoundedPlainSequences,
                   test_msgs::msg::Builtins, test_msgs::action::Fibonacci_FeedbackMessage,
                   sensor_msgs::msg::PointCloud2, sensor_msgs::msg::JointState, nav_msgs::msg::Path,
                   situ::rebind<test_msgs::msg::BoundedPlainSequences, situ::flat>,
                   situ::rebind<test_msgs::msg::BasicTypes, situ::flat>>;
TYPED_TEST_SUITE(KeptMessages, kept_types);

TYPED_TEST(KeptMessages, is_read_and_written) {
  const std::filesystem::path vectors(SITU_VECTORS "/cdr");
  const std::string_view type = TypeParam::situ_name;
  const auto folder = vectors / (type.starts_with("kinds::") ? "cyclone" : "ros");
  const auto cases = interop_cases(folder, type);
  EXPECT_FALSE(cases.empty()) << "no messages of " << type;
  for (const interop_case& one : cases) {
    SCOPED_TRACE(one.title());
    round_trip<TypeParam>(one);
  }
  exchange<TypeParam>();
}

// The padding holds arbitrary bytes from ROS 2.
template <class T>
void read_padded() {
  const auto cases = interop_cases(SITU_VECTORS "/cdr/ros/padded", T::situ_name);
  EXPECT_FALSE(cases.empty());
  for (const interop_case& one : cases) {
    SCOPED_TRACE(one.title());
    EXPECT_NE(round_trip<T>(one), one.bytes());
  }
}

TEST(PaddedMessages, are_read_with_any_padding) {
  read_padded<test_msgs::msg::BasicTypes>();
  read_padded<sensor_msgs::msg::PointCloud2>();
}

}  // namespace
