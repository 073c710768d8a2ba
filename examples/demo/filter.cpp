// The demo's second process: takes clouds (or images), keeps the objects that stand on the ground (or the
// edges), and publishes the result.
//
//   situ-demo-filter cloud|image INPUT OUTPUT [--root DIR] [--serialized]
//
// It reports its state on standard output, one JSON object a line, and stops at SIGTERM or SIGINT.
#include <sys/prctl.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "edges.hpp"
#include "obstacles.hpp"
#include "situ/bus.hpp"
#include "situ/sensor.hpp"
#include "situ/trace.hpp"

namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

/// The filter's work, in a trace.
constinit situ::trace::category kFilter{"filter"};

/// The period of reporting its state, and of checking whether to stop.
constexpr auto kPeriod = 100ms;

std::atomic<bool> stop{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler sets it");

struct Options {
  bool images = false;
  bool serialized = false;
  std::string input;
  std::string output;
  situ::root root;
};

bool parse(std::span<char* const> arguments, Options& options) {
  std::vector<std::string_view> names;
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    if (argument == "--serialized") {
      options.serialized = true;
    } else if (argument == "--root" && i + 1 < arguments.size()) {
      options.root.path = arguments[++i];
    } else {
      names.push_back(argument);
    }
  }
  if (names.size() != 3 || (names[0] != "cloud" && names[0] != "image")) {
    return false;
  }
  options.images = names[0] == "image";
  options.input = names[1];
  options.output = names[2];
  return true;
}

/// Reports its state, at most once a period.
class Reporter {
 public:
  void tell(std::uint64_t frames, steady_clock::duration busy) {
    const situ::copy_count copied = situ::copies();
    const auto busy_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(busy).count();
    std::printf(R"({"ready": true, "frames": %llu, "copies": %llu, "bytes_copied": %llu, "busy_ns": %lld})"
                "\n",
                static_cast<unsigned long long>(frames), static_cast<unsigned long long>(copied.copies),
                static_cast<unsigned long long>(copied.bytes), static_cast<long long>(busy_ns));
    std::fflush(stdout);
    told_ = steady_clock::now();
  }
  void tell_now_and_then(std::uint64_t frames, steady_clock::duration busy) {
    if (steady_clock::now() - told_ >= kPeriod) {
      tell(frames, busy);
    }
  }

 private:
  steady_clock::time_point told_{};
};

/// Sums the time of the work itself, between two messages.
class Stopwatch {
 public:
  template <class Work>
  auto time(Work&& work) {
    const Lap lap(total_);
    return work();
  }
  [[nodiscard]] steady_clock::duration total() const { return total_; }

 private:
  struct Lap {
    explicit Lap(steady_clock::duration& total) : total_(total) {}
    ~Lap() { total_ += steady_clock::now() - begin_; }
    Lap(const Lap&) = delete;
    Lap& operator=(const Lap&) = delete;

    steady_clock::duration& total_;
    steady_clock::time_point begin_ = steady_clock::now();
  };

  steady_clock::duration total_{};
};

/// The points in the bytes of a cloud. In shared memory they lie at a multiple of 64, in a vector at a
/// multiple of 16.
template <class To, class From>
std::span<To> points(std::span<From> bytes) {
  static_assert(sizeof(From) == 1);
  return {reinterpret_cast<To*>(bytes.data()), bytes.size() / sizeof(To)};
}

/// Everything but the points themselves.
template <class Cloud>
void describe(const Cloud& from, Cloud& to, std::size_t count) {
  to.header = from.header;
  to.fields = from.fields;
  to.height = 1;
  to.width = static_cast<std::uint32_t>(count);
  to.point_step = sizeof(demo::Point);
  to.row_step = static_cast<std::uint32_t>(count * sizeof(demo::Point));
  to.is_dense = true;
}

template <class Storage>
class CloudFilter {
 public:
  using Message = situ::sensor::PointCloud2_<Storage>;

  void run(const situ::sample<Message>& cloud, situ::publisher<Message>& out) {
    if (cloud->point_step != sizeof(demo::Point)) {
      std::fprintf(stderr, "the filter reads points of 16 bytes (float x, y, z, intensity), these have %u\n",
                   cloud->point_step);
      return;
    }
    SITU_TRACE_SCOPE(kFilter, "find obstacles", situ::trace::arg<"number">(cloud.sequence()));
    const auto in = points<const demo::Point>(cloud.bulk(&Message::data));
    const std::size_t count = watch_.time([&] { return filter_.select(in); });
    SITU_TRACE_SET(kFilter, "obstacle points", count);
    if constexpr (situ::flat_message<Message>) {
      auto obstacles = out.loan({.data = count * sizeof(demo::Point)});
      describe(*cloud, *obstacles, count);
      watch_.time([&] { filter_.write(in, points<demo::Point>(obstacles.bulk(&Message::data))); });
      obstacles.publish();
    } else {
      describe(*cloud, obstacles_, count);
      obstacles_.data.resize(count * sizeof(demo::Point));
      watch_.time([&] { filter_.write(in, points<demo::Point>(std::span(obstacles_.data))); });
      out.publish(obstacles_);
    }
  }

  [[nodiscard]] steady_clock::duration busy() const { return watch_.total(); }

 private:
  Stopwatch watch_;
  demo::ObstacleFilter filter_;
  std::conditional_t<situ::flat_message<Message>, std::monostate, Message> obstacles_{};
};

/// Bytes of a pixel, from the name of its encoding; 0 for one that the filter does not read.
inline std::size_t channels(std::string_view encoding) {
  if (encoding == "mono8") return 1;
  if (encoding == "rgb8" || encoding == "bgr8") return 3;
  if (encoding == "rgba8" || encoding == "bgra8") return 4;
  return 0;
}

template <class Image>
void describe(const Image& from, Image& to) {
  to.header = from.header;
  to.height = from.height;
  to.width = from.width;
  to.encoding = "mono8";
  to.step = from.width;
}

template <class Storage>
class ImageFilter {
 public:
  using Message = situ::sensor::Image_<Storage>;

  void run(const situ::sample<Message>& image, situ::publisher<Message>& out) {
    const demo::Pixels pixels{image->width, image->height, channels(std::string_view(image->encoding)),
                              image->step, image.bulk(&Message::data)};
    if (!pixels.is_whole()) {
      std::fprintf(stderr, "the filter reads mono8, rgb8, bgr8, rgba8 and bgra8 images, and whole ones\n");
      return;
    }
    SITU_TRACE_SCOPE(kFilter, "find edges", situ::trace::arg<"number">(image.sequence()));
    const std::size_t size = pixels.width * pixels.height;
    if constexpr (situ::flat_message<Message>) {
      auto edges = out.loan({.data = size});
      describe(*image, *edges);
      watch_.time([&] { filter_.run(pixels, edges.bulk(&Message::data)); });
      edges.publish();
    } else {
      describe(*image, edges_);
      edges_.data.resize(size);
      watch_.time([&] { filter_.run(pixels, edges_.data); });
      out.publish(edges_);
    }
  }

  [[nodiscard]] steady_clock::duration busy() const { return watch_.total(); }

 private:
  Stopwatch watch_;
  demo::EdgeFilter filter_;
  std::conditional_t<situ::flat_message<Message>, std::monostate, Message> edges_{};
};

template <class Filter>
void run(const Options& options) {
  using Message = typename Filter::Message;
  const situ::node node("demo_filter", options.root);
  auto out = node.publisher<Message>(options.output, {.reliability = situ::reliability::reliable});
  auto in = node.subscriber<Message>(options.input, {.reliability = situ::reliability::reliable});
  Filter filter;
  Reporter reporter;
  std::uint64_t frames = 0;
  reporter.tell(frames, filter.busy());
  while (!stop) {
    if (const auto message = in.receive(kPeriod)) {
      filter.run(*message, out);
      ++frames;
    }
    reporter.tell_now_and_then(frames, filter.busy());
  }
  reporter.tell(frames, filter.busy());
}

void choose(const Options& options) {
  if (options.images) {
    return options.serialized ? run<ImageFilter<situ::heap>>(options) : run<ImageFilter<situ::flat>>(options);
  }
  return options.serialized ? run<CloudFilter<situ::heap>>(options) : run<CloudFilter<situ::flat>>(options);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!parse({argv, static_cast<std::size_t>(argc)}, options)) {
    std::fprintf(stderr, "usage: situ-demo-filter cloud|image INPUT OUTPUT [--root DIR] [--serialized]\n");
    return 2;
  }
  for (const int signal : {SIGINT, SIGTERM}) {
    std::signal(signal, [](int) { stop = true; });
  }
  // The filter ends with the viewer that started it.
  const pid_t parent = getppid();
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) {
    return 1;
  }
  try {
    choose(options);
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "%s\n", problem.what());
    return 1;
  }
  return 0;
}
