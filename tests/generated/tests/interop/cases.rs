//! Messages that other implementations wrote, their values, and the Python programs that write and check
//! them.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value as Json;
use situ::wire::Encoding;

use crate::compare::difference;

/// One message of another implementation.
pub struct Case {
    /// The type, the kind of value, and the encoding: the name of the case in error texts.
    pub title: String,
    /// The name of the type.
    pub type_name: String,
    /// The encoding.
    pub encoding: Encoding,
    /// Whether the bytes are little endian.
    pub little: bool,
    /// The reason why Situ writes other bytes for the same value, if it does.
    pub differs: Option<String>,
    /// The bytes.
    pub cdr: Vec<u8>,
    /// The value.
    pub value: Json,
    /// The case as it was written.
    json: Json,
}

impl Case {
    fn parse(line: &str) -> Self {
        let json: Json = serde_json::from_str(line).expect("a case is a JSON object");
        let text = |key: &str| json[key].as_str().map(str::to_owned);
        let wanted = |key: &str| text(key).unwrap_or_else(|| panic!("a case has no {key}: {line}"));
        let (type_name, version, order) = (wanted("type"), wanted("encoding"), wanted("order"));
        Self {
            title: format!("{type_name}, {}, {version}, {order} endian", wanted("case")),
            encoding: if version == "xcdr1" { Encoding::Xcdr1 } else { Encoding::Xcdr2 },
            little: order == "little",
            differs: text("differs"),
            cdr: from_hex(&wanted("cdr")),
            value: json["value"].clone(),
            type_name,
            json,
        }
    }

    /// The case as a line, with bytes that Situ wrote.
    pub fn with_bytes(&self, bytes: &[u8]) -> String {
        let mut json = self.json.clone();
        json["cdr"] = Json::String(bytes.iter().map(|byte| format!("{byte:02x}")).collect());
        json["order"] = "little".into();
        json.to_string() + "\n"
    }

    /// Whether the value is the one of an untouched message.
    pub fn is_default(&self) -> bool {
        self.json["case"] == "default"
    }

    /// Checks the value that Situ read.
    pub fn check_value(&self, found: &Json) {
        if let Some(difference) = difference(found, &self.value, &self.title) {
            panic!("{difference}\nthe bytes are {}", hex(&self.cdr));
        }
    }

    /// Checks the bytes that Situ wrote for the value. ROS 2 reserves more room than some messages need, and
    /// leaves it at their end.
    pub fn check_bytes(&self, bytes: &[u8]) {
        if self.little && self.differs.is_none() {
            let (same, rest) = self.cdr.split_at(bytes.len().min(self.cdr.len()));
            assert_eq!(hex(bytes), hex(same), "{}: the bytes differ", self.title);
            assert!(rest.iter().all(|byte| *byte == 0), "{}: bytes are missing: {}", self.title, hex(rest));
        }
    }
}

/// The cases in all files of a folder.
pub fn cases_in(folder: &Path) -> Vec<Case> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|it| it == "jsonl"))
        .collect();
    files.sort();
    let text: Vec<String> = files.iter().map(|it| std::fs::read_to_string(it).unwrap()).collect();
    text.iter().flat_map(|it| it.lines()).map(Case::parse).collect()
}

/// The bytes as text with a blank after every four.
pub fn hex(bytes: &[u8]) -> String {
    bytes.chunks(4).map(|it| it.iter().map(|byte| format!("{byte:02x}")).collect::<String>() + " ").collect()
}

fn from_hex(text: &str) -> Vec<u8> {
    let digit = |it: u8| char::from(it).to_digit(16).expect("hexadecimal digits") as u8;
    text.as_bytes().chunks(2).map(|it| digit(it[0]) << 4 | digit(it[1])).collect()
}

/// The root of the repository.
pub fn root() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// A program in `tests/interop`, run by the Python with the other implementations.
pub struct Peer {
    python: PathBuf,
    program: PathBuf,
    folder: PathBuf,
}

impl Peer {
    /// Finds the Python interpreter: `SITU_TEST_PYTHON`, or the one that `scripts/setup.sh python` installs.
    /// `None`, and a line for the reader of the output, if there is none.
    pub fn new(program: &str) -> Option<Self> {
        let prepared = root().join("build/venv/.ready").exists();
        let python = match std::env::var_os("SITU_TEST_PYTHON") {
            Some(python) => PathBuf::from(python),
            None if prepared => root().join("build/venv/bin/python"),
            None => {
                eprintln!("SKIPPED: nothing to talk to for {program}: run scripts/setup.sh python");
                return None;
            }
        };
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("interop").join(program);
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        Some(Self { python, program: root().join("tests/interop").join(program), folder })
    }

    /// Lets the peer write its messages, and reads them. Also reads messages with other padding, if the peer
    /// ignores padding.
    pub fn write(&self) -> Vec<Case> {
        let folder = self.folder.join("theirs");
        self.run(&["write".into(), folder.clone()]);
        let mut cases = cases_in(&folder);
        let padded = self.folder.join("theirs-padded");
        if padded.exists() {
            cases.extend(cases_in(&padded));
        }
        cases
    }

    /// Lets the peer check messages that Situ wrote.
    pub fn check(&self, lines: &[String]) {
        let file = self.folder.join("ours.jsonl");
        std::fs::write(&file, lines.concat()).unwrap();
        self.run(&["check".into(), file]);
    }

    fn run(&self, arguments: &[PathBuf]) {
        let output = Command::new(&self.python).arg(&self.program).args(arguments).output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&text);
        println!("{}", text.trim_end());
        assert!(output.status.success(), "{}: {}", self.program.display(), output.status);
    }
}
