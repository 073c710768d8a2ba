//! Types whose values may lie in a region: their size, and how values are moved, freed, copied and checked.
//! No container is ever a Rust value; the container types are names for values at an offset.

use std::any::TypeId;
use std::collections::HashMap;
use std::fmt;
use std::sync::{PoisonError, RwLock};

use situ_layout::Invalid;

use crate::error::Full;
use crate::image::check::Check;
use crate::image::lines::{Facts, Lines};
use crate::image::sha256::sha256_u64;
use crate::image::versions::{table, twin};
use crate::image::writer::Writer;
use crate::memory::blocks::MemoryMut;
use crate::memory::granule::in_granules;
use crate::memory::slide::Slide;
use crate::packed::unpack::Unpacker;
use crate::value::equal_walk::Equal;
use crate::value::show_walk::ShowWalk;

/// A type whose values lie in regions. All functions identify a value by its offset from the header.
pub trait Stored: Sized + 'static {
    /// The size in bytes, a multiple of the alignment.
    const SIZE: u32;
    /// The alignment in bytes, at most 16.
    const ALIGN: u32;
    /// Whether values contain links, which change when the value moves.
    const LINKS: bool;
    /// Whether values may be copied as bytes into a canonical image: no links, no padding.
    const DENSE: bool;
    /// Whether any bytes are a valid value.
    const ANY: bool;
    /// The hash of the schema that declares the type; 0 if none does.
    const SCHEMA_HASH: u64 = 0;

    /// Whether members can be appended. Such a struct is the root or lies behind a link.
    const APPENDABLE: bool = false;

    /// Whether the type has its own lines in the layout under its name, which is its kind.
    #[doc(hidden)]
    const NAMED: bool = false;

    /// The size in a packed image, a multiple of the alignment there.
    #[doc(hidden)]
    const PACKED_SIZE: u32 = Self::SIZE;
    /// The alignment in a packed image.
    #[doc(hidden)]
    const PACKED_ALIGN: u32 = Self::ALIGN;
    /// Whether a value in a packed image is a link, which is 0 if the value is empty.
    #[doc(hidden)]
    const IS_PACKED_LINK: bool = false;

    /// The facts of the type as a root.
    #[doc(hidden)]
    fn facts() -> &'static Facts {
        facts_of_any::<Self>()
    }

    /// The text for the type in the lines of the layout.
    fn kind() -> String;
    /// Writes the further lines of a member of this type.
    fn inner(_lines: &mut Lines, _path: &str) {}
    /// Writes the lines of the structs that the type needs.
    fn needed(_lines: &mut Lines) {}

    /// Makes zeroed memory the default value: sets the links back to the header.
    fn begin(_memory: MemoryMut<'_>, _at: u32) {}
    /// Updates the links of a value whose bytes came from `distance` further up.
    fn moved(_memory: MemoryMut<'_>, _at: u32, _distance: u32) {}
    /// Trims a value's capacities, or updates its links before all blocks move down; see [`Slide`].
    fn slide(_slide: &mut Slide<'_>, _at: u32) {}
    /// Frees all blocks of a value. The caller then overwrites the value's own bytes.
    fn release(_memory: MemoryMut<'_>, _at: u32) {}
    /// Copies a value into a canonical image.
    fn write(writer: &mut Writer<'_>, from: u32, to: u32);
    /// Checks the value at `at`.
    fn check<const CANONICAL: bool>(check: &mut Check<'_, CANONICAL>, at: u32) -> Result<(), Invalid>;
    /// Whether the container at an offset of a region is empty.
    #[doc(hidden)]
    fn is_empty(_image: &[u8], _at: u32) -> bool {
        false
    }
    /// Copies a value into a packed image, where its bytes are zero. Without links, it has the same bytes in
    /// all forms.
    #[doc(hidden)]
    #[inline]
    fn pack(writer: &mut Writer<'_>, from: u32, to: u32) {
        const { assert!(!Self::LINKS, "links have another form in packed images") };
        Self::write(writer, from, to);
    }
    /// Checks the value at `at` of a packed image.
    #[doc(hidden)]
    #[inline]
    fn check_packed<const CANONICAL: bool>(check: &mut Check<'_, CANONICAL>, at: u32) -> Result<(), Invalid> {
        const { assert!(!Self::LINKS, "links have another form in packed images") };
        Self::check(check, at)
    }
    /// Copies the value at `from` of a packed image to `at` of a region, where a default value is.
    #[doc(hidden)]
    #[inline]
    fn unpack(
        unpacker: &mut Unpacker<'_>,
        MemoryMut(memory): MemoryMut<'_>,
        at: u32,
        from: u32,
    ) -> Result<(), Full> {
        const { assert!(!Self::LINKS, "links have another form in packed images") };
        unpacker.copy(memory, from, at, Self::SIZE);
        Ok(())
    }
    /// Prints a value, for `Debug`.
    #[doc(hidden)]
    fn show(_walk: &ShowWalk<'_>, _at: u32, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}(..)", Self::kind())
    }
    /// Whether two values are equal. What lies behind links may be compared later.
    #[doc(hidden)]
    fn equals(equal: &mut Equal<'_, '_>, a: u32, b: u32) -> bool {
        same_bytes::<Self>(equal, a, b)
    }
    /// Whether `count` consecutive values are equal.
    #[doc(hidden)]
    #[inline]
    fn all_equal(equal: &mut Equal<'_, '_>, a: u32, b: u32, count: u32) -> bool {
        (0..count).all(|i| Self::equals(equal, a + i * Self::SIZE, b + i * Self::SIZE))
    }
    /// Checks `count` consecutive values. An error gives the index of the value.
    #[doc(hidden)]
    #[inline]
    fn check_all<const CANONICAL: bool>(
        check: &mut Check<'_, CANONICAL>,
        at: u32,
        count: u32,
    ) -> Result<(), Invalid> {
        (0..count)
            .try_for_each(|i| Self::check(check, at + i * Self::SIZE).map_err(|error| error.in_element(i)))
    }
}

/// Whether two values have the same canonical bytes.
fn same_bytes<T: Stored>(equal: &Equal<'_, '_>, a: u32, b: u32) -> bool {
    let bytes = |image: &[u8], at: u32| {
        let own = in_granules(u64::from(T::SIZE)) as u32;
        let mut writer = Writer::new(image, &mut [], 0);
        writer.whole::<T>(at, 0);
        let mut bytes = vec![0; own as usize + writer.end() as usize];
        Writer::behind(image, &mut bytes, own).whole::<T>(at, 0);
        bytes
    };
    if T::DENSE {
        let [a, b] = [&equal.a()[a as usize..], &equal.b()[b as usize..]];
        return a[..T::SIZE as usize] == b[..T::SIZE as usize];
    }
    bytes(equal.a(), a) == bytes(equal.b(), b)
}

/// Fails to compile if the type is appendable, because the place has a fixed size.
#[doc(hidden)]
pub const fn fixed<T: Stored>() {
    assert!(!T::APPENDABLE, "an appendable struct is a root, or lies behind a unique or shared link");
}

impl Lines {
    /// Writes the lines of a member, element, key or value.
    pub fn value<T: Stored>(&mut self, path: &str, offset: u32) {
        let kind = self.kind::<T>();
        self.line(path, offset, T::SIZE, T::ALIGN, &kind);
        T::inner(self, path);
    }

    /// Writes the lines of a member of a struct of that name.
    pub fn member<T: Stored>(&mut self, of: &str, name: &str, offset: u32) {
        self.value::<T>(&format!("{of}.{name}"), offset);
    }

    /// Writes the lines of a union's member.
    pub fn case<T: Stored>(&mut self, of: &str, name: &str, offset: u32, labels: &str) {
        let (path, kind) = (format!("{of}.{name}"), self.kind::<T>());
        self.line(&path, offset, T::SIZE, T::ALIGN, &format!("{labels}:{kind}"));
        T::inner(self, &path);
    }

    /// Writes the lines of the value that a link leads to.
    pub(crate) fn pointee<T: Stored>(&mut self, path: &str, offset: u32) {
        if T::APPENDABLE {
            let kind = self.kind::<T>();
            self.line(path, offset, 0, 0, &kind);
        } else {
            self.value::<T>(path, offset);
        }
    }

    /// The text for a type in a line.
    fn kind<T: Stored>(&mut self) -> String {
        if T::NAMED { self.named(TypeId::of::<T>(), &T::kind()).text.clone() } else { T::kind() }
    }

    /// The name of a struct or union in the lines if its own lines are not written yet. Marks them as
    /// written.
    pub fn begin_struct<T: Stored>(&mut self) -> Option<String> {
        let named = self.named(TypeId::of::<T>(), &T::kind());
        let again = std::mem::replace(&mut named.written, true);
        let text = (!again).then(|| named.text.clone());
        self.repeats |= again;
        text
    }
}

/// The text whose hash is the layout hash of `T`.
pub fn layout_text<T: Stored>() -> String {
    let mut lines = Lines::default();
    T::needed(&mut lines);
    format!("region-v2 {}\n{}", T::kind(), lines.text())
}

/// The layout hash of `T`.
pub fn layout_hash<T: Stored>() -> u64 {
    T::facts().layout
}

impl Facts {
    /// Computes the facts of a type.
    ///
    /// # Panics
    /// If two appendable structs from two modules have the same name: images are compared by these
    /// names.
    pub fn work_out<T: Stored>() -> Self {
        let mut lines = Lines::with_versions();
        T::needed(&mut lines);
        let versions = lines.versions.unwrap_or_default();
        if let Some(name) = twin(&versions) {
            panic!(
                "a region has two structs named {name} that can be appended to; give one of them another name"
            );
        }
        Self {
            layout: sha256_u64(layout_text::<T>().as_bytes()),
            shares: lines.shares,
            repeats: lines.repeats,
            table: table(&versions, false),
            packed_table: table(&versions, true),
            versions,
        }
    }
}

/// The facts of types that have no static of their own for them. They are kept forever, once for each type.
pub(crate) fn facts_of_any<T: Stored>() -> &'static Facts {
    static KNOWN: RwLock<Option<HashMap<TypeId, &'static Facts>>> = RwLock::new(None);
    let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
    if let Some(facts) = known.as_ref().and_then(|known| known.get(&TypeId::of::<T>())) {
        return facts;
    }
    drop(known);
    let facts = Facts::work_out::<T>();
    let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
    known.get_or_insert_default().entry(TypeId::of::<T>()).or_insert_with(|| Box::leak(Box::new(facts)))
}

impl<const CANONICAL: bool> Check<'_, CANONICAL> {
    /// Checks `count` consecutive values.
    #[inline]
    pub(crate) fn elements<T: Stored>(&mut self, at: u32, count: u32) -> Result<(), Invalid> {
        if T::ANY && (T::DENSE || !CANONICAL) {
            return Ok(());
        }
        T::check_all(self, at, count)
    }
}

impl Writer<'_> {
    /// Writes a value with everything that it holds.
    pub(crate) fn whole<T: Stored>(&mut self, from: u32, to: u32) {
        T::write(self, from, to);
        self.rest();
    }
}

impl Slide<'_> {
    /// Visits a value with everything that it holds.
    pub(crate) fn whole<T: Stored>(&mut self, at: u32) {
        T::slide(self, at);
        while let Some((visit, place)) = self.later.next() {
            visit(self, place);
        }
    }

    /// Visits consecutive values.
    pub(crate) fn elements<T: Stored>(&mut self, at: u32, count: u32) {
        if T::LINKS {
            (0..count).for_each(|i| T::slide(self, at + i * T::SIZE));
        }
    }
}
