//! Definitions and what they consist of.

use std::borrow::Cow;

use super::name::{Name, TypeId};
use super::types::{Primitive, Type};
use crate::source::Span;

/// A value known when the schema is read.
#[derive(Debug, Clone, PartialEq)]
pub enum Literal {
    /// A boolean.
    Bool(bool),
    /// An integer, character or bitmask.
    Integer(i128),
    /// A floating-point number (already rounded if the type is `float`).
    Float(f64),
    /// A string or wide string.
    String(String),
    /// An enumerator.
    Enumerator {
        /// The enum.
        of: TypeId,
        /// Its position in [`Enum::enumerators`].
        index: usize,
    },
    /// The elements of an array or sequence.
    List(Vec<Literal>),
}

/// An annotation that Situ does not know, kept as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Annotation {
    /// Its name without the `@`.
    pub name: String,
    /// Its parameters: the name, empty for a single unnamed one, and the text of the value.
    pub parameters: Vec<(String, String)>,
}

/// How a type may change over time, which decides how CDR encodes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Extensibility {
    /// Never: encoded plainly. The default, as in ROS 2.
    Final,
    /// Members may be added at the end: XCDR2 puts a length in front.
    Appendable,
    /// Members may be added, removed and reordered: each is encoded with its id.
    Mutable,
}

impl Extensibility {
    /// The name of its annotation without the `@`.
    pub fn idl(self) -> &'static str {
        match self {
            Self::Final => "final",
            Self::Appendable => "appendable",
            Self::Mutable => "mutable",
        }
    }
}

/// A named type.
#[derive(Debug, Clone)]
pub struct Definition {
    /// Its fully qualified name.
    pub name: Name,
    /// Its documentation, lines separated by `\n`, without comment signs; empty when there is none.
    pub docs: String,
    /// Where its name stands.
    pub span: Span,
    /// Annotations that Situ does not know.
    pub annotations: Vec<Annotation>,
    /// Whether it is marked `@flat`: its default storage is then Flat.
    pub flat: bool,
    /// What it is.
    pub kind: Kind,
}

/// What a [`Definition`] is.
#[derive(Debug, Clone)]
pub enum Kind {
    /// A struct: also ROS messages.
    Struct(Struct),
    /// A union.
    Union(Union),
    /// An enum.
    Enum(Enum),
    /// A bitmask.
    Bitmask(Bitmask),
    /// A typedef.
    Alias(Type),
}

impl Kind {
    /// The struct, if this is one.
    pub fn as_struct(&self) -> Option<&Struct> {
        if let Self::Struct(it) = self { Some(it) } else { None }
    }

    /// The enum, if this is one.
    pub fn as_enum(&self) -> Option<&Enum> {
        if let Self::Enum(it) = self { Some(it) } else { None }
    }

    /// Its kind as a word, for messages.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Struct(_) => "struct",
            Self::Union(_) => "union",
            Self::Enum(_) => "enum",
            Self::Bitmask(_) => "bitmask",
            Self::Alias(_) => "typedef",
        }
    }
}

/// The member that ROS 2 gives to messages that have none, and that the structs of operations have likewise.
pub const DUMMY_MEMBER: &str = "structure_needs_at_least_one_member";

/// A struct.
#[derive(Debug, Clone)]
pub struct Struct {
    /// The struct whose members come first.
    pub base: Option<TypeId>,
    /// Its own members, in declaration order.
    pub members: Vec<Member>,
    /// How it may change.
    pub extensibility: Extensibility,
    /// Whether it is marked `@region`: its default storage is then Region.
    pub region: bool,
    /// Whether it is marked `@nested`: not meant to be a topic of its own.
    pub nested: bool,
    /// Whether it is an exception of IDL, which operations may raise.
    pub exception: bool,
}

impl Struct {
    /// The struct as other storages than regions have it: without its weak links.
    pub fn outside_of_regions(&self) -> Cow<'_, Self> {
        if !self.members.iter().any(Member::is_weak) {
            return Cow::Borrowed(self);
        }
        let mut other = self.clone();
        other.members.retain(|member| !member.is_weak());
        Cow::Owned(other)
    }

    /// Whether readers of regions understand other versions of it: it is `@region @appendable`. Such a struct
    /// is the root, or lies behind a link.
    pub fn is_appended_in_regions(&self) -> bool {
        self.region && self.extensibility == Extensibility::Appendable
    }
}

/// Which container of a region holds a map, or a sequence that is a set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Lookup {
    /// Sorted, in one block.
    #[default]
    Sorted,
    /// `@hash`: a hash table.
    Hash,
    /// `@ordered`: a tree, for large ones.
    Ordered,
}

/// How an optional member lies in a region.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Link {
    /// In place.
    #[default]
    InPlace,
    /// `@external`: behind a link of its own.
    Unique,
    /// `@shared`: behind a link that others may share.
    Shared,
    /// `@weak`: a link to a shared value that does not keep it. Only regions have it.
    Weak,
}

impl Member {
    /// Whether it is a weak link, which other storages than regions do not have.
    pub fn is_weak(&self) -> bool {
        self.link == Link::Weak
    }
}

/// A member of a struct or of a union.
#[derive(Debug, Clone)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: Type,
    /// Its member id: from `@id`, otherwise one more than the one before it (bases first), from 0.
    pub id: u32,
    /// Whether it is part of the key.
    pub key: bool,
    /// Whether it may be absent.
    pub optional: bool,
    /// Whether it lies in the body of a flat message.
    pub bulk: bool,
    /// Whether it is a sequence that is marked `@set`: a set in regions.
    pub set: bool,
    /// Of a map or set: which container holds it in regions.
    pub lookup: Lookup,
    /// Of an optional member: how it lies in regions.
    pub link: Link,
    /// Whether a reader that does not know it must refuse the message.
    pub must_understand: bool,
    /// Its default value, already checked against its type; `None` means zero, empty or the first enumerator.
    pub default: Option<Literal>,
    /// Its unit of measure.
    pub unit: Option<String>,
    /// Its documentation, lines separated by `\n`; empty when there is none.
    pub docs: String,
    /// Where its name stands.
    pub span: Span,
    /// Annotations that Situ does not know.
    pub annotations: Vec<Annotation>,
}

/// A union.
#[derive(Debug, Clone)]
pub struct Union {
    /// The type of the discriminator: a boolean, character, integer or enum (an alias is already resolved).
    pub discriminator: Type,
    /// Its cases, in declaration order.
    pub cases: Vec<Case>,
    /// How it may change.
    pub extensibility: Extensibility,
}

impl Union {
    /// The case that the discriminator value selects.
    pub fn case_of(&self, discriminator: i128) -> Option<usize> {
        self.cases
            .iter()
            .position(|case| case.labels.contains(&discriminator))
            .or_else(|| self.cases.iter().position(|case| case.is_default))
    }
}

/// A case of a union.
#[derive(Debug, Clone)]
pub struct Case {
    /// The discriminator values that select it: an enumerator's value, a character's code, 0 or 1 for
    /// booleans.
    pub labels: Vec<i128>,
    /// Whether it also bears the label `default`.
    pub is_default: bool,
    /// Its value.
    pub member: Member,
}

/// An enum. 32 bits, signed.
#[derive(Debug, Clone)]
pub struct Enum {
    /// Its enumerators, in declaration order; never empty, values unique.
    pub enumerators: Vec<Enumerator>,
    /// The position of the default enumerator: the first, unless one is marked `@default_literal`.
    pub default: usize,
}

impl Enum {
    /// The enumerator that a new value holds.
    pub fn default_enumerator(&self) -> &Enumerator {
        &self.enumerators[self.default]
    }

    /// The enumerator with this value.
    pub fn by_value(&self, value: i32) -> Option<&Enumerator> {
        self.enumerators.iter().find(|it| it.value == value)
    }
}

/// One value of an enum.
#[derive(Debug, Clone)]
pub struct Enumerator {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: i32,
    /// Its documentation.
    pub docs: String,
    /// Where its name stands.
    pub span: Span,
}

/// A bitmask.
#[derive(Debug, Clone)]
pub struct Bitmask {
    /// The number of bits, 1 to 64; decides the storage.
    pub bit_bound: u8,
    /// Its flags, in declaration order; positions unique and below the bit bound.
    pub flags: Vec<Flag>,
}

impl Bitmask {
    /// The unsigned integer that stores it.
    pub fn storage(&self) -> Primitive {
        match self.bit_bound {
            0..=8 => Primitive::U8,
            9..=16 => Primitive::U16,
            17..=32 => Primitive::U32,
            _ => Primitive::U64,
        }
    }
}

/// One flag of a bitmask.
#[derive(Debug, Clone)]
pub struct Flag {
    /// Its name.
    pub name: String,
    /// Which bit, 0 being the least significant.
    pub position: u8,
    /// Its documentation.
    pub docs: String,
    /// Where its name stands.
    pub span: Span,
}

/// A constant.
///
/// The constants of a ROS message `pkg/msg/X` are, as in ROS 2's own IDL, in the module
/// `pkg::msg::X_Constants`; [`crate::Schema::constants_of`] finds them.
#[derive(Debug, Clone)]
pub struct Constant {
    /// Its fully qualified name.
    pub name: Name,
    /// Its type: a primitive, a string, or an enum.
    pub ty: Type,
    /// Its value, already checked against its type.
    pub value: Literal,
    /// Its documentation.
    pub docs: String,
    /// Where its name stands.
    pub span: Span,
}

/// A service: a request and its response.
#[derive(Debug, Clone)]
pub struct Service {
    /// Its fully qualified name: `std_srvs::srv::SetBool`; of an operation, `<interface>_<operation>`.
    pub name: Name,
    /// The documentation of an operation.
    pub docs: String,
    /// Where its name stands; of an inherited operation, where the interface's name does.
    pub span: Span,
    /// The type of the request: `…_Request`, of an operation `…_In`.
    pub request: TypeId,
    /// The type of the response: `…_Response`, of an operation `…_Out`, or `…_Reply` if it raises exceptions.
    pub response: TypeId,
    /// Of an operation that raises exceptions: what its response holds.
    pub raises: Option<Raises>,
}

impl Service {
    /// Whether this operation's interface declares it, rather than a base: by the name of its response.
    pub fn declares(&self, response: &Name) -> bool {
        let suffix = response.simple().strip_prefix(self.name.simple());
        self.name.scope() == response.scope() && matches!(suffix, Some("_Out" | "_Reply"))
    }
}

/// An interface of IDL, whose operations are services.
#[derive(Debug, Clone)]
pub struct Interface {
    /// Its fully qualified name.
    pub name: Name,
    /// Its documentation.
    pub docs: String,
    /// Where its name stands.
    pub span: Span,
    /// Its operations: their names, and their positions among the services. Those that it declares itself come
    /// first, then those of its bases.
    pub operations: Vec<(String, usize)>,
}

/// What the response of an operation holds that raises exceptions, in its only member.
#[derive(Debug, Clone, Copy)]
pub struct Raises {
    /// What the operation gives: `…_Out`, the first case of the union.
    pub output: TypeId,
    /// The union of that and of the exceptions: `…_Result`.
    pub outcome: TypeId,
}

/// An action: a goal, its result, feedback on the way, and the services and topic that carry them.
#[derive(Debug, Clone)]
pub struct Action {
    /// Its fully qualified name: `test_msgs::action::Fibonacci`.
    pub name: Name,
    /// `…_Goal`.
    pub goal: TypeId,
    /// `…_Result`.
    pub result: TypeId,
    /// `…_Feedback`.
    pub feedback: TypeId,
    /// `…_SendGoal`.
    pub send_goal: Service,
    /// `…_GetResult`.
    pub get_result: Service,
    /// `…_FeedbackMessage`.
    pub feedback_message: TypeId,
}
