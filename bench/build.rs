//! Generates the messages that the benchmark sends through Situ.

use situ_schema::{BuildScript, Loader};

fn main() {
    BuildScript::new(Loader::new().file("messages.idl")).run();
}
