// What both filters of the demo do with an image, and how they talk with the program that started them.
#pragma once

#include <poll.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string_view>

#include "../demo/edges.hpp"

namespace demo {

/// Bytes of a pixel, from the name of its encoding; 0 for one that the filter does not read.
inline std::size_t channels(std::string_view encoding) {
  if (encoding == "mono8") return 1;
  if (encoding == "rgb8" || encoding == "bgr8") return 3;
  return 0;
}

/// The pixels of an image, or nothing if they are not whole.
template <class Image>
Pixels pixels_of(const Image& image) {
  const Pixels pixels{image.width, image.height, channels(image.encoding), image.step, image.data};
  return pixels.is_whole() ? pixels : Pixels{};
}

inline void say_ready() {
  std::puts("ready");
  std::fflush(stdout);
}

/// Whether standard input is at its end: the demo is over.
inline bool is_over() {
  pollfd input{STDIN_FILENO, POLLIN, 0};
  return poll(&input, 1, 0) > 0;
}

}  // namespace demo
