// What the tests of rmw's functions share.
#include "support.hpp"

#include <rcutils/types/string_array.h>
#include <rmw/get_node_info_and_types.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <thread>

namespace rmw_testing {

namespace fs = std::filesystem;

std::string take_error() {
  const std::string text = rmw_error_is_set() ? rmw_get_error_string().str : "";
  rmw_reset_error();
  return text;
}

void fail(const std::string& what) {
  std::cerr << what << ": " << take_error() << std::endl;
  std::_Exit(1);
}

Root::Root() {
  const char* memory = fs::is_directory("/dev/shm") ? "/dev/shm" : "/tmp";
  std::string name = std::string(memory) + "/rmw-test-XXXXXX";
  if (mkdtemp(name.data()) == nullptr) fail("cannot make a folder");
  path_ = name;
  if (const char* before = std::getenv("SITU_ROOT")) before_ = before;
  setenv("SITU_ROOT", path_.c_str(), 1);
}

Root::~Root() {
  if (before_.empty()) {
    unsetenv("SITU_ROOT");
  } else {
    setenv("SITU_ROOT", before_.c_str(), 1);
  }
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

uint64_t Root::memory() const {
  uint64_t total = 0;
  std::error_code gone;
  for (const auto& file : fs::recursive_directory_iterator(path_, gone)) {
    struct stat status;
    if (lstat(file.path().c_str(), &status) == 0) total += uint64_t(status.st_blocks) * 512;
  }
  return total;
}

size_t Root::files() const {
  std::error_code gone;
  const fs::recursive_directory_iterator files(path_, gone);
  return size_t(std::count_if(begin(files), end(files), [](const auto& file) {
    std::error_code ignored;
    return file.is_regular_file(ignored);
  }));
}

Context::Context() : context_(rmw_get_zero_initialized_context()) {
  auto options = rmw_get_zero_initialized_init_options();
  if (rmw_init_options_init(&options, rcutils_get_default_allocator()) != RMW_RET_OK) fail("options");
  options.enclave = strdup("/");
  options.domain_id = 0;
  if (rmw_init(&options, &context_) != RMW_RET_OK) fail("rmw_init");
  std::ignore = rmw_init_options_fini(&options);
}

Context::~Context() {
  if (rmw_shutdown(&context_) != RMW_RET_OK || rmw_context_fini(&context_) != RMW_RET_OK) {
    ADD_FAILURE() << "the context does not end: " << take_error();
  }
}

rmw_qos_profile_t make_qos(size_t depth, rmw_qos_reliability_policy_t reliability,
                           rmw_qos_history_policy_t history) {
  rmw_qos_profile_t qos = rmw_qos_profile_default;
  qos.depth = depth;
  qos.reliability = reliability;
  qos.history = history;
  return qos;
}

Node::Node(Context& context, const std::string& name)
    : node_(rmw_create_node(context.get(), name.c_str(), "/")) {
  if (node_ == nullptr) fail("node");
}

Node::~Node() { std::ignore = rmw_destroy_node(node_); }

std::vector<std::string> Node::names() {
  auto names = rcutils_get_zero_initialized_string_array();
  auto namespaces = rcutils_get_zero_initialized_string_array();
  if (rmw_get_node_names(node_, &names, &namespaces) != RMW_RET_OK) fail("names of nodes");
  std::vector<std::string> found(names.data, names.data + names.size);
  std::ignore = rcutils_string_array_fini(&names);
  std::ignore = rcutils_string_array_fini(&namespaces);
  std::ranges::sort(found);
  return found;
}

Waiter::Waiter(Context& context) : set_(rmw_create_wait_set(context.get(), 0)) {
  if (set_ == nullptr) fail("wait set");
}

Waiter::~Waiter() { std::ignore = rmw_destroy_wait_set(set_); }

bool Waiter::wait(std::chrono::nanoseconds limit) {
  auto subscriptions = subscriptions_;
  auto services = services_;
  auto clients = clients_;
  auto conditions = conditions_;
  rmw_subscriptions_t of_subscriptions = {subscriptions.size(), subscriptions.data()};
  rmw_guard_conditions_t of_conditions = {conditions.size(), conditions.data()};
  rmw_services_t of_services = {services.size(), services.data()};
  rmw_clients_t of_clients = {clients.size(), clients.data()};
  rmw_events_t of_events = {0, nullptr};
  const rmw_time_t time = {uint64_t(limit.count()) / 1'000'000'000, uint64_t(limit.count()) % 1'000'000'000};
  const rmw_ret_t ret =
      rmw_wait(&of_subscriptions, &of_conditions, &of_services, &of_clients, &of_events, set_, &time);
  if (ret != RMW_RET_OK && ret != RMW_RET_TIMEOUT) fail("wait");
  return ret == RMW_RET_OK;
}

bool eventually(const std::function<bool()>& condition, std::chrono::nanoseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

size_t descriptors() {
  return size_t(std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator()));
}

size_t mappings() {
  std::ifstream maps("/proc/self/maps");
  return size_t(std::count(std::istreambuf_iterator<char>(maps), {}, '\n'));
}

}  // namespace rmw_testing
