//! How types and values are written in Rust.

use super::Generator;
use super::names::{self, Scope};
use super::writer::CodeWriter;
use crate::Schema;
use crate::model::{Kind, Link, Literal, Member, Primitive, Type, TypeId};

/// What a type asks of the storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dependence {
    /// Nothing: it is the same in all storages.
    None,
    /// Any storage will do.
    Storage,
    /// It needs room for members without a bound.
    Unbounded,
}

/// What `ty` asks of the storage.
pub fn storage(schema: &Schema, ty: &Type) -> Dependence {
    let bounded = |bound: &Option<u32>| match bound {
        Some(_) => Dependence::Storage,
        None => Dependence::Unbounded,
    };
    match ty {
        Type::Primitive(_) => Dependence::None,
        Type::String { bound } | Type::WString { bound } => bounded(bound),
        Type::Sequence { element, bound } => bounded(bound).max(storage(schema, element)),
        Type::Array { element, .. } => storage(schema, element),
        Type::Map { key, value, bound } => {
            bounded(bound).max(storage(schema, key)).max(storage(schema, value))
        }
        Type::Named(id) => storage_of(schema, *id),
    }
}

/// What a definition asks of the storage.
pub fn storage_of(schema: &Schema, id: TypeId) -> Dependence {
    if schema.is_recursive(id) {
        return Dependence::Unbounded;
    }
    let member = |member: &Member| match member {
        Member { link: Link::Weak, .. } => Dependence::Unbounded,
        Member { bulk: true, .. } => Dependence::Storage,
        Member { optional: true, .. } => Dependence::Storage.max(storage(schema, &member.ty)),
        _ => storage(schema, &member.ty),
    };
    let dependence = match &schema.definition(id).kind {
        Kind::Struct(it) => {
            let base = it.base.map_or(Dependence::None, |base| storage_of(schema, base));
            it.members.iter().map(member).fold(base, Dependence::max)
        }
        Kind::Union(it) => {
            it.cases.iter().map(|case| member(&case.member)).fold(Dependence::None, Dependence::max)
        }
        Kind::Enum(_) | Kind::Bitmask(_) => Dependence::None,
        Kind::Alias(ty) => storage(schema, ty),
    };
    // What cannot be flat for another reason, such as its size, is stored as if it had no bound.
    match dependence {
        Dependence::Storage if !schema.is_flattable(id) => Dependence::Unbounded,
        other => other,
    }
}

/// Whether a type names one that contains itself.
fn holds_recursive(schema: &Schema, ty: &Type) -> bool {
    match schema.resolve(ty) {
        Type::Sequence { element, .. } | Type::Array { element, .. } => holds_recursive(schema, element),
        Type::Map { value, .. } => holds_recursive(schema, value),
        Type::Named(id) => schema.is_recursive(*id),
        Type::Primitive(_) | Type::String { .. } | Type::WString { .. } => false,
    }
}

/// Whether a definition is a message of ROS, by its name and its members: one that has a C struct.
pub fn is_of_ros(schema: &Schema, id: TypeId) -> bool {
    let Kind::Struct(it) = &schema.definition(id).kind else { return false };
    super::rclrs::parts(schema.name(id)).is_some()
        && it.base.is_none()
        && !schema.is_recursive(id)
        && it.members.iter().all(|member| !member.optional && is_in_ros(schema, &member.ty))
}

/// Whether a type can be that of a member of a message of ROS.
fn is_in_ros(schema: &Schema, ty: &Type) -> bool {
    match ty {
        Type::Primitive(_) | Type::String { .. } | Type::WString { .. } => true,
        Type::Sequence { element, .. } | Type::Array { element, .. } => is_in_ros(schema, element),
        Type::Map { .. } => false,
        Type::Named(id) => match &schema.definition(*id).kind {
            Kind::Alias(ty) => is_in_ros(schema, ty),
            Kind::Enum(_) | Kind::Bitmask(_) => true,
            Kind::Struct(_) => is_of_ros(schema, *id),
            Kind::Union(_) => false,
        },
    }
}

/// The Rust type of a primitive.
pub fn primitive(of: Primitive) -> &'static str {
    match of {
        Primitive::Bool => "bool",
        Primitive::I8 => "i8",
        Primitive::U8 | Primitive::Char8 => "u8",
        Primitive::I16 => "i16",
        Primitive::U16 | Primitive::WChar => "u16",
        Primitive::I32 => "i32",
        Primitive::U32 => "u32",
        Primitive::I64 => "i64",
        Primitive::U64 => "u64",
        Primitive::F32 => "f32",
        Primitive::F64 => "f64",
    }
}

/// A floating-point number as a literal.
fn float(value: f64, of: Primitive) -> String {
    let ty = primitive(of);
    if value.is_nan() {
        format!("{ty}::NAN")
    } else if value.is_infinite() {
        format!("{ty}::{}INFINITY", if value < 0.0 { "NEG_" } else { "" })
    } else if of == Primitive::F32 {
        format!("{:?}", value as f32)
    } else {
        format!("{value:?}")
    }
}

impl Generator<'_> {
    /// A type, where the storage is called `S` and its traits are known.
    pub fn spell(&self, scope: &Scope, ty: &Type) -> String {
        self.spell_in(scope, ty, self.storage, self.storage)
    }

    /// A type, where nothing is known of `S`.
    pub fn explicit(&self, scope: &Scope, ty: &Type) -> String {
        let of = |name: &str| format!("<{} as {}>", self.storage, self.layout(name));
        self.spell_in(scope, ty, &of("Storage"), &of("Unbounded"))
    }

    /// A type; `storage` and `unbounded` are what the containers are looked for in.
    fn spell_in(&self, scope: &Scope, ty: &Type, storage: &str, unbounded: &str) -> String {
        let inner = |ty: &Type| self.spell_in(scope, ty, storage, unbounded);
        // The type of a container's elements. An element with a `Held` type is named by it, and the
        // container's name then ends in `Of`.
        let content = |ty: &Type| match self.held(scope, ty) {
            Some(held) => ("Of", held),
            None => ("", inner(ty)),
        };
        let text = |what: &str, bound: &Option<u32>| match bound {
            Some(bound) => format!("{storage}::{what}<{bound}>"),
            None => format!("{unbounded}::Unbounded{what}"),
        };
        match ty {
            Type::Primitive(of) => primitive(*of).to_owned(),
            Type::String { bound } => text("String", bound),
            Type::WString { bound } => text("WString", bound),
            Type::Sequence { element, bound } => {
                let (of, what) = content(element);
                match bound {
                    Some(bound) if of.is_empty() => format!("{storage}::Sequence<{what}, {bound}>"),
                    Some(bound) => format!("{unbounded}::Sequence{of}<{what}, {bound}>"),
                    None => format!("{unbounded}::UnboundedSequence{of}<{what}>"),
                }
            }
            Type::Array { element, dimensions } => {
                dimensions.iter().rev().fold(inner(element), |inner, length| format!("[{inner}; {length}]"))
            }
            Type::Map { key, value, bound } => {
                let (key, (of, what)) =
                    (self.ordered(self.schema.resolve(key)).unwrap_or_else(|| inner(key)), content(value));
                match bound {
                    Some(bound) if of.is_empty() => format!("{storage}::Map<{key}, {what}, {bound}>"),
                    Some(bound) => format!("{unbounded}::Map{of}<{key}, {what}, {bound}>"),
                    None => format!("{unbounded}::UnboundedMap{of}<{key}, {what}>"),
                }
            }
            Type::Named(id) => {
                let path = scope.path(self.schema.name(*id));
                match storage_of(self.schema, *id) {
                    Dependence::None => path,
                    _ => format!("{path}<{}>", self.storage),
                }
            }
        }
    }

    /// The type of a map's floating-point keys. Others are ordered as they are.
    fn ordered(&self, key: &Type) -> Option<String> {
        match key {
            Type::Primitive(of @ (Primitive::F32 | Primitive::F64)) => {
                Some(format!("{}<{}>", self.layout("TotalOrder"), primitive(*of)))
            }
            _ => None,
        }
    }

    /// The type of a map's keys.
    pub fn spell_key(&self, scope: &Scope, key: &Type) -> String {
        self.ordered(self.schema.resolve(key)).unwrap_or_else(|| self.spell(scope, key))
    }

    /// The type of a member, bulk and optional ones included.
    pub fn spell_member(&self, scope: &Scope, member: &Member) -> String {
        match self.bulk_of(scope, member) {
            Some((element, bound)) => format!("{}::Bulk<{element}, {bound}>", self.storage),
            None if member.optional => match self.held(scope, &member.ty) {
                Some(held) => format!("{}::OptionalOf<{held}>", self.storage),
                None => format!("{}::Optional<{}>", self.storage, self.spell(scope, &member.ty)),
            },
            None => self.spell(scope, &member.ty),
        }
    }

    /// The path of the type that stands for `ty` as an element of a container. Containers and arrays of types
    /// that contain themselves have one (see `situ::layout::Held`).
    fn held(&self, scope: &Scope, ty: &Type) -> Option<String> {
        let ty = self.schema.resolve(ty);
        if matches!(ty, Type::Named(_)) || !holds_recursive(self.schema, ty) {
            return None;
        }
        let mut held = self.held.borrow_mut();
        let index = held.iter().position(|it| it == ty).unwrap_or_else(|| {
            held.push(ty.clone());
            held.len() - 1
        });
        Some(scope.held(index))
    }

    /// The types that name what containers of recursive types hold.
    pub fn held_types(&self, code: &mut CodeWriter) {
        if self.held.borrow().is_empty() {
            return;
        }
        code.gap();
        code.line("/// Names for what containers of types that contain themselves hold.");
        code.block(format!("mod {}", names::HELD), |code| {
            let scope = &mut Scope::root(self.names);
            scope.enter(names::HELD);
            let get = |index: usize| self.held.borrow().get(index).cloned();
            // To write one may need another.
            let mut index = 0;
            while let Some(ty) = get(index) {
                code.gap();
                code.line(format!("pub enum {} {{}}", names::held(index)));
                code.gap();
                let (storage, held) = (self.storage, self.layout("Held"));
                let head = format!(
                    "impl<{storage}: {}> {held}<{storage}> for {}",
                    self.layout("Unbounded"),
                    names::held(index)
                );
                code.block(head, |code| code.assign("type Type", &self.spell(scope, &ty), ";"));
                index += 1;
            }
        });
    }

    /// The element and the bound of a bulk member.
    pub fn bulk_of(&self, scope: &Scope, member: &Member) -> Option<(String, String)> {
        match self.schema.resolve(&member.ty) {
            Type::Sequence { element, bound } if member.bulk => {
                let unbounded = || format!("{{ {} }}", self.layout("UNBOUNDED"));
                Some((self.spell(scope, element), bound.map_or_else(unbounded, |it| it.to_string())))
            }
            _ => None,
        }
    }

    /// The type of a constant.
    pub fn constant_type(&self, scope: &Scope, ty: &Type) -> String {
        match self.schema.resolve(ty) {
            Type::String { .. } | Type::WString { .. } => "&str".into(),
            other => self.spell(scope, other),
        }
    }

    /// A value of this type.
    pub fn literal(&self, scope: &Scope, ty: &Type, literal: &Literal) -> String {
        let ty = self.schema.resolve(ty);
        match literal {
            Literal::Bool(value) => value.to_string(),
            Literal::Integer(value) => match ty {
                Type::Named(id) => format!("{}({value})", scope.path(self.schema.name(*id))),
                _ => value.to_string(),
            },
            Literal::Float(value) => match ty {
                Type::Primitive(of) => float(*value, *of),
                _ => float(*value, Primitive::F64),
            },
            Literal::String(text) => format!("{text:?}"),
            Literal::Enumerator { of, .. } => {
                let name = self.schema.enumerator_of(literal).map_or("", |it| it.name.as_str());
                format!("{}::{}", scope.path(self.schema.name(*of)), self.enumerators(*of).get(name))
            }
            Literal::List(_) => {
                format!("[{}]", self.literals(scope, ty, literal).unwrap_or_default().join(", "))
            }
        }
    }

    /// The elements of a list.
    pub fn literals(&self, scope: &Scope, ty: &Type, literal: &Literal) -> Option<Vec<String>> {
        let ty = self.schema.resolve(ty);
        let Literal::List(elements) = literal else { return None };
        let element = match ty {
            Type::Sequence { element, .. } | Type::Array { element, .. } => element,
            _ => ty,
        };
        Some(elements.iter().map(|value| self.literal(scope, element, value)).collect())
    }

    /// The default of a member, if it is another than its type's.
    pub fn default(&self, scope: &Scope, member: &Member) -> Option<String> {
        let default = member.default.as_ref()?;
        if member.optional || member.bulk || self.schema.zero(&member.ty).as_ref() == Some(default) {
            return None;
        }
        Some(self.literal(scope, &member.ty, default))
    }
}
