//! The canonical text of a type, by the rules of `spec/schema.md`: what a topic carries, and what is hashed.

use std::collections::HashSet;
use std::fmt::Write;

use crate::model::{Definition, Enum, Kind, Link, Literal, Lookup, Member, Struct, Type, TypeId, Union};
use crate::schema::Schema;

/// How much a canonical text contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Detail {
    /// Only what decides whether two types are the same on the wire.
    Identity,
    /// Also the storage of members, their defaults and their units.
    Carried,
}

/// IDL's keywords. A name that equals one is written with a leading underscore.
const KEYWORDS: &[&str] = &[
    "abstract",
    "alias",
    "any",
    "attribute",
    "bitfield",
    "bitmask",
    "bitset",
    "boolean",
    "case",
    "char",
    "component",
    "connector",
    "const",
    "consumes",
    "context",
    "custom",
    "default",
    "double",
    "emits",
    "enum",
    "eventtype",
    "exception",
    "factory",
    "false",
    "finder",
    "fixed",
    "float",
    "getraises",
    "getter",
    "home",
    "import",
    "in",
    "inout",
    "int16",
    "int32",
    "int64",
    "int8",
    "interface",
    "local",
    "long",
    "manages",
    "map",
    "mirrorport",
    "module",
    "multiple",
    "native",
    "object",
    "octet",
    "oneway",
    "out",
    "port",
    "porttype",
    "primarykey",
    "private",
    "provides",
    "public",
    "publishes",
    "raises",
    "readonly",
    "sequence",
    "setraises",
    "setter",
    "short",
    "string",
    "struct",
    "supports",
    "switch",
    "true",
    "truncatable",
    "typedef",
    "typeid",
    "typename",
    "typeprefix",
    "uint16",
    "uint32",
    "uint64",
    "uint8",
    "union",
    "unsigned",
    "uses",
    "valuebase",
    "valuetype",
    "void",
    "wchar",
    "wstring",
];

/// A name as it is written in IDL.
fn ident(name: &str) -> String {
    let is_keyword = KEYWORDS.binary_search(&name.to_ascii_lowercase().as_str()).is_ok();
    if is_keyword || name.starts_with('_') { format!("_{name}") } else { name.to_owned() }
}

fn quoted(text: &str) -> String {
    let mut result = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => result.extend(['\\', c]),
            '\n' => result.push_str("\\n"),
            '\t' => result.push_str("\\t"),
            c if u32::from(c) < 0x20 || c == '\u{7f}' => {
                result.extend(format!("\\{:03o}", u32::from(c)).chars());
            }
            c => result.push(c),
        }
    }
    result.push('"');
    result
}

struct Writer<'s> {
    schema: &'s Schema,
    detail: Detail,
    text: String,
}

impl Writer<'_> {
    fn line(&mut self, text: &str) {
        self.text.push_str(text);
        self.text.push('\n');
    }

    fn absolute(&self, id: TypeId) -> String {
        self.schema.name(id).as_str().split("::").map(|part| format!("::{}", ident(part))).collect()
    }

    /// A type without typedefs, and the dimensions that are written behind the name it belongs to.
    fn type_of(&self, ty: &Type) -> (String, String) {
        if let Some((element, dimensions)) = self.schema.array(ty) {
            let dimensions = dimensions.iter().map(|it| format!("[{it}]")).collect();
            return (self.type_of(element).0, dimensions);
        }
        let inner = |ty: &Type| {
            let (name, dimensions) = self.type_of(ty);
            name + &dimensions
        };
        let bounded = |name: &str, bound: &Option<u32>| match bound {
            Some(bound) => format!("{name}<{bound}>"),
            None => name.to_owned(),
        };
        let bound_of = |bound: &Option<u32>| bound.map(|it| format!(", {it}")).unwrap_or_default();
        let text = match self.schema.resolve(ty) {
            Type::Primitive(primitive) => primitive.idl().to_owned(),
            Type::String { bound } => bounded("string", bound),
            Type::WString { bound } => bounded("wstring", bound),
            Type::Sequence { element, bound } => format!("sequence<{}{}>", inner(element), bound_of(bound)),
            Type::Map { key, value, bound } => {
                format!("map<{}, {}{}>", inner(key), inner(value), bound_of(bound))
            }
            Type::Array { element, .. } => inner(element),
            Type::Named(id) => self.absolute(*id),
        };
        (text, String::new())
    }

    fn literal(&self, literal: &Literal) -> String {
        match literal {
            Literal::Bool(value) => if *value { "TRUE" } else { "FALSE" }.to_owned(),
            Literal::Integer(value) => value.to_string(),
            Literal::Float(value) if value.is_nan() => "nan".to_owned(),
            Literal::Float(value) => format!("{value:?}"),
            Literal::String(value) => quoted(value),
            Literal::Enumerator { of, index } => match &self.schema.definition(*of).kind {
                Kind::Enum(it) => self.enumerator(*of, &it.enumerators[*index].name),
                _ => String::new(),
            },
            Literal::List(elements) => {
                let elements: Vec<String> = elements.iter().map(|it| self.element(it)).collect();
                quoted(&format!("({})", elements.join(", ")))
            }
        }
    }

    /// An element of a list, as Python writes it.
    fn element(&self, literal: &Literal) -> String {
        match literal {
            Literal::Bool(value) => if *value { "True" } else { "False" }.to_owned(),
            Literal::String(value) => {
                let escaped = value.replace('\\', "\\\\").replace('\'', "\\'").replace('\n', "\\n");
                format!("'{}'", escaped.replace('\t', "\\t").replace('\r', "\\r"))
            }
            other => self.literal(other),
        }
    }

    /// Enumerators stand beside their enum, not in it.
    fn enumerator(&self, of: TypeId, name: &str) -> String {
        let absolute = self.absolute(of);
        let scope = absolute.rfind("::").map_or("", |at| &absolute[..at]);
        format!("{scope}::{}", ident(name))
    }

    fn member(&self, member: &Member, expected_id: u32) -> String {
        let mut line = String::from("  ");
        if member.id != expected_id {
            // Writing to a string cannot fail.
            let _ = write!(line, "@id({}) ", member.id);
        }
        let flags = [
            (member.key, "@key(TRUE) "),
            (member.optional, "@optional(TRUE) "),
            (member.must_understand, "@must_understand(TRUE) "),
            // Other storages do not have the member, so this is no question of storage alone.
            (member.is_weak(), "@weak(TRUE) "),
        ];
        flags.iter().filter(|(on, _)| *on).for_each(|(_, word)| line.push_str(word));
        if self.detail == Detail::Carried {
            if member.bulk {
                line.push_str("@bulk(TRUE) ");
            }
            let placement = [
                (member.set, "@set(TRUE) "),
                (member.lookup == Lookup::Hash, "@hash(TRUE) "),
                (member.lookup == Lookup::Ordered, "@ordered(TRUE) "),
                (member.link == Link::Unique, "@external(TRUE) "),
                (member.link == Link::Shared, "@shared(TRUE) "),
            ];
            placement.iter().filter(|(on, _)| *on).for_each(|(_, word)| line.push_str(word));
            if let Some(default) = &member.default {
                line.push_str(&format!("@default({}) ", self.literal(default)));
            }
            if let Some(unit) = &member.unit {
                line.push_str(&format!("@unit({}) ", quoted(unit)));
            }
        }
        let (ty, dimensions) = self.type_of(&member.ty);
        format!("{line}{ty} {}{dimensions};", ident(&member.name))
    }

    /// The id of a struct's first own member if it has no `@id`.
    fn first_id(&self, it: &Struct) -> u32 {
        let mut base = it.base;
        while let Some(id) = base {
            let Some(ancestor) = self.schema.definition(id).kind.as_struct() else { break };
            if let Some(last) = ancestor.members.last() {
                return last.id.wrapping_add(1);
            }
            base = ancestor.base;
        }
        0
    }

    fn structure(&mut self, name: &str, it: &Struct, flat: bool) {
        let storage = match self.detail {
            Detail::Carried if flat => " @flat",
            Detail::Carried if it.region => " @region",
            _ => "",
        };
        let base = it.base.map(|base| format!(" : {}", self.absolute(base))).unwrap_or_default();
        self.line(&format!("@{}{storage} struct {}{base} {{", it.extensibility.idl(), ident(name)));
        let mut expected = self.first_id(it);
        for member in &it.members {
            let line = self.member(member, expected);
            self.line(&line);
            expected = member.id.wrapping_add(1);
        }
    }

    fn union(&mut self, name: &str, it: &Union, flat: bool) {
        let (discriminator, _) = self.type_of(&it.discriminator);
        let storage = if flat && self.detail == Detail::Carried { " @flat" } else { "" };
        let extensibility = it.extensibility.idl();
        self.line(&format!("@{extensibility}{storage} union {} switch ({discriminator}) {{", ident(name)));
        let mut expected = 1;
        for case in &it.cases {
            for label in &case.labels {
                let label = self.label(&it.discriminator, *label);
                self.line(&format!("  case {label}:"));
            }
            if case.is_default {
                self.line("  default:");
            }
            let line = self.member(&case.member, expected);
            self.line(&format!("  {line}"));
            expected = case.member.id.wrapping_add(1);
        }
    }

    fn label(&self, discriminator: &Type, value: i128) -> String {
        let enumerator = |id: TypeId, it: &Enum| {
            let found = it.enumerators.iter().find(|it| i128::from(it.value) == value)?;
            Some(self.enumerator(id, &found.name))
        };
        match discriminator {
            Type::Primitive(crate::model::Primitive::Bool) => {
                if value != 0 { "TRUE" } else { "FALSE" }.to_owned()
            }
            Type::Named(id) => match &self.schema.definition(*id).kind {
                Kind::Enum(it) => enumerator(*id, it).unwrap_or_default(),
                _ => value.to_string(),
            },
            _ => value.to_string(),
        }
    }

    fn definition(&mut self, definition: &Definition) {
        let name = definition.name.simple();
        match &definition.kind {
            Kind::Struct(it) => self.structure(name, it, definition.flat),
            Kind::Union(it) => self.union(name, it, definition.flat),
            Kind::Enum(it) => {
                self.line(&format!("enum {} {{", ident(name)));
                let last = it.enumerators.len() - 1;
                for (at, entry) in it.enumerators.iter().enumerate() {
                    let comma = if at == last { "" } else { "," };
                    let default = if self.detail == Detail::Carried && at == it.default && at != 0 {
                        "@default_literal "
                    } else {
                        ""
                    };
                    self.line(&format!("  {default}@value({}) {}{comma}", entry.value, ident(&entry.name)));
                }
            }
            Kind::Bitmask(it) => {
                self.line(&format!("@bit_bound({}) bitmask {} {{", it.bit_bound, ident(name)));
                let last = it.flags.len() - 1;
                for (at, flag) in it.flags.iter().enumerate() {
                    let comma = if at == last { "" } else { "," };
                    self.line(&format!("  @position({}) {}{comma}", flag.position, ident(&flag.name)));
                }
            }
            Kind::Alias(_) => return,
        }
        self.line("};");
    }

    fn in_modules(&mut self, id: TypeId, body: impl FnOnce(&mut Self, &Definition)) {
        let definition = self.schema.definition(id);
        let modules = definition.name.modules();
        for module in &modules {
            self.line(&format!("module {} {{", ident(module)));
        }
        body(self, definition);
        for _ in &modules {
            self.line("};");
        }
    }

    /// The types that a definition names, in order of appearance.
    fn references(&self, definition: &Definition) -> Vec<TypeId> {
        let mut found = Vec::new();
        match &definition.kind {
            Kind::Struct(it) => {
                found.extend(it.base);
                it.members.iter().for_each(|it| self.references_of(&it.ty, &mut found));
            }
            Kind::Union(it) => it.cases.iter().for_each(|it| self.references_of(&it.member.ty, &mut found)),
            _ => {}
        }
        found
    }

    fn references_of(&self, ty: &Type, found: &mut Vec<TypeId>) {
        match self.schema.resolve(ty) {
            Type::Sequence { element, .. } | Type::Array { element, .. } => {
                self.references_of(element, found)
            }
            Type::Map { key, value, .. } => {
                self.references_of(key, found);
                self.references_of(value, found);
            }
            Type::Named(id) => found.push(*id),
            _ => {}
        }
    }
}

fn write(schema: &Schema, roots: &[TypeId], detail: Detail) -> String {
    let mut writer = Writer { schema, detail, text: String::new() };
    let (mut known, mut written): (HashSet<TypeId>, HashSet<TypeId>) = Default::default();
    for id in roots.iter().flat_map(|root| schema.closure_without_aliases(*root)) {
        if matches!(schema.definition(id).kind, Kind::Alias(_)) || !written.insert(id) {
            continue;
        }
        for needed in writer.references(schema.definition(id)) {
            // Among the dependencies, only types that contain one another are not written yet. They get a
            // forward declaration.
            if !known.insert(needed) {
                continue;
            }
            writer.in_modules(needed, |writer, definition| {
                let line = format!("{} {};", definition.kind.word(), ident(definition.name.simple()));
                writer.line(&line);
            });
        }
        known.insert(id);
        writer.in_modules(id, |writer, definition| writer.definition(definition));
    }
    writer.text
}

impl Schema {
    /// The canonical IDL text of a type and everything it depends on, dependencies first, typedefs resolved.
    /// Topics carry this text: [`Schema::from_idl`] reads it back to the same types, hashes and flat layout.
    /// Docs, constants and unknown annotations are left out.
    pub fn canonical(&self, id: TypeId) -> String {
        write(self, &[id], Detail::Carried)
    }

    /// The canonical text of several types, none of them a typedef, and of all that they depend on. Each type
    /// stands in it once.
    pub(crate) fn canonical_of(&self, ids: &[TypeId]) -> String {
        write(self, ids, Detail::Carried)
    }

    /// The text whose hash is the schema hash: [`Schema::canonical`] without defaults, units, and annotations
    /// of storage (`@flat`, `@bulk`, `@region`, `@hash` and similar ones).
    pub fn identity(&self, id: TypeId) -> String {
        write(self, &[id], Detail::Identity)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_are_sorted() {
        assert!(KEYWORDS.is_sorted());
        assert_eq!(ident("map"), "_map");
        assert_eq!(ident("Map"), "_Map");
        assert_eq!(ident("_x"), "__x");
        assert_eq!(ident("mapped"), "mapped");
    }
}
