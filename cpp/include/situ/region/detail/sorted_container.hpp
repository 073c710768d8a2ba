// The common part of region_sorted_map and region_sorted_set.
#pragma once

#include <cstddef>
#include <cstdint>

#include "situ/region/containers/vector.hpp"
#include "situ/region/detail/key.hpp"
#include "situ/region/detail/over_slots.hpp"

namespace situ::region_detail {

/// The common part of sorted sets and maps, over their vector `slots_`.
template <class Self, class KeyOf>
class sorted_container : public over_slots<Self> {
 public:
  using size_type = std::size_t;

  [[nodiscard]] size_type size() const noexcept { return slots().size(); }
  [[nodiscard]] size_type capacity() const noexcept { return slots().capacity(); }
  void clear() noexcept { slots().clear(); }
  [[nodiscard]] bool try_reserve(size_type count) { return slots().try_reserve(count); }
  void reserve(size_type count) { slots().reserve(count); }
  void shrink_to_fit() noexcept { slots().shrink_to_fit(); }

  // The interface for walks over a region.
  template <class Check>
  [[nodiscard]] bool situ_check(Check& check, std::uint32_t at) const {
    return slots().situ_check(check, at, [this, &check, at] {
      const size_type good = first_not_ascending<KeyOf>(slots().data(), size());
      return good == size() || check.fail(region_problem::not_sorted, at, good);
    });
  }

 private:
  using over_slots<Self>::slots;
};

}  // namespace situ::region_detail
