//! The callbacks of an executor that are ready, and which of them may run.
//!
//! Callbacks run in the order in which their sources became ready. A callback whose mutually exclusive group
//! is busy waits in the group. When the group's running callback ends, the first one that waits goes to the
//! end of the queue, with the group's turn. So a busy group delays neither other groups nor its own members
//! for ever.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::{MutexGuard, PoisonError};

use crate::execute::callback::{Group, Ready, Turn};

#[derive(Debug, Default)]
pub(crate) struct Queue {
    ready: VecDeque<Ready>,
}

fn turn(group: &Group) -> MutexGuard<'_, Turn> {
    // Its changes are single assignments.
    group.turn.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Queue {
    pub(crate) fn push(&mut self, ready: Ready) {
        self.ready.push_back(ready);
    }

    pub(crate) fn len(&self) -> usize {
        self.ready.len()
    }

    /// The next callback that may run. Call [`ended`](Self::ended) after it has run.
    pub(crate) fn next(&mut self) -> Option<Ready> {
        while let Some(mut ready) = self.ready.pop_front() {
            let group = ready.callback.group.clone();
            if !ready.has_turn && group.is_exclusive {
                let mut turn = turn(&group);
                if turn.is_taken {
                    turn.waiting.push_back(ready);
                    continue;
                }
                turn.is_taken = true;
            }
            ready.has_turn = true;
            if !ready.callback.is_removed.load(Ordering::SeqCst) {
                return Some(ready);
            }
            self.ended(&group);
        }
        None
    }

    /// Passes the group's turn on, after a callback of it has run.
    pub(crate) fn ended(&mut self, group: &Group) {
        if !group.is_exclusive {
            return;
        }
        let mut turn = turn(group);
        match turn.waiting.pop_front() {
            Some(next) => self.ready.push_back(Ready { has_turn: true, ..next }),
            None => turn.is_taken = false,
        }
    }
}
