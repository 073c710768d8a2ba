// Traces from C++: the command records them, and prints their content. The tests in Rust check that Perfetto
// can read the file. These tests check that the events of C++ arrive.
#include "situ/trace.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include "bus/scratch.hpp"

namespace bus_test {
namespace {

using namespace std::chrono_literals;

constinit situ::trace::category wanted{"wanted"};
constinit situ::trace::category unwanted{"unwanted"};
// Latin 1, as in a program that does not use UTF-8.
constinit situ::trace::category latin{"wanted caf\xe9"};
constinit situ::trace::counter latin_level{latin, "niveau \xe0"};
constinit situ::trace::counter level{wanted, "level", situ::trace::unit::bytes};

int computed = 0;

int compute() {
  ++computed;
  return 7;
}

void work(int round) {
  SITU_TRACE_SCOPE(wanted, "outer", situ::trace::flow(4711), situ::trace::arg<"round">(round),
                   situ::trace::arg<"half">(0.5F));
  {
    SITU_TRACE_SCOPE(wanted, "inner");
    SITU_TRACE_INSTANT(wanted, "moment", situ::trace::arg<"text">(std::string("some text")),
                       situ::trace::arg<"yes">(true), situ::trace::last_flow(4711));
  }
  SITU_TRACE_INSTANT(latin, "d\xe9j\xe0 vu", situ::trace::arg<"o\xf9">(std::string("a \xff text")),
                     situ::trace::arg<"behind">(round));
  latin_level.set(round);
  SITU_TRACE_SCOPE(unwanted, "never", situ::trace::arg<"computed">(compute()));
  situ::trace::log(situ::trace::severity::error, "caf\xe9 closed", "caf\xe9.cpp", 7, "kitch\xe9n");
  SITU_TRACE_SET(wanted, "rounds", round);
  level.set(2.5);
}

/// Waits until the category is in the expected state.
bool becomes(situ::trace::category& category, bool enabled) {
  for (int look = 0; look < 10000; ++look) {
    if (category.is_enabled() == enabled) return true;
    std::this_thread::sleep_for(1ms);
  }
  return false;
}

int run(const std::string& command) { return WEXITSTATUS(std::system(command.c_str())); }

std::string read(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

TEST_F(Bus, events_of_a_program_are_in_the_trace) {
  const auto on = node("traced_in_cpp");
  work(0);
  EXPECT_FALSE(wanted.is_enabled());

  const std::string file = root_.path + "/run.pftrace";
  const std::string situ = std::string(SITU_TEST_COMMAND) + " --root " + root_.path + " trace ";
  std::thread recorder([&] {
    EXPECT_EQ(run(situ + "record --category 'wanted*,log' --duration 20s -o " + file + " >/dev/null"), 0);
  });
  ASSERT_TRUE(becomes(wanted, true));
  EXPECT_FALSE(unwanted.is_enabled());
  for (int round = 0; round < 3; ++round) work(round);
  EXPECT_EQ(run(situ + "stop >/dev/null"), 0);
  recorder.join();
  EXPECT_TRUE(becomes(wanted, false));
  EXPECT_EQ(computed, 0) << "arguments of a category that is off are not computed";

  ASSERT_EQ(run(situ + "view " + file + " --json >" + file + ".json"), 0);
  const std::string view = read(file + ".json");
  for (const char* expected :
       {R"("name":"traced_in_cpp")", R"("category":"wanted","name":"outer","count":3)",
        R"("category":"wanted","name":"inner","count":3)",
        R"("name":"rounds","samples":3,"min":0.0,"max":2.0)", R"("name":"level","samples":1,"min":2.5)",
        R"("losses":0,"without_state":0,"malformed":0)"}) {
    EXPECT_NE(view.find(expected), std::string::npos) << expected << " in " << view;
  }
  EXPECT_EQ(view.find("never"), std::string::npos);
  const std::string bytes = read(file);
  // Invalid bytes are replaced (by U+FFFD), and no other text is lost.
  for (const char* expected :
       {"moment", "some text", "yes", "half", "text", "wanted caf\xef\xbf\xbd", "niveau \xef\xbf\xbd",
        "d\xef\xbf\xbdj\xef\xbf\xbd vu", "caf\xef\xbf\xbd closed", "caf\xef\xbf\xbd.cpp",
        "kitch\xef\xbf\xbdn", "error", "logger", "o\xef\xbf\xbd", "a \xef\xbf\xbd text", "behind"}) {
    EXPECT_NE(bytes.find(expected), std::string::npos) << expected;
  }
}

}  // namespace
}  // namespace bus_test
