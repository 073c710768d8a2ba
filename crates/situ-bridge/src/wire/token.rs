//! Liveliness tokens: keys by which nodes and endpoints show that they are alive.
//!
//! ```text
//!   @ros2_lv/<domain>/<session>/<node>/<id>/<kind>/<enclave>/<namespace>/<name>
//!   the same, then /<topic>/<type>/<hash of the type>/<quality of service>     for all kinds but nodes
//! ```
//!
//! The kinds are NN (node), MP (publisher), MS (subscription), SS (server) and SC (client). In names, `%`
//! stands for `/`. The GID of an endpoint is the 128-bit XXH3 of its key. Types without a name of ROS have
//! the same tokens below `@situ_lv`, which rmw_zenoh does not look at.

use situ_bus::EndpointQos;
use twox_hash::XxHash3_128;

use super::attachment::Gid;
use super::token_qos::{self, TokenQosError};

/// The longest token that is read. A topic's name has at most 255 bytes, a type's 64 KiB.
const MAX_LENGTH: usize = 8192;

/// Which programs look at a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Space {
    /// Nodes of rmw_zenoh, and bridges.
    Ros,
    /// Bridges of Situ.
    Situ,
}

impl Space {
    /// The first part of its keys.
    pub fn prefix(self) -> &'static str {
        match self {
            Self::Ros => "@ros2_lv",
            Self::Situ => "@situ_lv",
        }
    }
}

/// What a token is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// A node.
    Node,
    /// A publisher.
    Publisher,
    /// A subscription.
    Subscription,
    /// A server of a service.
    Server,
    /// A client of a service.
    Client,
}

impl Kind {
    const ALL: [Self; 5] = [Self::Node, Self::Publisher, Self::Subscription, Self::Server, Self::Client];

    /// As tokens write it.
    pub fn text(self) -> &'static str {
        match self {
            Self::Node => "NN",
            Self::Publisher => "MP",
            Self::Subscription => "MS",
            Self::Server => "SS",
            Self::Client => "SC",
        }
    }
}

/// The part of a token that nodes do not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenEndpoint {
    /// The name of the topic or service, as ROS writes it: `/chatter`.
    pub topic: String,
    /// The name of the type, as DDS writes it: `std_msgs::msg::dds_::String_`.
    pub type_name: String,
    /// The hash of the type: `RIHS01_...`.
    pub type_hash: String,
    /// The quality of service.
    pub qos: EndpointQos,
}

/// A token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// Which programs look at it.
    pub space: Space,
    /// The domain.
    pub domain: u32,
    /// The session that declares it.
    pub session: String,
    /// The number of the node in the session.
    pub node: String,
    /// The number of the entity in the session; that of the node for a node.
    pub id: String,
    /// What it is of.
    pub kind: Kind,
    /// The enclave: `/`.
    pub enclave: String,
    /// The namespace of the node: `/`.
    pub namespace: String,
    /// The name of the node.
    pub name: String,
    /// The rest. Nodes have none.
    pub endpoint: Option<TokenEndpoint>,
}

/// Why a key is no token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// It is too long.
    #[error("a token has at most {MAX_LENGTH} bytes, this one has {length}")]
    Length {
        /// Its length in bytes.
        length: usize,
    },
    /// It has too few parts, or an empty one.
    #[error("the token {key:?} lacks its {part}")]
    Missing {
        /// The key.
        key: String,
        /// What it lacks.
        part: &'static str,
    },
    /// A part is none of those that exist.
    #[error("the token {key:?} has a malformed {part}")]
    Malformed {
        /// The key.
        key: String,
        /// The malformed part.
        part: &'static str,
    },
    /// Its quality of service cannot be read.
    #[error("the token {key:?}: {source}")]
    Qos {
        /// The key.
        key: String,
        /// What is wrong with it.
        source: TokenQosError,
    },
}

fn mangle(name: &str) -> String {
    if name.is_empty() { "%".to_owned() } else { name.replace('/', "%") }
}

fn demangle(name: &str) -> String {
    name.replace('%', "/")
}

/// The GID of an endpoint with this token.
pub fn gid_of(key: &str) -> Gid {
    XxHash3_128::oneshot(key.as_bytes()).to_le_bytes()
}

impl Token {
    /// The key.
    pub fn key(&self) -> String {
        let Self { domain, session, node, id, .. } = self;
        let mut key = format!(
            "{}/{domain}/{session}/{node}/{id}/{}/{}/{}/{}",
            self.space.prefix(),
            self.kind.text(),
            mangle(&self.enclave),
            mangle(&self.namespace),
            mangle(&self.name)
        );
        if let Some(endpoint) = &self.endpoint {
            for part in [&endpoint.topic, &endpoint.type_name, &endpoint.type_hash] {
                key.push('/');
                key.push_str(&mangle(part));
            }
            key.push('/');
            key.push_str(&token_qos::to_text(&endpoint.qos));
        }
        key
    }

    /// Reads a key. It is that of an unknown peer.
    pub fn from_key(key: &str) -> Result<Self, TokenError> {
        if key.len() > MAX_LENGTH {
            return Err(TokenError::Length { length: key.len() });
        }
        let short = || key.chars().take(200).collect::<String>();
        let mut parts = key.split('/');
        let mut next = |part| {
            let found = parts.next().filter(|text| !text.is_empty());
            found.ok_or_else(|| TokenError::Missing { key: short(), part })
        };
        let malformed = |part| TokenError::Malformed { key: short(), part };
        let space = next("prefix")?;
        let space = [Space::Ros, Space::Situ].into_iter().find(|it| it.prefix() == space);
        let space = space.ok_or_else(|| malformed("prefix"))?;
        let domain = next("domain")?.parse().map_err(|_| malformed("domain"))?;
        let session = next("session")?.to_owned();
        let node = next("number of the node")?.to_owned();
        let id = next("number")?.to_owned();
        let kind = next("kind")?;
        let kind = Kind::ALL.into_iter().find(|it| it.text() == kind).ok_or_else(|| malformed("kind"))?;
        let enclave = demangle(next("enclave")?);
        let namespace = demangle(next("namespace")?);
        let name = demangle(next("name of the node")?);
        let mut endpoint = None;
        if kind != Kind::Node {
            let topic = demangle(next("topic")?);
            let type_name = demangle(next("type")?);
            let type_hash = demangle(next("hash of the type")?);
            let qos = token_qos::from_text(next("quality of service")?);
            let qos = qos.map_err(|source| TokenError::Qos { key: short(), source })?;
            endpoint = Some(TokenEndpoint { topic, type_name, type_hash, qos });
        }
        Ok(Self { space, domain, session, node, id, kind, enclave, namespace, name, endpoint })
    }
}

#[cfg(test)]
mod tests {
    use situ_bus::{Durability, History, Liveliness, Reliability};

    use super::*;

    // The example of rmw_zenoh's page on its design.
    const TALKER: &str = "@ros2_lv/0/aac3178e146ba6f1fc6e6a4085e77f21/0/10/MP/%/%/talker/%chatter/\
                          std_msgs::msg::dds_::String_/RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503\
                          259e948f6b1a18/\
                          ::,10:,:,:,,";

    #[test]
    fn a_publisher_of_rmw_zenoh_is_read() {
        let token = Token::from_key(TALKER).unwrap();
        assert_eq!((token.kind, token.domain, token.id.as_str()), (Kind::Publisher, 0, "10"));
        assert_eq!(
            (token.enclave.as_str(), token.namespace.as_str(), token.name.as_str()),
            ("/", "/", "talker")
        );
        let endpoint = token.endpoint.clone().unwrap();
        assert_eq!(endpoint.topic, "/chatter");
        assert_eq!(endpoint.type_name, "std_msgs::msg::dds_::String_");
        assert_eq!(endpoint.qos.history, History::KeepLast(10));
        // Bridges write what rmw_zenoh leaves out.
        assert_eq!(token.key(), TALKER.replace("::,10:,:,:,,", "1:2:1,10:,:,:,,"));
    }

    #[test]
    fn a_node_has_no_topic() {
        let node = "@ros2_lv/2/aac/0/0/NN/%/%robot%arm/joints";
        let token = Token::from_key(node).unwrap();
        assert_eq!(
            (token.namespace.as_str(), token.name.as_str(), token.endpoint.is_none()),
            ("/robot/arm", "joints", true)
        );
        assert_eq!(token.key(), node);
    }

    /// The hash is that of the package `xxhash` of Python, which writes its most significant byte first.
    #[test]
    fn the_gid_is_the_hash_of_the_key() {
        let hex = |gid: Gid| -> String { gid.iter().rev().map(|byte| format!("{byte:02x}")).collect() };
        assert_eq!(hex(gid_of(TALKER)), "6c08e905daba16552f3f999cb92e726b");
        assert_eq!(hex(gid_of("")), "99aa06d3014798d86001c324468d497f");
    }

    #[test]
    fn other_keys_are_errors() {
        let part = |key: &str| match Token::from_key(key) {
            Err(TokenError::Missing { part, .. } | TokenError::Malformed { part, .. }) => part,
            other => panic!("{key}: {other:?}"),
        };
        assert_eq!(part(""), "prefix");
        assert_eq!(part("@ros2_xx/0"), "prefix");
        assert_eq!(part("@ros2_lv/-1"), "domain");
        assert_eq!(part("@ros2_lv/0/a/0/0/XX"), "kind");
        assert_eq!(part("@ros2_lv/0/a/0/0/NN/%/%"), "name of the node");
        assert_eq!(part("@ros2_lv/0/a/0/0/MP/%/%/n/%t/T"), "hash of the type");
        assert!(matches!(Token::from_key(&TALKER.replace(",10", "")), Err(TokenError::Qos { .. })));
        let long = format!("{TALKER}{}", "x".repeat(9000));
        assert!(matches!(Token::from_key(&long), Err(TokenError::Length { .. })));
    }

    #[test]
    fn what_is_written_is_read() {
        let qos = EndpointQos {
            reliability: Reliability::Reliable,
            durability: Durability::TransientLocal,
            history: History::KeepLast(3),
            deadline: None,
            lifespan: None,
            liveliness: Liveliness::Automatic,
            lease: None,
        };
        let endpoint = TokenEndpoint {
            topic: "lidar/points".into(),
            type_name: "situ::sensor::PointCloud2".into(),
            type_hash: "SITU_0123456789abcdef".into(),
            qos,
        };
        let token = Token {
            space: Space::Situ,
            domain: 7,
            session: "1f".into(),
            node: "1".into(),
            id: "2".into(),
            kind: Kind::Subscription,
            enclave: "/".into(),
            namespace: "/".into(),
            name: "viewer".into(),
            endpoint: Some(endpoint),
        };
        assert_eq!(Token::from_key(&token.key()), Ok(token));
    }
}
