// The bytes at the front of a region, and the constants of the format (spec/region.md).
#pragma once

#include <algorithm>
#include <array>
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
/// How large a region may become unless its options say otherwise: the same in each language.
inline constexpr std::uint32_t default_limit = std::uint32_t{63} << 20;
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

/// The highest bit of each byte.
inline constexpr std::uint64_t highest_bits = 0x8080'8080'8080'8080U;

/// A granule as two numbers. As one of 128 bits, shifting it would take instructions that are slow on many
/// processors.
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

/// Ones where a granule of which `used` bytes are in use, at most all, has its other bytes.
[[gnu::always_inline]] inline halves unused_mask(std::uint32_t used) noexcept {
  static constexpr auto bytes = [] {
    std::array<std::uint8_t, std::size_t{2} * granule> made{};
    std::fill(made.begin() + granule, made.end(), std::uint8_t{0xFF});
    return made;
  }();
  return load_halves(bytes.data() + (granule - used));
}

/// Whether a granule begins with `used` bytes of ASCII and is zero behind them. So nearly all text is told to
/// be UTF-8.
[[gnu::always_inline]] inline bool is_ascii_then_zero(halves all, std::uint32_t used) noexcept {
  const halves unused = unused_mask(used);
  return ((all.low & (unused.low | highest_bits)) | (all.high & (unused.high | highest_bits))) == 0;
}

inline std::byte* bytes_of(void* object) noexcept { return static_cast<std::byte*>(object); }
inline const std::byte* bytes_of(const void* object) noexcept {
  return static_cast<const std::byte*>(object);
}

}  // namespace region_detail
}  // namespace situ
