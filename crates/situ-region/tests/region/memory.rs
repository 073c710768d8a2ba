//! The memory of regions: heap, buffers, backings that grow, options, and the release of memory.

use std::ptr::NonNull;

use situ_region::{
    AdoptError, Backing, Buffer, BufferError, DEFAULT_LIMIT, Full, InvalidProblem, Options, Region,
    total_for, view,
};

use crate::types::*;

#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; 64]);

/// Bytes that begin at a multiple of 64.
struct Lines(Vec<Line>);

impl Lines {
    fn of(bytes: usize, fill: u8) -> Self {
        Self(vec![Line([fill; 64]); bytes.div_ceil(64)])
    }

    fn with(image: &[u8], bytes: usize) -> Self {
        let mut lines = Self::of(bytes.max(image.len()), 0xa5);
        lines.bytes()[..image.len()].copy_from_slice(image);
        lines
    }

    fn bytes(&mut self) -> &mut [u8] {
        let count = self.0.len() * 64;
        // SAFETY: lines are arrays of 64 bytes without padding, borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.0.as_mut_ptr().cast(), count) }
    }
}

/// A backing that moves by some lines at each growth and counts its growths, up to a limit.
struct Growing {
    lines: Vec<Line>,
    grown: usize,
    most: usize,
}

// SAFETY: the memory is the vector's. It does not move with the struct, and grows only in `grow`.
unsafe impl Backing for Growing {
    fn memory(&mut self) -> (NonNull<u8>, usize) {
        (NonNull::from(&mut self.lines[..]).cast(), self.lines.len() * 64)
    }
    fn is_zero(&self) -> bool {
        true
    }
    fn grow(&mut self, total: usize) -> Option<(NonNull<u8>, usize)> {
        if total > self.most {
            return None;
        }
        let mut more = vec![Line([0; 64]); total.div_ceil(64)];
        more[..self.lines.len()].copy_from_slice(&self.lines);
        self.lines = more;
        self.grown += 1;
        Some(self.memory())
    }
}

fn growing(most: usize) -> Growing {
    Growing { lines: vec![Line([0; 64]); 64], grown: 0, most }
}

#[test]
fn a_region_in_a_buffer_is_edited_where_it_lies() {
    let mut buffer = Lines::of(4096, 0xa5);
    let begin = buffer.bytes().as_ptr();
    let mut r = Region::<Kitchen, Buffer>::create(buffer.bytes()).unwrap();
    assert_eq!(r.canonical(), Region::<Kitchen>::new().canonical());
    r.root_mut().words().insert("a word in a buffer").unwrap();
    *r.root_mut().number() = 7;
    assert_eq!(r.bytes().as_ptr(), begin);
    assert!(!r.bytes().contains(&0xa5), "what was in the buffer is gone");
    let size = r.trim();
    let read = view::<Kitchen>(&buffer.bytes()[..size]).unwrap();
    assert!(read.words().contains("a word in a buffer") && *read.number() == 7);
}

#[test]
fn a_full_buffer_says_so_and_nothing_has_changed() {
    let mut buffer = Lines::of(2048, 0xa5);
    let mut r = Region::<Kitchen, Buffer>::create(buffer.bytes()).unwrap();
    let mut added = 0_usize;
    loop {
        let before = r.canonical();
        if let Err(full) = r.root_mut().words().insert(&format!("word number {added}")) {
            assert_eq!(full.limit, 2032, "2048 bytes without two words of bitmap");
            assert_eq!(r.canonical(), before);
            break;
        }
        added += 1;
    }
    assert!(added > 10);
    assert!(r.bytes().len() <= 2032);
    // The region continues in a larger buffer.
    let mut larger = Lines::of(total_for(8192), 0x5a);
    let mut moved = Region::copy_of(&r, larger.bytes()).unwrap();
    assert_eq!(moved.canonical(), r.canonical());
    moved.root_mut().words().insert(&format!("word number {added}")).unwrap();
    assert_eq!(moved.root().words().len(), added + 1);
}

#[test]
fn sizes_that_no_region_can_have_are_refused() {
    let mut r = Region::<Kitchen>::new();
    r.root_mut().words().insert("a word that needs a block").unwrap();
    let before = r.canonical();
    for bytes in [1 << 31, u32::MAX as usize - 15, u32::MAX as usize - 3, usize::MAX - 3, usize::MAX] {
        let full = r.reserve(bytes).unwrap_err();
        assert!((full.limit as usize) < bytes, "{bytes} of {}", full.limit);
    }
    assert_eq!(r.canonical(), before);
}

#[test]
fn regions_may_become_as_large_as_in_other_languages() {
    assert_eq!(DEFAULT_LIMIT, 63 << 20);
    let mut r = Region::<Kitchen>::new();
    assert_eq!(r.reserve(64 << 20), Err(Full { limit: DEFAULT_LIMIT }));
    let mut r = Region::<Kitchen>::with_limit(1000);
    assert_eq!(r.reserve(2000), Err(Full { limit: 992 }));
    // A region that begins with an image has room for it, whatever the limit.
    let image = kitchen().unwrap().canonical();
    let small = Options { limit: 16, ..Options::default() };
    assert_eq!(Region::<Kitchen>::adopt_with(&image, small).unwrap().canonical(), image);
}

#[test]
fn buffers_that_will_not_do() {
    let mut buffer = Lines::of(512, 0);
    let small = Region::<Kitchen, Buffer>::create(&mut buffer.bytes()[..64]).map(drop);
    let least = total_for(Region::<Kitchen>::new().bytes().len() as u32);
    assert_eq!(small, Err(BufferError::TooSmall { found: 64, least }));
    let shifted = Region::<Kitchen, Buffer>::create(&mut buffer.bytes()[8..]).map(drop);
    assert_eq!(shifted, Err(BufferError::Misaligned));
    let shifted = Region::<Kitchen, Buffer>::adopt_in_place(&mut buffer.bytes()[8..]).map(drop).unwrap_err();
    assert_eq!(shifted.problem, InvalidProblem::MisalignedImage);
}

#[test]
fn received_bytes_are_edited_where_they_lie() {
    let made = kitchen().unwrap();
    for image in [made.canonical(), made.bytes().to_vec()] {
        for more in [0, 16, 1024] {
            let mut received = Lines::with(&image, image.len() + more);
            let end = image.len() + more;
            let begin = received.bytes().as_ptr();
            let mut r = Region::<Kitchen, Buffer>::adopt_in_place(&mut received.bytes()[..end]).unwrap();
            assert_eq!(r.canonical(), made.canonical());
            assert!(r.root_mut().words().remove("zebra"));
            assert!(r.root_mut().gear().remove("sword"));
            // Freed memory is reused, also without room after the image.
            r.root_mut().lists().insert("odd", &[9_u16, 8][..]).unwrap();
            if more == 1024 {
                r.root_mut().words().insert("more text than there was").unwrap();
            }
            assert_eq!(r.bytes().as_ptr(), begin);
            let other = Region::<Kitchen>::adopt(r.bytes()).unwrap();
            assert_eq!(other.canonical(), r.canonical());
            assert_eq!(other.root().lists().get("odd").unwrap().as_slice(), [9, 8]);
        }
    }
}

#[test]
fn a_backing_grows_unnoticed_up_to_its_end() {
    // Miri is slow: a region that grows three times there has a few hundred bytes at first.
    let (lines, most, least) = if cfg!(miri) { (8, 1 << 12, 20) } else { (64, 1 << 16, 500) };
    let backing = Growing { lines: vec![Line([0; 64]); lines], ..growing(most) };
    let mut r = Region::<Kitchen, Growing>::with_backing(backing, Options::default()).unwrap();
    let mut added = 0;
    while r.root_mut().words().insert(&format!("word number {added}")).is_ok() {
        added += 1;
    }
    assert!(added > least, "{added}");
    let last = format!("word number {least}");
    assert!(r.root().words().contains("word number 0") && r.root().words().contains(&last));
    let canonical = r.canonical();
    let (backing, size) = r.into_backing();
    assert!(backing.grown > 2);
    let lines = Lines(backing.lines).bytes()[..size].to_vec();
    assert_eq!(Region::<Kitchen>::adopt(&lines).unwrap().canonical(), canonical);

    let image = kitchen().unwrap().canonical();
    let r = Region::<Kitchen, Growing>::adopt_into(growing(1 << 16), &image, Options::default()).unwrap();
    assert_eq!(r.canonical(), image);
    let packed = r.packed();
    let r = Region::<Kitchen, Growing>::adopt_into(growing(1 << 16), &packed, Options::default()).unwrap();
    assert_eq!((r.canonical(), r.packed()), (image.clone(), packed));
    let bad = Region::<Kitchen, Growing>::adopt_into(growing(0), &image[..60], Options::default()).map(drop);
    assert!(matches!(bad, Err(AdoptError::Invalid(_))));
    let tight = Options { reserve: 1 << 20, ..Options::default() };
    let small = Region::<Kitchen, Growing>::with_backing(growing(0), tight).map(drop);
    assert_eq!(small, Err(BufferError::TooSmall { found: 4096, least: total_for(1 << 20) }));
}

#[test]
fn memory_is_given_back() {
    let mut r = Region::<Kitchen>::new();
    let empty = r.canonical();
    let (count, room) = if cfg!(miri) { (20, 1 << 12) } else { (1000, 1 << 16) };
    for i in 0..count {
        r.root_mut().words().insert(&format!("word number {i}")).unwrap();
    }
    for i in 0..count {
        assert!(r.root_mut().words().remove(&format!("word number {i}")));
    }
    assert!(r.free_bytes() > 0);
    r.root_mut().words().shrink_to_fit().unwrap();
    assert_eq!(r.trim(), empty.len(), "nothing is left, so that the image ends behind the root");
    assert!(r.room() > empty.len() + count * 16);
    r.shrink_to_fit();
    assert_eq!(r.room(), empty.len());
    assert_eq!(r.canonical(), empty);
    r.reserve(room).unwrap();
    assert!(r.room() >= room);
    assert_eq!(r.bytes().len(), empty.len());
}

#[test]
fn policies_do_what_they_say() {
    let grown = |growth_percent| {
        let options = Options { growth_percent, reserve: 4096, ..Options::default() };
        let mut r = Region::<Character>::with_options(options);
        for i in 0..100_u16 {
            r.root_mut().attributes().push(f32::from(i)).unwrap();
        }
        r.bytes().len()
    };
    // Exactly the needed size, in granules of four; or the powers of two.
    let root = Region::<Character>::new().bytes().len();
    assert_eq!(grown(100), root + 400);
    assert_eq!(grown(200), root + 512);
    // Erased data stays if the options say so, and never becomes a value again.
    let dirty = Options { zero_on_free: false, ..Options::default() };
    for (options, stays) in [(Options::default(), false), (dirty, true)] {
        let mut r = Region::<Kitchen>::with_options(options);
        let mut k = r.root_mut();
        k.words().insert("a secret of some length").unwrap();
        k.names().get_mut(1).unwrap().set("behind it, so that the image stays").unwrap();
        assert!(k.words().remove("a secret of some length"));
        assert_eq!(r.bytes().windows(8).any(|eight| eight == b"a secret"), stays);
        r.root_mut().names().get_mut(0).unwrap().reserve(23).unwrap();
        assert!(!r.bytes().windows(8).any(|eight| eight == b"a secret"));
        let image = r.bytes().to_vec();
        assert_eq!(Region::<Kitchen>::adopt(&image).unwrap().canonical(), r.canonical());
    }
}

#[test]
fn canonical_images_are_written_into_buffers() {
    let r = kitchen().unwrap();
    let image = r.canonical();
    assert_eq!(r.canonical_size(), image.len());
    let mut buffer = vec![0xa5; image.len() + 10];
    assert_eq!(r.canonical_into(&mut buffer), Ok(image.len()));
    assert_eq!(buffer[..image.len()], image);
    assert_eq!(buffer[image.len()..], [0xa5; 10]);
    let short = r.canonical_into(&mut buffer[..image.len() - 1]);
    assert_eq!(short, Err(BufferError::TooSmall { found: image.len() - 1, least: image.len() }));
}
