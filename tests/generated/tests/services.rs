//! Generated service types on the bus: of a `.srv` file, and of the operations of an interface.

use std::time::Duration;

use situ::bus::{ClientOf, Node, Refusal, Root, ServerOf};
use situ::layout::{Heap, Message, Service, StorageKind};
use situ_generated::services::services::more::{Scientific_add, Scientific_root};
use situ_generated::services::services::srv::{AddTwoInts, AddTwoInts_Request, AddTwoInts_Response};
use situ_generated::services::services::{
    Calculator_add, Calculator_add_In, Calculator_add_Out, Calculator_clear, Calculator_clear_In,
    Calculator_history, Calculator_history_In, Calculator_history_Out, Calculator_scale,
    Calculator_scale_Out, Calculator_swap, Calculator_swap_In, Calculator_swap_Out, Note,
};
use situ_testkit::Scratch;

const TIMEOUT: Duration = Duration::from_secs(30);

fn node(scratch: &Scratch) -> Node {
    Node::in_root("services", Root::at(scratch.path(), None)).unwrap()
}

/// A client and a server of one service, in this thread.
fn pair<S: Service>(node: &Node, name: &str) -> (ClientOf<S>, ServerOf<S>) {
    let server = node.server_of::<S>(name).create().unwrap();
    (node.client_of::<S>(name).create().unwrap(), server)
}

/// Calls, answers once, and returns the reply.
fn exchange<S: Service>(
    (client, server): &(ClientOf<S>, ServerOf<S>),
    request: &S::Request,
    answer: impl Fn(&S::Request) -> Result<S::Response, Refusal>,
) -> Result<situ::bus::Sample<S::Response>, String> {
    let call = client.call_within(request, TIMEOUT).unwrap();
    assert_eq!(server.serve(Some(TIMEOUT), |request| answer(request)).unwrap(), 1);
    call.wait().map_err(|error| error.to_string())
}

#[test]
fn a_service_of_a_srv_file_is_called() {
    let scratch = Scratch::new("srv");
    let node = node(&scratch);
    let pair = pair::<AddTwoInts>(&node, "add");
    let add = |request: &AddTwoInts_Request| Ok(AddTwoInts_Response { sum: request.a + request.b });
    let reply = exchange::<AddTwoInts>(&pair, &AddTwoInts_Request { a: 40, b: 2 }, add).unwrap();
    assert_eq!(reply.sum, 42);
    assert_eq!(AddTwoInts::NAME, "services::srv::AddTwoInts");
}

#[test]
fn each_operation_of_an_interface_is_a_service() {
    let scratch = Scratch::new("interface");
    let node = node(&scratch);
    let add = pair::<Calculator_add>(&node, "calculator/add");
    let answer = |request: &Calculator_add_In| match request.a.checked_add(request.b) {
        Some(return_) => Ok(Calculator_add_Out { return_ }),
        None => Err(Refusal { code: 7, text: "the sum is too large".into() }),
    };
    let reply = exchange::<Calculator_add>(&add, &Calculator_add_In { a: 1, b: 2 }, answer).unwrap();
    assert_eq!(reply.return_, 3);
    let refused = exchange::<Calculator_add>(&add, &Calculator_add_In { a: i64::MAX, b: 1 }, answer);
    assert!(refused.unwrap_err().ends_with("(7): the sum is too large"));

    let scale = pair::<Calculator_scale>(&node, "calculator/scale");
    let mut request = scale.0.loan().unwrap();
    (request.point.x, request.point.y, request.factor) = (3.0, 4.0, 2.0);
    let call = request.send_within(TIMEOUT).unwrap();
    let taken = scale.1.recv(Some(TIMEOUT)).unwrap().unwrap();
    let mut reply = scale.1.loan(&taken).unwrap();
    (reply.return_.x, reply.return_.y) = (taken.point.x * taken.factor, taken.point.y * taken.factor);
    reply.length = 10.0;
    reply.send().unwrap();
    let reply = call.wait().unwrap();
    assert_eq!((reply.return_.x, reply.return_.y, reply.length), (6.0, 8.0, 10.0));

    let swap = pair::<Calculator_swap>(&node, "calculator/swap");
    let request = Calculator_swap_In { first: "a".into(), second: "b".into() };
    let answer = |request: &Calculator_swap_In| {
        Ok(Calculator_swap_Out { first: request.second.clone(), second: request.first.clone() })
    };
    let reply = exchange::<Calculator_swap>(&swap, &request, answer).unwrap();
    assert_eq!((reply.first.as_str(), reply.second.as_str()), ("b", "a"));

    let history = pair::<Calculator_history>(&node, "calculator/history");
    let answer = |_: &_| Ok(Calculator_history_Out { return_: vec![Note { text: "1 + 2".into() }] });
    let reply = exchange::<Calculator_history>(&history, &Calculator_history_In::default(), answer).unwrap();
    assert_eq!(reply.return_[0].text, "1 + 2");

    // Neither struct has a member of its own.
    let clear = pair::<Calculator_clear>(&node, "calculator/clear");
    exchange::<Calculator_clear>(&clear, &Calculator_clear_In::default(), |_| Ok(Default::default()))
        .unwrap();
}

#[test]
fn names_and_storage_are_those_of_the_declaration() {
    assert_eq!(Calculator_add::NAME, "services::Calculator_add");
    assert_eq!(<Calculator_add as Service>::Request::NAME, "services::Calculator_add_In");
    assert_eq!(<Calculator_add as Service>::Response::NAME, "services::Calculator_add_Out");
    assert_eq!(<Calculator_add as Service>::Request::STORAGE, StorageKind::Flat);
    assert_eq!(Calculator_scale_Out::STORAGE, StorageKind::Flat);
    assert_eq!(Calculator_swap_In::<Heap>::STORAGE, StorageKind::Heap);
}

/// A client of the base calls a server of the derived interface: an inherited operation has the same structs.
#[test]
fn an_inherited_operation_is_that_of_the_base() {
    let scratch = Scratch::new("inherited");
    let node = node(&scratch);
    let server = node.server_of::<Scientific_add>("add").create().unwrap();
    let client = node.client_of::<Calculator_add>("add").create().unwrap();
    let call = client.call_within(&Calculator_add_In { a: 40, b: 2 }, TIMEOUT).unwrap();
    let add = |request: &situ::bus::Request<Calculator_add_In>| {
        Ok(Calculator_add_Out { return_: request.a + request.b })
    };
    assert_eq!(server.serve(Some(TIMEOUT), add).unwrap(), 1);
    assert_eq!(call.wait().unwrap().return_, 42);
    assert_eq!(Scientific_add::NAME, "services::more::Scientific_add");
    assert_eq!(Scientific_root::NAME, "services::more::Scientific_root");
}
