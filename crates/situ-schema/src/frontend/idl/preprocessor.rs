//! IDL's preprocessor: includes, guards, conditions and simple macros.
//!
//! Each file is read once, however often it is included.

use std::collections::HashMap;

use super::condition::condition;
use super::lexer::{Lexed, Lexer, Token, TokenKind, lex_macro};
use crate::source::diagnostic::Diagnostic;
use crate::source::{FileId, Sources, Span};

/// How deep includes may be nested.
const MAX_INCLUDE_DEPTH: usize = 64;
/// How many tokens a file and all that it includes may have, macros expanded.
const MAX_TOKENS: usize = 8_000_000;
/// How deep macros may be nested.
const MAX_MACRO_DEPTH: usize = 32;

/// The result of an `#include`.
pub(crate) enum Included {
    /// A file to be read now.
    New(FileId),
    /// A file that was read before, or that the loader reads later.
    Known,
}

/// Finds included files.
pub(crate) trait Includes {
    /// Finds the file that `from` includes under the name `path`, in its own folder first if `quoted`.
    fn find(
        &mut self,
        sources: &mut Sources,
        from: FileId,
        path: &str,
        quoted: bool,
        span: Span,
    ) -> Result<Included, Box<Diagnostic>>;
}

struct Macro {
    tokens: Vec<Token>,
    defined_at: Span,
}

struct Preprocessor<'i> {
    includes: &'i mut dyn Includes,
    macros: HashMap<String, Macro>,
    tokens: Vec<Token>,
}

/// An `#if` that is open.
struct Condition {
    at: Span,
    /// Whether the lines of the current branch are read, not skipped.
    active: bool,
    /// Whether a branch of it was taken, or the `#if` itself lies in skipped lines.
    decided: bool,
    seen_else: bool,
}

/// The tokens of `file` and of all files that it includes, ended by [`TokenKind::End`].
pub(crate) fn preprocess(
    sources: &mut Sources,
    file: FileId,
    includes: &mut dyn Includes,
) -> Result<Vec<Token>, Box<Diagnostic>> {
    let mut preprocessor = Preprocessor { includes, macros: HashMap::new(), tokens: Vec::new() };
    let end = preprocessor.file(sources, file, 0)?;
    preprocessor.tokens.push(end);
    Ok(preprocessor.tokens)
}

impl Preprocessor<'_> {
    /// Reads one file, and returns the token that marks its end.
    fn file(&mut self, sources: &mut Sources, file: FileId, depth: usize) -> Result<Token, Box<Diagnostic>> {
        let text = sources.get(file).text.clone();
        let mut lexer = Lexer::new(file, &text);
        let mut conditions: Vec<Condition> = Vec::new();
        loop {
            let active = conditions.last().is_none_or(|it| it.active);
            let directive = if active {
                match lexer.next()? {
                    Lexed::Directive(text, span) => Some((text, span)),
                    Lexed::Token(token) if token.kind == TokenKind::End => {
                        return Self::end(token, &conditions);
                    }
                    Lexed::Token(token) => {
                        self.push(token, 0)?;
                        None
                    }
                }
            } else {
                let found = lexer.skip_to_directive();
                if found.is_none() {
                    let Lexed::Token(end) = lexer.next()? else { continue };
                    return Self::end(end, &conditions);
                }
                found
            };
            let Some((line, span)) = directive else { continue };
            if !self.conditional(&line, span, &mut conditions)? && active {
                self.directive(sources, file, &line, span, depth)?;
            }
        }
    }

    fn end(token: Token, conditions: &[Condition]) -> Result<Token, Box<Diagnostic>> {
        match conditions.last() {
            None => Ok(token),
            Some(open) => Err(Box::new(
                Diagnostic::new("this condition is never closed", open.at, "begins here")
                    .help("close it with `#endif`"),
            )),
        }
    }

    fn push(&mut self, token: Token, depth: usize) -> Result<(), Box<Diagnostic>> {
        if let TokenKind::Word(word) = &token.kind
            && let Some(found) = self.macros.get(word)
        {
            if depth >= MAX_MACRO_DEPTH {
                let message = format!("the macro `{word}` expands to itself, or is nested too deep");
                return Err(Box::new(
                    Diagnostic::new(message, token.span, "used here")
                        .also(found.defined_at, "defined here")
                        .help("write its text instead"),
                ));
            }
            let mut replacement = found.tokens.clone();
            if let Some(first) = replacement.first_mut() {
                first.docs = token.docs;
                first.after_previous = token.after_previous;
            }
            for mut inner in replacement {
                inner.span = token.span;
                self.push(inner, depth + 1)?;
            }
            return Ok(());
        }
        if self.tokens.len() >= MAX_TOKENS {
            return Err(Box::new(
                Diagnostic::new(
                    "this schema is too large",
                    token.span,
                    "more than 8 million tokens up to here",
                )
                .help("split it, or look for macros that expand too much"),
            ));
        }
        self.tokens.push(token);
        Ok(())
    }

    /// Handles `#if` and related directives. Returns `false` for others.
    fn conditional(
        &mut self,
        line: &str,
        span: Span,
        conditions: &mut Vec<Condition>,
    ) -> Result<bool, Box<Diagnostic>> {
        let (word, rest) = split_word(line);
        let outer = conditions.last().is_none_or(|it| it.active);
        let open = |truth: bool| Condition {
            at: span,
            active: outer && truth,
            decided: truth || !outer,
            seen_else: false,
        };
        match word {
            "ifdef" | "ifndef" => {
                let (name, _) = split_word(rest);
                let truth = self.macros.contains_key(name) == (word == "ifdef");
                conditions.push(open(truth));
            }
            "if" => {
                let truth = outer && self.truth(rest, span)?;
                conditions.push(open(truth));
            }
            "elif" | "else" => {
                let Some(condition) = conditions.last_mut().filter(|it| !it.seen_else) else {
                    return Err(unmatched(word, span));
                };
                condition.seen_else = word == "else";
                condition.active = false;
                if !condition.decided {
                    let truth = word == "else" || self.truth(rest, span)?;
                    condition.active = truth;
                    condition.decided = truth;
                }
            }
            "endif" => {
                if conditions.pop().is_none() {
                    return Err(unmatched(word, span));
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn truth(&self, text: &str, span: Span) -> Result<bool, Box<Diagnostic>> {
        let value_of = |name: &str| -> Option<Option<i128>> {
            let found = self.macros.get(name)?;
            Some(match found.tokens.first().map(|it| &it.kind) {
                Some(TokenKind::Integer(value)) => Some(*value),
                _ => None,
            })
        };
        condition(text, &value_of).ok_or_else(|| {
            Box::new(Diagnostic::new("this condition cannot be parsed", span, "here").help(
                "a condition is made of integers, macro names, `defined(NAME)`, `!`, `&&`, `||`, comparisons and parentheses",
            ))
        })
    }

    fn directive(
        &mut self,
        sources: &mut Sources,
        file: FileId,
        line: &str,
        span: Span,
        depth: usize,
    ) -> Result<(), Box<Diagnostic>> {
        let (word, rest) = split_word(line);
        match word {
            "include" => self.include(sources, file, rest, span, depth),
            "define" => self.define(rest, span),
            "undef" => {
                self.macros.remove(split_word(rest).0);
                Ok(())
            }
            "error" => Err(Box::new(Diagnostic::new(format!("#error {rest}"), span, "here"))),
            // Line numbers of generated files, hints to other compilers, and messages have no effect.
            "pragma" | "line" | "warning" | "ident" | "" => Ok(()),
            _ => Err(Box::new(
                Diagnostic::new(format!("`#{word}` is not a preprocessor directive"), span, "here").help(
                    "the known ones are #include, #define, #undef, #if, #ifdef, #ifndef, #elif, #else, #endif, #pragma, #error",
                ),
            )),
        }
    }

    fn include(
        &mut self,
        sources: &mut Sources,
        file: FileId,
        rest: &str,
        span: Span,
        depth: usize,
    ) -> Result<(), Box<Diagnostic>> {
        let inner =
            |open: char, close: char| rest.strip_prefix(open)?.split_once(close).map(|(path, _)| path);
        let quoted = inner('"', '"');
        let Some(path) = quoted.or_else(|| inner('<', '>')).filter(|path| !path.is_empty()) else {
            return Err(Box::new(
                Diagnostic::new("this does not name a file", span, "here")
                    .help("write #include \"folder/file.idl\" or #include <folder/file.idl>"),
            ));
        };
        if depth >= MAX_INCLUDE_DEPTH {
            return Err(Box::new(
                Diagnostic::new("includes are nested too deep", span, "here")
                    .help(format!("at most {MAX_INCLUDE_DEPTH} files may include one another")),
            ));
        }
        match self.includes.find(sources, file, path, quoted.is_some(), span)? {
            Included::Known => Ok(()),
            Included::New(id) => self.file(sources, id, depth + 1).map(|_end| ()),
        }
    }

    fn define(&mut self, rest: &str, span: Span) -> Result<(), Box<Diagnostic>> {
        let (name, value) = split_word(rest);
        if name.is_empty() {
            return Err(Box::new(Diagnostic::new("this macro has no name", span, "here")));
        }
        if value.starts_with('(') && rest[name.len()..].starts_with('(') {
            return Err(Box::new(
                Diagnostic::new(format!("the macro `{name}` has parameters"), span, "here").help(
                    "Situ supports only macros without parameters; write a constant or a typedef instead",
                ),
            ));
        }
        let tokens = lex_macro(value, span)?;
        self.macros.insert(name.to_owned(), Macro { tokens, defined_at: span });
        Ok(())
    }
}

fn unmatched(word: &str, span: Span) -> Box<Diagnostic> {
    Box::new(
        Diagnostic::new(format!("`#{word}` without `#if`"), span, "here")
            .help("delete it, or open a condition before it"),
    )
}

/// The identifier at the beginning of `text`, and what follows without leading spaces.
fn split_word(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
    (&text[..end], text[end..].trim())
}
