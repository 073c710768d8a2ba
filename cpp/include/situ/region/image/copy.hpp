// Copies of values behind many links, within and between regions, without recursion.
#pragma once

#include <cstddef>
#include <cstdint>

#include "situ/region/detail/reflect.hpp"
#include "situ/region/image/canonical.hpp"

namespace situ::region_detail {

/// Copies a container with all that it holds to one block, as a part of a canonical image, which then becomes
/// the blocks of the copy. If there is no room, returns false and changes nothing. (Sharing of values is
/// kept, and in the region of the source itself, the copy shares its values with the source.)
template <holder T>
[[nodiscard]] bool copy_whole(T& to, const T& from) {
  if (&to == &from) return true;
  header* const h = to.situ_region();
  header* const home = const_cast<T&>(from).situ_region() == h ? h : nullptr;
  const std::uint64_t own = in_granules(sizeof(T));
  canonical_writer<false> counter(nullptr, own, nullptr, home);
  counter.put_whole(0, from);
  if (counter.is_refused()) {
    h->refused = 1;
    return false;
  }
  if (counter.end() > max_size) return refuse_size(h);
  auto* const block = static_cast<std::byte*>(allocate(h, counter.end()));
  if (block == nullptr) return false;
  const auto at = static_cast<std::uint32_t>(block - bytes_of(h));
  canonical_writer<true> writer(bytes_of(h), at + own, nullptr, home);
  writer.put_whole(at, from);
  release(to);
  relocate(&to, reinterpret_cast<T*>(block), 1);
  deallocate(h, block, own);
  return true;
}

}  // namespace situ::region_detail
