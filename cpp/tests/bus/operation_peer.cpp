// A program that serves or calls operations that raise exceptions. The test
// tests/generated/tests/operation_peers.rs starts it, and does the same in Rust:
//
//   operation_peer <root> serve <count>    prints "ready", and answers so many requests of each service
//   operation_peer <root> call             prints the outcome of each call
#include <chrono>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <utility>
#include <variant>

#include "services/calculator.hpp"
#include "situ/bus.hpp"

namespace {

using namespace std::chrono_literals;
using Divide = services::Calculator_divide;
using Parse = services::Calculator_parse;

Divide::Outcome divide(const situ::request<Divide::Request>& asked) {
  if (asked->b == 0) {
    services::DivisionByZero zero;
    zero.numerator = asked->a;
    return situ::failure{zero};
  }
  if (asked->a == INT64_MIN) return situ::failure{services::Exhausted{}};
  Divide::Output given;
  given.return_ = asked->a / asked->b;
  given.remainder = asked->a % asked->b;
  return given;
}

Parse::Outcome parse(const situ::request<Parse::Request>& asked) {
  const std::string text(asked->text);
  char* end = nullptr;
  Parse::Output given;
  given.return_ = std::strtod(text.c_str(), &end);
  if (*end == '\0') return given;
  services::Unreadable unreadable;
  unreadable.text = text;
  unreadable.at = static_cast<std::uint32_t>(end - text.c_str());
  return situ::failure{unreadable};
}

void serve(const situ::node& node, int count) {
  auto divides = node.server<Divide>("divide");
  auto parses = node.server<Parse>("parse");
  std::puts("ready");
  std::fflush(stdout);
  for (int left = count; left > 0;) left -= static_cast<int>(divides.serve(divide, 20s));
  for (int left = count; left > 0;) left -= static_cast<int>(parses.serve(parse, 20s));
}

void call(const situ::node& node) {
  auto divider = node.client<Divide>("divide");
  for (const auto& [a, b] : {std::pair<std::int64_t, std::int64_t>{17, 5}, {17, 0}, {INT64_MIN, 1}}) {
    Divide::Request request;
    request.a = a;
    request.b = b;
    const auto outcome = divider.call(request, 20s).outcome();
    if (outcome) {
      std::printf("%" PRId64 " and %" PRId64 "\n", outcome->return_, outcome->remainder);
    } else if (const auto* zero = std::get_if<services::DivisionByZero>(&outcome.error())) {
      std::printf("%" PRId64 " by zero\n", zero->numerator);
    } else {
      std::puts("exhausted");
    }
  }
  auto parser = node.client<Parse>("parse");
  for (const char* text : {"2.5", "2,5"}) {
    Parse::Request request;
    request.text = text;
    const auto outcome = parser.call(request, 20s).outcome();
    if (outcome) {
      std::printf("%g\n", outcome->return_);
    } else {
      const auto& unreadable = std::get<services::Unreadable>(outcome.error());
      std::printf("unreadable: %s at %u\n", std::string(unreadable.text).c_str(), unreadable.at);
    }
  }
}

}  // namespace

int main(int count, char** words) try {
  if (count < 3) return 2;
  ::setenv("SITU_ROOT", words[1], 1);
  const situ::node node("cpp");
  if (std::string(words[2]) == "serve" && count == 4) {
    serve(node, std::atoi(words[3]));
  } else {
    call(node);
  }
  return 0;
} catch (const std::exception& problem) {
  std::printf("failed: %s\n", problem.what());
  return 1;
}
