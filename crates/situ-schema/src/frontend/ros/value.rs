//! Values of constants and defaults in ROS interface files.

use winnow::combinator::{alt, delimited, opt, repeat, separated, terminated};
use winnow::error::EmptyError;
use winnow::prelude::*;
use winnow::token::{any, none_of, take_till, take_while};

use crate::frontend::ast::{Expr, ExprKind, TypeRef, TypeRefKind};
use crate::frontend::idl::number_or_bool;
use crate::model::Primitive;
use crate::source::Span;
use crate::source::diagnostic::Diagnostic;

type Parsed<T> = Result<T, EmptyError>;

/// A quoted string; a backslash escapes only that quote.
fn quoted<'i>(quote: char) -> impl Parser<&'i str, String, EmptyError> {
    move |input: &mut &'i str| -> Parsed<String> {
        let escaped = ('\\', quote).value(quote);
        let character = alt((escaped, none_of([quote])));
        delimited(quote, repeat(0.., character), quote).parse_next(input)
    }
}

fn blank(input: &mut &str) -> Parsed<()> {
    take_while(0.., ' ').void().parse_next(input)
}

fn array<'i>(texts: bool) -> impl Parser<&'i str, Vec<(String, bool)>, EmptyError> {
    let element = move |input: &mut &'i str| -> Parsed<(String, bool)> {
        let bare = take_till(1.., [',', ']']).map(|it: &str| (it.trim_end().to_owned(), false));
        let text = |quote| quoted(quote).map(|it| (it, true));
        if texts { alt((text('"'), text('\''), bare)).parse_next(input) } else { { bare }.parse_next(input) }
    };
    let elements = separated(0.., delimited(blank, element, blank), ',');
    delimited('[', terminated(elements, (opt(','), blank)), ']')
}

/// The value that `text` stands for.
pub(super) fn parse(text: &str, ty: &TypeRef, span: Span) -> Result<Expr, Box<Diagnostic>> {
    let element = match &ty.kind {
        TypeRefKind::Array { element, .. } | TypeRefKind::Sequence { element, .. } => element,
        _ => return single(text, ty, span),
    };
    let texts = matches!(element.kind, TypeRefKind::String { .. });
    let mut input = text;
    let elements = array(texts).parse_next(&mut input).ok().filter(|_| input.is_empty());
    let Some(elements) = elements else {
        return Err(Box::new(
            Diagnostic::new("this is not an array", span, "here")
                .help("write the elements between brackets, separated by commas: [1, 2, 3]"),
        ));
    };
    let of = |(text, quoted): (String, bool)| {
        if quoted { Ok(Expr { kind: ExprKind::String(text), span }) } else { single(&text, element, span) }
    };
    let elements = elements.into_iter().map(of).collect::<Result<Vec<_>, _>>()?;
    Ok(Expr { kind: ExprKind::List(elements), span })
}

fn single(text: &str, ty: &TypeRef, span: Span) -> Result<Expr, Box<Diagnostic>> {
    let wrong = |help: &str| {
        let message = format!("`{text}` is not a value of this type");
        Err(Box::new(Diagnostic::new(message, span, "here").help(help)))
    };
    let kind = match (&ty.kind, number_or_bool(text)) {
        (TypeRefKind::String { .. }, _) => ExprKind::String(string(text, span)?),
        (TypeRefKind::Primitive(Primitive::Bool), Some(ExprKind::Integer(value @ 0..=1))) => {
            ExprKind::Bool(value == 1)
        }
        (TypeRefKind::Primitive(Primitive::Bool), Some(kind @ ExprKind::Bool(_))) => kind,
        (TypeRefKind::Primitive(Primitive::Bool), _) => return wrong("write true or false"),
        (TypeRefKind::Primitive(it), Some(kind @ (ExprKind::Integer(_) | ExprKind::Float(_))))
            if it.is_float() =>
        {
            kind
        }
        (TypeRefKind::Primitive(it), _) if it.is_float() => return wrong("write a number such as 1.5"),
        (TypeRefKind::Primitive(_), Some(kind @ ExprKind::Integer(_))) => kind,
        (TypeRefKind::Primitive(_), _) => return wrong("write an integer such as 42 or 0x2a"),
        _ => return wrong("ROS has no default values for messages; delete it"),
    };
    Ok(Expr { kind, span })
}

/// A string, with or without quotes around it.
fn string(text: &str, span: Span) -> Result<String, Box<Diagnostic>> {
    for quote in ['"', '\''] {
        if text.len() < 2 || !text.starts_with(quote) || !text.ends_with(quote) {
            continue;
        }
        let mut input = text;
        return match quoted(quote).parse_next(&mut input) {
            Ok(string) if input.is_empty() => Ok(string),
            _ => Err(Box::new(
                Diagnostic::new("a quote within this string is not escaped", span, "here").help(format!(
                    "write \\{quote} for it, or use the other kind of quotes around the string"
                )),
            )),
        };
    }
    Ok(text.to_owned())
}

/// A type name such as `geometry_msgs/Point`, `string<=10` or `int32`, and what follows it.
pub(super) fn type_name<'i>(input: &mut &'i str) -> Parsed<(&'i str, Option<&'i str>)> {
    let word = take_while(1.., |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '/');
    let bound =
        opt((alt(("<=", "<")), take_while(0.., |c: char| c.is_ascii_digit())).map(|(_, digits)| digits));
    (word, bound).parse_next(input)
}

/// `[]`, `[3]` or `[<=3]` at the end of a type: whether it is a bound, and the number.
pub(super) fn brackets<'i>(input: &mut &'i str) -> Parsed<(bool, &'i str)> {
    let inner = (opt("<="), take_while(0.., |c: char| c != ']'));
    let (bound, number) = delimited('[', inner, ']').parse_next(input)?;
    if opt(any::<_, EmptyError>).parse_next(input)?.is_some() {
        return Err(EmptyError);
    }
    Ok((bound.is_some(), number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Sources;

    fn value(text: &str, kind: TypeRefKind) -> Option<String> {
        let mut sources = Sources::default();
        let span = Span::new(sources.add("x", String::new(), true), 0, 0);
        let expr = parse(text, &TypeRef { kind, span }, span).ok()?;
        Some(match expr.kind {
            ExprKind::List(elements) => elements.iter().map(|it| format!("{:?};", it.kind)).collect(),
            other => format!("{other:?}"),
        })
    }

    fn list_of(kind: TypeRefKind) -> TypeRefKind {
        let mut sources = Sources::default();
        let span = Span::new(sources.add("x", String::new(), true), 0, 0);
        TypeRefKind::Sequence { element: Box::new(TypeRef { kind, span }), bound: None }
    }

    #[test]
    fn values() {
        let text = || TypeRefKind::String { wide: false, bound: None };
        let int = || TypeRefKind::Primitive(Primitive::I32);
        assert_eq!(value(r#""Hello'world!""#, text()).unwrap(), r#"String("Hello'world!")"#);
        assert_eq!(value(r"'Hello\'world!'", text()).unwrap(), r#"String("Hello'world!")"#);
        assert_eq!(value(r#"'a'b'"#, text()), None);
        assert_eq!(value("bare words", text()).unwrap(), r#"String("bare words")"#);
        assert_eq!(value("0x10", int()).unwrap(), "Integer(16)");
        assert_eq!(value("ten", int()), None);
        assert_eq!(value("1.5", int()), None);
        assert_eq!(value("True", TypeRefKind::Primitive(Primitive::Bool)).unwrap(), "Bool(true)");
        assert_eq!(value("0", TypeRefKind::Primitive(Primitive::Bool)).unwrap(), "Bool(false)");
        assert_eq!(value("2", TypeRefKind::Primitive(Primitive::Bool)), None);
        assert_eq!(value("[1, -2]", list_of(int())).unwrap(), "Integer(1);Integer(-2);");
        assert_eq!(value("[]", list_of(int())).unwrap(), "");
        assert_eq!(value("[1", list_of(int())), None);
        assert_eq!(value("1", list_of(int())), None);
        let strings = value(r#"["", "max, value", 'x', bare]"#, list_of(text())).unwrap();
        assert_eq!(strings, r#"String("");String("max, value");String("x");String("bare");"#);
    }
}
