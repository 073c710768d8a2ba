//! Generates the message types of the examples.

use situ_schema::{BuildScript, Loader};

fn main() {
    BuildScript::new(Loader::new().file("messages.idl").file("../schema/situ/sensor.idl")).run();
}
