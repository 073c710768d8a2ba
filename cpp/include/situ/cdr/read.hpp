// Reads CDR. No input makes the reader read out of bounds, allocate memory because of a length alone, or
// recurse without end.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "situ/cdr/encoding.hpp"
#include "situ/support/utf8.hpp"

namespace situ {

/// The destination of a flat message's bulk fields: a body of a fixed size, or a vector that grows as needed.
class decode_body {
 public:
  decode_body() = default;
  decode_body(std::span<std::byte> body) : body_(body) {}
  decode_body(std::vector<std::byte>& body) : vector_(&body) { body.clear(); }

  /// Reserves `size` bytes at a multiple of 64. Returns false if there is no room.
  [[nodiscard]] bool place(std::size_t size, std::size_t& offset) {
    const std::size_t begin = (end_ + bulk_alignment - 1) / bulk_alignment * bulk_alignment;
    if (vector_ != nullptr) {
      vector_->resize(begin + size);
      body_ = *vector_;
    } else if (begin > body_.size() || size > body_.size() - begin) {
      return false;
    }
    offset = begin;
    end_ = begin + size;
    return true;
  }
  [[nodiscard]] std::byte* data() const noexcept { return body_.data(); }
  [[nodiscard]] std::size_t left() const noexcept { return body_.size() - std::min(end_, body_.size()); }

 private:
  std::span<std::byte> body_;
  std::vector<std::byte>* vector_ = nullptr;
  std::size_t end_ = 0;
};

namespace detail::cdr {

template <std::size_t Size>
using unsigned_of =
    std::conditional_t<Size == 1, std::uint8_t,
                       std::conditional_t<Size == 2, std::uint16_t,
                                          std::conditional_t<Size == 4, std::uint32_t, std::uint64_t>>>;

template <class T>
T swapped(T value) {
  auto bytes = std::bit_cast<std::array<std::byte, sizeof(T)>>(value);
  std::reverse(bytes.begin(), bytes.end());
  return std::bit_cast<T>(bytes);
}

/// Resets a value to its defaults. A value in place is constructed again in place, so that no large value
/// passes through the stack.
template <class T>
void reset(T& value) {
  if constexpr (std::is_trivially_destructible_v<T>) {
    construct<T>(static_cast<void*>(std::addressof(value)));
  } else {
    value = make<T>();
  }
}

class reader {
 public:
  reader(std::span<const std::byte> bytes, decode_body body)
      : data_(bytes.data()),
        end_(bytes.size()),
        body_(body),
        memory_limit_(memory_floor + 64 * bytes.size()) {}

  template <class T>
  bool message(T& value) {
    if (end_ < header_size) return fail(decode_problem::truncated, header_size, end_);
    const auto byte = [&](std::size_t i) { return std::to_integer<unsigned>(data_[i]); };
    const unsigned id = byte(0) << 8U | byte(1);
    const unsigned kind = id & ~1U;
    if (kind > 0x0A || kind == 0x04) return fail(decode_problem::bad_encapsulation, id);
    version_ = kind < 0x04 ? encoding::xcdr1 : encoding::xcdr2;
    swap_ = (id & 1U) == 0;
    if (kind != encapsulation(version_, T::situ_extensibility)) return fail(decode_problem::wrong_kind, id);
    const std::size_t padded = byte(3) & 3U;
    if (end_ % 4 == 0 && padded <= end_ - header_size) end_ -= padded;
    at_ = origin_ = header_size;
    return read(value);
  }

  decode_error take_error() { return std::move(error_); }

 private:
  static constexpr std::size_t memory_floor = std::size_t{64} << 20U;

  bool is_v2() const noexcept { return version_ == encoding::xcdr2; }

  template <class T>
  bool read(T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      std::uint8_t byte = 0;
      if (!get(byte)) return false;
      if (byte > 1) return fail_at(at_ - 1, decode_problem::not_a_bool, byte);
      value = byte == 1;
      return true;
    } else if constexpr (scalar<T>) {
      return read_scalar(value);
    } else if constexpr (string<T>) {
      return read_string(value);
    } else if constexpr (sequence<T>) {
      return deeper([&] { return read_sequence(value); });
    } else if constexpr (array<T>) {
      return deeper([&] { return read_array(value); });
    } else if constexpr (map<T>) {
      return deeper([&] { return read_map(value); });
    } else if constexpr (bulk<T>) {
      return deeper([&] { return read_bulk(value); });
    } else if constexpr (message_union<T>) {
      return deeper([&] { return read_union(value); });
    } else {
      return deeper([&] { return read_struct(value); });
    }
  }

  // Structs and unions

  template <class T>
  bool read_struct(T& value) {
    if constexpr (T::situ_extensibility == extensibility::mutable_) {
      reset(value);
      return parameters([&](std::uint32_t id, bool& known) {
        return T::situ_members(
            [&](const member_info& info, auto& member) {
              if (info.id != id) return true;
              known = true;
              return read_present(member) || enter(info.name);
            },
            value);
      });
    } else if constexpr (T::situ_extensibility == extensibility::appendable) {
      reset(value);
      return maybe_delimited(true, [&] {
        return T::situ_members(
            [&](const member_info& info, auto& member) {
              return at_ >= end_ || read_plain_member(info, member) || enter(info.name);
            },
            value);
      });
    } else {
      return T::situ_members(
          [&](const member_info& info, auto& member) {
            return read_plain_member(info, member) || enter(info.name);
          },
          value);
    }
  }

  template <class T>
  bool read_union(T& value) {
    typename T::discriminator_type discriminator{};
    if constexpr (T::situ_extensibility == extensibility::mutable_) {
      reset(value);
      return parameters([&](std::uint32_t id, bool& known) {
        if (id == 0) {
          known = true;
          if (!read(discriminator)) return enter("discriminator");
          value.select(discriminator);
          return true;
        }
        return value.visit_active([&](auto index, auto& member) {
          const member_info& info = T::situ_cases[decltype(index)::value];
          if (info.id != id) return true;
          known = true;
          return read(member) || enter(info.name);
        });
      });
    } else {
      if constexpr (T::situ_extensibility == extensibility::appendable) reset(value);
      return maybe_delimited(T::situ_extensibility == extensibility::appendable, [&] {
        if (T::situ_extensibility == extensibility::appendable && at_ >= end_) return true;
        if (!read(discriminator)) return enter("discriminator");
        value.select(discriminator);
        if (T::situ_extensibility == extensibility::appendable && at_ >= end_) return true;
        return value.visit_active([&](auto index, auto& member) {
          return read(member) || enter(T::situ_cases[decltype(index)::value].name);
        });
      });
    }
  }

  /// A member of a final or appendable struct.
  template <class M>
  bool read_plain_member(const member_info& info, M& member) {
    if constexpr (!optional<M>) {
      return read(member);
    } else if (is_v2()) {
      bool present = false;
      if (!read(present)) return false;
      member.reset();
      return !present || read_present(member);
    } else {
      member.reset();
      parameter header;
      if (!read_parameter_v1(header)) return false;
      if (header.id != info.id) return fail(decode_problem::wrong_member, header.id, info.id);
      return within(header.length, true, [&] { return header.length == 0 || read_present(member); });
    }
  }

  /// A present value, whether the member is optional or not.
  template <class M>
  bool read_present(M& member) {
    if constexpr (optional<M>) {
      member.emplace();
      return read(*member);
    } else {
      return read(member);
    }
  }

  // Parameters

  struct parameter {
    std::uint32_t id = 0;
    std::uint32_t length = 0;
    bool must_understand = false;
    bool is_end = false;
  };

  /// Calls `member(id, known)` with the reader at each value. `member` sets `known` when it has read the
  /// member.
  template <class Member>
  bool parameters(Member&& member) {
    if (!is_v2()) {
      for (;;) {
        parameter header;
        if (!read_parameter_v1(header)) return false;
        if (header.is_end) return true;
        if (!read_parameter(header, member)) return false;
      }
    }
    return delimited([&] {
      // Some writers count the padding after the last member.
      while (left() > padding(4)) {
        parameter header;
        if (!read_parameter_v2(header) || !read_parameter(header, member)) return false;
      }
      return true;
    });
  }

  template <class Member>
  bool read_parameter(const parameter& header, Member& member) {
    const std::size_t begin = at_;
    return within(header.length, !is_v2(), [&] {
      bool known = false;
      if (!member(header.id, known)) return false;
      return known || !header.must_understand || fail_at(begin, decode_problem::unknown_member, header.id);
    });
  }

  bool read_parameter_v1(parameter& header) {
    for (;;) {
      std::uint16_t word = 0;
      std::uint16_t length = 0;
      if (!align(4) || !get(word) || !get(length)) return false;
      const std::uint32_t id = word & pid_mask;
      if (id == pid_ignore) {
        if (length > left()) return fail(decode_problem::truncated, length, left());
        at_ += length;
        continue;
      }
      // Vendor-specific ids keep this bit, so that they differ from all member ids.
      header.id = id | ((word & pid_vendor) != 0 ? vendor_v1 : 0U);
      header.length = length;
      header.must_understand = (word & pid_must_understand) != 0;
      header.is_end = id == pid_list_end;
      if (id != pid_extended) return true;
      if (length != long_header) return fail_at(at_ - 4, decode_problem::bad_header, length, long_header);
      std::uint32_t long_id = 0;
      if (!get(long_id) || !get(header.length)) return false;
      header.id = long_id & (id_mask | vendor_v1);
      header.must_understand = (long_id & must_understand_v1) != 0;
      return true;
    }
  }

  bool read_parameter_v2(parameter& header) {
    std::uint32_t word = 0;
    if (!align(4) || !get(word)) return false;
    header.id = word & id_mask;
    header.must_understand = (word & must_understand_v2) != 0;
    const unsigned code = word >> 28U & 7U;
    if (code < 4) {
      header.length = 1U << code;
      return true;
    }
    std::uint32_t next = 0;
    if (!get(next)) return false;
    if (code == 4) {
      header.length = next;
      return true;
    }
    // The word is also the beginning of the value, and counts the bytes after it.
    at_ -= sizeof(next);
    const std::uint64_t length = sizeof(next) + (std::uint64_t{next} << (code == 5 ? 0U : code - 4U));
    if (length > left()) return fail(decode_problem::truncated, length, left());
    header.length = static_cast<std::uint32_t>(length);
    return true;
  }

  // Containers

  template <class V>
  bool read_sequence(V& value) {
    using T = typename V::value_type;
    return maybe_delimited(!is_primitive<T>, [&] {
      std::size_t count = 0;
      if (!read_count(count, is_run<T> ? sizeof(T) : 1)) return false;
      if constexpr (is_bounded_vector<V>::value) {
        if (count > V::bound) return fail(decode_problem::too_long, count, V::bound);
      }
      value.clear();
      if (!is_in_place<V>() && !charge(count, sizeof(T))) return false;
      if constexpr (is_run<T> && !array<T>) {
        return read_run_into(value, count);
      } else {
        value.resize(count);
        return count == 0 || read_elements(value.data(), count);
      }
    });
  }

  /// Does not fill memory that is overwritten next, if the vector allows that.
  template <class V>
  bool read_run_into(V& value, std::size_t count) {
    using T = typename V::value_type;
    if (count == 0) return true;
    if constexpr (is_bounded_vector<V>::value) {
      value.resize(count, default_init);
    } else {
      if (!align(sizeof(T))) return false;
      const std::byte* source = data_ + at_;
      if (!swap_ && count <= left() / sizeof(T) &&
          reinterpret_cast<std::uintptr_t>(source) % alignof(T) == 0) {
        const T* elements = reinterpret_cast<const T*>(source);
        value.assign(elements, elements + count);
        at_ += count * sizeof(T);
        return true;
      }
      value.resize(count);
    }
    return read_run(value.data(), count);
  }

  template <class V>
  static consteval bool is_in_place() {
    if constexpr (requires { V::is_inline; }) {
      return V::is_inline;
    } else {
      return false;
    }
  }

  template <class T>
  bool read_array(T& value) {
    return maybe_delimited(!is_primitive<innermost_t<T>>,
                           [&] { return read_elements(value.data(), value.size()); });
  }

  template <class T>
  bool read_elements(T* elements, std::size_t count) {
    if constexpr (is_run<T>) {
      return read_run(reinterpret_cast<innermost_t<T>*>(elements),
                      count * (sizeof(T) / sizeof(innermost_t<T>)));
    } else {
      for (std::size_t i = 0; i < count; ++i) {
        if constexpr (array<T>) {
          if (!read_elements(elements[i].data(), elements[i].size())) return enter(i);
        } else {
          if (!read(elements[i])) return enter(i);
        }
      }
      return true;
    }
  }

  /// A run of scalars: one copy, then the checks that the type requires.
  template <class T>
  bool read_run(T* elements, std::size_t count) {
    if (!align(sizeof(T))) return false;
    if (count > left() / sizeof(T))
      return fail(decode_problem::truncated, std::uint64_t{count} * sizeof(T), left());
    if constexpr (std::is_same_v<T, bool>) {
      for (std::size_t i = 0; i < count; ++i) {
        if (std::to_integer<unsigned>(data_[at_ + i]) > 1) {
          at_ += i;
          return fail(decode_problem::not_a_bool, std::to_integer<unsigned>(data_[at_])) || enter(i);
        }
      }
    }
    std::memcpy(static_cast<void*>(elements), data_ + at_, count * sizeof(T));
    at_ += count * sizeof(T);
    if constexpr (sizeof(T) > 1) {
      if (swap_)
        std::transform(elements, elements + count, elements, [](T element) { return swapped(element); });
    }
    return true;
  }

  template <class T, std::size_t N>
  bool read_bulk(bulk_ref<T, N>& value) {
    return maybe_delimited(!is_primitive<T>, [&] {
      value = bulk_ref<T, N>();
      std::size_t count = 0;
      if (!read_count(count, is_run<T> ? sizeof(T) : 1)) return false;
      if (count > N) return fail(decode_problem::too_long, count, N);
      std::size_t offset = 0;
      if (!charge(count, sizeof(T))) return false;
      if (!body_.place(count * sizeof(T), offset)) {
        return fail(decode_problem::no_room, std::uint64_t{count} * sizeof(T), body_.left());
      }
      value = bulk_ref<T, N>(offset, count);
      T* elements = reinterpret_cast<T*>(body_.data() + offset);
      if constexpr (!is_run<T>) std::uninitialized_value_construct_n(elements, count);
      return count == 0 || read_elements(elements, count);
    });
  }

  template <class M>
  bool read_map(M& value) {
    using K = typename M::key_type;
    using V = typename M::mapped_type;
    return maybe_delimited(!(is_primitive<K> && is_primitive<V>), [&] {
      std::size_t count = 0;
      if (!read_count(count, 1)) return false;
      if constexpr (requires { M::bound; }) {
        if (count > M::bound) return fail(decode_problem::too_long, count, M::bound);
      }
      value.clear();
      if (!is_in_place<M>() && !charge(count, sizeof(K) + sizeof(V) + 4 * sizeof(void*))) return false;
      for (std::size_t i = 0; i < count; ++i) {
        K key{};
        if (!read(key)) return enter(i);
        const auto entry = value.try_emplace(std::move(key)).first;
        if (!read(entry->second)) return enter(i);
      }
      return true;
    });
  }

  template <class S>
  bool read_string(S& value) {
    using unit = typename S::value_type;
    std::size_t units = 0;
    if constexpr (std::is_same_v<unit, char>) {
      if (!read_count(units, 1)) return false;
      const std::size_t end = at_ + units;
      if (units != 0 && data_[end - 1] == std::byte{}) --units;
      const std::string_view text(reinterpret_cast<const char*>(data_ + at_), units);
      const std::size_t good = utf8_valid_up_to(text);
      if (good != units) return fail(decode_problem::not_utf8, good);
      if (!assign(value, text)) return false;
      at_ = end;
      return true;
    } else {
      if (is_v2()) {
        std::size_t bytes = 0;
        if (!read_count(bytes, 1)) return false;
        if (bytes % sizeof(unit) != 0) return fail(decode_problem::odd_length, bytes);
        units = bytes / sizeof(unit);
      } else if (!read_count(units, sizeof(std::uint32_t))) {
        return false;
      }
      if constexpr (requires { S::bound; }) {
        if (units > S::bound) return fail(decode_problem::too_long, units, S::bound);
      }
      if (!is_in_place<S>() && !charge(units, sizeof(unit))) return false;
      value.resize(units);
      if (is_v2()) return units == 0 || read_run(value.data(), units);
      return read_wide_units(value.data(), units);
    }
  }

  /// The units of a wide string in version 1, which have 32 bits each.
  bool read_wide_units(char16_t* units, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      std::uint32_t wide = 0;
      if (!get(wide)) return false;
      if (wide > 0xFFFF) return fail(decode_problem::not_a_unit, wide);
      units[i] = static_cast<char16_t>(wide);
    }
    return true;
  }

  template <class S>
  bool assign(S& value, std::string_view text) {
    if (!is_in_place<S>() && !charge(text.size(), 1)) return false;
    if constexpr (requires { S::bound; }) {
      return value.try_assign(text) || fail(decode_problem::too_long, text.size(), S::bound);
    } else {
      value.assign(text);
      return true;
    }
  }

  // Bytes

  std::size_t left() const noexcept { return end_ - at_; }

  /// Reads a number of elements, each of which takes at least `min_bytes` of the remaining bytes.
  bool read_count(std::size_t& count, std::size_t min_bytes) {
    std::uint32_t found = 0;
    if (!align(4) || !get(found)) return false;
    if (found > left() / min_bytes) return fail_at(at_ - 4, decode_problem::lying_length, found, left());
    count = found;
    return true;
  }

  bool charge(std::size_t count, std::size_t size) {
    if (count > (memory_limit_ - memory_) / size)
      return fail(decode_problem::too_much_memory, 0, memory_limit_);
    memory_ += count * size;
    return true;
  }

  template <class Content>
  bool maybe_delimited(bool wanted, Content&& content) {
    return wanted && is_v2() ? delimited(content) : content();
  }
  template <class Content>
  bool delimited(Content&& content) {
    std::uint32_t length = 0;
    return align(4) && get(length) && within(length, false, content);
  }
  /// Reads the content within the next `length` bytes and continues after them, regardless of how many it has
  /// read.
  template <class Content>
  bool within(std::uint32_t length, bool new_origin, Content&& content) {
    if (length > left()) return fail(decode_problem::truncated, length, left());
    const std::size_t behind = at_ + length;
    const std::size_t outer_end = std::exchange(end_, behind);
    const std::size_t outer_origin = std::exchange(origin_, new_origin ? at_ : origin_);
    if (!content()) return false;
    at_ = behind;
    end_ = outer_end;
    origin_ = outer_origin;
    return true;
  }
  template <class Content>
  bool deeper(Content&& content) {
    if (depth_ == max_depth) return fail(decode_problem::too_deep, depth_ + 1, max_depth);
    ++depth_;
    const bool ok = content();
    --depth_;
    return ok;
  }

  /// The bytes of padding before a number of this size.
  std::size_t padding(std::size_t size) const noexcept {
    const std::size_t to = std::min<std::size_t>(size, is_v2() ? 4 : 8);
    return (to - (at_ - origin_) % to) % to;
  }
  bool align(std::size_t size) {
    const std::size_t bytes = padding(size);
    if (bytes > left()) return fail(decode_problem::truncated, bytes + size, left());
    at_ += bytes;
    return true;
  }
  /// A number at the current place, aligned or not.
  template <class T>
  bool get(T& value) {
    if (sizeof(T) > left()) return fail(decode_problem::truncated, sizeof(T), left());
    std::memcpy(&value, data_ + at_, sizeof(T));
    at_ += sizeof(T);
    if (swap_) value = swapped(value);
    return true;
  }
  template <class T>
  bool read_scalar(T& value) {
    return align(sizeof(T)) && get(value);
  }

  bool fail(decode_problem problem, std::uint64_t found, std::uint64_t limit = 0) {
    return fail_at(at_, problem, found, limit);
  }
  bool fail_at(std::size_t offset, decode_problem problem, std::uint64_t found, std::uint64_t limit = 0) {
    error_ = decode_error{problem, offset, {}, found, limit};
    return false;
  }
  bool enter(std::string_view name) {
    error_.path.enter_member(name);
    return false;
  }
  bool enter(std::size_t index) {
    error_.path.enter_element(index);
    return false;
  }

  const std::byte* data_;
  std::size_t at_ = 0;
  std::size_t end_;
  std::size_t origin_ = 0;
  encoding version_ = encoding::xcdr1;
  bool swap_ = false;
  unsigned depth_ = 0;
  decode_body body_;
  std::size_t memory_ = 0;
  std::size_t memory_limit_;
  decode_error error_{};
};

}  // namespace detail::cdr
}  // namespace situ
