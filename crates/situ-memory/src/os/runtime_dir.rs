//! The root directory: where it is, which users have access, and how names become file names.

use std::fs;
use std::io;
use std::ops::Deref;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{FileType, Mode, OFlags, Stat};

use crate::os::beneath::{Beneath, is_same};

/// The directory that contains nodes, topics and traces, and the permissions of what is made in it. This is
/// only a name: its contents are reached through an [`OpenRoot`].
///
/// A root has graph domains, which are numbers. Participants of different domains do not meet. Domain 0 is
/// the root itself, and each other domain a directory in it, with all that a root has. (A graph domain has
/// nothing to do with a memory domain, [`DomainId`](crate::DomainId).)
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    base: PathBuf,
    graph_domain: u32,
    /// The directory of the domain.
    path: PathBuf,
    group: Option<u32>,
}

/// Why the root directory cannot be used.
#[derive(thiserror::Error)]
pub enum RootError {
    /// The kernel refused.
    #[error(
        "cannot {action} {path}: {source}; set SITU_ROOT to a directory of a memory file system that is yours"
    )]
    System {
        /// What was tried.
        action: &'static str,
        /// The directory.
        path: PathBuf,
        /// What the kernel answered.
        source: io::Error,
    },
    /// Another user could tamper with it.
    #[error(
        "{path} is not safe to use: {reason}; remove it, or, for all programs that are to meet, set SITU_ROOT to another \
         directory"
    )]
    Unsafe {
        /// The directory.
        path: PathBuf,
        /// What is wrong with it, including its owner and mode.
        reason: String,
    },
    /// It was removed, or replaced by another directory, while it was in use.
    #[error(
        "{path} was removed while it was in use: programs that start now do not find this one; restart it (systemd removes it when its \
         user logs out: see RemoveIPC in logind.conf, or `loginctl enable-linger`; `situ doctor` tells more)"
    )]
    Removed {
        /// The directory.
        path: PathBuf,
    },
    /// There is no such group.
    #[error("there is no group {0:?}: SITU_GROUP takes the name or the number of a group you belong to")]
    UnknownGroup(String),
    /// The number of the graph domain is not one.
    #[error(
        "{0:?} is no graph domain: SITU_DOMAIN takes a number from 0 to 4294967294 (memory domains, which programs \
         may open for messages of others, are in SITU_DOMAINS)"
    )]
    InvalidDomain(String),
}

situ_layout::debug_as_text!(RootError);

impl Root {
    /// The root that the environment names: `SITU_ROOT`, otherwise the user's own. That is
    /// `/dev/shm/situ-<uid>`, or `situ` in the runtime directory where another user has taken that name
    /// (`spec/topic.md`, *The root*). With `SITU_GROUP` (a name or a number) everything is also open to that
    /// group; without it, to the user alone. `SITU_DOMAIN` is the number of the graph domain; without it, 0.
    pub fn from_environment() -> Result<Self, RootError> {
        let group = match std::env::var("SITU_GROUP") {
            Ok(name) if !name.is_empty() => Some(group_number(&name)?),
            _ => None,
        };
        let path = match std::env::var_os("SITU_ROOT") {
            Some(path) if !path.is_empty() => PathBuf::from(path),
            _ => default_path(group.is_some()),
        };
        let root = Self::at(path, group);
        match std::env::var_os("SITU_DOMAIN") {
            Some(domain) if !domain.is_empty() => {
                root.in_graph_domain(graph_domain(&domain.to_string_lossy())?)
            }
            _ => Ok(root),
        }
    }

    /// A root at a path of your own, open to the user alone or to a group: its graph domain 0.
    pub fn at(path: impl Into<PathBuf>, group: Option<u32>) -> Self {
        let base = path.into();
        Self { path: base.clone(), base, graph_domain: 0, group }
    }

    /// Another graph domain of the same root, from 0 to [`MAX_GRAPH_DOMAIN`](Self::MAX_GRAPH_DOMAIN).
    pub fn in_graph_domain(mut self, domain: u32) -> Result<Self, RootError> {
        if domain > Self::MAX_GRAPH_DOMAIN {
            return Err(RootError::InvalidDomain(domain.to_string()));
        }
        self.graph_domain = domain;
        self.path = if domain == 0 { self.base.clone() } else { self.base.join(format!("domain-{domain}")) };
        Ok(self)
    }

    /// The largest number of a graph domain. The number after it is free for other languages to say that
    /// none is given.
    pub const MAX_GRAPH_DOMAIN: u32 = u32::MAX - 1;

    /// The number of its graph domain.
    pub fn graph_domain(&self) -> u32 {
        self.graph_domain
    }

    /// The directory: that of its graph domain.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The directory that contains the graph domains, and is itself domain 0.
    pub fn base(&self) -> &Path {
        &self.base
    }

    /// The group that everything is open to, if any.
    pub fn group(&self) -> Option<u32> {
        self.group
    }

    /// The permission bits of files.
    pub fn file_mode(&self) -> u32 {
        if self.group.is_some() { 0o660 } else { 0o600 }
    }

    /// The permission bits of the root and the directories right in it. Sticky for a group: a member may not
    /// remove, rename or replace another member's entries.
    fn top_mode(&self) -> u32 {
        if self.group.is_some() { 0o1770 } else { 0o700 }
    }

    /// The permission bits of a topic's or a session's directory. Not sticky: members repair what dead
    /// processes of other users left.
    fn inner_mode(&self) -> u32 {
        if self.group.is_some() { 0o770 } else { 0o700 }
    }

    /// Opens the root and checks that no other user can tamper with it. `None` if it does not exist.
    pub fn open(&self) -> Result<Option<OpenRoot>, RootError> {
        let Some((mut handle, mut stat)) = self.open_checked(None)? else { return Ok(None) };
        if self.graph_domain != 0 {
            // Opened in the checked directory: a user who could replace that could also plant this one.
            let Some(domain) = self.open_checked(Some(&handle))? else { return Ok(None) };
            (handle, stat) = domain;
        }
        let absolute = std::path::absolute(&self.path).unwrap_or_else(|_| self.path.clone());
        let (root, handle) = (self.clone(), Arc::new(handle));
        Ok(Some(OpenRoot(Arc::new(Opened { root, absolute, handle, stat }))))
    }

    /// Opens and checks the base, or the directory of the domain in the opened base.
    fn open_checked(&self, base: Option<&OwnedFd>) -> Result<Option<(OwnedFd, Stat)>, RootError> {
        let path = if base.is_some() { &self.path } else { &self.base };
        let system = |action, source| RootError::System { action, path: path.clone(), source };
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        // Only a handle at first, which can be opened also for what may not be read.
        let opened = match (base, self.path.file_name()) {
            (Some(base), Some(name)) => rustix::fs::openat(base, name, flags, Mode::empty()),
            _ => rustix::fs::open(&self.base, flags, Mode::empty()),
        };
        let handle = match opened {
            Ok(handle) => handle,
            Err(rustix::io::Errno::NOENT) => return Ok(None),
            Err(error) => return Err(system("open", error.into())),
        };
        let stat = rustix::fs::fstat(&handle).map_err(|error| system("look at", error.into()))?;
        match self.danger(&stat) {
            Some(reason) => Err(RootError::Unsafe { path: path.clone(), reason }),
            None => Ok(Some((handle, stat))),
        }
    }

    /// Why a directory must not be used as this root.
    fn danger(&self, stat: &Stat) -> Option<String> {
        let me = rustix::process::geteuid().as_raw();
        let (owner, group, mode) = (stat.st_uid, stat.st_gid, stat.st_mode & 0o7777);
        let why = match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory if mode & 0o002 != 0 => "all users may write to it".to_owned(),
            FileType::Directory if self.group == Some(group) => return None,
            FileType::Directory if owner != me => format!("you are user {me}"),
            FileType::Directory if mode & 0o020 != 0 => {
                format!("group {group} may write to it, and SITU_GROUP does not name that group")
            }
            FileType::Directory => return None,
            FileType::Symlink => "it is a link, which is not followed".to_owned(),
            _ => "it is not a directory".to_owned(),
        };
        Some(format!("it belongs to user {owner} and group {group}, with mode {mode:04o}, and {why}"))
    }

    /// Creates the root and the directories of nodes and topics, if they are missing, and checks that no
    /// other user can tamper with them.
    pub fn prepare(&self) -> Result<OpenRoot, RootError> {
        self.prepare_only(&["nodes", "topics"])
    }

    /// Creates the root and some directories in it, if they are missing, and checks that no other user can
    /// tamper with it.
    pub fn prepare_only(&self, directories: &[&str]) -> Result<OpenRoot, RootError> {
        let opened = loop {
            let make = |place: &Beneath| {
                place.make_directory(self.top_mode(), self.group).map_err(|source| RootError::System {
                    action: "create",
                    path: place.path().to_owned(),
                    source,
                })
            };
            make(&Beneath::from(&self.base))?;
            if self.graph_domain != 0 {
                // Made in the checked base, as it is opened.
                let Some((base, _)) = self.open_checked(None)? else { continue };
                let name = self.path.file_name().unwrap_or_default();
                match make(&Beneath::new(Arc::new(base), &self.base, name)) {
                    // The base was removed in the meantime.
                    Err(RootError::System { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                        continue;
                    }
                    made => made?,
                }
            }
            // If it is not there, another process has just removed it.
            if let Some(opened) = self.open()? {
                break opened;
            }
        };
        directories.iter().try_for_each(|name| opened.make_with(&opened.below(name), self.top_mode()))?;
        Ok(opened)
    }
}

/// A root that was opened and checked. Its contents are reached through this descriptor. If another directory
/// takes its place, this one stays in use, and [`check`](Self::check) reports that.
#[derive(Debug, Clone)]
pub struct OpenRoot(Arc<Opened>);

#[derive(Debug)]
struct Opened {
    root: Root,
    /// Stays valid when the working directory changes.
    absolute: PathBuf,
    handle: Arc<OwnedFd>,
    stat: Stat,
}

impl Deref for OpenRoot {
    type Target = Root;

    fn deref(&self) -> &Root {
        &self.0.root
    }
}

impl OpenRoot {
    fn below(&self, name: &str) -> Beneath {
        Beneath::new(self.0.handle.clone(), &self.path, name)
    }

    /// The descriptor, which names the directory but cannot read it.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.0.handle.as_fd()
    }

    /// The directory of the nodes' files.
    pub fn nodes(&self) -> Beneath {
        self.below("nodes")
    }

    /// The directory of the topics' directories.
    pub fn topics(&self) -> Beneath {
        self.below("topics")
    }

    /// The directory of a topic.
    pub fn topic(&self, name: &str) -> Beneath {
        self.topics().join(file_name(name))
    }

    /// The directory of the blackboards' files. Its first writer makes it.
    pub fn blackboards(&self) -> Beneath {
        self.below("blackboards")
    }

    /// Creates that directory, if it is missing.
    pub fn make_blackboards(&self) -> Result<Beneath, RootError> {
        let directory = self.blackboards();
        self.make_with(&directory, self.top_mode())?;
        Ok(directory)
    }

    /// The directory in which the trace collector and traced processes find each other.
    pub fn trace(&self) -> Beneath {
        self.below("trace")
    }

    /// Creates the directory of a topic or a session with the right permissions. An existing one is left as
    /// it is, unless its maker died before it was open to the group.
    pub fn make(&self, directory: &Beneath) -> Result<(), RootError> {
        self.make_with(directory, self.inner_mode())
    }

    /// Creates the directories of nodes and topics again, if they were removed; fails if the root itself was.
    pub fn complete(&self) -> Result<(), RootError> {
        self.check()?;
        [self.nodes(), self.topics()].iter().try_for_each(|it| self.make_with(it, self.top_mode()))
    }

    fn make_with(&self, directory: &Beneath, mode: u32) -> Result<(), RootError> {
        directory.make_directory(mode, self.group).map_err(|source| {
            let path = directory.path().to_owned();
            match self.check() {
                // Nothing can be created in a directory that was removed.
                Err(removed) if source.kind() == io::ErrorKind::NotFound => removed,
                _ => RootError::System { action: "create", path, source },
            }
        })
    }

    /// Whether processes that start now still find this directory. One system call.
    pub fn check(&self) -> Result<(), RootError> {
        match rustix::fs::lstat(&self.0.absolute) {
            Ok(stat) if is_same(&stat, &self.0.stat) => Ok(()),
            Ok(_) | Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => {
                Err(RootError::Removed { path: self.path.clone() })
            }
            // In doubt, assume that it exists.
            Err(_) => Ok(()),
        }
    }
}

/// The root of a user whose environment names none: `/dev/shm/situ-<uid>`. If another user made that first,
/// it is `situ` in the user's runtime directory.
///
/// Any user may make `/dev/shm/situ-<uid>` before its user does, and only its maker can remove it. The
/// runtime directory cannot be planted: the system makes it. It is `/run/user/<uid>` where that exists,
/// whatever the environment of a single process says, otherwise `$XDG_RUNTIME_DIR`. It counts only if it
/// belongs to the user and is closed to all others.
///
/// All processes of a user must arrive at the same directory. An existing `situ` in the runtime directory
/// therefore comes first, even if the planted directory is gone by now. It is created only where the name in
/// `/dev/shm` is taken. Where there is no such runtime directory, the result is the path in `/dev/shm`, which
/// [`Root::open`] refuses with advice. A root for a group has no second choice: other users would not find
/// it.
fn default_path(is_for_group: bool) -> PathBuf {
    let me = rustix::process::geteuid().as_raw();
    let usual = PathBuf::from(format!("/dev/shm/situ-{me}"));
    if is_for_group {
        return usual;
    }
    let runtime = [Some(format!("/run/user/{me}").into()), std::env::var_os("XDG_RUNTIME_DIR")];
    choose(usual, runtime.into_iter().flatten().map(PathBuf::from), me)
}

fn choose(usual: PathBuf, runtime: impl Iterator<Item = PathBuf>, me: u32) -> PathBuf {
    let is_private = |path: &Path| {
        fs::symlink_metadata(path).is_ok_and(|it| it.is_dir() && it.uid() == me && it.mode() & 0o077 == 0)
    };
    let Some(second) = runtime.into_iter().find(|path| path.is_absolute() && is_private(path)) else {
        return usual;
    };
    let second = second.join("situ");
    let is_taken = || fs::symlink_metadata(&usual).is_ok_and(|it| it.uid() != me);
    if is_private(&second) || is_taken() { second } else { usual }
}

/// The number of a graph domain.
fn graph_domain(text: &str) -> Result<u32, RootError> {
    text.trim().parse().map_err(|_| RootError::InvalidDomain(text.to_owned()))
}

/// The number of a group, which is given by its name or its number.
pub fn group_number(name: &str) -> Result<u32, RootError> {
    if let Ok(number) = name.parse() {
        return Ok(number);
    }
    let groups = fs::read_to_string("/etc/group").unwrap_or_default();
    groups
        .lines()
        .filter_map(|line| {
            let mut parts = line.split(':');
            (parts.next() == Some(name)).then(|| parts.nth(1)?.parse().ok()).flatten()
        })
        .next()
        .ok_or_else(|| RootError::UnknownGroup(name.to_owned()))
}

/// The file name of a topic: all characters but letters, digits, `_`, `-` and inner dots are written as
/// `%XX`.
pub fn file_name(topic: &str) -> String {
    let mut name = String::with_capacity(topic.len());
    for (index, byte) in topic.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'-' => name.push(byte as char),
            b'.' if index > 0 => name.push('.'),
            _ => name.push_str(&format!("%{byte:02X}")),
        }
    }
    name
}

/// The topic of a file name; `None` if [`file_name`] does not write it like that.
pub fn topic_name(file: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(file.len());
    let mut rest = file.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digits = [rest.next()?, rest.next()?];
                u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
            }
            other => other,
        });
    }
    String::from_utf8(bytes).ok().filter(|name| file_name(name) == file)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use situ_testkit::Scratch;

    use super::*;

    #[test]
    fn names_survive_the_way_to_a_file_and_back() {
        for name in ["points", "/robot/lidar", "../../etc", ".", "..", "grün", "a b%2F", "camera.0"] {
            let file = file_name(name);
            assert!(!file.contains('/') && !file.starts_with('.'), "{file}");
            assert_eq!(topic_name(&file).as_deref(), Some(name));
        }
        assert_eq!(file_name("/a"), "%2Fa");
        assert_eq!(topic_name("%2"), None);
        assert_eq!(topic_name("%zz"), None);
        assert_eq!(topic_name("%61"), None, "only the one spelling counts");
    }

    #[test]
    fn a_directory_of_others_or_for_all_is_refused() {
        let scratch = Scratch::new("root");
        let path = scratch.path().to_owned();
        let root = Root::at(&path, None);
        assert!(root.open().unwrap().is_none());
        root.prepare().unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
        assert_eq!(mode(&path), 0o700);
        root.prepare().unwrap();
        let me = rustix::process::geteuid().as_raw();
        for (open, why) in [(0o777, "all users"), (0o770, "SITU_GROUP")] {
            fs::set_permissions(&path, fs::Permissions::from_mode(open)).unwrap();
            let error = root.prepare().unwrap_err().to_string();
            assert!(error.contains(why) && error.contains(&format!("mode {open:04o}")), "{error}");
            assert!(error.contains(&format!("user {me} ")), "{error}");
            assert_eq!(root.open().unwrap_err().to_string(), error);
        }
        fs::remove_dir_all(&path).unwrap();
        std::os::unix::fs::symlink("/tmp", &path).unwrap();
        assert!(matches!(root.prepare(), Err(RootError::Unsafe { .. })));
        fs::remove_file(&path).unwrap();
    }

    #[test]
    fn a_root_that_was_removed_or_replaced_is_noticed_and_not_made_again() {
        let scratch = Scratch::new("removed");
        let path = scratch.path().to_owned();
        let opened = Root::at(&path, None).prepare().unwrap();
        opened.check().unwrap();
        fs::remove_dir_all(&path).unwrap();
        assert!(matches!(opened.check(), Err(RootError::Removed { .. })));
        assert!(matches!(opened.make(&opened.topic("points")), Err(RootError::Removed { .. })));
        let second = Root::at(&path, None).prepare().unwrap();
        second.check().unwrap();
        assert!(matches!(opened.check(), Err(RootError::Removed { .. })));
    }

    #[test]
    fn a_graph_domain_is_a_root_in_the_root() {
        let scratch = Scratch::new("graph-domain");
        let path = scratch.path().to_owned();
        let root = Root::at(&path, None);
        let in_domain = |number| root.clone().in_graph_domain(number).unwrap();
        assert_eq!((in_domain(0), in_domain(7).in_graph_domain(0).unwrap()), (root.clone(), root.clone()));
        let seven = in_domain(7);
        assert_eq!((seven.path(), seven.base(), seven.graph_domain()), (&*path.join("domain-7"), &*path, 7));
        assert!(seven.open().unwrap().is_none());
        let opened = seven.prepare().unwrap();
        assert_eq!(opened.topics().path(), path.join("domain-7/topics"));
        for made in ["", "domain-7", "domain-7/nodes"] {
            let mode = fs::metadata(path.join(made)).unwrap().permissions().mode();
            assert_eq!(mode & 0o7777, 0o700, "{made}");
        }
        seven.open().unwrap().unwrap().check().unwrap();
        // A link that was planted in its place, and a base in which any user could plant one.
        std::os::unix::fs::symlink(path.join("domain-7"), path.join("domain-8")).unwrap();
        assert!(matches!(in_domain(8).open(), Err(RootError::Unsafe { .. })));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(matches!(seven.open(), Err(RootError::Unsafe { path: refused, .. }) if refused == path));
    }

    #[test]
    fn a_graph_domain_is_a_number() {
        assert_eq!(graph_domain(" 42 ").unwrap(), 42);
        for text in ["-1", "vulkan:0", "4294967296"] {
            assert!(matches!(graph_domain(text), Err(RootError::InvalidDomain(found)) if found == text));
        }
        let root = Root::at("/dev/shm/situ-none", None);
        assert!(root.clone().in_graph_domain(u32::MAX - 1).is_ok());
        assert!(matches!(root.in_graph_domain(u32::MAX), Err(RootError::InvalidDomain(_))));
    }

    #[test]
    fn a_group_gets_directories_that_are_sticky_at_the_top() {
        let scratch = Scratch::new("group");
        let path = scratch.path().to_owned();
        let group = rustix::process::getegid().as_raw();
        let root = Root::at(&path, Some(group));
        // Its maker died before it had its permissions.
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
        let opened = root.prepare().unwrap();
        opened.make(&opened.topic("points")).unwrap();
        let mode = |name: &str| fs::metadata(path.join(name)).unwrap().permissions().mode() & 0o7777;
        assert_eq!([mode(""), mode("nodes"), mode("topics")], [0o1770; 3]);
        assert_eq!(mode("topics/points"), 0o770);
    }

    #[test]
    fn where_the_usual_root_is_taken_all_go_to_the_runtime_directory() {
        let scratch = Scratch::new("choice");
        let path = scratch.path().to_owned();
        let (usual, first, other) = (path.join("usual"), path.join("run"), path.join("xdg"));
        let me = rustix::process::geteuid().as_raw();
        [&path, &first, &other].iter().for_each(|path| fs::create_dir(path).unwrap());
        let runtime = || [first.clone(), other.clone()].into_iter();
        let close = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        [&first, &other].iter().for_each(|path| close(path, 0o700));
        assert_eq!(choose(usual.clone(), runtime(), me), usual);
        fs::create_dir(&usual).unwrap();
        assert_eq!(choose(usual.clone(), runtime(), me), usual);
        // Another user's: the first call asks for a user that owns nothing here, the next ones for the owner.
        assert_eq!(
            choose(usual.clone(), runtime(), me + 1),
            usual,
            "no private directory: it is refused when opened"
        );
        let foreign = PathBuf::from("/proc/1");
        let is_foreign = fs::metadata(&foreign).unwrap().uid() != me;
        let foreign = if is_foreign { foreign } else { others(&path) };
        if fs::symlink_metadata(&foreign).is_ok_and(|it| it.uid() != me) {
            assert_eq!(choose(foreign.clone(), runtime(), me), first.join("situ"));
            close(&first, 0o750);
            assert_eq!(choose(foreign.clone(), runtime(), me), other.join("situ"), "open to others");
            assert_eq!(choose(foreign.clone(), [].into_iter(), me), foreign);
            close(&first, 0o700);
        }
        // Once it exists, it stays the choice, whatever happens to the usual one.
        fs::create_dir(first.join("situ")).unwrap();
        close(&first.join("situ"), 0o700);
        assert_eq!(choose(usual.clone(), runtime(), me), first.join("situ"));
        assert_eq!(choose(path.join("missing"), runtime(), me), first.join("situ"));
    }

    /// A directory of another user, which only the superuser can make.
    fn others(path: &Path) -> PathBuf {
        let foreign = path.join("planted");
        fs::create_dir(&foreign).unwrap();
        let _ = std::os::unix::fs::chown(&foreign, Some(65_534), None);
        foreign
    }
}
