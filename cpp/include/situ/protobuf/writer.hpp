// The protobuf writer and its scope guards: messages, text or bytes in pieces, packed fields.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "situ/protobuf/core.hpp"

namespace situ::protobuf {

class message;

/// Writes one protobuf message, front to back, into the memory of its delegate. It does not allocate, copies
/// each byte once, and makes no system call, unless the delegate does.
class writer {
 public:
  /// Begins a message in the delegate's first chunk. The delegate must outlive the writer.
  explicit writer(delegate& supplier) : core_(supplier) {}
  writer(const writer&) = delete;
  writer& operator=(const writer&) = delete;

  /// The length so far, in bytes.
  [[nodiscard]] std::uint64_t size() const noexcept { return core_.position(); }
  /// The first error so far.
  [[nodiscard]] write_error error() const noexcept { return core_.error(); }
  /// Passes the last chunk to the delegate. Later fields are discarded, until restart().
  [[nodiscard]] write_error finish() { return core_.finish(); }
  /// Begins another message, in the delegate's first chunk. An unfinished message is lost.
  void restart() { core_.restart(); }

 private:
  friend class message;
  detail::core core_;
};

/// Numbers with the same bytes in memory and on the wire.
template <class T>
concept plain_number =
    (std::is_arithmetic_v<T> && (sizeof(T) == 4 || sizeof(T) == 8)) || std::same_as<T, bool>;

/// The number of a field that is a group: a message with a tag at its end instead of a length in front.
struct group_field {
  std::uint32_t number;
};

/// An open message, and a scope guard: the message ends at the end of its scope. While a message in it is
/// open, it cannot be written (`write_error::wrong_order`). It cannot be copied, moved or allocated on the
/// heap, so that messages end in the right order. Fields are appended in the order of the calls.
/// writer::finish() reports errors.
class [[nodiscard]] message {
 public:
  /// The outermost message of a writer.
  explicit message(writer& owner) noexcept : place_(&owner.core_), home_(&owner.core_) {}
  /// A message in a field of another message.
  SITU_PROTOBUF_INLINE message(message& parent, std::uint32_t field)
      : place_(parent.place_), home_(parent.home_) {
    if (home_->owns(parent.place_)) [[likely]] {
      parent_ = &parent;
      parent.place_ = &detail::closed;
      home_->open(field);
    }
  }
  /// A group in a field of another message.
  message(message& parent, group_field field) : place_(parent.place_), home_(parent.home_) {
    if (home_->owns(parent.place_)) [[likely]] {
      parent_ = &parent;
      parent.place_ = &detail::closed;
      home_->open_group(field.number);
    }
  }
  SITU_PROTOBUF_INLINE ~message() {
    if (parent_ != nullptr) {
      home_->close();
      parent_->place_ = home_;
    }
  }
  message(const message&) = delete;
  message(message&&) = delete;
  message& operator=(const message&) = delete;
  message& operator=(message&&) = delete;
  static void* operator new(std::size_t) = delete;
  static void* operator new[](std::size_t) = delete;

  /// Writes a field of type int32; negative numbers have ten bytes.
  SITU_PROTOBUF_INLINE void int32(std::uint32_t field, std::int32_t value) {
    number(field, static_cast<std::uint64_t>(std::int64_t{value}), detail::max_varint);
  }
  /// Writes a field of type int64.
  SITU_PROTOBUF_INLINE void int64(std::uint32_t field, std::int64_t value) {
    number(field, static_cast<std::uint64_t>(value), detail::max_varint);
  }
  /// Writes a field of type uint32.
  SITU_PROTOBUF_INLINE void uint32(std::uint32_t field, std::uint32_t value) { number(field, value, 5); }
  /// Writes a field of type uint64.
  SITU_PROTOBUF_INLINE void uint64(std::uint32_t field, std::uint64_t value) {
    number(field, value, detail::max_varint);
  }
  /// Writes a field of type sint32: numbers of small magnitude are short.
  SITU_PROTOBUF_INLINE void sint32(std::uint32_t field, std::int32_t value) {
    number(field, zigzag(value), 5);
  }
  /// Writes a field of type sint64: numbers of small magnitude are short.
  SITU_PROTOBUF_INLINE void sint64(std::uint32_t field, std::int64_t value) {
    number(field, zigzag(value), detail::max_varint);
  }
  /// Writes a field of type bool.
  SITU_PROTOBUF_INLINE void boolean(std::uint32_t field, bool value) { number(field, value ? 1 : 0, 1); }
  /// Writes a field of an enum type.
  template <class E>
  requires std::is_enum_v<E> || std::same_as<E, std::int32_t> SITU_PROTOBUF_INLINE void enumeration(
      std::uint32_t field, E value) {
    int32(field, static_cast<std::int32_t>(value));
  }
  /// Writes a field of type fixed32.
  SITU_PROTOBUF_INLINE void fixed32(std::uint32_t field, std::uint32_t value) { fixed(field, value); }
  /// Writes a field of type fixed64.
  SITU_PROTOBUF_INLINE void fixed64(std::uint32_t field, std::uint64_t value) { fixed(field, value); }
  /// Writes a field of type sfixed32.
  SITU_PROTOBUF_INLINE void sfixed32(std::uint32_t field, std::int32_t value) { fixed(field, value); }
  /// Writes a field of type sfixed64.
  SITU_PROTOBUF_INLINE void sfixed64(std::uint32_t field, std::int64_t value) { fixed(field, value); }
  /// Writes a field of type float.
  SITU_PROTOBUF_INLINE void float32(std::uint32_t field, float value) { fixed(field, value); }
  /// Writes a field of type double.
  SITU_PROTOBUF_INLINE void float64(std::uint32_t field, double value) { fixed(field, value); }
  /// Writes a field of type string.
  SITU_PROTOBUF_INLINE void string(std::uint32_t field, std::string_view value) {
    block(field, value.data(), value.size());
  }
  /// Writes a field of type bytes, or an encoded message.
  SITU_PROTOBUF_INLINE void bytes(std::uint32_t field, std::span<const std::uint8_t> value) {
    block(field, value.data(), value.size());
  }
  /// Begins a field of a message type.
  SITU_PROTOBUF_INLINE message nested(std::uint32_t field) { return message(*this, field); }
  /// Begins a group.
  message group(std::uint32_t field) { return message(*this, group_field{field}); }
  /// Writes encoded fields unchanged.
  void raw(std::span<const std::uint8_t> fields) { append(fields.data(), fields.size()); }

  // Packed fields; an empty span writes nothing.

  void packed_int32(std::uint32_t field, std::span<const std::int32_t> values) {
    varints(field, values, [](std::int32_t it) { return static_cast<std::uint64_t>(std::int64_t{it}); });
  }
  void packed_int64(std::uint32_t field, std::span<const std::int64_t> values) {
    varints(field, values, [](std::int64_t it) { return static_cast<std::uint64_t>(it); });
  }
  void packed_uint32(std::uint32_t field, std::span<const std::uint32_t> values) {
    varints(field, values, [](std::uint32_t it) { return std::uint64_t{it}; });
  }
  void packed_uint64(std::uint32_t field, std::span<const std::uint64_t> values) {
    varints(field, values, [](std::uint64_t it) { return it; });
  }
  void packed_sint32(std::uint32_t field, std::span<const std::int32_t> values) {
    varints(field, values, [](std::int32_t it) { return std::uint64_t{zigzag(it)}; });
  }
  void packed_sint64(std::uint32_t field, std::span<const std::int64_t> values) {
    varints(field, values, [](std::int64_t it) { return zigzag(it); });
  }
  template <class E>
  requires std::is_enum_v<E>
  void packed_enumeration(std::uint32_t field, std::span<const E> values) {
    varints(field, values, [](E it) { return static_cast<std::uint64_t>(static_cast<std::int64_t>(it)); });
  }
  /// Writes a packed field of fixed32, fixed64, sfixed32, sfixed64, float, double or bool with one copy.
  template <plain_number T>
  void packed_fixed(std::uint32_t field, std::span<const T> values) {
    if (!values.empty()) block(field, values.data(), values.size_bytes());
  }

 protected:
  /// Another handle of the same message, which replaces it until give_back().
  struct take_over {};
  message(take_over, message& other) noexcept : place_(other.place_), home_(other.home_) {
    other.place_ = &detail::closed;
  }
  void give_back(message& other) const noexcept { other.place_ = place_; }

  // For bytes that are appended to a field without a tag of their own.
  SITU_PROTOBUF_INLINE void append(const void* data, std::size_t size) {
    if (home_->owns(place_)) [[likely]] {
      home_->raw(data, size);
    }
  }
  SITU_PROTOBUF_INLINE void append_varint(std::uint64_t value) {
    if (!place_->varint(value)) [[unlikely]] {
      home_->varint_slow(place_, value);
    }
  }

 private:
  SITU_PROTOBUF_INLINE void number(std::uint32_t field, std::uint64_t value, std::size_t most) {
    if (!place_->varint_field(field, value, most)) [[unlikely]] {
      home_->number_slow(place_, field, value);
    }
  }
  template <class T>
  SITU_PROTOBUF_INLINE void fixed(std::uint32_t field, T value) {
    if (!place_->fixed_field(field, value)) [[unlikely]] {
      home_->fixed_slow(place_, field, value);
    }
  }
  SITU_PROTOBUF_INLINE void block(std::uint32_t field, const void* data, std::size_t size) {
    if (!place_->bytes_field(field, data, size)) [[unlikely]] {
      home_->block_slow(place_, field, data, size);
    }
  }
  template <class T, class F>
  void varints(std::uint32_t field, std::span<const T> values, F as_varint) {
    if (values.empty()) return;
    message packed(*this, field);
    for (const T value : values) packed.append_varint(as_varint(value));
  }

  /// The place to write to: `home_`, or `closed` while a message in this one is open. A field therefore
  /// checks only one bound.
  detail::place* place_;
  detail::core* home_;
  message* parent_ = nullptr;
};

/// An extension of a message. It writes to the message, which cannot be written itself until the extension
/// ends.
class [[nodiscard]] extension : public message {
 public:
  explicit extension(message& extended) noexcept : message(take_over{}, extended), extended_(&extended) {}
  ~extension() { give_back(*extended_); }
  extension(const extension&) = delete;
  extension& operator=(const extension&) = delete;

  /// The layout of a generated reader, for the reader of an extension.
  template <class Reader>
  [[nodiscard]] static const auto& message_of(const Reader& reader) noexcept {
    return reader.table_.message();
  }

 private:
  message* extended_;
};

/// A field of type string or bytes that is written in pieces.
class [[nodiscard]] pieces : private message {
 public:
  pieces(message& parent, std::uint32_t field) : message(parent, field) {}
  /// Appends a piece.
  void push(std::string_view piece) { append(piece.data(), piece.size()); }
  /// Appends a piece.
  void push(std::span<const std::uint8_t> piece) { append(piece.data(), piece.size()); }
};

/// A packed field that is written number by number. All numbers must be of the field's type.
class [[nodiscard]] packed : private message {
 public:
  packed(message& parent, std::uint32_t field) : message(parent, field) {}
  /// Appends an int32, int64, uint32, uint64, bool or an enum's value.
  template <class T>
  requires std::is_integral_v<T> || std::is_enum_v<T>
  void varint(T value) {
    if constexpr (std::is_signed_v<T> || std::is_enum_v<T>) {
      append_varint(static_cast<std::uint64_t>(static_cast<std::int64_t>(value)));
    } else {
      append_varint(value);
    }
  }
  /// Appends a sint32 or sint64.
  template <class T>
  requires std::same_as<T, std::int32_t> || std::same_as<T, std::int64_t>
  void zigzag(T value) { append_varint(protobuf::zigzag(value)); }
  /// Appends a fixed32, fixed64, sfixed32, sfixed64, float or double.
  template <plain_number T>
  void fixed(T value) {
    append(&value, sizeof(value));
  }
};

}  // namespace situ::protobuf
