//! Docstrings and literals of Python.

use super::modules::CodeWriter;
use crate::Schema;
use crate::model::{Constant, Literal, Primitive, Type};

/// Whether a character is not shown, or changes how the text around it is shown. Such characters could make
/// code look like other code, also within texts.
fn is_hidden(c: char) -> bool {
    let changes_direction = matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}');
    c.is_control()
        || changes_direction
        || matches!(c, '\u{2028}' | '\u{2029}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// A text as a literal.
pub fn quoted(text: &str) -> String {
    let mut result = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => result.extend(['\\', c]),
            '\n' => result.push_str("\\n"),
            c if is_hidden(c) => result.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => result.push(c),
        }
    }
    result.push('"');
    result
}

/// A line of a docstring: nothing in it ends the docstring, and hidden characters are escapes.
fn safe(line: &str) -> String {
    let mut result = String::new();
    for c in line.replace('\\', "\\\\").replace("\"\"\"", "\\\"\\\"\\\"").chars() {
        match c {
            c if c.is_control() => result.push(' '),
            c if is_hidden(c) => result.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => result.push(c),
        }
    }
    result
}

/// A docstring, on one line if it has one.
pub fn docstring(code: &mut CodeWriter, text: &str) {
    let lines: Vec<String> = text.trim_end().lines().map(|line| safe(line.trim_end())).collect();
    let end = |line: &str| if line.ends_with(['"', '\\']) { " " } else { "" };
    match lines.as_slice() {
        [] => {}
        [line] => code.line(format!("\"\"\"{line}{}\"\"\"", end(line))),
        [first, rest @ ..] => {
            code.line(format!("\"\"\"{first}"));
            rest.iter().for_each(|line| code.line(line));
            code.line("\"\"\"");
        }
    }
}

/// The docs of a type or an enumerator, or its name if it has none.
pub fn docs_or(docs: &str, otherwise: String) -> String {
    if docs.trim().is_empty() { otherwise } else { docs.to_owned() }
}

/// The value of a constant. Enumerators are numbers: their class may lie in another module.
pub fn value(schema: &Schema, constant: &Constant) -> String {
    let is_char =
        matches!(schema.resolve(&constant.ty), Type::Primitive(Primitive::Char8 | Primitive::WChar));
    match &constant.value {
        Literal::Integer(code) if is_char => match u32::try_from(*code).ok().and_then(char::from_u32) {
            Some(c) => quoted(&c.to_string()),
            // Half of a pair of UTF-16.
            None => format!("\"\\u{code:04x}\""),
        },
        other => literal(schema, other),
    }
}

fn literal(schema: &Schema, value: &Literal) -> String {
    match value {
        Literal::Bool(true) => "True".to_owned(),
        Literal::Bool(false) => "False".to_owned(),
        Literal::Integer(it) => it.to_string(),
        Literal::Float(it) if it.is_finite() => format!("{it:?}"),
        Literal::Float(it) => {
            let sign = if it.is_sign_negative() { "-" } else { "" };
            format!("{sign}_generated.{}", if it.is_nan() { "NAN" } else { "INFINITY" })
        }
        Literal::String(it) => quoted(it),
        Literal::Enumerator { .. } => schema.enumerator_of(value).map_or(0, |it| it.value).to_string(),
        Literal::List(values) => {
            let values: Vec<String> = values.iter().map(|it| literal(schema, it)).collect();
            format!("[{}]", values.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_cannot_end_their_literals() {
        assert_eq!(quoted("a\"b\\c\nd\u{0}é"), "\"a\\\"b\\\\c\\nd\\u0000é\"");
        let of = |text: &str| {
            let mut code = CodeWriter::default();
            docstring(&mut code, text);
            code.finish()
        };
        assert_eq!(of("One."), "\"\"\"One.\"\"\"\n");
        assert_eq!(of("a \"\"\" b \\n"), "\"\"\"a \\\"\\\"\\\" b \\\\n\"\"\"\n");
        assert_eq!(of("a\u{202e}b"), "\"\"\"a\\u202eb\"\"\"\n");
        assert_eq!(quoted("a\u{2066}b"), "\"a\\u2066b\"");
        assert_eq!(of("says \"x\""), "\"\"\"says \"x\" \"\"\"\n");
        assert_eq!(of("One.\n\n  Two."), "\"\"\"One.\n\n  Two.\n\"\"\"\n");
        assert_eq!(of(""), "");
    }
}
