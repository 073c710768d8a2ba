//! The systems, one file each.

#[cfg(with_capnp)]
pub mod capnp;
mod characters;
pub mod flatbuffers;
pub mod native;
pub mod prost;
pub mod rkyv;
mod rkyv_encoder;
mod rkyv_world;
pub mod situ;
pub mod situ_sets;
mod situ_world;

use std::hint::black_box;

use crate::suite::{Aligned, Outcome, Suite, sizes, timed_whole};

/// The operations of one system on one data set.
pub struct Set<Read, Update, Validate> {
    /// Its name.
    pub name: &'static str,
    /// The sum that reading must return.
    pub sum: u64,
    /// The message.
    pub bytes: Aligned,
    /// Reads without a check, if the system permits that.
    pub read: Read,
    /// Changes the message in place, if the system permits that.
    pub update: Option<Update>,
    /// Checks the message, if the system has a check apart from decoding.
    pub validate: Option<Validate>,
}

impl<Read, Update, Validate> Set<Read, Update, Validate>
where
    Read: Fn(&[u8]) -> Outcome<u64> + 'static,
    Update: Fn(&mut [u8]) -> Outcome<()> + 'static,
    Validate: Fn(&[u8]) -> Outcome<()> + 'static,
{
    /// Adds the operations. `serialize` serializes the data set once.
    pub fn add(self, suite: &mut Suite, mut serialize: impl FnMut() -> Outcome<()> + 'static) -> Outcome<()> {
        let Self { name, sum, bytes, read, update, validate } = self;
        let found = read(bytes.as_ref())?;
        if found != sum {
            return Err(format!("{name} adds up to {found}, not {sum}").into());
        }
        let whole = bytes.clone();
        suite.add(&format!("{name}/sizes"), move |_| sizes([whole.as_ref()].into_iter()));
        suite.add(&format!("{name}/serialize"), move |parameters| timed_whole(parameters, &mut serialize));
        let mut changed = bytes.clone();
        if let Some(validate) = validate {
            let bytes = bytes.clone();
            suite.add(&format!("{name}/validate"), move |parameters| {
                timed_whole(parameters, || validate(black_box(bytes.as_ref())))
            });
        }
        suite.add(&format!("{name}/read"), move |parameters| {
            timed_whole(parameters, || {
                black_box(read(black_box(bytes.as_ref()))?);
                Ok(())
            })
        });
        if let Some(update) = update {
            suite.add(&format!("{name}/update"), move |parameters| {
                timed_whole(parameters, || update(black_box(changed.as_mut())))
            });
        }
        Ok(())
    }
}

/// The type of `update` for a system without it.
pub type NoUpdate = fn(&mut [u8]) -> Outcome<()>;
/// The type of `validate` for a system without it.
pub type NoValidate = fn(&[u8]) -> Outcome<()>;
