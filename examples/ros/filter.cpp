// The filter of the ROS demo on Situ: reads each image where the camera's node wrote it, and writes the edges
// where the viewer's node reads them. It needs nothing of ROS.
//
//   filter INPUT OUTPUT   topics, without a leading slash
#include "filter.hpp"

#include <chrono>
#include <cstdio>
#include <exception>
#include <span>
#include <stdexcept>
#include <thread>

#include "image_cdr.hpp"
#include "sensor_msgs/msg/image.hpp"
#include "situ/bus.hpp"

using namespace std::chrono_literals;
using Image = situ::rebind<sensor_msgs::msg::Image, situ::heap>;

namespace {

void check(situ_status status, const situ_error& error) {
  if (status != SITU_OK) throw std::runtime_error(error.text);
}

/// Publishes the edges of an image. The handles of C give messages as bytes, which the typed classes would
/// decode.
void filter_image(demo::EdgeFilter& edges, const situ_sample& sample, situ_publisher* out) {
  const auto image = demo::ImageReader::read({static_cast<const std::byte*>(sample.body), sample.body_size});
  const demo::Pixels pixels = image ? demo::pixels_of(*image) : demo::Pixels{};
  if (pixels.channels == 0) {
    std::fprintf(stderr, "the filter reads whole images, mono8, rgb8 and bgr8\n");
    return;
  }
  demo::ImageView result = *image;
  result.encoding = "mono8";
  result.step = result.width;
  const std::size_t size = pixels.width * pixels.height;
  const std::size_t front = demo::ImageWriter().write(result, size);
  situ_error error;
  situ_loan loan;
  check(situ_publisher_loan(out, 0, 1, front + size, &loan, &error), error);
  auto* const body = static_cast<std::byte*>(loan.body);
  demo::ImageWriter(body).write(result, size);
  edges.run(pixels, {reinterpret_cast<std::uint8_t*>(body) + front, size});
  const situ_status published = situ_loan_publish(&loan, nullptr, &error);
  if (published != SITU_OK) situ_loan_discard(&loan);
  check(published, error);
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 3) throw std::runtime_error("usage: filter INPUT OUTPUT");
  const situ::node node("filter");
  auto out = node.publisher<Image>(argv[2], {.reliability = situ::reliability::reliable, .depth = 10});
  auto in = node.subscriber<Image>(argv[1], {.reliability = situ::reliability::reliable, .keep_last = 10});
  demo::EdgeFilter edges;
  while (out.statistics().subscribers == 0 || in.statistics().publishers == 0)
    std::this_thread::sleep_for(2ms);
  demo::say_ready();
  while (!demo::is_over()) {
    if (!in.wait(50ms)) continue;
    situ_sample sample;
    situ_error error;
    while (situ_subscriber_take(in.handle(), &sample, &error) == SITU_OK) {
      filter_image(edges, sample, out.handle());
      situ_sample_release(&sample);
    }
  }
} catch (const std::exception& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  return 1;
}
