//! Opening a blackboard, and reading its values.

use std::io;
use std::mem::MaybeUninit;

use situ_memory::sync::atomic::Ordering;
use situ_memory::{Access, OpenRoot};

use super::board::{Board, system};
use super::errors::{BlackboardReaderError, GetValueError};
use super::place::place_of;
use crate::node::liveness::{NodeId, is_alive};
use crate::protocol::cell::Found;
use crate::root::Root;
use crate::topic::TypeDescription;
use crate::topic::compat::first_difference;

/// What has become of the writer of a blackboard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriterState {
    /// It lives.
    Alive(NodeId),
    /// Its process has ended without leaving. The values stay, and the next writer with the same type and
    /// keys continues this blackboard.
    Dead(NodeId),
    /// It has left, or a writer with other keys has replaced it. The values stay, and nobody will continue
    /// this blackboard: open it again.
    Left,
}

/// A reader of a blackboard, whose type is known at run time. All threads may use it at once.
#[derive(Debug)]
pub struct RawBlackboardReader {
    board: Board,
    root: OpenRoot,
}

impl RawBlackboardReader {
    /// Opens a blackboard. With a `description`, its values must be of this type.
    pub fn open(
        root: &Root,
        name: &str,
        description: Option<&TypeDescription>,
    ) -> Result<Self, BlackboardReaderError> {
        match root.open()? {
            Some(root) => Self::open_in(&root, name, description),
            None => Err(BlackboardReaderError::Missing { name: name.to_owned() }),
        }
    }

    pub(crate) fn open_in(
        root: &OpenRoot,
        name: &str,
        description: Option<&TypeDescription>,
    ) -> Result<Self, BlackboardReaderError> {
        let place = place_of(root, name);
        let file = match place.open(false) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(BlackboardReaderError::Missing { name: name.to_owned() });
            }
            Err(error) => return Err(system("open", place.path(), error).into()),
        };
        let board = Board::open(&file, place.path(), Access::Read)?;
        if let Some(ours) = description {
            let theirs = &board.description;
            let are_same = (theirs.schema_hash, theirs.layout_hash, theirs.fixed_size)
                == (ours.schema_hash, ours.layout_hash, ours.fixed_size);
            if !are_same {
                return Err(BlackboardReaderError::Type {
                    name: name.to_owned(),
                    theirs: theirs.name.clone(),
                    ours: ours.name.clone(),
                    difference: first_difference(&theirs.schema, &ours.schema),
                });
            }
        }
        Ok(Self { board, root: root.clone() })
    }

    /// The blackboard's name.
    pub fn name(&self) -> &str {
        &self.board.name
    }

    /// The type of the values.
    pub fn description(&self) -> &TypeDescription {
        &self.board.description
    }

    /// The keys, in the order of their positions.
    pub fn keys(&self) -> &[String] {
        &self.board.keys
    }

    /// The position of a key. Reading by position needs no search.
    pub fn position(&self, key: &str) -> Option<usize> {
        self.board.position(key)
    }

    /// The writer's state. This reads files: do not call it for each value.
    pub fn writer(&self) -> WriterState {
        match NodeId(self.board.writer().load(Ordering::Acquire)) {
            NodeId(0) => WriterState::Left,
            node if is_alive(&self.root, node) => WriterState::Alive(node),
            node => WriterState::Dead(node),
        }
    }

    /// How many values were set so far, of all keys. A reader that polls looks here first: one load. (If a
    /// writer was killed, it may be lower by one; the next write is counted.)
    #[inline]
    pub fn changes(&self) -> u64 {
        self.board.changes().load(Ordering::Acquire)
    }

    /// How often the value of a key was set so far; 0: never, or there is no such key.
    #[inline]
    pub fn version_at(&self, position: usize) -> u64 {
        self.board.cell(position).map_or(0, |cell| cell.version())
    }

    /// Whether the value of a key was set after this version.
    #[inline]
    pub fn changed_since(&self, position: usize, version: u64) -> bool {
        self.version_at(position) != version
    }

    /// Copies the last value of the key at a position, and returns its version. `None` if it was never set;
    /// then `into` holds anything. Nothing is allocated, and the writer is not blocked.
    #[inline]
    pub fn get_at(
        &self,
        position: usize,
        into: &mut [MaybeUninit<u8>],
    ) -> Result<Option<u64>, GetValueError> {
        let board = &self.board;
        if !board.process.is_this() {
            return Err(GetValueError::Forked { name: board.name.clone() });
        }
        let Some(cell) = board.cell(position) else { return Err(self.unknown(&position.to_string())) };
        if into.len() != board.value_size() {
            let (size, expected) = (into.len(), board.value_size());
            return Err(GetValueError::Size { name: board.name.clone(), size, expected });
        }
        let found = cell.read(into);
        // Afterwards: what was copied of a file that was made shorter is zeroes.
        if board.is_damaged() {
            return Err(GetValueError::Damaged { name: board.name.clone() });
        }
        match found {
            Found::Nothing => Ok(None),
            Found::Value(version) => Ok(Some(version)),
            Found::Overrun => {
                let (name, key) = (board.name.clone(), board.keys[position].clone());
                Err(GetValueError::Overrun { name, key })
            }
        }
    }

    /// The last value of a key as bytes, with its version.
    pub fn get(&self, key: &str) -> Result<Option<(Vec<u8>, u64)>, GetValueError> {
        let Some(position) = self.position(key) else { return Err(self.unknown(key)) };
        let mut value = Vec::with_capacity(self.board.value_size());
        let size = self.board.value_size();
        let version = self.get_at(position, &mut value.spare_capacity_mut()[..size])?;
        Ok(version.map(|version| {
            // SAFETY: there is a value, so all its bytes were written.
            unsafe { value.set_len(size) };
            (value, version)
        }))
    }

    #[cold]
    pub(super) fn unknown(&self, key: &str) -> GetValueError {
        GetValueError::UnknownKey { name: self.board.name.clone(), key: key.to_owned() }
    }
}
