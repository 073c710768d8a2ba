//! ROS storage compared with ROS itself: the headers of ROS's packages, and the functions that ROS generates
//! for their structs.
//!
//! Both are in the environment of the interoperability tests (`scripts/setup.sh python`). Without it the
//! tests print so and pass. See `spec/ros.md`.
#![cfg(situ_ros)]

mod fill;

use std::ffi::{CString, c_char, c_int, c_void};
use std::fmt::Write;
use std::mem::{ManuallyDrop, MaybeUninit, align_of, offset_of, size_of};
use std::path::{Path, PathBuf};
use std::process::Command;

use situ::layout::ros::{Lend, lend};
use situ::layout::{Heap, InPlace, Message, Ros};

include!(concat!(env!("OUT_DIR"), "/ros_c_structs.rs"));

/// The facts about a struct in Rust.
struct Known {
    /// `std_msgs::msg::Header`.
    name: &'static str,
    size: usize,
    align: usize,
    offsets: Vec<(&'static str, usize)>,
    hand_over: fn(&Functions),
}

macro_rules! known {
    ($($name:literal: $type:ty, $heap:ty { $($label:literal $member:ident,)* })*) => {
        vec![$(Known {
            name: $name,
            size: size_of::<$type>(),
            align: align_of::<$type>(),
            offsets: vec![$(($label, offset_of!($type, $member))),*],
            hand_over: hand_over::<$type, $heap>,
        }),*]
    };
}

impl Known {
    /// The package, `msg`, `srv` or `action`, and the name of the type.
    fn parts(&self) -> (&str, &str, &str) {
        let mut parts = self.name.split("::");
        let mut next = || parts.next().unwrap();
        (next(), next(), next())
    }

    /// `std_msgs__msg__Header`.
    fn c_name(&self) -> String {
        self.name.replace("::", "__")
    }
}

/// The folder of ROS, if it is installed.
fn prefix() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../build/venv");
    let found = folder.join("include/rosidl_runtime_c/rosidl_runtime_c/string.h").is_file();
    if !found {
        eprintln!("SKIPPED: no ROS packages in {}: run scripts/setup.sh python", folder.display());
    }
    found.then_some(folder)
}

/// The header that declares a struct, such as `sensor_msgs/msg/point_cloud2.h`.
fn header(prefix: &Path, known: &Known) -> Option<String> {
    let (package, kind, name) = known.parts();
    // The parts of a service or an action are declared with it.
    let owner = name.split('_').next()?.to_lowercase();
    let entries = std::fs::read_dir(prefix.join("include").join(package).join(package).join(kind)).ok()?;
    let mut names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let file = names.find(|file| file.strip_suffix(".h").is_some_and(|it| it.replace('_', "") == owner))?;
    Some(format!("{package}/{kind}/{file}"))
}

#[test]
fn structs_have_the_layout_of_the_headers() {
    let Some(prefix) = prefix() else { return };
    let mut source = String::from("#include <stddef.h>\n#include <stdio.h>\n");
    let (mut body, mut expected) = (String::new(), String::new());
    let all: Vec<Known> = ros_c_structs!(known);
    let mut count = 0;
    for known in &all {
        let Some(header) = header(&prefix, known) else { continue };
        count += 1;
        let name = known.c_name();
        writeln!(source, "#include \"{header}\"").unwrap();
        writeln!(body, "  printf(\"{name} %zu %zu\\n\", sizeof({name}), _Alignof({name}));").unwrap();
        writeln!(expected, "{name} {} {}", known.size, known.align).unwrap();
        for (member, offset) in &known.offsets {
            writeln!(body, "  printf(\"  {member} %zu\\n\", offsetof({name}, {member}));").unwrap();
            writeln!(expected, "  {member} {offset}").unwrap();
        }
    }
    assert!(count > 150, "only {count} of {} structs have a header", all.len());
    write!(source, "int main(void)\n{{\n{body}  return 0;\n}}\n").unwrap();
    let folder = std::env::temp_dir().join(format!("situ-ros-c-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let program = folder.join("layouts");
    std::fs::write(folder.join("layouts.c"), source).unwrap();
    let mut compile = Command::new(std::env::var_os("CC").unwrap_or("cc".into()));
    compile.arg("-std=c11").arg("-o").arg(&program).arg(folder.join("layouts.c"));
    for package in std::fs::read_dir(prefix.join("include")).unwrap() {
        compile.arg("-I").arg(package.unwrap().path());
    }
    let compiled = compile.output().unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let output = Command::new(&program).output().unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
}

unsafe extern "C" {
    fn dlopen(path: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

/// Bind everything at once.
const RTLD_NOW: c_int = 2;

/// Loads a library from the prefix, if it exists and the libraries that it needs were loaded before.
fn load(prefix: &Path, name: &str) -> Option<*mut c_void> {
    let path = CString::new(prefix.join(format!("lib/lib{name}.so")).to_str().unwrap()).unwrap();
    // SAFETY: the path ends with a NUL, and loading such a library is harmless.
    let library = unsafe { dlopen(path.as_ptr(), RTLD_NOW) };
    (!library.is_null()).then_some(library)
}

/// The functions that ROS generates for a struct.
struct Functions {
    name: String,
    library: *mut c_void,
}

impl Functions {
    fn of(prefix: &Path, known: &Known) -> Option<Self> {
        let library = load(prefix, &format!("{}__rosidl_generator_c", known.parts().0))?;
        Some(Self { name: known.c_name(), library })
    }

    /// The address of `<struct>__<function>`.
    fn address(&self, function: &str) -> *mut c_void {
        let symbol = CString::new(format!("{}__{function}", self.name)).unwrap();
        // SAFETY: the library is open for as long as the process runs.
        let address = unsafe { dlsym(self.library, symbol.as_ptr()) };
        assert!(!address.is_null(), "{symbol:?} is missing");
        address
    }

    fn init<T>(&self, at: *mut T) {
        // SAFETY: the function has this signature, and the memory belongs to T, which is the struct.
        let init: unsafe extern "C" fn(*mut T) -> bool = unsafe { std::mem::transmute(self.address("init")) };
        // SAFETY: as above.
        assert!(unsafe { init(at) }, "{}: init", self.name);
    }

    /// Frees what a struct owns.
    fn fini<T>(&self, value: T) {
        // SAFETY: as in init.
        let fini: unsafe extern "C" fn(*mut T) = unsafe { std::mem::transmute(self.address("fini")) };
        // SAFETY: Rust does not use the value again.
        unsafe { fini(&mut *ManuallyDrop::new(value)) }
    }

    fn copy<T>(&self, from: &T, to: &mut T) {
        type Copy<T> = unsafe extern "C" fn(*const T, *mut T) -> bool;
        // SAFETY: as in init.
        let copy: Copy<T> = unsafe { std::mem::transmute(self.address("copy")) };
        // SAFETY: both are valid structs.
        assert!(unsafe { copy(from, to) }, "{}: copy", self.name);
    }

    fn are_equal<T>(&self, a: &T, b: &T) -> bool {
        type AreEqual<T> = unsafe extern "C" fn(*const T, *const T) -> bool;
        // SAFETY: as in init.
        let are_equal: AreEqual<T> = unsafe { std::mem::transmute(self.address("are_equal")) };
        // SAFETY: both are valid structs.
        unsafe { are_equal(a, b) }
    }
}

/// Passes structs to C and takes them from it, and lends it messages of vectors and strings.
fn hand_over<T: Message + InPlace, H: Message + Lend<C = T>>(c: &Functions) {
    let name = &c.name;
    let mut theirs = MaybeUninit::<T>::zeroed();
    c.init(theirs.as_mut_ptr());
    // SAFETY: C initialized it, and a T is the C struct.
    let mut theirs = unsafe { theirs.assume_init() };
    let empty = T::default();
    assert!(c.are_equal(&empty, &theirs), "{name}: the default\n{empty:?}\nis not that of C\n{theirs:?}");
    assert_eq!(empty, theirs);
    for seed in 0..8 {
        let mut ours = T::default();
        fill::fill(&mut ours, seed);
        // C copies Rust's value over the former one.
        c.copy(&ours, &mut theirs);
        assert!(c.are_equal(&ours, &theirs), "{name}: {ours:?} is not {theirs:?}");
        assert_eq!(ours, theirs);
        let mut heap = H::default();
        fill::fill(&mut heap, seed);
        let lent = lend(&heap).unwrap();
        assert!(c.are_equal(&*lent, &ours), "{name}: {lent:?} was lent instead of {ours:?}");
        assert_eq!(*lent, ours);
        c.copy(&empty, &mut theirs);
        c.copy(&*lent, &mut theirs);
        drop(lent);
        drop(heap);
        assert_eq!(ours, theirs);
        // Rust changes C's value, which may have more capacity than elements.
        let mut changed = ours.clone();
        c.copy(&empty, &mut changed);
        assert_eq!(changed, empty);
        fill::fill(&mut changed, seed + 100);
        let mut expected = T::default();
        fill::fill(&mut expected, seed + 100);
        assert!(c.are_equal(&changed, &expected), "{name}: {changed:?} is not {expected:?}");
        // Each frees the other's value.
        c.fini(ours);
        drop(changed);
    }
    c.fini(empty);
    drop(theirs);
}

#[test]
fn structs_are_handed_over_both_ways() {
    let Some(prefix) = prefix() else { return };
    let mut count = 0;
    let all: Vec<Known> = ros_c_structs!(known);
    // The libraries name the libraries that they need, but not their place. So these are loaded before.
    let packages =
        ["builtin_interfaces", "unique_identifier_msgs", "service_msgs", "action_msgs", "std_msgs"];
    let generated = packages.map(|package| format!("{package}__rosidl_generator_c"));
    for library in ["rcutils".to_owned(), "rosidl_runtime_c".to_owned()].iter().chain(&generated) {
        assert!(load(&prefix, library).is_some(), "{library} cannot be loaded");
    }
    load(&prefix, "geometry_msgs__rosidl_generator_c");
    for known in &all {
        if let Some(functions) = Functions::of(&prefix, known) {
            (known.hand_over)(&functions);
            count += 1;
        }
    }
    assert!(count > 150, "only {count} of {} structs were handed over", all.len());
}
