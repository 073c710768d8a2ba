//! An endpoint's place in the graph: its record in the file of its node.

use std::sync::Arc;

use situ_memory::{DomainId, MemoryError};

use super::endpoint_info::{EndpointInfo, EndpointQos, EndpointRole};
use super::record::encode;
use crate::node::endpoint::EndpointId;
use crate::node::handle::NodeInner;
use crate::node::node_file::MAX_USER_DATA;
use crate::topic::{RegisterError, TypeDescription};

/// An endpoint that the graph lists until this is dropped.
///
/// An endpoint joins its topic first and is listed then, and leaves in the same order. If its process dies in
/// between, its node is dead, with all that its file says.
#[derive(Debug)]
pub(crate) struct Listed {
    node: Arc<NodeInner>,
    slot: usize,
}

impl Drop for Listed {
    fn drop(&mut self) {
        self.node.life.clear_record(self.slot);
    }
}

/// Checks the user data of an endpoint, before it joins.
pub(crate) fn check_user_data(topic: &str, user_data: &[u8]) -> Result<(), RegisterError> {
    let bytes = user_data.len();
    if bytes <= MAX_USER_DATA {
        return Ok(());
    }
    Err(RegisterError::UserDataTooLong { topic: topic.to_owned(), bytes })
}

impl EndpointInfo {
    /// Describes an endpoint of this process.
    pub(crate) fn new(
        (id, role): (EndpointId, EndpointRole),
        name: &str,
        description: &TypeDescription,
        domain: DomainId,
        qos: EndpointQos,
        user_data: &[u8],
    ) -> Self {
        Self {
            id,
            role,
            name: name.to_owned(),
            type_name: description.name.clone(),
            schema_hash: description.schema_hash,
            layout_hash: description.layout_hash,
            encoding: description.encoding,
            domain,
            qos,
            user_data: user_data.to_owned(),
        }
    }
}

impl NodeInner {
    /// Lists an endpoint that has joined.
    pub(crate) fn list(self: &Arc<Self>, endpoint: &EndpointInfo) -> Result<Listed, RegisterError> {
        match self.life.add_record(&encode(endpoint)) {
            Ok(Some(slot)) => Ok(Listed { node: self.clone(), slot }),
            Ok(None) => Err(RegisterError::NodeFull { topic: endpoint.name.clone() }),
            Err(source) => {
                let path = self.life.path().to_owned();
                Err(MemoryError::System { action: "write the endpoint to", path, source }.into())
            }
        }
    }
}
