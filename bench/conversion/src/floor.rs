//! The floor: the same blocks by `malloc` and `memcpy`, and a `free` of each copied block. Nothing else.

use std::ffi::c_void;
use std::hash::{Hash, Hasher};
use std::ptr;

use situ::layout::Heap;

use crate::facts::{Facts, bytes, numbers};
use crate::fill;
use crate::messages::geometry_msgs::msg::{Pose, PoseArray};
use crate::messages::sensor_msgs::msg::{Image, JointState};
use crate::suite::{Direction, Shape, Suite};

/// Memory of the C library's allocator.
struct Block {
    data: *mut u8,
    size: usize,
}

impl Block {
    /// Copies bytes into a block with room for `more`.
    fn new(bytes: *const u8, size: usize, more: usize) -> Self {
        if size + more == 0 {
            return Self { data: ptr::null_mut(), size };
        }
        // SAFETY: malloc takes any size.
        let data: *mut u8 = unsafe { libc::malloc(size + more) }.cast();
        assert!(!data.is_null(), "out of memory");
        // SAFETY: both have size bytes, and do not overlap.
        unsafe { ptr::copy_nonoverlapping(bytes, data, size) };
        if more > 0 {
            // SAFETY: there is room for one more byte.
            unsafe { data.add(size).write(0) };
        }
        Self { data, size }
    }

    fn of<T: Copy>(values: &[T]) -> Self {
        Self::new(values.as_ptr().cast(), size_of_val(values), 0)
    }

    fn copied(&self, more: usize) -> Self {
        Self::new(self.data, self.size, more)
    }

    fn bytes(&self) -> &[u8] {
        if self.data.is_null() {
            return &[];
        }
        // SAFETY: `data` has `size` bytes, and all are written.
        unsafe { std::slice::from_raw_parts(self.data, self.size) }
    }

    fn numbers(&self) -> Vec<f64> {
        self.bytes()
            .chunks_exact(8)
            .map(|eight| f64::from_ne_bytes(eight.try_into().unwrap_or_default()))
            .collect()
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: the C library allocated the memory or the pointer is null, and this is its last use.
        unsafe { libc::free(self.data.cast::<c_void>()) }
    }
}

/// The parts of a message: strings, sequences, and the names of joints.
struct Blocks<const LISTS: usize> {
    texts: [Block; 2],
    names: Vec<Block>,
    lists: [Block; LISTS],
    numbers: (u32, u32, u32),
}

impl<const LISTS: usize> Blocks<LISTS> {
    fn copied(&self, ends_with_nul: usize) -> Self {
        // A message without a second string has none in C either.
        let second = if self.texts[1].data.is_null() { 0 } else { ends_with_nul };
        Self {
            texts: [self.texts[0].copied(ends_with_nul), self.texts[1].copied(second)],
            names: self.names.iter().map(|name| name.copied(ends_with_nul)).collect(),
            lists: std::array::from_fn(|at| self.lists[at].copied(0)),
            numbers: self.numbers,
        }
    }
}

impl<const LISTS: usize> Facts for Blocks<LISTS> {
    fn say(&self, to: &mut impl Hasher) {
        let text = |block: &Block, to: &mut _| String::from_utf8_lossy(block.bytes()).hash(to);
        text(&self.texts[0], to);
        if !self.texts[1].data.is_null() {
            text(&self.texts[1], to);
            self.numbers.hash(to);
            self.lists[0].bytes().hash(to);
            return;
        }
        self.names.iter().for_each(|name| text(name, to));
        self.lists.iter().for_each(|list| numbers(&list.numbers(), to));
    }
}

impl Facts for Block {
    fn say(&self, to: &mut impl Hasher) {
        self.bytes().hash(to);
    }
}

fn image() -> Blocks<1> {
    let image = fill!(image Image<Heap>);
    Blocks {
        texts: [Block::of(image.header.frame_id.as_bytes()), Block::of(image.encoding.as_bytes())],
        names: Vec::new(),
        lists: [Block::of(&image.data)],
        numbers: (image.width, image.height, image.step),
    }
}

fn joint_state() -> Blocks<3> {
    let state = fill!(joint_state JointState<Heap>);
    Blocks {
        texts: [Block::of::<u8>(&[]), Block::of::<u8>(&[])],
        names: state.name.iter().map(|name| Block::of(name.as_bytes())).collect(),
        lists: [Block::of(&state.position), Block::of(&state.velocity), Block::of(&state.effort)],
        numbers: (0, 0, 0),
    }
}

fn pose_array() -> Blocks<1> {
    let array = fill!(pose_array PoseArray<Heap>, Pose);
    let poses: Vec<[f64; 7]> = array
        .poses
        .iter()
        .map(|it| {
            let (at, turned) = (&it.position, &it.orientation);
            [at.x, at.y, at.z, turned.x, turned.y, turned.z, turned.w]
        })
        .collect();
    Blocks {
        texts: [Block::of(array.header.frame_id.as_bytes()), Block::of::<u8>(&[])],
        names: Vec::new(),
        lists: [Block::of(&poses)],
        numbers: (0, 0, 0),
    }
}

/// Adds the floor.
pub fn add(suite: &mut Suite, shape: Shape, direction: Direction) -> Result<(), String> {
    let at = (shape, direction, "floor");
    let nul = usize::from(direction == Direction::IntoRos);
    fn copies<const LISTS: usize>(
        suite: &mut Suite,
        at: (Shape, Direction, &'static str),
        blocks: Blocks<LISTS>,
        nul: usize,
    ) -> Result<(), String> {
        suite.add(at, move || blocks.copied(1 - nul), move |blocks: Blocks<LISTS>| blocks.copied(nul))
    }
    match shape {
        Shape::Bytes => {
            let whole = Block::of(&bytes());
            suite.add(at, move || whole.copied(0), |block: Block| block.copied(0))
        }
        Shape::Image => copies(suite, at, image(), nul),
        Shape::JointState => copies(suite, at, joint_state(), nul),
        Shape::PoseArray => copies(suite, at, pose_array(), nul),
    }
}
