//! Topics that stand without members, with a group that may publish and a group that may subscribe.
//!
//! An ordinary topic is made by its first member and removed with its last one, and all members of the root's
//! group may do both. A standing topic is made by an administrator that belongs to both groups:
//!
//! | | owner | group | mode |
//! |---|---|---|---|
//! | its directory | administrator | publishers | `0775` |
//! | its own file and its rings | administrator; publishers | publishers | `0664` |
//! | the file of its subscribers | administrator | subscribers | `0664` |
//! | a pool of messages, as everywhere | publisher | the root's | `0640` |
//!
//! So the kernel refuses to let a subscriber write a row or a message, and to let a publisher move a cursor
//! or write a ledger. All members of the root's group may read. Other users do not get through the root.

use situ_memory::sync::atomic::Ordering;
use situ_memory::{Beneath, MemoryError};

use super::TypeDescription;
use super::compat::SchemaFlags;
use super::entries::active_publishers;
use super::file::Topic;
use super::files::system;
use super::join::{rows, sizes};
use super::lock::Lock;
use super::names;
use super::register_error::RegisterError;
use super::repair::{remove_files, repair};
use super::rights::{Permissions, Role};
use crate::node::liveness::NodeId;
use crate::node::peer::Peer;
use crate::root::Root;

/// The groups that may use a standing topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TopicRights {
    /// The number of the group whose members may publish.
    pub publishers: u32,
    /// The number of the group whose members may subscribe.
    pub subscribers: u32,
}

/// Why a standing topic could not be made.
#[derive(thiserror::Error)]
pub enum MakeTopicError {
    /// Rights of groups have no effect in a root of one user.
    #[error(
        "topic {topic:?} cannot have groups: its root belongs to one user; share it by SITU_GROUP, whose members may then \
         read the topic"
    )]
    NoGroup {
        /// The topic.
        topic: String,
    },
    /// The topic exists.
    #[error(
        "topic {topic:?} exists already; end its members, or remove it with `situ topic remove`, and try again"
    )]
    Exists {
        /// The topic.
        topic: String,
    },
    /// Its name, its type, its root or its files cannot be used.
    #[error(transparent)]
    Register(#[from] RegisterError),
}

/// Why a topic could not be removed.
#[derive(thiserror::Error)]
pub enum RemoveTopicError {
    /// The topic has members.
    #[error("topic {topic:?} is in use ({peer}): end its members, and try again")]
    InUse {
        /// The topic.
        topic: String,
        /// The node of a member.
        peer: Peer,
    },
    /// Its root or its files cannot be used.
    #[error(transparent)]
    Register(#[from] RegisterError),
}

situ_layout::debug_as_text!(MakeTopicError);
situ_layout::debug_as_text!(RemoveTopicError);

/// Makes a topic that stands without members: from now on it can only be used with this type and by the
/// members of these groups, until [`remove_topic`] removes it.
///
/// The caller must be a member of both groups, or the superuser. The root must be shared by a group
/// ([`Root::at`] with one, or `SITU_GROUP`), to which all these users belong. `depth` is the number of
/// messages that its members will keep at most. Subscribers cannot give it more rows.
pub fn make_topic(
    root: &Root,
    name: &str,
    description: &TypeDescription,
    depth: usize,
    rights: TopicRights,
) -> Result<(), MakeTopicError> {
    names::check_given(name)?;
    make_any_topic(root, name, description, depth, rights)
}

/// The same for a topic of any name, also one of those that services use.
pub(crate) fn make_any_topic(
    root: &Root,
    name: &str,
    description: &TypeDescription,
    depth: usize,
    rights: TopicRights,
) -> Result<(), MakeTopicError> {
    description.check_lengths(name).map_err(RegisterError::from)?;
    let root = root.prepare().map_err(RegisterError::from)?;
    if root.group().is_none() {
        return Err(MakeTopicError::NoGroup { topic: name.to_owned() });
    }
    let directory = root.topic(name);
    let lock = Lock::acquire(&root, &directory, name)?;
    if Topic::id_in(&directory).map_err(RegisterError::from)?.is_some() {
        return Err(MakeTopicError::Exists { topic: name.to_owned() });
    }
    let sizes = sizes(description, SchemaFlags::read(&description.schema));
    let of = |group| Permissions { mode: 0o664, group: Some(group) };
    let permissions = [of(rights.publishers), of(rights.subscribers)];
    let made = change_directory(&lock, &directory, rights.publishers).and_then(|()| {
        let size = (rows(depth), sizes, true);
        Topic::create_with(&root, &directory, name, description, size, Role::Repairer, permissions)
    });
    if made.is_err() {
        remove_files(&lock);
        let _ = directory.remove_directory();
    }
    Ok(made.map(drop).map_err(RegisterError::from)?)
}

/// Gives a topic's directory to a group: its members may make and remove files there, all others may read.
fn change_directory(lock: &Lock, directory: &Beneath, group: u32) -> Result<(), MemoryError> {
    lock.give_directory(group, 0o775).map_err(|error| system("give a group", directory.path(), error))
}

/// Removes a topic that has no members, whether it stands or not. Returns whether there was one.
pub fn remove_topic(root: &Root, name: &str) -> Result<bool, RemoveTopicError> {
    let Some(root) = root.open().map_err(RegisterError::from)? else { return Ok(false) };
    let directory = root.topic(name);
    let opened = Topic::open(&root, &directory, Role::Repairer).map_err(RegisterError::from)?;
    let Some(topic) = opened else { return Ok(false) };
    let lock = Lock::acquire(&root, &directory, name)?;
    if !topic.is_current() {
        return Ok(false);
    }
    repair(&topic, &lock);
    let subscriber = topic.places.active().next().map(|place| place.node());
    let publisher = || active_publishers(&topic).next().map(|entry| entry.node.load(Ordering::Relaxed));
    if let Some(node) = subscriber.or_else(publisher) {
        return Err(RemoveTopicError::InUse {
            topic: name.to_owned(),
            peer: Peer::find(&root, NodeId(node)),
        });
    }
    remove_files(&lock);
    // Still there if another participant waits for its lock, or if it has files of others.
    let _ = directory.remove_directory();
    Ok(true)
}
