//! Wait sets: one wait for any number of topics, guard conditions, timers and descriptors.
//!
//! ```text
//!   source           what a set can wait for, and the trait of things that have a source
//!   set              attaching, detaching, waiting
//!   sources          the attached sources, and which of them are ready
//!   topic_source     a subscriber's topic
//!   alarm            what a client or a server tells the set beside its topic
//!   guard_condition  a condition that any thread or signal handler triggers
//!   timer            timers by a clock
//!   clock            the steady clock, and clocks that a program sets
//!   schedule         which timer is due next
//!   polled           descriptors, and the descriptor of a set
//!   spin             looking for a short time before sleeping
//!   bell             the list of sources that became ready, and the word that wakes the waiting thread
//! ```

pub(crate) mod alarm;
pub(crate) mod bell;
pub(crate) mod clock;
pub(crate) mod guard_condition;
pub(crate) mod polled;
pub(crate) mod schedule;
pub(crate) mod set;
pub(crate) mod source;
pub(crate) mod sources;
pub(crate) mod spin;
pub(crate) mod timer;
pub(crate) mod topic_source;
