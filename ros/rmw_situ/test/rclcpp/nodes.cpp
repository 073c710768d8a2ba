// Nodes in rclcpp that talk with nodes in other languages (python/test_languages.py), and that are killed
// (python/test_kills.py).
//
//   nodes --roles                           prints the roles that this program has
//   nodes ROLE NAMESPACE NAME               makes COUNT exchanges, each of which must succeed
//   nodes ROLE NAMESPACE NAME BEATS INDEX   makes exchanges until it is killed, of which some may fail
//   because
//                                           others are killed; counts them in place INDEX of the file BEATS
//
// Tells its parent by lines of JSON that it is ready, and that all exchanges are done. Ends when its standard
// input does, or says `end`.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <list>
#include <memory>
#include <rclcpp/rclcpp.hpp>
#include <sensor_msgs/msg/image.hpp>
#include <std_msgs/msg/string.hpp>
#include <string>
#include <test_msgs/srv/basic_types.hpp>
#include <thread>
#include <vector>
#if __has_include(<rclcpp_action/rclcpp_action.hpp>)
#include <rclcpp_action/rclcpp_action.hpp>
#include <test_msgs/action/fibonacci.hpp>
#define HAS_ACTIONS 1
#endif

namespace {

using namespace std::chrono_literals;
using Image = sensor_msgs::msg::Image;
using String = std_msgs::msg::String;
using BasicTypes = test_msgs::srv::BasicTypes;

constexpr uint64_t COUNT = 20;
constexpr size_t WIDTH = 4096;

[[noreturn]] void fail(const std::string& what) {
  std::cerr << what << std::endl;
  std::_Exit(1);
}

void expect(bool condition, const char* what) {
  if (!condition) fail(what);
}

void tell(const char* word) { std::cout << "[\"" << word << "\", null]" << std::endl; }

// What all roles have. A strict one is not killed, nor are its partners.
class Role {
 public:
  Role(rclcpp::Node::SharedPtr node, bool is_strict) : node_(std::move(node)), is_strict_(is_strict) {
    executor_.add_node(node_);
  }
  virtual ~Role() = default;

  // Does something, for some milliseconds. Whether that was one of the exchanges.
  virtual bool step() = 0;

  bool spin() {
    executor_.spin_once(50ms);
    return true;
  }

 protected:
  // How long the role waits for an answer.
  std::chrono::seconds patience() const { return is_strict_ ? 60s : 2s; }

  // Whether the answer came.
  template <typename Future>
  bool await(Future& future) {
    const bool came =
        executor_.spin_until_future_complete(future, patience()) == rclcpp::FutureReturnCode::SUCCESS;
    // An interrupted wait is no failure: the process is ending.
    if (!came && is_strict_ && rclcpp::ok()) fail("an answer did not come");
    return came;
  }

  // Waits until the condition holds; only in a strict role for long.
  void await_that(const std::function<bool()>& condition, const char* what) {
    const auto end = std::chrono::steady_clock::now() + patience();
    while (!condition() && rclcpp::ok()) {
      if (std::chrono::steady_clock::now() > end) {
        if (is_strict_) fail(what);
        return;
      }
      executor_.spin_once(20ms);
    }
  }

  const rclcpp::Node::SharedPtr node_;
  const bool is_strict_;
  rclcpp::executors::SingleThreadedExecutor executor_;
};

rclcpp::QoS quality(bool is_strict) {
  return is_strict ? rclcpp::QoS(rclcpp::KeepAll()).reliable() : rclcpp::QoS(10).reliable();
}

rclcpp::QoS image_quality(bool is_strict) {
  return is_strict ? quality(is_strict) : rclcpp::QoS(3).best_effort();
}

class Talker : public Role {
 public:
  Talker(rclcpp::Node::SharedPtr node, bool is_strict)
      : Role(std::move(node), is_strict),
        text_(node_->create_publisher<String>("chatter", quality(is_strict))),
        images_(node_->create_publisher<Image>("image", image_quality(is_strict))) {}

  bool step() override {
    if (is_strict_ && (text_->get_subscription_count() == 0 || images_->get_subscription_count() == 0)) {
      executor_.spin_once(10ms);
      return false;
    }
    String text;
    text.data = "number " + std::to_string(number_);
    text_->publish(text);
    // A listener sees a torn message.
    Image image;
    image.height = number_ % 7 + 1;
    image.width = WIDTH;
    image.data.assign(image.height * WIDTH, static_cast<uint8_t>(number_));
    images_->publish(image);
    ++number_;
    executor_.spin_once(5ms);
    return true;
  }

 private:
  const rclcpp::Publisher<String>::SharedPtr text_;
  const rclcpp::Publisher<Image>::SharedPtr images_;
  uint64_t number_ = 0;
};

class Listener : public Role {
 public:
  Listener(rclcpp::Node::SharedPtr node, bool is_strict)
      : Role(std::move(node), is_strict),
        text_(node_->create_subscription<String>("chatter", quality(is_strict),
                                                 [this](const String& text) { hear(text.data); })),
        images_(node_->create_subscription<Image>("image", image_quality(is_strict),
                                                  [this](const Image& image) { see(image); })) {}

  bool step() override {
    const uint64_t before = std::min(texts_, seen_);
    spin();
    return !is_strict_ || std::min(texts_, seen_) != before;
  }

 private:
  void hear(const std::string& text) {
    if (is_strict_)
      expect(text == "number " + std::to_string(texts_), "a text is wrong, or not the next one");
    expect(text.rfind("number ", 0) == 0, "torn text");
    ++texts_;
    progress();
  }

  void see(const Image& image) {
    if (is_strict_) {
      expect(image.height == seen_ % 7 + 1 && image.data.at(0) == static_cast<uint8_t>(seen_),
             "an image is wrong, or not the next one");
    }
    const auto whole = std::count(image.data.begin(), image.data.end(), image.data.at(0));
    expect(image.data.size() == size_t(image.height) * image.width &&
               static_cast<size_t>(whole) == image.data.size(),
           "torn image");
    ++seen_;
    progress();
  }

  void progress() {
    if (is_strict_ && texts_ == COUNT && seen_ == COUNT) tell("done");
  }

  uint64_t texts_ = 0, seen_ = 0;
  const rclcpp::Subscription<String>::SharedPtr text_;
  const rclcpp::Subscription<Image>::SharedPtr images_;
};

class Server : public Role {
 public:
  Server(rclcpp::Node::SharedPtr node, bool is_strict)
      : Role(std::move(node), is_strict),
        service_(node_->create_service<BasicTypes>(
            "double", [](BasicTypes::Request::SharedPtr request, BasicTypes::Response::SharedPtr response) {
              response->int64_value = 2 * request->int64_value;
              response->string_value = request->string_value;
            })) {}

  bool step() override { return spin(); }

 private:
  const rclcpp::Service<BasicTypes>::SharedPtr service_;
};

class Client : public Role {
 public:
  Client(rclcpp::Node::SharedPtr node, bool is_strict)
      : Role(std::move(node), is_strict), client_(node_->create_client<BasicTypes>("double")) {}

  bool step() override {
    if (!client_->service_is_ready()) {
      executor_.spin_once(20ms);
      return !is_strict_;
    }
    const auto request = std::make_shared<BasicTypes::Request>();
    request->int64_value = ++number_;
    request->string_value = "grüße, a text that is not short";
    auto answer = client_->async_send_request(request);
    if (!await(answer)) {
      client_->remove_pending_request(answer);
      return !is_strict_;
    }
    const auto response = answer.get();
    expect(response->int64_value == 2 * number_ && response->string_value == request->string_value,
           "wrong answer");
    return true;
  }

 private:
  const rclcpp::Client<BasicTypes>::SharedPtr client_;
  int64_t number_ = 0;
};

#ifdef HAS_ACTIONS
using Fibonacci = test_msgs::action::Fibonacci;

// The numbers from 0, as feedback and result.
std::vector<int32_t> numbers(size_t count) {
  std::vector<int32_t> all(count);
  for (size_t i = 0; i < count; ++i) all[i] = static_cast<int32_t>(i);
  return all;
}

// Counts to the order of the goal, a number every 5 ms. Refuses negative orders.
class ActionServer : public Role {
 public:
  using Handle = rclcpp_action::ServerGoalHandle<Fibonacci>;

  ActionServer(rclcpp::Node::SharedPtr node, bool is_strict) : Role(std::move(node), is_strict) {
    server_ = rclcpp_action::create_server<Fibonacci>(
        node_, "count",
        [](const rclcpp_action::GoalUUID&, std::shared_ptr<const Fibonacci::Goal> goal) {
          return goal->order < 0 ? rclcpp_action::GoalResponse::REJECT
                                 : rclcpp_action::GoalResponse::ACCEPT_AND_EXECUTE;
        },
        [](std::shared_ptr<Handle>) { return rclcpp_action::CancelResponse::ACCEPT; },
        [this](std::shared_ptr<Handle> handle) {
          running_.push_back({std::move(handle), 0});
        });
    timer_ =
        node_->create_wall_timer(5ms, [this] { running_.remove_if([](Running& it) { return it.ends(); }); });
  }

  bool step() override { return spin(); }

 private:
  struct Running {
    std::shared_ptr<Handle> handle;
    size_t count;

    // Counts on. Whether the goal has ended.
    bool ends() {
      const bool is_complete = count == static_cast<size_t>(handle->get_goal()->order);
      if (!is_complete && !handle->is_canceling()) {
        const auto feedback = std::make_shared<Fibonacci::Feedback>();
        feedback->sequence = numbers(++count);
        handle->publish_feedback(feedback);
        return false;
      }
      const auto result = std::make_shared<Fibonacci::Result>();
      result->sequence = numbers(count);
      handle->is_canceling() ? handle->canceled(result) : handle->succeed(result);
      return true;
    }
  };

  std::list<Running> running_;
  rclcpp_action::Server<Fibonacci>::SharedPtr server_;
  rclcpp::TimerBase::SharedPtr timer_;
};

class ActionClient : public Role {
 public:
  using Handle = rclcpp_action::ClientGoalHandle<Fibonacci>;

  ActionClient(rclcpp::Node::SharedPtr node, bool is_strict)
      : Role(std::move(node), is_strict), client_(rclcpp_action::create_client<Fibonacci>(node_, "count")) {}

  bool step() override {
    if (!client_->action_server_is_ready()) {
      executor_.spin_once(20ms);
      return !is_strict_;
    }
    run(3);
    if (!is_strict_) return true;
    expect(send(-1) == nullptr, "a goal was not refused");
    cancel(100'000);
    return true;
  }

 private:
  Handle::SharedPtr send(int32_t order) {
    feedback_ = 0;
    rclcpp_action::Client<Fibonacci>::SendGoalOptions options;
    options.feedback_callback = [this](Handle::SharedPtr,
                                       std::shared_ptr<const Fibonacci::Feedback> feedback) {
      expect(feedback->sequence == numbers(feedback->sequence.size()), "wrong feedback");
      ++feedback_;
    };
    Fibonacci::Goal goal;
    goal.order = order;
    auto answer = client_->async_send_goal(goal, options);
    return await(answer) ? answer.get() : nullptr;
  }

  void run(int32_t order) {
    const auto handle = send(order);
    if (!handle) {
      expect(!is_strict_ || !rclcpp::ok(), "a goal was refused");
      return;
    }
    auto answer = client_->async_get_result(handle);
    // Another server than the one that accepted it does not know the goal.
    if (!await(answer)) return;
    const auto result = answer.get();
    if (!is_strict_ && result.code != rclcpp_action::ResultCode::SUCCEEDED) return;
    expect(result.code == rclcpp_action::ResultCode::SUCCEEDED, "a goal did not succeed");
    expect(result.result->sequence == numbers(order), "wrong result");
  }

  void cancel(int32_t order) {
    const auto handle = send(order);
    expect(handle != nullptr, "a goal was refused");
    await_that([this] { return feedback_ >= 2; }, "feedback did not come");
    auto answer = client_->async_cancel_goal(handle);
    if (!await(answer)) return;
    const auto cancelling = answer.get();
    expect(cancelling->return_code == cancelling->ERROR_NONE && cancelling->goals_canceling.size() == 1,
           "a goal cannot be cancelled");
    auto ended = client_->async_get_result(handle);
    if (!await(ended)) return;
    const auto result = ended.get();
    expect(result.code == rclcpp_action::ResultCode::CANCELED, "a goal was not cancelled");
    expect(result.result->sequence == numbers(result.result->sequence.size()), "wrong result");
  }

  const rclcpp_action::Client<Fibonacci>::SharedPtr client_;
  size_t feedback_ = 0;
};
#endif

struct Kind {
  const char* name;
  // Whether the role counts its exchanges by its steps. The others serve, or tell by themselves.
  bool is_active;
  std::unique_ptr<Role> (*make)(rclcpp::Node::SharedPtr, bool is_strict);
};

template <typename T>
std::unique_ptr<Role> make(rclcpp::Node::SharedPtr node, bool is_strict) {
  return std::make_unique<T>(std::move(node), is_strict);
}

constexpr Kind KINDS[] = {
    {"talker", true, make<Talker>},
    {"listener", false, make<Listener>},
    {"server", false, make<Server>},
    {"client", true, make<Client>},
#ifdef HAS_ACTIONS
    {"action_server", false, make<ActionServer>},
    {"action_client", true, make<ActionClient>},
#endif
};

// A counter in a file that the parent made.
std::atomic<uint64_t>& beat_in(const char* path, size_t index) {
  const int file = open(path, O_RDWR | O_CLOEXEC);
  void* const place =
      file < 0 ? MAP_FAILED
               : mmap(nullptr, (index + 1) * sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (place == MAP_FAILED) fail("cannot map the beats");
  close(file);
  return static_cast<std::atomic<uint64_t>*>(place)[index];
}

void end_with_input() {
  std::string line;
  while (std::getline(std::cin, line) && line != "end") continue;
  rclcpp::shutdown();
}

}  // namespace

int main(int count, char** arguments) {
  if (count == 2 && std::string(arguments[1]) == "--roles") {
    for (const Kind& kind : KINDS) std::cout << kind.name << std::endl;
    return 0;
  }
  const std::string role = count > 1 ? arguments[1] : "";
  const auto* const kind =
      std::find_if(std::begin(KINDS), std::end(KINDS), [&](const Kind& it) { return it.name == role; });
  if ((count != 4 && count != 6) || kind == std::end(KINDS)) {
    std::cerr << "usage: nodes ROLE NAMESPACE NAME [BEATS INDEX]\n";
    return 2;
  }
  const bool is_strict = count == 4;
  std::atomic<uint64_t> unused = 0;
  std::atomic<uint64_t>& beat =
      is_strict ? unused : beat_in(arguments[4], std::strtoul(arguments[5], nullptr, 10));

  rclcpp::init(1, arguments);
  const auto player = kind->make(std::make_shared<rclcpp::Node>(arguments[3], arguments[2]), is_strict);
  std::thread(end_with_input).detach();
  tell("ready");
  for (uint64_t done = 0; rclcpp::ok();) {
    const bool is_complete = is_strict && kind->is_active && done == COUNT;
    const bool is_exchange = is_complete ? player->spin() : player->step();
    if (!is_complete && is_exchange && ++done == COUNT && is_strict && kind->is_active) tell("done");
    if (is_exchange) ++beat;
  }
  return 0;
}
