//! Properties of a member whose type the macros do not have. The macros pass a function from the structure to
//! the member, from which the compiler infers the type.

use std::fmt;

use crate::bulk::BulkCursor;
use crate::message::Message;
use crate::value::{InPlace, SelfContained};

/// Whether the member is dense.
pub const fn is_dense<S, T: InPlace>(_: fn(&S) -> &T) -> bool {
    T::DENSE
}

/// Whether the member may be copied by copying its bytes.
pub const fn is_bitwise<S, T: InPlace>(_: fn(&S) -> &T) -> bool {
    T::BITWISE
}

/// The size of the member.
pub const fn size<S, T>(_: fn(&S) -> &T) -> usize {
    size_of::<T>()
}

/// Fails to compile unless the member is self-contained.
pub const fn assert_self_contained<S, T: SelfContained>(_: fn(&S) -> &T) {}

/// Fails to compile unless the case of a union is self-contained.
pub const fn assert_case_self_contained<S, T: SelfContained>(_: fn(&S) -> Option<&T>) {}

/// Moves the cursor over the bulk members within the member.
pub fn measure_bulk<S, T: Message>(
    _: fn(&S) -> &T,
    lengths: &T::BulkLengths,
    cursor: &mut BulkCursor,
) -> Option<()> {
    T::measure_bulk(lengths, cursor)
}

/// Prints the names of the flags that are set, and any remaining bits as a number.
pub fn fmt_flags(
    f: &mut fmt::Formatter<'_>,
    name: &str,
    bits: u64,
    flags: &[(u8, &'static str)],
) -> fmt::Result {
    let mut rest = bits;
    let mut separator = "";
    write!(f, "{name}(")?;
    for (position, flag) in flags {
        if bits >> position & 1 == 1 {
            rest &= !(1 << position);
            write!(f, "{separator}{flag}")?;
            separator = " | ";
        }
    }
    if rest != 0 {
        write!(f, "{separator}{rest:#x}")?;
    }
    f.write_str(")")
}
