//! The weak links of regions in conversions: messages in other storages have no members for them.

use situ_layout::assign::{AssignError, AssignProblem, Bodies};

use super::StoreError;
use crate::containers::weak::Weak;
use crate::memory::blocks::MemoryMut;
use crate::value::handle::Ref;
use crate::value::stored::Stored;

/// Makes a weak link lead nowhere: the message `from` has no member for it.
pub fn clear_weak<T: Stored, V>(
    memory: MemoryMut<'_>,
    at: u32,
    _from: &V,
    _body: &[u8],
) -> Result<(), StoreError> {
    Weak::<T>::release(memory, at);
    Ok(())
}

/// Refuses a weak link that leads to a value: the message `to` has no member for it.
pub fn load_weak<T: Stored, V>(
    from: Ref<'_, Weak<T>>,
    _to: &mut V,
    _bodies: &mut Bodies<'_>,
) -> Result<(), AssignError> {
    match from.get() {
        Some(_) => Err(AssignProblem::WeakLink.into()),
        None => Ok(()),
    }
}
