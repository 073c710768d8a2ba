//! A service whose requests and replies are numbers, for tests of services.

use std::time::Duration;

use situ_bus::{
    AnswerError, CallError, Node, RawClient, RawReply, RawRequest, RawServer, RequestId, ServiceDescription,
    ServiceOptions, TypeDescription,
};

use super::numbers;

/// The name of the service.
pub const SERVICE: &str = "add";
/// Long enough for a busy machine.
pub const LONG: Duration = Duration::from_secs(20);

/// A service with messages of these sizes.
pub fn sized(request: u32, reply: u32) -> ServiceDescription {
    let one = |name: &str, fixed_size| TypeDescription { name: name.to_owned(), fixed_size, ..numbers() };
    ServiceDescription { request: one("test::Request", request), reply: one("test::Reply", reply) }
}

/// A client with options.
pub fn client_with(node: &Node, options: &ServiceOptions) -> RawClient {
    RawClient::create(node, SERVICE, &sized(8, 8), options).unwrap()
}

/// A server with options.
pub fn server_with(node: &Node, options: &ServiceOptions) -> RawServer {
    RawServer::create(node, SERVICE, &sized(8, 8), options).unwrap()
}

/// A client.
pub fn client(node: &Node) -> RawClient {
    client_with(node, &ServiceOptions::default())
}

/// A server.
pub fn server(node: &Node) -> RawServer {
    server_with(node, &ServiceOptions::default())
}

/// Sends a request with a number, within a limit.
pub fn try_call(client: &RawClient, value: u64, limit: Option<Duration>) -> Result<u64, CallError> {
    let mut loan = client.loan(8, 8, 0)?;
    loan.head_bytes().copy_from_slice(&value.to_le_bytes());
    loan.send(limit)
}

/// Sends a request with a number.
pub fn call(client: &RawClient, value: u64) -> u64 {
    try_call(client, value, None).unwrap()
}

/// The number in the bytes of a message.
pub fn number(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes.try_into().unwrap())
}

/// The number in a request.
pub fn value_of(request: &RawRequest) -> u64 {
    number(request.sample().head_in_place())
}

/// The number in a reply.
pub fn value(reply: &RawReply) -> u64 {
    number(reply.sample().head_in_place())
}

/// Sends a reply with a number.
pub fn try_answer(server: &RawServer, request: &RequestId, value: u64) -> Result<(), AnswerError> {
    let mut loan = server.loan(request, 8, 8, 0)?;
    loan.head_bytes().copy_from_slice(&value.to_le_bytes());
    loan.send()
}

/// Sends a part of a reply with a number.
pub fn part(server: &RawServer, request: &RequestId, value: u64) -> Result<(), AnswerError> {
    let mut loan = server.loan(request, 8, 8, 0)?;
    loan.head_bytes().copy_from_slice(&value.to_le_bytes());
    loan.send_part()
}

/// The next request, which is there or comes soon.
pub fn take(server: &RawServer) -> RawRequest {
    assert!(server.wait(Some(LONG)), "a request was sent");
    server.take().unwrap().expect("a request was sent")
}

/// The reply to a call, which is there or comes soon.
pub fn reply_to(client: &RawClient, call: u64) -> u64 {
    let reply = client.receive_of(call, Some(LONG)).unwrap().expect("it was answered");
    assert_eq!(reply.call(), call);
    value(&reply)
}
