//! Images that need more memory than is available. If the size comes from outside, the result is an error.

use situ_region::{InvalidProblem, Region, Vector, view};
use situ_testkit::scarce_allocator::{ScarceAllocator, with_at_most};

#[global_allocator]
static ALLOCATOR: ScarceAllocator = ScarceAllocator;

/// The live image of 100,000 numbers: 800,000 bytes, and a bitmap of 1/128 of that.
fn image() -> Vec<u128> {
    let mut region = Region::<Vector<u64>>::new();
    for number in 0..100_000 {
        region.root_mut().push(number).unwrap();
    }
    let (chunks, _) = region.bytes().as_chunks();
    chunks.iter().map(|chunk| u128::from_ne_bytes(*chunk)).collect()
}

fn bytes(image: &[u128]) -> &[u8] {
    // SAFETY: numbers are initialized bytes.
    unsafe { std::slice::from_raw_parts(image.as_ptr().cast(), size_of_val(image)) }
}

#[test]
fn an_image_is_not_adopted_where_there_is_no_memory_for_a_copy() {
    let image = image();
    let refused =
        with_at_most(100_000, || Region::<Vector<u64>>::adopt(bytes(&image)).map(drop)).unwrap_err();
    match &refused.problem {
        InvalidProblem::NoMemory { bytes } => assert!(*bytes >= 800_000, "{bytes}"),
        problem => panic!("{problem}"),
    }
    let adopted = Region::<Vector<u64>>::adopt(bytes(&image)).unwrap();
    assert_eq!(adopted.root().as_slice().len(), 100_000);
}

#[test]
fn an_image_is_not_viewed_where_there_is_no_memory_for_its_check() {
    let image = image();
    // Each thread keeps the memory of its last check, so this one runs in a new thread.
    std::thread::scope(|scope| {
        let check = || {
            let refused = with_at_most(4000, || view::<Vector<u64>>(bytes(&image)).map(drop)).unwrap_err();
            let needed = bytes(&image).len().div_ceil(16 * 64) as u64 * 8;
            assert_eq!(refused.problem, InvalidProblem::NoMemory { bytes: needed });
        };
        scope.spawn(check).join().unwrap();
    });
    assert_eq!(view::<Vector<u64>>(bytes(&image)).unwrap().as_slice().len(), 100_000);
}
