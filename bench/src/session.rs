//! The files of one run: their places, and their removal, also after a run that was killed.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::failure::Failure;

const SHM: &str = "/dev/shm";
const DIRECTORY: &str = "situ-bench-";

/// The places of one run. All follow from the driver's process id, so workers and later runs can find them.
#[derive(Clone, Debug)]
pub struct Session {
    pid: u32,
}

impl Session {
    /// The session of the driver with this process id.
    pub fn of(pid: u32) -> Self {
        Self { pid }
    }

    /// The process id of the driver.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// The directory in shared memory.
    pub fn directory(&self) -> PathBuf {
        Path::new(SHM).join(format!("{DIRECTORY}{}", self.pid))
    }

    /// A file in that directory.
    pub fn file(&self, name: &str) -> PathBuf {
        self.directory().join(name)
    }

    /// Where iceoryx2 keeps its service files.
    pub fn iceoryx2_root(&self) -> PathBuf {
        std::env::temp_dir().join(format!("{DIRECTORY}{}", self.pid))
    }

    /// The prefix of the names of iceoryx2's shared memory.
    pub fn iceoryx2_prefix(&self) -> String {
        format!("sb{}_", self.pid)
    }

    /// The DDS domain of this run. Other runs and robots on the same machine use other domains.
    pub fn domain(&self) -> u32 {
        100 + self.pid % 100
    }

    fn remove(&self) {
        let prefix = self.iceoryx2_prefix();
        for name in names_in(SHM).into_iter().filter(|name| name.starts_with(&prefix)) {
            // The next run removes the rest.
            let _ = fs::remove_file(Path::new(SHM).join(name));
        }
        let _ = fs::remove_dir_all(self.iceoryx2_root());
        let _ = fs::remove_dir_all(self.directory());
    }
}

fn names_in(directory: &str) -> BTreeSet<String> {
    let Ok(entries) = fs::read_dir(directory) else { return BTreeSet::new() };
    entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

/// Removes the files of C++ peers that were killed. Both libraries lock a file beside each resource while its
/// process lives. A file that can be locked therefore has no owner.
fn sweep_peers() {
    let temporary = std::env::temp_dir();
    for name in names_in(SHM) {
        // Fast DDS: `fastrtps_<segment>` and `fastrtps_port<number>`, with the lock `..._el` or `..._sl`.
        let lock = name.strip_suffix("_el").or_else(|| name.strip_suffix("_sl"));
        let Some(resource) = lock.filter(|resource| resource.starts_with("fastrtps_")) else { continue };
        if abandoned(&Path::new(SHM).join(&name)) {
            for file in [&name, resource, &format!("sem.{resource}_mutex")] {
                // The next run removes the rest.
                let _ = fs::remove_file(Path::new(SHM).join(file));
            }
        }
    }
    for name in names_in(temporary.to_str().unwrap_or("/tmp")) {
        // iceoryx: one socket for each process, with the lock `<socket>.lock`.
        let ours = name.starts_with(DIRECTORY) || name.starts_with("iceoryx_rt_");
        let Some(socket) = name.strip_suffix(".lock").filter(|_| ours) else { continue };
        if abandoned(&temporary.join(&name)) {
            for file in [&name, socket] {
                let _ = fs::remove_file(temporary.join(file));
            }
        }
    }
}

/// Whether no process holds a lock on the file.
fn abandoned(path: &Path) -> bool {
    fs::File::open(path).is_ok_and(|file| file.try_lock().is_ok())
}

/// Owns the session's files. They are created at the start and removed on drop.
pub struct Ownership {
    session: Session,
}

impl Ownership {
    /// Removes the files of killed runs and creates this run's directories.
    pub fn take() -> Result<Self, Failure> {
        for name in names_in(SHM) {
            let Some(pid) = name.strip_prefix(DIRECTORY).and_then(|pid| pid.parse().ok()) else { continue };
            if !Path::new(&format!("/proc/{pid}")).exists() {
                Session::of(pid).remove();
            }
        }
        sweep_peers();
        let session = Session::of(std::process::id());
        for directory in [session.directory(), session.iceoryx2_root()] {
            fs::create_dir_all(&directory)
                .map_err(Failure::io(format!("cannot make {}", directory.display())))?;
        }
        Ok(Self { session })
    }

    /// The session.
    pub fn session(&self) -> &Session {
        &self.session
    }
}

impl Drop for Ownership {
    fn drop(&mut self) {
        self.session.remove();
        sweep_peers();
    }
}
