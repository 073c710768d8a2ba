//! Characters in systems that decode into ordinary containers to change a message: the functions of such a
//! system, and its measurements.

use std::hint::black_box;

use super::native::{self, Item, change};
use crate::character::{Source, changes, expect_sum, sources};
use crate::suite::{Aligned, Outcome, Suite, sizes, timed};

/// The source of a character: plain values, or ordinary containers.
pub trait Shape {
    /// Numbers and name.
    fn head(&self) -> Head<'_>;
    /// In ascending order of the keys.
    fn items(&self) -> impl ExactSizeIterator<Item = (u64, Item)> + DoubleEndedIterator;
    fn path(&self) -> &[[f32; 3]];
    fn attributes(&self) -> &[f32];
    /// Items, levels and attributes.
    fn equips(&self) -> impl ExactSizeIterator<Item = (Item, u32, &[f32])>;
    fn skills(&self) -> impl ExactSizeIterator<Item = (u32, u32)> + DoubleEndedIterator;
}

/// The members of a character that do not grow.
pub struct Head<'a> {
    pub id: u64,
    pub name: &'a str,
    pub level: u32,
    pub healthpoint: f32,
    pub manapoint: f32,
    pub speed: f32,
    pub pos: [f32; 3],
}

macro_rules! head {
    ($from:ident) => {
        Head {
            id: $from.id,
            name: $from.name.as_str(),
            level: $from.level,
            healthpoint: $from.healthpoint,
            manapoint: $from.manapoint,
            speed: $from.speed,
            pos: $from.pos,
        }
    };
}

impl Shape for Source {
    fn head(&self) -> Head<'_> {
        head!(self)
    }
    fn items(&self) -> impl ExactSizeIterator<Item = (u64, Item)> + DoubleEndedIterator {
        self.items.iter().map(|(key, value)| (*key, native::item(value)))
    }
    fn path(&self) -> &[[f32; 3]] {
        &self.path
    }
    fn attributes(&self) -> &[f32] {
        &self.attributes
    }
    fn equips(&self) -> impl ExactSizeIterator<Item = (Item, u32, &[f32])> {
        self.equips.iter().map(|e| (native::item(&e.base), e.level, &e.attributes[..]))
    }
    fn skills(&self) -> impl ExactSizeIterator<Item = (u32, u32)> + DoubleEndedIterator {
        self.skills.iter().copied()
    }
}

impl Shape for native::Character {
    fn head(&self) -> Head<'_> {
        head!(self)
    }
    fn items(&self) -> impl ExactSizeIterator<Item = (u64, Item)> + DoubleEndedIterator {
        self.items.iter().map(|(key, value)| (*key, *value))
    }
    fn path(&self) -> &[[f32; 3]] {
        &self.path
    }
    fn attributes(&self) -> &[f32] {
        &self.attributes
    }
    fn equips(&self) -> impl ExactSizeIterator<Item = (Item, u32, &[f32])> {
        self.equips.iter().map(|e| (e.base, e.level, &e.attributes[..]))
    }
    fn skills(&self) -> impl ExactSizeIterator<Item = (u32, u32)> + DoubleEndedIterator {
        self.skills.iter().map(|each| (each.id, each.level))
    }
}

/// Writes characters, with reused builders and buffers.
pub trait Encoder: Default + 'static {
    /// Writes until the message can be sent, in one piece or several.
    fn build(&mut self, from: &impl Shape) -> Outcome<()>;
    /// The message in one piece.
    fn encode(&mut self, from: &impl Shape) -> Outcome<&[u8]>;
}

type Use<R> = fn(&[u8]) -> Outcome<R>;

/// The functions of a system for received characters.
#[derive(Clone, Copy)]
pub struct Reading {
    /// Returns the sum of all fields, unchecked if the system permits that.
    pub read: Use<u64>,
    /// Checks the message, if the system has a check apart from reading.
    pub validate: Option<Use<()>>,
    /// Checks the message, and decodes it into ordinary containers.
    pub decode: Use<native::Character>,
}

/// Adds the measurements of characters.
pub fn add<E: Encoder>(suite: &mut Suite, reading: Reading) -> Outcome<()> {
    let mut encoder = E::default();
    let received = sources()
        .iter()
        .map(|source| Ok(Aligned::new(encoder.encode(source)?)))
        .collect::<Outcome<Vec<_>>>()?;
    for (i, bytes) in received.iter().enumerate() {
        expect_sum(i, (reading.read)(bytes.as_ref())?)?;
        expect_sum(i, native::read(&(reading.decode)(bytes.as_ref())?))?;
    }
    let of = received.clone();
    suite.add("sizes", move |_| sizes(of.iter().map(AsRef::as_ref)));
    suite.add("build", move |parameters| {
        timed(parameters, &mut encoder, |_| (), |encoder, i| encoder.build(&sources()[i]))
    });
    let of = received.clone();
    suite.add("read", move |parameters| {
        timed(
            parameters,
            &mut (),
            |()| (),
            |(), i| {
                black_box((reading.read)(of[i].as_ref())?);
                Ok(())
            },
        )
    });
    if let Some(validate) = reading.validate {
        let of = received.clone();
        suite.add("validate", move |parameters| {
            timed(parameters, &mut (), |()| (), |(), i| validate(of[i].as_ref()))
        });
    }
    let of = received.clone();
    suite.add("decode", move |parameters| {
        timed(
            parameters,
            &mut (),
            |()| (),
            |(), i| {
                black_box((reading.decode)(of[i].as_ref())?);
                Ok(())
            },
        )
    });
    let mut encoder = E::default();
    suite.add("mutate_send", move |parameters| {
        timed(
            parameters,
            &mut encoder,
            |_| (),
            |encoder, i| {
                let mut c = (reading.decode)(received[i].as_ref())?;
                change(&mut c, &changes()[i]);
                encoder.build(&c)
            },
        )
    });
    let natives: Vec<_> = sources().iter().map(native::made).collect();
    let mut encoder = E::default();
    suite.add("encode", move |parameters| {
        timed(
            parameters,
            &mut encoder,
            |_| (),
            |encoder, i| {
                black_box(encoder.encode(&natives[i])?);
                Ok(())
            },
        )
    });
    Ok(())
}
