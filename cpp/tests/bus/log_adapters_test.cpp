// The adapters of the book for logging libraries, with the libraries that this machine has: what they log is
// in the trace. The lines between ANCHOR and ANCHOR_END are what the page shows.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "bus/scratch.hpp"
#include "situ/trace.hpp"

#ifdef SITU_TEST_SPDLOG
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#endif
#ifdef SITU_TEST_GLOG
#include <glog/logging.h>
#endif
#ifdef SITU_TEST_RCUTILS
#include <rcutils/logging.h>
#endif

namespace bus_test {
namespace {

using namespace std::chrono_literals;

/// The category of `situ::trace::log`.
constinit situ::trace::category log_category{"log"};

#ifdef SITU_TEST_SPDLOG
void add_to_spdlog() {
  // ANCHOR: spdlog
  struct trace_sink : spdlog::sinks::base_sink<std::mutex> {
    void sink_it_(const spdlog::details::log_msg& message) override {
      // trace, debug, info, warn, err and critical have the numbers 0 to 5.
      const auto severity = static_cast<situ::trace::severity>(static_cast<int>(message.level) + 2);
      situ::trace::log(severity, {message.payload.data(), message.payload.size()},
                       message.source.filename != nullptr ? message.source.filename : "",
                       static_cast<std::uint32_t>(message.source.line),
                       {message.logger_name.data(), message.logger_name.size()});
    }
    void flush_() override {}
  };
  spdlog::default_logger()->sinks().push_back(std::make_shared<trace_sink>());
  // ANCHOR_END: spdlog
}
#endif

#ifdef SITU_TEST_GLOG
void add_to_glog() {
  // ANCHOR: glog
  struct trace_sink : google::LogSink {
    void send(google::LogSeverity level, const char*, const char* file, int line,
              const google::LogMessageTime&, const char* text, std::size_t length) override {
      // INFO, WARNING, ERROR and FATAL have the numbers 0 to 3.
      situ::trace::log(static_cast<situ::trace::severity>(level + 4), {text, length}, file,
                       static_cast<std::uint32_t>(line));
    }
  };
  static trace_sink sink;
  google::AddLogSink(&sink);
  // ANCHOR_END: glog
}
#endif

#ifdef SITU_TEST_RCUTILS
void add_to_rcutils() {
  // ANCHOR: rcutils
  static rcutils_logging_output_handler_t previous = rcutils_logging_get_output_handler();
  rcutils_logging_set_output_handler([](const rcutils_log_location_t* place, int level, const char* name,
                                        rcutils_time_point_value_t time, const char* format,
                                        va_list* arguments) {
    char text[1024];
    va_list copy;
    va_copy(copy, *arguments);
    std::vsnprintf(text, sizeof(text), format, copy);
    va_end(copy);
    // DEBUG, INFO, WARN, ERROR and FATAL have the numbers 10 to 50.
    situ::trace::log(static_cast<situ::trace::severity>(level / 10 + 2), text,
                     place != nullptr ? place->file_name : "",
                     place != nullptr ? static_cast<std::uint32_t>(place->line_number) : 0, name);
    previous(place, level, name, time, format, arguments);
  });
  // ANCHOR_END: rcutils
}
#endif

/// Records the log of the process while `write` runs. Returns the file's bytes.
template <class Write>
std::string recorded(const std::string& root, Write&& write) {
  const std::string file = root + "/run.pftrace";
  const std::string situ = std::string(SITU_TEST_COMMAND) + " --root " + root + " trace ";
  const auto run = [](const std::string& command) { return WEXITSTATUS(std::system(command.c_str())); };
  std::thread recorder(
      [&] { EXPECT_EQ(run(situ + "record --category log --duration 20s -o " + file + " >/dev/null"), 0); });
  for (int look = 0; look < 10000 && !log_category.is_enabled(); ++look) std::this_thread::sleep_for(1ms);
  EXPECT_TRUE(log_category.is_enabled());
  write();
  EXPECT_EQ(run(situ + "stop >/dev/null"), 0);
  recorder.join();
  std::ostringstream bytes;
  bytes << std::ifstream(file, std::ios::binary).rdbuf();
  return bytes.str();
}

/// A process is traced in the root of its first node, so this is one test.
TEST_F(Bus, the_libraries_log_into_the_trace) {
  const auto on = node("logs");
  std::vector<std::string> expected{"the steering is slow", "error"};
#ifdef SITU_TEST_SPDLOG
  add_to_spdlog();
#endif
#ifdef SITU_TEST_GLOG
  google::InitGoogleLogging("log_adapters_test");
  FLAGS_logtostderr = true;
  add_to_glog();
#endif
#ifdef SITU_TEST_RCUTILS
  ASSERT_EQ(rcutils_logging_initialize(), RCUTILS_RET_OK);
  add_to_rcutils();
#endif
  const auto trace = recorded(root_.path, [&] {
    situ::trace::log(situ::trace::severity::error, "the steering is slow");
#ifdef SITU_TEST_SPDLOG
    SPDLOG_WARN("the battery has {} volts", 11.5);
    spdlog::critical("the wheel is off");
    spdlog::debug("below the level of the logger");
    const char* texts[] = {"the battery has 11.5 volts", "the wheel is off", __FILE__, "warn", "fatal"};
    expected.insert(expected.end(), std::begin(texts), std::end(texts));
#else
    std::puts("SKIPPED: spdlog is not installed (libspdlog-dev)");
#endif
#ifdef SITU_TEST_GLOG
    LOG(WARNING) << "the camera has " << 61.5 << " degrees";
    LOG(ERROR) << "the lens is dirty";
    const char* of_glog[] = {"the camera has 61.5 degrees", "the lens is dirty"};
    expected.insert(expected.end(), std::begin(of_glog), std::end(of_glog));
#else
    std::puts("SKIPPED: glog is not installed (libgoogle-glog-dev)");
#endif
#ifdef SITU_TEST_RCUTILS
    const rcutils_log_location_t place{"drive", "wheels.cpp", 77};
    rcutils_log(&place, RCUTILS_LOG_SEVERITY_WARN, "robot.wheels", "the tyres have %.1f bar", 1.5);
    rcutils_log(nullptr, RCUTILS_LOG_SEVERITY_FATAL, "robot.wheels", "the brake is hot");
    const char* of_rcutils[] = {"the tyres have 1.5 bar", "the brake is hot", "wheels.cpp", "robot.wheels"};
    expected.insert(expected.end(), std::begin(of_rcutils), std::end(of_rcutils));
#else
    std::puts("SKIPPED: rcutils is not installed (librcutils-dev)");
#endif
  });
  for (const std::string& text : expected) EXPECT_NE(trace.find(text), std::string::npos) << text;
  EXPECT_EQ(trace.find("below the level"), std::string::npos);
}

}  // namespace
}  // namespace bus_test
