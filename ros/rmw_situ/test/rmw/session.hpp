// A context with a node in a domain of its own, and short forms of rmw's functions. All fail by an exception.
#pragma once

#include <rmw/error_handling.h>
#include <rmw/init_options.h>
#include <rmw/qos_profiles.h>
#include <rmw/rmw.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <memory>
#include <rosidl_typesupport_cpp/message_type_support.hpp>
#include <rosidl_typesupport_cpp/service_type_support.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>

namespace rmw_situ_test {

inline void check(rmw_ret_t ret) {
  if (ret == RMW_RET_OK) return;
  const std::string text = rmw_get_error_string().str;
  rmw_reset_error();
  throw std::runtime_error(text);
}

template <class T>
T* check(T* made) {
  if (made == nullptr) check(RMW_RET_ERROR);
  return made;
}

// Whether it becomes true within a time that is long enough for a slow machine.
inline bool becomes(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

class Session {
 public:
  Session() {
    rmw_init_options_t options = rmw_get_zero_initialized_init_options();
    check(rmw_init_options_init(&options, rcutils_get_default_allocator()));
    std::string enclave = "/";
    options.enclave = enclave.data();
    // Of this program alone: the tests count endpoints.
    options.domain_id = static_cast<size_t>(getpid());
    const rmw_ret_t ret = rmw_init(&options, &context);
    options.enclave = nullptr;
    check(rmw_init_options_fini(&options));
    check(ret);
    node = check(rmw_create_node(&context, "node", "/"));
  }
  Session(const Session&) = delete;
  ~Session() {
    std::ignore = rmw_destroy_node(node);
    std::ignore = rmw_shutdown(&context);
    std::ignore = rmw_context_fini(&context);
  }

  template <class Endpoint>
  using Owned = std::unique_ptr<Endpoint, std::function<void(Endpoint*)>>;
  using Publisher = Owned<rmw_publisher_t>;
  using Subscription = Owned<rmw_subscription_t>;
  using Client = Owned<rmw_client_t>;
  using Service = Owned<rmw_service_t>;

  template <class Message>
  Publisher publisher(const char* topic, const rmw_qos_profile_t& qos = rmw_qos_profile_default) {
    const auto* const type = rosidl_typesupport_cpp::get_message_type_support_handle<Message>();
    const rmw_publisher_options_t options = rmw_get_default_publisher_options();
    return {check(rmw_create_publisher(node, type, topic, &qos, &options)),
            [this](rmw_publisher_t* it) { std::ignore = rmw_destroy_publisher(node, it); }};
  }

  template <class Message>
  Subscription subscription(const char* topic, const rmw_qos_profile_t& qos = rmw_qos_profile_default) {
    const auto* const type = rosidl_typesupport_cpp::get_message_type_support_handle<Message>();
    const rmw_subscription_options_t options = rmw_get_default_subscription_options();
    return {check(rmw_create_subscription(node, type, topic, &qos, &options)),
            [this](rmw_subscription_t* it) { std::ignore = rmw_destroy_subscription(node, it); }};
  }

  template <class Type>
  Client client(const char* service, const rmw_qos_profile_t& qos = rmw_qos_profile_services_default) {
    const auto* const type = rosidl_typesupport_cpp::get_service_type_support_handle<Type>();
    return {check(rmw_create_client(node, type, service, &qos)),
            [this](rmw_client_t* it) { std::ignore = rmw_destroy_client(node, it); }};
  }

  template <class Type>
  Service service(const char* name, const rmw_qos_profile_t& qos = rmw_qos_profile_services_default) {
    const auto* const type = rosidl_typesupport_cpp::get_service_type_support_handle<Type>();
    return {check(rmw_create_service(node, type, name, &qos)),
            [this](rmw_service_t* it) { std::ignore = rmw_destroy_service(node, it); }};
  }

  rmw_context_t context = rmw_get_zero_initialized_context();
  rmw_node_t* node = nullptr;
};

// Takes a message, if there is one.
template <class Message>
bool take(const Session::Subscription& subscription, Message& message) {
  bool taken = false;
  check(rmw_take(subscription.get(), &message, &taken, nullptr));
  return taken;
}

}  // namespace rmw_situ_test
