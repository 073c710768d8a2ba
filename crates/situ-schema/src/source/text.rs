//! Source files and positions in them.

use std::path::{Path, PathBuf};

/// Names one source file of a [`Sources`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId(pub(crate) u32);

/// A range of bytes in a source file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Span {
    /// The file.
    pub file: FileId,
    /// The first byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The range `start..end` of `file`.
    pub fn new(file: FileId, start: u32, end: u32) -> Self {
        Self { file, start, end }
    }

    /// From the beginning of `self` to the end of `other`, if both lie in one file; otherwise `self`.
    pub fn to(self, other: Span) -> Span {
        if self.file == other.file && other.end >= self.start {
            Span { end: other.end, ..self }
        } else {
            self
        }
    }
}

/// One source file, as it was read.
#[derive(Debug, Clone)]
pub struct Source {
    /// Where it came from, as shown in messages.
    pub path: PathBuf,
    /// Its text.
    pub text: String,
    /// Whether it was requested by name, and not only included by another file.
    pub requested: bool,
}

/// All source files of a schema.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    files: Vec<Source>,
}

impl Sources {
    /// Adds a file.
    pub fn add(&mut self, path: impl Into<PathBuf>, text: String, requested: bool) -> FileId {
        let id = FileId(u32::try_from(self.files.len()).unwrap_or(u32::MAX));
        self.files.push(Source { path: path.into(), text, requested });
        id
    }

    /// Marks a file that was read before as requested by name.
    pub(crate) fn mark_requested(&mut self, id: FileId, requested: bool) {
        self.files[id.0 as usize].requested |= requested;
    }

    /// The file named `id`.
    pub fn get(&self, id: FileId) -> &Source {
        &self.files[id.0 as usize]
    }

    /// The path of the file named `id`.
    pub fn path(&self, id: FileId) -> &Path {
        &self.get(id).path
    }

    /// All files, in the order in which they were read.
    pub fn iter(&self) -> impl Iterator<Item = (FileId, &Source)> {
        self.files.iter().enumerate().map(|(index, source)| (FileId(index as u32), source))
    }

    /// The line and column (both from 1, the column in characters) of the beginning of `span`.
    pub fn line_column(&self, span: Span) -> (usize, usize) {
        let text = &self.get(span.file).text;
        let before = text.get(..span.start as usize).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
    }
}
