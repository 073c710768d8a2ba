// The layout hash of what lies in a region: of a text that names every member with its place and kind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "situ/region/flat_map.hpp"
#include "situ/region/flat_set.hpp"
#include "situ/region/hash_map.hpp"
#include "situ/region/hash_set.hpp"
#include "situ/region/optional.hpp"
#include "situ/region/reflect.hpp"
#include "situ/region/sha256.hpp"
#include "situ/region/string.hpp"
#include "situ/region/unique.hpp"
#include "situ/region/vector.hpp"

namespace situ::region_detail {

/// Writes the lines of a type and of the structs that it needs.
class layout_writer {
 public:
  template <described T>
  void add() {
    const std::string name(situ_region_name(static_cast<const T*>(nullptr)));
    for (const std::string& each : seen_) {
      if (each == name) return;
    }
    seen_.push_back(name);
    line(name, 0, sizeof(T), alignof(T), "struct");
    for_each_member<T>([this, &name](const auto& m) {
      this->add_value<decltype(type_of(m))>(name + "." + std::string(m.name), m.offset);
      return true;
    });
    for_each_member<T>([this](const auto& m) {
      this->add_needed<decltype(type_of(m))>();
      return true;
    });
  }
  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  template <class T>
  struct of {};

  void line(const std::string& path, std::size_t offset, std::size_t size, std::size_t align,
            const std::string& kind) {
    text_ += path + " " + std::to_string(offset) + " " + std::to_string(size) + " " + std::to_string(align) +
             " " + kind + "\n";
  }
  template <class T>
  void add_value(const std::string& path, std::size_t offset) {
    line(path, offset, sizeof(T), alignof(T), kind<T>());
    add_inner(path, of<T>());
  }

  template <class T>
  static std::string kind() {
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
      return std::string(situ_region_name(static_cast<const T*>(nullptr)));
    } else if constexpr (array<T>) {
      return "array[" + std::to_string(std::tuple_size_v<T>) + "]";
    } else {
      return container_kind(of<T>());
    }
  }
  static std::string container_kind(of<region_string>) { return "string"; }
  template <class T>
  static std::string container_kind(of<region_vector<T>>) {
    return "vector";
  }
  template <class T>
  static std::string container_kind(of<region_optional<T>>) {
    return "optional";
  }
  template <class T>
  static std::string container_kind(of<region_unique<T>>) {
    return "unique";
  }
  template <class K>
  static std::string container_kind(of<region_flat_set<K>>) {
    return "flat_set";
  }
  template <class K, class V>
  static std::string container_kind(of<region_flat_map<K, V>>) {
    return "flat_map";
  }
  template <class K>
  static std::string container_kind(of<region_hash_set<K>>) {
    return "hash_set";
  }
  template <class K, class V>
  static std::string container_kind(of<region_hash_map<K, V>>) {
    return "hash_map";
  }

  template <class T>
  void add_inner(const std::string& /*path*/, of<T>) {}
  template <class T, std::size_t N>
  void add_inner(const std::string& path, of<std::array<T, N>>) {
    add_value<T>(path + "[]", 0);
  }
  template <class T>
  void add_inner(const std::string& path, of<region_vector<T>>) {
    add_value<T>(path + "[]", 0);
  }
  template <class T>
  void add_inner(const std::string& path, of<region_optional<T>>) {
    add_value<T>(path + "?", alignof(T) > 8 ? alignof(T) : 8);
  }
  template <class T>
  void add_inner(const std::string& path, of<region_unique<T>>) {
    add_value<T>(path + "*", 0);
  }
  template <class K>
  void add_inner(const std::string& path, of<region_flat_set<K>>) {
    add_value<K>(path + "[]", 0);
  }
  template <class K>
  void add_inner(const std::string& path, of<region_hash_set<K>>) {
    add_value<K>(path + "[]", 0);
  }
  template <class K, class V>
  void add_inner(const std::string& path, of<region_flat_map<K, V>>) {
    add_entry<region_entry<K, V>>(path + "[]");
  }
  template <class K, class V>
  void add_inner(const std::string& path, of<region_hash_map<K, V>>) {
    add_entry<region_entry<K, V>>(path + "[]");
  }
  template <class Entry>
  void add_entry(const std::string& path) {
    line(path, 0, sizeof(Entry), alignof(Entry), "entry");
    for_each_member<Entry>([this, &path](const auto& m) {
      this->add_value<decltype(type_of(m))>(path + "." + std::string(m.name), m.offset);
      return true;
    });
  }

  template <class T>
  void add_needed() {
    if constexpr (described<T>) {
      add<T>();
    } else {
      add_inner_needed(of<T>());
    }
  }
  template <class T>
  void add_inner_needed(of<T>) {}
  template <class T, std::size_t N>
  void add_inner_needed(of<std::array<T, N>>) {
    add_needed<T>();
  }
  template <template <class> class C, class T>
  void add_inner_needed(of<C<T>>) {
    add_needed<T>();
  }
  template <template <class, class> class C, class K, class V>
  void add_inner_needed(of<C<K, V>>) {
    add_needed<K>();
    add_needed<V>();
  }

  std::string text_;
  std::vector<std::string> seen_;
};

/// The text whose hash is the layout hash.
template <described T>
std::string layout_text() {
  layout_writer writer;
  writer.add<T>();
  return "region-v1 " + std::string(situ_region_name(static_cast<const T*>(nullptr))) + "\n" + writer.text();
}

/// Worked out once in a program.
template <described T>
std::uint64_t layout_hash() {
  static const std::uint64_t hash = sha256_u64(layout_text<T>());
  return hash;
}

}  // namespace situ::region_detail
