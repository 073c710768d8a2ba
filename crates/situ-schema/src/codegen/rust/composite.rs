//! Structs in Rust.

use super::Generator;
use super::call::Call;
use super::names::{Idents, Scope};
use super::types::{self, Dependence};
use super::writer::CodeWriter;
use crate::model::{Extensibility, Member, Primitive, Struct, Type, TypeId};

/// How a type and its parameter are written.
#[derive(Clone, Default)]
pub struct Spelling {
    /// `Image`.
    pub name: String,
    /// `S: ::situ::layout::Storage`, or nothing.
    pub parameter: String,
    /// ` = ::situ::layout::Flat`, or nothing.
    pub default: String,
    /// `Image<S>`.
    pub used: String,
    /// `::situ::layout::Storage`, if there is a parameter.
    pub bound: Option<String>,
    /// Whether the storage must have room for members without a bound.
    pub is_unbounded: bool,
}

impl Spelling {
    /// The type with this storage.
    pub fn with(&self, storage: &str) -> String {
        if self.bound.is_some() { format!("{}<{storage}>", self.name) } else { self.name.clone() }
    }
}

/// The name of the extensibility in the macros.
pub fn extensibility(of: Extensibility) -> &'static str {
    match of {
        Extensibility::Final => "Final",
        Extensibility::Appendable => "Appendable",
        Extensibility::Mutable => "Mutable",
    }
}

/// Whether a setter can fail: the type is a container with a bound.
fn is_bounded(ty: &Type) -> bool {
    match ty {
        Type::String { bound }
        | Type::WString { bound }
        | Type::Sequence { bound, .. }
        | Type::Map { bound, .. } => bound.is_some(),
        Type::Primitive(_) | Type::Array { .. } | Type::Named(_) => false,
    }
}

/// A setter: what it is called, what it is given, what it returns, and what it calls.
struct Setter<'a> {
    docs: String,
    prefix: &'a str,
    parameters: Vec<String>,
    result: Option<String>,
    function: &'a str,
}

impl Generator<'_> {
    /// How a definition is written, or what belongs to it under another name.
    pub fn spelling(&self, id: TypeId, name: &str) -> Spelling {
        let bound = match types::storage_of(self.schema, id) {
            Dependence::None => None,
            Dependence::Storage => Some("Storage"),
            Dependence::Unbounded => Some("Unbounded"),
        };
        let is_flat = self.flat_by_default && self.schema.is_flat(id);
        let default = self.layout(if is_flat { "Flat" } else { "Heap" });
        let with = |text: String| bound.map_or(String::new(), |_| text);
        Spelling {
            name: name.to_owned(),
            parameter: with(format!("{}: {}", self.storage, self.layout(bound.unwrap_or_default()))),
            default: with(format!(" = {default}")),
            used: format!("{name}{}", with(format!("<{}>", self.storage))),
            bound: bound.map(|it| self.layout(it)),
            is_unbounded: bound == Some("Unbounded"),
        }
    }

    /// The head of a definition, opening its block.
    pub fn head(&self, code: &mut CodeWriter, keyword: &str, name: &str, parameters: &[String]) {
        let parameters: Vec<&String> = parameters.iter().filter(|it| !it.is_empty()).collect();
        if parameters.is_empty() {
            return code.line(format!("{keyword} {name} {{"));
        }
        let joined: Vec<&str> = parameters.iter().map(|it| it.as_str()).collect();
        let whole = format!("{keyword} {name}<{}> {{", joined.join(", "));
        // The brace may stand behind the last column.
        if code.fits(whole.len() - 2) {
            return code.line(whole);
        }
        code.line(format!("{keyword} {name}<"));
        code.indent();
        parameters.iter().for_each(|parameter| code.line(format!("{parameter},")));
        code.dedent();
        code.line("> {");
    }

    /// A struct and all that belongs to it.
    pub fn structure(&self, code: &mut CodeWriter, scope: &Scope, id: TypeId, it: &Struct) {
        let definition = self.schema.definition(id);
        let (whole, it) = (it, &*it.outside_of_regions());
        let spelling = self.spelling(id, &self.names.ident(&definition.name));
        code.docs(&definition.docs, || format!("`{}`.", definition.name));
        code.line("#[repr(C)]");
        if spelling.parameter.is_empty() {
            // rclrs compares its own messages, which may be these.
            let ordered = if types::is_of_ros(self.schema, id) { ", PartialOrd" } else { "" };
            code.line(format!("#[derive(Clone, Copy, Debug, PartialEq{ordered})]"));
        }
        let parameter = format!("{}{}", spelling.parameter, spelling.default);
        self.head(code, "pub struct", &spelling.name, &[parameter]);
        let mut fields = Idents::fields(it);
        code.indent();
        if let Some(base) = it.base {
            code.line(format!("/// The members of `{}`.", self.schema.name(base)));
            code.member("pub base", &self.spell(scope, &Type::Named(base)));
        }
        for member in &it.members {
            self.member_docs(code, scope, member);
            let ty = self.spell_member(scope, member);
            code.member(&format!("pub {}", fields.get(&member.name)), &ty);
        }
        if spelling.bound.is_some() && !self.uses_storage(it) {
            code.line("/// Stands for the weak links, which only regions have.");
            let name = fields.made("no_weak_links".to_owned());
            code.member(&format!("pub {name}"), &format!("::core::marker::PhantomData<{}>", self.storage));
        }
        code.dedent();
        code.line("}");
        self.default_storage(code, scope, id, &spelling);
        self.setters(code, scope, id, it, &spelling);
        self.members(code, scope, id, it, &spelling);
        self.message(code, scope, id, it, &spelling);
        self.time(code, it, &spelling, &fields);
        self.region(code, scope, id, whole);
    }

    /// Whether the type of a member depends on the storage. Only weak links do so without being members.
    fn uses_storage(&self, it: &Struct) -> bool {
        let depends = |ty: &Type| types::storage(self.schema, ty) != Dependence::None;
        it.base.is_some_and(|base| depends(&Type::Named(base)))
            || it.members.iter().any(|member| member.bulk || member.optional || depends(&member.ty))
    }

    /// Implements `Timestamp`, or `Timespan` for a `Duration`, if the struct is `int32 sec; uint32 nanosec;`.
    fn time(&self, code: &mut CodeWriter, it: &Struct, spelling: &Spelling, fields: &Idents<'_>) {
        let wanted = [("sec", Primitive::I32), ("nanosec", Primitive::U32)];
        let is_member = |(member, (name, ty)): (&Member, (&str, Primitive))| {
            member.name == name && !member.optional && *self.schema.resolve(&member.ty) == Type::Primitive(ty)
        };
        let is_time = it.base.is_none()
            && it.members.len() == wanted.len()
            && it.members.iter().zip(wanted).all(is_member);
        if !is_time {
            return;
        }
        let name = if spelling.name == "Duration" { "time::Timespan" } else { "time::Timestamp" };
        let (sec, nanosec) = (fields.get("sec"), fields.get("nanosec"));
        code.gap();
        code.block(format!("impl {} for {}", self.layout(name), spelling.name), |code| {
            code.block("fn from_parts(sec: i32, nanosec: u32) -> Self", |code| {
                let value = |field: &str, name: &str| match field == name {
                    true => name.to_owned(),
                    false => format!("{field}: {name}"),
                };
                code.line(format!("Self {{ {}, {} }}", value(&sec, "sec"), value(&nanosec, "nanosec")));
            });
            code.gap();
            code.block("fn parts(&self) -> (i32, u32)", |code| {
                code.line(format!("(self.{sec}, self.{nanosec})"));
            });
        });
    }

    /// The documentation of a member, with its unit and its default.
    pub fn member_docs(&self, code: &mut CodeWriter, scope: &Scope, member: &Member) {
        let mut docs = member.docs.trim_end().to_owned();
        let mut add = |text: String| {
            if !docs.is_empty() {
                docs.push_str("\n\n");
            }
            docs.push_str(&text);
        };
        if let Some(unit) = &member.unit {
            add(format!("Unit: `{unit}`."));
        }
        if let Some(default) = self.default(scope, member) {
            add(format!("Default: `{default}`."));
        }
        code.docs(&docs, || format!("`{}`.", member.name));
    }

    /// The constants of a ROS message, and the constructor. They stand with the default storage alone, so
    /// that the storage need not be named.
    fn default_storage(&self, code: &mut CodeWriter, scope: &Scope, id: TypeId, spelling: &Spelling) {
        code.gap();
        code.block(format!("impl {}", spelling.name), |code| {
            let constants = self.constants_of(id);
            for constant in self.schema.constants_of(id) {
                self.constant_as(code, scope, constant, &constants.get(constant.name.simple()));
            }
            code.gap();
            code.line("/// Default values, in the default storage.");
            code.block("pub fn new() -> Self", |code| code.line("::core::default::Default::default()"));
            if spelling.bound.is_some() {
                // `Image::default()` would otherwise not say in which storage.
                code.gap();
                code.line("/// Default values, in the default storage.");
                code.block("pub fn default() -> Self", |code| code.line("Self::new()"));
            }
        });
    }

    /// What the constants of a message of ROS are called.
    fn constants_of(&self, id: TypeId) -> Idents<'_> {
        Idents::constants(self.schema.constants_of(id).map(|it| it.name.simple()), &["default", "new"])
    }

    /// Setters of members with a bound, which name the member in their errors.
    fn setters(&self, code: &mut CodeWriter, scope: &Scope, id: TypeId, it: &Struct, spelling: &Spelling) {
        let mut setters = Vec::new();
        for member in it.members.iter().filter(|it| !it.optional && !it.bulk) {
            let ty = self.schema.resolve(&member.ty);
            if is_bounded(ty) {
                setters.extend(self.setters_of(scope, &member.name, ty).into_iter().map(|it| (member, it)));
            }
        }
        if setters.is_empty() {
            return;
        }
        code.gap();
        let parameter =
            if spelling.parameter.is_empty() { String::new() } else { format!("<{}>", spelling.parameter) };
        code.block(format!("impl{parameter} {}", spelling.used), |code| {
            let (fields, mut methods) = (Idents::fields(it), self.constants_of(id));
            for (member, setter) in &setters {
                let method = methods.made(format!("{}_{}", setter.prefix, member.name));
                self.setter(code, (&method, &member.name, &fields.get(&member.name)), setter);
            }
        });
    }

    /// The setters of one member.
    fn setters_of(&self, scope: &Scope, name: &str, ty: &Type) -> Vec<Setter<'static>> {
        let set =
            |docs, parameters, function| Setter { docs, prefix: "set", parameters, result: None, function };
        match ty {
            Type::String { bound: Some(bound) } => {
                vec![set(
                    format!("Sets `{name}`, at most {bound} bytes."),
                    vec!["value: &str".into()],
                    "text",
                )]
            }
            Type::WString { bound: Some(bound) } => {
                let docs = format!("Sets `{name}`, at most {bound} UTF-16 units.");
                vec![set(docs, vec!["value: &str".into()], "wide")]
            }
            Type::Sequence { element, bound: Some(bound) } => {
                let element = self.spell(scope, element);
                vec![
                    set(
                        format!("Sets `{name}`, at most {bound} elements."),
                        vec![format!("values: &[{element}]")],
                        "list",
                    ),
                    Setter {
                        docs: format!("Appends to `{name}`."),
                        prefix: "push",
                        parameters: vec![format!("value: {element}")],
                        result: None,
                        function: "push",
                    },
                    Setter {
                        docs: format!("Appends a default element to `{name}`, built in place."),
                        prefix: "add",
                        parameters: Vec::new(),
                        result: Some(format!("&mut {element}")),
                        function: "add",
                    },
                ]
            }
            Type::Map { key, value, bound: Some(bound) } => {
                let (key, value) = (self.spell_key(scope, key), self.spell(scope, value));
                vec![Setter {
                    docs: format!("Sets an entry of `{name}`, at most {bound} entries."),
                    prefix: "insert",
                    parameters: vec![format!("key: {key}"), format!("value: {value}")],
                    result: Some(format!("::core::option::Option<{value}>")),
                    function: "insert",
                }]
            }
            _ => Vec::new(),
        }
    }

    fn setter(&self, code: &mut CodeWriter, (method, name, field): (&str, &str, &str), setter: &Setter) {
        code.gap();
        code.line(format!("/// {}", setter.docs));
        let parameters = ["&mut self"].into_iter().chain(setter.parameters.iter().map(String::as_str));
        let bounded = self.layout("Bounded");
        let result = setter.result.as_ref().map_or(bounded.clone(), |it| format!("{bounded}<{it}>"));
        let parameters: Vec<&str> = parameters.collect();
        code.function(&format!("pub fn {method}"), &parameters, &result);
        code.indent();
        let (field, quoted) = (format!("&mut self.{field}"), format!("\"{name}\""));
        let passed = setter.parameters.iter().filter_map(|it| it.split(':').next());
        let arguments: Vec<&str> = [field.as_str(), quoted.as_str()].into_iter().chain(passed).collect();
        code.call(&Call::new(self.layout(&format!("set::{}", setter.function)), &arguments), "");
        code.dedent();
        code.line("}");
    }
}
