//! Operations that raise exceptions, between languages: programs in C++ (`cpp/tests/bus/operation_peer.cpp`)
//! and in C (`operation_peer.c`) serve clients in Rust, and call servers in Rust. The program in C has no
//! messages with texts.
//!
//! CMake builds the programs in `build/cpp`; if one is missing, its tests print so.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use situ::bus::{Node, OperationError, Root, ServerOf};
use situ_generated::services::services::{
    Calculator_divide, Calculator_divide_Exception, Calculator_divide_In, Calculator_divide_Out,
    Calculator_parse, Calculator_parse_Exception, Calculator_parse_In, Calculator_parse_Out, DivisionByZero,
    Exhausted, Unreadable,
};
use situ_testkit::Scratch;

const TIMEOUT: Duration = Duration::from_secs(30);

/// A running program. It is killed on drop.
struct Peer(Child);

impl Peer {
    /// `None` if the program is not built.
    fn start(scratch: &Scratch, name: &str, words: &[&str]) -> Option<Self> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../build/cpp/tests/bus");
        let program: PathBuf = folder.join(name);
        if !program.is_file() {
            eprintln!(
                "SKIPPED: {} is not built (cmake -S cpp -B build/cpp && cmake --build build/cpp)",
                program.display()
            );
            return None;
        }
        let mut command = Command::new(program);
        command.arg(scratch.path()).args(words).stdout(Stdio::piped());
        Some(Self(command.spawn().unwrap()))
    }

    fn lines(&mut self) -> impl Iterator<Item = String> {
        BufReader::new(self.0.stdout.take().unwrap()).lines().map(Result::unwrap)
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn node(scratch: &Scratch) -> Node {
    Node::in_root("rust", Root::at(scratch.path(), None)).unwrap()
}

/// What the server of a division does.
fn divide(request: &Calculator_divide_In) -> Result<Calculator_divide_Out, Calculator_divide_Exception> {
    match (request.a, request.b) {
        (numerator, 0) => Err(DivisionByZero { numerator }.into()),
        (i64::MIN, _) => Err(Exhausted::default().into()),
        (a, b) => Ok(Calculator_divide_Out { return_: a / b, remainder: a % b }),
    }
}

/// Calls a server that divides: three times.
fn call_divider(node: &Node) {
    let client = node.client_of::<Calculator_divide>("divide").create().unwrap();
    let divide = |a, b| client.call_within(&Calculator_divide_In { a, b }, TIMEOUT).unwrap().outcome();
    let given = divide(17, 5).unwrap();
    assert_eq!((given.return_, given.remainder), (3, 2));
    let Err(OperationError::Raised(raised)) = divide(17, 0) else { panic!("nothing was raised") };
    assert_eq!(raised, DivisionByZero { numerator: 17 }.into());
    let Err(OperationError::Raised(raised)) = divide(i64::MIN, 1) else { panic!("nothing was raised") };
    assert_eq!(raised, Exhausted::default().into());
}

fn serve_divisions(server: &ServerOf<Calculator_divide>, mut count: usize) {
    while count > 0 {
        let answered = server.serve_outcome(Some(TIMEOUT), |request| divide(request)).unwrap();
        assert!(answered > 0, "no request came");
        count -= answered;
    }
}

#[test]
fn a_server_in_c_raises_exceptions() {
    let scratch = Scratch::new("operations");
    let Some(mut server) = Peer::start(&scratch, "operation_peer_c", &["serve", "3"]) else { return };
    assert_eq!(server.lines().next().unwrap(), "ready");
    call_divider(&node(&scratch));
    assert!(server.0.wait().unwrap().success());
}

#[test]
fn a_client_in_c_gets_exceptions() {
    let scratch = Scratch::new("operations");
    let server = node(&scratch).server_of::<Calculator_divide>("divide").create().unwrap();
    let Some(mut client) = Peer::start(&scratch, "operation_peer_c", &["call"]) else { return };
    serve_divisions(&server, 3);
    assert_eq!(client.lines().collect::<Vec<_>>(), ["3 and 2", "17 by zero", "exhausted"]);
    assert!(client.0.wait().unwrap().success());
}

#[test]
fn a_server_in_cpp_raises_exceptions() {
    let scratch = Scratch::new("operations");
    let node = node(&scratch);
    let Some(mut server) = Peer::start(&scratch, "operation_peer", &["serve", "3"]) else { return };
    assert_eq!(server.lines().next().unwrap(), "ready");
    call_divider(&node);
    let client = node.client_of::<Calculator_parse>("parse").create().unwrap();
    let parse = |text: &str| {
        client.call_within(&Calculator_parse_In { text: text.into() }, TIMEOUT).unwrap().outcome()
    };
    assert_eq!(parse("2.5").unwrap().return_, 2.5);
    let Err(OperationError::Raised(raised)) = parse("2,5") else { panic!("nothing was raised") };
    assert_eq!(raised, Unreadable { text: "2,5".into(), at: 1 }.into());
}

#[test]
fn a_client_in_cpp_gets_exceptions() {
    let scratch = Scratch::new("operations");
    let node = node(&scratch);
    let divider = node.server_of::<Calculator_divide>("divide").create().unwrap();
    let parser = node.server_of::<Calculator_parse>("parse").create().unwrap();
    let Some(mut client) = Peer::start(&scratch, "operation_peer", &["call"]) else { return };
    serve_divisions(&divider, 3);
    let parse = |request: &Calculator_parse_In| match request.text.parse() {
        Ok(return_) => Ok(Calculator_parse_Out { return_ }),
        Err(_) => {
            let raised = Unreadable { text: request.text.clone(), at: 1 };
            Err(Calculator_parse_Exception::Unreadable(raised))
        }
    };
    let mut left = 2;
    while left > 0 {
        let answered = parser.serve_outcome(Some(TIMEOUT), |request| parse(request)).unwrap();
        assert!(answered > 0, "no request came");
        left -= answered;
    }
    let lines: Vec<String> = client.lines().collect();
    assert_eq!(lines, ["3 and 2", "17 by zero", "exhausted", "2.5", "unreadable: 2,5 at 1"]);
}
