// The bus in a program compiled without exceptions: the `try_` forms report all errors. Exits with 0 on
// success.
#include <unistd.h>

#include <cstdio>
#include <string>

#include "bus/messages.hpp"
#include "situ/bus.hpp"

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
           refused.error().code() == situ::errc::type && !situ::node::try_create("", {"/proc/none", {}});
  }
  // The control file of traces stays, because traced programs detect recordings through it.
  ::unlink((root.path + "/trace/control").c_str());
  for (const char* folder : {"/nodes", "/topics", "/trace", ""}) {
    if (::rmdir((root.path + folder).c_str()) != 0) std::perror("rmdir");
  }
  return good ? 0 : 1;
}
