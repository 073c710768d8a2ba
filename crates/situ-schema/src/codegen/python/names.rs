//! What everything is called in Python, by the rule of [`crate::codegen::naming`].

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;

use super::modules::{Module, joined};
use crate::Schema;
use crate::codegen::Options;
use crate::codegen::naming::Scope;
use crate::model::{Interface, Kind, TypeId};

/// Python's keywords. Soft ones (`match`, `type`) are names, too.
const KEYWORDS: &[&str] = &[
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def",
    "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is",
    "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
];

/// Methods of messages, and the first parameter of their `__init__`.
const MESSAGE: &[&str] = &[
    "array",
    "copy",
    "from_dict",
    "info",
    "is_released",
    "publish",
    "release",
    "self",
    "to_dict",
    "to_json",
    "to_yaml",
];

/// Attributes of interfaces and of their clients.
const INTERFACE: &[&str] = &["AsyncClient", "Client", "close", "errors", "wait_for_servers"];

/// Attributes of enumerators: those of `enum.Enum` and of `int`.
const ENUMERATOR: &[&str] = &[
    "as_integer_ratio",
    "bit_count",
    "bit_length",
    "conjugate",
    "denominator",
    "from_bytes",
    "imag",
    "is_integer",
    "mro",
    "name",
    "numerator",
    "real",
    "to_bytes",
    "value",
];

/// Top-level modules of Python's standard library that a package of a schema must not hide, and `situ`.
const MODULES: &str = "\
    abc annotationlib argparse array ast asyncio atexit base64 bdb binascii bisect builtins bz2 calendar \
    cmath cmd code codecs codeop collections colorsys compileall compression concurrent configparser \
    contextlib contextvars copy copyreg cProfile csv ctypes curses dataclasses datetime dbm decimal \
    difflib dis doctest email encodings ensurepip enum errno faulthandler fcntl filecmp fileinput \
    fnmatch fractions ftplib functools gc genericpath getopt getpass gettext glob graphlib grp gzip \
    hashlib heapq hmac html http imaplib importlib inspect io ipaddress itertools json keyword linecache \
    locale logging lzma mailbox marshal math mimetypes mmap modulefinder multiprocessing netrc numbers \
    numpy opcode operator optparse os pathlib pdb pickle pickletools pkgutil platform plistlib poplib \
    posix posixpath pprint profile pstats pty pwd py_compile pyclbr pydoc pyexpat queue quopri random re \
    readline reprlib resource rlcompleter runpy sched secrets select selectors shelve shlex shutil \
    signal site situ smtplib socket socketserver sqlite3 ssl stat statistics string stringprep struct \
    subprocess symtable sys sysconfig syslog tarfile tempfile termios test textwrap threading time \
    timeit tkinter token tokenize tomllib trace traceback tracemalloc tty types typing unicodedata \
    unittest urllib uuid venv warnings wave weakref webbrowser wsgiref xml xmlrpc zipapp zipfile \
    zipimport zlib zoneinfo";

/// Names that generated code uses itself (`_x`), that Python changes within classes (`__x`), or that mean
/// something to it (`__x__`, and `_x_` in enums). With three underscores at the end, they are none of these.
fn is_private(name: &str) -> bool {
    name.starts_with('_') && !name.ends_with("___")
}

fn is_keyword(name: &str) -> bool {
    KEYWORDS.contains(&name)
}

/// Names that generated files import or define for themselves.
const OWN: &[&str] = &["_TypeAlias", "_builtins", "_generated", "_situ", "_t"];

/// The packages of all modules, and of those around them. A module of a package gives way to what its package
/// defines, because Python finds both as attributes of the package.
fn packages(
    modules: &BTreeMap<String, Module<'_>>,
    scopes: &HashMap<&str, Scope<'_>>,
    file_stem: &str,
) -> HashMap<String, Vec<String>> {
    let mut inner: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for mut path in modules.keys().map(String::as_str).filter(|it| !it.is_empty()) {
        while !path.is_empty() {
            let (outer, name) = path.rsplit_once("::").unwrap_or(("", path));
            inner.entry(outer).or_default().insert(name);
            path = outer;
        }
    }
    let mut packages: HashMap<String, Vec<String>> = HashMap::new();
    // Shorter paths come first, so the packages around a module are known.
    for (outer, names) in inner {
        let is_taken = |name: &str| match outer {
            // What lies outside of modules is in a file beside the packages.
            "" => MODULES.split_whitespace().any(|it| it == name),
            _ => scopes.get(outer).is_some_and(|it| it.is_taken(name)),
        };
        let reserved = |name: &str| is_keyword(name) || name.starts_with("__") || is_taken(name);
        let scope = Scope::of(names.iter().copied(), reserved);
        for name in names {
            let mut parts = packages.get(outer).cloned().unwrap_or_default();
            parts.push(scope.get(name).unwrap_or(name).to_owned());
            let path = if outer.is_empty() { name.to_owned() } else { format!("{outer}::{name}") };
            packages.insert(path, parts);
        }
    }
    let mut stem = file_stem.to_owned();
    while is_keyword(&stem) || packages.values().any(|it| it[0] == stem) {
        stem.push('_');
    }
    packages.insert(String::new(), vec![stem]);
    packages
}

/// The names of a schema's definitions.
pub struct Names<'s> {
    pub schema: &'s Schema,
    namespace: Vec<String>,
    /// The packages of each module, and of each module around one, from the namespace on.
    packages: HashMap<String, Vec<String>>,
    /// By which name other modules know a module.
    aliases: HashMap<String, String>,
    /// All classes, and typedefs, constants and services, whose names begin as those of generated code do.
    underscored: Vec<String>,
    classes: HashMap<TypeId, String>,
    cases: HashMap<TypeId, Vec<String>>,
    errors: HashMap<TypeId, String>,
    others: HashMap<String, String>,
}

impl<'s> Names<'s> {
    pub fn new(schema: &'s Schema, options: &Options, modules: &BTreeMap<String, Module<'s>>) -> Self {
        let (mut classes, mut cases, mut others) = (HashMap::new(), HashMap::new(), HashMap::new());
        let mut errors = HashMap::new();
        let (mut scopes, mut underscored) = (HashMap::new(), Vec::new());
        let reserved = |name: &str| is_keyword(name) || is_private(name);
        for (path, module) in modules {
            let types = module.types.iter().map(|(_, it)| it.name.simple());
            let mut scope = Scope::of(types.chain(module.others().map(|it| it.simple())), reserved);
            let called = |simple: &str, scope: &Scope<'_>| scope.get(simple).unwrap_or(simple).to_owned();
            for (id, definition) in &module.types {
                classes.insert(*id, called(definition.name.simple(), &scope));
            }
            for name in module.others() {
                others.insert(name.as_str().to_owned(), called(name.simple(), &scope));
            }
            for (id, definition) in &module.types {
                if let Kind::Union(it) = &definition.kind {
                    let class = called(definition.name.simple(), &scope);
                    let made = it.cases.iter().map(|it| scope.made(format!("{class}_{}", it.member.name)));
                    cases.insert(*id, made.collect());
                }
            }
            for (id, _) in module.exceptions() {
                errors.insert(*id, scope.made(format!("{}Error", classes[id])));
            }
            underscored.extend(scope.taken().filter(|it| it.starts_with('_')).map(str::to_owned));
            scopes.insert(path.as_str(), scope);
        }
        let namespace =
            options.namespace.split("::").filter(|it| !it.is_empty()).map(str::to_owned).collect();
        let packages = packages(modules, &scopes, &options.file_stem);
        let mut names = Self {
            schema,
            namespace,
            packages,
            aliases: HashMap::new(),
            underscored,
            classes,
            cases,
            errors,
            others,
        };
        let mut scope = names.private_scope();
        for (path, parts) in names.packages.iter().collect::<BTreeMap<_, _>>() {
            names.aliases.insert(path.clone(), scope.made(format!("_{}", parts.join("_"))));
        }
        names
    }

    /// A scope for names that generated code uses itself, in any file.
    pub fn private_scope(&self) -> Scope<'static> {
        let mut scope = Scope::default();
        scope.take(OWN.iter().copied());
        scope.take(self.underscored.iter().chain(self.aliases.values()).cloned());
        scope
    }

    /// The packages of a module, from the namespace on.
    fn inner_parts(&self, scope: &str) -> Vec<String> {
        self.packages.get(scope).cloned().unwrap_or_default()
    }

    /// The folder of a module's files.
    pub fn folder(&self, scope: &str) -> PathBuf {
        let mut parts = [self.namespace.clone(), self.inner_parts(scope)].concat();
        if scope.is_empty() {
            parts.pop();
        }
        joined(&parts)
    }

    /// The source file of a module.
    pub fn file(&self, scope: &str) -> PathBuf {
        let name = if scope.is_empty() {
            format!("{}.py", self.inner_module(scope))
        } else {
            "__init__.py".to_owned()
        };
        self.folder(scope).join(name)
    }

    /// The name of a module, from the namespace on.
    pub fn inner_module(&self, scope: &str) -> String {
        self.inner_parts(scope).join(".")
    }

    /// The name by which a module is imported.
    pub fn module(&self, scope: &str) -> String {
        [self.namespace.clone(), self.inner_parts(scope)].concat().join(".")
    }

    /// By which name another module knows this one.
    pub fn module_alias(&self, scope: &str) -> String {
        self.aliases.get(scope).cloned().unwrap_or_default()
    }

    /// The class of a type; `None` if no code is generated for it.
    pub fn class(&self, id: TypeId) -> Option<&str> {
        self.classes.get(&id).map(String::as_str)
    }

    /// The class of a type as another module, or the one in which it lies, writes it.
    pub fn class_in(&self, scope: &str, id: TypeId) -> Option<String> {
        let class = self.class(id)?;
        let other = self.schema.name(id).scope();
        Some(if other == scope { class.to_owned() } else { format!("{}.{class}", self.module_alias(other)) })
    }

    /// The classes of a union's cases.
    pub fn cases(&self, id: TypeId) -> &[String] {
        self.cases.get(&id).map_or(&[], Vec::as_slice)
    }

    /// The exception of Python for an exception of IDL.
    pub fn error(&self, id: TypeId) -> Option<&str> {
        self.errors.get(&id).map(String::as_str)
    }

    /// A typedef, constant, service or interface.
    pub fn other(&self, name: &crate::model::Name) -> String {
        self.others.get(name.as_str()).map_or(name.simple(), String::as_str).to_owned()
    }

    /// The members of a struct, those of its bases first, and its constants, which give way.
    pub fn members(&self, id: TypeId) -> Scope<'s> {
        let members = all_members(self.schema, id).into_iter().map(|it| it.name.as_str());
        let constants = self.schema.constants_of(id).map(|it| it.name.simple());
        let reserved = |name: &str| is_keyword(name) || MESSAGE.contains(&name) || is_private(name);
        Scope::of(members.chain(constants), reserved)
    }
}

/// The methods for the operations of an interface.
pub fn operations(interface: &Interface) -> Scope<'_> {
    let reserved = |name: &str| is_keyword(name) || is_private(name) || INTERFACE.contains(&name);
    Scope::of(interface.operations.iter().map(|(name, _)| name.as_str()), reserved)
}

/// The enumerators of an enum, or the flags of a bitmask.
pub fn enumerators<'a>(names: impl IntoIterator<Item = &'a str>) -> Scope<'a> {
    Scope::of(names, |name| is_keyword(name) || ENUMERATOR.contains(&name) || is_private(name))
}

/// The members of a struct, those of its bases first.
pub fn all_members(schema: &Schema, id: TypeId) -> Vec<&crate::model::Member> {
    let Some(it) = schema.definition(id).kind.as_struct() else { return Vec::new() };
    let mut members = it.base.map(|base| all_members(schema, base)).unwrap_or_default();
    members.extend(&it.members);
    members
}
