//! LZF decompression, for PCD files with `DATA binary_compressed`.

/// The reason that compressed bytes cannot be expanded.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum LzfError {
    /// The input ends inside a literal run or a back-reference.
    #[error("the compressed data ends inside an instruction, after {output} of {expected} bytes")]
    Truncated {
        /// Bytes written so far.
        output: usize,
        /// Bytes that were announced.
        expected: usize,
    },
    /// A back-reference points before the beginning.
    #[error("a back-reference reaches {distance} bytes back after only {output} bytes")]
    Distance {
        /// The distance in bytes.
        distance: usize,
        /// Bytes written so far.
        output: usize,
    },
    /// The expanded size is not the one announced.
    #[error("the data expands to {output} bytes or more, not to the {expected} announced")]
    Size {
        /// The number of bytes produced.
        output: usize,
        /// Bytes that were announced.
        expected: usize,
    },
}

/// Expands `input` to exactly `expected` bytes.
pub fn decompress(input: &[u8], expected: usize) -> Result<Vec<u8>, LzfError> {
    // One instruction of 3 bytes expands to at most 264 bytes. This limits the output, regardless of the
    // announced size.
    let mut out: Vec<u8> = Vec::with_capacity(expected.min(input.len().saturating_mul(88)));
    let mut at = 0;
    let mut next = |count: usize, output: usize| {
        let end = at + count;
        let bytes = input.get(at..end).ok_or(LzfError::Truncated { output, expected })?;
        at = end;
        Ok::<&[u8], LzfError>(bytes)
    };
    while out.len() < expected {
        let control = usize::from(next(1, out.len())?[0]);
        if control < 32 {
            let literal = next(control + 1, out.len())?;
            out.extend_from_slice(literal);
        } else {
            let mut length = control >> 5;
            if length == 7 {
                length += usize::from(next(1, out.len())?[0]);
            }
            let distance = ((control & 31) << 8) + usize::from(next(1, out.len())?[0]) + 1;
            let start =
                out.len().checked_sub(distance).ok_or(LzfError::Distance { distance, output: out.len() })?;
            for i in start..start + length + 2 {
                out.push(out[i]);
            }
        }
    }
    if out.len() != expected {
        return Err(LzfError::Size { output: out.len(), expected });
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_and_references() {
        // "abc" literally, then 6 bytes from 3 back: "abcabcabc".
        let packed = [2, b'a', b'b', b'c', 4 << 5, 2];
        assert_eq!(decompress(&packed, 9).unwrap(), b"abcabcabc");
        // A long run: 7 + 1 + 2 = 10 bytes from 1 back.
        assert_eq!(decompress(&[0, b'x', 7 << 5, 1, 0], 11).unwrap(), b"xxxxxxxxxxx");
    }

    #[test]
    fn damage_is_named() {
        assert_eq!(decompress(&[2, b'a'], 3), Err(LzfError::Truncated { output: 0, expected: 3 }));
        assert_eq!(decompress(&[0, b'x', 32, 4], 9), Err(LzfError::Distance { distance: 5, output: 1 }));
        assert_eq!(decompress(&[2, b'a', b'b', b'c'], 2), Err(LzfError::Size { output: 3, expected: 2 }));
    }

    #[test]
    fn an_announced_size_allocates_no_more_than_can_come_out() {
        assert_eq!(
            decompress(&[0, b'x'], usize::MAX),
            Err(LzfError::Truncated { output: 1, expected: usize::MAX })
        );
    }
}
