//! One rule for names in generated code, whatever the language.
//!
//! Names of a schema share their scope with the language's keywords, with fixed members of the generated
//! type, and with names derived from other names of the schema (`has_x` from `x`). In each scope:
//!
//! 1. A name of the schema stays as it is, unless the language or the type reserves it.
//! 2. A reserved one gets as many trailing underscores as it needs to be free, in the order of declaration.
//! 3. A derived name gets trailing underscores, too, where the schema declares that name itself.
//!
//! So no name of a schema depends on derived names, and the same schema always gets the same names.

use std::collections::{HashMap, HashSet};

/// The names of one scope.
#[derive(Debug, Default)]
pub struct Scope<'a> {
    /// The generated name for each name of the schema.
    declared: HashMap<&'a str, String>,
    taken: HashSet<String>,
}

impl<'a> Scope<'a> {
    /// The scope of these names of a schema.
    pub fn of(names: impl IntoIterator<Item = &'a str>, is_reserved: impl Fn(&str) -> bool) -> Self {
        let mut scope = Self::default();
        let mut reserved = Vec::new();
        for name in names {
            if is_reserved(name) {
                reserved.push(name);
            } else {
                scope.declare(name, name.to_owned());
            }
        }
        for name in reserved {
            let mut free = format!("{name}_");
            while is_reserved(&free) || scope.taken.contains(&free) {
                free.push('_');
            }
            scope.declare(name, free);
        }
        scope
    }

    fn declare(&mut self, name: &'a str, called: String) {
        self.taken.insert(called.clone());
        self.declared.entry(name).or_insert(called);
    }

    /// The generated name for a name of the schema.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.declared.get(name).map(String::as_str)
    }

    /// The generated names of all declared ones.
    pub fn names(&self) -> Vec<String> {
        self.declared.values().cloned().collect()
    }

    /// Whether a name is taken.
    pub fn is_taken(&self, name: &str) -> bool {
        self.taken.contains(name)
    }

    /// All names that are taken.
    pub fn taken(&self) -> impl Iterator<Item = &str> {
        self.taken.iter().map(String::as_str)
    }

    /// Reserves a derived name: `wanted`, with trailing underscores if it is taken.
    pub fn made(&mut self, wanted: String) -> String {
        self.stem(wanted, &[""])
    }

    /// Reserves several derived names that share a stem and end with `ends`. The stem is `wanted`, with
    /// trailing underscores if one of the names is taken.
    pub fn stem(&mut self, wanted: String, ends: &[&str]) -> String {
        let mut stem = wanted;
        while ends.iter().any(|end| self.taken.contains(&format!("{stem}{end}"))) {
            stem.push('_');
        }
        self.taken.extend(ends.iter().map(|end| format!("{stem}{end}")));
        stem
    }

    /// Reserves names that the generated code has in any case.
    pub fn take<T: Into<String>>(&mut self, names: impl IntoIterator<Item = T>) {
        self.taken.extend(names.into_iter().map(Into::into));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_unless_they_are_reserved() {
        let reserved = |name: &str| matches!(name, "new" | "set_");
        let mut scope = Scope::of(["new", "x", "set_", "new_", "has_x"], reserved);
        assert_eq!((scope.get("x"), scope.get("new_")), (Some("x"), Some("new_")));
        assert_eq!((scope.get("new"), scope.get("set_")), (Some("new__"), Some("set__")));
        assert_eq!(
            (scope.made("has_x".into()), scope.made("x_mut".into())),
            ("has_x_".into(), "x_mut".into())
        );
        assert_eq!(scope.made("x_mut".into()), "x_mut_");
        assert_eq!(scope.stem("x".into(), &["_new", "_mut"]), "x_");
        assert_eq!(scope.made("x__new".into()), "x__new_");
    }
}
