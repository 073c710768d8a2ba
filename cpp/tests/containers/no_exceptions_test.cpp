// Situ in a program without exceptions: operations that would throw print the reason and abort, and the
// `try_` forms return.
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>

#include "situ/cdr.hpp"
#include "situ/convert.hpp"
#include "situ/types.hpp"
#include "situ/validate.hpp"

#if defined(__cpp_exceptions)
#error "this test is compiled without exceptions"
#endif

namespace {

using situ::flat;

TEST(NoExceptions, a_bound_that_is_exceeded_ends_the_program) {
  flat::sequence<int, 2> numbers{1, 2};
  EXPECT_EXIT(numbers.push_back(3), testing::KilledBySignal(SIGABRT),
              "situ: bound exceeded: 3 elements do not fit into a bound of 2");
  flat::string<2> text;
  EXPECT_EXIT(text = "abc", testing::KilledBySignal(SIGABRT), "3 elements do not fit into a bound of 2");
  EXPECT_EXIT((void)numbers.at(7), testing::KilledBySignal(SIGABRT), "no such element");
}

TEST(NoExceptions, the_program_may_choose_how_it_ends) {
  flat::sequence<int, 2> numbers{1, 2};
  EXPECT_EXIT(
      {
        situ::set_failure_handler([](const char*) { std::exit(7); });
        numbers.push_back(3);
      },
      testing::ExitedWithCode(7), "");
}

TEST(NoExceptions, the_other_forms_refuse) {
  flat::sequence<int, 2> numbers{1, 2};
  EXPECT_EQ(numbers.try_push_back(3), nullptr);
  EXPECT_FALSE(numbers.try_resize(3));
  EXPECT_EQ(numbers.size(), 2U);
}

}  // namespace
