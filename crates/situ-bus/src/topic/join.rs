//! Joining a topic: places, publishers' entries, and the compatibility of members.
//!
//! All of it happens under the lock of the topic's directory. The kernel releases the lock if its holder
//! dies. No hot path takes it. A participant that joins or leaves repairs first (see `repair`).

use std::sync::Arc;

use situ_memory::sync::atomic::{Ordering, fence};
use situ_memory::{Beneath, DomainError, DomainId, HOST, OpenRoot, PoolView};

use super::compat::{SchemaFlags, first_difference};
use super::entries::{active_publishers, used_publishers};
use super::file::Topic;
use super::format::{DEPTH, MAX_DEPTH, MessageSizes, PLACES, domain_to_word, is_user_header, state};
use super::lock::Lock;
use super::members::PlaceView;
use super::names;
use super::offers::offers;
use super::own_place::OwnPlace;
use super::register_error::RegisterError;
use super::repair::{give_up_oldest, is_over, remove_files, remove_topic, repair};
use super::rights::Role;
use super::state_word::StateWord;
use super::{Encoding, TypeDescription};
use crate::clock::now_ns;
use crate::node::liveness::{NodeId, unique};
use crate::node::peer::Peer;
use crate::protocol::flow_window;
use crate::protocol::ring::SEAL_POOL;
use crate::protocol::tenure::NO_MESSAGES;
use crate::qos::{PublisherQos, SubscriberQos, Terms};

/// The properties of a participant that joins.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Registration<'a> {
    pub root: &'a OpenRoot,
    pub node: NodeId,
    pub topic: &'a str,
    pub description: &'a TypeDescription,
    /// What the description's schema says.
    pub flags: SchemaFlags,
    pub terms: Terms,
    /// The minimum number of rows that the participant needs.
    pub depth: usize,
    pub publishes: bool,
    /// The domain of its bodies, or the domain in which it takes.
    pub domain: DomainId,
    /// `state::NO_FLAT` and `state::NO_REGION`, if the type of a subscriber lacks these forms.
    pub missing_forms: u32,
}

/// A topic that was joined, while its lock is held.
pub(crate) struct Joined {
    pub topic: Arc<Topic>,
    lock: Lock,
}

impl Drop for Joined {
    /// A participant that created the topic but could not join removes it.
    fn drop(&mut self) {
        if is_over(&self.topic) {
            remove_topic(&self.topic.directory, &self.lock);
        }
    }
}

impl Registration<'_> {
    /// Opens or creates the topic, and repairs the state that dead members left.
    pub(crate) fn join(&self) -> Result<Joined, RegisterError> {
        names::check(self.topic)?;
        self.description.check_lengths(self.topic)?;
        let size = self.description.user_header_size;
        if !is_user_header(size) {
            return Err(RegisterError::UserHeaderSize { topic: self.topic.to_owned(), size });
        }
        self.check_depth(MAX_DEPTH / 2)?;
        self.root.complete()?;
        let role = if self.publishes { Role::Publisher } else { Role::Subscriber };
        let directory = self.root.topic(self.topic);
        let lock = Lock::acquire(self.root, &directory, self.topic)?;
        if let Some(topic) = Topic::open(self.root, &directory, role)? {
            repair(&topic, &lock);
            if is_over(&topic) {
                // All former members are dead: create the topic again, whatever type or depth they had.
                remove_files(&lock);
            } else {
                self.check_type(&topic)?;
                self.check_user_header(&topic)?;
                self.grow(&topic, &lock)?;
                return Ok(self.joined(topic, lock));
            }
        }
        match Topic::create(self.root, &directory, self.topic, self.description, self.size(), role) {
            Ok(topic) => Ok(self.joined(topic, lock)),
            Err(error) => {
                remove_topic(&directory, &lock);
                Err(error.into())
            }
        }
    }

    fn joined(&self, topic: Topic, lock: Lock) -> Joined {
        topic.removal.watch_node(crate::node::liveness::path_of(self.root, self.node));
        Joined { topic: Arc::new(topic), lock }
    }

    /// The number of rows of a topic that is created for this participant, and the sizes of its messages.
    fn size(&self) -> (u32, MessageSizes) {
        (rows(self.depth), sizes(self.description, self.flags))
    }

    /// Gives the topic more rows if it has too few for this participant. It needs one more row than its
    /// depth: if the window of publishers is smaller than the ring, there is always a row for a seal. If it
    /// publishes, there shall be a row for every message that present publishers keep.
    fn grow(&self, topic: &Topic, lock: &Lock) -> Result<(), RegisterError> {
        let rows = topic.ring().depth();
        let kept = if self.publishes { self.depth_of_all(topic) } else { self.depth as u64 };
        let grown = || {
            let wanted = u32::try_from(kept.saturating_mul(2)).unwrap_or(MAX_DEPTH);
            topic.grow(wanted.next_power_of_two().clamp(rows as u32 * 2, MAX_DEPTH), lock)
        };
        let is_largest = rows >= u64::from(MAX_DEPTH);
        if rows > kept || (is_largest && rows > self.depth as u64) || grown()? {
            return Ok(());
        }
        self.check_depth(rows as u32 - 1)
    }

    /// How many messages this publisher and the present ones keep.
    fn depth_of_all(&self, topic: &Topic) -> u64 {
        let depths = active_publishers(topic).map(|entry| entry.depth.load(Ordering::Relaxed));
        depths.fold(self.depth as u64, u64::saturating_add)
    }

    fn check_depth(&self, rows: u32) -> Result<(), RegisterError> {
        if self.depth <= rows as usize {
            return Ok(());
        }
        Err(RegisterError::Depth { topic: self.topic.to_owned(), asked: self.depth, rows })
    }

    /// The type must be the same, or another version of a type that regions understand in several versions.
    /// In the second case all members use regions, because their layout hash does not cover appended members
    /// (`spec/region.md`, *Versions*). A change of other members is rejected when a message is taken.
    fn check_type(&self, topic: &Topic) -> Result<(), RegisterError> {
        let ours = self.description;
        let in_region = ours.encoding == Encoding::Region;
        let difference = if topic.type_name != ours.name {
            first_difference(&topic.schema, &ours.schema)
        } else if !self.is_other_version(topic) {
            if in_region || !participants(topic).any(|(word, ..)| word.is_other_version()) {
                return Ok(());
            }
            "it is used in several versions, which only regions understand: join with a region".to_owned()
        } else if in_region && self.may_be_appended(topic) {
            if participants(topic).all(|(_, encoding, _)| encoding == Encoding::Region as u32) {
                return Ok(());
            }
            "it is another version; only regions understand several, and not all members use regions"
                .to_owned()
        } else {
            first_difference(&topic.schema, &ours.schema)
        };
        Err(RegisterError::TypeMismatch {
            topic: self.topic.to_owned(),
            ours: ours.name.clone(),
            our_hash: ours.schema_hash,
            theirs: topic.type_name.clone(),
            their_hash: topic.header.schema_hash,
            difference,
            peer: participants(topic).next().map(|(_, _, node)| Box::new(self.peer(node))),
        })
    }

    /// All messages of a topic have user headers of the same size.
    fn check_user_header(&self, topic: &Topic) -> Result<(), RegisterError> {
        let (ours, theirs) = (self.description.user_header_size, topic.header.user_header_size);
        if ours == theirs {
            return Ok(());
        }
        let peer = participants(topic).next().map(|(_, _, node)| Box::new(self.peer(node)));
        Err(RegisterError::UserHeaderMismatch { topic: self.topic.to_owned(), ours, theirs, peer })
    }

    /// Whether its version of the type and the topic's may have more or fewer members at the end.
    fn may_be_appended(&self, topic: &Topic) -> bool {
        self.flags.may_be_appended && SchemaFlags::read(&topic.schema).may_be_appended
    }

    /// Whether its schema differs from the one that the topic carries.
    fn is_other_version(&self, topic: &Topic) -> bool {
        topic.header.schema_hash != self.description.schema_hash
    }

    /// The bits of this participant's state word.
    fn bits(&self, topic: &Topic) -> u32 {
        let version = if self.is_other_version(topic) { state::VERSION } else { 0 };
        bits_of(self.terms) | version | self.missing_forms
    }

    fn peer(&self, node: u64) -> Peer {
        Peer::find(self.root, NodeId(node))
    }

    /// Checks that no serialized messages meet a device: neither those of this participant, if it is on a
    /// device, nor those that it exchanges with members on a device.
    fn check_serialized(&self, domain: DomainId, node: u64, encoding: u32) -> Result<(), RegisterError> {
        if domain == HOST || encoding == Encoding::Flat as u32 {
            return Ok(());
        }
        let (topic, type_name) = (self.topic.to_owned(), self.description.name.clone());
        Err(RegisterError::Serialized { topic, type_name, domain, peer: self.peer(node) })
    }

    /// Two flat layouts must be the same, and so must two layouts of regions. A member that only serializes
    /// has no layout. A subscriber of serialized messages that can also read flat ones names their layout.
    /// Between the two kinds, messages are converted.
    fn check_layout(&self, node: u64, theirs: u64, encoding: u32) -> Result<(), RegisterError> {
        let ours = self.description.layout_hash;
        let other_kind =
            (self.description.encoding == Encoding::Region) != (encoding == Encoding::Region as u32);
        if other_kind || ours == 0 || theirs == 0 || ours == theirs {
            return Ok(());
        }
        let type_name = self.description.name.clone();
        let topic = self.topic.to_owned();
        Err(RegisterError::LayoutMismatch { topic, peer: self.peer(node), type_name, ours, theirs })
    }

    /// A subscriber can only take messages in a form that its type has. A subscriber of serialized messages
    /// that names no flat layout cannot read flat messages.
    fn check_form(
        &self,
        node: u64,
        publishes: u32,
        (takes, layout, word): (u32, u64, StateWord),
    ) -> Result<(), RegisterError> {
        let (topic, type_name) = (self.topic.to_owned(), self.description.name.clone());
        let serialized = takes == Encoding::Xcdr1 as u32 || takes == Encoding::Xcdr2 as u32;
        let has_no_flat_form = (serialized && layout == 0) || word.has_no_flat_form();
        if publishes == Encoding::Flat as u32 && has_no_flat_form {
            return Err(RegisterError::NoFlatForm { topic, type_name, peer: self.peer(node) });
        }
        if publishes == Encoding::Region as u32 && word.has_no_region_form() {
            return Err(RegisterError::NoRegionForm { topic, type_name, peer: self.peer(node) });
        }
        Ok(())
    }

    /// A flat subscriber has no room for the bulk members of a region.
    fn check_bulk(&self, node: u64, publishes: u32, takes: u32) -> Result<(), RegisterError> {
        let meet = publishes == Encoding::Region as u32 && takes == Encoding::Flat as u32;
        if !meet || !self.flags.has_bulk {
            return Ok(());
        }
        let (topic, type_name) = (self.topic.to_owned(), self.description.name.clone());
        Err(RegisterError::Bulk { topic, type_name, peer: self.peer(node) })
    }
}

impl Joined {
    /// The quality of service of a new publisher, adapted to the present subscribers if it shall be.
    pub(crate) fn adapt_publisher(&self, qos: PublisherQos) -> PublisherQos {
        qos.adapted_to(self.topic.places.active().map(PlaceView::terms))
    }

    /// The same of a new subscriber and the present publishers.
    pub(crate) fn adapt_subscriber(&self, qos: SubscriberQos) -> SubscriberQos {
        let offered = active_publishers(&self.topic).map(|entry| entry.terms(StateWord::read(&entry.state)));
        qos.adapted_to(offered)
    }

    /// The column of the registration's domain.
    fn take_column(&self, registration: &Registration<'_>) -> Result<usize, RegisterError> {
        let domain = registration.domain;
        let column = self.topic.take_column(domain)?;
        column.ok_or_else(|| RegisterError::Domains { topic: self.topic.name.clone(), domain })
    }

    /// Takes a place for a subscriber, which must have joined for writing, and returns it with the number of
    /// its domain's column. `wants` is the number of earlier messages that it requests.
    pub(crate) fn take_place(
        &self,
        registration: &Registration<'_>,
        backpressure: bool,
        wants: u64,
        keep_last: u64,
    ) -> Result<(OwnPlace, usize), RegisterError> {
        let topic = &self.topic;
        let domain = registration.domain;
        let encoding = registration.description.encoding as u32;
        registration.check_serialized(domain, registration.node.0, encoding)?;
        for entry in active_publishers(topic) {
            let node = entry.node.load(Ordering::Relaxed);
            registration.check_serialized(domain, node, entry.encoding.load(Ordering::Relaxed))?;
            let publishes = entry.encoding.load(Ordering::Relaxed);
            registration.check_bulk(node, publishes, encoding)?;
            let takes =
                (encoding, registration.description.layout_hash, StateWord(registration.missing_forms));
            registration.check_form(node, publishes, takes)?;
            registration.check_layout(
                node,
                entry.layout_hash.load(Ordering::Relaxed),
                entry.encoding.load(Ordering::Relaxed),
            )?;
        }
        topic.places.map_all()?;
        let used = topic.places.used();
        let free = topic.places.all().find(|place| !place.word.is_taken()).map(|place| place.index);
        let Some(index) = free.or_else(|| (used < PLACES as usize).then_some(used)) else {
            return Err(RegisterError::Full { topic: topic.name.clone(), role: "subscriber", most: PLACES });
        };
        let column = self.take_column(registration)?;
        if index == used {
            topic.places.find_memory_for(index)?;
        }
        let place = OwnPlace::new(topic, index)?;
        let places = topic.places.writable(&self.lock)?;
        let arrivals = places.arrivals();
        let word = StateWord(place.state.load(Ordering::Relaxed));
        // The fields come behind the free word, for readers without the lock: see `offers`.
        fence(Ordering::Release);
        place.node.store(registration.node.0, Ordering::Relaxed);
        place.encoding.store(encoding, Ordering::Relaxed);
        place.deadline_ns.store(registration.terms.deadline_ns, Ordering::Relaxed);
        place.domain.store(domain_to_word(domain), Ordering::Relaxed);
        place.lost.store(0, Ordering::Relaxed);
        place.taken.store(0, Ordering::Relaxed);
        place.keep_last.store(keep_last, Ordering::Relaxed);
        place.layout_hash.store(registration.description.layout_hash, Ordering::Relaxed);
        place.thread.store(0, Ordering::Relaxed);
        place.joined_at.store(u64::MAX, Ordering::Relaxed);
        place.ledger.clear();
        place.number.store(unique(), Ordering::Relaxed);
        place.lease_ns.store(registration.terms.lease_ns, Ordering::Relaxed);
        if !offers(topic).all(|offered| offered.satisfies(registration.terms)) {
            topic.note_mixed();
        }
        // The last messages of the topic may be of publishers that do not match.
        let wants = if wants > 0 && topic.is_mixed() { u64::MAX } else { wants };
        let first = topic.registry().first.load(Ordering::SeqCst);
        place.cursor.store(flow_window::begin(topic.ring(), wants, first), Ordering::Relaxed);
        let backpressure = if backpressure { state::BACKPRESSURE } else { 0 };
        let bits = registration.bits(topic) | backpressure;
        arrivals.places_used.fetch_max(index as u32 + 1, Ordering::SeqCst);
        // Publication of the place: publishers that see it active see its cursor. If the process dies before
        // this store, the place is still free. If it dies after it, the place is repaired like that of any
        // dead node.
        place.state.store(word.next(bits), Ordering::SeqCst);
        flow_window::enter(topic.ring(), &place.cursor, &arrivals.epoch, wants, first);
        topic.note_change();
        Ok((place, column))
    }

    /// Takes an entry for a publisher, and returns the entry's number. `create` makes the publisher's pool,
    /// which has the number `pool`.
    pub(crate) fn take_entry(
        &self,
        registration: &Registration<'_>,
        pool: u64,
        depth: u64,
        lifespan_ns: u64,
        create: impl FnOnce(&Beneath) -> Result<(), DomainError>,
    ) -> Result<usize, RegisterError> {
        let topic = &self.topic;
        let description = registration.description;
        let encoding = description.encoding as u32;
        registration.check_serialized(registration.domain, registration.node.0, encoding)?;
        for place in topic.places.active() {
            let node = place.node();
            registration.check_serialized(place.domain(), node, encoding)?;
            registration.check_bulk(node, encoding, place.encoding())?;
            registration.check_form(node, encoding, (place.encoding(), place.layout_hash(), place.word))?;
            registration.check_layout(node, place.layout_hash(), place.encoding())?;
        }
        for entry in active_publishers(topic) {
            let node = entry.node.load(Ordering::Relaxed);
            registration.check_layout(
                node,
                entry.layout_hash.load(Ordering::Relaxed),
                entry.encoding.load(Ordering::Relaxed),
            )?;
        }
        self.take_column(registration)?;
        let entry = NewEntry {
            bits: registration.bits(topic),
            encoding,
            node: registration.node,
            pool,
            domain: registration.domain,
            layout_hash: description.layout_hash,
            deadline_ns: registration.terms.deadline_ns,
            lease_ns: registration.terms.lease_ns,
            depth,
            lifespan_ns,
        };
        if !topic.places.active().all(|place| registration.terms.satisfies(place.terms())) {
            topic.note_mixed();
        }
        let index = entry.take(topic, create)?;
        topic.note_change();
        Ok(index)
    }

    /// Takes an entry for a pool of bodies. Their heads will be in another entry's pool: see
    /// [`name_heads`](Self::name_heads). If the process dies before it has that entry, no row can name these
    /// bodies.
    pub(crate) fn take_bodies(
        &self,
        registration: &Registration<'_>,
        pool: u64,
        create: impl FnOnce(&Beneath) -> Result<(), DomainError>,
    ) -> Result<usize, RegisterError> {
        self.take_column(registration)?;
        let bits = bits_of(registration.terms) | state::BODIES;
        let entry = NewEntry::of_pool(bits, registration.node, pool, registration.domain);
        NewEntry { depth: u64::MAX, ..entry }.take(&self.topic, create)
    }

    /// Stores the number of the heads' entry in the entry of the bodies. Without heads, frees the entry of
    /// the bodies.
    pub(crate) fn name_heads(&self, bodies: usize, heads: Option<usize>) {
        let entry = self.topic.publisher(bodies);
        match heads {
            Some(heads) => entry.depth.store(heads as u64, Ordering::Relaxed),
            None => {
                let word = StateWord::read(&entry.state);
                entry.state.store(word.left(), Ordering::SeqCst);
                repair(&self.topic, &self.lock);
            }
        }
    }
}

/// The number of rows of a topic for members that keep this many messages.
pub(super) fn rows(depth: usize) -> u32 {
    let rows = (depth.saturating_mul(2) as u64).clamp(u64::from(DEPTH), u64::from(MAX_DEPTH)) as u32;
    rows.next_power_of_two()
}

/// The sizes of the messages of a topic with this type.
pub(super) fn sizes(description: &TypeDescription, flags: SchemaFlags) -> MessageSizes {
    let TypeDescription { fixed_size: copied_size, user_header_size, .. } = *description;
    let sizes = MessageSizes { copied_size, user_header_size };
    let is_copied = sizes.fit_rows() && !flags.has_bulk;
    if is_copied { sizes } else { MessageSizes { copied_size: 0, ..sizes } }
}

fn bits_of(terms: Terms) -> u32 {
    let mut bits = state::ACTIVE;
    if terms.reliable {
        bits |= state::RELIABLE;
    }
    if terms.transient_local {
        bits |= state::TRANSIENT_LOCAL;
    }
    if terms.manual {
        bits |= state::MANUAL;
    }
    bits
}

/// The fields of a new entry: see [`PublisherEntry`].
struct NewEntry {
    bits: u32,
    encoding: u32,
    node: NodeId,
    pool: u64,
    domain: DomainId,
    layout_hash: u64,
    deadline_ns: u64,
    lease_ns: u64,
    depth: u64,
    lifespan_ns: u64,
}

impl NewEntry {
    /// The entry of a pool whose slots no row names.
    fn of_pool(bits: u32, node: NodeId, pool: u64, domain: DomainId) -> Self {
        let (encoding, layout_hash) = (Encoding::Flat as u32, 0);
        let (deadline_ns, lease_ns, depth, lifespan_ns) = (0, 0, 0, 0);
        Self { bits, encoding, node, pool, domain, layout_hash, deadline_ns, lease_ns, depth, lifespan_ns }
    }

    /// Takes the first free entry. The caller holds the lock.
    fn take(
        self,
        topic: &Topic,
        create: impl FnOnce(&Beneath) -> Result<(), DomainError>,
    ) -> Result<usize, RegisterError> {
        let is_of_copies = StateWord(self.bits).is_of_copies();
        let is_of_pool = !StateWord(self.bits).is_of_heads();
        let free = || {
            let used = topic.used_entries();
            let free = used_publishers(topic).find(|(_, entry)| {
                let word = StateWord::read(&entry.state);
                !word.is_taken() && !word.is_unlinked()
            });
            free.map(|(index, _)| index).or_else(|| (used < usize::from(SEAL_POOL)).then_some(used))
        };
        let Some(index) = free().or_else(|| give_up_oldest(topic).then(free).flatten()) else {
            let role = if is_of_copies { "pool of copies" } else { "publisher" };
            return Err(RegisterError::Full { topic: topic.name.clone(), role, most: u32::from(SEAL_POOL) });
        };
        // The pool's files come first, and then the entry. A process that dies in between leaves files that
        // no entry names, and a later repair removes them.
        topic.find_memory_for_entry(index)?;
        let path = topic.pool_path(self.pool);
        create(&path).inspect_err(|_| PoolView::unlink(&path))?;
        let entry = topic.publisher(index);
        let word = StateWord(entry.state.load(Ordering::Relaxed));
        // The fields come behind the free word, for readers without the lock: see `offers`.
        fence(Ordering::Release);
        entry.node.store(self.node.0, Ordering::Relaxed);
        // Rows of earlier pools of the entry remain for a while. Their numbers are below `since`, so they are
        // not valid any more. No row names a pool of copies.
        let since = if is_of_copies { NO_MESSAGES } else { topic.end() };
        entry.tenure.begin(self.pool, since);
        entry.encoding.store(self.encoding, Ordering::Relaxed);
        entry.layout_hash.store(self.layout_hash, Ordering::Relaxed);
        entry.domain.store(domain_to_word(self.domain), Ordering::Relaxed);
        entry.deadline_ns.store(self.deadline_ns, Ordering::Relaxed);
        entry.depth.store(self.depth, Ordering::Relaxed);
        entry.lifespan_ns.store(self.lifespan_ns, Ordering::Relaxed);
        entry.waits_for.store(0, Ordering::Relaxed);
        entry.lease_ns.store(self.lease_ns, Ordering::Relaxed);
        entry.asserted_ns.store(now_ns(), Ordering::Relaxed);
        if !is_of_pool {
            // Before this publisher can publish: see `protocol::row`. A publisher that has left, or whose
            // node is dead, writes nothing more.
            let is_alone = active_publishers(topic).next().is_none();
            topic.registry().alone.begin(is_alone.then_some(since));
        }
        topic.registry().publishers_used.fetch_max(index as u32 + 1, Ordering::SeqCst);
        entry.state.store(word.next(self.bits), Ordering::SeqCst);
        Ok(index)
    }
}

/// The state words, encodings and nodes of all present members.
fn participants(topic: &Topic) -> impl Iterator<Item = (StateWord, u32, u64)> {
    let relaxed = Ordering::Relaxed;
    let publishers = active_publishers(topic)
        .map(move |it| (StateWord::read(&it.state), it.encoding.load(relaxed), it.node.load(relaxed)));
    topic.places.active().map(|place| (place.word, place.encoding(), place.node())).chain(publishers)
}

impl Topic {
    /// Takes an entry for a pool of copies into a domain that has a column, and returns the entry's number.
    pub(crate) fn take_copies(
        &self,
        node: NodeId,
        pool: u64,
        domain: DomainId,
        create: impl FnOnce(&Beneath) -> Result<(), DomainError>,
    ) -> Result<usize, RegisterError> {
        let lock = Lock::acquire(&self.root, &self.directory, &self.name)?;
        if !self.is_current() {
            return Err(RegisterError::Removed { topic: self.name.clone() });
        }
        repair(self, &lock);
        NewEntry::of_pool(state::ACTIVE | state::COPIES, node, pool, domain).take(self, create)
    }
}
