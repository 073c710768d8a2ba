// Fuzzes packed images of regions: an accepted image is the only one of its value, and becomes a region with
// the same value. The first byte chooses the type; header and table of versions are those of an image of it.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include "region/family.hpp"
#include "region/market.hpp"
#include "situ/region/packed.hpp"
#include "support/memory.hpp"

namespace {

/// Reads the image as one of an R. It has the header of an image of an H.
template <class R, class H>
void run(std::span<const std::uint8_t> data) {
  const std::vector<std::byte> whole = situ::packed(situ::region<H>());
  std::uint32_t root = 0;
  std::memcpy(&root, whole.data() + 28, sizeof(root));
  std::vector<std::byte> bytes(whole.begin(), whole.begin() + root);
  const auto rest = std::as_bytes(data);
  bytes.insert(bytes.end(), rest.begin(), rest.end());
  const auto size = static_cast<std::uint32_t>(bytes.size());
  std::memcpy(bytes.data() + 24, &size, sizeof(size));
  situ_test::aligned_bytes image{std::span<const std::byte>(bytes)};

  const bool viewed = situ::view_packed<R>(image.span()).has_value();
  const auto taken = situ::adopt_packed<R>(image.span());
  if (!taken) {
    if (viewed) std::abort();
    return;
  }
  const std::vector<std::byte> packed = situ::packed(*taken);
  if (std::is_same_v<R, H> && (!viewed || packed != bytes)) std::abort();
  const auto live = situ::region<R>::adopt(taken->bytes());
  if (!live || live->canonical() != taken->canonical() || situ::packed(*live) != packed) std::abort();
  const auto again = situ::adopt_packed<R>(packed);
  if (!again || again->canonical() != taken->canonical()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace before = situ_test::before;
  namespace after = situ_test::after;
  if (size == 0) return 0;
  const std::span<const std::uint8_t> image(data + 1, size - 1);
  switch (data[0] % 8) {
    case 0:
      run<situ_test::Kitchen, situ_test::Kitchen>(image);
      break;
    case 1:
      run<situ_test::Market, situ_test::Market>(image);
      break;
    case 2:
      run<situ_test::Character, situ_test::Character>(image);
      break;
    case 3:
      run<before::Profile, before::Profile>(image);
      break;
    case 4:
      run<after::Profile, after::Profile>(image);
      break;
    case 5:
      run<before::Profile, after::Profile>(image);
      break;
    case 6:
      run<after::Profile, before::Profile>(image);
      break;
    default:
      run<situ_test::Family, situ_test::Family>(image);
      break;
  }
  return 0;
}
