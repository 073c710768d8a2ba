// Reads protobuf messages in place: finds fields in one pass, looks them up in one step, and parses a nested
// message when it is requested.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "situ/protobuf/fields.hpp"

namespace situ::protobuf {

/// How the numbers of a field are stored.
enum class number_kind : std::uint8_t { varint, zigzag, fixed };

/// A scalar type: its type in C++, and its encoding.
template <class T, number_kind Stored>
struct scalar {
  using value_type = T;
  static constexpr number_kind stored = Stored;
};

/// The scalar types, as parameters of table::get() and table::all().
namespace kind {
using int32 = scalar<std::int32_t, number_kind::varint>;
using int64 = scalar<std::int64_t, number_kind::varint>;
using uint32 = scalar<std::uint32_t, number_kind::varint>;
using uint64 = scalar<std::uint64_t, number_kind::varint>;
using sint32 = scalar<std::int32_t, number_kind::zigzag>;
using sint64 = scalar<std::int64_t, number_kind::zigzag>;
using fixed32 = scalar<std::uint32_t, number_kind::fixed>;
using fixed64 = scalar<std::uint64_t, number_kind::fixed>;
using sfixed32 = scalar<std::int32_t, number_kind::fixed>;
using sfixed64 = scalar<std::int64_t, number_kind::fixed>;
using float32 = scalar<float, number_kind::fixed>;
using float64 = scalar<double, number_kind::fixed>;
using boolean = scalar<bool, number_kind::varint>;
/// An enum whose underlying type is std::int32_t.
template <class E>
using enumeration = scalar<E, number_kind::varint>;
}  // namespace kind

namespace detail {

/// Reads one number; false at the end or after an error.
template <class K>
SITU_PROTOBUF_INLINE bool read_number(cursor& from, typename K::value_type& value) noexcept {
  using T = typename K::value_type;
  if constexpr (K::stored == number_kind::fixed) {
    return from.fixed(value);
  } else {
    std::uint64_t raw = 0;
    if (!from.varint(raw)) return false;
    if constexpr (std::is_same_v<T, bool>) {
      value = raw != 0;
    } else if constexpr (K::stored == number_kind::zigzag) {
      value = unzigzag(static_cast<std::make_unsigned_t<T>>(raw));
    } else if constexpr (std::is_enum_v<T>) {
      value = static_cast<T>(static_cast<std::int32_t>(raw));
    } else {
      value = static_cast<T>(raw);
    }
    return true;
  }
}

/// The slot of a field; -1: it is unknown. A number that a closed enum does not have makes it unknown.
template <class Layout>
SITU_PROTOBUF_INLINE int slot_of(const field& it) noexcept {
  const int slot = Layout::slot(it.number, it.wire);
  if (slot >= 0 && it.wire == wire_type::varint &&
      !Layout::accepts(slot, static_cast<std::int32_t>(it.value))) {
    return -1;
  }
  return slot;
}

/// The fields of one slot of a table, for one iteration.
template <class Layout>
class occurrences {
 public:
  using value_type = std::span<const std::uint8_t>;

  occurrences() noexcept : fields_({}) {}
  occurrences(std::span<const std::uint8_t> bytes, std::uint32_t first, std::uint32_t last, int slot) noexcept
      : fields_(bytes, first), last_(last), slot_(slot) {}

  [[nodiscard]] once<occurrences> begin() noexcept { return once<occurrences>(*this); }
  [[nodiscard]] std::default_sentinel_t end() const noexcept { return {}; }

  /// Advances to the next field; false at the end.
  bool advance() noexcept {
    while (last_ != 0 && fields_.advance()) {
      if (slot_of<Layout>(fields_.current()) != slot_) continue;
      if (fields_.current().value_at == last_) last_ = 0;
      return true;
    }
    return false;
  }
  [[nodiscard]] std::span<const std::uint8_t> current() const noexcept { return fields_.current().content; }
  [[nodiscard]] const protobuf::field& field() const noexcept { return fields_.current(); }
  [[nodiscard]] int slot() const noexcept { return slot_; }

 private:
  fields fields_;
  /// The offset of the last value; 0 after it was returned.
  std::uint32_t last_ = 0;
  int slot_ = 0;
};

}  // namespace detail

/// The numbers of a repeated field, packed or not, for one iteration. Numbers that a closed enum does not
/// have are skipped. The iteration ends after an error, which error() returns.
template <class K, class Layout>
class numbers {
 public:
  using value_type = typename K::value_type;

  explicit numbers(const detail::occurrences<Layout>& all) noexcept : all_(all) {}

  [[nodiscard]] detail::once<numbers> begin() noexcept { return detail::once<numbers>(*this); }
  [[nodiscard]] std::default_sentinel_t end() const noexcept { return {}; }
  /// The problem of the last packed field.
  [[nodiscard]] const read_error& error() const noexcept { return error_; }

  /// Advances to the next number; false at the end.
  SITU_PROTOBUF_INLINE bool advance() noexcept {
    for (;;) {
      while (packed_.at_end()) {
        if (error_ || !all_.advance()) return false;
        const field& it = all_.field();
        packed_ = it.wire == wire_type::bytes ? detail::cursor(it.content)
                                              : detail::cursor(it.bytes, it.value_at - it.at);
      }
      const std::size_t at = packed_.at();
      if (!detail::read_number<K>(packed_, value_)) [[unlikely]] {
        error_ = {packed_.problem(), at};
        packed_ = {};
        return false;
      }
      if constexpr (std::is_enum_v<value_type>) {
        if (!Layout::accepts(all_.slot(), static_cast<std::int32_t>(value_))) continue;
      }
      return true;
    }
  }
  [[nodiscard]] value_type current() const noexcept { return value_; }

 private:
  detail::occurrences<Layout> all_;
  detail::cursor packed_;
  value_type value_{};
  read_error error_;
};

/// The strings of a repeated field, for one iteration. Whether they are UTF-8 is not checked.
template <class Layout>
class strings : private detail::occurrences<Layout> {
 public:
  using value_type = std::string_view;

  explicit strings(const detail::occurrences<Layout>& all) noexcept : detail::occurrences<Layout>(all) {}
  [[nodiscard]] detail::once<strings> begin() noexcept { return detail::once<strings>(*this); }
  [[nodiscard]] std::default_sentinel_t end() const noexcept { return {}; }
  using detail::occurrences<Layout>::advance;
  [[nodiscard]] std::string_view current() const noexcept {
    const auto bytes = detail::occurrences<Layout>::current();
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
};

/// The elements of a repeated field of type bytes, for one iteration.
template <class Layout>
using byte_strings = detail::occurrences<Layout>;

/// The bytes of a message. The program owns them. If a message came in several pieces, the merged bytes live
/// as long as something that was made from this.
class nested {
 public:
  nested() noexcept = default;
  explicit nested(std::span<const std::uint8_t> bytes) noexcept : bytes_(bytes) {}
  /// A nested message of `outer`.
  nested(const nested& outer, std::span<const std::uint8_t> bytes) noexcept
      : owned_(outer.owned_), bytes_(bytes), depth_(outer.depth_ + 1) {}
  /// A nested message of `outer`, merged from several pieces.
  nested(const nested& outer, std::vector<std::uint8_t>&& pieces)
      : owned_(std::make_shared<const std::vector<std::uint8_t>>(std::move(pieces))),
        bytes_(*owned_),
        depth_(outer.depth_ + 1) {}

  [[nodiscard]] std::span<const std::uint8_t> bytes() const noexcept { return bytes_; }
  /// The number of messages that enclose it.
  [[nodiscard]] std::uint32_t depth() const noexcept { return depth_; }
  /// The same message without content.
  void clear() noexcept { bytes_ = {}; }

 private:
  std::shared_ptr<const std::vector<std::uint8_t>> owned_;
  std::span<const std::uint8_t> bytes_;
  std::uint32_t depth_ = 0;
};

/// The elements of a repeated message, or the entries of a map, for one iteration. `Reader` is constructed
/// from a `nested`.
template <class Reader, class Layout>
class messages {
 public:
  using value_type = Reader;

  messages(const detail::occurrences<Layout>& all, nested outer) noexcept
      : all_(all), outer_(std::move(outer)) {}
  [[nodiscard]] detail::once<messages> begin() noexcept { return detail::once<messages>(*this); }
  [[nodiscard]] std::default_sentinel_t end() const noexcept { return {}; }
  bool advance() noexcept { return all_.advance(); }
  [[nodiscard]] Reader current() const { return Reader(nested(outer_, all_.current())); }

 private:
  detail::occurrences<Layout> all_;
  nested outer_;
};

/// The fields that a layout does not know, in order, for one iteration.
template <class Layout>
class unknown_fields {
 public:
  using value_type = const field&;

  explicit unknown_fields(std::span<const std::uint8_t> bytes) noexcept : fields_(bytes) {}
  [[nodiscard]] detail::once<unknown_fields> begin() noexcept { return detail::once<unknown_fields>(*this); }
  [[nodiscard]] std::default_sentinel_t end() const noexcept { return {}; }
  bool advance() noexcept {
    while (fields_.advance()) {
      if (detail::slot_of<Layout>(fields_.current()) < 0) return true;
    }
    return false;
  }
  [[nodiscard]] const field& current() const noexcept { return fields_.current(); }

 private:
  fields fields_;
};

/// A message whose fields can be looked up in one step. `Layout` (usually generated) describes the known
/// fields. `size` is their number. `slot(number, wire)` is a field's index from 0, or -1 if the field is
/// unknown. `accepts(slot, number)` is false for numbers that the field's closed enum does not have. `oneofs`
/// has, for each slot, the first slot of its oneof and the one behind its last. Both are equal if the field
/// belongs to no oneof.
///
/// What it returns lies in the message's bytes, which must outlive it. If a nested message came in several
/// pieces, its reader owns the merged bytes, together with all readers made from it: text and bytes are
/// borrowed from the reader that returned them.
template <class Layout>
class table {
 public:
  /// A message without fields.
  table() noexcept = default;
  /// Finds the fields of a message. If the bytes are malformed, error() returns the problem, and there are no
  /// fields.
  explicit table(std::span<const std::uint8_t> bytes) noexcept : table(nested(bytes)) {}
  /// Finds the fields of a nested message.
  explicit table(nested message) noexcept : message_(std::move(message)) {
    if (message_.depth() >= max_read_levels) {
      error_ = {read_problem::too_deep, 0};
    } else {
      build();
    }
    if (error_) {
      entries_ = {};
      message_.clear();
    }
  }

  /// The problem of the message, if any.
  [[nodiscard]] const read_error& error() const noexcept { return error_; }
  /// The message for reading with another layout, for its extensions.
  [[nodiscard]] const nested& message() const noexcept { return message_; }
  /// The message as bytes; empty after an error.
  [[nodiscard]] std::span<const std::uint8_t> bytes() const& noexcept { return message_.bytes(); }
  std::span<const std::uint8_t> bytes() const&& = delete;
  /// The unknown fields, in order.
  [[nodiscard]] protobuf::unknown_fields<Layout> unknown_fields() const& noexcept {
    return protobuf::unknown_fields<Layout>(message_.bytes());
  }
  protobuf::unknown_fields<Layout> unknown_fields() const&& = delete;

  /// Whether a field occurs.
  [[nodiscard]] bool has(int slot) const noexcept { return entry_of(slot).last != 0; }

  /// A scalar field; if it is repeated, the last one.
  template <class K>
  [[nodiscard]] typename K::value_type get(int slot, typename K::value_type otherwise) const noexcept {
    const entry& it = entry_of(slot);
    if (it.last == 0) return otherwise;
    detail::cursor from(message_.bytes(), it.last);
    typename K::value_type value{};
    return detail::read_number<K>(from, value) ? value : otherwise;
  }

  /// A field of type bytes; if it is repeated, the last one.
  [[nodiscard]] std::span<const std::uint8_t> get_bytes(int slot,
                                                        std::string_view otherwise = {}) const& noexcept {
    const entry& it = entry_of(slot);
    std::span<const std::uint8_t> content;
    if (it.last != 0 && detail::cursor(message_.bytes(), it.last).delimited(content)) return content;
    return {reinterpret_cast<const std::uint8_t*>(otherwise.data()), otherwise.size()};
  }
  std::span<const std::uint8_t> get_bytes(int, std::string_view = {}) const&& = delete;

  /// A field of type string, unchecked; if it is repeated, the last one.
  [[nodiscard]] std::string_view get_string(int slot, std::string_view otherwise = {}) const& noexcept {
    const auto bytes = get_bytes(slot, otherwise);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  std::string_view get_string(int, std::string_view = {}) const&& = delete;

  /// A nested message, without fields if it does not occur. If it is repeated, the occurrences are merged;
  /// only then are bytes copied.
  template <class Reader>
  [[nodiscard]] Reader get_message(int slot) const {
    const entry& it = entry_of(slot);
    if (it.last == 0) return Reader();
    return it.is_repeated ? merged<Reader>(slot) : Reader(nested(message_, get_bytes(slot)));
  }
  /// A nested message that is a group; otherwise like get_message().
  template <class Reader>
  [[nodiscard]] Reader get_group(int slot) const {
    const entry& it = entry_of(slot);
    if (it.last == 0) return Reader();
    if (it.is_repeated) return merged<Reader>(slot);
    auto single = all_of(slot);
    return single.advance() ? Reader(nested(message_, single.current())) : Reader();
  }

  /// The numbers of a repeated field, packed or not.
  template <class K>
  [[nodiscard]] numbers<K, Layout> all(int slot) const& noexcept {
    return numbers<K, Layout>(all_of(slot));
  }
  template <class K>
  numbers<K, Layout> all(int) const&& = delete;
  /// The elements of a repeated field of type bytes.
  [[nodiscard]] byte_strings<Layout> all_bytes(int slot) const& noexcept { return all_of(slot); }
  byte_strings<Layout> all_bytes(int) const&& = delete;
  /// The elements of a repeated field of type string.
  [[nodiscard]] strings<Layout> all_strings(int slot) const& noexcept {
    return strings<Layout>(all_of(slot));
  }
  strings<Layout> all_strings(int) const&& = delete;
  /// The elements of a repeated message or group, or the entries of a map.
  template <class Reader>
  [[nodiscard]] messages<Reader, Layout> all_messages(int slot) const noexcept {
    return messages<Reader, Layout>(all_of(slot), message_);
  }

 private:
  /// The place of one field.
  struct entry {
    std::uint32_t first = 0;   ///< The offset of the first one, tag included.
    std::uint32_t last = 0;    ///< The offset of the last one's value; 0: there is none.
    bool is_repeated = false;  ///< Whether there is more than one.
  };

  /// All occurrences of a message merged.
  template <class Reader>
  [[nodiscard]] Reader merged(int slot) const {
    std::vector<std::uint8_t> pieces;
    for (const auto piece : all_of(slot)) pieces.insert(pieces.end(), piece.begin(), piece.end());
    return Reader(nested(message_, std::move(pieces)));
  }

  void build() noexcept {
    protobuf::fields all(message_.bytes());
    while (all.advance()) {
      const field& it = all.current();
      const int slot = detail::slot_of<Layout>(it);
      if (slot < 0) continue;
      const auto at = static_cast<std::size_t>(slot);
      // A member of a oneof replaces the others.
      for (std::size_t other = Layout::oneofs[at].first; other < Layout::oneofs[at].second; ++other) {
        if (other != at) entries_[other] = {};
      }
      entry& mine = entries_[at];
      if (mine.last == 0) {
        mine.first = it.at;
      } else {
        mine.is_repeated = true;
      }
      mine.last = it.value_at;
    }
    error_ = all.error();
  }

  [[nodiscard]] const entry& entry_of(int slot) const noexcept {
    return entries_[static_cast<std::size_t>(slot)];
  }
  [[nodiscard]] detail::occurrences<Layout> all_of(int slot) const noexcept {
    const entry& it = entry_of(slot);
    if (it.last == 0) return {};
    return detail::occurrences<Layout>(message_.bytes(), it.first, it.last, slot);
  }

  nested message_;
  std::array<entry, Layout::size> entries_{};
  read_error error_;
};

}  // namespace situ::protobuf
