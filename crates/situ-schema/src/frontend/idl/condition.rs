//! The conditions of `#if` and `#elif`.

use winnow::ascii::{digit1, hex_digit1, multispace0};
use winnow::combinator::{alt, delimited, opt, preceded};
use winnow::error::EmptyError;
use winnow::prelude::*;
use winnow::token::{one_of, take_while};

/// How deep parentheses and negations may be nested.
const MAX_DEPTH: u32 = 64;

type Parsed<T> = Result<T, EmptyError>;

/// Finds the value of a macro: `None` if it is not defined, `Some(None)` if its value is no integer.
type ValueOf<'a> = &'a dyn Fn(&str) -> Option<Option<i128>>;

fn name<'i>(input: &mut &'i str) -> Parsed<&'i str> {
    (
        one_of(|c: char| c.is_ascii_alphabetic() || c == '_'),
        take_while(0.., |c: char| c.is_ascii_alphanumeric() || c == '_'),
    )
        .take()
        .parse_next(input)
}

fn number(input: &mut &str) -> Parsed<i128> {
    let hexadecimal =
        preceded(alt(("0x", "0X")), hex_digit1).verify_map(|it| i128::from_str_radix(it, 16).ok());
    let decimal = digit1.verify_map(|it: &str| it.parse().ok());
    let suffix = take_while(0.., |c: char| "uUlL".contains(c));
    (alt((hexadecimal, decimal)), suffix).map(|(value, _)| value).parse_next(input)
}

fn spaced<'i, T>(mut parser: impl Parser<&'i str, T, EmptyError>) -> impl Parser<&'i str, T, EmptyError> {
    move |input: &mut &'i str| delimited(multispace0, parser.by_ref(), multispace0).parse_next(input)
}

fn operand(input: &mut &str, value_of: ValueOf<'_>, depth: u32) -> Parsed<i128> {
    if depth > MAX_DEPTH {
        return Err(EmptyError);
    }
    if opt(spaced('!')).parse_next(input)?.is_some() {
        return Ok(i128::from(operand(input, value_of, depth + 1)? == 0));
    }
    if opt(spaced('-')).parse_next(input)?.is_some() {
        return operand(input, value_of, depth + 1)?.checked_neg().ok_or(EmptyError);
    }
    if opt(spaced('(')).parse_next(input)?.is_some() {
        let value = level(input, value_of, 0, depth + 1)?;
        spaced(')').parse_next(input)?;
        return Ok(value);
    }
    if let Some(value) = opt(spaced(number)).parse_next(input)? {
        return Ok(value);
    }
    let word = spaced(name).parse_next(input)?;
    if word != "defined" {
        return Ok(value_of(word).flatten().unwrap_or(0));
    }
    let asked = alt((delimited(spaced('('), spaced(name), spaced(')')), spaced(name))).parse_next(input)?;
    Ok(i128::from(value_of(asked).is_some()))
}

/// The operators from the weakest to the strongest binding.
const LEVELS: [&[&str]; 4] = [&["||"], &["&&"], &["==", "!="], &["<=", ">=", "<", ">"]];

fn level(input: &mut &str, value_of: ValueOf<'_>, at: usize, depth: u32) -> Parsed<i128> {
    let Some(operators) = LEVELS.get(at) else { return operand(input, value_of, depth) };
    let mut left = level(input, value_of, at + 1, depth)?;
    while let Some(operator) = operators.iter().find(|it| input.trim_start().starts_with(**it)) {
        *input = &input.trim_start()[operator.len()..];
        let right = level(input, value_of, at + 1, depth)?;
        left = i128::from(match *operator {
            "||" => left != 0 || right != 0,
            "&&" => left != 0 && right != 0,
            "==" => left == right,
            "!=" => left != right,
            "<=" => left <= right,
            ">=" => left >= right,
            "<" => left < right,
            _ => left > right,
        });
    }
    Ok(left)
}

/// Whether the condition holds; `None` if it cannot be parsed.
pub(crate) fn condition(text: &str, value_of: ValueOf<'_>) -> Option<bool> {
    let mut input = text;
    let value = level(&mut input, value_of, 0, 0).ok()?;
    input.trim().is_empty().then_some(value != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn truth(text: &str) -> Option<bool> {
        condition(text, &|name| match name {
            "A" => Some(Some(7)),
            "EMPTY" => Some(None),
            _ => None,
        })
    }

    #[test]
    fn conditions() {
        for (text, expected) in [
            ("1", true),
            ("0", false),
            ("A", true),
            ("B", false),
            ("defined(A) && !defined B", true),
            ("defined(EMPTY)", true),
            ("A >= 7 && A < 8", true),
            ("(A == 6) || (0x10 > 15)", true),
            ("1 == 1 == 0", false),
            ("-1 < 0", true),
        ] {
            assert_eq!(truth(text), Some(expected), "{text}");
        }
        for text in ["", "(1", "1 +", "&& 1", "defined", &"(".repeat(100_000), &"!".repeat(100_000)] {
            assert_eq!(truth(text), None);
        }
    }
}
