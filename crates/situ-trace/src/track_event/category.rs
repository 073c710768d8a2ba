//! Categories: groups of events that are switched on and off together.
//!
//! A category is added to a list when it is first used. The list only grows. The beginning or end of a
//! session updates all categories of the list under a lock. A category that is added later compares itself
//! with the session's patterns under the same lock.

use std::ptr::{from_ref, null_mut};
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::names::Name;

/// Not in the list yet.
const UNKNOWN: u32 = 0;
const OFF: u32 = 1;
const ON: u32 = 2;

/// A group of events that are switched on and off together. Declared by [`category!`](crate::category).
// The layout is that of `situ_trace_category` in C.
#[repr(C)]
#[derive(Debug)]
pub struct Category {
    name: Name,
    tags: Name,
    state: AtomicU32,
    next: AtomicPtr<Category>,
}

/// The list, and the patterns of the current session; `None` without one.
struct List {
    first: *const Category,
    wanted: Option<String>,
}

// SAFETY: it points to categories, which all threads share.
unsafe impl Send for List {}

static LIST: Mutex<List> = Mutex::new(List { first: std::ptr::null(), wanted: None });

fn list() -> MutexGuard<'static, List> {
    // A panic elsewhere cannot leave the list inconsistent.
    LIST.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Category {
    /// Creates a category, for a static. Names with commas between them (`planner,benchmark`) make a group,
    /// which is on if one of these categories would be.
    pub const fn new(name: &'static str) -> Self {
        Self::with_tags(name, "")
    }

    /// Creates a category with tags, separated by commas. A session selects categories by their tags
    /// (`tag:slow`). It leaves out categories with the tags `slow` and `debug` unless it selects them.
    pub const fn with_tags(name: &'static str, tags: &'static str) -> Self {
        Self {
            name: Name::new(name),
            tags: Name::new(tags),
            state: AtomicU32::new(UNKNOWN),
            next: AtomicPtr::new(null_mut()),
        }
    }

    /// The offset of its state: 1 while it is off, 2 while it is on.
    #[doc(hidden)]
    pub const STATE_OFFSET: usize = std::mem::offset_of!(Self, state);

    /// Returns its name.
    pub fn name(&self) -> &Name {
        &self.name
    }

    /// Returns whether the session records its events: one relaxed load. Relaxed is sufficient. The result
    /// may be late for a few events at either end of a session, but writers check separately whether there is
    /// a session.
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
        let is_wanted = wanted.is_some_and(|wanted| is_wanted(wanted, &self.name.text(), &self.tags.text()));
        self.state.store(if is_wanted { ON } else { OFF }, Ordering::Relaxed);
    }
}

/// Switches all categories as the session's patterns say, or off without a session.
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

/// The tags of categories that are off unless a session selects them.
const OFF_BY_DEFAULT: [&str; 2] = ["slow", "debug"];

fn parts(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').map(str::trim).filter(|part| !part.is_empty())
}

/// Returns whether a list of patterns, separated by commas, contains a category. A pattern is a name, or the
/// beginning of names and `*`. With `tag:` in front it matches tags. With `-` in front it excludes what it
/// matches. The last match decides. An empty list, or a list that begins with an exclusion, first includes
/// all categories. `*` and the empty list do not include categories that are off by default. A group of
/// several names is contained if one of them is.
pub(super) fn is_wanted(patterns: &str, names: &str, tags: &str) -> bool {
    let is_by_request = parts(tags).any(|tag| OFF_BY_DEFAULT.contains(&tag));
    parts(names).any(|name| {
        let mut patterns = parts(patterns).peekable();
        let all = !is_by_request && patterns.peek().is_none_or(|first| first.starts_with('-'));
        patterns.fold(all, |is_wanted, pattern| {
            let (pattern, gives) = pattern.strip_prefix('-').map_or((pattern, true), |rest| (rest, false));
            let fits = match pattern.strip_prefix("tag:") {
                Some(pattern) => parts(tags).any(|tag| matches(pattern, tag)),
                None => matches(pattern, name) && !(gives && is_by_request && pattern == "*"),
            };
            if fits { gives } else { is_wanted }
        })
    })
}

fn matches(pattern: &str, text: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(beginning) => text.starts_with(beginning),
        None => text == pattern,
    }
}

#[cfg(test)]
mod tests {
    use super::is_wanted;

    #[test]
    fn patterns_include_and_exclude() {
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
                assert!(is_wanted(patterns, name, ""), "{patterns:?} wants {name}");
            }
            for name in unwanted {
                assert!(!is_wanted(patterns, name, ""), "{patterns:?} does not want {name}");
            }
        }
    }

    #[test]
    fn a_group_is_on_if_one_of_its_categories_is() {
        for (patterns, expected) in [("", true), ("plan", true), ("bench*", true), ("bus", false)] {
            assert_eq!(is_wanted(patterns, "plan, benchmark", ""), expected, "{patterns:?}");
        }
        assert!(is_wanted("-plan", "plan,benchmark", ""));
        assert!(!is_wanted("-plan,-bench*", "plan,benchmark", ""));
    }

    #[test]
    fn tags_select_categories() {
        for (patterns, expected) in [
            ("tag:map", true),
            ("tag:m*", true),
            ("tag:mapper", false),
            ("map", false),
            ("-tag:map", false),
            ("*,-tag:sensor", false),
            ("-tag:map,plan", true),
        ] {
            assert_eq!(is_wanted(patterns, "plan", "map,sensor"), expected, "{patterns:?}");
        }
        // Off unless they are asked for.
        for tags in ["slow", "map,debug"] {
            for (patterns, expected) in
                [("", false), ("*", false), ("-bus", false), ("tag:*", true), ("plan", true), ("pl*", true)]
            {
                assert_eq!(is_wanted(patterns, "plan", tags), expected, "{patterns:?} of {tags:?}");
            }
        }
    }
}
