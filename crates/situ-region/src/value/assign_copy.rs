//! Assigns values that are copies of others, from any region.

use crate::error::Full;
use crate::image::writer::Writer;
use crate::memory::blocks::MemoryMut;
use crate::memory::granule::in_granules;
use crate::region::Region;
use crate::value::assign::Assign;
use crate::value::element::{Of, relocate};
use crate::value::handle::Ref;
use crate::value::stored::Stored;

/// Panics because another process wrote to the image of a [`Ref`] while it was read.
#[cold]
#[inline(never)]
fn changed() -> ! {
    panic!("a value of a region changed while it was copied")
}

impl<T: Stored> Assign<Ref<'_, T>> for T {
    /// Takes all memory that is needed before anything changes. For that time there is room for both values.
    fn assign(MemoryMut(memory): MemoryMut<'_>, at: u32, from: Ref<'_, T>) -> Result<(), Full> {
        // One block for the value itself, and after it the blocks that belong to it, as in a canonical image.
        let own = in_granules(u64::from(T::SIZE)) as u32;
        let mut writer = Writer::new(from.image(), &mut [], 0);
        writer.whole::<T>(from.at(), 0);
        let blocks = writer.end();
        if blocks == 0 && !T::LINKS {
            T::release(MemoryMut(memory), at);
            memory.zero(at, T::SIZE);
            T::write(&mut Writer::behind(from.image(), memory.bytes_mut(), at), from.at(), at);
            return Ok(());
        }
        let fresh = memory.allocate(u64::from(own) + u64::from(blocks))?;
        let end = fresh + own + blocks;
        let mut writer = Writer::behind(from.image(), &mut memory.bytes_mut()[..end as usize], fresh + own);
        writer.whole::<T>(from.at(), fresh);
        if writer.end() != end {
            // No link leads to it yet.
            memory.zero(fresh, own + blocks);
            memory.free(fresh, u64::from(own) + u64::from(blocks));
            changed();
        }
        T::release(MemoryMut(memory), at);
        relocate(Of::<T>::TYPE, memory, fresh, at, 1);
        memory.zero(fresh, own);
        memory.free(fresh, u64::from(own));
        Ok(())
    }
}

impl<T: Stored> Ref<'_, T> {
    /// A copy of the value in a region of its own.
    pub fn to_region(self) -> Result<Region<T>, Full> {
        let mut copy = Region::<T>::new();
        copy.root_mut().set(self)?;
        Ok(copy)
    }
}
