//! Decodes the bytes of a program, and has the operations that every program runs now and then.

use situ_region::{Allocation, Monotonic, Options, Region, Stored};

/// A source of decisions: one per byte, and zeros after the end.
pub struct Source<'a>(&'a [u8]);

impl<'a> Source<'a> {
    pub fn new(program: &'a [u8]) -> Self {
        Self(program)
    }

    pub fn ended(&self) -> bool {
        self.0.is_empty()
    }

    pub fn below(&mut self, end: u8) -> u8 {
        let (first, rest) = self.0.split_first().unwrap_or((&0, &[]));
        self.0 = rest;
        first % end
    }

    pub fn number(&mut self) -> u32 {
        u32::from(self.below(4)) << 8 | u32::from(self.below(255))
    }

    /// Some texts are inline, others lie in blocks of one to five granules.
    pub fn text(&mut self) -> String {
        let which = self.below(64);
        String::from_utf8(vec![b'a' + which % 26; usize::from(which) + 1]).unwrap_or_default()
    }

    /// The options of the region. A region that never reuses memory is soon full.
    pub fn options(&mut self) -> Options {
        let limit = [1 << 24, 1 << 24, 1500, 6000][usize::from(self.below(4))];
        let growth_percent = [100, 150, 200][usize::from(self.below(3))];
        let zero_on_free = self.below(2) == 0;
        let allocation = if limit < 1 << 24 && self.below(2) == 0 {
            Allocation::By(&Monotonic)
        } else {
            Allocation::Bitmap
        };
        Options { limit, growth_percent, zero_on_free, allocation, ..Options::default() }
    }
}

/// Releases memory in one of the ways that leave the region's value unchanged.
pub fn tidy<T: Stored>(r: &mut Region<T>, way: u8) {
    match way {
        0 => {
            let before = r.bytes().to_vec();
            assert!(
                r.compact().is_ok() || r.bytes() == before,
                "there is no room for it, and nothing has changed"
            );
        }
        1 => compact_in_place(r),
        2 => r.shrink_to_fit(),
        _ => {
            r.trim();
        }
    }
}

/// Compacts a region in place, and checks that its value is unchanged and nothing else remains.
pub fn compact_in_place<T: Stored, B>(r: &mut Region<T, B>) {
    let canonical = r.canonical();
    let used = r.trim() - r.free_bytes();
    r.compact_in_place();
    assert_eq!(r.canonical(), canonical);
    assert_eq!(r.free_bytes(), 0);
    assert!(r.bytes().len() <= used);
    // All of the image is reachable from the root, so an adopted copy has no free memory either.
    let adopted = Region::<T>::adopt(r.bytes()).unwrap();
    assert_eq!((adopted.bytes(), adopted.free_bytes()), (r.bytes(), 0));
}

/// Checks that a receiver of the region, live or canonical, gets the same value.
pub fn travels<T: Stored>(r: &Region<T>) {
    let canonical = r.canonical();
    for image in [r.bytes(), &canonical] {
        let adopted = Region::<T>::adopt(image).expect("the image is good");
        assert!(adopted.canonical() == canonical && adopted == *r);
    }
    let packed = r.packed();
    let unpacked = Region::<T>::adopt(&packed).expect("the packed image is good");
    assert!(unpacked.canonical() == canonical && unpacked.packed() == packed && *r == unpacked);
}
