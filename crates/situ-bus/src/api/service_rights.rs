//! Services that stand without members, with a group that may call and a group that may answer.
//!
//! The topic of requests is then a [standing topic](crate::topic::standing): only callers may publish there,
//! and only servers may subscribe. The topics of replies are not: each client makes its own, and cannot give
//! it to a group to which it does not belong.

use crate::node::peer::Peer;
use crate::root::Root;
use crate::service::description::ServiceDescription;
use crate::topic::standing::{MakeTopicError, RemoveTopicError, TopicRights, make_any_topic, remove_topic};
use crate::topic::{RegisterError, names};

/// The groups that may use a standing service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServiceRights {
    /// The number of the group whose members may send requests.
    pub callers: u32,
    /// The number of the group whose members may take them.
    pub servers: u32,
}

/// Why a standing service could not be made.
#[derive(thiserror::Error)]
pub enum MakeServiceError {
    /// Rights of groups have no effect in a root of one user.
    #[error(
        "service {service:?} cannot have groups: its root belongs to one user; share it by SITU_GROUP, whose members may \
         then read the requests"
    )]
    NoGroup {
        /// The service.
        service: String,
    },
    /// The service exists.
    #[error(
        "service {service:?} exists already; end its clients and servers, or remove it with `situ service remove`, and try \
         again"
    )]
    Exists {
        /// The service.
        service: String,
    },
    /// Its name, its types, its root or its files cannot be used.
    #[error(transparent)]
    Register(#[from] RegisterError),
}

/// Why a service could not be removed.
#[derive(thiserror::Error)]
pub enum RemoveServiceError {
    /// The service has clients or servers.
    #[error("service {service:?} is in use ({peer}): end its clients and servers, and try again")]
    InUse {
        /// The service.
        service: String,
        /// The node of a client or a server.
        peer: Peer,
    },
    /// Its root or its files cannot be used.
    #[error(transparent)]
    Register(#[from] RegisterError),
}

situ_layout::debug_as_text!(MakeServiceError);
situ_layout::debug_as_text!(RemoveServiceError);

/// Makes a service that stands without members: from now on it can only be used with these types, and only
/// the members of these groups can send requests and take them, until [`remove_service`] removes it.
///
/// The kernel enforces this. It does not keep other members of the root's group from reading requests and
/// replies. Nor does it keep them from sending replies: a program that must not believe them trusts the whole
/// group, or has a root of its own.
///
/// The caller must be a member of both groups, or the superuser. The root must be shared by a group
/// ([`Root::at`] with one, or `SITU_GROUP`), to which all these users belong. `depth` is the number of
/// requests that clients and servers will keep at most. Servers cannot give it more rows.
pub fn make_service(
    root: &Root,
    name: &str,
    description: &ServiceDescription,
    depth: usize,
    rights: ServiceRights,
) -> Result<(), MakeServiceError> {
    names::check_given(name)?;
    let of_topic = TopicRights { publishers: rights.callers, subscribers: rights.servers };
    let service = name.to_owned();
    make_any_topic(root, &names::of_requests(name), &description.of_requests(), depth, of_topic).map_err(
        |error| match error {
            MakeTopicError::NoGroup { .. } => MakeServiceError::NoGroup { service },
            MakeTopicError::Exists { .. } => MakeServiceError::Exists { service },
            MakeTopicError::Register(error) => error.into(),
        },
    )
}

/// Removes a service that has no clients and no servers, whether it stands or not. Returns whether there was
/// one.
pub fn remove_service(root: &Root, name: &str) -> Result<bool, RemoveServiceError> {
    names::check_given(name)?;
    remove_topic(root, &names::of_requests(name)).map_err(|error| match error {
        RemoveTopicError::InUse { peer, .. } => RemoveServiceError::InUse { service: name.to_owned(), peer },
        RemoveTopicError::Register(error) => error.into(),
    })
}
