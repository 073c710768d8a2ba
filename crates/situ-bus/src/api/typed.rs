//! Publishers and subscribers of generated types.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::time::Duration;

use situ_layout::{
    BulkElement, BulkRef, FlatFormError, FlatMessage, Message, RegionFormError, SharedBytes, StorageKind,
    ValidateError, boxed,
};
use situ_memory::{DomainId, PageOptions, Strategy};
use situ_region::StoreError;
use situ_wire::{DecodeError, EncodeError};

use crate::api::write::{WriteFailure, body_size_of, init_flat, write_value};
use crate::node::handle::Node;
use crate::node::liveness::NodeId;
use crate::port::batch::Published;
use crate::port::loan::LoanError;
use crate::port::loan::RawLoan;
use crate::port::placement::Placement;
use crate::port::publish_error::PublishError;
use crate::port::publisher::RawPublisher;
use crate::port::sample::RawSample;
use crate::port::subscriber::{RawSubscriber, TakeError};
use crate::qos::{Durability, History, PublisherQos, Reliability, SubscriberQos, WhenFull};
use crate::topic::{Encoding, MissingForms, RegisterError, TypeDescription};
use crate::trust::{Limits, Private, Trust};
use crate::wait::interrupt::{Interrupted, Interrupter, Wait};
use crate::wait::reactor::EventFd;

/// The description of a generated type, as its topics carry it.
pub fn describe<T: Message>() -> TypeDescription {
    TypeDescription {
        name: T::NAME.to_owned(),
        schema: T::SCHEMA.to_owned(),
        schema_hash: T::SCHEMA_HASH,
        layout_hash: T::FLAT_FORM.map_or(0, |form| form.layout_hash),
        encoding: match T::STORAGE {
            StorageKind::Flat => Encoding::Flat,
            StorageKind::Heap | StorageKind::Ros => Encoding::Xcdr1,
        },
        fixed_size: T::FLAT_FORM.and_then(|form| form.size.try_into().ok()).unwrap_or_default(),
        user_header_size: 0,
    }
}

/// Whether messages of the type can be read from regions. Its own function answers: without a region form it
/// refuses every image for that reason, and with one it refuses the empty image as invalid.
pub(super) fn has_region_form<T: Message>() -> bool {
    let answer = boxed::<T>().read_region(&mut [], SharedBytes::from(&[][..]));
    !matches!(answer, Err(RegionFormError::None { .. }))
}

impl Node {
    /// A publisher of `T` on a topic: set the quality of service that it offers, then
    /// [`create`](PublisherBuilder::create) it.
    pub fn publisher<T: Message>(&self, topic: &str) -> PublisherBuilder<T> {
        PublisherBuilder::new(self, topic)
    }

    /// A subscriber of `T` on a topic: set the quality of service that it requests, then
    /// [`create`](SubscriberBuilder::create) it.
    pub fn subscriber<T: Message>(&self, topic: &str) -> SubscriberBuilder<T> {
        SubscriberBuilder::new(self, topic)
    }
}

/// The form of a builder whose publisher or subscriber exchanges messages as values of their type.
#[derive(Debug, Clone, Copy)]
pub enum Value {}

/// Builds a publisher of messages in the form `F`.
#[derive(Debug, Clone)]
pub struct PublisherBuilder<T, F = Value> {
    node: Node,
    topic: String,
    qos: PublisherQos,
    stamps: bool,
    user_header_size: u32,
    interrupter: Option<Interrupter>,
    placement: Placement,
    message: PhantomData<fn() -> (T, F)>,
}

impl<T, F> PublisherBuilder<T, F> {
    pub(crate) fn new(node: &Node, topic: &str) -> Self {
        Self {
            node: node.clone(),
            topic: topic.to_owned(),
            qos: PublisherQos::default(),
            stamps: true,
            user_header_size: 0,
            interrupter: None,
            placement: Placement::default(),
            message: PhantomData,
        }
    }

    /// Waits for reliable subscribers instead of overwriting messages that they have not taken.
    pub fn reliable(mut self) -> Self {
        self.qos.reliability = Reliability::Reliable;
        self
    }

    /// What to do when a reliable subscriber has no room. The default is to wait for one second.
    pub fn when_full(mut self, when_full: WhenFull) -> Self {
        self.qos.when_full = when_full;
        self
    }

    /// How many of its last messages stay available, and how far a reliable publisher may run ahead. The
    /// default is 8.
    pub fn depth(mut self, depth: usize) -> Self {
        self.qos.depth = depth;
        self
    }

    /// Keeps its last messages for late subscribers.
    pub fn transient_local(mut self) -> Self {
        self.qos.durability = Durability::TransientLocal;
        self
    }

    /// Lets an interrupter end the waits for subscribers that have no room: see
    /// [`RawPublisher::set_interrupter`].
    pub fn interrupted_by(mut self, interrupter: &Interrupter) -> Self {
        self.interrupter = Some(interrupter.clone());
        self
    }

    /// Promises to publish at least this often.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.qos.deadline = Some(deadline);
        self
    }

    /// Keeps at most `bytes` of free memory: see [`PublisherQos::trim_above`].
    pub fn trim_above(mut self, bytes: u64) -> Self {
        self.qos.trim_above = Some(bytes);
        self
    }

    /// Messages that are older than this are no longer delivered.
    pub fn lifespan(mut self, lifespan: Duration) -> Self {
        self.qos.lifespan = Some(lifespan);
        self
    }

    /// Sets the whole quality of service.
    pub fn qos(mut self, qos: PublisherQos) -> Self {
        self.qos = qos;
        self
    }

    /// Bytes that other participants find in the graph: see [`PublisherQos::user_data`].
    pub fn user_data(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.qos.user_data = bytes.into();
        self
    }

    pub(super) fn qos_mut(&mut self) -> &mut PublisherQos {
        &mut self.qos
    }

    /// Puts bodies into this memory domain. The default is host memory.
    pub fn domain(mut self, domain: DomainId) -> Self {
        self.placement.domain = domain;
        self
    }

    /// Limits the publisher's memory in its domain to `bytes`: see [`Placement::capacity`].
    pub fn capacity(mut self, bytes: u64) -> Self {
        self.placement.capacity = Some(bytes);
        self
    }

    /// Copies each message right after publishing into every domain with a subscriber. Without this, the
    /// first subscriber that takes the message in a domain copies it: see [`Placement::eager_copies`].
    pub fn eager_copies(mut self) -> Self {
        self.placement.eager_copies = true;
        self
    }

    /// How the memory of its messages is allocated: see [`Placement::strategy`].
    pub fn strategy(mut self, strategy: Strategy) -> Self {
        self.placement.strategy = strategy;
        self
    }

    /// Which pages the memory of its messages should have: see [`Placement::pages`].
    pub fn pages(mut self, pages: PageOptions) -> Self {
        self.placement.pages = pages;
        self
    }

    /// Gives each message a user header of this size: see [`TypeDescription::user_header_size`]. All
    /// participants of the topic state the same.
    pub fn user_header(mut self, bytes: u32) -> Self {
        self.user_header_size = bytes;
        self
    }

    /// Leaves out the time stamp of each message: see [`RawPublisher::without_stamps`].
    pub fn without_stamps(mut self) -> Self {
        self.stamps = false;
        self
    }

    pub(crate) fn create_raw(self, description: &TypeDescription) -> Result<RawPublisher, RegisterError> {
        let user_header_size = self.user_header_size;
        let description = &TypeDescription { user_header_size, ..description.clone() };
        let raw = RawPublisher::create_in(&self.node, &self.topic, description, self.qos, &self.placement)?;
        let raw = if self.stamps { raw } else { raw.without_stamps() };
        raw.set_interrupter(self.interrupter.as_ref());
        Ok(raw)
    }
}

impl<T: Message> PublisherBuilder<T> {
    /// Joins the topic.
    pub fn create(self) -> Result<Publisher<T>, RegisterError> {
        Ok(Publisher { raw: self.create_raw(&describe::<T>())?, message: PhantomData })
    }
}

/// Publishes messages of type `T`. One thread at a time.
#[derive(Debug)]
pub struct Publisher<T> {
    raw: RawPublisher,
    message: PhantomData<fn() -> T>,
}

/// Why a value could not be published.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum PublishValueError {
    /// No slot is available for it.
    #[error(transparent)]
    Loan(#[from] LoanError),
    /// It cannot be appended to the topic.
    #[error(transparent)]
    Publish(#[from] PublishError),
    /// It cannot be serialized.
    #[error("{type_name} cannot be serialized: {source}")]
    Encode {
        /// The type.
        type_name: &'static str,
        /// Why it cannot be serialized.
        source: EncodeError,
    },
    /// The value refers to bulk data, but has no body that could hold them.
    #[error("{type_name} has bulk data, which only a loan has room for: use `loan_with` and fill its body")]
    BulkWithoutBody {
        /// The type.
        type_name: &'static str,
    },
}

situ_layout::debug_as_text!(PublishValueError);

impl<T: Message> Publisher<T> {
    /// The untyped publisher.
    pub fn raw(&self) -> &RawPublisher {
        &self.raw
    }

    /// Gives memory to `messages` messages of at most `bytes` bytes before they are lent: see
    /// [`RawPublisher::reserve`].
    pub fn reserve(&self, messages: usize, bytes: usize) -> Result<(), LoanError> {
        self.raw.reserve(messages, bytes)
    }

    /// Returns the memory of free slots to the system: see [`RawPublisher::trim`].
    pub fn trim(&self) -> u64 {
        self.raw.trim()
    }

    /// Publishes a value from private memory, and returns its number in the topic's order. A flat value is
    /// copied; one with heap storage is serialized directly into shared memory. Both count as a copy
    /// ([`CopyCounter`](crate::CopyCounter)). A [`loan`](Self::loan) needs no copy.
    pub fn publish(&self, value: &T) -> Result<u64, PublishValueError> {
        let lend = |head_size, head_align, body_size| self.raw.loan(head_size, head_align, body_size);
        let loan = write_value(value, lend).map_err(|failure| match failure {
            WriteFailure::Lend(error) => error.into(),
            WriteFailure::Encode(source) => PublishValueError::Encode { type_name: T::NAME, source },
            WriteFailure::BulkWithoutBody => PublishValueError::BulkWithoutBody { type_name: T::NAME },
        })?;
        Ok(loan.publish()?)
    }
}

impl<T: FlatMessage> Publisher<T> {
    /// Lends a message, default-initialized in place. Only occupied members are written, however large the
    /// type is.
    #[inline]
    pub fn loan(&self) -> Result<Loan<'_, T>, LoanError> {
        self.loan_with(T::BulkLengths::default())
    }

    /// Lends a message whose bulk members have these lengths. The body has just the size of its content; its
    /// bytes are those of the slot's last message.
    #[inline]
    pub fn loan_with(&self, lengths: T::BulkLengths) -> Result<Loan<'_, T>, LoanError> {
        let raw = self.raw.loan(size_of::<T>(), align_of::<T>(), body_size_of::<T>(&lengths)?)?;
        init_flat::<T, _>(&raw, &lengths);
        Ok(Loan { raw, message: PhantomData })
    }
}

impl<T: FlatMessage> Publisher<T> {
    /// Publishes messages in this order, with one wake-up, and returns the number of the last one: see
    /// [`RawPublisher::publish_all`]. On failure, `loans` has the messages that were not published.
    pub fn publish_all(&self, loans: &mut Vec<Loan<'_, T>>) -> Result<Option<u64>, PublishError> {
        let mut published = Published::default();
        let raw = loans.iter().map(|loan| &loan.raw);
        // SAFETY: the published loans are forgotten right below.
        let result = unsafe { self.raw.publish_each(raw, &mut published) };
        // These belong to the topic now.
        loans.drain(..published.count).for_each(std::mem::forget);
        result.map(|()| published.last)
    }
}

/// A message under construction, in the memory where it will be read. Dropping it publishes nothing.
pub struct Loan<'p, T: FlatMessage> {
    pub(crate) raw: RawLoan<'p>,
    message: PhantomData<T>,
}

impl<T: FlatMessage> Loan<'_, T> {
    /// A bulk member's elements, for writing: `loan.bulk_mut(|cloud| &cloud.data)`. Empty if the descriptor
    /// belongs to another message.
    #[inline]
    pub fn bulk_mut<U: BulkElement, const N: usize>(
        &mut self,
        member: impl FnOnce(&T) -> &BulkRef<U, N>,
    ) -> &mut [U] {
        let descriptor = *member(self);
        descriptor.slice_mut(self.raw.body_bytes()).unwrap_or_default()
    }

    /// The message's user header, for writing: see [`RawLoan::user_header_mut`].
    #[inline]
    pub fn user_header_mut(&mut self) -> &mut [u8] {
        self.raw.user_header_mut()
    }

    /// Publishes the message and returns its number in the topic's order.
    #[inline]
    pub fn publish(self) -> Result<u64, PublishError> {
        self.raw.publish()
    }

    /// Publishes the message. On failure, returns it along with the reason.
    pub fn publish_or_return(self) -> Result<u64, (PublishError, Self)> {
        self.raw.publish_or_return().map_err(|(error, raw)| (error, Self { raw, message: PhantomData }))
    }
}

impl<T: FlatMessage> Deref for Loan<'_, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: `loan_with` initialized it, and only this loan reaches it.
        unsafe { &*self.raw.head().cast::<T>() }
    }
}

impl<T: FlatMessage> DerefMut for Loan<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as in `deref`.
        unsafe { &mut *self.raw.head().cast::<T>() }
    }
}

impl<T: FlatMessage> fmt::Debug for Loan<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Loan").field(&**self).finish()
    }
}

/// Builds a subscriber to messages in the form `F`.
#[derive(Debug, Clone)]
pub struct SubscriberBuilder<T, F = Value> {
    node: Node,
    topic: String,
    qos: SubscriberQos,
    user_header_size: u32,
    placement: Placement,
    message: PhantomData<fn() -> (T, F)>,
}

impl<T, F> SubscriberBuilder<T, F> {
    pub(crate) fn new(node: &Node, topic: &str) -> Self {
        Self {
            node: node.clone(),
            topic: topic.to_owned(),
            qos: SubscriberQos::default(),
            user_header_size: 0,
            placement: Placement::default(),
            message: PhantomData,
        }
    }

    /// Requests that no message is lost: publishers must be reliable, and wait for this subscriber if it
    /// keeps all messages.
    pub fn reliable(mut self) -> Self {
        self.qos.reliability = Reliability::Reliable;
        self
    }

    /// Keeps at most this many of the newest messages.
    pub fn keep_last(mut self, number: usize) -> Self {
        self.qos.history = History::KeepLast(number);
        self
    }

    /// Also requests messages that were published before it joined.
    pub fn transient_local(mut self) -> Self {
        self.qos.durability = Durability::TransientLocal;
        self
    }

    /// Expects a message at least this often.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.qos.deadline = Some(deadline);
        self
    }

    /// Bytes that other participants find in the graph: see [`SubscriberQos::user_data`].
    pub fn user_data(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.qos.user_data = bytes.into();
        self
    }

    /// Takes messages with a user header of this size: see [`TypeDescription::user_header_size`]. All
    /// participants of the topic state the same.
    pub fn user_header(mut self, bytes: u32) -> Self {
        self.user_header_size = bytes;
        self
    }

    /// Notes when each message was taken: see [`SubscriberQos::reception_times`].
    pub fn reception_times(mut self) -> Self {
        self.qos.reception_times = true;
        self
    }

    /// Holds at most this many samples at a time: see [`SubscriberQos::max_held`].
    pub fn max_held(mut self, samples: usize) -> Self {
        self.qos.max_held = samples;
        self
    }

    /// Takes messages in this memory domain. Messages of other domains are copied into it. The default is
    /// host memory.
    pub fn domain(mut self, domain: DomainId) -> Self {
        self.placement.domain = domain;
        self
    }

    /// Limits the memory for copies in the subscriber's domain to `bytes`: see [`Placement::capacity`].
    pub fn capacity(mut self, bytes: u64) -> Self {
        self.placement.capacity = Some(bytes);
        self
    }

    /// Which publishers' messages it reads in place; it copies all others first. The default is the
    /// publishers of this process' own user.
    pub fn trust(mut self, trust: Trust) -> Self {
        self.qos.trust = trust;
        self
    }

    /// How large messages and pools may be: see [`Limits`].
    pub fn limits(mut self, limits: Limits) -> Self {
        self.qos.limits = limits;
        self
    }

    /// Sets the whole quality of service.
    pub fn qos(mut self, qos: SubscriberQos) -> Self {
        self.qos = qos;
        self
    }

    pub(super) fn qos_mut(&mut self) -> &mut SubscriberQos {
        &mut self.qos
    }

    pub(crate) fn create_raw(
        self,
        description: &TypeDescription,
        missing: MissingForms,
    ) -> Result<RawSubscriber, RegisterError> {
        let user_header_size = self.user_header_size;
        let description = &TypeDescription { user_header_size, ..description.clone() };
        RawSubscriber::create_without(
            missing,
            &self.node,
            &self.topic,
            description,
            self.qos,
            &self.placement,
        )
    }
}

impl<T: Message> SubscriberBuilder<T> {
    /// Joins the topic.
    pub fn create(self) -> Result<Subscriber<T>, RegisterError> {
        // The description says whether the type has a flat form.
        let missing = MissingForms { flat: false, region: !has_region_form::<T>() };
        Ok(Subscriber { raw: self.create_raw(&describe::<T>(), missing)?, message: PhantomData })
    }
}

/// Subscribes to messages of type `T`. One thread at a time; the samples may go to others.
#[derive(Debug)]
pub struct Subscriber<T> {
    raw: RawSubscriber,
    message: PhantomData<fn() -> T>,
}

/// Why a message could not be received. The message is skipped; the next call continues behind it.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum ReceiveError {
    /// It could not be taken.
    #[error(transparent)]
    Take(#[from] TakeError),
    /// The wait was interrupted. No message is skipped.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// Its bytes are not a valid message of the type.
    #[error("message {sequence} of topic {topic:?} is not a valid {type_name}: {source}")]
    Invalid {
        /// The topic.
        topic: String,
        /// The message's number.
        sequence: u64,
        /// The type.
        type_name: &'static str,
        /// What is wrong with it.
        source: ValidateError,
    },
    /// Its head does not have the size of the type.
    #[error(
        "message {sequence} of topic {topic:?} has a head of {found} bytes, but {type_name} has {expected}"
    )]
    Size {
        /// The topic.
        topic: String,
        /// The message's number.
        sequence: u64,
        /// The type.
        type_name: &'static str,
        /// The size of its head in bytes.
        found: usize,
        /// The size of the type in bytes.
        expected: usize,
    },
    /// Its serialized form cannot be decoded.
    #[error("message {sequence} of topic {topic:?} cannot be decoded as {type_name}: {source}")]
    Decode {
        /// The topic.
        topic: String,
        /// The message's number.
        sequence: u64,
        /// The type.
        type_name: &'static str,
        /// What is wrong with it.
        source: DecodeError,
    },
    /// It is a region of another type, or does not fit the type's own storage.
    #[error("message {sequence} of topic {topic:?} cannot be read as {type_name}: {source}")]
    Region {
        /// The topic.
        topic: String,
        /// The message's number.
        sequence: u64,
        /// The type.
        type_name: &'static str,
        /// What is wrong with it.
        source: RegionFormError,
    },
    /// A message in another form cannot be stored in a region.
    #[error("message {sequence} of topic {topic:?} cannot be stored in a region of {type_name}: {source}")]
    Store {
        /// The topic.
        topic: String,
        /// The message's number.
        sequence: u64,
        /// The type.
        type_name: &'static str,
        /// Why it cannot be stored.
        source: StoreError,
    },
    /// It is flat and does not fit the type's own storage.
    #[error("message {sequence} of topic {topic:?} cannot be read as {type_name}: {source}")]
    Convert {
        /// The topic.
        topic: String,
        /// The message's number.
        sequence: u64,
        /// The type.
        type_name: &'static str,
        /// What is wrong with it.
        source: FlatFormError,
    },
}

situ_layout::debug_as_text!(ReceiveError);

impl<T: Message> Subscriber<T> {
    /// The untyped subscriber: statistics, and waiting for several subscribers (see
    /// [`wait_any`](crate::wait_any)).
    pub fn raw(&self) -> &RawSubscriber {
        &self.raw
    }

    /// Takes the next message, if there is one, as [`RawSubscriber::take`] does. A flat message is not
    /// copied.
    #[inline(always)]
    pub fn take(&self) -> Result<Option<Sample<T>>, ReceiveError> {
        match self.raw.take()? {
            None => Ok(None),
            Some(raw) => self.open(raw).map(Some),
        }
    }

    /// Takes at most `most` messages that are there, and appends them to `into`: see
    /// [`RawSubscriber::take_many`]. A message that is not valid ends the call with an error, and is skipped.
    pub fn take_many(&self, most: usize, into: &mut Vec<Sample<T>>) -> Result<usize, ReceiveError> {
        self.raw.take_each(most, |raw| {
            into.push(self.open(raw)?);
            Ok(())
        })
    }

    /// Makes a typed sample from an untyped one.
    #[inline(always)]
    pub(crate) fn open(&self, raw: RawSample) -> Result<Sample<T>, ReceiveError> {
        Sample::open(&self.raw, raw)
    }

    /// Waits until there is something to take, at most for `timeout` (without a limit if `None`). Returns
    /// whether there is: see [`RawSubscriber::wait`].
    pub fn wait(&self, timeout: Option<Duration>) -> bool {
        self.raw.wait(timeout)
    }

    /// Waits for the next message and takes it. Returns `None` if the time is over.
    pub fn recv(&self, timeout: Option<Duration>) -> Result<Option<Sample<T>>, ReceiveError> {
        self.raw.wait_and_take(timeout, || self.take())
    }

    /// As [`recv`](Self::recv), but other events may end the wait: see [`Wait`]. The error is then
    /// [`ReceiveError::Interrupted`].
    pub fn recv_with(&self, how: Wait<'_>) -> Result<Option<Sample<T>>, ReceiveError> {
        self.raw.wait_with_and_take(how, || self.take())
    }

    /// Returns a file descriptor for epoll and similar calls. It is readable when there is something to take.
    pub fn event_fd(&self) -> std::io::Result<EventFd> {
        self.raw.event_fd()
    }
}

/// A message that was taken: read-only, and unchanged until it is dropped. It may be sent to other threads.
pub struct Sample<T> {
    pub(super) raw: RawSample,
    /// The value that a message was decoded into, if it is not read in place.
    pub(super) decoded: Option<Box<Decoded<T>>>,
}

pub(super) struct Decoded<T> {
    pub(super) value: Box<T>,
    pub(super) body: Private,
}

// SAFETY: A sample shows a `T` in memory that is not written while the sample exists. `Message` types are
// plain values that any thread may read, and `RawSample` is itself `Send` and `Sync`.
unsafe impl<T: Send + Sync> Send for Sample<T> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync> Sync for Sample<T> {}

impl<T: Message> Sample<T> {
    /// A bulk member's elements: `sample.bulk(|cloud| &cloud.data)`. Empty if the descriptor belongs to
    /// another message.
    #[inline]
    pub fn bulk<U: BulkElement, const N: usize>(&self, member: impl FnOnce(&T) -> &BulkRef<U, N>) -> &[U] {
        let body = match &self.decoded {
            None => self.raw.body_in_place(),
            Some(decoded) => decoded.body.bytes(),
        };
        member(self).slice(body).unwrap_or_default()
    }

    /// Whether the sample is a copy in this process' own memory, because the message was serialized, the type
    /// has another storage, or the publisher is not [trusted](Trust).
    #[inline]
    pub fn is_copy(&self) -> bool {
        self.decoded.is_some() || self.raw.is_copy()
    }

    /// The message's number in the topic's order, from 0.
    #[inline]
    pub fn sequence(&self) -> u64 {
        self.raw.sequence()
    }

    /// When it was published, by [`now_ns`](crate::now_ns); 0 if its publisher leaves out time stamps.
    pub fn published_at_ns(&self) -> u64 {
        self.raw.published_at_ns()
    }

    /// The node that published it.
    pub fn publisher(&self) -> NodeId {
        self.raw.publisher()
    }

    /// Its user header: see [`RawSample::user_header`].
    pub fn user_header(&self) -> &[u8] {
        self.raw.user_header()
    }

    /// The untyped sample, with the message's bytes.
    pub fn raw(&self) -> &RawSample {
        &self.raw
    }

    /// The untyped sample, without the decoded value.
    pub(crate) fn into_raw(self) -> RawSample {
        self.raw
    }
}

impl<T: Message> Deref for Sample<T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        match &self.decoded {
            // SAFETY: `view` checked size, alignment and validity. The pin keeps the slot as it is, and the
            // processes that may write to it nevertheless are trusted (or it is a private copy).
            None => unsafe { &*self.raw.head_in_place().as_ptr().cast::<T>() },
            Some(decoded) => &decoded.value,
        }
    }
}

impl<T: Message> fmt::Debug for Sample<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sample").field("sequence", &self.sequence()).field("message", &**self).finish()
    }
}
