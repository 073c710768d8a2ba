// Rebuilds a region from a checked packed image: each container gets its memory once, in the order of the
// image.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "situ/region/detail/later.hpp"
#include "situ/region/image/versions.hpp"

namespace situ::region_detail {

class packed_reader {
 public:
  /// `versions` describes an image with appendable structs in other versions than this program's. Otherwise
  /// it is null.
  explicit packed_reader(const image_versions* versions) noexcept : versions_(versions) {}

  /// Reads the value at `from`, with everything that it holds, over a new value of a region. Returns false if
  /// the region has no room.
  template <class Form, class T>
  [[nodiscard]] bool whole(T& to, const std::byte* from) {
    return Form::unpack(*this, to, from) && later_.finish(0, [](std::uint32_t) {});
  }
  /// Reads the target of a link with `visit()`: now, or after everything else.
  template <class Visit>
  [[nodiscard]] bool behind(const Visit& visit) {
    return later_.run(visit);
  }
  /// The number of members of an appendable struct in the image.
  template <class T>
  [[nodiscard]] std::uint32_t members_of() const noexcept {
    const auto* const known = versions_ == nullptr ? nullptr : versions_->of<T>();
    return known == nullptr ? ~std::uint32_t{0} : known->members;
  }
  /// The block of a shared value in the region, by its place in the image. Null if it has none yet.
  [[nodiscard]] void*& shared(const std::byte* from) { return shared_[from]; }

 private:
  const image_versions* versions_;
  std::unordered_map<const std::byte*, void*> shared_;
  walk_visits later_;
};

}  // namespace situ::region_detail
