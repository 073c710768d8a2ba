//! The words by which members of a topic wake each other. Each lies in the file of the side that writes it.

use std::time::Duration;

use situ_memory::sync::atomic::{AtomicU32, Ordering};

use super::file::Topic;
use super::format::{ROOM_OFFSET, RoomArmed, Rung, WAKE_OFFSET};
use crate::wake::Wake;

/// How subscribers are woken.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wakes<'a> {
    /// For subscribers that can use a message before it is complete.
    published: Wake<'a>,
    /// For subscribers on the host: they cannot use a message that a device is still filling.
    complete: Wake<'a>,
}

impl<'a> Wakes<'a> {
    /// The words of a subscriber, which `takes_on_host` or in stream order.
    #[inline]
    pub(crate) fn of(self, takes_on_host: bool) -> Wake<'a> {
        if takes_on_host { self.complete } else { self.published }
    }

    /// Wakes all sleepers. Returns whether any process had to be woken.
    #[inline]
    pub(crate) fn notify(self) -> bool {
        // Both, without a shortcut.
        self.published.notify() | self.complete.notify()
    }

    /// Wakes the sleepers that can use a message that is not complete yet.
    #[inline]
    pub(crate) fn notify_early(self) -> bool {
        self.published.notify()
    }
}

impl Topic {
    /// How subscribers are woken. A participant that sleeps must have the places [for
    /// writing](super::members::Places::are_writable), and one that wakes the topic's own file.
    #[inline]
    pub(crate) fn wakes(&self) -> Wakes<'_> {
        let rung = self.part::<Rung>(WAKE_OFFSET);
        let arrivals = self.places.arrivals();
        Wakes {
            published: Wake::new(&rung.published, &arrivals.armed),
            complete: Wake::new(&rung.complete, &arrivals.armed_until_complete),
        }
    }

    /// How publishers that wait for room are woken: they arm a word of the topic's own file, and subscribers
    /// change one of theirs.
    #[inline]
    pub(crate) fn room(&self) -> Wake<'_> {
        Wake::new(&self.places.room_made().rung, self.room_armed())
    }

    /// The word that publishers arm before they sleep.
    #[inline]
    pub(super) fn room_armed(&self) -> &AtomicU32 {
        &self.part::<RoomArmed>(ROOM_OFFSET).armed
    }

    /// Sleeps until something is published, or for `time`: for a participant that may write the places or
    /// not. In the second case it may sleep on although something was published.
    pub(crate) fn sleep_unless(&self, is_done: impl Fn() -> bool, time: Duration) {
        let published = self.wakes().published;
        let announced = match self.places.are_writable() {
            true => published.announce(),
            false => published.futex().load(Ordering::SeqCst),
        };
        if !is_done() {
            published.sleep(announced, time);
        }
    }
}
