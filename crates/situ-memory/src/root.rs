//! The root directory: where what is running lies, who may look, and how names become file names.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Gid, Mode};

/// The directory under which nodes, topics and traces lie, and the permissions of what is made in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    path: PathBuf,
    group: Option<u32>,
}

/// Why the root directory cannot be used.
#[derive(Debug, thiserror::Error)]
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
    /// Somebody else could tamper with it.
    #[error("{path} is not safe to use: {reason}; remove it, or set SITU_ROOT to another directory")]
    Unsafe {
        /// The directory.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// There is no such group.
    #[error("there is no group {0:?}: SITU_GROUP takes the name or the number of a group you belong to")]
    UnknownGroup(String),
}

impl Root {
    /// The root that the environment names: `SITU_ROOT`, otherwise `/dev/shm/situ-<uid>`. With `SITU_GROUP` (a name or a
    /// number) everything is also open to that group; without it, to the user alone.
    pub fn from_environment() -> Result<Self, RootError> {
        let path = match std::env::var_os("SITU_ROOT") {
            Some(path) if !path.is_empty() => PathBuf::from(path),
            _ => PathBuf::from(format!("/dev/shm/situ-{}", rustix::process::geteuid().as_raw())),
        };
        let group = match std::env::var("SITU_GROUP") {
            Ok(name) if !name.is_empty() => Some(group_number(&name)?),
            _ => None,
        };
        Ok(Self { path, group })
    }

    /// A root at a path of your own, open to the user alone or to a group.
    pub fn at(path: impl Into<PathBuf>, group: Option<u32>) -> Self {
        Self { path: path.into(), group }
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The group that everything is open to, if any.
    pub fn group(&self) -> Option<u32> {
        self.group
    }

    /// The permission bits of files.
    pub fn file_mode(&self) -> u32 {
        if self.group.is_some() { 0o660 } else { 0o600 }
    }

    fn directory_mode(&self) -> u32 {
        if self.group.is_some() { 0o770 } else { 0o700 }
    }

    /// Where the nodes' files lie.
    pub fn nodes(&self) -> PathBuf {
        self.path.join("nodes")
    }

    /// Where the topics' directories lie.
    pub fn topics(&self) -> PathBuf {
        self.path.join("topics")
    }

    /// The directory of a topic.
    pub fn topic(&self, name: &str) -> PathBuf {
        self.topics().join(file_name(name))
    }

    /// Where whoever traces and whoever is traced find each other.
    pub fn trace(&self) -> PathBuf {
        self.path.join("trace")
    }

    /// Makes the directories of nodes and topics, if they are missing, and checks that they are ours alone.
    pub fn prepare(&self) -> Result<(), RootError> {
        self.prepare_only(&[self.nodes(), self.topics()])
    }

    /// Makes the root directory and some in it, if they are missing, and checks that it is ours alone.
    pub fn prepare_only(&self, directories: &[PathBuf]) -> Result<(), RootError> {
        self.make(&self.path)?;
        self.check()?;
        directories.iter().try_for_each(|directory| self.make(directory))
    }

    /// Makes one directory with the right permissions. One that is there is left as it is, unless it is ours, empty, and not yet
    /// open to the group.
    pub fn make(&self, path: &Path) -> Result<(), RootError> {
        let system = |action, source| RootError::System { action, path: path.to_owned(), source };
        match fs::DirBuilder::new().mode(self.directory_mode()).create(path) {
            Ok(()) => {}
            // Its maker may have died before it had its permissions.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && !self.is_unfinished(path) => {
                return Ok(());
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(system("create", error)),
        }
        if let Some(group) = self.group {
            rustix::fs::chown(path, None, Some(Gid::from_raw(group)))
                .map_err(|error| system("give to the group", error.into()))?;
            rustix::fs::chmod(path, Mode::from_raw_mode(self.directory_mode()))
                .map_err(|error| system("set the permissions of", error.into()))?;
        }
        Ok(())
    }

    /// Whether a directory is as its maker leaves it who dies at once: ours, empty, and not open to the group.
    fn is_unfinished(&self, path: &Path) -> bool {
        self.group.is_some()
            && fs::symlink_metadata(path).is_ok_and(|metadata| {
                let mode = metadata.permissions().mode() & 0o777;
                metadata.is_dir()
                    && metadata.uid() == rustix::process::geteuid().as_raw()
                    && (Some(metadata.gid()) != self.group || mode != self.directory_mode())
            })
            && fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none())
    }

    fn check(&self) -> Result<(), RootError> {
        let unsafe_because = |reason: String| Err(RootError::Unsafe { path: self.path.clone(), reason });
        let metadata = fs::symlink_metadata(&self.path).map_err(|source| RootError::System {
            action: "look at",
            path: self.path.clone(),
            source,
        })?;
        let (mode, owner) = (metadata.permissions().mode(), metadata.uid());
        if !metadata.is_dir() {
            return unsafe_because("it is not a directory (a link is not followed)".into());
        }
        if mode & 0o002 != 0 {
            return unsafe_because(format!("everybody may write to it (mode {:o})", mode & 0o7777));
        }
        let me = rustix::process::geteuid().as_raw();
        match self.group {
            Some(group) if metadata.gid() == group => Ok(()),
            _ if owner == me && (mode & 0o020 == 0 || self.group.is_none()) => Ok(()),
            _ => unsafe_because(format!("it belongs to user {owner}, and you are {me}")),
        }
    }
}

/// Looks a group's number up by name, or takes the number as it is.
fn group_number(name: &str) -> Result<u32, RootError> {
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

/// The file name of a topic: everything but letters, digits, `_`, `-` and inner dots is written as `%XX`.
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

/// The topic of a file name; nothing if [`file_name`] does not write it so.
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
        let path = PathBuf::from(format!("/dev/shm/situ-test-root-{}", std::process::id()));
        let root = Root::at(&path, None);
        root.prepare().unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
        root.prepare().unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(matches!(root.prepare(), Err(RootError::Unsafe { .. })));
        fs::remove_dir_all(&path).unwrap();
        std::os::unix::fs::symlink("/tmp", &path).unwrap();
        assert!(matches!(root.prepare(), Err(RootError::Unsafe { .. })));
        fs::remove_file(&path).unwrap();
    }
}
