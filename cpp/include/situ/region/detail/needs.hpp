// Properties of all types within a type, computed once per program.
#pragma once

#include <algorithm>
#include <type_traits>
#include <vector>

#include "situ/region/detail/reflect.hpp"

namespace situ::region_detail {

/// Identifies a type by an address.
template <class T>
inline constexpr char type_mark = 0;

/// The set of types visited so far.
class met_types {
 public:
  /// Adds a type. Returns whether it is new.
  template <class T>
  bool is_new() {
    if (std::find(met_.begin(), met_.end(), &type_mark<T>) != met_.end()) return false;
    met_.push_back(&type_mark<T>);
    return true;
  }

 private:
  std::vector<const char*> met_;
};

/// Searches a type, and all types that it needs, for one for which `Wanted::is<T>` is true.
template <class Wanted>
class type_finder {
 public:
  /// Weak links are not followed: what they lead to is found where it is owned.
  using situ_owned_only = void;

  template <class T>
  void need() {
    found_ = found_ || Wanted::template is<T>;
    if constexpr (described<T>) {
      if (!met_.is_new<T>()) return;
      for_each_member<T>([this](const auto& m) {
        this->need<decltype(type_of(m))>();
        return true;
      });
    } else if constexpr (array<T>) {
      need<typename array_traits<T>::element>();
    } else if constexpr (variant<T>) {
      if (met_.is_new<T>()) T::situ_needs(*this);
    } else if constexpr (container<T>) {
      T::situ_needs(*this);
    }
  }
  [[nodiscard]] bool found() const noexcept { return found_; }

 private:
  met_types met_;
  bool found_ = false;
};

/// Whether a wanted type occurs in T.
template <class T, class Wanted>
bool has() {
  static const bool found = [] {
    type_finder<Wanted> finder;
    finder.template need<T>();
    return finder.found();
  }();
  return found;
}

/// Containers that are trees. A tree's canonical image can be larger than its live one, by the rounding of a
/// few more nodes. All other containers become smaller.
struct trees {
  template <class T>
  static constexpr bool is = container<T>&& requires {
    typename T::situ_tree;
  };
};
/// Links that compare like pointers.
struct shared_links {
  template <class T>
  static constexpr bool is = container<T>&& requires {
    typename T::situ_shares;
  };
};
/// Exactly one type.
template <class Wanted>
struct only {
  template <class T>
  static constexpr bool is = std::is_same_v<T, Wanted>;
};

}  // namespace situ::region_detail
