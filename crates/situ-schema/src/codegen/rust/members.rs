//! The traits of structs in Rust that go from member to member.

use super::Generator;
use super::call::{Argument, Call};
use super::composite::{Spelling, extensibility};
use super::conversion::{ASSIGN, Conversion, Direction, LEND, TAKE};
use super::names::{Idents, Scope};
use super::types;
use super::writer::{CodeWriter, WIDTH};
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
    pub fn members(
        &self,
        code: &mut CodeWriter,
        scope: &Scope,
        id: TypeId,
        it: &Struct,
        spelling: &Spelling,
    ) {
        let fields = self.fields_of(it);
        self.in_place(code, scope, it, spelling, &fields);
        self.value(code, spelling, &fields);
        self.structure_of(code, id, it, spelling, &fields);
        self.default_of(code, spelling);
        if spelling.bound.is_some() {
            self.standard(code, spelling, &fields);
            let other = spelling.with(&self.names.other);
            for (name, of, direction) in [("AssignFrom", "&", &ASSIGN), ("TakeFrom", "&mut ", &TAKE)] {
                self.other_storage(code, spelling, (name, &other, of), direction, &fields);
            }
        }
        if types::is_of_ros(self.schema, id) {
            self.lend(code, spelling, &fields);
        }
    }

    /// The head of an implementation, opening its block.
    pub fn implement(&self, code: &mut CodeWriter, head: &str, name: &str, spelling: &Spelling) {
        self.implement_for(code, head, name, spelling, &[self.storage]);
    }

    /// The head of an implementation with these parameters, opening its block.
    pub fn implement_for(
        &self,
        code: &mut CodeWriter,
        head: &str,
        name: &str,
        spelling: &Spelling,
        all: &[&str],
    ) {
        let Some(bound) = &spelling.bound else {
            let (left, right) = (format!("{head} {name}"), format!("for {}", spelling.used));
            // The indentation does not count.
            if left.len() + right.len() + 3 <= WIDTH {
                return code.line(format!("{left} {right} {{"));
            }
            code.line(left);
            code.indent();
            code.line(right);
            code.dedent();
            return code.line("{");
        };
        let (left, right) = (format!("{head}<{}> {name}", all.join(", ")), format!("for {}", spelling.used));
        if left.len() + 1 + right.len() <= WIDTH {
            code.line(format!("{left} {right}"));
        } else {
            code.line(left);
            code.indent();
            code.line(right);
            code.dedent();
        }
        code.line("where");
        code.indent();
        all.iter().for_each(|storage| code.line(format!("{storage}: {bound},")));
        code.dedent();
        code.line("{");
    }

    /// An implementation of a trait of `situ-layout`, by its name there.
    pub fn implementation(
        &self,
        code: &mut CodeWriter,
        head: &str,
        name: &str,
        spelling: &Spelling,
        inside: impl FnOnce(&mut CodeWriter),
    ) {
        self.implementation_of(code, head, &self.layout(name), spelling, inside);
    }

    /// An implementation of the trait with this full name.
    pub fn implementation_of(
        &self,
        code: &mut CodeWriter,
        head: &str,
        name: &str,
        spelling: &Spelling,
        inside: impl FnOnce(&mut CodeWriter),
    ) {
        code.gap();
        self.implement(code, head, name, spelling);
        code.indent();
        inside(code);
        code.dedent();
        code.line("}");
    }

    fn in_place(
        &self,
        code: &mut CodeWriter,
        scope: &Scope,
        it: &Struct,
        spelling: &Spelling,
        fields: &[Field],
    ) {
        code.gap();
        code.line("// SAFETY: every member is written, and none unwinds. The structure is dense if its members are and");
        code.line("// leave no gaps.");
        self.implement(code, "unsafe impl", &self.layout("InPlace"), spelling);
        code.indent();
        code.line(format!("type Class = {};", self.layout("Composite")));
        code.gap();
        let mut members = vec![Call::new(self.layout("field::Members::new"), &[])];
        members.extend(
            fields.iter().map(|it| Call::new(".and".into(), &[&format!("|it: &Self| &it.{}", it.field)])),
        );
        let property =
            |method: &str| members.iter().cloned().chain([Call::new(method.into(), &[])]).collect::<Vec<_>>();
        if it.extensibility == Extensibility::Final {
            code.chain("const DENSE: bool = ", &property(".are_dense::<Self>"), ";");
        }
        code.chain("const BITWISE: bool = ", &property(".are_bitwise"), ";");
        let function = self.layout("InPlace");
        code.gap();
        self.each_in(code, "unsafe fn default_at(dst: *mut Self)", fields, |code, it| {
            let place = format!("&raw mut (*dst).{}", it.field);
            code.call(&Call::new(format!("{function}::default_at"), &[&place]), ";");
            let default = it.member.filter(|member| self.default(scope, member).is_some());
            if let Some((member, default)) = default.and_then(|it| it.default.as_ref().map(|of| (it, of))) {
                self.write_default(code, scope, (it, &member.ty), default);
            }
        });
        code.gap();
        self.each_in(code, "unsafe fn vacant_at(dst: *mut Self)", fields, |code, it| {
            let place = format!("&raw mut (*dst).{}", it.field);
            code.call(&Call::new(format!("{function}::vacant_at"), &[&place]), ";");
        });
        code.gap();
        self.each_in(code, "unsafe fn clone_at(&self, dst: *mut Self)", fields, |code, it| {
            let (source, place) = (format!("&self.{}", it.field), format!("&raw mut (*dst).{}", it.field));
            code.call(&Call::new(format!("{function}::clone_at"), &[&source, &place]), ";");
        });
        code.dedent();
        code.line("}");
    }

    /// A function that writes each member at its place.
    fn each_in(
        &self,
        code: &mut CodeWriter,
        head: &str,
        fields: &[Field],
        each: impl Fn(&mut CodeWriter, &Field),
    ) {
        if fields.is_empty() {
            return code.line(format!("{} {{}}", head.replace("dst:", "_:")));
        }
        code.block(head, |code| {
            code.line("// SAFETY: dst is valid for writes of Self, and the members lie within.");
            code.block("unsafe", |code| fields.iter().for_each(|it| each(code, it)));
        });
    }

    /// Writes the default of a member over the default of its type.
    fn write_default(
        &self,
        code: &mut CodeWriter,
        scope: &Scope,
        (of, ty): (&Field, &Type),
        default: &Literal,
    ) {
        let (place, value) = (format!("(*dst).{}", of.field), self.literal(scope, ty, default));
        let items = self.literals(scope, ty, default);
        match &of.conversion {
            Conversion::Copy => match items {
                Some(items) => code.list(&format!("{place} = ["), &items, "];"),
                None => code.assign(&place, &value, ";"),
            },
            Conversion::Text | Conversion::Wide => {
                let function = self.default_writer(&of.conversion);
                code.call(&Call::new(function, &[&format!("&mut {place}"), &value]), ";");
            }
            of => {
                code.list("let default = [", &items.unwrap_or_default(), "];");
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
                code.call(&call, ";");
            }
        }
    }

    /// The function that writes a default of what a container holds.
    fn default_writer(&self, of: &Conversion) -> String {
        self.layout(if *of == Conversion::Wide { "assign::default_wide" } else { "assign::default_text" })
    }

    fn value(&self, code: &mut CodeWriter, spelling: &Spelling, fields: &[Field]) {
        self.implementation(code, "impl", "Value", spelling, |code| {
            let validation = format!("validation: &{}", self.layout("Validation"));
            let error = result(&self.layout("ValidateError"));
            let unused = fields.is_empty().then_some("_");
            let parameters = ["src: *const Self", &validation];
            let parameters = parameters.map(|it| match (unused, it.split_once(':')) {
                (Some(name), Some((_, ty))) => format!("{name}:{ty}"),
                _ => it.to_owned(),
            });
            code.function("unsafe fn validate_at", &parameters.each_ref().map(String::as_str), &error);
            code.indent();
            if !fields.is_empty() {
                code.line("// SAFETY: the members lie within the caller's bytes.");
                code.block("unsafe", |code| {
                    for it in fields {
                        let place = format!("&raw const (*src).{}", it.field);
                        let call = Call::new(self.layout("Value::validate_at"), &[&place, "validation"]);
                        self.in_member(code, &call, it.label);
                    }
                });
            }
            code.line("::core::result::Result::Ok(())");
            code.dedent();
            code.line("}");
            self.visits(code, "structure");
        });
    }

    /// The functions of a value that hand it to a visitor.
    pub fn visits(&self, code: &mut CodeWriter, what: &str) {
        self.pass_to_visitors(code, "visit", what, ["&self", "&mut self"]);
    }

    /// The two functions that pass a value to the method `what` of a visitor: `name`, and `name_mut` for a
    /// visitor that changes values.
    pub fn pass_to_visitors(&self, code: &mut CodeWriter, name: &str, what: &str, receivers: [&str; 2]) {
        for (end, visitor, receiver) in
            [("", "visit::Visitor", receivers[0]), ("_mut", "visit::VisitorMut", receivers[1])]
        {
            code.gap();
            code.function(
                &format!("fn {name}{end}<V: {}>", self.layout(visitor)),
                &[receiver, "visitor: &mut V"],
                "::core::result::Result<(), V::Error>",
            );
            code.indent();
            code.line(format!("visitor.{what}(self)"));
            code.dedent();
            code.line("}");
        }
    }

    /// A call whose error names the member.
    pub fn in_member(&self, code: &mut CodeWriter, call: &Call, label: &str) {
        code.call_then(call, &format!(".map_err(|error| error.in_member(\"{label}\"))"), "?;");
    }

    fn structure_of(
        &self,
        code: &mut CodeWriter,
        id: TypeId,
        it: &Struct,
        spelling: &Spelling,
        fields: &[Field],
    ) {
        let inherited = it.base.map(|base| self.inherited(base, "base.")).unwrap_or_default();
        let own = fields.iter().filter_map(|it| Some((it.field.clone(), it.member?)));
        let all: Vec<(String, &Member)> = inherited.into_iter().chain(own).collect();
        let infos: Vec<Vec<Call>> = all.iter().map(|(_, member)| self.info(member)).collect();
        self.implementation(code, "impl", "visit::Structure", spelling, |code| {
            self.type_info(code, id, it.extensibility, &infos);
            code.gap();
            code.function(
                &format!("fn visit_members<V: {}<Self>>", self.layout("visit::MemberVisitor")),
                &[if all.is_empty() { "_: &mut V" } else { "visitor: &mut V" }],
                "::core::result::Result<(), V::Error>",
            );
            code.indent();
            for (index, (path, _)) in all.iter().enumerate() {
                let arguments = [
                    format!("&Self::INFO.members[{index}]"),
                    format!("|it| &it.{path}"),
                    format!("|it| &mut it.{path}"),
                ];
                let call = Call::new("visitor.member".into(), &arguments.each_ref().map(String::as_str));
                code.call(&call, "?;");
            }
            code.line("::core::result::Result::Ok(())");
            code.dedent();
            code.line("}");
        });
    }

    /// All members of a base and the paths that lead to them, those of its own base first.
    fn inherited(&self, id: TypeId, path: &str) -> Vec<(String, &Member)> {
        let Some((_, it)) = self.schema.as_struct(&Type::Named(id)) else { return Vec::new() };
        let mut members =
            it.base.map(|base| self.inherited(base, &format!("{path}base."))).unwrap_or_default();
        let fields = Idents::fields(it);
        let own = it.members.iter().filter(|member| !member.is_weak());
        let own = own.map(|member| (format!("{path}{}", fields.get(&member.name)), member));
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
    pub fn type_info(&self, code: &mut CodeWriter, id: TypeId, of: Extensibility, members: &[Vec<Call>]) {
        let info = self.layout("visit::TypeInfo");
        let head = format!("const INFO: &'static {info} =");
        let is_short = code.fits(head.len() + info.len() + 4);
        let head = if is_short {
            format!("{head} &{info}")
        } else {
            code.line(head);
            code.indent();
            format!("&{info}")
        };
        code.closed(head, "};", |code| {
            code.line(format!("name: \"{}\",", self.schema.name(id)));
            let extensibility = extensibility(of);
            code.line(format!("extensibility: {}::{extensibility},", self.layout("visit::Extensibility")));
            match members {
                [] => code.line("members: &[],"),
                [member] if member.len() == 1 => code.call_from("members: &[", &member[0], "],"),
                [member]
                    if code.fits(
                        member.iter().map(|it| it.line().map_or(0, |it| it.len())).sum::<usize>() + 13,
                    ) =>
                {
                    code.chain("members: &[", member, "],");
                }
                members => {
                    code.line("members: &[");
                    code.indent();
                    members.iter().for_each(|member| code.chain("", member, ","));
                    code.dedent();
                    code.line("],");
                }
            }
        });
        if !is_short {
            code.dedent();
        }
    }

    /// The default value of a struct or a union.
    pub fn default_of(&self, code: &mut CodeWriter, spelling: &Spelling) {
        self.implementation_of(code, "impl", "::core::default::Default", spelling, |code| {
            code.block("fn default() -> Self", |code| {
                code.line(format!("{}()", self.layout("default_value")))
            });
        });
    }

    /// The copy of a struct or a union.
    pub fn clone_of(&self, code: &mut CodeWriter, spelling: &Spelling) {
        self.implementation_of(code, "impl", "::core::clone::Clone", spelling, |code| {
            code.block("fn clone(&self) -> Self", |code| {
                code.line(format!("{}(self)", self.layout("clone_value")))
            });
        });
    }

    /// The standard traits of a struct that cannot derive them.
    fn standard(&self, code: &mut CodeWriter, spelling: &Spelling, fields: &[Field]) {
        self.clone_of(code, spelling);
        self.implementation_of(code, "impl", "::core::cmp::PartialEq", spelling, |code| {
            let other = if fields.is_empty() { "_" } else { "other" };
            code.block(format!("fn eq(&self, {other}: &Self) -> bool"), |code| {
                let equal: Vec<String> =
                    fields.iter().map(|it| format!("self.{0} == other.{0}", it.field)).collect();
                let line = equal.join(" && ");
                if equal.is_empty() {
                    code.line("true");
                } else if code.fits(line.len()) {
                    code.line(line);
                } else {
                    code.line(&equal[0]);
                    code.indent();
                    equal[1..].iter().for_each(|it| code.line(format!("&& {it}")));
                    code.dedent();
                }
            });
        });
        self.implementation_of(code, "impl", "::core::fmt::Debug", spelling, |code| {
            code.block("fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result", |code| {
                let name = format!("\"{}\"", spelling.name);
                let mut chain = vec![Call::new("f.debug_struct".into(), &[&name])];
                chain.extend(fields.iter().map(|it| {
                    Call::new(
                        ".field".into(),
                        &[&format!("\"{}\"", it.label), &format!("&self.{}", it.field)],
                    )
                }));
                chain.push(Call::new(".finish".into(), &[]));
                code.chain("", &chain, "");
            });
        });
    }

    /// The conversion from the same struct with another storage.
    fn other_storage(
        &self,
        code: &mut CodeWriter,
        spelling: &Spelling,
        (name, other, of): (&str, &str, &str),
        direction: &Direction,
        fields: &[Field],
    ) {
        code.gap();
        let name = format!("{}<{other}>", self.layout(name));
        self.implement_for(code, "impl", &name, spelling, &[self.storage, &self.names.other]);
        code.indent();
        let bodies =
            format!("{}: &mut {}<'_>", if fields.is_empty() { "_" } else { "bodies" }, self.layout("Bodies"));
        let source = format!("{}: {of}{other}", if fields.is_empty() { "_" } else { "source" });
        let (function, parameters) = match of {
            "&" => ("fn assign_parts", vec!["&mut self", &source, &bodies]),
            _ => ("fn take_from", vec!["&mut self", &source]),
        };
        code.function(function, &parameters, &result(&self.layout("AssignError")));
        code.indent();
        for it in fields {
            let (target, source) = (format!("&mut self.{}", it.field), format!("{of}source.{}", it.field));
            let arguments = [target.as_str(), source.as_str(), "bodies"];
            let call = self.convert(&it.conversion, direction, &arguments[..parameters.len()]);
            self.in_member(code, &call, it.label);
        }
        code.line("::core::result::Result::Ok(())");
        code.dedent();
        code.line("}");
        code.dedent();
        code.line("}");
    }

    /// Lending a message as its C struct.
    fn lend(&self, code: &mut CodeWriter, spelling: &Spelling, fields: &[Field]) {
        code.gap();
        code.line(
            "// SAFETY: every member is written, and points into the borrowed source or into the block.",
        );
        self.implement(code, "unsafe impl", &self.layout("ros::Lend"), spelling);
        code.indent();
        code.line(format!("type C = {};", spelling.with(&self.layout("Ros"))));
        code.gap();
        let unused = if fields.is_empty() { "_" } else { "" };
        let dst = format!("{}: *mut Self::C", if fields.is_empty() { "_" } else { "dst" });
        let block = format!("{unused}block: &mut {}<'_>", self.layout("ros::lend::Block"));
        code.function("unsafe fn lend_at", &["&self", &dst, &block], &result(&self.layout("AssignError")));
        code.indent();
        if !fields.is_empty() {
            code.line("// SAFETY: the members lie within the caller's struct.");
            code.block("unsafe", |code| {
                for it in fields {
                    let arguments = [format!("&self.{}", it.field), format!("&raw mut (*dst).{}", it.field)];
                    let call = self.convert(&it.conversion, &LEND, &[&arguments[0], &arguments[1], "block"]);
                    self.in_member(code, &call, it.label);
                }
            });
        }
        code.line("::core::result::Result::Ok(())");
        code.dedent();
        code.line("}");
        code.dedent();
        code.line("}");
    }

    /// The flat form of a type, if it has one by its parameter.
    pub fn flat_form(&self, spelling: &Spelling) -> Option<String> {
        (!spelling.is_unbounded).then(|| spelling.with(&self.layout("Flat")))
    }
}
