//! The untyped machinery under the typed API: descriptors, slots and pools.
//!
//! ```text
//!   publisher        registration, allocation and publication
//!   loan             a slot that is written and then published
//!   growing          a loan whose body grows while it is written
//!   trim             memory that goes back to the system
//!   slow_subscriber  a publisher that waits for a subscriber
//!   subscriber       registration and taking
//!   held             holders that a subscriber may have at once
//!   sample           a message that is held
//!   take_error       why a take fails
//!   pool_cache       pools of publishers that a subscriber has mapped
//!   prefetch         hints to the processor
//! ```

pub(crate) mod growing;
pub(crate) mod held;
pub(crate) mod loan;
pub(crate) mod pool_cache;
pub(crate) mod prefetch;
pub(crate) mod publisher;
pub(crate) mod sample;
pub(crate) mod slow_subscriber;
pub(crate) mod subscriber;
pub(crate) mod take_error;
pub(crate) mod trim;
