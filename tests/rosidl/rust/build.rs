//! Links stand-ins for libraries that the ROS installation of the tests lacks (see `scripts/rclrs.sh`).

fn main() {
    println!("cargo::rerun-if-env-changed=SITU_STAND_INS");
    if let Ok(folder) = std::env::var("SITU_STAND_INS") {
        println!("cargo::rustc-link-search=native={folder}");
        println!("cargo::rustc-link-arg-bins=-Wl,--no-as-needed,{folder}/libno_python.so,--as-needed");
    }
}
