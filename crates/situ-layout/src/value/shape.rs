//! The properties of types and members that encodings need before they see a value.

/// How a type may change over time, which decides how CDR encodes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Extensibility {
    /// The type never changes.
    Final,
    /// Members may be added at the end.
    Appendable,
    /// Members may be added, removed and reordered.
    Mutable,
}

/// The schema's properties of a member of a structure or a case of a union.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberInfo {
    /// The name in the schema.
    pub name: &'static str,
    /// The member id.
    pub id: u32,
    /// Whether the member is part of the key.
    pub key: bool,
    /// Whether the member may be absent.
    pub optional: bool,
    /// Whether a reader that does not know the member must refuse the message.
    pub must_understand: bool,
    /// Whether the member lies in the body of a flat message.
    pub bulk: bool,
}

impl MemberInfo {
    /// No member.
    pub const NONE: Self = Self::new("", 0);

    /// An ordinary member.
    pub const fn new(name: &'static str, id: u32) -> Self {
        Self { name, id, key: false, optional: false, must_understand: false, bulk: false }
    }

    /// Marks the member as part of the key.
    #[must_use]
    pub const fn key(mut self) -> Self {
        self.key = true;
        self
    }

    /// Marks the member as one that may be absent.
    #[must_use]
    pub const fn optional(mut self) -> Self {
        self.optional = true;
        self
    }

    /// Marks the member as one for which a reader that does not know it must refuse the message.
    #[must_use]
    pub const fn must_understand(mut self) -> Self {
        self.must_understand = true;
        self
    }

    /// Marks the member as one that lies in the body of a flat message.
    #[must_use]
    pub const fn bulk(mut self) -> Self {
        self.bulk = true;
        self
    }
}

/// The schema's properties of a structure or a union.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TypeInfo {
    /// The fully qualified name in the schema.
    pub name: &'static str,
    /// How the type may change.
    pub extensibility: Extensibility,
    /// The members, those of the bases first; of a union, the cases.
    pub members: &'static [MemberInfo],
}

/// The innermost element of a value. The element of an array is that of its elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// An integer, a floating-point number or a character.
    Number,
    /// A boolean.
    Boolean,
    /// An enum or a bitmask.
    Enumerated,
    /// Anything else.
    Other,
}

/// The properties of a type that encodings need before they see a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Whether the type is an array.
    pub is_array: bool,
    /// The innermost element.
    pub element: Element,
    /// The size of the innermost element in bytes; 0 if it is [`Element::Other`].
    pub size: usize,
}

impl Shape {
    /// Any type that is not made of numbers.
    pub const OTHER: Self = Self { is_array: false, element: Element::Other, size: 0 };

    /// A type that is one element.
    pub const fn one(element: Element, size: usize) -> Self {
        Self { is_array: false, element, size }
    }

    /// An array of this type.
    #[must_use]
    pub const fn array(self) -> Self {
        Self { is_array: true, ..self }
    }

    /// Whether the innermost element is a number or a boolean, which CDR calls primitive.
    pub const fn is_made_of_primitives(self) -> bool {
        matches!(self.element, Element::Number | Element::Boolean)
    }

    /// Whether the type itself is a number or a boolean.
    pub const fn is_primitive(self) -> bool {
        !self.is_array && self.is_made_of_primitives()
    }
}
