//! The check for processes whose root directory was removed. They cannot exchange messages with processes
//! that start now.

use std::path::Path;

use super::Check;

const NAME: &str = "removed root";
/// The greatest number of bytes read from a process's maps.
const MAX_MAPS: usize = 64 << 20;

/// Reads the maps of all processes that this user may inspect.
pub fn check(root: &Path) -> Check {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let pid = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok());
        if let Some(pid) = pid
            && read_maps(pid).is_some_and(|maps| lives_in_removed(&maps, root))
        {
            found.push(pid);
        }
    }
    judge(root, &found)
}

fn read_maps(pid: u32) -> Option<String> {
    use std::io::Read;
    let mut bytes = Vec::new();
    let file = std::fs::File::open(format!("/proc/{pid}/maps")).ok()?;
    file.take(MAX_MAPS as u64).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns whether a process maps the file of a topic or of its subscribers after the file's name was
/// removed. Pools do not count: they lose their names while their messages are still being read.
fn lives_in_removed(maps: &str, root: &Path) -> bool {
    let topics = root.join("topics");
    maps.lines().filter_map(|line| line.strip_suffix(" (deleted)")).any(|line| {
        let path = line.find('/').map(|at| Path::new(&line[at..]));
        path.is_some_and(|path| {
            path.starts_with(&topics) && ["topic", "subscribers"].iter().any(|name| path.ends_with(name))
        })
    })
}

fn judge(root: &Path, pids: &[u32]) -> Check {
    if pids.is_empty() {
        return Check::ok(NAME, format!("no process uses topics that were removed from {}", root.display()));
    }
    let pids: Vec<String> = pids.iter().map(u32::to_string).collect();
    Check::fail(
        NAME,
        format!(
            "the files of topics were removed from {} while process(es) {} used them",
            root.display(),
            pids.join(", ")
        ),
        "They exchange no messages with programs that start now: restart them. If this happened when a user logged out, systemd removed the \
         shared memory of a user without a session: `loginctl enable-linger USER`, or RemoveIPC=no in /etc/systemd/logind.conf and \
         `systemctl restart systemd-logind`.",
    )
}

#[cfg(test)]
mod tests {
    use super::super::Status;
    use super::*;

    #[test]
    fn processes_in_removed_roots_are_named() {
        let root = Path::new("/dev/shm/situ-7");
        let map = |path: &str| format!("7f00-7f10 rw-s 00000000 00:19 5   {path}\n");
        assert!(!lives_in_removed(&map("/dev/shm/situ-7/topics/a b/topic"), root));
        assert!(lives_in_removed(&map("/dev/shm/situ-7/topics/a b/topic (deleted)"), root));
        assert!(lives_in_removed(&map("/dev/shm/situ-7/topics/a/subscribers (deleted)"), root));
        assert!(!lives_in_removed(&map("/dev/shm/situ-7/topics/a/01.pool (deleted)"), root));
        assert!(!lives_in_removed(&map("/dev/shm/situ-70/topics/a/topic (deleted)"), root));
        assert_eq!(judge(root, &[]).status, Status::Ok);
        let check = judge(root, &[12, 34]);
        assert!(check.status == Status::Fail && check.found.contains("12, 34"), "{}", check.found);
    }

    #[test]
    fn a_process_whose_root_was_removed_is_found() {
        let path =
            std::path::PathBuf::from(format!("/dev/shm/situ-test-doctor-removed-{}", std::process::id()));
        let node = situ::bus::Node::in_root("n", situ::bus::Root::at(&path, None)).unwrap();
        let description = situ::bus::TypeDescription {
            name: "T".into(),
            schema: String::new(),
            schema_hash: 1,
            layout_hash: 1,
            encoding: situ::bus::Encoding::Flat,
            fixed_size: 0,
            user_header_size: 0,
        };
        let made =
            situ::bus::RawPublisher::create(&node, "points", &description, Default::default()).unwrap();
        assert_eq!(check(&path).status, Status::Ok);
        std::fs::remove_dir_all(&path).unwrap();
        let found = check(&path);
        assert!(found.found.contains(&std::process::id().to_string()), "{}", found.found);
        drop((made, node));
        assert_eq!(check(&path).status, Status::Ok);
        assert!(!path.exists());
    }
}
