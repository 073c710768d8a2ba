// The state of a protobuf writer: a cursor in a chunk, and the open messages.
//
// The length of an open message stands in a slot in front of its content. While the message lies in one
// chunk, the slot is narrow: as wide as the last length at this depth, at first one byte. If the length needs
// more or fewer bytes when the message ends, its content is moved, so that every length is minimal. For each
// open narrow slot, `spare` bytes at the end of the chunk stay free, so that widening always finds room.
// Fields therefore need to check only one bound. When the writer leaves the chunk, all narrow slots in it
// become wide ones, which are patched when their messages end. A group is a level, too, but has a tag at its
// end instead of a length. Its slot has no bytes and never grows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "situ/protobuf/delegate.hpp"
#include "situ/protobuf/wire.hpp"

namespace situ::protobuf::detail {

/// The number of bytes by which a narrow slot may grow.
inline constexpr std::size_t spare = wide - 1;
/// The number of levels whose last width is stored, in three bits each.
inline constexpr std::uint32_t remembered = 21;
/// The value of level::chunk_or_width for a group, which has no slot.
inline constexpr std::uint32_t is_group = std::numeric_limits<std::uint32_t>::max();
/// More than the maximum number of levels.
inline constexpr std::uint32_t all_levels = std::numeric_limits<std::uint32_t>::max();

/// A place to write to. Each function writes nothing and returns false if the field number is invalid, or if
/// there is less room than the field may need.
class place {
 public:
  SITU_PROTOBUF_INLINE bool varint_field(std::uint32_t field, std::uint64_t value,
                                         std::size_t most) noexcept {
    const std::uint32_t head = tag(field, wire_type::varint);
    if (!valid(field) || room() < varint_size(head) + most) return false;
    cursor_ = put_number(put_varint(cursor_, head), value);
    return true;
  }

  template <class T>
  SITU_PROTOBUF_INLINE bool fixed_field(std::uint32_t field, T value) noexcept {
    const std::uint32_t head = tag(field, fixed_type<T>);
    if (!valid(field) || room() < varint_size(head) + sizeof(T)) return false;
    std::uint8_t* const at = put_varint(cursor_, head);
    std::memcpy(at, &value, sizeof(T));
    cursor_ = at + sizeof(T);
    return true;
  }

  SITU_PROTOBUF_INLINE bool bytes_field(std::uint32_t field, const void* bytes, std::size_t size) noexcept {
    const std::uint32_t head = tag(field, wire_type::bytes);
    const std::size_t available = room();
    // Two comparisons, because a very large size could overflow one.
    if (!valid(field) || size > available || available - size < varint_size(head) + max_tag ||
        size > max_length) {
      return false;
    }
    std::uint8_t* const at = put_varint(put_varint(cursor_, head), size);
#if defined(__GNUC__)
    // If GCC knows that a copy is large, it replaces memcpy by a slow loop.
    if (__builtin_constant_p(size) && size > 256) asm("" : "+r"(size));
#endif
    if (size != 0) std::memcpy(at, bytes, size);
    cursor_ = at + size;
    return true;
  }

  /// Writes a varint without a tag.
  SITU_PROTOBUF_INLINE bool varint(std::uint64_t value) noexcept {
    if (room() < max_varint) return false;
    cursor_ = put_number(cursor_, value);
    return true;
  }

 protected:
  template <class T>
  static constexpr wire_type fixed_type = sizeof(T) == 4 ? wire_type::fixed32 : wire_type::fixed64;
  static constexpr bool valid(std::uint32_t field) noexcept { return field - 1U < max_field; }
  [[nodiscard]] SITU_PROTOBUF_INLINE std::size_t room() const noexcept {
    return static_cast<std::size_t>(end_ - cursor_);
  }

  std::uint8_t* cursor_ = nullptr;  ///< The place of the next byte.
  std::uint8_t* end_ = nullptr;     ///< The limit for fields.
};

/// A place without room, for messages in which another one is open. It is never written.
inline constinit place closed;

class core : public place {
 public:
  explicit core(delegate& supplier) : delegate_(&supplier) { restart(); }
  core(const core&) = delete;
  core& operator=(const core&) = delete;

  void restart() {
    const chunk first = delegate_->first();
    begin(first);
    error_ = first.start == nullptr ? write_error::full : write_error::none;
    before_ = 0;
    number_ = depth_ = narrow_from_ = 0;
    slow_below_ = error_ == write_error::none ? 0 : all_levels;
    quick_below_ = max_levels;
  }

  [[nodiscard]] std::uint64_t position() const noexcept {
    return before_ + static_cast<std::uint64_t>(cursor_ - start_);
  }
  [[nodiscard]] std::uint32_t depth() const noexcept { return depth_; }
  [[nodiscard]] write_error error() const noexcept { return error_; }

  SITU_PROTOBUF_COLD void fail(write_error error) noexcept {
    if (error_ == write_error::none) error_ = error;
    end_ = cursor_;
    slow_below_ = all_levels;
  }

  /// Checks that a message may write here, because no message in it is open. Fails otherwise.
  SITU_PROTOBUF_INLINE bool owns(const place* it) noexcept {
    if (it == this) [[likely]] {
      return true;
    }
    fail(write_error::wrong_order);
    return false;
  }

  // The slow paths: a place has too little room or is closed, or the field number is invalid.

  SITU_PROTOBUF_COLD void number_slow(const place* it, std::uint32_t field, std::uint64_t value) {
    if (!head_slow(it, field, wire_type::varint)) return;
    put_slow(value);
  }

  template <class T>
  SITU_PROTOBUF_COLD void fixed_slow(const place* it, std::uint32_t field, T value) {
    if (!head_slow(it, field, fixed_type<T>)) return;
    raw(&value, sizeof value);
  }

  SITU_PROTOBUF_COLD void block_slow(const place* it, std::uint32_t field, const void* bytes,
                                     std::size_t size) {
    if (size > max_length && owns(it))
      return fail(valid(field) ? write_error::too_long : write_error::invalid_field);
    if (!head_slow(it, field, wire_type::bytes)) return;
    put_slow(size);
    raw(bytes, size);
  }

  SITU_PROTOBUF_COLD void varint_slow(const place* it, std::uint64_t value) {
    if (owns(it)) put_slow(value);
  }

  /// Writes bytes, across as many chunks as they need.
  void raw(const void* bytes, std::size_t size) {
    const auto* from = static_cast<const std::uint8_t*>(bytes);
    for (;;) {
      const std::size_t count = std::min(size, room());
      if (count != 0) std::memcpy(cursor_, from, count);
      cursor_ += count;
      from += count;
      size -= count;
      if (size == 0 || !more(size)) return;
    }
  }

  /// Begins a message, string or packed field whose length is not yet known.
  SITU_PROTOBUF_INLINE void open(std::uint32_t field) {
    const std::uint32_t head = tag(field, wire_type::bytes);
    const std::size_t width = depth_ < remembered ? 1 + (widths_ >> (3 * depth_) & 7U) : 1;
    if (!valid(field) || depth_ >= quick_below_ || room() < varint_size(head) + width + wide) [[unlikely]] {
      return open_slow(field);
    }
    cursor_ = put_varint(cursor_, head) + width;
    end_ -= spare;
    push(static_cast<std::uint32_t>(width), 0);
  }

  /// Begins a group, which has no length but a tag at its end.
  SITU_PROTOBUF_OUT_OF_LINE void open_group(std::uint32_t field) {
    if (!valid(field)) fail(write_error::invalid_field);
    if (depth_ >= max_levels) fail(write_error::too_deep);
    if (error_ == write_error::none) put_slow(tag(field, wire_type::group));
    begin_level(0, is_group, tag(field, wire_type::group_end));
  }

  /// Ends the innermost message.
  SITU_PROTOBUF_INLINE void close() {
    --depth_;
    if (depth_ < slow_below_) [[unlikely]] {
      return close_slow();
    }
    const level& it = levels_[depth_];
    const std::size_t length = static_cast<std::size_t>(cursor_ - it.content);
    // The spare bytes of this level's slot are room again.
    end_ += spare;
    if (it.chunk_or_width != 1 || length >= 0x80) return close_moving(it.chunk_or_width, length);
    cursor_[-static_cast<std::ptrdiff_t>(length) - 1] = static_cast<std::uint8_t>(length);
  }

  /// Ends the whole message. No message in it may be open.
  write_error finish() {
    if (depth_ > 0) fail(write_error::wrong_order);
    if (error_ != write_error::none) return error_;
    delegate_->finish(static_cast<std::size_t>(cursor_ - start_));
    error_ = write_error::finished;
    end_ = cursor_;
    slow_below_ = all_levels;
    return write_error::none;
  }

 private:
  /// An open message.
  struct level {
    union {
      std::uint8_t* content;   ///< Narrow: the start of its content.
      std::uint64_t position;  ///< Wide: its offset in the whole message.
    };
    std::uint32_t
        chunk_or_width;  ///< Wide: the chunk of its slot. Narrow: the width of its slot. Or is_group.
    std::uint32_t slot;  ///< Wide: the offset of the slot in that chunk. Group: the tag of its end.

    /// Narrow: the slot's width in bytes.
    [[nodiscard]] std::size_t width() const noexcept {
      return chunk_or_width == is_group ? 0 : chunk_or_width;
    }
    /// Narrow: the number of bytes by which the slot grows when it becomes wide.
    [[nodiscard]] std::size_t growth() const noexcept {
      return chunk_or_width == is_group ? 0 : wide - chunk_or_width;
    }
  };

  [[nodiscard]] bool tight() const noexcept { return quick_below_ == 0; }

  void begin(const chunk& memory) noexcept {
    start_ = cursor_ = memory.start;
    end_ = chunk_end_ = memory.start == nullptr ? nullptr : memory.start + memory.size;
  }

  SITU_PROTOBUF_INLINE void push(std::uint32_t width, std::uint32_t slot) noexcept {
    level& it = levels_[depth_++];
    it.content = cursor_;
    it.chunk_or_width = width;
    it.slot = slot;
  }

  /// Writes a tag.
  bool head_slow(const place* it, std::uint32_t field, wire_type wire) {
    if (!owns(it)) return false;
    if (!valid(field)) return fail(write_error::invalid_field), false;
    return put_slow(tag(field, wire)), true;
  }

  void put_slow(std::uint64_t value) {
    std::uint8_t bytes[max_varint];
    raw(bytes, static_cast<std::size_t>(put_varint(bytes, value) - bytes));
  }

  SITU_PROTOBUF_COLD void open_slow(std::uint32_t field) {
    if (!valid(field)) fail(write_error::invalid_field);
    if (depth_ >= max_levels) fail(write_error::too_deep);
    if (error_ == write_error::none) put_slow(tag(field, wire_type::bytes));
    begin_level(1, 1, 0);
  }

  /// Begins a level behind a slot of `bytes` bytes, when there is room for the slot and its spare bytes.
  void begin_level(std::size_t bytes, std::uint32_t width, std::uint32_t slot) {
    while (error_ == write_error::none) {
      const std::size_t needed = bytes + (tight() ? 0 : spare);
      if (room() >= needed) {
        cursor_ += bytes;
        if (!tight()) end_ -= spare;
        return push(width, slot);
      }
      if (cursor_ == start_ && !tight()) {
        if (!grow(wide)) fail(write_error::chunk_too_small);
      } else {
        more(needed);
      }
    }
    // Counted, so that the matching end has a level to end.
    ++depth_;
  }

  /// Writes a length into a slot of `width` bytes, and moves the content if the length needs more or fewer
  /// bytes. For a group, writes its end.
  SITU_PROTOBUF_OUT_OF_LINE void close_moving(std::size_t width, std::size_t length) {
    if (width == is_group) return put_slow(levels_[depth_].slot);
    if (length > max_length) return fail(write_error::too_long);
    const std::size_t needed = varint_size(length);
    if (needed > width && static_cast<std::size_t>(chunk_end_ - cursor_) < needed - width) {
      // Without room: possible only in the tight state.
      return fail(write_error::full);
    }
    std::uint8_t* const content = cursor_ - length;
    std::uint8_t* const slot = content - width;
    if (needed != width) std::memmove(slot + needed, content, length);
    put_varint(slot, length);
    cursor_ = slot + needed + length;
    // The next message at this depth probably has a similar length.
    if (depth_ < remembered && !tight()) {
      const std::uint32_t shift = 3 * depth_;
      widths_ = (widths_ & ~(std::uint64_t{7} << shift)) | static_cast<std::uint64_t>(needed - 1) << shift;
    }
  }

  SITU_PROTOBUF_COLD void close_slow() {
    if (error_ != write_error::none) return;
    const level& it = levels_[depth_];
    if (depth_ >= narrow_from_) {
      return close_moving(it.chunk_or_width, static_cast<std::size_t>(cursor_ - it.content));
    }
    narrow_from_ = depth_;
    if (!tight()) slow_below_ = depth_;
    if (it.chunk_or_width == is_group) return put_slow(it.slot);
    const std::uint64_t length = position() - it.position;
    if (length > max_length) return fail(write_error::too_long);
    patch what{it.chunk_or_width, it.slot, {}};
    put_padded_varint(what.bytes.data(), length, wide);
    if (!delegate_->apply(what)) fail(write_error::patch_list_full);
  }

  /// Makes room if possible. Returns false after an error.
  SITU_PROTOBUF_COLD bool more(std::size_t wanted) {
    if (error_ != write_error::none) return false;
    if (!tight()) {
      if (grow(wanted)) return true;
      if (delegate_->has_next()) return leave();
      tighten();
      if (cursor_ < end_) return true;
    }
    fail(write_error::full);
    return false;
  }

  /// Begins the tight state: there are no spare bytes any more, and slots have one byte, so that a message
  /// fits if its minimal form does. From the first slot to the last, the bytes behind a slot move by the sum
  /// by which all slots up to it shrink.
  void tighten() noexcept {
    std::size_t shrunk = 0;
    for (std::uint32_t i = narrow_from_; i < depth_; ++i) {
      level& it = levels_[i];
      const std::uint8_t* const behind =
          i + 1 < depth_ ? levels_[i + 1].content - levels_[i + 1].width() : cursor_;
      // Each slot shrinks to one byte; a group has none.
      if (it.chunk_or_width != is_group) shrunk += it.chunk_or_width - 1;
      std::memmove(it.content - shrunk, it.content, static_cast<std::size_t>(behind - it.content));
      it.content -= shrunk;
      if (it.chunk_or_width != is_group) it.chunk_or_width = 1;
    }
    cursor_ -= shrunk;
    end_ = chunk_end_;
    widths_ = 0;
    slow_below_ = all_levels;
    quick_below_ = 0;
  }

  /// Requests a larger chunk from the delegate, with room for `wanted` bytes. The chunk may move.
  bool grow(std::size_t wanted) {
    const std::size_t used = static_cast<std::size_t>(cursor_ - start_);
    const std::size_t kept = static_cast<std::size_t>(chunk_end_ - end_);
    for (std::uint32_t i = narrow_from_; i < depth_; ++i) {
      levels_[i].position = static_cast<std::uint64_t>(levels_[i].content - start_);
    }
    const chunk larger = delegate_->grow(used, wanted + kept + max_tag + max_varint);
    const bool grown = larger.start != nullptr;
    if (grown) {
      begin(larger);
      cursor_ = start_ + used;
      end_ = chunk_end_ - kept;
    }
    for (std::uint32_t i = narrow_from_; i < depth_; ++i) levels_[i].content = start_ + levels_[i].position;
    return grown;
  }

  /// Leaves the chunk: narrow slots become wide, and the next chunk begins. Returns false after an error.
  bool leave() {
    const std::size_t pending = widen();
    const std::size_t used = static_cast<std::size_t>(cursor_ - start_);
    if (used > std::numeric_limits<std::uint32_t>::max()) {
      fail(write_error::too_long);
      return false;
    }
    const chunk following = delegate_->next(used, pending);
    before_ += used;
    ++number_;
    begin(following);
    if (following.start == nullptr || following.size == 0) {
      fail(following.start == nullptr ? write_error::full : write_error::chunk_too_small);
      return false;
    }
    return true;
  }

  /// Makes the narrow slots wide, and returns their number. From the last slot to the first, the bytes behind
  /// a slot move back by the sum by which all slots up to it grow.
  std::size_t widen() noexcept {
    std::size_t growth = 0;
    std::size_t pending = depth_ - narrow_from_;
    for (std::uint32_t i = narrow_from_; i < depth_; ++i) growth += levels_[i].growth();
    const std::uint8_t* behind = cursor_;
    cursor_ += growth;
    for (std::uint32_t i = depth_; i-- > narrow_from_;) {
      level& it = levels_[i];
      std::uint8_t* const content = it.content;
      const std::size_t width = it.width();
      std::memmove(content + growth, content, static_cast<std::size_t>(behind - content));
      behind = content - width;
      if (it.chunk_or_width == is_group) {
        --pending;
        continue;
      }
      growth -= it.growth();
      std::uint8_t* const slot = content - width + growth;
      put_padded_varint(slot, 0, wide);
      it.slot = static_cast<std::uint32_t>(slot - start_);
      it.position = before_ + it.slot + wide;
      it.chunk_or_width = number_;
    }
    narrow_from_ = slow_below_ = depth_;
    return pending;
  }

  // start_ <= cursor_ <= end_; end_ is chunk_end_ minus the spare bytes, or cursor_ after an error.
  std::uint8_t* start_ = nullptr;
  std::uint8_t* chunk_end_ = nullptr;
  delegate* delegate_ = nullptr;
  std::uint64_t before_ = 0;       ///< The number of bytes in earlier chunks.
  std::uint64_t widths_ = 0;       ///< By level, the width of the slot that was closed last, minus one.
  std::uint32_t number_ = 0;       ///< The number of the chunk.
  std::uint32_t depth_ = 0;        ///< The number of open levels.
  std::uint32_t narrow_from_ = 0;  ///< The levels from this one on are narrow, those below are wide.
  /// Levels below this one end by the slow path: narrow_from_, or all after an error or in the tight state.
  std::uint32_t slow_below_ = 0;
  /// Levels below this one begin by the fast path if there is room: none in the tight state, in which there
  /// is no more memory and no spare byte.
  std::uint32_t quick_below_ = max_levels;
  write_error error_ = write_error::none;
  level levels_[max_levels];  // Not initialized: written when opened.
};

}  // namespace situ::protobuf::detail
