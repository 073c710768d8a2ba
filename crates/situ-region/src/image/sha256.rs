//! The hash function of layouts and versions.

/// The first eight bytes of the SHA-256 (FIPS 180-4) of a text, read as a little-endian number.
pub(crate) fn sha256_u64(text: &[u8]) -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = hmac_sha256::Hash::hash(text);
    u64::from_le_bytes([a, b, c, d, e, f, g, h])
}
