//! The floor: a bare ring of rows in shared memory for one sender, with one cache line for a small message,
//! and a bare futex. It has no discovery, no holders, no recovery and no checks. No system that passes
//! messages can be faster.

use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::{Channel, Loan, Message, Receiver, Sender, System};
use crate::failure::Failure;
use crate::os::{Mapping, futex_wait, futex_wake};
use crate::payload::{self, Found, Touch};
use crate::session::Session;

/// Offset of the receiver's cursor. The futex word lies in the line before it; the rows begin a line after
/// it.
const CURSOR: usize = 64;
const ROWS: usize = 128;

/// The floor needs only a directory.
pub struct Floor {
    session: Session,
}

struct Ring {
    mapping: Mapping,
    stride: usize,
    depth: u64,
    reliable: bool,
    blocking: bool,
}

impl Ring {
    fn open(session: &Session, channel: &Channel) -> Result<Self, Failure> {
        // A sender that may lose messages waits for each answer. It therefore needs one row, and always uses
        // the same cache line.
        let depth = if channel.reliable { channel.depth } else { 1 };
        let stride = (8 + channel.size).next_multiple_of(64);
        let path = session.file(&format!("floor-{}", channel.name.replace('/', "-")));
        let mapping = Mapping::open(&path, ROWS + stride * depth)
            .map_err(Failure::io(format!("cannot map {}", path.display())))?;
        Ok(Self {
            mapping,
            stride,
            depth: depth as u64,
            reliable: channel.reliable,
            blocking: channel.blocking,
        })
    }

    fn row(&self, position: u64) -> *mut u8 {
        // SAFETY: the row lies inside the mapping.
        unsafe { self.mapping.address().add(ROWS + (position % self.depth) as usize * self.stride) }
    }

    /// The sequence number of the row's message.
    fn stamp(&self, position: u64) -> &AtomicU64 {
        // SAFETY: the first eight bytes of a row are aligned to 64 bytes and are only used as an atomic.
        unsafe { &*self.row(position).cast::<AtomicU64>() }
    }

    fn cursor(&self) -> &AtomicU64 {
        // SAFETY: the word lies inside the mapping, is aligned, and is only used as an atomic.
        unsafe { &*self.mapping.address().add(CURSOR).cast::<AtomicU64>() }
    }

    fn futex(&self) -> &AtomicU32 {
        // SAFETY: the word lies inside the mapping, is aligned, and is only used as an atomic.
        unsafe { &*self.mapping.address().cast::<AtomicU32>() }
    }
}

impl System for Floor {
    const NAME: &'static str = "floor";
    type Sender = FloorSender;
    type Receiver = FloorReceiver;

    fn create(session: &Session) -> Result<Self, Failure> {
        Ok(Self { session: session.clone() })
    }

    fn sender(&self, channel: &Channel) -> Result<FloorSender, Failure> {
        let ring = Ring::open(&self.session, channel)?;
        Ok(FloorSender { ring, size: channel.size, position: Cell::new(0), seen: Cell::new(0) })
    }

    fn receiver(&self, channel: &Channel) -> Result<FloorReceiver, Failure> {
        let ring = Ring::open(&self.session, channel)?;
        Ok(FloorReceiver { ring, size: channel.size, position: Cell::new(0) })
    }
}

/// The writing end.
pub struct FloorSender {
    ring: Ring,
    size: usize,
    position: Cell<u64>,
    /// The last known value of the receiver's cursor.
    seen: Cell<u64>,
}

impl Sender for FloorSender {
    type Loan<'a> = FloorLoan<'a>;

    #[inline]
    fn loan(&self, _size: usize) -> Result<FloorLoan<'_>, Failure> {
        let ring = &self.ring;
        if ring.reliable {
            while self.position.get() - self.seen.get() >= ring.depth {
                self.seen.set(ring.cursor().load(Ordering::Acquire));
            }
        }
        Ok(FloorLoan { sender: self })
    }
}

/// The next row.
pub struct FloorLoan<'a> {
    sender: &'a FloorSender,
}

impl Loan for FloorLoan<'_> {
    #[inline]
    fn write(&mut self, sequence: u64, time: u64, touch: Touch) -> Result<(), Failure> {
        let (ring, size) = (&self.sender.ring, self.sender.size);
        let row = ring.row(self.sender.position.get());
        // SAFETY: the bytes lie inside the row, behind its stamp. Only the sender uses them until it stores
        // the stamp.
        let bytes = unsafe { std::slice::from_raw_parts_mut(row.add(8), size) };
        payload::write(bytes, sequence, time, touch);
        Ok(())
    }

    fn data(&mut self) -> &mut [u8] {
        let (ring, size) = (&self.sender.ring, self.sender.size);
        let row = ring.row(self.sender.position.get());
        // SAFETY: the bytes lie inside the row, behind its stamp. Only the sender uses them until it stores
        // the stamp.
        let bytes = unsafe { std::slice::from_raw_parts_mut(row.add(8), size) };
        &mut bytes[payload::HEADER..]
    }

    #[inline]
    fn publish(self) -> Result<(), Failure> {
        let sender = self.sender;
        let position = sender.position.get();
        sender.ring.stamp(position).store(position + 1, Ordering::Release);
        sender.position.set(position + 1);
        if sender.ring.blocking {
            sender.ring.futex().fetch_add(1, Ordering::Release);
            futex_wake(sender.ring.futex());
        }
        Ok(())
    }
}

/// The reading end.
pub struct FloorReceiver {
    ring: Ring,
    size: usize,
    position: Cell<u64>,
}

/// A row that is being read.
pub struct FloorMessage<'a> {
    bytes: &'a [u8],
    receiver: PhantomData<&'a FloorReceiver>,
}

impl Message for FloorMessage<'_> {
    #[inline]
    fn read(&self, touch: Touch) -> Result<Found, Failure> {
        payload::read(Floor::NAME, self.bytes, touch)
    }

    fn data(&self) -> &[u8] {
        &self.bytes[payload::HEADER..]
    }
}

impl Receiver for FloorReceiver {
    type Message<'a> = FloorMessage<'a>;

    #[inline]
    fn take(&self) -> Result<Option<FloorMessage<'_>>, Failure> {
        let ring = &self.ring;
        let position = self.position.get();
        if ring.stamp(position).load(Ordering::Acquire) < position + 1 {
            return Ok(None);
        }
        self.position.set(position + 1);
        // All rows before this one have been read: the message borrows the receiver, so there is one at a
        // time.
        if ring.reliable && position.is_multiple_of(ring.depth.div_ceil(4)) {
            ring.cursor().store(position, Ordering::Release);
        }
        // SAFETY: the bytes lie inside the row, behind its stamp. The stamp shows that the sender has
        // finished.
        let bytes = unsafe { std::slice::from_raw_parts(ring.row(position).add(8), self.size) };
        Ok(Some(FloorMessage { bytes, receiver: PhantomData }))
    }

    fn wait(&self) -> Result<(), Failure> {
        let word = self.ring.futex().load(Ordering::Acquire);
        if self.ring.stamp(self.position.get()).load(Ordering::Acquire) <= self.position.get() {
            futex_wait(self.ring.futex(), word);
        }
        Ok(())
    }
}
