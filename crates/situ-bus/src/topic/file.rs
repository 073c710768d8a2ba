//! A topic's own file, mapped, and its parts by name; also the rings and the places beside it.

use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

use situ_memory::fork::Process;
use situ_memory::sync::atomic::{AtomicU64, Ordering};
use situ_memory::{Access, Beneath, DomainId, HOST, Mapping, MemoryError, OpenRoot, find_memory};

use super::TypeDescription;
use super::files::{
    FILE, HIDDEN_FILE, Identity, SUBSCRIBERS_FILE, find_column, identify, is_forbidden, is_missing,
    is_topic_file, leads_to, open_if_there, system,
};
use super::format::{
    COUNTERS_OFFSET, CopyCounters, DOMAIN_TABLE_OFFSET, DOMAIN_USED, DOMAINS, HEAD_OFFSET, HOST_COLUMN, Head,
    Header, MessageSizes, PAGE, PUBLISHERS, Parts, PublisherEntry, REGISTRY_OFFSET, Registry,
    SERVICE_VERSION, domain_from_word, domain_to_word, head_offset,
};
use super::members::Places;
use super::names::is_hidden;
use super::removal::Removal;
use super::rights::{Permissions, Rights, Role};
use super::ring_files::Rings;
use super::state_list::StateList;
use crate::clock::now_ns;
use crate::node::liveness::unique;
use crate::protocol::ring::{Ring, Rows};

/// An open topic.
#[derive(Debug)]
pub(crate) struct Topic {
    pub(crate) root: OpenRoot,
    pub(crate) directory: Beneath,
    pub(crate) name: String,
    pub(crate) header: Header,
    pub(crate) type_name: String,
    pub(crate) schema: String,
    parts: Parts,
    map: Mapping,
    pub(super) rights: Rights,
    /// Those of its own file, for files of its rings.
    pub(super) permissions: Permissions,
    /// The entries of dead publishers that this participant cannot mark.
    pub(super) dead_entries: StateList,
    pub(crate) places: Places,
    pub(super) rings: Rings,
    /// When a subscriber of this process last checked for dead participants.
    pub(crate) looked_ns: std::sync::atomic::AtomicU64,
    pub(crate) removal: Removal,
    identity: Identity,
    /// The process that it belongs to. A forked child's copy is private zeroes.
    pub(crate) process: Process,
}

/// How many times a reader without the topic's lock starts again because the topic was removed and created
/// again in the meantime.
const TRIES: usize = 8;

impl Topic {
    /// Creates the files of a new topic. The caller holds the directory's lock.
    ///
    /// The old topic's name is removed first, and the new one's is created last, so that no name leads to
    /// files that do not belong together. A process that dies in between leaves a directory without a topic,
    /// in which the next participant starts again.
    pub(crate) fn create(
        root: &OpenRoot,
        directory: &Beneath,
        name: &str,
        description: &TypeDescription,
        (depth, sizes): (u32, MessageSizes),
        role: Role,
    ) -> Result<Self, MemoryError> {
        let permissions = [Permissions::of(root); 2];
        Self::create_with(root, directory, name, description, (depth, sizes, false), role, permissions)
    }

    /// The same with permissions of its own file and of that of its subscribers, and for a topic that
    /// `stands`.
    pub(super) fn create_with(
        root: &OpenRoot,
        directory: &Beneath,
        name: &str,
        description: &TypeDescription,
        (depth, sizes, stands): (u32, MessageSizes, bool),
        role: Role,
        [permissions, of_subscribers]: [Permissions; 2],
    ) -> Result<Self, MemoryError> {
        let texts = [name, &description.name, &description.schema];
        let header = Header::new(unique(), depth, sizes, description.schema_hash, texts);
        let service_version = if is_hidden(name) { SERVICE_VERSION } else { 0 };
        let header = Header { stands: u32::from(stands), service_version, ..header };
        let parts = Parts::of(depth, header.row_kind(), texts.iter().map(|text| text.len()).sum());
        // The file is created under another name, so that a reader of the directory never finds an unfinished
        // topic.
        let (place, named) = (directory.join(HIDDEN_FILE), directory.join(FILE));
        let hidden = place.path();
        named.remove_if(is_topic_file);
        Places::create(of_subscribers, directory, header.id)?;
        let places = Places::open(directory.join(SUBSCRIBERS_FILE), header.id, role.places())?;
        place.remove_if(is_topic_file);
        let file = place
            .create(permissions.mode, permissions.group)
            .map_err(|error| system("create", hidden, error))?;
        // It gets memory now, so that no later write can fail because the file system is full. Entries of
        // publishers and the columns of domains get theirs when they are taken.
        file.set_len(parts.end as u64).map_err(|error| system("size", hidden, error))?;
        find_memory(file.as_fd(), 0, parts.publishers as u64)
            .map_err(|error| system("find memory for", hidden, error))?;
        let map = Mapping::without_filling(file.as_fd(), parts.end, Access::ReadWrite)
            .map_err(|error| MemoryError::not_mapped(hidden, error))?;
        let identity = identify(&file).map_err(|error| system("look at", hidden, error))?;
        // SAFETY: the mapping begins on a page and is larger than a header; no other process knows the file
        // yet.
        unsafe { map.base().cast::<Header>().write(header) };
        let text = texts.concat();
        // SAFETY: `Parts::of` reserved exactly the size of the text; as above.
        unsafe { map.base().add(parts.text).copy_from_nonoverlapping(text.as_ptr(), text.len()) };
        // SAFETY: the table lies in the header page; its first word is the domain that every topic has.
        unsafe {
            map.base().add(DOMAIN_TABLE_OFFSET).cast::<u64>().write(domain_to_word(HOST) | DOMAIN_USED)
        };
        place.rename(&named).map_err(|error| system("name", named.path(), error))?;
        let rights = Rights::new(true, role == Role::Publisher);
        let writers = *rights.writers();
        rights.adjust(&map, writers).map_err(|error| system("protect", named.path(), error))?;
        Ok(Self {
            root: root.clone(),
            directory: directory.clone(),
            name: name.to_owned(),
            header,
            type_name: description.name.clone(),
            schema: description.schema.clone(),
            parts,
            map,
            rights,
            permissions,
            dead_entries: StateList::new(PUBLISHERS),
            places,
            rings: Rings::default(),
            looked_ns: now_ns().into(),
            removal: Removal::new(),
            identity,
            process: Process::this(),
        })
    }

    /// Opens and checks an existing topic. `None` if there is none.
    ///
    /// A topic without its subscribers' file counts as missing, like a topic without its own file. Its
    /// present members are told about the removal.
    pub(crate) fn open(
        root: &OpenRoot,
        directory: &Beneath,
        role: Role,
    ) -> Result<Option<Self>, MemoryError> {
        let place = directory.join(FILE);
        for _ in 0..TRIES {
            let Some((file, may_write)) = open_as(&place, role)? else { return Ok(None) };
            let identity = identify(&file).map_err(|error| system("look at", place.path(), error))?;
            let (header, parts) = Self::read_header(&file, place.path())?;
            let rights = Rights::new(may_write, role == Role::Publisher);
            match Places::open(directory.join(SUBSCRIBERS_FILE), header.id, role.places()) {
                Ok(places) => {
                    let file = (&file, identity, rights);
                    return Self::of(root, directory, file, (header, parts), places).map(Some);
                }
                // The caller does not hold the lock: the places belong to another topic, which was created in
                // the meantime.
                Err(_) if !leads_to(&place, identity) => {}
                Err(error) if is_missing(&error) => return Ok(None),
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    fn of(
        root: &OpenRoot,
        directory: &Beneath,
        (file, identity, rights): (&File, Identity, Rights),
        (header, parts): (Header, Parts),
        places: Places,
    ) -> Result<Self, MemoryError> {
        let place = directory.join(FILE);
        let path = place.path();
        let malformed =
            |reason: &str| MemoryError::Malformed { path: path.to_owned(), reason: reason.to_owned() };
        let access = if rights.may_write() { Access::ReadWrite } else { Access::Read };
        let map = Mapping::without_filling(file.as_fd(), parts.end, access)
            .map_err(|error| MemoryError::not_mapped(path, error))?;
        let writers = *rights.writers();
        rights.adjust(&map, writers).map_err(|error| system("protect", path, error))?;
        let permissions = match header.stands {
            0 => Permissions::of(root),
            _ => {
                let metadata = file.metadata().map_err(|error| system("look at", path, error))?;
                Permissions { mode: metadata.mode() & 0o777, group: Some(metadata.gid()) }
            }
        };
        let mut at = parts.text as u64;
        let mut text = |len: u32| -> Result<String, MemoryError> {
            let mut bytes = Vec::new();
            let there_is_memory = bytes.try_reserve_exact(len as usize);
            there_is_memory.map_err(|error| system("find memory for the text of", path, error.into()))?;
            bytes.resize(len as usize, 0);
            file.read_exact_at(&mut bytes, at).map_err(|error| system("read", path, error))?;
            at += u64::from(len);
            String::from_utf8(bytes).map_err(|_| malformed("its text is not UTF-8"))
        };
        let (name, type_name, schema) =
            (text(header.topic_len)?, text(header.type_len)?, text(header.schema_len)?);
        let topic = Self {
            root: root.clone(),
            directory: directory.clone(),
            name,
            header,
            type_name,
            schema,
            parts,
            map,
            rights,
            permissions,
            dead_entries: StateList::new(PUBLISHERS),
            places,
            rings: Rings::default(),
            looked_ns: now_ns().into(),
            removal: Removal::new(),
            identity,
            process: Process::this(),
        };
        topic.follow()?;
        Ok(topic)
    }

    /// The number of the topic in a directory. `None` if there is none.
    pub(super) fn id_in(directory: &Beneath) -> Result<Option<u64>, MemoryError> {
        let place = directory.join(FILE);
        let Some(file) = open_if_there(&place, false)? else { return Ok(None) };
        Self::read_header(&file, place.path()).map(|(header, _)| Some(header.id))
    }

    fn read_header(file: &File, path: &Path) -> Result<(Header, Parts), MemoryError> {
        let size = file.metadata().map_err(|error| system("look at", path, error))?.len();
        if size < PAGE as u64 {
            return Err(MemoryError::Malformed {
                path: path.to_owned(),
                reason: "it is too short".to_owned(),
            });
        }
        let mut bytes = [0u8; size_of::<Header>()];
        file.read_exact_at(&mut bytes, 0).map_err(|error| system("read", path, error))?;
        // SAFETY: a header is plain numbers without padding, for which any bytes are valid.
        let header = unsafe { bytes.as_ptr().cast::<Header>().read_unaligned() };
        let parts = header.check(size).map_err(|unusable| unusable.at(path))?;
        Ok((header, parts))
    }

    /// All mappings of the topic's own file and of its rings.
    pub(super) fn maps(&self) -> impl Iterator<Item = &Mapping> {
        std::iter::once(&self.map).chain(self.maps_of_further_rings())
    }

    /// A structure of atomics at an offset that [`Parts`] laid out. Writing it needs a
    /// [`Writing`](super::writing::Writing), which a publisher always has.
    #[inline]
    pub(super) fn part<T>(&self, offset: usize) -> &T {
        debug_assert!(self.map.at::<T>(offset).is_some());
        // SAFETY: the offsets come from `Parts`, which were checked against the mapping's length and are
        // aligned to their types. All parts consist of atomics, for which any bits are valid and sharing is
        // no data race.
        unsafe { &*self.map.base().add(offset).cast::<T>() }
    }

    /// The ring in the topic's own file. See [`ring`](Self::ring).
    #[inline]
    pub(super) fn first_ring(&self) -> Ring<'_> {
        // SAFETY: as in `part`: `depth` rows of this kind lie at `rows`, at the beginning of a page.
        let rows = unsafe {
            let at = self.map.base().add(self.parts.rows);
            Rows::at(self.header.row_kind(), at, self.header.depth as usize)
        };
        Ring::new(rows, &self.part::<Head>(HEAD_OFFSET).end)
    }

    /// The offset of the head in the slots of its messages.
    #[inline]
    pub(crate) fn head_offset(&self) -> usize {
        head_offset(self.header.user_header_size)
    }

    /// The size of its messages' user headers in bytes.
    #[inline]
    pub(crate) fn user_header_size(&self) -> usize {
        self.header.user_header_size as usize
    }

    /// The numbers of entries and rings that were ever used.
    #[inline]
    pub(crate) fn registry(&self) -> &Registry {
        self.part(REGISTRY_OFFSET)
    }

    /// A word of the domain table, below [`format::DOMAINS`](super::format::DOMAINS).
    fn domain_word(&self, column: usize) -> &AtomicU64 {
        assert!(column < DOMAINS as usize);
        self.part(DOMAIN_TABLE_OFFSET + column * 8)
    }

    /// The domains that were ever used in this topic, each with the number of its column.
    pub(crate) fn domains(&self) -> impl Iterator<Item = (usize, DomainId)> + '_ {
        (0..DOMAINS as usize)
            .map(|column| (column, self.domain_word(column)))
            .take_while(|(_, word)| word.load(Ordering::Acquire) & DOMAIN_USED != 0)
            .map(|(column, word)| (column, domain_from_word(word)))
    }

    /// Whether another domain than the host's was ever used in this topic. One load.
    #[inline]
    pub(crate) fn has_devices(&self) -> bool {
        self.domain_word(HOST_COLUMN + 1).load(Ordering::Acquire) & DOMAIN_USED != 0
    }

    /// The column of a domain, if the domain was ever used in this topic.
    pub(crate) fn column(&self, domain: DomainId) -> Option<usize> {
        self.domains().find(|(_, other)| *other == domain).map(|(column, _)| column)
    }

    /// Returns the column of a domain, and assigns one if it has none. `None` if no column is left. The
    /// caller holds the directory's lock.
    ///
    /// The columns get memory here, so that no later write can fail because the file system is full. The
    /// host's column gets memory too, because it is not used while there is no other domain. If the process
    /// dies before it writes the word of the table, the next participant repeats this.
    pub(crate) fn take_column(&self, domain: DomainId) -> Result<Option<usize>, MemoryError> {
        if let Some(column) = self.column(domain) {
            return Ok(Some(column));
        }
        let column = self.domains().count();
        if column == DOMAINS as usize {
            return Ok(None);
        }
        let _writing = self.writing()?;
        self.follow()?;
        for (place, columns, depth) in self.columns_of_rings() {
            let path = place.path();
            let file = place.open(true).map_err(|error| system("open", path, error))?;
            for column in [HOST_COLUMN, column] {
                find_column(&file, columns, depth, column)
                    .map_err(|error| system("find memory for", path, error))?;
            }
        }
        // Release: a process that sees the domain may use its column.
        self.domain_word(column).store(domain_to_word(domain) | DOMAIN_USED, Ordering::Release);
        Ok(Some(column))
    }

    /// The beginning of the first ring's columns, and the number of their rows: see [`entry`](Self::entry).
    pub(super) fn first_columns(&self) -> (*const u8, u32) {
        (self.map.base().wrapping_add(self.parts.columns), self.header.depth)
    }

    /// The files of all rings, each with the offset of its columns and the number of its rows.
    fn columns_of_rings(&self) -> Vec<(Beneath, u64, u32)> {
        let first = (self.directory.join(FILE), self.parts.columns as u64, self.header.depth);
        std::iter::once(first).chain(self.columns_of_further_rings()).collect()
    }

    /// The counters of copies into the domain of a column.
    pub(crate) fn copies(&self, column: usize) -> &CopyCounters {
        assert!(column < DOMAINS as usize);
        self.part(COUNTERS_OFFSET + column * size_of::<CopyCounters>())
    }

    /// No publisher's entry at or beyond this number was ever taken.
    pub(crate) fn used_entries(&self) -> usize {
        self.registry().publishers_used.load(Ordering::SeqCst).min(PUBLISHERS) as usize
    }

    /// The entry that another process named, if it was ever taken. Others may have no memory.
    pub(crate) fn named_entry(&self, index: usize) -> Option<&PublisherEntry> {
        (index < self.used_entries()).then(|| self.publisher(index))
    }

    /// A publisher's entry that was ever taken, or was given memory.
    #[inline]
    pub(crate) fn publisher(&self, index: usize) -> &PublisherEntry {
        assert!(index < PUBLISHERS as usize);
        self.part(self.parts.publishers + index * size_of::<PublisherEntry>())
    }

    /// Gives a publisher's entry memory, before it is taken. Under the lock of the directory.
    pub(super) fn find_memory_for_entry(&self, index: usize) -> Result<(), MemoryError> {
        let at = self.parts.publishers + index * size_of::<PublisherEntry>();
        if index < self.used_entries() || !at.is_multiple_of(PAGE) {
            return Ok(());
        }
        let place = self.file();
        let file = place.open(true).map_err(|error| system("open", place.path(), error))?;
        find_memory(file.as_fd(), at as u64, PAGE as u64)
            .map_err(|error| system("find memory for", place.path(), error))
    }

    /// The topic's own file.
    pub(crate) fn file(&self) -> Beneath {
        self.directory.join(FILE)
    }

    /// Whether its own file still has its name. If that cannot be determined, it counts as named.
    pub(crate) fn is_named(&self) -> bool {
        leads_to(&self.file(), self.identity)
    }

    /// Whether one of its files was truncated while it was mapped, as the guard has found.
    pub(crate) fn is_damaged(&self) -> bool {
        self.maps().any(Mapping::is_damaged) || self.places.is_damaged()
    }

    /// The file to name in an error if one of its files was truncated.
    pub(crate) fn damaged_file(&self) -> Beneath {
        if self.places.is_damaged() { self.places.file().clone() } else { self.file() }
    }

    /// The control file of the pool with this number.
    pub(crate) fn pool_path(&self, pool: u64) -> Beneath {
        self.directory.join(format!("{pool:016x}.pool"))
    }
}

/// Opens the topic's own file as this role needs it. Returns also whether it may be written.
fn open_as(place: &Beneath, role: Role) -> Result<Option<(File, bool)>, MemoryError> {
    if role == Role::Observer {
        return Ok(open_if_there(place, false)?.map(|file| (file, false)));
    }
    match open_if_there(place, true) {
        Err(error) if role == Role::Subscriber && is_forbidden(&error) => {
            Ok(open_if_there(place, false)?.map(|file| (file, false)))
        }
        opened => Ok(opened?.map(|file| (file, true))),
    }
}
