//! Unions in Rust: a structure of a discriminator and a union, and an enum of references to read it by.

use super::Generator;
use super::call::{Argument, Call};
use super::composite::Spelling;
use super::conversion::ASSIGN;
use super::names::{self, CaseNames, Scope};
use super::writer::CodeWriter;
use crate::model::{Case, Member, Type, TypeId, Union};

/// A case, and what it is called in Rust.
struct UnionCase<'a> {
    of: &'a Case,
    variant: String,
    ty: String,
    names: &'a CaseNames,
}

impl UnionCase<'_> {
    /// The pattern of the numbers that select the case.
    fn labels(&self) -> String {
        if self.of.is_default {
            return "_".to_owned();
        }
        self.of.labels.iter().map(i128::to_string).collect::<Vec<_>>().join(" | ")
    }
}

/// The variants for these cases: their names in camel case, made different where they are not.
pub(super) fn variants(cases: &[&Case]) -> Vec<String> {
    let mut variants: Vec<String> = Vec::with_capacity(cases.len());
    for case in cases {
        let mut variant = names::camel_case(&case.member.name);
        while variant == "Nothing" || variant == "Self" || variants.contains(&variant) {
            variant.push('_');
        }
        variants.push(variant);
    }
    variants
}

impl Generator<'_> {
    /// A union and all that belongs to it.
    pub fn union(&self, code: &mut CodeWriter, scope: &Scope, id: TypeId, it: &Union) {
        let definition = self.schema.definition(id);
        let (payload, case) = (self.names.companion(id, "Payload"), self.names.companion(id, "Case"));
        let spelling = self.spelling(id, &self.names.ident(&definition.name));
        let name = &spelling.name;
        let is_plain = spelling.parameter.is_empty();
        let parameter = format!("{}{}", spelling.parameter, spelling.default);
        // The default case comes last, so that its pattern takes what the others leave.
        let (defaults, labelled): (Vec<&Case>, Vec<&Case>) =
            it.cases.iter().partition(|case| case.is_default);
        let cases: Vec<&Case> = labelled.into_iter().chain(defaults).collect();
        let variants = variants(&cases);
        let called = names::cases(&it.cases);

        code.docs(&definition.docs, || format!("`{}`.", definition.name));
        code.line("#[repr(C)]");
        if is_plain {
            code.line("#[derive(Clone, Copy)]");
        }
        self.head(code, "pub struct", name, std::slice::from_ref(&parameter));
        code.indent();
        code.member("discriminator", &self.spell(scope, &it.discriminator));
        code.member("payload", &self.spelling(id, &payload).used);
        code.dedent();
        code.line("}");

        code.gap();
        code.line(format!("/// Room for what a [`{name}`] holds."));
        code.line("#[repr(C)]");
        if is_plain {
            code.line("#[derive(Clone, Copy)]");
        }
        self.head(code, "union", &payload, std::slice::from_ref(&spelling.parameter));
        code.indent();
        for case in &cases {
            let ty = format!("::core::mem::ManuallyDrop<{}>", self.spell(scope, &case.member.ty));
            code.member(&called[case.member.name.as_str()].field, &ty);
        }
        code.dedent();
        code.line("}");

        code.gap();
        code.line(format!("/// What a [`{name}`] holds."));
        code.line("#[derive(Clone, Copy, Debug)]");
        self.head(code, "pub enum", &case, &["'a".to_owned(), parameter]);
        code.indent();
        for (case, variant) in cases.iter().zip(&variants) {
            self.member_docs(code, scope, &case.member);
            code.line(format!("{variant}(&'a {}),", self.spell(scope, &case.member.ty)));
        }
        code.line("/// No case: the discriminator has a value without one.");
        code.line("Nothing,");
        code.dedent();
        code.line("}");

        let cases: Vec<UnionCase> = cases
            .iter()
            .zip(variants)
            .map(|(of, variant)| UnionCase {
                of,
                variant,
                ty: self.spell(scope, &of.member.ty),
                names: &called[of.member.name.as_str()],
            })
            .collect();
        let discriminator = self.spell(scope, &it.discriminator);
        self.union_methods(code, it, (&discriminator, &case), &spelling, &cases);
        self.union_in_place(code, &spelling);
        self.cases(code, id, it, (&discriminator, &spelling), &cases);
        self.union_standard(code, &spelling);
        if spelling.bound.is_some() {
            self.union_of_other_storage(code, &spelling, &cases);
        }
        if let Some(layout) = self.schema.flat_layout(id) {
            let payload = layout.members.get(1).map_or(0, |member| member.offset);
            let sizes = (layout.extent.size, layout.extent.align, payload);
            self.flat_union(code, &discriminator, &spelling, &cases, sizes);
        }
        self.region_union(code, scope, (id, it), &case, |name| {
            let found = cases.iter().find(|case| case.of.member.name == name);
            found.map_or_else(String::new, |case| case.variant.clone())
        });
    }

    /// The methods of a union.
    fn union_methods(
        &self,
        code: &mut CodeWriter,
        it: &Union,
        (discriminator, case_name): (&str, &str),
        spelling: &Spelling,
        cases: &[UnionCase],
    ) {
        let parameter =
            if spelling.parameter.is_empty() { String::new() } else { format!("<{}>", spelling.parameter) };
        let held = spelling.bound.as_ref().map_or("<'_>".into(), |_| format!("<'_, {}>", self.storage));
        let number = self.layout("visit::Discriminator");
        code.gap();
        code.block(format!("impl{parameter} {}", spelling.used), |code| {
            code.line("/// Which case the union holds.");
            code.block(format!("pub fn discriminator(&self) -> {discriminator}"), |code| {
                code.line("self.discriminator");
            });
            code.gap();
            code.line("/// Selects the case of a discriminator. A newly selected case begins with its default value.");
            code.procedure("pub fn select", &["&mut self", &format!("discriminator: {discriminator}")]);
            code.indent();
            code.line(format!("{}(self, discriminator);", self.layout("visit::Union::select")));
            code.dedent();
            code.line("}");
            code.gap();
            code.line("/// A reference to the value of the current case.");
            code.block(format!("pub fn case(&self) -> {case_name}{held}"), |code| {
                code.line("// SAFETY: the discriminator says which case is initialized.");
                code.block("unsafe", |code| {
                    code.block(format!("match {number}::raw(self.discriminator)"), |code| {
                        for case in cases {
                            let value = format!("&*self.payload.{}", case.names.field);
                            let variant = format!("{case_name}::{}", case.variant);
                            code.arm(&case.labels(), &Call::new(variant, &[&value]));
                        }
                        if !cases.iter().any(|case| case.of.is_default) {
                            code.line(format!("_ => {case_name}::Nothing,"));
                        }
                    });
                });
            });
            for case in cases {
                self.case_methods(code, it, case_name, case);
            }
        });
    }

    /// The methods for one case.
    fn case_methods(&self, code: &mut CodeWriter, it: &Union, case_name: &str, case: &UnionCase) {
        let (UnionCase { variant, ty, of, .. }, name) = (case, &case.of.member.name);
        let CaseNames { field, get, get_mut, set } = case.names;
        code.gap();
        code.line(format!("/// The value of `{name}`, if that is what the union holds."));
        code.function(&format!("pub fn {get}"), &["&self"], &format!("::core::option::Option<&{ty}>"));
        code.indent();
        code.block("match self.case()", |code| {
            let value = Call::new("::core::option::Option::Some".into(), &["value"]);
            code.arm(&format!("{case_name}::{variant}(value)"), &value);
            code.line("_ => ::core::option::Option::None,");
        });
        code.dedent();
        code.line("}");
        code.gap();
        code.line(format!("/// The value of `{name}`, to be changed, if that is what the union holds."));
        let result = format!("::core::option::Option<&mut {ty}>");
        code.function(&format!("pub fn {get_mut}"), &["&mut self"], &result);
        code.indent();
        code.line(format!("self.{get}()?;"));
        code.line("// SAFETY: the discriminator says that this case is initialized.");
        code.line(format!("::core::option::Option::Some(unsafe {{ &mut *self.payload.{field} }})"));
        code.dedent();
        code.line("}");
        code.gap();
        code.line(format!("/// Makes the union hold this value of `{name}`."));
        code.procedure(&format!("pub fn {set}"), &["&mut self", &format!("value: {ty}")]);
        code.indent();
        let first = of.labels.first().copied().or_else(|| self.schema.unlabelled(it)).unwrap_or(0);
        code.line("// SAFETY: the number selects the case of this type.");
        code.unsafe_call(&Call::new(self.layout("union::set"), &["self", &first.to_string(), "value"]));
        code.dedent();
        code.line("}");
    }

    /// What makes a union a member of messages.
    fn union_in_place(&self, code: &mut CodeWriter, spelling: &Spelling) {
        let promise = "// SAFETY: the caller's promise is the same.";
        code.gap();
        code.line("// SAFETY: the discriminator and its case are written, and none unwinds.");
        self.implement(code, "unsafe impl", &self.layout("InPlace"), spelling);
        code.indent();
        code.line(format!("type Class = {};", self.layout("Composite")));
        for (head, function, arguments) in [
            ("unsafe fn default_at(dst: *mut Self)", "union::default_at", &["dst"][..]),
            ("unsafe fn clone_at(&self, dst: *mut Self)", "union::clone_at", &["self", "dst"]),
        ] {
            code.gap();
            code.block(head, |code| {
                code.line(promise);
                code.unsafe_call(&Call::new(self.layout(function), arguments));
            });
        }
        code.dedent();
        code.line("}");
        self.implementation(code, "impl", "Value", spelling, |code| {
            let validation = format!("validation: &{}", self.layout("Validation"));
            let error = format!("::core::result::Result<(), {}>", self.layout("ValidateError"));
            code.function("unsafe fn validate_at", &["src: *const Self", &validation], &error);
            code.indent();
            code.line(promise);
            code.unsafe_call(&Call::new(self.layout("union::validate_at"), &["src", "validation"]));
            code.dedent();
            code.line("}");
            self.visits(code, "union");
        });
    }

    /// What the schema says of a union, and the list of its cases.
    fn cases(
        &self,
        code: &mut CodeWriter,
        id: TypeId,
        it: &Union,
        (discriminator, spelling): (&str, &Spelling),
        cases: &[UnionCase],
    ) {
        let infos: Vec<Vec<Call>> = cases.iter().map(|case| self.case_info(&case.of.member)).collect();
        let visitor = self.layout("union::CaseVisitor");
        code.gap();
        code.line("// SAFETY: the discriminator and the payload are the members of the structure, in this order. Every case");
        code.line("// is a member of the payload, and with its discriminator it is set.");
        self.implement(code, "unsafe impl", &self.layout("union::Cases"), spelling);
        code.indent();
        self.type_info(code, id, it.extensibility, &infos);
        code.gap();
        code.line(format!("type Discriminator = {discriminator};"));
        code.gap();
        code.line(format!("const INITIAL: i128 = {};", self.schema.default_discriminator(it)));
        code.line("const PAYLOAD: usize = ::core::mem::offset_of!(Self, payload);");
        code.gap();
        let parameters = ["raw: i128", "visitor: V"];
        code.function(&format!("fn with_case<V: {visitor}>"), &parameters, "V::Output");
        code.indent();
        code.block("match raw", |code| {
            for (index, case) in cases.iter().enumerate() {
                let function = format!("visitor.case::<{}>", case.ty);
                code.arm(&case.labels(), &Call::new(function, &[&index.to_string()]));
            }
            if !cases.iter().any(|case| case.of.is_default) {
                code.line("_ => V::NOTHING,");
            }
        });
        code.dedent();
        code.line("}");
        code.dedent();
        code.line("}");
    }

    /// The standard traits of a union.
    fn union_standard(&self, code: &mut CodeWriter, spelling: &Spelling) {
        self.default_of(code, spelling);
        self.implementation_of(code, "impl", "::core::cmp::PartialEq", spelling, |code| {
            code.block("fn eq(&self, other: &Self) -> bool", |code| {
                code.call(&Call::new(self.layout("union::eq"), &["self", "other"]), "");
            });
        });
        self.implementation_of(code, "impl", "::core::fmt::Debug", spelling, |code| {
            code.block("fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result", |code| {
                let name = format!("\"{}\"", spelling.name);
                code.call(&Call::new(self.layout("union::fmt"), &["f", &name, "self"]), "");
            });
        });
        if spelling.bound.is_none() {
            return;
        }
        self.clone_of(code, spelling);
        self.implementation_of(code, "impl", "::core::ops::Drop", spelling, |code| {
            code.block("fn drop(&mut self)", |code| {
                code.line("// SAFETY: nothing uses the case afterwards.");
                code.unsafe_call(&Call::new(self.layout("union::end"), &["self"]));
            });
        });
    }

    /// The conversion from the same union with another storage.
    fn union_of_other_storage(&self, code: &mut CodeWriter, spelling: &Spelling, cases: &[UnionCase]) {
        let other = spelling.with(&self.names.other);
        let both = [self.storage, &self.names.other];
        let name = |name: &str| format!("{}<{other}>", self.layout(name));
        code.gap();
        self.implement_for(code, "impl", &name("AssignFrom"), spelling, &both);
        code.indent();
        let parameters = [format!("source: &{other}"), format!("bodies: &mut {}<'_>", self.layout("Bodies"))];
        let error = format!("::core::result::Result<(), {}>", self.layout("AssignError"));
        code.function("fn assign_parts", &["&mut self", &parameters[0], &parameters[1]], &error);
        code.indent();
        code.line("self.select(source.discriminator());");
        for UnionCase { of, names, .. } in cases {
            let (target, source) = (format!("self.{}()", names.get_mut), format!("source.{}()", names.get));
            let quoted = format!("\"{}\"", of.member.name);
            let mut call = Call::new(self.layout("assign::case"), &[&target, &source, "bodies", &quoted]);
            call.arguments.push(self.case_converter(&of.member.ty));
            code.call(&call, "?;");
        }
        code.line("::core::result::Result::Ok(())");
        code.dedent();
        code.line("}");
        code.dedent();
        code.line("}");
        code.gap();
        self.implement_for(code, "impl", &name("TakeFrom"), spelling, &both);
        code.line("}");
    }

    /// The function that assigns the value of a case.
    fn case_converter(&self, ty: &Type) -> Argument {
        self.converter(&self.conversion(ty), &ASSIGN)
    }

    /// What the schema says of a case.
    fn case_info(&self, member: &Member) -> Vec<Call> {
        let arguments = [format!("\"{}\"", member.name), member.id.to_string()];
        vec![Call::new(self.layout("visit::MemberInfo::new"), &[&arguments[0], &arguments[1]])]
    }

    /// Marks the flat form of a union as self-contained, and compares its layout with that of the schema.
    fn flat_union(
        &self,
        code: &mut CodeWriter,
        discriminator: &str,
        spelling: &Spelling,
        cases: &[UnionCase],
        (size, align, payload): (u64, u64, u64),
    ) {
        let Some(flat) = self.flat_form(spelling) else { return };
        code.gap();
        code.line("// SAFETY: the constant below compiles only if the discriminator and every case are self-contained.");
        self.mark(code, "SelfContained", &flat);
        if spelling.bound.is_none() {
            code.line("// SAFETY: the union is self-contained, and does not depend on the storage.");
            self.mark(code, "BulkElement", &flat);
        }
        code.gap();
        code.closed("const _: () =", "};", |code| {
            let ty = self.flat_alias(code, spelling, &flat);
            let function = format!("{}::<{discriminator}>", self.layout("assert_self_contained"));
            code.call(&Call::new(function, &[]), ";");
            for case in cases {
                let get = format!("{ty}::{}", case.names.get);
                code.call(&Call::new(self.layout("field::assert_case_self_contained"), &[&get]), ";");
            }
            let offsets = [("discriminator", 0), ("payload", payload)];
            self.assert_layout(code, &ty, size, align, offsets.into_iter());
        });
    }
}
