//! Who is alive: one file per node, locked for as long as its process lives.
//!
//! The lock belongs to the open file, and the kernel drops it with the process, whatever it dies of. Anybody can ask
//! whether it is held; nobody has to be told. A process that forks hands its lock to the child for as long as the
//! child keeps the descriptor (it is closed on `exec`).

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::FlockOperation;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::root::Root;

/// The number of a node, unique among all that lie in a root directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u64);

impl std::fmt::Display for NodeId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// What a node's file says of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeInfo {
    /// Its number.
    pub id: NodeId,
    /// The name it was given.
    pub name: String,
    /// Its process.
    pub pid: u32,
    /// The program it runs.
    pub program: String,
    /// When it was made, in milliseconds since 1970.
    pub started_ms: u64,
    /// Whether its process still lives.
    pub alive: bool,
}

const EXTENSION: &str = "node";
/// Of a node's file while it is written.
const UNFINISHED: &str = "new";
/// More bytes than a node's file has.
const MOST_TEXT: u64 = 64 << 10;

fn path_of(root: &Root, id: NodeId) -> PathBuf {
    root.nodes().join(format!("{id}.{EXTENSION}"))
}

/// A number that no other process draws: from the kernel's random source.
pub(crate) fn unique() -> u64 {
    let mut bytes = [0u8; 8];
    // The kernel's source does not fail once it is seeded, which is long before a program runs; if it is missing, the
    // clock and the process number are unique enough on one machine.
    match File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes)) {
        Ok(()) => u64::from_ne_bytes(bytes),
        Err(_) => crate::clock::now_ns().rotate_left(20) ^ u64::from(std::process::id()),
    }
}

/// A node's proof of life. Dropping it removes the file.
#[derive(Debug)]
pub(crate) struct Life {
    id: NodeId,
    path: PathBuf,
    _locked: File,
}

impl Life {
    /// Writes and locks a node's file.
    pub(crate) fn begin(root: &Root, name: &str) -> io::Result<Self> {
        loop {
            let id = NodeId(unique());
            // Locked under a name that counts for nothing, then renamed: whoever sees a node sees it locked.
            let hidden = path_of(root, id).with_extension(UNFINISHED);
            match Self::begin_as(root, name, id, &hidden) {
                // Somebody who cleans found it before it was locked, and takes it for a dead one's.
                Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::WouldBlock) => {
                    let _ = fs::remove_file(&hidden);
                    if !root.nodes().is_dir() {
                        return Err(error);
                    }
                }
                Err(error) => {
                    let _ = fs::remove_file(&hidden);
                    return Err(error);
                }
                life => return life,
            }
        }
    }

    fn begin_as(root: &Root, name: &str, id: NodeId, hidden: &Path) -> io::Result<Self> {
        let path = path_of(root, id);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(root.file_mode()).open(hidden)?;
        rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        if let Some(group) = root.group() {
            rustix::fs::fchown(&file, None, Some(rustix::fs::Gid::from_raw(group)))?;
            rustix::fs::fchmod(&file, rustix::fs::Mode::from_raw_mode(root.file_mode()))?;
        }
        let program = fs::read_link("/proc/self/exe").map(|p| p.display().to_string()).unwrap_or_default();
        let started = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_millis());
        let line = |text: &str| text.replace(['\n', '\r'], " ");
        file.write_all(
            format!(
                "situ-node 1\nname {}\npid {}\nborn {}\nstarted {started}\nprogram {}\n",
                line(name),
                std::process::id(),
                born(std::process::id()).unwrap_or_default(),
                line(&program)
            )
            .as_bytes(),
        )?;
        fs::rename(hidden, &path)?;
        Ok(Self { id, path, _locked: file })
    }

    pub(crate) fn id(&self) -> NodeId {
        self.id
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Whether a node's process lives. In doubt (the file cannot be asked), it does.
pub fn is_alive(root: &Root, id: NodeId) -> bool {
    is_locked(&path_of(root, id))
}

/// Whether the process of a node has ended altogether, so that no device works for it any more.
///
/// The lock is dropped when a process closes its files, which is just before the drivers of its devices clean up after it.
/// So its number is looked up too: it has ended when it is not there, belongs to another process by now, or is waited for by
/// its parent (a zombie has closed everything). In doubt (the system does not show its processes), the lock decides.
pub(crate) fn has_ended(root: &Root, id: NodeId) -> bool {
    if is_alive(root, id) {
        return false;
    }
    let Ok(text) = read_text(&path_of(root, id)) else { return true };
    let number = |key| field(&text, key).parse::<u64>().ok();
    let (Some(pid), Some(then)) = (number("pid").and_then(|pid| u32::try_from(pid).ok()), number("born"))
    else {
        return true;
    };
    if born(pid) != Some(then) {
        return true;
    }
    // Its first thread may have ended while others have not.
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else { return true };
    threads.flatten().all(|thread| match fs::read_to_string(thread.path().join("stat")) {
        Ok(stat) => matches!(fields(&stat).next(), Some("Z" | "X")),
        Err(_) => true,
    })
}

/// A descriptor of a node's process, readable when that has ended. Nothing if it is this process, or has ended, or cannot be had.
pub(crate) fn process_of(root: &Root, id: NodeId) -> Option<OwnedFd> {
    let text = read_text(&path_of(root, id)).ok()?;
    let number: i32 = field(&text, "pid").parse().ok()?;
    let then: u64 = field(&text, "born").parse().ok()?;
    if u32::try_from(number) == Ok(std::process::id()) {
        return None;
    }
    let process = pidfd_open(Pid::from_raw(number)?, PidfdFlags::empty()).ok()?;
    // Looked at after the descriptor was had: if it is the right one now, the descriptor is of the right one.
    (born(number as u32) == Some(then)).then_some(process)
}

/// When a process began, in the kernel's ticks since the machine did.
fn born(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    fields(&stat).nth(19)?.parse().ok()
}

/// What the kernel says of a process behind its name, which may hold anything: its state first.
fn fields(stat: &str) -> impl Iterator<Item = &str> {
    stat.rsplit(')').next().unwrap_or_default().split_whitespace()
}

/// Opens a file that may be anything: links are not followed, and a pipe is not waited for.
fn open(path: &Path) -> io::Result<File> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(path)
}

fn is_locked(path: &Path) -> bool {
    match open(path) {
        Ok(file) => rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared).is_err(),
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    }
}

/// All nodes whose files lie there, dead ones included, by name.
pub fn nodes(root: &Root) -> io::Result<Vec<NodeInfo>> {
    let entries = match fs::read_dir(root.nodes()) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut nodes: Vec<_> = entries.filter_map(|entry| read(&entry.ok()?.path())).collect();
    nodes.sort_by(|a, b| (&a.name, a.id).cmp(&(&b.name, b.id)));
    Ok(nodes)
}

/// What is known of one node; nothing if its file is gone.
pub fn node(root: &Root, id: NodeId) -> Option<NodeInfo> {
    read(&path_of(root, id))
}

fn read(path: &Path) -> Option<NodeInfo> {
    if path.extension()? != EXTENSION {
        return None;
    }
    let id = NodeId(u64::from_str_radix(path.file_stem()?.to_str()?, 16).ok()?);
    let text = read_text(path).ok()?;
    Some(NodeInfo {
        id,
        name: field(&text, "name").to_owned(),
        pid: field(&text, "pid").parse().unwrap_or(0),
        program: field(&text, "program").to_owned(),
        started_ms: field(&text, "started").parse().unwrap_or(0),
        alive: is_locked(path),
    })
}

fn read_text(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    open(path)?.take(MOST_TEXT).read_to_string(&mut text)?;
    Ok(text)
}

fn field<'a>(text: &'a str, key: &str) -> &'a str {
    text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' ')).unwrap_or_default()
}

/// Removes what those left who died while they wrote their file: nobody holds its lock.
pub(crate) fn bury_unfinished(root: &Root) {
    for path in fs::read_dir(root.nodes()).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()))
    {
        if path.extension().is_some_and(|extension| extension == UNFINISHED)
            && let Ok(file) = open(&path)
            // Exclusively, so that who has made it and is about to lock it sees that it is lost.
            && rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok()
        {
            let _ = fs::remove_file(&path);
        }
    }
}

/// Removes the file of a dead node whose process has ended. Its places in topics are found by its number, which no longer
/// answers.
pub(crate) fn bury(root: &Root, id: NodeId) {
    if has_ended(root, id) {
        let _ = fs::remove_file(path_of(root, id));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_lives_as_long_as_its_lock() {
        let path = PathBuf::from(format!("/dev/shm/situ-test-life-{}", std::process::id()));
        let root = Root::at(&path, None);
        root.prepare().unwrap();
        let life = Life::begin(&root, "camera\nfront").unwrap();
        let id = life.id();
        assert!(is_alive(&root, id));
        let listed = nodes(&root).unwrap();
        assert_eq!(listed.len(), 1);
        assert_eq!((listed[0].name.as_str(), listed[0].pid), ("camera front", std::process::id()));
        bury(&root, id);
        assert!(is_alive(&root, id), "the living are not buried");
        drop(life);
        assert!(!is_alive(&root, id));
        // Its file without its lock, while its process is there: as between the closing of its files and its end.
        let text = format!("pid {}\nborn {}\n", std::process::id(), born(std::process::id()).unwrap());
        fs::write(path_of(&root, NodeId(5)), &text).unwrap();
        assert!(!is_alive(&root, NodeId(5)) && !has_ended(&root, NodeId(5)));
        // Another process has its number by now.
        fs::write(path_of(&root, NodeId(5)), text.replace("born ", "born 1")).unwrap();
        assert!(has_ended(&root, NodeId(5)));
        // A child that has ended and that nobody has waited for yet.
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let text = format!("pid {}\nborn {}\n", child.id(), born(child.id()).unwrap());
        fs::write(path_of(&root, NodeId(6)), text).unwrap();
        while !has_ended(&root, NodeId(6)) {
            std::thread::yield_now();
        }
        child.wait().unwrap();
        fs::remove_file(path_of(&root, NodeId(5))).unwrap();
        fs::remove_file(path_of(&root, NodeId(6))).unwrap();
        // A file without a lock is what a killed process leaves.
        fs::write(path_of(&root, NodeId(7)), "situ-node 1\nname ghost\npid 1\n").unwrap();
        assert!(!is_alive(&root, NodeId(7)));
        assert!(!nodes(&root).unwrap()[0].alive);
        bury(&root, NodeId(7));
        assert!(nodes(&root).unwrap().is_empty());
        fs::remove_dir_all(&path).unwrap();
    }
}
