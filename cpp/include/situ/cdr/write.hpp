// Writes CDR. The same walk counts bytes and writes them.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "situ/cdr/encoding.hpp"
#include "situ/support/utf8.hpp"

namespace situ::detail::cdr {

/// Writes into a buffer. Without one (`data` is null) it only counts.
class writer {
 public:
  writer(std::byte* data, std::size_t capacity, encoding version, std::span<const std::byte> body)
      : data_(data), capacity_(capacity), version_(version), body_(body) {}

  template <class T>
  bool message(const T& value) {
    const std::uint8_t header[header_size] = {
        0, static_cast<std::uint8_t>(encapsulation(version_, T::situ_extensibility) | 1U), 0, 0};
    if (!put(header, sizeof(header))) return false;
    origin_ = at_;
    return write(value);
  }

  [[nodiscard]] std::size_t size() const noexcept { return at_; }
  encode_error take_error() { return std::move(error_); }

 private:
  bool is_v2() const noexcept { return version_ == encoding::xcdr2; }

  template <class T>
  bool write(const T& value) {
    if constexpr (scalar<T>) {
      return align(sizeof(T)) && put(&value, sizeof(T));
    } else if constexpr (string<T>) {
      return write_string(value);
    } else if constexpr (sequence<T>) {
      return deeper([&] { return write_sequence(value.data(), value.size()); });
    } else if constexpr (array<T>) {
      return deeper([&] { return write_array(value); });
    } else if constexpr (map<T>) {
      return deeper([&] { return write_map(value); });
    } else if constexpr (bulk<T>) {
      const auto elements = value.try_span(body_);
      if (elements) return write_sequence(elements->data(), elements->size());
      if (counts()) return write_sequence(static_cast<const typename T::value_type*>(nullptr), 0);
      return fail(encode_problem::outside_body, value.offset(), body_.size());
    } else if constexpr (message_union<T>) {
      return deeper([&] { return write_union(value); });
    } else {
      return deeper([&] { return write_struct(value); });
    }
  }

  // Structs and unions

  template <class T>
  bool write_struct(const T& value) {
    if constexpr (T::situ_extensibility == extensibility::mutable_) {
      return parameters([&] {
        return T::situ_members(
            [&](const member_info& info, const auto& member) {
              return write_parameter(info, member) || enter(info.name);
            },
            value);
      });
    } else {
      return maybe_delimited(T::situ_extensibility == extensibility::appendable, [&] {
        return T::situ_members(
            [&](const member_info& info, const auto& member) {
              return write_plain_member(info, member) || enter(info.name);
            },
            value);
      });
    }
  }

  template <class T>
  bool write_union(const T& value) {
    const auto discriminator = value.discriminator();
    if constexpr (T::situ_extensibility == extensibility::mutable_) {
      return parameters([&] {
        return write_parameter(member_info{"discriminator", 0, false, true}, discriminator) &&
               value.visit_active([&](auto index, const auto& member) {
                 const member_info& info = T::situ_cases[decltype(index)::value];
                 return write_parameter(info, member) || enter(info.name);
               });
      });
    } else {
      return maybe_delimited(T::situ_extensibility == extensibility::appendable, [&] {
        return write(discriminator) && value.visit_active([&](auto index, const auto& member) {
          return write(member) || enter(T::situ_cases[decltype(index)::value].name);
        });
      });
    }
  }

  /// A member of a final or appendable struct.
  template <class M>
  bool write_plain_member(const member_info& info, const M& member) {
    if constexpr (optional<M>) {
      if (is_v2()) return write(member.has_value()) && (!member.has_value() || write(*member));
      return parameter_v1(info, [&] { return !member.has_value() || write(*member); });
    } else {
      return write(member);
    }
  }

  /// A member of a mutable struct or union.
  template <class M>
  bool write_parameter(const member_info& info, const M& member) {
    if constexpr (optional<M>) {
      return !member.has_value() || write_parameter(info, *member);
    } else if (!is_v2()) {
      return parameter_v1(info, [&] { return write(member); });
    } else if constexpr (scalar<M>) {
      return parameter_v2(info, static_cast<std::uint32_t>(std::countr_zero(sizeof(M)))) && write(member);
    } else {
      return parameter_v2(info, 4) && delimited([&] { return write(member); });
    }
  }

  template <class Members>
  bool parameters(Members&& members) {
    if (is_v2()) return delimited(members);
    return members() && align(4) && put_u32(pid_must_understand | pid_list_end);
  }

  /// Alignment counts from the beginning of the value. The value can therefore still move when its header
  /// must be long.
  template <class Value>
  bool parameter_v1(const member_info& info, Value&& value) {
    if (info.id > id_mask) return fail(encode_problem::bad_id, info.id);
    if (!align(4)) return false;
    const std::size_t header = at_;
    if (!put_u32(0)) return false;
    const std::size_t outer = std::exchange(origin_, at_);
    if (!value()) return false;
    std::size_t length = at_ - header - 4;
    origin_ = outer;
    if (length > std::numeric_limits<std::uint32_t>::max()) return fail(encode_problem::too_long, length);
    if (info.id <= pid_last_short && length <= 0xFFFF) {
      const std::uint32_t flags = info.must_understand ? pid_must_understand : 0;
      patch_u32(header, flags | info.id | static_cast<std::uint32_t>(length) << 16U);
      return true;
    }
    if (!skip(long_header)) return false;
    if (!counts()) std::memmove(data_ + header + 4 + long_header, data_ + header + 4, length);
    patch_u32(header, pid_must_understand | pid_extended | std::uint32_t{long_header} << 16U);
    patch_u32(header + 4, (info.must_understand ? must_understand_v1 : 0U) | info.id);
    patch_u32(header + 8, static_cast<std::uint32_t>(length));
    return true;
  }

  bool parameter_v2(const member_info& info, std::uint32_t length_code) {
    if (info.id > id_mask) return fail(encode_problem::bad_id, info.id);
    const std::uint32_t flag = info.must_understand ? must_understand_v2 : 0;
    return align(4) && put_u32(flag | length_code << 28U | info.id);
  }

  // Containers

  template <class T>
  bool write_sequence(const T* elements, std::size_t count) {
    return maybe_delimited(!is_primitive<T>, [&] {
      return write_count(count) && (count == 0 || write_elements(elements, count));
    });
  }

  template <class T>
  bool write_array(const T& value) {
    return maybe_delimited(!is_primitive<innermost_t<T>>,
                           [&] { return write_elements(value.data(), value.size()); });
  }

  template <class T>
  bool write_elements(const T* elements, std::size_t count) {
    if constexpr (is_run<T>) {
      return align(sizeof(innermost_t<T>)) && put(elements, count * sizeof(T));
    } else {
      for (std::size_t i = 0; i < count; ++i) {
        if constexpr (array<T>) {
          if (!write_elements(elements[i].data(), elements[i].size())) return enter(i);
        } else {
          if (!write(elements[i])) return enter(i);
        }
      }
      return true;
    }
  }

  template <class M>
  bool write_map(const M& entries) {
    constexpr bool primitive = is_primitive<typename M::key_type> && is_primitive<typename M::mapped_type>;
    return maybe_delimited(!primitive, [&] {
      if (!write_count(entries.size())) return false;
      std::size_t index = 0;
      for (const auto& entry : entries) {
        if (!write(entry.first) || !write(entry.second)) return enter(index);
        ++index;
      }
      return true;
    });
  }

  template <class S>
  bool write_string(const S& value) {
    using unit = typename S::value_type;
    const std::basic_string_view<unit> text = value;
    if constexpr (std::is_same_v<unit, char>) {
      if (!counts()) {
        const std::size_t good = utf8_valid_up_to(text);
        if (good != text.size()) return fail(encode_problem::not_utf8, good);
      }
      const char zero = 0;
      return write_count(text.size() + 1) && put(text.data(), text.size()) && put(&zero, 1);
    } else if (is_v2()) {
      return write_count(text.size() * sizeof(unit)) && put(text.data(), text.size() * sizeof(unit));
    } else {
      if (!write_count(text.size())) return false;
      for (const unit each : text) {
        const std::uint32_t wide = each;
        if (!put(&wide, sizeof(wide))) return false;
      }
      return true;
    }
  }

  bool write_count(std::size_t count) {
    if (count > std::numeric_limits<std::uint32_t>::max()) return fail(encode_problem::too_long, count);
    return align(4) && put_u32(static_cast<std::uint32_t>(count));
  }

  // Bytes

  /// In XCDR2 and if `wanted`, puts the length of the content before it.
  template <class Content>
  bool maybe_delimited(bool wanted, Content&& content) {
    return wanted && is_v2() ? delimited(content) : content();
  }
  template <class Content>
  bool delimited(Content&& content) {
    if (!align(4)) return false;
    const std::size_t header = at_;
    if (!put_u32(0) || !content()) return false;
    const std::size_t length = at_ - header - 4;
    if (length > std::numeric_limits<std::uint32_t>::max()) return fail(encode_problem::too_long, length);
    patch_u32(header, static_cast<std::uint32_t>(length));
    return true;
  }

  /// Counts levels in the same way as readers, which refuse values that are nested too deep.
  template <class Content>
  bool deeper(Content&& content) {
    if (depth_ == max_depth) return fail(encode_problem::too_deep, depth_ + 1, max_depth);
    ++depth_;
    const bool ok = content();
    --depth_;
    return ok;
  }

  bool counts() const noexcept { return data_ == nullptr; }
  bool has_room(std::size_t count) {
    return counts() || count <= capacity_ - at_ || fail(encode_problem::no_room, count, capacity_);
  }
  bool align(std::size_t size) {
    const std::size_t to = std::min<std::size_t>(size, is_v2() ? 4 : 8);
    const std::size_t padding = (to - (at_ - origin_) % to) % to;
    if (!has_room(padding)) return false;
    if (!counts()) std::fill_n(data_ + at_, padding, std::byte{});
    at_ += padding;
    return true;
  }
  bool put(const void* bytes, std::size_t count) {
    if (!has_room(count)) return false;
    if (!counts() && count != 0) std::memcpy(data_ + at_, bytes, count);
    at_ += count;
    return true;
  }
  bool put_u32(std::uint32_t value) { return put(&value, sizeof(value)); }
  bool skip(std::size_t count) {
    if (!has_room(count)) return false;
    at_ += count;
    return true;
  }
  void patch_u32(std::size_t where, std::uint32_t value) {
    if (!counts()) std::memcpy(data_ + where, &value, sizeof(value));
  }

  bool fail(encode_problem problem, std::uint64_t found, std::uint64_t limit = 0) {
    error_ = encode_error{problem, {}, found, limit};
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

  std::byte* data_;
  std::size_t capacity_;
  std::size_t at_ = 0;
  std::size_t origin_ = 0;
  unsigned depth_ = 0;
  encoding version_;
  std::span<const std::byte> body_;
  encode_error error_{};
};

}  // namespace situ::detail::cdr
