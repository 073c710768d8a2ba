//! Parses YAML, and with it JSON, into a tree with positions, without regard to types.

use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Span};

use super::error::{Path, TextError};

/// How deep lists and maps may be nested.
const MAX_DEPTH: usize = 128;
/// The largest text.
const MAX_TEXT: usize = 256 << 20;

/// A part of a text.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tree {
    pub kind: TreeKind,
    pub line: usize,
    pub column: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum TreeKind {
    /// A word or text; `quoted` if it stands in quotes or is a block.
    Scalar {
        text: String,
        quoted: bool,
    },
    List(Vec<Tree>),
    Map(Vec<(Tree, Tree)>),
}

impl Tree {
    pub fn error(&self, message: impl Into<String>, help: impl Into<String>) -> TextError {
        let help = help.into();
        TextError {
            path: Path::default(),
            line: self.line,
            column: self.column,
            message: message.into(),
            help: if help.is_empty() { None } else { Some(help) },
        }
    }

    /// A description for messages.
    pub fn describe(&self) -> String {
        match &self.kind {
            TreeKind::Scalar { text, quoted: true } => format!("the text {text:?}"),
            TreeKind::Scalar { text, .. } => format!("`{text}`"),
            TreeKind::List(_) => "a list".into(),
            TreeKind::Map(_) => "a map".into(),
        }
    }
}

fn at(line: usize, column: usize, message: impl Into<String>, help: &str) -> TextError {
    Tree { kind: TreeKind::List(Vec::new()), line, column }.error(message, help)
}

fn syntax(error: &ScanError) -> TextError {
    let message = format!("this is not YAML: {}", error.info());
    at(error.marker().line(), error.marker().col() + 1, message, "check quotes, brackets and indentation")
}

/// A list or map that is not closed yet, and for a map the key that has no value yet.
struct Open {
    tree: Tree,
    key: Option<Tree>,
}

impl Open {
    fn add(&mut self, inner: Tree) {
        match &mut self.tree.kind {
            TreeKind::List(elements) => elements.push(inner),
            TreeKind::Map(entries) => match self.key.take() {
                Some(key) => entries.push((key, inner)),
                None => self.key = Some(inner),
            },
            TreeKind::Scalar { .. } => {}
        }
    }
}

/// Reads the only document of a text; `None` if it is empty.
pub(super) fn parse(text: &str) -> Result<Option<Tree>, TextError> {
    if text.len() > MAX_TEXT {
        return Err(at(1, 1, "this text is larger than 256 MiB", "split it"));
    }
    let mut parser = Parser::new_from_str(text);
    let mut open: Vec<Open> = Vec::new();
    let mut root = None;
    while let Some(event) = parser.next_event() {
        let (event, span): (Event<'_>, Span) = event.map_err(|error| syntax(&error))?;
        let (line, column) = (span.start.line(), span.start.col() + 1);
        let node = |kind| Tree { kind, line, column };
        let finished = match event {
            Event::Scalar(text, style, ..) => {
                let quoted = style != ScalarStyle::Plain;
                Some(node(TreeKind::Scalar { text: text.into_owned(), quoted }))
            }
            Event::SequenceStart(..) | Event::MappingStart(..) => {
                if open.len() >= MAX_DEPTH {
                    return Err(at(
                        line,
                        column,
                        "this is nested too deep",
                        "no message is nested this deep",
                    ));
                }
                let is_list = matches!(event, Event::SequenceStart(..));
                let kind = if is_list { TreeKind::List(Vec::new()) } else { TreeKind::Map(Vec::new()) };
                open.push(Open { tree: node(kind), key: None });
                None
            }
            Event::SequenceEnd | Event::MappingEnd => open.pop().map(|it| it.tree),
            Event::Alias(_) => {
                return Err(at(line, column, "aliases are not supported", "write the value out"));
            }
            Event::DocumentStart(_) if root.is_some() => {
                return Err(at(line, column, "there is a second document", "give one message at a time"));
            }
            _ => None,
        };
        if let Some(tree) = finished {
            match open.last_mut() {
                Some(outer) => outer.add(tree),
                None => root = Some(tree),
            }
        }
    }
    Ok(root)
}
