//! Loads schemas: reads the requested files and everything they depend on.

use std::path::{Path, PathBuf};

use super::{idl, overlay, resolve};
use crate::frontend::ast::Declaration;
use crate::frontend::files::{Files, Found, interface_of, read};
use crate::frontend::ros::{self, Interface, InterfaceKind};
use crate::schema::Schema;
use crate::source::diagnostic::{Diagnostic, SchemaError};
use crate::source::{FileId, Sources, Span};

/// The format of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// OMG IDL 4.2.
    Idl,
    /// A ROS message.
    Msg,
    /// A ROS service.
    Srv,
    /// A ROS action.
    Action,
}

#[derive(Debug, Clone)]
enum Request {
    File(PathBuf),
    Text { name: PathBuf, text: String, format: Format },
    Interface(String),
    Package(String),
}

/// Collects requests and a search path, then loads a schema.
///
/// ```
/// let schema = situ_schema::Loader::new()
///     .text("robot.idl", "module robot { struct Pose { double x; double y; }; };", situ_schema::Format::Idl)
///     .load()?;
/// assert!(schema.find("robot::Pose").is_some());
/// # Ok::<(), Box<situ_schema::SchemaError>>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Loader {
    requests: Vec<Request>,
    folders: Vec<PathBuf>,
    package: Option<String>,
    service_events: bool,
    sealed: bool,
}

impl Loader {
    /// Makes one without requests and with an empty search path.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a folder to the search path. `#include <a/b.idl>` is searched as `folder/a/b.idl` and as
    /// `folder/share/a/b.idl`, the ROS message `pkg/X` as `folder/pkg/msg/X.msg` and as
    /// `folder/share/pkg/msg/X.msg`.
    pub fn include(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folders.push(folder.into());
        self
    }

    /// Adds the folders that the environment variable `AMENT_PREFIX_PATH` names to the search path.
    pub fn ament_prefix_path(mut self) -> Self {
        if let Some(paths) = std::env::var_os("AMENT_PREFIX_PATH") {
            self.folders.extend(std::env::split_paths(&paths).filter(|it| !it.as_os_str().is_empty()));
        }
        self
    }

    /// Requests a file: `.idl`, `.msg`, `.srv` or `.action`.
    pub fn file(mut self, path: impl Into<PathBuf>) -> Self {
        self.requests.push(Request::File(path.into()));
        self
    }

    /// Requests a text. A ROS text takes its package and name from `name`: `pkg/msg/X.msg`.
    pub fn text(mut self, name: impl Into<PathBuf>, text: impl Into<String>, format: Format) -> Self {
        self.requests.push(Request::Text { name: name.into(), text: text.into(), format });
        self
    }

    /// Requests a ROS interface in the search path: `sensor_msgs/msg/Image`, or `sensor_msgs/Image`.
    pub fn ros_interface(mut self, name: impl Into<String>) -> Self {
        self.requests.push(Request::Interface(name.into()));
        self
    }

    /// Requests all messages, services and actions of a ROS package in the search path.
    pub fn ros_package(mut self, name: impl Into<String>) -> Self {
        self.requests.push(Request::Package(name.into()));
        self
    }

    /// The package of ROS files that do not lie in a folder `<package>/msg`, `/srv` or `/action`.
    pub fn default_package(mut self, package: impl Into<String>) -> Self {
        self.package = Some(package.into());
        self
    }

    /// Whether services get their `_Event` type, through which ROS 2 observes them. Off by default.
    pub fn service_events(mut self, on: bool) -> Self {
        self.service_events = on;
        self
    }

    /// Uses only the given texts and the built-in files. No other file is read, whatever the texts include.
    pub fn sealed(mut self) -> Self {
        self.sealed = true;
        self
    }

    /// Reads, parses and checks everything.
    pub fn load(self) -> Result<Schema, Box<SchemaError>> {
        let mut work = Work {
            files: Files::new(self.folders, self.sealed),
            sources: Sources::default(),
            declarations: Vec::new(),
            package: self.package,
            queue: Vec::new(),
        };
        match work.run(self.requests, self.service_events) {
            Ok(()) => {
                let mut schema = resolve::resolve(work.sources, &work.declarations)?;
                let (mut services, actions) = (ros::find_services(&schema), ros::find_actions(&schema));
                let interfaces = resolve::services(&schema, &work.declarations, &mut services);
                schema.set_services(services, interfaces, actions);
                Ok(schema)
            }
            Err(diagnostic) => Err(Box::new(SchemaError::new(vec![*diagnostic], &work.sources))),
        }
    }
}

impl Schema {
    /// Reads IDL from a text, without touching any file: fit for text that comes from another process.
    pub fn from_idl(text: &str) -> Result<Schema, Box<SchemaError>> {
        Loader::new().sealed().text("schema.idl", text, Format::Idl).load()
    }
}

/// An interface that was named in a file, and the folder of that file.
struct Wanted {
    interface: Interface,
    span: Span,
    near: Option<PathBuf>,
}

struct Work {
    files: Files,
    sources: Sources,
    declarations: Vec<Declaration>,
    package: Option<String>,
    queue: Vec<Wanted>,
}

type Outcome<T> = Result<T, Box<Diagnostic>>;

fn problem(message: impl Into<String>, help: impl Into<String>) -> Box<Diagnostic> {
    Box::new(Diagnostic::general(message).help(help))
}

fn format_of(path: &Path) -> Option<Format> {
    Some(match path.extension()?.to_str()? {
        "idl" => Format::Idl,
        "msg" => Format::Msg,
        "srv" => Format::Srv,
        "action" => Format::Action,
        _ => return None,
    })
}

impl Work {
    fn run(&mut self, requests: Vec<Request>, service_events: bool) -> Outcome<()> {
        for request in requests {
            match request {
                Request::File(path) => self.file(&path, true)?,
                Request::Text { name, text, format } => self.text(&name, text, format, true)?,
                Request::Interface(name) => self.interface(&name)?,
                Request::Package(name) => self.ros_package(&name)?,
            }
        }
        self.drain()?;
        if !self.files.is_sealed() {
            overlay::apply(&self.files, &mut self.sources, &mut self.declarations)?;
        }
        let references = ros::add_implicit(&mut self.declarations, service_events);
        let wanted = |it: ros::Reference| Wanted { interface: it.interface, span: it.span, near: None };
        self.queue.extend(references.into_iter().map(wanted));
        self.drain()?;
        idl::inherit(&mut self.declarations)
    }

    fn file(&mut self, path: &Path, requested: bool) -> Outcome<()> {
        let Some(format) = format_of(path) else {
            let help = match path.extension() {
                Some(it) if it == overlay::EXTENSION => {
                    "name the interface file next to it; the overlay is read with it"
                }
                _ => "Situ reads .idl, .msg, .srv and .action",
            };
            return Err(problem(format!("`{}` is not an interface file", path.display()), help));
        };
        let text =
            read(path).map_err(|error| problem(error.to_string(), "check the path and the permissions"))?;
        self.text(path, text, format, requested)
    }

    fn text(&mut self, path: &Path, text: String, format: Format, requested: bool) -> Outcome<()> {
        let interface = interface_of(path);
        let Some(file) = self.files.add(&mut self.sources, path, text, requested) else { return Ok(()) };
        let kind = match format {
            Format::Idl => {
                if interface.is_none_or(|it| self.files.add_interface(&it)) {
                    let tokens = idl::preprocess(&mut self.sources, file, &mut self.files)?;
                    let declarations = idl::parse(&self.sources, &tokens)?;
                    self.declarations.extend(declarations);
                }
                return Ok(());
            }
            Format::Msg => InterfaceKind::Message,
            Format::Srv => InterfaceKind::Service,
            Format::Action => InterfaceKind::Action,
        };
        let stem = path.file_stem().map(|it| it.to_string_lossy().into_owned()).unwrap_or_default();
        let interface = match (interface, &self.package) {
            (Some(interface), _) => Interface { kind, ..interface },
            (None, Some(package)) => Interface { package: package.clone(), kind, name: stem },
            (None, None) => {
                let message = format!("the package of `{}` is not known", path.display());
                let help = format!("put it into a folder `<package>/{}`, or name the package", kind.folder());
                return Err(problem(message, help));
            }
        };
        for name in [&interface.package, &interface.name] {
            let starts_well = name.starts_with(|c: char| c.is_ascii_alphabetic());
            if !starts_well || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
                let help = "names are made of letters, digits and underscores, and begin with a letter";
                return Err(problem(format!("`{name}` cannot be the name of a package or message"), help));
            }
        }
        if !self.files.add_interface(&interface) {
            return Ok(());
        }
        self.ros(file, path, &interface)
    }

    fn ros(&mut self, file: FileId, path: &Path, interface: &Interface) -> Outcome<()> {
        let parsed = ros::parse(&self.sources.get(file).text, file, interface)?;
        self.declarations.extend(parsed.declarations);
        let near = path.parent().map(Path::to_owned);
        let wanted =
            |it: ros::Reference| Wanted { interface: it.interface, span: it.span, near: near.clone() };
        self.queue.extend(parsed.references.into_iter().map(wanted));
        Ok(())
    }

    /// Loads all interfaces that were named and are not loaded yet.
    fn drain(&mut self) -> Outcome<()> {
        loop {
            let included = std::mem::take(&mut self.files.wanted);
            self.queue.extend(included.into_iter().map(|(interface, span)| Wanted {
                interface,
                span,
                near: None,
            }));
            let Some(wanted) = self.queue.pop() else { return Ok(()) };
            // If a file was read that lacks its interface, the resolver reports it.
            if self.files.knows(&wanted.interface) {
                continue;
            }
            let near = wanted.near.as_deref();
            let Some((found, path)) = self.files.find_interface(near, &wanted.interface) else {
                return Err(Box::new(self.files.no_interface(near, &wanted.interface, wanted.span)));
            };
            match found {
                Found::File(file) => self.file(&file, false)?,
                Found::BuiltIn(text) => {
                    let shown = PathBuf::from(format!("<situ>/{path}"));
                    let format = format_of(&shown).unwrap_or(Format::Msg);
                    self.text(&shown, text.to_owned(), format, false)?;
                }
            }
        }
    }

    fn interface(&mut self, name: &str) -> Outcome<()> {
        let interface = match name.split('/').collect::<Vec<_>>().as_slice() {
            [package, name] => Some((*package, InterfaceKind::Message, *name)),
            [package, folder, name] => InterfaceKind::from_folder(folder).map(|kind| (*package, kind, *name)),
            _ => None,
        };
        let Some((package, kind, simple)) = interface else {
            let help = "write for instance `sensor_msgs/msg/Image`";
            return Err(problem(format!("`{name}` is not the name of a ROS interface"), help));
        };
        let interface = Interface { package: package.into(), kind, name: simple.into() };
        match self.files.find_interface(None, &interface) {
            Some((Found::File(file), _)) => self.file(&file, true),
            Some((Found::BuiltIn(text), path)) => {
                self.text(&PathBuf::from(format!("<situ>/{path}")), text.into(), Format::Msg, true)
            }
            None => {
                let help = "add the folder that holds its package to the search path";
                Err(problem(format!("there is no `{interface}`"), help))
            }
        }
    }

    fn ros_package(&mut self, name: &str) -> Outcome<()> {
        let roots = self.files.folders().iter().flat_map(|it| [it.join(name), it.join("share").join(name)]);
        let folders = roots.flat_map(|root| InterfaceKind::ALL.map(|kind| root.join(kind.folder())));
        let (mut paths, mut overlays) = (Vec::new(), Vec::new());
        for folder in folders {
            let Ok(entries) = std::fs::read_dir(&folder) else { continue };
            for path in entries.flatten().map(|it| it.path()) {
                if format_of(&path).is_some() {
                    paths.push(path);
                } else if path.extension().is_some_and(|it| it == overlay::EXTENSION) {
                    overlays.push(path);
                }
            }
        }
        if paths.is_empty() {
            let help =
                "add the folder that holds it to the search path; its messages are expected in <package>/msg";
            return Err(problem(format!("there is no ROS package `{name}` with interfaces"), help));
        }
        // `.msg` before `.idl`: the `.idl` is generated from the `.msg`, and has lost details.
        paths.sort_by_key(|it| (format_of(it) == Some(Format::Idl), it.clone()));
        for path in paths {
            let interface = interface_of(&path);
            if interface.is_some_and(|it| self.files.knows(&it)) && format_of(&path) == Some(Format::Idl) {
                continue;
            }
            self.file(&path, true)?;
        }
        overlays.sort_unstable();
        overlays.iter().try_for_each(|overlay| self.check_overlay(overlay))
    }

    /// Refuses an overlay file of an interface that its package does not have.
    fn check_overlay(&self, path: &Path) -> Outcome<()> {
        match interface_of(path) {
            Some(interface) if !self.files.knows(&interface) => {
                let message = format!("`{}` belongs to no interface file", path.display());
                let help = match self.files.similar(&interface) {
                    Some(meant) => format!("did you mean `{meant}.{}`?", overlay::EXTENSION),
                    None => format!("there is no `{interface}`; delete it, or rename it"),
                };
                Err(problem(message, help))
            }
            _ => Ok(()),
        }
    }
}
