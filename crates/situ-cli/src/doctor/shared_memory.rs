//! Checks of the directory that contains messages: size, kind of file system, permissions, leftovers.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{FlockOperation, StatFs, flock, statfs};

use situ::bus::{Root, RootError};

use super::Check;
use crate::output::units;

/// With less free space than this, the first larger topic fails.
const MIN_FREE: u64 = 16 << 20;
/// With less free space than this, a few camera topics fail.
const COMFORTABLE: u64 = 256 << 20;
/// `TMPFS_MAGIC` of `linux/magic.h`.
const TMPFS: u64 = 0x0102_1994;
/// `HUGETLBFS_MAGIC` of `linux/magic.h`.
const HUGETLBFS: u64 = 0x9584_58f6;

/// Checks the directory of topics and nodes, or the place where it will be created.
pub fn checks(root: &Root) -> Vec<Check> {
    let existing = root.path().ancestors().find(|p| p.is_dir()).unwrap_or(Path::new("/"));
    let mut checks = match statfs(existing) {
        Ok(found) => vec![file_system(existing, found.f_type as u64), space(existing, &found)],
        Err(error) => vec![Check::fail(
            "shared memory",
            format!("{}: {error}", existing.display()),
            "Mount a tmpfs there, or set SITU_ROOT to a directory on one.",
        )],
    };
    checks.push(permissions(root, existing));
    checks.push(locks(existing));
    checks
}

/// Checks that the file system supports locks on open files, which Situ uses to detect dead nodes.
fn locks(existing: &Path) -> Check {
    const NAME: &str = "file locks";
    let tried = std::fs::File::open(existing)
        .map_err(|e| e.to_string())
        .and_then(|f| flock(&f, FlockOperation::NonBlockingLockShared).map_err(|e| e.to_string()));
    match tried {
        Ok(()) => Check::ok(NAME, format!("work in {}", existing.display())),
        Err(error) => Check::fail(
            NAME,
            format!("do not work in {}: {error}", existing.display()),
            "Without locks, dead nodes cannot be detected: set SITU_ROOT to a directory on a tmpfs.",
        ),
    }
}

fn file_system(path: &Path, magic: u64) -> Check {
    match magic {
        TMPFS => Check::ok("file system", format!("{} is a tmpfs", path.display())),
        HUGETLBFS => Check::ok("file system", format!("{} is a hugetlbfs", path.display())),
        _ => Check::warn(
            "file system",
            format!("{} is not a tmpfs (file system type {magic:#x})", path.display()),
            "Messages would be written back to a disk: set SITU_ROOT to a directory below /dev/shm.",
        ),
    }
}

fn space(path: &Path, found: &StatFs) -> Check {
    let block = found.f_bsize.try_into().unwrap_or(4096_u64);
    let (size, free) = (found.f_blocks.saturating_mul(block), found.f_bavail.saturating_mul(block));
    room(path, size, free)
}

fn room(path: &Path, size: u64, free: u64) -> Check {
    let text = format!("{} of {} free in {}", units::bytes(free), units::bytes(size), path.display());
    let advice = "Make it larger: `mount -o remount,size=2G /dev/shm` as root; in Docker `--shm-size=2g`; \
                  `situ clean` removes files of dead processes.";
    match free {
        f if f < MIN_FREE => Check::fail("shared memory", text, advice),
        f if f < COMFORTABLE => Check::warn("shared memory", text, advice),
        _ => Check::ok("shared memory", text),
    }
}

fn permissions(chosen: &Root, existing: &Path) -> Check {
    const NAME: &str = "permissions";
    let root = chosen.path();
    if let Err(RootError::Unsafe { reason, .. }) = chosen.open() {
        let advice = format!(
            "Situ does not use this directory, because other users could read or forge messages there, or make your \
             programs delete files. If it is yours: `chmod 700 {0}`. If not: ask its owner or an administrator for \
             `rm -r {0}`; until then set SITU_ROOT, for all programs that exchange messages, to a directory of your own \
             on a tmpfs, for instance `export SITU_ROOT=/dev/shm/situ-$USER-$RANDOM`. To check another user's directory, run as that user: \
             `sudo -u '#UID' situ doctor`.",
            root.display()
        );
        return Check::fail(NAME, format!("{}: {reason}", root.display()), advice);
    }
    if existing != root {
        return match rustix::fs::access(existing, rustix::fs::Access::WRITE_OK) {
            Ok(()) => Check::ok(NAME, format!("{} does not exist yet and can be created", root.display())),
            Err(error) => Check::fail(
                NAME,
                format!("{} cannot be created in {}: {error}", root.display(), existing.display()),
                "Set SITU_ROOT to a directory that you may write to, on a tmpfs.",
            ),
        };
    }
    match std::fs::metadata(root) {
        Ok(found) => owner(root, found.uid(), found.mode() & 0o7777),
        Err(error) => {
            Check::fail(NAME, format!("{}: {error}", root.display()), "Check the path in SITU_ROOT.")
        }
    }
}

fn owner(root: &Path, uid: u32, mode: u32) -> Check {
    const NAME: &str = "permissions";
    let text = format!("{} belongs to user {uid}, mode {mode:04o}", root.display());
    if mode & 0o004 != 0 {
        let advice =
            format!("All users of this machine may read messages: `chmod o-rwx {}`.", root.display());
        return Check::warn(NAME, text, advice);
    }
    Check::ok(NAME, text)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::super::Status;
    use super::*;

    #[test]
    fn little_room_is_reported() {
        let shm = Path::new("/dev/shm");
        assert_eq!(room(shm, 64 << 20, 63 << 20).status, Status::Warn);
        assert_eq!(room(shm, 64 << 20, 1 << 20).status, Status::Fail);
        assert_eq!(
            room(shm, 2 << 30, 2 << 30),
            Check::ok("shared memory", "2.00 GiB of 2.00 GiB free in /dev/shm")
        );
    }

    #[test]
    fn only_memory_file_systems_are_fine() {
        assert_eq!(file_system(Path::new("/dev/shm"), TMPFS).status, Status::Ok);
        assert_eq!(file_system(Path::new("/home"), 0xEF53).status, Status::Warn);
    }

    #[test]
    fn foreign_and_open_directories_are_reported() {
        let root = Path::new("/dev/shm/situ-7");
        assert_eq!(owner(root, 7, 0o700).status, Status::Ok);
        assert_eq!(owner(root, 7, 0o1770).status, Status::Ok);
        assert_eq!(owner(root, 7, 0o755).status, Status::Warn);
        let path = std::path::PathBuf::from(format!("/dev/shm/situ-test-doctor-{}", std::process::id()));
        std::fs::create_dir(&path).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o777)).unwrap();
        let check = permissions(&Root::at(&path, None), &path);
        std::fs::remove_dir(&path).unwrap();
        assert_eq!(check.status, Status::Fail);
        assert!(check.found.contains("mode 0777"), "{}", check.found);
    }

    #[test]
    fn the_parent_of_a_missing_root_is_checked() {
        let folder = std::env::temp_dir();
        let checks = checks(&Root::at(folder.join("situ-none").join("deeper"), None));
        let permissions = checks.iter().find(|c| c.name == "permissions").unwrap();
        assert_eq!(permissions.status, Status::Ok, "{permissions:?}");
        assert!(permissions.found.contains("can be created"));
    }
}
