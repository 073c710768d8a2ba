//! Errors of dynamic readers and writers. Each names the member it happened in.

use situ_wire::{DecodeProblem, EncodeProblem};

use super::value::Value;

/// A path to a member, built from the inside out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Path {
    /// The steps, innermost first.
    steps: Vec<String>,
}

impl Path {
    pub fn enter_member(&mut self, name: &str) {
        self.steps.push(format!(".{name}"));
    }

    pub fn enter_element(&mut self, index: usize) {
        self.steps.push(format!("[{index}]"));
    }

    pub fn text(&self) -> String {
        let joined: String = self.steps.iter().rev().map(String::as_str).collect();
        let joined = joined.strip_prefix('.').unwrap_or(&joined);
        if joined.is_empty() { "the message".to_owned() } else { format!("`{joined}`") }
    }
}

/// What is wrong with a message.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadProblem {
    /// The type has no flat layout.
    #[error("the type cannot be flat: {0}")]
    NotFlat(String),
    /// The type has no region form.
    #[error("the type has no region form: {0}")]
    NoRegion(String),
    /// The bytes are not those of a region.
    #[error("no region: the bytes do not begin with SRGN")]
    NotARegion,
    /// The image has another version of the format.
    #[error("the image has version {found} of the format, and this program reads version {here}")]
    OtherFormat {
        /// The version of the image.
        found: u16,
        /// The version that is read.
        here: u16,
    },
    /// The image does not say which members of a struct it has.
    #[error("the image has no version of {0} in its table")]
    NoVersion(String),
    /// A packed image of a region breaks a rule of its form.
    #[error("{problem} (at offset {offset})")]
    Packed {
        /// The offset in the image, in bytes.
        offset: u64,
        /// What is wrong.
        problem: situ_layout::InvalidProblem,
    },
    /// There is no memory for a private copy.
    #[error(transparent)]
    NoMemory(#[from] situ_layout::NoMemory),
    /// A link leads out of the image.
    #[error("a link leads to offset {0}, outside the image")]
    Link(i64),
    /// The bytes end before the value does.
    #[error("{needed} bytes are needed at offset {offset}, but there are only {available} in all")]
    TooShort {
        /// Where the value begins.
        offset: u64,
        /// How many bytes it takes.
        needed: u64,
        /// How many bytes there are.
        available: usize,
    },
    /// A length exceeds its bound.
    #[error("the length {length} exceeds the bound {bound}")]
    TooLong {
        /// The length found.
        length: u64,
        /// The bound of the type.
        bound: u64,
    },
    /// A boolean that is neither 0 nor 1.
    #[error("{0} is not a boolean: only 0 and 1 are")]
    NotABool(u8),
    /// A string that is not UTF-8.
    #[error("the text is not UTF-8 from byte {0} on")]
    NotUtf8(usize),
    /// A string without its terminating zero.
    #[error("there is no zero after the {0} characters of the text")]
    NotTerminated(u64),
    /// Bulk elements that do not lie within the body.
    #[error("{len} elements at offset {offset} are not within the body of {body} bytes")]
    OutsideBody {
        /// Where they should begin.
        offset: u64,
        /// How many there should be.
        len: u64,
        /// The size of the body.
        body: usize,
    },
    /// Values are nested deeper than values of a schema may be.
    #[error("values are nested more than {0} deep; take the message as a region")]
    TooDeep(u32),
    /// More values than any message should have.
    #[error("the message holds too many values to be shown")]
    TooManyValues,
    /// What is wrong with the CDR bytes.
    #[error("{problem} (at byte {offset})")]
    Cdr {
        /// Where in the message.
        offset: usize,
        /// What is wrong.
        problem: DecodeProblem,
    },
}

situ_layout::debug_as_text!(ReadProblem);

/// Why a message cannot be read.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot read {}: {problem}", path.text())]
pub struct ReadError {
    path: Path,
    /// What is wrong.
    pub problem: ReadProblem,
}

situ_layout::debug_as_text!(ReadError);

impl From<ReadProblem> for ReadError {
    fn from(problem: ReadProblem) -> Self {
        Self { path: Path::default(), problem }
    }
}

impl From<situ_layout::NoMemory> for ReadError {
    fn from(error: situ_layout::NoMemory) -> Self {
        ReadProblem::NoMemory(error).into()
    }
}

impl From<situ_wire::DecodeError> for ReadError {
    fn from(error: situ_wire::DecodeError) -> Self {
        ReadProblem::Cdr { offset: error.offset, problem: error.problem }.into()
    }
}

/// Why a value cannot be written.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
pub enum WriteProblem {
    /// The type has no flat layout.
    #[error("the type cannot be flat: {0}")]
    NotFlat(String),
    /// The value is not one of the type.
    #[error("expected {expected}, found {found}")]
    OtherType {
        /// What the schema has there.
        expected: String,
        /// What the value is.
        found: &'static str,
    },
    /// A number that does not fit.
    #[error("{value} does not fit the type {expected}")]
    OutOfRange {
        /// The number.
        value: String,
        /// The type.
        expected: String,
    },
    /// Text, a sequence or a map over its bound.
    #[error("the length {length} exceeds the bound {bound}")]
    TooLong {
        /// The length.
        length: u64,
        /// The bound of the type.
        bound: u64,
    },
    /// An array with another number of elements.
    #[error("an array of {expected} elements cannot hold {found}")]
    OtherCount {
        /// The length of the array.
        expected: u64,
        /// The number of elements in the value.
        found: u64,
    },
    /// A string that holds a zero character.
    #[error("text cannot hold a zero character")]
    ZeroInText,
    /// A struct without one of its members.
    #[error("there is no value for the member")]
    Missing,
    /// A union whose value does not fit its discriminator.
    #[error("the discriminator {discriminator} does not select the case `{case}`")]
    OtherCase {
        /// The discriminator.
        discriminator: i128,
        /// The case that has a value.
        case: String,
    },
    /// The same key twice in a map.
    #[error("the map has the same key twice")]
    SameKey,
    /// No memory for the message.
    #[error("a message of {0} bytes does not fit the memory")]
    OutOfMemory(u64),
    /// A weak link that leads to a value.
    #[error("a weak link leads to a value, and only regions have weak links; take the message as a region")]
    WeakLink,
    /// The type has no region form.
    #[error("{0}")]
    NoRegion(String),
    /// What a region cannot hold.
    #[error(transparent)]
    Region(situ_region::dynamic::EditError),
    /// What CDR cannot write.
    #[error(transparent)]
    Cdr(EncodeProblem),
}

situ_layout::debug_as_text!(WriteProblem);

/// Why a value cannot be written.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot write {}: {problem}", path.text())]
pub struct WriteError {
    path: Path,
    /// What is wrong.
    pub problem: WriteProblem,
}

situ_layout::debug_as_text!(WriteError);

impl From<WriteProblem> for WriteError {
    fn from(problem: WriteProblem) -> Self {
        Self { path: Path::default(), problem }
    }
}

impl From<EncodeProblem> for WriteError {
    fn from(problem: EncodeProblem) -> Self {
        WriteProblem::Cdr(problem).into()
    }
}

/// Why a text is no message of a type.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}line {line}, column {column}: {message}{}", in_path(path), help.as_ref().map(|it| format!(" ({it})")).unwrap_or_default())]
pub struct TextError {
    pub(super) path: Path,
    /// The line in the text, from 1.
    pub line: usize,
    /// The column in the line, from 1.
    pub column: usize,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub help: Option<String>,
}

situ_layout::debug_as_text!(TextError);

fn in_path(path: &Path) -> String {
    if *path == Path::default() { String::new() } else { format!("{}, ", path.text()) }
}

situ_layout::__path_methods!(pub(super) ReadError(&str), pub(super) WriteError(&str), pub(super) TextError(&str));

impl TextError {
    /// The member in which it happened: `fields[2].name`; empty for the message itself.
    pub fn path(&self) -> String {
        if self.path == Path::default() {
            String::new()
        } else {
            self.path.text().trim_matches('`').to_owned()
        }
    }
}

/// The error of a value that does not have the expected type.
pub(super) fn other_type(expected: &str, found: &Value) -> WriteError {
    WriteProblem::OtherType { expected: expected.to_owned(), found: found.word() }.into()
}
