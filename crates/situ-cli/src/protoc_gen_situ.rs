//! The plugin for protoc: `protoc --situ_out=lang=cpp:<folder> x.proto` with this program on the PATH.

use std::io::{Read, Write};
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut request = Vec::new();
    let answered = std::io::stdin().read_to_end(&mut request).and_then(|_| {
        let response = situ_schema::proto::answer_protoc(&request);
        std::io::stdout().write_all(&response)
    });
    match answered {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("protoc-gen-situ: {error}");
            ExitCode::FAILURE
        }
    }
}
