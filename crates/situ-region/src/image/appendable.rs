//! Appendable structs in the passes over a region: their version in an image, and the defaults of members
//! that the image lacks.

use situ_layout::{Invalid, InvalidProblem};

use crate::error::invalid;
use crate::image::check::Check;
use crate::image::header::first_size;
use crate::image::lines::Lines;
use crate::image::versions::{TABLE_AT, Version};
use crate::image::writer::Writer;
use crate::memory::blocks::{Memory, MemoryMut};
use crate::memory::granule::{ROOT, u32_at};
use crate::memory::options::Options;
use crate::value::stored::Stored;

impl Version {
    /// Adds the next member.
    pub fn member<M: Stored>(&mut self, name: &'static str, offset: u32) {
        let (of, own_name) = self.named();
        let mut lines = Lines::default();
        lines.named(of, own_name); // the first of this name
        lines.member::<M>(own_name, name, offset);
        M::needed(&mut lines);
        self.add(name, lines.text(), offset + M::SIZE, (M::PACKED_SIZE, M::PACKED_ALIGN));
    }
}

impl<const CANONICAL: bool> Check<'_, CANONICAL> {
    /// The number of members of an appendable struct in the image, and its size there.
    pub fn version_of<T: Stored>(&self, at: u32) -> Result<(u32, u32), Invalid> {
        match self.versions {
            None => Ok((u32::MAX, T::SIZE)),
            Some(versions) => match versions.of::<T>() {
                Some(found) => Ok(found),
                None => invalid(at, InvalidProblem::BadVersions { at: u32_at(self.image(), TABLE_AT) }),
            },
        }
    }

    /// The size of the value that a link leads to.
    pub(crate) fn size_of<T: Stored>(&self, at: u32) -> Result<u32, Invalid> {
        if T::APPENDABLE { Ok(self.version_of::<T>(at)?.1) } else { Ok(T::SIZE) }
    }
}

impl Writer<'_> {
    /// Writes a default value. `set` may then write another default over it.
    pub fn default_value<T: Stored>(&mut self, to: u32, set: impl FnOnce(MemoryMut<'_>, u32)) {
        let mut made = Memory::on_heap(first_size::<T>(), Options::default());
        T::begin(MemoryMut(&mut made), ROOT);
        set(MemoryMut(&mut made), ROOT);
        let mut writer = Writer::behind(made.bytes(), &mut *self.to, self.end);
        // A new value has no blocks.
        T::write(&mut writer, ROOT, to);
    }
}
