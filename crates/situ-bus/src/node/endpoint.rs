//! The ids of publishers and subscribers.

use std::fmt;

use super::liveness::NodeId;

/// The id of a publisher or subscriber. It never repeats: both numbers are random.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EndpointId {
    /// The node that it belongs to.
    pub node: NodeId,
    /// Its own number: a publisher's is that of its pool, a subscriber's is in its place.
    pub number: u64,
}

impl EndpointId {
    /// Its 16 bytes: the node, then the number, both little-endian.
    pub fn to_bytes(self) -> [u8; 16] {
        (u128::from(self.node.0) | u128::from(self.number) << 64).to_le_bytes()
    }

    /// The id of these bytes.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        let both = u128::from_le_bytes(bytes);
        Self { node: NodeId(both as u64), number: (both >> 64) as u64 }
    }
}

impl fmt::Display for EndpointId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{:016x}", self.node, self.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_are_the_node_and_the_number() {
        let id = EndpointId { node: NodeId(0x0102_0304_0506_0708), number: 0x1112_1314_1516_1718 };
        let bytes = [8, 7, 6, 5, 4, 3, 2, 1, 0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11];
        assert_eq!((id.to_bytes(), EndpointId::from_bytes(bytes)), (bytes, id));
        assert_eq!(id.to_string(), "0102030405060708-1112131415161718");
    }
}
