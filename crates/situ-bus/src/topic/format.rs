//! The bytes of a topic's files. The normative description is `spec/topic.md`.

use situ_memory::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use situ_memory::{DomainId, DomainKind, POOL_VERSION};

use super::unusable::Unusable;
use crate::protocol::ledger::Ledger;
use crate::protocol::ring::ENTRIES;
use crate::protocol::row::{Alone, LONG_WORDS, RowKind};
use crate::protocol::tenure::Tenure;

pub(crate) const MAGIC: u64 = u64::from_le_bytes(*b"SITUTOPI");
pub(crate) const VERSION: u32 = 12;
/// The version of the messages of services (`spec/service.md`). The header of a topic of a service has it.
pub(crate) const SERVICE_VERSION: u16 = 1;
pub(crate) const PAGE: usize = 4096;

/// The smallest number of rows. A row has 8 bytes, or up to 128 with a copy of a small message. A topic that
/// needs more rows grows.
pub(crate) const DEPTH: u32 = 64;
pub(crate) const MAX_DEPTH: u32 = 1 << 16;
/// How many places for subscribers a topic has.
pub(crate) const PLACES: u32 = 4096;
/// How many entries for publishers and their pools a topic has: a row names one in 13 bits. The last entry is
/// never taken, because a row that names it is a seal.
pub(crate) const PUBLISHERS: u32 = ENTRIES;
/// The number of memory domains that a topic has columns for.
pub(crate) const DOMAINS: u32 = 32;
/// The maximum size of a text (a name or the schema) that a topic carries, in bytes.
pub(crate) const MAX_TEXT: u32 = 1 << 24;

/// The beginning of a topic file. It is fixed when the topic is created.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    pub magic: u64,
    pub version: u32,
    pub header_size: u32,
    /// The topic's own number. A topic of the same name that is created later has another number.
    pub id: u64,
    pub schema_hash: u64,
    pub depth: u32,
    pub publishers: u32,
    pub domains: u32,
    pub topic_len: u32,
    pub rows_offset: u64,
    pub columns_offset: u64,
    pub publishers_offset: u64,
    pub text_offset: u64,
    pub type_len: u32,
    pub schema_len: u32,
    /// The size in bytes of the messages that rows copy, which all flat messages of the topic have; 0: rows
    /// copy none.
    pub copied_size: u32,
    /// The size in bytes of the user header that all messages have; 0: none.
    pub user_header_size: u32,
    /// 1: the topic [stands](super::standing) without members.
    pub stands: u32,
    /// The version of the pools of its publishers.
    pub pool_version: u16,
    /// The version of the messages of services, if it is a topic of a service; otherwise 0.
    pub service_version: u16,
}

const _: () = assert!(size_of::<Header>() == 104);

/// The offsets of the changing words of the header page. Each has a pair of cache lines of its own, because
/// processors fetch lines in pairs.
pub(crate) const HEAD_OFFSET: usize = 1024;
pub(crate) const WAKE_OFFSET: usize = 1152;
pub(crate) const ROOM_OFFSET: usize = 1280;
pub(crate) const REGISTRY_OFFSET: usize = 1408;
pub(crate) const DOMAIN_TABLE_OFFSET: usize = 1536;
pub(crate) const COUNTERS_OFFSET: usize = 2048;

/// The words that change when a subscriber must be woken. Publishers write them, and copiers.
#[repr(C, align(64))]
pub(crate) struct Rung {
    /// Changes when there is anything new.
    pub published: AtomicU32,
    /// Changes when there is something new that is complete.
    pub complete: AtomicU32,
}

/// The word by which publishers say that they wait for room.
#[repr(C, align(64))]
pub(crate) struct RoomArmed {
    pub armed: AtomicU32,
}

/// The hint of the end of the rows. Every publisher writes it, so it is alone on its line.
#[repr(C, align(64))]
pub(crate) struct Head {
    pub end: AtomicU64,
}

/// The words that change when a publisher joins or leaves, or when the topic grows. They are written rarely.
#[repr(C, align(64))]
pub(crate) struct Registry {
    /// No publisher's entry at or beyond this number was ever taken.
    pub publishers_used: AtomicU32,
    /// A hint: the number of rings behind the first.
    pub rings: AtomicU32,
    /// No subscriber needs a message before this number any more, and none begins there: the sealed rings
    /// before it are over.
    pub first: AtomicU64,
    /// The first number of the publisher that is alone, plus 1; 0: there is none. See
    /// [`row`](crate::protocol::row).
    pub alone: Alone,
    /// Changes whenever a publisher joins, leaves, is found dead, or is alive again. A futex.
    pub changes: AtomicU32,
    /// Not 0: there were a publisher and a subscriber that do not match. Never reset.
    pub mixed: AtomicU32,
}

/// The magic number of the file of a topic's subscribers.
pub(crate) const SUBSCRIBERS_MAGIC: u64 = u64::from_le_bytes(*b"SITUSUBS");

/// The beginning of the file of a topic's subscribers. It is fixed when the topic is created.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SubscribersHeader {
    pub magic: u64,
    pub version: u32,
    pub header_size: u32,
    /// The topic's number.
    pub id: u64,
    pub places: u32,
    pub reserved: u32,
    pub places_offset: u64,
    pub roster_offset: u64,
}

const _: () = assert!(size_of::<SubscribersHeader>() == 48);

/// The offset of its changing words: on a pair of cache lines of their own.
pub(crate) const ARRIVALS_OFFSET: usize = 128;
/// Every place has a page of its own, which gets memory with its first subscriber.
pub(crate) const PLACES_OFFSET: usize = PAGE;
/// The roster lies behind the places, where no participant maps it.
pub(crate) const ROSTER_OFFSET: usize = PLACES_OFFSET + PLACES as usize * PAGE;
pub(crate) const SUBSCRIBERS_END: usize = ROSTER_OFFSET + PLACES as usize * size_of::<RosterEntry>();

/// The words that change when a subscriber joins or is about to sleep. Every publisher reads them;
/// subscribers write them, rarely.
#[repr(C, align(64))]
pub(crate) struct Arrivals {
    /// Changes whenever a place is taken.
    pub epoch: AtomicU64,
    /// No place at or beyond this number was ever taken.
    pub places_used: AtomicU32,
    /// By these words subscribers say that they sleep until there is anything new, and until there is
    /// something new that is complete: see [`Rung`].
    pub armed: AtomicU32,
    pub armed_until_complete: AtomicU32,
    /// As [`Registry::changes`], of subscribers.
    pub changes: AtomicU32,
    /// As [`Registry::mixed`], stored by subscribers.
    pub mixed: AtomicU32,
    /// How often a subscriber has found the lease of a publisher over.
    pub lapses: AtomicU32,
}

/// The word that changes when a subscriber has made room for publishers that wait.
pub(crate) const ROOM_MADE_OFFSET: usize = 256;

#[repr(C, align(64))]
pub(crate) struct RoomMade {
    pub rung: AtomicU32,
}

impl SubscribersHeader {
    pub(crate) fn new(topic: u64) -> Self {
        Self {
            magic: SUBSCRIBERS_MAGIC,
            version: VERSION,
            header_size: size_of::<Self>() as u32,
            id: topic,
            places: PLACES,
            reserved: 0,
            places_offset: PLACES_OFFSET as u64,
            roster_offset: ROSTER_OFFSET as u64,
        }
    }

    /// Checks a header that another process wrote. Every access relies on this check.
    pub(crate) fn check(&self, topic: u64, file_size: u64) -> Result<(), Unusable> {
        if self.magic != SUBSCRIBERS_MAGIC {
            return Err("it does not begin with SITUSUBS".into());
        }
        if self.version != VERSION || self.header_size as usize != size_of::<Self>() {
            return Err(other_version(self.version));
        }
        if *self != Self::new(topic) {
            return Err(
                "it is not that of the topic beside it, or its parts are not where they belong".into()
            );
        }
        if file_size < SUBSCRIBERS_END as u64 { Err("the file is too short".into()) } else { Ok(()) }
    }
}

fn other_version(found: u32) -> Unusable {
    Unusable::OtherVersion { format: "topics", found, ours: VERSION }
}

/// The bits of the state word of a place and of a publisher. The count above them changes with each new
/// member, so that a compare-and-swap never matches the word of a later member.
pub(crate) mod state {
    pub const ACTIVE: u32 = 1;
    /// Its node was found dead, or the member left and its pool or place is still needed.
    pub const GONE: u32 = 2;
    /// A publisher waits for this subscriber.
    pub const BACKPRESSURE: u32 = 4;
    pub const RELIABLE: u32 = 8;
    pub const TRANSIENT_LOCAL: u32 = 16;
    /// The files of a gone pool were removed. Its entry waits until no bodies belong to it, or, for a pool of
    /// copies, until no entry of a row names it.
    pub const UNLINKED: u32 = 32;
    /// The entry belongs to a pool of bodies. Their heads lie in the pool of another entry. Its number is in
    /// `depth`.
    pub const BODIES: u32 = 64;
    /// The entry belongs to a pool of copies.
    pub const COPIES: u32 = 128;
    /// The member uses another version of the type than the topic carries.
    pub const VERSION: u32 = 256;
    /// The subscriber's type has no flat form, though its encoding is region: it cannot take flat messages.
    pub const NO_FLAT: u32 = 512;
    /// The subscriber's type has no region form: it cannot take regions.
    pub const NO_REGION: u32 = 1024;
    /// A publisher's liveliness is manual by topic, or a subscriber requests that.
    pub const MANUAL: u32 = 2048;
    pub const COUNT: u32 = 4096;
}

/// The first entry of the domain table: the host, which every topic has.
pub(crate) const HOST_COLUMN: usize = 0;
/// This bit marks a used word of the domain table.
pub(crate) const DOMAIN_USED: u64 = 1 << 63;

/// The counters of copies into one domain.
#[repr(C)]
pub(crate) struct CopyCounters {
    pub copies: AtomicU64,
    pub bytes: AtomicU64,
}

/// A subscriber's place, a page. Its first cache line has all that a publisher reads of a subscriber that
/// holds few slots.
#[repr(C, align(128))]
pub(crate) struct Place {
    /// The number of the subscriber's next message.
    pub cursor: AtomicU64,
    pub state: AtomicU32,
    /// The encoding of its type, as in a descriptor.
    pub encoding: AtomicU32,
    /// The slots that it holds.
    pub ledger: Ledger,
    pub node: AtomicU64,
    pub deadline_ns: AtomicU64,
    /// The number of messages that it lost.
    pub lost: AtomicU64,
    /// The number of messages that it took.
    pub taken: AtomicU64,
    /// The domain in which it takes: the kind in the upper half, the number in the lower.
    pub domain: AtomicU64,
    /// The number of messages that it keeps; 0: all.
    pub keep_last: AtomicU64,
    /// The layout that it reads; 0: any.
    pub layout_hash: AtomicU64,
    /// The number of the thread that used it last, if publishers wait for it; 0: none yet.
    pub thread: AtomicU64,
    /// Messages before this one were never promised.
    pub joined_at: AtomicU64,
    /// A random number of the subscriber's own: with the node, its id.
    pub number: AtomicU64,
    /// The longest lease of liveliness that it accepts; 0: any.
    pub lease_ns: AtomicU64,
    pub reserved: [AtomicU64; 5],
}

/// What the roster says of a place: see [`roster`](super::roster). A free place has zeroes.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct RosterEntry {
    /// The state word with which the subscriber took the place.
    pub state: u32,
    /// This and the following as in the place.
    pub encoding: u32,
    pub node: u64,
    pub domain: u64,
    pub layout_hash: u64,
    pub deadline_ns: u64,
    pub lease_ns: u64,
    pub reserved: [u64; 2],
}

const _: () = assert!(size_of::<RosterEntry>() == 64);

/// A publisher's entry. Its number is the `pool` of a row.
#[repr(C, align(128))]
pub(crate) struct PublisherEntry {
    pub state: AtomicU32,
    /// The encoding of its messages, as in a descriptor.
    pub encoding: AtomicU32,
    pub node: AtomicU64,
    /// Its pool, by the number that is also the name of the pool's file, and the first message of that pool.
    pub tenure: Tenure,
    pub domain: AtomicU64,
    pub layout_hash: AtomicU64,
    pub deadline_ns: AtomicU64,
    pub depth: AtomicU64,
    pub lifespan_ns: AtomicU64,
    /// The number of the place that it waits for, plus 1; 0: it does not wait.
    pub waits_for: AtomicU32,
    pub reserved: AtomicU32,
    /// The time since when it waits, by `CLOCK_MONOTONIC`.
    pub waits_since_ns: AtomicU64,
    /// Its lease of liveliness; 0: it has no end.
    pub lease_ns: AtomicU64,
    /// Its last sign of life, by `CLOCK_MONOTONIC`, if its liveliness is manual.
    pub asserted_ns: AtomicU64,
}

const _: () = assert!(COUNTERS_OFFSET + DOMAINS as usize * size_of::<CopyCounters>() <= PAGE);
const _: () = assert!(size_of::<Head>() == 64 && size_of::<Rung>() == 64 && size_of::<Registry>() == 64);
const _: () = assert!(size_of::<SubscribersHeader>() <= ARRIVALS_OFFSET && size_of::<Arrivals>() == 64);
const _: () = assert!(size_of::<PublisherEntry>() == 128);
#[cfg(not(loom))]
const _: () = assert!(size_of::<Place>() == PAGE && std::mem::offset_of!(Place, node) == PAGE - 128);

/// The beginning of every slot, before the head. Its publisher writes it. All other participants only read
/// it, and check it before use.
#[repr(C, align(64))]
#[derive(Default)]
pub(crate) struct Descriptor {
    pub published_at_ns: AtomicU64,
    /// The message's number plus 1; 0: the slot has had no message yet.
    pub sequence: AtomicU64,
    pub head_size: AtomicU32,
    pub encoding: AtomicU32,
    /// The offset from the beginning of the slot. A body in another domain has a slot of its own instead.
    pub body_offset: AtomicU64,
    pub body_size: AtomicU64,
    /// The entry of the body's pool, and [`BODY_IS_MESSAGE`]; [`BODY_IN_SLOT`] if it lies in this slot.
    pub body_pool: AtomicU32,
    pub body_slot: AtomicU32,
    pub lifespan_ns: AtomicU64,
    /// The number of messages that its publisher published before.
    pub publisher_sequence: AtomicU64,
}

pub(crate) const DESCRIPTOR: usize = size_of::<Descriptor>();
/// The largest user header, in bytes.
pub(crate) const MAX_USER_HEADER: u32 = 64;

/// The offset of the head in a slot: a user header lies directly before the head, in 64 bytes behind the
/// descriptor.
pub(crate) const fn head_offset(user_header_size: u32) -> usize {
    if user_header_size == 0 { DESCRIPTOR } else { DESCRIPTOR + MAX_USER_HEADER as usize }
}

/// Whether a topic can have user headers of this size.
pub(crate) const fn is_user_header(size: u32) -> bool {
    size <= MAX_USER_HEADER && size.is_multiple_of(8)
}
pub(crate) const BODY_IN_SLOT: u32 = u32::MAX;
/// The bits of `body_pool` that are the number of the entry of the body's pool.
pub(crate) const BODY_ENTRY: u32 = 0xffff;
/// The body is the message itself, on a device. The head then contains only what the publisher's CPU wrote.
pub(crate) const BODY_IS_MESSAGE: u32 = 0x1_0000;
const _: () = assert!(DESCRIPTOR == 64);

/// The offsets of the parts of a topic file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Parts {
    pub rows: usize,
    pub text: usize,
    /// Everything before this has memory from the start.
    pub publishers: usize,
    pub columns: usize,
    pub end: usize,
}

impl Parts {
    /// The parts of a topic with `depth` rows and `text` bytes of text.
    pub(crate) fn of(depth: u32, kind: RowKind, text: usize) -> Self {
        let rows = PAGE;
        let text_at = rows + depth as usize * kind.row_size();
        let publishers = (text_at + text).next_multiple_of(PAGE);
        let columns = publishers + PUBLISHERS as usize * size_of::<PublisherEntry>();
        let end = (columns + DOMAINS as usize * depth as usize * 8).next_multiple_of(PAGE);
        Self { rows, text: text_at, publishers, columns, end }
    }
}

/// The magic number of a further ring.
pub(crate) const RING_MAGIC: u64 = u64::from_le_bytes(*b"SITURING");

/// The beginning of the file of a further ring. All but the base is fixed when it is created.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RingHeader {
    pub magic: u64,
    pub version: u32,
    pub header_size: u32,
    /// The topic's number.
    pub id: u64,
    /// 1 for the first ring behind that of the topic's file.
    pub ring: u32,
    pub depth: u32,
    pub rows_offset: u64,
    pub columns_offset: u64,
    /// The number of its first message plus 1; 0 while it is not written yet.
    pub base: u64,
    /// As in the topic's header.
    pub copied_size: u32,
    pub user_header_size: u32,
}

const _: () = assert!(size_of::<RingHeader>() == 64);

/// The offsets of the parts of a further ring's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RingParts {
    pub rows: usize,
    pub columns: usize,
    pub end: usize,
}

impl RingParts {
    /// The parts of a ring with `depth` rows.
    pub(crate) fn of(depth: u32, kind: RowKind) -> Self {
        let rows = PAGE;
        let columns = (rows + depth as usize * kind.row_size()).next_multiple_of(PAGE);
        Self { rows, columns, end: (columns + DOMAINS as usize * depth as usize * 8).next_multiple_of(PAGE) }
    }
}

impl RingHeader {
    pub(crate) fn new(topic: &Header, ring: u32, depth: u32) -> Self {
        let parts = RingParts::of(depth, topic.row_kind());
        Self {
            magic: RING_MAGIC,
            version: VERSION,
            header_size: size_of::<Self>() as u32,
            id: topic.id,
            ring,
            depth,
            rows_offset: parts.rows as u64,
            columns_offset: parts.columns as u64,
            base: 0,
            copied_size: topic.copied_size,
            user_header_size: topic.user_header_size,
        }
    }

    /// Checks a header that another process wrote. Every access relies on this check.
    pub(crate) fn check(&self, topic: &Header, ring: u32, file_size: u64) -> Result<RingParts, Unusable> {
        if self.magic != RING_MAGIC {
            return Err("it does not begin with SITURING".into());
        }
        if self.version != VERSION || self.header_size as usize != size_of::<Self>() {
            return Err(other_version(self.version));
        }
        if !self.depth.is_power_of_two() || self.depth > MAX_DEPTH {
            return Err("impossible number of rows".into());
        }
        if *self != (Self { base: self.base, ..Self::new(topic, ring, self.depth) }) {
            return Err(
                "it is not the ring of this topic that its name says, or its parts are not where they belong"
                    .into(),
            );
        }
        let parts = RingParts::of(self.depth, topic.row_kind());
        if file_size < parts.end as u64 { Err("the file is too short".into()) } else { Ok(parts) }
    }
}

impl Header {
    pub(crate) fn new(id: u64, depth: u32, sizes: MessageSizes, schema_hash: u64, texts: [&str; 3]) -> Self {
        let MessageSizes { copied_size, user_header_size } = sizes;
        let parts = Parts::of(depth, sizes.row_kind(), texts.iter().map(|text| text.len()).sum());
        Self {
            magic: MAGIC,
            version: VERSION,
            header_size: size_of::<Self>() as u32,
            id,
            schema_hash,
            depth,
            publishers: PUBLISHERS,
            domains: DOMAINS,
            rows_offset: parts.rows as u64,
            columns_offset: parts.columns as u64,
            publishers_offset: parts.publishers as u64,
            text_offset: parts.text as u64,
            topic_len: texts[0].len() as u32,
            type_len: texts[1].len() as u32,
            schema_len: texts[2].len() as u32,
            copied_size,
            user_header_size,
            stands: 0,
            pool_version: POOL_VERSION as u16,
            service_version: 0,
        }
    }

    /// The sizes that all its messages have in common.
    fn sizes(&self) -> MessageSizes {
        MessageSizes { copied_size: self.copied_size, user_header_size: self.user_header_size }
    }

    /// What the topic's rows hold.
    pub(crate) fn row_kind(&self) -> RowKind {
        self.sizes().row_kind()
    }

    /// Checks a header that another process wrote. Every access relies on this check.
    pub(crate) fn check(&self, file_size: u64) -> Result<Parts, Unusable> {
        if self.magic != MAGIC {
            return Err("it does not begin with SITUTOPI".into());
        }
        if self.version != VERSION || self.header_size as usize != size_of::<Self>() {
            return Err(other_version(self.version));
        }
        // Participants map the pools of each other, and read the headers of each other's messages. So a
        // participant with another version of these does not join, instead of failing at each message.
        let found = u32::from(self.pool_version);
        if found != POOL_VERSION {
            return Err(Unusable::OtherVersion { format: "pools", found, ours: POOL_VERSION });
        }
        if ![0, SERVICE_VERSION].contains(&self.service_version) {
            let (found, ours) = (u32::from(self.service_version), u32::from(SERVICE_VERSION));
            return Err(Unusable::OtherVersion { format: "services", found, ours });
        }
        if !self.depth.is_power_of_two() || self.depth > MAX_DEPTH {
            return Err("impossible number of rows".into());
        }
        let text = [self.topic_len, self.type_len, self.schema_len];
        if text.iter().any(|len| *len > MAX_TEXT) {
            return Err("impossibly long text".into());
        }
        if !is_user_header(self.user_header_size) {
            return Err("impossible size of user headers".into());
        }
        if self.copied_size > 0 && !self.sizes().fit_rows() {
            return Err("impossible size of messages in rows".into());
        }
        let parts = Parts::of(self.depth, self.row_kind(), text.iter().map(|len| *len as usize).sum());
        let right = Self {
            publishers: PUBLISHERS,
            domains: DOMAINS,
            rows_offset: parts.rows as u64,
            columns_offset: parts.columns as u64,
            publishers_offset: parts.publishers as u64,
            text_offset: parts.text as u64,
            ..*self
        };
        if *self != right || self.stands > 1 {
            return Err("its parts are not where they belong".into());
        }
        if file_size < parts.end as u64 {
            return Err("the file is too short".into());
        }
        Ok(parts)
    }
}

/// The largest message that rows copy, with its user header, in bytes.
pub(crate) const MAX_COPIED: u32 = LONG_WORDS as u32 * 8;

/// The sizes that all messages of a topic have in common.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MessageSizes {
    /// The size of the messages that rows copy; 0: they vary, or rows copy none.
    pub copied_size: u32,
    /// The size of their user headers, at most [`MAX_USER_HEADER`].
    pub user_header_size: u32,
}

impl MessageSizes {
    /// Whether a row has room for a message and its user header.
    pub(crate) fn fit_rows(self) -> bool {
        self.copied_size <= MAX_COPIED - self.user_header_size
    }

    fn row_kind(self) -> RowKind {
        match self.copied_size {
            0 => RowKind::Plain,
            size => RowKind::for_messages((size + self.user_header_size) as usize),
        }
    }
}

pub(crate) fn domain_to_word(domain: DomainId) -> u64 {
    u64::from(domain.kind.number()) << 32 | u64::from(domain.number)
}

pub(crate) fn domain_from_word(word: &AtomicU64) -> DomainId {
    domain_from(word.load(Ordering::Relaxed) & !DOMAIN_USED)
}

pub(crate) fn domain_from(word: u64) -> DomainId {
    DomainId { kind: DomainKind::from_number((word >> 32) as u32), number: word as u32 }
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::*;

    /// Returns the rows of the table below a heading of `spec/topic.md`: offset, size, name.
    fn table(heading: &str) -> Vec<(usize, usize, String)> {
        let page = include_str!("../../../../spec/topic.md");
        let section = page.split(&format!("### {heading}\n")).nth(1).expect("the section is there");
        let section = section.split("\n#").next().unwrap();
        section
            .lines()
            .filter_map(|line| {
                let mut cells = line.strip_prefix("| ")?.split('|').map(str::trim);
                let (offset, size) = (cells.next()?.parse().ok()?, cells.next()?.parse().ok()?);
                Some((offset, size, cells.next()?.trim_matches('`').to_owned()))
            })
            .collect()
    }

    macro_rules! fields {
        ($type:ty: $($field:ident),*) => {
            vec![$((offset_of!($type, $field), size_of_field(|it: &$type| &raw const it.$field), stringify!($field).to_owned())),*]
        };
    }

    fn size_of_field<T, F>(_: impl FnOnce(&T) -> *const F) -> usize {
        size_of::<F>()
    }

    #[test]
    fn the_specification_names_every_field_where_it_is() {
        assert_eq!(
            table("Header"),
            fields!(Header: magic, version, header_size, id, schema_hash, depth, publishers, domains,
                topic_len, rows_offset, columns_offset, publishers_offset, text_offset, type_len, schema_len,
                copied_size, user_header_size, stands, pool_version, service_version)
        );
        assert_eq!(
            table("Subscribers' header"),
            fields!(SubscribersHeader: magic, version, header_size, id, places, reserved, places_offset, roster_offset)
        );
        assert_eq!(
            table("Place"),
            [
                fields!(Place: cursor, state, encoding),
                crate::protocol::ledger::FIELDS
                    .map(|(at, size, name)| (offset_of!(Place, ledger) + at, size, name.to_owned()))
                    .to_vec(),
                fields!(Place: node, deadline_ns, lost, taken, domain, keep_last, layout_hash, thread, joined_at, number,
                    lease_ns, reserved),
            ]
            .concat()
        );
        assert_eq!(
            table("Roster"),
            fields!(RosterEntry: state, encoding, node, domain, layout_hash, deadline_ns, lease_ns, reserved)
        );
        assert_eq!(
            table("Publisher"),
            [
                fields!(PublisherEntry: state, encoding, node),
                crate::protocol::tenure::FIELDS
                    .map(|(at, size, name)| {
                        (offset_of!(PublisherEntry, tenure) + at, size, name.to_owned())
                    })
                    .to_vec(),
                fields!(PublisherEntry: domain, layout_hash, deadline_ns, depth, lifespan_ns, waits_for, reserved,
                    waits_since_ns, lease_ns, asserted_ns),
            ]
            .concat()
        );
        assert_eq!(
            table("Ring header"),
            fields!(RingHeader: magic, version, header_size, id, ring, depth, rows_offset, columns_offset, base,
                copied_size, user_header_size)
        );
        let at = |offset, size, name: &str| (offset, size, name.to_owned());
        let registry = |offset, name| at(REGISTRY_OFFSET + offset, 4, name);
        assert_eq!(
            table("Words"),
            [
                at(HEAD_OFFSET + offset_of!(Head, end), 8, "head"),
                at(WAKE_OFFSET + offset_of!(Rung, published), 4, "published"),
                at(WAKE_OFFSET + offset_of!(Rung, complete), 4, "complete"),
                at(ROOM_OFFSET + offset_of!(RoomArmed, armed), 4, "room_armed"),
                registry(offset_of!(Registry, publishers_used), "publishers_used"),
                registry(offset_of!(Registry, rings), "rings"),
                at(REGISTRY_OFFSET + offset_of!(Registry, first), 8, "first"),
                at(REGISTRY_OFFSET + offset_of!(Registry, alone), 8, "alone"),
                registry(offset_of!(Registry, changes), "changes"),
                registry(offset_of!(Registry, mixed), "mixed"),
                at(DOMAIN_TABLE_OFFSET, 8, "domain table"),
                at(COUNTERS_OFFSET, 16, "copies"),
            ]
        );
        assert_eq!(
            table("Subscribers' words"),
            [
                at(ARRIVALS_OFFSET + offset_of!(Arrivals, epoch), 8, "epoch"),
                at(ARRIVALS_OFFSET + offset_of!(Arrivals, places_used), 4, "places_used"),
                at(ARRIVALS_OFFSET + offset_of!(Arrivals, armed), 4, "published_armed"),
                at(ARRIVALS_OFFSET + offset_of!(Arrivals, armed_until_complete), 4, "complete_armed"),
                at(ARRIVALS_OFFSET + offset_of!(Arrivals, changes), 4, "changes"),
                at(ARRIVALS_OFFSET + offset_of!(Arrivals, mixed), 4, "mixed"),
                at(ARRIVALS_OFFSET + offset_of!(Arrivals, lapses), 4, "lapses"),
                at(ROOM_MADE_OFFSET + offset_of!(RoomMade, rung), 4, "room"),
            ]
        );
    }

    #[test]
    fn the_specification_names_the_bits_of_the_state() {
        let page = include_str!("../../../../spec/topic.md");
        let section = page.split("### State\n").nth(1).unwrap().split("\n#").next().unwrap();
        for (bit, name) in [
            (state::ACTIVE, "ACTIVE"),
            (state::GONE, "GONE"),
            (state::BACKPRESSURE, "BACKPRESSURE"),
            (state::RELIABLE, "RELIABLE"),
            (state::TRANSIENT_LOCAL, "TRANSIENT_LOCAL"),
            (state::UNLINKED, "UNLINKED"),
            (state::BODIES, "BODIES"),
            (state::COPIES, "COPIES"),
            (state::VERSION, "VERSION"),
            (state::NO_FLAT, "NO_FLAT"),
            (state::NO_REGION, "NO_REGION"),
            (state::MANUAL, "MANUAL"),
        ] {
            assert!(section.contains(&format!("| {} | `{name}` |", bit.trailing_zeros())), "{name}");
        }
        assert!(section.contains(&format!("| {} and up | count |", state::COUNT.trailing_zeros())));
    }

    #[test]
    fn the_parts_lie_as_specified() {
        // Computed by hand for 1024 rows of 8 bytes and 100 bytes of text: 4096 + 8192, and 100 more, in
        // whole pages; 8192 publishers of 128; 32 columns of 8192.
        let parts =
            Parts { rows: 4096, text: 12_288, publishers: 16_384, columns: 1_064_960, end: 1_327_104 };
        let plain = RowKind::Plain;
        assert_eq!(Parts::of(1024, plain, 100), parts);
        // A row, and a text that ends with its page.
        assert_eq!((Parts::of(1, plain, 4088).text, Parts::of(1, plain, 4088).publishers), (4104, 8192));
        assert_eq!(Parts::of(1, plain, 4089).publishers, 12_288);
        assert_eq!(RingParts::of(1024, plain), RingParts { rows: 4096, columns: 12288, end: 274_432 });
        // 32 columns of one word, rounded up to a page.
        assert_eq!(RingParts::of(1, plain), RingParts { rows: 4096, columns: 8192, end: 12288 });
        // 1024 rows of 64 and of 128 bytes.
        let row_kind = |copied_size| MessageSizes { copied_size, user_header_size: 0 }.row_kind();
        assert_eq!(Parts::of(1024, row_kind(48), 0).text, 4096 + 65_536);
        assert_eq!(Parts::of(1024, row_kind(49), 0).text, 4096 + 131_072);
        assert_eq!(Parts::of(1024, row_kind(112), 0).text, 4096 + 131_072);
        assert_eq!(row_kind(113), plain);
        let with_header =
            |copied_size, user_header_size| MessageSizes { copied_size, user_header_size }.row_kind();
        assert_eq!((with_header(0, 64), with_header(8, 40)), (plain, RowKind::Short));
        assert_eq!((with_header(8, 48), with_header(48, 64)), (RowKind::Long, RowKind::Long));
        assert!(MessageSizes { copied_size: 48, user_header_size: 64 }.fit_rows());
        assert!(!MessageSizes { copied_size: 49, user_header_size: 64 }.fit_rows());
        assert_eq!((head_offset(0), head_offset(8), head_offset(64)), (64, 128, 128));
        assert!(is_user_header(0) && is_user_header(64) && !is_user_header(12) && !is_user_header(72));
        // A page, 4096 places of a page each, and 4096 entries of 64 bytes.
        assert_eq!((PLACES_OFFSET, ROSTER_OFFSET, SUBSCRIBERS_END), (4096, 16_781_312, 17_043_456));
    }

    #[test]
    fn the_descriptor_is_as_the_specification_of_pools_says() {
        let page = include_str!("../../../../spec/pool.md");
        let section = page.split("### Descriptor\n").nth(1).unwrap().split("\n#").next().unwrap();
        let fields = fields!(Descriptor: published_at_ns, sequence, head_size, encoding, body_offset, body_size,
            body_pool, body_slot, lifespan_ns, publisher_sequence);
        for (offset, size, name) in &fields {
            assert!(section.contains(&format!("| {offset} | {size} | `{name}` |")), "{name}");
        }
        assert_eq!(section.lines().filter(|line| line.contains("| `")).count(), fields.len());
    }
}
