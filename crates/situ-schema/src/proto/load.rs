//! Reads `.proto` files and what they import, and says what is wrong with them at the place where it is.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use miette::Diagnostic as _;
use prost::Message as _;
use protox::Compiler;
use protox::file::{File as Parsed, FileResolver, GoogleFileResolver};

use super::ProtoError;
use super::descriptor::{EDITION_2023, EnumType, Features, File, FileSet, MessageType};
use super::edition::Edition;
use crate::diagnostic::{Diagnostic, SchemaError};
use crate::source::{FileId, Sources, Span};

/// A file as it was found.
#[derive(Debug)]
struct Found {
    path: PathBuf,
    text: String,
    edition: Edition,
    is_edition: bool,
}

/// What the resolver has seen.
#[derive(Debug, Default)]
struct Seen {
    /// The files that were found, by name.
    files: BTreeMap<String, Found>,
    /// Why it refused one. protox hides that behind an error of its own.
    refused: Option<SchemaError>,
}

type Shared = Arc<Mutex<Seen>>;

/// Looks for files in folders, in their order, and makes files of editions readable for protox.
struct Resolver {
    folders: Vec<PathBuf>,
    seen: Shared,
}

impl FileResolver for Resolver {
    fn resolve_path(&self, path: &Path) -> Option<String> {
        let path = without_dots(path);
        let relative = self.folders.iter().find_map(|folder| path.strip_prefix(without_dots(folder)).ok())?;
        let parts: Option<Vec<&str>> = relative
            .components()
            .map(|it| if let Component::Normal(it) = it { it.to_str() } else { None })
            .collect();
        Some(parts?.join("/"))
    }

    fn open_file(&self, name: &str) -> Result<Parsed, protox::Error> {
        let found = self.folders.iter().find_map(|folder| {
            let path = folder.join(name);
            path.is_file().then_some(path)
        });
        let Some(path) = found else { return GoogleFileResolver::new().open_file(name) };
        let text = std::fs::read_to_string(&path).map_err(protox::Error::new)?;
        let (edition, is_edition) = match Edition::read(&text) {
            None => (Edition::unchanged(&text), false),
            Some(Ok(edition)) => (edition, true),
            Some(Err(error)) => {
                let mut sources = Sources::default();
                let file = sources.add(name, text, true);
                let span = Span::new(file, error.at as u32, error.end as u32);
                let refused = SchemaError::new(vec![Diagnostic::new(error.message, span, "here")], &sources);
                self.seen.lock().unwrap_or_else(PoisonError::into_inner).refused = Some(refused.clone());
                return Err(protox::Error::new(refused));
            }
        };
        let parsed = edition.text.clone();
        let found = Found { path, text, edition, is_edition };
        // Before it is parsed, so that errors find it.
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).files.insert(name.to_owned(), found);
        Parsed::from_source(name, &parsed)
    }
}

/// The path without `.` in it.
fn without_dots(path: &Path) -> PathBuf {
    path.components().filter(|it| !matches!(it, Component::CurDir)).collect()
}

/// What was read.
#[derive(Debug)]
pub struct Loaded {
    pub files: Vec<File>,
    pub sources: Sources,
    /// The files of the file system among them.
    pub paths: Vec<PathBuf>,
}

/// Reads files, and all that they import.
pub fn load(wanted: &[PathBuf], folders: Vec<PathBuf>) -> Result<Loaded, ProtoError> {
    let seen = Shared::default();
    let mut compiler = Compiler::with_file_resolver(Resolver { folders, seen: Arc::clone(&seen) });
    compiler.include_imports(true).include_source_info(true);
    for file in wanted {
        compiler.open_file(file).map_err(|error| explain(&error, &seen))?;
    }
    let encoded = compiler.file_descriptor_set().encode_to_vec();
    let mut descriptors = FileSet::decode(encoded.as_slice())?.file;
    let found = &seen.lock().unwrap_or_else(PoisonError::into_inner).files;
    let mut sources = Sources::default();
    for file in &mut descriptors {
        if let Some(found) = found.get(&file.name) {
            sources.add(&file.name, found.text.clone(), true);
            if found.is_edition {
                file.edition = EDITION_2023;
                file.syntax = "editions".to_owned();
                put_back(file, found);
            }
        }
    }
    let paths = found.values().map(|it| it.path.clone()).collect();
    Ok(Loaded { files: descriptors, sources, paths })
}

/// Puts the features back that were taken out, and the places where they were.
fn put_back(file: &mut File, found: &Found) {
    let features = |path: &[String]| found.edition.features.get(path).copied();
    let mut path = Vec::new();
    file.options.get_or_insert_default().features = features(&path);
    file.message_type.iter_mut().for_each(|it| message(it, &mut path, &features));
    file.enum_type.iter_mut().for_each(|it| enumeration(it, &mut path, &features));
    for place in file.source_code_info.iter_mut().flat_map(|it| &mut it.location) {
        let Some((begin, end)) = range(&found.edition.text, &place.span) else { continue };
        let original = |at| line_column(&found.text, found.edition.original(at));
        let ((line, column), (last, end)) = (original(begin), original(end));
        place.span = vec![line, column, last, end];
    }
}

fn message(it: &mut MessageType, path: &mut Vec<String>, features: &dyn Fn(&[String]) -> Option<Features>) {
    path.push(it.name.clone());
    it.options.get_or_insert_default().features = features(path);
    for field in &mut it.field {
        path.push(field.name.clone());
        field.options.get_or_insert_default().features = features(path);
        path.pop();
    }
    it.nested_type.iter_mut().for_each(|it| message(it, path, features));
    it.enum_type.iter_mut().for_each(|it| enumeration(it, path, features));
    path.pop();
}

fn enumeration(it: &mut EnumType, path: &mut Vec<String>, features: &dyn Fn(&[String]) -> Option<Features>) {
    path.push(it.name.clone());
    it.options.get_or_insert_default().features = features(path);
    path.pop();
}

/// The byte at a line and column, both from 0; the text's end if there is none.
fn offset(text: &str, line: i32, column: i32) -> usize {
    let before: usize = text.split_inclusive('\n').take(line.max(0) as usize).map(str::len).sum();
    (before + column.max(0) as usize).min(text.len())
}

fn line_column(text: &str, at: usize) -> (i32, i32) {
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count();
    (line as i32, (before.len() - before.rfind('\n').map_or(0, |it| it + 1)) as i32)
}

/// The bytes of a place in a descriptor.
pub fn range(text: &str, span: &[i32]) -> Option<(usize, usize)> {
    match *span {
        [line, from, to] => Some((offset(text, line, from), offset(text, line, to))),
        [line, from, last, to] => Some((offset(text, line, from), offset(text, last, to))),
        _ => None,
    }
}

/// What protox says, at its place.
fn explain(error: &protox::Error, seen: &Shared) -> ProtoError {
    let seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(refused) = &seen.refused {
        return ProtoError::Schema(Box::new(refused.clone()));
    }
    let mut sources = Sources::default();
    let mut diagnostic = Diagnostic::general(error.to_string());
    if let Some((name, found)) = error.file().and_then(|name| seen.files.get_key_value(name)) {
        let file = sources.add(name, found.text.clone(), true);
        for label in error.labels().into_iter().flatten() {
            let place = |at| found.edition.original(at) as u32;
            let span = span(file, place(label.offset()), place(label.offset() + label.len()));
            diagnostic.labels.push((span, label.label().unwrap_or_default().to_owned()));
        }
    }
    diagnostic.help = error.help().map(|it| it.to_string());
    ProtoError::Schema(Box::new(SchemaError::new(vec![diagnostic], &sources)))
}

fn span(file: FileId, start: u32, end: u32) -> Span {
    Span::new(file, start, end.max(start))
}
