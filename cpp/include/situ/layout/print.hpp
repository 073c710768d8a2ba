// Prints messages as readable text: `geometry_msgs::msg::Point{x: 1, y: 2, z: 0}`.
#pragma once

#include <charconv>
#include <concepts>
#include <cstddef>
#include <map>
#include <ostream>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>

#include "situ/layout/message.hpp"

namespace situ {
namespace detail {

/// Longer sequences are cut: the first elements are printed, and the number of the rest.
inline constexpr std::size_t printed_elements = 64;

/// How values of other headers are printed. A specialization has `static void print(printer&, const T&)`.
template <class T>
struct printing;

class printer {
 public:
  explicit printer(std::ostream& out) : out_(out) {}

  template <class T>
  void print(const T& value) {
    if constexpr (requires(printer & by) { printing<T>::print(by, value); }) {
      printing<T>::print(*this, value);
    } else if constexpr (std::is_same_v<T, bool>) {
      out_ << (value ? "true" : "false");
    } else if constexpr (std::is_same_v<T, char>) {
      print_text(std::string_view(&value, 1), '\'');
    } else if constexpr (std::is_same_v<T, char16_t>) {
      out_ << static_cast<unsigned>(value);
    } else if constexpr (std::is_enum_v<T>) {
      out_ << to_string(value);
    } else if constexpr (std::is_arithmetic_v<T>) {
      print_number(value);
    } else if constexpr (string<T>) {
      if constexpr (std::is_same_v<typename T::value_type, char>) {
        print_text(std::string_view(value), '"');
      } else {
        print_wide(std::u16string_view(value));
      }
    } else if constexpr (sequence<T> || array<T>) {
      print_list(value);
    } else if constexpr (map<T>) {
      print_map(value);
    } else if constexpr (optional<T>) {
      if (value.has_value()) {
        print(*value);
      } else {
        out_ << "none";
      }
    } else if constexpr (bulk<T>) {
      out_ << "bulk(" << value.size() << " elements at " << value.offset() << ")";
    } else if constexpr (message_union<T>) {
      out_ << T::situ_name << "{";
      value.visit_active([&](auto index, const auto& member) {
        print_member(T::situ_cases[decltype(index)::value].name, member);
        return true;
      });
      out_ << "}";
    } else {
      out_ << T::situ_name << "{";
      bool first = true;
      for_each_member(value, [&](const member_info& info, const auto& member) {
        if (!first) out_ << ", ";
        first = false;
        print_member(info.name, member);
      });
      if constexpr (requires { T::situ_has_weak_links; }) {
        T::situ_weak_members(
            [&](std::string_view name, const auto& member) {
              if constexpr (!std::same_as<std::remove_cvref_t<decltype(member)>, no_weak_link>) {
                if (!first) out_ << ", ";
                first = false;
                print_member(name, member);
              }
              return true;
            },
            value);
      }
      out_ << "}";
    }
  }

  [[nodiscard]] std::ostream& out() noexcept { return out_; }
  /// How many values within each other `printing` is in, and the numbers of values with several links.
  [[nodiscard]] std::size_t& depth() noexcept { return depth_; }
  [[nodiscard]] std::map<const void*, std::size_t>& numbers() noexcept { return numbers_; }
  template <class T>
  void print_member(std::string_view name, const T& value) {
    out_ << name << ": ";
    print(value);
  }
  void print_text(std::string_view text, char quote) {
    out_ << quote;
    for (const char c : text) print_unit(static_cast<unsigned char>(c), quote);
    out_ << quote;
  }

 private:
  template <class T>
  void print_number(T value) {
    char text[64];
    const std::to_chars_result end = std::to_chars(text, text + sizeof(text), value);
    out_ << std::string_view(text, static_cast<std::size_t>(end.ptr - text));
  }
  template <class T>
  void print_list(const T& list) {
    out_ << "[";
    std::size_t printed = 0;
    for (const auto& element : list) {
      if (printed == printed_elements) {
        out_ << ", ... " << list.size() - printed << " more";
        break;
      }
      if (printed != 0) out_ << ", ";
      print(element);
      ++printed;
    }
    out_ << "]";
  }
  template <class T>
  void print_map(const T& entries) {
    out_ << "{";
    bool first = true;
    for (const auto& entry : entries) {
      if (!first) out_ << ", ";
      first = false;
      print(entry.first);
      out_ << ": ";
      print(entry.second);
    }
    out_ << "}";
  }
  void print_wide(std::u16string_view text) {
    out_ << '"';
    for (const char16_t c : text) {
      if (c < 0x80) {
        print_unit(static_cast<unsigned char>(c), '"');
      } else {
        out_ << "\\u" << hex(c >> 12U) << hex(c >> 8U) << hex(c >> 4U) << hex(c);
      }
    }
    out_ << '"';
  }
  /// Bytes from 0x80 on are parts of UTF-8 characters and are printed unchanged.
  void print_unit(unsigned char c, char quote) {
    if (c == '\n') {
      out_ << "\\n";
    } else if (c == '\t') {
      out_ << "\\t";
    } else if (c == '\\' || c == static_cast<unsigned char>(quote)) {
      out_ << '\\' << static_cast<char>(c);
    } else if (c < 0x20 || c == 0x7F) {
      out_ << "\\x" << hex(static_cast<unsigned>(c) >> 4U) << hex(c);
    } else {
      out_ << static_cast<char>(c);
    }
  }
  static char hex(unsigned value) { return "0123456789abcdef"[value & 0xFU]; }

  std::ostream& out_;
  std::size_t depth_ = 0;
  std::map<const void*, std::size_t> numbers_;
};

}  // namespace detail

/// Prints a generated struct or union as readable text. Long sequences are cut.
template <class T>
requires message<T> || message_union<T> std::ostream& operator<<(std::ostream& out, const T& value) {
  detail::printer(out).print(value);
  return out;
}

/// The text that `operator<<` prints.
template <class T>
requires message<T> || message_union<T>
[[nodiscard]] std::string to_string(const T& value) {
  std::ostringstream out;
  out << value;
  return std::move(out).str();
}

}  // namespace situ
