//! The protobuf writer and reader do not allocate: counted with nesting, crossing and patching.

use std::hint::black_box;

use situ_testkit::allocator::{Calls, CountingAllocator, counting};
use situ_wire::protobuf::{Fixed, Message, Patch, Piece, Scattered, Streamed, Writer};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

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

    let ((fixed, scattered, streamed), calls) = counting(|| {
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
        (fixed, scattered, streamed)
    });

    assert_eq!(calls, Calls::NONE);
    assert!(fixed > 10_000);
    assert_eq!(scattered, streamed);
    assert_eq!(sum, streamed);
    let counted = counting(|| drop(black_box(Box::new(1)))).1;
    assert_eq!(counted, Calls { allocated: 1, bytes: 4, freed: 1 }, "the counter counts");
}
