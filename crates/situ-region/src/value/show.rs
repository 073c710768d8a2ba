//! `Debug` of values in regions, for all handles and for regions.
//!
//! Structs and unions are printed with the names of their members, sets and maps as those of the standard
//! library, links and optional values as `Option`. Two things are cut, and printed as `..`. One is what lies
//! more than 32 vectors, sets, maps and links deep: so a chain of any length needs little stack. The other is
//! a shared value that holds shared links, where it comes again: so a graph of them gives little text.

use std::fmt::{self, Debug, Formatter};
use std::marker::PhantomData;

use crate::value::handle::{Mut, Ref};
use crate::value::plain::Plain;
use crate::value::show_walk::ShowWalk;
use crate::value::stored::Stored;

/// A value as a part of another one that is printed.
pub(crate) struct Shown<'r, 'w, T> {
    walk: &'w ShowWalk<'r>,
    at: u32,
    of: PhantomData<fn() -> T>,
}

impl<'r, 'w, T: Stored> Shown<'r, 'w, T> {
    pub(crate) fn new(walk: &'w ShowWalk<'r>, at: u32) -> Self {
        Self { walk, at, of: PhantomData }
    }
}

impl<T: Stored> Debug for Shown<'_, '_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        T::show(self.walk, self.at, f)
    }
}

/// Prints the target of a link; `None` if it leads nowhere.
pub(crate) fn show_link<T: Stored>(
    walk: &ShowWalk<'_>,
    at: Option<u32>,
    f: &mut Formatter<'_>,
) -> fmt::Result {
    match at {
        Some(at) => walk.deeper(f, |f| f.debug_tuple("Some").field(&Shown::<T>::new(walk, at)).finish()),
        None => f.write_str("None"),
    }
}

/// Prints the target of a shared link.
pub(crate) fn show_shared<T: Stored>(
    walk: &ShowWalk<'_>,
    at: Option<u32>,
    f: &mut Formatter<'_>,
) -> fmt::Result {
    match at {
        Some(at) if T::facts().shares && !walk.is_first(at) => f.write_str("Some(..)"),
        at => show_link::<T>(walk, at, f),
    }
}

/// Prints a plain value.
#[doc(hidden)]
pub fn show_plain<T: Plain + Debug>(walk: &ShowWalk<'_>, at: u32, f: &mut Formatter<'_>) -> fmt::Result {
    Debug::fmt(&*Ref::<T>::new(walk.image(), at), f)
}

/// Prints the value with the names of its members: see [`region_struct`](crate::region_struct). What lies
/// more than 32 containers and links deep is printed as `..`, and so is a shared value that holds shared
/// links when it comes again.
///
/// ```
/// use situ_region::{Region, SortedMap, Text, Unique};
/// use situ_region::region_struct;
///
/// region_struct! {
///     struct Tree: TreeRef, TreeMut { name: Text, sizes: SortedMap<u8, f32>, next: Unique<Tree> }
/// }
/// let mut r = Region::<Tree>::new();
/// r.root_mut().name().set("oak")?;
/// r.root_mut().sizes().insert(3, 1.5_f32)?;
/// assert_eq!(format!("{:?}", r.root()), r#"Tree { name: "oak", sizes: {3: 1.5}, next: None }"#);
/// # Ok::<(), situ_region::Full>(())
/// ```
impl<T: Stored> Debug for Ref<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        T::show(&ShowWalk::new(self.image()), self.at(), f)
    }
}

/// As for [`Ref`].
impl<T: Stored> Debug for Mut<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.as_ref().fmt(f)
    }
}
