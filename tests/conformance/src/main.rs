//! Answers the conformance runner of protobuf: reads a message with the reader that Situ generated, and
//! writes it with the writer. A request and a response are each four bytes of length, little endian, and a
//! message (conformance.proto).

use std::io::{self, Read, Write};

use situ::wire::protobuf::{Fields, Growing, Message, ReadError, Value, Writer};

#[allow(dead_code, unused_imports, clippy::all)]
mod messages {
    //! Readers and writers of the test messages.
    include!(concat!(env!("SITU_GENERATED"), "/messages.rs"));
}

include!(concat!(env!("SITU_GENERATED"), "/copy.rs"));

/// The values that proto3 does not write without presence. -0.0 is another number.
trait IsZero {
    fn is_zero(&self) -> bool;
}

macro_rules! is_zero {
    ($($type:ty: $it:ident => $zero:expr;)*) => {$(
        impl IsZero for $type {
            fn is_zero(&self) -> bool {
                let $it = self;
                $zero
            }
        }
    )*};
}

is_zero! {
    i32: it => *it == 0;
    i64: it => *it == 0;
    u32: it => *it == 0;
    u64: it => *it == 0;
    bool: it => !it;
    f32: it => it.to_bits() == 0;
    f64: it => it.to_bits() == 0;
    &str: it => it.is_empty();
    &[u8]: it => it.is_empty();
}

/// Of conformance.proto: the payloads of a `ConformanceRequest`.
const PROTOBUF: u64 = 1;
/// Of conformance.proto: the members of `ConformanceResponse`.
const PARSE_ERROR: u32 = 1;
const RUNTIME_ERROR: u32 = 2;
const PAYLOAD: u32 = 3;
const SKIPPED: u32 = 5;
const SERIALIZE_ERROR: u32 = 6;

fn respond(request: &[u8], response: &mut Message<'_>) {
    let (mut payload, mut wanted, mut name) = (None, 0, "");
    for field in Fields::new(request).filter_map(Result::ok) {
        match (field.number, field.value) {
            (1, Value::Bytes(bytes)) => payload = Some(bytes),
            (3, Value::Varint(format)) => wanted = format,
            (4, Value::Bytes(bytes)) => name = std::str::from_utf8(bytes).unwrap_or_default(),
            _ => {}
        }
    }
    // The runner first asks for the tests that are known to fail: none.
    if name == "conformance.FailureSet" {
        return response.bytes(PAYLOAD, &[]);
    }
    // A request without such a payload is JSON or text.
    let (Some(payload), PROTOBUF) = (payload, wanted) else {
        return response.string(SKIPPED, "binary only");
    };
    let mut buffer = Growing::default();
    let mut writer = Writer::new(&mut buffer);
    match copy(name, payload, writer.message()) {
        None => return response.string(RUNTIME_ERROR, "an unknown message"),
        Some(Err(error)) => return response.string(PARSE_ERROR, &error.to_string()),
        Some(Ok(())) => {}
    }
    match writer.finish() {
        Ok(_) => response.bytes(PAYLOAD, buffer.written()),
        Err(error) => response.string(SERIALIZE_ERROR, &error.to_string()),
    }
}

fn main() -> io::Result<()> {
    let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
    let mut length = [0; 4];
    while input.read_exact(&mut length).is_ok() {
        let mut request = vec![0; u32::from_le_bytes(length) as usize];
        input.read_exact(&mut request)?;
        let mut buffer = Growing::default();
        let mut writer = Writer::new(&mut buffer);
        respond(&request, &mut writer.message());
        writer.finish().map_err(io::Error::other)?;
        output.write_all(&(buffer.written().len() as u32).to_le_bytes())?;
        output.write_all(buffer.written())?;
        output.flush()?;
    }
    Ok(())
}
