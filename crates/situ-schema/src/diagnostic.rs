//! What is wrong with a schema, where, and what to do about it.

use std::fmt;

use miette::{GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource, SourceCode};

use crate::source::{Sources, Span};

/// After so many diagnostics the rest is not reported.
pub(crate) const MAX_DIAGNOSTICS: usize = 20;

/// One mistake in a schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// What is wrong.
    pub message: String,
    /// Where, and what is to be seen there; the first is the main one.
    pub labels: Vec<(Span, String)>,
    /// What to do.
    pub help: Option<String>,
}

impl Diagnostic {
    pub(crate) fn new(message: impl Into<String>, span: Span, label: impl Into<String>) -> Self {
        Self { message: message.into(), labels: vec![(span, label.into())], help: None }
    }

    /// One that has no place in a source file.
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

/// Everything that is wrong with a schema, with the source files it is wrong in.
///
/// As a [`miette::Diagnostic`] it shows file, line, caret and help; [`SchemaError::render`] does that to text.
#[derive(Debug, Clone)]
pub struct SchemaError {
    diagnostics: Vec<Diagnostic>,
    reports: Vec<Report>,
    positions: Vec<Option<(String, usize, usize)>>,
}

impl SchemaError {
    pub(crate) fn new(diagnostics: Vec<Diagnostic>, sources: &Sources) -> Self {
        let position = |diagnostic: &Diagnostic| {
            let (span, _) = diagnostic.labels.first()?;
            let (line, column) = sources.line_column(*span);
            Some((sources.path(span.file).display().to_string(), line, column))
        };
        Self {
            positions: diagnostics.iter().map(position).collect(),
            reports: diagnostics.iter().map(|it| Report::new(it, sources)).collect(),
            diagnostics,
        }
    }

    /// The mistakes, in the order in which they were found.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// The file, line and column (both from 1) of the main label of the mistake at `index`.
    pub fn position(&self, index: usize) -> Option<(&str, usize, usize)> {
        self.positions.get(index)?.as_ref().map(|(file, line, column)| (file.as_str(), *line, *column))
    }

    /// The mistakes as text, with source lines and carets; `color` for terminals.
    pub fn render(&self, color: bool) -> String {
        let theme = if color { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
        let handler = GraphicalReportHandler::new_themed(theme).with_width(110).with_context_lines(1);
        let mut text = String::new();
        for report in &self.reports {
            // Writing to a string fails only if miette cannot read its source, which is in memory.
            if handler.render_report(&mut text, report).is_err() {
                text.push_str(&report.message);
            }
            text.push('\n');
        }
        text
    }
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, diagnostic) in self.diagnostics.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            if let Some((file, line, column)) = self.position(index) {
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

impl miette::Diagnostic for SchemaError {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.reports.first()?.help()
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.reports.first()?.source_code()
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        self.reports.first()?.labels()
    }

    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn miette::Diagnostic> + 'a>> {
        Some(Box::new(self.reports.iter().skip(1).map(|it| it as &dyn miette::Diagnostic)))
    }
}

/// One diagnostic with the source file of its main label; labels in other files become reports of their own.
#[derive(Debug, Clone)]
struct Report {
    message: String,
    source: Option<NamedSource<String>>,
    labels: Vec<LabeledSpan>,
    help: Option<String>,
    elsewhere: Vec<Report>,
}

impl Report {
    fn new(diagnostic: &Diagnostic, sources: &Sources) -> Self {
        let file = diagnostic.labels.first().map(|(span, _)| span.file);
        let here = diagnostic.labels.iter().filter(|(span, _)| Some(span.file) == file);
        let elsewhere = diagnostic.labels.iter().filter(|(span, _)| Some(span.file) != file);
        let source = file.map(|file| {
            let source = sources.get(file);
            NamedSource::new(source.path.display().to_string(), source.text.clone())
        });
        Self {
            message: diagnostic.message.clone(),
            source,
            labels: here.map(|(span, text)| label(*span, text)).collect(),
            help: diagnostic.help.clone(),
            elsewhere: elsewhere
                .map(|(span, text)| Report::new(&Diagnostic::new(text.clone(), *span, "here"), sources))
                .collect(),
        }
    }
}

fn label(span: Span, text: &str) -> LabeledSpan {
    let length = span.end.saturating_sub(span.start) as usize;
    LabeledSpan::new(Some(text.to_owned()), span.start as usize, length)
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Report {}

impl miette::Diagnostic for Report {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.help.as_ref().map(|it| Box::new(it) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.source.as_ref().map(|it| it as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        Some(Box::new(self.labels.iter().cloned()))
    }

    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn miette::Diagnostic> + 'a>> {
        if self.elsewhere.is_empty() {
            return None;
        }
        Some(Box::new(self.elsewhere.iter().map(|it| it as &dyn miette::Diagnostic)))
    }
}

/// The word among `known` that `word` was probably meant to be.
pub(crate) fn did_you_mean<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let lower = word.to_lowercase();
    let limit = 1 + word.chars().count() / 4;
    known
        .map(|candidate| (strsim::damerau_levenshtein(&lower, &candidate.to_lowercase()), candidate))
        .filter(|(distance, candidate)| *distance <= limit && *candidate != word)
        .min_by(|a, b| a.cmp(b))
        .map(|(_, candidate)| candidate)
}
