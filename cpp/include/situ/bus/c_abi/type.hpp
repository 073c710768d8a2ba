// A generated message type, described for C.
#pragma once

#include <cstdint>
#include <string>

#include "situ.h"
#include "situ/layout/message.hpp"

namespace situ::detail {

/// A message type for C, with the texts that it points to.
class type_description {
 public:
  template <message T>
  static type_description of() {
    type_description made;
    made.name_ = T::situ_name;
    made.schema_ = T::schema;
    made.raw_.schema_hash = T::schema_hash;
    made.raw_.layout_hash = layout_of<T>();
    made.raw_.encoding = flat_message<T> ? SITU_FLAT : SITU_XCDR1;
    made.raw_.fixed_size = size_of<T>();
    return made;
  }
  /// The type of a struct with storage in regions, with the layout hash of its region.
  template <message T>
  static type_description of_region(std::uint64_t layout_hash) {
    type_description made;
    made.name_ = T::situ_name;
    made.schema_ = T::schema;
    made.raw_.schema_hash = T::schema_hash;
    made.raw_.layout_hash = layout_hash;
    made.raw_.encoding = SITU_REGION;
    return made;
  }
  [[nodiscard]] const situ_type* get() noexcept {
    raw_.name = name_.c_str();
    raw_.schema = schema_.c_str();
    return &raw_;
  }

 private:
  /// The layout of the flat messages that a subscriber of T reads. If T is a message on the heap with a flat
  /// form, this is the layout of that form.
  template <message T>
  static std::uint64_t layout_of() {
    if constexpr (T::layout_hash == 0 && requires { typename rebind<T, flat>; }) {
      return rebind<T, flat>::layout_hash;
    } else {
      return T::layout_hash;
    }
  }

  /// The size of these flat messages, or 0 if there are none.
  template <message T>
  static std::uint32_t size_of() {
    if constexpr (T::layout_hash == 0 && requires { typename rebind<T, flat>; }) {
      return static_cast<std::uint32_t>(sizeof(rebind<T, flat>));
    } else {
      return T::layout_hash == 0 ? 0 : static_cast<std::uint32_t>(sizeof(T));
    }
  }

  std::string name_;
  std::string schema_;
  situ_type raw_{};
};

}  // namespace situ::detail
