//! The words of the format: tags, varints, zigzag.

/// The largest field number.
pub const MAX_FIELD: u32 = (1 << 29) - 1;

/// The longest string, nested message or packed field, in bytes.
pub const MAX_LENGTH: u64 = i32::MAX as u64;

/// The longest tag, in bytes.
pub(super) const MAX_TAG: usize = 5;

/// The longest varint, in bytes.
pub(super) const MAX_VARINT: usize = 10;

/// How a field is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum WireType {
    /// Seven bits a byte, the lowest first.
    Varint = 0,
    /// Eight bytes.
    Fixed64 = 1,
    /// A length and so many bytes.
    Bytes = 2,
    /// The beginning of a group.
    GroupStart = 3,
    /// The end of a group.
    GroupEnd = 4,
    /// Four bytes.
    Fixed32 = 5,
}

impl WireType {
    /// The one with this number; `None` for 6 and 7.
    #[inline]
    pub const fn from_bits(bits: u32) -> Option<Self> {
        Some(match bits {
            0 => Self::Varint,
            1 => Self::Fixed64,
            2 => Self::Bytes,
            3 => Self::GroupStart,
            4 => Self::GroupEnd,
            5 => Self::Fixed32,
            _ => return None,
        })
    }
}

/// What stands in front of a field. The number must be valid.
#[inline(always)]
pub const fn tag(field: u32, wire: WireType) -> u32 {
    field << 3 | wire as u32
}

/// Maps numbers of small magnitude to small ones.
#[inline(always)]
pub const fn zigzag32(value: i32) -> u32 {
    (value << 1 ^ value >> 31) as u32
}

/// Maps numbers of small magnitude to small ones.
#[inline(always)]
pub const fn zigzag64(value: i64) -> u64 {
    (value << 1 ^ value >> 63) as u64
}

/// The inverse of [`zigzag32`].
#[inline(always)]
pub const fn unzigzag32(value: u32) -> i32 {
    (value >> 1) as i32 ^ -((value & 1) as i32)
}

/// The inverse of [`zigzag64`].
#[inline(always)]
pub const fn unzigzag64(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

/// How many bytes a number has as a varint: 1 to 10.
#[inline(always)]
pub const fn varint_size(value: u64) -> usize {
    ((63 - (value | 1).leading_zeros()) as usize * 9 + 73) / 64
}

/// Writes a varint and returns the place behind it.
///
/// # Safety
/// There must be room for [`varint_size`] bytes.
#[inline(always)]
pub(super) unsafe fn put_varint(mut at: *mut u8, mut value: u64) -> *mut u8 {
    // SAFETY: the loop writes as many bytes as the number has, which the caller has room for.
    unsafe {
        while value >= 0x80 {
            at.write(value as u8 | 0x80);
            at = at.add(1);
            value >>= 7;
        }
        at.write(value as u8);
        at.add(1)
    }
}

/// Writes a varint of exactly `width` bytes, with more of them than needed if need be.
///
/// # Safety
/// There must be room for `width` bytes, and the number must fit.
#[inline]
pub(super) unsafe fn put_padded_varint(at: *mut u8, mut value: u64, width: usize) {
    for index in 0..width {
        let more = if index + 1 < width { 0x80 } else { 0 };
        // SAFETY: `index < width`, which the caller has room for.
        unsafe { at.add(index).write(value as u8 & 0x7f | more) };
        value >>= 7;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_varints_change_every_seven_bits() {
        for bits in 0..64u32 {
            let least = 1u64 << bits;
            assert_eq!(varint_size(least), (bits / 7 + 1) as usize, "1 << {bits}");
            assert_eq!(
                varint_size(least - 1),
                (bits.saturating_sub(1) / 7 + 1) as usize,
                "(1 << {bits}) - 1"
            );
        }
        assert_eq!(varint_size(u64::MAX), 10);
    }

    #[test]
    fn zigzag_is_as_documented_by_protobuf() {
        for (signed, unsigned) in
            [(0, 0), (-1, 1), (1, 2), (-2, 3), (0x7fff_ffff, 0xffff_fffe), (i32::MIN, u32::MAX)]
        {
            assert_eq!(zigzag32(signed), unsigned);
            assert_eq!(unzigzag32(unsigned), signed);
        }
        assert_eq!(zigzag64(i64::MIN), u64::MAX);
        assert_eq!(unzigzag64(u64::MAX), i64::MIN);
        assert_eq!(unzigzag64(zigzag64(-300)), -300);
    }
}
