//! The calls of a client that are under way.

use crate::node::endpoint::EndpointId;

/// A call.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call {
    /// Its number; 0: the slot is free.
    pub(super) number: u64,
    /// When it began, if it has a deadline.
    pub(super) started_ns: u64,
    /// When its time is over; `u64::MAX`: never.
    pub(super) deadline_ns: u64,
    /// The number of its request on the topic of requests.
    pub(super) request: u64,
    /// The publisher of the first reply. Replies of other servers are ignored from then on.
    pub(super) server: Option<EndpointId>,
    /// Whether its last reply has arrived, and waits to be taken.
    pub(super) is_over: bool,
    /// Whether a tracer knows of it.
    pub(super) is_traced: bool,
}

const FREE: Call = Call {
    number: 0,
    started_ns: 0,
    deadline_ns: u64::MAX,
    request: 0,
    server: None,
    is_over: false,
    is_traced: false,
};

/// The calls of a client. Its memory is allocated once.
///
/// A call's number is the number of its slot plus a multiple of a power of two that grows with each call. So
/// a number leads to its slot without a division, and is never used twice.
#[derive(Debug)]
pub(super) struct Calls {
    slots: Box<[Call]>,
    free: Vec<usize>,
    /// A power of two, at least the number of slots.
    step: u64,
    /// The first number of the next call, before its slot is added.
    round: u64,
    /// No deadline of a call is before this time.
    earliest_ns: u64,
}

impl Calls {
    pub(super) fn new(most: usize) -> Self {
        let most = most.max(1);
        Self {
            slots: vec![FREE; most].into(),
            free: (0..most).rev().collect(),
            step: most.next_power_of_two() as u64,
            round: 0,
            earliest_ns: u64::MAX,
        }
    }

    /// The greatest number of calls.
    pub(super) fn most(&self) -> usize {
        self.slots.len()
    }

    /// Whether a call is under way or has replies to be taken.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.free.len() == self.slots.len()
    }

    /// Begins a call, and returns its number. `None` if there are too many.
    #[inline]
    pub(super) fn begin(&mut self, started_ns: u64, deadline_ns: u64) -> Option<u64> {
        let slot = self.free.pop()?;
        self.round += self.step;
        let number = self.round + slot as u64;
        self.slots[slot] = Call { number, started_ns, deadline_ns, ..FREE };
        self.earliest_ns = self.earliest_ns.min(deadline_ns);
        Some(number)
    }

    /// The slot of a call. There is none if a server made the number up.
    #[inline]
    pub(super) fn slot(&self, number: u64) -> usize {
        (number & (self.step - 1)) as usize
    }

    /// A call by its number.
    #[inline]
    pub(super) fn get(&mut self, number: u64) -> Option<&mut Call> {
        let slot = self.slot(number);
        self.slots.get_mut(slot).filter(|call| number != 0 && call.number == number)
    }

    /// Ends a call. Returns it if it was there.
    #[inline]
    pub(super) fn end(&mut self, number: u64) -> Option<Call> {
        let call = std::mem::replace(self.get(number)?, FREE);
        self.free.push(self.slot(number));
        if self.is_empty() {
            self.earliest_ns = u64::MAX;
        }
        Some(call)
    }

    /// The calls that still wait for a reply.
    pub(super) fn waiting(&self) -> impl Iterator<Item = &Call> {
        self.slots.iter().filter(|call| call.number != 0 && !call.is_over)
    }

    /// A time before which no deadline is over.
    #[inline]
    pub(super) fn earliest_ns(&self) -> u64 {
        self.earliest_ns
    }

    /// A call whose time is over.
    pub(super) fn late(&mut self, now_ns: u64) -> Option<Call> {
        if now_ns < self.earliest_ns {
            return None;
        }
        let late = self.waiting().find(|call| call.deadline_ns <= now_ns).copied();
        self.earliest_ns = self.waiting().map(|call| call.deadline_ns).min().unwrap_or(u64::MAX);
        late
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_lead_to_their_slots_and_are_never_used_twice() {
        let mut calls = Calls::new(3);
        assert!(calls.is_empty() && calls.get(0).is_none());
        assert!(calls.get(3).is_none() && calls.end(u64::MAX).is_none(), "numbers without a slot");
        let mut seen = std::collections::HashSet::new();
        for round in 0..100 {
            let numbers: Vec<_> = (0..3).map(|_| calls.begin(0, u64::MAX).unwrap()).collect();
            assert_eq!(calls.begin(0, u64::MAX), None);
            assert!(numbers.iter().all(|number| *number != 0 && seen.insert(*number)));
            for index in [round % 3, (round + 1) % 3, (round + 2) % 3] {
                assert_eq!(calls.get(numbers[index]).unwrap().number, numbers[index]);
                assert!(calls.end(numbers[index]).is_some() && calls.end(numbers[index]).is_none());
            }
        }
    }

    #[test]
    fn calls_are_late_from_their_deadline_on() {
        let mut calls = Calls::new(4);
        let (_never, first) = (calls.begin(1, u64::MAX).unwrap(), calls.begin(1, 50).unwrap());
        let second = calls.begin(1, 40).unwrap();
        assert!(calls.late(39).is_none());
        assert_eq!(calls.late(45).unwrap().number, second);
        calls.get(second).unwrap().is_over = true;
        assert!(calls.late(45).is_none());
        assert_eq!(calls.late(50).unwrap().number, first);
        calls.end(first);
        assert!(calls.late(u64::MAX - 1).is_none());
    }
}
