//! The state of printing a value: how deep it is, and which shared values were printed.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::fmt::{self, Formatter};

/// The number of vectors, sets, maps and links within each other that are printed.
const DEPTH: u32 = 32;

/// The number of such containers that are printed of an image, more than it has bytes. Only an image that
/// another process changes meanwhile can have so many.
const EXTRA: usize = 1 << 20;

/// Printing in progress.
pub struct ShowWalk<'r> {
    image: &'r [u8],
    depth: Cell<u32>,
    left: Cell<usize>,
    /// The shared values with shared links that were printed.
    shown: RefCell<BTreeSet<u32>>,
}

impl<'r> ShowWalk<'r> {
    pub(crate) fn new(image: &'r [u8]) -> Self {
        Self { image, depth: Cell::new(0), left: Cell::new(image.len() + EXTRA), shown: RefCell::default() }
    }

    pub(crate) fn image(&self) -> &'r [u8] {
        self.image
    }

    /// Whether the shared value at an offset is printed for the first time.
    pub(crate) fn is_first(&self, at: u32) -> bool {
        self.shown.borrow_mut().insert(at)
    }

    /// Prints what lies one level deeper, or `..`.
    pub(crate) fn deeper(
        &self,
        f: &mut Formatter<'_>,
        inside: impl FnOnce(&mut Formatter<'_>) -> fmt::Result,
    ) -> fmt::Result {
        let left = self.left.get();
        if self.depth.get() == DEPTH || left == 0 {
            return f.write_str("..");
        }
        self.left.set(left - 1);
        self.depth.set(self.depth.get() + 1);
        let shown = inside(f);
        self.depth.set(self.depth.get() - 1);
        shown
    }
}

/// A name without its modules.
pub(crate) fn short(name: &str) -> &str {
    name.rsplit("::").next().unwrap_or(name)
}
