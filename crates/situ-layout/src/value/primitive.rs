//! [`Value`] for numbers, booleans and arrays.

use crate::value::error::{ValidateError, ValidateProblem};
use crate::value::in_place::{Composite, InPlace, Scalar, SelfContained};
use crate::value::shape::{Element, Shape};
use crate::value::traits::{
    BulkElement, Discriminator, MapKey, Number, Validation, Value, Visitor, VisitorMut,
};

macro_rules! numbers {
    ($($number:ty),*) => {$(
        // SAFETY: both functions write a whole value; any bytes form a number.
        unsafe impl InPlace for $number {
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

        impl Value for $number {
            const SHAPE: Shape = Shape::one(Element::Number, size_of::<$number>());

            unsafe fn validate_at(_: *const Self, _: &Validation) -> Result<(), ValidateError> {
                Ok(())
            }

            fn visit<V: Visitor>(&self, visitor: &mut V) -> Result<(), V::Error> {
                visitor.number(*self)
            }

            fn visit_mut<V: VisitorMut>(&mut self, visitor: &mut V) -> Result<(), V::Error> {
                visitor.number(self)
            }
        }

        // SAFETY: a number holds no pointer.
        unsafe impl SelfContained for $number {}
        // SAFETY: a number is plain.
        unsafe impl BulkElement for $number {}

        impl Number for $number {
            #[inline]
            fn from_ne_slice(bytes: &[u8]) -> Option<Self> {
                bytes.try_into().ok().map(Self::from_ne_bytes)
            }

            #[inline]
            fn with_ne_bytes<R>(self, write: impl FnOnce(&[u8]) -> R) -> R {
                write(&self.to_ne_bytes())
            }

            #[inline]
            fn swapped(self) -> Self {
                let mut bytes = self.to_ne_bytes();
                bytes.reverse();
                Self::from_ne_bytes(bytes)
            }
        }
    )*};
}

numbers!(u8, i8, u16, i16, u32, i32, u64, i64, f32, f64);

macro_rules! keys {
    ($($key:ty),*) => {$(impl MapKey for $key {})*};
}

keys!(bool, u8, i8, u16, i16, u32, i32, u64, i64);

macro_rules! discriminators {
    ($($integer:ty),*) => {$(
        impl Discriminator for $integer {
            fn raw(self) -> i128 {
                i128::from(self)
            }

            fn from_raw(raw: i128) -> Self {
                raw as Self
            }
        }
    )*};
}

discriminators!(u8, i8, u16, i16, u32, i32, u64, i64);

impl Discriminator for bool {
    fn raw(self) -> i128 {
        i128::from(self)
    }

    fn from_raw(raw: i128) -> Self {
        raw != 0
    }
}

// SAFETY: both functions write a whole value.
unsafe impl InPlace for bool {
    type Class = Scalar;

    const BITWISE: bool = true;

    unsafe fn default_at(dst: *mut Self) {
        // SAFETY: the caller promises that dst is valid for writes and aligned.
        unsafe { dst.write(false) }
    }

    unsafe fn clone_at(&self, dst: *mut Self) {
        // SAFETY: as above.
        unsafe { dst.write(*self) }
    }
}

impl Value for bool {
    const SHAPE: Shape = Shape::one(Element::Boolean, 1);

    unsafe fn validate_at(src: *const Self, _: &Validation) -> Result<(), ValidateError> {
        // SAFETY: the caller promises one initialized byte at src; as a u8 every value of it is valid.
        match unsafe { src.cast::<u8>().read() } {
            0 | 1 => Ok(()),
            value => Err(ValidateProblem::NotABool { value }.into()),
        }
    }

    fn visit<V: Visitor>(&self, visitor: &mut V) -> Result<(), V::Error> {
        visitor.boolean(*self)
    }

    fn visit_mut<V: VisitorMut>(&mut self, visitor: &mut V) -> Result<(), V::Error> {
        visitor.boolean(self)
    }
}

// SAFETY: a boolean holds no pointer.
unsafe impl SelfContained for bool {}
// SAFETY: a boolean is plain.
unsafe impl BulkElement for bool {}

// SAFETY: every element is written; an array is dense if its elements are.
unsafe impl<T: Value, const N: usize> InPlace for [T; N] {
    type Class = Composite;

    const DENSE: bool = T::DENSE;
    const BITWISE: bool = T::BITWISE;

    unsafe fn default_at(dst: *mut Self) {
        for index in 0..N {
            // SAFETY: dst is valid for N elements, and index is less than N.
            unsafe { T::default_at(dst.cast::<T>().add(index)) }
        }
    }

    unsafe fn vacant_at(dst: *mut Self) {
        for index in 0..N {
            // SAFETY: as above.
            unsafe { T::vacant_at(dst.cast::<T>().add(index)) }
        }
    }

    unsafe fn clone_at(&self, dst: *mut Self) {
        for (index, element) in self.iter().enumerate() {
            // SAFETY: as above.
            unsafe { element.clone_at(dst.cast::<T>().add(index)) }
        }
    }
}

impl<T: Value, const N: usize> Value for [T; N] {
    const SHAPE: Shape = T::SHAPE.array();

    unsafe fn validate_at(src: *const Self, validation: &Validation) -> Result<(), ValidateError> {
        if T::DENSE {
            return Ok(());
        }
        for index in 0..N {
            // SAFETY: src is valid for N elements, and index is less than N.
            unsafe { T::validate_at(src.cast::<T>().add(index), validation) }
                .map_err(|error| error.in_element(index))?;
        }
        Ok(())
    }

    fn visit<V: Visitor>(&self, visitor: &mut V) -> Result<(), V::Error> {
        visitor.array(self)
    }

    fn visit_mut<V: VisitorMut>(&mut self, visitor: &mut V) -> Result<(), V::Error> {
        visitor.array(self)
    }
}

// SAFETY: an array consists of its elements only.
unsafe impl<T: SelfContained, const N: usize> SelfContained for [T; N] {}
// SAFETY: an array consists of its elements only.
unsafe impl<T: BulkElement, const N: usize> BulkElement for [T; N] {}
