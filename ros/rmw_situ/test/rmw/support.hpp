// What the tests of rmw's functions share: contexts, nodes and endpoints that end by themselves.
#pragma once

#include <gtest/gtest.h>
#include <rmw/error_handling.h>
#include <rmw/rmw.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <rosidl_typesupport_cpp/message_type_support.hpp>
#include <rosidl_typesupport_cpp/service_type_support.hpp>
#include <string>
#include <tuple>
#include <vector>

namespace rmw_testing {

// For whatever should happen soon: the machine may be slow and loaded.
constexpr auto TIME_LIMIT = std::chrono::seconds(60);

// rmw's error, which is reset.
std::string take_error();

// Ends the process with rmw's error.
[[noreturn]] void fail(const std::string& what);

// A folder for SITU_ROOT that is removed at the end. It is set while this exists.
class Root {
 public:
  Root();
  ~Root();
  const std::filesystem::path& path() const { return path_; }
  // The bytes of memory of all files in it.
  uint64_t memory() const;
  // The files in it.
  size_t files() const;

 private:
  std::filesystem::path path_;
  // What SITU_ROOT was before; empty: it was not set.
  std::string before_;
};

class Context {
 public:
  Context();
  ~Context();
  Context(const Context&) = delete;
  rmw_context_t* get() { return &context_; }

 private:
  rmw_context_t context_;
};

rmw_qos_profile_t make_qos(size_t depth, rmw_qos_reliability_policy_t reliability,
                           rmw_qos_history_policy_t history = RMW_QOS_POLICY_HISTORY_KEEP_LAST);

class Node {
 public:
  explicit Node(Context& context, const std::string& name = "node");
  ~Node();
  Node(const Node&) = delete;
  rmw_node_t* get() { return node_; }
  // Names of the domain's nodes, sorted.
  std::vector<std::string> names();

  using Publisher = std::unique_ptr<rmw_publisher_t, std::function<void(rmw_publisher_t*)>>;
  using Subscription = std::unique_ptr<rmw_subscription_t, std::function<void(rmw_subscription_t*)>>;
  using Client = std::unique_ptr<rmw_client_t, std::function<void(rmw_client_t*)>>;
  using Service = std::unique_ptr<rmw_service_t, std::function<void(rmw_service_t*)>>;

  // NULL, with rmw's error state set, on failure.
  template <class Message>
  Publisher publisher(const std::string& topic, const rmw_qos_profile_t& qos) {
    const auto* type = rosidl_typesupport_cpp::get_message_type_support_handle<Message>();
    const auto options = rmw_get_default_publisher_options();
    return {rmw_create_publisher(node_, type, topic.c_str(), &qos, &options),
            [this](rmw_publisher_t* each) { std::ignore = rmw_destroy_publisher(node_, each); }};
  }
  template <class Message>
  Subscription subscription(const std::string& topic, const rmw_qos_profile_t& qos) {
    const auto* type = rosidl_typesupport_cpp::get_message_type_support_handle<Message>();
    const auto options = rmw_get_default_subscription_options();
    return {rmw_create_subscription(node_, type, topic.c_str(), &qos, &options),
            [this](rmw_subscription_t* each) { std::ignore = rmw_destroy_subscription(node_, each); }};
  }
  template <class Type>
  Client client(const std::string& name) {
    const auto* type = rosidl_typesupport_cpp::get_service_type_support_handle<Type>();
    return {rmw_create_client(node_, type, name.c_str(), &rmw_qos_profile_services_default),
            [this](rmw_client_t* each) { std::ignore = rmw_destroy_client(node_, each); }};
  }
  template <class Type>
  Service service(const std::string& name) {
    const auto* type = rosidl_typesupport_cpp::get_service_type_support_handle<Type>();
    return {rmw_create_service(node_, type, name.c_str(), &rmw_qos_profile_services_default),
            [this](rmw_service_t* each) { std::ignore = rmw_destroy_service(node_, each); }};
  }

 private:
  rmw_node_t* node_;
};

// Waits for what it is given, in one wait set.
class Waiter {
 public:
  explicit Waiter(Context& context);
  ~Waiter();
  void add(const Node::Subscription& subscription) { subscriptions_.push_back(subscription->data); }
  void add(const Node::Service& service) { services_.push_back(service->data); }
  void add(const Node::Client& client) { clients_.push_back(client->data); }
  void add(const rmw_guard_condition_t* condition) { conditions_.push_back(condition->data); }
  // Whether one of them is ready.
  bool wait(std::chrono::nanoseconds limit);

 private:
  rmw_wait_set_t* set_;
  std::vector<void*> subscriptions_, services_, clients_, conditions_;
};

// Whether the condition holds within the limit.
bool eventually(const std::function<bool()>& condition, std::chrono::nanoseconds limit = TIME_LIMIT);

// The open descriptors of this process.
size_t descriptors();
// The mappings of this process.
size_t mappings();

}  // namespace rmw_testing
