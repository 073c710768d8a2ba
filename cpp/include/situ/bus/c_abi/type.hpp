// A generated message type, described for C.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>

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
    made.raw_.layout_hash = flat_form_t<T>::layout_hash;
    made.raw_.encoding = flat_message<T> ? SITU_FLAT : SITU_XCDR1;
    made.raw_.fixed_size = made.raw_.layout_hash == 0 ? 0 : sizeof(flat_form_t<T>);
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
  /// The type of the flat messages that a subscriber of T reads: if T is a message on the heap with a flat
  /// form, that form.
  template <message T>
  static auto flat_form() {
    if constexpr (T::layout_hash == 0 && requires { typename rebind<T, flat>; }) {
      return std::type_identity<rebind<T, flat>>();
    } else {
      return std::type_identity<T>();
    }
  }
  template <message T>
  using flat_form_t = typename decltype(flat_form<T>())::type;

  std::string name_;
  std::string schema_;
  situ_type raw_{};
};

}  // namespace situ::detail
