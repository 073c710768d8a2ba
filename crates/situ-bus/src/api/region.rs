//! Regions on topics: messages that grow while they are built, in the slot in which they will be read.

use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::time::Duration;

use situ_layout::{Message, RegionFormError, SharedBytes, boxed};
use situ_region::{
    AdoptError, BufferError, Invalid, InvalidProblem, Ref, Region, RegionMessage, StoreError, checked_root,
    layout_hash, view,
};

use crate::api::region_memory::{LoanMemory, RegionMemory, begin, build_region, growing, too_small};
use crate::api::typed::{PublisherBuilder, ReceiveError, SubscriberBuilder};
use crate::node::handle::Node;
use crate::node::liveness::NodeId;
use crate::port::loan::LoanError;
use crate::port::publish_error::PublishError;
use crate::port::publisher::RawPublisher;
use crate::port::sample::{CopyCounter, RawSample};
use crate::port::subscriber::RawSubscriber;
use crate::topic::{Encoding, MissingForms, RegisterError, TypeDescription};
use crate::wait::interrupt::Wait;

/// The form of a builder whose publisher or subscriber exchanges messages in regions.
#[derive(Debug, Clone, Copy)]
pub enum InRegion {}

/// The description of the region form of a generated type, as its topics carry it.
pub fn describe_region<T: RegionMessage>() -> TypeDescription {
    TypeDescription {
        name: T::NAME.to_owned(),
        schema: T::SCHEMA.to_owned(),
        schema_hash: <T::Message as Message>::SCHEMA_HASH,
        layout_hash: layout_hash::<T>(),
        encoding: Encoding::Region,
        fixed_size: 0,
        user_header_size: 0,
    }
}

impl Node {
    /// A publisher of regions of `T`, as `CharacterRegion`: set the quality of service that it offers, then
    /// [`create`](PublisherBuilder::create) it.
    pub fn region_publisher<T: RegionMessage>(&self, topic: &str) -> PublisherBuilder<T, InRegion> {
        PublisherBuilder::new(self, topic)
    }

    /// A subscriber of regions of `T`: set the quality of service that it requests, then
    /// [`create`](SubscriberBuilder::create) it.
    pub fn region_subscriber<T: RegionMessage>(&self, topic: &str) -> SubscriberBuilder<T, InRegion> {
        SubscriberBuilder::new(self, topic)
    }
}

impl<T: RegionMessage> PublisherBuilder<T, InRegion> {
    /// Joins the topic.
    pub fn create(self) -> Result<RegionPublisher<T>, RegisterError> {
        let raw = self.create_raw(&describe_region::<T>())?;
        Ok(RegionPublisher { raw, memory: RegionMemory::default(), of: PhantomData })
    }
}

impl<T: RegionMessage> SubscriberBuilder<T, InRegion> {
    /// Joins the topic.
    pub fn create(self) -> Result<RegionSubscriber<T>, RegisterError> {
        // Every message type can be serialized.
        let missing = MissingForms { flat: T::Message::FLAT_FORM.is_none(), region: false };
        Ok(RegionSubscriber { raw: self.create_raw(&describe_region::<T>(), missing)?, of: PhantomData })
    }
}

/// Why a region could not be lent for the image of a message.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    /// No slot is available for it.
    #[error(transparent)]
    Loan(#[from] LoanError),
    /// The image is not valid any more: its publisher has changed it since it was taken.
    #[error("the message was changed after it was published: {0}")]
    Changed(#[from] Invalid),
}

situ_layout::debug_as_text!(EditError);

/// Why a message could not be published as a region.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum PublishRegionError {
    /// No slot is available for it.
    #[error(transparent)]
    Loan(#[from] LoanError),
    /// The value cannot be stored in it.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// It cannot be appended to the topic.
    #[error(transparent)]
    Publish(#[from] PublishError),
}

situ_layout::debug_as_text!(PublishRegionError);

/// Publishes regions of `T`. One thread at a time.
pub struct RegionPublisher<T> {
    raw: RawPublisher,
    memory: RegionMemory,
    of: PhantomData<fn() -> T>,
}

impl<T: RegionMessage> RegionPublisher<T> {
    /// The untyped publisher.
    pub fn raw(&self) -> &RawPublisher {
        &self.raw
    }

    /// Gives memory to `messages` regions of at most `bytes` bytes before they are lent: see
    /// [`RawPublisher::reserve`].
    pub fn reserve(&self, messages: usize, bytes: usize) -> Result<(), LoanError> {
        self.raw.reserve(messages, bytes)
    }

    /// Returns the memory of free slots to the system: see [`RawPublisher::trim`].
    pub fn trim(&self) -> u64 {
        self.raw.trim()
    }

    /// Lends a region that holds a new value, in shared memory. It grows in place, up to
    /// [`GROWING_ROOM`](crate::GROWING_ROOM) or, if the last messages were large, to eight times their size.
    /// Publishing returns the memory that it does not use to the system.
    pub fn loan(&self) -> Result<RegionLoan<'_, T>, LoanError> {
        self.loan_up_to(0)
    }

    /// As [`loan`](Self::loan), with room for an image of at least this many bytes.
    pub fn loan_up_to(&self, bytes: u32) -> Result<RegionLoan<'_, T>, LoanError> {
        let region = begin(self.lend(self.memory.sizes(bytes))?)?;
        Ok(RegionLoan { publisher: self, region: Some(region) })
    }

    /// Lends a region that begins with the value of a taken message of any topic. It copies the message's
    /// image, counts the copy, and then checks the image in the loan.
    pub fn edit(&self, sample: &RegionSample<T>) -> Result<RegionLoan<'_, T>, EditError> {
        match self.edit_image(sample.bytes()) {
            Err(EditError::Changed(error))
                if matches!(error.problem, InvalidProblem::OtherVersion { .. }) =>
            {
                // The message has a newer version: members that this program does not know are lost.
                self.edit_image(sample.to_region()?.bytes())
            }
            edited => edited,
        }
    }

    fn edit_image(&self, image: &[u8]) -> Result<RegionLoan<'_, T>, EditError> {
        let memory = self.lend(self.memory.sizes_of_copy(image.len()))?;
        let (to, _) = memory.extent();
        // SAFETY: the slot has room for the image, and only this loan uses it.
        unsafe { to.copy_from_nonoverlapping(NonNull::from(image).cast(), image.len()) };
        CopyCounter::of_process().count(image.len());
        match Region::adopt_boxed(memory, growing()) {
            Ok(region) => Ok(RegionLoan { publisher: self, region: Some(region) }),
            Err(AdoptError::Invalid(error)) => Err(error.into()),
            Err(AdoptError::Buffer(error)) => Err(too_small(&error).into()),
            Err(_) => Err(too_small(&BufferError::Misaligned).into()),
        }
    }

    /// Publishes the value of a message with another storage, and returns its number in the topic's order.
    pub fn publish(&self, value: &T::Message) -> Result<u64, PublishRegionError> {
        let mut loan = self.loan()?;
        loan.root_mut().store(value, &[])?;
        CopyCounter::of_process().count(loan.bytes().len());
        Ok(loan.publish()?)
    }

    fn lend(&self, (bytes, room): (usize, usize)) -> Result<Box<LoanMemory>, LoanError> {
        let loan = self.raw.loan_growing(bytes, room)?.detach();
        // SAFETY: this publisher lent it. It is borrowed by the loan that gets the memory, which therefore
        // ends before it and stays with its thread.
        Ok(unsafe { self.memory.of(&raw const self.raw, loan) })
    }
}

impl<T> fmt::Debug for RegionPublisher<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RegionPublisher").field("raw", &self.raw).field("memory", &self.memory).finish()
    }
}

/// A region under construction, in the memory where it will be read. Dropping it publishes nothing.
pub struct RegionLoan<'p, T: RegionMessage> {
    publisher: &'p RegionPublisher<T>,
    /// `None` once it is published or dropped.
    region: Option<Region<T, LoanMemory>>,
}

build_region!([T: RegionMessage] RegionLoan<'_, T>, T, "RegionLoan");

impl<T: RegionMessage> RegionLoan<'_, T> {
    /// Publishes the region's live image, and returns its number in the topic's order.
    pub fn publish(self) -> Result<u64, PublishError> {
        self.publish_with(&[])
    }

    /// As [`publish`](Self::publish), with these bytes as the first of the message's user header. The others
    /// are zero. Bytes beyond the size of the topic's user headers are left out.
    pub fn publish_with(mut self, user_header: &[u8]) -> Result<u64, PublishError> {
        let Some(region) = self.region.take() else { unreachable!("a loan is there until it ends") };
        let (loan, size) = self.publisher.memory.finish(region);
        // SAFETY: the publisher lent it.
        let mut loan = unsafe { self.publisher.raw.attach(loan) };
        loan.shrink_body(size);
        loan.user_header_mut().iter_mut().zip(user_header).for_each(|(to, from)| *to = *from);
        loan.publish()
    }
}

/// Subscribes to regions of `T`. One thread at a time; the samples may go to others.
#[derive(Debug)]
pub struct RegionSubscriber<T> {
    raw: RawSubscriber,
    of: PhantomData<fn() -> T>,
}

impl<T: RegionMessage> RegionSubscriber<T> {
    /// The untyped subscriber: statistics, and waiting for several subscribers (see
    /// [`wait_any`](crate::wait_any)).
    pub fn raw(&self) -> &RawSubscriber {
        &self.raw
    }

    /// Takes the next message, if there is one, as [`RawSubscriber::take`] does. A region is checked once and
    /// read in place. A serialized or flat message is stored in a region of this process.
    pub fn take(&self) -> Result<Option<RegionSample<T>>, ReceiveError> {
        if !self.raw.has_next() {
            self.raw.look_after_the_dead();
            // An error if the topic was removed: a wait ends then, and would end at once for ever.
            self.raw.nothing()?;
            return Ok(None);
        }
        self.raw.take()?.map(|raw| RegionSample::open(&self.raw, raw)).transpose()
    }

    /// Waits until there is something to take, at most for `timeout` (without a limit if `None`). Returns
    /// whether there is: see [`RawSubscriber::wait`].
    pub fn wait(&self, timeout: Option<Duration>) -> bool {
        self.raw.wait(timeout)
    }

    /// Waits for the next message and takes it. Returns `None` if the time is over.
    pub fn recv(&self, timeout: Option<Duration>) -> Result<Option<RegionSample<T>>, ReceiveError> {
        self.raw.wait_and_take(timeout, || self.take())
    }

    /// As [`recv`](Self::recv), but other events may end the wait: see [`Wait`]. The error is then
    /// [`ReceiveError::Interrupted`].
    pub fn recv_with(&self, how: Wait<'_>) -> Result<Option<RegionSample<T>>, ReceiveError> {
        self.raw.wait_with_and_take(how, || self.take())
    }
}

/// The size that a checked image contains in its header.
fn size_of_image(image: SharedBytes<'_>) -> usize {
    let size = image.array(24).map_or(0, u32::from_le_bytes) as usize;
    size.min(image.len())
}

/// A region that was taken: read-only, and unchanged until it is dropped. It may be sent to other threads.
///
/// It was checked when it was taken. If a hostile publisher writes to it nevertheless, reading it may panic,
/// but never reads outside of it. Where such publishers are possible, read a [`to_region`](Self::to_region)
/// copy.
pub struct RegionSample<T: RegionMessage> {
    raw: RawSample,
    size: usize,
    /// The region in which a message of another form or version was stored.
    own: Option<Box<Region<T>>>,
}

impl<T: RegionMessage> RegionSample<T> {
    /// Makes a sample from an untyped one, which `subscriber` took. A region is checked once and read in
    /// place. A serialized or flat message is stored in a region of this process.
    pub(crate) fn open(subscriber: &RawSubscriber, raw: RawSample) -> Result<Self, ReceiveError> {
        if raw.encoding() != Encoding::Region {
            return Self::store(subscriber, raw);
        }
        match view::<T>(raw.body_in_place()) {
            Ok(_) => Ok(Self { size: size_of_image(raw.body()), raw, own: None }),
            Err(error) if matches!(error.problem, InvalidProblem::OtherVersion { .. }) => {
                Self::renew(subscriber, raw)
            }
            Err(error) => Err(Self::invalid(subscriber, &raw, error.into())),
        }
    }

    /// Keeps a copy of a message of an older version. Members that the message lacks have their defaults in
    /// the copy.
    #[cold]
    fn renew(subscriber: &RawSubscriber, raw: RawSample) -> Result<Self, ReceiveError> {
        // The check and the sample must use the same bytes: other processes could write to the message in
        // between.
        let private = raw.body().try_to_vec();
        let private = private.map_err(|error| Self::invalid(subscriber, &raw, error.into()))?;
        let own = Region::adopt(&private).map_err(|error| Self::invalid(subscriber, &raw, error.into()))?;
        CopyCounter::of_process().count(private.len());
        Ok(Self { raw, size: own.bytes().len(), own: Some(Box::new(own)) })
    }

    #[cold]
    fn invalid(subscriber: &RawSubscriber, raw: &RawSample, source: RegionFormError) -> ReceiveError {
        let topic = subscriber.topic().to_owned();
        ReceiveError::Region { topic, sequence: raw.sequence(), type_name: T::NAME, source }
    }

    /// Stores a message that has another form in a region.
    fn store(subscriber: &RawSubscriber, raw: RawSample) -> Result<Self, ReceiveError> {
        let (topic, sequence, type_name) = (subscriber.topic().to_owned(), raw.sequence(), T::NAME);
        let mut value = boxed::<T::Message>();
        if raw.encoding() == Encoding::Flat {
            value.read_flat(&mut [], raw.head(), raw.body()).map_err(|source| ReceiveError::Convert {
                topic: topic.clone(),
                sequence,
                type_name,
                source,
            })?;
        } else {
            situ_wire::decode(&mut *value, raw.body()).map_err(|source| ReceiveError::Decode {
                topic: topic.clone(),
                sequence,
                type_name,
                source,
            })?;
        }
        let own = Region::of(&*value, &[]);
        let own = own.map_err(|source| ReceiveError::Store { topic, sequence, type_name, source })?;
        CopyCounter::of_process().count(raw.head().len() + raw.body().len());
        Ok(Self { raw, size: own.bytes().len(), own: Some(Box::new(own)) })
    }

    /// The value.
    pub fn root(&self) -> Ref<'_, T> {
        checked_root(self.bytes())
    }

    /// The image.
    pub fn bytes(&self) -> &[u8] {
        match &self.own {
            None => &self.raw.body_in_place()[..self.size],
            Some(own) => own.bytes(),
        }
    }

    /// Returns a region of this process that can be kept and edited. It is a copy of the present bytes, and
    /// therefore checked once more.
    pub fn to_region(&self) -> Result<Region<T>, Invalid> {
        CopyCounter::of_process().count(self.size);
        // The check and the region must use the same bytes: other processes could write to the message in
        // between.
        let private = self.bytes().to_vec();
        Region::adopt(&private)
    }

    /// Whether the sample is a copy in this process' own memory, because the message was serialized or flat,
    /// or its publisher is not [trusted](crate::Trust).
    pub fn is_copy(&self) -> bool {
        self.own.is_some() || self.raw.is_copy()
    }

    /// The message's number in the topic's order, from 0.
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
}

impl<T: RegionMessage> fmt::Debug for RegionSample<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RegionSample").field("sequence", &self.sequence()).field("bytes", &self.size).finish()
    }
}
