//! Runs every example, and every pair of publisher and subscriber, or of server and client, in each
//! combination of languages.
//!
//! CMake builds the examples in C++. `SITU_CPP_EXAMPLES` names their folder, otherwise it is
//! `build/cpp/examples`. If they are not built, only the Rust examples run, and the tests print so.
//! `SITU_RUST_EXAMPLES` names another folder for those in Rust; `scripts/arm64.sh` gives the two sides
//! programs of different architectures.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use situ_testkit::Scratch;

/// The time limit of an example.
const TIMEOUT: Duration = Duration::from_secs(30);

const HELLO: &str = "pose 0: x = 0, y = 0, heading = 0.5
pose 1: x = 1, y = 0, heading = 0.5
pose 2: x = 2, y = 0, heading = 0.5
pose 3: x = 3, y = 0, heading = 0.5
pose 4: x = 4, y = 0, heading = 0.5
pose 5: x = 5, y = 0, heading = 0.5
pose 6: x = 6, y = 0, heading = 0.5
pose 7: x = 7, y = 0, heading = 0.5
pose 8: x = 8, y = 0, heading = 0.5
pose 9: x = 9, y = 0, heading = 0.5
";

// The sum of 0 to n - 1, and 1 for each point.
const POINTCLOUD: &str = "lidar: 1000 points, sum 500500
lidar: 50000 points, sum 1250025000
lidar: 200000 points, sum 20000100000
";

const SERIALIZED: &str = "Ada wrote \"la\" [song, verse 1]
Ada wrote \"la la\" [song, verse 2]
Ada wrote \"la la la\" [song, verse 3]
Ada wrote \"la la la la\" [song, verse 4]
Ada wrote \"la la la la la\" [song, verse 5]
";

const SERVICE: &str = "turned: x = -1
turned: x = -2
turned: x = -3
refused: where is that? (1)
";

const WAITING: &str = "pose: x = 0
note: step 1
pose: x = 2
note: step 3
pose: x = 4
";

const EXECUTOR: &str = "pose: x = 0
pose: x = 1
pose: x = 2
arrived
";

const REGION: &str = "built: Hero, level 60, 5 items, 4 points, 2 equips, 2 skills, 4cf6651a11ac71d7
written in place: Hero, level 61, 5 items, 4 points, 2 equips, 2 skills, c4c611dadccffeda
grown: a hero with a name that does not fit into the string itself, level 61, 4 items, 1004 points, 2 equips, 3 skills, 169c57e3545dd173
nested: a hero with a name that does not fit into the string itself, level 61, 4 items, 1004 points, 2 equips, 3 skills, bdaf3ef55f731f11
assigned: a hero with a name that does not fit into the string itself, level 61, 2 items, 8 points, 2 equips, 3 skills, 35b71f86ce6539f3
compacted: a hero with a name that does not fit into the string itself, level 61, 2 items, 8 points, 2 equips, 3 skills, 35b71f86ce6539f3
moved on: Hero, level 60, 5 items, 4 points, 2 equips, 2 skills, 4cf6651a11ac71d7
received: a hero with a name that does not fit into the string itself, level 62, 2 items, 8 points, 2 equips, 3 skills, e99f47276909844c
appended: of last year, 1 tag, 14cc8f99cbcd4e6d
refused: skills: offset 1048756 is not the canonical one, 576 (at offset 180)
";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Language {
    Rust,
    Cpp,
    C,
}

/// The path of an example's program; `None` if it is not built.
fn program(name: &str, language: Language) -> Option<PathBuf> {
    let folder = match language {
        Language::Rust => match std::env::var_os("SITU_RUST_EXAMPLES") {
            Some(folder) => PathBuf::from(folder),
            None => Path::new(env!("CARGO_BIN_EXE_hello-publisher")).parent()?.to_owned(),
        },
        Language::Cpp | Language::C => match std::env::var_os("SITU_CPP_EXAMPLES") {
            Some(folder) => PathBuf::from(folder),
            None => PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../build/cpp/examples")),
        },
    };
    let path = match language {
        Language::C => folder.join(format!("{name}-c")),
        _ => folder.join(name),
    };
    assert!(language != Language::Rust || path.is_file(), "{} is not built", path.display());
    if !path.is_file() {
        eprintln!(
            "SKIPPED: {} is not built (cmake -S cpp -B build/cpp && cmake --build build/cpp)",
            path.display()
        );
        return None;
    }
    Some(path)
}

/// A root of its own for a run; it must be empty at the end.
struct Root(Scratch);

impl Root {
    fn new() -> Self {
        Self(Scratch::new("examples"))
    }

    fn start(&self, program: &Path) -> Running {
        self.start_with(program, &[])
    }

    fn start_with(&self, program: &Path, arguments: &[&str]) -> Running {
        let child = Command::new(program)
            .args(arguments)
            .env("SITU_ROOT", self.0.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|e| panic!("{}: {e}", program.display()));
        Running { child, program: program.to_owned() }
    }

    fn leftovers(&self) -> Vec<PathBuf> {
        ["nodes", "topics"]
            .into_iter()
            .flat_map(|folder| std::fs::read_dir(self.0.join(folder)).into_iter().flatten().flatten())
            .map(|entry| entry.path())
            .collect()
    }
}

struct Running {
    child: Child,
    program: PathBuf,
}

impl Running {
    /// The output until its end. It must end successfully and in time.
    fn output(mut self) -> String {
        let begin = Instant::now();
        let status = loop {
            match self.child.try_wait().unwrap() {
                Some(status) => break status,
                None => assert!(begin.elapsed() < TIMEOUT, "{} does not end", self.program.display()),
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        let (mut out, mut err) = (String::new(), String::new());
        self.child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
        self.child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        assert!(status.success(), "{}: {status}: {err}", self.program.display());
        out
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs a publisher and a subscriber in all combinations of languages.
fn crosswise(example: &str, languages: &[Language], expected: &str) {
    crosswise_as(["publisher", "subscriber"], example, languages, expected);
}

/// Runs two programs of these roles in all combinations of languages. The second one says what is expected.
fn crosswise_as([first, second]: [&str; 2], example: &str, languages: &[Language], expected: &str) {
    for &publishing in languages {
        for &subscribing in languages {
            let publisher = program(&format!("{example}-{first}"), publishing);
            let subscriber = program(&format!("{example}-{second}"), subscribing);
            let (Some(publisher), Some(subscriber)) = (publisher, subscriber) else { continue };
            let root = Root::new();
            let subscriber = root.start(&subscriber);
            let publisher = root.start(&publisher);
            let said = subscriber.output();
            publisher.output();
            assert_eq!(said, expected, "from {publishing:?} to {subscribing:?}");
            assert_eq!(root.leftovers(), Vec::<PathBuf>::new(), "from {publishing:?} to {subscribing:?}");
        }
    }
}

fn alone(example: &str, languages: &[Language], expected: &str) {
    for &language in languages {
        let Some(program) = program(example, language) else { continue };
        let root = Root::new();
        assert_eq!(root.start(&program).output(), expected, "{language:?}");
        assert_eq!(root.leftovers(), Vec::<PathBuf>::new(), "{language:?}");
    }
}

#[test]
fn hello() {
    crosswise("hello", &[Language::Rust, Language::Cpp, Language::C], HELLO);
}

#[test]
fn service() {
    crosswise_as(["server", "client"], "service", &[Language::Rust, Language::Cpp, Language::C], SERVICE);
}

#[test]
fn pointcloud() {
    crosswise("pointcloud", &[Language::Rust, Language::Cpp], POINTCLOUD);
}

#[test]
fn serialized() {
    crosswise("serialized", &[Language::Rust, Language::Cpp], SERIALIZED);
}

/// One process builds a region, the next changes it, the last changes and reads it: in all combinations of
/// languages, with the same bytes at every step.
#[test]
fn region() {
    alone("region", &[Language::Rust, Language::Cpp], REGION);
    // Each continues with the other's image.
    let folder = Root::new();
    std::fs::create_dir_all(&folder.0).unwrap();
    let image = folder.0.join("character.bin");
    let image = image.to_str().unwrap();
    for (maker, taker) in
        [Language::Rust, Language::Cpp].into_iter().flat_map(|it| [(it, Language::Rust), (it, Language::Cpp)])
    {
        let (Some(maker), Some(taker)) = (program("region", maker), program("region", taker)) else {
            continue;
        };
        folder.start_with(&maker, &["make", image]).output();
        let said = folder.start_with(&taker, &["take", image]).output();
        let built = REGION.lines().next().unwrap().replacen("built", "taken", 1);
        let edited = "edited: Hero, level 60, 4 items, 4 points, 2 equips, 3 skills, ";
        let [taken, changed] = said.lines().collect::<Vec<_>>()[..] else { panic!("{said}") };
        assert!(taken == built && changed.starts_with(edited), "{said}");
    }
    // The hash of the vector that holds the same character.
    let vector = concat!(env!("CARGO_MANIFEST_DIR"), "/../spec/vectors/region/character.canonical.bin");
    let fold = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = std::fs::read(vector).unwrap().iter().fold(0xcbf2_9ce4_8422_2325, fold);
    assert!(REGION.lines().next().unwrap().ends_with(&format!("{hash:016x}")));
}

#[test]
fn relay() {
    let mut before = None;
    for number in 0..8 {
        let language = |bit: u32| if number >> bit & 1 == 0 { Language::Rust } else { Language::Cpp };
        let programs = [2, 1, 0].map(|bit| program("relay", language(bit)));
        let [Some(a), Some(b), Some(c)] = programs else { continue };
        let root = Root::new();
        let c = root.start_with(&c, &["c"]);
        let b = root.start_with(&b, &["b"]);
        let a = root.start_with(&a, &["a"]);
        let said = [a.output(), b.output(), c.output()];
        let hashes: Vec<&str> =
            said.iter().flat_map(|text| text.split_whitespace().filter(|it| it.len() == 16)).collect();
        let [a_made, b_took, b_made, c_took, c_made] = hashes[..] else { panic!("{said:?}") };
        assert_eq!((a_made, b_made), (b_took, c_took), "{number:03b}: {said:?}");
        assert!(a_made != b_made && b_made != c_made, "{said:?}");
        assert!(said[2].ends_with("Hero the Second, level 3, 1000 points, 1 skills, 2 items\n"), "{said:?}");
        assert_eq!(before.get_or_insert(said.clone()), &said, "{number:03b}");
        assert_eq!(root.leftovers(), Vec::<PathBuf>::new(), "{number:03b}");
    }
}

#[test]
fn waiting() {
    alone("waiting", &[Language::Rust, Language::Cpp], WAITING);
}

#[test]
fn executor() {
    alone("executor", &[Language::Rust, Language::Cpp], EXECUTOR);
}

#[test]
fn tracing() {
    alone("tracing", &[Language::Rust, Language::Cpp, Language::C], "4 of 10 poses were far away\n");
}

#[test]
fn streams() {
    alone("async", &[Language::Rust], WAITING);
}
