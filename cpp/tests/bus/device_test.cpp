// Messages on a device: streams write and read them, they are copied once for the host, and they are complete
// when their fence is.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <type_traits>
#include <vector>

#include "bus/messages.hpp"
#include "bus/scratch.hpp"

namespace bus_test {
namespace {

using namespace std::chrono_literals;

const situ::placement device{.domain = "emulated:0"};

TEST_F(Bus, a_message_on_a_device_has_spans) {
  const auto camera = node("camera");
  auto publisher = camera.publisher<Scan>("scans", {}, device);
  auto on_device = camera.subscriber<Scan>("scans", {}, device);
  auto on_host = camera.subscriber<Scan>("scans");
  const situ::stream work(camera, "emulated:0");

  std::vector<float> ranges(1000);
  for (std::size_t i = 0; i < ranges.size(); ++i) ranges[i] = static_cast<float>(i);
  auto loan = publisher.loan({.ranges = ranges.size()});
  loan->id = 7;
  EXPECT_TRUE(loan.bulk(&Scan::ranges).empty()) << "the CPU has no access";
  const auto span = loan.span(&Scan::ranges);
  static_assert(std::is_same_v<decltype(span.data()), float*>);
  EXPECT_EQ(span.size(), 1000U);
  EXPECT_EQ(span.size_bytes(), 4000U);
  EXPECT_EQ(span.raw().domain_kind, 1U);
  loan.write(work, std::as_bytes(std::span(ranges)));
  EXPECT_EQ(loan.publish_on(work), 0U);

  auto sample = on_device.take();
  ASSERT_TRUE(sample.has_value());
  EXPECT_EQ((*sample)->id, 7U);
  EXPECT_TRUE(sample->bulk(&Scan::ranges).empty());
  EXPECT_EQ(sample->span(&Scan::ranges).size(), 1000U);
  EXPECT_TRUE(sample->wait_on(work));
  std::vector<float> found(1000);
  sample->read(work, std::as_writable_bytes(std::span(found)));
  EXPECT_TRUE(work.synchronize());
  EXPECT_EQ(found, ranges);
  EXPECT_EQ(sample->state(), situ::fence_state::complete);
  EXPECT_TRUE(sample->synchronize(0ns));
  std::move(*sample).release_on(work);
  EXPECT_TRUE(work.synchronize());

  auto copy = on_host.take();
  ASSERT_TRUE(copy.has_value());
  const auto elements = copy->bulk(&Scan::ranges);
  EXPECT_EQ(std::vector<float>(elements.begin(), elements.end()), ranges);
  EXPECT_EQ(copy->span(&Scan::ranges).data(), elements.data()) << "on the host it is an address";
  EXPECT_EQ(copy->fence().word, nullptr);
}

TEST_F(Bus, a_plain_message_lies_on_the_device_as_a_whole) {
  const auto clock = node("clock");
  auto publisher = clock.publisher<Tick>("ticks", {}, device);
  auto on_device = clock.subscriber<Tick>("ticks", {}, device);
  auto on_host = clock.subscriber<Tick>("ticks");
  const situ::stream work(clock, "emulated:0");

  auto loan = publisher.loan();
  EXPECT_EQ(loan.span_of_message().size(), 1U);
  const std::array<std::uint64_t, 1> count{99};
  loan.write(work, std::as_bytes(std::span(count)));
  EXPECT_TRUE(work.synchronize());
  // In practice, a stream of another library writes the word.
  const auto fence = loan.fence();
  EXPECT_EQ(loan.publish_signalled(), 0U);
  auto sample = on_device.take();
  ASSERT_TRUE(sample.has_value());
  EXPECT_EQ(sample->state(), situ::fence_state::pending);
  EXPECT_FALSE(sample->synchronize(1ms));
  *fence.word = fence.value;
  EXPECT_TRUE(sample->synchronize());
  EXPECT_EQ(sample->span_of_message().size(), 1U);

  auto copy = on_host.take();
  ASSERT_TRUE(copy.has_value());
  EXPECT_EQ((*copy)->count, 99U);
}

TEST_F(Bus, a_message_of_the_host_is_taken_in_stream_order) {
  const auto camera = node("camera");
  const situ::placement ring{.capacity = 1 << 20, .strategy = situ::strategy::ring};
  auto publisher = camera.publisher<Scan>("scans", {}, ring);
  auto filter = camera.subscriber<Scan>("scans", {}, device);
  const situ::stream work(camera, "emulated:0");
  for (unsigned count = 1; count < 40; ++count) {
    auto loan = publisher.loan({.ranges = 1000});
    loan->id = count;
    std::ranges::fill(loan.bulk(&Scan::ranges), static_cast<float>(count));
    loan.publish();
    auto sample = filter.take_on(work);
    ASSERT_TRUE(sample.has_value());
    EXPECT_EQ((*sample)->id, count);
    std::array<float, 1000> seen{};
    sample->read(work, std::as_writable_bytes(std::span(seen)));
    EXPECT_TRUE(work.synchronize());
    EXPECT_TRUE(std::ranges::all_of(seen, [&](float range) { return range == static_cast<float>(count); }));
  }
  EXPECT_FALSE(filter.try_take_on(work)->has_value());
}

TEST_F(Bus, mistakes_with_domains_are_explained) {
  const auto camera = node("camera");
  EXPECT_EQ(error_of([&] { (void)camera.publisher<Scan>("scans", {}, {.domain = "gpu"}); }).code(),
            situ::errc::invalid_argument);
  EXPECT_EQ(error_of([&] { (void)camera.publisher<HeapScan>("scans", {}, device); }).code(),
            situ::errc::type);
  EXPECT_EQ(error_of([&] { (void)situ::stream(camera, "kind2000:0"); }).code(), situ::errc::system);
  EXPECT_FALSE(situ::stream::try_create(camera, "kind2000:0").has_value());
  const situ::stream work(camera, "emulated:0");
  auto publisher = camera.publisher<Scan>("scans", {}, device);
  auto loan = publisher.loan({.ranges = 2});
  const std::array<std::byte, 9> bytes{};
  EXPECT_EQ(error_of([&] { loan.write(work, bytes); }).code(), situ::errc::invalid_argument);
}

}  // namespace
}  // namespace bus_test
