// Messages in memory domains that options of publishers and subscriptions name. The device is the emulated
// one: the host cannot read at its addresses, only in its file.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <situ.h>

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <numeric>
#include <sensor_msgs/msg/image.hpp>
#include <std_msgs/msg/u_int32.hpp>
#include <vector>

#include "rmw/session.hpp"
#include "rmw_situ/domain.h"

using namespace rmw_situ_test;
using sensor_msgs::msg::Image;

namespace {

constexpr size_t bytes = 100'000;

Session::Publisher publisher_in(Session& session, const void* payload, const char* topic = "/image") {
  const auto* const type = rosidl_typesupport_cpp::get_message_type_support_handle<Image>();
  rmw_publisher_options_t options = rmw_get_default_publisher_options();
  options.rmw_specific_publisher_payload = const_cast<void*>(payload);
  return {check(rmw_create_publisher(session.node, type, topic, &rmw_qos_profile_default, &options)),
          [&session](rmw_publisher_t* it) { std::ignore = rmw_destroy_publisher(session.node, it); }};
}

template <class Message = Image>
Session::Subscription subscription_in(Session& session, const void* payload, const char* topic = "/image") {
  const auto* const type = rosidl_typesupport_cpp::get_message_type_support_handle<Message>();
  rmw_subscription_options_t options = rmw_get_default_subscription_options();
  options.rmw_specific_subscription_payload = const_cast<void*>(payload);
  return {check(rmw_create_subscription(session.node, type, topic, &rmw_qos_profile_default, &options)),
          [&session](rmw_subscription_t* it) { std::ignore = rmw_destroy_subscription(session.node, it); }};
}

Image make_image() {
  Image image;
  image.header.frame_id = "a frame with a name of more than fifteen characters";
  image.encoding = "rgb8";
  image.step = 7;
  image.data.resize(bytes);
  std::iota(image.data.begin(), image.data.end(), uint8_t{1});
  return image;
}

// A part of a file that is mapped at an address, and whether the host may read it there.
struct Mapped {
  std::string path;
  std::vector<uint8_t> content;
  bool is_readable;
};

Mapped mapped_at(const void* address, size_t size) {
  const auto wanted = reinterpret_cast<uintptr_t>(address);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    uintptr_t begin = 0, end = 0;
    uint64_t offset = 0;
    char rights = 0;
    if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR " %c%*s %" SCNx64, &begin, &end, &rights,
                    &offset) != 4)
      continue;
    if (wanted < begin || wanted >= end || line.find('/') == std::string::npos) continue;
    Mapped found{line.substr(line.find('/')), std::vector<uint8_t>(size), rights == 'r'};
    const int file = open(found.path.c_str(), O_RDONLY | O_CLOEXEC);
    EXPECT_GE(file, 0) << found.path;
    EXPECT_EQ(pread(file, found.content.data(), size, static_cast<off_t>(offset + (wanted - begin))),
              static_cast<ssize_t>(size));
    close(file);
    return found;
  }
  return {};
}

TEST(Domains, AMessageIsReadInItsDomainWithoutACopy) {
  Session session;
  const rmw_situ_domain_t emulated = rmw_situ_domain("emulated");
  const auto publisher = publisher_in(session, &emulated);
  const auto subscription = subscription_in(session, &emulated);
  const Image image = make_image();
  check(rmw_publish(publisher.get(), &image, nullptr));

  uint64_t copies_before = 0, copies = 0, bytes_before = 0, bytes_copied = 0;
  situ_copies(&copies_before, &bytes_before);
  void* memory = nullptr;
  bool taken = false;
  check(rmw_take_loaned_message(subscription.get(), &memory, &taken, nullptr));
  ASSERT_TRUE(taken);
  situ_copies(&copies, &bytes_copied);
  // What is read on the host is the head, and not the array.
  EXPECT_LT(bytes_copied - bytes_before, bytes / 2);

  const auto& shown = *static_cast<const Image*>(memory);
  EXPECT_EQ(shown.header.frame_id, image.header.frame_id);
  EXPECT_EQ(shown.encoding, "rgb8");
  EXPECT_EQ(shown.step, 7u);
  ASSERT_EQ(shown.data.size(), bytes);
  const Mapped device = mapped_at(shown.data.data(), bytes);
  EXPECT_FALSE(device.is_readable) << "the array is not on the device";
  EXPECT_EQ(device.content, image.data);
  check(rmw_return_loaned_message_from_subscription(subscription.get(), memory));
}

TEST(Domains, AnyOtherSubscriptionGetsACopy) {
  Session session;
  const rmw_situ_domain_t emulated = rmw_situ_domain("emulated:0");
  const auto publisher = publisher_in(session, &emulated);
  const auto on_host = subscription_in(session, nullptr);
  const auto on_device = subscription_in(session, &emulated);
  const Image image = make_image();
  check(rmw_publish(publisher.get(), &image, nullptr));
  for (const auto* subscription : {&on_host, &on_device}) {
    Image taken;
    ASSERT_TRUE(take(*subscription, taken));
    EXPECT_EQ(taken, image);
  }
  check(rmw_publish(publisher.get(), &image, nullptr));
  rmw_serialized_message_t serialized[2];
  const rcutils_allocator_t allocator = rcutils_get_default_allocator();
  for (auto& each : serialized) {
    each = rmw_get_zero_initialized_serialized_message();
    check(rmw_serialized_message_init(&each, 0, &allocator));
    bool taken = false;
    check(rmw_take_serialized_message((&each == serialized ? on_host : on_device).get(), &each, &taken,
                                      nullptr));
    ASSERT_TRUE(taken);
  }
  ASSERT_EQ(serialized[0].buffer_length, serialized[1].buffer_length);
  EXPECT_EQ(std::memcmp(serialized[0].buffer, serialized[1].buffer, serialized[0].buffer_length), 0);
  check(rmw_publish_serialized_message(publisher.get(), &serialized[0], nullptr));
  Image again;
  ASSERT_TRUE(take(on_host, again));
  EXPECT_EQ(again, image);
  for (auto& each : serialized) check(rmw_serialized_message_fini(&each));
}

TEST(Domains, AMessageOfTheHostIsCopiedToASubscriptionOnADevice) {
  Session session;
  const rmw_situ_domain_t emulated = rmw_situ_domain("emulated"), host = rmw_situ_domain("host");
  const auto publisher = publisher_in(session, &host);
  const auto subscription = subscription_in(session, &emulated);
  Image image = make_image();
  check(rmw_publish(publisher.get(), &image, nullptr));
  void* memory = nullptr;
  bool taken = false;
  check(rmw_take_loaned_message(subscription.get(), &memory, &taken, nullptr));
  ASSERT_TRUE(taken);
  const auto& shown = *static_cast<const Image*>(memory);
  EXPECT_EQ(mapped_at(shown.data.data(), bytes).content, image.data);
  check(rmw_return_loaned_message_from_subscription(subscription.get(), memory));

  // An array that is small is on the host.
  image.data.resize(100);
  check(rmw_publish(publisher.get(), &image, nullptr));
  memory = nullptr;
  check(rmw_take_loaned_message(subscription.get(), &memory, &taken, nullptr));
  ASSERT_TRUE(taken);
  EXPECT_EQ(*static_cast<const Image*>(memory), image);
  check(rmw_return_loaned_message_from_subscription(subscription.get(), memory));
}

TEST(Domains, MessagesOfFixedSizeAreOnTheHost) {
  Session session;
  const rmw_situ_domain_t emulated = rmw_situ_domain("emulated");
  using std_msgs::msg::UInt32;
  const auto publisher = session.publisher<UInt32>("/number");
  const auto subscription = subscription_in<UInt32>(session, &emulated, "/number");
  UInt32 number, taken;
  number.data = 12;
  check(rmw_publish(publisher.get(), &number, nullptr));
  ASSERT_TRUE(take(subscription, taken));
  EXPECT_EQ(taken.data, 12u);
}

std::string error_of(const void* payload) {
  Session session;
  std::string texts[2];
  try {
    publisher_in(session, payload);
  } catch (const std::runtime_error& error) {
    texts[0] = error.what();
  }
  try {
    subscription_in(session, payload);
  } catch (const std::runtime_error& error) {
    texts[1] = error.what();
  }
  EXPECT_EQ(texts[0].empty(), texts[1].empty());
  return texts[0];
}

TEST(Domains, UnknownNamesAndPayloadsAreErrors) {
  const rmw_situ_domain_t unknown = rmw_situ_domain("graphics"), nameless = rmw_situ_domain(nullptr);
  EXPECT_NE(error_of(&unknown).find("graphics:0"), std::string::npos) << error_of(&unknown);
  EXPECT_NE(error_of(&nameless).find("rmw_situ_domain"), std::string::npos) << error_of(&nameless);
  const uint64_t foreign[2] = {1, 2};
  EXPECT_NE(error_of(foreign).find("rmw_situ_domain"), std::string::npos) << error_of(foreign);
}

}  // namespace
