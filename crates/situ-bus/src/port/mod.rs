//! The untyped machinery under the typed API: descriptors, slots and pools.
//!
//! ```text
//!   placement        where bodies lie, and where a subscriber takes
//!   pool_options     how pools are made
//!
//!   publisher        joining, leaving, and getting slots back
//!   publisher_state  its pools, and which of their slots are published, held or free
//!   bodies           its pool in another domain
//!   lend, growing    slots that are lent; growing ones for messages whose size is not known before
//!   loan             a slot that is written and then published
//!   publish          a loan's place in the order, and what follows
//!   publish_error    why it fails
//!   back_pressure    waiting for a subscriber that has no room
//!   thread_number    tells whether a publisher would wait for its own thread
//!   trim             memory that goes back to the system
//!
//!   subscriber       joining and taking
//!   wait             waiting until there is something to take
//!   held             how many samples it holds
//!   pool_cache       the pools that it has mapped
//!   take_error       why taking fails
//!   sample           a message that is held
//!   payload, sample_payload   where its payload lies, and when it is complete
//!
//!   device_span      memory of a domain, for work on its streams
//!   prefetch         hints to the processor
//! ```

pub(crate) mod back_pressure;
pub(crate) mod bodies;
pub(crate) mod device_span;
pub(crate) mod growing;
pub(crate) mod held;
pub(crate) mod lend;
pub(crate) mod loan;
pub(crate) mod payload;
pub(crate) mod placement;
pub(crate) mod pool_cache;
pub(crate) mod pool_options;
pub(crate) mod prefetch;
pub(crate) mod publish;
pub(crate) mod publish_error;
pub(crate) mod publisher;
pub(crate) mod publisher_state;
pub(crate) mod sample;
pub(crate) mod sample_payload;
pub(crate) mod subscriber;
pub(crate) mod take_error;
pub(crate) mod thread_number;
pub(crate) mod trim;
pub(crate) mod wait;
