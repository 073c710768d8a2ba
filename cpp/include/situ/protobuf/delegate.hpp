// Memory for a protobuf writer: a fixed array, growing memory, chunks, or any other delegate.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "situ/protobuf/wire.hpp"

namespace situ::protobuf {

/// Memory for a writer; none if `start` is null.
struct chunk {
  std::uint8_t* start = nullptr;
  std::size_t size = 0;
};

/// The length of a message that began in a chunk that the writer has left since.
struct patch {
  std::uint32_t number = 0;                ///< The number of the chunk, from 0.
  std::uint32_t offset = 0;                ///< The offset in the chunk, in bytes.
  std::array<std::uint8_t, wide> bytes{};  ///< The bytes to store there.

  /// Stores the length into its chunk.
  void apply(std::uint8_t* start) const noexcept { std::memcpy(start + offset, bytes.data(), wide); }
};

/// Supplies a writer with memory.
///
/// A writer calls first() once for each message. When a chunk is full, it calls grow(). If the chunk cannot
/// grow, the writer calls next() and leaves the chunk. At the end it calls finish(), unless it is destroyed
/// before. A chunk belongs to the writer until the writer leaves it.
class delegate {
 public:
  /// Returns the first chunk of a message.
  virtual chunk first() = 0;
  /// Makes the current chunk larger. Its first `used` bytes are written; at least `more` bytes must follow
  /// them. The chunk may move, with its written bytes.
  virtual chunk grow(std::size_t used, std::size_t more) { return static_cast<void>(used + more), chunk{}; }
  /// Whether next() can return another chunk.
  virtual bool has_next() { return false; }
  /// Takes the current chunk and returns the next one. `pending` lengths in the current chunk are zero until
  /// they are patched.
  virtual chunk next(std::size_t used, std::size_t pending) {
    return static_cast<void>(used + pending), chunk{};
  }
  /// Patches a chunk that the writer has left; false if that is impossible.
  virtual bool apply(const patch& what) { return static_cast<void>(what), false; }
  /// Takes the last chunk. All patches have come before.
  virtual void finish(std::size_t used) = 0;

 protected:
  delegate() = default;
  delegate(const delegate&) = default;
  delegate(delegate&&) = default;
  delegate& operator=(const delegate&) = default;
  delegate& operator=(delegate&&) = default;
  ~delegate() = default;
};

/// Patches that are not applied yet, in memory that the caller allocated.
class patch_list {
 public:
  explicit patch_list(std::span<patch> memory) noexcept : memory_(memory) {}
  /// Appends a patch; false if there is no room.
  [[nodiscard]] bool push(const patch& what) noexcept {
    if (size_ == memory_.size()) return false;
    memory_[size_++] = what;
    return true;
  }
  [[nodiscard]] std::span<const patch> patches() const noexcept { return memory_.first(size_); }
  [[nodiscard]] bool full() const noexcept { return size_ == memory_.size(); }
  void clear() noexcept { size_ = 0; }

 private:
  std::span<patch> memory_;
  std::size_t size_ = 0;
};

/// An array of fixed size. A message that does not fit causes an error.
class fixed_buffer final : public delegate {
 public:
  explicit fixed_buffer(std::span<std::uint8_t> memory) noexcept : memory_(memory) {}
  explicit fixed_buffer(std::span<std::byte> memory) noexcept
      : memory_(reinterpret_cast<std::uint8_t*>(memory.data()), memory.size()) {}

  /// The last finished message; empty before the first.
  [[nodiscard]] std::span<const std::uint8_t> written() const noexcept { return memory_.first(written_); }

  chunk first() override {
    written_ = 0;
    return {memory_.data(), memory_.size()};
  }
  void finish(std::size_t used) override { written_ = used; }

 private:
  std::span<std::uint8_t> memory_;
  std::size_t written_ = 0;
};

/// Growing memory. The message is in one piece, so every length is minimal.
class growing_buffer final : public delegate {
 public:
  growing_buffer() = default;
  explicit growing_buffer(std::size_t capacity) { reserve(0, capacity); }

  /// The last finished message; empty before the first.
  [[nodiscard]] std::span<const std::uint8_t> written() const noexcept { return {memory_.get(), written_}; }

  chunk first() override {
    written_ = 0;
    if (capacity_ == 0) reserve(0, 256);
    return {memory_.get(), capacity_};
  }
  chunk grow(std::size_t used, std::size_t more) override {
    reserve(used, used + std::max(more, used));
    return {memory_.get(), capacity_};
  }
  void finish(std::size_t used) override { written_ = used; }

 private:
  void reserve(std::size_t used, std::size_t capacity) {
    // Not initialized: the writer writes it.
    std::unique_ptr<std::uint8_t[]> larger(new std::uint8_t[capacity]);
    if (used != 0) std::memcpy(larger.get(), memory_.get(), used);
    memory_ = std::move(larger);
    capacity_ = capacity;
  }

  std::unique_ptr<std::uint8_t[]> memory_;
  std::size_t capacity_ = 0;
  std::size_t written_ = 0;
};

/// Chunks on the heap, all of the same size. They are kept for the next message.
class scattered_buffer final : public delegate {
 public:
  explicit scattered_buffer(std::size_t chunk_size) : chunk_size_(chunk_size) {}

  /// The number of pieces of the last finished message.
  [[nodiscard]] std::size_t pieces() const noexcept { return used_.size(); }
  /// One of the pieces.
  [[nodiscard]] std::span<const std::uint8_t> piece(std::size_t number) const noexcept {
    return {chunks_[number].get(), used_[number]};
  }
  /// The last finished message in one piece.
  [[nodiscard]] std::vector<std::uint8_t> to_vector() const {
    std::vector<std::uint8_t> all;
    for (std::size_t i = 0; i < pieces(); ++i) all.insert(all.end(), piece(i).begin(), piece(i).end());
    return all;
  }

  chunk first() override {
    used_.clear();
    return current();
  }
  bool has_next() override { return true; }
  chunk next(std::size_t used, std::size_t) override {
    used_.push_back(used);
    return current();
  }
  bool apply(const patch& what) override {
    what.apply(chunks_[what.number].get());
    return true;
  }
  void finish(std::size_t used) override { used_.push_back(used); }

 private:
  chunk current() {
    if (chunks_.size() == used_.size()) chunks_.emplace_back(new std::uint8_t[chunk_size_]);
    return {chunks_[used_.size()].get(), chunk_size_};
  }

  std::vector<std::unique_ptr<std::uint8_t[]>> chunks_;
  std::vector<std::size_t> used_;
  std::size_t chunk_size_;
};

/// Passes chunks on while the message is still being written, and patches later. A message of any length
/// needs no other memory than one buffer. `Sink` has `chunk(number, bytes, pending)` and `patches(span)`.
template <class Sink>
class streamed_buffer final : public delegate {
 public:
  streamed_buffer(std::span<std::uint8_t> buffer, std::span<patch> patches, Sink& sink) noexcept
      : buffer_(buffer), patches_(patches), sink_(sink) {}

  protobuf::chunk first() override {
    number_ = 0;
    patches_.clear();
    return {buffer_.data(), buffer_.size()};
  }
  bool has_next() override { return true; }
  protobuf::chunk next(std::size_t used, std::size_t pending) override {
    sink_.chunk(number_++, std::span<const std::uint8_t>(buffer_.data(), used), pending);
    return {buffer_.data(), buffer_.size()};
  }
  bool apply(const patch& what) override {
    if (patches_.full()) give_patches();
    return patches_.push(what);
  }
  void finish(std::size_t used) override {
    next(used, 0);
    give_patches();
  }

 private:
  void give_patches() {
    if (!patches_.patches().empty()) sink_.patches(patches_.patches());
    patches_.clear();
  }

  std::span<std::uint8_t> buffer_;
  patch_list patches_;
  Sink& sink_;
  std::uint32_t number_ = 0;
};

}  // namespace situ::protobuf
