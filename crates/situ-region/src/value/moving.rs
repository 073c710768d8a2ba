//! Moves a value, with all that it holds, from one place of a region to another, without a copy of its
//! blocks.

use std::marker::PhantomData;

use crate::error::MoveError;
use crate::image::check::Check;
use crate::memory::blocks::MemoryMut;
use crate::value::handle::{Mut, Ref};
use crate::value::stored::Stored;

/// A value that moves, during a call of [`Mut::move_within`].
pub struct Moving<'k, S, T> {
    memory: *const (),
    /// The place of the value in which `from` searches.
    within: u32,
    from: &'k dyn for<'f> Fn(Ref<'f, S>) -> Option<Ref<'f, T>>,
    /// The lifetime is exactly that of one call, because it is invariant.
    time: PhantomData<fn(&'k ()) -> &'k ()>,
}

impl<S: Stored> Mut<'_, S> {
    /// Moves a value to another place of this one, with all that it holds; nothing is copied. `from` finds
    /// the value, and `to` puts it elsewhere by [`Mut::put`]. Its old place gets the default value, as by
    /// [`std::mem::take`].
    ///
    /// `to` may make room first: push an element, insert a key. `from` is called when the value is put, so it
    /// finds the value also if its container has moved meanwhile. If `to` fails before, the value is still in
    /// its place.
    ///
    /// ```
    /// use situ_region::{MoveError, Region, Text, Unique, Vector};
    /// use situ_region::region_struct;
    ///
    /// region_struct! {
    ///     struct Node: NodeRef, NodeMut { name: Text, left: Unique<Node>, others: Vector<Unique<Node>> }
    /// }
    /// let mut r = Region::<Node>::new();
    /// let mut root = r.root_mut();
    /// root.left().fill()?.name().set("a subtree with all its parts")?;
    /// root.move_within(
    ///     |root| Some(root.left()),
    ///     |mut root, subtree| root.others().push_default()?.put(subtree),
    /// )?;
    /// assert!(r.root().left().get().is_none());
    /// let others = r.root().others();
    /// assert_eq!(others.get(0).unwrap().get().unwrap().name(), "a subtree with all its parts");
    /// # Ok::<(), MoveError>(())
    /// ```
    ///
    /// Between two regions, a value is copied: `mine.set(theirs)`.
    ///
    /// # Errors
    /// The errors of `to`.
    pub fn move_within<T: Stored, R, E>(
        &mut self,
        from: impl for<'f> Fn(Ref<'f, S>) -> Option<Ref<'f, T>>,
        to: impl for<'m, 'k> FnOnce(Mut<'m, S>, Moving<'k, S, T>) -> Result<R, E>,
    ) -> Result<R, E> {
        let within = self.at();
        let memory = std::ptr::from_ref(self.memory()).cast();
        to(self.reborrow(), Moving { memory, within, from: &from, time: PhantomData })
    }
}

/// Whether a place lies in what a value leads to. True if there is no memory to determine this.
fn leads_to<T: Stored>(image: &[u8], value: u32, place: u32) -> bool {
    let mut search = Check::<false>::searching(image, place);
    let searched = T::check(&mut search, value).and_then(|()| search.finish());
    searched.is_err() || search.has_found()
}

impl<T: Stored> Mut<'_, T> {
    /// Replaces this value by one that moves; see [`Mut::move_within`]. On an error, nothing changes. The
    /// value may be a part of the one that it replaces: so a node of a tree is replaced by one of its
    /// children.
    ///
    /// Takes no memory of the region. If a `T` can hold further ones, all that the value holds is visited, to
    /// find out whether this place lies in it.
    pub fn put<S: Stored>(&mut self, moving: Moving<'_, S, T>) -> Result<(), MoveError> {
        let at = self.at();
        let memory = self.memory();
        if !std::ptr::eq(std::ptr::from_ref(memory).cast(), moving.memory) {
            return Err(MoveError::OtherRegion);
        }
        let image = memory.bytes();
        let found = (moving.from)(Ref::new(image, moving.within)).ok_or(MoveError::Nothing)?;
        if !std::ptr::eq(found.image().as_ptr(), image.as_ptr()) {
            return Err(MoveError::OtherRegion);
        }
        let from = found.at();
        if from == at {
            return Ok(());
        }
        if T::LINKS && T::facts().repeats && leads_to::<T>(image, from, at) {
            return Err(MoveError::Inside);
        }
        let bytes = image[from as usize..][..T::SIZE as usize].to_vec();
        memory.zero(from, T::SIZE);
        T::begin(MemoryMut(memory), from);
        // This may release the place that was just left.
        T::release(MemoryMut(memory), at);
        memory.bytes_mut()[at as usize..][..bytes.len()].copy_from_slice(&bytes);
        if T::LINKS {
            T::moved(MemoryMut(memory), at, from.wrapping_sub(at));
            // What shared values reach is no longer known.
            memory.reached = None;
        }
        Ok(())
    }
}
