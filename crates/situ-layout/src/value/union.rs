//! What generated unions have in common. The generator lists the cases of a union once, in
//! [`Cases::with_case`]; the functions here visit the case that a discriminator selects.

use std::fmt::{self, Debug};

use crate::value::error::ValidateError;
use crate::value::shape::{MemberInfo, Shape, TypeInfo};
use crate::value::traits::{Discriminator, Union, Validation, Value, Visitor, VisitorMut};

/// A generated union, by its cases.
///
/// # Safety
/// The type is `repr(C)`. It begins with its discriminator, and at [`PAYLOAD`](Self::PAYLOAD) lie the values
/// of all cases, one over the other. [`with_case`](Self::with_case) passes the type of the case that the
/// number selects, and the value of the current case is initialized.
pub unsafe trait Cases: Value {
    /// The schema's properties of the union.
    const INFO: &'static TypeInfo;

    /// The type of the discriminator.
    type Discriminator: Discriminator;

    /// The number of the discriminator of a new union.
    const INITIAL: i128;

    /// The offset of the values.
    const PAYLOAD: usize;

    /// Passes the type of the case that a number selects to a visitor.
    fn with_case<V: CaseVisitor>(raw: i128, visitor: V) -> V::Output;
}

/// A visitor for the case of a union that a discriminator selects.
pub trait CaseVisitor {
    /// The result of the visit.
    type Output;

    /// The result if the discriminator selects no case.
    const NOTHING: Self::Output;

    /// Visits a case: its index in the union's [`INFO`](Cases::INFO), and the type of its value.
    fn case<T: Value>(self, index: usize) -> Self::Output;
}

impl<U: Cases> Union for U {
    const INFO: &'static TypeInfo = <U as Cases>::INFO;

    type Discriminator = <U as Cases>::Discriminator;

    fn discriminator(&self) -> Self::Discriminator {
        // SAFETY: by the contract of the trait, the union begins with its discriminator.
        unsafe { *(&raw const *self).cast::<Self::Discriminator>() }
    }

    fn case_of(discriminator: Self::Discriminator) -> Option<(&'static MemberInfo, Shape)> {
        let (index, shape) = U::with_case(discriminator.raw(), Describe)?;
        Some((<U as Cases>::INFO.members.get(index)?, shape))
    }

    fn visit_case<V: Visitor>(&self, visitor: &mut V) -> Result<(), V::Error> {
        // SAFETY: the pointer is to a whole union.
        current(self, Visit(unsafe { payload(self) }, visitor))
    }

    fn select(&mut self, discriminator: Self::Discriminator) {
        if holds_case_of(self, discriminator.raw()) {
            // SAFETY: the union begins with its discriminator, and the new one selects the same case.
            unsafe { (&raw mut *self).cast::<Self::Discriminator>().write(discriminator) }
        } else {
            // SAFETY: the previous case ends, and the union is valid for writes.
            unsafe {
                end(self);
                begin(self, discriminator);
            }
        }
    }

    fn visit_case_mut<V: VisitorMut>(&mut self, visitor: &mut V) -> Result<(), V::Error> {
        let raw = self.discriminator().raw();
        // SAFETY: the pointer is to a whole union.
        U::with_case(raw, VisitMut(unsafe { payload_mut(self) }, visitor))
    }
}

/// The place of the values of all cases.
///
/// # Safety
/// `union` points into memory of a whole `U`.
unsafe fn payload<U: Cases>(union: *const U) -> *const u8 {
    // SAFETY: by the contract of the trait, the values lie within the union.
    unsafe { union.cast::<u8>().add(U::PAYLOAD) }
}

/// As [`payload`], for values that change.
///
/// # Safety
/// As of [`payload`].
unsafe fn payload_mut<U: Cases>(union: *mut U) -> *mut u8 {
    // SAFETY: by the contract of the trait, the values lie within the union.
    unsafe { union.cast::<u8>().add(U::PAYLOAD) }
}

/// Passes the current case to a visitor, which may read the union's payload.
fn current<U: Cases, V: CaseVisitor>(union: &U, visitor: V) -> V::Output {
    U::with_case(union.discriminator().raw(), visitor)
}

/// Whether a number selects the current case.
fn holds_case_of<U: Cases>(union: &U, raw: i128) -> bool {
    let index = |of: i128| U::with_case(of, Describe).map(|(index, _)| index);
    index(union.discriminator().raw()) == index(raw)
}

/// Makes a union hold a value. Writes the discriminator and this value, and no other part of the payload,
/// which may be large.
///
/// # Safety
/// `raw` selects a case whose values are of type `T`.
pub unsafe fn set<U: Cases, T: Value>(union: &mut U, raw: i128, value: T) {
    // SAFETY: the discriminator says which case is initialized; by the caller's promise, `raw` selects one of
    // the type `T`. The discriminator lies at the beginning.
    unsafe {
        let held = payload_mut(union).cast::<T>();
        if holds_case_of(union, raw) {
            *held = value;
        } else {
            end(union);
            held.write(value);
        }
        (&raw mut *union).cast::<U::Discriminator>().write(U::Discriminator::from_raw(raw));
    }
}

/// The index of a case and the shape of its value.
struct Describe;

impl CaseVisitor for Describe {
    type Output = Option<(usize, Shape)>;
    const NOTHING: Self::Output = None;

    fn case<T: Value>(self, index: usize) -> Self::Output {
        Some((index, T::SHAPE))
    }
}

/// Writes the default value of a case.
struct Begin(*mut u8);

impl CaseVisitor for Begin {
    type Output = ();
    const NOTHING: () = ();

    fn case<T: Value>(self, _: usize) {
        // SAFETY: `begin` passes a place that is valid for writes of any case.
        unsafe { T::default_at(self.0.cast()) }
    }
}

/// Writes a discriminator and the default value of its case.
///
/// # Safety
/// `dst` is valid for writes and aligned.
unsafe fn begin<U: Cases>(dst: *mut U, discriminator: U::Discriminator) {
    // SAFETY: the caller's promise; the discriminator and the cases lie within.
    unsafe {
        dst.cast::<U::Discriminator>().write(discriminator);
        U::with_case(discriminator.raw(), Begin(payload_mut(dst)));
    }
}

/// Drops the value of a case.
struct End(*mut u8);

impl CaseVisitor for End {
    type Output = ();
    const NOTHING: () = ();

    fn case<T: Value>(self, _: usize) {
        // SAFETY: `end` passes the place of an initialized value.
        unsafe { self.0.cast::<T>().drop_in_place() }
    }
}

/// Drops the value of the current case.
///
/// # Safety
/// The caller does not use the case afterwards.
pub unsafe fn end<U: Cases>(union: &mut U) {
    let raw = union.discriminator().raw();
    // SAFETY: the discriminator says which case is initialized. No reference to the union is in use
    // meanwhile.
    unsafe { U::with_case(raw, End(payload_mut(union))) }
}

/// Writes a union with its first discriminator.
///
/// # Safety
/// As of [`crate::InPlace::default_at`].
pub unsafe fn default_at<U: Cases>(dst: *mut U) {
    // SAFETY: the caller's promise.
    unsafe { begin(dst, U::Discriminator::from_raw(U::INITIAL)) }
}

/// Copies the value of a case.
struct CloneTo(*const u8, *mut u8);

impl CaseVisitor for CloneTo {
    type Output = ();
    const NOTHING: () = ();

    fn case<T: Value>(self, _: usize) {
        // SAFETY: `clone_at` passes the place of an initialized value and one that is valid for writes.
        unsafe { T::clone_at(&*self.0.cast(), self.1.cast()) }
    }
}

/// Copies a union.
///
/// # Safety
/// As of [`crate::InPlace::clone_at`].
pub unsafe fn clone_at<U: Cases>(union: &U, dst: *mut U) {
    // SAFETY: the caller's promise; the discriminator and the cases lie within.
    unsafe {
        dst.cast::<U::Discriminator>().write(union.discriminator());
        current(union, CloneTo(payload(union), payload_mut(dst)));
    }
}

/// Checks the bytes of a case.
struct Validate<'a>(*const u8, &'a Validation, &'static [MemberInfo]);

impl CaseVisitor for Validate<'_> {
    type Output = Result<(), ValidateError>;
    const NOTHING: Self::Output = Ok(());

    fn case<T: Value>(self, index: usize) -> Self::Output {
        // SAFETY: `validate_at` passes a place that is valid for reads of any case.
        let validated = unsafe { T::validate_at(self.0.cast(), self.1) };
        validated.map_err(|error| error.in_member(self.2[index].name))
    }
}

/// Checks the bytes of a union.
///
/// # Safety
/// As of [`Value::validate_at`].
pub unsafe fn validate_at<U: Cases>(src: *const U, validation: &Validation) -> Result<(), ValidateError> {
    // SAFETY: the parts lie within the caller's bytes; the discriminator is read once it is valid.
    unsafe {
        let discriminator = src.cast::<U::Discriminator>();
        U::Discriminator::validate_at(discriminator, validation)
            .map_err(|error| error.in_member("discriminator"))?;
        let raw = discriminator.read().raw();
        U::with_case(raw, Validate(payload(src), validation, U::INFO.members))
    }
}

/// Passes the value of a case to a visitor.
struct Visit<'a, V>(*const u8, &'a mut V);

impl<V: Visitor> CaseVisitor for Visit<'_, V> {
    type Output = Result<(), V::Error>;
    const NOTHING: Self::Output = Ok(());

    fn case<T: Value>(self, _: usize) -> Self::Output {
        // SAFETY: `visit_case` passes the place of an initialized value.
        unsafe { &*self.0.cast::<T>() }.visit(self.1)
    }
}

/// Passes the value of a case to a visitor that may change it.
struct VisitMut<'a, V>(*mut u8, &'a mut V);

impl<V: VisitorMut> CaseVisitor for VisitMut<'_, V> {
    type Output = Result<(), V::Error>;
    const NOTHING: Self::Output = Ok(());

    fn case<T: Value>(self, _: usize) -> Self::Output {
        // SAFETY: `visit_case_mut` passes the place of an initialized value, which it borrows mutably.
        unsafe { &mut *self.0.cast::<T>() }.visit_mut(self.1)
    }
}

/// Compares two values of a case.
struct Equal(*const u8, *const u8);

impl CaseVisitor for Equal {
    type Output = bool;
    const NOTHING: bool = true;

    fn case<T: Value>(self, _: usize) -> bool {
        // SAFETY: `eq` passes the places of two initialized values of the same case.
        unsafe { *self.0.cast::<T>() == *self.1.cast::<T>() }
    }
}

/// Whether two unions have the same discriminator, and equal values.
pub fn eq<U: Cases>(union: &U, other: &U) -> bool {
    // SAFETY: the pointers are to whole unions.
    let equal = unsafe { Equal(payload(union), payload(other)) };
    union.discriminator() == other.discriminator() && current(union, equal)
}

/// The index of a case, and its value.
struct Show<'a, U>(&'a U);

impl<'a, U: Cases> CaseVisitor for Show<'a, U> {
    type Output = Option<(usize, &'a dyn Debug)>;
    const NOTHING: Self::Output = None;

    fn case<T: Value>(self, index: usize) -> Self::Output {
        // SAFETY: `fmt` visits the current case, which is initialized.
        Some((index, unsafe { &*payload(self.0).cast::<T>() }))
    }
}

/// Prints a union as a struct with its current case, or with the discriminator if there is none.
pub fn fmt<U: Cases>(f: &mut fmt::Formatter<'_>, name: &str, union: &U) -> fmt::Result {
    let mut shown = f.debug_struct(name);
    match current(union, Show(union)) {
        Some((index, value)) => shown.field(U::INFO.members[index].name, value),
        None => shown.field("discriminator", &union.discriminator()),
    };
    shown.finish()
}
