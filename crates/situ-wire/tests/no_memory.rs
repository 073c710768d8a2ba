//! Messages whose values need more memory than is available: decoding ends with an error.

mod common;

use std::collections::BTreeMap;

use common::structures;
use situ_testkit::scarce_allocator::{ScarceAllocator, with_at_most};
use situ_wire::{DecodeProblem, decode};

#[global_allocator]
static ALLOCATOR: ScarceAllocator = ScarceAllocator;

structures! {
    Squares: Final { 0 of: BTreeMap<u64, u64>, }
}

#[test]
fn a_map_is_refused_without_memory_for_its_nodes() {
    let squares: BTreeMap<u64, u64> = (0..100).map(|number| (number, number * number)).collect();
    // The header, the number of entries, and 4 bytes of padding.
    let mut bytes = [&[0, 1, 0, 0][..], &100u32.to_le_bytes(), &[0; 4]].concat();
    for (number, square) in &squares {
        bytes.extend([number.to_le_bytes(), square.to_le_bytes()].concat());
    }
    // 100 entries need inner nodes. Such a node has 11 entries of 16 bytes, and 12 links of 8 bytes.
    let mut message = Squares::default();
    let refused = with_at_most(11 * 16 + 12 * 8 - 1, || decode(&mut message, &bytes)).unwrap_err();
    assert!(matches!(refused.problem, DecodeProblem::NoMemory { .. }), "{refused}");
    decode(&mut message, &bytes).unwrap();
    assert_eq!(message.of, squares);
}
