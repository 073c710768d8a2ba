//! Types of members for checkers: what reading a member gives, and what may be assigned to it.
//!
//! What Python returns for a sequence depends on the storage of the message. A list, a view in a flat message
//! and a view in a region can all be indexed and iterated; only a list can be appended to. Of a type that has
//! several storages, checkers see what all of them have.

use std::collections::{BTreeMap, BTreeSet};

use super::modules::Module;
use super::names::{Names, all_members, operations};
use crate::model::{Kind, Primitive, Type, TypeId};

/// The words that the types of one file are written with.
pub struct Words<'a, 's> {
    pub names: &'a Names<'s>,
    /// The module of the file.
    pub scope: &'a str,
    /// Whether the file has a name such as `int`, so that the builtin one needs its module.
    has_builtin: bool,
    /// Classes that have the name of a member, and so need another one within classes: that one.
    pub shadowed: BTreeMap<String, String>,
}

/// The builtin names that types use.
const BUILTINS: &[&str] = &["bool", "float", "int", "list", "property", "str"];

/// What a member is for a checker.
pub struct Seen {
    /// The type of its value.
    pub read: String,
    /// The type of what may be assigned.
    pub written: String,
}

impl Seen {
    pub fn same(text: impl Into<String>) -> Self {
        let read = text.into();
        Self { written: read.clone(), read }
    }

    fn of(read: impl Into<String>, written: impl Into<String>) -> Self {
        Self { read: read.into(), written: written.into() }
    }

    /// How a class declares a member.
    pub fn field(&self) -> String {
        let Self { read, written } = self;
        if read == written { read.clone() } else { format!("_generated.Field[{read}, {written}]") }
    }
}

/// Which storages messages of a struct can have.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Storage {
    /// Serialized only.
    Heap,
    /// Also flat.
    Flat,
    /// Also regions.
    Region,
}

impl Storage {
    /// The storages of a struct.
    pub fn of(names: &Names<'_>, id: TypeId) -> Self {
        let schema = names.schema;
        match schema.definition(id).kind.as_struct() {
            _ if schema.is_flattable(id) => Self::Flat,
            Some(it) if it.region => Self::Region,
            _ => Self::Heap,
        }
    }

    /// The storages of a union.
    pub fn of_union(names: &Names<'_>, id: TypeId) -> Self {
        if names.schema.is_flattable(id) { Self::Flat } else { Self::Heap }
    }
}

impl<'a, 's> Words<'a, 's> {
    pub fn new(names: &'a Names<'s>, scope: &'a str, module: &Module<'s>) -> Self {
        let schema = names.schema;
        let structs = module.types.iter().filter(|(_, it)| it.kind.as_struct().is_some());
        let members: BTreeSet<&str> = structs
            .flat_map(|(id, _)| {
                let constants = schema.constants_of(*id).map(|it| it.name.simple());
                all_members(schema, *id).into_iter().map(|it| it.name.as_str()).chain(constants)
            })
            .collect();
        let operations: Vec<String> =
            module.interfaces.iter().flat_map(|it| operations(it).names()).collect();
        let members: BTreeSet<&str> =
            members.into_iter().chain(operations.iter().map(String::as_str)).collect();
        let classes: Vec<&str> = module.types.iter().filter_map(|(id, _)| names.class(*id)).collect();
        let has_builtin = classes.iter().chain(&members).any(|it| BUILTINS.contains(it))
            || module.others().any(|it| BUILTINS.contains(&it.simple()));
        let mut own = names.private_scope();
        let shadowed = classes.into_iter().filter(|it| members.contains(it));
        let shadowed = shadowed.map(|it| (it.to_owned(), own.made(format!("_{it}")))).collect();
        Self { names, scope, has_builtin, shadowed }
    }

    /// Whether the file needs the module of the builtin names.
    pub fn needs_builtins(&self) -> bool {
        self.has_builtin
    }

    pub fn builtin(&self, name: &str) -> String {
        if self.has_builtin { format!("_builtins.{name}") } else { name.to_owned() }
    }

    /// The class of a type, as an annotation within a class.
    fn class(&self, id: TypeId) -> String {
        match self.names.class_in(self.scope, id) {
            Some(class) => self.shadowed.get(&class).cloned().unwrap_or(class),
            None => "_t.Any".to_owned(),
        }
    }

    /// A value of a type.
    pub fn value(&self, ty: &Type, storage: Storage) -> Seen {
        let schema = self.names.schema;
        if let Some((element, dimensions)) = schema.array(ty) {
            if let Some(array) = self.array(element) {
                return array;
            }
            // Lists of lists, or a structured array.
            if dimensions.len() > 1 || (self.is_record(element) && storage == Storage::Flat) {
                return Seen::same("_t.Any");
            }
            return self.list(element, storage);
        }
        match schema.resolve(ty) {
            Type::Primitive(Primitive::Bool) => Seen::same(self.builtin("bool")),
            Type::Primitive(Primitive::Char8 | Primitive::WChar) => Seen::same(self.builtin("str")),
            Type::Primitive(it) if it.is_float() => Seen::same(self.builtin("float")),
            Type::Primitive(_) => Seen::same(self.builtin("int")),
            Type::String { .. } | Type::WString { .. } => Seen::same(self.builtin("str")),
            Type::Sequence { element, .. } => self.sequence(element, storage),
            Type::Map { key, value, .. } => {
                let (key, value) = (self.value(key, storage), self.value(value, storage));
                let kind = match storage {
                    Storage::Heap => "_t.Dict",
                    Storage::Flat => "_t.Mapping",
                    // In loans they can be changed.
                    Storage::Region => "_t.MutableMapping",
                };
                Seen::of(
                    format!("{kind}[{}, {}]", key.read, value.read),
                    format!("_t.Mapping[{}, {}]", self.key(&key.written), value.written),
                )
            }
            Type::Array { .. } => Seen::same("_t.Any"),
            Type::Named(id) => {
                let class = self.class(*id);
                let (int, str) = (self.builtin("int"), self.builtin("str"));
                match &schema.definition(*id).kind {
                    Kind::Enum(_) => Seen::of(&class, format!("_t.Union[{class}, {int}, {str}]")),
                    Kind::Bitmask(_) => Seen::of(&class, format!("_t.Union[{class}, {int}]")),
                    Kind::Struct(_) => {
                        Seen::of(&class, format!("_t.Union[{class}, _t.Mapping[{str}, _t.Any]]"))
                    }
                    Kind::Union(_) => Seen::of(
                        &class,
                        format!("_t.Union[{class}, _t.Tuple[{str}, _t.Any], _t.Mapping[{str}, _t.Any]]"),
                    ),
                    Kind::Alias(inner) => self.value(inner, storage),
                }
            }
        }
    }

    /// Keys of a mapping do not vary, so an enumerator is written as any key.
    fn key(&self, written: &str) -> String {
        if written.starts_with("_t.Union") { "_t.Any".to_owned() } else { written.to_owned() }
    }

    fn sequence(&self, element: &Type, storage: Storage) -> Seen {
        let schema = self.names.schema;
        let innermost = schema.array(element).map_or(element, |(inner, _)| inner);
        if let Some(array) = self.array(innermost) {
            return array;
        }
        if self.is_record(innermost) && storage == Storage::Flat {
            return Seen::same("_t.Any");
        }
        self.list(element, storage)
    }

    /// A sequence whose elements are objects of Python.
    fn list(&self, element: &Type, storage: Storage) -> Seen {
        let element = self.value(element, storage);
        let kind = match storage {
            Storage::Heap => "_t.List",
            Storage::Flat => "_situ.ListView",
            Storage::Region => "_t.MutableSequence",
        };
        Seen::of(format!("{kind}[{}]", element.read), format!("_t.Iterable[{}]", element.written))
    }

    /// An array of numpy, if the elements are numbers.
    fn array(&self, element: &Type) -> Option<Seen> {
        let schema = self.names.schema;
        let primitive = match schema.resolve(element) {
            Type::Primitive(it) => *it,
            Type::Named(id) => match &schema.definition(*id).kind {
                Kind::Enum(_) => Primitive::I32,
                Kind::Bitmask(it) => it.storage(),
                _ => return None,
            },
            _ => return None,
        };
        let name = match primitive {
            Primitive::Bool => "BoolArray",
            Primitive::I8 => "Int8Array",
            Primitive::U8 | Primitive::Char8 => "UInt8Array",
            Primitive::I16 => "Int16Array",
            Primitive::U16 | Primitive::WChar => "UInt16Array",
            Primitive::I32 => "Int32Array",
            Primitive::U32 => "UInt32Array",
            Primitive::I64 => "Int64Array",
            Primitive::U64 => "UInt64Array",
            Primitive::F32 => "Float32Array",
            Primitive::F64 => "Float64Array",
        };
        Some(Seen::of(format!("_generated.{name}"), "_generated.ArrayLike"))
    }

    /// Whether elements are structs of numbers, which flat messages show as a structured array.
    fn is_record(&self, element: &Type) -> bool {
        self.names.schema.as_struct(element).is_some() && self.names.schema.is_plain(element)
    }

    /// A member.
    pub fn member(&self, member: &crate::model::Member, storage: Storage) -> Seen {
        let Seen { read, written } = self.value(&member.ty, storage);
        if member.optional && read != "_t.Any" {
            return Seen::of(format!("_t.Optional[{read}]"), format!("_t.Optional[{written}]"));
        }
        Seen { read, written }
    }
}
