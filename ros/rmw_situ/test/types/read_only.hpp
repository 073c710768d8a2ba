// Bytes that nobody can write, with nothing readable behind them.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <span>
#include <stdexcept>

namespace rmw_situ::test {

class ReadOnly {
 public:
  // The bytes begin `skip` bytes behind a multiple of 64, or, without it, end where the readable memory ends.
  explicit ReadOnly(std::span<const std::byte> bytes, size_t skip = SIZE_MAX) {
    auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    size_t room = (bytes.size() + 64 + page - 1) / page * page;
    size_ = room + page;
    void* memory = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::runtime_error("mmap");
    memory_ = static_cast<std::byte*>(memory);
    size_t begin = skip == SIZE_MAX ? room - bytes.size() : skip;
    if (!bytes.empty()) std::memcpy(memory_ + begin, bytes.data(), bytes.size());
    mprotect(memory_, room, PROT_READ);
    mprotect(memory_ + room, page, PROT_NONE);
    bytes_ = {memory_ + begin, bytes.size()};
  }
  ReadOnly(const ReadOnly&) = delete;
  ReadOnly& operator=(const ReadOnly&) = delete;
  ~ReadOnly() { munmap(memory_, size_); }

  std::span<const std::byte> bytes() const { return bytes_; }
  // Whether an address is in the bytes.
  bool has(const void* address) const {
    const auto* at = static_cast<const std::byte*>(address);
    return at >= bytes_.data() && at < bytes_.data() + bytes_.size();
  }

 private:
  std::byte* memory_;
  size_t size_;
  std::span<const std::byte> bytes_;
};

}  // namespace rmw_situ::test
