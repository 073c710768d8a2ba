// Traces from C++: the command records them, and prints their content. The tests in Rust check that Perfetto
// can read the file. These tests check that the events of C++ arrive.
#include "situ/trace.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "bus/scratch.hpp"
#include "situ/trace_typed.hpp"

namespace bus_test {
namespace {

using namespace std::chrono_literals;

constinit situ::trace::category wanted{"wanted"};
constinit situ::trace::category unwanted{"unwanted"};
// Latin 1, as in a program that does not use UTF-8.
constinit situ::trace::category latin{"wanted caf\xe9"};
constinit situ::trace::counter latin_level{latin, "niveau \xe0"};
constinit situ::trace::counter level{wanted, "level", situ::trace::unit::bytes};

constinit situ::trace::category group{"wanted,benchmark"};
constinit situ::trace::category slow{"wanted too", "slow"};
constinit situ::trace::category off{"off", "slow"};
constexpr situ::trace::track grasps{"grasps"};

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

enum class gripper : std::uint8_t { open = 3 };

/// Tracks, given times, nested arguments, computed names, typed arguments and packets.
void more(int round) {
  namespace trace = situ::trace;
  const trace::track grasp(grasps, "grasp", static_cast<std::uint64_t>(round));
  const std::uint64_t begin = trace::now();
  const std::string name = "grasp the cup";
  const std::vector<double> joints{0.5, 1.5};
  SITU_TRACE_BEGIN(
      wanted, "grasp", grasp, trace::named(name), trace::at(begin),
      trace::arg<"pose">(trace::dictionary(
          trace::arg<"x">(0.25), trace::arg(name, 7),
          trace::arg<"deep">(trace::array(true, "text", trace::dictionary(trace::arg<"y">(9)))))),
      trace::arg<"joints">(trace::array_of(joints)), trace::arg<"gripper">(gripper::open),
      trace::arg<"where">(static_cast<const void*>(&grasps)));
  std::thread([&] {
    SITU_TRACE_END(wanted, grasp, trace::at(begin + 1000), trace::arg<"held">(true));
  }).join();
  // The end of the first slice ends the second; its own end then ends nothing.
  SITU_TRACE_SLICE(first, wanted, "first");
  SITU_TRACE_SLICE(second, wanted, "second");
  first.end();
  SITU_TRACE_SCOPE(wanted, "third");
  second.end();
  SITU_TRACE_INSTANT(wanted, "within the third");
  // Field 33 of TrackEvent: a place in the source. Field 900 of TracePacket: a text, for tests.
  constexpr std::array<std::uint8_t, 11> source{0x8a, 2, 8, 0x12, 4, 'a', '.', 'c', 'c', 0x20, 9};
  SITU_TRACE_INSTANT(group, "typed", trace::fields{source});
  const auto place = [](situ::protobuf::message& event, std::string_view path) {
    situ::protobuf::message location(event, 33);
    location.string(2, path);
    location.uint32(4, 9);
  };
  SITU_TRACE_INSTANT(group, "written", trace::typed([&](auto& event) { place(event, "written.cc"); }),
                     trace::arg<"more">(round));
  SITU_TRACE_SCOPE(unwanted, "never written", trace::typed([&](auto&) { compute(); }));
  const std::string long_path(600, 'p');
  SITU_TRACE_INSTANT(group, "too long", trace::typed([&](auto& event) { place(event, long_path); }));
  constexpr std::array<std::uint8_t, 8> own{0xa2, 0x38, 5, 0x0a, 3, 'o', 'w', 'n'};
  EXPECT_TRUE(trace::packet(own));
  EXPECT_FALSE(trace::packet(std::span(own).first(5))) << "cut off";
  SITU_TRACE_SET(wanted, "given", round + 1, trace::at(begin + 500));
  level.set(10 + round, trace::at(begin + 600));
  const std::string joint = "joint " + std::to_string(round);
  trace::count(wanted, trace::track(grasps, joint), 0.5 + round, trace::at(begin + 700), trace::unit::bytes);
  trace::count(unwanted, trace::track("never counted"), 1);
  SITU_TRACE_INSTANT(slow, "asked for");
  SITU_TRACE_INSTANT(off, "not asked for");
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
  for (int round = 0; round < 3; ++round) {
    work(round);
    more(round);
  }
  EXPECT_EQ(run(situ + "stop >/dev/null"), 0);
  recorder.join();
  EXPECT_TRUE(becomes(wanted, false));
  EXPECT_EQ(computed, 0) << "arguments of a category that is off are not computed";

  ASSERT_EQ(run(situ + "view " + file + " --json >" + file + ".json"), 0);
  const std::string view = read(file + ".json");
  for (const char* expected :
       {R"("name":"traced_in_cpp")", R"("category":"wanted","name":"outer","count":3)",
        R"("category":"wanted","name":"inner","count":3)",
        // The second ends with the first, not with the third.
        R"("name":"grasp the cup","count":3,"total_ns":3000)", R"("name":"second","count":3)",
        R"("name":"third","count":3)", R"("name":"rounds","samples":3,"min":0.0,"max":2.0)",
        R"("name":"level","samples":6,"min":2.5,"max":12.0)",
        R"("name":"given","samples":3,"min":1.0,"max":3.0)",
        R"("name":"joint 2","samples":1,"min":2.5,"max":2.5)",
        R"("losses":0,"without_state":0,"malformed":0)"}) {
    EXPECT_NE(view.find(expected), std::string::npos) << expected << " in " << view;
  }
  EXPECT_EQ(view.find("never"), std::string::npos);
  EXPECT_EQ(view.find("not asked for"), std::string::npos);
  const std::string bytes = read(file);
  // Invalid bytes are replaced (by U+FFFD), and no other text is lost.
  for (const char* expected : {"moment",
                               "some text",
                               "yes",
                               "half",
                               "text",
                               "wanted caf\xef\xbf\xbd",
                               "niveau \xef\xbf\xbd",
                               "d\xef\xbf\xbdj\xef\xbf\xbd vu",
                               "caf\xef\xbf\xbd closed",
                               "caf\xef\xbf\xbd.cpp",
                               "kitch\xef\xbf\xbdn",
                               "error",
                               "logger",
                               "o\xef\xbf\xbd",
                               "a \xef\xbf\xbd text",
                               "behind",
                               "held",
                               "a.cc",
                               "\x12\x0awritten.cc\x20\x09",
                               "too long",
                               "\x0a\x03own",
                               "asked for",
                               "wanted,benchmark",
                               "within the third"}) {
    EXPECT_NE(bytes.find(expected), std::string::npos) << expected;
  }
  EXPECT_EQ(bytes.find("pppp"), std::string::npos) << "fields that are too long are left out";
}

}  // namespace
}  // namespace bus_test
