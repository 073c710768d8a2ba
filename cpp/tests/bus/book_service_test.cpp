// Code of the book's page on services that is not a program of its own. The lines between ANCHOR and
// ANCHOR_END are what the page shows; a test of the command compares them.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <variant>

#include "bus/scratch.hpp"
// Not the file beside this one.
#include <messages.hpp>

namespace bus_test {
namespace {

using namespace std::chrono_literals;
using examples::DivisionByZero;

/// The outcome of a division, as a program may show it.
std::string divide(const situ::node& node, std::int64_t a, std::int64_t b) {
  // ANCHOR: operation
  using Divide = examples::Calculator_divide;
  auto server = node.server<Divide>("calculator/divide");
  auto client = node.client<Divide>("calculator/divide");

  auto call = client.call(Divide::Request{a, b}, 10s);
  const auto answer = [](const situ::request<Divide::Request>& asked) -> Divide::Outcome {
    if (asked->b == 0) return situ::failure{DivisionByZero{asked->a}};
    return Divide::Output{asked->a / asked->b};
  };
  server.serve(answer, 10s);
  const Divide::Outcome outcome = call.outcome();
  if (outcome) return std::to_string(outcome->return_);
  return std::to_string(std::get<DivisionByZero>(outcome.error()).numerator) + " / 0";
  // ANCHOR_END: operation
}

TEST_F(Bus, the_operation_of_the_book_gives_and_raises) {
  const auto on = node("n");
  EXPECT_EQ(divide(on, 17, 5), "3");
  EXPECT_EQ(divide(on, 17, 0), "17 / 0");
}

}  // namespace
}  // namespace bus_test
