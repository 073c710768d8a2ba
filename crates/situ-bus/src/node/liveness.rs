//! Which nodes are alive: one file for each node, locked for as long as its process lives.
//!
//! The lock belongs to the open file, and the kernel drops it when the process ends, whatever the cause. Any
//! process can test the lock, so death needs no message.
//!
//! The lock alone is not enough: a child that was cloned without the handlers of `fork` has its parent's open
//! files, and any process may take the lock of a dead node. So the file also names the process, and a node
//! whose process has ended is dead, even if its lock is held. Where the process cannot be looked up, because
//! it is in another namespace, the lock alone decides.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::FlockOperation;
use situ_memory::beneath::{Beginning, beginning};
use situ_memory::fork::LockedFile;
use situ_memory::process::{Identity, State, Watch};
use situ_memory::{Beneath, OpenRoot};

use super::node_file::{Records, TEXT_SIZE, text_of};
use super::options::full_name;

/// The id of a node, unique in its root directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u64);

impl std::fmt::Display for NodeId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// The content of a node's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeInfo {
    /// The node's id.
    pub id: NodeId,
    /// The node's name.
    pub name: String,
    /// The node's namespace, such as `/robot`; `/` if it was given none.
    pub namespace: String,
    /// What it tells other participants beside its name. Situ does not interpret it.
    pub user_data: Vec<u8>,
    /// The id of its process.
    pub pid: u32,
    /// The path of its program.
    pub program: String,
    /// When it was created, in milliseconds since 1970.
    pub started_ms: u64,
    /// Whether its process is alive.
    pub alive: bool,
}

impl NodeInfo {
    /// The node's name with its namespace, such as `/robot/camera`.
    pub fn full_name(&self) -> String {
        full_name(&self.namespace, &self.name)
    }
}

/// What a node's file says about the node beside its process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Naming<'a> {
    pub(crate) name: &'a str,
    pub(crate) namespace: &'a str,
    pub(crate) user_data: &'a [u8],
}

/// The first bytes of a node's file.
const MAGIC: &[u8] = b"situ-node ";
pub(crate) const EXTENSION: &str = "node";
/// The extension of a node's file while it is written.
const UNFINISHED: &str = "new";

pub(crate) fn path_of(root: &OpenRoot, id: NodeId) -> Beneath {
    root.nodes().join(format!("{id}.{EXTENSION}"))
}

/// A number that no other process draws, from the kernel's random source.
pub(crate) fn unique() -> u64 {
    let mut bytes = [0u8; 8];
    // The kernel's random source does not fail once it is seeded, which is long before a program runs. If it
    // is missing, the clock and the process id are unique enough on one machine.
    match File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes)) {
        Ok(()) => u64::from_ne_bytes(bytes),
        Err(_) => crate::clock::now_ns().rotate_left(20) ^ u64::from(std::process::id()),
    }
}

/// A node's proof of life. Dropping it removes the file, unless it is a forked child's copy.
#[derive(Debug)]
pub(crate) struct Life {
    id: NodeId,
    place: Beneath,
    locked: LockedFile,
    records: Records,
}

impl Life {
    /// Writes and locks a node's file.
    pub(crate) fn begin(root: &OpenRoot, naming: Naming<'_>) -> io::Result<Self> {
        loop {
            let id = NodeId(unique());
            // The file is locked under a temporary name and then renamed. A process that finds a node
            // therefore finds it locked.
            let hidden = path_of(root, id).with_extension(UNFINISHED);
            match Self::begin_as(root, naming, id, &hidden) {
                // A cleaning process found the file before it was locked, and took its node for dead.
                Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::WouldBlock) => {
                    let _ = hidden.remove();
                    if root.nodes().open_directory().is_err() {
                        return Err(error);
                    }
                }
                Err(error) => {
                    let _ = hidden.remove();
                    return Err(error);
                }
                life => return life,
            }
        }
    }

    fn begin_as(root: &OpenRoot, naming: Naming<'_>, id: NodeId, hidden: &Beneath) -> io::Result<Self> {
        let place = path_of(root, id);
        let file = hidden.create(root.file_mode(), root.group())?;
        rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        let locked = LockedFile::new(file);
        locked.file().write_all_at(&text(naming), 0)?;
        hidden.rename(&place)?;
        Ok(Self { id, place, locked, records: Records::default() })
    }

    /// Adds a record to the node's file, and returns its slot. `None` if the file has no room for more.
    pub(crate) fn add_record(&self, record: &[u8]) -> io::Result<Option<usize>> {
        self.records.add(self.locked.file(), record)
    }

    /// Clears a record of the node's file, unless the node belongs to the parent of this process.
    pub(crate) fn clear_record(&self, slot: usize) {
        if self.is_ours() {
            self.records.clear(self.locked.file(), slot);
        }
    }

    pub(crate) fn id(&self) -> NodeId {
        self.id
    }

    /// The path of its file.
    pub(crate) fn path(&self) -> &Path {
        self.place.path()
    }

    /// Whether this process created it, and not a process that this one was forked from.
    pub(crate) fn is_ours(&self) -> bool {
        self.locked.is_ours()
    }
}

/// The first page of a node's file. The path of the program is cut where the page ends.
fn text(Naming { name, namespace, user_data }: Naming<'_>) -> Vec<u8> {
    let program = fs::read_link("/proc/self/exe").map(|p| p.display().to_string()).unwrap_or_default();
    let started = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_millis());
    let Identity { pid, born, namespaces } = Identity::of_this();
    let line = |text: &str| text.replace(['\n', '\r', '\0'], " ");
    let data: String = user_data.iter().map(|byte| format!("{byte:02x}")).collect();
    let mut text = format!(
        "situ-node 2\nname {}\nnamespace {}\npid {pid}\nborn {born}\nnamespaces {namespaces}\n\
         started {started}\ndata {data}\nprogram {}",
        line(name),
        line(namespace),
        line(&program)
    );
    while text.len() >= TEXT_SIZE {
        text.pop();
    }
    text.push('\n');
    let mut text = text.into_bytes();
    text.resize(TEXT_SIZE, 0);
    text
}

impl Drop for Life {
    fn drop(&mut self) {
        if self.is_ours() {
            let _ = self.place.remove();
        }
    }
}

/// Whether a node is alive. If the file cannot be read, the node counts as alive.
pub fn is_alive(root: &OpenRoot, id: NodeId) -> bool {
    match path_of(root, id).open(false) {
        Ok(file) => is_alive_by(root, id, &file),
        // If the root was removed, all files are gone, which tells nothing about the nodes.
        Err(error) => error.kind() != io::ErrorKind::NotFound || root.check().is_err(),
    }
}

/// The same, by its open file. A node without its lock is dead; a node with its lock is alive if its process
/// is.
fn is_alive_by(root: &OpenRoot, id: NodeId, file: &File) -> bool {
    rustix::fs::flock(file, FlockOperation::NonBlockingLockShared).is_err()
        && state_of(root, id, file) != State::Ended
}

/// Whether the process of a node has ended altogether, so that no device works for it any more.
///
/// A process drops the lock when it closes its files, which is just before the drivers of its devices clean
/// up after it. So the process is looked up too. If that is not possible, the lock decides.
pub(crate) fn has_ended(root: &OpenRoot, id: NodeId) -> bool {
    if is_alive(root, id) {
        return false;
    }
    let identity = read_text(&path_of(root, id)).map(|text| identity(&text));
    identity.map_or(State::Ended, |identity| identity.state()) != State::Runs
}

/// Returns a descriptor that is readable when a node's process has ended. `None` if the process is this one,
/// has ended, or cannot be opened.
pub(crate) fn process_of(root: &OpenRoot, id: NodeId) -> Option<OwnedFd> {
    let identity = identity(&read_text(&path_of(root, id)).ok()?);
    if identity.pid == std::process::id() {
        return None;
    }
    Watch::of(identity).into_descriptor()
}

/// What a process can find out about the process of another node.
pub(crate) enum Peering {
    /// It is this process.
    Own,
    /// The descriptor is readable when it has ended.
    Runs(OwnedFd),
    /// It has ended, or the node has left.
    Ended,
    /// There is no descriptor of it: only [`is_alive`] tells.
    Unknown,
}

/// Looks up the process of a node, for a participant that wants to know when it ends.
pub(crate) fn peering(root: &OpenRoot, id: NodeId) -> Peering {
    let Ok(text) = read_text(&path_of(root, id)) else {
        return if is_alive(root, id) { Peering::Unknown } else { Peering::Ended };
    };
    let identity = identity(&text);
    if identity == Identity::of_this() {
        return Peering::Own;
    }
    match Watch::of(identity).into_descriptor() {
        Some(process) => Peering::Runs(process),
        None if is_alive(root, id) => Peering::Unknown,
        None => Peering::Ended,
    }
}

pub(crate) fn identity(text: &str) -> Identity {
    let number = |key| field(text, key).parse().unwrap_or(0);
    let pid = u32::try_from(number("pid")).unwrap_or(0);
    Identity { pid, born: number("born"), namespaces: number("namespaces") }
}

/// How many nodes are cached.
const MAX_KNOWN: usize = 64;

/// The cached process of a node. With it, another check is one system call instead of the several calls that
/// read files. The nodes of a process share its descriptor.
struct Known {
    root: PathBuf,
    id: NodeId,
    process: Arc<Watch>,
}

/// The state of a node's process, by the node's open file.
fn state_of(root: &OpenRoot, id: NodeId, file: &File) -> State {
    static KNOWN: Mutex<Vec<Known>> = Mutex::new(Vec::new());
    let is_it = |known: &Known| known.id == id && known.root == root.path();
    // `try_lock`, because a process that was forked while the mutex was locked finds it locked for ever. Such
    // a process reads the file each time.
    let find = |wanted: &dyn Fn(&Known) -> bool| {
        KNOWN.try_lock().ok()?.iter().find(|it| wanted(it)).map(|it| it.process.clone())
    };
    let cached = find(&is_it);
    let is_known = cached.is_some();
    let process = cached.unwrap_or_else(|| {
        let identity = read_text_of(file).map(|text| identity(&text)).unwrap_or_default();
        find(&|known| known.process.identity() == identity).unwrap_or_else(|| Arc::new(Watch::of(identity)))
    });
    let state = process.state();
    if let Ok(mut known) = KNOWN.try_lock() {
        match (is_known, state) {
            (false, State::Runs) => {
                // The oldest entry is dropped. It is cached again if it is needed.
                known.truncate(MAX_KNOWN - 1);
                known.insert(0, Known { root: root.path().to_owned(), id, process });
            }
            (true, State::Ended) => known.retain(|it| !is_it(it)),
            _ => {}
        }
    }
    state
}

/// Returns all nodes of a root directory, dead ones included, by name.
pub fn nodes(root: &OpenRoot) -> io::Result<Vec<NodeInfo>> {
    let directory = root.nodes();
    let names = match directory.names() {
        Ok(names) => names,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut nodes: Vec<_> = names.into_iter().filter_map(|name| read(root, &directory.join(name))).collect();
    nodes.sort_by(|a, b| (&a.name, a.id).cmp(&(&b.name, b.id)));
    Ok(nodes)
}

/// Returns the information about one node. `None` if its file is gone.
pub fn node(root: &OpenRoot, id: NodeId) -> Option<NodeInfo> {
    read(root, &path_of(root, id))
}

fn read(root: &OpenRoot, place: &Beneath) -> Option<NodeInfo> {
    let id = number_of(place.name(), EXTENSION)?;
    let file = place.open(false).ok()?;
    let info = info_of(id, &read_text_of(&file).ok()?)?;
    Some(NodeInfo { alive: is_alive_by(root, id, &file), ..info })
}

/// What the text of a node's file says. `None` if a process that could not remove the file has emptied it:
/// see [`remove_dead_node`].
pub(crate) fn info_of(id: NodeId, text: &str) -> Option<NodeInfo> {
    if text.is_empty() {
        return None;
    }
    let namespace = field(text, "namespace");
    Some(NodeInfo {
        id,
        name: field(text, "name").to_owned(),
        namespace: if namespace.is_empty() { "/" } else { namespace }.to_owned(),
        user_data: bytes_of(field(text, "data")),
        pid: field(text, "pid").parse().unwrap_or(0),
        program: field(text, "program").to_owned(),
        started_ms: field(text, "started").parse().unwrap_or(0),
        alive: true,
    })
}

/// The bytes that hexadecimal digits stand for; none if they are not such.
fn bytes_of(digits: &str) -> Vec<u8> {
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    digits.as_bytes().chunks(2).map(byte).collect::<Option<_>>().unwrap_or_default()
}

fn read_text(place: &Beneath) -> io::Result<String> {
    read_text_of(&place.open(false)?)
}

/// Reads the text of an open file.
fn read_text_of(file: &File) -> io::Result<String> {
    let mut page = [0; TEXT_SIZE];
    let read = file.read_at(&mut page, 0)?;
    String::from_utf8(text_of(&page[..read]).to_vec())
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

fn field<'a>(text: &'a str, key: &str) -> &'a str {
    text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' ')).unwrap_or_default()
}

/// The number in a file's name, if the name is that of a node's file.
pub(crate) fn number_of(name: &OsStr, extension: &str) -> Option<NodeId> {
    let digits = name.to_str()?.strip_suffix(extension)?.strip_suffix('.')?;
    (digits.len() == 16).then(|| u64::from_str_radix(digits, 16).ok().map(NodeId)).flatten()
}

/// Whether a file with such a name may be removed: it begins as a node's file does, or was not written yet.
fn is_node_file(file: &File) -> bool {
    beginning(file, MAGIC) != Beginning::Foreign
}

/// Removes the files of processes that died while they wrote them: their locks are free.
pub(crate) fn remove_unfinished_nodes(root: &OpenRoot) {
    let directory = root.nodes();
    for name in directory.names().unwrap_or_default() {
        if number_of(&name, UNFINISHED).is_some() {
            // The lock is exclusive: a process that has created the file and is about to lock it then fails
            // to lock it.
            let lock =
                |file: &File| rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive).is_ok();
            directory.join(name).remove_if(|file| is_node_file(file) && lock(file));
        }
    }
}

/// Removes the file of a dead node whose process has ended. Its places in topics are found by its id, which
/// is then not alive any more.
///
/// In a root of a group, only the file's user and the directory's owner may remove the file. Other members of
/// the group empty it, so that it names no node. The user's next process, or the directory's owner, removes
/// it.
pub(crate) fn remove_dead_node(root: &OpenRoot, id: NodeId) {
    let place = path_of(root, id);
    if has_ended(root, id)
        && !place.remove_if(is_node_file)
        && let Ok(file) = place.open(true)
        && is_node_file(&file)
    {
        let _ = file.set_len(0);
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use situ_memory::Root;

    use super::*;

    #[test]
    fn a_node_lives_as_long_as_its_lock() {
        let path = PathBuf::from(format!("/dev/shm/situ-test-life-{}", std::process::id()));
        let root = Root::at(&path, None).prepare().unwrap();
        let naming = Naming { name: "camera\nfront", namespace: "/robot", user_data: &[0, 0xab] };
        let life = Life::begin(&root, naming).unwrap();
        let id = life.id();
        assert!(is_alive(&root, id));
        let listed = nodes(&root).unwrap();
        assert_eq!(listed.len(), 1);
        assert_eq!((listed[0].name.as_str(), listed[0].pid), ("camera front", std::process::id()));
        assert_eq!(
            (listed[0].full_name().as_str(), &*listed[0].user_data),
            ("/robot/camera front", &[0, 0xab][..])
        );
        remove_dead_node(&root, id);
        assert!(is_alive(&root, id), "a living node is not removed");
        drop(life);
        assert!(!is_alive(&root, id));
        // The file without its lock, while its process exists: the state between the closing of its files and
        // its end.
        let this = Identity::of_this();
        let text = |of: Identity| format!("pid {}\nborn {}\nnamespaces {}\n", of.pid, of.born, of.namespaces);
        let file = |id| path_of(&root, NodeId(id)).path().to_owned();
        fs::write(file(5), text(this)).unwrap();
        assert!(!is_alive(&root, NodeId(5)) && !has_ended(&root, NodeId(5)));
        // The process id belongs to another process by now.
        fs::write(file(5), text(Identity { born: this.born + 1, ..this })).unwrap();
        assert!(has_ended(&root, NodeId(5)));
        // A lock that another process holds does not keep it alive.
        let holder = File::open(file(5)).unwrap();
        rustix::fs::flock(&holder, FlockOperation::NonBlockingLockExclusive).unwrap();
        assert!(!is_alive(&root, NodeId(5)) && has_ended(&root, NodeId(5)));
        // In another namespace the process id tells nothing: the lock alone decides.
        fs::write(file(5), text(Identity { namespaces: this.namespaces + 1, ..this })).unwrap();
        assert!(is_alive(&root, NodeId(5)) && !has_ended(&root, NodeId(5)));
        drop(holder);
        assert!(!is_alive(&root, NodeId(5)) && has_ended(&root, NodeId(5)));
        // A child has ended and was not waited for, and another process holds its lock. The child is cached
        // from an earlier check.
        let mut child = std::process::Command::new("sleep").arg("100").spawn().unwrap();
        let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
        let born = stat.rsplit(')').next().unwrap().split_whitespace().nth(19).unwrap().parse().unwrap();
        fs::write(file(6), text(Identity { pid: child.id(), born, ..this })).unwrap();
        let holder = File::open(file(6)).unwrap();
        rustix::fs::flock(&holder, FlockOperation::NonBlockingLockExclusive).unwrap();
        assert!(is_alive(&root, NodeId(6)) && is_alive(&root, NodeId(6)));
        child.kill().unwrap();
        while is_alive(&root, NodeId(6)) {
            std::thread::yield_now();
        }
        assert!(has_ended(&root, NodeId(6)));
        child.wait().unwrap();
        assert!(!is_alive(&root, NodeId(6)) && has_ended(&root, NodeId(6)));
        drop(holder);
        fs::remove_file(file(5)).unwrap();
        fs::remove_file(file(6)).unwrap();
        // A killed process leaves a file without a lock.
        fs::write(path_of(&root, NodeId(7)).path(), "situ-node 1\nname ghost\npid 1\n").unwrap();
        assert!(!is_alive(&root, NodeId(7)));
        assert!(!nodes(&root).unwrap()[0].alive);
        remove_dead_node(&root, NodeId(7));
        assert!(nodes(&root).unwrap().is_empty());
        fs::remove_dir_all(&path).unwrap();
    }
}
