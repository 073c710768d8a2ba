//! Categories: what can be switched on and off as a whole.
//!
//! All categories that were ever asked for stand in a list, which only grows. Who begins or ends a session goes through it under
//! a lock; a category that comes later looks, under the same lock, what the session wants.

use std::ptr::{from_ref, null_mut};
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::names::Name;

/// Nobody has asked for it yet.
const UNKNOWN: u32 = 0;
const OFF: u32 = 1;
const ON: u32 = 2;

/// A group of events that are switched on and off together. Declared by [`category!`](crate::category).
// The layout is that of `situ_trace_category` in C.
#[repr(C)]
#[derive(Debug)]
pub struct Category {
    name: Name,
    state: AtomicU32,
    next: AtomicPtr<Category>,
}

/// The list, and what the session wants; nothing without one.
struct List {
    first: *const Category,
    wanted: Option<String>,
}

// SAFETY: it points to categories, which are shared by all threads.
unsafe impl Send for List {}

static LIST: Mutex<List> = Mutex::new(List { first: std::ptr::null(), wanted: None });

fn list() -> MutexGuard<'static, List> {
    // What is in it is right after each step.
    LIST.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Category {
    /// A category, for a static.
    pub const fn new(name: &'static str) -> Self {
        Self { name: Name::new(name), state: AtomicU32::new(UNKNOWN), next: AtomicPtr::new(null_mut()) }
    }

    /// Where its state lies: 1 while it is off, 2 while it is on.
    #[doc(hidden)]
    pub const STATE_OFFSET: usize = std::mem::offset_of!(Self, state);

    /// What it is called.
    pub fn name(&self) -> &Name {
        &self.name
    }

    /// Whether its events are wanted: one relaxed load. That it is behind by a few events at either end of a session is why it may
    /// be relaxed: a writer finds out by itself whether there is a session.
    #[inline(always)]
    pub fn is_enabled(&'static self) -> bool {
        match self.state.load(Ordering::Relaxed) {
            OFF => false,
            ON => true,
            _ => self.register(),
        }
    }

    #[cold]
    #[inline(never)]
    fn register(&'static self) -> bool {
        let mut list = list();
        if self.state.load(Ordering::Relaxed) == UNKNOWN {
            self.next.store(list.first.cast_mut(), Ordering::Relaxed);
            list.first = from_ref(self);
            self.decide(list.wanted.as_deref());
        }
        self.state.load(Ordering::Relaxed) == ON
    }

    fn decide(&self, wanted: Option<&str>) {
        let is_wanted = wanted.is_some_and(|wanted| is_wanted(wanted, &self.name.text()));
        self.state.store(if is_wanted { ON } else { OFF }, Ordering::Relaxed);
    }
}

/// A session begins, and wants these categories; or there is none any more.
pub(super) fn decide_all(wanted: Option<&str>) {
    let mut list = list();
    list.wanted = wanted.map(str::to_owned);
    let mut next = list.first;
    // SAFETY: categories in the list live as long as the program.
    while let Some(category) = unsafe { next.as_ref() } {
        category.decide(wanted);
        next = category.next.load(Ordering::Relaxed);
    }
}

/// Whether a list of patterns, separated by commas, wants a category. A pattern is a name, or its beginning and `*`; with `-` in front
/// it takes away what those before it have given. The last one that fits decides. A list without any, or one that begins by taking
/// away, begins with all.
pub(super) fn is_wanted(patterns: &str, name: &str) -> bool {
    let mut patterns = patterns.split(',').map(str::trim).filter(|pattern| !pattern.is_empty()).peekable();
    let all = patterns.peek().is_none_or(|first| first.starts_with('-'));
    patterns.fold(all, |is_wanted, pattern| {
        let (pattern, gives) = pattern.strip_prefix('-').map_or((pattern, true), |rest| (rest, false));
        let fits = match pattern.strip_suffix('*') {
            Some(beginning) => name.starts_with(beginning),
            None => name == pattern,
        };
        if fits { gives } else { is_wanted }
    })
}

#[cfg(test)]
mod tests {
    use super::is_wanted;

    #[test]
    fn patterns_give_and_take() {
        for (patterns, wanted, unwanted) in [
            ("", &["bus", "planner"][..], &[][..]),
            ("*", &["bus", "planner"], &[]),
            ("bus", &["bus"], &["bus2", "planner"]),
            ("bus, plan*", &["bus", "planner", "plan"], &["pla"]),
            ("-bus", &["planner"], &["bus"]),
            ("*,-plan*,planner", &["bus", "planner"], &["plan"]),
            (",,", &["bus"], &[]),
        ] {
            for name in wanted {
                assert!(is_wanted(patterns, name), "{patterns:?} wants {name}");
            }
            for name in unwanted {
                assert!(!is_wanted(patterns, name), "{patterns:?} does not want {name}");
            }
        }
    }
}
