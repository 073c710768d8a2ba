//! Directories that are removed at the end of a test.

use std::ffi::OsStr;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A path that only this test uses. Dropping this removes the directory there.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
    is_owned: bool,
}

impl Scratch {
    /// A path in `/dev/shm` at which there is nothing yet: for a root directory, which Situ makes itself.
    pub fn new(what: &str) -> Self {
        Self::below(Path::new("/dev/shm"), what)
    }

    /// An empty directory in `/dev/shm`.
    pub fn created(what: &str) -> Self {
        Self::new(what).create()
    }

    /// An empty directory among the temporary files: for programs that are built and run, which `/dev/shm`
    /// may forbid.
    pub fn on_disk(what: &str) -> Self {
        Self::below(&std::env::temp_dir(), what).create()
    }

    /// The directory of another process, which removes it.
    pub fn shared(path: PathBuf) -> Self {
        Self { path, is_owned: false }
    }

    fn below(directory: &Path, what: &str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = directory.join(format!("situ-test-{what}-{}-{count}", std::process::id()));
        // An earlier process of this number may have been killed.
        let _ = std::fs::remove_dir_all(&path);
        Self { path, is_owned: true }
    }

    fn create(self) -> Self {
        std::fs::create_dir_all(&self.path).unwrap();
        self
    }

    /// The path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// All files below the path.
    pub fn files(&self) -> Vec<PathBuf> {
        fn walk(path: &Path, files: &mut Vec<PathBuf>) {
            for entry in std::fs::read_dir(path).into_iter().flatten().flatten() {
                if entry.path().is_dir() { walk(&entry.path(), files) } else { files.push(entry.path()) }
            }
        }
        let mut files = Vec::new();
        walk(&self.path, &mut files);
        files
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if self.is_owned {
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}

impl Deref for Scratch {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.path
    }
}

impl AsRef<Path> for Scratch {
    fn as_ref(&self) -> &Path {
        &self.path
    }
}

impl AsRef<OsStr> for Scratch {
    fn as_ref(&self) -> &OsStr {
        self.path.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_owner_removes_a_directory() {
        let owner = Scratch::created("scratch");
        std::fs::create_dir(owner.join("inner")).unwrap();
        std::fs::write(owner.join("inner/file"), "text").unwrap();
        drop(Scratch::shared(owner.path().to_owned()));
        assert_eq!(owner.files(), [owner.join("inner/file")]);
        let path = owner.path().to_owned();
        drop(owner);
        assert!(!path.exists());
        assert_ne!(Scratch::new("scratch").path(), path);
    }
}
