//! Lists the messages of the packages in the folder of the ROS installation, and links stand-ins for
//! libraries that it lacks (see `scripts/rclrs.sh`).

use std::fmt::Write;
use std::path::{Path, PathBuf};

fn main() {
    println!("cargo::rerun-if-env-changed=AMENT_PREFIX_PATH");
    println!("cargo::rerun-if-env-changed=SITU_STAND_INS");
    if let Ok(folder) = std::env::var("SITU_STAND_INS") {
        println!("cargo::rustc-link-search=native={folder}");
        println!("cargo::rustc-link-arg-bins=-Wl,--no-as-needed,{folder}/libno_python.so,--as-needed");
    }
    let prefixes = std::env::var_os("AMENT_PREFIX_PATH").unwrap_or_default();
    let has_messages = |prefix: &PathBuf| prefix.join("share/test_msgs/msg").is_dir();
    let prefix = std::env::split_paths(&prefixes).find(has_messages).unwrap_or_default();
    let mut list = String::new();
    for package in ["geometry_msgs", "nav_msgs", "sensor_msgs", "std_msgs", "test_msgs"] {
        let folder = prefix.join("share").join(package).join("msg");
        let Ok(entries) = std::fs::read_dir(&folder) else {
            println!("cargo::error=no messages in {}", folder.display());
            return;
        };
        let files = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut names: Vec<String> =
            files.filter_map(|file| Some(file.strip_suffix(".idl")?.to_owned())).collect();
        names.sort();
        for name in names {
            let _ =
                writeln!(list, "    echo.message::<{package}::msg::{name}, {package}::msg::rmw::{name}>()?;");
        }
    }
    let text = format!("fn messages(echo: &mut Echo) -> Result<(), RclrsError> {{\n{list}    Ok(())\n}}\n");
    let path = Path::new(&std::env::var_os("OUT_DIR").unwrap_or_default()).join("messages.rs");
    if let Err(error) = std::fs::write(&path, text) {
        println!("cargo::error=cannot write {}: {error}", path.display());
    }
}
