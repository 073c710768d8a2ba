//! Creating a blackboard, and setting its values.
//!
//! A writer keeps its file locked. The lock ends with the process, so a file without a lock has no writer,
//! and the next writer may take it over: with the same type and the same keys it continues the file, values
//! and readers included. Otherwise it puts a new file in its place, and tells readers of the old one by its
//! word `writer`.
//!
//! A new file is complete before it has the blackboard's name. A writer that dies before leaves a file with
//! another name, which [`clean_blackboards`](super::list::clean_blackboards) removes.

use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;

use rustix::fs::FlockOperation;
use situ_memory::beneath::{Beginning, beginning};
use situ_memory::fork::LockedFile;
use situ_memory::sync::atomic::Ordering;
use situ_memory::{Access, Beneath, MemoryError, find_memory};

use super::board::{Board, system};
use super::errors::{BlackboardWriterError, SetValueError};
use super::format::{
    Header, MAGIC, MAX_FILE, MAX_KEYS, MAX_TEXT, MAX_VALUE, TEXT_OFFSET, WRITER_OFFSET, is_key, keys_to_bytes,
};
use super::place::{EXTENSION, UNFINISHED, leads_to, leave, place_of};
use crate::node::handle::Node;
use crate::node::liveness::unique;
use crate::topic::compat::SchemaFlags;
use crate::topic::{Encoding, TypeDescription, names};

/// How often a writer starts again because another one came or went in the meantime.
const TRIES: usize = 64;

/// The writer of a blackboard, whose type is known at run time. Dropping it removes the blackboard's name;
/// readers that have it open keep the last values.
#[derive(Debug)]
pub struct RawBlackboardWriter {
    board: Board,
    place: Beneath,
    /// Dropped after `drop` has removed the name.
    locked: LockedFile,
    _node: Node,
}

/// What a new file holds.
struct Content<'a> {
    header: Header,
    text: Vec<u8>,
    name: &'a str,
    description: &'a TypeDescription,
    keys: Vec<String>,
}

impl Content<'_> {
    fn is_that_of(&self, board: &Board) -> bool {
        let (ours, theirs) = (self.description, &board.description);
        self.name == board.name
            && self.keys == board.keys
            && (&ours.name, &ours.schema) == (&theirs.name, &theirs.schema)
            && (ours.schema_hash, ours.layout_hash) == (theirs.schema_hash, theirs.layout_hash)
            && ours.fixed_size == theirs.fixed_size
    }

    /// Creates a file under a hidden name, locks it, and writes it.
    fn write(&self, node: &Node, hidden: &Beneath) -> Result<LockedFile, MemoryError> {
        let (root, path) = (&node.inner.root, hidden.path());
        let file =
            hidden.create(root.file_mode(), root.group()).map_err(|error| system("create", path, error))?;
        let filled = self.fill(node, file).map_err(|(action, error)| system(action, path, error));
        filled.inspect_err(|_| _ = hidden.remove())
    }

    fn fill(&self, node: &Node, file: File) -> Result<LockedFile, (&'static str, io::Error)> {
        rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive)
            .map_err(|error| ("lock", error.into()))?;
        let locked = LockedFile::new(file);
        let file = locked.file();
        let end = self.header.parts().end as u64;
        file.set_len(end).map_err(|error| ("size", error))?;
        // All memory now, so that no later write fails because the file system is full.
        find_memory(file.as_fd(), 0, end).map_err(|error| ("find memory for", error))?;
        file.write_all_at(&self.text, TEXT_OFFSET as u64)
            .and_then(|()| file.write_all_at(&node.inner.life.id().0.to_le_bytes(), WRITER_OFFSET as u64))
            .and_then(|()| file.write_all_at(&self.header.to_bytes(), 0))
            .map_err(|error| ("write", error))?;
        Ok(locked)
    }

    /// Creates the blackboard's file. `None` if another writer was faster.
    fn begin(
        &self,
        node: &Node,
        hidden: &Beneath,
        place: &Beneath,
    ) -> Result<Option<LockedFile>, BlackboardWriterError> {
        let locked = self.write(node, hidden)?;
        match hidden.rename_new(place) {
            Ok(()) => Ok(Some(locked)),
            Err(error) => {
                let _ = hidden.remove();
                if error.kind() == io::ErrorKind::AlreadyExists {
                    return Ok(None);
                }
                Err(system("name", place.path(), error).into())
            }
        }
    }

    /// Continues the file of a dead writer, or puts a new one in its place and tells its readers. `None` if
    /// the file has lost its name meanwhile.
    fn take_over(
        &self,
        node: &Node,
        file: File,
        hidden: &Beneath,
        place: &Beneath,
    ) -> Result<Option<LockedFile>, BlackboardWriterError> {
        if rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            return Err(BlackboardWriterError::Written { name: self.name.to_owned() });
        }
        let old = LockedFile::new(file);
        if !leads_to(place, old.file()) {
            return Ok(None);
        }
        if Board::open(old.file(), place.path(), Access::Read).is_ok_and(|board| self.is_that_of(&board)) {
            return Ok(Some(old));
        }
        if beginning(old.file(), &MAGIC.to_le_bytes()) == Beginning::Foreign {
            let reason = "it is no blackboard".to_owned();
            return Err(MemoryError::Malformed { path: place.path().to_owned(), reason }.into());
        }
        let locked = self.write(node, hidden)?;
        if let Err(error) = hidden.rename(place) {
            let _ = hidden.remove();
            return Err(system("name", place.path(), error).into());
        }
        leave(old.file());
        Ok(Some(locked))
    }
}

impl RawBlackboardWriter {
    /// Creates a blackboard for values of a flat type of a fixed size, or continues the one that a dead
    /// writer of the same type and keys has left.
    pub fn create(
        node: &Node,
        name: &str,
        description: &TypeDescription,
        keys: impl IntoIterator<Item = impl Into<String>>,
    ) -> Result<Self, BlackboardWriterError> {
        let keys = keys.into_iter().take(MAX_KEYS + 1).map(Into::into).collect();
        let content = check(name, description, keys)?;
        if !node.inner.life.is_ours() {
            return Err(BlackboardWriterError::Forked { name: name.to_owned() });
        }
        let root = &node.inner.root;
        let directory = root.make_blackboards()?;
        let place = place_of(root, name);
        for _ in 0..TRIES {
            let hidden = directory.join(format!("{:016x}.{UNFINISHED}", unique()));
            let locked = match place.open(true) {
                Ok(file) => content.take_over(node, file, &hidden, &place)?,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    content.begin(node, &hidden, &place)?
                }
                Err(error) => return Err(system("open", place.path(), error).into()),
            };
            let Some(locked) = locked else { continue };
            let board = Board::open(locked.file(), place.path(), Access::ReadWrite)?;
            board.writer().store(node.inner.life.id().0, Ordering::Release);
            return Ok(Self { board, place, locked, _node: node.clone() });
        }
        Err(BlackboardWriterError::Written { name: name.to_owned() })
    }

    /// The blackboard's name.
    pub fn name(&self) -> &str {
        &self.board.name
    }

    /// The keys, in the order of their positions.
    pub fn keys(&self) -> &[String] {
        &self.board.keys
    }

    /// The position of a key.
    pub fn position(&self, key: &str) -> Option<usize> {
        self.board.position(key)
    }

    /// Replaces the value of a key, and returns its new version. Nothing is allocated, and no reader can make
    /// this wait.
    pub fn set(&mut self, key: &str, value: &[u8]) -> Result<u64, SetValueError> {
        match self.position(key) {
            Some(position) => self.set_at(position, value),
            None => Err(self.unknown(key)),
        }
    }

    /// The same for the key at a position.
    #[inline]
    pub fn set_at(&mut self, position: usize, value: &[u8]) -> Result<u64, SetValueError> {
        if !self.locked.is_ours() {
            return Err(SetValueError::Forked { name: self.board.name.clone() });
        }
        let expected = self.board.value_size();
        if value.len() != expected {
            let name = self.board.name.clone();
            return Err(SetValueError::Size { name, size: value.len(), expected });
        }
        let Some(cell) = self.board.cell(position) else { return Err(self.unknown(&position.to_string())) };
        let version = cell.write(value);
        // A reader that sees the new count also sees the value. If the writer dies before, the count is too
        // low by one, and the next write makes readers look.
        let changes = self.board.changes();
        changes.store(changes.load(Ordering::Relaxed).wrapping_add(1), Ordering::Release);
        Ok(version)
    }

    #[cold]
    fn unknown(&self, key: &str) -> SetValueError {
        SetValueError::UnknownKey { name: self.board.name.clone(), key: key.to_owned() }
    }
}

impl Drop for RawBlackboardWriter {
    fn drop(&mut self) {
        if self.locked.is_ours() {
            // Readers learn first that this is over. A writer that finds the name still there fails, because
            // the lock ends last.
            self.board.writer().store(0, Ordering::Release);
            if leads_to(&self.place, self.locked.file()) {
                let _ = self.place.remove();
            }
        }
    }
}

/// Checks what a new blackboard is to hold.
fn check<'a>(
    name: &'a str,
    description: &'a TypeDescription,
    keys: Vec<String>,
) -> Result<Content<'a>, BlackboardWriterError> {
    let file_name = crate::root::file_name(name).len() + 1 + EXTENSION.len();
    if names::check_given(name).is_err() || file_name > 255 {
        return Err(BlackboardWriterError::InvalidName(name.to_owned()));
    }
    let size = description.fixed_size as usize;
    let texts = [description.name.len(), description.schema.len()];
    let is_flat = description.encoding == Encoding::Flat && !SchemaFlags::read(&description.schema).has_bulk;
    let fits = (1..=MAX_VALUE).contains(&size) && texts.into_iter().all(|len| len <= MAX_TEXT);
    if !is_flat || !fits || description.name.is_empty() {
        let type_name = description.name.clone();
        let size = if is_flat { description.fixed_size } else { 0 };
        return Err(BlackboardWriterError::Type { name: name.to_owned(), type_name, size });
    }
    let mut seen = HashSet::new();
    if let Some(key) = keys.iter().find(|key| !is_key(key) || !seen.insert(key.as_str())) {
        return Err(BlackboardWriterError::Key { name: name.to_owned(), key: key.clone() });
    }
    let too_large = || BlackboardWriterError::Size { name: name.to_owned(), keys: keys.len(), size };
    if keys.is_empty() || keys.len() > MAX_KEYS {
        return Err(too_large());
    }
    let keys_text = keys_to_bytes(&keys);
    let lens = [name.len(), texts[0], texts[1], keys_text.len()].map(|len| len as u32);
    let hashes = (description.schema_hash, description.layout_hash);
    let header = Header::new(hashes, description.fixed_size, keys.len() as u32, lens);
    if header.parts().end > MAX_FILE {
        return Err(too_large());
    }
    let mut text = [name, &description.name, &description.schema].concat().into_bytes();
    text.extend_from_slice(&keys_text);
    Ok(Content { header, text, name, description, keys })
}
