// Uses every operation of a generated type, so that all of its code is compiled.
#pragma once

#include <gtest/gtest.h>

#include "interop/cases.hpp"
#include "situ/cdr.hpp"

namespace situ_test {

/// Checks that a default message survives encoding and prints, and so do the messages of ROS 2 when
/// tests/interop/ros.py runs the program. A union is part of a message and prints.
template <class T>
void use() {
  SCOPED_TRACE(std::string(T::situ_name));
  const T original{};
  EXPECT_EQ(original, T(original));
  EXPECT_TRUE(to_string(original).starts_with(T::situ_name));
  if constexpr (situ::message<T>) {
    EXPECT_NE(T::schema_hash, 0U);
    EXPECT_NE(T::schema.find("struct"), std::string_view::npos);
    const auto bytes = situ::encode_to_vector(original);
    ASSERT_TRUE(bytes) << bytes.error().message();
    T copy;
    const auto read = situ::decode(copy, *bytes);
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(copy, original);
    exchange<T>();
  }
}

}  // namespace situ_test
