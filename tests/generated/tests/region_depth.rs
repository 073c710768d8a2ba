//! Chains of many values in the region form of a generated type: what reads them without compiled types,
//! or into messages, refuses them or needs no more stack.

use situ::layout::{AssignProblem, Heap};
use situ::region::{Region, view};
use situ_generated::recursion::recursion::{Only, OnlyRef, OnlyRegion};
use situ_schema::{Loader, dynamic};

const LONG: u32 = 200_000;

/// The canonical image of `count` values, each in a vector of the one before: flag, link back; link, length,
/// capacity, link back; 24 of 32 bytes.
fn chain(count: u32) -> Vec<u8> {
    let mut image = Region::<OnlyRegion>::new().canonical()[..64].to_vec();
    for i in 0..count {
        let at = 64 + 32 * i;
        let (flag, link, len) = if i + 1 == count { (0, 0, 0) } else { (1, 24, 1) };
        let inner = if flag == 0 { 0 } else { (at + 8).wrapping_neg() };
        for word in [flag, at.wrapping_neg(), link, len, len, inner, 0, 0] {
            image.extend(word.to_le_bytes());
        }
    }
    let size = image.len() as u32;
    image[24..28].copy_from_slice(&size.to_le_bytes());
    image
}

/// Recursion overflows this after some thousand values.
fn on_a_small_stack(work: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(2 << 20).spawn(work).unwrap().join().unwrap();
}

#[test]
fn the_schema_alone_checks_a_chain() {
    on_a_small_stack(|| {
        let file = format!("{}/schema/recursion.idl", env!("CARGO_MANIFEST_DIR"));
        let schema = Loader::new().file(file).load().unwrap();
        let id = schema.find("recursion::Only").unwrap();
        dynamic::check_region(&schema, id, &chain(LONG)).unwrap();
    });
}

#[test]
fn the_schema_alone_reads_no_chain_that_is_too_deep() {
    on_a_small_stack(|| {
        let file = format!("{}/schema/recursion.idl", env!("CARGO_MANIFEST_DIR"));
        let schema = Loader::new().file(file).load().unwrap();
        let id = schema.find("recursion::Only").unwrap();
        let image = chain(LONG);
        let refused = dynamic::from_region(&schema, id, &image).unwrap_err().to_string();
        assert!(refused.contains("128"), "{refused}");
        dynamic::from_region(&schema, id, &chain(60)).unwrap();
    });
}

#[test]
fn a_chain_is_copied_and_becomes_a_message_if_it_is_not_too_deep() {
    on_a_small_stack(|| {
        let image = chain(LONG);
        let mut r = Region::<OnlyRegion>::adopt(&image).unwrap();
        assert!(r.root().to_region().unwrap().canonical() == image);
        let error = r.root().to_message::<Only>().unwrap_err();
        assert!(matches!(error.problem, AssignProblem::TooDeep { limit: 128 }), "{error}");
        r.root_mut().store(&Only::<Heap>::default(), &[]).unwrap();
        assert!(r.root().more().get().is_none());
        let short = Region::<OnlyRegion>::adopt(&chain(60)).unwrap();
        let message: Only = short.root().to_message().unwrap();
        assert_eq!(Region::<OnlyRegion>::of(&message, &[]).unwrap().canonical(), short.canonical());
        let words: Vec<u128> = image.as_chunks().0.iter().map(|it| u128::from_ne_bytes(*it)).collect();
        // SAFETY: the words are initialized, and live as long as the bytes.
        let aligned = unsafe { std::slice::from_raw_parts(words.as_ptr().cast::<u8>(), image.len()) };
        view::<OnlyRegion>(aligned).unwrap();
    });
}
