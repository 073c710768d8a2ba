// The bytes at the front of a region, and the constants of the format (spec/region.md).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace situ {

/// Which of its two images a region is.
enum class region_form : std::uint8_t {
  canonical = 0,  ///< compact, in a fixed order, all padding zero: equal values have equal bytes
  live = 1,       ///< as it stands in memory, with free space between the blocks
};

namespace region_detail {

static_assert(std::endian::native == std::endian::little, "regions are little-endian");

/// "SRGN".
inline constexpr std::uint32_t magic = 0x4E475253;
inline constexpr std::uint16_t version = 1;
/// What blocks are measured and aligned in. Two words of a bitmap cover two kilobytes; no type of the format
/// needs a greater alignment.
inline constexpr std::uint32_t granule = 16;
/// Where the root begins.
inline constexpr std::uint32_t root_offset = 64;
/// Links have 32 bits and a sign.
inline constexpr std::uint32_t max_size = 0x7FFF'FFF0;
/// How many links may be followed one after another.
inline constexpr std::uint32_t max_depth = 64;

/// The front of every region. What stands behind `root` belongs to the process that edits the region: zero in
/// canonical images, and never read from bytes that came from elsewhere.
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
  /// Not 0: an operation was refused because it would have made a cycle, and not for want of memory.
  std::uint32_t refused;
  std::uint32_t unused[4];
  /// Where the table of versions begins, in images of types that can be appended to; this is part of the
  /// format.
  std::uint32_t versions;
};
static_assert(sizeof(header) == root_offset && std::is_standard_layout_v<header>);

/// Rounded up to whole granules.
constexpr std::uint64_t in_granules(std::uint64_t bytes) noexcept {
  return (bytes + (granule - 1)) / granule * granule;
}

/// A granule as one number.
__extension__ using wide = unsigned __int128;
static_assert(sizeof(wide) == granule);

inline wide load_wide(const void* from) noexcept {
  std::uint64_t half[2];
  std::memcpy(half, from, sizeof(half));
  return wide{half[1]} << 64U | half[0];
}

/// Whether no byte has its highest bit: so nearly all text is told to be UTF-8.
constexpr bool is_ascii(wide bytes) noexcept {
  constexpr std::uint64_t highest = 0x8080'8080'8080'8080U;
  return ((static_cast<std::uint64_t>(bytes) | static_cast<std::uint64_t>(bytes >> 64U)) & highest) == 0;
}

inline std::byte* bytes_of(void* object) noexcept { return static_cast<std::byte*>(object); }
inline const std::byte* bytes_of(const void* object) noexcept {
  return static_cast<const std::byte*>(object);
}

}  // namespace region_detail
}  // namespace situ
