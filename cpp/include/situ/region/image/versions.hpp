// Appendable structs: the history of their members, and the table in an image with the members that were
// known to its writer.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "situ/region/detail/needs.hpp"
#include "situ/region/error.hpp"
#include "situ/region/image/format.hpp"
#include "situ/region/image/signature.hpp"

namespace situ::region_detail {

/// This program's version of an appendable struct.
struct struct_version {
  const char* type;
  std::string_view name;
  /// The hash of the name. Tables are sorted by it.
  std::uint64_t key;
  std::vector<std::string_view> members;
  /// `history[i]` is the hash of the first `i` members; `sizes[i]` is their size.
  std::vector<std::uint64_t> history;
  std::vector<std::uint32_t> sizes;
};

template <appendable T>
struct_version version_of_struct() {
  const std::string name(situ_region_name(static_cast<const T*>(nullptr)));
  struct_version made{&type_mark<T>,
                      situ_region_name(static_cast<const T*>(nullptr)),
                      sha256_u64(name + "\n"),
                      {},
                      {sha256_u64("region-appendable-v1 " + name + "\n")},
                      {0}};
  for_each_member<T>([&made, &name](const auto& m) {
    using M = decltype(type_of(m));
    layout_writer lines;
    static_cast<void>(lines.name_of<T>());  // the first of this name
    lines.add_value<M>(name + "." + std::string(m.name), m.offset);
    lines.need<M>();
    char before[17];
    std::snprintf(before, sizeof(before), "%016llx", static_cast<unsigned long long>(made.history.back()));
    made.history.push_back(sha256_u64(std::string(before) + "\n" + lines.text()));
    made.sizes.push_back(static_cast<std::uint32_t>((m.offset + sizeof(M) + 7) / 8 * 8));
    made.members.push_back(m.name);
    return true;
  });
  return made;
}

/// All appendable structs that a type needs, sorted by their keys. Keys must be unique, because images are
/// compared by them.
class version_finder {
 public:
  template <class T>
  void need() {
    if constexpr (described<T>) {
      if (!met_.is_new<T>()) return;
      if constexpr (appendable<T>) versions.push_back(version_of_struct<T>());
      for_each_member<T>([this](const auto& m) {
        this->need<decltype(type_of(m))>();
        return true;
      });
    } else if constexpr (array<T>) {
      need<typename array_traits<T>::element>();
    } else if constexpr (variant<T>) {
      if (met_.is_new<T>()) T::situ_needs(*this);
    } else if constexpr (container<T>) {
      T::situ_needs(*this);
    }
  }
  std::vector<struct_version> versions;

 private:
  met_types met_;
};
template <class T>
requires has<T, appendable_structs>
const std::vector<struct_version>& versions_of() {
  static const std::vector<struct_version> versions = [] {
    version_finder finder;
    finder.need<T>();
    std::sort(finder.versions.begin(), finder.versions.end(),
              [](const struct_version& a, const struct_version& b) { return a.key < b.key; });
    const auto twin =
        std::adjacent_find(finder.versions.begin(), finder.versions.end(),
                           [](const struct_version& a, const struct_version& b) { return a.key == b.key; });
    if (twin != finder.versions.end()) {
      detail::raise(std::logic_error("a region has two structs named " + std::string(twin->name) +
                                     " that can be appended to; give one of them another name"));
    }
    return std::move(finder.versions);
  }();
  return versions;
}

/// The table of versions in images of a type with these structs. Empty if there are none.
inline std::vector<std::byte> table_of(const std::vector<struct_version>& versions) {
  std::vector<std::byte> bytes;
  const auto put = [&bytes]<class Word>(Word word) {
    const auto* const from = bytes_of(&word);
    bytes.insert(bytes.end(), from, from + sizeof(word));
  };
  if (versions.empty()) return bytes;
  std::size_t words = 0;
  for (const struct_version& each : versions) words += 2 + each.members.size();
  put(static_cast<std::uint32_t>(versions.size()));
  put(static_cast<std::uint32_t>(words));
  for (const struct_version& each : versions) {
    put(each.key);
    put(each.sizes.back());
    put(static_cast<std::uint32_t>(each.members.size()));
    for (std::size_t i = 1; i < each.history.size(); ++i) put(each.history[i]);
  }
  return bytes;
}
template <class T>
requires has<T, appendable_structs>
const std::vector<std::byte>& version_table() {
  static const std::vector<std::byte> table = table_of(versions_of<T>());
  return table;
}
/// The size of the table in images of a type, or 0 without a table.
template <class T>
std::uint64_t version_table_size() {
  if constexpr (has<T, appendable_structs>) {
    return version_table<T>().size();
  } else {
    return 0;
  }
}

/// The versions of an image's appendable structs, where they differ from this program's.
struct image_versions {
  struct known {
    const char* type;
    std::uint32_t members;
    std::uint32_t size;
  };
  struct difference {
    std::string_view name;
    std::uint32_t members;
    std::uint32_t here;
  };

  /// Empty when all versions are this program's.
  std::vector<known> structs;
  /// A struct has members that are unknown to this program.
  bool newer = false;
  std::optional<difference> differs;
  /// The first struct that has fewer members in the image.
  std::optional<difference> fewer;

  /// The size of the root, which need not be appendable itself.
  template <class T>
  [[nodiscard]] std::uint32_t root_size() const noexcept {
    const known* const found = of<T>();
    return found == nullptr ? std::uint32_t{sizeof(T)} : found->size;
  }
  template <class T>
  [[nodiscard]] const known* of() const noexcept {
    for (const known& each : structs) {
      if (each.type == &type_mark<T>) return &each;
    }
    return nullptr;
  }
};

/// Refuses an image with other versions than this program's, for callers that accept only equal ones.
inline bool refuse_version(const std::optional<image_versions::difference>& by, region_invalid& error) {
  if (!by) return true;
  error.problem = region_problem::other_version;
  error.name = by->name;
  error.found = by->members;
  error.limit = by->here;
  return false;
}

/// Reads the table of versions of an image of `size` bytes, and compares it with this program's versions.
class version_reader {
 public:
  version_reader(const std::byte* image, std::uint32_t size, region_invalid& error) noexcept
      : image_(image), size_(size), error_(error) {}

  /// The offset of the table, and its size.
  [[nodiscard]] std::uint32_t at() const noexcept { return at_; }
  [[nodiscard]] std::uint32_t bytes() const noexcept { return bytes_; }

  /// Refuses the struct at `at`, which the table does not contain.
  bool lacks(std::uint32_t at) {
    bad();
    error_.offset = at;
    return false;
  }
  [[nodiscard]] bool read(const std::vector<struct_version>& own, const std::vector<std::byte>& own_table,
                          image_versions& found) {
    std::memcpy(&at_, image_ + offsetof(header, versions), sizeof(at_));
    if (at_ < root_offset || at_ % granule != 0) return bad();
    return read_here(own, own_table, found);
  }
  /// The same, for a table at `at`, to which no link leads.
  [[nodiscard]] bool read_at(std::uint32_t at, const std::vector<struct_version>& own,
                             const std::vector<std::byte>& own_table, image_versions& found) {
    at_ = link_at_ = at;
    return read_here(own, own_table, found);
  }

 private:
  [[nodiscard]] bool read_here(const std::vector<struct_version>& own,
                               const std::vector<std::byte>& own_table, image_versions& found) {
    if (std::uint64_t{at_} + 8 > size_) return bad();
    const std::uint64_t whole = 8 + std::uint64_t{get<std::uint32_t>(at_ + 4)} * 8;
    if (at_ + whole > size_) return bad();
    bytes_ = static_cast<std::uint32_t>(whole);
    if (whole == own_table.size() && std::memcmp(image_ + at_, own_table.data(), own_table.size()) == 0)
      return true;
    return compare(own, found);
  }
  template <class Word>
  [[nodiscard]] Word get(std::uint32_t at) const noexcept {
    Word word;
    std::memcpy(&word, image_ + at, sizeof(word));
    return word;
  }
  bool bad() {
    error_.problem = region_problem::bad_versions;
    error_.offset = link_at_;
    error_.found = at_;
    return false;
  }
  [[nodiscard]] bool compare(const std::vector<struct_version>& own, image_versions& found) {
    const std::uint32_t end = at_ + bytes_;
    std::uint32_t entry = at_ + 8;
    std::optional<std::uint64_t> before;
    for (std::uint32_t i = get<std::uint32_t>(at_); i != 0; --i) {
      if (end - entry < 16) return bad();
      const auto key = get<std::uint64_t>(entry);
      const auto size = get<std::uint32_t>(entry + 8);
      const auto members = get<std::uint32_t>(entry + 12);
      const std::uint32_t history = entry + 16;
      if (members > (end - history) / 8 || (before && *before >= key)) return bad();
      entry = history + 8 * members;
      before = key;
      const auto match =
          std::find_if(own.begin(), own.end(), [key](const struct_version& each) { return each.key == key; });
      if (match == own.end()) continue;
      if (!compare_struct(*match, history, members, size, found)) return false;
    }
    return (entry == end && found.differs) || bad();
  }
  [[nodiscard]] bool compare_struct(const struct_version& mine, std::uint32_t history, std::uint32_t members,
                                    std::uint32_t size, image_versions& found) {
    const auto here = static_cast<std::uint32_t>(mine.members.size());
    const std::uint32_t common = std::min(members, here);
    const auto same = [&](std::uint32_t i) {
      return get<std::uint64_t>(history + 8 * i) == mine.history[i + 1];
    };
    if (common != 0 && !same(common - 1)) {
      std::uint32_t first = 0;
      while (same(first)) ++first;
      error_.problem = region_problem::other_history;
      error_.offset = history + 8 * first;
      error_.found = first + 1;
      error_.name = mine.name;
      error_.member = mine.members[first];
      return false;
    }
    const std::uint32_t own_size = mine.sizes[common];
    const bool fits = members <= here ? size == own_size : size >= own_size && size % 8 == 0;
    if (!fits || size > size_) return bad();
    found.structs.push_back({mine.type, members, size});
    if (members == here) return true;
    const image_versions::difference difference{mine.name, members, here};
    found.newer = found.newer || members > here;
    if (!found.differs) found.differs = difference;
    if (!found.fewer && members < here) found.fewer = difference;
    return true;
  }

  const std::byte* image_;
  std::uint32_t size_;
  region_invalid& error_;
  std::uint32_t at_ = 0;
  std::uint32_t link_at_ = offsetof(header, versions);
  std::uint32_t bytes_ = 0;
};

}  // namespace situ::region_detail
