//! Reads `.proto` files and their imports, and reports mistakes at their places.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use miette::Diagnostic as _;
use prost::Message as _;
use prost_reflect::DescriptorPool;
use protox::Compiler;
use protox::file::{File as Parsed, FileResolver, GoogleFileResolver};

use super::descriptor::{EnumType, Features, Field, File, FileSet, MessageType};
use super::edition::Edition;
use super::position::{byte_range, line_column};
use super::rules::{self, Broken, Hidden};
use crate::proto::error::ProtoError;
use crate::source::diagnostic::{Diagnostic, SchemaError};
use crate::source::{FileId, Sources, Span};

/// A file as it was found.
#[derive(Debug)]
struct Found {
    path: PathBuf,
    text: String,
    edition: Edition,
}

/// The files that the resolver has found.
#[derive(Debug, Default)]
struct Seen {
    /// The files that were found, by name.
    files: BTreeMap<String, Found>,
    /// Why the resolver refused a file. protox replaces this error by one of its own.
    refused: Option<SchemaError>,
}

type Shared = Arc<Mutex<Seen>>;

/// Looks for files in folders, in their order, and rewrites files of editions for protox.
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
        let edition = match Edition::read(&text) {
            None => Edition::unchanged(&text),
            Some(Ok(edition)) => edition,
            Some(Err(error)) => {
                let mut sources = Sources::default();
                let file = sources.add(name, text, true);
                let span = Span::new(file, error.at as u32, error.end as u32);
                let refused = SchemaError::new(vec![Diagnostic::new(error.message, span, "here")], &sources);
                self.seen.lock().unwrap_or_else(PoisonError::into_inner).refused = Some(refused.clone());
                return Err(protox::Error::new(refused));
            }
        };
        let source = edition.text.clone();
        let found = Found { path, text, edition };
        let seen = || self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        // The file is registered before it is parsed, so that errors can refer to it.
        seen().files.insert(name.to_owned(), found);
        let parsed = Parsed::from_source(name, &source)?;
        // protoc allows some conflicts of JSON names that protox refuses. Their fields get other JSON names.
        let encoded = parsed.file_descriptor_proto().encode_to_vec();
        let mut file = File::decode(encoded.as_slice()).map_err(protox::Error::new)?;
        let mut seen = seen();
        let Some(found) = seen.files.get_mut(name) else { return Ok(parsed) };
        if found.edition.number != 0 {
            file.edition = found.edition.number;
            file.syntax = "editions".to_owned();
        }
        match rules::json_names(&file, &found.edition) {
            Ok(more) if more.is_empty() => Ok(parsed),
            Ok(more) => {
                found.edition.insert(more);
                Parsed::from_source(name, &found.edition.text)
            }
            Err(broken) => {
                let refused = refuse(broken, name, &found.text);
                seen.refused = Some(refused.clone());
                Err(protox::Error::new(refused))
            }
        }
    }
}

/// A rule that is broken, as an error with the lines that break it.
fn refuse(broken: Broken, name: &str, text: &str) -> SchemaError {
    let mut sources = Sources::default();
    let file = sources.add(name, text.to_owned(), true);
    let labels = broken.labels.into_iter();
    let diagnostic = Diagnostic {
        message: broken.message,
        labels: labels.map(|((start, end), label)| (span(file, start as u32, end as u32), label)).collect(),
        help: Some(broken.help),
    };
    SchemaError::new(vec![diagnostic], &sources)
}

/// The path without `.` in it.
fn without_dots(path: &Path) -> PathBuf {
    path.components().filter(|it| !matches!(it, Component::CurDir)).collect()
}

/// Returns the folders in which to look for files. A file's name is its path from one of them; its own folder
/// comes last.
pub fn search_path(files: &[PathBuf], folders: &[PathBuf]) -> Vec<PathBuf> {
    let mut folders = folders.to_vec();
    for file in files {
        let own = file.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if !folders.iter().any(|folder| file.starts_with(folder)) {
            folders.push(own.to_owned());
        }
    }
    folders
}

/// What was read.
#[derive(Debug)]
pub struct Loaded {
    pub files: Vec<File>,
    /// The files of the file system among them.
    pub paths: Vec<PathBuf>,
}

/// Files and all that they import, as protox reads them.
struct Compiled {
    compiler: Compiler,
    seen: Shared,
    /// The names of the wanted files.
    names: Vec<String>,
}

fn compile(wanted: &[PathBuf], folders: Vec<PathBuf>) -> Result<Compiled, ProtoError> {
    let seen = Shared::default();
    let resolver = Resolver { folders, seen: Arc::clone(&seen) };
    let names: Vec<String> = wanted.iter().filter_map(|it| resolver.resolve_path(it)).collect();
    let mut compiler = Compiler::with_file_resolver(resolver);
    compiler.include_imports(true).include_source_info(true);
    for file in wanted {
        compiler.open_file(file).map_err(|error| explain(&error, &seen))?;
    }
    Ok(Compiled { compiler, seen, names })
}

/// Reads files, and all that they import, for messages without compiled types. Files of editions are refused:
/// their features are not in what protox reads.
pub fn load_types(wanted: &[PathBuf], folders: Vec<PathBuf>) -> Result<DescriptorPool, ProtoError> {
    let Compiled { compiler, seen, .. } = compile(wanted, folders)?;
    let seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
    match seen.files.iter().find(|(_, found)| found.edition.number != 0) {
        Some((name, _)) => Err(ProtoError::DynamicEdition { file: name.clone() }),
        None => Ok(compiler.descriptor_pool()),
    }
}

/// Reads files, and all that they import.
pub fn load(wanted: &[PathBuf], folders: Vec<PathBuf>) -> Result<Loaded, ProtoError> {
    let Compiled { compiler, seen, names } = compile(wanted, folders)?;
    let encoded = compiler.file_descriptor_set().encode_to_vec();
    let mut descriptors = FileSet::decode(encoded.as_slice())?.file;
    let found = &seen.lock().unwrap_or_else(PoisonError::into_inner).files;
    for file in &mut descriptors {
        let Some(found) = found.get(&file.name) else { continue };
        if found.edition.number != 0 {
            file.edition = found.edition.number;
            file.syntax = "editions".to_owned();
            file.dependency.retain(|it| !found.edition.option_imports.contains(it));
            put_back(file, found);
        }
        put_places_back(file, found);
    }
    check(&descriptors, found)?;
    drop_options(&mut descriptors, names);
    let paths = found.values().map(|it| it.path.clone()).collect();
    Ok(Loaded { files: descriptors, paths })
}

/// Checks rules of protoc that protox does not have.
fn check(files: &[File], found: &BTreeMap<String, Found>) -> Result<(), ProtoError> {
    let mut hidden = Hidden::new();
    for file in files {
        if let Some(found) = found.get(&file.name) {
            rules::hide(file, &found.edition, &mut hidden);
        }
    }
    for file in files {
        let Some(found) = found.get(&file.name) else { continue };
        let for_options = files.iter().filter(|it| found.edition.option_imports.contains(&it.name));
        let only_options = for_options.flat_map(|it| names(it).map(|name| (name, it.name.clone()))).collect();
        let broken = rules::naming_style(file, &found.text)
            .or_else(|| rules::visibility(file, &found.text, &hidden, &only_options));
        if let Some(broken) = broken {
            return Err(ProtoError::Schema(Box::new(refuse(broken, &file.name, &found.text))));
        }
    }
    Ok(())
}

/// The full names of the messages and enums that lie in no message of a file, with a dot in front.
fn names(file: &File) -> impl Iterator<Item = String> {
    let scope = if file.package.is_empty() { String::new() } else { format!(".{}", file.package) };
    let messages = file.message_type.iter().map(|it| &it.name);
    messages.chain(file.enum_type.iter().map(|it| &it.name)).map(move |it| format!("{scope}.{it}"))
}

/// Removes files that are imported only for their options.
fn drop_options(files: &mut Vec<File>, mut wanted: Vec<String>) {
    let mut next = 0;
    while let Some(name) = wanted.get(next).cloned() {
        next += 1;
        let Some(file) = files.iter().find(|it| it.name == name) else { continue };
        for import in &file.dependency {
            if !wanted.contains(import) {
                wanted.push(import.clone());
            }
        }
    }
    files.retain(|it| wanted.contains(&it.name));
}

/// Restores the features that were blanked out.
fn put_back(file: &mut File, found: &Found) {
    let features = |path: &[String]| found.edition.features.get(path).copied();
    let mut path = Vec::new();
    file.options.get_or_insert_default().features = features(&path);
    file.message_type.iter_mut().for_each(|it| message(it, &mut path, &features));
    file.enum_type.iter_mut().for_each(|it| enumeration(it, &mut path, &features));
    fields(&mut file.extension, &mut path, &features);
}

/// Maps places back to the original text.
fn put_places_back(file: &mut File, found: &Found) {
    for place in file.source_code_info.iter_mut().flat_map(|it| &mut it.location) {
        let Some((begin, end)) = byte_range(&found.edition.text, &place.span) else { continue };
        let original = |at| line_column(&found.text, found.edition.original(at));
        let ((line, column), (last, end)) = (original(begin), original(end));
        place.span = vec![line, column, last, end];
    }
}

fn message(it: &mut MessageType, path: &mut Vec<String>, features: &dyn Fn(&[String]) -> Option<Features>) {
    path.push(it.name.clone());
    it.options.get_or_insert_default().features = features(path);
    fields(&mut it.field, path, features);
    fields(&mut it.extension, path, features);
    it.nested_type.iter_mut().for_each(|it| message(it, path, features));
    it.enum_type.iter_mut().for_each(|it| enumeration(it, path, features));
    path.pop();
}

fn fields(all: &mut [Field], path: &mut Vec<String>, features: &dyn Fn(&[String]) -> Option<Features>) {
    for field in all {
        path.push(field.name.clone());
        field.options.get_or_insert_default().features = features(path);
        path.pop();
    }
}

fn enumeration(it: &mut EnumType, path: &mut Vec<String>, features: &dyn Fn(&[String]) -> Option<Features>) {
    path.push(it.name.clone());
    it.options.get_or_insert_default().features = features(path);
    path.pop();
}

/// Converts an error of protox, with its place in the original text.
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
