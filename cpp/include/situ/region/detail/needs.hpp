// Properties of all types within a type, known at compile time.
#pragma once

#include <cstddef>
#include <type_traits>

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
  constexpr bool is_new() {
    return add(&type_mark<T>);
  }

  constexpr met_types() noexcept = default;
  met_types(const met_types&) = delete;
  met_types& operator=(const met_types&) = delete;
  constexpr ~met_types() { delete[] marks_; }

 private:
  constexpr bool add(const char* mark) {
    for (std::size_t i = 0; i < count_; ++i) {
      if (marks_[i] == mark) return false;
    }
    if (count_ == room_) {
      room_ = room_ * 2 + 16;
      auto* const more = new const char* [room_] {};
      for (std::size_t i = 0; i < count_; ++i) more[i] = marks_[i];
      delete[] marks_;
      marks_ = more;
    }
    marks_[count_++] = mark;
    return true;
  }

  const char** marks_ = nullptr;
  std::size_t count_ = 0;
  std::size_t room_ = 0;
};

/// Searches a type, and all types that it needs, for one for which `Wanted::is<T>` is true.
template <class Wanted>
class type_finder {
 public:
  /// Weak links are not followed: what they lead to is found where it is owned.
  using situ_owned_only = void;

  template <class T>
  constexpr void need() {
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
  [[nodiscard]] constexpr bool found() const noexcept { return found_; }

 private:
  met_types met_;
  bool found_ = false;
};

template <class T, class Wanted>
consteval bool find_wanted() {
  type_finder<Wanted> finder;
  finder.template need<T>();
  return finder.found();
}
/// Whether a wanted type occurs in T.
template <class T, class Wanted>
inline constexpr bool has = find_wanted<T, Wanted>();

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
/// Structs whose versions an image names.
struct appendable_structs {
  template <class T>
  static constexpr bool is = appendable<T>;
};
/// Exactly one type.
template <class Wanted>
struct only {
  template <class T>
  static constexpr bool is = std::is_same_v<T, Wanted>;
};

/// Whether values of a type are keys of sets and maps.
template <class K>
consteval bool find_key() {
  if constexpr (array<K>) {
    return find_key<typename array_traits<K>::element>();
  } else if constexpr (described<K>) {
    return for_each_member<K>([](const auto& m) { return find_key<decltype(type_of(m))>(); });
  } else {
    return scalar<K> || std::is_same_v<K, region_string>;
  }
}

/// The first reason that a type, or one that it needs, cannot lie in a region.
enum class unfit_type { none, member, no_elements, key };
class unfit_finder {
 public:
  template <class T>
  constexpr void need() {
    if constexpr (!storable<T>) {
      note(unfit_type::member);
    } else if constexpr (array<T>) {
      if (std::tuple_size_v<T> == 0) note(unfit_type::no_elements);
      need<typename array_traits<T>::element>();
    } else if constexpr (described<T>) {
      if (!met_.is_new<T>()) return;
      for_each_member<T>([this](const auto& m) {
        this->need<decltype(type_of(m))>();
        return true;
      });
    } else if constexpr (variant<T>) {
      if (met_.is_new<T>()) T::situ_needs(*this);
    } else if constexpr (container<T>) {
      if constexpr (requires { typename T::key_type; }) {
        if (!find_key<typename T::key_type>()) note(unfit_type::key);
      }
      T::situ_needs(*this);
    }
  }
  [[nodiscard]] constexpr unfit_type found() const noexcept { return found_; }

 private:
  constexpr void note(unfit_type reason) noexcept {
    if (found_ == unfit_type::none) found_ = reason;
  }
  met_types met_;
  unfit_type found_ = unfit_type::none;
};
template <class T>
consteval unfit_type find_unfit() {
  if constexpr (described<T>) {
    unfit_finder finder;
    finder.template need<T>();
    return finder.found();
  } else {
    return unfit_type::member;
  }
}
/// Types that are complete and cannot be the root of a region.
template <class T>
concept unfit = requires {
  sizeof(T);
}
&&find_unfit<T>() != unfit_type::none;

}  // namespace situ::region_detail
