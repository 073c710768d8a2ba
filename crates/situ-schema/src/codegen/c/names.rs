//! Names in C. C has no namespaces: `robot::Pose` is `robot_Pose`, and what belongs to it begins with that.

use std::collections::{HashMap, HashSet};
use std::ops::Deref;

use crate::Schema;
use crate::codegen::cpp::names::owner;
use crate::codegen::cpp::words::{is_compilers, is_global, is_reserved, is_word};
use crate::codegen::naming;
use crate::layout::flat::BulkField;
use crate::model::{Case, Constant, Kind, Member, Primitive, Type, TypeId, Union};

/// Words and macros of C that C++ does not have, in alphabetical order.
const C_WORDS: &[&str] = &[
    "I",
    "complex",
    "imaginary",
    "kill_dependency",
    "linux",
    "noreturn",
    "restrict",
    "typeof_unqual",
    "unix",
];

/// Variables and parameters of generated functions, in alphabetical order. No type may hide them.
const VARIABLES: &[&str] = &[
    "bulk",
    "count",
    "end",
    "error",
    "it",
    "lengths",
    "loan",
    "message",
    "number",
    "problem",
    "publisher",
    "sample",
    "status",
    "subscriber",
    "type",
    "value",
];

/// Types of numbers in generated structs, in alphabetical order. In C++, a member with such a name would hide
/// the type from the members behind it.
const NUMBERS: &[&str] =
    &["int16_t", "int32_t", "int64_t", "int8_t", "uint16_t", "uint32_t", "uint64_t", "uint8_t"];

/// What belongs to every struct.
const STRUCT_ENDS: &[&str] = &["", "_bulk_lengths", "_check", "_init", "_loan", "_publish", "_take", "_type"];

/// What belongs to every union.
const UNION_ENDS: &[&str] = &["", "_check", "_init"];

/// Whether `situ.h` or `situ/message.h` may have this name: small letters after `situ_`, capitals after
/// `SITU_`.
fn is_librarys(name: &str) -> bool {
    let is_like = |start: &str, is_other: fn(char) -> bool| {
        name.strip_prefix(start)
            .is_some_and(|it| !it.contains(is_other) && !it.contains("__") && !it.ends_with('_'))
    };
    is_like("situ_", |it| it.is_ascii_uppercase()) || is_like("SITU_", |it| it.is_ascii_lowercase())
}

fn is_taken(name: &str) -> bool {
    is_word(name)
        || is_global(name)
        || is_librarys(name)
        || C_WORDS.contains(&name)
        || VARIABLES.contains(&name)
}

/// Whether no member of a struct may have this name.
fn is_no_member(name: &str) -> bool {
    is_reserved(name) || C_WORDS.contains(&name) || NUMBERS.contains(&name)
}

/// Reserves names that share a stem, with as many underscores behind the stem as they need.
fn stem(taken: &mut HashSet<String>, mut stem: String, ends: &[String]) -> String {
    let is_free = |stem: &str| {
        let is_compilers = is_compilers(stem) && !stem.ends_with('_');
        !is_compilers
            && ends.iter().map(|end| format!("{stem}{end}")).all(|it| !taken.contains(&it) && !is_taken(&it))
    };
    while !is_free(&stem) {
        stem.push('_');
    }
    taken.extend(ends.iter().map(|end| format!("{stem}{end}")));
    stem
}

/// A schema, and the C names of everything in it.
pub struct Named<'a> {
    schema: &'a Schema,
    types: HashMap<TypeId, String>,
    constants: HashMap<&'a str, String>,
}

impl Deref for Named<'_> {
    type Target = Schema;

    fn deref(&self) -> &Schema {
        self.schema
    }
}

impl<'a> Named<'a> {
    /// Names everything in the schema: what stands in no module first, then in the order of declaration.
    pub fn new(schema: &'a Schema) -> Self {
        let mut taken = HashSet::new();
        let mut named = Self { schema, types: HashMap::new(), constants: HashMap::new() };
        for is_bare in [true, false] {
            for (id, definition) in schema.definitions() {
                if definition.name.scope().is_empty() == is_bare {
                    let wanted = definition.name.as_str().replace("::", "_");
                    let called = stem(&mut taken, wanted, &named.ends(id));
                    named.types.insert(id, called);
                }
            }
            for constant in schema.constants() {
                let name = constant.name.as_str();
                if constant.name.scope().is_empty() == is_bare {
                    let wanted = match owner(schema, constant) {
                        Some(id) => format!("{}::{}", schema.name(id), constant.name.simple()),
                        None => name.to_owned(),
                    };
                    let called = stem(&mut taken, wanted.replace("::", "_"), &[String::new()]);
                    named.constants.insert(name, called);
                }
            }
        }
        named
    }

    /// What follows the name of a type in the names that belong to it.
    fn ends(&self, id: TypeId) -> Vec<String> {
        let own = |ends: &[&str]| ends.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
        match &self.schema.definition(id).kind {
            Kind::Struct(_) => {
                let accessors = accessors(&self.schema.bulk_fields(id));
                let accessors = accessors.into_iter().flat_map(|it| [format!("{it}_mut"), it]);
                own(STRUCT_ENDS).into_iter().chain(accessors).collect()
            }
            Kind::Union(it) => {
                own(UNION_ENDS).into_iter().chain(labels(it).into_iter().map(|(end, _)| end)).collect()
            }
            Kind::Enum(it) => own(&[""])
                .into_iter()
                .chain(it.enumerators.iter().map(|it| format!("_{}", it.name)))
                .collect(),
            Kind::Bitmask(it) => {
                own(&[""]).into_iter().chain(it.flags.iter().map(|it| format!("_{}", it.name))).collect()
            }
            Kind::Alias(_) => own(&[""]),
        }
    }

    /// The name of a type.
    pub fn type_name(&self, id: TypeId) -> &str {
        self.types.get(&id).map_or("", String::as_str)
    }

    /// The name of a constant.
    pub fn constant(&self, constant: &Constant) -> &str {
        self.constants.get(constant.name.as_str()).map_or("", String::as_str)
    }

    /// The names of the members of a struct, or of the cases of a union.
    pub fn members<'s>(&'s self, id: TypeId) -> Members<'s> {
        let (members, has_base): (Vec<&Member>, bool) = match &self.schema.definition(id).kind {
            Kind::Struct(it) => (it.members.iter().collect(), it.base.is_some()),
            Kind::Union(it) => (it.cases.iter().map(|it| &it.member).collect(), false),
            _ => (Vec::new(), false),
        };
        let is_reserved = |name: &str| {
            is_no_member(name) || has_base && name == "base" || self.types.values().any(|it| it == name)
        };
        Members(naming::Scope::of(members.into_iter().map(|it| it.name.as_str()), is_reserved))
    }
}

/// The constants of a union's discriminator: the ends of their names, and their values. A case that several
/// values select has none, and neither have values that are characters, booleans, or enumerators.
pub fn labels(union: &Union) -> Vec<(String, i32)> {
    use Primitive::{Bool, Char8, WChar};
    if !matches!(&union.discriminator, Type::Primitive(it) if !matches!(it, Bool | Char8 | WChar)) {
        return Vec::new();
    }
    let label = |case: &Case| match case.labels.as_slice() {
        [label] if !case.is_default => i32::try_from(*label).ok(),
        _ => None,
    };
    let named = |case: &Case| label(case).map(|label| (format!("_case_{}", case.member.name), label));
    union.cases.iter().filter_map(named).collect()
}

/// The names of members.
pub struct Members<'a>(naming::Scope<'a>);

impl Members<'_> {
    /// The name of one. A base is called `base`.
    pub fn get<'s>(&'s self, name: &'s str) -> &'s str {
        self.0.get(name).unwrap_or(name)
    }
}

/// The ends of the names of the functions that read bulk fields; those that write them have `_mut` behind
/// that.
pub fn accessors(fields: &[BulkField]) -> Vec<String> {
    let mut scope = naming::Scope::default();
    scope.take(STRUCT_ENDS.iter().copied());
    fields.iter().map(|it| scope.stem(format!("_{}", it.path.join("_")), &["", "_mut"])).collect()
}

/// The members of the structure of lengths, by the ends of the names of functions.
pub fn length(accessor: &str) -> String {
    let name = accessor.trim_start_matches('_');
    if is_no_member(name) { format!("{name}_") } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_in_order() {
        assert!(VARIABLES.is_sorted() && C_WORDS.is_sorted() && NUMBERS.is_sorted());
    }

    #[test]
    fn names_of_types_begin_with_their_modules() {
        let text = "module a { struct b_C { long restrict; long x; long class; }; module b { struct C { long x; }; }; };
                    module size { enum t { ONE }; enum MAX { X }; }; enum INT8 { MAX }; struct message { long x; };
                    module situ { struct node { long x; }; module common { struct Time { long x; }; }; };
                    struct a_b { long x; }; struct a_b_type { long x; };";
        let schema = crate::Loader::new().sealed().text("test.idl", text, crate::Format::Idl).load();
        let schema = schema.unwrap_or_else(|error| panic!("{}", error.render(false)));
        let named = Named::new(&schema);
        let called = |name: &str| named.type_name(schema.find(name).unwrap()).to_owned();
        // Both want `a_b_C`, and the second gives way.
        assert_eq!((called("a::b_C"), called("a::b::C")), ("a_b_C".into(), "a_b_C_".into()));
        // `size_t`, `INT8_MAX`, `situ_node` and the parameter `message` are others' names.
        assert_eq!((called("size::t"), called("INT8")), ("size_t_".into(), "INT8_".into()));
        assert_eq!((called("situ::node"), called("message")), ("situ_node_".into(), "message_".into()));
        assert_eq!(called("situ::common::Time"), "situ_common_Time");
        // `a_b` has a function `a_b_type`.
        assert_eq!((called("a_b"), called("a_b_type")), ("a_b".into(), "a_b_type_".into()));
        let members = named.members(schema.find("a::b_C").unwrap());
        assert_eq!(["restrict", "x", "class"].map(|it| members.get(it)), ["restrict_", "x", "class_"]);
        // `uint8_t` and `inner` are types of members behind them.
        let text = "struct inner { long x; }; struct outer { inner inner; octet uint8_t; inner other; };";
        let schema = crate::Loader::new().sealed().text("test.idl", text, crate::Format::Idl).load();
        let schema = schema.unwrap_or_else(|error| panic!("{}", error.render(false)));
        let named = Named::new(&schema);
        let members = named.members(schema.find("outer").unwrap());
        assert_eq!(["inner", "uint8_t", "other"].map(|it| members.get(it)), ["inner_", "uint8_t_", "other"]);
    }
}
