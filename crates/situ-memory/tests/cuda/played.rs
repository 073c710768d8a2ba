//! An emulating driver (`driver.c`) that has CUDA devices in host memory: compiles it, and runs a test
//! program again with it.

use std::path::Path;
use std::process::Command;

/// Set where the tests run against the emulating driver.
const PLAYED: &str = "SITU_TEST_PLAYED_CUDA";

/// Whether this process runs against the emulating driver.
pub fn is_played() -> bool {
    std::env::var_os(PLAYED).is_some()
}

/// The devices that the driver emulates: the default, and devices with fewer or other capabilities.
const MODES: [&[(&str, &str)]; 5] = [
    &[],
    &[("FAKE_CUDA_NO_WORDS", "1")],
    &[("FAKE_CUDA_NO_DESCRIPTORS", "1")],
    &[("FAKE_CUDA_READ_ONLY", "1")],
    &STRICT,
];
/// One test after the other, with a driver that allows no allocation while a stream waits.
const STRICT: [(&str, &str); 2] = [("FAKE_CUDA_STRICT", "1"), ("RUST_TEST_THREADS", "1")];

/// A function of the emulating driver, which was loaded.
///
/// # Safety
/// It has this type, a pointer to a function.
pub unsafe fn called<F: Copy>(name: &std::ffi::CStr) -> F {
    // SAFETY: the library is loaded, and stays so; the type is the caller's promise.
    unsafe {
        let library = libc::dlopen(c"libcuda.so".as_ptr(), libc::RTLD_NOW | libc::RTLD_NOLOAD);
        assert!(!library.is_null());
        let function = libc::dlsym(library, name.as_ptr());
        assert!(!function.is_null());
        assert_eq!(size_of::<F>(), size_of_val(&function));
        std::mem::transmute_copy(&function)
    }
}

/// Runs all tests of this program again with the emulating driver, once in each of its modes.
pub fn play() {
    let directory = std::env::temp_dir().join(format!("situ-cuda-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../situ-memory/tests/cuda/driver.c");
    let mut compiler = Command::new("cc");
    compiler.args(["-std=gnu11", "-O1", "-g", "-Wall", "-Werror", "-shared", "-fPIC", "-pthread", "-o"]);
    let compiled = compiler.arg(directory.join("libcuda.so")).arg(&source).status().unwrap();
    assert!(compiled.success(), "the C compiler refuses {}", source.display());
    for mode in MODES {
        let output = situ_testkit::process::this_program()
            .env("LD_LIBRARY_PATH", &directory)
            .env(PLAYED, "1")
            .env("SITU_TEST_REQUIRE", "played,cuda")
            .envs(mode.iter().copied())
            .output()
            .unwrap();
        let said = format!(
            "{}\n{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        assert!(output.status.success(), "{mode:?}:\n{said}");
        assert!(said.contains(" passed; 0 failed"), "{mode:?}:\n{said}");
    }
    std::fs::remove_dir_all(&directory).unwrap();
}
