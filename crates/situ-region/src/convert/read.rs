//! Reads a message from an image of its region form.

use situ_layout::{InvalidProblem, NoMemory, RegionFormError, SharedBytes};

use super::LoadInto;
use crate::region::{Region, view};

/// A private copy of an image, aligned for viewing.
struct Image {
    blocks: Vec<u128>,
    len: usize,
}

impl Image {
    fn copy_of(image: SharedBytes<'_>) -> Result<Self, NoMemory> {
        let (mut blocks, len) = (Vec::<u128>::new(), image.len());
        let count = len.div_ceil(size_of::<u128>());
        blocks.try_reserve_exact(count).map_err(|_| NoMemory { bytes: len })?;
        let room = &mut blocks.spare_capacity_mut()[..count];
        // The rest of the last block, after the image.
        if let Some(last) = room.last_mut() {
            last.write(0);
        }
        image.copy_to_uninit(room);
        // SAFETY: the capacity was reserved, the blocks are initialized, and any bits are a number.
        unsafe { blocks.set_len(count) };
        Ok(Self { blocks, len })
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: the blocks are `len` bytes or more, and initialized.
        unsafe { std::slice::from_raw_parts(self.blocks.as_ptr().cast::<u8>(), self.len) }
    }
}

/// Reads a message from an image of its region form `R`.
#[doc(hidden)]
pub fn read_region<T, R: LoadInto<T>>(
    message: &mut T,
    own_body: &mut [u8],
    image: SharedBytes<'_>,
) -> Result<(), RegionFormError> {
    let copy = Image::copy_of(image)?;
    match view::<R>(copy.bytes()) {
        Ok(root) => Ok(root.load_into(message, own_body)?),
        // The copy gives the defaults to members that an older version lacks.
        Err(error) if matches!(error.problem, InvalidProblem::OtherVersion { .. }) => {
            Ok(Region::<R>::adopt(copy.bytes())?.root().load_into(message, own_body)?)
        }
        Err(error) => Err(error.into()),
    }
}
