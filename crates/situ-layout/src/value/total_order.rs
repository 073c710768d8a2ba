//! Floating-point numbers as keys of maps: in the total order of IEEE 754, as in regions.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use crate::value::error::ValidateError;
use crate::value::in_place::{InPlace, Scalar, SelfContained};
use crate::value::shape::{Element, Shape};
use crate::value::traits::{MapKey, Validation, Value, Visitor, VisitorMut};

/// A `float` or `double` that is the key of a map.
///
/// `f32` and `f64` have no order that a map could use, because a NaN is not equal to itself. This type has
/// the total order of IEEE 754, [`total_cmp`](f64::total_cmp): two keys are equal if, and only if, their bits
/// are. So -0.0 comes before 0.0, and a NaN is found again.
#[derive(Clone, Copy, Default)]
#[repr(transparent)]
pub struct TotalOrder<T>(pub T);

macro_rules! floats {
    ($($float:ty)*) => {$(
        impl From<$float> for TotalOrder<$float> {
            fn from(value: $float) -> Self {
                Self(value)
            }
        }

        impl From<TotalOrder<$float>> for $float {
            fn from(key: TotalOrder<$float>) -> Self {
                key.0
            }
        }

        impl PartialEq for TotalOrder<$float> {
            fn eq(&self, other: &Self) -> bool {
                self.0.to_bits() == other.0.to_bits()
            }
        }

        impl Eq for TotalOrder<$float> {}

        impl PartialOrd for TotalOrder<$float> {
            fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
                Some(self.cmp(other))
            }
        }

        impl Ord for TotalOrder<$float> {
            fn cmp(&self, other: &Self) -> Ordering {
                self.0.total_cmp(&other.0)
            }
        }

        impl Hash for TotalOrder<$float> {
            fn hash<H: Hasher>(&self, state: &mut H) {
                self.0.to_bits().hash(state);
            }
        }

        // SAFETY: both functions write a whole value; any bytes form a number.
        unsafe impl InPlace for TotalOrder<$float> {
            type Class = Scalar;

            const DENSE: bool = true;

            unsafe fn default_at(dst: *mut Self) {
                // SAFETY: the caller promises that dst is valid for writes and aligned.
                unsafe { dst.write(Self::default()) }
            }

            unsafe fn clone_at(&self, dst: *mut Self) {
                // SAFETY: as above.
                unsafe { dst.write(*self) }
            }
        }

        impl Value for TotalOrder<$float> {
            const SHAPE: Shape = Shape::one(Element::Number, size_of::<$float>());

            unsafe fn validate_at(_: *const Self, _: &Validation) -> Result<(), ValidateError> {
                Ok(())
            }

            fn visit<V: Visitor>(&self, visitor: &mut V) -> Result<(), V::Error> {
                visitor.number(self.0)
            }

            fn visit_mut<V: VisitorMut>(&mut self, visitor: &mut V) -> Result<(), V::Error> {
                visitor.number(&mut self.0)
            }
        }

        impl MapKey for TotalOrder<$float> {}
        // SAFETY: a number holds no pointer.
        unsafe impl SelfContained for TotalOrder<$float> {}
    )*};
}

floats!(f32 f64);

impl<T: fmt::Debug> fmt::Debug for TotalOrder<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
