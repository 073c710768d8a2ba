//! Paths below a directory that was opened and checked: opening, creating, renaming and removing without
//! following any link.
//!
//! If a path is resolved again, every user who may write to one of its directories decides where it leads: a
//! link planted at any component leads elsewhere. A [`Beneath`] therefore holds the descriptor of the checked
//! directory (see [`OpenRoot`](crate::OpenRoot)) and a relative path. The kernel resolves the path from that
//! descriptor with `openat2(RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS)`.
//!
//! Kernels before 5.6 do not have that call, and some sandboxes forbid it. There each component is opened
//! separately with `O_NOFOLLOW`, which has the same result for paths without `..`.
//!
//! Calls that change a directory (`unlinkat`, `renameat`, `mkdirat`) take one name relative to a descriptor
//! of that directory, which is opened in the same way just before. These calls never follow a link at the
//! name itself.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::fs::{AtFlags, Dir, FileType, Gid, Mode, OFlags, RenameFlags, ResolveFlags, Stat};
use rustix::io::Errno;

/// How long another user may take to give a new directory to the group.
const SHARED_WITHIN_MS: u32 = 500;

/// A path below a checked directory. One that is made [from a path](From) is of the caller's own choice: only
/// its last component is not followed.
#[derive(Debug, Clone)]
pub struct Beneath {
    base: Option<Arc<OwnedFd>>,
    relative: PathBuf,
    /// For error messages.
    path: PathBuf,
}

/// What the first bytes of a file say about its maker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beginning {
    /// It begins with the magic number.
    Ours,
    /// It is empty or begins with zeroes. A file whose maker died before it wrote the header looks like this,
    /// too.
    Blank,
    /// It begins with something else.
    Foreign,
}

/// Reads how a file begins.
pub fn beginning(file: &File, magic: &[u8]) -> Beginning {
    let mut bytes = vec![0; magic.len()];
    let Ok(len) = file.read_at(&mut bytes, 0) else { return Beginning::Foreign };
    if bytes == magic {
        Beginning::Ours
    } else if bytes[..len].iter().all(|byte| *byte == 0) {
        Beginning::Blank
    } else {
        Beginning::Foreign
    }
}

/// Whether both refer to the same file.
pub fn is_same(a: &Stat, b: &Stat) -> bool {
    (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino)
}

fn open_beneath(base: BorrowedFd<'_>, path: &Path, flags: OFlags, mode: Mode) -> rustix::io::Result<OwnedFd> {
    static MISSING: AtomicBool = AtomicBool::new(false);
    if !MISSING.load(Ordering::Relaxed) {
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        match rustix::fs::openat2(base, path, flags, mode, resolve) {
            Err(Errno::NOSYS) => MISSING.store(true, Ordering::Relaxed),
            // A sandbox may return this for a call that it does not know. If not, the other way has the same
            // result.
            Err(Errno::PERM) => {}
            result => return result,
        }
    }
    open_by_components(base, path, flags, mode)
}

/// As `openat2` does, one directory after the other.
fn open_by_components(
    base: BorrowedFd<'_>,
    path: &Path,
    flags: OFlags,
    mode: Mode,
) -> rustix::io::Result<OwnedFd> {
    let mut directory: Option<OwnedFd> = None;
    let mut components = path.components().peekable();
    while let Some(component) = components.next() {
        let at = directory.as_ref().map_or(base, AsFd::as_fd);
        let Component::Normal(name) = component else { return Err(Errno::XDEV) };
        if components.peek().is_none() {
            return rustix::fs::openat(at, name, flags | OFlags::NOFOLLOW, mode);
        }
        let step = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        directory = Some(rustix::fs::openat(at, name, step, Mode::empty())?);
    }
    Err(Errno::NOENT)
}

/// The directory of a path: the base itself, or one that was opened for it.
enum Parent<'a> {
    Base(BorrowedFd<'a>),
    Opened(OwnedFd),
}

impl AsFd for Parent<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Base(base) => *base,
            Self::Opened(opened) => opened.as_fd(),
        }
    }
}

impl Beneath {
    /// A relative path below an open directory. `base_path` is for error messages.
    pub fn new(base: Arc<OwnedFd>, base_path: &Path, relative: impl Into<PathBuf>) -> Self {
        let relative = relative.into();
        Self { base: Some(base), path: base_path.join(&relative), relative }
    }

    /// An absolute path without links in any component, as the kernel names open files.
    pub fn without_links(path: &Path) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let base = Arc::new(rustix::fs::open("/", flags, Mode::empty())?);
        let relative = path.strip_prefix("/").map_err(|_| Errno::NOENT)?;
        Ok(Self::new(base, Path::new("/"), relative))
    }

    /// The whole path, for error messages. It is not used for opening, because it may lead elsewhere by now.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The last component.
    pub fn name(&self) -> &OsStr {
        self.relative.file_name().unwrap_or_default()
    }

    /// The path of `name` in the directory at this path.
    pub fn join(&self, name: impl AsRef<Path>) -> Self {
        Self { base: self.base.clone(), relative: self.relative.join(&name), path: self.path.join(&name) }
    }

    /// The directory that contains it.
    pub fn directory(&self) -> Self {
        let parent = |path: &Path| path.parent().unwrap_or(Path::new("")).to_owned();
        Self { base: self.base.clone(), relative: parent(&self.relative), path: parent(&self.path) }
    }

    /// The path beside it with another extension.
    pub fn with_extension(&self, extension: &str) -> Self {
        Self {
            base: self.base.clone(),
            relative: self.relative.with_extension(extension),
            path: self.path.with_extension(extension),
        }
    }

    fn open_with(&self, flags: OFlags, mode: Mode) -> io::Result<OwnedFd> {
        let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        Ok(match &self.base {
            Some(base) => open_beneath(base.as_fd(), &self.relative, flags, mode)?,
            None => rustix::fs::open(&self.relative, flags, mode)?,
        })
    }

    fn parent(&self) -> io::Result<Parent<'_>> {
        let parent = self.relative.parent().filter(|parent| !parent.as_os_str().is_empty());
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(match (&self.base, parent) {
            (Some(base), None) => Parent::Base(base.as_fd()),
            (Some(base), Some(parent)) => {
                Parent::Opened(open_beneath(base.as_fd(), parent, flags, Mode::empty())?)
            }
            // The directories of a path of the caller's own may be links.
            (None, parent) => {
                let parent = parent.unwrap_or(Path::new("."));
                Parent::Opened(rustix::fs::open(parent, flags, Mode::empty())?)
            }
        })
    }

    /// Opens a file for reading, and for writing if `write` says so. Only regular files with a single name
    /// are opened: this waits for no pipe, and a file that is linked to this name from elsewhere is not ours.
    pub fn open(&self, write: bool) -> io::Result<File> {
        let access = if write { OFlags::RDWR } else { OFlags::RDONLY };
        let file = self.open_with(access | OFlags::NONBLOCK, Mode::empty())?;
        check_file(&rustix::fs::fstat(&file)?)?;
        Ok(file.into())
    }

    /// Creates a file, which must not exist, for reading and writing. With a group it gets these permissions
    /// whatever the umask.
    pub fn create(&self, mode: u32, group: Option<u32>) -> io::Result<File> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL;
        // Not open to a group before it has the right one.
        let first = if group.is_some() { mode & 0o700 } else { mode };
        let file = self.open_with(flags, Mode::from_raw_mode(first))?;
        if let Some(group) = group {
            rustix::fs::fchown(&file, None, Some(Gid::from_raw(group)))?;
            rustix::fs::fchmod(&file, Mode::from_raw_mode(mode))?;
        }
        Ok(file.into())
    }

    /// Opens a directory, to read its entries or to lock it.
    pub fn open_directory(&self) -> io::Result<File> {
        Ok(self.open_with(OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())?.into())
    }

    /// Creates a directory, if the name is free. An existing directory gets its group and permissions if it
    /// belongs to this user, is empty, and does not have them yet. It was just made, or its maker died before
    /// that.
    ///
    /// Owner and permissions are changed by the descriptor of the directory that was checked. An attacker who
    /// may write to the parent and exchanges the new directory gains nothing, because anything but an empty
    /// directory of this user is left as it is.
    pub fn make_directory(&self, mode: u32, group: Option<u32>) -> io::Result<()> {
        let parent = self.parent()?;
        let first = if group.is_some() { 0o700 } else { mode };
        let is_new = match rustix::fs::mkdirat(&parent, self.name(), Mode::from_raw_mode(first)) {
            Ok(()) => true,
            Err(Errno::EXIST) => false,
            Err(error) => return Err(error.into()),
        };
        let Some(group) = group else { return Ok(()) };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let directory = match rustix::fs::openat(&parent, self.name(), flags, Mode::empty()) {
            Ok(directory) => directory,
            // It belongs to another user.
            Err(Errno::ACCESS) if !is_new => {
                wait_until_shared(&parent, self.name(), mode, group);
                return Ok(());
            }
            // It is no directory: later uses of it fail.
            Err(_) if !is_new => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let stat = rustix::fs::fstat(&directory)?;
        let is_finished = stat.st_gid == group && stat.st_mode & 0o1777 == mode;
        if !is_finished && stat.st_uid == rustix::process::geteuid().as_raw() && names(&directory)?.is_empty()
        {
            rustix::fs::fchown(&directory, None, Some(Gid::from_raw(group)))?;
            rustix::fs::fchmod(&directory, Mode::from_raw_mode(mode))?;
        }
        Ok(())
    }

    /// What has this name, without opening it: a link is reported as a link.
    pub fn stat(&self) -> io::Result<Stat> {
        Ok(rustix::fs::statat(&self.parent()?, self.name(), AtFlags::SYMLINK_NOFOLLOW)?)
    }

    /// The names in a directory.
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        names(&self.open_directory()?)
    }

    /// Gives a file another name in the same directory, and replaces the file that has that name.
    pub fn rename(&self, name: &Self) -> io::Result<()> {
        let parent = self.parent()?;
        Ok(rustix::fs::renameat(&parent, self.name(), &parent, name.name())?)
    }

    /// Gives a file another name in the same directory, unless that name is taken.
    pub fn rename_new(&self, name: &Self) -> io::Result<()> {
        let parent = self.parent()?;
        match rustix::fs::renameat_with(&parent, self.name(), &parent, name.name(), RenameFlags::NOREPLACE) {
            // The file system or the kernel does not support it. The old name is removed right after.
            Err(Errno::INVAL | Errno::NOSYS) => {
                rustix::fs::linkat(&parent, self.name(), &parent, name.name(), AtFlags::empty())?;
                Ok(rustix::fs::unlinkat(&parent, self.name(), AtFlags::empty())?)
            }
            result => Ok(result?),
        }
    }

    /// Removes the name of a file that this process has made or knows.
    pub fn remove(&self) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(self.parent()?, self.name(), AtFlags::empty())?)
    }

    /// Removes the name of a file that is ours by its content. Returns whether the name is free.
    pub fn remove_if(&self, is_ours: impl FnOnce(&File) -> bool) -> bool {
        self.parent().is_ok_and(|parent| remove_if(parent.as_fd(), self.name(), is_ours))
    }

    /// Removes an empty directory.
    pub fn remove_directory(&self) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(self.parent()?, self.name(), AtFlags::REMOVEDIR)?)
    }
}

impl From<&Beneath> for Beneath {
    fn from(place: &Beneath) -> Self {
        place.clone()
    }
}

impl<P: AsRef<Path> + ?Sized> From<&P> for Beneath {
    fn from(path: &P) -> Self {
        let path = path.as_ref();
        Self { base: None, relative: path.to_owned(), path: path.to_owned() }
    }
}

fn check_file(stat: &Stat) -> io::Result<()> {
    let refuse = |reason: &str| Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return refuse("it is not a regular file");
    }
    // There is no name, if it was removed meanwhile.
    if stat.st_nlink > 1 {
        return refuse("it has another name elsewhere (a hard link)");
    }
    Ok(())
}

/// The names in an open directory, except `.` and `..`.
pub fn names(directory: impl AsFd) -> io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            names.push(OsStr::from_bytes(name).to_owned());
        }
    }
    Ok(names)
}

/// Waits while a directory of another user looks as if it was just made: only its maker may use it yet. If
/// its maker died before it gave the directory to the group, later uses fail.
fn wait_until_shared(parent: impl AsFd, name: &OsStr, mode: u32, group: u32) {
    for _ in 0..SHARED_WITHIN_MS {
        match rustix::fs::statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) if stat.st_gid == group && stat.st_mode & 0o1777 == mode => return,
            Ok(stat) if stat.st_mode & 0o077 == 0 => std::thread::sleep(Duration::from_millis(1)),
            _ => return,
        }
    }
}

/// Removes a name from an open directory, if it is that of a regular file without other names that is ours by
/// its content. Returns whether the name is free.
///
/// Between the check and the removal another user may put another file there. Only a user who may write to
/// the directory can do so, and that user could remove the file anyway.
pub fn remove_if(directory: BorrowedFd<'_>, name: &OsStr, is_ours: impl FnOnce(&File) -> bool) -> bool {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match rustix::fs::openat(directory, name, flags, Mode::empty()) {
        Ok(file) => file,
        Err(error) => return error == Errno::NOENT,
    };
    rustix::fs::fstat(&file).is_ok_and(|stat| check_file(&stat).is_ok())
        && is_ours(&file.into())
        && matches!(rustix::fs::unlinkat(directory, name, AtFlags::empty()), Ok(()) | Err(Errno::NOENT))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    type Opener = fn(BorrowedFd<'_>, &Path, OFlags, Mode) -> rustix::io::Result<OwnedFd>;

    /// A directory `root` with `a/b/file`, beside a `secret` directory, in `/dev/shm`.
    struct Scratch(situ_testkit::Scratch);

    impl Scratch {
        fn new() -> Self {
            let path = situ_testkit::Scratch::created("beneath");
            std::fs::create_dir_all(path.join("root/a/b")).unwrap();
            std::fs::create_dir(path.join("secret")).unwrap();
            std::fs::write(path.join("root/a/b/file"), "inside").unwrap();
            std::fs::write(path.join("secret/file"), "outside").unwrap();
            Self(path)
        }

        fn base(&self) -> Arc<OwnedFd> {
            Arc::new(File::open(self.0.join("root")).unwrap().into())
        }

        fn at(&self, relative: &str) -> Beneath {
            Beneath::new(self.base(), &self.0.join("root"), relative)
        }
    }

    #[test]
    fn no_component_is_followed_with_and_without_openat2() {
        let scratch = Scratch::new();
        let root = scratch.0.join("root");
        symlink(scratch.0.join("secret"), root.join("link")).unwrap();
        symlink("a", root.join("within")).unwrap();
        symlink("file", root.join("a/b/last")).unwrap();
        let base = scratch.base();
        for open in [open_beneath as Opener, open_by_components] {
            let open = |path: &str| {
                let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
                open(base.as_fd(), Path::new(path), flags, Mode::empty()).map(|_| ())
            };
            assert_eq!(open("a/b/file"), Ok(()));
            assert_eq!(open("a/b"), Ok(()));
            assert!(matches!(open("link/file"), Err(Errno::LOOP | Errno::NOTDIR)));
            assert!(matches!(open("within/b/file"), Err(Errno::LOOP | Errno::NOTDIR)));
            assert!(matches!(open("link"), Err(Errno::LOOP)));
            assert!(matches!(open("a/b/last"), Err(Errno::LOOP)));
            assert_eq!(open("../secret/file"), Err(Errno::XDEV));
            assert_eq!(open(scratch.0.join("secret/file").to_str().unwrap()), Err(Errno::XDEV));
            assert_eq!(open("a/missing"), Err(Errno::NOENT));
        }
    }

    #[test]
    fn what_is_linked_or_no_file_is_neither_opened_nor_removed() {
        let scratch = Scratch::new();
        let root = scratch.0.join("root");
        symlink(scratch.0.join("secret"), root.join("link")).unwrap();
        std::fs::hard_link(scratch.0.join("secret/file"), root.join("a/hard")).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            root.join("a/pipe"),
            FileType::Fifo,
            Mode::from_raw_mode(0o600),
            0,
        )
        .unwrap();
        for name in ["link/file", "link", "a/hard", "a/pipe", "a/b"] {
            assert!(scratch.at(name).open(false).is_err(), "{name}");
            assert!(!scratch.at(name).remove_if(|_| true), "{name}");
        }
        assert!(scratch.at("link/file").create(0o600, None).is_err());
        assert!(scratch.at("link/new").create(0o600, None).is_err());
        assert!(scratch.at("link/new").make_directory(0o700, None).is_err());
        assert!(scratch.at("link").names().is_err());
        assert_eq!(std::fs::read(scratch.0.join("secret/file")).unwrap(), b"outside");
        assert_eq!(std::fs::read_dir(scratch.0.join("secret")).unwrap().count(), 1);
        // Removed by its content.
        let file = scratch.at("a/b/file");
        assert!(!file.remove_if(|file| beginning(file, b"SITU") != Beginning::Foreign));
        assert!(file.remove_if(|file| beginning(file, b"insi") == Beginning::Ours));
        assert!(file.remove_if(|_| false), "it is gone");
        let blank = scratch.at("a/blank");
        blank.create(0o600, None).unwrap().set_len(100).unwrap();
        assert!(blank.remove_if(|file| beginning(file, b"SITU") == Beginning::Blank));
    }
}
