// The bytes of a rosidl::Buffer, which Lyrical has for `uint8[]`, on the host.
//
// A buffer on a device has no elements that the functions of introspection could give. Its own backend copies
// it. Where the headers of rosidl_buffer are absent, as up to Kilted, there is no such buffer.
#pragma once

#if __has_include(<rosidl_buffer/buffer.hpp>)
#define RMW_SITU_HAS_BUFFERS 1

#include <cstddef>
#include <cstdint>
#include <memory>
#include <rosidl_buffer/buffer.hpp>
#include <stdexcept>

#include "types/description.hpp"

namespace rmw_situ {

// What lies behind a buffer.
using BufferImpl = rosidl::BufferImplBase<uint8_t>;

// A sequence of C that may be a buffer: `data` then points to it.
struct BufferSequenceC {
  const void* data;
  size_t size;
  size_t capacity;
  bool is_rosidl_buffer;
  bool owns_rosidl_buffer;
};

// The buffer that a sequence is, or NULL.
inline const BufferImpl* buffer_of(const Member& member, Language language, const void* at) {
  if (!member.is_buffer || member.kind != Kind::kUint8) return nullptr;
  if (language == Language::kC) {
    const auto& sequence = *static_cast<const BufferSequenceC*>(at);
    if (!sequence.is_rosidl_buffer) return nullptr;
    at = sequence.data;
  }
  return at == nullptr ? nullptr : static_cast<const rosidl::Buffer<uint8_t>*>(at)->get_impl();
}

// The bytes of a buffer; a copy if they are on a device.
class HostBytes {
 public:
  // Throws std::runtime_error if the backend of the buffer makes no copy on the host, and what the backend
  // throws.
  explicit HostBytes(const BufferImpl& buffer) : bytes_(on_host(buffer)) {
    if (bytes_ != nullptr) return;
    copy_ = buffer.to_cpu();
    if (copy_ != nullptr) bytes_ = on_host(*copy_);
    if (bytes_ == nullptr) {
      throw std::runtime_error("the backend '" + buffer.get_backend_type() +
                               "' of a buffer makes no copy on the host");
    }
  }
  const uint8_t* data() const { return bytes_->get_storage().data(); }
  size_t size() const { return bytes_->get_storage().size(); }

 private:
  using OnHost = rosidl::CpuBufferImpl<uint8_t>;

  static const OnHost* on_host(const BufferImpl& buffer) {
    return buffer.get_backend_type() == "cpu" ? dynamic_cast<const OnHost*>(&buffer) : nullptr;
  }

  std::unique_ptr<BufferImpl> copy_;
  const OnHost* bytes_;
};

}  // namespace rmw_situ

#else
#define RMW_SITU_HAS_BUFFERS 0
#endif
