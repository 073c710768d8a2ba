//! Properties of members whose types the generator does not spell. Generated code passes a function from the
//! structure to the member, from which the compiler infers the type.

use crate::message::traits::Message;
use crate::storage::bulk::BulkField;
use crate::value::bulk_ref::BulkCursor;
use crate::value::in_place::{InPlace, SelfContained};
use crate::value::traits::BulkElement;

/// What the members of a structure have in common.
#[derive(Clone, Copy, Debug)]
pub struct Members {
    dense: bool,
    bitwise: bool,
    size: usize,
}

impl Members {
    /// No members.
    #[allow(clippy::new_without_default)]
    pub const fn new() -> Self {
        Self { dense: true, bitwise: true, size: 0 }
    }

    /// These members and one more.
    #[must_use]
    pub const fn and<S, T: InPlace>(self, _: fn(&S) -> &T) -> Self {
        Self {
            dense: self.dense && T::DENSE,
            bitwise: self.bitwise && T::BITWISE,
            size: self.size + size_of::<T>(),
        }
    }

    /// Whether the members are dense and leave no gaps in the structure `S`.
    pub const fn are_dense<S>(self) -> bool {
        self.dense && self.size == size_of::<S>()
    }

    /// Whether the members may be copied by copying their bytes.
    pub const fn are_bitwise(self) -> bool {
        self.bitwise
    }
}

/// Fails to compile unless the member is self-contained.
pub const fn assert_self_contained<S, T: SelfContained>(_: fn(&S) -> &T) {}

/// Fails to compile unless the case of a union is self-contained.
pub const fn assert_case_self_contained<S, T: SelfContained>(_: fn(&S) -> Option<&T>) {}

/// Moves the cursor over a bulk member of `len` elements; `None` if there are more than `BOUND`.
pub fn measure<T: BulkElement, const BOUND: usize>(len: usize, cursor: &mut BulkCursor) -> Option<()> {
    if len > BOUND {
        return None;
    }
    cursor.advance::<T>(len).map(|_| ())
}

/// Moves the cursor over the bulk members within the member.
pub fn measure_bulk<S, T: Message>(
    _: fn(&S) -> &T,
    lengths: &T::BulkLengths,
    cursor: &mut BulkCursor,
) -> Option<()> {
    T::measure_bulk(lengths, cursor)
}

/// Sets the place of a bulk member of `len` elements.
pub fn place<T: BulkElement, B: BulkField<T>>(member: &mut B, len: usize, cursor: &mut BulkCursor) {
    if let Some(offset) = cursor.advance::<T>(len) {
        member.place(offset, len);
    }
}
