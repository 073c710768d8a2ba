//! Types that are known when the program runs: how values of them lie in a region.
//!
//! A type is known by its number. `builder` makes them.

/// The number of a type among the described ones.
pub type TypeNumber = u32;

/// How sets and maps find their keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lookup {
    /// In a sorted vector.
    Sorted,
    /// In a hash table.
    Hash,
    /// In a tree.
    Ordered,
}

/// A number in a region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Scalar {
    Bool,
    Char,
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    U64,
    I64,
    F32,
    F64,
}

impl Scalar {
    /// The size, which is also the alignment.
    pub fn size(self) -> u32 {
        match self {
            Self::Bool | Self::Char | Self::U8 | Self::I8 => 1,
            Self::U16 | Self::I16 => 2,
            Self::U32 | Self::I32 | Self::F32 => 4,
            Self::U64 | Self::I64 | Self::F64 => 8,
        }
    }

    pub(crate) fn kind(self) -> &'static str {
        match self {
            Self::Bool => "boolean",
            Self::Char => "char",
            Self::U8 => "uint8",
            Self::I8 => "int8",
            Self::U16 => "uint16",
            Self::I16 => "int16",
            Self::U32 => "uint32",
            Self::I32 => "int32",
            Self::U64 => "uint64",
            Self::I64 => "int64",
            Self::F32 => "float",
            Self::F64 => "double",
        }
    }
}

/// What a type is.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// A number, with the bytes of its default; of an enum, these may be other than zero.
    Scalar {
        /// The number.
        of: Scalar,
        /// Its default, as an integer.
        initial: i64,
    },
    /// A string.
    Text,
    /// An array.
    Array {
        /// The type of the elements.
        element: TypeNumber,
        /// Their number.
        count: u32,
    },
    /// A struct. A base is the first member, called `base`.
    Struct {
        /// The fully qualified name.
        name: String,
        /// The members.
        members: Vec<Member>,
        /// Whether members can be appended.
        appendable: bool,
    },
    /// A union.
    Union {
        /// The fully qualified name.
        name: String,
        /// What selects a case.
        discriminator: Scalar,
        /// The discriminator of a new union.
        initial: i128,
        /// The cases.
        cases: Vec<Case>,
    },
    /// A vector.
    Vector {
        /// The type of the elements.
        element: TypeNumber,
    },
    /// A set.
    Set {
        /// How keys are found.
        lookup: Lookup,
        /// The type of the keys.
        key: TypeNumber,
    },
    /// A map.
    Map {
        /// How keys are found.
        lookup: Lookup,
        /// The type of the keys.
        key: TypeNumber,
        /// The type of the values.
        value: TypeNumber,
    },
    /// A value or none, in place.
    Optional {
        /// The type of the value.
        value: TypeNumber,
    },
    /// A link that owns its value.
    Unique {
        /// The type of the value.
        value: TypeNumber,
    },
    /// A link to a value that others may share.
    Shared {
        /// The type of the value.
        value: TypeNumber,
    },
    /// An entry of a map. [`TypesBuilder::finish`](super::TypesBuilder::finish) adds these.
    #[doc(hidden)]
    Entry {
        /// The type of the key.
        key: TypeNumber,
        /// The type of the value.
        value: TypeNumber,
    },
}

/// A member of a struct.
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: TypeNumber,
    /// Its default, if it is another one than that of its type: bytes that are written over the type's
    /// default. Of text, the bytes of the text, at most 11.
    pub default: Option<Vec<u8>>,
    pub(crate) offset: u32,
}

impl Member {
    /// A member.
    pub fn new(name: impl Into<String>, ty: TypeNumber, default: Option<Vec<u8>>) -> Self {
        Self { name: name.into(), ty, default, offset: 0 }
    }
}

/// A case of a union.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: TypeNumber,
    /// The discriminators that select it.
    pub labels: Vec<i128>,
    /// Whether all others select it.
    pub is_default: bool,
}

/// Why types cannot be described.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TypesError {
    /// A type was announced, and not described.
    #[error("type {0} was announced, and not described")]
    Missing(TypeNumber),
    /// A type contains itself in place.
    #[error("`{0}` contains itself")]
    Endless(String),
    /// A value of a type has no bytes, or more than a region may have.
    #[error("a value of type {0} has no bytes, or more than a region can have")]
    Size(TypeNumber),
    /// A key is neither a number nor text.
    #[error("type {0} has keys that are neither numbers nor text")]
    Key(TypeNumber),
    /// A default does not fit its member.
    #[error("the default of `{0}` does not fit into the member")]
    Default(String),
    /// An appendable struct lies in a place of fixed size.
    #[error("`{0}` can be appended to, and lies in a place of fixed size")]
    Appendable(String),
    /// The root is no struct or union.
    #[error("the root of a region is a struct or a union")]
    Root,
    /// Two appendable structs have the same name.
    #[error("two structs that can be appended to have the name `{0}`")]
    Twin(String),
}

situ_layout::debug_as_text!(TypesError);

/// A type with its layout.
#[derive(Debug, Clone)]
pub(crate) struct Described {
    pub kind: Kind,
    pub size: u32,
    pub align: u32,
    /// Values have links, which change when the value moves.
    pub links: bool,
    /// Values may be copied as bytes: no links, no padding.
    pub dense: bool,
    /// Whether zeroed bytes are a new value.
    pub begins_zero: bool,
    /// Values have, or lead to, shared links.
    pub shares: bool,
    /// Of a set or map, its key or entry.
    pub element: TypeNumber,
    /// Where the value of an optional value, an entry, a shared block or a union lies.
    pub value_at: u32,
}

impl Described {
    /// Where the link to the header lies in a union.
    pub fn region_at(&self) -> u32 {
        match &self.kind {
            Kind::Union { discriminator, .. } if discriminator.size() > 4 => 8,
            _ => 4,
        }
    }
}

/// How values of a type lie in packed images.
#[derive(Debug, Clone)]
pub(crate) struct PackedLayout {
    pub size: u32,
    pub align: u32,
    /// Where the value of an optional value or a union lies, or the link to it.
    pub value_at: u32,
    /// Whether the value of an optional value or a union lies there, and not behind a link.
    pub is_inside: bool,
    /// The places of the members of a struct.
    pub members: Vec<u32>,
}

impl PackedLayout {
    pub fn new(size: u32, align: u32) -> Self {
        Self { size, align, value_at: 0, is_inside: false, members: Vec::new() }
    }
}

/// Described types, and one of them that regions have as their root.
#[derive(Debug, Clone)]
pub struct Types {
    pub(crate) all: Vec<Described>,
    pub(crate) root: TypeNumber,
    pub(crate) schema_hash: u64,
    pub(crate) layout_hash: u64,
    /// The table of versions in images.
    pub(crate) table: Vec<u8>,
    /// How values lie in packed images, by the numbers of their types.
    pub(crate) packed: Vec<PackedLayout>,
    /// The table of versions in packed images.
    pub(crate) packed_table: Vec<u8>,
}

impl Types {
    #[inline]
    pub(crate) fn get(&self, number: TypeNumber) -> &Described {
        &self.all[number as usize]
    }

    /// What a type is.
    pub fn kind(&self, number: TypeNumber) -> Option<&Kind> {
        self.all.get(number as usize).map(|it| &it.kind)
    }

    /// The type of the root.
    pub fn root(&self) -> TypeNumber {
        self.root
    }

    /// The size of values of a type in bytes.
    pub fn size(&self, number: TypeNumber) -> Option<u32> {
        self.all.get(number as usize).map(|it| it.size)
    }

    /// The layout hash of the root.
    pub fn layout_hash(&self) -> u64 {
        self.layout_hash
    }
}

impl Types {
    /// The size of values of a type in packed images.
    pub(crate) fn packed_size(&self, number: TypeNumber) -> u32 {
        self.packed[number as usize].size
    }

    /// The text for a type in a line of the layout.
    pub(crate) fn kind_text(&self, number: TypeNumber) -> String {
        let lookup = |of: Lookup, what: &str| match of {
            Lookup::Sorted => format!("flat_{what}"),
            Lookup::Hash => format!("hash_{what}"),
            Lookup::Ordered => format!("ordered_{what}"),
        };
        match &self.get(number).kind {
            Kind::Scalar { of, .. } => of.kind().to_owned(),
            Kind::Text => "string".to_owned(),
            Kind::Array { count, .. } => format!("array[{count}]"),
            Kind::Struct { name, .. } | Kind::Union { name, .. } => name.clone(),
            Kind::Vector { .. } => "vector".to_owned(),
            Kind::Set { lookup: of, .. } => lookup(*of, "set"),
            Kind::Map { lookup: of, .. } => lookup(*of, "map"),
            Kind::Optional { .. } => "optional".to_owned(),
            Kind::Unique { .. } => "unique".to_owned(),
            Kind::Shared { .. } => "shared".to_owned(),
            Kind::Entry { .. } => "entry".to_owned(),
        }
    }
}
