//! The traits of structs in Rust that go from member to member.

use super::Generator;
use super::call::{Argument, Call};
use super::composite::{Spelling, extensibility};
use super::conversion::{ASSIGN, Conversion, Direction, LEND, TAKE};
use super::names::{Idents, Scope};
use super::page::{Page, WIDTH};
use super::types;
use crate::model::{Extensibility, Literal, Member, Struct, Type, TypeId};

/// A member, or the base.
struct Field<'a> {
    /// How the schema calls it.
    label: &'a str,
    /// How the struct calls it.
    field: String,
    conversion: Conversion,
    member: Option<&'a Member>,
}

/// What a function returns that can fail.
fn result(error: &str) -> String {
    format!("::core::result::Result<(), {error}>")
}

impl Generator<'_> {
    fn fields_of<'a>(&self, it: &'a Struct) -> Vec<Field<'a>> {
        let fields = Idents::fields(it);
        let base = it.base.map(|base| Field {
            label: "base",
            field: "base".into(),
            conversion: self.conversion(&Type::Named(base)),
            member: None,
        });
        let members = it.members.iter().map(|member| Field {
            label: &member.name,
            field: fields.get(&member.name),
            conversion: self.member_conversion(member),
            member: Some(member),
        });
        base.into_iter().chain(members).collect()
    }

    /// Implements the traits of a struct.
    pub fn members(&self, page: &mut Page, scope: &Scope, id: TypeId, it: &Struct, spelling: &Spelling) {
        let fields = self.fields_of(it);
        self.in_place(page, scope, it, spelling, &fields);
        self.value(page, spelling, &fields);
        self.structure_of(page, id, it, spelling, &fields);
        self.default_of(page, spelling);
        if spelling.bound.is_some() {
            self.standard(page, spelling, &fields);
            let other = spelling.with(&self.names.other);
            for (name, of, direction) in [("AssignFrom", "&", &ASSIGN), ("TakeFrom", "&mut ", &TAKE)] {
                self.other_storage(page, spelling, (name, &other, of), direction, &fields);
            }
        }
        if types::is_of_ros(self.schema, id) {
            self.lend(page, spelling, &fields);
        }
    }

    /// The head of an implementation, opening its block.
    pub fn implement(&self, page: &mut Page, head: &str, name: &str, spelling: &Spelling) {
        self.implement_for(page, head, name, spelling, &[self.storage]);
    }

    /// The head of an implementation with these parameters, opening its block.
    fn implement_for(&self, page: &mut Page, head: &str, name: &str, spelling: &Spelling, all: &[&str]) {
        let Some(bound) = &spelling.bound else {
            let (left, right) = (format!("{head} {name}"), format!("for {}", spelling.used));
            if page.fits(left.len() + right.len() + 2) {
                return page.line(format!("{left} {right} {{"));
            }
            page.line(left);
            page.indent();
            page.line(right);
            page.dedent();
            return page.line("{");
        };
        let (left, right) = (format!("{head}<{}> {name}", all.join(", ")), format!("for {}", spelling.used));
        // Before a `where`, the indentation does not count.
        if left.len() + 1 + right.len() <= WIDTH {
            page.line(format!("{left} {right}"));
        } else {
            page.line(left);
            page.indent();
            page.line(right);
            page.dedent();
        }
        page.line("where");
        page.indent();
        all.iter().for_each(|storage| page.line(format!("{storage}: {bound},")));
        page.dedent();
        page.line("{");
    }

    /// The block of an implementation.
    pub fn implementation(
        &self,
        page: &mut Page,
        head: &str,
        name: &str,
        spelling: &Spelling,
        inside: impl FnOnce(&mut Page),
    ) {
        page.gap();
        self.implement(page, head, &self.layout(name), spelling);
        page.indent();
        inside(page);
        page.dedent();
        page.line("}");
    }

    fn in_place(&self, page: &mut Page, scope: &Scope, it: &Struct, spelling: &Spelling, fields: &[Field]) {
        page.gap();
        page.line("// SAFETY: every member is written, and none unwinds. The structure is dense if its members are and");
        page.line("// leave no gaps.");
        self.implement(page, "unsafe impl", &self.layout("InPlace"), spelling);
        page.indent();
        page.line(format!("type Class = {};", self.layout("Composite")));
        page.gap();
        let mut members = vec![Call::new(self.layout("field::Members::new"), &[])];
        members.extend(
            fields.iter().map(|it| Call::new(".and".into(), &[&format!("|it: &Self| &it.{}", it.field)])),
        );
        let property =
            |method: &str| members.iter().cloned().chain([Call::new(method.into(), &[])]).collect::<Vec<_>>();
        if it.extensibility == Extensibility::Final {
            page.chain("const DENSE: bool = ", &property(".are_dense::<Self>"), ";");
        }
        page.chain("const BITWISE: bool = ", &property(".are_bitwise"), ";");
        let function = self.layout("InPlace");
        page.gap();
        self.each_in(page, "unsafe fn default_at(dst: *mut Self)", fields, |page, it| {
            let place = format!("&raw mut (*dst).{}", it.field);
            page.call(&Call::new(format!("{function}::default_at"), &[&place]), ";");
            let default = it.member.filter(|member| self.default(scope, member).is_some());
            if let Some((member, default)) = default.and_then(|it| it.default.as_ref().map(|of| (it, of))) {
                self.write_default(page, scope, (it, &member.ty), default);
            }
        });
        page.gap();
        self.each_in(page, "unsafe fn vacant_at(dst: *mut Self)", fields, |page, it| {
            let place = format!("&raw mut (*dst).{}", it.field);
            page.call(&Call::new(format!("{function}::vacant_at"), &[&place]), ";");
        });
        page.gap();
        self.each_in(page, "unsafe fn clone_at(&self, dst: *mut Self)", fields, |page, it| {
            let (source, place) = (format!("&self.{}", it.field), format!("&raw mut (*dst).{}", it.field));
            page.call(&Call::new(format!("{function}::clone_at"), &[&source, &place]), ";");
        });
        page.dedent();
        page.line("}");
    }

    /// A function that writes each member at its place.
    fn each_in(&self, page: &mut Page, head: &str, fields: &[Field], each: impl Fn(&mut Page, &Field)) {
        if fields.is_empty() {
            return page.line(format!("{} {{}}", head.replace("dst:", "_:")));
        }
        page.block(head, |page| {
            page.line("// SAFETY: dst is valid for writes of Self, and the members lie within.");
            page.block("unsafe", |page| fields.iter().for_each(|it| each(page, it)));
        });
    }

    /// Writes the default of a member over the default of its type.
    fn write_default(&self, page: &mut Page, scope: &Scope, (of, ty): (&Field, &Type), default: &Literal) {
        let (place, value) = (format!("(*dst).{}", of.field), self.literal(scope, ty, default));
        let items = self.literals(scope, ty, default);
        match &of.conversion {
            Conversion::Copy => match items {
                Some(items) => page.list(&format!("{place} = ["), &items, "];"),
                None => page.assign(&place, &value, ";"),
            },
            Conversion::Text | Conversion::Wide => {
                let function = self.default_writer(&of.conversion);
                page.call(&Call::new(function, &[&format!("&mut {place}"), &value]), ";");
            }
            of => {
                page.list("let default = [", &items.unwrap_or_default(), "];");
                let (function, held) = match of {
                    Conversion::Array(element) => ("default_array", Some(element)),
                    Conversion::List(element) if **element != Conversion::Copy => {
                        ("default_elements", Some(element))
                    }
                    _ => ("default_list", None),
                };
                let function = self.layout(&format!("assign::{function}"));
                let mut call = Call::new(function, &[&format!("&mut {place}"), "&default"]);
                call.arguments.extend(held.map(|of| Argument::Plain(self.default_writer(of))));
                page.call(&call, ";");
            }
        }
    }

    /// The function that writes a default of what a container holds.
    fn default_writer(&self, of: &Conversion) -> String {
        self.layout(if *of == Conversion::Wide { "assign::default_wide" } else { "assign::default_text" })
    }

    fn value(&self, page: &mut Page, spelling: &Spelling, fields: &[Field]) {
        self.implementation(page, "impl", "Value", spelling, |page| {
            let validation = format!("validation: &{}", self.layout("Validation"));
            let error = result(&self.layout("ValidateError"));
            let unused = fields.is_empty().then_some("_");
            let parameters = ["src: *const Self", &validation];
            let parameters = parameters.map(|it| match (unused, it.split_once(':')) {
                (Some(name), Some((_, ty))) => format!("{name}:{ty}"),
                _ => it.to_owned(),
            });
            page.function("unsafe fn validate_at", &parameters.each_ref().map(String::as_str), &error);
            page.indent();
            if !fields.is_empty() {
                page.line("// SAFETY: the members lie within the caller's bytes.");
                page.block("unsafe", |page| {
                    for it in fields {
                        let place = format!("&raw const (*src).{}", it.field);
                        let call = Call::new(self.layout("Value::validate_at"), &[&place, "validation"]);
                        self.in_member(page, &call, it.label);
                    }
                });
            }
            page.line("::core::result::Result::Ok(())");
            page.dedent();
            page.line("}");
            self.visits(page, "structure");
        });
    }

    /// The functions of a value that hand it to a visitor.
    pub fn visits(&self, page: &mut Page, what: &str) {
        for (function, visitor, receiver) in
            [("visit", "visit::Visitor", "&self"), ("visit_mut", "visit::VisitorMut", "&mut self")]
        {
            page.gap();
            page.function(
                &format!("fn {function}<V: {}>", self.layout(visitor)),
                &[receiver, "visitor: &mut V"],
                "::core::result::Result<(), V::Error>",
            );
            page.indent();
            page.line(format!("visitor.{what}(self)"));
            page.dedent();
            page.line("}");
        }
    }

    /// A call whose error names the member.
    pub fn in_member(&self, page: &mut Page, call: &Call, label: &str) {
        page.call_then(call, &format!(".map_err(|error| error.in_member(\"{label}\"))"), "?;");
    }

    fn structure_of(&self, page: &mut Page, id: TypeId, it: &Struct, spelling: &Spelling, fields: &[Field]) {
        let inherited = it.base.map(|base| self.inherited(base, "base.")).unwrap_or_default();
        let own = fields.iter().filter_map(|it| Some((it.field.clone(), it.member?)));
        let all: Vec<(String, &Member)> = inherited.into_iter().chain(own).collect();
        let infos: Vec<Vec<Call>> = all.iter().map(|(_, member)| self.info(member)).collect();
        self.implementation(page, "impl", "visit::Structure", spelling, |page| {
            self.type_info(page, id, it.extensibility, &infos);
            page.gap();
            page.function(
                &format!("fn visit_members<V: {}<Self>>", self.layout("visit::MemberVisitor")),
                &[if all.is_empty() { "_: &mut V" } else { "visitor: &mut V" }],
                "::core::result::Result<(), V::Error>",
            );
            page.indent();
            for (index, (path, _)) in all.iter().enumerate() {
                let arguments = [
                    format!("&Self::INFO.members[{index}]"),
                    format!("|it| &it.{path}"),
                    format!("|it| &mut it.{path}"),
                ];
                let call = Call::new("visitor.member".into(), &arguments.each_ref().map(String::as_str));
                page.call(&call, "?;");
            }
            page.line("::core::result::Result::Ok(())");
            page.dedent();
            page.line("}");
        });
    }

    /// All members of a base and the paths that lead to them, those of its own base first.
    fn inherited(&self, id: TypeId, path: &str) -> Vec<(String, &Member)> {
        let Some((_, it)) = self.schema.as_struct(&Type::Named(id)) else { return Vec::new() };
        let mut members =
            it.base.map(|base| self.inherited(base, &format!("{path}base."))).unwrap_or_default();
        let fields = Idents::fields(it);
        let own = it.members.iter().map(|member| (format!("{path}{}", fields.get(&member.name)), member));
        members.extend(own);
        members
    }

    /// What the schema says of a member: a chain of calls.
    pub fn info(&self, member: &Member) -> Vec<Call> {
        let flags = [
            (".key", member.key),
            (".optional", member.optional),
            (".must_understand", member.must_understand),
            (".bulk", member.bulk),
        ];
        let arguments = [format!("\"{}\"", member.name), member.id.to_string()];
        let new = Call::new(self.layout("visit::MemberInfo::new"), &[&arguments[0], &arguments[1]]);
        let flags = flags.iter().filter(|(_, on)| *on).map(|(flag, _)| Call::new((*flag).into(), &[]));
        [new].into_iter().chain(flags).collect()
    }

    /// What the schema says of a struct or a union.
    pub fn type_info(&self, page: &mut Page, id: TypeId, of: Extensibility, members: &[Vec<Call>]) {
        let info = self.layout("visit::TypeInfo");
        let head = format!("const INFO: &'static {info} =");
        let is_short = page.fits(head.len() + info.len() + 4);
        let head = if is_short {
            format!("{head} &{info}")
        } else {
            page.line(head);
            page.indent();
            format!("&{info}")
        };
        page.closed(head, "};", |page| {
            page.line(format!("name: \"{}\",", self.schema.name(id)));
            let extensibility = extensibility(of);
            page.line(format!("extensibility: {}::{extensibility},", self.layout("visit::Extensibility")));
            match members {
                [] => page.line("members: &[],"),
                [member] if member.len() == 1 => page.call_from("members: &[", &member[0], "],"),
                [member]
                    if page.fits(
                        member.iter().map(|it| it.line().map_or(0, |it| it.len())).sum::<usize>() + 13,
                    ) =>
                {
                    page.chain("members: &[", member, "],");
                }
                members => {
                    page.line("members: &[");
                    page.indent();
                    members.iter().for_each(|member| page.chain("", member, ","));
                    page.dedent();
                    page.line("],");
                }
            }
        });
        if !is_short {
            page.dedent();
        }
    }

    /// The default value of a struct or a union.
    pub fn default_of(&self, page: &mut Page, spelling: &Spelling) {
        page.gap();
        self.implement(page, "impl", "::core::default::Default", spelling);
        page.indent();
        page.block("fn default() -> Self", |page| page.line(format!("{}()", self.layout("default_value"))));
        page.dedent();
        page.line("}");
    }

    /// The copy of a struct or a union.
    pub fn clone_of(&self, page: &mut Page, spelling: &Spelling) {
        page.gap();
        self.implement(page, "impl", "::core::clone::Clone", spelling);
        page.indent();
        page.block("fn clone(&self) -> Self", |page| {
            page.line(format!("{}(self)", self.layout("clone_value")))
        });
        page.dedent();
        page.line("}");
    }

    /// The standard traits of a struct that cannot derive them.
    fn standard(&self, page: &mut Page, spelling: &Spelling, fields: &[Field]) {
        self.clone_of(page, spelling);
        page.gap();
        self.implement(page, "impl", "::core::cmp::PartialEq", spelling);
        page.indent();
        let other = if fields.is_empty() { "_" } else { "other" };
        page.block(format!("fn eq(&self, {other}: &Self) -> bool"), |page| {
            let equal: Vec<String> =
                fields.iter().map(|it| format!("self.{0} == other.{0}", it.field)).collect();
            let line = equal.join(" && ");
            if equal.is_empty() {
                page.line("true");
            } else if page.fits(line.len()) {
                page.line(line);
            } else {
                page.line(&equal[0]);
                page.indent();
                equal[1..].iter().for_each(|it| page.line(format!("&& {it}")));
                page.dedent();
            }
        });
        page.dedent();
        page.line("}");
        page.gap();
        self.implement(page, "impl", "::core::fmt::Debug", spelling);
        page.indent();
        page.block("fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result", |page| {
            let name = format!("\"{}\"", spelling.name);
            let mut chain = vec![Call::new("f.debug_struct".into(), &[&name])];
            chain.extend(fields.iter().map(|it| {
                Call::new(".field".into(), &[&format!("\"{}\"", it.label), &format!("&self.{}", it.field)])
            }));
            chain.push(Call::new(".finish".into(), &[]));
            page.chain("", &chain, "");
        });
        page.dedent();
        page.line("}");
    }

    /// The conversion from the same struct with another storage.
    fn other_storage(
        &self,
        page: &mut Page,
        spelling: &Spelling,
        (name, other, of): (&str, &str, &str),
        direction: &Direction,
        fields: &[Field],
    ) {
        page.gap();
        let name = format!("{}<{other}>", self.layout(name));
        self.implement_for(page, "impl", &name, spelling, &[self.storage, &self.names.other]);
        page.indent();
        let bodies =
            format!("{}: &mut {}<'_>", if fields.is_empty() { "_" } else { "bodies" }, self.layout("Bodies"));
        let source = format!("{}: {of}{other}", if fields.is_empty() { "_" } else { "source" });
        let (function, parameters) = match of {
            "&" => ("fn assign_parts", vec!["&mut self", &source, &bodies]),
            _ => ("fn take_from", vec!["&mut self", &source]),
        };
        page.function(function, &parameters, &result(&self.layout("AssignError")));
        page.indent();
        for it in fields {
            let (target, source) = (format!("&mut self.{}", it.field), format!("{of}source.{}", it.field));
            let arguments = [target.as_str(), source.as_str(), "bodies"];
            let call = self.convert(&it.conversion, direction, &arguments[..parameters.len()]);
            self.in_member(page, &call, it.label);
        }
        page.line("::core::result::Result::Ok(())");
        page.dedent();
        page.line("}");
        page.dedent();
        page.line("}");
    }

    /// Lending a message as its C struct.
    fn lend(&self, page: &mut Page, spelling: &Spelling, fields: &[Field]) {
        page.gap();
        page.line(
            "// SAFETY: every member is written, and points into the borrowed source or into the block.",
        );
        self.implement(page, "unsafe impl", &self.layout("ros::Lend"), spelling);
        page.indent();
        page.line(format!("type C = {};", spelling.with(&self.layout("Ros"))));
        page.gap();
        let unused = if fields.is_empty() { "_" } else { "" };
        let dst = format!("{}: *mut Self::C", if fields.is_empty() { "_" } else { "dst" });
        let block = format!("{unused}block: &mut {}<'_>", self.layout("ros::lend::Block"));
        page.function("unsafe fn lend_at", &["&self", &dst, &block], &result(&self.layout("AssignError")));
        page.indent();
        if !fields.is_empty() {
            page.line("// SAFETY: the members lie within the caller's struct.");
            page.block("unsafe", |page| {
                for it in fields {
                    let arguments = [format!("&self.{}", it.field), format!("&raw mut (*dst).{}", it.field)];
                    let call = self.convert(&it.conversion, &LEND, &[&arguments[0], &arguments[1], "block"]);
                    self.in_member(page, &call, it.label);
                }
            });
        }
        page.line("::core::result::Result::Ok(())");
        page.dedent();
        page.line("}");
        page.dedent();
        page.line("}");
    }

    /// The flat form of a type, if it has one by its parameter.
    pub fn flat_form(&self, spelling: &Spelling) -> Option<String> {
        (!spelling.is_unbounded).then(|| spelling.with(&self.layout("Flat")))
    }
}
