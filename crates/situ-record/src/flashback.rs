//! Keeps the last seconds of topics in shared memory, and writes them when they are asked for.
//!
//! The ring is a folder of short MCAP files in the root, in memory. They outlive every process. Any process
//! that may read the root can write them to a disk later ([`Ring::dump`]), also after a crash of everything.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use rustix::fs::{FlockOperation, flock};
use situ_bus::{Node, Root, RootError};

use crate::edit::{EditError, EditOptions, Edited, edit};
use crate::read::Reader;
use crate::record::{RecordError, RecordOptions, RecordReport, Recorder, Selection};
use crate::write::WriterOptions;

/// How many files a ring has, about.
const PARTS: u32 = 8;
/// How often old files are removed.
const TRIM: Duration = Duration::from_millis(500);
/// The least size at which the next file begins, and the size of a chunk.
const MIN_PART: u64 = 1 << 20;
/// The file that says that a process fills the ring.
const LOCK: &str = "lock";

/// What is kept.
#[derive(Debug)]
pub struct FlashbackOptions {
    /// The ring's name.
    pub name: String,
    /// The topics.
    pub selection: Selection,
    /// For how long.
    pub keep: Duration,
    /// How much memory it may take. The oldest messages go first.
    pub memory: u64,
}

/// Why a ring cannot be filled or written.
#[derive(Debug, thiserror::Error)]
pub enum FlashbackError {
    /// The root cannot be used.
    #[error(transparent)]
    Root(#[from] RootError),
    /// The name is not one of a ring.
    #[error("{0:?} is no name of a ring: use letters, digits, `_` and `-`")]
    Name(String),
    /// Another process fills it.
    #[error("another process fills the ring {0:?}: choose another name")]
    Busy(String),
    /// There is no such ring.
    #[error("there is no ring {name:?} in {folder}")]
    Missing {
        /// Its name.
        name: String,
        /// Where it would be.
        folder: PathBuf,
    },
    /// The system refuses.
    #[error("cannot use {path}: {source}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The kernel's error.
        source: io::Error,
    },
    /// Nothing can be recorded.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The new file cannot be written.
    #[error(transparent)]
    Edit(#[from] EditError),
}

/// A file of a ring.
struct Part {
    /// When its flashback began, in nanoseconds, and its number among the files of that.
    order: (u128, u64),
    size: u64,
    /// When it was last written.
    changed: SystemTime,
    path: PathBuf,
}

/// The place of a file in its ring, from its name. The times of changes are too coarse for that: a file
/// begins right after the one before it ends.
fn order(path: &Path) -> (u128, u64) {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let (begin, number) = stem.split_once('_').unwrap_or_default();
    (begin.parse().unwrap_or_default(), number.parse().unwrap_or_default())
}

/// A ring of files in memory.
#[derive(Debug, Clone)]
pub struct Ring {
    name: String,
    folder: PathBuf,
}

impl Ring {
    /// The ring of a name in a root. It need not exist.
    pub fn of(root: &Root, name: &str) -> Result<Self, FlashbackError> {
        let is_good = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
        if name.is_empty() || name.len() > 100 || !name.chars().all(is_good) {
            return Err(FlashbackError::Name(name.to_owned()));
        }
        Ok(Self { name: name.to_owned(), folder: root.path().join("flashback").join(name) })
    }

    /// Its files, the oldest first. Links are left out.
    fn files(&self) -> Result<Vec<Part>, FlashbackError> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(source) if source.kind() == io::ErrorKind::NotFound => {
                let (name, folder) = (self.name.clone(), self.folder.clone());
                return Err(FlashbackError::Missing { name, folder });
            }
            Err(source) => return Err(FlashbackError::Io { path: self.folder.clone(), source }),
        };
        let mut files = Vec::new();
        for entry in entries.flatten() {
            let path = entry.path();
            let Ok(metadata) = entry.metadata() else { continue };
            if metadata.is_file() && path.extension().is_some_and(|extension| extension == "mcap") {
                let changed = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
                files.push(Part { order: order(&path), size: metadata.len(), changed, path });
            }
        }
        files.sort_by_key(|file| file.order);
        Ok(files)
    }

    /// The bytes that it takes.
    pub fn bytes(&self) -> u64 {
        self.files().unwrap_or_default().iter().map(|file| file.size).sum()
    }

    /// Writes the last `keep` of it as a file. The process that fills it need not be there, and goes on if it
    /// is.
    pub fn dump(
        &self,
        output: &Path,
        keep: Duration,
        writer: WriterOptions,
    ) -> Result<Edited, FlashbackError> {
        // A file that was removed meanwhile is too old.
        let readers: Vec<Reader> =
            self.files()?.into_iter().filter_map(|file| Reader::open(file.path).ok()).collect();
        let last = readers.iter().map(|reader| reader.statistics().end_time).max().unwrap_or(0);
        let keep = u64::try_from(keep.as_nanos()).unwrap_or(u64::MAX);
        let options = EditOptions {
            output: output.to_owned(),
            writer,
            from: Some(last.saturating_sub(keep)),
            until: None,
            selection: Selection::all(),
        };
        let mut edited = edit(&readers, options, &mut |_| true)?;
        // The file that is being written has no end yet: that is no problem.
        edited.problems.retain(|problem| !problem.contains("summary"));
        Ok(edited)
    }

    /// Removes it, and gives its memory back.
    pub fn remove(&self) -> Result<(), FlashbackError> {
        for Part { path, .. } in self.files()? {
            fs::remove_file(&path).map_err(|source| FlashbackError::Io { path, source })?;
        }
        let _ = fs::remove_file(self.folder.join(LOCK));
        let _ = fs::remove_dir(&self.folder);
        if let Some(parent) = self.folder.parent() {
            // Other rings may be in it.
            let _ = fs::remove_dir(parent);
        }
        Ok(())
    }

    /// Removes what is older than `keep`, and the oldest files while it takes more than `memory`. The newest
    /// file stays.
    fn trim(&self, keep: Duration, memory: u64) {
        let files = self.files().unwrap_or_default();
        let mut total: u64 = files.iter().map(|file| file.size).sum();
        let newest = files.len().saturating_sub(1);
        for Part { size, changed, path, .. } in files.into_iter().take(newest) {
            let age = SystemTime::now().duration_since(changed).unwrap_or_default();
            if (age > keep || total > memory) && fs::remove_file(path).is_ok() {
                total -= size;
            }
        }
    }
}

/// Fills a ring.
pub struct Flashback {
    ring: Ring,
    recorder: Recorder,
    keep: Duration,
    /// How much memory the files may take at a trim. The newest file stays in any case.
    memory: u64,
    trimmed: Instant,
    /// The file that was written when the ring was last trimmed.
    trimmed_file: u64,
    /// Locked while this process fills the ring.
    _lock: File,
}

impl Flashback {
    /// Makes the ring, and joins the topics that are there. An earlier ring of the name goes on.
    pub fn start(node: &Node, root: &Root, options: FlashbackOptions) -> Result<Self, FlashbackError> {
        let ring = Ring::of(root, &options.name)?;
        let io = |path: &Path| {
            let path = path.to_owned();
            move |source| FlashbackError::Io { path, source }
        };
        // The node has checked that only trusted users may write to the root.
        fs::create_dir_all(&ring.folder).map_err(io(&ring.folder))?;
        let path = ring.folder.join(LOCK);
        let lock = File::options().create(true).truncate(false).write(true).open(&path).map_err(io(&path))?;
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => return Err(FlashbackError::Busy(options.name)),
            Err(error) => return Err(io(&path)(error.into())),
        }
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let part = (options.memory / u64::from(PARTS)).max(MIN_PART);
        let record = RecordOptions {
            output: ring.folder.join(format!("{}.mcap", now.as_nanos())),
            selection: options.selection,
            project: false,
            services: false,
            writer: WriterOptions {
                profile: "ros2".into(),
                split_time: Some((options.keep / PARTS).max(Duration::from_millis(250))),
                split_bytes: Some(part),
                chunk_bytes: MIN_PART,
                // The ring is trimmed by the sizes of its files. What waits for them must not be much more.
                queue_bytes: part,
                ..WriterOptions::default()
            },
        };
        let recorder = Recorder::start(node, root, record)?;
        // There must be room for the file that is written, and for what waits for it.
        let (keep, memory) = (options.keep, options.memory.saturating_sub(2 * part));
        Ok(Self { ring, recorder, keep, memory, trimmed: Instant::now(), trimmed_file: 0, _lock: lock })
    }

    /// Takes the messages that are there, or waits for some, at most for `timeout`.
    pub fn step(&mut self, timeout: Duration) -> Result<(), FlashbackError> {
        self.recorder.step(timeout)?;
        let file = self.recorder.file_number();
        if self.trimmed.elapsed() >= TRIM || file != self.trimmed_file {
            self.ring.trim(self.keep, self.memory);
            (self.trimmed, self.trimmed_file) = (Instant::now(), file);
        }
        Ok(())
    }

    /// The ring.
    pub fn ring(&self) -> &Ring {
        &self.ring
    }

    /// The recorder, for its counts and warnings.
    pub fn recorder(&mut self) -> &mut Recorder {
        &mut self.recorder
    }

    /// Takes the messages that are there, and waits until all that was taken is in the ring.
    pub fn flush(&mut self) -> Result<(), FlashbackError> {
        self.step(Duration::ZERO)?;
        Ok(self.recorder.writer().flush_and_wait().map_err(RecordError::from)?)
    }

    /// Ends. The ring stays, until it is removed.
    pub fn finish(self) -> RecordReport {
        self.recorder.finish()
    }
}
