// A camera in rclcpp whose images are written where subscribers read them, so that publishing copies nothing.
//
//   camera [BYTES [copy]]
//
// Publishes images of BYTES pixels (1,048,576) at 30 Hz on the topic `image`, from the first subscription on,
// and ends when the last subscription has gone. With `copy` it publishes ordinary messages, which are copied
// into shared memory. Prints how many images were published without a copy. On another middleware the program
// runs as well, and copies.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <rclcpp/rclcpp.hpp>
#include <rmw_situ/loan_allocator.hpp>
#include <sensor_msgs/msg/image.hpp>
#include <string>
#include <utility>

using sensor_msgs::msg::Image;
// The same message, whose vectors allocate in shared memory while it is lent.
using LentImage = sensor_msgs::msg::Image_<rmw_situ::LoanAllocator<void>>;

class Camera : public rclcpp::Node {
 public:
  Camera(size_t bytes, bool copies) : Node("camera"), bytes_(bytes), copies_(copies) {
    publisher_ = create_publisher<Image>("image", 10);
    timer_ = create_wall_timer(std::chrono::milliseconds(33), [this] { tick(); });
  }

  size_t published() const { return published_; }
  size_t in_place() const { return in_place_; }

 private:
  void tick() {
    if (publisher_->get_subscription_count() > 0) {
      publish();
      ++published_;
    } else if (published_ > 0) {
      rclcpp::shutdown();
    }
  }

  void publish() {
    if (copies_) {
      shoot(kept_);
      publisher_->publish(kept_);
    } else {
      auto loan = publisher_->borrow_loaned_message();
      auto& image = rmw_situ::loaned<LentImage>(loan.get());
      shoot(image);
      in_place_ += rmw_situ::is_in_place(image);
      publisher_->publish(std::move(loan));
    }
  }

  template <class AnyImage>
  void shoot(AnyImage& image) {
    // Strings first: the array lies behind them.
    image.header.frame_id = "camera";
    image.encoding = "mono8";
    image.height = 1;
    image.width = image.step = static_cast<uint32_t>(bytes_);
    image.data.resize(bytes_);
    // This is where a driver would read the pixels.
    std::fill(image.data.begin(), image.data.end(), static_cast<uint8_t>(published_));
    // When the image is complete. All processes of a machine have this clock in common.
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    const auto nanoseconds = std::chrono::nanoseconds(now).count();
    image.header.stamp.sec = static_cast<int32_t>(nanoseconds / 1'000'000'000);
    image.header.stamp.nanosec = static_cast<uint32_t>(nanoseconds % 1'000'000'000);
  }

  const size_t bytes_;
  const bool copies_;
  rclcpp::Publisher<Image>::SharedPtr publisher_;
  rclcpp::TimerBase::SharedPtr timer_;
  Image kept_;
  size_t published_ = 0, in_place_ = 0;
};

int main(int argc, char** argv) {
  rclcpp::init(argc, argv);
  const size_t bytes = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1 << 20;
  const auto camera = std::make_shared<Camera>(bytes, argc > 2 && argv[2] == std::string("copy"));
  rclcpp::spin(camera);
  std::cout << "published " << camera->published() << ", in place " << camera->in_place() << std::endl;
}
