//! The protobuf writer and reader do not allocate: counted with nesting, crossing and patching.

use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};

use situ_wire::protobuf::{Fixed, Message, Patch, Piece, Scattered, Streamed, Writer};

struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: the system's allocator does everything.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// A message that nests 40 deep, with every kind of field.
fn fill(message: &mut Message<'_>, levels: u32) {
    message.int32(1, -5);
    message.string(2, "a string that is longer than a short one would be");
    message.packed_uint32(3, &[1, 300, 70_000, u32::MAX]);
    message.packed_fixed(4, &[1.5f64; 20]);
    message.text_in_pieces(5).push("piece");
    if levels > 0 {
        fill(&mut message.message(6), levels - 1);
    }
    message.entry(7).fixed64(1, 9);
}

// A single test, because tests beside it would count too.
#[test]
fn writing_allocates_nothing() {
    let mut memory = vec![0; 1 << 20];
    let mut chunks = Scattered::new(64);
    let mut patches = [Patch::default(); 4];
    let mut sum = 0;

    // The first message allocates the chunks, which are kept for the next.
    let mut writer = Writer::new(&mut chunks);
    fill(&mut writer.message(), 40);
    writer.finish().unwrap();

    let before = ALLOCATIONS.load(Ordering::Relaxed);
    let mut buffer = Fixed::new(&mut memory);
    let mut writer = Writer::new(&mut buffer);
    fill(&mut writer.message(), 40);
    let fixed = writer.finish().unwrap();

    let mut writer = Writer::new(&mut chunks);
    fill(&mut writer.message(), 40);
    let scattered = writer.finish().unwrap();

    let mut small = [0; 64];
    let mut buffer = Streamed::new(&mut small, &mut patches, |piece| {
        sum += match piece {
            Piece::Chunk { bytes, .. } => bytes.len() as u64,
            Piece::Patches(_) => 0,
        };
    });
    let mut writer = Writer::new(&mut buffer);
    fill(&mut writer.message(), 40);
    let streamed = writer.finish().unwrap();
    let after = ALLOCATIONS.load(Ordering::Relaxed);

    assert_eq!(after - before, 0);
    assert!(fixed > 10_000);
    assert_eq!(scattered, streamed);
    assert_eq!(sum, streamed);
    // The counter works.
    drop(black_box(Box::new(1)));
    assert!(ALLOCATIONS.load(Ordering::Relaxed) > after);
}
