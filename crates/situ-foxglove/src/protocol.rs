//! The messages of the protocol between Foxglove and a server: JSON, and for the content of topics binary.
//!
//! It is published as `foxglove.websocket.v1`. `foxglove.sdk.v1` has the same messages under another name.

use serde::{Deserialize, Serialize};

/// The names of the protocol that the server speaks.
pub const SUBPROTOCOLS: [&str; 2] = ["foxglove.sdk.v1", "foxglove.websocket.v1"];
/// The first byte of a message with the content of a topic, in both directions.
const MESSAGE_DATA: u8 = 1;
/// The bytes before the content: that byte, the number of the subscription, the time.
pub const HEADER: usize = 13;

/// What a client says.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(tag = "op", rename_all = "camelCase")]
pub enum ClientMessage {
    /// It looks at channels.
    Subscribe {
        /// The channels.
        subscriptions: Vec<SubscriptionRequest>,
    },
    /// It looks no longer.
    #[serde(rename_all = "camelCase")]
    Unsubscribe {
        /// Numbers that it chose for its subscriptions.
        subscription_ids: Vec<u32>,
    },
    /// It will publish.
    Advertise {
        /// On these topics.
        channels: Vec<ClientChannel>,
    },
    /// It will no longer publish.
    #[serde(rename_all = "camelCase")]
    Unadvertise {
        /// Numbers that it chose for its channels.
        channel_ids: Vec<u32>,
    },
    /// It asks for something that the server did not offer.
    #[serde(other)]
    Other,
}

/// A channel that a client wants to see.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SubscriptionRequest {
    /// The number that the client chose.
    pub id: u32,
    /// The channel.
    pub channel_id: u32,
}

/// A topic on which a client will publish.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClientChannel {
    /// The number that the client chose.
    pub id: u32,
    /// The topic.
    pub topic: String,
    /// How messages are encoded.
    pub encoding: String,
    /// Their type.
    pub schema_name: String,
    /// Its definition.
    #[serde(default)]
    pub schema: Option<String>,
    /// The language of the definition.
    #[serde(default)]
    pub schema_encoding: Option<String>,
}

/// What the server says.
#[derive(Debug, Serialize)]
#[serde(tag = "op", rename_all = "camelCase")]
pub enum ServerMessage<'a> {
    /// The first message.
    #[serde(rename_all = "camelCase")]
    ServerInfo {
        /// Its name.
        name: &'a str,
        /// What it can do.
        capabilities: &'a [&'a str],
        /// The encodings in which clients may publish.
        #[serde(skip_serializing_if = "<[_]>::is_empty")]
        supported_encodings: &'a [&'a str],
        /// Another one after a restart of the server.
        session_id: &'a str,
    },
    /// Something for a person to read.
    Status {
        /// How important it is.
        level: Level,
        /// The text.
        message: &'a str,
    },
    /// Channels that are new.
    Advertise {
        /// The channels.
        channels: Vec<ServerChannel<'a>>,
    },
    /// Channels that are gone.
    #[serde(rename_all = "camelCase")]
    Unadvertise {
        /// Their numbers.
        channel_ids: Vec<u32>,
    },
}

/// The importance of a status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Something is missing.
    Warning = 1,
    /// Something was refused.
    Error = 2,
}

impl Serialize for Level {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u8(*self as u8)
    }
}

/// A topic, as the server offers it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerChannel<'a> {
    /// Its number.
    pub id: u32,
    /// The topic.
    pub topic: &'a str,
    /// How messages are encoded.
    pub encoding: &'a str,
    /// Their type.
    pub schema_name: &'a str,
    /// The definition of the type.
    pub schema: &'a str,
    /// The language of the definition.
    pub schema_encoding: &'a str,
}

impl ServerMessage<'_> {
    /// As text.
    pub fn to_text(&self) -> String {
        // Only maps with other keys than text, and types that fail on purpose, cannot be written.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// Writes what is before the content of a message.
pub fn put_header(into: &mut Vec<u8>, subscription: u32, time: u64) {
    into.push(MESSAGE_DATA);
    into.extend_from_slice(&subscription.to_le_bytes());
    into.extend_from_slice(&time.to_le_bytes());
}

/// The channel and the content of a client's message; `None` if it is something else.
pub fn client_data(bytes: &[u8]) -> Option<(u32, &[u8])> {
    match bytes {
        [MESSAGE_DATA, a, b, c, d, content @ ..] => Some((u32::from_le_bytes([*a, *b, *c, *d]), content)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_are_understood() {
        let parse = |text: &str| serde_json::from_str::<ClientMessage>(text);
        let subscribe =
            parse(r#"{"op": "subscribe", "subscriptions": [{"id": 0, "channelId": 3}]}"#).unwrap();
        let subscriptions = vec![SubscriptionRequest { id: 0, channel_id: 3 }];
        assert_eq!(subscribe, ClientMessage::Subscribe { subscriptions });
        let unsubscribe = parse(r#"{"op": "unsubscribe", "subscriptionIds": [0, 1]}"#).unwrap();
        assert_eq!(unsubscribe, ClientMessage::Unsubscribe { subscription_ids: vec![0, 1] });
        let text = r#"{"op": "advertise", "channels": [{"id": 1, "topic": "/a", "encoding": "cdr",
            "schemaName": "b/msg/C", "more": {}}]}"#;
        let ClientMessage::Advertise { channels } = parse(text).unwrap() else { panic!("{text}") };
        assert_eq!((channels[0].id, channels[0].schema_name.as_str()), (1, "b/msg/C"));
        assert_eq!(parse(r#"{"op": "getParameters", "parameterNames": []}"#).unwrap(), ClientMessage::Other);
        for bad in [
            "",
            "{}",
            "[]",
            r#"{"op": 1}"#,
            r#"{"op": "subscribe"}"#,
            r#"{"op": "unsubscribe", "subscriptionIds": [-1]}"#,
        ] {
            assert!(parse(bad).is_err(), "{bad}");
        }
        // As deep as a hostile client likes: an error, and no overflow of the stack.
        assert!(parse(&format!("{}{}", r#"{"op": "x", "a": "#, "[".repeat(1 << 20))).is_err());
    }

    #[test]
    fn the_server_speaks_as_the_protocol_says() {
        let info = ServerMessage::ServerInfo {
            name: "situ",
            capabilities: &["clientPublish"],
            supported_encodings: &["cdr"],
            session_id: "7",
        };
        let expected = r#"{"op":"serverInfo","name":"situ","capabilities":["clientPublish"],"supportedEncodings":["cdr"],"sessionId":"7"}"#;
        assert_eq!(info.to_text(), expected);
        let status = ServerMessage::Status { level: Level::Warning, message: "\"" };
        assert_eq!(status.to_text(), r#"{"op":"status","level":1,"message":"\""}"#);
        assert_eq!(
            ServerMessage::Unadvertise { channel_ids: vec![2] }.to_text(),
            r#"{"op":"unadvertise","channelIds":[2]}"#
        );
        let mut bytes = Vec::new();
        put_header(&mut bytes, 0x0201, 0x0403);
        assert_eq!(bytes, [1, 1, 2, 0, 0, 3, 4, 0, 0, 0, 0, 0, 0]);
        assert_eq!(bytes.len(), HEADER);
    }

    #[test]
    fn the_content_of_clients_is_found() {
        assert_eq!(client_data(&[1, 7, 0, 0, 1, 9, 8]), Some((0x0100_0007, &[9, 8][..])));
        assert_eq!(client_data(&[1, 7, 0, 0, 0]), Some((7, &[][..])));
        assert_eq!(client_data(&[1, 7, 0, 0]), None);
        assert_eq!(client_data(&[2, 7, 0, 0, 0, 0]), None);
        assert_eq!(client_data(&[]), None);
    }
}
