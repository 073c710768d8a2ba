//! Random programs on regions, beside the same on standard containers.

use proptest::collection::vec;
use proptest::num::u8::ANY;

use crate::{kitchen_program, market_program};

/// How many bytes a program has at most: Miri is slow.
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
