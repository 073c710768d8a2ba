//! Types and messages between topics and files.
//!
//! ```text
//!   ros_text     types as texts of ROS messages
//!   file_type    types as they stand in files
//!   projection   flat messages as CDR
//!   topic_type   topics and channels
//! ```

pub mod file_type;
pub mod projection;
mod ros_text;
pub mod topic_type;
