//! Conversion between regions and the other storages of a generated type, member by member. Generated code
//! calls the functions of this module, one for each member.
//!
//! ```text
//!   key   keys of sets and maps
//!   read  reads a message from an image of its region form
//!   weak  weak links, which messages do not have
//! ```

mod key;
pub(crate) mod read;
mod weak;

pub use key::KeyOf;
pub use weak::{clear_weak, load_weak};

use std::ops::Deref;

use situ_layout::assign::{self, AssignError, Bodies};
use situ_layout::{
    BulkError, BulkField, FieldPath, Headroom, MapField, OpaqueBuffer, OptionalField, SequenceField,
    TextField, Value, WideTextField, default_value, reset, within,
};
use thiserror::Error;

use crate::containers::hash::{HashMap, HashSet};
use crate::containers::key::Key;
use crate::containers::maybe::{Maybe, Unique};
use crate::containers::shared::Shared;
use crate::containers::sorted::{SortedMap, SortedSet};
use crate::containers::text::{Text, str_at};
use crate::containers::tree::{OrderedMap, OrderedSet};
use crate::containers::vector::{self, Vector};
use crate::error::Full;
use crate::memory::blocks::{Memory, MemoryMut};
use crate::value::assign::Assign;
use crate::value::element::Of;
use crate::value::handle::{Mut, Ref};
use crate::value::plain::{plain_values, put, put_plain};
use crate::value::scalar::{Bool, Char};
use crate::value::stored::Stored;

/// Why a message could not be stored in a region.
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The region may not become larger.
    #[error(transparent)]
    Full(#[from] Full),
    /// A bulk member of the message does not lie in its body.
    #[error("{path}: {problem}")]
    Bulk {
        /// The member.
        path: FieldPath,
        /// What is wrong with it.
        problem: BulkError,
    },
    /// A member of the message is in memory that only ROS can read.
    #[error("{path}: {buffer}")]
    OpaqueBuffer {
        /// The member.
        path: FieldPath,
        /// The buffer.
        buffer: OpaqueBuffer,
    },
}

situ_layout::debug_as_text!(StoreError);

impl From<OpaqueBuffer> for StoreError {
    fn from(buffer: OpaqueBuffer) -> Self {
        Self::OpaqueBuffer { path: FieldPath::default(), buffer }
    }
}

impl From<BulkError> for StoreError {
    fn from(error: BulkError) -> Self {
        match error {
            BulkError::OpaqueBuffer(buffer) => buffer.into(),
            problem => Self::Bulk { path: FieldPath::default(), problem },
        }
    }
}

impl StoreError {
    /// The path of the member at fault; `None` if the region is at fault.
    fn path_mut(&mut self) -> Option<&mut FieldPath> {
        match self {
            Self::Full(_) => None,
            Self::Bulk { path, .. } | Self::OpaqueBuffer { path, .. } => Some(path),
        }
    }

    /// Adds the enclosing member to the path.
    #[doc(hidden)]
    #[must_use]
    pub fn in_member(mut self, name: &'static str) -> Self {
        self.path_mut().into_iter().for_each(|path| path.enter_member(name));
        self
    }

    /// Adds the index of the enclosing element to the path.
    #[must_use]
    fn in_element(mut self, index: usize) -> Self {
        self.path_mut().into_iter().for_each(|path| path.enter_element(index));
        self
    }
}

/// A type whose values in a region can be assigned from a message with another storage. If it fails, the
/// value in the region is valid and a mixture of old and new members.
pub trait StoreFrom<V>: Stored {
    /// Stores the members of a message whose bulk members lie in `body`.
    fn store(memory: MemoryMut<'_>, at: u32, from: &V, body: &[u8]) -> Result<(), StoreError>;
}

/// A type whose values in a region can be read into a message with another storage. If it fails, the message
/// holds a mixture.
pub trait LoadInto<V>: Stored {
    /// Reads the members. Bulk members are written to the bodies.
    fn load(from: Ref<'_, Self>, to: &mut V, bodies: &mut Bodies<'_>) -> Result<(), AssignError>;
}

impl<T: Stored> Ref<'_, T> {
    /// Reads the value into a message with another storage. Bulk members of a flat message are written to
    /// `body`.
    pub fn load_into<M>(self, message: &mut M, body: &mut [u8]) -> Result<(), AssignError>
    where
        T: LoadInto<M>,
    {
        T::load(self, message, &mut Bodies::new(&[], body))
    }

    /// Reads the value into a new message on the heap.
    pub fn to_message<M: Default>(self) -> Result<M, AssignError>
    where
        T: LoadInto<M>,
    {
        let mut message = M::default();
        self.load_into(&mut message, &mut [])?;
        Ok(message)
    }
}

impl<T: Stored> Mut<'_, T> {
    /// Stores the value of a message with another storage. Bulk members of a flat message lie in its `body`.
    pub fn store<V>(&mut self, message: &V, body: &[u8]) -> Result<(), StoreError>
    where
        T: StoreFrom<V>,
    {
        let at = self.at();
        T::store(MemoryMut(self.memory()), at, message, body)
    }
}

/// A type whose values in a region correspond to a `V` that does not depend on the storage.
pub trait Copied<V>: Stored {
    /// Writes a value.
    fn put(memory: MemoryMut<'_>, at: u32, value: &V);
    /// Reads a value.
    fn get(from: Ref<'_, Self>) -> V;
    /// Writes several consecutive values.
    fn put_all(MemoryMut(memory): MemoryMut<'_>, at: u32, values: &[V]) {
        for (i, value) in (0..).zip(values) {
            Self::put(MemoryMut(memory), at + i * Self::SIZE, value);
        }
    }
    /// Several consecutive values in place, if their bytes are those of `V`.
    fn slice(_image: &[u8], _at: u32, _count: u32) -> Option<&[V]> {
        None
    }
}

/// Implements [`Copied`] for plain types, which are the same within regions and outside.
macro_rules! copied_plain {
    ($($type:ty)*) => {$(
        impl Copied<$type> for $type {
            fn put(memory: MemoryMut<'_>, at: u32, value: &$type) {
                put_plain(memory, at, std::slice::from_ref(value));
            }
            fn get(from: Ref<'_, $type>) -> $type {
                *from
            }
            fn put_all(memory: MemoryMut<'_>, at: u32, values: &[$type]) {
                put_plain(memory, at, values);
            }
            fn slice(image: &[u8], at: u32, count: u32) -> Option<&[$type]> {
                Some(plain_values(image, at, count))
            }
        }
    )*};
}

copied_plain! { u8 u16 u32 u64 i8 i16 i32 i64 f32 f64 }

impl Copied<bool> for Bool {
    fn put(MemoryMut(memory): MemoryMut<'_>, at: u32, value: &bool) {
        put(memory, at, u8::from(*value));
    }
    fn get(from: Ref<'_, Self>) -> bool {
        from.get()
    }
}

impl Copied<u8> for Char {
    fn put(MemoryMut(memory): MemoryMut<'_>, at: u32, value: &u8) {
        put(memory, at, *value);
    }
    fn get(from: Ref<'_, Self>) -> u8 {
        from.0
    }
}

impl<R: Copied<V>, V: Value + Copy, const N: usize> Copied<[V; N]> for [R; N] {
    fn put(MemoryMut(memory): MemoryMut<'_>, at: u32, value: &[V; N]) {
        R::put_all(MemoryMut(memory), at, value);
    }
    fn get(from: Ref<'_, Self>) -> [V; N] {
        std::array::from_fn(|i| R::get(from.part(i as u32 * R::SIZE)))
    }
}

/// A container and the type of its elements.
#[doc(hidden)]
pub trait Holds: Stored {
    /// The elements.
    type Element: Stored;
}

/// A map and the types of its keys and values.
#[doc(hidden)]
pub trait Maps: Stored {
    /// The keys.
    type Key: Key;
    /// The values.
    type Value: Stored;
    /// Removes all entries.
    fn clear(memory: MemoryMut<'_>, at: u32);
    /// The place of a key's value. A missing key gets a default value.
    fn entry(memory: MemoryMut<'_>, at: u32, key: <Self::Key as Key>::View<'_>) -> Result<u32, Full>;
    /// Calls a function for each entry.
    fn each<'r, E>(
        from: Ref<'r, Self>,
        call: impl FnMut(<Self::Key as Key>::View<'r>, Ref<'r, Self::Value>) -> Result<(), E>,
    ) -> Result<(), E>;
}

/// A container that holds one value or none.
#[doc(hidden)]
pub trait Holds01: Holds {
    /// Whether other links may lead to the same value.
    const SHARES: bool = false;
    /// The place of the value. If there is none, a default value is made.
    fn fill_at(memory: MemoryMut<'_>, at: u32) -> Result<u32, Full>;
    /// The value.
    fn value(from: Ref<'_, Self>) -> Option<Ref<'_, Self::Element>>;
}

/// A set and its operations on keys.
#[doc(hidden)]
pub trait Sets: Holds {
    /// Removes all keys.
    fn clear(memory: MemoryMut<'_>, at: u32);
    /// Adds a key.
    fn add(memory: MemoryMut<'_>, at: u32, key: <Self::Element as Key>::View<'_>) -> Result<(), Full>
    where
        Self::Element: Key;
    /// The keys.
    fn keys<'r>(from: Ref<'r, Self>) -> impl ExactSizeIterator<Item = <Self::Element as Key>::View<'r>>
    where
        Self::Element: Key;
}

impl<T: Stored> Holds for Vector<T> {
    type Element = T;
}
impl<T: Stored, const N: usize> Holds for [T; N] {
    type Element = T;
}

macro_rules! holds_one {
    ($($name:ident)*) => {$(
        impl<T: Stored> Holds for $name<T> {
            type Element = T;
        }
    )*};
}
holds_one! { Maybe Unique Shared }

impl<T: Stored> Holds01 for Maybe<T> {
    fn fill_at(MemoryMut(memory): MemoryMut<'_>, at: u32) -> Result<u32, Full> {
        Ok(Mut::<Self>::new(memory, at).fill().at())
    }
    fn value(from: Ref<'_, Self>) -> Option<Ref<'_, T>> {
        from.get()
    }
}

impl<T: Stored> Holds01 for Unique<T> {
    fn fill_at(MemoryMut(memory): MemoryMut<'_>, at: u32) -> Result<u32, Full> {
        Ok(Mut::<Self>::new(memory, at).fill()?.at())
    }
    fn value(from: Ref<'_, Self>) -> Option<Ref<'_, T>> {
        from.get()
    }
}

macro_rules! keyed {
    ($($set:ident $map:ident)*) => {$(
        impl<K: Key> Holds for $set<K> {
            type Element = K;
        }

        impl<K: Key> Sets for $set<K> {
            fn clear(MemoryMut(memory): MemoryMut<'_>, at: u32) {
                Mut::<Self>::new(memory, at).clear();
            }
            fn add(MemoryMut(memory): MemoryMut<'_>, at: u32, key: K::View<'_>) -> Result<(), Full> {
                Mut::<Self>::new(memory, at).insert(key).map(drop)
            }
            fn keys<'r>(from: Ref<'r, Self>) -> impl ExactSizeIterator<Item = K::View<'r>> {
                Counted { left: from.len(), inner: from.iter() }
            }
        }

        impl<K: Key, V: Stored> Maps for $map<K, V> {
            type Key = K;
            type Value = V;
            fn clear(MemoryMut(memory): MemoryMut<'_>, at: u32) {
                Mut::<Self>::new(memory, at).clear();
            }
            fn entry(MemoryMut(memory): MemoryMut<'_>, at: u32, key: K::View<'_>) -> Result<u32, Full> {
                Ok(Mut::<Self>::new(memory, at).entry(key)?.at())
            }
            fn each<'r, E>(
                from: Ref<'r, Self>,
                mut call: impl FnMut(K::View<'r>, Ref<'r, V>) -> Result<(), E>,
            ) -> Result<(), E> {
                from.iter().try_for_each(|(key, value)| call(key, value))
            }
        }
    )*};
}
keyed! { SortedSet SortedMap HashSet HashMap OrderedSet OrderedMap }

/// An iterator with a known length.
struct Counted<I> {
    left: usize,
    inner: I,
}

impl<I: Iterator> Iterator for Counted<I> {
    type Item = I::Item;
    fn next(&mut self) -> Option<I::Item> {
        let next = self.inner.next()?;
        self.left = self.left.saturating_sub(1);
        Some(next)
    }
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<I: Iterator> ExactSizeIterator for Counted<I> {}

impl<T: Stored> Holds01 for Shared<T> {
    const SHARES: bool = true;
    /// A value that others share is left to them.
    fn fill_at(MemoryMut(memory): MemoryMut<'_>, at: u32) -> Result<u32, Full> {
        if Ref::<Self>::new(memory.bytes(), at).links() > 1 {
            Mut::<Self>::new(memory, at).clear();
        }
        Ok(Mut::<Self>::new(memory, at).fill()?.at())
    }
    fn value(from: Ref<'_, Self>) -> Option<Ref<'_, T>> {
        from.get()
    }
}

/// Stores the value of a nested member or element.
type Stores<V> = fn(MemoryMut<'_>, u32, &V, &[u8]) -> Result<(), StoreError>;
/// Reads the value of a nested member or element.
type Loads<R, V> = fn(Ref<'_, R>, &mut V, &mut Bodies<'_>) -> Result<(), AssignError>;

/// Replaces a value by the default, in zeroed memory.
fn renew<R: Stored>(memory: &mut Memory, at: u32) {
    R::release(MemoryMut(memory), at);
    memory.zero(at, R::SIZE);
    R::begin(MemoryMut(memory), at);
}

/// Stores a value that does not depend on the storage.
pub fn store_copy<R: Copied<V>, V>(
    memory: MemoryMut<'_>,
    at: u32,
    from: &V,
    _: &[u8],
) -> Result<(), StoreError> {
    R::put(memory, at, from);
    Ok(())
}

/// Stores a string.
pub fn store_text<V: TextField>(
    memory: MemoryMut<'_>,
    at: u32,
    from: &V,
    _: &[u8],
) -> Result<(), StoreError> {
    Ok(Text::assign(memory, at, &*from.to_text())?)
}

/// Stores a wide string.
pub fn store_wide<V: Deref<Target = [u16]>>(
    MemoryMut(memory): MemoryMut<'_>,
    at: u32,
    from: &V,
    _: &[u8],
) -> Result<(), StoreError> {
    store_slice::<u16, u16>(memory, at, from)
}

/// Stores a sequence of values that do not depend on the storage.
pub fn store_copies<R: Copied<V>, V: Value>(
    MemoryMut(memory): MemoryMut<'_>,
    at: u32,
    from: &impl SequenceField<V>,
    _: &[u8],
) -> Result<(), StoreError> {
    store_slice::<R, V>(memory, at, from.elements()?)
}

/// Stores values that do not depend on the storage as a vector.
fn store_slice<R: Copied<V>, V>(memory: &mut Memory, at: u32, from: &[V]) -> Result<(), StoreError> {
    let count = u32::try_from(from.len()).map_err(|_| memory.full())?;
    let mut to = Mut::<Vector<R>>::new(memory, at);
    to.clear();
    to.reserve(from.len())?;
    let begin = vector::extend_zeroed(Of::<R>::TYPE, memory, at, count);
    R::put_all(MemoryMut(memory), begin, from);
    Ok(())
}

/// Stores a sequence.
pub fn store_list<R: Stored, V: Value>(
    MemoryMut(memory): MemoryMut<'_>,
    at: u32,
    from: &impl SequenceField<V>,
    body: &[u8],
    store: Stores<V>,
) -> Result<(), StoreError> {
    let from = from.elements()?;
    let mut to = Mut::<Vector<R>>::new(memory, at);
    to.clear();
    to.reserve(from.len())?;
    for (index, value) in from.iter().enumerate() {
        let place = Mut::<Vector<R>>::new(memory, at).push_default()?.at();
        store(MemoryMut(memory), place, value, body).map_err(|error| error.in_element(index))?;
    }
    Ok(())
}

/// Stores a sequence that is a set in regions.
pub fn store_set<R: Sets, V: Value>(
    MemoryMut(memory): MemoryMut<'_>,
    at: u32,
    from: &impl SequenceField<V>,
    _: &[u8],
) -> Result<(), StoreError>
where
    R::Element: KeyOf<V>,
{
    let from = from.elements()?;
    R::clear(MemoryMut(memory), at);
    from.iter().try_for_each(|key| Ok(R::add(MemoryMut(memory), at, R::Element::view_of(key))?))
}

/// Stores an array.
pub fn store_array<R: Stored, V, const N: usize>(
    MemoryMut(memory): MemoryMut<'_>,
    at: u32,
    from: &[V; N],
    body: &[u8],
    store: Stores<V>,
) -> Result<(), StoreError> {
    (0..).zip(from).try_for_each(|(i, value)| {
        store(MemoryMut(memory), at + i * R::SIZE, value, body).map_err(|error| error.in_element(i as usize))
    })
}

/// Stores a map.
pub fn store_map<R: Maps, K: situ_layout::MapKey, V: Value>(
    MemoryMut(memory): MemoryMut<'_>,
    at: u32,
    from: &impl MapField<K, V>,
    body: &[u8],
    store: Stores<V>,
) -> Result<(), StoreError>
where
    R::Key: KeyOf<K>,
{
    R::clear(MemoryMut(memory), at);
    from.entries().enumerate().try_for_each(|(index, (key, value))| {
        let place = R::entry(MemoryMut(memory), at, R::Key::view_of(key))?;
        store(MemoryMut(memory), place, value, body).map_err(|error| error.in_element(index))
    })
}

/// Stores an optional member.
pub fn store_maybe<R: Holds01, V: Value>(
    MemoryMut(memory): MemoryMut<'_>,
    at: u32,
    from: &impl OptionalField<V>,
    body: &[u8],
    store: Stores<V>,
) -> Result<(), StoreError> {
    let Some(value) = from.as_ref() else {
        renew::<R>(memory, at);
        return Ok(());
    };
    let place = R::fill_at(MemoryMut(memory), at)?;
    store(MemoryMut(memory), place, value, body)
}

/// Stores a bulk member.
pub fn store_bulk<R: Copied<V>, V: situ_layout::BulkElement>(
    MemoryMut(memory): MemoryMut<'_>,
    at: u32,
    from: &impl BulkField<V>,
    body: &[u8],
) -> Result<(), StoreError> {
    store_slice::<R, V>(memory, at, from.elements(body)?)
}

/// Reads a value that does not depend on the storage.
pub fn load_copy<R: Copied<V>, V>(
    from: Ref<'_, R>,
    to: &mut V,
    _: &mut Bodies<'_>,
) -> Result<(), AssignError> {
    *to = R::get(from);
    Ok(())
}

/// Reads a string.
pub fn load_text<V: TextField>(
    from: Ref<'_, Text>,
    to: &mut V,
    bodies: &mut Bodies<'_>,
) -> Result<(), AssignError> {
    bodies.repeat(from.len(), 1)?;
    Ok(to.try_assign(&within(str_at(from.image(), from.at()).into(), V::BOUND))?)
}

/// Reads a wide string.
pub fn load_wide<V: WideTextField>(
    from: Ref<'_, Vector<u16>>,
    to: &mut V,
    bodies: &mut Bodies<'_>,
) -> Result<(), AssignError> {
    bodies.repeat(from.len(), 2)?;
    Ok(to.try_assign(from.as_slice())?)
}

/// Reads a sequence of values that do not depend on the storage.
pub fn load_copies<R: Copied<V>, V: Value>(
    from: Ref<'_, Vector<R>>,
    to: &mut impl SequenceField<V>,
    bodies: &mut Bodies<'_>,
) -> Result<(), AssignError> {
    bodies.repeat(from.len(), size_of::<V>())?;
    if from.is_empty() {
        to.clear();
        return Ok(());
    }
    let begin = vector::element(Of::<R>::TYPE, from.image(), from.at(), 0);
    if let Some(values) = R::slice(from.image(), begin, from.len() as u32) {
        return Ok(to.try_assign(values)?);
    }
    to.try_resize_vacant(from.len())?;
    to.iter_mut().zip(from.iter()).for_each(|(to, from)| *to = R::get(from));
    Ok(())
}

/// Reads a sequence.
pub fn load_list<R: Stored, V: Value>(
    from: Ref<'_, Vector<R>>,
    to: &mut impl SequenceField<V>,
    bodies: &mut Bodies<'_>,
    load: Loads<R, V>,
) -> Result<(), AssignError> {
    bodies.repeat(from.len(), size_of::<V>())?;
    to.try_resize_vacant(from.len())?;
    for (index, (to, from)) in to.iter_mut().zip(from.iter()).enumerate() {
        reset(to);
        bodies.nested(|bodies| load(from, to, bodies)).map_err(|error| error.in_element(index))?;
    }
    Ok(())
}

/// Reads a sequence that is a set in regions.
pub fn load_set<R: Sets, V: Value>(
    from: Ref<'_, R>,
    to: &mut impl SequenceField<V>,
    bodies: &mut Bodies<'_>,
) -> Result<(), AssignError>
where
    R::Element: KeyOf<V>,
{
    let keys = R::keys(from);
    bodies.repeat(keys.len(), size_of::<V>())?;
    to.try_resize_vacant(keys.len())?;
    for (index, (to, key)) in to.iter_mut().zip(keys).enumerate() {
        reset(to);
        R::Element::read(key, to).map_err(|error| error.in_element(index))?;
    }
    Ok(())
}

/// Reads an array.
pub fn load_array<R: Stored, V, const N: usize>(
    from: Ref<'_, [R; N]>,
    to: &mut [V; N],
    bodies: &mut Bodies<'_>,
    load: Loads<R, V>,
) -> Result<(), AssignError> {
    for (index, to) in to.iter_mut().enumerate() {
        load(from.part(index as u32 * R::SIZE), to, bodies).map_err(|error| error.in_element(index))?;
    }
    Ok(())
}

/// Reads a map.
pub fn load_map<R: Maps, K: situ_layout::MapKey, V: Value>(
    from: Ref<'_, R>,
    to: &mut impl MapField<K, V>,
    bodies: &mut Bodies<'_>,
    load: Loads<R::Value, V>,
) -> Result<(), AssignError>
where
    R::Key: KeyOf<K>,
{
    to.clear();
    let (mut index, mut headroom) = (0, Headroom::default());
    R::each(from, |key, value| {
        bodies.repeat(1, size_of::<(K, V)>())?;
        let mut own: K = default_value();
        let entry = R::Key::read(key, &mut own).and_then(|()| {
            headroom.expect_entry::<K, V, _>(to)?;
            Ok(to.try_entry(own)?)
        });
        let loaded = entry.and_then(|to| bodies.nested(|bodies| load(value, to, bodies)));
        index += 1;
        loaded.map_err(|error| error.in_element(index - 1))
    })
}

/// Reads an optional member.
pub fn load_maybe<R: Holds01, V: Value>(
    from: Ref<'_, R>,
    to: &mut impl OptionalField<V>,
    bodies: &mut Bodies<'_>,
    load: Loads<R::Element, V>,
) -> Result<(), AssignError> {
    match R::value(from) {
        Some(value) if R::SHARES => {
            let outer = bodies.enter_shared(value.at(), size_of::<V>())?;
            let loaded = bodies.nested(|bodies| load(value, to.set_default(), bodies));
            bodies.leave_shared(outer);
            loaded
        }
        Some(value) => bodies.nested(|bodies| load(value, to.set_default(), bodies)),
        None => {
            to.clear();
            Ok(())
        }
    }
}

/// Reads a bulk member.
pub fn load_bulk<R: Copied<V>, V: situ_layout::BulkElement, B: BulkField<V>>(
    from: Ref<'_, Vector<R>>,
    to: &mut B,
    bodies: &mut Bodies<'_>,
) -> Result<(), AssignError> {
    if from.is_empty() {
        return assign::bulk_elements(to, &[], bodies);
    }
    let begin = vector::element(Of::<R>::TYPE, from.image(), from.at(), 0);
    match R::slice(from.image(), begin, from.len() as u32) {
        Some(values) => assign::bulk_elements(to, values, bodies),
        None => {
            let values: Vec<V> = from.iter().map(R::get).collect();
            assign::bulk_elements(to, &values, bodies)
        }
    }
}

/// Stores the value of a union's case, if the union holds it.
pub fn store_case<V>(
    memory: MemoryMut<'_>,
    at: u32,
    from: Option<&V>,
    body: &[u8],
    name: &'static str,
    store: Stores<V>,
) -> Result<(), StoreError> {
    from.map_or(Ok(()), |from| store(memory, at, from, body).map_err(|error| error.in_member(name)))
}

/// Reads the value of a union's case, if both unions hold it.
pub fn load_case<R: Stored, V>(
    from: Option<Ref<'_, R>>,
    to: Option<&mut V>,
    bodies: &mut Bodies<'_>,
    name: &'static str,
    load: Loads<R, V>,
) -> Result<(), AssignError> {
    let both = from.zip(to);
    both.map_or(Ok(()), |(from, to)| load(from, to, bodies).map_err(|error| error.in_member(name)))
}

/// A type whose values in a region can begin with a default that needs no further memory.
#[doc(hidden)]
pub trait BeginWith<V>: Stored {
    fn begin_with(memory: MemoryMut<'_>, at: u32, value: V);
}

impl<R: Copied<V>, V> BeginWith<V> for R {
    fn begin_with(memory: MemoryMut<'_>, at: u32, value: V) {
        R::put(memory, at, &value);
    }
}

/// Supports text of up to 11 bytes.
impl BeginWith<&'static str> for Text {
    fn begin_with(memory: MemoryMut<'_>, at: u32, value: &'static str) {
        let assigned = Self::assign(memory, at, value);
        debug_assert!(assigned.is_ok());
    }
}
