//! Room for replies of other machines that wait until the thread of their service takes them.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How many replies, and how many bytes, wait at most.
#[derive(Debug)]
pub struct Room {
    replies: usize,
    bytes: usize,
    used: Mutex<Used>,
    freed: Condvar,
}

#[derive(Debug, Default)]
struct Used {
    replies: usize,
    bytes: usize,
    /// Nothing is taken any more.
    is_over: bool,
}

/// A reply's part of the room, until this is dropped.
#[derive(Debug)]
pub struct Reserved {
    room: Arc<Room>,
    bytes: usize,
}

impl Room {
    /// For this many replies, and this many bytes.
    pub fn new(replies: usize, bytes: usize) -> Arc<Self> {
        Arc::new(Self { replies, bytes, used: Mutex::default(), freed: Condvar::new() })
    }

    /// Reserves room for a reply of `bytes`, and waits for it at most for `limit`. `None`: there is none, or
    /// the service ends. A reply that is larger than all room takes all of it.
    pub fn reserve(self: &Arc<Self>, bytes: usize, limit: Duration) -> Option<Reserved> {
        let bytes = bytes.min(self.bytes);
        let end = Instant::now() + limit;
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if used.is_over {
                return None;
            }
            if used.replies < self.replies && used.bytes + bytes <= self.bytes {
                used.replies += 1;
                used.bytes += bytes;
                return Some(Reserved { room: self.clone(), bytes });
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            used = self.freed.wait_timeout(used, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Ends all waits: nothing is taken any more.
    pub fn end(&self) {
        self.used.lock().unwrap_or_else(PoisonError::into_inner).is_over = true;
        self.freed.notify_all();
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        let mut used = self.room.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.replies -= 1;
        used.bytes -= self.bytes;
        drop(used);
        self.room.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn replies_and_bytes_are_limited() {
        let room = Room::new(3, 100);
        let now = |bytes| room.reserve(bytes, Duration::ZERO);
        let first = now(60).unwrap();
        assert!(now(41).is_none());
        let second = now(40).unwrap();
        assert!(now(1).is_none());
        let _third = now(0).unwrap();
        assert!(now(0).is_none(), "three replies");
        drop((first, second));
        // One that is larger than the room waits until nothing else has bytes.
        let large = now(1000).unwrap();
        assert!(now(1).is_none());
        drop(large);
        assert!(now(100).is_some());
    }

    #[test]
    fn a_wait_ends_with_room_or_with_the_service() {
        let room = Room::new(10, 100);
        let held = room.reserve(100, LONG).unwrap();
        let waits = |room: &Arc<Room>| {
            let room = room.clone();
            std::thread::spawn(move || room.reserve(50, LONG).is_some())
        };
        let (one, other) = (waits(&room), waits(&room));
        drop(held);
        assert!(one.join().unwrap() && other.join().unwrap());
        let held = room.reserve(100, LONG).unwrap();
        let third = waits(&room);
        room.end();
        assert!(!third.join().unwrap());
        drop(held);
        assert!(room.reserve(1, LONG).is_none());
    }
}
