//! Errors of the containers and of validation, and the path to the member concerned.

use std::fmt;

use thiserror::Error;

/// A value does not fit the bound that the schema gives a string, sequence or map.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct BoundError {
    /// The member, when the operation went through the message (`set_name`, `push_fields`); otherwise `None`.
    pub field: Option<&'static str>,
    /// The greatest length the schema allows.
    pub bound: usize,
    /// The length that was asked for.
    pub size: usize,
}

impl BoundError {
    /// An error of a container that does not know the name of its member.
    pub const fn new(bound: usize, size: usize) -> Self {
        Self { field: None, bound, size }
    }

    /// Names the member, unless it is named already.
    #[must_use]
    pub const fn in_field(mut self, field: &'static str) -> Self {
        if self.field.is_none() {
            self.field = Some(field);
        }
        self
    }
}

impl fmt::Display for BoundError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.field {
            Some(field) => write!(f, "field `{field}`: ")?,
            None => f.write_str("this member: ")?,
        }
        write!(
            f,
            "length {} exceeds its bound {}; shorten the value or raise the bound in the schema",
            self.size, self.bound
        )
    }
}

impl std::error::Error for BoundError {}

crate::debug_as_text!(BoundError);

/// What setters of bounded members return.
pub type Bounded<T = ()> = Result<T, BoundError>;

/// One step of a [`FieldPath`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Segment {
    /// A member of a structure or union.
    Member(&'static str),
    /// An element of a sequence or array, or an entry of a map.
    Element(usize),
}

/// The path from a message to one of its parts, such as `fields[3].name`.
///
/// It is built from the inside outwards while an error propagates, so that success costs nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldPath {
    inside_out: Vec<Segment>,
}

impl FieldPath {
    /// Prepends the member that contains the part named so far.
    pub fn enter_member(&mut self, name: &'static str) {
        self.inside_out.push(Segment::Member(name));
    }

    /// Prepends the index of the element that contains the part named so far.
    pub fn enter_element(&mut self, index: usize) {
        self.inside_out.push(Segment::Element(index));
    }

    /// Whether the path names the message itself.
    pub fn is_empty(&self) -> bool {
        self.inside_out.is_empty()
    }

    /// The steps, outermost first.
    pub fn segments(&self) -> impl Iterator<Item = &Segment> {
        self.inside_out.iter().rev()
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("message");
        }
        for (position, segment) in self.segments().enumerate() {
            match segment {
                Segment::Member(name) if position == 0 => f.write_str(name)?,
                Segment::Member(name) => write!(f, ".{name}")?,
                Segment::Element(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

/// What is wrong with bytes that claim to be a flat message.
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ValidateProblem {
    /// A length is greater than the schema allows.
    #[error("length {length} exceeds its bound {bound}")]
    TooLong {
        /// The length found.
        length: u64,
        /// The greatest length allowed.
        bound: u64,
    },
    /// A boolean or a presence flag is neither 0 nor 1.
    #[error("{value} is not a boolean; only 0 and 1 are")]
    NotABool {
        /// The byte found.
        value: u8,
    },
    /// A string is not UTF-8.
    #[error("the text is not UTF-8 from byte {valid_up_to} on")]
    NotUtf8 {
        /// The number of leading bytes that are well formed.
        valid_up_to: usize,
    },
    /// A string or wide string lacks the terminating zero after its last character.
    #[error("the terminating zero after {length} characters is missing")]
    NotTerminated {
        /// The string's length.
        length: usize,
    },
    /// A map's keys are not in ascending order, or a key occurs twice.
    #[error("key {index} is not greater than the key before it")]
    NotSorted {
        /// The entry that is out of order.
        index: usize,
    },
    /// A bulk member points outside the message's body.
    #[error("bulk data at {offset}, {bytes} bytes, lies outside the body of {body} bytes")]
    OutsideBody {
        /// Where the data claims to begin.
        offset: u64,
        /// The claimed size in bytes, saturated.
        bytes: u64,
        /// The size of the body.
        body: u64,
    },
    /// A bulk member's data is not aligned for its element type.
    #[error("bulk data at {offset} is not aligned to {align}")]
    Misaligned {
        /// Where the data begins.
        offset: u64,
        /// The alignment it needs.
        align: usize,
    },
    /// The type has heap storage: its bytes mean nothing to another process.
    #[error("a type with heap storage has no bytes to validate; use its flat form")]
    NotFlat,
}

crate::debug_as_text!(ValidateProblem);

/// Bytes that claim to be a flat message are not a valid one.
#[derive(Clone, PartialEq, Eq, Error)]
#[error("{path}: {problem}")]
pub struct ValidateError {
    /// The member at fault.
    pub path: FieldPath,
    /// What is wrong with it.
    pub problem: ValidateProblem,
}

crate::debug_as_text!(ValidateError);

impl From<ValidateProblem> for ValidateError {
    fn from(problem: ValidateProblem) -> Self {
        Self { path: FieldPath::default(), problem }
    }
}

/// Implements the methods that add an enclosing member or element to the `path` of an error.
#[macro_export]
#[doc(hidden)]
macro_rules! __path_methods {
    ($($visibility:vis $error:ident($name:ty)),+) => {$(
        impl $error {
            /// Adds the enclosing member to the path.
            #[must_use]
            $visibility fn in_member(mut self, name: $name) -> Self {
                self.path.enter_member(name);
                self
            }

            /// Adds the index of the enclosing element to the path.
            #[must_use]
            $visibility fn in_element(mut self, index: usize) -> Self {
                self.path.enter_element(index);
                self
            }
        }
    )+};
}

__path_methods!(pub ValidateError(&'static str));

/// The elements of a sequence are in memory that this program cannot read, such as that of a device.
#[derive(Clone, Copy, PartialEq, Eq, Error)]
#[error(
    "the elements are in a {kind} ({size} bytes), which may be the memory of a device: copy them to the host with the \
     library of the buffer's vendor, or subscribe without accepting buffers"
)]
pub struct OpaqueBuffer {
    /// What holds the elements.
    pub kind: &'static str,
    /// The size that the sequence states.
    pub size: usize,
}

crate::debug_as_text!(OpaqueBuffer);
