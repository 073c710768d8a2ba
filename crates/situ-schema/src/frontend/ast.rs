//! The syntax tree that front ends give to the resolver: declarations with their positions, names not
//! resolved yet.

use crate::model::{Extensibility, Primitive};
use crate::source::Span;

/// A word with its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ident {
    pub text: String,
    pub span: Span,
}

/// A name such as `a::b::C` or `::a::b::C`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ScopedName {
    pub absolute: bool,
    pub parts: Vec<String>,
    pub span: Span,
}

impl ScopedName {
    pub fn text(&self) -> String {
        let joined = self.parts.join("::");
        if self.absolute { format!("::{joined}") } else { joined }
    }
}

/// A type as it is written.
#[derive(Debug, Clone)]
pub(crate) struct TypeRef {
    pub kind: TypeRefKind,
    pub span: Span,
}

#[derive(Debug, Clone)]
pub(crate) enum TypeRefKind {
    Primitive(Primitive),
    String {
        wide: bool,
        bound: Option<Expr>,
    },
    Sequence {
        element: Box<TypeRef>,
        bound: Option<Expr>,
    },
    Array {
        element: Box<TypeRef>,
        dimensions: Vec<Expr>,
    },
    Map {
        key: Box<TypeRef>,
        value: Box<TypeRef>,
        bound: Option<Expr>,
    },
    Named(ScopedName),
    /// A name in `raises (…)`: that of an exception.
    Exception(ScopedName),
}

/// A constant expression.
#[derive(Debug, Clone)]
pub(crate) struct Expr {
    pub kind: ExprKind,
    pub span: Span,
}

#[derive(Debug, Clone)]
pub(crate) enum ExprKind {
    Integer(i128),
    Float(f64),
    Bool(bool),
    Char(char),
    String(String),
    Name(ScopedName),
    List(Vec<Expr>),
    Unary(char, Box<Expr>),
    Binary(BinaryOperator, Box<Expr>, Box<Expr>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BinaryOperator {
    Or,
    Xor,
    And,
    ShiftLeft,
    ShiftRight,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

/// An annotation: `@name(value)` or `@name(parameter = value, …)`.
#[derive(Debug, Clone)]
pub(crate) struct Annotation {
    pub name: String,
    pub span: Span,
    pub parameters: Vec<Parameter>,
}

#[derive(Debug, Clone)]
pub(crate) struct Parameter {
    pub name: Option<Ident>,
    pub value: Expr,
    /// The text of the value as it was written.
    pub text: String,
}

impl Annotation {
    /// The parameter with this name, or the only one if it has no name.
    pub fn parameter(&self, name: &str) -> Option<&Expr> {
        let named = self.parameters.iter().find(|it| it.name.as_ref().is_some_and(|it| it.text == name));
        let unnamed = || match self.parameters.as_slice() {
            [only] if only.name.is_none() => Some(only),
            _ => None,
        };
        named.or_else(unnamed).map(|it| &it.value)
    }
}

/// Docs and annotations in front of a declaration.
#[derive(Debug, Clone, Default)]
pub(crate) struct Prefix {
    pub docs: String,
    pub annotations: Vec<Annotation>,
}

/// A declaration and the modules in which it stands.
#[derive(Debug, Clone)]
pub(crate) struct Declaration {
    pub scope: Vec<String>,
    pub name: Ident,
    pub prefix: Prefix,
    pub kind: DeclarationKind,
}

#[derive(Debug, Clone)]
pub(crate) enum DeclarationKind {
    Struct(StructDeclaration),
    Union(UnionDeclaration),
    Enum(Vec<Entry>),
    Bitmask(Vec<Entry>),
    Alias(TypeRef),
    Constant {
        ty: TypeRef,
        value: Expr,
    },
    /// `struct X;`, `union X;`, `interface X;`: a forward declaration.
    Forward,
    /// The name of an interface. Its operations are declarations of their own.
    Interface {
        bases: Vec<ScopedName>,
    },
    /// An operation of an interface: the names of its structs, and the modules in which they are. They are
    /// beside the interface, or beside the base from which it has the operation. If it raises exceptions, its
    /// response holds a union of what it gives and of them.
    Service {
        interface: String,
        operation: String,
        request: String,
        response: String,
        raises: bool,
        modules: Vec<String>,
    },
}

#[derive(Debug, Clone, Default)]
pub(crate) struct StructDeclaration {
    pub base: Option<ScopedName>,
    pub members: Vec<MemberDeclaration>,
    /// Set by front ends that have no annotations.
    pub extensibility: Option<Extensibility>,
    /// Whether it is an exception, which operations may raise.
    pub is_exception: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct MemberDeclaration {
    pub name: Ident,
    pub ty: TypeRef,
    pub prefix: Prefix,
    /// Set by front ends that have no annotations.
    pub default: Option<Expr>,
    /// Set by front ends that have no annotations.
    pub unit: Option<String>,
}

#[derive(Debug, Clone)]
pub(crate) struct UnionDeclaration {
    pub discriminator: TypeRef,
    pub cases: Vec<CaseDeclaration>,
}

#[derive(Debug, Clone)]
pub(crate) struct CaseDeclaration {
    /// `None` stands for `default`.
    pub labels: Vec<(Option<Expr>, Span)>,
    pub member: MemberDeclaration,
}

/// An enumerator or a flag.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub name: Ident,
    pub prefix: Prefix,
}

/// What an overlay file adds to one struct of an interface file.
#[derive(Debug, Clone)]
pub(crate) struct OverlayStruct {
    pub name: Ident,
    pub prefix: Prefix,
    pub members: Vec<OverlayMember>,
}

/// What an overlay file adds to one member.
#[derive(Debug, Clone)]
pub(crate) struct OverlayMember {
    pub name: Ident,
    pub prefix: Prefix,
    /// The member's type with bounds that the interface file does not set.
    pub ty: Option<TypeRef>,
}
