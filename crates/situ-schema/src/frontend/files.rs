//! Finds and reads interface files.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use crate::frontend::idl::{Included, Includes};
use crate::frontend::ros::{Interface, InterfaceKind};
use crate::source::diagnostic::{Diagnostic, did_you_mean};
use crate::source::{FileId, Sources, Span};

/// The largest file that is read.
const MAX_FILE_SIZE: u64 = 16 << 20;

/// Files that come with Situ, found when the search path does not have them.
const BUILT_IN: &[(&str, &str)] = &[
    ("situ/sensor.idl", include_str!("../../built_in/situ/sensor.idl")),
    ("situ/geometry.idl", include_str!("../../built_in/situ/geometry.idl")),
    ("situ/common.idl", include_str!("../../built_in/situ/common.idl")),
    ("builtin_interfaces/msg/Time.msg", include_str!("../../built_in/builtin_interfaces/msg/Time.msg")),
    (
        "builtin_interfaces/msg/Duration.msg",
        include_str!("../../built_in/builtin_interfaces/msg/Duration.msg"),
    ),
    (
        "unique_identifier_msgs/msg/UUID.msg",
        include_str!("../../built_in/unique_identifier_msgs/msg/UUID.msg"),
    ),
    (
        "service_msgs/msg/ServiceEventInfo.msg",
        include_str!("../../built_in/service_msgs/msg/ServiceEventInfo.msg"),
    ),
];

fn built_in(path: &str) -> Option<&'static str> {
    BUILT_IN.iter().find(|(known, _)| *known == path).map(|(_, text)| *text)
}

/// The ROS interface that a path names by its last three parts: `geometry_msgs/msg/Point.msg`.
pub(crate) fn interface_of(path: &Path) -> Option<Interface> {
    let mut parts = path.iter().rev().filter_map(|it| it.to_str());
    let name = parts.next()?.rsplit_once('.')?.0.to_owned();
    let kind = InterfaceKind::from_folder(parts.next()?)?;
    Some(Interface { package: parts.next()?.to_owned(), kind, name })
}

/// Why a file could not be read.
#[derive(thiserror::Error)]
pub(crate) enum ReadError {
    #[error("cannot read `{0}`: {1}")]
    Io(PathBuf, std::io::Error),
    #[error("`{0}` is larger than 16 MiB")]
    TooLarge(PathBuf),
}

situ_layout::debug_as_text!(ReadError);

/// Reads a file. Text that is not UTF-8 is read as Latin-1, in which ROS 2's tools write IDL.
pub(crate) fn read(path: &Path) -> Result<String, ReadError> {
    let io = |error| ReadError::Io(path.to_owned(), error);
    let metadata = std::fs::metadata(path).map_err(io)?;
    if metadata.len() > MAX_FILE_SIZE {
        return Err(ReadError::TooLarge(path.to_owned()));
    }
    let bytes = std::fs::read(path).map_err(io)?;
    Ok(match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => error.as_bytes().iter().map(|byte| char::from(*byte)).collect(),
    })
}

/// The search path, and what was read so far.
#[derive(Debug, Default)]
pub(crate) struct Files {
    /// Folders to look in, in this order.
    folders: Vec<PathBuf>,
    /// Whether the file system must not be read.
    sealed: bool,
    known: HashMap<PathBuf, FileId>,
    /// Interfaces that were read, as `.msg` or as `.idl`.
    interfaces: HashSet<Interface>,
    /// Interfaces that IDL includes and that exist as `.msg`, `.srv` or `.action` only.
    pub wanted: Vec<(Interface, Span)>,
}

/// A file that was found.
pub(crate) enum Found {
    File(PathBuf),
    BuiltIn(&'static str),
}

impl Files {
    /// Nothing read yet.
    pub fn new(folders: Vec<PathBuf>, sealed: bool) -> Self {
        Self { folders, sealed, ..Self::default() }
    }

    /// The search path.
    pub fn folders(&self) -> &[PathBuf] {
        &self.folders
    }

    /// Registers a file. Returns `None` if it was read before.
    pub fn add(
        &mut self,
        sources: &mut Sources,
        path: &Path,
        text: String,
        requested: bool,
    ) -> Option<FileId> {
        let key = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        if let Some(known) = self.known.get(&key) {
            sources.mark_requested(*known, requested);
            return None;
        }
        let id = sources.add(path, text, requested);
        self.known.insert(key, id);
        Some(id)
    }

    /// Registers an interface. Returns `false` if it was read before.
    pub fn add_interface(&mut self, interface: &Interface) -> bool {
        self.interfaces.insert(interface.clone())
    }

    /// Whether an interface was read.
    pub fn knows(&self, interface: &Interface) -> bool {
        self.interfaces.contains(interface)
    }

    /// The name of an interface that was read, of the same package and kind, and with a similar name.
    pub fn similar(&self, interface: &Interface) -> Option<&str> {
        let beside = |it: &&Interface| it.package == interface.package && it.kind == interface.kind;
        did_you_mean(&interface.name, self.interfaces.iter().filter(beside).map(|it| it.name.as_str()))
    }

    /// Whether the file system must not be read.
    pub fn is_sealed(&self) -> bool {
        self.sealed
    }

    /// Looks for `path` next to `near`, then in the search path, then among the built-in files.
    pub fn find(&self, near: Option<&Path>, path: &str) -> Option<Found> {
        let beside = near.filter(|_| !self.sealed).map(|it| it.join(path)).filter(|it| it.is_file());
        let found = beside.or_else(|| self.find_file(path)).map(Found::File);
        found.or_else(|| built_in(path).map(Found::BuiltIn))
    }

    /// Looks for a file in the search path.
    pub fn find_file(&self, path: &str) -> Option<PathBuf> {
        let mut candidates = self.folders.iter().flat_map(|it| [it.join(path), it.join("share").join(path)]);
        candidates.find(|it| !self.sealed && it.is_file())
    }

    /// Looks for an interface that a file in the folder `near` names: in the same package, beside that
    /// package, then as [`Files::find`] does.
    pub fn find_interface(&self, near: Option<&Path>, interface: &Interface) -> Option<(Found, String)> {
        let extensions = [interface.kind.folder(), "idl"];
        let paths = extensions.map(|it| format!("{interface}.{it}"));
        let beside = near.and_then(|it| it.parent()?.parent());
        paths.into_iter().find_map(|path| Some((self.find(beside, &path)?, path)))
    }

    /// A diagnostic for an interface that was not found.
    pub fn no_interface(&self, near: Option<&Path>, interface: &Interface, span: Span) -> Diagnostic {
        let message = format!("there is no `{interface}`");
        let diagnostic = Diagnostic::new(message, span, "not found in the search path");
        let beside = near.and_then(|it| it.parent()?.parent()).map(Path::to_owned);
        let roots =
            beside.into_iter().chain(self.folders.iter().flat_map(|it| [it.clone(), it.join("share")]));
        let folder = format!("{}/{}", interface.package, interface.kind.folder());
        let names: Vec<String> = roots.flat_map(|root| names_in(&root.join(&folder))).collect();
        if let Some(meant) = did_you_mean(&interface.name, names.iter().map(String::as_str)) {
            return diagnostic.help(format!("did you mean `{folder}/{meant}`?"));
        }
        if !names.is_empty() {
            return diagnostic.help(format!("the package `{}` has no such message", interface.package));
        }
        diagnostic.help(format!(
            "add the folder that holds `{}` or `share/{}` to the search path; {}",
            interface.package,
            interface.package,
            self.describe_folders()
        ))
    }

    fn describe_folders(&self) -> String {
        if self.folders.is_empty() {
            return "it is empty".to_owned();
        }
        let folders: Vec<String> = self.folders.iter().map(|it| it.display().to_string()).collect();
        format!("it is {}", folders.join(", "))
    }
}

/// The names, without extension, of the files in a folder.
fn names_in(folder: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let stem = |it: std::fs::DirEntry| it.path().file_stem().map(|it| it.to_string_lossy().into_owned());
    let mut names: Vec<String> = entries.flatten().filter_map(stem).collect();
    names.sort_unstable();
    names.dedup();
    names
}

impl Includes for Files {
    fn find(
        &mut self,
        sources: &mut Sources,
        from: FileId,
        path: &str,
        quoted: bool,
        span: Span,
    ) -> Result<Included, Box<Diagnostic>> {
        let interface = interface_of(Path::new(path));
        let near = if quoted { sources.path(from).parent().map(Path::to_owned) } else { None };
        let found = Files::find(self, near.as_deref(), path);
        if let (None, Some(interface)) = (&found, &interface)
            && self.find_interface(None, interface).is_some()
        {
            self.wanted.push((interface.clone(), span));
            return Ok(Included::Known);
        }
        let (key, text) = match found {
            None => {
                let help = format!(
                    "add the folder that contains `{path}` to the search path; {}",
                    self.describe_folders()
                );
                let message = format!("cannot find `{path}`");
                return Err(Box::new(Diagnostic::new(message, span, "included here").help(help)));
            }
            Some(Found::BuiltIn(text)) => (PathBuf::from(format!("<situ>/{path}")), text.to_owned()),
            Some(Found::File(file)) => {
                let text = read(&file).map_err(|error| {
                    Box::new(
                        Diagnostic::new(error.to_string(), span, "included here")
                            .help("check the permissions of the file, and that it is a text file"),
                    )
                })?;
                (file, text)
            }
        };
        if interface.is_some_and(|it| !self.add_interface(&it)) {
            return Ok(Included::Known);
        }
        Ok(self.add(sources, &key, text, false).map_or(Included::Known, Included::New))
    }
}
