//! The front end for ROS interface files: `.msg`, `.srv` and `.action`.
//!
//! ```text
//!   message   the lines of interface files
//!   value     values of constants and defaults
//!   docs      comments
//!   implicit  the types that ROS 2 derives from services and actions
//! ```

mod docs;
mod implicit;
mod message;
mod value;

pub(crate) use implicit::{add_implicit, find_actions, find_services};
pub(crate) use message::{Interface, Reference, dummy_member, parse};

/// The kind of a ROS interface file, which is also the name of its folder and of its module.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum InterfaceKind {
    Message,
    Service,
    Action,
}

impl InterfaceKind {
    pub const ALL: [Self; 3] = [Self::Message, Self::Service, Self::Action];

    /// `msg`, `srv` or `action`.
    pub fn folder(self) -> &'static str {
        match self {
            Self::Message => "msg",
            Self::Service => "srv",
            Self::Action => "action",
        }
    }

    pub fn from_folder(folder: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.folder() == folder)
    }
}
