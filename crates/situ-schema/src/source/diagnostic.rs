//! What is wrong with a schema, where, and what to do about it.

use std::fmt;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

use situ_layout::foreign::keep_styles;

use crate::source::{FileId, Sources, Span};

/// The maximum number of reported diagnostics.
pub(crate) const MAX_DIAGNOSTICS: usize = 20;

/// One mistake in a schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// What is wrong.
    pub message: String,
    /// The places, each with a label. The first is the main one.
    pub labels: Vec<(Span, String)>,
    /// What to do.
    pub help: Option<String>,
}

impl Diagnostic {
    pub(crate) fn new(message: impl Into<String>, span: Span, label: impl Into<String>) -> Self {
        Self { message: message.into(), labels: vec![(span, label.into())], help: None }
    }

    /// A diagnostic without a place in a source file.
    pub(crate) fn general(message: impl Into<String>) -> Self {
        Self { message: message.into(), labels: Vec::new(), help: None }
    }

    pub(crate) fn also(mut self, span: Span, label: impl Into<String>) -> Self {
        self.labels.push((span, label.into()));
        self
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

/// All mistakes in a schema, with its source files.
///
/// It displays as one line for each mistake: `file:line:column: message (help)`. [`SchemaError::render`]
/// shows the source lines with carets.
#[derive(Clone)]
pub struct SchemaError {
    diagnostics: Vec<Diagnostic>,
    sources: Sources,
}

impl SchemaError {
    pub(crate) fn new(diagnostics: Vec<Diagnostic>, sources: &Sources) -> Self {
        Self { diagnostics, sources: sources.clone() }
    }

    /// The mistakes, in the order in which they were found; never empty.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// The source files.
    pub fn sources(&self) -> &Sources {
        &self.sources
    }

    /// The file, line and column (both from 1) of the main label of a mistake; `None` if it has no place.
    pub fn position(&self, diagnostic: &Diagnostic) -> Option<(String, usize, usize)> {
        let (span, _) = diagnostic.labels.first()?;
        let (line, column) = self.sources.line_column(*span);
        Some((self.sources.path(span.file).display().to_string(), line, column))
    }

    /// The mistakes as text, with source lines, carets and help; `color` for terminals.
    pub fn render(&self, color: bool) -> String {
        let renderer = if color { Renderer::styled() } else { Renderer::plain() };
        let reports = self.diagnostics.iter().map(|it| renderer.render(&[self.report(it)]));
        let mut text = reports.collect::<Vec<_>>().join("\n\n");
        text.push('\n');
        // The library escapes most control characters in texts, but not all. The only escape sequences that
        // it writes itself are styles, such as `[1m` after an escape character.
        keep_styles(&text, |part| {
            let end = part.find('m').filter(|_| color)?;
            let is_style = part[..end].strip_prefix('[')?.bytes().all(|it| it.is_ascii_digit() || it == b';');
            is_style.then_some(end + 1)
        })
    }

    /// The diagnostic as a report of the library that draws it.
    fn report<'a>(&'a self, diagnostic: &'a Diagnostic) -> Group<'a> {
        let mut group = Group::with_title(Level::ERROR.primary_title(diagnostic.message.as_str()));
        let mut files: Vec<FileId> = Vec::new();
        for (span, _) in &diagnostic.labels {
            if !files.contains(&span.file) {
                files.push(span.file);
            }
        }
        for file in files {
            let source = self.sources.get(file);
            let own = diagnostic.labels.iter().enumerate().filter(|(_, (span, _))| span.file == file);
            let annotations = own.map(|(at, (span, label))| {
                let kind = if at == 0 { AnnotationKind::Primary } else { AnnotationKind::Context };
                kind.span(within(&source.text, *span)).label(label.as_str())
            });
            let snippet = Snippet::source(source.text.as_str()).path(source.path.to_string_lossy());
            group = group.element(snippet.annotations(annotations.collect::<Vec<_>>()));
        }
        match &diagnostic.help {
            Some(help) => group.element(Level::HELP.message(help.as_str())),
            None => group,
        }
    }
}

/// A span as a range that lies within the text, between characters.
fn within(text: &str, span: Span) -> std::ops::Range<usize> {
    let boundary = |at: u32| {
        let at = (at as usize).min(text.len());
        (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
    };
    let start = boundary(span.start);
    start..boundary(span.end).max(start)
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, diagnostic) in self.diagnostics.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            if let Some((file, line, column)) = self.position(diagnostic) {
                write!(f, "{file}:{line}:{column}: ")?;
            }
            write!(f, "{}", diagnostic.message)?;
            if let Some(help) = &diagnostic.help {
                write!(f, " ({help})")?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for SchemaError {}

situ_layout::debug_as_text!(SchemaError);

/// The word among `known` that `word` was probably meant to be.
pub(crate) fn did_you_mean<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let lower = word.to_lowercase();
    let limit = word.chars().count() / 3;
    known
        .map(|candidate| (strsim::damerau_levenshtein(&lower, &candidate.to_lowercase()), candidate))
        .filter(|(distance, candidate)| *distance <= limit && *candidate != word)
        .min_by(|a, b| a.cmp(b))
        .map(|(_, candidate)| candidate)
}
