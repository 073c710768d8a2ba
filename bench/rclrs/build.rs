//! Links ROS's C libraries, and stand-ins for libraries that the installation lacks (see `build.sh`).

fn main() {
    println!("cargo::rerun-if-env-changed=AMENT_PREFIX_PATH");
    println!("cargo::rerun-if-env-changed=SITU_STAND_INS");
    for package in ["builtin_interfaces", "std_msgs"] {
        println!("cargo::rustc-link-lib=dylib={package}__rosidl_generator_c");
        println!("cargo::rustc-link-lib=dylib={package}__rosidl_typesupport_c");
    }
    if let Ok(prefix) = std::env::var("AMENT_PREFIX_PATH") {
        println!("cargo::rustc-link-search=native={prefix}/lib");
        println!("cargo::rustc-link-arg-bins=-Wl,--disable-new-dtags,-rpath,{prefix}/lib");
    }
    if let Ok(folder) = std::env::var("SITU_STAND_INS") {
        println!("cargo::rustc-link-search=native={folder}");
        println!("cargo::rustc-link-arg-bins=-Wl,--no-as-needed,{folder}/libno_python.so,--as-needed");
        // For the libraries that these libraries load.
        println!("cargo::rustc-link-arg-bins=-Wl,-rpath,{folder}");
    }
}
