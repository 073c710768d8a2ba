//! The messages of the protocol between Foxglove and a server: JSON, and for the content of topics binary.
//!
//! It is published as `foxglove.websocket.v1`. `foxglove.sdk.v1` has the same messages under another name.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

/// The names of the protocol that the server speaks.
pub const SUBPROTOCOLS: [&str; 2] = ["foxglove.sdk.v1", "foxglove.websocket.v1"];
/// The first byte of a message with the content of a topic, in both directions.
const MESSAGE_DATA: u8 = 1;
/// The first byte of a client's call of a service.
const SERVICE_CALL: u8 = 2;
/// The first byte of the reply to such a call.
const SERVICE_RESPONSE: u8 = 3;
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
    /// It asks for parameters.
    #[serde(rename_all = "camelCase")]
    GetParameters {
        /// Their names; if there are none, all.
        parameter_names: Vec<String>,
        /// What the answer repeats.
        #[serde(default)]
        id: Option<String>,
    },
    /// It sets parameters.
    SetParameters {
        /// The parameters.
        parameters: Vec<Parameter>,
        /// What the answer repeats. Without it there is none.
        #[serde(default)]
        id: Option<String>,
    },
    /// It wants to hear of changes of parameters.
    #[serde(rename_all = "camelCase")]
    SubscribeParameterUpdates {
        /// Their names; if there are none, all.
        parameter_names: Vec<String>,
    },
    /// It wants to hear no longer of them.
    #[serde(rename_all = "camelCase")]
    UnsubscribeParameterUpdates {
        /// Their names; if there are none, all.
        parameter_names: Vec<String>,
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

/// A parameter of a node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Parameter {
    /// Its name, with that of its node: `/camera.exposure`.
    pub name: String,
    /// Its value. Without one, it is not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Json>,
    /// What the value does not say: `byte_array`, `float64`, `float64_array`.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
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
    /// Services that are new.
    AdvertiseServices {
        /// The services.
        services: Vec<ServerService<'a>>,
    },
    /// Services that are gone.
    #[serde(rename_all = "camelCase")]
    UnadvertiseServices {
        /// Their numbers.
        service_ids: Vec<u32>,
    },
    /// A call that has no reply.
    #[serde(rename_all = "camelCase")]
    ServiceCallFailure {
        /// The service.
        service_id: u32,
        /// The number that the client chose for the call.
        call_id: u32,
        /// Why.
        message: &'a str,
    },
    /// Parameters that the client has asked for, or that have changed.
    ParameterValues {
        /// The parameters.
        parameters: &'a [Parameter],
        /// What the client gave with its question.
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'a str>,
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

/// A service, as the server offers it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerService<'a> {
    /// Its number.
    pub id: u32,
    /// Its name.
    pub name: &'a str,
    /// Its type.
    #[serde(rename = "type")]
    pub type_name: &'a str,
    /// The type of its requests.
    pub request: ServiceSchema<'a>,
    /// The type of its replies.
    pub response: ServiceSchema<'a>,
    /// The definition of requests once more, for clients that know no other place.
    pub request_schema: &'a str,
    /// The same of replies.
    pub response_schema: &'a str,
}

/// The type of the requests or replies of a service.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceSchema<'a> {
    /// How they are encoded.
    pub encoding: &'a str,
    /// Their type.
    pub schema_name: &'a str,
    /// The language of the definition.
    pub schema_encoding: &'a str,
    /// The definition.
    pub schema: &'a str,
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

/// A client's call of a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServiceCall<'a> {
    /// The service.
    pub service: u32,
    /// The number that the client chose.
    pub call: u32,
    /// How the request is encoded.
    pub encoding: &'a str,
    /// The request.
    pub content: &'a [u8],
}

/// A client's call; `None` if the message is something else.
pub fn client_call(bytes: &[u8]) -> Option<ServiceCall<'_>> {
    let rest = bytes.strip_prefix(&[SERVICE_CALL])?;
    let (service, rest) = rest.split_first_chunk()?;
    let (call, rest) = rest.split_first_chunk()?;
    let (length, rest) = rest.split_first_chunk()?;
    let (encoding, content) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    let (service, call) = (u32::from_le_bytes(*service), u32::from_le_bytes(*call));
    Some(ServiceCall { service, call, encoding: std::str::from_utf8(encoding).ok()?, content })
}

/// Writes the reply to a call.
pub fn response(service: u32, call: u32, encoding: &str, content: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER + encoding.len() + content.len());
    bytes.push(SERVICE_RESPONSE);
    for number in [service, call, encoding.len() as u32] {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    bytes.extend_from_slice(encoding.as_bytes());
    bytes.extend_from_slice(content);
    bytes
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
        assert_eq!(
            parse(r#"{"op": "fetchAsset", "uri": "a", "requestId": 1}"#).unwrap(),
            ClientMessage::Other
        );
        let get = parse(r#"{"op": "getParameters", "parameterNames": ["/a.b"], "id": "7"}"#).unwrap();
        let parameter_names = vec!["/a.b".to_owned()];
        assert_eq!(get, ClientMessage::GetParameters { parameter_names, id: Some("7".into()) });
        let set = parse(
            r#"{"op": "setParameters", "parameters": [{"name": "/a.b", "value": 1, "type": "float64"}]}"#,
        );
        let value = Parameter { name: "/a.b".into(), value: Some(1.into()), kind: Some("float64".into()) };
        assert_eq!(set.unwrap(), ClientMessage::SetParameters { parameters: vec![value], id: None });
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
        let failure = ServerMessage::ServiceCallFailure { service_id: 1, call_id: 2, message: "no" };
        let expected = r#"{"op":"serviceCallFailure","serviceId":1,"callId":2,"message":"no"}"#;
        assert_eq!(failure.to_text(), expected);
        let parameters = [Parameter { name: "/a.b".into(), value: None, kind: None }];
        let values = ServerMessage::ParameterValues { parameters: &parameters, id: Some("7") };
        let expected = r#"{"op":"parameterValues","parameters":[{"name":"/a.b"}],"id":"7"}"#;
        assert_eq!(values.to_text(), expected);
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

    #[test]
    fn calls_and_replies_have_the_bytes_of_the_protocol() {
        let bytes = [2, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, b'c', b'd', b'r', 9, 8];
        let call = ServiceCall { service: 1, call: 2, encoding: "cdr", content: &[9, 8] };
        assert_eq!(client_call(&bytes), Some(call));
        assert_eq!(client_call(&bytes[..16]), Some(ServiceCall { content: &[], ..call }));
        for end in 0..16 {
            assert_eq!(client_call(&bytes[..end]), None, "{end}");
        }
        for (at, byte) in [(0, 1), (9, 255), (12, 255), (13, 255)] {
            let mut other = bytes;
            other[at] = byte;
            assert_eq!(client_call(&other), None, "{at}");
        }
        let mut reply = bytes;
        reply[0] = 3;
        assert_eq!(response(1, 2, "cdr", &[9, 8]), reply);
    }
}
