// One process of table `rmw`: a publisher, a subscriber, a client or a server over rcl, on any middleware.
//
// peer ROLE CASE TOPIC [PARTNERS [FIRST]]
//
// Roles and their orders on standard input, one a line; each is answered by one line:
//   ping N, pong     N messages there and back. Answers half of each round trip, in nanoseconds.
//   client N, server N requests. Answers the time of each, in nanoseconds.
//   source N, sink   N messages one way, none lost. Answers the nanoseconds until all sinks have them.
//   camera N, viewer N images at 30 Hz. Answers the number of images that arrived at the viewers.
//   member           50 nodes: a node with ten publishers and ten subscriptions. Order `go`; answers when all
//                    are matched, by CLOCK_MONOTONIC, in nanoseconds.
//   crowd            a ring of PARTNERS nodes, CASE of them in this process, from node FIRST on. Each has a
//                    publisher, and a subscription of its predecessor's topic. Ready when all are matched;
//                    answers the order `go` by the time of that.
// Cases: plain:SIZE, loan:SIZE (both ends loan, where the middleware can), image:BYTES, image-loan:BYTES
// (only the taking end loans).
#include <rcl/graph.h>
#include <rcl/rcl.h>
#include <rcl/subscription.h>
#include <rcutils/error_handling.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <rosidl_typesupport_cpp/message_type_support.hpp>
#include <rosidl_typesupport_cpp/service_type_support.hpp>
#include <sensor_msgs/msg/image.hpp>
#include <situ_bench_msgs/msg/plain16m.hpp>
#include <situ_bench_msgs/msg/plain1m.hpp>
#include <situ_bench_msgs/msg/plain4k.hpp>
#include <situ_bench_msgs/msg/plain64b.hpp>
#include <situ_bench_msgs/msg/plain64k.hpp>
#include <situ_bench_msgs/msg/plain64m.hpp>
#include <situ_bench_msgs/srv/echo.hpp>
#include <std_msgs/msg/u_int64.hpp>
#include <string>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using Image = sensor_msgs::msg::Image;
using Acknowledgement = std_msgs::msg::UInt64;

constexpr auto TIME_LIMIT = std::chrono::seconds(60);
constexpr int64_t WAIT_NS = 20'000'000'000;
// Messages under way from a source, and how often a sink acknowledges.
constexpr uint64_t WINDOW = 64;
constexpr uint64_t ACKNOWLEDGE_EVERY = 16;
constexpr size_t ENDPOINTS = 10;

[[noreturn]] void fail(const std::string& what) {
  std::cerr << what << ": " << rcutils_get_error_string().str << std::endl;
  std::_Exit(1);
}

void check(rcl_ret_t code, const char* what) {
  if (code != RCL_RET_OK) fail(what);
}

int64_t now() { return std::chrono::nanoseconds(Clock::now().time_since_epoch()).count(); }

// The context of the process.
rcl_context_t* context() {
  static rcl_context_t context = [] {
    auto made = rcl_get_zero_initialized_context();
    auto options = rcl_get_zero_initialized_init_options();
    check(rcl_init_options_init(&options, rcl_get_default_allocator()), "options");
    check(rcl_init(0, nullptr, &options, &made), "init");
    return made;
  }();
  return &context;
}

// A node. Everything here lives until the process ends.
class Node {
 public:
  explicit Node(const std::string& name) {
    auto of_node = rcl_node_get_default_options();
    of_node.enable_rosout = false;
    check(rcl_node_init(&node_, name.c_str(), "", ::context(), &of_node), "node");
  }
  rcl_node_t* get() { return &node_; }
  static rcl_context_t* context() { return ::context(); }

 private:
  rcl_node_t node_ = rcl_get_zero_initialized_node();
};

rmw_qos_profile_t profile(size_t depth) {
  rmw_qos_profile_t qos = rmw_qos_profile_default;
  qos.depth = depth;
  return qos;
}

template <class Message>
class Publisher {
 public:
  Publisher(Node& node, const std::string& topic, size_t depth, bool loans) {
    auto options = rcl_publisher_get_default_options();
    options.qos = profile(depth);
    check(rcl_publisher_init(&publisher_, node.get(), support(), topic.c_str(), &options), "publisher");
    loans_ = loans && rcl_publisher_can_loan_messages(&publisher_);
    if (!loans_) message_ = std::make_unique<Message>();
  }

  // Calls a function that writes a message, and publishes it.
  template <class Write>
  void publish(Write write) {
    if (loans_) {
      void* message = nullptr;
      check(rcl_borrow_loaned_message(&publisher_, support(), &message), "loan");
      write(*static_cast<Message*>(message));
      check(rcl_publish_loaned_message(&publisher_, message, nullptr), "publish loan");
    } else {
      write(*message_);
      check(rcl_publish(&publisher_, message_.get(), nullptr), "publish");
    }
  }

  Message& message() { return *message_; }
  bool loans() const { return loans_; }

  size_t matched() {
    size_t count = 0;
    check(rcl_publisher_get_subscription_count(&publisher_, &count), "count");
    return count;
  }

  void wait_for(size_t count) {
    const auto begin = Clock::now();
    while (matched() < count) {
      if (Clock::now() - begin > TIME_LIMIT) fail("the partners did not come");
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }

  static const rosidl_message_type_support_t* support() {
    return rosidl_typesupport_cpp::get_message_type_support_handle<Message>();
  }

 private:
  rcl_publisher_t publisher_ = rcl_get_zero_initialized_publisher();
  bool loans_ = false;
  std::unique_ptr<Message> message_;
};

template <class Message>
class Subscription {
 public:
  Subscription(Node& node, const std::string& topic, size_t depth, bool loans) {
    auto options = rcl_subscription_get_default_options();
    options.qos = profile(depth);
    options.disable_loaned_message = !loans;
    const auto* support = Publisher<Message>::support();
    check(rcl_subscription_init(&subscription_, node.get(), support, topic.c_str(), &options),
          "subscription");
    loans_ = loans && rcl_subscription_can_loan_messages(&subscription_);
    if (!loans_) message_ = std::make_unique<Message>();
    check(rcl_wait_set_init(&waits_, 1, 0, 0, 0, 0, 0, node.context(), rcl_get_default_allocator()),
          "wait set");
  }

  // Takes one message, if there is one, and passes it to a function.
  template <class Read>
  bool take(Read read) {
    rmw_message_info_t info;
    if (loans_) {
      void* message = nullptr;
      const auto code = rcl_take_loaned_message(&subscription_, &message, &info, nullptr);
      if (code == RCL_RET_SUBSCRIPTION_TAKE_FAILED) return false;
      check(code, "take loan");
      read(*static_cast<const Message*>(message));
      check(rcl_return_loaned_message_from_subscription(&subscription_, message), "return loan");
      return true;
    }
    const auto code = rcl_take(&subscription_, message_.get(), &info, nullptr);
    if (code == RCL_RET_SUBSCRIPTION_TAKE_FAILED) return false;
    check(code, "take");
    read(static_cast<const Message&>(*message_));
    return true;
  }

  template <class Read>
  void wait_and_take(Read read) {
    while (!take(read)) {
      if (!wait(WAIT_NS)) fail("no message came");
    }
  }

  bool wait(int64_t limit) {
    check(rcl_wait_set_clear(&waits_), "clear");
    check(rcl_wait_set_add_subscription(&waits_, &subscription_, nullptr), "add");
    const auto code = rcl_wait(&waits_, limit);
    if (code == RCL_RET_TIMEOUT) return false;
    check(code, "wait");
    return true;
  }

  size_t matched() {
    size_t count = 0;
    check(rcl_subscription_get_publisher_count(&subscription_, &count), "count");
    return count;
  }

 private:
  rcl_subscription_t subscription_ = rcl_get_zero_initialized_subscription();
  rcl_wait_set_t waits_ = rcl_get_zero_initialized_wait_set();
  bool loans_ = false;
  std::unique_ptr<Message> message_;
};

// Writing and reading touch the number and the end.
template <class Message>
void write(Message& message, uint64_t number) {
  message.number = number;
  message.data.back() = static_cast<uint8_t>(number);
}

void write(Image& message, uint64_t number) {
  message.header.stamp.sec = static_cast<int32_t>(number);
  message.data.back() = static_cast<uint8_t>(number);
}

template <class Message>
uint64_t read(const Message& message) {
  if (message.data.back() != static_cast<uint8_t>(message.number)) fail("another message came");
  return message.number;
}

uint64_t read(const Image& message) {
  const auto number = static_cast<uint64_t>(message.header.stamp.sec);
  if (message.data.back() != static_cast<uint8_t>(number)) fail("another message came");
  return number;
}

struct Case {
  size_t bytes = 0;
  // Of the publishing and of the taking end.
  bool loans = false, take_loans = false;
};

template <class Message>
void prepare(Publisher<Message>&, const Case&) {}

void prepare(Publisher<Image>& publisher, const Case& it) {
  Image& image = publisher.message();
  image.encoding = "rgb8";
  image.data.resize(it.bytes);
}

// Reads an order: its number, or nothing at the end of the input.
bool order(uint64_t& number) { return static_cast<bool>(std::cin >> number); }

template <class Message>
void run_ping(Node& node, const std::string& topic, const Case& it, bool is_ping) {
  Publisher<Message> publisher(node, topic + (is_ping ? "/ping" : "/pong"), 2, it.loans);
  Subscription<Message> subscription(node, topic + (is_ping ? "/pong" : "/ping"), 2, it.take_loans);
  prepare(publisher, it);
  publisher.wait_for(1);
  while (subscription.matched() < 1) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  std::cout << "ready" << std::endl;
  if (!is_ping) {
    for (;;) {
      uint64_t number = 0;
      while (!subscription.take([&](const Message& message) { number = read(message); })) {
        subscription.wait(WAIT_NS);
      }
      publisher.publish([&](Message& message) { write(message, number); });
    }
  }
  uint64_t count = 0, number = 0;
  while (order(count)) {
    std::vector<int64_t> times;
    for (uint64_t i = 0; i < count; ++i) {
      const auto begin = now();
      publisher.publish([&](Message& message) { write(message, ++number); });
      subscription.wait_and_take([&](const Message& message) {
        if (static_cast<uint32_t>(read(message)) != static_cast<uint32_t>(number)) fail("a message was lost");
      });
      times.push_back((now() - begin) / 2);
    }
    for (const auto time : times) std::cout << time << ' ';
    std::cout << std::endl;
  }
}

template <class Message>
void run_source(Node& node, const std::string& topic, const Case& it, size_t sinks) {
  Publisher<Message> publisher(node, topic, 2 * WINDOW, it.loans);
  Subscription<Acknowledgement> acknowledged(node, topic + "/acknowledged", 1000, false);
  prepare(publisher, it);
  publisher.wait_for(sinks);
  while (acknowledged.matched() < sinks) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  std::cout << "ready" << std::endl;
  std::vector<uint64_t> arrived(sinks);
  const auto least = [&] {
    uint64_t smallest = arrived[0];
    for (const auto one : arrived) smallest = std::min(smallest, one);
    return smallest;
  };
  const auto wait_for = [&](uint64_t wanted) {
    while (least() < wanted) {
      acknowledged.wait_and_take([&](const Acknowledgement& message) {
        arrived.at(message.data >> 48) = message.data & 0xFFFF'FFFF'FFFF;
      });
    }
  };
  uint64_t count = 0, number = 0;
  while (order(count)) {
    const uint64_t last = number + count / ACKNOWLEDGE_EVERY * ACKNOWLEDGE_EVERY;
    const auto begin = now();
    while (number < last) {
      if (number >= WINDOW)
        wait_for((number - WINDOW) / ACKNOWLEDGE_EVERY * ACKNOWLEDGE_EVERY + ACKNOWLEDGE_EVERY);
      publisher.publish([&](Message& message) { write(message, ++number); });
    }
    wait_for(last);
    std::cout << now() - begin << std::endl;
  }
}

template <class Message>
void run_sink(Node& node, const std::string& topic, const Case& it, uint64_t id) {
  Subscription<Message> subscription(node, topic, 2 * WINDOW, it.take_loans);
  Publisher<Acknowledgement> acknowledged(node, topic + "/acknowledged", 1000, false);
  acknowledged.wait_for(1);
  std::cout << "ready" << std::endl;
  for (uint64_t expected = 1;;) {
    const bool taken = subscription.take([&](const Message& message) {
      if (static_cast<uint32_t>(read(message)) != static_cast<uint32_t>(expected)) fail("a message was lost");
    });
    if (!taken) {
      subscription.wait(WAIT_NS);
      continue;
    }
    if (expected % ACKNOWLEDGE_EVERY == 0) {
      acknowledged.publish([&](Acknowledgement& message) { message.data = id << 48 | expected; });
    }
    ++expected;
  }
}

template <class Message>
void run_camera(Node& node, const std::string& topic, const Case& it, size_t viewers) {
  Publisher<Message> publisher(node, topic, 2, it.loans);
  Subscription<Acknowledgement> seen(node, topic + "/seen", 1000, false);
  prepare(publisher, it);
  publisher.wait_for(viewers);
  while (seen.matched() < viewers) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  std::cout << "ready" << std::endl;
  uint64_t count = 0, number = 0;
  while (order(count)) {
    uint64_t arrived = 0;
    const auto count_seen = [&] {
      while (seen.take([&](const Acknowledgement&) { ++arrived; })) {
      }
    };
    auto next = Clock::now();
    for (uint64_t i = 0; i < count; ++i) {
      publisher.publish([&](Message& message) { write(message, ++number); });
      next += std::chrono::microseconds(33'333);
      std::this_thread::sleep_until(next);
      count_seen();
    }
    count_seen();
    std::cout << arrived << std::endl;
  }
}

template <class Message>
void run_viewer(Node& node, const std::string& topic, const Case& it) {
  Subscription<Message> subscription(node, topic, 2, it.take_loans);
  Publisher<Acknowledgement> seen(node, topic + "/seen", 1000, false);
  seen.wait_for(1);
  std::cout << "ready" << std::endl;
  for (;;) {
    if (subscription.take([](const Message& message) { read(message); })) {
      seen.publish([](Acknowledgement& message) { ++message.data; });
    } else {
      subscription.wait(WAIT_NS);
    }
  }
}

template <class Message>
void run_role(Node& node, const std::string& role, const std::string& topic, const Case& it,
              size_t partners) {
  if (role == "ping" || role == "pong") return run_ping<Message>(node, topic, it, role == "ping");
  if (role == "source") return run_source<Message>(node, topic, it, partners);
  if (role == "sink") return run_sink<Message>(node, topic, it, partners);
  if (role == "camera") return run_camera<Message>(node, topic, it, partners);
  if (role == "viewer") return run_viewer<Message>(node, topic, it);
  fail("there is no role " + role);
}

// A client and a server of a service.
void run_service(Node& node, const std::string& name, bool is_client) {
  using Echo = situ_bench_msgs::srv::Echo;
  const auto* support = rosidl_typesupport_cpp::get_service_type_support_handle<Echo>();
  auto waits = rcl_get_zero_initialized_wait_set();
  check(rcl_wait_set_init(&waits, 0, 0, 0, is_client ? 1 : 0, is_client ? 0 : 1, 0, node.context(),
                          rcl_get_default_allocator()),
        "wait set");
  rmw_request_id_t id;
  Echo::Request request;
  Echo::Response response;
  if (!is_client) {
    auto server = rcl_get_zero_initialized_service();
    const auto options = rcl_service_get_default_options();
    check(rcl_service_init(&server, node.get(), support, name.c_str(), &options), "server");
    std::cout << "ready" << std::endl;
    for (;;) {
      check(rcl_wait_set_clear(&waits), "clear");
      check(rcl_wait_set_add_service(&waits, &server, nullptr), "add");
      const auto waited = rcl_wait(&waits, WAIT_NS);
      if (waited != RCL_RET_OK && waited != RCL_RET_TIMEOUT) fail("wait");
      if (rcl_take_request(&server, &id, &request) != RCL_RET_OK) continue;
      response.number = request.number;
      check(rcl_send_response(&server, &id, &response), "respond");
    }
  }
  auto client = rcl_get_zero_initialized_client();
  const auto options = rcl_client_get_default_options();
  check(rcl_client_init(&client, node.get(), support, name.c_str(), &options), "client");
  bool is_available = false;
  const auto begin = Clock::now();
  while (!is_available) {
    check(rcl_service_server_is_available(node.get(), &client, &is_available), "available");
    if (Clock::now() - begin > TIME_LIMIT) fail("the server did not come");
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  std::cout << "ready" << std::endl;
  uint64_t count = 0;
  while (order(count)) {
    std::vector<int64_t> times;
    for (uint64_t i = 0; i < count; ++i) {
      const auto start = now();
      int64_t sequence = 0;
      request.number = i;
      check(rcl_send_request(&client, &request, &sequence), "request");
      while (rcl_take_response(&client, &id, &response) != RCL_RET_OK) {
        check(rcl_wait_set_clear(&waits), "clear");
        check(rcl_wait_set_add_client(&waits, &client, nullptr), "add");
        check(rcl_wait(&waits, WAIT_NS), "no reply came");
      }
      if (response.number != i) fail("another reply came");
      times.push_back(now() - start);
    }
    for (const auto time : times) std::cout << time << ' ';
    std::cout << std::endl;
  }
}

// One of many nodes that find each other.
void run_member(const std::string& topic, size_t members) {
  std::cout << "ready" << std::endl;
  std::string go;
  if (!(std::cin >> go)) return;
  Node node("member_" + std::to_string(getpid()));
  std::vector<std::unique_ptr<Publisher<Acknowledgement>>> publishers;
  std::vector<std::unique_ptr<Subscription<Acknowledgement>>> subscriptions;
  for (size_t i = 0; i < ENDPOINTS; ++i) {
    const std::string name = topic + "/topic_" + std::to_string(i);
    publishers.push_back(std::make_unique<Publisher<Acknowledgement>>(node, name, 10, false));
    subscriptions.push_back(std::make_unique<Subscription<Acknowledgement>>(node, name, 10, false));
  }
  for (size_t i = 0; i < ENDPOINTS; ++i) {
    while (publishers[i]->matched() < members || subscriptions[i]->matched() < members) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  std::cout << now() << std::endl;
  // The others may still be looking.
  std::cin >> go;
}

// Some of a ring of nodes.
void run_crowd(const std::string& topic, size_t own, size_t all, size_t first) {
  struct Member {
    Member(const std::string& topic, size_t number, size_t all)
        : node("member_" + std::to_string(number)),
          publisher(node, topic + "/topic_" + std::to_string(number), 10, false),
          subscription(node, topic + "/topic_" + std::to_string((number + all - 1) % all), 10, false) {}
    Node node;
    Publisher<Acknowledgement> publisher;
    Subscription<Acknowledgement> subscription;
  };
  std::vector<std::unique_ptr<Member>> members;
  for (size_t i = 0; i < own; ++i) members.push_back(std::make_unique<Member>(topic, first + i, all));
  for (const auto& member : members) {
    while (member->publisher.matched() < 1 || member->subscription.matched() < 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }
  const auto end = now();
  std::cout << "ready" << std::endl;
  std::string go;
  if (!(std::cin >> go)) return;
  std::cout << end << std::endl;
  std::cin >> go;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) fail("arguments: ROLE CASE TOPIC [PARTNERS]");
  const std::string role = argv[1], kind_and_size = argv[2], topic = argv[3];
  const size_t partners = argc > 4 ? std::stoul(argv[4]) : 1;
  if (role == "crowd") {
    run_crowd(topic, std::stoul(kind_and_size), partners, argc > 5 ? std::stoul(argv[5]) : 0);
    std::_Exit(0);
  }
  if (role == "member") {
    run_member(topic, partners);
    std::_Exit(0);
  }
  const auto colon = kind_and_size.find(':');
  const std::string kind = kind_and_size.substr(0, colon), size = kind_and_size.substr(colon + 1);
  Node node(role + "_" + std::to_string(getpid()));
  Case it;
  if (role == "client" || role == "server") {
    run_service(node, topic, role == "client");
  } else if (kind == "image" || kind == "image-loan") {
    it.bytes = std::stoul(size);
    it.take_loans = kind == "image-loan";
    run_role<Image>(node, role, topic, it, partners);
  } else {
    it.loans = it.take_loans = kind == "loan";
    namespace plain = situ_bench_msgs::msg;
    if (size == "64") run_role<plain::Plain64b>(node, role, topic, it, partners);
    if (size == "4096") run_role<plain::Plain4k>(node, role, topic, it, partners);
    if (size == "65536") run_role<plain::Plain64k>(node, role, topic, it, partners);
    if (size == "1048576") run_role<plain::Plain1m>(node, role, topic, it, partners);
    if (size == "16777216") run_role<plain::Plain16m>(node, role, topic, it, partners);
    if (size == "67108864") run_role<plain::Plain64m>(node, role, topic, it, partners);
  }
  // The middleware's threads may take long to end, and no work is left.
  std::_Exit(0);
}
