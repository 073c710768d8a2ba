// Packed images of regions: the smallest form, to be stored, sent and read in place.
//
//   std::vector<std::byte> image = situ::packed(r);
//   auto read = situ::view_packed<Character>(image);          // at a multiple of 16; checked, nothing copied
//   if (read) use(read->get<&Character::name>().view());
//   auto edited = situ::adopt_packed<Character>(image);       // a region again
//
// spec/region.md describes the bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "situ/region/packed/keyed.hpp"
#include "situ/region/region.hpp"
#include "situ/support/result.hpp"

namespace situ {
namespace region_detail {

/// Sets the sizes of appendable structs to those in packed images.
class packed_sizes {
 public:
  explicit packed_sizes(std::vector<struct_version>& versions) noexcept : versions_(versions) {}

  template <class T>
  void need() {
    if constexpr (described<T>) {
      if (!met_.is_new<T>()) return;
      if constexpr (appendable<T>) set<T>();
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

 private:
  template <class T>
  void set() {
    for (struct_version& each : versions_) {
      if (each.type != &type_mark<T>) continue;
      for (std::size_t i = 0; i < each.sizes.size(); ++i) {
        each.sizes[i] = static_cast<std::uint32_t>(aligned_to(packed_places<T>::of(i).end, 8));
      }
    }
  }

  std::vector<struct_version>& versions_;
  met_types met_;
};

/// The versions of the appendable structs that a type needs, and the table of them, in packed images.
template <class T>
const std::vector<struct_version>& packed_versions_of() {
  static const std::vector<struct_version> versions = [] {
    std::vector<struct_version> made;
    if constexpr (has<T, appendable_structs>) {
      made = versions_of<T>();
      packed_sizes(made).need<T>();
    }
    return made;
  }();
  return versions;
}
template <class T>
const std::vector<std::byte>& packed_version_table() {
  static const std::vector<std::byte> table = table_of(packed_versions_of<T>());
  return table;
}

/// The header of a packed image.
struct packed_header {
  std::uint32_t magic;
  std::uint16_t version;
  std::uint8_t form;
  std::uint8_t zero;
  std::uint64_t schema_hash;
  std::uint64_t layout_hash;
  std::uint32_t size;
  std::uint32_t root;
};
static_assert(sizeof(packed_header) == packed_first);

/// The offset of the root behind a table of `table` bytes.
template <class T>
std::uint32_t packed_root(std::uint64_t table) noexcept {
  return static_cast<std::uint32_t>(aligned_to(packed_first + table, packed_form<T>::align));
}

/// Writes the packed image of a value. Returns its size. If that is more than the capacity, the bytes are of
/// no use.
template <class T>
std::uint64_t write_packed(const T& value, std::byte* to, std::uint64_t capacity) {
  const auto& table = packed_version_table<T>();
  const std::uint32_t root = packed_root<T>(table.size());
  packed_writer writer(to, capacity, root);
  writer.put_bytes(packed_first, table.data(), table.size());
  static_cast<void>(writer.room(packed_form<T>::size, 1));
  writer.template whole<packed_form<T>>(root, value);
  const packed_header front{magic,
                            version,
                            packed_form_number,
                            0,
                            table.empty() ? schema_hash_of<T>() : 0,
                            layout_hash<T>(),
                            static_cast<std::uint32_t>(writer.end()),
                            root};
  writer.put_bytes(0, &front, sizeof(front));
  return writer.end();
}

/// Checks a packed image, at a multiple of 16.
template <class T>
bool check_packed(std::span<const std::byte> bytes, image_versions& versions, std::uint32_t& root,
                  region_invalid& error) {
  const auto fail = [&error](region_problem problem, std::uint64_t offset, std::uint64_t found,
                             std::uint64_t limit = 0) {
    error.problem = problem;
    error.offset = offset;
    error.found = found;
    error.limit = limit;
    return false;
  };
  const std::uint64_t least = packed_first + (appendable<T> ? 0 : packed_form<T>::size);
  if (bytes.size() < least) return fail(region_problem::too_small, 0, bytes.size(), least);
  packed_header h;
  std::memcpy(&h, bytes.data(), sizeof(h));
  const auto& own_table = packed_version_table<T>();
  const std::uint64_t schema = own_table.empty() ? schema_hash_of<T>() : 0;
  const std::uint64_t layout = layout_hash<T>();
  if (h.magic != magic) return fail(region_problem::not_a_region, 0, h.magic, magic);
  if (h.version != version) return fail(region_problem::wrong_version, 4, h.version, version);
  if (h.form != packed_form_number) return fail(region_problem::not_packed, 6, h.form);
  if (h.zero != 0) return fail(region_problem::not_zero, 7, 7);
  if (h.schema_hash != schema || h.layout_hash != layout)
    error.name = situ_region_name(static_cast<const T*>(nullptr));
  if (h.schema_hash != schema) return fail(region_problem::wrong_schema, 8, h.schema_hash, schema);
  if (h.layout_hash != layout) return fail(region_problem::wrong_layout, 16, h.layout_hash, layout);
  if (h.size < least || h.size > bytes.size() || h.size > max_size)
    return fail(region_problem::wrong_size, 24, h.size, bytes.size());
  version_reader reader(bytes.data(), h.size, error);
  if (!own_table.empty() && !reader.read_at(packed_first, packed_versions_of<T>(), own_table, versions))
    return false;
  root = packed_root<T>(reader.bytes());
  if (h.root != root) return fail(region_problem::outside, 28, h.root, h.size);
  const image_versions* const others = versions.structs.empty() ? nullptr : &versions;
  checker<true> check(bytes.data(), h.size, 0, nullptr, others);
  check.begin_packed(packed_first + reader.bytes());
  std::uint32_t members = 0;
  std::uint32_t root_size = packed_form<T>::size;
  std::uint32_t place = 0;
  bool good = true;
  if constexpr (appendable<T>) good = check.template packed_version<T>(root, members, root_size);
  good = good && check.packed_room(root, root_size, packed_form<T>::align, place) &&
         packed_form<T>::check(check, root) && check.template finish<T>() && check.weak_targets() &&
         (check.is_newer() || check.cursor() == h.size ||
          check.fail(region_problem::left_over, check.cursor(), h.size, check.cursor()));
  if (!good) error = check.take_error();
  return good;
}

/// Memory at a multiple of 16 with a copy of bytes.
inline std::vector<image_granule> aligned_copy(std::span<const std::byte> bytes) {
  std::vector<image_granule> copy((bytes.size() + granule - 1) / granule);
  if (!bytes.empty()) std::memcpy(copy.data()->bytes, bytes.data(), bytes.size());
  return copy;
}

}  // namespace region_detail

/// The packed image of a region: equal values have equal bytes.
template <class T>
[[nodiscard]] std::vector<std::byte> packed(const region<T>& from) {
  // Each part is smaller than in the region.
  std::vector<std::byte> image(from.size());
  const std::uint64_t size = region_detail::write_packed(*from, image.data(), image.size());
  const bool fits = size <= image.size();
  image.resize(size);
  if (!fits) static_cast<void>(region_detail::write_packed(*from, image.data(), image.size()));
  return image;
}
/// Writes the packed image to memory, and returns its size. If that is more than there is, the bytes in the
/// memory are of no use.
template <class T>
[[nodiscard]] std::size_t packed_to(const region<T>& from, std::span<std::byte> to) {
  return region_detail::write_packed(*from, to.data(), to.size());
}

/// Returns the value of a packed image, read in place, after the whole image has been checked. `image` begins
/// at a multiple of 16. It must stay allocated and unchanged as long as the value is used.
template <class T>
[[nodiscard]] result<packed_ref<T>, region_invalid> view_packed(std::span<const std::byte> image) {
  region_invalid error{};
  if (reinterpret_cast<std::uintptr_t>(image.data()) % region_detail::granule != 0) {
    error.problem = region_problem::misaligned;
    error.limit = region_detail::granule;
    return failure{std::move(error)};
  }
  region_detail::image_versions versions;
  std::uint32_t root = 0;
  if (!region_detail::check_packed<T>(image, versions, root, error) ||
      !region_detail::refuse_version(versions.fewer, error)) {
    return failure{std::move(error)};
  }
  return packed_ref<T>(image.data() + root);
}

/// Returns a region with the value of a packed image at any address. The image is checked first. A region of
/// the options that has no room for the value gets a higher limit.
template <class T>
[[nodiscard]] result<region<T>, region_invalid> adopt_packed(std::span<const std::byte> image,
                                                             const region_options& options = {}) {
  region_invalid error{};
  const auto copy = region_detail::aligned_copy(image);
  const std::span<const std::byte> bytes = std::as_bytes(std::span(copy)).first(image.size());
  region_detail::image_versions versions;
  std::uint32_t root = 0;
  if (!region_detail::check_packed<T>(bytes, versions, root, error)) return failure{std::move(error)};
  const region_detail::image_versions* const others = versions.structs.empty() ? nullptr : &versions;
  region_options roomy = options;
  for (;;) {
    std::optional<region<T>> made = region<T>::try_open(roomy);
    region_detail::packed_reader reader(others);
    if (made && reader.template whole<region_detail::packed_form<T>>(**made, bytes.data() + root)) {
      return std::move(*made);
    }
    if (!made || roomy.limit >= region_detail::max_size) break;
    roomy.limit = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(std::uint64_t{roomy.limit} * 4 + image.size(), region_detail::max_size));
  }
  error.problem = region_problem::no_memory;
  error.found = image.size();
  error.limit = roomy.limit;
  return failure{std::move(error)};
}

}  // namespace situ
