//! The region form of structs in Rust: a name for what lies in regions, accessors, and conversions.

use super::Generator;
use super::names::{self, Idents, Scope};
use super::types::{self, Dependence};
use super::writer::CodeWriter;
use crate::model::{Lookup, Member, Primitive, Struct, Type, TypeId, Union};
use crate::{RegionLayout, RegionType};

/// A member of a region form.
struct Part<'a> {
    label: &'a str,
    /// How the accessor is called, and the member outside of regions.
    accessor: String,
    field: String,
    ty: String,
    kind: String,
    default: String,
}

impl Generator<'_> {
    /// Whether the region form of a type is generated.
    pub fn has_region(&self, id: TypeId) -> bool {
        self.schema.has_region(id)
    }

    /// Whether a type lies in regions under a name of its own: it depends on the storage, or has another size there.
    fn has_region_name(&self, id: TypeId) -> bool {
        types::storage_of(self.schema, id) != Dependence::None || self.schema.is_appended_in_regions(id)
    }

    /// The path of the region form of a struct or union, beside it.
    pub fn region_path(&self, scope: &Scope, id: TypeId) -> String {
        let name = self.schema.name(id);
        if self.has_region_name(id) {
            scope.beside(name, &self.names.companion(id, "Region"))
        } else {
            scope.path(name)
        }
    }

    /// What lies in a region, in Rust.
    pub fn region_spell(&self, scope: &Scope, ty: &RegionType) -> String {
        let inner = |ty: &RegionType| self.region_spell(scope, ty);
        let in_region = |name: &str| self.region_crate(name);
        let lookup = |of: &Lookup| match of {
            Lookup::Flat => "Flat",
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
    fn region_conversion(&self, member: &Member) -> String {
        match self.schema.as_struct(&member.ty) {
            _ if member.set => "(set key)".into(),
            Some((id, _)) if member.optional && self.has_region_name(id) => "(maybe nested)".into(),
            _ => self.member_conversion(member).to_string(),
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
                accessor: "base".into(),
                field: "base".into(),
                ty: self.region_spell(scope, &member.ty),
                kind: self.conversion(&Type::Named(base)).to_string(),
                default: String::new(),
            });
        }
        let (accessors, fields) = (Idents::in_region(&it.members), Idents::fields(it));
        for (member, place) in it.members.iter().zip(&layout.members[own..]) {
            let default = member.default.as_ref().and_then(|_| self.default(scope, member));
            parts.push(Part {
                label: &member.name,
                accessor: accessors.get(&member.name),
                field: fields.get(&member.name),
                ty: self.region_spell(scope, &place.ty),
                kind: self.region_conversion(member),
                default: default.map_or(String::new(), |it| format!(" = {it}")),
            });
        }
        let name = self.schema.name(id);
        let ident = self.names.ident(name);
        let hash = format!("\"{name}\" 0x{:016x}", self.schema.schema_hash(id));
        let (reader, writer) = (self.names.companion(id, "Ref"), self.names.companion(id, "Mut"));
        code.gap();
        if !self.has_region_name(id) {
            let plain = self.is_region_plain(&RegionType::Struct(id));
            code.block(format!("{}!", self.region_crate("region_value")), |code| {
                if plain {
                    code.line(format!("plain {ident}: {hash};"));
                } else {
                    code.line(format!("{ident}: {reader}, {writer}, {hash};"));
                }
                for Part { label, accessor, field, ty, default, .. } in &parts {
                    // The member itself is read and written by this name.
                    let accessor = if plain { field } else { accessor };
                    code.line(format!("\"{label}\" {accessor} {field}: {ty}{default};"));
                }
            });
            return;
        }
        let form = self.region_form(code, id, &ident);
        let spelling = self.spelling(id, &ident);
        let message =
            if spelling.parameter.is_empty() { ident } else { format!("{ident}<{}>", self.layout("Heap")) };
        code.block(format!("{}!", self.region_crate("region_type")), |code| {
            let extensibility = if it.is_appended_in_regions() { "appendable" } else { "final" };
            code.line(format!("{extensibility} {form}: {reader}, {writer}, {hash},"));
            code.line(format!("{message};"));
            for Part { label, accessor, ty, default, .. } in &parts {
                code.line(format!("\"{label}\" {accessor}: {ty}{default};"));
            }
        });
        code.gap();
        code.block(format!("{}!", self.region_crate("region_conversion")), |code| {
            code.line(format!("{form}, {};", spelling.listed));
            for Part { label, accessor, field, ty, kind, .. } in &parts {
                code.line(format!("\"{label}\" {accessor} {field}: {ty}, {kind};"));
            }
        });
    }

    /// Writes the type that is the name of a region form, and gives the name.
    fn region_form(&self, code: &mut CodeWriter, id: TypeId, ident: &str) -> String {
        let form = self.names.companion(id, "Region");
        code.line(format!("/// [`{ident}`] as it lies in a region: a type that names it."));
        code.line(format!("pub enum {form} {{}}"));
        code.gap();
        form
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
        let own_name = self.has_region_name(id);
        code.gap();
        let form = if own_name { self.region_form(code, id, &ident) } else { ident };
        let accessors = Idents::in_region(it.cases.iter().map(|it| &it.member));
        let accessor = |name: &str| accessors.get(name);
        let called = names::cases(&it.cases);
        code.block(format!("{}!", self.region_crate("region_union_type")), |code| {
            let initial = self.schema.default_discriminator(it);
            code.line(format!("{form}: {reader}, {writer} ({discriminator} = {initial}), \"{name}\";"));
            for (case, place) in it.cases.iter().zip(&members) {
                let labels: Vec<String> = case.labels.iter().map(i128::to_string).collect();
                let default = if case.is_default { "default" } else { "" };
                let (label, ty) = (&case.member.name, self.region_spell(scope, &place.ty));
                code.line(format!(
                    "[{}] [{default}] \"{label}\" {}: {ty};",
                    labels.join(" "),
                    accessor(label)
                ));
            }
        });
        code.gap();
        let which = if own_name { "region_union_conversion" } else { "region_union_value" };
        code.block(format!("{}!", self.region_crate(which)), |code| {
            if own_name {
                code.line(format!(
                    "{form}, {} {case_name};",
                    self.spelling(id, &self.names.ident(name)).listed
                ));
            } else {
                code.line(format!("{form} {case_name};"));
            }
            for (case, place) in it.cases.iter().zip(&members) {
                let (label, ty) = (&case.member.name, self.region_spell(scope, &place.ty));
                let (get, variant) = (accessor(label), variant_of(label));
                let get_mut = &called[label.as_str()].get_mut;
                if own_name {
                    let kind = self.conversion(&case.member.ty);
                    code.line(format!("\"{label}\" {get} {get_mut} {variant}: {ty}, {kind};"));
                } else {
                    code.line(format!("{get} {get_mut} {variant}: {ty};"));
                }
            }
        });
    }
}
