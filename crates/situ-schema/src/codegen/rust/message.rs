//! What a transport knows of a struct in Rust: its schema, its bulk members and its flat form.

use super::Generator;
use super::call::Call;
use super::composite::Spelling;
use super::names::{Idents, Scope};
use super::writer::CodeWriter;
use crate::model::{Struct, Type, TypeId};

/// A field of the structure with the lengths of bulk members.
struct Length {
    field: String,
    /// The member it speaks of.
    member: String,
    /// The element and the bound of a bulk member, or the type of the lengths within a member.
    of: Result<(String, String), String>,
}

impl Generator<'_> {
    /// Implements what a transport needs.
    pub fn message(
        &self,
        code: &mut CodeWriter,
        scope: &Scope,
        id: TypeId,
        it: &Struct,
        spelling: &Spelling,
    ) {
        let name = self.schema.name(id);
        let lengths = self.lengths(scope, id, it);
        let bulk = self.names.companion(id, "BulkLengths");
        if !lengths.is_empty() {
            self.bulk_lengths(code, &bulk, &lengths, spelling);
        }
        let flat = self.flat_form(spelling);
        self.implementation(code, "impl", "Message", spelling, |code| {
            code.line(format!("const NAME: &'static str = \"{name}\";"));
            code.assign("const SCHEMA: &'static str", &scope.schema(name), ";");
            code.line(format!("const SCHEMA_HASH: u64 = 0x{:016x};", self.schema.schema_hash(id)));
            let kind = self.layout("StorageKind");
            let hash = format!("0x{:016x}", self.schema.layout_hash(id));
            let storage = match spelling.bound {
                Some(_) => format!("<{} as {}>::KIND", self.storage, self.layout("Storage")),
                None => format!("{kind}::Flat"),
            };
            code.assign(&format!("const STORAGE: {kind}"), &storage, ";");
            if spelling.bound.is_some() && flat.is_some() {
                code.closed("const LAYOUT_HASH: u64 = match Self::STORAGE", "};", |code| {
                    code.line(format!("{kind}::Flat => {hash},"));
                    code.line("_ => 0,");
                });
            } else {
                code.line(format!("const LAYOUT_HASH: u64 = {hash};"));
            }
            if let Some(flat) = &flat {
                let form = self.layout("FlatForm");
                code.line(format!("const FLAT_FORM: ::core::option::Option<{form}> ="));
                code.indent();
                code.call(&Call::new(format!("{form}::some::<{flat}>"), &[]), ";");
                code.dedent();
            }
            code.gap();
            let ty = if lengths.is_empty() { "()" } else { &bulk };
            code.line(format!("type BulkLengths = {ty};"));
            if !lengths.is_empty() {
                self.bulk(code, &bulk, &lengths);
            }
            if let Some(flat) = &flat {
                self.conversion_of_flat_form(code, flat);
            }
            if self.has_region(id) {
                self.reading_of_region(code, &self.region_path(scope, id));
            }
        });
        if let Some(flat) = flat {
            self.flat_message(code, id, it, spelling, &flat);
        }
    }

    /// The fields of the structure that holds the lengths of bulk members.
    fn lengths(&self, scope: &Scope, id: TypeId, it: &Struct) -> Vec<Length> {
        if !self.schema.has_bulk(id) || !self.schema.is_flattable(id) {
            return Vec::new();
        }
        let nested = |ty: &Type| {
            let (id, _) = self.schema.as_struct(ty)?;
            self.schema
                .has_bulk(id)
                .then(|| scope.beside(self.schema.name(id), &self.names.companion(id, "BulkLengths")))
        };
        let called = Idents::fields(it);
        let base = it.base.and_then(|base| nested(&Type::Named(base)));
        let base = base.map(|ty| Length { field: "base".into(), member: "base".into(), of: Err(ty) });
        let members = it.members.iter().filter_map(|member| {
            let of = match self.bulk_of(scope, member) {
                Some(leaf) => Ok(leaf),
                None => Err(nested(&member.ty).filter(|_| !member.optional)?),
            };
            Some(Length { field: called.get(&member.name), member: member.name.clone(), of })
        });
        base.into_iter().chain(members).collect()
    }

    /// The structure that holds the lengths of bulk members.
    fn bulk_lengths(&self, code: &mut CodeWriter, name: &str, lengths: &[Length], spelling: &Spelling) {
        code.gap();
        code.line(format!("/// How many elements the bulk members of [`{}`] hold.", spelling.name));
        code.line("#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]");
        code.block(format!("pub struct {name}"), |code| {
            for Length { field, member, of } in lengths {
                code.line(format!("/// Of `{member}`."));
                code.member(&format!("pub {field}"), of.as_ref().map_or_else(|ty| ty.as_str(), |_| "usize"));
            }
        });
    }

    /// The functions for bulk members.
    fn bulk(&self, code: &mut CodeWriter, name: &str, lengths: &[Length]) {
        let cursor = format!("cursor: &mut {}", self.layout("BulkCursor"));
        let message = self.layout("Message");
        code.gap();
        code.block(format!("fn bulk_lengths(&self) -> {name}"), |code| {
            code.block(name, |code| {
                for Length { field, of, .. } in lengths {
                    let function = match of {
                        Ok((element, _)) => {
                            format!("{}::<{element}>::element_count", self.layout("BulkField"))
                        }
                        Err(_) => format!("{message}::bulk_lengths"),
                    };
                    let call = Call::new(function, &[&format!("&self.{field}")]);
                    code.call_from(&format!("{field}: "), &call, ",");
                }
            });
        });
        code.gap();
        let measured = format!("lengths: &{name}");
        code.function("fn measure_bulk", &[&measured, &cursor], "::core::option::Option<()>");
        code.indent();
        for Length { field, of, .. } in lengths {
            let call = match of {
                Ok((element, bound)) => {
                    let function = format!("{}::<{element}, {bound}>", self.layout("field::measure"));
                    Call::new(function, &[&format!("lengths.{field}"), "cursor"])
                }
                Err(_) => {
                    let arguments = [format!("|it: &Self| &it.{field}"), format!("&lengths.{field}")];
                    Call::new(self.layout("field::measure_bulk"), &[&arguments[0], &arguments[1], "cursor"])
                }
            };
            code.call(&call, "?;");
        }
        code.line("::core::option::Option::Some(())");
        code.dedent();
        code.line("}");
        code.gap();
        code.procedure("unsafe fn place_bulk", &["dst: *mut Self", &measured, &cursor]);
        code.indent();
        code.line(
            "// SAFETY: dst points to a valid, writable value, and measuring succeeded for the same lengths.",
        );
        code.block("unsafe", |code| {
            for Length { field, of, .. } in lengths {
                let call = match of {
                    Ok((element, _)) => Call::new(
                        format!("{}::<{element}, _>", self.layout("field::place")),
                        &[&format!("&mut (*dst).{field}"), &format!("lengths.{field}"), "cursor"],
                    ),
                    Err(_) => Call::new(
                        format!("{message}::place_bulk"),
                        &[&format!("&raw mut (*dst).{field}"), &format!("&lengths.{field}"), "cursor"],
                    ),
                };
                code.call(&call, ";");
            }
        });
        code.dedent();
        code.line("}");
    }

    /// The conversion from the flat form and to it.
    fn conversion_of_flat_form(&self, code: &mut CodeWriter, flat: &str) {
        let shared = self.layout("SharedBytes");
        let result = format!("::core::result::Result<(), {}>", self.layout("FlatFormError"));
        let (head, body) = (format!("head: {shared}<'_>"), format!("body: {shared}<'_>"));
        code.gap();
        code.function("fn read_flat", &["&mut self", "own_body: &mut [u8]", &head, &body], &result);
        code.indent();
        let function = format!("{}::<Self, {flat}>", self.layout("read_flat"));
        code.call(&Call::new(function, &["self", "own_body", "head", "body"]), "");
        code.dedent();
        code.line("}");
        code.gap();
        let parameters = ["&self", "own_body: &[u8]", "head: *mut u8", "body: &mut [u8]"];
        code.function("unsafe fn write_flat", &parameters, &result);
        code.indent();
        code.line("// SAFETY: the caller's promises are the same.");
        let function = format!("{}::<Self, {flat}>", self.layout("write_flat"));
        code.unsafe_call(&Call::new(function, &["self", "own_body", "head", "body"]));
        code.dedent();
        code.line("}");
    }

    /// The conversion from the form in regions.
    fn reading_of_region(&self, code: &mut CodeWriter, region: &str) {
        let image = format!("image: {}<'_>", self.layout("SharedBytes"));
        let result = format!("::core::result::Result<(), {}>", self.layout("RegionFormError"));
        code.gap();
        code.function("fn read_region", &["&mut self", "own_body: &mut [u8]", &image], &result);
        code.indent();
        let function = format!("{}::<Self, {region}>", self.region_crate("read_region"));
        code.call(&Call::new(function, &["self", "own_body", "image"]), "");
        code.dedent();
        code.line("}");
    }

    /// Marks the flat form as such, and compares its layout with that of the schema.
    fn flat_message(&self, code: &mut CodeWriter, id: TypeId, it: &Struct, spelling: &Spelling, flat: &str) {
        let fields = Idents::fields(it);
        let fields: Vec<String> = it
            .base
            .iter()
            .map(|_| "base".to_owned())
            .chain(it.members.iter().map(|member| fields.get(&member.name)))
            .collect();
        code.gap();
        code.line("// SAFETY: the constant below compiles only if every member is self-contained.");
        self.mark(code, "SelfContained", flat);
        if spelling.bound.is_none() {
            code.line("// SAFETY: the structure is self-contained, and does not depend on the storage.");
            self.mark(code, "BulkElement", flat);
        }
        let layout = self.schema.flat_layout(id);
        if layout.is_some() {
            code.line("// SAFETY: the constant below compiles only if the layout is that of the schema.");
            self.mark(code, "FlatMessage", flat);
        }
        code.gap();
        code.closed("const _: () =", "};", |code| {
            let ty = self.flat_alias(code, spelling, flat);
            for field in &fields {
                let argument = format!("|it: &{ty}| &it.{field}");
                code.call(&Call::new(self.layout("field::assert_self_contained"), &[&argument]), ";");
            }
            if let Some(layout) = &layout {
                let offsets =
                    fields.iter().zip(&layout.members).map(|(field, at)| (field.as_str(), at.offset));
                self.assert_layout(code, &ty, layout.extent.size, layout.extent.align, offsets);
            }
        });
    }

    /// Implements a trait without members.
    pub fn mark(&self, code: &mut CodeWriter, name: &str, ty: &str) {
        let (left, right) = (format!("unsafe impl {}", self.layout(name)), format!("for {ty}"));
        let whole = format!("{left} {right} {{}}");
        if code.fits(whole.len()) {
            return code.line(whole);
        }
        code.line(left);
        code.indent();
        code.line(right);
        code.dedent();
        code.lines("{\n}");
    }

    /// A short name for the flat form.
    pub fn flat_alias(&self, code: &mut CodeWriter, spelling: &Spelling, flat: &str) -> String {
        if spelling.bound.is_none() {
            return flat.to_owned();
        }
        let alias = format!("{}_", spelling.name.trim_start_matches("r#"));
        code.line(format!("type {alias} = {flat};"));
        alias
    }

    /// Assertions that a type has this layout.
    pub fn assert_layout<'a>(
        &self,
        code: &mut CodeWriter,
        ty: &str,
        size: u64,
        align: u64,
        offsets: impl Iterator<Item = (&'a str, u64)>,
    ) {
        let mut assert =
            |condition: String| code.call(&Call::new("::core::assert!".into(), &[&condition]), ";");
        assert(format!("::core::mem::size_of::<{ty}>() == {size}"));
        assert(format!("::core::mem::align_of::<{ty}>() == {align}"));
        offsets.for_each(|(field, at)| assert(format!("::core::mem::offset_of!({ty}, {field}) == {at}")));
    }
}
