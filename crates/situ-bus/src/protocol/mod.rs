//! The protocols on words that processes share. They use only atomics, so the model checker explores the code
//! that runs.
//!
//! ```text
//!   cell          a value that one writer replaces while others read it
//!   ring          the rows of a topic: claiming, publishing, reading, sealing
//!   row           a row, and the copy of a small message in it
//!   ledger        which slots a subscriber holds
//!   record_state  which side may touch the private record of a sample
//!   presence      whether the other side of a topic is there
//!   copy_state    one copy of a message for each memory domain
//!   flow_window   how far publishers may run ahead of reliable subscribers
//!   tenure        which pool an entry of a topic stands for, and since when
//! ```

pub mod cell;
pub mod copy_state;
pub mod flow_window;
pub mod ledger;
pub mod presence;
pub mod record_state;
pub mod ring;
pub mod row;
pub mod tenure;
