// Rebuilds a region from a checked packed image: each container gets its memory once, in the order of the
// image.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

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
    if (!Form::unpack(*this, to, from) || !later_.finish(0, [](std::uint32_t) {})) return false;
    for (const auto& link : weak_) link.lead(link.at, shared_[link.value]);
    return true;
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
  /// Makes a weak link lead to the shared value at a place in the image, when all values have their places.
  template <class Link>
  void weak(Link& link, const std::byte* value) {
    weak_.push_back({&link, value, [](void* at, void* block) { static_cast<Link*>(at)->situ_link(block); }});
  }

 private:
  struct weak_link {
    void* at;
    const std::byte* value;
    void (*lead)(void*, void*);
  };
  const image_versions* versions_;
  std::unordered_map<const std::byte*, void*> shared_;
  std::vector<weak_link> weak_;
  walk_visits later_;
};

}  // namespace situ::region_detail
