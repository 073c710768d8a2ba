//! Generates the message types that the demo sends.

use situ_schema::{BuildScript, Loader};

fn main() {
    BuildScript::new(Loader::new().include("../../schema").file("../../schema/situ/sensor.idl")).run();
}
