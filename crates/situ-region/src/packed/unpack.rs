//! Rebuilds a region from a packed image: each container gets its memory once, in the order of the image.

use std::collections::HashMap;

use crate::error::Full;
use crate::image::versions::Versions;
use crate::memory::blocks::Memory;
use crate::memory::later::{Later, Place};

/// The target of a link of one type, in an unpacking.
pub(crate) trait UnpackBehind {
    fn unpack(unpacker: &mut Unpacker<'_>, memory: &mut Memory, place: Place) -> Result<(), Full>;
}

/// Unpacks the target of a link.
type Visit = fn(&mut Unpacker<'_>, &mut Memory, Place) -> Result<(), Full>;

/// A checked packed image whose values are written to a region.
pub struct Unpacker<'a> {
    image: &'a [u8],
    /// The blocks in the region of the shared values, by their places in the image.
    pub(crate) shared: HashMap<u32, u32>,
    /// The versions, if the image has others than this program.
    versions: Option<&'a Versions>,
    pub(crate) later: Later<Visit>,
    /// The weak links in the region, and the places in the image of their targets.
    pub(crate) weak: Vec<(u32, u32)>,
}

impl<'a> Unpacker<'a> {
    pub(crate) fn new(image: &'a [u8], versions: Option<&'a Versions>) -> Self {
        Self { image, shared: HashMap::new(), versions, later: Later::default(), weak: Vec::new() }
    }
    #[inline]
    pub(crate) fn image(&self) -> &'a [u8] {
        self.image
    }

    /// Unpacks the target of a link: now, or after everything else.
    pub(crate) fn behind<B: UnpackBehind>(&mut self, memory: &mut Memory, place: Place) -> Result<(), Full> {
        if !self.later.enter(B::unpack, place) {
            return Ok(());
        }
        let unpacked = B::unpack(self, memory, place);
        self.later.leave();
        unpacked
    }

    /// Copies bytes.
    #[inline]
    pub(crate) fn copy(&self, memory: &mut Memory, from: u32, to: u32, count: u32) {
        let bytes = &self.image[from as usize..][..count as usize];
        memory.bytes_mut()[to as usize..][..bytes.len()].copy_from_slice(bytes);
    }

    /// The number of members of an appendable struct in the image.
    pub(crate) fn members_of<T: 'static>(&self) -> u32 {
        self.versions.and_then(Versions::of::<T>).map_or(u32::MAX, |(members, _)| members)
    }
}
