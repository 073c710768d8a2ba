//! Words that code in Rust may not use as names, for all that is generated: from IDL, from ROS's interfaces and from `.proto` files.

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

/// Whether no identifier may be called so.
pub fn is_taken(name: &str) -> bool {
    TAKEN.binary_search(&name).is_ok()
}

/// A name that is not taken as an identifier.
pub fn raw(name: &str) -> String {
    if KEYWORDS.binary_search(&name).is_ok() { format!("r#{name}") } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_in_order() {
        assert!(KEYWORDS.is_sorted() && TAKEN.is_sorted());
    }
}
