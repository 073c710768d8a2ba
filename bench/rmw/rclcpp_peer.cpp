// One process of the rows `rclcpp` of table `rmw`: an end of a ping-pong through rclcpp's executor.
//
// rclcpp_peer ROLE CASE TOPIC
//
// Roles: ping, pong. Ping reads orders from standard input, one a line: N messages go there and back. It
// answers half of each round trip, in nanoseconds, in one line. Cases: plain:SIZE and image:BYTES publish an
// ordinary message and take into one, as rclcpp does if the user asks for nothing. image-take:BYTES takes
// loans. plain-loan:SIZE and image-loan:BYTES loan at both ends; where the middleware cannot, the publisher
// publishes an ordinary message that it keeps.
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
#include <rclcpp/rclcpp.hpp>
#include <sensor_msgs/msg/image.hpp>
#include <situ_bench_msgs/msg/plain64b.hpp>
#include <situ_bench_msgs/msg/plain64k.hpp>
#include <string>
#include <thread>
#include <vector>

#include "rmw_situ/loan_allocator.hpp"

namespace {

using Image = sensor_msgs::msg::Image;
using LentImage = sensor_msgs::msg::Image_<rmw_situ::LoanAllocator<void>>;

[[noreturn]] void fail(const std::string& what) {
  std::cerr << what << std::endl;
  std::_Exit(1);
}

int64_t now() {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Case {
  size_t bytes = 0;
  bool loans = false;
};

// Writing and reading touch the number and the end.
template <class Message>
struct Content {
  static void prepare(Message&, const Case&) {}
  static void lend(Message& message, const Case&, uint64_t number) { write(message, number); }
  static void write(Message& message, uint64_t number) {
    message.number = number;
    message.data.back() = static_cast<uint8_t>(number);
  }
  static uint64_t number(const Message& message) { return message.number; }
};

template <>
struct Content<Image> {
  static void prepare(Image& image, const Case& it) {
    image.encoding = "rgb8";
    image.data.resize(it.bytes);
  }
  static void lend(Image& message, const Case& it, uint64_t number) {
    auto& image = rmw_situ::loaned<LentImage>(message);
    image.encoding = "rgb8";
    image.data.resize(it.bytes);
    if (!rmw_situ::is_in_place(image)) fail("the array of a lent message is not in place");
    write(image, number);
  }
  template <class AnyImage>
  static void write(AnyImage& image, uint64_t number) {
    image.header.stamp.sec = static_cast<int32_t>(number);
    image.data.back() = static_cast<uint8_t>(number);
  }
  static uint64_t number(const Image& image) { return static_cast<uint64_t>(image.header.stamp.sec); }
};

// An end: a publisher and a subscription whose callback gets the number of each message.
template <class Message>
class End {
 public:
  End(rclcpp::Node& node, const std::string& topic, bool is_ping, const Case& it,
      std::function<void(uint64_t)> got)
      : case_(it) {
    const rclcpp::QoS depth(2);
    publisher_ = node.create_publisher<Message>(topic + (is_ping ? "/ping" : "/pong"), depth);
    subscription_ = node.create_subscription<Message>(
        topic + (is_ping ? "/pong" : "/ping"), depth, [got = std::move(got)](const Message& message) {
          const uint64_t number = Content<Message>::number(message);
          if (message.data.back() != static_cast<uint8_t>(number)) fail("another message came");
          got(number);
        });
    loans_ = it.loans && publisher_->can_loan_messages();
    if (!loans_) Content<Message>::prepare(kept_, it);
  }

  void publish(uint64_t number) {
    if (loans_) {
      auto loaned = publisher_->borrow_loaned_message();
      Content<Message>::lend(loaned.get(), case_, number);
      publisher_->publish(std::move(loaned));
    } else {
      Content<Message>::write(kept_, number);
      publisher_->publish(kept_);
    }
  }

  void wait_for_the_other() const {
    while (publisher_->get_subscription_count() < 1 || subscription_->get_publisher_count() < 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }

 private:
  Case case_;
  typename rclcpp::Publisher<Message>::SharedPtr publisher_;
  typename rclcpp::Subscription<Message>::SharedPtr subscription_;
  bool loans_ = false;
  Message kept_;
};

template <class Message>
void run(const std::string& role, const std::string& topic, const Case& it) {
  const auto node = std::make_shared<rclcpp::Node>(role + "_" + std::to_string(getpid()));
  rclcpp::executors::SingleThreadedExecutor executor;
  executor.add_node(node);
  if (role == "pong") {
    std::unique_ptr<End<Message>> end;
    end = std::make_unique<End<Message>>(*node, topic, false, it,
                                         [&](uint64_t number) { end->publish(number); });
    end->wait_for_the_other();
    std::cout << "ready" << std::endl;
    executor.spin();
    return;
  }
  uint64_t count = 0, number = 0;
  int64_t begin = 0;
  std::vector<int64_t> times;
  std::unique_ptr<End<Message>> end;
  const auto throw_ball = [&] {
    begin = now();
    end->publish(++number);
  };
  end = std::make_unique<End<Message>>(*node, topic, true, it, [&](uint64_t back) {
    if (static_cast<uint32_t>(back) != static_cast<uint32_t>(number)) fail("a message was lost");
    times.push_back((now() - begin) / 2);
    if (times.size() < count) return throw_ball();
    executor.cancel();
  });
  end->wait_for_the_other();
  std::cout << "ready" << std::endl;
  while (std::cin >> count) {
    times.clear();
    throw_ball();
    executor.spin();
    for (const auto time : times) std::cout << time << ' ';
    std::cout << std::endl;
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) fail("arguments: ROLE CASE TOPIC");
  const std::string role = argv[1], kind_and_size = argv[2], topic = argv[3];
  const auto colon = kind_and_size.find(':');
  const std::string kind = kind_and_size.substr(0, colon), size = kind_and_size.substr(colon + 1);
  const bool takes_loans = kind != "plain" && kind != "image";
  // Subscriptions of rclcpp ask this variable alone.
  setenv("ROS_DISABLE_LOANED_MESSAGES", takes_loans ? "0" : "1", 1);
  rclcpp::init(0, nullptr);
  const Case it{std::stoul(size), kind == "plain-loan" || kind == "image-loan"};
  namespace plain = situ_bench_msgs::msg;
  if (kind.rfind("image", 0) == 0) {
    run<Image>(role, topic, it);
  } else if (size == "64") {
    run<plain::Plain64b>(role, topic, it);
  } else if (size == "65536") {
    run<plain::Plain64k>(role, topic, it);
  } else {
    fail("there is no case " + kind_and_size);
  }
  // The middleware's threads may take long to end, and no work is left.
  std::_Exit(0);
}
