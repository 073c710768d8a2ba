//! Generates code for the schemas that the tests use: the kitchen of the vectors, the messages that ship with Situ, names and
//! sizes at the edge, and ROS 2's packages if they were fetched.

use std::path::Path;

use situ_schema::{BuildScript, Loader};

/// The packages of ROS 2 that are built, with all that they need.
const PACKAGES: [&str; 5] = ["std_msgs", "geometry_msgs", "sensor_msgs", "nav_msgs", "test_msgs"];

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let file = |path: &str| Loader::new().include(root.join("schema")).file(root.join(path));
    BuildScript::new(file("spec/vectors/kitchen.idl")).file_stem("kitchen").run();
    BuildScript::new(file("schema/situ/sensor.idl")).run();
    BuildScript::new(file("tests/generated/schema/edges.idl")).file_stem("edges").run();

    println!("cargo::rerun-if-env-changed=SITU_ROS_INTERFACES");
    let ros = std::env::var_os("SITU_ROS_INTERFACES").map_or_else(|| root.join("build/ros"), Into::into);
    println!("cargo::rerun-if-changed={}", ros.display());
    let mut loader = Loader::new().include(&ros);
    if ros.join("share/std_msgs/msg").is_dir() {
        for package in PACKAGES {
            loader = loader.ros_package(package);
        }
    } else {
        println!(
            "cargo::warning=no ROS interfaces in {}: run scripts/fetch-ros-interfaces.sh",
            ros.display()
        );
    }
    BuildScript::new(loader).file_stem("ros").run();
}
