// Services of a `.srv` file and of an interface: the types that clients and servers need.
#include <gtest/gtest.h>

#include <concepts>
#include <string_view>

#include "services/calculator.hpp"
#include "services/srv/add_two_ints.hpp"

namespace {

using std::string_view_literals::operator""sv;
namespace srv = services::srv;

static_assert(std::same_as<srv::AddTwoInts::Request, srv::AddTwoInts_Request>);
static_assert(std::same_as<srv::AddTwoInts::Response, srv::AddTwoInts_Response>);
static_assert(srv::AddTwoInts::situ_name == "services::srv::AddTwoInts"sv);

static_assert(std::same_as<services::Calculator_add::Request, services::Calculator_add_In>);
static_assert(std::same_as<services::Calculator_add::Response, services::Calculator_add_Out>);
static_assert(services::Calculator_add::situ_name == "services::Calculator_add"sv);

// An inherited operation has the types of its base.
static_assert(std::same_as<services::more::Scientific_add::Request, services::Calculator_add_In>);
static_assert(std::same_as<services::more::Scientific_add::Response, services::Calculator_add_Out>);
static_assert(services::more::Scientific_add::situ_name == "services::more::Scientific_add"sv);
static_assert(std::same_as<services::more::Scientific_root::Request, services::more::Scientific_root_In>);

TEST(Services, MembersAreTheParametersOfTheOperation) {
  services::Calculator_scale::Request request;
  request.point.x = 3;
  request.factor = 2;
  services::Calculator_scale::Response response;
  response.length = 1;
  response.return_.x = request.point.x * request.factor;
  EXPECT_EQ(response.return_.x, 6);

  services::Calculator_swap::Request texts;
  texts.first = "a";
  services::Calculator_swap::Response swapped;
  swapped.second = texts.first;
  EXPECT_EQ(swapped.second, "a");

  services::Calculator_history::Response history;
  history.return_.emplace_back().text = "1 + 2";
  EXPECT_EQ(history.return_.size(), 1U);
  static_cast<void>(services::Calculator_clear::Request{});
}

}  // namespace
