// Shadows show what the bytes hold, without copying what need not be copied, and never write to them.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <rmw/error_handling.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>
#include <sensor_msgs/msg/image.hpp>
#include <sensor_msgs/msg/joint_state.hpp>
#include <sensor_msgs/msg/point_cloud2.hpp>
#include <test_msgs/msg/bounded_sequences.hpp>
#include <test_msgs/msg/multi_nested.hpp>
#include <test_msgs/msg/unbounded_sequences.hpp>
#include <test_msgs/msg/w_strings.hpp>
#include <utility>

#include "read_only.hpp"
#include "support.hpp"

namespace {
std::atomic<size_t> allocations{0};
}

// Every allocation of C++ is counted. All forms of `new` that shadows use come here.
void* operator new(size_t size) {
  allocations++;
  void* memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace rmw_situ::test {
namespace {

using Bytes = std::vector<std::byte>;

// Where the bytes of a message may begin: their payload is aligned to 8 bytes, to 4, and to 1.
constexpr size_t kSkips[] = {4, 8, 5};

class ShadowOf : public testing::TestWithParam<TypeCase> {
 protected:
  void SetUp() override {
    const auto* support = GetParam().support();
    ASSERT_NE(support, nullptr);
    type_ = MessageType::find(support);
    ASSERT_NE(type_, nullptr) << rmw_get_error_string().str;
    description_ = describe(*find_introspection(support));
    shadow_ = type_->make_shadow();
  }

  // The function of C of this type, from the library of its package.
  template <class Function>
  Function function(const char* name) {
    std::string package = GetParam().name.substr(0, GetParam().name.find(':'));
    void* library = dlopen(("lib" + package + "__rosidl_generator_c.so").c_str(), RTLD_LAZY);
    if (library == nullptr) return nullptr;
    std::string symbol = GetParam().name;
    std::replace(symbol.begin(), symbol.end(), ':', '_');
    return reinterpret_cast<Function>(dlsym(library, (symbol + "__" + name).c_str()));
  }

  void expect_shown(const Message& message) {
    Bytes bytes = message.cdr();
    for (size_t skip : kSkips) {
      ReadOnly from(bytes, skip);
      ASSERT_TRUE(shadow_->show(from.bytes())) << rmw_get_error_string().str;
      Bytes again(type_->cdr_size(shadow_->message()));
      ASSERT_TRUE(type_->write_cdr(shadow_->message(), again)) << rmw_get_error_string().str;
      EXPECT_EQ(again, bytes);
      if (GetParam().language == Language::kCpp) continue;
      // What the package itself says of it.
      using Equal = bool (*)(const void*, const void*);
      using Copy = bool (*)(const void*, void*);
      Message copy(*type_);
      ASSERT_TRUE(function<Copy>("copy")(shadow_->message(), copy.get()));
      EXPECT_EQ(copy.cdr(), bytes);
      if (!has_nan_) {
        EXPECT_TRUE(function<Equal>("are_equal")(shadow_->message(), message.get()));
      }
    }
  }

  const MessageType* type_ = nullptr;
  Description description_;
  std::unique_ptr<Shadow> shadow_;
  bool has_nan_ = false;
};

TEST_P(ShadowOf, ShowsDefaultAndRandomMessages) {
  if (shadow_ == nullptr) return;
  expect_shown(Message(*type_));
  has_nan_ = true;  // Random numbers may be.
  for (uint64_t seed = 1; seed <= 10 && !HasFailure(); seed++) {
    SCOPED_TRACE(seed);
    Message message(*type_);
    Filler(seed).fill(description_.root(), message.get());
    expect_shown(message);
  }
  Message full(*type_);
  Filler(1, Fill::kFull).fill(description_.root(), full.get());
  expect_shown(full);
}

TEST_P(ShadowOf, AllocatesNothingOnceWarm) {
  if (shadow_ == nullptr) return;
  Message message(*type_);
  Filler(1, Fill::kFull).fill(description_.root(), message.get());
  ReadOnly from(message.cdr(), 8);
  ASSERT_TRUE(shadow_->show(from.bytes()));
  ASSERT_TRUE(shadow_->show(from.bytes()));
  size_t before = allocations;
  for (int i = 0; i < 3; i++) {
    EXPECT_TRUE(shadow_->show(from.bytes()));
    shadow_->clear();
  }
  EXPECT_EQ(allocations, before);
}

TEST_P(ShadowOf, IsThereForAllTypesThatNeedIt) {
  bool has_strings_or_sequences = false;
  for (const auto& type : description_.structs) {
    for (const Member& member : type->members) {
      bool has_bits = member.kind == Kind::kBool && GetParam().language == Language::kCpp;
      bool points = member.kind == Kind::kString || (member.container == Container::kSequence && !has_bits);
      has_strings_or_sequences |= points;
    }
  }
  EXPECT_EQ(shadow_ != nullptr, has_strings_or_sequences);
}

INSTANTIATE_TEST_SUITE_P(Types, ShadowOf, testing::ValuesIn(all_cases()),
                         [](const auto& of) { return case_name(of.param); });

// A shadow of a type of C++ whose struct is known here.
template <class T>
class Shown {
 public:
  Shown(const char* name, const T& message, size_t skip) {
    const MessageType* type = MessageType::find(message_support(name, Language::kCpp));
    Bytes bytes(type->cdr_size(&message));
    EXPECT_TRUE(type->write_cdr(&message, bytes));
    from_ = std::make_unique<ReadOnly>(bytes, skip);
    shadow_ = type->make_shadow();
    EXPECT_TRUE(shadow_->show(from_->bytes()));
  }
  const T* operator->() const { return static_cast<const T*>(shadow_->message()); }
  const T& operator*() const { return *static_cast<const T*>(shadow_->message()); }
  bool points_into_bytes(const void* address) const { return from_->has(address); }
  void clear() { shadow_->clear(); }

 private:
  std::unique_ptr<ReadOnly> from_;
  std::unique_ptr<Shadow> shadow_;
};

TEST(Shadow, PointsToThePixelsOfAnImage) {
  sensor_msgs::msg::Image image;
  image.header.frame_id = "a name that has more than fifteen characters";
  image.encoding = "rgb8";
  image.data.assign(10'000, 7);
  image.data.back() = 8;
  for (size_t skip : kSkips) {
    Shown<sensor_msgs::msg::Image> shown("sensor_msgs::msg::Image", image, skip);
    EXPECT_TRUE(shown.points_into_bytes(shown->data.data()));
    EXPECT_TRUE(shown.points_into_bytes(shown->header.frame_id.data()));
    EXPECT_EQ(*shown, image);
    EXPECT_EQ(shown->header.frame_id.c_str()[shown->header.frame_id.size()], 0);
    // A short string is one like any other.
    const void* encoding = shown->encoding.data();
    EXPECT_TRUE(encoding > &shown->encoding && encoding < &shown->encoding + 1);
    EXPECT_EQ(shown->encoding.capacity(), 15u);

    sensor_msgs::msg::Image copy = *shown;
    shown.clear();
    EXPECT_EQ(copy, image);
    EXPECT_TRUE(shown->data.empty());
    EXPECT_EQ(shown->header.frame_id, "");
  }
}

TEST(Shadow, PointsToNumbersIfTheyAreAligned) {
  sensor_msgs::msg::JointState joints;
  joints.name = {"shoulder", "elbow", "the wrist of the left arm of the robot", ""};
  joints.position = {1, 2, 3, 4};
  joints.velocity = {0.5};
  Shown<sensor_msgs::msg::JointState> aligned("sensor_msgs::msg::JointState", joints, 4);
  EXPECT_EQ(*aligned, joints);
  EXPECT_TRUE(aligned.points_into_bytes(aligned->position.data()));
  EXPECT_TRUE(aligned.points_into_bytes(aligned->name[2].data()));
  EXPECT_TRUE(aligned->effort.empty());
  for (size_t skip : {size_t{8}, size_t{5}}) {
    Shown<sensor_msgs::msg::JointState> copied("sensor_msgs::msg::JointState", joints, skip);
    EXPECT_EQ(*copied, joints);
    EXPECT_FALSE(copied.points_into_bytes(copied->position.data()));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(copied->position.data()) % 8, 0u);
    EXPECT_TRUE(copied.points_into_bytes(copied->name[2].data()));
  }
}

// Random messages of C++, compared and copied by their own operators.
template <class T>
void expect_equal(const char* name) {
  const auto* support = message_support(name, Language::kCpp);
  const MessageType* type = MessageType::find(support);
  Description description = describe(*find_introspection(support));
  for (uint64_t seed = 100; seed < 120; seed++) {
    T message;
    Filler(seed).fill(description.root(), &message);
    // Numbers that are none are not equal to themselves.
    Bytes bytes(type->cdr_size(&message));
    ASSERT_TRUE(type->write_cdr(&message, bytes));
    bool is_number = message == message;
    for (size_t skip : kSkips) {
      Shown<T> shown(name, message, skip);
      if (is_number) {
        EXPECT_EQ(*shown, message);
      }
      T copy(*shown);
      T assigned;
      Filler(seed + 1).fill(description.root(), &assigned);
      assigned = *shown;
      shown.clear();
      EXPECT_EQ(*shown, T(rosidl_runtime_cpp::MessageInitialization::ZERO));
      for (const T* each : {&copy, &assigned}) {
        Bytes again(type->cdr_size(each));
        ASSERT_TRUE(type->write_cdr(each, again));
        EXPECT_EQ(again, bytes);
      }
    }
  }
}

TEST(Shadow, CopiesOfCppMessagesAreEqual) {
  expect_equal<sensor_msgs::msg::PointCloud2>("sensor_msgs::msg::PointCloud2");
  expect_equal<test_msgs::msg::UnboundedSequences>("test_msgs::msg::UnboundedSequences");
  expect_equal<test_msgs::msg::BoundedSequences>("test_msgs::msg::BoundedSequences");
  expect_equal<test_msgs::msg::MultiNested>("test_msgs::msg::MultiNested");
  expect_equal<test_msgs::msg::WStrings>("test_msgs::msg::WStrings");
}

TEST(Shadow, IsReusedForOtherMessages) {
  sensor_msgs::msg::JointState many;
  many.name.assign(1000, "a name that has more than fifteen characters");
  sensor_msgs::msg::JointState few;
  few.name = {"one"};
  const MessageType* type =
      MessageType::find(message_support("sensor_msgs::msg::JointState", Language::kCpp));
  Bytes bytes[2];
  for (int i = 0; i < 2; i++) {
    const auto& message = i == 0 ? many : few;
    bytes[i].resize(type->cdr_size(&message));
    ASSERT_TRUE(type->write_cdr(&message, bytes[i]));
  }
  auto shadow = type->make_shadow();
  const auto& shown = *static_cast<const sensor_msgs::msg::JointState*>(shadow->message());
  for (int i = 0; i < 6; i++) {
    ASSERT_TRUE(shadow->show(bytes[i % 2]));
    EXPECT_EQ(shown, i % 2 == 0 ? many : few);
  }
}

TEST(Shadow, BytesThatAreNoMessageLeaveItEmpty) {
  sensor_msgs::msg::JointState joints;
  joints.name.assign(3, "a name that has more than fifteen characters");
  const MessageType* type =
      MessageType::find(message_support("sensor_msgs::msg::JointState", Language::kCpp));
  Bytes bytes(type->cdr_size(&joints));
  ASSERT_TRUE(type->write_cdr(&joints, bytes));
  auto shadow = type->make_shadow();
  const auto& shown = *static_cast<const sensor_msgs::msg::JointState*>(shadow->message());
  for (size_t size = 0; size < bytes.size(); size++) {
    ReadOnly from({bytes.data(), size});
    ASSERT_FALSE(shadow->show(from.bytes())) << size;
    EXPECT_TRUE(rmw_error_is_set());
    rmw_reset_error();
    EXPECT_EQ(shown, sensor_msgs::msg::JointState());
  }
}

}  // namespace
}  // namespace rmw_situ::test
