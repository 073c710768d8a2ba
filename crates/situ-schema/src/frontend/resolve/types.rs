//! Types, structs, unions, enums and bitmasks.

use std::collections::HashMap;

use super::annotations::{self, Place};
use super::{Ancestry, Resolved, Resolver, Symbol};
use crate::frontend::ast::{
    CaseDeclaration, Declaration, DeclarationKind, Entry, MemberDeclaration, ScopedName, StructDeclaration,
    TypeRef, TypeRefKind, UnionDeclaration,
};
use crate::model::{
    Bitmask, Case, Enum, Enumerator, Extensibility, Flag, Kind, Link, Literal, Lookup, Member, Struct, Type,
    TypeId, Union,
};
use crate::source::Span;
use crate::source::diagnostic::Diagnostic;

/// The largest member id that CDR can write.
const MAX_MEMBER_ID: i128 = 0x0fff_ffff;

/// Names of types in other languages, and what IDL calls them.
const FOREIGN: [(&str, &str); 24] = [
    ("bool", "boolean"),
    ("Bool", "boolean"),
    ("byte", "octet"),
    ("u8", "uint8"),
    ("i8", "int8"),
    ("u16", "uint16"),
    ("i16", "int16"),
    ("u32", "uint32"),
    ("i32", "int32"),
    ("u64", "uint64"),
    ("i64", "int64"),
    ("f32", "float"),
    ("f64", "double"),
    ("float32", "float"),
    ("float64", "double"),
    ("int", "int32"),
    ("uint", "uint32"),
    ("int8_t", "int8"),
    ("uint8_t", "uint8"),
    ("int16_t", "int16"),
    ("uint16_t", "uint16"),
    ("int32_t", "int32"),
    ("uint32_t", "uint32"),
    ("String", "string"),
];

impl Resolver<'_> {
    /// The type that a reference names.
    pub(super) fn type_of(&self, ty: &TypeRef, scope: &[String]) -> Resolved<Type> {
        let bound = |bound: &Option<crate::frontend::ast::Expr>, what: &str| match bound {
            Some(bound) => self.bound(bound, scope, what).map(Some),
            None => Ok(None),
        };
        Ok(match &ty.kind {
            TypeRefKind::Primitive(primitive) => Type::Primitive(*primitive),
            TypeRefKind::String { wide: false, bound: it } => {
                Type::String { bound: bound(it, "bound of a string")? }
            }
            TypeRefKind::String { wide: true, bound: it } => {
                Type::WString { bound: bound(it, "bound of a wstring")? }
            }
            TypeRefKind::Sequence { element, bound: it } => Type::Sequence {
                element: Box::new(self.type_of(element, scope)?),
                bound: bound(it, "bound of a sequence")?,
            },
            TypeRefKind::Array { element, dimensions } => Type::Array {
                element: Box::new(self.type_of(element, scope)?),
                dimensions: dimensions
                    .iter()
                    .map(|it| self.bound(it, scope, "length of an array"))
                    .collect::<Resolved<_>>()?,
            },
            TypeRefKind::Map { key, value, bound: it } => Type::Map {
                key: Box::new(self.type_of(key, scope)?),
                value: Box::new(self.type_of(value, scope)?),
                bound: bound(it, "bound of a map")?,
            },
            TypeRefKind::Named(name) => Type::Named(self.type_named(name, scope)?),
            TypeRefKind::Exception(name) => Type::Named(self.exception_named(name, scope)?),
        })
    }

    /// The exception that an operation raises.
    fn exception_named(&self, name: &ScopedName, scope: &[String]) -> Resolved<TypeId> {
        let declared = |id: TypeId| &self.declarations[self.declared[id.index()]].kind;
        match self.find(name, scope) {
            Some(Symbol::Type(id)) if matches!(declared(id), DeclarationKind::Struct(it) if it.is_exception) => {
                Ok(id)
            }
            Some(_) => Err(Box::new(
                Diagnostic::new(format!("`{}` is no exception", name.text()), name.span, "here")
                    .help("operations raise what is declared as `exception NAME { … };`"),
            )),
            None => {
                let help = "define it: `exception NAME { … };`, or #include the file that defines it";
                Err(self.unknown(name, "exception", help, |it| matches!(it, Symbol::Type(_))))
            }
        }
    }

    fn type_named(&self, name: &ScopedName, scope: &[String]) -> Resolved<TypeId> {
        let wrong = |what: &str| {
            Err(Box::new(
                Diagnostic::new(format!("`{}` is {what}, not a type", name.text()), name.span, "here")
                    .help("name a struct, union, enum, bitmask or typedef"),
            ))
        };
        match self.find(name, scope) {
            Some(Symbol::Type(id)) if self.in_order && self.is_undefined_alias(id) => Err(Box::new(
                Diagnostic::new(format!("`{}` is used before it is defined", name.text()), name.span, "here")
                    .help("move its typedef before this"),
            )),
            Some(Symbol::Type(id)) => Ok(id),
            Some(Symbol::Module) => wrong("a module"),
            Some(Symbol::Interface) => wrong("an interface"),
            Some(Symbol::Service) => wrong("a service"),
            Some(Symbol::Constant(_)) => wrong("a constant"),
            Some(Symbol::Enumerator(..)) => wrong("an enumerator"),
            Some(Symbol::Flag(..)) => wrong("a flag"),
            None => {
                if let [only] = name.parts.as_slice()
                    && let Some((_, meant)) = FOREIGN.iter().find(|(foreign, _)| foreign == only)
                {
                    return Err(Box::new(
                        Diagnostic::new(format!("unknown type `{only}`"), name.span, "not a type of IDL")
                            .help(format!("IDL calls it `{meant}`")),
                    ));
                }
                let help = "define it, or #include the file that defines it";
                Err(self.unknown(name, "type", help, |it| matches!(it, Symbol::Type(_))))
            }
        }
    }

    /// The base and explicit extensibility of a struct.
    pub(super) fn find_ancestry(&mut self, declaration: &Declaration, it: &StructDeclaration) -> Ancestry {
        let extensibility = self.extensibility(&declaration.prefix).or(it.extensibility);
        let Some(name) = &it.base else { return Ancestry { base: None, extensibility } };
        let base = self.type_named(name, &declaration.scope).and_then(|id| self.struct_behind(id, name));
        Ancestry { base: self.report(base), extensibility }
    }

    /// The struct that a base names, typedefs resolved.
    fn struct_behind(&self, mut id: TypeId, name: &ScopedName) -> Resolved<TypeId> {
        loop {
            match &self.definitions[id.index()].as_ref().map(|it| &it.kind) {
                Some(Kind::Alias(Type::Named(target))) => id = *target,
                None if self.is_struct_declaration(id) => return Ok(id),
                _ => {
                    return Err(Box::new(
                        Diagnostic::new(format!("`{}` is not a struct", name.text()), name.span, "here")
                            .help("only structs can be inherited from"),
                    ));
                }
            }
        }
    }

    fn is_undefined_alias(&self, id: TypeId) -> bool {
        self.definitions[id.index()].is_none()
            && matches!(self.declarations[self.declared[id.index()]].kind, DeclarationKind::Alias(_))
    }

    /// Whether a type not defined yet will be a struct.
    fn is_struct_declaration(&self, id: TypeId) -> bool {
        matches!(self.declarations[self.declared[id.index()]].kind, DeclarationKind::Struct(_))
    }

    pub(super) fn structure(
        &mut self,
        declaration: &Declaration,
        id: TypeId,
        it: &StructDeclaration,
    ) -> Struct {
        self.check_annotations(&declaration.prefix, Place::Struct);
        let base = self.ancestry[id.index()].base;
        let members =
            it.members.iter().filter_map(|member| self.member(member, &declaration.scope)).collect();
        Struct {
            base,
            members,
            extensibility: Extensibility::Final,
            region: self.flag(&declaration.prefix, "region"),
            nested: self.flag(&declaration.prefix, "nested"),
            exception: it.is_exception,
        }
    }

    fn member(&mut self, it: &MemberDeclaration, scope: &[String]) -> Option<Member> {
        self.check_annotations(&it.prefix, Place::Member);
        let ty = self.type_of(&it.ty, scope);
        let ty = self.report(ty)?;
        let written = annotations::find(&it.prefix, "default").map(|it| (it, it.parameter("value")));
        let default = match written {
            Some((annotation, None)) => {
                let help = "write `@default(…)` or `@default(value = …)`";
                let diagnostic =
                    Diagnostic::new("`@default` needs a value", annotation.span, "here").help(help);
                self.diagnostics.push(diagnostic);
                None
            }
            Some((_, Some(value))) => Some(value),
            None => it.default.as_ref(),
        };
        let default = default.map(|value| self.literal(value, &ty, scope));
        let default = default.and_then(|it| self.report(it));
        let unit = self.unit(&it.prefix).or_else(|| it.unit.clone());
        let (docs, annotations) = annotations::split_docs(&it.prefix);
        Some(Member {
            name: it.name.text.clone(),
            ty,
            id: 0,
            key: self.flag(&it.prefix, "key"),
            optional: self.flag(&it.prefix, "optional"),
            bulk: self.flag(&it.prefix, "bulk"),
            set: self.flag(&it.prefix, "set"),
            lookup: self.lookup(&it.prefix),
            link: self.link(&it.prefix),
            must_understand: self.flag(&it.prefix, "must_understand"),
            default,
            unit,
            docs,
            span: it.name.span,
            annotations,
        })
    }

    /// Assigns ids to the members of a struct or union, and extensibility to a struct. Refuses duplicates.
    pub(super) fn number_members(&mut self, id: TypeId) {
        let declaration = &self.declarations[self.declared[id.index()]];
        match &declaration.kind {
            DeclarationKind::Struct(_) => {}
            DeclarationKind::Union(it) => return self.number_cases(id, it, &declaration.scope),
            _ => return,
        }
        let lineage = self.lineage(id);
        let mut names: HashMap<&str, Span> = HashMap::new();
        let mut ids: HashMap<u32, Span> = HashMap::new();
        let mut own_ids = Vec::new();
        let mut found = Vec::new();
        let mut next = 0u32;
        for &ancestor in &lineage {
            let declaration = &self.declarations[self.declared[ancestor.index()]];
            let DeclarationKind::Struct(it) = &declaration.kind else { continue };
            for member in &it.members {
                let span = member.name.span;
                let own = ancestor == id;
                if let Some(first) = names.insert(&member.name.text, span)
                    && own
                {
                    found.push(doubled("member", &member.name.text, span, first, "rename one of them"));
                }
                let explicit = self.number(&member.prefix, "id", &declaration.scope, (0, MAX_MEMBER_ID));
                let explicit = match explicit {
                    Ok(explicit) => explicit.and_then(|it| u32::try_from(it).ok()),
                    Err(diagnostic) => {
                        found.extend(own.then_some(*diagnostic));
                        None
                    }
                };
                let member_id = explicit.unwrap_or(next);
                next = member_id.saturating_add(1);
                if let Some(first) = ids.insert(member_id, span)
                    && own
                {
                    let help = "give one of them another number with `@id(…)`";
                    found.push(doubled("member id", &member_id.to_string(), span, first, help));
                }
                if own {
                    own_ids.push(member_id);
                }
            }
        }
        if lineage.len() > 1
            && let Some(member) = self.own_member(id, "base")
        {
            let message = "a struct with a base cannot have a member `base`";
            let help = "rename it: in memory the base itself has this name";
            found.push(Diagnostic::new(message, member, "here").help(help));
        }
        let extensibility = self.inherited_extensibility(&lineage, &mut found);
        self.diagnostics.extend(found);
        if let Some(it) = self.struct_mut(id) {
            it.extensibility = extensibility;
            // Members whose type is unknown are missing, but then the schema is refused anyway.
            for (member, own_id) in it.members.iter_mut().zip(own_ids) {
                member.id = own_id;
            }
        }
    }

    fn own_member(&self, id: TypeId, name: &str) -> Option<Span> {
        match &self.declarations[self.declared[id.index()]].kind {
            DeclarationKind::Struct(it) => {
                it.members.iter().find(|it| it.name.text == name).map(|it| it.name.span)
            }
            _ => None,
        }
    }

    fn inherited_extensibility(&self, lineage: &[TypeId], found: &mut Vec<Diagnostic>) -> Extensibility {
        let mut inherited = None;
        for (depth, id) in lineage.iter().enumerate() {
            let own = self.ancestry[id.index()].extensibility;
            if depth > 0
                && depth + 1 == lineage.len()
                && let Some(own) = own
                && own != inherited.unwrap_or(Extensibility::Final)
            {
                let declaration = &self.declarations[self.declared[id.index()]];
                let base = inherited.unwrap_or(Extensibility::Final).idl();
                let message = format!("`{}` is @{}, its base is @{base}", declaration.name.text, own.idl());
                let help = format!("a struct changes as its base does; write `@{base}` or nothing");
                found.push(Diagnostic::new(message, declaration.name.span, "here").help(help));
            }
            inherited = own.or(inherited);
        }
        inherited.unwrap_or(Extensibility::Final)
    }

    pub(super) fn union(&mut self, declaration: &Declaration, it: &UnionDeclaration) -> Option<Union> {
        self.check_annotations(&declaration.prefix, Place::Union);
        let scope = &declaration.scope;
        let discriminator = self.type_of(&it.discriminator, scope);
        let discriminator = self.report(discriminator)?;
        let discriminator = self.discriminator(discriminator, it.discriminator.span);
        let discriminator = self.report(discriminator)?;
        if it.cases.is_empty() {
            let message = format!("the union `{}` has no cases", declaration.name.text);
            let help = "give it at least one case";
            self.diagnostics.push(Diagnostic::new(message, declaration.name.span, "empty").help(help));
        }
        let mut taken: HashMap<Option<i128>, Span> = HashMap::new();
        let mut cases = Vec::new();
        for case in &it.cases {
            cases.extend(self.case(case, &discriminator, scope, &mut taken));
        }
        if let Some(span) = taken.get(&None)
            && self.all_labelled(&discriminator, &taken)
        {
            let message = "the default case can never be selected";
            let help = "every value of the discriminator has a case of its own; delete `default:`";
            self.diagnostics.push(Diagnostic::new(message, *span, "here").help(help));
        }
        let extensibility = self.extensibility(&declaration.prefix).unwrap_or(Extensibility::Final);
        Some(Union { discriminator, cases, extensibility })
    }

    fn discriminator(&self, ty: Type, span: Span) -> Resolved<Type> {
        let mut resolved = &ty;
        while let Type::Named(id) = resolved {
            match self.definitions[id.index()].as_ref().map(|it| &it.kind) {
                Some(Kind::Alias(target)) => resolved = target,
                Some(Kind::Enum(_)) => return Ok(resolved.clone()),
                _ => break,
            }
        }
        match resolved {
            Type::Primitive(primitive) if !primitive.is_float() => Ok(resolved.clone()),
            _ => Err(Box::new(
                Diagnostic::new("a union cannot be switched by this type", span, "here")
                    .help("switch by an integer, a character, a boolean or an enum"),
            )),
        }
    }

    fn all_labelled(&self, discriminator: &Type, taken: &HashMap<Option<i128>, Span>) -> bool {
        let labels = taken.len() as i128 - 1;
        match discriminator {
            Type::Primitive(primitive) => {
                primitive.integer_range().is_some_and(|(first, last)| labels > last - first)
            }
            Type::Named(id) => match self.definitions[id.index()].as_ref().map(|it| &it.kind) {
                // A newer writer may send values that no enumerator has, but no label can name them.
                Some(Kind::Enum(it)) => labels >= it.enumerators.len() as i128,
                _ => false,
            },
            _ => false,
        }
    }

    fn case(
        &mut self,
        case: &CaseDeclaration,
        discriminator: &Type,
        scope: &[String],
        taken: &mut HashMap<Option<i128>, Span>,
    ) -> Option<Case> {
        let (mut labels, mut is_default) = (Vec::new(), false);
        for (label, span) in &case.labels {
            let value = match label {
                None => None,
                Some(expr) => {
                    let value = self.literal(expr, discriminator, scope);
                    let value = self.report(value)?;
                    Some(self.label_value(&value)?)
                }
            };
            if let Some(first) = taken.insert(value, *span) {
                let name = value.map_or("default".to_owned(), |it| it.to_string());
                let help = "a value selects one case only; delete one of the labels";
                self.diagnostics.push(doubled("label", &name, *span, first, help));
            }
            match value {
                None => is_default = true,
                Some(value) => labels.push(value),
            }
        }
        self.check_annotations(&case.member.prefix, Place::Case);
        let ty = self.type_of(&case.member.ty, scope);
        let ty = self.report(ty)?;
        let unit = self.unit(&case.member.prefix);
        let (docs, annotations) = annotations::split_docs(&case.member.prefix);
        let member = Member {
            name: case.member.name.text.clone(),
            ty,
            id: 0,
            key: false,
            optional: false,
            bulk: false,
            set: false,
            lookup: Lookup::Sorted,
            link: Link::InPlace,
            must_understand: false,
            default: None,
            unit,
            docs,
            span: case.member.name.span,
            annotations,
        };
        Some(Case { labels, is_default, member })
    }

    fn label_value(&self, literal: &Literal) -> Option<i128> {
        match literal {
            Literal::Bool(value) => Some(i128::from(*value)),
            Literal::Integer(value) => Some(*value),
            Literal::Enumerator { of, index } => {
                let definition = self.definitions[of.index()].as_ref()?;
                Some(definition.kind.as_enum()?.enumerators.get(*index)?.value.into())
            }
            _ => None,
        }
    }

    fn number_cases(&mut self, id: TypeId, it: &UnionDeclaration, scope: &[String]) {
        let mut names: HashMap<&str, Span> = HashMap::new();
        let mut ids: HashMap<u32, Span> = HashMap::new();
        let mut own_ids = Vec::new();
        // The discriminator has the id 0.
        let mut next = 1u32;
        for case in &it.cases {
            let span = case.member.name.span;
            if let Some(first) = names.insert(&case.member.name.text, span) {
                let name = &case.member.name.text;
                self.diagnostics.push(doubled("case", name, span, first, "rename one of them"));
            }
            let explicit = self.number(&case.member.prefix, "id", scope, (1, MAX_MEMBER_ID));
            let explicit = self.report(explicit).flatten().and_then(|it| u32::try_from(it).ok());
            let member_id = explicit.unwrap_or(next);
            next = member_id.saturating_add(1);
            if let Some(first) = ids.insert(member_id, span) {
                let help = "give one of them another number with `@id(…)`";
                self.diagnostics.push(doubled("member id", &member_id.to_string(), span, first, help));
            }
            own_ids.push(member_id);
        }
        if let Some(definition) = &mut self.definitions[id.index()]
            && let Kind::Union(it) = &mut definition.kind
        {
            for (case, own_id) in it.cases.iter_mut().zip(own_ids) {
                case.member.id = own_id;
            }
        }
    }

    pub(super) fn enumeration(&mut self, declaration: &Declaration, entries: &[Entry]) -> Option<Enum> {
        self.check_annotations(&declaration.prefix, Place::Enum);
        let bits = self.number(&declaration.prefix, "bit_bound", &declaration.scope, (1, 32));
        if self.report(bits)?.is_some_and(|bits| bits != 32) {
            let message = "enums of fewer than 32 bits are not supported";
            let help = "leave out `@bit_bound`, or use an integer with constants";
            self.diagnostics.push(Diagnostic::new(message, declaration.name.span, "here").help(help));
        }
        self.refuse_empty(declaration, entries, "enum")?;
        let mut values: HashMap<i32, Span> = HashMap::new();
        let (mut enumerators, mut default) = (Vec::new(), None);
        let mut next = 0i128;
        for (at, entry) in entries.iter().enumerate() {
            self.check_annotations(&entry.prefix, Place::Enumerator);
            let range = (i32::MIN.into(), i32::MAX.into());
            let explicit = self.number(&entry.prefix, "value", &declaration.scope, range);
            let value = self.report(explicit)?.unwrap_or(next);
            next = value + 1;
            let span = entry.name.span;
            let Ok(value) = i32::try_from(value) else {
                let message = format!("the value {value} of `{}` does not fit 32 bits", entry.name.text);
                let help = "give it a smaller one with `@value(…)`";
                self.diagnostics.push(Diagnostic::new(message, span, "here").help(help));
                return None;
            };
            if let Some(first) = values.insert(value, span) {
                let help = "give one of them another value with `@value(…)`";
                self.diagnostics.push(doubled("value", &value.to_string(), span, first, help));
            }
            if self.flag(&entry.prefix, "default_literal") {
                if default.is_some() {
                    let help = "keep it on one enumerator";
                    let diagnostic =
                        Diagnostic::new("two enumerators are the default", span, "here").help(help);
                    self.diagnostics.push(diagnostic);
                }
                default = Some(at);
            }
            let (docs, _) = annotations::split_docs(&entry.prefix);
            enumerators.push(Enumerator { name: entry.name.text.clone(), value, docs, span });
        }
        Some(Enum { enumerators, default: default.unwrap_or(0) })
    }

    pub(super) fn bitmask(&mut self, declaration: &Declaration, entries: &[Entry]) -> Option<Bitmask> {
        self.check_annotations(&declaration.prefix, Place::Bitmask);
        let bits = self.number(&declaration.prefix, "bit_bound", &declaration.scope, (1, 64));
        let bit_bound = self.report(bits)?.unwrap_or(32);
        self.refuse_empty(declaration, entries, "bitmask")?;
        let mut positions: HashMap<i128, Span> = HashMap::new();
        let mut flags = Vec::new();
        let mut next = 0i128;
        for entry in entries {
            self.check_annotations(&entry.prefix, Place::Flag);
            let explicit = self.number(&entry.prefix, "position", &declaration.scope, (0, bit_bound - 1));
            let position = self.report(explicit)?.unwrap_or(next);
            next = position + 1;
            let span = entry.name.span;
            if position >= bit_bound {
                let message =
                    format!("`{}` is bit {position}, but there are {bit_bound} bits", entry.name.text);
                let help =
                    "give it a position with `@position(…)`, or the bitmask more bits with `@bit_bound(…)`";
                self.diagnostics.push(Diagnostic::new(message, span, "here").help(help));
                return None;
            }
            if let Some(first) = positions.insert(position, span) {
                let help = "give one of them another bit with `@position(…)`";
                self.diagnostics.push(doubled("bit", &position.to_string(), span, first, help));
            }
            let (docs, _) = annotations::split_docs(&entry.prefix);
            let position = u8::try_from(position).unwrap_or(0);
            flags.push(Flag { name: entry.name.text.clone(), position, docs, span });
        }
        Some(Bitmask { bit_bound: u8::try_from(bit_bound).unwrap_or(64), flags })
    }

    fn refuse_empty(&mut self, declaration: &Declaration, entries: &[Entry], what: &str) -> Option<()> {
        if !entries.is_empty() {
            return Some(());
        }
        let message = format!("the {what} `{}` is empty", declaration.name.text);
        self.diagnostics.push(Diagnostic::new(message, declaration.name.span, "here").help("give it a name"));
        None
    }
}

fn doubled(what: &str, name: &str, again: Span, first: Span, help: &str) -> Diagnostic {
    Diagnostic::new(format!("the {what} `{name}` appears twice"), again, "again")
        .also(first, "first")
        .help(help)
}
