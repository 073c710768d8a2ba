//! `situ foxglove`: where it listens, what it says of clients, and its end.

#[allow(dead_code, reason = "not every test file needs everything")]
mod common;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use common::Sandbox;
use serde_json::Value;

/// Asks for a connection. Returns the first line of the answer, and the connection.
fn ask(address: &str, more: &str) -> (String, TcpStream) {
    let mut stream = TcpStream::connect(address).unwrap();
    let request = format!(
        "GET / HTTP/1.1\r\nHost: {address}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n{more}\r\n"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let (mut answer, mut byte) = (Vec::new(), [0]);
    while !answer.ends_with(b"\r\n") && stream.read(&mut byte).unwrap() > 0 {
        answer.push(byte[0]);
    }
    (String::from_utf8(answer).unwrap().trim_end().to_owned(), stream)
}

#[test]
fn it_says_where_it_listens_and_who_is_there_and_ends_in_order() {
    let sandbox = Sandbox::new();
    let mut server = sandbox.spawn(&["--json", "foxglove", "--port", "0"]);
    let mut lines = BufReader::new(server.take_stdout()).lines();
    let mut next = || serde_json::from_str::<Value>(&lines.next().unwrap().unwrap()).unwrap();
    let first = next();
    let address = first["address"].as_str().unwrap().to_owned();
    assert!(address.starts_with("127.0.0.1:"), "{first}");
    assert_eq!((&first["channels"], &first["clients"]), (&0.into(), &Value::Array(Vec::new())));
    let protocol = "Sec-WebSocket-Protocol: foxglove.sdk.v1\r\n";
    let (answer, client) = ask(&address, protocol);
    assert_eq!(answer, "HTTP/1.1 101 Switching Protocols");
    let own = client.local_addr().unwrap().to_string();
    let mut said = next();
    while said["clients"].as_array().unwrap().is_empty() {
        said = next();
    }
    assert_eq!(said["clients"][0]["address"], own);
    // A page of another host is refused, unless it is allowed.
    let evil = format!("{protocol}Origin: https://evil.example\r\n");
    assert_eq!(ask(&address, &evil).0, "HTTP/1.1 403 Forbidden");
    // The port is in use.
    let port = address.rsplit_once(':').unwrap().1;
    let other = sandbox.run(&["foxglove", "--port", port]);
    let text = String::from_utf8(other.stderr).unwrap();
    assert!(text.contains("cannot listen on") && text.contains("--port 0"), "{text}");
    assert!(server.interrupt().status.success());
    assert!(sandbox.files().is_empty(), "{:?}", sandbox.files());
}
