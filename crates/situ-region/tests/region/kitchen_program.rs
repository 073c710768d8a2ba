//! Runs programs on strings, vectors, flat and hashed containers and links beside the same programs on
//! standard containers. Each byte of the input decides a step. Tests run it with random bytes, and so does
//! the fuzzer.

use std::collections::{BTreeMap, BTreeSet};

use situ_region::Region;

use crate::source::{Source, tidy, travels};
use crate::types::*;

#[derive(Default)]
struct Model {
    name: String,
    nickname: Option<String>,
    words: BTreeSet<String>,
    lists: BTreeMap<String, Vec<u16>>,
    numbers: BTreeSet<i32>,
    gear: BTreeMap<String, Vec<f32>>,
    bits: Vec<bool>,
    tree: Option<Branch>,
}

/// A node, with the part of its subtree that programs create.
#[derive(Default)]
struct Branch {
    value: i32,
    children: Vec<i32>,
    next: Option<i32>,
}

/// Runs the program on the region and the model. Both must do the same, and images must be valid.
pub fn run(program: &[u8]) {
    let mut source = Source::new(program);
    let mut r = Region::<Kitchen>::with_options(source.options());
    let mut m = Model::default();
    while !source.ended() {
        step(&mut r, &mut m, &mut source);
    }
    same(&r, &m);
}

fn step(r: &mut Region<Kitchen>, m: &mut Model, source: &mut Source<'_>) {
    let mut k = r.root_mut();
    match source.below(18) {
        0 | 1 => name(r, m, source),
        2 => nickname(r, m, source),
        3 | 4 => {
            let text = source.text();
            if let Ok(new) = k.words().insert(&text) {
                assert_eq!(new, m.words.insert(text));
            }
        }
        5 => {
            let text = source.text();
            assert_eq!(k.words().remove(&text), m.words.remove(&text));
        }
        6..=8 => list(r, m, source),
        9 | 10 => {
            // A run of numbers, so that tables grow, and lookups meet many removed keys.
            let (begin, count) = (source.number() as i32, i32::from(source.below(24)));
            for number in begin..=begin + count {
                if let Ok(new) = k.numbers().insert(number * 7919 - 1_000_000) {
                    assert_eq!(new, m.numbers.insert(number * 7919 - 1_000_000));
                }
            }
        }
        11 => {
            let (begin, count) = (source.number() as i32, i32::from(source.below(48)));
            for number in begin..=begin + count {
                let number = number * 7919 - 1_000_000;
                assert_eq!(k.numbers().remove(number), m.numbers.remove(&number));
            }
        }
        12 => {
            let text = source.text();
            if let Ok(mut equip) = k.gear().entry(&text) {
                let model = m.gear.entry(text).or_default();
                if equip.attributes().push(0.5_f32).is_ok() {
                    model.push(0.5);
                }
            }
        }
        13 => {
            let text = source.text();
            assert_eq!(k.gear().remove(&text), m.gear.remove(&text).is_some());
        }
        14 => bits(r, m, source),
        15 => tree(r, m, source),
        16 => match source.below(12) {
            4 => {
                k.words().clear();
                m.words.clear();
            }
            5 => {
                k.lists().clear();
                m.lists.clear();
            }
            6 => {
                k.numbers().clear();
                m.numbers.clear();
            }
            7 => {
                k.gear().clear();
                m.gear.clear();
            }
            // The content stays, whether there is room or not.
            8 => {
                let _ = k.words().shrink_to_fit();
                let _ = k.lists().shrink_to_fit();
            }
            9 => {
                let _ = k.numbers().shrink_to_fit();
                let _ = k.gear().shrink_to_fit();
            }
            10 => {
                let count = usize::from(source.below(40));
                let _ = k.words().reserve(count);
                let _ = k.numbers().reserve(count * 4);
                let _ = k.gear().reserve(count);
            }
            11 => *r = Region::adopt_with(r.bytes(), source.options()).expect("the image is good"),
            way => tidy(r, way),
        },
        _ => same(r, m),
    }
}

fn name(r: &mut Region<Kitchen>, m: &mut Model, source: &mut Source<'_>) {
    let mut k = r.root_mut();
    let mut names = k.names();
    let Some(mut name) = names.get_mut(0) else { panic!("there are two names") };
    match source.below(6) {
        0 => {
            name.clear();
            m.name.clear();
        }
        1 => name.shrink_to_fit(),
        2 => {
            let _ = name.reserve(usize::from(source.below(200)));
        }
        3 => {
            let text = source.text();
            if name.set(&*text).is_ok() {
                m.name = text;
            }
        }
        _ => {
            let text = source.text();
            if m.name.len() < 1000 && name.push_str(&text).is_ok() {
                m.name += &text;
            }
        }
    }
}

fn nickname(r: &mut Region<Kitchen>, m: &mut Model, source: &mut Source<'_>) {
    let mut k = r.root_mut();
    match source.below(3) {
        0 => {
            k.nickname().clear();
            m.nickname = None;
        }
        1 => {
            let text = source.text();
            let mut nickname = k.nickname();
            let mut value = nickname.fill();
            let model = m.nickname.get_or_insert_default();
            if value.push_str(&text).is_ok() {
                *model += &text;
            }
        }
        _ => {
            let text = source.text();
            if k.nickname().set(Some(&*text)).is_ok() {
                m.nickname = Some(text);
            }
        }
    }
}

fn list(r: &mut Region<Kitchen>, m: &mut Model, source: &mut Source<'_>) {
    let mut k = r.root_mut();
    let (what, key) = (source.below(8), source.text());
    match what {
        0 => assert_eq!(k.lists().remove(&key), m.lists.remove(&key).is_some()),
        1 | 2 => {
            let mut lists = k.lists();
            let list = lists.get_mut(&key);
            let Some(model) = m.lists.get_mut(&key) else { return assert!(list.is_none()) };
            let Some(mut list) = list else { panic!("{key} is there") };
            let at = usize::from(source.below(16));
            if what == 1 {
                assert_eq!(list.remove(at), at < model.len());
                if at < model.len() {
                    model.remove(at);
                }
            } else {
                assert_eq!(list.pop(), model.pop().is_some());
                list.shrink_to_fit();
            }
        }
        3 => {
            let values: Vec<u16> = (0..source.below(30)).map(u16::from).collect();
            match (k.lists().insert(&key, &values[..]), m.lists.get_mut(&key)) {
                (Ok(()), _) => drop(m.lists.insert(key, values)),
                // The assignment removed the elements to make room for the new ones, and the room was too
                // small.
                (Err(_), Some(model)) => model.clear(),
                (Err(_), None) => {}
            }
        }
        4 => {
            let values: Vec<u16> = (0..source.below(30)).map(u16::from).collect();
            if let Ok(mut list) = k.lists().entry(&key) {
                let model = m.lists.entry(key).or_default();
                if list.extend_from_slice(&values).is_ok() {
                    model.extend_from_slice(&values);
                }
            }
        }
        _ => {
            if let Ok(mut list) = k.lists().entry(&key) {
                let model = m.lists.entry(key).or_default();
                let (at, value) = (usize::from(source.below(24)), source.number() as u16);
                match list.insert(at, value) {
                    Ok(done) => {
                        assert_eq!(done, at <= model.len());
                        if done {
                            model.insert(at, value);
                        }
                    }
                    Err(_) => assert!(at <= model.len()),
                }
            }
        }
    }
}

fn bits(r: &mut Region<Kitchen>, m: &mut Model, source: &mut Source<'_>) {
    let mut k = r.root_mut();
    let mut bits = k.bits();
    match source.below(4) {
        0 => assert_eq!(bits.pop(), m.bits.pop().is_some()),
        1 => {
            bits.clear();
            m.bits.clear();
        }
        _ => {
            let value = source.below(2) == 0;
            for _ in 0..source.below(40) {
                if bits.push(value).is_ok() {
                    m.bits.push(value);
                }
            }
        }
    }
}

fn tree(r: &mut Region<Kitchen>, m: &mut Model, source: &mut Source<'_>) {
    let mut k = r.root_mut();
    if source.below(5) == 0 {
        k.tree().clear();
        m.tree = None;
        return;
    }
    let mut tree = k.tree();
    let Ok(mut root) = tree.fill() else { return assert!(m.tree.is_none()) };
    let model = m.tree.get_or_insert_default();
    let value = source.number() as i32;
    match source.below(4) {
        0 => {
            *root.value() = value;
            model.value = value;
        }
        1 => {
            if let Ok(mut next) = root.next().fill() {
                *next.value() = value;
                model.next = Some(value);
            }
        }
        2 => {
            root.next().clear();
            model.next = None;
        }
        _ => {
            let mut children = root.children();
            if model.children.len() < 20
                && let Ok(mut child) = children.push_default()
            {
                *child.value() = value;
                // The target of its link moves with it when the vector grows.
                if let Ok(mut next) = child.next().fill() {
                    *next.value() = -value;
                }
                model.children.push(value);
            }
        }
    }
}

/// Compares the region with the model, and the images with each other.
fn same(r: &Region<Kitchen>, m: &Model) {
    let k = r.root();
    assert_eq!(k.names().get(0).map(|name| name.as_str()), Some(&*m.name));
    assert_eq!(k.nickname().get().map(|name| name.as_str()), m.nickname.as_deref());
    assert!(k.words().iter().eq(m.words.iter().map(String::as_str)));
    assert!(m.words.iter().all(|word| k.words().contains(word)));
    assert!(k.lists().iter().map(|(k, v)| (k, v.as_slice())).eq(m.lists.iter().map(|(k, v)| (&**k, &**v))));
    assert_eq!(k.numbers().len(), m.numbers.len());
    assert!(k.numbers().iter().collect::<BTreeSet<_>>() == m.numbers);
    assert!(m.numbers.iter().all(|number| k.numbers().contains(*number)));
    let gear = k.gear().iter().map(|(k, v)| (k.to_owned(), v.attributes().as_slice().to_vec()));
    assert_eq!(gear.collect::<BTreeMap<_, _>>(), m.gear);
    assert!(m.gear.keys().all(|key| k.gear().contains(key)));
    assert!(k.bits().iter().map(|bit| bit.get()).eq(m.bits.iter().copied()));
    let root = k.tree().get();
    assert_eq!(root.is_some(), m.tree.is_some());
    if let (Some(root), Some(model)) = (root, &m.tree) {
        assert_eq!(*root.value(), model.value);
        assert_eq!(root.next().get().map(|next| *next.value()), model.next);
        assert!(root.children().iter().map(|child| *child.value()).eq(model.children.iter().copied()));
        for child in root.children().iter() {
            // There was no room for some.
            assert!(child.next().get().is_none_or(|next| *next.value() == -*child.value()));
        }
    }
    travels(r);
}
