//! Joining a topic: places, publishers' entries, and the compatibility of members.
//!
//! All of it happens under the lock of the topic's directory. The kernel releases the lock if its holder
//! dies. No hot path takes it. A participant that joins or leaves repairs first (see `repair`), and then
//! knows what members there are (see `census`).

use std::sync::Arc;

use situ_memory::sync::atomic::{Ordering, fence};
use situ_memory::{Beneath, DomainError, DomainId, HOST, OpenRoot, PoolView};

use super::census::Census;
use super::compat::{SchemaFlags, first_difference};
use super::entries::{active_publishers, used_publishers};
use super::file::Topic;
use super::files::system;
use super::format::{
    DEPTH, MAX_DEPTH, MessageSizes, PLACES, RosterEntry, domain_to_word, is_user_header, state,
};
use super::lock::Lock;
use super::names;
use super::offers::{history, offers};
use super::own_place::OwnPlace;
use super::register_error::RegisterError;
use super::repair::{
    give_up_oldest, is_over, remove_files, remove_topic, repair, repair_all, repair_for_member,
};
use super::rights::Role;
use super::roster::{FIRST, Roster, entry_of};
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
    /// How far publishers that come later are expected to run ahead. If the topic is created now, it has rows
    /// for them, and no such publisher makes it grow.
    pub expected_depth: usize,
    pub publishes: bool,
    /// The domain of its bodies, or the domain in which it takes.
    pub domain: DomainId,
    /// Whether it handles serialized messages in that domain, if it is not the host's.
    pub serialized_on_device: bool,
    /// `state::NO_FLAT` and `state::NO_REGION`, if the type of a subscriber lacks these forms.
    pub missing_forms: u32,
}

/// A topic that was joined, while its lock is held.
pub(crate) struct Joined {
    pub topic: Arc<Topic>,
    lock: Lock,
    census: Census,
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
            let mut census = repair_for_member(&topic, &lock, None);
            if !census.is_exact && (self.check(&topic, &census).is_err() || !self.has_rows(&topic)) {
                census = repair_all(&topic, &lock);
            }
            if census.is_exact && is_over(&topic) {
                // All former members are dead: create the topic again, whatever type or depth they had.
                remove_files(&lock);
            } else {
                self.check(&topic, &census)?;
                self.grow(&topic, &lock)?;
                return Ok(self.joined(topic, lock, census));
            }
        }
        match Topic::create(self.root, &directory, self.topic, self.description, self.size(), role) {
            Ok(topic) => {
                let census = Census::of_places(&topic);
                Ok(self.joined(topic, lock, census))
            }
            Err(error) => {
                remove_topic(&directory, &lock);
                Err(error.into())
            }
        }
    }

    fn joined(&self, topic: Topic, lock: Lock, census: Census) -> Joined {
        topic.removal.watch_node(crate::node::liveness::path_of(self.root, self.node));
        Joined { topic: Arc::new(topic), lock, census }
    }

    /// Checks whether the topic and its members can be used with this type.
    fn check(&self, topic: &Topic, census: &Census) -> Result<(), RegisterError> {
        self.check_type(topic, census)?;
        self.check_user_header(topic, census)
    }

    /// The number of rows of a topic that is created for this participant, and the sizes of its messages.
    fn size(&self) -> (u32, MessageSizes) {
        (rows(self.depth.max(self.expected_depth)), sizes(self.description, self.flags))
    }

    /// How many messages have to be kept: by a subscriber its own, by a publisher those that present
    /// publishers keep, too.
    fn kept(&self, topic: &Topic) -> u64 {
        if self.publishes { self.depth_of_all(topic) } else { self.depth as u64 }
    }

    /// Whether the topic has enough rows for this participant. It needs one more row than its depth: if the
    /// window of publishers is smaller than the ring, there is always a row for a seal. If it publishes,
    /// there shall be a row for every message that present publishers keep.
    fn has_rows(&self, topic: &Topic) -> bool {
        let rows = topic.ring().depth();
        let is_largest = rows >= u64::from(MAX_DEPTH);
        rows > self.kept(topic) || (is_largest && rows > self.depth as u64)
    }

    /// Gives the topic more rows if it has too few for this participant.
    fn grow(&self, topic: &Topic, lock: &Lock) -> Result<(), RegisterError> {
        if self.has_rows(topic) {
            return Ok(());
        }
        let rows = topic.ring().depth() as u32;
        let wanted = u32::try_from(self.kept(topic).saturating_mul(2)).unwrap_or(MAX_DEPTH);
        if topic.grow(wanted.next_power_of_two().clamp(rows * 2, MAX_DEPTH), lock)? {
            return Ok(());
        }
        self.check_depth(rows - 1)
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
    fn check_type(&self, topic: &Topic, census: &Census) -> Result<(), RegisterError> {
        let ours = self.description;
        let in_region = ours.encoding == Encoding::Region;
        let difference = if topic.type_name != ours.name {
            first_difference(&topic.schema, &ours.schema)
        } else if !self.is_other_version(topic) {
            if in_region || !participants(topic, census).any(|(word, ..)| word.is_other_version()) {
                return Ok(());
            }
            "it is used in several versions, which only regions understand: join with a region".to_owned()
        } else if in_region && self.may_be_appended(topic) {
            if participants(topic, census).all(|(_, encoding, _)| encoding == Encoding::Region as u32) {
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
            peer: participants(topic, census).next().map(|(_, _, node)| Box::new(self.peer(node))),
        })
    }

    /// All messages of a topic have user headers of the same size.
    fn check_user_header(&self, topic: &Topic, census: &Census) -> Result<(), RegisterError> {
        let (ours, theirs) = (self.description.user_header_size, topic.header.user_header_size);
        if ours == theirs {
            return Ok(());
        }
        let peer = participants(topic, census).next().map(|(_, _, node)| Box::new(self.peer(node)));
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

    /// Checks that this participant is not on a device with serialized messages, unless it handles them.
    fn check_own_encoding(&self) -> Result<(), RegisterError> {
        let encoding = self.description.encoding as u32;
        let handled = if self.serialized_on_device { encoding } else { Encoding::Flat as u32 };
        self.check_serialized(self.domain, self.node.0, encoding, handled)
    }

    /// Checks that no messages in `encoding` meet a subscriber on a device that takes others. One that takes
    /// serialized messages there handles them, or it could not have joined.
    fn check_serialized(
        &self,
        domain: DomainId,
        node: u64,
        encoding: u32,
        takes: u32,
    ) -> Result<(), RegisterError> {
        let is_cdr = |number| Encoding::from_number(number).is_some_and(Encoding::is_cdr);
        if domain == HOST || encoding == Encoding::Flat as u32 || (is_cdr(encoding) && is_cdr(takes)) {
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
        let serialized = takes == Encoding::Xcdr1 as u32 || takes == Encoding::Xcdr2 as u32;
        let has_no_flat_form = (serialized && layout == 0) || word.has_no_flat_form();
        let lacks_flat = publishes == Encoding::Flat as u32 && has_no_flat_form;
        let lacks_region = publishes == Encoding::Region as u32 && word.has_no_region_form();
        if !lacks_flat && !lacks_region {
            return Ok(());
        }
        let (topic, type_name) = (self.topic.to_owned(), self.description.name.clone());
        let peer = self.peer(node);
        Err(match lacks_flat {
            true => RegisterError::NoFlatForm { topic, type_name, peer },
            false => RegisterError::NoRegionForm { topic, type_name, peer },
        })
    }

    /// Whether this subscriber can join the present publishers.
    fn check_publishers(&self, topic: &Topic) -> Result<(), RegisterError> {
        let encoding = self.description.encoding as u32;
        let takes = (encoding, self.description.layout_hash, StateWord(self.missing_forms));
        for entry in active_publishers(topic) {
            let node = entry.node.load(Ordering::Relaxed);
            let publishes = entry.encoding.load(Ordering::Relaxed);
            self.check_serialized(self.domain, node, publishes, encoding)?;
            self.check_bulk(node, publishes, encoding)?;
            self.check_form(node, publishes, takes)?;
            self.check_layout(node, entry.layout_hash.load(Ordering::Relaxed), publishes)?;
        }
        Ok(())
    }

    /// Whether this publisher can join the present members.
    fn check_members(&self, topic: &Topic, census: &Census) -> Result<(), RegisterError> {
        let encoding = self.description.encoding as u32;
        for it in &census.subscribers {
            self.check_serialized(it.domain(), it.node, encoding, it.encoding)?;
            self.check_bulk(it.node, encoding, it.encoding)?;
            self.check_form(it.node, encoding, (it.encoding, it.layout_hash, it.word()))?;
            self.check_layout(it.node, it.layout_hash, it.encoding)?;
        }
        for entry in active_publishers(topic) {
            let (layout_hash, encoding) = (&entry.layout_hash, entry.encoding.load(Ordering::Relaxed));
            let node = entry.node.load(Ordering::Relaxed);
            self.check_layout(node, layout_hash.load(Ordering::Relaxed), encoding)?;
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
    pub(crate) fn adapt_publisher(&mut self, qos: PublisherQos) -> PublisherQos {
        if qos.best_available {
            self.count_again();
        }
        qos.adapted_to(self.census.subscribers.iter().map(RosterEntry::terms))
    }

    /// The same of a new subscriber and the present publishers.
    pub(crate) fn adapt_subscriber(&mut self, qos: SubscriberQos) -> SubscriberQos {
        if qos.best_available {
            self.count_again();
        }
        let offered = active_publishers(&self.topic).map(|entry| entry.terms(StateWord::read(&entry.state)));
        qos.adapted_to(offered)
    }

    /// Repairs everything, unless that was done: then all members live that seem to.
    fn count_again(&mut self) {
        if !self.census.is_exact {
            self.census = repair_all(&self.topic, &self.lock);
        }
    }

    /// Makes sure that members are not in the way because they are dead.
    fn check(
        &mut self,
        check: impl Fn(&Topic, &Census) -> Result<(), RegisterError>,
    ) -> Result<(), RegisterError> {
        if !self.census.is_exact && check(&self.topic, &self.census).is_err() {
            self.count_again();
        }
        check(&self.topic, &self.census)
    }

    /// Notes it if this participant does not match all members.
    fn compare(&mut self, matches_all: impl Fn(&Topic, &Census) -> bool) {
        // Never reset, so the reason must not be a dead one.
        if !self.topic.is_mixed() && !matches_all(&self.topic, &self.census) {
            self.count_again();
        }
        if !matches_all(&self.topic, &self.census) {
            self.topic.note_mixed();
        }
    }

    /// The number of a free place. All places that were ever taken are mapped.
    fn free_place(&mut self) -> Option<usize> {
        let is_free = |topic: &Topic, index| topic.places.at(index).is_some_and(|it| !it.word.is_taken());
        let topic = &self.topic;
        let found = match self.census.free {
            Some(index) => is_free(topic, index).then_some(index),
            None => Some(topic.places.used()).filter(|used| *used < PLACES as usize),
        };
        if found.is_some() || self.census.is_exact {
            return found;
        }
        // A process died while it took or freed the place, or the roster does not say the truth.
        self.count_again();
        let used = self.topic.places.used();
        self.census.free.or_else(|| (used < PLACES as usize).then_some(used))
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
        &mut self,
        registration: &Registration<'_>,
        backpressure: bool,
        wants: u64,
        keep_last: u64,
    ) -> Result<(OwnPlace, usize), RegisterError> {
        let domain = registration.domain;
        let encoding = registration.description.encoding as u32;
        registration.check_own_encoding()?;
        self.check(|topic, _| registration.check_publishers(topic))?;
        self.compare(|topic, _| offers(topic).all(|offered| offered.satisfies(registration.terms)));
        self.topic.places.map_all()?;
        let Some(index) = self.free_place() else {
            let topic = self.topic.name.clone();
            return Err(RegisterError::Full { topic, role: "subscriber", most: PLACES });
        };
        let column = self.take_column(registration)?;
        let topic = &self.topic;
        if index == topic.places.used() {
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
        // The last messages of the topic may be of publishers that do not match.
        let wants = if wants > 0 && topic.is_mixed() { u64::MAX } else { wants.min(history(topic)) };
        let first = topic.registry().first.load(Ordering::SeqCst);
        place.cursor.store(flow_window::begin(topic.ring(), wants, first), Ordering::Relaxed);
        let backpressure = if backpressure { state::BACKPRESSURE } else { 0 };
        let bits = registration.bits(topic) | backpressure;
        arrivals.places_used.fetch_max(index as u32 + 1, Ordering::SeqCst);
        let word = word.next(bits);
        if index >= FIRST {
            self.enlist(index, word)?;
        }
        // Publication of the place: publishers that see it active see its cursor. If the process dies before
        // this store, the place is still free. If it dies after it, the place is repaired like that of any
        // dead node.
        place.state.store(word, Ordering::SeqCst);
        flow_window::enter(topic.ring(), &place.cursor, &arrivals.epoch, wants, first);
        topic.note_change();
        Ok((place, column))
    }

    /// Writes the roster's entry of a place that is about to have this state word: see
    /// [`roster`](super::roster).
    fn enlist(&self, index: usize, word: u32) -> Result<(), RegisterError> {
        let topic = &self.topic;
        let error = |source| system("write", topic.places.file().path(), source);
        let Some(place) = topic.places.at(index) else { return Ok(()) };
        let entry = entry_of(place, StateWord(word));
        Ok(Roster::open(topic, &self.lock, true).and_then(|it| it.write(index, &entry)).map_err(error)?)
    }

    /// Takes an entry for a publisher, and returns the entry's number. `create` makes the publisher's pool,
    /// which has the number `pool`.
    pub(crate) fn take_entry(
        &mut self,
        registration: &Registration<'_>,
        pool: u64,
        depth: u64,
        lifespan_ns: u64,
        create: impl FnOnce(&Beneath) -> Result<(), DomainError>,
    ) -> Result<usize, RegisterError> {
        let description = registration.description;
        let encoding = description.encoding as u32;
        registration.check_own_encoding()?;
        self.check(|topic, census| registration.check_members(topic, census))?;
        self.compare(|_, census| {
            census.subscribers.iter().all(|it| registration.terms.satisfies(it.terms()))
        });
        self.take_column(registration)?;
        let entry = NewEntry {
            bits: registration.bits(&self.topic),
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
        self.make_entries_free();
        let index = entry.take(&self.topic, create)?;
        self.topic.note_change();
        Ok(index)
    }

    /// Repairs everything if no entry is free and dead publishers may have some.
    fn make_entries_free(&mut self) {
        if !self.census.is_exact && free_entry(&self.topic).is_none() {
            self.count_again();
        }
    }

    /// Takes an entry for a pool of bodies. Their heads will be in another entry's pool: see
    /// [`name_heads`](Self::name_heads). If the process dies before it has that entry, no row can name these
    /// bodies.
    pub(crate) fn take_bodies(
        &mut self,
        registration: &Registration<'_>,
        pool: u64,
        create: impl FnOnce(&Beneath) -> Result<(), DomainError>,
    ) -> Result<usize, RegisterError> {
        self.take_column(registration)?;
        self.make_entries_free();
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
        let free = || free_entry(topic);
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

/// The number of a publisher's entry that is free.
fn free_entry(topic: &Topic) -> Option<usize> {
    let used = topic.used_entries();
    let free = used_publishers(topic).find(|(_, entry)| {
        let word = StateWord::read(&entry.state);
        !word.is_taken() && !word.is_unlinked()
    });
    free.map(|(index, _)| index).or_else(|| (used < usize::from(SEAL_POOL)).then_some(used))
}

/// The state words, encodings and nodes of the present members; of subscribers that differ in nothing but
/// their nodes, one.
fn participants<'a>(
    topic: &'a Topic,
    census: &'a Census,
) -> impl Iterator<Item = (StateWord, u32, u64)> + 'a {
    let relaxed = Ordering::Relaxed;
    let publishers = active_publishers(topic)
        .map(move |it| (StateWord::read(&it.state), it.encoding.load(relaxed), it.node.load(relaxed)));
    census.subscribers.iter().map(|it| (it.word(), it.encoding, it.node)).chain(publishers)
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
