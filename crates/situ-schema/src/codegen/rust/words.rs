//! Words that generated Rust code does not use as names, whether it comes from IDL, ROS interfaces or
//! `.proto` files.

/// Words that Rust reserves, in alphabetical order.
const KEYWORDS: &[&str] = &[
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "do", "dyn", "else",
    "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro",
    "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return", "static", "struct", "trait",
    "true", "try", "type", "typeof", "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
];

/// Words that Rust reserves and that have no raw form.
const WITHOUT_RAW_FORM: &[&str] = &["Self", "_", "crate", "self", "super"];

/// Primitive types, which a type or a module of that name would hide.
const PRIMITIVES: &[&str] = &[
    "bool", "char", "f32", "f64", "i128", "i16", "i32", "i64", "i8", "isize", "str", "u128", "u16", "u32",
    "u64", "u8", "usize",
];

/// Whether nothing may be called so, not even a method.
pub fn has_no_raw_form(name: &str) -> bool {
    WITHOUT_RAW_FORM.contains(&name)
}

/// Whether no identifier may be called so.
pub fn is_taken(name: &str) -> bool {
    has_no_raw_form(name) || PRIMITIVES.contains(&name)
}

/// A name that is not taken as an identifier.
pub fn raw(name: &str) -> String {
    if KEYWORDS.binary_search(&name).is_ok() { format!("r#{name}") } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_are_in_order() {
        assert!(KEYWORDS.is_sorted());
    }
}
