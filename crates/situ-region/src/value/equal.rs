//! `PartialEq` of values in regions, by value, for handles and regions.
//!
//! Two values are equal if all their members are. Numbers are compared as in Rust: 0.0 equals -0.0, and a NaN
//! nothing. Keys are compared in their order, in which a NaN equals itself. Capacities, the order of hash
//! tables and the places of blocks make no difference. Links are compared by the values they lead to, so a
//! value that is shared equals two equal ones.

use crate::value::equal_walk::Equal;
use crate::value::handle::{Mut, Ref};
use crate::value::plain::Plain;
use crate::value::stored::Stored;

/// Whether two plain values are equal.
#[doc(hidden)]
pub fn plain_equals<T: Plain + PartialEq>(equal: &mut Equal<'_, '_>, a: u32, b: u32) -> bool {
    *Ref::<T>::new(equal.a(), a) == *Ref::<T>::new(equal.b(), b)
}

/// Whether the values are equal, in one region or in two. Numbers are compared as in Rust, links by their
/// values, and hash tables without regard to their order.
///
/// ```
/// use situ_region::{HashMap, Region};
///
/// let (mut one, mut other) = (Region::<HashMap<u32, f32>>::new(), Region::<HashMap<u32, f32>>::new());
/// one.root_mut().extend([(1, 0.5), (2, 1.5)])?;
/// other.root_mut().extend([(2, 1.5), (1, 0.5)])?;
/// assert_eq!(one.root(), other.root());
/// assert_eq!(one, other);
/// # Ok::<(), situ_region::Full>(())
/// ```
impl<'b, T: Stored> PartialEq<Ref<'b, T>> for Ref<'_, T> {
    fn eq(&self, other: &Ref<'b, T>) -> bool {
        let mut equal = Equal::new(self.image(), other.image());
        T::equals(&mut equal, self.at(), other.at()) && equal.rest()
    }
}

impl<'b, T: Stored> PartialEq<Mut<'b, T>> for Ref<'_, T> {
    fn eq(&self, other: &Mut<'b, T>) -> bool {
        *self == other.as_ref()
    }
}

/// As for [`Ref`].
impl<T, U: ?Sized> PartialEq<U> for Mut<'_, T>
where
    T: Stored,
    for<'x> Ref<'x, T>: PartialEq<U>,
{
    fn eq(&self, other: &U) -> bool {
        self.as_ref() == *other
    }
}
