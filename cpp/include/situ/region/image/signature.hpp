// The layout hash of a type in regions: the hash of a text that names each member with its offset and kind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "situ/region/detail/needs.hpp"
#include "situ/region/detail/reflect.hpp"
#include "situ/region/image/sha256.hpp"

namespace situ::region_detail {

/// Writes the lines of a type and of all structs that it needs.
class layout_writer {
 public:
  template <described T>
  [[gnu::cold]] void add() {
    if (!is_new<T>()) return;
    const std::string name = name_of<T>();
    if constexpr (appendable<T>) {
      line(name, 0, 0, 0, {}, "appendable");
      return;
    }
    line(name, 0, sizeof(T), alignof(T), {}, "struct");
    for_each_member<T>([this, &name](const auto& m) {
      this->add_value<decltype(type_of(m))>(member_path(name, m.name), m.offset);
      return true;
    });
    for_each_member<T>([this](const auto& m) {
      this->need<decltype(type_of(m))>();
      return true;
    });
  }
  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  /// The path of a member.
  [[gnu::cold, gnu::noinline]] static std::string member_path(const std::string& of, std::string_view name) {
    return std::string(of).append(".").append(name);
  }
  /// Returns the name of a struct or union in the text. If several types from different namespaces have one
  /// name, all except the first have a number appended.
  template <class T>
  std::string name_of() {
    return known<T>().text;
  }

 private:
  // The parts that do not depend on a type are functions of their own, compiled once.
  [[gnu::cold, gnu::noinline]] void line(std::string_view path, std::size_t offset, std::size_t size,
                                         std::size_t align, std::string_view labels, std::string_view kind) {
    text_.append(path);
    for (const std::size_t number : {offset, size, align}) {
      char digits[24];
      char* const end = digits + sizeof(digits);
      char* at = end;
      std::size_t left = number;
      do {
        *--at = static_cast<char>('0' + left % 10);
        left /= 10;
      } while (left != 0);
      *--at = ' ';
      text_.append(at, static_cast<std::size_t>(end - at));
    }
    text_.append(" ").append(labels).append(kind).append("\n");
  }
  /// A named struct or union, and whether its lines are written.
  struct named {
    const char* type;
    std::string name;
    std::string text;
    bool written = false;
  };
  template <class T>
  named& known() {
    if constexpr (described<T>) {
      return known_as(&type_mark<T>, situ_region_name(static_cast<const T*>(nullptr)));
    } else {
      return known_as(&type_mark<T>, T::situ_kind());
    }
  }
  [[gnu::cold, gnu::noinline]] named& known_as(const char* type, std::string_view name) {
    std::size_t number = 1;
    for (named& each : named_) {
      if (each.type == type) return each;
      if (each.name == name) ++number;
    }
    std::string text(name);
    if (number != 1) text.append("#").append(std::to_string(number));
    named_.push_back(named{type, std::string(name), std::move(text)});
    return named_.back();
  }
  template <class T>
  bool is_new() {
    return !std::exchange(known<T>().written, true);
  }
  template <class T>
  [[gnu::cold]] std::string kind() {
    if constexpr (std::is_enum_v<T>) {
      return kind<std::underlying_type_t<T>>();
    } else if constexpr (std::is_same_v<T, bool>) {
      return "boolean";
    } else if constexpr (std::is_same_v<T, char>) {
      return "char";
    } else if constexpr (std::is_floating_point_v<T>) {
      return sizeof(T) == 4 ? "float" : "double";
    } else if constexpr (std::is_arithmetic_v<T>) {
      return (std::is_signed_v<T> ? "int" : "uint") + std::to_string(sizeof(T) * 8);
    } else if constexpr (described<T>) {
      return name_of<T>();
    } else if constexpr (variant<T>) {
      return name_of<typename T::situ_region_container>();
    } else if constexpr (array<T>) {
      return "array[" + std::to_string(std::tuple_size_v<T>) + "]";
    } else {
      return T::situ_kind();
    }
  }

 public:
  /// The lines of a member, element or value and of its parts.
  template <class T>
  [[gnu::cold]] void add_value(const std::string& path, std::size_t offset, const std::string& labels = {}) {
    static_assert(storable<T>,
                  "only numbers, enums, region containers, std::array of these, and structs described "
                  "with SITU_REGION can lie in a region");
    static_assert(
        !appendable<T>,
        "a struct that can be appended to is the root of a region, or what a unique or shared link leads "
        "to; other places have a fixed size");
    line(path, offset, sizeof(T), alignof(T), labels, kind<T>());
    if constexpr (array<T>) {
      add_value<typename array_traits<T>::element>(path + "[]", 0);
    } else if constexpr (container<T>) {
      T::situ_lines(*this, path);
    }
  }
  /// The lines of a link's target.
  template <class T>
  void add_linked(const std::string& path, std::size_t offset) {
    if constexpr (appendable<T>) {
      line(path, offset, 0, 0, {}, kind<T>());
    } else {
      add_value<T>(path, offset);
    }
  }
  template <class Entry>
  void add_entry(const std::string& path) {
    line(path, 0, sizeof(Entry), alignof(Entry), {}, "entry");
    for_each_member<Entry>([this, &path](const auto& m) {
      this->add_value<decltype(type_of(m))>(member_path(path, m.name), m.offset);
      return true;
    });
  }

  /// The lines of a union and of its members.
  template <class U>
  void add_union() {
    if (!is_new<U>()) return;
    const std::string name = name_of<U>();
    line(name, 0, sizeof(U), alignof(U), {}, "union");
    add_value<typename U::discriminator_type>(member_path(name, "discriminator"), 0);
    U::situ_describe(
        [this, &name]<class M>(std::string_view member, const std::string& labels, std::size_t offset) {
          this->add_value<M>(member_path(name, member), offset, labels + ":");
        });
    U::situ_describe([this]<class M>(std::string_view, const std::string&, std::size_t) { this->need<M>(); });
  }
  /// The lines of the structs that a value needs.
  template <class T>
  void need() {
    if constexpr (described<T>) {
      add<T>();
    } else if constexpr (array<T>) {
      need<typename array_traits<T>::element>();
    } else if constexpr (container<T>) {
      T::situ_needs(*this);
    }
  }

 private:
  std::string text_;
  std::vector<named> named_;
};

/// Returns the text whose hash is the layout hash.
template <described T>
[[gnu::cold]] std::string layout_text() {
  layout_writer writer;
  writer.add<T>();
  return "region-v2 " + std::string(situ_region_name(static_cast<const T*>(nullptr))) + "\n" + writer.text();
}

/// Computed once per program.
template <described T>
std::uint64_t layout_hash() {
  static_assert(
      find_unfit<T>() == unfit_type::none,
      "only numbers, enums, region containers with keys of these or of strings, std::array of these, "
      "and structs described with SITU_REGION can lie in a region");
  static const std::uint64_t hash = sha256_u64(layout_text<T>());
  return hash;
}

}  // namespace situ::region_detail
