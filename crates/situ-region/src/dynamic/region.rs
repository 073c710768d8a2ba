//! A region of described types, with its memory, its images and its pins.

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use crate::dynamic::edit::{EditError, PartMut, Pins};
use crate::dynamic::element::Dynamic;
use crate::dynamic::place::{Part, Step};
use crate::dynamic::rewrite::{Form, first_size, write_header};
use crate::dynamic::types::{Kind, Types};
use crate::error::{BufferError, ShareError};
use crate::image::header::behind_root;
use crate::memory::backing::{Backing, HeapMemory};
use crate::memory::blocks::Memory;
use crate::memory::granule::{ROOT, target};
use crate::memory::options::Options;
use crate::region::memory_of;
use crate::value::element::Element;

/// A region whose types are known when the program runs: [`Region`](crate::Region) for types that are known
/// earlier. Values are found by steps from the root, for each access anew, so no access reaches a value that
/// is gone.
pub struct DynamicRegion<B = HeapMemory> {
    memory: Memory,
    types: Arc<Types>,
    pins: Pins,
    of: PhantomData<fn() -> B>,
}

/// Keeps a range of a region's memory in its place: changes that would move or free it are refused.
#[derive(Clone, Debug)]
pub struct Pin(#[allow(dead_code, reason = "it is only kept")] Arc<()>);

impl DynamicRegion {
    /// The default value, in memory of the heap.
    pub fn new(types: Arc<Types>) -> Self {
        Self::with_options(types, Options::default())
    }

    /// The default value in memory of the heap, with options.
    pub fn with_options(types: Arc<Types>, options: Options) -> Self {
        let first = first_size(&types);
        let memory = Memory::on_heap(first, Options { limit: options.limit.max(first), ..options });
        Self { memory, types, pins: Vec::new(), of: PhantomData }.begun()
    }
}

impl<B: Backing> DynamicRegion<B> {
    /// The default value, in the memory of a backing.
    pub fn with_backing(types: Arc<Types>, backing: B, options: Options) -> Result<Self, BufferError> {
        let memory = memory_of(Box::new(backing), first_size(&types), false, options)?;
        Ok(Self { memory, types, pins: Vec::new(), of: PhantomData }.begun())
    }

    /// Ends the region. Returns the backing, with the live image at the front of its memory, and the image's
    /// size.
    pub fn into_backing(mut self) -> (B, usize) {
        self.memory.flush_caches();
        let size = self.memory.size() as usize;
        // SAFETY: `with_backing` made the memory, and gave it a backing of this type, from a box.
        let backing = unsafe {
            let backing = self.memory.into_backing().unwrap_unchecked();
            Box::from_raw(backing.cast::<B>().as_ptr())
        };
        (*backing, size)
    }
}

impl<B> DynamicRegion<B> {
    /// Writes a new region's header and root.
    fn begun(mut self) -> Self {
        let Self { memory, types, .. } = &mut self;
        memory.types = Some(Arc::clone(types));
        let size = memory.size();
        write_header(types, memory.bytes_mut(), 1, size);
        let at = behind_root(types.get(types.root).size) as usize;
        memory.bytes_mut()[at..at + types.table.len()].copy_from_slice(&types.table);
        Dynamic::new(types, types.root).begin(memory, ROOT);
        self
    }

    /// The types.
    pub fn types(&self) -> &Arc<Types> {
        &self.types
    }

    /// The root.
    pub fn root(&self) -> Part<'_> {
        let of = Dynamic::new(&self.types, self.types.root);
        Part { of, image: self.memory.bytes(), at: ROOT }
    }

    /// The value to which steps lead from the root.
    pub fn part(&self, steps: &[Step]) -> Result<Part<'_>, EditError> {
        steps.iter().try_fold(self.root(), |part, step| part.part(step).ok_or(EditError::NotThere))
    }

    /// The value to which steps lead from the root, for changing it.
    pub fn edit(&mut self, steps: &[Step]) -> Result<PartMut<'_>, EditError> {
        let Self { memory, types, pins, .. } = self;
        let root = PartMut { memory, pins, of: Dynamic::new(types, types.root), at: ROOT };
        steps.iter().try_fold(root, PartMut::part)
    }

    /// Makes the shared link at `to` lead to the value of the shared link at `from`.
    pub fn share(&mut self, from: &[Step], to: &[Step]) -> Result<(), EditError> {
        let link = self.part(from)?;
        let Kind::Shared { value } = link.kind() else { return Err(EditError::OtherKind("shared link")) };
        let block = target(link.image, link.at);
        let value = (block != link.at).then_some((*value, block));
        // A link of its own holds the value meanwhile: the link at `from` may end with the old value at `to`.
        if let Some((_, block)) = value {
            let links = self.memory.u32(block).checked_add(1).ok_or(ShareError::TooMany)?;
            self.memory.set_u32(block, links);
        }
        let linked = self.edit(to).and_then(|mut to| to.link(value));
        if let Some((_, block)) = value {
            // The link at `to` holds the value now; if it could not be made, the one at `from` still does.
            let links = self.memory.u32(block);
            self.memory.set_u32(block, links - 1);
        }
        linked
    }

    /// Keeps a range of the image in its place, as long as the pin or a clone of it lives. Changes that would
    /// move or free bytes of it fail with [`EditError::Pinned`]. The memory itself must not move: it is that
    /// of a backing which grows in place.
    pub fn pin(&mut self, range: Range<u32>) -> Pin {
        let pin = Arc::new(());
        self.pins.retain(|(_, pin)| pin.strong_count() != 0);
        self.pins.push((range, Arc::downgrade(&pin)));
        Pin(pin)
    }

    /// The live image.
    pub fn bytes(&self) -> &[u8] {
        self.memory.bytes()
    }

    /// The address of an offset of the image, for access while a pin keeps it in its place.
    pub fn address(&self, at: u32) -> *mut u8 {
        self.memory.base().as_ptr().wrapping_add(at as usize)
    }

    /// The number of bytes within the live image that are not in use.
    pub fn free_bytes(&self) -> usize {
        self.memory.free_bytes() as usize
    }

    /// The canonical image: equal values have equal bytes.
    pub fn canonical(&self) -> Vec<u8> {
        self.types.rewrite(self.memory.bytes(), Form::Canonical)
    }

    /// The packed image, the smallest one: equal values have equal bytes.
    pub fn packed(&self) -> Vec<u8> {
        self.types.rewrite(self.memory.bytes(), Form::Packed)
    }
}
