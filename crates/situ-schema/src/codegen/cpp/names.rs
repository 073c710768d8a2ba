//! Names in C++, which differ from the schema's where those are reserved, and the paths of headers.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Deref;
use std::path::{Component, Path, PathBuf};

use super::storage::{has_template, holds, single_types};
use super::words::{is_global, is_reserved};
use crate::codegen::naming;
use crate::frontend::files::interface_of;
use crate::model::{Bitmask, Constant, Enum, Kind, Name, TypeId, snake_case};
use crate::{FileId, Schema};

/// Names in every generated struct, besides its members.
const STRUCT_NAMES: &[&str] =
    &["S", "body_size", "bulk_lengths", "in_region", "init_at", "layout_hash", "schema", "schema_hash"];

/// Names in every generated union, besides its members.
const UNION_NAMES: &[&str] = &[
    "D",
    "S",
    "alternative",
    "alternatives",
    "at",
    "cases",
    "discriminator",
    "discriminator_type",
    "emplace_at",
    "get",
    "get_if",
    "holds",
    "in_region",
    "index",
    "select",
    "set",
    "try_assign",
    "try_emplace_at",
    "try_set",
    "visit_active",
];

/// Names in every generated service or action.
const SERVICE_NAMES: &[&str] = &["Request", "Response"];
const ACTION_NAMES: &[&str] = &["Feedback", "FeedbackMessage", "GetResult", "Goal", "Result", "SendGoal"];

/// Functions that stand beside enums and bitmasks.
const NAMESPACE_NAMES: &[&str] = &["enumerator_name", "situ_default"];

/// The C++ names of the members of a struct, the cases of a union, or the values of an enum.
pub struct Idents<'a>(naming::Scope<'a>);

impl<'a> Idents<'a> {
    fn of(names: impl IntoIterator<Item = &'a str>, reserved: impl Fn(&str) -> bool) -> Self {
        Self(naming::Scope::of(names, |it| is_reserved(it) || reserved(it)))
    }

    /// The values of an enum.
    pub fn enumerators(it: &'a Enum) -> Self {
        Self::of(it.enumerators.iter().map(|it| it.name.as_str()), |_| false)
    }

    /// The flags of a bitmask.
    pub fn flags(it: &'a Bitmask) -> Self {
        Self::of(it.flags.iter().map(|it| it.name.as_str()), |_| false)
    }

    /// The generated name for a name of the schema.
    pub fn get<'s>(&'s self, name: &'s str) -> &'s str {
        self.0.get(name).unwrap_or(name)
    }
}

/// The methods of a union's case.
pub struct CaseNames {
    /// The method that gives its value.
    pub get: String,
    /// Whether it is there.
    pub has: String,
    /// A pointer to it, or none.
    pub get_if: String,
    /// The methods that set it.
    pub set: String,
    /// The one that may fail.
    pub try_set: String,
    /// The method that makes a new value from arguments.
    pub emplace: String,
    /// The one that may fail.
    pub try_emplace: String,
}

/// The C++ names of everything in namespaces, for the whole schema.
pub struct Table<'a> {
    namespaces: HashMap<&'a str, Idents<'a>>,
    /// The templates of types that depend on the storage, and the lists of unions' cases.
    templates: HashMap<TypeId, String>,
    cases: HashMap<TypeId, String>,
    /// The templates of structs that are one type in all storages.
    single: HashMap<TypeId, String>,
}

impl<'a> Table<'a> {
    fn new(schema: &'a Schema) -> Self {
        // The content of each namespace, and which names its own members would hide.
        let mut namespaces: HashMap<&str, Vec<(&str, &[&str])>> = HashMap::new();
        let mut add = |name: &'a Name, own: &'static [&'static str]| {
            namespaces.entry(name.scope()).or_default().push((name.simple(), own));
        };
        schema.definitions().for_each(|(_, it)| add(&it.name, &[]));
        schema.constants().iter().filter(|it| owner(schema, it).is_none()).for_each(|it| add(&it.name, &[]));
        schema.services().iter().for_each(|it| add(&it.name, SERVICE_NAMES));
        for action in schema.actions() {
            add(&action.name, ACTION_NAMES);
            add(&action.send_goal.name, SERVICE_NAMES);
            add(&action.get_result.name, SERVICE_NAMES);
        }
        let mut open: Vec<&str> = namespaces.keys().copied().collect();
        while let Some(path) = open.pop() {
            if path.is_empty() {
                continue;
            }
            let (outer, name) = path.rsplit_once("::").unwrap_or(("", path));
            let inside = namespaces.entry(outer).or_default();
            if !inside.iter().any(|(it, _)| *it == name) {
                inside.push((name, &[]));
                open.push(outer);
            }
        }
        let idents = |(scope, names): (&'a str, Vec<(&'a str, &[&str])>)| {
            let hidden: HashSet<&str> =
                names.iter().filter(|(name, own)| own.contains(name)).map(|(name, _)| *name).collect();
            let is_reserved = |name: &str| {
                hidden.contains(name)
                    || NAMESPACE_NAMES.contains(&name)
                    || scope.is_empty() && is_global(name)
            };
            (scope, Idents::of(names.into_iter().map(|(name, _)| name), is_reserved))
        };
        let mut namespaces: HashMap<&str, Idents> = namespaces.into_iter().map(idents).collect();
        let (mut templates, mut cases, mut single) = (HashMap::new(), HashMap::new(), HashMap::new());
        let is_single = single_types(schema);
        for (id, definition) in schema.definitions() {
            let simple = definition.name.simple();
            let Some(namespace) = namespaces.get_mut(definition.name.scope()) else { continue };
            if has_template(schema, id) {
                templates.insert(id, namespace.0.made(format!("{simple}_")));
            }
            if is_single.contains(&id) {
                single.insert(id, namespace.0.made(format!("{simple}_struct")));
            }
            if matches!(definition.kind, Kind::Union(_)) {
                cases.insert(id, namespace.0.made(format!("{simple}_cases")));
            }
        }
        Self { namespaces, templates, cases, single }
    }
}

/// The ROS message that a constant belongs to.
pub fn owner(schema: &Schema, constant: &Constant) -> Option<TypeId> {
    let owner = schema.find(constant.name.scope().strip_suffix("_Constants")?)?;
    schema.definition(owner).kind.as_struct().map(|_| owner)
}

/// A schema, and the C++ names of everything in it.
pub struct Named<'a> {
    schema: &'a Schema,
    table: Table<'a>,
    /// The namespace around everything.
    root: String,
}

impl Deref for Named<'_> {
    type Target = Schema;

    fn deref(&self) -> &Schema {
        self.schema
    }
}

impl<'a> Named<'a> {
    /// Names everything in the schema. The namespace `root` around it keeps its name.
    pub fn new(schema: &'a Schema, root: &str) -> Self {
        let parts: Vec<&str> = root.split("::").map(str::trim).filter(|it| !it.is_empty()).collect();
        Self { schema, table: Table::new(schema), root: parts.join("::") }
    }

    /// The namespace around everything; empty for the global one.
    pub fn root(&self) -> &str {
        &self.root
    }

    /// The name of a definition, a constant, a service or an action in its namespace.
    pub fn ident<'s>(&'s self, name: &'s Name) -> &'s str {
        self.ident_in(name.scope(), name.simple())
    }

    fn ident_in<'s>(&'s self, scope: &str, simple: &'s str) -> &'s str {
        self.table.namespaces.get(scope).map_or(simple, |it| it.get(simple))
    }

    /// The same of a definition.
    pub fn simple(&self, id: TypeId) -> &str {
        self.ident(self.schema.name(id))
    }

    /// Whether the type is another one in another storage.
    pub fn is_template(&self, id: TypeId) -> bool {
        match &self.schema.definition(id).kind {
            Kind::Struct(_) => !self.table.single.contains_key(&id),
            Kind::Alias(ty) => holds(ty, &|id| self.is_template(id)),
            _ => has_template(self.schema, id),
        }
    }

    /// The class template of a struct or union. A struct that is one type in all storages is one, too: by its
    /// argument, functions of the namespace `situ` are found for it.
    pub fn class(&self, id: TypeId) -> &str {
        self.table.single.get(&id).map_or(self.template(id), String::as_str)
    }

    /// The type in a storage: `Image_`, a template over the storage. If the type is the same in all storages,
    /// it is a template of aliases.
    pub fn template(&self, id: TypeId) -> &str {
        self.table.templates.get(&id).map_or("", String::as_str)
    }

    /// The list of a union's cases: `Shape_cases`.
    pub fn cases_of(&self, id: TypeId) -> &str {
        self.table.cases.get(&id).map_or("", String::as_str)
    }

    /// The namespace of a name: `sensor_msgs::msg`; empty for the global one.
    pub fn namespace(&self, name: &Name) -> String {
        let scope = name.scope();
        let ends =
            scope.match_indices("::").map(|(at, _)| at).chain((!scope.is_empty()).then_some(scope.len()));
        let parts = ends.map(|end| {
            let (outer, simple) = scope[..end].rsplit_once("::").unwrap_or(("", &scope[..end]));
            self.ident_in(outer, simple)
        });
        let root = (!self.root.is_empty()).then_some(self.root.as_str());
        root.into_iter().chain(parts).collect::<Vec<_>>().join("::")
    }

    /// A qualified name, `simple` within the namespace of `name`.
    pub fn qualified(&self, name: &Name, simple: &str) -> String {
        match self.namespace(name) {
            empty if empty.is_empty() => format!("::{simple}"),
            namespace => format!("::{namespace}::{simple}"),
        }
    }

    /// The constants and members of a struct.
    pub fn members(&self, id: TypeId) -> Idents<'_> {
        let definition = self.schema.definition(id);
        let Some(it) = definition.kind.as_struct() else { return Idents(naming::Scope::default()) };
        let constants = self.schema.constants_of(id).map(|it| it.name.simple());
        let members = it.members.iter().map(|it| it.name.as_str());
        let types = [self.template(id), self.class(id)];
        Idents::of(members.chain(constants), |name| {
            STRUCT_NAMES.contains(&name) || types.contains(&name) || it.base.is_some() && name == "base"
        })
    }

    /// The methods of a union's cases, in their order.
    pub fn cases(&self, id: TypeId) -> Vec<CaseNames> {
        let Kind::Union(it) = &self.schema.definition(id).kind else { return Vec::new() };
        let names = || it.cases.iter().map(|it| it.member.name.as_str());
        let template = self.template(id);
        let mut idents = Idents::of(names(), |name| UNION_NAMES.contains(&name) || name == template);
        idents.0.take(UNION_NAMES.iter().copied());
        let made = |bare: &str| {
            let get = idents.get(bare).to_owned();
            let mut made = |name: String| idents.0.made(name);
            CaseNames {
                get,
                has: made(format!("has_{bare}")),
                get_if: made(format!("{bare}_if")),
                set: made(format!("set_{bare}")),
                try_set: made(format!("try_set_{bare}")),
                emplace: made(format!("emplace_{bare}")),
                try_emplace: made(format!("try_emplace_{bare}")),
            }
        };
        names().map(made).collect()
    }
}

/// The header of every file that defines something, relative to the output folder. A ROS interface gets
/// `<package>/<kind>/<name>.hpp`. An IDL file below one of the `roots` gets the same path below the output
/// folder. Any other IDL file gets its name, with as many of its folders as keep headers apart. Each part of
/// `namespace` is a folder around all headers.
pub fn headers(schema: &Schema, roots: &[PathBuf], namespace: &str) -> BTreeMap<FileId, PathBuf> {
    let files: BTreeSet<FileId> = (schema.definitions().map(|(id, _)| schema.file_of(id)))
        .chain(schema.constants().iter().map(|it| it.span.file))
        .chain(schema.services().iter().map(|it| it.span.file))
        .collect();
    let mut headers = BTreeMap::new();
    let around: PathBuf = namespace.split("::").collect();
    let mut taken = BTreeSet::new();
    for file in files {
        let path = schema.sources().path(file);
        let folders = match interface_of(path) {
            Some(interface) => {
                let name = format!("{}/{}/{}", interface.package, interface.kind.folder(), interface.name);
                vec![snake_case_file(Path::new(&name))]
            }
            None => candidates(path, roots),
        };
        let fresh = folders.iter().find(|it| !taken.contains(*it)).or(folders.last());
        let Some(header) = fresh.cloned() else { continue };
        taken.insert(header.clone());
        headers.insert(file, around.join(header));
    }
    headers
}

fn snake_case_file(path: &Path) -> PathBuf {
    let stem = path.file_name().map(|it| it.to_string_lossy().into_owned()).unwrap_or_default();
    path.with_file_name(format!("{}.hpp", snake_case(&stem)))
}

/// The paths that a header of an IDL file may get, the best first.
fn candidates(path: &Path, roots: &[PathBuf]) -> Vec<PathBuf> {
    let shipped = path.strip_prefix("<situ>").ok();
    let beneath = roots.iter().filter_map(|root| path.strip_prefix(root).ok());
    let best = shipped.into_iter().chain(beneath).min_by_key(|it| it.components().count());
    let parts: Vec<&Path> = path
        .components()
        .filter(|it| matches!(it, Component::Normal(_)))
        .map(|it| Path::new(it.as_os_str()))
        .collect();
    let suffix = |from: usize| parts[from..].iter().collect::<PathBuf>();
    let header = |it: PathBuf| it.with_extension("hpp");
    (best.map(Path::to_owned).into_iter()).chain((0..parts.len()).rev().map(suffix)).map(header).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snake_case_follows_ros() {
        let cases = [
            ("Image", "image"),
            ("PointCloud2", "point_cloud2"),
            ("UInt8MultiArray", "u_int8_multi_array"),
            ("TFMessage", "tf_message"),
            ("GetMap_Request", "get_map_request"),
            ("IDL", "idl"),
            ("BasicTypes", "basic_types"),
        ];
        for (name, expected) in cases {
            assert_eq!(snake_case(name), expected);
        }
    }

    #[test]
    fn reserved_names_get_an_underscore() {
        let text = "struct Image { long class; long NAN; long height; long schema; long Image_; long S; long S_; }; \
                    union Shape switch (long) { case 1: long index; case 2: long x; case 3: long has_x; }; \
                    struct Shape_ { long x; }; module std { struct Size { long x; }; };";
        let schema = crate::Loader::new().sealed().text("test.idl", text, crate::Format::Idl).load();
        let schema = schema.unwrap_or_else(|error| panic!("{}", error.render(false)));
        let named = Named::new(&schema, "");
        let find = |name| schema.find(name).unwrap();
        let members = named.members(find("Image"));
        let called = ["class", "NAN", "height", "schema", "Image_", "S", "S_"].map(|it| members.get(it));
        assert_eq!(called, ["class_", "NAN_", "height", "schema_", "Image__", "S__", "S_"]);
        let cases = named.cases(find("Shape"));
        assert_eq!(
            (cases[0].get.as_str(), cases[1].has.as_str(), cases[2].get.as_str()),
            ("index_", "has_x_", "has_x")
        );
        assert_eq!((named.template(find("Shape")), named.template(find("Shape_"))), ("Shape__", "Shape___"));
        assert_eq!(named.qualified(schema.name(find("std::Size")), "Size"), "::std_::Size");
    }

    #[test]
    fn headers_lie_beneath_the_roots() {
        let roots = [PathBuf::from("/a"), PathBuf::from("/a/schema")];
        let first = |path: &str| candidates(Path::new(path), &roots).remove(0);
        assert_eq!(first("/a/schema/robot/arm.idl"), Path::new("robot/arm.hpp"));
        assert_eq!(first("/a/other/arm.idl"), Path::new("other/arm.hpp"));
        assert_eq!(first("/b/other/arm.idl"), Path::new("arm.hpp"));
        assert_eq!(first("<situ>/situ/common.idl"), Path::new("situ/common.hpp"));
        assert_eq!(candidates(Path::new("/b/arm.idl"), &roots)[1], Path::new("b/arm.hpp"));
    }
}
