// Finds the edges of an image: the Sobel operator on its brightness.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

namespace demo {

/// Rows of an image with 8 bits a channel, in the layout of its message.
struct Pixels {
  std::size_t width;
  std::size_t height;
  std::size_t channels;
  std::size_t step;
  std::span<const std::uint8_t> data;

  /// Whether the data is as long as width, height, channels and step say.
  [[nodiscard]] bool is_whole() const {
    return channels > 0 && width <= step / channels && height <= (step == 0 ? 0 : data.size() / step);
  }
};

/// Computes edges. After its widest image it does not allocate any more.
class EdgeFilter {
 public:
  /// Writes one byte for each pixel: how much the brightness changes there. `out` has `width * height` bytes.
  void run(const Pixels& image, std::span<std::uint8_t> out) {
    if (!image.is_whole() || out.size() < image.width * image.height) {
      return;
    }
    std::fill(out.begin(), out.end(), std::uint8_t{0});
    if (image.width < 3 || image.height < 3) {
      return;
    }
    for (auto& row : grey_) {
      row.resize(image.width);
    }
    brightness(image, 0, grey_[0]);
    brightness(image, 1, grey_[1]);
    for (std::size_t y = 1; y + 1 < image.height; ++y) {
      brightness(image, y + 1, grey_[(y + 1) % 3]);
      const auto& above = grey_[(y - 1) % 3];
      const auto& here = grey_[y % 3];
      const auto& below = grey_[(y + 1) % 3];
      for (std::size_t x = 1; x + 1 < image.width; ++x) {
        const int across =
            (above[x + 1] + 2 * here[x + 1] + below[x + 1]) - (above[x - 1] + 2 * here[x - 1] + below[x - 1]);
        const int down =
            (below[x - 1] + 2 * below[x] + below[x + 1]) - (above[x - 1] + 2 * above[x] + above[x + 1]);
        out[y * image.width + x] =
            static_cast<std::uint8_t>(std::min(255, (std::abs(across) + std::abs(down)) / 4));
      }
    }
  }

 private:
  /// The brightness of a row, by the weights of ITU-R BT.601 in 256ths.
  static void brightness(const Pixels& image, std::size_t y, std::span<int> row) {
    const std::uint8_t* pixel = image.data.data() + y * image.step;
    for (std::size_t x = 0; x < image.width; ++x, pixel += image.channels) {
      row[x] = image.channels < 3 ? pixel[0] : (77 * pixel[0] + 150 * pixel[1] + 29 * pixel[2]) / 256;
    }
  }

  std::array<std::vector<int>, 3> grey_;
};

}  // namespace demo
