// Compares a message with its value as JSON. It reads both side by side, without a tree and without a JSON
// library.
#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "situ/layout/message.hpp"

namespace situ_test {

/// Reads JSON as Python's `json.dumps` writes it, in step with a value of the same structure.
/// tests/interop/model.py defines the form of values.
class json_value {
 public:
  explicit json_value(std::string_view text) : rest_(text) {}

  /// Whether the JSON describes the value. If not, `difference` returns the place.
  template <class T>
  bool is(const T& value) {
    return same(value) && (rest_.empty() || fail("text is left"));
  }
  [[nodiscard]] const std::string& difference() const noexcept { return difference_; }

 private:
  template <class T>
  bool same(const T& value) {
    namespace kind = situ::detail;
    if constexpr (std::is_same_v<T, bool>) {
      return word(value ? "true" : "false") || fail("the boolean differs");
    } else if constexpr (std::is_enum_v<T>) {
      return same(static_cast<std::underlying_type_t<T>>(value));
    } else if constexpr (std::is_integral_v<T>) {
      return same_integer(value);
    } else if constexpr (std::is_floating_point_v<T>) {
      return same_floating(value);
    } else if constexpr (kind::string<T>) {
      return same_text(value);
    } else if constexpr (kind::optional<T>) {
      if (!value.has_value()) return word("null") || fail("there is a value");
      return same(*value);
    } else if constexpr (kind::map<T>) {
      return list(value, [this](const auto& entry) {
        return word("[") && same(entry.first) && word(", ") && same(entry.second) && word("]");
      });
    } else if constexpr (kind::sequence<T> || kind::array<T>) {
      return list(value, [this](const auto& element) {
        return same(static_cast<const typename T::value_type&>(element));
      });
    } else if constexpr (situ::message_union<T>) {
      return same_union(value);
    } else {
      return same_struct(value);
    }
  }

  template <class T>
  bool same_struct(const T& value) {
    bool first = true;
    return word("{") &&
           situ::for_each_member(value,
                                 [&](const situ::member_info& info, const auto& member) {
                                   const bool comma = first || word(", ");
                                   first = false;
                                   if (!comma || !word("\"" + std::string(info.name) + "\": "))
                                     return fail("another member");
                                   return same(member) || enter("." + std::string(info.name));
                                 }) &&
           (word("}") || fail("more members"));
  }

  template <class T>
  bool same_union(const T& value) {
    if (!word("{\"discriminator\": ") || !same(value.discriminator()) || !word(", \"case\": ")) {
      return fail("another discriminator");
    }
    bool active = false;
    const bool right = value.visit_active([&](auto index, const auto& member) {
      active = true;
      const std::string name(T::situ_cases[decltype(index)::value].name);
      if (!word("\"" + name + "\", \"value\": ")) return fail("another case");
      return same(member) || enter("." + name);
    });
    return right && (active || word("null, \"value\": null") || fail("there is a case")) && word("}");
  }

  template <class T, class Element>
  bool list(const T& elements, Element element) {
    std::size_t index = 0;
    if (!word("[")) return fail("no list");
    for (const auto& each : elements) {
      if ((index != 0 && !word(", ")) || !element(each)) return enter("[" + std::to_string(index) + "]");
      ++index;
    }
    return word("]") || fail("more than " + std::to_string(index) + " elements");
  }

  template <class T>
  bool same_integer(T value) {
    using wide =
        std::conditional_t<std::is_signed_v<T> && !std::is_same_v<T, char>, std::int64_t, std::uint64_t>;
    wide wanted = 0;
    const auto end = std::from_chars(rest_.data(), rest_.data() + rest_.size(), wanted);
    if (end.ec != std::errc()) return fail("no integer");
    rest_.remove_prefix(static_cast<std::size_t>(end.ptr - rest_.data()));
    if constexpr (std::is_same_v<T, char>) {
      return wanted == static_cast<unsigned char>(value) || fail("another character");
    } else {
      return wanted == static_cast<wide>(value) || fail("another integer");
    }
  }

  template <class T>
  bool same_floating(T value) {
    if (word("\"nan\"")) return std::isnan(value) || fail("no NaN");
    if (word("\"inf\"")) return (std::isinf(value) && value > 0) || fail("not infinite");
    if (word("\"-inf\"")) return (std::isinf(value) && value < 0) || fail("not infinite");
    double wanted = 0;
    const auto end = std::from_chars(rest_.data(), rest_.data() + rest_.size(), wanted);
    if (end.ec != std::errc()) return fail("no number");
    rest_.remove_prefix(static_cast<std::size_t>(end.ptr - rest_.data()));
    const double found = value;
    return (!(found < wanted) && !(found > wanted) && std::signbit(found) == std::signbit(wanted)) ||
           fail("another number");
  }

  template <class T>
  bool same_text(const T& value) {
    std::string wanted;
    if (!read_text(wanted)) return fail("no text");
    if constexpr (std::is_same_v<typename T::value_type, char>) {
      return std::string_view(value) == wanted || fail("another text");
    } else {
      return std::u16string_view(value) == to_utf16(wanted) || fail("another text");
    }
  }

  bool read_text(std::string& text) {
    if (!word("\"")) return false;
    while (!rest_.empty() && rest_.front() != '"') {
      char c = rest_.front();
      rest_.remove_prefix(1);
      if (c == '\\' && !rest_.empty()) {
        c = rest_.front();
        rest_.remove_prefix(1);
        if (c == 'u' && rest_.size() >= 4) {
          unsigned code = 0;  // only control characters are written like this
          std::from_chars(rest_.data(), rest_.data() + 4, code, 16);
          rest_.remove_prefix(4);
          c = static_cast<char>(code);
        } else {
          constexpr std::string_view from = "bfnrt";
          const std::size_t at = from.find(c);
          if (at != std::string_view::npos) c = "\b\f\n\r\t"[at];
        }
      }
      text += c;
    }
    return word("\"");
  }

  static std::u16string to_utf16(std::string_view text) {
    std::u16string units;
    for (std::size_t at = 0; at < text.size();) {
      const auto lead = static_cast<unsigned char>(text[at]);
      const unsigned length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
      char32_t code = length == 1 ? lead : lead & (0xFFU >> (length + 1));
      for (unsigned i = 1; i < length; ++i)
        code = (code << 6U) | (static_cast<unsigned char>(text[at + i]) & 0x3FU);
      at += length;
      if (code >= 0x10000) {
        units += static_cast<char16_t>(0xD800 + ((code - 0x10000) >> 10U));
        code = 0xDC00 + ((code - 0x10000) & 0x3FFU);
      }
      units += static_cast<char16_t>(code);
    }
    return units;
  }

  /// Skips the expected text. Returns false if other text follows.
  bool word(std::string_view expected) {
    if (!rest_.starts_with(expected)) return false;
    rest_.remove_prefix(expected.size());
    return true;
  }
  bool fail(const std::string& what) {
    if (difference_.empty())
      difference_ = ": " + what + " than in `" + std::string(rest_.substr(0, 40)) + "`";
    return false;
  }
  bool enter(const std::string& step) {
    difference_ = step + difference_;
    return false;
  }

  std::string_view rest_;
  std::string difference_;
};

}  // namespace situ_test
