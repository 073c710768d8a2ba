//! Names in Rust: which names of the schema change, and how one module names the types of another.

use std::collections::{HashMap, HashSet};

use super::words::{is_taken, raw};
use crate::Schema;
use crate::codegen::naming;
use crate::model::{Case, Kind, Member, Name, TypeId};

/// The module of the canonical schemas.
pub const SCHEMAS: &str = "situ_schemas";

/// The module of the names for what containers of recursive types hold.
pub const HELD: &str = "situ_held";

/// Names of variables in generated functions, in alphabetical order. No constant and no constructor of an
/// enum or bitmask may have such a name: a pattern would mean it, and not a new variable.
const VARIABLES: &[&str] = &[
    "a",
    "align",
    "at",
    "b",
    "bits",
    "block",
    "bodies",
    "body",
    "bulk",
    "check",
    "count",
    "cursor",
    "default",
    "discriminator",
    "distance",
    "dst",
    "element",
    "end",
    "equal",
    "error",
    "exception",
    "extensibility",
    "f",
    "from",
    "head",
    "held",
    "image",
    "index",
    "info",
    "infos",
    "it",
    "key",
    "labels",
    "layout",
    "lengths",
    "lines",
    "made",
    "map",
    "member",
    "members",
    "memory",
    "message",
    "name",
    "number",
    "offset",
    "other",
    "outcome",
    "own_body",
    "part",
    "payload",
    "place",
    "raw",
    "region",
    "response",
    "schema",
    "seed",
    "selected",
    "size",
    "slide",
    "source",
    "src",
    "target",
    "text",
    "to",
    "validation",
    "value",
    "values",
    "visitor",
    "walk",
    "writer",
];

/// Names of the root of each generated file. The file may be included in the root of a crate, where a module
/// `situ` would stand in the way of the crate `situ`.
const ROOT: &[&str] = &[HELD, SCHEMAS, "situ"];

/// What types of their own are made for a definition, named by the definition and this.
const COMPANIONS: &[&str] = &["BulkLengths", "Case", "Mut", "Payload", "Ref", "Region"];

/// The enum of an operation's exceptions: the companion of the union that its response holds.
pub const EXCEPTION: &str = "Exception";

/// The methods of unions.
const UNION_METHODS: &[&str] = &["begin", "case", "discriminator", "end", "index", "select"];

/// Methods that handles to what lies in regions have, structs and unions.
const REGION_METHODS: &[&str] = &[
    "as_ref",
    "clone",
    "discriminator",
    "load_into",
    "part",
    "reborrow",
    "select",
    "set",
    "share",
    "store",
    "to_message",
];

/// What each name of a scope is called.
pub struct Idents<'a>(naming::Scope<'a>);

impl<'a> Idents<'a> {
    fn of(names: impl IntoIterator<Item = &'a str>, reserved: &[&str]) -> Self {
        Self(naming::Scope::of(names, |it| is_taken(it) || reserved.contains(&it)))
    }

    /// The fields of a struct.
    pub fn fields(it: &'a crate::model::Struct) -> Self {
        let reserved: &[&str] = if it.base.is_some() { &["base"] } else { &[] };
        Self::of(it.members.iter().map(|it| it.name.as_str()), reserved)
    }

    /// The accessors of a struct's or a union's members in a region.
    pub fn in_region(members: impl IntoIterator<Item = &'a Member>) -> Self {
        Self::of(members.into_iter().map(|it| it.name.as_str()), REGION_METHODS)
    }

    /// The associated constants of an enum, a bitmask or a message of ROS.
    pub fn constants(names: impl IntoIterator<Item = &'a str>, methods: &'static [&'static str]) -> Self {
        let mut idents = Self::of(names, methods);
        idents.0.take(methods.iter().copied());
        idents
    }

    /// What a name is called.
    pub fn get(&self, name: &str) -> String {
        raw(self.0.get(name).unwrap_or(name))
    }

    /// A name that is made from others; each time another one.
    pub fn made(&mut self, wanted: String) -> String {
        self.0.made(wanted)
    }
}

/// What belongs to a case of a union.
pub struct CaseNames {
    /// Where its value lies.
    pub field: String,
    /// The method that gives its value.
    pub get: String,
    /// The method that gives it to be changed.
    pub get_mut: String,
    /// The method that sets it.
    pub set: String,
}

/// The names of a union's cases, by those of the schema.
pub fn cases(cases: &[Case]) -> HashMap<&str, CaseNames> {
    let names = || cases.iter().map(|it| it.member.name.as_str());
    let fields = Idents::of(names(), &[]);
    let mut methods = Idents::of(names(), UNION_METHODS);
    methods.0.take(UNION_METHODS.iter().copied());
    names()
        .map(|name| {
            let (get_mut, set) = (methods.made(format!("{name}_mut")), methods.made(format!("set_{name}")));
            (name, CaseNames { field: fields.get(name), get: methods.get(name), get_mut, set })
        })
        .collect()
}

/// The names of everything that stands in modules, for the whole schema.
pub struct Table<'a> {
    modules: HashMap<&'a str, Idents<'a>>,
    companions: HashMap<(TypeId, &'static str), String>,
    schemas: HashMap<&'a str, String>,
    /// The parameter of types that depend on the storage.
    pub storage: String,
    /// A second such parameter.
    pub other: String,
}

impl<'a> Table<'a> {
    /// The names of a schema.
    pub fn new(schema: &'a Schema) -> Self {
        // What stands in each module, and whether it is a value as well as a type.
        let mut modules: HashMap<&str, Vec<(&str, bool)>> = HashMap::new();
        let mut words: HashSet<&str> = HashSet::new();
        let mut add = |name: &'a Name, is_value: bool| {
            modules.entry(name.scope()).or_default().push((name.simple(), is_value));
            words.extend(name.as_str().split("::"));
        };
        for (_, definition) in schema.definitions() {
            add(&definition.name, matches!(definition.kind, Kind::Enum(_) | Kind::Bitmask(_)));
        }
        schema.constants().iter().for_each(|it| add(&it.name, true));
        schema.services().iter().for_each(|it| add(&it.name, true));
        for action in schema.actions() {
            for name in [&action.name, &action.send_goal.name, &action.get_result.name] {
                add(name, true);
            }
        }
        let mut open: Vec<&str> = modules.keys().copied().collect();
        while let Some(path) = open.pop() {
            if path.is_empty() {
                continue;
            }
            let (outer, name) = path.rsplit_once("::").unwrap_or(("", path));
            let inside = modules.entry(outer).or_default();
            if !inside.iter().any(|(it, _)| *it == name) {
                inside.push((name, false));
                open.push(outer);
            }
        }
        let idents = |(scope, names): (&'a str, Vec<(&'a str, bool)>)| {
            let values: HashSet<&str> = names.iter().filter(|(_, it)| *it).map(|(name, _)| *name).collect();
            let is_reserved = |name: &str| {
                is_taken(name)
                    || scope.is_empty() && ROOT.contains(&name)
                    || values.contains(name) && VARIABLES.binary_search(&name).is_ok()
            };
            (scope, Idents(naming::Scope::of(names.into_iter().map(|(name, _)| name), is_reserved)))
        };
        let mut modules: HashMap<&str, Idents> = modules.into_iter().map(idents).collect();

        let mut companions = HashMap::new();
        let mut constants = naming::Scope::default();
        let mut schemas = HashMap::new();
        for (id, definition) in schema.definitions() {
            let name = &definition.name;
            schemas.insert(name.as_str(), constants.made(name.as_str().replace("::", "__")));
            let Some(module) = modules.get_mut(name.scope()) else { continue };
            for suffix in COMPANIONS {
                companions.insert((id, *suffix), module.made(format!("{}{suffix}", name.simple())));
            }
        }
        for (service, raises) in schema.services().iter().filter_map(|it| Some((it, it.raises?))) {
            // An inherited operation has the exceptions of its base.
            if service.declares(schema.name(service.response))
                && let Some(module) = modules.get_mut(service.name.scope())
            {
                let name = module.made(format!("{}_{EXCEPTION}", service.name.simple()));
                companions.insert((raises.outcome, EXCEPTION), name);
            }
        }
        let mut storage = "S".to_owned();
        while words.contains(storage.as_str()) {
            storage = if storage == "S" { "SituStorage".into() } else { format!("{storage}_") };
        }
        let mut other = "Other".to_owned();
        while words.contains(other.as_str()) || other == storage {
            other.push('_');
        }
        Self { modules, companions, schemas, storage, other }
    }

    /// What a definition, a constant, a service, an action or a module is called.
    pub fn ident(&self, name: &Name) -> String {
        self.ident_in(name.scope(), name.simple())
    }

    /// The same, by the module around it.
    pub fn ident_in(&self, module: &str, simple: &str) -> String {
        self.modules.get(module).map_or_else(|| raw(simple), |it| it.get(simple))
    }

    /// A path in the schema, in Rust.
    pub fn path(&self, name: &Name) -> String {
        self.parts(name).join("::")
    }

    fn parts(&self, name: &Name) -> Vec<String> {
        let text = name.as_str();
        let ends = text.match_indices("::").map(|(at, _)| at).chain([text.len()]);
        ends.map(|end| self.ident(&Name::new(&text[..end]))).collect()
    }

    /// What something that belongs to a definition is called.
    pub fn companion(&self, id: TypeId, suffix: &'static str) -> String {
        self.companions.get(&(id, suffix)).cloned().unwrap_or_default()
    }

    /// The name of the constant that holds a type's canonical schema.
    pub fn schema_constant(&self, name: &Name) -> &str {
        self.schemas.get(name.as_str()).map_or("", String::as_str)
    }
}

/// The name of something that containers of recursive types hold.
pub fn held(index: usize) -> String {
    format!("Held{index}")
}

/// `point_cloud` as `PointCloud`.
pub fn camel_case(name: &str) -> String {
    let words = name.split('_').filter(|word| !word.is_empty());
    let camel: String = words
        .map(|word| {
            let mut letters = word.chars();
            letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
        })
        .collect();
    if camel.is_empty() || camel.starts_with(|first: char| first.is_ascii_digit()) {
        format!("Case{camel}")
    } else {
        camel
    }
}

/// The modules around what is being written.
pub struct Scope<'a> {
    table: &'a Table<'a>,
    modules: Vec<String>,
}

impl<'a> Scope<'a> {
    /// Within no module.
    pub fn root(table: &'a Table<'a>) -> Self {
        Self { table, modules: Vec::new() }
    }

    /// Into a module.
    pub fn enter(&mut self, module: &str) {
        self.modules.push(module.to_owned());
    }

    /// Out of the innermost module.
    pub fn leave(&mut self) {
        self.modules.pop();
    }

    /// Whether no module is around.
    pub fn is_root(&self) -> bool {
        self.modules.is_empty()
    }

    /// The qualified name of something in the innermost module.
    pub fn joined(&self, name: &str) -> String {
        self.modules.iter().map(String::as_str).chain([name]).collect::<Vec<_>>().join("::")
    }

    /// What something in the innermost module is called.
    pub fn ident(&self, simple: &str) -> String {
        self.table.ident_in(&self.modules.join("::"), simple)
    }

    /// The path from here to what has this name.
    pub fn path(&self, name: &Name) -> String {
        self.beside(name, &self.table.ident(name))
    }

    /// The path from here to what is called `ident`, beside what has this name.
    pub fn beside(&self, name: &Name, ident: &str) -> String {
        let target = name.modules();
        let common = self.modules.iter().zip(&target).take_while(|(own, other)| own == *other).count();
        let mut path = vec!["super".to_owned(); self.modules.len() - common];
        path.extend(self.table.parts(name).into_iter().take(target.len()).skip(common));
        path.push(ident.to_owned());
        // A path that begins with a module might be taken for a crate.
        if common == self.modules.len() && path.len() > 1 {
            path.insert(0, "self".to_owned());
        }
        path.join("::")
    }

    /// The path from here to a constant of the module of schemas.
    pub fn schema(&self, name: &Name) -> String {
        format!("{}{SCHEMAS}::{}", self.to_root(), raw(self.table.schema_constant(name)))
    }

    /// The path from here to a name of the module of what is held.
    pub fn held(&self, index: usize) -> String {
        format!("{}{HELD}::{}", self.to_root(), held(index))
    }

    fn to_root(&self) -> String {
        if self.is_root() { "self::".to_owned() } else { "super::".repeat(self.modules.len()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reserved_words_are_in_order() {
        assert!(VARIABLES.is_sorted());
        let idents = Idents::of(["type", "self", "x", "self_"], &[]);
        let called = ["type", "self", "x", "self_"].map(|it| idents.get(it));
        assert_eq!(called, ["r#type", "self__", "x", "self_"]);
    }

    #[test]
    fn paths_lead_from_module_to_module() {
        let text = "module a { module b { struct Point { long x; }; module c { struct Point { long x; }; }; }; struct Point \
                    { long x; }; }; module c { module type { struct Point { long x; }; }; }; struct Point { long x; };";
        let schema = crate::Loader::new().sealed().text("test.idl", text, crate::Format::Idl).load();
        let schema = schema.unwrap_or_else(|error| panic!("{}", error.render(false)));
        let table = Table::new(&schema);
        let mut scope = Scope::root(&table);
        assert_eq!(scope.path(&Name::new("Point")), "Point");
        assert_eq!(scope.path(&Name::new("a::Point")), "self::a::Point");
        scope.enter("a");
        scope.enter("b");
        assert_eq!(scope.path(&Name::new("a::b::Point")), "Point");
        assert_eq!(scope.path(&Name::new("a::b::c::Point")), "self::c::Point");
        assert_eq!(scope.path(&Name::new("a::Point")), "super::Point");
        assert_eq!(scope.path(&Name::new("c::type::Point")), "super::super::c::r#type::Point");
        assert_eq!(scope.schema(&Name::new("a::Point")), "super::super::situ_schemas::a__Point");
    }

    /// Each `let`, parameter and argument of a closure in generated code is in the list.
    #[test]
    fn variables_of_generated_code_are_known() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../situ-layout/tests/messages/messages.rs");
        let text = std::fs::read_to_string(file).unwrap();
        let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        for line in text.lines().map(str::trim_start).filter(|it| !it.starts_with("//")) {
            let declared = line.strip_prefix("let ").map(|it| it.trim_start_matches("mut "));
            let parameters = line.split(['(', ',', '|']).map(str::trim).filter_map(|it| {
                let (name, ty) = it.split_once(':')?;
                let is_parameter = line.contains("fn ") && ty.starts_with(' ');
                is_parameter.then_some(name.trim_start_matches("mut "))
            });
            let closures = line.split('|').skip(1).step_by(2).flat_map(|it| it.split(',')).map(str::trim);
            for name in declared.into_iter().chain(parameters).chain(closures) {
                let name = name.split(|it| !is_word(it)).next().unwrap_or_default();
                let is_name = name.starts_with(|it: char| it.is_ascii_lowercase()) && raw(name) == name;
                assert!(
                    !is_name || is_taken(name) || VARIABLES.binary_search(&name).is_ok(),
                    "`{name}`: {line}"
                );
            }
        }
    }

    #[test]
    fn variants_are_in_camel_case() {
        assert_eq!(camel_case("point_cloud"), "PointCloud");
        assert_eq!(camel_case("_2d"), "Case2d");
        assert_eq!(camel_case("xY"), "XY");
    }
}
