//! Generates Situ's messages, and links ROS's C libraries where they are.

use situ_schema::{BuildScript, Loader};

fn main() {
    BuildScript::new(Loader::new().file("schema/messages.idl")).run();
    println!("cargo::rerun-if-env-changed=AMENT_PREFIX_PATH");
    if cfg!(feature = "ros")
        && let Some(prefix) = std::env::var_os("AMENT_PREFIX_PATH")
    {
        let folder = std::path::Path::new(&prefix).join("lib");
        println!("cargo::rustc-link-search=native={}", folder.display());
        for package in ["builtin_interfaces", "std_msgs", "geometry_msgs", "sensor_msgs"] {
            println!("cargo::rustc-link-lib=dylib={package}__rosidl_generator_c");
            println!("cargo::rustc-link-lib=dylib={package}__rosidl_typesupport_c");
        }
        // For the libraries that these libraries need.
        println!("cargo::rustc-link-arg=-Wl,--disable-new-dtags,-rpath,{}", folder.display());
    }
}
