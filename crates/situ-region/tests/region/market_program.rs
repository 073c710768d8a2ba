//! Runs programs on trees, unions and shared values beside the same programs on standard containers. Each
//! byte of the input decides a step. Tests run it with random bytes, and so does the fuzzer.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use situ_region::{Ref, Region, ShareError, Shared};

use crate::source::{Source, tidy, travels};
use crate::types::*;

#[derive(Clone, Debug, Default, PartialEq)]
enum Drawn {
    Radius(f32),
    Label(String),
    #[default]
    Nothing,
    Points(Vec<f32>),
}

#[derive(Default)]
struct Named {
    name: RefCell<String>,
    base: RefCell<Option<Name>>,
}

type Name = Rc<Named>;

/// The greatest length of runs: Miri is slow.
const LONG: u32 = if cfg!(miri) { 24 } else { 200 };

/// Whether a texture is `wanted`, or one of its bases is.
fn leads_to(from: &Option<Name>, wanted: &Name) -> bool {
    from.as_ref().is_some_and(|from| Rc::ptr_eq(from, wanted) || leads_to(&from.base.borrow(), wanted))
}

/// The number of bases below a texture. Images have few, because readers follow at most 64 links.
fn bases(from: &Option<Name>) -> usize {
    from.as_ref().map_or(0, |from| 1 + bases(&from.base.borrow()))
}

#[derive(Default)]
struct Model {
    index: BTreeSet<u32>,
    words: BTreeSet<String>,
    prices: BTreeMap<String, u32>,
    shapes: Vec<(i32, Drawn)>,
    textures: Vec<Option<Name>>,
    lists: BTreeMap<u8, Option<u32>>,
}

/// Runs the program on the region and the model. Both must do the same, and images must be valid.
pub fn run(program: &[u8]) {
    let mut source = Source::new(program);
    let mut r = Region::<Market>::with_options(source.options());
    let mut m = Model::default();
    while !source.ended() {
        step(&mut r, &mut m, &mut source);
    }
    same(&r, &m);
}

fn step(r: &mut Region<Market>, m: &mut Model, source: &mut Source<'_>) {
    let mut root = r.root_mut();
    match source.below(18) {
        0 | 1 => {
            let number = source.number();
            if let Ok(new) = root.index().insert(number) {
                assert_eq!(new, m.index.insert(number));
            }
        }
        2 => {
            let number = source.number();
            assert_eq!(root.index().remove(number), m.index.remove(&number));
        }
        3 => {
            // A run of numbers, upwards, downwards or apart, so that trees become high.
            let (begin, step) = (source.number(), [1, 1023, 37][usize::from(source.below(3))]);
            let insert = source.below(3) != 0;
            for number in (0..LONG).map(|i| (begin + i * step) % 1024) {
                if !insert {
                    assert_eq!(root.index().remove(number), m.index.remove(&number));
                } else if root.index().insert(number).is_ok() {
                    m.index.insert(number);
                }
            }
        }
        4 => {
            let text = source.text();
            if let Ok(new) = root.words().insert(&text) {
                assert_eq!(new, m.words.insert(text));
            }
        }
        5 => {
            let text = source.text();
            assert_eq!(root.words().remove(&text), m.words.remove(&text));
        }
        6 | 7 => {
            let (text, number) = (source.text(), source.number());
            if root.prices().insert(&text, item(number)).is_ok() {
                m.prices.insert(text, number);
            }
        }
        8 => {
            let text = source.text();
            assert_eq!(root.prices().remove(&text), m.prices.remove(&text).is_some());
        }
        9 => shape(r, m, source),
        10 | 11 => texture(r, m, source),
        12 => {
            let key = source.below(8);
            if source.below(3) == 0 {
                assert_eq!(root.boxed().remove(key), m.lists.remove(&key).is_some());
            } else if let Ok(mut entry) = root.boxed().entry(key) {
                let model = m.lists.entry(key).or_default();
                let number = source.number();
                if let Ok(mut value) = entry.fill() {
                    *value = item(number);
                    *model = Some(number);
                }
            }
        }
        13 => {
            let (low, high) = (source.number(), source.number());
            let r = r.root();
            if low <= high {
                assert!(r.index().range(low..high).eq(m.index.range(low..high).copied()));
                assert!(r.index().range(low..=high).rev().eq(m.index.range(low..=high).rev().copied()));
            }
            let text = source.text();
            assert_eq!(r.words().contains(&text), m.words.contains(&text));
            assert_eq!(r.prices().get(&text).map(|it| it.number), m.prices.get(&text).copied());
            assert_eq!(r.index().first(), m.index.first().copied());
            assert_eq!(r.index().last(), m.index.last().copied());
        }
        14 => match source.below(7) {
            4 => {
                root.shapes().shrink_to_fit();
                root.textures().shrink_to_fit();
            }
            5 => {
                let _ = root.shapes().reserve(usize::from(source.below(40)));
                let _ = root.boxed().shrink_to_fit();
            }
            6 => *r = Region::adopt_with(r.bytes(), source.options()).expect("the image is good"),
            way => tidy(r, way),
        },
        15 => match source.below(6) {
            0 => {
                root.index().clear();
                m.index.clear();
            }
            1 => {
                root.words().clear();
                m.words.clear();
            }
            2 => {
                root.prices().clear();
                m.prices.clear();
            }
            3 => {
                root.shapes().clear();
                m.shapes.clear();
            }
            4 => {
                root.textures().clear();
                m.textures.clear();
            }
            _ => {
                root.boxed().clear();
                m.lists.clear();
            }
        },
        16 => run_of_prices(r, m, source),
        _ => same(r, m),
    }
}

/// A run of keys, so that the tree grows high and low again; or links that take all available memory.
fn run_of_prices(r: &mut Region<Market>, m: &mut Model, source: &mut Source<'_>) {
    let mut root = r.root_mut();
    let (what, begin) = (source.below(8), source.number());
    let count = [5, 20, 60, 150][usize::from(source.below(4))];
    if what == 0 {
        while m.textures.len() < count && root.textures().push_default().is_ok() {
            m.textures.push(None);
        }
        return;
    }
    for number in (begin..begin + LONG.min(count as u32)).map(|number| number % 512) {
        let key = number.to_string();
        if what % 2 == 0 {
            assert_eq!(root.prices().remove(&key), m.prices.remove(&key).is_some());
        } else if root.prices().insert(&key, item(number)).is_ok() {
            m.prices.insert(key, number);
        }
    }
}

fn shape(r: &mut Region<Market>, m: &mut Model, source: &mut Source<'_>) {
    let mut root = r.root_mut();
    let mut shapes = root.shapes();
    let at = usize::from(source.below(12));
    if at >= m.shapes.len() {
        if shapes.push_default().is_ok() {
            m.shapes.push((0, Drawn::Points(Vec::new())));
        }
        return;
    }
    let Some(mut shape) = shapes.get_mut(at) else { panic!("there are as many shapes as the model has") };
    let (discriminator, drawn) = &mut m.shapes[at];
    match source.below(4) {
        0 => {
            assert!(shapes.remove(at));
            m.shapes.remove(at);
        }
        1 => {
            *discriminator = i32::from(source.below(6)) - 1;
            shape.select(*discriminator);
            match (*discriminator, &*drawn) {
                (1, Drawn::Radius(_)) | (2 | 3, Drawn::Label(_)) | (-1 | 0 | 4, Drawn::Points(_)) => {}
                (1, _) => *drawn = Drawn::Radius(0.0),
                (2 | 3, _) => *drawn = Drawn::Label(String::new()),
                _ => *drawn = Drawn::Points(Vec::new()),
            }
        }
        _ => match drawn {
            Drawn::Radius(radius) => {
                *radius = f32::from(source.below(9));
                *shape.radius().unwrap() = *radius;
            }
            Drawn::Label(label) => {
                let text = source.text();
                if shape.label().unwrap().set(&*text).is_ok() {
                    *label = text;
                }
            }
            Drawn::Points(points) => {
                let point = f32::from(source.below(9));
                if shape.points().unwrap().push(point).is_ok() {
                    points.push(point);
                }
            }
            Drawn::Nothing => {}
        },
    }
}

fn texture(r: &mut Region<Market>, m: &mut Model, source: &mut Source<'_>) {
    let mut root = r.root_mut();
    let at = usize::from(source.below(7));
    if at >= m.textures.len() {
        if root.textures().push_default().is_ok() {
            m.textures.push(None);
        }
        return;
    }
    match source.below(9) {
        0 => {
            assert!(root.textures().remove(at));
            m.textures.remove(at);
        }
        1 => {
            root.textures().get_mut(at).unwrap().clear();
            m.textures[at] = None;
        }
        2 | 3 => {
            let from = usize::from(source.below(7));
            let done = root.share(
                |root| root.textures().get(from),
                |mut root, link| root.textures().get_mut(at).unwrap().link(link),
            );
            assert_eq!(
                done,
                Ok::<(), ShareError>(()),
                "links between elements make no cycle and need no memory"
            );
            m.textures[at] = m.textures.get(from).cloned().flatten();
        }
        4 => {
            // The base of a texture. It may be the target of this link, which is cleared with it.
            let from = usize::from(source.below(7));
            let done = root.share(
                |root| root.textures().get(from)?.get().map(|texture| texture.base()),
                |mut root, link| root.textures().get_mut(at).unwrap().link(link),
            );
            assert_eq!(done, Ok::<(), ShareError>(()));
            let base = m.textures.get(from).cloned().flatten().and_then(|from| from.base.borrow().clone());
            m.textures[at] = base;
        }
        5 => {
            let from = usize::from(source.below(7));
            let to = m.textures.get(from).cloned().flatten();
            let Some(mine) = m.textures[at].clone() else { return };
            if bases(&to) > 20 {
                return;
            }
            let done = root.share(
                |root| root.textures().get(from),
                |mut root, link| root.textures().get_mut(at).unwrap().get_mut().unwrap().base().link(link),
            );
            if leads_to(&to, &mine) {
                assert_eq!(done, Err(ShareError::Cycle));
            } else {
                assert_eq!(done, Ok(()));
                mine.base.replace(to);
            }
        }
        6 => {
            let text = source.text();
            let mut textures = root.textures();
            let Some(model) = &m.textures[at] else { return };
            if let Ok(mut base) = textures.get_mut(at).unwrap().get_mut().unwrap().base().fill() {
                let model = model.base.borrow_mut().get_or_insert_default().clone();
                if base.name().set(&*text).is_ok() {
                    model.name.replace(text);
                }
            }
        }
        _ => {
            let text = source.text();
            let mut textures = root.textures();
            let mut link = textures.get_mut(at).unwrap();
            if let Ok(mut value) = link.fill() {
                let model = m.textures[at].get_or_insert_default();
                if value.name().set(&*text).is_ok() {
                    model.name.replace(text);
                }
            }
        }
    }
}

/// Compares two links and their targets.
fn same_texture(texture: Ref<'_, Shared<Texture>>, model: &Option<Name>) {
    assert_eq!(texture.links(), model.as_ref().map_or(0, Rc::strong_count));
    if let (Some(texture), Some(model)) = (texture.get(), model) {
        assert_eq!(texture.name().as_str(), *model.name.borrow());
        same_texture(texture.base(), &model.base.borrow());
    }
}

/// Compares the region with the model, and the images with each other.
fn same(r: &Region<Market>, m: &Model) {
    let root = r.root();
    assert!(root.index().iter().eq(m.index.iter().copied()));
    assert!(root.index().range(..).rev().eq(m.index.iter().rev().copied()));
    assert!(m.index.iter().all(|number| root.index().contains(*number)));
    assert!(root.words().iter().eq(m.words.iter().map(String::as_str)));
    assert!(
        root.prices().iter().map(|(key, it)| (key, it.id)).eq(m.prices.iter().map(|(key, it)| (&**key, *it)))
    );
    assert_eq!(root.shapes().len(), m.shapes.len());
    for (shape, (discriminator, drawn)) in root.shapes().iter().zip(&m.shapes) {
        assert_eq!(shape.discriminator(), *discriminator);
        let found = match (shape.radius(), shape.label(), shape.points()) {
            (Some(radius), None, None) => Drawn::Radius(*radius),
            (None, Some(label), None) => Drawn::Label(label.as_str().to_owned()),
            (None, None, Some(points)) => Drawn::Points(points.as_slice().to_vec()),
            _ => Drawn::Nothing,
        };
        assert_eq!(found, *drawn);
    }
    assert_eq!(root.textures().len(), m.textures.len());
    for (texture, model) in root.textures().iter().zip(&m.textures) {
        same_texture(texture, model);
    }
    let boxed = root.boxed().iter().map(|(key, it)| (key, it.get().map(|it| it.id)));
    assert!(boxed.eq(m.lists.iter().map(|(key, it)| (*key, *it))));
    travels(r);
}
