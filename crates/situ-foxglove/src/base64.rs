//! Bytes as text, as RFC 4648 defines it.

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The text of some bytes.
pub fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let at = |index: usize| u32::from(group.get(index).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for index in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * index)) as usize & 63];
            text.push(if index > group.len() { '=' } else { char::from(letter) });
        }
    }
    text
}

/// The bytes of a text; `None` if it is not one of [`encode`].
pub fn decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let groups = text.as_bytes().chunks_exact(4);
    if !groups.remainder().is_empty() {
        return None;
    }
    let last = groups.len().saturating_sub(1);
    for (number, group) in groups.enumerate() {
        let padding = group.iter().rev().take_while(|letter| **letter == b'=').count();
        if padding > 2 || (padding > 0 && number != last) {
            return None;
        }
        let mut bits = 0;
        for letter in &group[..4 - padding] {
            let value = LETTERS.iter().position(|it| it == letter)?;
            bits = bits << 6 | value as u32;
        }
        bits <<= 6 * padding;
        // Bits that stand for no byte are zero, so that each text has one meaning.
        if padding > 0 && bits & ((1 << (8 * padding)) - 1) != 0 {
            return None;
        }
        bytes.extend_from_slice(&bits.to_be_bytes()[1..4 - padding]);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_the_standard_hold() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(encode(bytes.as_bytes()), text);
            assert_eq!(decode(text).as_deref(), Some(bytes.as_bytes()), "{text}");
        }
        assert_eq!(encode(&[0xfb, 0xff, 0xfe]), "+//+");
        for bad in ["Z", "Zg=", "Zg==Zg==", "Zh==", "Z===", "====", "Zm9?", "=Zm9", "Zm\u{e9}"] {
            assert_eq!(decode(bad), None, "{bad}");
        }
    }
}
