//! Types and literals, for writers and readers in C++.

use crate::proto::model::Scalar;

/// The method of `message`, and the type in C++.
pub fn scalar(scalar: Scalar) -> (&'static str, &'static str) {
    match scalar {
        Scalar::Int32 => ("int32", "::std::int32_t"),
        Scalar::Int64 => ("int64", "::std::int64_t"),
        Scalar::Uint32 => ("uint32", "::std::uint32_t"),
        Scalar::Uint64 => ("uint64", "::std::uint64_t"),
        Scalar::Sint32 => ("sint32", "::std::int32_t"),
        Scalar::Sint64 => ("sint64", "::std::int64_t"),
        Scalar::Fixed32 => ("fixed32", "::std::uint32_t"),
        Scalar::Fixed64 => ("fixed64", "::std::uint64_t"),
        Scalar::Sfixed32 => ("sfixed32", "::std::int32_t"),
        Scalar::Sfixed64 => ("sfixed64", "::std::int64_t"),
        Scalar::Float => ("float32", "float"),
        Scalar::Double => ("float64", "double"),
        Scalar::Bool => ("boolean", "bool"),
    }
}

/// A 32-bit number. The smallest one has no literal in C++.
pub fn int32(number: i32) -> String {
    if number == i32::MIN { "(-2147483647 - 1)".to_owned() } else { number.to_string() }
}
