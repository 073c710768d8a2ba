//! Random programs on a region, beside the same on standard containers.

use std::collections::{BTreeMap, BTreeSet};

use situ_layout::region::Region;

use crate::program::compact_in_place;
use crate::types::*;

/// A small generator, so that the programs are the same everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % below
    }

    fn text(&mut self) -> String {
        let which = self.next(32) as u8;
        String::from_utf8(vec![b'a' + which % 26; which as usize + 1]).unwrap()
    }
}

#[derive(Default)]
struct Model {
    name: String,
    words: BTreeSet<String>,
    lists: BTreeMap<String, Vec<u16>>,
    numbers: BTreeSet<i32>,
    gear: BTreeMap<String, Vec<f32>>,
}

fn same(r: &Region<Kitchen>, m: &Model) {
    let k = r.root();
    assert_eq!(k.names().get(0).unwrap().as_str(), m.name);
    assert!(k.words().iter().eq(m.words.iter().map(String::as_str)));
    assert!(k.lists().iter().map(|(k, v)| (k, v.as_slice())).eq(m.lists.iter().map(|(k, v)| (&**k, &**v))));
    assert!(k.numbers().iter().collect::<BTreeSet<_>>() == m.numbers);
    assert!(m.numbers.iter().all(|number| k.numbers().contains(*number)));
    let gear = k.gear().iter().map(|(k, v)| (k.to_owned(), v.attributes().as_slice().to_vec()));
    assert_eq!(gear.collect::<BTreeMap<_, _>>(), m.gear);
    for image in [r.bytes(), &r.canonical()] {
        assert_eq!(Region::<Kitchen>::adopt(image).unwrap().canonical(), r.canonical());
    }
}

#[test]
fn random_programs_do_what_standard_containers_do() {
    let (programs, steps) = if cfg!(miri) { (1, 150) } else { (30, 3000) };
    for seed in 1..=programs {
        let mut random = Random(u64::wrapping_mul(seed, 0x9e37_79b9_7f4a_7c15));
        // Every other region is often full.
        let limit = if seed % 2 == 0 { 1500 + seed as u32 * 64 } else { 1 << 20 };
        let mut r = Region::<Kitchen>::with_limit(limit);
        let mut m = Model::default();
        for step in 0..steps {
            let text = random.text();
            let mut k = r.root_mut();
            match random.next(14) {
                0 => {
                    if k.names().get_mut(0).unwrap().set(&*text).is_ok() {
                        m.name = text;
                    }
                }
                1 if m.name.len() < 300 => {
                    if k.names().get_mut(0).unwrap().push_str(&text).is_ok() {
                        m.name += &text;
                    }
                }
                2 | 3 => {
                    if let Ok(new) = k.words().insert(&text) {
                        assert_eq!(m.words.insert(text), new);
                    }
                }
                4 => assert_eq!(k.words().remove(&text), m.words.remove(&text)),
                5 | 6 => {
                    let value = random.next(1000) as u16;
                    if let Ok(mut list) = k.lists().entry(&text) {
                        let model = m.lists.entry(text).or_default();
                        if list.insert(model.len() / 2, value) == Ok(true) {
                            model.insert(model.len() / 2, value);
                        }
                    }
                }
                7 => assert_eq!(k.lists().remove(&text), m.lists.remove(&text).is_some()),
                8 | 9 => {
                    let number = random.next(200) as i32 * 7919 - 1_000_000;
                    if let Ok(new) = k.numbers().insert(number) {
                        assert_eq!(m.numbers.insert(number), new);
                    }
                }
                10 => {
                    let number = random.next(200) as i32 * 7919 - 1_000_000;
                    assert_eq!(k.numbers().remove(number), m.numbers.remove(&number));
                }
                11 => {
                    if let Ok(mut equip) = k.gear().entry(&text) {
                        let model = m.gear.entry(text).or_default();
                        if equip.attributes().push(0.5_f32).is_ok() {
                            model.push(0.5);
                        }
                    }
                }
                12 => assert_eq!(k.gear().remove(&text), m.gear.remove(&text).is_some()),
                _ => match random.next(10) {
                    0 => r.compact(),
                    1 => compact_in_place(&mut r),
                    _ => {}
                },
            }
            if step % 101 == 0 {
                same(&r, &m);
            }
        }
        same(&r, &m);
    }
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config {
        cases: if cfg!(miri) { 3 } else { 100 },
        failure_persistence: None,
        ..Default::default()
    })]

    #[test]
    fn programs_on_the_market_do_what_standard_containers_do(
        program in proptest::collection::vec(proptest::num::u8::ANY, 0..if cfg!(miri) { 200 } else { 2000 }),
    ) {
        crate::program::run(&program);
    }
}
