//! Unions in Rust: a structure of a discriminator and a union, and an enum of references to read it by.

use super::Generator;
use super::composite::extensibility;
use super::names::{self, CaseNames, Scope};
use super::writer::CodeWriter;
use crate::model::{Case, TypeId, Union};

/// The variants for these cases: their names in camel case, made different where they are not.
fn variants(cases: &[&Case]) -> Vec<String> {
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

        code.gap();
        code.block(format!("{}!", self.layout("union")), |code| {
            let kind = extensibility(it.extensibility);
            code.line(format!("{}: {kind} \"{}\",", spelling.listed, definition.name));
            code.line(format!(
                "{payload}, {case}, {} = {};",
                self.spell(scope, &it.discriminator),
                self.schema.default_discriminator(it)
            ));
            for (case, variant) in cases.iter().zip(&variants) {
                self.case(code, scope, it, case, variant, &called[case.member.name.as_str()]);
            }
            if let Some(layout) = self.schema.flat_layout(id) {
                let payload = layout.members.get(1).map_or(0, |member| member.offset);
                let extent = layout.extent;
                code.line(format!(
                    "layout {{ size: {}, align: {}, payload: {payload} }}",
                    extent.size, extent.align
                ));
            }
        });
        self.region_union(code, scope, (id, it), &case, |name| {
            let index = cases.iter().position(|case| case.member.name == name);
            index.map_or_else(String::new, |index| variants[index].clone())
        });
    }

    /// The arguments of the macro for one case.
    fn case(
        &self,
        code: &mut CodeWriter,
        scope: &Scope,
        union: &Union,
        case: &Case,
        variant: &str,
        called: &CaseNames,
    ) {
        let name = &case.member.name;
        let CaseNames { field, get, get_mut, set } = called;
        let labels = if case.is_default {
            "_".to_owned()
        } else {
            case.labels.iter().map(i128::to_string).collect::<Vec<_>>().join(" | ")
        };
        let first = case.labels.first().copied().or_else(|| self.schema.unlabelled(union)).unwrap_or(0);
        code.line(format!(
            "{} \"{name}\" {field} {get} {get_mut} {set} {variant}({}): {} [{labels}] = {first};",
            case.member.id,
            self.spell(scope, &case.member.ty),
            self.conversion(&case.member.ty),
        ));
    }
}
