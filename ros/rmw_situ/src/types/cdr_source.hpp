// The bytes of a message in CDR that another process wrote, with checks of everything that is read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "types/device_bytes.hpp"
#include "types/plan.hpp"

namespace rmw_situ {

// The bytes before the payload. Alignment counts from their end.
constexpr size_t kEncapsulationSize = 4;

// Whether all bools in so many elements are 0 or 1. Any other value is undefined behaviour for its readers.
bool are_bools_valid(const Block& block, const std::byte* elements, size_t count);
// Makes each bool in so many elements 0 or 1, before others read them. A program of C may publish a message
// in which it has set no bool; as rmw_fastrtps, any value but 0 is sent as 1.
void normalize_bools(const Block& block, std::byte* elements, size_t count);

// Functions that return false or NULL have set rmw's error state.
class CdrSource {
 public:
  // `from` begins with the encapsulation. `ros_name` is for errors.
  CdrSource(std::span<const std::byte> from, const std::string& ros_name)
      : from_(from), ros_name_(ros_name) {}
  // The bytes lie on a device. `image` is as large; what is needed on the host is copied there.
  CdrSource(DeviceBytes& device, std::span<std::byte> image, const std::string& ros_name)
      : from_(image), ros_name_(ros_name), device_(&device), image_(image.data()) {}

  // Reads the encapsulation. To be called first.
  bool open();

  // Whether the byte order is not that of this machine.
  bool is_swapped() const { return is_swapped_; }
  const std::string& ros_name() const { return ros_name_; }

  // The next bytes, after padding. `what` they belong to.
  const std::byte* take(const Op& what, size_t size, size_t alignment);
  // The number of elements of a sequence, which is not greater than its bound, and for which enough bytes are
  // left.
  bool take_count(const Op& what, size_t& count);

  struct Text {
    const char* data;
    // Without the zero.
    size_t size;
    bool is_terminated;
  };
  bool take_string(const Op& what, Text& text);

  // The units of a wide string, each of four bytes, none greater than 16 bits.
  struct WideText {
    const std::byte* data;
    size_t size;
  };
  bool take_wide_string(const Op& what, WideText& text);
  // Copies the units.
  void copy_wide(const WideText& text, void* to) const;

  // The bytes of so many elements, at least one. Bools are not checked, and the byte order is not changed.
  const std::byte* take_block(const Op& what, size_t count) {
    return take(what, (count - 1) * what.block.stride + what.block.size, what.block.alignment);
  }
  // The address on the device of so many elements, at least one, if they are many, lie there as they are in a
  // message, and need not be checked. Otherwise NULL: then they are still to be taken.
  const std::byte* take_on_device(const Op& what, size_t count);
  // Whether all bools in so many elements are 0 or 1. A copy is checked, not what it was made from: another
  // process may still write to that.
  bool check_bools(const Op& what, const std::byte* elements, size_t count) const;
  // Changes the byte order of elements that have been copied, if necessary.
  void swap_block(const Block& block, std::byte* elements, size_t count) const;

  // The number of bytes behind what has been read.
  size_t rest() const { return payload().size() - position_; }

 private:
  std::span<const std::byte> payload() const { return from_.subspan(kEncapsulationSize); }
  bool take_number(const Op& what, uint32_t& value);
  bool fetch(size_t begin, size_t size);

  std::span<const std::byte> from_;
  const std::string& ros_name_;
  // From the end of the encapsulation.
  size_t position_ = 0;
  bool is_swapped_ = false;

  // If the bytes lie on a device: a part of them that the image has, from the beginning of the encapsulation.
  DeviceBytes* device_ = nullptr;
  std::byte* image_ = nullptr;
  size_t fetched_begin_ = 0;
  size_t fetched_end_ = 0;
};

}  // namespace rmw_situ
