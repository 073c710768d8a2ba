//! Values that one writer replaces: a reader gets all words of one write, whenever the writer stops.

use std::mem::MaybeUninit;
use std::sync::Arc;

use loom::thread;
use situ_bus::protocol::cell::{Cell, Found};
use situ_memory::sync::atomic::{AtomicU64, Ordering, fence};

use super::explore;

/// The words of a value.
const WORDS: usize = 2;

/// The value of a write: both words tell its number.
fn value(number: u64) -> [u64; WORDS] {
    [number * 10, number * 10 + 1]
}

fn memory() -> Arc<Vec<AtomicU64>> {
    Arc::new((0..Cell::words(WORDS * 8)).map(|_| AtomicU64::new(0)).collect())
}

fn write(words: &[AtomicU64], number: u64) {
    let bytes: Vec<u8> = value(number).iter().flat_map(|word| word.to_ne_bytes()).collect();
    assert_eq!(Cell::new(words).write(&bytes), number);
}

/// Reads a value, checks that it is that of one write, and returns its number; 0: there is none.
fn read(words: &[AtomicU64]) -> u64 {
    let mut bytes = [MaybeUninit::new(0_u8); WORDS * 8];
    match Cell::new(words).read(&mut bytes) {
        Found::Nothing => 0,
        Found::Value(number) => {
            // SAFETY: they were initialized.
            let bytes = bytes.map(|byte| unsafe { byte.assume_init() });
            let words = [0, 8].map(|at| u64::from_ne_bytes(bytes[at..at + 8].try_into().unwrap()));
            assert_eq!(words, value(number), "words of two writes");
            number
        }
        Found::Overrun => panic!("the writer has only a few writes"),
    }
}

/// Three writes: the last one replaces the value of the first.
#[test]
fn a_reader_gets_the_words_of_one_write() {
    explore(3, || {
        let words = memory();
        let theirs = words.clone();
        let writer = thread::spawn(move || (1..4).for_each(|number| write(&theirs, number)));
        let first = read(&words);
        assert!(read(&words) >= first, "versions do not go back");
        writer.join().unwrap();
        assert_eq!(read(&words), 3);
    });
}

/// The writer dies in the middle of write 2: the value of write 1 stays, and the next writer goes on.
#[test]
fn the_value_before_the_last_write_survives_the_writer() {
    explore(3, || {
        let words = memory();
        write(&words, 1);
        let theirs = words.clone();
        let writer = thread::spawn(move || {
            theirs[0].store(2, Ordering::Release);
            fence(Ordering::Release);
            // The buffer of even numbers lies behind the two words of the head.
            theirs[2].store(value(2)[0], Ordering::Relaxed);
        });
        assert_eq!(read(&words), 1);
        writer.join().unwrap();
        assert_eq!(read(&words), 1);
        let theirs = words.clone();
        let next = thread::spawn(move || (2..4).for_each(|number| write(&theirs, number)));
        assert!((1..4).contains(&read(&words)));
        next.join().unwrap();
        assert_eq!(read(&words), 3);
    });
}

/// The protocol once more, without one of its steps.
#[derive(Clone, Copy, PartialEq)]
enum Without {
    FenceOfTheWriter,
    FenceOfTheReader,
    SecondLook,
}

fn explore_without(step: Without) {
    explore(3, move || {
        let words = memory();
        let theirs = words.clone();
        let writer = thread::spawn(move || {
            for number in 1..4 {
                theirs[0].store(number, Ordering::Relaxed);
                if step != Without::FenceOfTheWriter {
                    fence(Ordering::Release);
                }
                let buffer = 2 + WORDS * (number as usize & 1);
                for (at, word) in value(number).into_iter().enumerate() {
                    theirs[buffer + at].store(word, Ordering::Relaxed);
                }
                theirs[1].store(number, Ordering::Release);
            }
        });
        let number = words[1].load(Ordering::Acquire);
        let buffer = 2 + WORDS * (number as usize & 1);
        let copy = [0, 1].map(|at| words[buffer + at].load(Ordering::Relaxed));
        if step != Without::FenceOfTheReader {
            fence(Ordering::Acquire);
        }
        let is_whole = words[0].load(Ordering::Relaxed).wrapping_sub(number) < 2;
        if number != 0 && (is_whole || step == Without::SecondLook) {
            assert_eq!(copy, value(number), "words of two writes");
        }
        writer.join().unwrap();
    });
}

#[test]
#[should_panic(expected = "words of two writes")]
fn the_writer_needs_its_fence() {
    explore_without(Without::FenceOfTheWriter);
}

#[test]
#[should_panic(expected = "words of two writes")]
fn the_reader_needs_its_fence() {
    explore_without(Without::FenceOfTheReader);
}

#[test]
#[should_panic(expected = "words of two writes")]
fn the_reader_needs_its_second_look() {
    explore_without(Without::SecondLook);
}
