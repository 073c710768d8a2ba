//! The implementations of types in regions: accessors, and the fields of structs and unions.

use super::Generator;
use super::call::Call;
use super::composite::Spelling;
use super::conversion::Conversion;
use super::writer::CodeWriter;
use crate::RegionType;
use crate::model::{TypeId, Union};

/// A member of a struct in regions, or a case of a union.
pub struct Part<'a> {
    pub label: &'a str,
    pub docs: &'a str,
    /// How the accessor is called, and the member outside of regions.
    pub accessor: String,
    pub field: String,
    pub ty: String,
    pub offset: u64,
    pub of: RegionType,
    pub conversion: Conversion,
    pub default: Option<String>,
}

/// What all unions do in regions.
const UNION: &str = "fn begin(memory: REGION::MemoryMut<'_>, at: u32) {
    REGION::union_begin::<Self>(memory, at);
}

fn moved(memory: REGION::MemoryMut<'_>, at: u32, distance: u32) {
    REGION::union_moved::<Self>(memory, at, distance);
}

fn slide(slide: &mut REGION::Slide<'_>, at: u32) {
    REGION::union_slide::<Self>(slide, at);
}

fn release(memory: REGION::MemoryMut<'_>, at: u32) {
    REGION::union_release::<Self>(memory, at);
}

fn write(writer: &mut REGION::Writer<'_>, from: u32, to: u32) {
    REGION::union_write::<Self>(writer, from, to);
}

fn check<const __CANONICAL: bool>(
    check: &mut REGION::Check<'_, __CANONICAL>,
    at: u32,
) -> ::core::result::Result<(), REGION::Invalid> {
    REGION::union_check::<Self, __CANONICAL>(check, at)
}

fn pack(writer: &mut REGION::Writer<'_>, from: u32, to: u32) {
    REGION::union_pack::<Self>(writer, from, to);
}

fn check_packed<const __CANONICAL: bool>(
    check: &mut REGION::Check<'_, __CANONICAL>,
    at: u32,
) -> ::core::result::Result<(), REGION::Invalid> {
    REGION::union_check_packed::<Self, __CANONICAL>(check, at)
}

fn unpack(
    unpacker: &mut REGION::Unpacker<'_>,
    memory: REGION::MemoryMut<'_>,
    at: u32,
    from: u32,
) -> ::core::result::Result<(), REGION::Full> {
    REGION::union_unpack::<Self>(unpacker, memory, at, from)
}

fn show(
    walk: &REGION::ShowWalk<'_>,
    at: u32,
    f: &mut ::core::fmt::Formatter<'_>,
) -> ::core::fmt::Result {
    REGION::union_show::<Self>(walk, at, f)
}

fn equals(equal: &mut REGION::Equal<'_, '_>, a: u32, b: u32) -> bool {
    REGION::union_equals::<Self>(equal, a, b)
}";

/// The accessors for reading or for changing: the trait, and the reference that has them.
struct Side {
    /// The parameters of the implementation.
    generic: &'static str,
    /// The trait with its parameters.
    of: String,
    receiver: &'static str,
    /// The type of references, up to the type that they refer to.
    handle: String,
    /// The functions that find the discriminator and the case of a union.
    union: [&'static str; 2],
}

/// What an accessor returns, given the handle up to the type that it refers to.
fn accessed(handle: &str, part: &Part, is_case: bool) -> String {
    let reference = format!("{handle}{}>", part.ty);
    if is_case { format!("::core::option::Option<{reference}>") } else { reference }
}

impl Generator<'_> {
    /// An implementation for a type without parameters.
    pub fn implement_stored(
        &self,
        code: &mut CodeWriter,
        (head, name, ty): (&str, &str, &str),
        inside: impl FnOnce(&mut CodeWriter),
    ) {
        let spelling = Spelling { used: ty.to_owned(), ..Spelling::default() };
        self.implementation_of(code, head, name, &spelling, inside);
    }

    /// The two traits of accessors, and their implementations for references. Unions have a discriminator.
    pub fn accessors(
        &self,
        code: &mut CodeWriter,
        (form, reader, writer): (&str, &str, &str),
        discriminator: Option<&str>,
        parts: &[Part],
    ) {
        let value =
            discriminator.map(|it| format!("<{it} as {}>::Value", self.region_crate("Discriminator")));
        let access = self.region_crate("Access<'r>");
        let traits = [
            (format!("{reader}<'r>: {access}"), "self", format!("<Self as {access}>::Of<"), "Read"),
            (writer.to_owned(), "&mut self", self.region_crate("Mut<'_, "), "Mutable"),
        ];
        for (of, receiver, handle, what) in &traits {
            let kind = if value.is_some() { "union" } else { "struct" };
            code.gap();
            let image = if *receiver == "self" { " or a packed image" } else { "" };
            code.line(format!("/// {what} access to the members of the {kind} in a region{image}."));
            code.line("#[allow(dead_code)]");
            code.block(format!("pub trait {of}"), |code| {
                if let Some(value) = &value {
                    if *receiver == "self" {
                        code.line("/// What selects the case.");
                        code.declaration("fn discriminator", &["self"], value);
                    } else {
                        code.line("/// Selects a case. A newly selected case begins with its default value.");
                        code.required("fn select", &[receiver, &format!("discriminator: {value}")]);
                    }
                }
                for part in parts {
                    code.gap();
                    code.docs(part.docs, || format!("`{}`.", part.label));
                    let result = accessed(handle, part, value.is_some());
                    code.declaration(&format!("fn {}", part.accessor), &[receiver], &result);
                }
            });
        }
        let sides = [
            Side {
                generic: "<'r>",
                of: format!("{reader}<'r>"),
                receiver: "self",
                handle: self.region_crate("Ref<'r, "),
                union: ["union_discriminator", "union_member"],
            },
            Side {
                generic: "<'r>",
                of: format!("{reader}<'r>"),
                receiver: "self",
                handle: self.region_crate("Packed<'r, "),
                union: ["packed_discriminator", "packed_member"],
            },
            Side {
                generic: "",
                of: writer.to_owned(),
                receiver: "&mut self",
                handle: self.region_crate("Mut<'_, "),
                union: ["union_select", "union_member_mut"],
            },
        ];
        for Side { generic, of, receiver, handle, union: [discriminator, member] } in &sides {
            let names = (&*format!("impl{generic}"), &**of, &*format!("{handle}{form}>"));
            let is_packed = *member == "packed_member";
            self.implement_stored(code, names, |code| {
                if let Some(value) = &value {
                    let function = self.region_crate(discriminator);
                    if *receiver == "self" {
                        code.function("fn discriminator", &["self"], value);
                        code.line(format!("    {function}(self)"));
                    } else {
                        code.procedure("fn select", &[receiver, &format!("discriminator: {value}")]);
                        code.line(format!("    {function}(self, discriminator);"));
                    }
                    code.line("}");
                }
                for (index, part) in parts.iter().enumerate() {
                    code.gap();
                    let result = accessed(handle, part, value.is_some());
                    if value.is_none() {
                        code.line("#[inline]");
                    }
                    code.function(&format!("fn {}", part.accessor), &[receiver], &result);
                    code.line(match value {
                        Some(_) => format!("    {}(self, {index})", self.region_crate(member)),
                        None if is_packed => format!("    self.member::<_, {index}>()"),
                        None => format!("    self.part({})", part.offset),
                    });
                    code.line("}");
                }
            });
        }
    }

    /// The fields of the members or cases as constants, and the layout that they give.
    fn fields(&self, code: &mut CodeWriter, parts: &[Part], ty: &str, layout: &str) {
        let field = self.region_crate("Field");
        for (index, Part { label, offset, ty, .. }) in parts.iter().enumerate() {
            let value = format!("{field}::new(\"{label}\", {offset})");
            code.assign(&format!("const M{index}: {field}<{ty}>"), &value, ";");
        }
        let members: Vec<String> = (0..parts.len()).map(|index| format!("M{index}.member()")).collect();
        code.list(&format!("const MEMBERS: &[{}] = &[", self.region_crate("Member")), &members, "];");
        code.assign(&format!("const LAYOUT: {ty}"), &format!("{layout}(MEMBERS)"), ";");
    }

    /// A struct's members, with what `inside` adds to the block that knows the fields.
    pub fn stored_struct(
        &self,
        code: &mut CodeWriter,
        (form, id): (&str, TypeId),
        is_appendable: bool,
        parts: &[Part],
        inside: impl FnOnce(&mut CodeWriter),
    ) {
        let layout = self.region_crate("StructLayout");
        code.gap();
        code.closed("const _: () =", "};", |code| {
            let function = if is_appendable { "appendable" } else { "of" };
            self.fields(code, parts, &layout, &format!("{layout}::{function}"));
            self.implement_stored(code, ("impl", &self.region_crate("Struct"), form), |code| {
                code.assign("const NAME: &'static str", &format!("\"{}\"", self.schema.name(id)), ";");
                code.line(format!("const LAYOUT: {layout} = LAYOUT;"));
                if is_appendable {
                    code.line("const IS_APPENDABLE: bool = true;");
                }
                code.line(format!("const HASH: u64 = 0x{:016x};", self.schema.schema_hash(id)));
                self.facts(code, "own_facts");
                code.gap();
                code.line("#[inline(always)]");
                code.function(
                    &format!("fn visit_members<V: {}>", self.region_crate("MemberVisitor")),
                    &["visitor: &mut V"],
                    "::core::result::Result<(), V::Error>",
                );
                code.indent();
                for (index, part) in parts.iter().enumerate() {
                    let field = format!("M{index}");
                    let call = match &part.default {
                        None => Call::new("visitor.member".into(), &[&field]),
                        Some(default) => Call::new("visitor.member_or".into(), &[&field, default]),
                    };
                    code.call(&call, "?;");
                }
                code.line("::core::result::Result::Ok(())");
                code.dedent();
                code.line("}");
            });
            inside(code);
        });
    }

    /// The facts of a type as a root, in a static variable.
    fn facts(&self, code: &mut CodeWriter, name: &str) {
        let facts = self.region_crate("Facts");
        code.gap();
        code.block(format!("fn {name}() -> &'static {facts}"), |code| {
            let cell = format!("::std::sync::OnceLock<{facts}>");
            code.assign(&format!("static FACTS: {cell}"), "::std::sync::OnceLock::new()", ";");
            code.line(format!("FACTS.get_or_init({facts}::work_out::<Self>)"));
        });
    }

    /// A union's `Stored` and `Union`, with what `inside` adds to the block that knows the fields.
    pub fn stored_union(
        &self,
        code: &mut CodeWriter,
        form: &str,
        (id, it, discriminator): (TypeId, &Union, &str),
        parts: &[Part],
        inside: impl FnOnce(&mut CodeWriter),
    ) {
        code.gap();
        code.closed("const _: () =", "};", |code| {
            let layout = format!("{}::<{discriminator}>", self.region_crate("union_layout"));
            self.fields(code, parts, "(u32, u32, u32)", &layout);
            let packed = self.region_crate("PackedUnion");
            let value = format!("{packed}::of::<{discriminator}>(MEMBERS)");
            code.assign(&format!("const PACKED: {packed}"), &value, ";");
            self.implement_stored(code, ("impl", &self.region_crate("Stored"), form), |code| {
                code.line("const SIZE: u32 = LAYOUT.1;");
                code.line("const ALIGN: u32 = LAYOUT.2;");
                code.line("const LINKS: bool = true;");
                code.line("const DENSE: bool = false;");
                code.line("const ANY: bool = false;");
                code.line("const NAMED: bool = true;");
                code.line("const PACKED_SIZE: u32 = PACKED.size;");
                code.line("const PACKED_ALIGN: u32 = PACKED.align;");
                self.facts(code, "facts");
                code.gap();
                code.block("fn kind() -> ::std::string::String", |code| {
                    let name = format!("\"{}\"", self.schema.name(id));
                    code.call(&Call::new("::std::string::String::from".into(), &[&name]), "");
                });
                self.union_needed(code, discriminator, it);
                code.gap();
                self.functions(code, UNION);
            });
            self.implement_stored(code, ("impl", &self.region_crate("Union"), form), |code| {
                code.assign("type Discriminator", discriminator, ";");
                code.line("const VALUE: u32 = LAYOUT.0;");
                let packed = self.region_crate("PackedUnion");
                code.line(format!("const PACKED: {packed} = PACKED;"));
                code.line(format!("const INITIAL: i128 = {};", self.schema.default_discriminator(it)));
                self.union_cases(code, it);
            });
            inside(code);
        });
    }

    /// The lines of the layout of a union.
    fn union_needed(&self, code: &mut CodeWriter, discriminator: &str, it: &Union) {
        code.gap();
        code.procedure("fn needed", &[&format!("lines: &mut {}", self.region_crate("Lines"))]);
        code.indent();
        let condition = "if let ::core::option::Option::Some(name) = lines.begin_struct::<Self>()";
        code.block(condition, |code| {
            code.line("lines.line(&name, 0, Self::SIZE, Self::ALIGN, \"union\");");
            let call =
                Call::new(format!("lines.member::<{discriminator}>"), &["&name", "\"discriminator\"", "0"]);
            code.call(&call, ";");
            let function = self.region_crate("union_line");
            for (index, case) in it.cases.iter().enumerate() {
                let labels: Vec<String> = case.labels.iter().map(i128::to_string).collect();
                code.line(format!("let labels = &[{}];", labels.join(", ")));
                let field = format!("M{index}");
                let arguments =
                    ["lines", "&name", &field, "LAYOUT.0", "labels", &case.is_default.to_string()];
                code.call(&Call::new(function.clone(), &arguments), ";");
            }
            for index in 0..it.cases.len() {
                code.line(format!("M{index}.needed(lines);"));
            }
        });
        code.dedent();
        code.line("}");
    }

    /// Which case a discriminator selects, and its type.
    fn union_cases(&self, code: &mut CodeWriter, it: &Union) {
        let cases = &it.cases;
        let selected = format!("selected: {}<Self>", self.region_crate("Selected"));
        code.gap();
        code.function("fn case", &[&selected], "u32");
        code.indent();
        let other = cases.iter().position(|it| it.is_default).unwrap_or(cases.len());
        code.block(format!("match {}(selected)", self.region_crate("union_case::<Self>")), |code| {
            for (index, case) in cases.iter().enumerate().filter(|(_, it)| !it.is_default) {
                let labels: Vec<String> = case.labels.iter().map(i128::to_string).collect();
                code.line(format!("{} => {index},", labels.join(" | ")));
            }
            code.line(format!("_ => {other},"));
        });
        code.dedent();
        code.line("}");
        code.gap();
        code.function(
            &format!("fn visit_case<V: {}>", self.region_crate("CaseVisitor")),
            &[&selected, "visitor: V"],
            "::core::option::Option<V::Output>",
        );
        code.indent();
        code.block(format!("match <Self as {}>::case(selected)", self.region_crate("Union")), |code| {
            for index in 0..cases.len() {
                code.line(format!("{index} => ::core::option::Option::Some(visitor.visit(M{index})),"));
            }
            code.line("_ => ::core::option::Option::None,");
        });
        code.dedent();
        code.line("}");
    }
}
