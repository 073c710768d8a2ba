//! The region form of structs in Rust: a name for what lies in regions, accessors, and conversions.

use super::Generator;
use super::call::{Argument, Call};
use super::composite::Spelling;
use super::conversion::Conversion;
use super::names::{self, Idents, Scope};
use super::stored::Part;
use super::types::{self, Dependence};
use super::writer::CodeWriter;
use crate::model::{Lookup, Member, Primitive, Struct, Type, TypeId, Union};
use crate::{RegionLayout, RegionType};

impl Generator<'_> {
    /// Whether the region form of a type is generated.
    pub fn has_region(&self, id: TypeId) -> bool {
        self.schema.has_region(id)
    }

    /// Whether a type has another form in regions: it depends on the storage, or has another size there.
    fn has_region_form(&self, id: TypeId) -> bool {
        types::storage_of(self.schema, id) != Dependence::None || self.schema.is_appended_in_regions(id)
    }

    /// The path of a struct or union as it lies in regions: its own name, which stands for its default
    /// storage.
    pub fn region_path(&self, scope: &Scope, id: TypeId) -> String {
        scope.path(self.schema.name(id))
    }

    /// What lies in a region, in Rust.
    pub fn region_spell(&self, scope: &Scope, ty: &RegionType) -> String {
        let inner = |ty: &RegionType| self.region_spell(scope, ty);
        let in_region = |name: &str| self.region_crate(name);
        let lookup = |of: &Lookup| match of {
            Lookup::Sorted => "Sorted",
            Lookup::Hash => "Hash",
            Lookup::Ordered => "Ordered",
        };
        match ty {
            RegionType::Primitive(Primitive::Bool) => in_region("Bool"),
            RegionType::Primitive(Primitive::Char8) => in_region("Char"),
            RegionType::Primitive(of) => types::primitive(*of).to_owned(),
            RegionType::Enum(id) | RegionType::Bitmask(id) => scope.path(self.schema.name(*id)),
            RegionType::Struct(id) | RegionType::Union(id) => self.region_path(scope, *id),
            RegionType::Text => in_region("Text"),
            RegionType::Array(element, count) => format!("[{}; {count}]", inner(element)),
            RegionType::Vector(element) => format!("{}<{}>", in_region("Vector"), inner(element)),
            RegionType::Set(of, key) => {
                format!("{}<{}>", in_region(&format!("{}Set", lookup(of))), inner(key))
            }
            RegionType::Map(of, key, value) => {
                format!("{}<{}, {}>", in_region(&format!("{}Map", lookup(of))), inner(key), inner(value))
            }
            RegionType::Optional(value) => format!("{}<{}>", in_region("Maybe"), inner(value)),
            RegionType::Unique(value) => format!("{}<{}>", in_region("Unique"), inner(value)),
            RegionType::Shared(value) => format!("{}<{}>", in_region("Shared"), inner(value)),
            RegionType::Weak(value) => format!("{}<{}>", in_region("Weak"), inner(value)),
        }
    }

    /// Whether a value is seen as a Rust value in a region: no padding, no booleans.
    fn is_region_plain(&self, ty: &RegionType) -> bool {
        match ty {
            RegionType::Primitive(of) => *of != Primitive::Bool,
            RegionType::Enum(_) | RegionType::Bitmask(_) => true,
            RegionType::Array(element, _) => self.is_region_plain(element),
            RegionType::Struct(id) => {
                let Some(layout) = self.schema.region_layout(*id) else { return false };
                let bytes: u64 = layout.members.iter().map(|it| self.schema.region_extent(&it.ty).size).sum();
                bytes == layout.extent.size && layout.members.iter().all(|it| self.is_region_plain(&it.ty))
            }
            _ => false,
        }
    }

    /// How a member is converted between its region form and other storages.
    fn region_conversion(&self, member: &Member) -> Conversion {
        match self.schema.as_struct(&member.ty) {
            Some((id, _)) if member.optional && self.has_region_form(id) => {
                Conversion::Maybe(Conversion::Nested.into())
            }
            _ => self.member_conversion(member),
        }
    }

    /// The region form of a struct.
    pub fn region(&self, code: &mut CodeWriter, scope: &Scope, id: TypeId, it: &Struct) {
        if !self.has_region(id) {
            return;
        }
        let Some(layout) = self.schema.region_layout(id) else { return };
        let own = layout.members.len() - it.members.len();
        let mut parts: Vec<Part> = Vec::new();
        if let (Some(base), Some(member)) = (it.base, layout.members.first()) {
            parts.push(Part {
                label: "base",
                docs: "",
                accessor: "base".into(),
                field: "base".into(),
                ty: self.region_spell(scope, &member.ty),
                offset: member.offset,
                of: member.ty.clone(),
                conversion: self.conversion(&Type::Named(base)),
                default: None,
            });
        }
        let (accessors, fields) = (Idents::in_region(&it.members), Idents::fields(it));
        for (member, place) in it.members.iter().zip(&layout.members[own..]) {
            parts.push(Part {
                label: &member.name,
                docs: &member.docs,
                accessor: accessors.get(&member.name),
                field: fields.get(&member.name),
                ty: self.region_spell(scope, &place.ty),
                offset: place.offset,
                of: place.ty.clone(),
                conversion: self.region_conversion(member),
                default: self.default(scope, member),
            });
        }
        let ident = self.names.ident(self.schema.name(id));
        let (reader, writer) = (self.names.companion(id, "Ref"), self.names.companion(id, "Mut"));
        if !self.has_region_form(id) {
            let plain = self.is_region_plain(&RegionType::Struct(id));
            if !plain {
                self.accessors(code, (&ident, &reader, &writer), None, &parts);
            }
            self.stored_struct(code, (&ident, id), false, &parts, |code| {
                if plain {
                    self.plain_struct(code, &ident, &parts);
                } else {
                    self.copied_struct(code, &ident, &parts);
                }
            });
            self.region_message(code, &ident, &ident);
            self.conversions_of_value(code, &ident);
            return;
        }
        self.region_name(code, id, &ident);
        let spelling = self.spelling(id, &ident);
        let message = match spelling.parameter.is_empty() {
            true => ident.clone(),
            false => format!("{ident}<{}>", self.layout("Heap")),
        };
        let form = ident;
        self.accessors(code, (&form, &reader, &writer), None, &parts);
        self.stored_struct(code, (&form, id), it.is_appended_in_regions(), &parts, |_| {});
        self.region_message(code, &form, &message);
        self.storing(code, &form, &spelling, |code| {
            for Part { label, field, offset, of, conversion, .. } in &parts {
                let at = if *offset == 0 { "at".to_owned() } else { format!("at + {offset}") };
                let field = match of {
                    RegionType::Weak(_) => "from".to_owned(),
                    _ => format!("&from.{field}"),
                };
                let arguments = ["memory.reborrow()", &at, &field, "body"];
                self.in_member(code, &self.store(scope, conversion, of, &arguments), label);
            }
        });
        self.loading(code, &form, &spelling, |code| {
            for Part { label, field, offset, ty, of, conversion, .. } in &parts {
                let part = Call::new(format!("from.part::<{ty}>"), &[&offset.to_string()]);
                let field = match of {
                    RegionType::Weak(_) => "to".to_owned(),
                    _ => format!("&mut to.{field}"),
                };
                let mut call = self.load(conversion, of, &["", &field, "bodies"]);
                call.arguments[0] = Argument::Call(part);
                self.in_member(code, &call, label);
            }
        });
    }

    /// The implementation that stores messages in regions.
    pub fn storing(
        &self,
        code: &mut CodeWriter,
        form: &str,
        spelling: &Spelling,
        inside: impl FnOnce(&mut CodeWriter),
    ) {
        let parameters = [
            &format!("mut memory: {}<'_>", self.region_crate("MemoryMut")),
            "at: u32",
            &format!("from: &{}", spelling.used),
            "body: &[u8]",
        ];
        self.conversion_of(
            code,
            ("StoreFrom", "fn store", &self.region_crate("StoreError")),
            form,
            spelling,
            &parameters,
            inside,
        );
    }

    /// The implementation that reads messages from regions.
    pub fn loading(
        &self,
        code: &mut CodeWriter,
        form: &str,
        spelling: &Spelling,
        inside: impl FnOnce(&mut CodeWriter),
    ) {
        let parameters = [
            &format!("from: {}<'_, {form}>", self.region_crate("Ref")),
            &format!("to: &mut {}", spelling.used),
            &format!("bodies: &mut {}<'_>", self.layout("Bodies")),
        ];
        let parameters = parameters.map(String::as_str);
        self.conversion_of(
            code,
            ("LoadInto", "fn load", &self.layout("AssignError")),
            form,
            spelling,
            &parameters,
            inside,
        );
    }

    /// The implementation of a conversion between a region form and the other storages.
    fn conversion_of(
        &self,
        code: &mut CodeWriter,
        (name, function, error): (&str, &str, &str),
        form: &str,
        spelling: &Spelling,
        parameters: &[&str],
        inside: impl FnOnce(&mut CodeWriter),
    ) {
        let of_form = Spelling { used: form.to_owned(), ..spelling.clone() };
        code.gap();
        self.implement(code, "impl", &format!("{}<{}>", self.region_crate(name), spelling.used), &of_form);
        code.indent();
        code.function(function, parameters, &format!("::core::result::Result<(), {error}>"));
        code.indent();
        inside(code);
        code.line("::core::result::Result::Ok(())");
        code.dedent();
        code.line("}");
        code.dedent();
        code.line("}");
    }

    /// The call that stores a value in a region.
    fn store(&self, scope: &Scope, how: &Conversion, to: &RegionType, arguments: &[&str]) -> Call {
        let ty = || self.region_spell(scope, to);
        let element = || self.region_spell(scope, held(to));
        let function = match (how, to) {
            (_, RegionType::Weak(_)) => format!("clear_weak::<{}, _>", element()),
            (_, RegionType::Set(..)) => format!("store_set::<{}, _>", ty()),
            (Conversion::Nested, _) => {
                let function = format!("<{} as {}<_>>::store", ty(), self.region_crate("StoreFrom"));
                return Call::new(function, arguments);
            }
            (Conversion::Copy, _) => format!("store_copy::<{}, _>", ty()),
            (Conversion::Text, _) => "store_text".into(),
            (Conversion::Wide, _) => "store_wide".into(),
            (Conversion::Bulk, _) => format!("store_bulk::<{}, _>", element()),
            (Conversion::List(of), _) if **of == Conversion::Copy => {
                format!("store_copies::<{}, _>", element())
            }
            (Conversion::List(_), _) => format!("store_list::<{}, _>", element()),
            (Conversion::Array(_), _) => format!("store_array::<{}, _, _>", element()),
            (Conversion::Maybe(_), _) => format!("store_maybe::<{}, _>", ty()),
            (Conversion::Map(..), _) => format!("store_map::<{}, _, _>", ty()),
        };
        let mut call = Call::new(self.region_crate(&format!("convert::{function}")), arguments);
        let parameters = "memory, at, from, body";
        call.arguments.extend(
            inner(how, to)
                .map(|(how, to)| converter(parameters, |arguments| self.store(scope, how, to, arguments))),
        );
        call
    }

    /// The call that reads a value from a region.
    fn load(&self, how: &Conversion, from: &RegionType, arguments: &[&str]) -> Call {
        let function = match (how, from) {
            (_, RegionType::Weak(_)) => "convert::load_weak",
            (_, RegionType::Set(..)) => "convert::load_set",
            (Conversion::Nested, _) => "LoadInto::load",
            (Conversion::Copy, _) => "convert::load_copy",
            (Conversion::Text, _) => "convert::load_text",
            (Conversion::Wide, _) => "convert::load_wide",
            (Conversion::Bulk, _) => "convert::load_bulk",
            (Conversion::List(of), _) if **of == Conversion::Copy => "convert::load_copies",
            (Conversion::List(_), _) => "convert::load_list",
            (Conversion::Array(_), _) => "convert::load_array",
            (Conversion::Maybe(_), _) => "convert::load_maybe",
            (Conversion::Map(..), _) => "convert::load_map",
        };
        let mut call = Call::new(self.region_crate(function), arguments);
        call.arguments.extend(
            inner(how, from).map(|(how, from)| {
                converter("from, to, bodies", |arguments| self.load(how, from, arguments))
            }),
        );
        call
    }

    /// Writes the longer name of a type that says that it is in a region.
    fn region_name(&self, code: &mut CodeWriter, id: TypeId, ident: &str) {
        let name = self.names.companion(id, "Region");
        code.gap();
        code.line(format!("/// Another name of [`{ident}`], for what lies in a region."));
        code.assign(&format!("pub type {name}"), ident, ";");
        code.gap();
    }

    /// The region form of a union; `cases` in the order of the schema, with their variants.
    pub fn region_union(
        &self,
        code: &mut CodeWriter,
        scope: &Scope,
        (id, it): (TypeId, &Union),
        case_name: &str,
        variant_of: impl Fn(&str) -> String,
    ) {
        if !self.has_region(id) {
            return;
        }
        let Some(RegionLayout { members, discriminator: Some(discriminator), .. }) =
            self.schema.region_layout(id)
        else {
            return;
        };
        let name = self.schema.name(id);
        let ident = self.names.ident(name);
        let (reader, writer) = (self.names.companion(id, "Ref"), self.names.companion(id, "Mut"));
        let discriminator = self.region_spell(scope, &discriminator);
        let has_form = self.has_region_form(id);
        if has_form {
            self.region_name(code, id, &ident);
        } else {
            code.gap();
        }
        let form = ident;
        let accessors = Idents::in_region(it.cases.iter().map(|it| &it.member));
        let accessor = |name: &str| accessors.get(name);
        let called = names::cases(&it.cases);
        let cases = it.cases.iter().zip(&members);
        let parts: Vec<Part> = cases
            .map(|(case, place)| Part {
                label: &case.member.name,
                docs: &case.member.docs,
                accessor: accessor(&case.member.name),
                field: variant_of(&case.member.name),
                ty: self.region_spell(scope, &place.ty),
                offset: 0,
                of: place.ty.clone(),
                conversion: self.conversion(&case.member.ty),
                default: None,
            })
            .collect();
        self.accessors(code, (&form, &reader, &writer), Some(&discriminator), &parts);
        self.stored_union(code, &form, (id, it, &discriminator), &parts, |code| {
            if !has_form {
                self.copied_union(code, (&form, case_name), &parts, |name| called[name].get_mut.clone());
            }
        });
        if !has_form {
            self.conversions_of_value(code, &form);
            return;
        }
        let spelling = self.spelling(id, &self.names.ident(name));
        let cases = || it.cases.iter().zip(&members).map(|(case, place)| (&case.member, &place.ty));
        self.storing(code, &form, &spelling, |code| {
            let function = format!("{}::<{form}>", self.region_crate("union_renew"));
            let arguments = ["memory.reborrow()", "at", "from.discriminator()"];
            code.call_from("let place = ", &Call::new(function, &arguments), ";");
            for (member, ty) in cases() {
                let value = format!("from.{}()", called[member.name.as_str()].get);
                let label = format!("\"{}\"", member.name);
                let function = self.region_crate("convert::store_case");
                let mut call = Call::new(function, &["memory.reborrow()", "place", &value, "body", &label]);
                let how = self.conversion(&member.ty);
                call.arguments.push(converter("memory, at, from, body", |arguments| {
                    self.store(scope, &how, ty, arguments)
                }));
                code.call(&call, "?;");
            }
        });
        self.loading(code, &form, &spelling, |code| {
            code.line(format!("to.select({}(from));", self.region_crate("union_discriminator")));
            for (member, ty) in cases() {
                let called = &called[member.name.as_str()];
                let (from, to) =
                    (format!("from.{}()", accessor(&member.name)), format!("to.{}()", called.get_mut));
                let label = format!("\"{}\"", member.name);
                let function = self.region_crate("convert::load_case");
                let mut call = Call::new(function, &[&from, &to, "bodies", &label]);
                let how = self.conversion(&member.ty);
                call.arguments
                    .push(converter("from, to, bodies", |arguments| self.load(&how, ty, arguments)));
                code.call(&call, "?;");
            }
        });
    }
}

/// What a container holds in a region; of a map, the value.
fn held(ty: &RegionType) -> &RegionType {
    match ty {
        RegionType::Array(held, _)
        | RegionType::Vector(held)
        | RegionType::Set(_, held)
        | RegionType::Map(_, _, held)
        | RegionType::Optional(held)
        | RegionType::Unique(held)
        | RegionType::Shared(held)
        | RegionType::Weak(held) => held,
        other => other,
    }
}

/// How what a container holds is converted, if it is done one by one.
fn inner<'a>(how: &'a Conversion, ty: &'a RegionType) -> Option<(&'a Conversion, &'a RegionType)> {
    match how {
        _ if matches!(ty, RegionType::Set(..) | RegionType::Weak(_)) => None,
        Conversion::List(inner) if **inner == Conversion::Copy => None,
        Conversion::List(inner)
        | Conversion::Array(inner)
        | Conversion::Maybe(inner)
        | Conversion::Map(_, inner) => Some((inner, held(ty))),
        _ => None,
    }
}

/// A function with these parameters that makes a call.
fn converter(parameters: &'static str, call: impl Fn(&[&str]) -> Call) -> Argument {
    let plain = call(&[]);
    if plain.arguments.is_empty() {
        return Argument::Plain(plain.function);
    }
    let arguments: Vec<&str> = parameters.split(", ").collect();
    Argument::Closure(parameters, None, call(&arguments).into())
}
