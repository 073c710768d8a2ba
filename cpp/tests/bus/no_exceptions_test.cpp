// The bus in a program compiled without exceptions: the `try_` forms report all errors. Exits with 0 on
// success.
#include <unistd.h>

#include <cstdio>
#include <string>

#include "bus/messages.hpp"
#include "situ/bus.hpp"

namespace {

/// Whether a callback's error reaches the caller of a spin.
bool runs(const situ::node& node) {
  auto executor = situ::executor::try_create(node);
  auto set = situ::wait_set::try_create(node);
  if (!executor || !set || set->try_attach(-1)) return false;
  const situ::guard_condition condition;
  executor->add(condition, []() -> situ::result<void, situ::error> {
    return situ::failure{situ::error(situ::errc::full, "no room")};
  });
  condition.trigger();
  const auto ended = executor->try_spin();
  return !ended && ended.error().code() == situ::errc::full;
}

/// Whether a request is answered, and a refusal and the end of the server reach the client.
bool serves(const situ::node& node) {
  using bus_test::Tick;
  auto client = node.try_client<Tick, Tick>("ticks");
  if (!client || client->try_call(Tick{})) return false;
  auto server = node.try_server<Tick, Tick>("ticks");
  if (!server || node.try_server<Tick, bus_test::Scan>("ticks")) return false;
  auto loan = client->try_loan();
  if (!loan) return false;
  (*loan)->count = 1;
  auto first = loan->try_send();
  auto second = client->try_call(Tick{});
  if (!first || !second) return false;
  const auto asked = server->try_take();
  const auto other = server->try_take();
  if (!asked || !*asked || !other || !*other) return false;
  if (!server->try_reply(**asked, Tick{.count = 2}) || !server->try_refuse(**other, {3, "no"})) return false;
  const auto reply = first->try_wait();
  const auto refused = second->try_wait();
  return reply && (*reply)->count == 2 && !refused && refused.error().reason()->code == 3;
}

}  // namespace

int main() {
  using bus_test::Scan;
  using bus_test::Tick;
  const situ::root root{"/dev/shm/situ-test-noexcept-" + std::to_string(::getpid()), {}};
  bool good = false;
  {
    const auto node = situ::node::try_create("n", root);
    auto publisher = node->try_publisher<Scan>("scans");
    auto subscriber = node->try_subscriber<Scan>("scans");
    const auto refused = node->try_subscriber<Tick>("scans");
    if (!node || !publisher || !subscriber || refused) return 1;
    auto loan = publisher->try_loan({.ranges = 3});
    if (!loan || !loan->try_publish()) return 1;
    const auto taken = subscriber->try_take();
    good = taken && taken->has_value() && (*taken)->bulk(&Scan::ranges).size() == 3 &&
           refused.error().code() == situ::errc::type && runs(*node) && serves(*node) &&
           !situ::node::try_create("", {"/proc/none", {}});
  }
  // The control file of traces stays, because traced programs detect recordings through it.
  ::unlink((root.path + "/trace/control").c_str());
  for (const char* folder : {"/nodes", "/topics", "/trace", ""}) {
    if (::rmdir((root.path + folder).c_str()) != 0) std::perror("rmdir");
  }
  return good ? 0 : 1;
}
