//! Generates the types of messages.idl.

use situ_schema::{BuildScript, Loader};

fn main() {
    BuildScript::new(Loader::new().file("messages.idl")).run();
}
