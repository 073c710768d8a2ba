//! The encodings and the four bytes in front of every message.

use situ_layout::visit::Extensibility;

/// The size of the encapsulation header, in bytes.
pub const HEADER_SIZE: usize = 4;

/// The maximum nesting of values. Each structure, union, sequence, array and map counts as one level.
pub const MAX_DEPTH: u32 = 128;

/// The version of CDR.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// Version 1, which ROS 2 uses.
    #[default]
    Xcdr1,
    /// Version 2: numbers aligned to at most 4 bytes, delimiters.
    Xcdr2,
}

impl Encoding {
    /// The largest alignment.
    pub const fn max_align(self) -> usize {
        match self {
            Self::Xcdr1 => 8,
            Self::Xcdr2 => 4,
        }
    }
}

/// The order of the bytes of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ByteOrder {
    /// Most significant byte first.
    Big,
    /// Least significant byte first.
    Little,
}

impl ByteOrder {
    /// The byte order of this machine.
    pub const NATIVE: Self = if cfg!(target_endian = "big") { Self::Big } else { Self::Little };
}

/// The content of the encapsulation header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Encapsulation {
    /// The version.
    pub encoding: Encoding,
    /// The byte order.
    pub order: ByteOrder,
    /// The extensibility of the top-level type. In version 1, appendable types are encoded as final ones.
    pub extensibility: Extensibility,
}

impl Encapsulation {
    /// Decodes the first two bytes of a message. Returns `None` if they name no CDR encoding.
    pub const fn from_id(id: u16) -> Option<Self> {
        let order = if id & 1 == 0 { ByteOrder::Big } else { ByteOrder::Little };
        let (encoding, extensibility) = match id & !1 {
            0x0 => (Encoding::Xcdr1, Extensibility::Final),
            0x2 => (Encoding::Xcdr1, Extensibility::Mutable),
            0x6 => (Encoding::Xcdr2, Extensibility::Final),
            0x8 => (Encoding::Xcdr2, Extensibility::Appendable),
            0xa => (Encoding::Xcdr2, Extensibility::Mutable),
            _ => return None,
        };
        Some(Self { encoding, order, extensibility })
    }

    /// Returns the first two bytes of a message.
    pub const fn id(self) -> u16 {
        let kind = match (self.encoding, self.extensibility) {
            (Encoding::Xcdr1, Extensibility::Final | Extensibility::Appendable) => 0x0,
            (Encoding::Xcdr1, Extensibility::Mutable) => 0x2,
            (Encoding::Xcdr2, Extensibility::Final) => 0x6,
            (Encoding::Xcdr2, Extensibility::Appendable) => 0x8,
            (Encoding::Xcdr2, Extensibility::Mutable) => 0xa,
        };
        kind | (matches!(self.order, ByteOrder::Little) as u16)
    }

    /// Returns whether a message with this header can hold a value of a type with this extensibility.
    pub const fn fits(self, extensibility: Extensibility) -> bool {
        Self { extensibility, ..self }.id() == self.id()
    }
}
