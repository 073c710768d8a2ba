// Code of the book's pages that is not a program of its own. The lines between ANCHOR and ANCHOR_END are what
// a page shows; a test of the command compares them.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <thread>
#include <utility>
#include <vector>

#include "bus/scratch.hpp"
#include "situ/sensor.hpp"
#include "situ/synchronize.hpp"
#include "situ/trace.hpp"

namespace bus_test {
namespace {

using namespace std::chrono_literals;
using situ::sensor::Image;
using situ::sensor::Imu;
using Cloud = situ::sensor::PointCloud2;

/// Ends a loop of the book that has no other end.
struct shown {
  std::uint32_t image;
  std::uint32_t cloud;
};

[[noreturn]] void show(const Image& image, const Cloud& cloud) { throw shown{image.width, cloud.width}; }

void synchronize(const situ::node& node) {
  // ANCHOR: synchronizer
  situ::synchronizer pairs(
      situ::approximate_time{.queue_size = 10, .max_interval = 50ms},
      situ::stamped(node.subscriber<Image>("images"), [](const auto& image) { return image->header.stamp; }),
      situ::stamped(node.subscriber<Cloud>("clouds"), [](const auto& cloud) { return cloud->header.stamp; }));
  while (auto pair = pairs.receive()) {
    const auto& [image, cloud] = *pair;
    show(*image, *cloud);
  }
  // ANCHOR_END: synchronizer
}

/// Publishes two images and two clouds. The second cloud is too late for its image.
void publish(situ::publisher<Image>& images, situ::publisher<Cloud>& clouds) {
  // Seconds 1 and 2. The second cloud is 60 ms behind its image, the first one 40 ms.
  const std::pair<std::uint32_t, std::uint32_t> times[] = {{1, 40'000'000}, {2, 60'000'000}};
  for (const auto& [second, late] : times) {
    auto image = images.loan({.data = 3});
    image->header.stamp.sec = static_cast<std::int32_t>(second);
    image->width = second;
    image.publish();
    auto cloud = clouds.loan({.data = 3});
    cloud->header.stamp = {static_cast<std::int32_t>(second), late};
    cloud->width = 10 * second;
    cloud.publish();
  }
}

/// Waits for images and for a timer, until the set is told to end.
std::uint32_t wait_for_images(const situ::node& node, const situ::guard_condition& stop) {
  std::uint32_t width = 0;
  std::uint32_t late = 0;
  // ANCHOR: wait-set
  situ::wait_set set(node);
  auto images = node.subscriber<Image>("images");
  const auto watchdog = situ::timer::once(100ms);
  const auto image = set.attach(images);
  const auto silence = set.attach(watchdog);
  const auto end = set.attach(stop);
  std::array<situ::ready_source, 8> room;
  for (bool running = true; running;) {
    for (const situ::ready_source& source : set.wait(room)) {
      if (source.id() == image) {
        while (auto taken = images.take()) width = (*taken)->width;
        watchdog.reset();
      } else if (source.id() == silence) {
        ++late;
      } else if (source.id() == end) {
        running = false;
      }
    }
  }
  // ANCHOR_END: wait-set
  return width + 1000 * late;
}

TEST_F(Bus, the_wait_set_of_the_book_reports_images_silence_and_the_end) {
  const auto on = node("n");
  auto images = on.publisher<Image>("images");
  const situ::guard_condition stop;
  std::uint32_t found = 0;
  std::thread waiting([&] { found = wait_for_images(on, stop); });
  while (images.statistics().subscribers == 0) std::this_thread::sleep_for(1ms);
  auto image = images.loan({.data = 3});
  image->width = 7;
  image.publish();
  std::this_thread::sleep_for(300ms);
  stop.trigger();
  waiting.join();
  EXPECT_EQ(found, 1007U) << "one image, and silence once";
}

TEST_F(Bus, simulated_time_of_the_book) {
  situ::executor executor(node("n"));
  std::vector<situ::timer_call> calls;
  // ANCHOR: simulated-time
  const situ::simulated_clock clock;
  executor.add(situ::timer(10ms, &clock), [&calls](situ::timer_call call) { calls.push_back(call); });
  // Each message of a simulator or a recording carries its time.
  clock.set(35ms);
  // ANCHOR_END: simulated-time
  EXPECT_EQ(executor.spin_some(), 1U);
  ASSERT_EQ(calls.size(), 1U);
  EXPECT_EQ(calls[0].scheduled, 10ms);
  EXPECT_EQ(calls[0].missed, 2U);
}

TEST_F(Bus, the_synchronizer_of_the_book_pairs_images_and_clouds) {
  const auto on = node("n");
  auto images = on.publisher<Image>("images");
  auto clouds = on.publisher<Cloud>("clouds");
  std::thread publisher([&] {
    const auto begin = std::chrono::steady_clock::now();
    while (images.statistics().subscribers == 0 || clouds.statistics().subscribers == 0) {
      if (std::chrono::steady_clock::now() - begin > 20s) return;
      std::this_thread::sleep_for(1ms);
    }
    publish(images, clouds);
  });
  try {
    synchronize(on);
    ADD_FAILURE() << "the loop has ended";
  } catch (const shown& pair) {
    EXPECT_EQ(pair.image, 1U);
    EXPECT_EQ(pair.cloud, 10U);
  }
  publisher.join();
}

/// Publishes a batch of images, and returns how many had no room.
std::size_t publish_all(situ::publisher<Image>& publisher) {
  // ANCHOR: publish-all
  std::vector<situ::loan<Image>> loans;
  for (std::uint32_t width = 1; width <= 8; ++width) {
    loans.push_back(publisher.loan({.data = 3}));
    loans.back()->width = width;
  }
  if (const auto done = publisher.try_publish_all(loans); !done) {
    std::cerr << loans.size() << " images were not published: " << done.error().what() << '\n';
  }
  // ANCHOR_END: publish-all
  return loans.size();
}

/// The widths of all images that are there.
std::vector<std::uint32_t> take_many(situ::subscriber<Image>& subscriber) {
  std::vector<std::uint32_t> widths;
  // ANCHOR: take-many
  std::vector<situ::sample<Image>> images;
  images.reserve(16);
  while (subscriber.take_many(16, images) > 0) {
    for (const auto& image : images) widths.push_back(image->width);
    images.clear();
  }
  // ANCHOR_END: take-many
  return widths;
}

TEST_F(Bus, batches_of_the_book_go_through) {
  const auto on = node("n");
  auto publisher = on.publisher<Image>("images", {.depth = 64});
  auto subscriber = on.subscriber<Image>("images");
  EXPECT_EQ(publish_all(publisher), 0U);
  EXPECT_EQ(publish_all(publisher), 0U);
  EXPECT_EQ(take_many(subscriber),
            (std::vector<std::uint32_t>{1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8}));
}

TEST_F(Bus, the_blackboard_of_the_book_is_read) {
  const auto on = node("n");
  double found = 0;
  // ANCHOR: blackboard
  situ::blackboard_writer<Imu> writer(on, "robot/imus", {"arm", "base"});
  Imu imu{};
  imu.linear_acceleration.z = 9.81;
  writer.set(0, imu);

  const situ::blackboard_reader<Imu> reader(on, "robot/imus");
  if (const auto arm = reader.position("arm")) {
    if (const auto latest = reader.get(*arm)) found = latest->value.linear_acceleration.z;
  }
  // ANCHOR_END: blackboard
  EXPECT_EQ(found, 9.81);
  EXPECT_FALSE(reader.get(1).has_value());
}

// ANCHOR: trace
constinit situ::trace::category planner{"planner"};

void plan(double goal, std::uint64_t cloud) {
  SITU_TRACE_SCOPE(planner, "plan", situ::trace::flow(cloud), situ::trace::arg<"goal">(goal));
  SITU_TRACE_INSTANT(planner, "replanned", situ::trace::arg<"reason">("a pedestrian"));
  SITU_TRACE_SET(planner, "candidates", 17);
}
// ANCHOR_END: trace

TEST(Book, events_cost_nothing_without_a_recording) {
  plan(2.5, 7);
  EXPECT_FALSE(planner.is_enabled());
}

}  // namespace
}  // namespace bus_test
