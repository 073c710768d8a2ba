//! Names in Rust: what must not be called as the schema calls it, and how one module names what stands in another.

use crate::model::Name;

/// The module of the canonical schemas.
pub const SCHEMAS: &str = "situ_schemas";

/// The module of the names for what containers of recursive types hold.
pub const HELD: &str = "situ_held";

/// Words that Rust reserves, in alphabetical order.
const KEYWORDS: &[&str] = &[
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "do", "dyn", "else",
    "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro",
    "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return", "static", "struct", "trait",
    "true", "try", "type", "typeof", "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
];

/// Words that Rust reserves and that have no raw form, and primitive types, which a type of that name would hide.
const TAKEN: &[&str] = &[
    "Self", "_", "bool", "char", "crate", "f32", "f64", "i128", "i16", "i32", "i64", "i8", "isize", "self",
    "str", "super", "u128", "u16", "u32", "u64", "u8", "usize",
];

/// The identifier for a name.
pub fn ident(name: &str) -> String {
    if KEYWORDS.binary_search(&name).is_ok() {
        format!("r#{name}")
    } else if TAKEN.binary_search(&name).is_ok() {
        format!("{name}_")
    } else {
        name.to_owned()
    }
}

/// The name of the constant that holds a type's canonical schema.
pub fn schema_constant(name: &Name) -> String {
    name.as_str().replace("::", "__")
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

/// The qualified name of something called `simple` beside what is called `name`.
pub fn sibling(name: &Name, simple: &str) -> Name {
    match name.scope() {
        "" => Name::new(simple),
        modules => Name::new(format!("{modules}::{simple}")),
    }
}

/// The modules around what is being written.
#[derive(Debug, Default)]
pub struct Scope {
    modules: Vec<String>,
}

impl Scope {
    /// Within a module of the root.
    pub fn of(module: &str) -> Self {
        Self { modules: vec![module.to_owned()] }
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

    /// The path from here to what has this name.
    pub fn path(&self, name: &Name) -> String {
        let target = name.modules();
        let common = self.modules.iter().zip(&target).take_while(|(own, other)| own == *other).count();
        let mut parts = vec!["super".to_owned(); self.modules.len() - common];
        parts.extend(target[common..].iter().map(|part| ident(part)));
        parts.push(ident(name.simple()));
        // A path that begins with a module might be taken for a crate.
        if common == self.modules.len() && parts.len() > 1 {
            parts.insert(0, "self".to_owned());
        }
        parts.join("::")
    }

    /// The path from here to a constant of the module of schemas.
    pub fn schema(&self, name: &Name) -> String {
        format!("{}{SCHEMAS}::{}", self.root(), schema_constant(name))
    }

    /// The path from here to a name of the module of what is held.
    pub fn held(&self, index: usize) -> String {
        format!("{}{HELD}::{}", self.root(), held(index))
    }

    fn root(&self) -> String {
        if self.is_root() { "self::".to_owned() } else { "super::".repeat(self.modules.len()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reserved_words_are_in_order() {
        assert!(KEYWORDS.is_sorted() && TAKEN.is_sorted());
        assert_eq!((ident("type"), ident("self"), ident("x")), ("r#type".into(), "self_".into(), "x".into()));
    }

    #[test]
    fn paths_lead_from_module_to_module() {
        let mut scope = Scope::default();
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

    #[test]
    fn variants_are_in_camel_case() {
        assert_eq!(camel_case("point_cloud"), "PointCloud");
        assert_eq!(camel_case("_2d"), "Case2d");
        assert_eq!(camel_case("xY"), "XY");
    }
}
