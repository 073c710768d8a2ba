//! The layout hash of a type in regions, and other facts of a type as a whole. The hash is the SHA-256 of a
//! text that lists every member with its place and kind.

use std::any::TypeId;
use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

use super::stored::Stored;
use super::versions::{Version, table, twin};

/// The lines of a type's layout during their construction.
#[derive(Default)]
pub struct Lines {
    text: String,
    named: Vec<Named>,
    shares: bool,
    /// The appendable structs found so far. The lines do not describe their members.
    versions: Option<Vec<Version>>,
}

/// A struct or union that the lines name.
pub(super) struct Named {
    of: TypeId,
    name: String,
    /// Its name in the lines.
    text: String,
    /// Whether its own lines are written.
    written: bool,
}

impl Lines {
    /// Writes a line, without the further lines of the type.
    pub fn line(&mut self, path: &str, offset: u32, size: u32, align: u32, kind: &str) {
        self.text.push_str(&format!("{path} {offset} {size} {align} {kind}\n"));
    }

    /// Writes the lines of a member, element, key or value.
    pub fn value<T: Stored>(&mut self, path: &str, offset: u32) {
        let kind = self.kind::<T>();
        self.line(path, offset, T::SIZE, T::ALIGN, &kind);
        T::inner(self, path);
    }

    /// Writes the lines of a member of a struct of that name.
    pub fn member<T: Stored>(&mut self, of: &str, name: &str, offset: u32) {
        self.value::<T>(&format!("{of}.{name}"), offset);
    }

    /// Writes the lines of a union's member.
    pub fn case<T: Stored>(&mut self, of: &str, name: &str, offset: u32, labels: &str) {
        let (path, kind) = (format!("{of}.{name}"), self.kind::<T>());
        self.line(&path, offset, T::SIZE, T::ALIGN, &format!("{labels}:{kind}"));
        T::inner(self, &path);
    }

    /// Writes the lines of the value that a link leads to.
    pub(super) fn pointee<T: Stored>(&mut self, path: &str, offset: u32) {
        if T::APPENDABLE {
            let kind = self.kind::<T>();
            self.line(path, offset, 0, 0, &kind);
        } else {
            self.value::<T>(path, offset);
        }
    }

    /// The text for a type in a line.
    fn kind<T: Stored>(&mut self) -> String {
        if T::NAMED { self.named(TypeId::of::<T>(), &T::kind()).text.clone() } else { T::kind() }
    }

    /// The record of a struct or union. If types of several modules have the same name, each one after the
    /// first gets a number appended.
    pub(super) fn named(&mut self, of: TypeId, name: &str) -> &mut Named {
        let known = self.named.iter().position(|each| each.of == of).unwrap_or_else(|| {
            let number = 1 + self.named.iter().filter(|each| each.name == name).count();
            let text = if number == 1 { name.to_owned() } else { format!("{name}#{number}") };
            self.named.push(Named { of, name: name.to_owned(), text, written: false });
            self.named.len() - 1
        });
        &mut self.named[known]
    }

    /// The name of a struct or union in the lines if its own lines are not written yet. Marks them as
    /// written.
    pub fn begin_struct<T: Stored>(&mut self) -> Option<String> {
        let named = self.named(TypeId::of::<T>(), &T::kind());
        (!std::mem::replace(&mut named.written, true)).then(|| named.text.clone())
    }

    /// Records an appendable struct, if the lines collect versions.
    pub fn version(&mut self, version: impl FnOnce() -> Version) -> bool {
        if let Some(versions) = &mut self.versions {
            versions.push(version());
        }
        self.versions.is_some()
    }

    /// Records that there are shared links.
    pub(super) fn share(&mut self) {
        self.shares = true;
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }
}

/// The text whose hash is the layout hash of `T`.
pub fn layout_text<T: Stored>() -> String {
    let mut lines = Lines::default();
    T::needed(&mut lines);
    format!("region-v1 {}\n{}", T::kind(), lines.text)
}

/// The facts of a type as a root.
#[derive(Debug)]
pub struct Facts {
    pub(super) layout: u64,
    /// Whether its values have shared links.
    pub(super) shares: bool,
    pub(super) versions: Vec<Version>,
    /// The table of versions in its images.
    pub(super) table: Vec<u8>,
}

impl Facts {
    /// Computes the facts of a type.
    ///
    /// # Panics
    /// If two appendable structs from two modules have the same name: images are compared by these
    /// names.
    pub fn work_out<T: Stored>() -> Self {
        let mut lines = Lines { versions: Some(Vec::new()), ..Lines::default() };
        T::needed(&mut lines);
        let versions = lines.versions.unwrap_or_default();
        if let Some(name) = twin(&versions) {
            panic!(
                "a region has two structs named {name} that can be appended to; give one of them another name"
            );
        }
        Self {
            layout: sha256_u64(layout_text::<T>().as_bytes()),
            shares: lines.shares,
            table: table(&versions),
            versions,
        }
    }
}

/// The facts of types that have no static of their own for them. They are kept forever, once for each type.
pub(super) fn facts_of_any<T: Stored>() -> &'static Facts {
    static KNOWN: RwLock<Option<HashMap<TypeId, &'static Facts>>> = RwLock::new(None);
    let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
    if let Some(facts) = known.as_ref().and_then(|known| known.get(&TypeId::of::<T>())) {
        return facts;
    }
    drop(known);
    let facts = Facts::work_out::<T>();
    let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
    known.get_or_insert_default().entry(TypeId::of::<T>()).or_insert_with(|| Box::leak(Box::new(facts)))
}

/// The layout hash of `T`.
pub fn layout_hash<T: Stored>() -> u64 {
    T::facts().layout
}

#[rustfmt::skip]
const K: [u32; 64] = [
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
];

/// The first eight bytes of the SHA-256 (FIPS 180-4) of a text, read as a little-endian number.
pub(super) fn sha256_u64(text: &[u8]) -> u64 {
    let mut padded = text.to_vec();
    padded.push(0x80);
    padded.resize(padded.len() + (120 - padded.len() % 64) % 64, 0);
    padded.extend((text.len() as u64 * 8).to_be_bytes());
    let mut h: [u32; 8] =
        [0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19];
    for block in padded.chunks_exact(64) {
        let mut w = [0_u32; 64];
        for (word, bytes) in w.iter_mut().zip(block.chunks_exact(4)) {
            *word = bytes.iter().fold(0, |word, byte| word << 8 | u32::from(*byte));
        }
        for i in 16..64 {
            let s0 = w[i - 15].rotate_right(7) ^ w[i - 15].rotate_right(18) ^ (w[i - 15] >> 3);
            let s1 = w[i - 2].rotate_right(17) ^ w[i - 2].rotate_right(19) ^ (w[i - 2] >> 10);
            w[i] = w[i - 16].wrapping_add(s0).wrapping_add(w[i - 7]).wrapping_add(s1);
        }
        let mut v = h;
        for (k, w) in K.iter().zip(w) {
            let s1 = v[4].rotate_right(6) ^ v[4].rotate_right(11) ^ v[4].rotate_right(25);
            let choice = (v[4] & v[5]) ^ (!v[4] & v[6]);
            let t1 = v[7].wrapping_add(s1).wrapping_add(choice).wrapping_add(*k).wrapping_add(w);
            let s0 = v[0].rotate_right(2) ^ v[0].rotate_right(13) ^ v[0].rotate_right(22);
            let majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
            let t2 = s0.wrapping_add(majority);
            v = [t1.wrapping_add(t2), v[0], v[1], v[2], v[3].wrapping_add(t1), v[4], v[5], v[6]];
        }
        for (h, v) in h.iter_mut().zip(v) {
            *h = h.wrapping_add(v);
        }
    }
    u64::from(h[0].swap_bytes()) | u64::from(h[1].swap_bytes()) << 32
}
