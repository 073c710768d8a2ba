//! Elements of the format: tags, varints, zigzag.

/// The largest field number.
pub const MAX_FIELD: u32 = (1 << 29) - 1;

/// The longest string, nested message or packed field, in bytes.
pub const MAX_LENGTH: u64 = i32::MAX as u64;

/// The longest tag, in bytes.
pub(super) const MAX_TAG: usize = 5;

/// The longest varint, in bytes.
pub(super) const MAX_VARINT: usize = 10;

/// The width of the length of a message that crosses chunks, in bytes.
pub(super) const WIDE: usize = 5;

/// The wire type of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum WireType {
    /// Seven bits a byte, the lowest first.
    Varint = 0,
    /// Eight bytes.
    Fixed64 = 1,
    /// A length, and as many bytes.
    Bytes = 2,
    /// The beginning of a group.
    GroupStart = 3,
    /// The end of a group.
    GroupEnd = 4,
    /// Four bytes.
    Fixed32 = 5,
}

impl WireType {
    /// Returns the wire type with this number; `None` for 6 and 7.
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

/// Returns the tag in front of a field. The number must be valid.
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

/// Returns the length of a number as a varint: 1 to 10 bytes.
#[inline(always)]
pub const fn varint_size(value: u64) -> usize {
    ((63 - (value | 1).leading_zeros()) as usize * 9 + 73) / 64
}

/// Writes a varint, and returns the address behind it.
///
/// # Safety
/// There must be room for its [`varint_size`].
#[inline(always)]
pub(super) unsafe fn put_varint(mut at: *mut u8, mut value: u64) -> *mut u8 {
    // SAFETY: the loop writes as many bytes as the varint has; the caller promises room for them.
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

/// Numbers below this have at most four bytes.
const FOUR_BYTE_LIMIT: u64 = 1 << 28;

/// Spreads 28 bits over four bytes, seven each.
#[inline(always)]
const fn spread(bits: u32) -> u32 {
    let halves = bits + 3 * (bits & 0x0fff_c000);
    halves + (halves & 0x3f80_3f80)
}

/// Writes a varint below [`FOUR_BYTE_LIMIT`], and returns the address behind it.
///
/// # Safety
/// There must be room for four bytes.
#[inline(always)]
unsafe fn put_up_to_four(at: *mut u8, value: u32) -> *mut u8 {
    let word = spread(value);
    // The position of the last byte, in bits. All bytes in front of it have the continuation bit.
    let last = (31 - (word | 1).leading_zeros()) & 24;
    let more = 0x0080_8080 & ((1 << last) - 1);
    // SAFETY: the caller promises room for four bytes, of which one to four belong to the varint.
    unsafe {
        at.cast::<u32>().write_unaligned((word | more).to_le());
        at.add(last as usize / 8 + 1)
    }
}

/// Writes the lowest 28 bits as four bytes with continuation bits.
///
/// # Safety
/// There must be room for four bytes.
#[inline(always)]
unsafe fn put_four(at: *mut u8, value: u64) -> *mut u8 {
    let word = spread(value as u32 & (FOUR_BYTE_LIMIT - 1) as u32) | 0x8080_8080;
    // SAFETY: the caller's promise.
    unsafe {
        at.cast::<u32>().write_unaligned(word.to_le());
        at.add(4)
    }
}

/// Writes a varint, and returns the address behind it. It writes four bytes at a time, without a branch for
/// each byte. It is not inlined, so that its many callers stay small.
///
/// # Safety
/// There must be room for four bytes, or for [`MAX_VARINT`] if it has more than four.
#[inline(never)]
pub(super) unsafe fn put_many(mut at: *mut u8, mut value: u64) -> *mut u8 {
    // SAFETY: four bytes are written first, and four more behind them only if the number has more. Behind
    // eight bytes follow one or two.
    unsafe {
        if value >= FOUR_BYTE_LIMIT {
            (at, value) = (put_four(at, value), value >> 28);
            if value >= FOUR_BYTE_LIMIT {
                return put_varint(put_four(at, value), value >> 28);
            }
        }
        put_up_to_four(at, value as u32)
    }
}

/// Writes a varint, and returns the address behind it. Numbers of one byte are written inline, and so are
/// numbers of five bytes, which nearly all large 32-bit numbers have.
///
/// # Safety
/// There must be room for [`MAX_VARINT`] bytes, or for five if it is below 2^32.
#[inline(always)]
pub(super) unsafe fn put_number(at: *mut u8, value: u64) -> *mut u8 {
    // SAFETY: a number of five bytes is written here. Numbers below 2^32 that are passed to `put_many`
    // therefore have at most four.
    unsafe {
        if value < 0x80 {
            at.write(value as u8);
            return at.add(1);
        }
        if (value >> 28).wrapping_sub(1) < 0x7f {
            let at = put_four(at, value);
            at.write((value >> 28) as u8);
            return at.add(1);
        }
        put_many(at, value)
    }
}

/// Writes a varint of exactly `width` bytes, padded if it needs fewer.
///
/// # Safety
/// There must be room for `width` bytes, and the number must fit.
#[inline]
pub(super) unsafe fn put_padded_varint(at: *mut u8, mut value: u64, width: usize) {
    for index in 0..width {
        let more = if index + 1 < width { 0x80 } else { 0 };
        // SAFETY: `index < width`; the caller promises room for `width` bytes.
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
    fn numbers_are_written_the_same_by_fours_as_byte_by_byte() {
        let around = (0..64u32).flat_map(|bits| {
            let least = 1u64 << bits;
            [least - 1, least, least + 1, least | 0x5555_5555_5555_5555 & (least - 1), !(least - 1)]
        });
        for value in around {
            let (mut fast, mut slow) = ([0xee; 12], [0xee; 12]);
            // SAFETY: both arrays have room for ten bytes.
            let (fast_len, slow_len) = unsafe {
                (
                    put_number(fast.as_mut_ptr(), value).offset_from(fast.as_ptr()),
                    put_varint(slow.as_mut_ptr(), value).offset_from(slow.as_ptr()),
                )
            };
            assert_eq!(fast_len, slow_len, "{value:#x}");
            let len = fast_len as usize;
            assert_eq!(len, varint_size(value), "{value:#x}");
            assert_eq!(fast[..len], slow[..len], "{value:#x}");
            // Nothing is written behind the bytes for which room is required.
            let room = if value < 1 << 32 { 5 } else { MAX_VARINT };
            assert!(fast[room..].iter().all(|byte| *byte == 0xee), "{value:#x}");
        }
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
