//! Generated service types on the bus: of a `.srv` file, and of the operations of an interface.

use std::time::Duration;

use situ::bus::{ClientOf, Node, OperationError, ReceiveReplyError, Refusal, Root, ServerOf};
use situ::layout::{Heap, Message, Outcome, Service, StorageKind};
use situ_generated::services::services::more::{Scientific_add, Scientific_divide, Scientific_root};
use situ_generated::services::services::srv::{AddTwoInts, AddTwoInts_Request, AddTwoInts_Response};
use situ_generated::services::services::{
    Calculator_add, Calculator_add_In, Calculator_add_Out, Calculator_clear, Calculator_clear_In,
    Calculator_divide, Calculator_divide_Exception, Calculator_divide_In, Calculator_divide_Out,
    Calculator_divide_Reply, Calculator_history, Calculator_history_In, Calculator_history_Out,
    Calculator_normalize, Calculator_normalize_Exception, Calculator_normalize_In, Calculator_normalize_Out,
    Calculator_parse, Calculator_parse_Exception, Calculator_parse_In, Calculator_parse_Out,
    Calculator_scale, Calculator_scale_Out, Calculator_swap, Calculator_swap_In, Calculator_swap_Out,
    DivisionByZero, Exhausted, Note, Unreadable,
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

/// The server's answer to a division, with the exceptions that it declares.
fn divide(request: &Calculator_divide_In) -> Result<Calculator_divide_Out, Calculator_divide_Exception> {
    match (request.a, request.b) {
        (numerator, 0) => Err(DivisionByZero { numerator }.into()),
        (i64::MIN, _) => Err(Exhausted::default().into()),
        (a, b) => Ok(Calculator_divide_Out { return_: a / b, remainder: a % b }),
    }
}

#[test]
fn an_operation_gives_its_result_or_raises_an_exception() {
    let scratch = Scratch::new("raises");
    let node = node(&scratch);
    // An inherited operation raises what its base declares.
    let server = node.server_of::<Scientific_divide>("divide").create().unwrap();
    let client = node.client_of::<Calculator_divide>("divide").create().unwrap();
    let call = |a, b| {
        let call = client.call_within(&Calculator_divide_In { a, b }, TIMEOUT).unwrap();
        assert_eq!(server.serve_outcome(Some(TIMEOUT), |request| divide(request)).unwrap(), 1);
        call.outcome()
    };
    let given = call(17, 5).unwrap();
    assert_eq!((given.return_, given.remainder), (3, 2));
    let raised = call(17, 0).unwrap_err();
    assert!(
        matches!(
            &raised,
            OperationError::Raised(Calculator_divide_Exception::DivisionByZero(it)) if it.numerator == 17
        ),
        "{raised}"
    );
    assert_eq!(raised.to_string(), "the operation raised DivisionByZero { numerator: 17 }");
    let raised = call(i64::MIN, 1).unwrap_err();
    assert!(matches!(raised, OperationError::Raised(Calculator_divide_Exception::Exhausted(_))), "{raised}");
    // A refusal is an error of the bus, as always.
    let call = client.call_within(&Calculator_divide_In { a: 1, b: 1 }, TIMEOUT).unwrap();
    let refusal = Refusal { code: 3, text: "not now".into() };
    server.serve(Some(TIMEOUT), |_| Err(refusal.clone())).unwrap();
    let refused = call.outcome().unwrap_err();
    assert!(matches!(&refused, OperationError::Call(ReceiveReplyError::Reply(_))), "{refused}");
    assert!(refused.to_string().ends_with("(3): not now"), "{refused}");
    // A broken server sends a reply without a case.
    let call = client.call_within(&Calculator_divide_In { a: 1, b: 1 }, TIMEOUT).unwrap();
    let mut neither = Calculator_divide_Reply::default();
    neither.reply.select(99);
    server.serve(Some(TIMEOUT), |_| Ok(neither)).unwrap();
    let broken = call.outcome().unwrap_err();
    assert!(matches!(&broken, OperationError::Neither { service, .. } if service == "divide"), "{broken}");
}

#[test]
fn exceptions_lie_on_the_heap_or_in_place_as_their_replies_do() {
    let scratch = Scratch::new("raises");
    let node = node(&scratch);
    let (client, server) = pair::<Calculator_parse>(&node, "parse");
    let parse = |request: &Calculator_parse_In| match request.text.as_str() {
        "" => Err(Exhausted::default().into()),
        text => match text.parse() {
            Ok(return_) => Ok(Calculator_parse_Out { return_ }),
            Err(_) => Err(Calculator_parse_Exception::Unreadable(Unreadable { text: text.into(), at: 1 })),
        },
    };
    let call = |text: &str| {
        let call = client.call_within(&Calculator_parse_In { text: text.into() }, TIMEOUT).unwrap();
        assert_eq!(server.serve_outcome(Some(TIMEOUT), |request| parse(request)).unwrap(), 1);
        call.outcome()
    };
    assert_eq!(call("2.5").unwrap().return_, 2.5);
    let Err(OperationError::Raised(Calculator_parse_Exception::Unreadable(it))) = call("2,5") else {
        panic!()
    };
    assert_eq!((it.text.as_str(), it.at), ("2,5", 1));
    let Err(OperationError::Raised(Calculator_parse_Exception::Exhausted(_))) = call("") else { panic!() };

    let (client, server) = pair::<Calculator_normalize>(&node, "normalize");
    let mut request = Calculator_normalize_In::default();
    (request.point.x, request.point.y) = (3.0, 4.0);
    let call = client.call_within(&request, TIMEOUT).unwrap();
    let taken = server.recv(Some(TIMEOUT)).unwrap().unwrap();
    let mut reply = server.loan(&taken).unwrap();
    let mut given = Calculator_normalize_Out::default();
    (given.return_.x, given.return_.y) = (0.6, 0.8);
    reply.reply.set_result(given);
    reply.send().unwrap();
    // The reply is read in place.
    let reply = call.wait().unwrap();
    assert_eq!(reply.reply.result().unwrap().return_.y, 0.8);
    assert_eq!(reply.outcome().unwrap().unwrap().return_.x, 0.6);
    let call = client.call_within(&Calculator_normalize_In::default(), TIMEOUT).unwrap();
    let raised = DivisionByZero { numerator: 0 };
    server.serve_outcome(Some(TIMEOUT), |_| Err(raised.into())).unwrap();
    let Err(OperationError::Raised(Calculator_normalize_Exception::DivisionByZero(_))) = call.outcome()
    else {
        panic!()
    };
}
