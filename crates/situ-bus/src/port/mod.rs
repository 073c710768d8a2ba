//! The untyped machinery below the typed API: descriptors, slots and pools.
//!
//! ```text
//!   placement        the memory domain of bodies or of a subscriber
//!   pool_options     how pools are created
//!
//!   publisher        joining, leaving, and getting slots back
//!   publisher_state  its pools, and which of their slots are published, held or free
//!   filling          whether it fills its large messages
//!   bodies           its pool in another domain
//!   lend, growing    lent slots; growing ones for messages whose size is not known before
//!   loan             a slot that is written and then published
//!   publish          appending a loan to the topic, and the work that follows
//!   batch            publishing several loans, and taking several messages
//!   publish_error    why it fails
//!   back_pressure    waiting for a subscriber that has no room
//!   thread_number    detects a publisher that would wait for its own thread
//!   reserve          memory before it is lent
//!   trim             returning memory to the system
//!   kept             what it keeps for late subscribers, and forgetting it
//!
//!   subscriber       joining and taking
//!   empty_takes      which takes without a message read the clock
//!   idle             looking after dead participants while there is nothing to take
//!   wait             waiting until there is something to take
//!   held             the number of samples that it holds
//!   sample_records   the private records of its samples
//!   pool_cache       the pools that it has mapped
//!   row_copy         small messages that are copied into rows, and out of them
//!   copied_messages  which messages a publisher copies
//!   cells            the memory of copies
//!   taken            a message whose head is pinned, before it is checked
//!   untaken          a message that cannot be handed out
//!   take_error       why taking fails
//!   sample           a message that is held
//!   payload, sample_payload   where its payload lies, and when it is complete
//!
//!   endpoint         the ids of publishers and subscribers
//!   endpoint_events  their events: matched, liveliness, deadlines, lost messages
//!   strangers        messages of publishers that do not match
//!   device_span      memory of a domain, for work on its streams
//!   prefetch         hints to the processor
//! ```

pub(crate) mod back_pressure;
pub(crate) mod batch;
pub(crate) mod bodies;
pub(crate) mod cells;
pub(crate) mod copied_messages;
pub(crate) mod device_span;
pub(crate) mod empty_takes;
mod endpoint;
mod endpoint_events;
pub(crate) mod filling;
pub(crate) mod growing;
pub(crate) mod held;
mod idle;
mod kept;
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
mod reserve;
pub(crate) mod row_copy;
pub(crate) mod sample;
pub(crate) mod sample_payload;
pub(crate) mod sample_records;
mod strangers;
pub(crate) mod subscriber;
pub(crate) mod take_error;
pub(crate) mod taken;
pub(crate) mod thread_number;
pub(crate) mod trim;
mod untaken;
pub(crate) mod wait;
