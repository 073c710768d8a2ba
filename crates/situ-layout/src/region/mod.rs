//! Regions: growable, relocatable data whose memory is the message (`spec/region.md`).
//!
//! A [`Region`] holds a value with all that belongs to it - text, vectors, sets, maps, trees - in one piece of memory, in the
//! same bytes in Rust and C++. What lies in it is reached through [`Ref`] and [`Mut`], which are an offset and the memory;
//! `set`, `push` and `insert` take memory and say [`Full`] when the region's limit is reached. Types are described with
//! [`region_struct`](crate::region_struct) and [`region_plain`](crate::region_plain).

mod check;
mod copy;
mod flat;
mod handle;
mod hash;
mod key;
mod layout;
mod macros;
mod maybe;
mod memory;
mod stored;
mod text;
mod vector;

use std::marker::PhantomData;

pub use check::{Check, Invalid, InvalidProblem};
pub use copy::Writer;
pub use flat::{FlatMap, FlatSet};
pub use handle::{Mut, Ref};
pub use hash::{HashMap, HashSet};
pub use key::{Entry, Key};
pub use layout::{Lines, layout_hash, layout_text};
pub use maybe::{Maybe, Unique};
pub use memory::{Full, GRANULE, MAX_SIZE, Memory};
pub use stored::{Assign, Bool, Plain, Stored};
pub use text::Text;
pub use vector::Vector;

use check::{MAGIC, VERSION, check_image, invalid};
use memory::{ROOT, in_granules};

/// The greatest alignment of the members, given their sizes and alignments.
#[doc(hidden)]
pub const fn alignment(sizes: &[(u32, u32)]) -> u32 {
    let mut align = 1;
    let mut i = 0;
    while i < sizes.len() {
        if sizes[i].1 > align {
            align = sizes[i].1;
        }
        i += 1;
    }
    align
}

/// Where each member begins, and the size of the struct.
#[doc(hidden)]
pub const fn places<const N: usize>(sizes: &[(u32, u32)]) -> [u32; N] {
    let mut places = [0; N];
    let mut end = 0_u32;
    let mut i = 0;
    while i < sizes.len() {
        places[i] = end.next_multiple_of(sizes[i].1);
        end = places[i] + sizes[i].0;
        i += 1;
    }
    places[i] = end.next_multiple_of(alignment(sizes));
    places
}

/// A value of type `T` with all that belongs to it, in one piece of memory.
#[derive(Clone)]
pub struct Region<T> {
    memory: Memory,
    of: PhantomData<fn() -> T>,
}

impl<T: Stored> Default for Region<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Stored> Region<T> {
    /// The default value, in a region that may grow to 2 GiB.
    pub fn new() -> Self {
        Self::with_limit(MAX_SIZE)
    }

    /// The default value, in a region that may grow to `limit` bytes (but has at least its root).
    pub fn with_limit(limit: u32) -> Self {
        let first = ROOT + in_granules(u64::from(T::SIZE)) as u32;
        let mut region = Self { memory: Memory::new(first, limit.max(first)), of: PhantomData };
        let bytes = region.memory.bytes_mut();
        bytes[..ROOT as usize].copy_from_slice(&header::<T>(1));
        region.memory.write_size();
        T::begin(&mut region.memory, ROOT);
        region
    }

    /// A region that begins as a copy of an image, canonical or live, wherever it lies. It is checked first; nothing is decoded.
    pub fn adopt(image: &[u8]) -> Result<Self, Invalid> {
        let (image, bits) = check_image::<T>(image, layout_hash::<T>())?;
        let mut region = Self { memory: Memory::adopt(image, bits, MAX_SIZE), of: PhantomData };
        let bytes = region.memory.bytes_mut();
        bytes[..ROOT as usize].copy_from_slice(&header::<T>(1));
        region.memory.write_size();
        Ok(region)
    }

    /// The value, to be read.
    pub fn root(&self) -> Ref<'_, T> {
        Ref::new(self.memory.bytes(), ROOT)
    }

    /// The value, to be changed.
    pub fn root_mut(&mut self) -> Mut<'_, T> {
        Mut::new(&mut self.memory, ROOT)
    }

    /// The live image: the region as it stands.
    pub fn bytes(&self) -> &[u8] {
        self.memory.bytes()
    }

    /// Bytes within the live image that hold nothing.
    pub fn free_bytes(&self) -> usize {
        self.memory.free_bytes() as usize
    }

    /// The canonical image: equal values have equal bytes.
    pub fn canonical(&self) -> Vec<u8> {
        let mut writer = Writer::new(self.memory.bytes(), ROOT + in_granules(u64::from(T::SIZE)) as u32);
        T::write(&mut writer, ROOT, ROOT);
        let mut image = writer.finish();
        let size = image.len() as u32;
        image[..ROOT as usize].copy_from_slice(&header::<T>(0));
        image[24..28].copy_from_slice(&size.to_le_bytes());
        image
    }

    /// Becomes the canonical arrangement of itself, without free memory.
    pub fn compact(&mut self) {
        let limit = self.memory.full().limit;
        self.memory = Memory::adopt(&self.canonical(), None, limit);
        self.memory.bytes_mut()[6] = 1;
    }
}

/// The value of an image, to be read where it lies, after everything in it has been checked. The image begins at a multiple of 16.
pub fn view<T: Stored>(image: &[u8]) -> Result<Ref<'_, T>, Invalid> {
    if !image.as_ptr().addr().is_multiple_of(GRANULE as usize) {
        return invalid(0, InvalidProblem::MisalignedImage);
    }
    let (image, _) = check_image::<T>(image, layout_hash::<T>())?;
    Ok(Ref::new(image, ROOT))
}

/// A header without its size.
fn header<T: Stored>(form: u8) -> [u8; ROOT as usize] {
    let mut header = [0; ROOT as usize];
    header[..4].copy_from_slice(&MAGIC.to_le_bytes());
    header[4] = VERSION;
    header[6] = form;
    header[16..24].copy_from_slice(&layout_hash::<T>().to_le_bytes());
    header[28..32].copy_from_slice(&ROOT.to_le_bytes());
    header
}
