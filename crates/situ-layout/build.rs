//! Selects the layout of ROS 2's C sequences for the release that `ROS_DISTRO` names. Sourcing a ROS
//! installation sets that variable.

/// Releases of ROS 1, which Situ does not support.
const ROS_1: [&str; 3] = ["lunar", "melodic", "noetic"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=ROS_DISTRO");
    println!("cargo::rustc-check-cfg=cfg(situ_ros_buffers)");
    // Release names are in alphabetical order. From Lyrical on, sequences end with two flags.
    let release = std::env::var("ROS_DISTRO").unwrap_or_default();
    if release.starts_with(|first: char| first >= 'l') && !ROS_1.contains(&release.as_str()) {
        println!("cargo::rustc-cfg=situ_ros_buffers");
    }
}
