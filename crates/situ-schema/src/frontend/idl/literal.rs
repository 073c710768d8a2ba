//! Lists in the text of `@default`, as ROS 2's tools write them: `"(1, 2, 3)"`, `"('a', 'b')"`, `"(True, )"`.

use winnow::ascii::multispace0;
use winnow::combinator::{alt, delimited, eof, opt, repeat, separated, terminated};
use winnow::error::EmptyError;
use winnow::prelude::*;
use winnow::token::{any, none_of, one_of, take_while};

use crate::frontend::ast::{Expr, ExprKind};
use crate::source::Span;

type Parsed<T> = Result<T, EmptyError>;

fn text(input: &mut &str) -> Parsed<ExprKind> {
    let quote: char = one_of(['"', '\'']).parse_next(input)?;
    let character = alt((
        ('\\', any).map(|(_, c)| match c {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            other => other,
        }),
        none_of([quote, '\\']),
    ));
    terminated(repeat(0.., character), quote).map(ExprKind::String).parse_next(input)
}

fn bare(input: &mut &str) -> Parsed<ExprKind> {
    let word: &str =
        take_while(1.., |c: char| c.is_ascii_alphanumeric() || "+-._".contains(c)).parse_next(input)?;
    number_or_bool(word).ok_or(EmptyError)
}

/// The value of a word such as `True`, `-12`, `0x1f`, `1e-3`, `inf`.
pub(crate) fn number_or_bool(word: &str) -> Option<ExprKind> {
    if word.eq_ignore_ascii_case("true") || word.eq_ignore_ascii_case("false") {
        return Some(ExprKind::Bool(word.eq_ignore_ascii_case("true")));
    }
    let (negative, digits) = match word.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, word.strip_prefix('+').unwrap_or(word)),
    };
    if digits.starts_with(['+', '-']) {
        return None;
    }
    let prefixed = |prefix: [&str; 2], radix| {
        let digits = prefix.iter().find_map(|it| digits.strip_prefix(it))?;
        i128::from_str_radix(digits, radix).ok()
    };
    let whole = prefixed(["0x", "0X"], 16)
        .or_else(|| prefixed(["0o", "0O"], 8))
        .or_else(|| prefixed(["0b", "0B"], 2))
        .or_else(|| digits.parse().ok());
    match whole {
        Some(value) => Some(ExprKind::Integer(if negative { value.checked_neg()? } else { value })),
        None => word.parse().ok().map(ExprKind::Float),
    }
}

/// The elements of a list in round or square brackets; every one gets the position `span`.
pub(crate) fn list_literal(text_of_list: &str, span: Span) -> Option<Vec<Expr>> {
    let element = delimited(multispace0, alt((text, bare)), multispace0).map(|kind| Expr { kind, span });
    let elements = terminated(separated(0.., element, ','), (multispace0, opt(','), multispace0));
    let list = delimited((multispace0, one_of(['(', '['])), elements, (one_of([')', ']']), multispace0, eof));
    let mut input = text_of_list;
    let mut list = list.map(|it: Vec<Expr>| it);
    let parsed: Parsed<Vec<Expr>> = list.parse_next(&mut input);
    parsed.ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Sources;

    fn list(text: &str) -> Option<String> {
        let mut sources = Sources::default();
        let file = sources.add("x", String::new(), true);
        let kinds = list_literal(text, Span::new(file, 0, 0))?;
        Some(kinds.iter().map(|it| format!("{:?};", it.kind)).collect())
    }

    #[test]
    fn lists_as_python_writes_them() {
        assert_eq!(list("(False, True, )").unwrap(), "Bool(false);Bool(true);");
        assert_eq!(list("(1, -2, 0x10)").unwrap(), "Integer(1);Integer(-2);Integer(16);");
        assert_eq!(list("(1.5, 1e-05)").unwrap(), "Float(1.5);Float(1e-5);");
        assert_eq!(
            list(r#"('a, b', "it's", 'it\'s')"#).unwrap(),
            r#"String("a, b");String("it's");String("it's");"#
        );
        assert_eq!(list("()").unwrap(), "");
        assert_eq!(list("[7]").unwrap(), "Integer(7);");
        assert_eq!(list("(1, 2"), None);
        assert_eq!(list("1, 2"), None);
        assert_eq!(list("(1 2)"), None);
    }
}
