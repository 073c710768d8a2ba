//! Typed arguments: fields of an event that a function of the program writes.

use std::ops::Deref;

use situ_wire::protobuf::{Fixed, Message, Writer};

/// The room that [`typed`] has for the fields of an event, in bytes.
const USUAL: usize = 512;

/// Encoded fields of Perfetto's `TrackEvent`, at most `N` bytes. [`typed`] makes them.
#[derive(Clone, Debug)]
pub struct TypedFields<const N: usize> {
    memory: [u8; N],
    length: usize,
}

impl<const N: usize> TypedFields<N> {
    /// As [`typed`], with room for `N` bytes.
    pub fn new(write: impl FnOnce(Message<'_>)) -> Self {
        let mut fields = Self { memory: [0; N], length: 0 };
        let mut buffer = Fixed::new(&mut fields.memory);
        let mut writer = Writer::new(&mut buffer);
        write(writer.message());
        if writer.finish().is_ok() {
            let length = buffer.written().len();
            fields.length = length;
        }
        fields
    }
}

impl<const N: usize> Deref for TypedFields<N> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.memory[..self.length]
    }
}

/// Fields of Perfetto's `TrackEvent`, which `write` sets: those that Perfetto has, and extensions, with the
/// writers that `situ gen` makes for them. It is called only if the category is on. If the fields take more
/// than 512 bytes, the event has none of them; [`TypedFields::new`] gives them more room.
///
/// ```
/// use situ_trace::{category, instant, typed};
///
/// category!(PLANNER, "planner");
///
/// instant!(PLANNER, "replanned", fields = &typed(|mut event| event.uint32(9900, 17)));
/// ```
pub fn typed(write: impl FnOnce(Message<'_>)) -> TypedFields<USUAL> {
    TypedFields::new(write)
}
