// The program of src/main.rs, in rclcpp.
//
// peer single|publish|subscribe FILE rclcpp

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <rclcpp/rclcpp.hpp>
#include <std_msgs/msg/u_int8_multi_array.hpp>
#include <string>
#include <thread>

namespace {

using Message = std_msgs::msg::UInt8MultiArray;
using Clock = std::chrono::steady_clock;

constexpr std::size_t size = 65'536;
constexpr std::uint64_t window = 128;
constexpr std::uint64_t step = 16;
constexpr std::chrono::microseconds nap(50);
constexpr std::chrono::seconds timeout(20);

[[noreturn]] void fail(const std::string& why) {
  std::cerr << why << "\n";
  std::_Exit(1);
}

// The number of received messages, in a file that the publisher reads.
class Arrivals {
 public:
  explicit Arrivals(const char* path) : file_(open(path, O_RDWR)) {
    if (file_ < 0) fail("cannot open the file of arrivals");
  }

  void add() {
    if (++count_ % step == 0 && pwrite(file_, &count_, sizeof count_, 0) != sizeof count_)
      fail("cannot count");
  }

  [[nodiscard]] std::uint64_t read() const {
    std::uint64_t count = 0;
    if (pread(file_, &count, sizeof count, 0) != sizeof count) fail("cannot read the count");
    return count;
  }

  [[nodiscard]] std::uint64_t wait(std::uint64_t count) const {
    const auto begin = Clock::now();
    for (;;) {
      const auto came = read();
      if (came >= count) return came;
      if (Clock::now() - begin > timeout) {
        fail(std::to_string(came) + " messages came, not " + std::to_string(count));
      }
      std::this_thread::sleep_for(nap);
    }
  }

 private:
  int file_;
  std::uint64_t count_ = 0;
};

// Publishes `count` messages. Returns the nanoseconds until the last of them was received.
std::int64_t measure(rclcpp::Publisher<Message>& publisher, const Message& message, std::uint64_t count,
                     const Arrivals& arrivals) {
  const auto before = arrivals.read();
  auto came = before;
  const auto begin = Clock::now();
  for (std::uint64_t sent = 0; sent < count; ++sent) {
    const auto needed = before + std::max(sent + 1, window) - window;
    if (came < needed) came = arrivals.wait(needed);
    publisher.publish(message);
  }
  (void)arrivals.wait(before + count);
  return std::chrono::nanoseconds(Clock::now() - begin).count();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) fail("arguments: single|publish|subscribe FILE rclcpp");
  const std::string mode = argv[1];
  Arrivals arrivals(argv[2]);
  const std::string name = argv[3];
  rclcpp::init(0, nullptr);
  const auto node = std::make_shared<rclcpp::Node>(
      name, rclcpp::NodeOptions().start_parameter_services(false).start_parameter_event_publisher(false));
  const auto qos = rclcpp::QoS(rclcpp::KeepLast(1000)).reliable();
  rclcpp::Subscription<Message>::SharedPtr subscription;
  if (mode != "publish") {
    subscription = node->create_subscription<Message>(name, qos, [&arrivals](const Message& message) {
      const auto& data = message.data;
      if (data.size() != size || data.front() != 0 || data.back() != 255) fail("another message came");
      arrivals.add();
    });
    std::thread([node] { rclcpp::spin(node); }).detach();
  }
  rclcpp::Publisher<Message>::SharedPtr publisher;
  Message message;
  if (mode != "subscribe") {
    publisher = node->create_publisher<Message>(name, qos);
    message.data.resize(size);
    for (std::size_t at = 0; at < size; ++at) message.data[at] = static_cast<std::uint8_t>(at);
    const auto begin = Clock::now();
    while (publisher->get_subscription_count() == 0) {
      if (Clock::now() - begin > timeout) fail("no subscriber of " + name + " came");
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  std::cout << "ready" << std::endl;
  std::string form;
  std::uint64_t count = 0;
  while (std::cin >> form >> count) {
    if (!publisher) fail(form + " is not published here");
    std::cout << measure(*publisher, message, count, arrivals) << std::endl;
  }
  // The middleware's threads may take long to end, and no work is left.
  std::cout.flush();
  std::_Exit(0);
}
