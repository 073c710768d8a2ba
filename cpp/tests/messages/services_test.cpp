// Services of a `.srv` file and of an interface: the types that clients and servers need.
#include <gtest/gtest.h>

#include <concepts>
#include <string_view>
#include <variant>

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

// An operation that raises exceptions gives an outcome, and so does an inherited one.
using Divide = services::Calculator_divide;
static_assert(std::same_as<Divide::Response, services::Calculator_divide_Reply>);
static_assert(std::same_as<Divide::Output, services::Calculator_divide_Out>);
static_assert(std::same_as<Divide::Exception, std::variant<services::DivisionByZero, services::Exhausted>>);
static_assert(std::same_as<services::more::Scientific_divide::Outcome, Divide::Outcome>);
static_assert(std::same_as<situ::detail::operation_of<Divide::Response>, Divide>);
static_assert(!situ::detail::outcome_response<services::Calculator_add::Response>);

TEST(Services, ResponsesHoldTheResultOrAnException) {
  Divide::Output output;
  output.return_ = 3;
  const auto given = Divide::outcome_of(Divide::respond(output));
  ASSERT_TRUE(given && *given);
  EXPECT_EQ((*given)->return_, 3);

  services::DivisionByZero zero;
  zero.numerator = 17;
  const auto raised = Divide::outcome_of(Divide::respond(situ::failure{zero}));
  ASSERT_TRUE(raised && !*raised);
  EXPECT_EQ(std::get<services::DivisionByZero>(raised->error()).numerator, 17);

  Divide::Response neither;
  neither.reply.select(99);
  EXPECT_FALSE(Divide::outcome_of(neither));

  // On the heap.
  using Parse = services::Calculator_parse;
  services::Unreadable unreadable;
  unreadable.text = "a text that is too long to lie in the string itself";
  const auto refused = Parse::outcome_of(Parse::respond(situ::failure{unreadable}));
  ASSERT_TRUE(refused && !*refused);
  EXPECT_EQ(std::get<services::Unreadable>(refused->error()).text, unreadable.text);

  // In place: the exception has the storage of the response.
  using Normalize = services::Calculator_normalize;
  services::DivisionByZero_<situ::flat> in_place;
  in_place.numerator = 17;
  static_assert(std::same_as<Normalize::Response, services::Calculator_normalize_Reply>);
  const auto flat = Normalize::outcome_of(Normalize::respond(situ::failure{in_place}));
  ASSERT_TRUE(flat && !*flat);
  EXPECT_EQ(std::get<0>(flat->error()).numerator, 17);
}

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
