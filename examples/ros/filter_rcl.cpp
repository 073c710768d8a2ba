// The same filter over rcl, for any middleware of ROS. A library: Python's interpreter loads it, because
// ROS's libraries from PyPI look for the interpreter's symbols.
#include <rcl/rcl.h>
#include <rcutils/error_handling.h>

#include <chrono>
#include <cstdio>
#include <exception>
#include <rosidl_typesupport_cpp/message_type_support.hpp>
#include <sensor_msgs/msg/image.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>

#include "filter.hpp"

using namespace std::chrono_literals;
using sensor_msgs::msg::Image;

namespace {

void check(rcl_ret_t code, const char* what) {
  if (code != RCL_RET_OK) throw std::runtime_error(std::string(what) + ": " + rcutils_get_error_string().str);
}

/// A node with a subscription and a publisher.
class Filter {
 public:
  Filter(const char* input, const char* output) {
    auto options = rcl_get_zero_initialized_init_options();
    check(rcl_init_options_init(&options, rcl_get_default_allocator()), "options");
    check(rcl_init(0, nullptr, &options, &context_), "init");
    check(rcl_init_options_fini(&options), "options");
    auto of_node = rcl_node_get_default_options();
    of_node.enable_rosout = false;
    check(rcl_node_init(&node_, "filter", "", &context_, &of_node), "node");
    const auto* support = rosidl_typesupport_cpp::get_message_type_support_handle<Image>();
    auto of_publisher = rcl_publisher_get_default_options();
    check(rcl_publisher_init(&out_, &node_, support, output, &of_publisher), "publisher");
    auto of_subscription = rcl_subscription_get_default_options();
    check(rcl_subscription_init(&in_, &node_, support, input, &of_subscription), "subscription");
    lends_ = rcl_subscription_can_loan_messages(&in_);
    check(rcl_wait_set_init(&waits_, 1, 0, 0, 0, 0, 0, &context_, rcl_get_default_allocator()), "wait set");
  }
  Filter(const Filter&) = delete;
  Filter& operator=(const Filter&) = delete;
  ~Filter() {
    std::ignore = rcl_wait_set_fini(&waits_);
    std::ignore = rcl_subscription_fini(&in_, &node_);
    std::ignore = rcl_publisher_fini(&out_, &node_);
    std::ignore = rcl_node_fini(&node_);
    std::ignore = rcl_shutdown(&context_);
    std::ignore = rcl_context_fini(&context_);
  }

  bool is_matched() {
    std::size_t subscriptions = 0, publishers = 0;
    check(rcl_publisher_get_subscription_count(&out_, &subscriptions), "count");
    check(rcl_subscription_get_publisher_count(&in_, &publishers), "count");
    return subscriptions > 0 && publishers > 0;
  }

  bool wait() {
    check(rcl_wait_set_clear(&waits_), "clear");
    check(rcl_wait_set_add_subscription(&waits_, &in_, nullptr), "add");
    const auto code = rcl_wait(&waits_, std::chrono::nanoseconds(50ms).count());
    if (code == RCL_RET_TIMEOUT) return false;
    check(code, "wait");
    return true;
  }

  /// Takes an image if there is one, by a loan where the middleware has it, and publishes its edges.
  bool run() {
    rmw_message_info_t info;
    void* loan = nullptr;
    const auto code = lends_ ? rcl_take_loaned_message(&in_, &loan, &info, nullptr)
                             : rcl_take(&in_, &image_, &info, nullptr);
    if (code == RCL_RET_SUBSCRIPTION_TAKE_FAILED) return false;
    check(code, "take");
    const Image& image = lends_ ? *static_cast<const Image*>(loan) : image_;
    const demo::Pixels pixels = demo::pixels_of(image);
    if (pixels.channels == 0) throw std::runtime_error("the filter reads whole images, mono8, rgb8 and bgr8");
    edges_.header = image.header;
    edges_.height = image.height;
    edges_.width = edges_.step = image.width;
    edges_.encoding = "mono8";
    edges_.data.resize(pixels.width * pixels.height);
    filter_.run(pixels, edges_.data);
    if (lends_) check(rcl_return_loaned_message_from_subscription(&in_, loan), "return");
    check(rcl_publish(&out_, &edges_, nullptr), "publish");
    return true;
  }

 private:
  rcl_context_t context_ = rcl_get_zero_initialized_context();
  rcl_node_t node_ = rcl_get_zero_initialized_node();
  rcl_publisher_t out_ = rcl_get_zero_initialized_publisher();
  rcl_subscription_t in_ = rcl_get_zero_initialized_subscription();
  rcl_wait_set_t waits_ = rcl_get_zero_initialized_wait_set();
  bool lends_ = false;
  demo::EdgeFilter filter_;
  Image image_;
  Image edges_;
};

}  // namespace

extern "C" int run(const char* input, const char* output) try {
  Filter filter(input, output);
  while (!filter.is_matched()) std::this_thread::sleep_for(2ms);
  demo::say_ready();
  while (!demo::is_over()) {
    if (filter.wait()) {
      while (filter.run()) {
      }
    }
  }
  return 0;
} catch (const std::exception& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  return 1;
}
