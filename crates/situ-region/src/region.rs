//! A region: a value, the memory in which it is edited, and its images.

use std::convert::Infallible;
use std::marker::PhantomData;
use std::ptr::NonNull;

use situ_layout::{Invalid, InvalidProblem};

use crate::convert::{StoreError, StoreFrom};
use crate::error::{AdoptError, BufferError, Full, invalid};
use crate::image::canonical::{canonical_image, no_memory, rewritten, write_canonical, zeros};
use crate::image::checked::{Bitmap, Checked, check_image, is_aligned, refuse};
use crate::image::header::{first_size, table_place, write_header};
use crate::image::versions::TABLE_AT;
use crate::memory::backing::{Backing, Buffer, HeapMemory, Store, total_for};
use crate::memory::blocks::{Memory, MemoryMut};
use crate::memory::compact::compact;
use crate::memory::granule::{GRANULE, MAX_SIZE, ROOT};
use crate::memory::options::Options;
use crate::packed::image::{check_packed, is_packed, packed_image, packed_into, write_packed};
use crate::value::handle::{Mut, Ref};
use crate::value::stored::Stored;

/// A value of type `T` with all its parts, in one piece of memory. The memory is on the heap, in a
/// [`Buffer`], or from another [`Backing`].
pub struct Region<T, B = HeapMemory> {
    memory: Memory,
    of: PhantomData<(fn() -> T, B)>,
}

impl<T: Stored> Default for Region<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Stored> Clone for Region<T> {
    fn clone(&self) -> Self {
        let mut memory = Memory::on_heap(self.memory.size(), self.memory.options());
        memory.become_copy(&self.memory);
        Self { memory, of: PhantomData }
    }
}

impl<T: Stored> Region<T> {
    /// The default value, in a region that may grow to [`DEFAULT_LIMIT`](crate::DEFAULT_LIMIT).
    pub fn new() -> Self {
        Self::with_options(Options::default())
    }

    /// The default value, in a region that may grow to `limit` bytes, or to the size of its root if that is
    /// greater.
    pub fn with_limit(limit: u32) -> Self {
        Self::with_options(Options { limit, ..Options::default() })
    }

    /// The default value, in a region with the given options.
    pub fn with_options(options: Options) -> Self {
        let first = first_size::<T>();
        let memory = Memory::on_heap(first, Options { limit: options.limit.max(first), ..options });
        Self { memory, of: PhantomData }.begun()
    }

    /// A region with the value of a message with another storage. Bulk members of a flat message lie in its
    /// `body`.
    pub fn of<M>(message: &M, body: &[u8]) -> Result<Self, StoreError>
    where
        T: StoreFrom<M>,
    {
        let mut region = Self::new();
        region.root_mut().store(message, body)?;
        Ok(region)
    }

    /// A region that begins as a copy of an image at any address, canonical or live. The image is checked
    /// first; nothing is decoded. A packed image is unpacked.
    pub fn adopt(image: &[u8]) -> Result<Self, Invalid> {
        Self::adopt_with(image, Options::default())
    }

    /// As [`adopt`](Self::adopt), with options.
    pub fn adopt_with(image: &[u8], options: Options) -> Result<Self, Invalid> {
        if is_packed(image) {
            return Self::unpacked(image, options);
        }
        let mut bitmap = Bitmap::default();
        let checked = check_image::<T>(image, &mut bitmap)?;
        let rewritten = rewritten::<T>(&checked)?;
        let image = rewritten.as_deref().unwrap_or(checked.image);
        let size = image.len() as u32;
        let options = Options { limit: options.limit.max(size), ..options };
        let memory = Memory::try_on_heap(size, options).or_else(no_memory)?;
        let mut region = Self { memory, of: PhantomData };
        region.memory.bytes_mut().copy_from_slice(image);
        region.adopted(checked.bits.filter(|_| rewritten.is_none()));
        Ok(region)
    }

    /// A region with the value of a packed image. As for other images, the limit is at least its size.
    fn unpacked(image: &[u8], options: Options) -> Result<Self, Invalid> {
        let checked = check_packed::<T>(image)?;
        let mut region = Self::with_options(Options { limit: MAX_SIZE, ..options });
        if checked.unpack::<T>(&mut region.memory).is_err() {
            return no_memory(MAX_SIZE as usize);
        }
        let limit = options.limit.max(region.memory.size());
        region.memory.set_limit(limit);
        Ok(region)
    }
}

impl<'a, T: Stored> Region<T, Buffer<'a>> {
    /// The default value in a buffer, such as a loan of shared memory. The image lies at the buffer's front
    /// and can grow to about 127/128 of it. The rest is for the region's own data about its memory.
    pub fn create(buffer: &'a mut [u8]) -> Result<Self, BufferError> {
        Self::create_with(buffer, Options::default())
    }

    /// As [`create`](Self::create), with options. The limit is the buffer's size at most.
    pub fn create_with(buffer: &'a mut [u8], options: Options) -> Result<Self, BufferError> {
        let first = first_size::<T>();
        let memory = memory_in(buffer, first, false, options)?;
        Ok(Self { memory, of: PhantomData }.begun())
    }

    /// A region that continues in place with a received image at the front of the buffer, which may be
    /// longer. The image is checked first; nothing is copied. If there is no room after the image, the
    /// region's own data lies on the heap.
    pub fn adopt_in_place(buffer: &'a mut [u8]) -> Result<Self, Invalid> {
        Self::adopt_in_place_with(buffer, Options::default())
    }

    /// As [`adopt_in_place`](Self::adopt_in_place), with options.
    pub fn adopt_in_place_with(buffer: &'a mut [u8], options: Options) -> Result<Self, Invalid> {
        if !is_aligned(buffer) {
            return invalid(0, InvalidProblem::MisalignedImage);
        }
        let mut bitmap = Bitmap::default();
        let Checked { image, bits, versions } = check_image::<T>(buffer, &mut bitmap)?;
        refuse(versions.and_then(|versions| versions.differs))?;
        let size = image.len() as u32;
        let Ok(memory) = memory_in(buffer, size, true, options) else {
            return invalid(0, InvalidProblem::MisalignedImage);
        };
        let mut region = Self { memory, of: PhantomData };
        region.adopted(bits);
        Ok(region)
    }

    /// A copy of a region's current state in a buffer, for example to continue in a larger one. [`total_for`]
    /// gives the memory that an image needs.
    pub fn copy_of<B>(from: &Region<T, B>, buffer: &'a mut [u8]) -> Result<Self, BufferError> {
        let mut memory = memory_in(buffer, from.memory.size(), false, from.memory.options())?;
        memory.become_copy(&from.memory);
        Ok(Self { memory, of: PhantomData })
    }
}

impl<T: Stored, B: Backing> Region<T, B> {
    /// The default value, in the memory of a backing.
    pub fn with_backing(backing: B, options: Options) -> Result<Self, BufferError> {
        Self::with_boxed(Box::new(backing), options)
    }

    /// As [`with_backing`](Self::with_backing), for a boxed backing, which can be returned and reused.
    pub fn with_boxed(backing: Box<B>, options: Options) -> Result<Self, BufferError> {
        let memory = memory_of(backing, first_size::<T>(), false, options)?;
        Ok(Self { memory, of: PhantomData }.begun())
    }

    /// A region that begins as a copy of an image, in the memory of a backing.
    pub fn adopt_into(backing: B, image: &[u8], options: Options) -> Result<Self, AdoptError> {
        Self::adopt_into_boxed(Box::new(backing), image, options)
    }

    /// As [`adopt_into`](Self::adopt_into), for a boxed backing.
    pub fn adopt_into_boxed(backing: Box<B>, image: &[u8], options: Options) -> Result<Self, AdoptError> {
        if is_packed(image) {
            let made = Region::<T>::adopt_with(
                image,
                Options { allocation: options.allocation, ..Options::default() },
            )?;
            return Self::adopt_into_boxed(backing, made.bytes(), options);
        }
        let mut bitmap = Bitmap::default();
        let checked = check_image::<T>(image, &mut bitmap)?;
        let rewritten = rewritten::<T>(&checked)?;
        let image = rewritten.as_deref().unwrap_or(checked.image);
        let memory = memory_of(backing, image.len() as u32, false, options)?;
        let mut region = Self { memory, of: PhantomData };
        region.memory.bytes_mut().copy_from_slice(image);
        region.adopted(checked.bits.filter(|_| rewritten.is_none()));
        Ok(region)
    }

    /// A region that continues with the image at the front of a backing's memory. The image is checked first.
    pub fn adopt_boxed(mut backing: Box<B>, options: Options) -> Result<Self, AdoptError> {
        let (base, total) = backing.memory();
        // SAFETY: the backing's memory is initialized, and no other code uses it while this function owns the
        // backing.
        let there = unsafe { std::slice::from_raw_parts(base.as_ptr(), total) };
        let mut bitmap = Bitmap::default();
        let checked = check_image::<T>(there, &mut bitmap)?;
        if checked.versions.as_ref().is_some_and(|versions| versions.differs.is_some()) {
            // Rewrites the image elsewhere, then copies it here.
            let mut image = zeros(checked.image.len())?;
            image.copy_from_slice(checked.image);
            return Self::adopt_into_boxed(backing, &image, options);
        }
        let memory = memory_of(backing, checked.image.len() as u32, true, options)?;
        let mut region = Self { memory, of: PhantomData };
        region.adopted(checked.bits);
        Ok(region)
    }

    /// Ends the region. Returns the backing, with the live image at the front of its memory, and the image's
    /// size.
    pub fn into_backing(self) -> (B, usize) {
        let (backing, size) = self.into_boxed();
        (*backing, size)
    }

    /// As [`into_backing`](Self::into_backing), in its box.
    pub fn into_boxed(mut self) -> (Box<B>, usize) {
        let size = self.trim();
        // SAFETY: `memory_of` made the memory of a region with a backing, and gave it one of this type, from
        // a box.
        let backing = unsafe {
            let backing = self.memory.into_backing().unwrap_unchecked();
            Box::from_raw(backing.cast::<B>().as_ptr())
        };
        (backing, size)
    }
}

impl<T: Stored, B> Region<T, B> {
    /// A handle to read the value.
    #[inline]
    pub fn root(&self) -> Ref<'_, T> {
        Ref::new(self.memory.bytes(), ROOT)
    }

    /// A handle to change the value.
    #[inline]
    pub fn root_mut(&mut self) -> Mut<'_, T> {
        Mut::new(&mut self.memory, ROOT)
    }

    /// The live image: the current state of the region.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        self.memory.bytes()
    }

    /// The number of shared values that links of this region had to look at, to find cycles.
    #[doc(hidden)]
    pub fn walked(&self) -> u64 {
        self.memory.walked
    }

    /// The number of bytes within the live image that are not in use.
    pub fn free_bytes(&self) -> usize {
        self.memory.free_bytes() as usize
    }

    /// The size to which the live image can grow in place.
    pub fn room(&self) -> usize {
        self.memory.room() as usize
    }

    /// Reserves memory for a live image of `bytes` bytes, so that it grows to that size without moving.
    pub fn reserve(&mut self, bytes: usize) -> Result<(), Full> {
        match bytes.checked_next_multiple_of(GRANULE as usize) {
            Some(bytes) => self.memory.make_room(bytes as u64),
            None => Err(self.memory.full()),
        }
    }

    /// Moves the end of the live image to the last block in use. Returns its size in bytes.
    pub fn trim(&mut self) -> usize {
        self.memory.flush_caches();
        self.memory.size() as usize
    }

    /// The canonical image: equal values have equal bytes.
    pub fn canonical(&self) -> Vec<u8> {
        let image =
            canonical_image::<T, _>(self.memory.bytes(), None, |len| Ok::<_, Infallible>(vec![0; len]));
        let Ok(image) = image;
        image
    }

    /// Writes the canonical image to the front of a buffer, such as a loan, and returns its size in bytes. It
    /// is seldom larger than the live image; an error gives the needed size.
    pub fn canonical_into(&self, buffer: &mut [u8]) -> Result<usize, BufferError> {
        let found = buffer.len();
        write_canonical::<T>(self.memory.bytes(), None, buffer)
            .map_err(|least| BufferError::TooSmall { found, least })
    }

    /// The size of the canonical image in bytes.
    pub fn canonical_size(&self) -> usize {
        write_canonical::<T>(self.memory.bytes(), None, &mut []).unwrap_or_else(|needed| needed)
    }

    /// The packed image, the smallest one, which [`view_packed`](crate::view_packed) reads: equal values have
    /// equal bytes.
    pub fn packed(&self) -> Vec<u8> {
        let Ok(image) = packed_image::<T, _>(self.memory.bytes(), |len| Ok::<_, Infallible>(vec![0; len]));
        image
    }

    /// Writes the packed image to the front of a buffer, and returns its size in bytes. An error gives the
    /// needed size.
    pub fn packed_into(&self, buffer: &mut [u8]) -> Result<usize, BufferError> {
        packed_into::<T>(self.memory.bytes(), buffer)
    }

    /// The size of the packed image in bytes.
    pub fn packed_size(&self) -> usize {
        write_packed::<T>(self.memory.bytes(), &mut []).unwrap_or_else(|needed| needed)
    }

    /// Rearranges the region into its canonical form, without free memory. The size of the memory does not
    /// change.
    ///
    /// The canonical form of a tree can need more memory than a tree whose nodes happen to be full. If there
    /// is no room for it, nothing changes; [`compact_in_place`](Self::compact_in_place) never needs more.
    pub fn compact(&mut self) -> Result<(), Full> {
        let mut image = self.canonical();
        let more = (image.len() as u32).saturating_sub(self.memory.size());
        if more != 0 {
            self.memory.extend_end(more / GRANULE)?;
        }
        image[6] = 1;
        self.memory.become_compact(&image);
        Ok(())
    }

    /// Closes the gaps between blocks in place, without a second copy of the image. Capacities are trimmed,
    /// blocks move down in their order, and links are updated. The value is unchanged, and the image has the
    /// size of the data in use. Freed bytes are zero unless the region's options leave them. The result is
    /// not the canonical form, for which [`compact`](Self::compact) needs memory: trees keep their nodes, and
    /// hash tables the order of their entries.
    ///
    /// An image of more than a megabyte needs 1/256 of its size from the heap for this. Without that memory,
    /// it takes longer. The index of a hash table that becomes smaller is made on the heap; without that
    /// memory, the table keeps its capacity.
    ///
    /// During compaction the image is inconsistent, and it stays so if the process dies: links already lead
    /// to the future places of blocks. Memory that other processes can access is therefore compacted only
    /// while it is lent to one process, never after it is published. A process that finds it after that
    /// process has died must discard it.
    pub fn compact_in_place(&mut self) {
        compact::<T>(&mut self.memory);
    }

    /// Writes a new region's header and root.
    fn begun(mut self) -> Self {
        let size = self.memory.size();
        write_header::<T>(self.memory.bytes_mut(), 1, size);
        let (table, at) = (&T::facts().table, table_place::<T>() as usize);
        self.memory.bytes_mut()[at..at + table.len()].copy_from_slice(table);
        T::begin(MemoryMut(&mut self.memory), ROOT);
        self
    }

    /// Makes a checked image in the memory the region's image.
    fn adopted(&mut self, bits: Option<&[u64]>) {
        let (size, table) = (self.memory.size(), self.memory.u32(TABLE_AT));
        write_header::<T>(self.memory.bytes_mut(), 1, size);
        if !T::facts().table.is_empty() {
            self.memory.set_u32(TABLE_AT, table);
        }
        if let Some(bits) = bits {
            self.memory.use_only(bits);
        }
    }
}

impl<T: Stored> Region<T> {
    /// Releases memory: compacts the region, and leaves room for its content only.
    pub fn shrink_to_fit(&mut self) {
        let image = self.canonical();
        let options = Options { reserve: 0, ..self.memory.options() };
        let mut memory = Memory::on_heap(image.len() as u32, options);
        memory.bytes_mut().copy_from_slice(&image);
        memory.bytes_mut()[6] = 1;
        self.memory = memory;
    }
}

/// The value of an image, to be read in place. Everything in the image is checked first. It must begin at a
/// multiple of 16.
pub fn view<T: Stored>(image: &[u8]) -> Result<Ref<'_, T>, Invalid> {
    if !is_aligned(image) {
        return invalid(0, InvalidProblem::MisalignedImage);
    }
    let mut bitmap = Bitmap::default();
    let checked = check_image::<T>(image, &mut bitmap)?;
    refuse(checked.versions.and_then(|versions| versions.fewer))?;
    Ok(Ref::new(checked.image, ROOT))
}

/// The packed image of a canonical or live one, which must begin at a multiple of 16. It is checked first.
/// A region has [`packed`](crate::Region::packed) for this.
pub fn pack<T: Stored>(image: &[u8]) -> Result<Vec<u8>, Invalid> {
    let from = view::<T>(image)?.image();
    packed_image::<T, _>(from, zeros)
}

/// The value of an image that was checked before. Its writer may have changed it since; reading it then
/// returns other values or panics, but never leaves the image.
#[doc(hidden)]
pub fn checked_root<T: Stored>(image: &[u8]) -> Ref<'_, T> {
    Ref::new(image, ROOT)
}

/// Makes a memory over a buffer, for an image of `size` bytes.
#[inline]
fn memory_in(buffer: &mut [u8], size: u32, kept: bool, options: Options) -> Result<Memory, BufferError> {
    if !is_aligned(buffer) {
        return Err(BufferError::Misaligned);
    }
    // Bytes beyond the largest region are not used.
    let total = buffer.len().min(total_for(MAX_SIZE));
    let least = if kept { size as usize } else { total_for(size) };
    if total < least {
        return Err(BufferError::TooSmall { found: total, least });
    }
    let base = NonNull::from(buffer).cast::<u8>();
    // SAFETY: the buffer is aligned and large enough, and borrowed exclusively for the lifetime in the
    // region's type.
    Ok(unsafe { Memory::over((base, total), size, kept, false, options, Store::Borrowed) })
}

/// Makes the memory of a backing, for an image of `size` bytes.
pub(crate) fn memory_of<B: Backing>(
    mut backing: Box<B>,
    size: u32,
    kept: bool,
    options: Options,
) -> Result<Memory, BufferError> {
    let zero = backing.is_zero();
    let least = total_for(size.max(options.reserve.min(options.limit)));
    let (mut base, mut total) = backing.memory();
    if total < least {
        let Some(grown) = backing.grow(least) else {
            return Err(BufferError::TooSmall { found: total, least });
        };
        (base, total) = grown;
    }
    total = total.min(total_for(MAX_SIZE));
    let backing: NonNull<dyn Backing + '_> = NonNull::from(Box::leak(backing));
    // SAFETY: only the lifetime in the type changes. The region is generic over the backing and cannot
    // outlive the backing's borrows.
    let backing =
        unsafe { std::mem::transmute::<NonNull<dyn Backing + '_>, NonNull<dyn Backing + 'static>>(backing) };
    let options = Options { limit: options.limit.max(size), ..options };
    // SAFETY: the backing's memory has the properties that `Backing` requires, and the store owns the
    // backing.
    Ok(unsafe { Memory::over((base, total), size, kept, zero, options, Store::Other(backing)) })
}
