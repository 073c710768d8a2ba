// Joins the bus and leaves it again.
#include <situ/bus.hpp>

int main() {
  const situ::node node("consumer");
  return node.name() == "consumer" ? 0 : 1;
}
