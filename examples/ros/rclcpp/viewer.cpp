// A viewer in rclcpp for the camera beside it: counts its images, checks their pixels, measures their way.
//
//   viewer [COUNT]
//
// Ends after COUNT images (100), or when none has come for ten seconds. Prints the median of the times from a
// complete image to the callback. With ROS_DISABLE_LOANED_MESSAGES=0 in the environment the callback gets the
// image where the camera wrote it; otherwise a copy.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <rclcpp/rclcpp.hpp>
#include <sensor_msgs/msg/image.hpp>
#include <vector>

using sensor_msgs::msg::Image;
using Clock = std::chrono::steady_clock;

class Viewer : public rclcpp::Node {
 public:
  explicit Viewer(size_t count) : Node("viewer"), count_(count) {
    subscription_ = create_subscription<Image>("image", 10, [this](const Image& image) { see(image); });
    timer_ = create_wall_timer(std::chrono::seconds(1), [this] {
      if (Clock::now() - last_ > std::chrono::seconds(10)) rclcpp::shutdown();
    });
  }

  // Whether COUNT images came, each with its pixels. Prints what came.
  bool report() {
    std::sort(times_.begin(), times_.end());
    std::cout << "saw " << times_.size() << ", lost " << lost_ << ", wrong " << wrong_;
    if (!times_.empty()) std::cout << ", median " << times_[times_.size() / 2] / 1000 << " us";
    std::cout << std::endl;
    return times_.size() == count_ && wrong_ == 0;
  }

 private:
  void see(const Image& image) {
    last_ = Clock::now();
    const int64_t complete = image.header.stamp.sec * 1'000'000'000LL + image.header.stamp.nanosec;
    const int64_t now = std::chrono::nanoseconds(last_.time_since_epoch()).count();
    // The camera writes the number of the image into all of its pixels.
    const uint8_t number = image.data.empty() ? 0 : image.data[0];
    const bool is_right =
        image.encoding == "mono8" && image.data.size() == image.width &&
        std::all_of(image.data.begin(), image.data.end(), [&](uint8_t pixel) { return pixel == number; });
    if (!times_.empty()) lost_ += static_cast<uint8_t>(number - number_ - 1);
    number_ = number;
    wrong_ += !is_right;
    times_.push_back(now - complete);
    if (times_.size() == count_) rclcpp::shutdown();
  }

  const size_t count_;
  rclcpp::Subscription<Image>::SharedPtr subscription_;
  rclcpp::TimerBase::SharedPtr timer_;
  Clock::time_point last_ = Clock::now();
  std::vector<int64_t> times_;
  size_t wrong_ = 0, lost_ = 0;
  uint8_t number_ = 0;
};

int main(int argc, char** argv) {
  rclcpp::init(argc, argv);
  const auto viewer = std::make_shared<Viewer>(argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 100);
  rclcpp::spin(viewer);
  return viewer->report() ? 0 : 1;
}
