//! Splits IDL into tokens: identifiers, literals, signs, comments and preprocessor lines.

use winnow::ascii::{digit0, digit1, hex_digit1, multispace1};
use winnow::combinator::{alt, opt, preceded, repeat};
use winnow::error::{ErrMode, ParserError};
use winnow::prelude::*;
use winnow::stream::{LocatingSlice, Location};
use winnow::token::{any, one_of, rest, take_till, take_until, take_while};

use crate::source::diagnostic::Diagnostic;
use crate::source::{FileId, Span};

/// A token of IDL.
#[derive(Debug, Clone)]
pub(crate) struct Token {
    pub kind: TokenKind,
    pub span: Span,
    /// The comment that ends right above it.
    pub docs: String,
    /// The comment that stands behind the previous token, on its line.
    pub after_previous: String,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TokenKind {
    Word(String),
    Integer(i128),
    Float(f64),
    Char(char),
    String(String),
    Sign(&'static str),
    End,
}

impl TokenKind {
    /// How it is named in messages.
    pub fn describe(&self) -> String {
        match self {
            Self::Word(word) => format!("`{word}`"),
            Self::Integer(value) => format!("the number {value}"),
            Self::Float(value) => format!("the number {value}"),
            Self::Char(_) => "a character".into(),
            Self::String(_) => "a string".into(),
            Self::Sign(sign) => format!("`{sign}`"),
            Self::End => "the end of the file".into(),
        }
    }
}

/// What the lexer finds.
#[derive(Debug)]
pub(crate) enum Lexed {
    Token(Token),
    /// A preprocessor line without its `#`, continued lines joined and comments removed.
    Directive(String, Span),
}

/// A mistake in a token, before its file is known.
#[derive(Debug, Clone, Default)]
struct Fault {
    start: usize,
    end: usize,
    message: String,
    help: &'static str,
}

type Input<'i> = LocatingSlice<&'i str>;
type Lex<T> = Result<T, ErrMode<Fault>>;

impl ParserError<Input<'_>> for Fault {
    type Inner = Self;

    fn from_input(input: &Input<'_>) -> Self {
        let start = input.current_token_start();
        Self { start, end: start, ..Self::default() }
    }

    fn into_inner(self) -> Result<Self, Self> {
        Ok(self)
    }
}

fn fail<T>(start: usize, end: usize, message: impl Into<String>, help: &'static str) -> Lex<T> {
    Err(ErrMode::Cut(Fault { start, end, message: message.into(), help }))
}

fn word(input: &mut Input<'_>) -> Lex<TokenKind> {
    let start = (one_of(|c: char| c.is_ascii_alphabetic() || c == '_'),);
    let more = take_while(0.., |c: char| c.is_ascii_alphanumeric() || c == '_');
    (start, more).take().map(|text: &str| TokenKind::Word(text.to_owned())).parse_next(input)
}

fn number(input: &mut Input<'_>) -> Lex<TokenKind> {
    let start = input.current_token_start();
    let exponent = || (one_of(['e', 'E']), opt(one_of(['+', '-'])), digit1);
    let hex = preceded((one_of(['0']), one_of(['x', 'X'])), hex_digit1).map(|it: &str| (16, it.to_owned()));
    let real = alt((
        (digit1, exponent()).take(),
        (digit1, '.', digit0, opt(exponent())).take(),
        ('.', digit1, opt(exponent())).take(),
    ))
    .map(|it: &str| (0, it.to_owned()));
    let whole =
        digit1.map(|it: &str| (if it.len() > 1 && it.starts_with('0') { 8 } else { 10 }, it.to_owned()));
    let (radix, text) = alt((hex, real, whole)).parse_next(input)?;
    let tail: &str = take_while(0.., |c: char| c.is_ascii_alphanumeric() || c == '_').parse_next(input)?;
    let end = input.current_token_start();
    match (radix, tail) {
        (_, "d" | "D") => fail(
            start,
            end,
            "fixed-point numbers are not supported",
            "leave out the `d` to get a floating-point number",
        ),
        (0, "" | "f" | "F" | "l" | "L") => match text.parse() {
            Ok(value) => Ok(TokenKind::Float(value)),
            Err(_) => fail(start, end, "this is not a number", ""),
        },
        (_, "" | "l" | "L" | "u" | "U" | "ul" | "UL") if radix != 0 => {
            match i128::from_str_radix(&text, radix) {
                Ok(value) => Ok(TokenKind::Integer(value)),
                Err(_) if radix == 8 => fail(
                    start,
                    end,
                    "this is not an octal number",
                    "a number that begins with 0 is octal; leave out the 0 for a decimal one",
                ),
                Err(_) => fail(
                    start,
                    end,
                    "this number is too large",
                    "no integer type of IDL holds more than 64 bits",
                ),
            }
        }
        _ => fail(start, end, format!("`{tail}` cannot follow a number"), "put a space between them"),
    }
}

/// The character after a backslash.
fn escape(input: &mut Input<'_>) -> Lex<char> {
    let start = input.current_token_start().saturating_sub(1);
    let code = |digits: &str, radix: u32| u32::from_str_radix(digits, radix).ok().and_then(char::from_u32);
    let hexadecimal = |c: char| c.is_ascii_hexdigit();
    let octal = |c: char| ('0'..='7').contains(&c);
    let found = match any.parse_next(input)? {
        'n' => Some('\n'),
        't' => Some('\t'),
        'v' => Some('\u{b}'),
        'b' => Some('\u{8}'),
        'r' => Some('\r'),
        'f' => Some('\u{c}'),
        'a' => Some('\u{7}'),
        'x' => code(take_while(1..=2, hexadecimal).parse_next(input)?, 16),
        'u' => code(take_while(1..=4, hexadecimal).parse_next(input)?, 16),
        first if octal(first) => {
            let more: &str = take_while(0..=2, octal).parse_next(input)?;
            code(&format!("{first}{more}"), 8)
        }
        same @ ('\\' | '?' | '\'' | '"') => Some(same),
        _ => None,
    };
    match found {
        Some(found) => Ok(found),
        None => fail(
            start,
            input.current_token_start(),
            "this is not an escape sequence",
            "the known ones are \\n \\t \\v \\b \\r \\f \\a \\\\ \\? \\' \\\" \\ooo \\xhh \\uhhhh",
        ),
    }
}

/// Characters up to the closing quote.
fn quoted(input: &mut Input<'_>, quote: char) -> Lex<String> {
    let start = input.current_token_start().saturating_sub(1);
    let mut text = String::new();
    loop {
        let run: &str = take_till(0.., |c: char| c == quote || c == '\\' || c == '\n').parse_next(input)?;
        text.push_str(run);
        match opt(any::<_, ErrMode<Fault>>).parse_next(input)? {
            Some(c) if c == quote => return Ok(text),
            Some('\\') => match escape(input) {
                Err(ErrMode::Backtrack(fault)) => {
                    return fail(fault.start, fault.end, "this is not an escape sequence", "");
                }
                other => text.push(other?),
            },
            _ => return fail(start, start + 1, "this quote is never closed", "close it on the same line"),
        }
    }
}

fn literal(input: &mut Input<'_>) -> Lex<TokenKind> {
    let start = input.current_token_start();
    opt('L').parse_next(input)?;
    let quote = one_of(['"', '\'']).parse_next(input)?;
    let text = quoted(input, quote)?;
    if quote == '"' {
        return Ok(TokenKind::String(text));
    }
    let mut characters = text.chars();
    match (characters.next(), characters.next()) {
        (Some(only), None) => Ok(TokenKind::Char(only)),
        _ => fail(
            start,
            input.current_token_start(),
            "a character literal holds exactly one character",
            "write strings with double quotes",
        ),
    }
}

/// All signs, longer ones first.
const SIGNS: [&str; 23] = [
    "::", "{", "}", "(", ")", "[", "]", "<", ">", ";", ",", ":", "=", "@", "+", "-", "*", "/", "%", "|", "^",
    "&", "~",
];

fn sign(input: &mut Input<'_>) -> Lex<TokenKind> {
    let starts = |sign: &&str| input.starts_with(sign);
    match SIGNS.into_iter().find(starts) {
        Some(sign) => sign.value(TokenKind::Sign(sign)).parse_next(input),
        None => Err(ErrMode::Backtrack(Fault::from_input(input))),
    }
}

fn any_token(input: &mut Input<'_>) -> Lex<TokenKind> {
    alt((literal, word, number, sign)).parse_next(input)
}

/// A comment that waits for a declaration.
struct Comment {
    text: String,
    first_line: u32,
    last_line: u32,
}

/// Reads one file.
pub(crate) struct Lexer<'t> {
    file: FileId,
    text: &'t str,
    at: usize,
    line: u32,
    /// Whether a token stands before `at` on its line.
    token_on_line: bool,
    pending: Vec<Comment>,
    after_previous: String,
}

impl<'t> Lexer<'t> {
    pub fn new(file: FileId, text: &'t str) -> Self {
        let at = if text.starts_with('\u{feff}') { 3 } else { 0 };
        Self {
            file,
            text,
            at,
            line: 1,
            token_on_line: false,
            pending: Vec::new(),
            after_previous: String::new(),
        }
    }

    fn span(&self, start: usize, end: usize) -> Span {
        Span::new(self.file, start as u32, end as u32)
    }

    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn advance(&mut self, length: usize) -> &'t str {
        let passed = &self.text[self.at..self.at + length];
        let lines = passed.matches('\n').count() as u32;
        if lines > 0 {
            self.line += lines;
            self.token_on_line = false;
        }
        self.at += length;
        passed
    }

    fn keep_comment(&mut self, text: String, first_line: u32, behind_token: bool) {
        if behind_token {
            if !self.after_previous.is_empty() {
                self.after_previous.push('\n');
            }
            self.after_previous.push_str(&text);
        } else {
            self.pending.push(Comment { text, first_line, last_line: self.line });
        }
    }

    /// Spaces and comments.
    fn skip_blank(&mut self) -> Result<(), Box<Diagnostic>> {
        loop {
            let mut input = self.rest();
            let behind_token = self.token_on_line;
            let first_line = self.line;
            if multispace1::<_, ErrMode<winnow::error::EmptyError>>.parse_next(&mut input).is_ok() {
                let length = self.rest().len() - input.len();
                self.advance(length);
            } else if self.rest().starts_with("//") {
                let length = self.rest().find('\n').unwrap_or(self.rest().len());
                let text = self.advance(length);
                self.keep_comment(line_comment(text), first_line, behind_token);
            } else if self.rest().starts_with("/*") {
                let mut body = (
                    "/*",
                    alt((take_until::<_, _, ErrMode<winnow::error::EmptyError>>(0.., "*/"), rest)),
                    opt("*/"),
                );
                let (_, text, close) = body.parse_next(&mut input).unwrap_or(("", "", None));
                if close.is_none() {
                    return Err(Box::new(
                        Diagnostic::new(
                            "this comment is never closed",
                            self.span(self.at, self.at + 2),
                            "begins here",
                        )
                        .help("close it with `*/`"),
                    ));
                }
                let length = text.len() + 4;
                self.advance(length);
                self.keep_comment(block_comment(text), first_line, behind_token);
            } else {
                return Ok(());
            }
        }
    }

    /// The comment that ends right above the current line.
    fn take_docs(&mut self) -> String {
        let comments = std::mem::take(&mut self.pending);
        let mut expected = self.line;
        let mut first = comments.len();
        for (index, comment) in comments.iter().enumerate().rev() {
            if comment.last_line + 1 < expected {
                break;
            }
            expected = comment.first_line;
            first = index;
        }
        let texts: Vec<&str> = comments[first..].iter().map(|it| it.text.as_str()).collect();
        texts.join("\n").trim_matches('\n').trim_end().to_owned()
    }

    /// The next token or preprocessor line.
    pub fn next(&mut self) -> Result<Lexed, Box<Diagnostic>> {
        self.skip_blank()?;
        let start = self.at;
        if self.rest().starts_with('#') && !self.token_on_line {
            self.pending.clear();
            let (text, span) = self.directive();
            return Ok(Lexed::Directive(text, span));
        }
        let mut docs = self.take_docs();
        let mut after_previous = std::mem::take(&mut self.after_previous);
        if self.token_on_line && docs.is_empty() {
            // A comment between two tokens of one line belongs to the second.
            std::mem::swap(&mut docs, &mut after_previous);
        }
        let kind = if self.rest().is_empty() {
            TokenKind::End
        } else {
            let mut input = LocatingSlice::new(self.rest());
            let kind = any_token(&mut input).map_err(|error| self.diagnose(error.into_inner().ok()))?;
            let length = input.current_token_start();
            self.advance(length);
            kind
        };
        self.token_on_line = true;
        Ok(Lexed::Token(Token { kind, span: self.span(start, self.at), docs, after_previous }))
    }

    fn diagnose(&self, fault: Option<Fault>) -> Box<Diagnostic> {
        let fault = fault.unwrap_or_default();
        let next = self.rest().chars().next().unwrap_or(' ');
        if fault.message.is_empty() {
            let span = self.span(self.at, self.at + next.len_utf8());
            return Box::new(
                Diagnostic::new(
                    format!("`{}` has no meaning in IDL", next.escape_debug()),
                    span,
                    "unexpected",
                )
                .help("IDL is written in ASCII outside of strings and comments; delete this character"),
            );
        }
        let span = self.span(self.at + fault.start, self.at + fault.end);
        let diagnostic = Diagnostic::new(fault.message, span, "here");
        Box::new(if fault.help.is_empty() { diagnostic } else { diagnostic.help(fault.help) })
    }

    /// The rest of a preprocessor line.
    fn directive(&mut self) -> (String, Span) {
        let start = self.at;
        let mut joined = String::new();
        loop {
            let length = self.rest().find('\n').unwrap_or(self.rest().len());
            let line = self.advance(length);
            let line = line.strip_suffix('\r').unwrap_or(line);
            let continued = line.strip_suffix('\\');
            joined.push_str(continued.unwrap_or(line));
            joined.push(' ');
            if self.rest().is_empty() || continued.is_none() {
                break;
            }
            self.advance(1);
        }
        let span = self.span(start, self.at);
        let mut text = joined.trim_start().trim_start_matches('#').to_owned();
        let outside_quotes = |text: &str, at: usize| text[..at].matches('"').count().is_multiple_of(2);
        if let Some(at) = text.find("//").filter(|at| outside_quotes(&text, *at)) {
            text.truncate(at);
        }
        while let Some(from) = text.find("/*").filter(|at| outside_quotes(&text, *at)) {
            let to = text[from..].find("*/").map_or(text.len(), |at| from + at + 2);
            text.replace_range(from..to, " ");
        }
        (text.trim().to_owned(), span)
    }

    /// Passes over lines until one that begins with `#`; `None` at the end of the file.
    pub fn skip_to_directive(&mut self) -> Option<(String, Span)> {
        self.pending.clear();
        loop {
            let length = self.rest().find('\n').map_or(self.rest().len(), |at| at + 1);
            if length == 0 {
                return None;
            }
            self.advance(length);
            let blank = self.rest().len() - self.rest().trim_start_matches([' ', '\t']).len();
            if self.rest()[blank..].starts_with('#') {
                self.advance(blank);
                return Some(self.directive());
            }
        }
    }
}

/// Lexes the replacement text of a macro; every token gets the position `span`.
pub(crate) fn lex_macro(text: &str, span: Span) -> Result<Vec<Token>, Box<Diagnostic>> {
    let mut input = LocatingSlice::new(text);
    let blank = || take_while(0.., |c: char| c.is_whitespace());
    let token = (blank(), any_token).map(|(_, kind): (&str, TokenKind)| Token {
        kind,
        span,
        docs: String::new(),
        after_previous: String::new(),
    });
    let tokens: Lex<Vec<Token>> = repeat(0.., token).parse_next(&mut input);
    match tokens {
        Ok(tokens) if input.trim().is_empty() => Ok(tokens),
        _ => Err(Box::new(
            Diagnostic::new("this macro is not made of IDL tokens", span, "here")
                .help("a macro may stand for identifiers, literals and signs"),
        )),
    }
}

fn is_decoration(line: &str) -> bool {
    line.len() >= 3 && line.chars().all(|c| "-=*/#~_+".contains(c))
}

fn line_comment(text: &str) -> String {
    let text = text.trim_start_matches('/');
    let text = text.strip_prefix('!').unwrap_or(text);
    let text = text.strip_prefix('<').unwrap_or(text);
    let text = text.strip_prefix(' ').unwrap_or(text).trim_end();
    if is_decoration(text) { String::new() } else { text.to_owned() }
}

fn block_comment(text: &str) -> String {
    let text = text.trim_start_matches('*');
    let text = text.strip_prefix(['!', '<']).unwrap_or(text);
    let lines = text.trim_end_matches('*').lines().map(|line| {
        let line = line.trim();
        let line = line.strip_prefix('*').unwrap_or(line);
        let line = line.strip_prefix(' ').unwrap_or(line);
        if is_decoration(line) { "" } else { line }
    });
    lines.collect::<Vec<_>>().join("\n").trim().to_owned()
}
