// Uses the headers alone, with messages that are generated along with the project.
#include <robot.hpp>
#include <situ/cdr.hpp>

#include "parts/wheel.hpp"

int main() {
  robot::Cart cart;
  cart.name = "blue";
  cart.wheels.push_back(robot::Wheel{.radius = 0.25});
  const auto bytes = situ::encode_to_vector(cart).value();
  robot::Cart copy;
  situ::decode(copy, bytes).value();
  return copy == cart ? 0 : 1;
}
