// What a type has anywhere within it, worked out once in a program.
#pragma once

#include <algorithm>
#include <string_view>
#include <type_traits>
#include <vector>

#include "situ/region/reflect.hpp"

namespace situ::region_detail {

/// Stands for a type by its address.
template <class T>
inline constexpr char type_mark = 0;

/// Looks through a type and all that it needs for one of which `Wanted::is<T>` is true.
template <class Wanted>
class type_finder {
 public:
  template <class T>
  void need() {
    found_ = found_ || Wanted::template is<T>;
    if constexpr (described<T>) {
      const std::string_view name = situ_region_name(static_cast<const T*>(nullptr));
      if (std::find(seen_.begin(), seen_.end(), name) != seen_.end()) return;
      seen_.push_back(name);
      for_each_member<T>([this](const auto& m) {
        this->need<decltype(type_of(m))>();
        return true;
      });
    } else if constexpr (array<T>) {
      need<typename array_traits<T>::element>();
    } else if constexpr (container<T>) {
      T::situ_needs(*this);
    }
  }
  [[nodiscard]] bool found() const noexcept { return found_; }

 private:
  std::vector<std::string_view> seen_;
  bool found_ = false;
};

/// Whether there is one of those wanted in a type.
template <class T, class Wanted>
bool has() {
  static const bool found = [] {
    type_finder<Wanted> finder;
    finder.template need<T>();
    return finder.found();
  }();
  return found;
}

/// The containers that are trees. The canonical image of a tree can be larger than its live one, by the
/// rounding of a few more nodes; all else only becomes smaller.
struct trees {
  template <class T>
  static constexpr bool is = container<T>&& requires {
    typename T::situ_tree;
  };
};
/// One type.
template <class Wanted>
struct only {
  template <class T>
  static constexpr bool is = std::is_same_v<T, Wanted>;
};

}  // namespace situ::region_detail
