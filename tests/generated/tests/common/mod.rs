//! The values that the vectors of `spec/vectors` hold (`kitchen.py` lists them), and memory for flat
//! messages.
#![allow(dead_code)]

use std::collections::BTreeMap;
use std::path::PathBuf;

use situ::layout::{Heap, InPlace, Message};
use situ_generated::kitchen::kitchen::*;

/// A file of the vectors.
pub fn vector(name: &str) -> Vec<u8> {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../spec/vectors")).join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; 64]);

/// Bytes at a multiple of 64, all 0xcc at first.
pub struct Memory {
    lines: Vec<Line>,
    len: usize,
}

impl Memory {
    pub fn new(len: usize) -> Self {
        Self { lines: vec![Line([0xcc; 64]); len.div_ceil(64)], len }
    }

    pub fn holding(bytes: &[u8]) -> Self {
        let mut memory = Self::new(bytes.len());
        memory.bytes_mut().copy_from_slice(bytes);
        memory
    }

    pub fn as_mut_ptr(&mut self) -> *mut u8 {
        self.lines.as_mut_ptr().cast()
    }

    /// One byte. (Messages leave padding uninitialized, so there is no slice of all bytes of a head.)
    pub fn byte(&self, at: usize) -> u8 {
        self.lines[at / 64].0[at % 64]
    }

    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the lines hold at least len initialized bytes.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.len) }
    }

    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and exclusively borrowed.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.len) }
    }

    /// The flat message that lies at the beginning.
    ///
    /// # Safety
    /// There is a valid one.
    pub unsafe fn message<T: InPlace>(&self) -> &T {
        assert!(size_of::<T>() <= self.len);
        // SAFETY: the caller's promise.
        unsafe { &*self.lines.as_ptr().cast::<T>() }
    }
}

/// The flat form of a message: head and body.
pub fn flat<T: Message>(message: &T) -> (Memory, Memory) {
    let form = T::FLAT_FORM.unwrap();
    let mut head = Memory::new(form.size);
    let mut body = Memory::new(T::body_size(&message.bulk_lengths()).unwrap());
    // SAFETY: the head has the size of the flat form, and a greater alignment.
    unsafe { message.write_flat(&[], head.as_mut_ptr(), body.bytes_mut()) }.unwrap();
    (head, body)
}

const P1: Point = Point { x: 1.5, y: -2.25 };
const P2: Point = Point { x: 1e300, y: 0.5 };

fn label1() -> Label<Heap> {
    let mut label = Label::new_in();
    label.set_text("hé").unwrap();
    label.place = Some(P1);
    label
}

fn label2() -> Label<Heap> {
    let mut label = Label::new_in();
    label.set_text("12345678").unwrap();
    label
}

/// `T::<Heap>::default()`. The type of the literal would be flat.
trait NewIn: Sized {
    fn new_in() -> Self;
}

impl<T: Default> NewIn for T {
    fn new_in() -> Self {
        T::default()
    }
}

pub fn primitives() -> Primitives {
    Primitives {
        truth: true,
        byte: 0xfe,
        letter: b'k',
        wide_letter: 0x20ac,
        tiny: -7,
        small_: 200,
        shorter: -30000,
        shorter_unsigned: 60000,
        number: -2000000000,
        number_unsigned: 4000000000,
        longer: -9000000000000000000,
        longer_unsigned: 18000000000000000000,
        ratio: 0.15625,
        precise: -1e-300,
        color: Color::ULTRAVIOLET,
        access: Access::READ | Access::OWN,
        wheels: Wheels::LEFT | Wheels::RIGHT,
        features: Features::HORN,
        wide: Wide::LOW | Wide::HIGH,
    }
}

pub fn containers() -> Containers<Heap> {
    let mut it = Containers::<Heap>::default();
    it.set_text("köln").unwrap();
    it.set_wide_text("a€").unwrap();
    it.set_flags(&[true, false, true]).unwrap();
    it.set_shorts(&[1, 2, 65535]).unwrap();
    it.set_doubles(&[0.5, -0.25]).unwrap();
    it.set_colors(&[Color::GREEN, Color::ULTRAVIOLET, Color(77)]).unwrap();
    it.set_words(&["", "fünf", "abc"].map(|word| word.try_into().unwrap())).unwrap();
    it.set_points(&[P1, P2]).unwrap();
    it.push_labels(label1()).unwrap();
    *it.add_labels().unwrap() = label2();
    it.push_matrices([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]).unwrap();
    it.push_nested(vec![1, 2, 3].try_into().unwrap()).unwrap();
    it.add_nested().unwrap();
    it.array = [-1, 0, 1];
    it.color_array = [Color::BLUE, Color::RED];
    it.matrix = [[0.5, 1.5, 2.5], [3.5, 4.5, 5.5]];
    it.label_array = [[label2(), label1()]];
    it.insert_numbers(500, -5).unwrap();
    it.insert_numbers(2, 3).unwrap();
    for (name, age) in [("b", 2), ("", 0), ("ä", 3)] {
        it.insert_ages(name.try_into().unwrap(), age).unwrap();
    }
    it.insert_by_color(Color::GREEN, label1()).unwrap();
    it.insert_by_color(Color::ULTRAVIOLET, label2()).unwrap();
    it
}

pub fn optionals() -> Optionals<Heap> {
    Optionals {
        before: 1,
        number: Some(-5),
        no_number: None,
        text: Some("there".try_into().unwrap()),
        label: Some(label1()),
        shorts: Some(vec![1, -1].try_into().unwrap()),
        after: 2,
        last: Some(true),
    }
}

pub fn unions() -> Unions<Heap> {
    let mut it = Unions::<Heap>::default();
    it.round.set_radius(2.5);
    it.named.select(Color::BLUE);
    it.named.name_mut().unwrap().try_assign("box").unwrap();
    it.cornered.set_corner(P1);
    it.on.set_level(-9);
    it.off.select(false);
    it.letters.select(b'b');
    it.letters.shorts_mut().unwrap().try_assign(&[1, 2]).unwrap();
    it.sizes.set_little(-100);
    it.add_shapes().unwrap().set_name("ball".try_into().unwrap());
    it.add_shapes().unwrap().set_radius(0.125);
    it
}

pub fn derived() -> Derived<Heap> {
    let mut it = Derived::<Heap>::default();
    it.base.id = 258;
    it.base.left.rate = 10;
    it.base.left.samples.try_assign(&[0.5, 1.5]).unwrap();
    it.raw.try_extend(0..70).unwrap();
    it.between = 9;
    it.right.rate = 20;
    it.right.samples.try_push(-0.5).unwrap();
    it.points.try_assign(&[P1, P2]).unwrap();
    it
}

pub fn growing() -> Growing {
    Growing { first: -2, maybe: Some(7), second: "two".into(), bytes: vec![1, 2, 3] }
}

fn growing2() -> Growing {
    Growing { first: 3, maybe: None, second: String::new(), bytes: Vec::new() }
}

pub fn changing() -> Changing {
    Changing {
        small_number: 255,
        large_id: -1,
        text: "must".into(),
        absent: None,
        present: Some(0.75),
        parts: vec![growing(), growing2()],
        color: Color::GREEN,
        part: growing2(),
        last: 43,
    }
}

pub fn heaped() -> Heaped {
    let mut it = Heaped {
        flags: vec![true, true, false],
        words: vec!["one".into(), String::new()],
        names: BTreeMap::from([(-1, "minus".into()), (7, "seven".into())]),
        growing: vec![growing2(), growing()],
        tree: Tree {
            name: "root".into(),
            children: vec![
                Tree { name: "leaf".into(), children: Vec::new(), ages: BTreeMap::new() },
                Tree {
                    name: String::new(),
                    children: Vec::new(),
                    ages: BTreeMap::from([(String::new(), 3)]),
                },
            ],
            ages: BTreeMap::from([("z".into(), 1), ("a".into(), 2)]),
        },
        behind: 6.5,
        ..Heaped::new()
    };
    it.wide_text.try_assign_str("wörld").unwrap();
    it.choice.set_text("text".into());
    it.other_choice.set_number(-3);
    it.pick.set_number(-4);
    it.nothing_picked.select(9);
    it
}

pub fn thicket() -> Thicket {
    let bush = |name: &str| Thicket { name: name.into(), ..Thicket::new() };
    Thicket {
        name: "root".into(),
        by_number: BTreeMap::from([(-1, vec![bush("left"), bush("right")]), (7, Vec::new())]),
        rows: vec![
            vec![bush("a")],
            Vec::new(),
            vec![Thicket { maybe: Some(vec![bush("below b")]), ..bush("b") }, bush("c")],
        ],
        maybe: Some(vec![Thicket { rows: vec![vec![bush("a name that is long")]], ..bush("perhaps") }]),
    }
}
