// The walks over a region for a container whose whole state is one member.
#pragma once

#include <cstdint>

#include "situ/region/image/format.hpp"

namespace situ::region_detail {

/// The interface for walks over a region of `Self`, a set or map whose whole state is its member `slots_`.
template <class Self>
class over_slots {
 public:
  over_slots() noexcept = default;
  over_slots(const over_slots&) = delete;
  over_slots& operator=(const over_slots&) = delete;

  [[nodiscard]] header* situ_region() noexcept { return slots().situ_region(); }
  void situ_attach(header* h) noexcept { slots().situ_attach(h); }
  void situ_moved(std::int32_t distance) noexcept { slots().situ_moved(distance); }
  template <class Walk>
  void situ_compact(Walk& walk) noexcept {
    slots().situ_compact(walk);
  }
  void situ_release() noexcept { slots().situ_release(); }
  template <class Writer>
  void situ_write(Writer& writer, std::uint32_t at) const {
    slots().situ_write(writer, at);
  }
  template <class Check>
  [[nodiscard]] bool situ_check(Check& check, std::uint32_t at) const {
    return slots().situ_check(check, at);
  }

 protected:
  [[nodiscard]] auto& slots() noexcept { return static_cast<Self&>(*this).slots_; }
  [[nodiscard]] const auto& slots() const noexcept { return static_cast<const Self&>(*this).slots_; }
};

}  // namespace situ::region_detail
