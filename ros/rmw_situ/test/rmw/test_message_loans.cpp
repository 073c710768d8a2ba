// Lent messages with strings and sequences: which are published without a copy, and that all are published.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <numeric>
#include <sensor_msgs/msg/image.hpp>
#include <sensor_msgs/msg/joint_state.hpp>
#include <sensor_msgs/msg/laser_scan.hpp>
#include <sensor_msgs/msg/point_cloud2.hpp>
#include <std_msgs/msg/string.hpp>
#include <thread>

#include "rmw/session.hpp"
#include "rmw_situ/loan_allocator.hpp"

using namespace rmw_situ_test;
using rmw_situ::is_in_place;
using rmw_situ::LoanAllocator;

namespace {

namespace msg = sensor_msgs::msg;
using Image = msg::Image_<LoanAllocator<void>>;
using Cloud = msg::PointCloud2_<LoanAllocator<void>>;
using Scan = msg::LaserScan_<LoanAllocator<void>>;

template <class Loaned, class Message>
struct Lent {
  explicit Lent(const Session::Publisher& publisher_) : publisher(publisher_.get()) {
    const auto* const type = rosidl_typesupport_cpp::get_message_type_support_handle<Message>();
    void* memory = nullptr;
    check(rmw_borrow_loaned_message(publisher, type, &memory));
    message = static_cast<Message*>(memory);
  }
  Loaned* operator->() { return &rmw_situ::loaned<Loaned>(*message); }
  Loaned& operator*() { return rmw_situ::loaned<Loaned>(*message); }
  void publish() { check(rmw_publish_loaned_message(publisher, message, nullptr)); }
  void give_back() { check(rmw_return_loaned_message_from_publisher(publisher, message)); }

  rmw_publisher_t* publisher;
  Message* message;
};
using LentImage = Lent<Image, msg::Image>;

// A message that a subscription lends.
template <class Message>
class Shown {
 public:
  explicit Shown(const Session::Subscription& subscription) : subscription_(subscription.get()) {
    void* memory = nullptr;
    bool taken = false;
    check(rmw_take_loaned_message(subscription_, &memory, &taken, nullptr));
    if (!taken) throw std::runtime_error("there is no message");
    message_ = static_cast<const Message*>(memory);
  }
  ~Shown() {
    std::ignore = rmw_return_loaned_message_from_subscription(subscription_, const_cast<Message*>(message_));
  }
  const Message* operator->() const { return message_; }

 private:
  const rmw_subscription_t* subscription_;
  const Message* message_;
};

constexpr size_t bytes = 300'000;

template <class Array>
void count_up(Array& array) {
  std::iota(array.begin(), array.end(), typename Array::value_type(1));
}

template <class Array>
bool counts_up(const Array& array, size_t size) {
  Array expected(size);
  count_up(expected);
  return array == expected;
}

// Whether what is written at one address is read at another.
bool is_same_memory(void* written, const void* read) {
  auto& to = *static_cast<volatile unsigned char*>(written);
  const auto& from = *static_cast<const volatile unsigned char*>(read);
  const unsigned char before = from;
  to = static_cast<unsigned char>(before + 1);
  const bool is_same = from == static_cast<unsigned char>(before + 1);
  to = before;
  return is_same && from == before;
}

void fill(Image& image) {
  image.header.stamp.sec = 12;
  image.header.frame_id = "a frame with a name of more than fifteen characters";
  image.height = 3;
  image.width = 5;
  image.encoding = "rgb8";
  image.step = 7;
  image.data.resize(bytes);
  count_up(image.data);
}

template <class Pointer>
void expect_image(const Pointer& image) {
  EXPECT_EQ(image->header.stamp.sec, 12);
  EXPECT_EQ(image->header.frame_id, "a frame with a name of more than fifteen characters");
  EXPECT_EQ(image->height, 3u);
  EXPECT_EQ(image->width, 5u);
  EXPECT_EQ(image->encoding, "rgb8");
  EXPECT_EQ(image->step, 7u);
  EXPECT_TRUE(counts_up(image->data, bytes));
}

TEST(MessageLoans, AnImageIsPublishedAndTakenWithoutACopy) {
  Session session;
  const auto publisher = session.publisher<msg::Image>("/image");
  const auto subscription = session.subscription<msg::Image>("/image");
  LentImage image(publisher);
  fill(*image);
  EXPECT_TRUE(is_in_place(*image));
  // The page of the array, also when the loan is over.
  unsigned char* const array = image->data.data();
  image.publish();
  Shown<msg::Image> shown(subscription);
  expect_image(shown);
  EXPECT_TRUE(is_same_memory(array, shown->data.data()));
  EXPECT_TRUE(is_same_memory(array + bytes - 1, shown->data.data() + bytes - 1));
}

TEST(MessageLoans, TheBytesAreThoseOfAnOrdinaryMessage) {
  Session session;
  const auto publisher = session.publisher<msg::Image>("/image");
  const auto subscription = session.subscription<msg::Image>("/image");
  LentImage image(publisher);
  fill(*image);
  const msg::Image same = *image.message;
  image.publish();
  check(rmw_publish(publisher.get(), &same, nullptr));
  rmw_serialized_message_t taken[2] = {rmw_get_zero_initialized_serialized_message(),
                                       rmw_get_zero_initialized_serialized_message()};
  const rcutils_allocator_t allocator = rcutils_get_default_allocator();
  for (auto& each : taken) {
    check(rmw_serialized_message_init(&each, 0, &allocator));
    bool is_taken = false;
    check(rmw_take_serialized_message(subscription.get(), &each, &is_taken, nullptr));
    ASSERT_TRUE(is_taken);
  }
  ASSERT_EQ(taken[0].buffer_length, taken[1].buffer_length);
  EXPECT_EQ(std::memcmp(taken[0].buffer, taken[1].buffer, taken[0].buffer_length), 0);
  for (auto& each : taken) check(rmw_serialized_message_fini(&each));
}

// Taking copies into an ordinary message. The members before the array may change their size when it is
// there: then the message is copied, and whole nevertheless.
TEST(MessageLoans, AChangedStringCostsACopy) {
  Session session;
  const auto publisher = session.publisher<msg::Image>("/image");
  const auto subscription = session.subscription<msg::Image>("/image");
  LentImage image(publisher);
  fill(*image);
  image->encoding = "mono8, and more than fifteen characters";
  EXPECT_FALSE(is_in_place(*image));
  image->encoding = "rgb8";
  EXPECT_TRUE(is_in_place(*image));
  image->encoding = "rgb80000";
  image.publish();
  msg::Image taken;
  ASSERT_TRUE(take(subscription, taken));
  EXPECT_EQ(taken.encoding, "rgb80000");
  taken.encoding = "rgb8";
  expect_image(&taken);
}

TEST(MessageLoans, AnArrayMayGrowAndShrink) {
  Session session;
  const auto publisher = session.publisher<msg::Image>("/image");
  const auto subscription = session.subscription<msg::Image>("/image");
  LentImage image(publisher);
  fill(*image);
  image->data.resize(2 * bytes);
  count_up(image->data);
  EXPECT_TRUE(is_in_place(*image));
  image->data.resize(bytes / 2);
  EXPECT_TRUE(is_in_place(*image));
  image.publish();
  Shown<msg::Image> shown(subscription);
  EXPECT_TRUE(counts_up(shown->data, bytes / 2));
}

TEST(MessageLoans, WhatFollowsTheArrayIsWritten) {
  Session session;
  const auto publisher = session.publisher<msg::PointCloud2>("/cloud");
  const auto subscription = session.subscription<msg::PointCloud2>("/cloud");
  Lent<Cloud, msg::PointCloud2> cloud(publisher);
  cloud->header.frame_id = "lidar";
  cloud->fields.resize(2);
  cloud->fields[0].name = "x";
  cloud->fields[1].name = "a name of more than fifteen characters";
  cloud->data.resize(bytes);
  count_up(cloud->data);
  cloud->is_dense = true;
  EXPECT_TRUE(is_in_place(*cloud));
  cloud.publish();
  Shown<msg::PointCloud2> shown(subscription);
  EXPECT_EQ(shown->fields.at(1).name, "a name of more than fifteen characters");
  EXPECT_TRUE(counts_up(shown->data, bytes));
  EXPECT_TRUE(shown->is_dense);
}

TEST(MessageLoans, OfTwoArraysTheOtherIsCopied) {
  Session session;
  const auto publisher = session.publisher<msg::LaserScan>("/scan");
  const auto subscription = session.subscription<msg::LaserScan>("/scan");
  Lent<Scan, msg::LaserScan> scan(publisher);
  scan->ranges.resize(2000);
  scan->intensities.resize(3000);
  count_up(scan->ranges);
  count_up(scan->intensities);
  EXPECT_TRUE(is_in_place(*scan));
  float* const intensities = scan->intensities.data();
  scan.publish();
  Shown<msg::LaserScan> shown(subscription);
  EXPECT_TRUE(counts_up(shown->ranges, 2000));
  EXPECT_TRUE(counts_up(shown->intensities, 3000));
  EXPECT_TRUE(is_same_memory(intensities, shown->intensities.data()));
}

TEST(MessageLoans, OtherMessagesAreLentAsWell) {
  Session session;
  const auto publisher = session.publisher<std_msgs::msg::String>("/text");
  const auto subscription = session.subscription<std_msgs::msg::String>("/text");
  using String = std_msgs::msg::String_<LoanAllocator<void>>;
  Lent<String, std_msgs::msg::String> text(publisher);
  // Text is no array, however long it is.
  text->data = String::_data_type(10'000, 'x');
  EXPECT_FALSE(is_in_place(*text));
  text.publish();
  std_msgs::msg::String taken;
  ASSERT_TRUE(take(subscription, taken));
  EXPECT_EQ(taken.data, std::string(10'000, 'x'));

  // Doubles may lie in CDR as no vector of doubles may: where they do, they are copied.
  const auto joints = session.publisher<msg::JointState>("/joints");
  const auto of_joints = session.subscription<msg::JointState>("/joints");
  Lent<msg::JointState_<LoanAllocator<void>>, msg::JointState> state(joints);
  state->position.resize(5000, 2.5);
  state.publish();
  msg::JointState taken_state;
  ASSERT_TRUE(take(of_joints, taken_state));
  EXPECT_EQ(taken_state.position, std::vector<double>(5000, 2.5));
}

TEST(MessageLoans, AnotherThreadAllocatesFromTheHeap) {
  Session session;
  const auto publisher = session.publisher<msg::Image>("/image");
  const auto subscription = session.subscription<msg::Image>("/image");
  LentImage image(publisher);
  std::thread([&] { fill(*image); }).join();
  EXPECT_FALSE(is_in_place(*image));
  image.publish();
  msg::Image taken;
  ASSERT_TRUE(take(subscription, taken));
  expect_image(&taken);
}

// An array of another publisher's memory is copied: published as it is, the message would go to the other
// topic.
TEST(MessageLoans, AnArrayOfAnotherPublisherIsCopied) {
  Session session;
  const auto publisher = session.publisher<msg::Image>("/image"),
             other = session.publisher<msg::Image>("/other");
  const auto subscription = session.subscription<msg::Image>("/image"),
             of_other = session.subscription<msg::Image>("/other");
  LentImage image(publisher);
  LentImage foreign(other);
  foreign->data.resize(bytes);
  image->data = std::move(foreign->data);
  image->header.frame_id = "first";
  EXPECT_FALSE(is_in_place(*image));
  image.publish();
  foreign.give_back();
  msg::Image taken;
  EXPECT_FALSE(take(of_other, taken));
  ASSERT_TRUE(take(subscription, taken));
  EXPECT_EQ(taken.header.frame_id, "first");
  EXPECT_EQ(taken.data.size(), bytes);
}

TEST(MessageLoans, TooManyElementsAreRefused) {
  // The bytes of so many numbers would wrap around to 8 KiB.
  const size_t count = SIZE_MAX / sizeof(uint32_t) + 1 + 2048;
  Session session;
  const auto publisher = session.publisher<msg::Image>("/image");
  LentImage image(publisher);
  LoanAllocator<uint32_t> allocator;
  EXPECT_THROW((void)allocator.allocate(count), std::bad_alloc);
  EXPECT_THROW((void)LoanAllocator<uint8_t>().allocate(SIZE_MAX), std::bad_alloc);
  image.give_back();
}

// Arrays may go elsewhere: they are freed by whoever has them last, also when the publisher is gone.
TEST(MessageLoans, AnArrayMayOutliveItsMessageAndItsPublisher) {
  Session session;
  const auto subscription = session.subscription<msg::Image>("/image");
  Image::_data_type kept;
  {
    const auto publisher = session.publisher<msg::Image>("/image");
    LentImage image(publisher);
    fill(*image);
    kept = std::move(image->data);
    image->data.clear();
    image.publish();
    LentImage unpublished(publisher);
    fill(*unpublished);
    // It is not the publisher's that takes it over, but it is published.
    const auto other = session.publisher<msg::Image>("/image");
    LentImage moved(other);
    fill(*moved);
    moved->data = std::move(unpublished->data);
    EXPECT_FALSE(is_in_place(*moved));
    moved.publish();
    unpublished.give_back();
  }
  EXPECT_TRUE(counts_up(kept, bytes));
  kept = {};
  msg::Image taken;
  ASSERT_TRUE(take(subscription, taken));
  EXPECT_TRUE(taken.data.empty());
  ASSERT_TRUE(take(subscription, taken));
  expect_image(&taken);
}

// Nothing is lent for ever: a publisher's memory is limited by its slots.
TEST(MessageLoans, SlotsComeBack) {
  Session session;
  const auto publisher = session.publisher<msg::Image>("/image");
  const auto subscription = session.subscription<msg::Image>("/image");
  for (int i = 0; i < 2000; ++i) {
    LentImage image(publisher);
    image->data.resize(5000);
    image->data.resize(50'000);
    ASSERT_TRUE(is_in_place(*image)) << i;
    if (i % 3 == 0) {
      image.give_back();
    } else {
      image.publish();
      Shown<msg::Image> shown(subscription);
      ASSERT_EQ(shown->data.size(), 50'000u);
    }
  }
}

TEST(MessageLoans, AMessageIsPublishedOrReturnedOnce) {
  Session session;
  const auto publisher = session.publisher<msg::Image>("/image");
  LentImage image(publisher);
  image.give_back();
  EXPECT_EQ(rmw_publish_loaned_message(publisher.get(), image.message, nullptr), RMW_RET_INVALID_ARGUMENT);
  rmw_reset_error();
  EXPECT_EQ(rmw_return_loaned_message_from_publisher(publisher.get(), image.message),
            RMW_RET_INVALID_ARGUMENT);
  rmw_reset_error();
}

}  // namespace
