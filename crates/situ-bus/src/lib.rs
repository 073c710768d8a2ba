//! The motion: nodes, topics, publishing and taking, waiting, liveness and repair.
//!
//! A topic is a shared file with a ring of references. Publishing stores a reference to a slot in the publisher's own
//! pool; taking pins the slot and reads it where it lies. Nobody is in charge: there is no daemon, and whoever notices
//! that somebody died repairs what it left. The formats are `spec/topic.md` and `spec/pool.md`.
//!
//! ```text
//!    publisher A: pool        topic: ring of rows              subscriber
//!   +----+----+----+         +---+---+---+---+---+          cursor = 7
//!   | s0 | s1 | s2 | <------ | 5 | 6 | 7 |   |   | <------- 1. look at row 7
//!   +----+----+----+   +---- +---+---+---+---+---+          2. pin the slot (set my holder bit)
//!    publisher B: pool |       one compare-and-swap         3. read in place
//!   +----+----+----+   |       claims row and order         4. let go (clear my bit)
//!   | s0 | s1 | s2 | <-+
//!   +----+----+----+
//! ```

#[cfg(not(loom))]
mod asynchronous;
#[cfg(not(loom))]
mod blocked;
#[cfg(not(loom))]
mod clock;
#[cfg(not(loom))]
mod copies;
#[cfg(not(loom))]
mod copy_pool;
#[cfg(not(loom))]
mod deaths;
#[cfg(not(loom))]
mod device;
#[cfg(not(loom))]
mod eager;
pub mod entry;
#[cfg(not(loom))]
mod fences;
#[cfg(not(loom))]
mod growing;
#[cfg(not(loom))]
mod held;
#[cfg(not(loom))]
pub mod hook;
#[cfg(not(loom))]
pub mod inspect;
#[cfg(not(loom))]
mod interrupt;
#[cfg(not(loom))]
mod liveness;
#[cfg(not(loom))]
mod loan;
#[cfg(not(loom))]
mod node;
#[cfg(not(loom))]
mod notices;
#[cfg(not(loom))]
mod observe;
#[cfg(not(loom))]
mod pools;
#[cfg(not(loom))]
mod prefetch;
#[cfg(not(loom))]
mod publisher;
#[cfg(not(loom))]
mod qos;
#[cfg(not(loom))]
mod reactor;
#[cfg(not(loom))]
mod readiness;
#[cfg(not(loom))]
mod region;
#[cfg(not(loom))]
mod removal;
pub mod ring;
#[cfg(not(loom))]
mod sample;
#[cfg(not(loom))]
mod sleep;
#[cfg(not(loom))]
mod spans;
#[cfg(not(loom))]
mod subscriber;
#[cfg(not(loom))]
mod take_error;
pub mod tenure;
#[cfg(not(loom))]
mod topic;
#[cfg(not(loom))]
mod trim;
#[cfg(not(loom))]
mod trust;
#[cfg(not(loom))]
mod typed;
#[cfg(not(loom))]
mod wait;
pub mod window;

#[cfg(not(loom))]
pub(crate) use situ_memory::root;
pub use situ_memory::wake;
#[cfg(not(loom))]
pub use situ_memory::{Root, RootError};

#[cfg(not(loom))]
pub use self::{
    asynchronous::Messages,
    blocked::SlowSubscriber,
    clock::now_ns,
    copies::CopyError,
    device::{DeviceSpan, IncompleteError, Placement},
    growing::GROWING_ROOM,
    interrupt::{Interrupted, Interrupter, Wait},
    liveness::{NodeId, NodeInfo},
    loan::{DetachedLoan, LoanError, RawLoan},
    node::{Cleaned, Node, NodeError, clean, clean_topics},
    observe::{Observer, Seen},
    publisher::{PublishError, RawPublisher},
    qos::{Durability, History, PublisherQos, QosMismatch, Reliability, SubscriberQos, WhenFull},
    reactor::EventFd,
    region::{
        EditError, InRegion, PublishRegionError, RegionLoan, RegionPublisher, RegionSample, RegionSubscriber,
        describe_region,
    },
    removal::{Removed, RemovedPart},
    sample::{CopyCounter, RawSample},
    subscriber::{RawSubscriber, TakeError},
    topic::{Encoding, RegisterError, TextTooLong, TypeDescription},
    trust::{Limits, Trust},
    typed::{
        Loan, PublishValueError, Publisher, PublisherBuilder, ReceiveError, Sample, Subscriber,
        SubscriberBuilder, Value, describe,
    },
    wait::{wait_any, wait_any_with},
};
