// The bytes at the front of a region, and the constants of the format (spec/region.md).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "situ/support/platform.hpp"

namespace situ {

/// The two forms of an image.
enum class region_form : std::uint8_t {
  canonical = 0,  ///< compact, in a fixed order, all padding zero: equal values have equal bytes
  live = 1,       ///< as in memory, with free space between the blocks
};

namespace region_detail {

/// "SRGN".
inline constexpr std::uint32_t magic = 0x4E475253;
inline constexpr std::uint16_t version = 2;
/// The unit of size and alignment of blocks. Two words of a bitmap cover two kilobytes. No type of the format
/// needs a greater alignment.
inline constexpr std::uint32_t granule = 16;
/// The offset of the root.
inline constexpr std::uint32_t root_offset = 64;
/// Links are signed 32-bit numbers.
inline constexpr std::uint32_t max_size = 0x7FFF'FFF0;
/// The default maximum size of a region, the same in each language.
inline constexpr std::uint32_t default_limit = std::uint32_t{63} << 20;

/// The front of every region. The members after `root` belong to the process that edits the region: they are
/// zero in canonical images, and never read from bytes of other origin.
struct header {
  std::uint32_t magic;
  std::uint16_t version;
  region_form form;
  std::uint8_t zero;
  std::uint64_t schema_hash;
  std::uint64_t layout_hash;
  std::uint32_t size;
  std::uint32_t root;
  std::uint32_t capacity;
  std::int32_t state;
  /// Not 0: an operation was refused because it would have made a cycle. There was no lack of memory.
  std::uint32_t refused;
  std::uint32_t unused[4];
  /// The offset of the table of versions, in images of appendable types. This is part of the format.
  std::uint32_t versions;
};
static_assert(sizeof(header) == root_offset && std::is_standard_layout_v<header>);

/// The size rounded up to whole granules.
constexpr std::uint64_t in_granules(std::uint64_t bytes) noexcept {
  return (bytes + (granule - 1)) / granule * granule;
}

/// The highest bit of each byte.
inline constexpr std::uint64_t highest_bits = 0x8080'8080'8080'8080U;

/// A granule as two numbers. Shifts of one 128-bit number are slow on many processors.
struct halves {
  std::uint64_t low;
  std::uint64_t high;
};
static_assert(sizeof(halves) == granule);

inline halves load_halves(const void* from) noexcept {
  halves loaded;
  std::memcpy(&loaded, from, sizeof(loaded));
  return loaded;
}

/// Ones in the unused bytes of a granule of which the first `used` bytes are in use.
[[gnu::always_inline]] inline halves unused_mask(std::uint32_t used) noexcept {
  static constexpr auto bytes = [] {
    std::array<std::uint8_t, std::size_t{2} * granule> made{};
    std::fill(made.begin() + granule, made.end(), std::uint8_t{0xFF});
    return made;
  }();
  return load_halves(bytes.data() + (granule - used));
}

/// Whether a granule begins with `used` bytes of ASCII and is otherwise zero. This test recognizes nearly all
/// text as UTF-8.
[[gnu::always_inline]] inline bool is_ascii_then_zero(halves all, std::uint32_t used) noexcept {
  const halves unused = unused_mask(used);
  return ((all.low & (unused.low | highest_bits)) | (all.high & (unused.high | highest_bits))) == 0;
}

inline std::byte* bytes_of(void* object) noexcept { return static_cast<std::byte*>(object); }
inline const std::byte* bytes_of(const void* object) noexcept {
  return static_cast<const std::byte*>(object);
}
/// A link: the distance in bytes from the object that has it to its target.
inline std::int32_t link_from(const void* object, const void* target) noexcept {
  return static_cast<std::int32_t>(bytes_of(target) - bytes_of(object));
}
/// The header of the region to which an object's link leads, or null if the object is in no region.
inline header* header_at(void* object, std::int32_t link) noexcept {
  return link == 0 ? nullptr : reinterpret_cast<header*>(bytes_of(object) + link);
}

}  // namespace region_detail
}  // namespace situ
