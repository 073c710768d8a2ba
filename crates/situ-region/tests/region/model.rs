//! Random programs on regions, beside the same programs on standard containers.

use proptest::collection::vec;
use proptest::num::u8::ANY;

use crate::{kitchen_program, market_program};

/// The greatest length of a program in bytes: Miri is slow.
const LONGEST: usize = if cfg!(miri) { 60 } else { 2000 };

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config {
        cases: if cfg!(miri) { 2 } else { 100 },
        failure_persistence: None,
        ..Default::default()
    })]

    #[test]
    fn programs_on_the_kitchen_do_what_standard_containers_do(program in vec(ANY, 0..LONGEST)) {
        kitchen_program::run(&program);
    }

    #[test]
    fn programs_on_the_market_do_what_standard_containers_do(program in vec(ANY, 0..LONGEST)) {
        market_program::run(&program);
    }
}

/// The fuzzer's corpus: programs that together reach every branch that any program reached.
#[test]
#[cfg_attr(miri, ignore = "random programs are enough to be interpreted")]
fn what_the_fuzzer_learned_still_holds() {
    let learned = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/region_program");
    let mut count = 0;
    for file in std::fs::read_dir(learned).unwrap() {
        let program = std::fs::read(file.unwrap().path()).unwrap();
        // As in the fuzz target, the first byte selects the value.
        match program.split_first() {
            Some((which, program)) if which % 2 == 0 => kitchen_program::run(program),
            Some((_, program)) => market_program::run(program),
            None => continue,
        }
        count += 1;
    }
    assert!(count > 500, "{count}");
}
