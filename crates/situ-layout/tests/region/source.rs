//! What the bytes of a program decide; and what every program does now and then.

use situ_layout::region::{Allocation, Monotonic, Options, Region, Stored};

/// Each byte decides something; zeros when they have ended.
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

    /// Some of these lie in the string itself, others in blocks of one to five granules.
    pub fn text(&mut self) -> String {
        let which = self.below(64);
        String::from_utf8(vec![b'a' + which % 26; usize::from(which) + 1]).unwrap_or_default()
    }

    /// How the region uses its memory. What never uses its memory again is soon full.
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

/// Gives memory back in one of the ways that leave what a region holds as it is.
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

/// Compacts a region where it lies, and sees to it that it holds what it held, and nothing else.
pub fn compact_in_place<T: Stored, B>(r: &mut Region<T, B>) {
    let canonical = r.canonical();
    let used = r.trim() - r.free_bytes();
    r.compact_in_place();
    assert_eq!(r.canonical(), canonical);
    assert_eq!(r.free_bytes(), 0);
    assert!(r.bytes().len() <= used);
    // All of it is reached from the root: whoever adopts it finds nothing free in it either.
    let adopted = Region::<T>::adopt(r.bytes()).unwrap();
    assert_eq!((adopted.bytes(), adopted.free_bytes()), (r.bytes(), 0));
}

/// Whoever receives the region, as it is or in its canonical arrangement, gets the same value.
pub fn travels<T: Stored>(r: &Region<T>) {
    let canonical = r.canonical();
    for image in [r.bytes(), &canonical] {
        assert!(Region::<T>::adopt(image).expect("the image is good").canonical() == canonical);
    }
}
