// The bytes of a message that lie on a device.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rmw_situ {

class DeviceBytes {
 public:
  virtual ~DeviceBytes() = default;
  virtual size_t size() const = 0;
  // Of the first byte, as work on the device sees it. 0: the device has no addresses.
  virtual uint64_t address() const = 0;
  // Copies a range to the host. False, with rmw's error state set, on failure.
  virtual bool read(size_t offset, std::byte* to, size_t count) = 0;
};

}  // namespace rmw_situ
