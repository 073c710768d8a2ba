// One process of the rows `rclcpp` of table `rmw`, without ROS: an end of a ping-pong through Situ's own
// executor.
//
// situ_peer ROLE CASE TOPIC   as rclcpp_peer.cpp
//
// BUSY_WAIT_US is how long it looks for a message before it sleeps; without it, it sleeps at once. The type
// is `bench::Small` for plain:64, and otherwise `bench::Frame`, with an array of as many bytes as the case
// says. Each message is built in a loan, and the callback reads it in place.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <functional>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "messages.hpp"
#include "situ/bus.hpp"

namespace {

[[noreturn]] void fail(const std::string& what) {
  std::cerr << what << std::endl;
  std::_Exit(1);
}

std::int64_t now() {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Writing and reading touch the number and the end.
template <class Message>
struct Content;

template <>
struct Content<bench::Small> {
  static void publish(situ::publisher<bench::Small>& publisher, std::size_t, std::uint64_t number) {
    auto loan = publisher.loan();
    loan->sequence_number = number;
    loan->data.back() = static_cast<std::uint8_t>(number);
    loan.publish();
  }
  static std::uint8_t end(const situ::sample<bench::Small>& sample) { return sample->data.back(); }
};

template <>
struct Content<bench::Frame> {
  static void publish(situ::publisher<bench::Frame>& publisher, std::size_t bytes, std::uint64_t number) {
    auto loan = publisher.loan({.data = bytes});
    loan->sequence_number = number;
    loan.bulk(&bench::Frame::data).back() = static_cast<std::uint8_t>(number);
    loan.publish();
  }
  static std::uint8_t end(const situ::sample<bench::Frame>& sample) {
    return sample.bulk(&bench::Frame::data).back();
  }
};

// The publisher of an end. Its subscriber belongs to the executor.
template <class Message>
class End {
 public:
  End(const situ::node& node, situ::executor& executor, const std::string& topic, bool is_ping,
      std::size_t bytes, std::function<void(std::uint64_t)> got)
      : bytes_(bytes), publisher_(node.publisher<Message>(topic + (is_ping ? "/ping" : "/pong"), offered())) {
    auto subscriber = node.subscriber<Message>(topic + (is_ping ? "/pong" : "/ping"), requested());
    executor.subscribe(std::move(subscriber), [got = std::move(got)](situ::sample<Message> sample) {
      const std::uint64_t number = sample->sequence_number;
      if (Content<Message>::end(sample) != static_cast<std::uint8_t>(number)) fail("another message came");
      got(number);
    });
  }

  void publish(std::uint64_t number) { Content<Message>::publish(publisher_, bytes_, number); }

  void wait_for_the_other() const {
    while (publisher_.statistics().subscribers == 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }

 private:
  static situ::publisher_qos offered() { return {.reliability = situ::reliability::reliable, .depth = 2}; }
  static situ::subscriber_qos requested() {
    return {.reliability = situ::reliability::reliable, .keep_last = 2};
  }

  std::size_t bytes_;
  situ::publisher<Message> publisher_;
};

template <class Message>
void run(const std::string& role, const std::string& topic, std::size_t bytes) {
  const situ::node node(role);
  situ::executor executor(node);
  if (const char* busy = std::getenv("BUSY_WAIT_US"))
    executor.busy_wait(std::chrono::microseconds(std::stol(busy)));
  if (role == "pong") {
    End<Message>* pong = nullptr;
    End<Message> end(node, executor, topic, false, bytes,
                     [&](std::uint64_t number) { pong->publish(number); });
    pong = &end;
    end.wait_for_the_other();
    std::cout << "ready" << std::endl;
    executor.spin();
    return;
  }
  std::uint64_t count = 0, number = 0;
  std::int64_t begin = 0;
  std::vector<std::int64_t> times;
  End<Message>* ping = nullptr;
  const auto throw_ball = [&] {
    begin = now();
    ping->publish(++number);
  };
  End<Message> end(node, executor, topic, true, bytes, [&](std::uint64_t back) {
    if (back != number) fail("a message was lost");
    times.push_back((now() - begin) / 2);
    if (times.size() < count) return throw_ball();
    executor.stop();
  });
  ping = &end;
  end.wait_for_the_other();
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

int main(int argc, char** argv) try {
  if (argc < 4) fail("arguments: ROLE CASE TOPIC");
  const std::string role = argv[1], kind_and_size = argv[2];
  // The name of a topic of ROS begins with a slash.
  const std::string topic = argv[3] + (argv[3][0] == '/' ? 1 : 0);
  const std::size_t bytes = std::stoul(kind_and_size.substr(kind_and_size.find(':') + 1));
  if (bytes == 64) {
    run<bench::Small>(role, topic, bytes);
  } else {
    run<bench::Frame>(role, topic, bytes);
  }
} catch (const std::exception& problem) {
  fail(problem.what());
}
