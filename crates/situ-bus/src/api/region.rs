//! Regions on topics: messages that grow while they are built, in the slot in which they will be read.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::time::Duration;

use situ_layout::{Message, RegionFormError, SharedBytes, boxed};
use situ_region::{
    AdoptError, Backing, BufferError, Full, Invalid, InvalidProblem, MAX_SIZE, Mut, Options, Ref, Region,
    RegionMessage, StoreError, checked_root, layout_hash, total_for, view,
};

use crate::api::typed::{PublisherBuilder, ReceiveError, SubscriberBuilder};
use crate::node::handle::Node;
use crate::node::liveness::NodeId;
use crate::port::growing::GROWING_ROOM;
use crate::port::loan::DetachedLoan;
use crate::port::loan::LoanError;
use crate::port::publish_error::PublishError;
use crate::port::publisher::RawPublisher;
use crate::port::sample::{CopyCounter, RawSample};
use crate::port::subscriber::RawSubscriber;
use crate::topic::{Encoding, MissingForms, RegisterError, TypeDescription};
use crate::wait::interrupt::Wait;

/// The minimum size of the memory that is lent for a region, in bytes.
const LEAST: usize = 1024;
/// A loan can grow to this multiple of the size of the last messages.
const ROOM: usize = 8;

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
        Ok(RegionPublisher { raw, hint: Cell::new(LEAST), spare: RefCell::default(), of: PhantomData })
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

/// The memory of a loan. It grows in place, as its slot does.
struct LoanMemory {
    /// The publisher that lent it. It outlives every [`RegionLoan`], and only region loans own such memory.
    publisher: *const RawPublisher,
    /// `None` once it was taken out to be published.
    loan: Option<DetachedLoan>,
}

// SAFETY: it is only reached through a `RegionLoan`, which stays with the thread of its publisher.
unsafe impl Send for LoanMemory {}
// SAFETY: as above.
unsafe impl Sync for LoanMemory {}

impl LoanMemory {
    /// The loan's body, as memory.
    fn extent(&self) -> (NonNull<u8>, usize) {
        let Some(loan) = &self.loan else { return (NonNull::dangling(), 0) };
        let (body, size) = loan.body_in_slot();
        NonNull::new(body).map_or((NonNull::dangling(), 0), |body| (body, size))
    }
}

// SAFETY: A body in a slot begins at a multiple of 64. Pages of a memory file are initialized, and the
// owner's mapping is readable and writable. Only this loan uses the slot until it is published or given back.
// It grows in place.
unsafe impl Backing for LoanMemory {
    fn memory(&mut self) -> (NonNull<u8>, usize) {
        self.extent()
    }

    fn is_zero(&self) -> bool {
        false
    }

    #[cold]
    fn grow(&mut self, total: usize) -> Option<(NonNull<u8>, usize)> {
        // SAFETY: the publisher outlives the loan.
        let publisher = unsafe { &*self.publisher };
        let (_, had) = self.extent();
        // SAFETY: it was detached from a loan of this publisher.
        let mut loan = unsafe { publisher.attach(self.loan.take()?) };
        let grown = loan.grow_body(total);
        self.loan = Some(loan.detach());
        let clean_from = grown.ok()?;
        let (memory, size) = self.extent();
        // Bytes of an earlier message in the slot.
        let dirty = clean_from.min(size).saturating_sub(had);
        // SAFETY: these bytes, behind the memory that was lent before, now belong to the loan.
        unsafe { memory.add(had).write_bytes(0, dirty) };
        Some((memory, size))
    }
}

impl Drop for LoanMemory {
    fn drop(&mut self) {
        if let Some(loan) = self.loan.take() {
            // SAFETY: the publisher outlives the loan, and lent it.
            drop(unsafe { (*self.publisher).attach(loan) });
        }
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
    /// The size of the last images. A loan begins with this size.
    hint: Cell<usize>,
    /// A box without a loan, for the next loan.
    spare: RefCell<Option<Box<LoanMemory>>>,
    of: PhantomData<fn() -> T>,
}

impl<T: RegionMessage> RegionPublisher<T> {
    /// The untyped publisher.
    pub fn raw(&self) -> &RawPublisher {
        &self.raw
    }

    /// Returns the memory of free slots to the system: see [`RawPublisher::trim`].
    pub fn trim(&self) -> u64 {
        self.raw.trim()
    }

    /// Lends a region that holds a new value, in shared memory. It grows in place, up to [`GROWING_ROOM`] or,
    /// if the last messages were large, to eight times their size. Publishing returns the memory that it does
    /// not use to the system.
    pub fn loan(&self) -> Result<RegionLoan<'_, T>, LoanError> {
        self.loan_up_to(0)
    }

    /// As [`loan`](Self::loan), with room for an image of at least this many bytes.
    pub fn loan_up_to(&self, bytes: u32) -> Result<RegionLoan<'_, T>, LoanError> {
        let memory = self.lend(self.hint.get(), total_for(bytes))?;
        match Region::with_boxed(memory, growing()) {
            Ok(region) => Ok(RegionLoan { publisher: self, region: Some(region) }),
            Err(error) => Err(too_small(&error)),
        }
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
        let needed = total_for(image.len() as u32).max(self.hint.get());
        let mut memory = self.lend(needed, needed.saturating_mul(ROOM))?;
        let (to, _) = memory.memory();
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

    fn lend(&self, bytes: usize, room: usize) -> Result<Box<LoanMemory>, LoanError> {
        let most = total_for(MAX_SIZE);
        let room = room.max(self.hint.get().saturating_mul(ROOM)).clamp(GROWING_ROOM, most);
        let loan = Some(self.raw.loan_growing(bytes.max(LEAST), room)?.detach());
        let spare = self.spare.borrow_mut().take();
        let mut memory =
            spare.unwrap_or_else(|| Box::new(LoanMemory { publisher: &raw const self.raw, loan: None }));
        // The publisher may have moved since the box was made.
        memory.publisher = &raw const self.raw;
        memory.loan = loan;
        Ok(memory)
    }

    /// Notes how much memory an image needed. The hint grows at once and shrinks by an eighth of the
    /// difference.
    fn learn(&self, size: usize) {
        let (before, needed) = (self.hint.get(), total_for(size as u32) + size / 4);
        self.hint.set(if needed > before { needed } else { before - (before - needed) / 8 }.max(LEAST));
    }
}

impl<T> fmt::Debug for RegionPublisher<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RegionPublisher").field("raw", &self.raw).field("hint", &self.hint).finish()
    }
}

/// Converts an error that does not occur with a slot of the requested size.
#[cold]
fn too_small(error: &BufferError) -> LoanError {
    let body_size = match error {
        BufferError::TooSmall { least, .. } => *least,
        _ => 0,
    };
    let reason = "the region's root does not fit into a slot";
    LoanError::Size { head_size: 0, head_align: 1, body_size, reason }
}

/// A region under construction, in the memory where it will be read. Dropping it publishes nothing.
pub struct RegionLoan<'p, T: RegionMessage> {
    publisher: &'p RegionPublisher<T>,
    /// `None` once it is published or dropped.
    region: Option<Region<T, LoanMemory>>,
}

impl<T: RegionMessage> RegionLoan<'_, T> {
    fn region(&self) -> &Region<T, LoanMemory> {
        let Some(region) = &self.region else { unreachable!("a loan is there until it ends") };
        region
    }

    /// The value, for reading.
    pub fn root(&self) -> Ref<'_, T> {
        self.region().root()
    }

    /// The value, for changing it. It grows in place.
    pub fn root_mut(&mut self) -> Mut<'_, T> {
        self.region_mut().root_mut()
    }

    // Private, because a caller could swap the region with that of another publisher's loan.
    fn region_mut(&mut self) -> &mut Region<T, LoanMemory> {
        let Some(region) = &mut self.region else { unreachable!("a loan is there until it ends") };
        region
    }

    /// Reserves memory for an image of this size now, instead of when it is needed.
    pub fn reserve(&mut self, bytes: usize) -> Result<(), Full> {
        self.region_mut().reserve(bytes)
    }

    /// Makes the live image as small as the canonical one, in its order; see [`Region::compact`].
    pub fn compact(&mut self) -> Result<(), Full> {
        self.region_mut().compact()
    }

    /// Closes the gaps between blocks in the slot; see [`Region::compact_in_place`]. If this process dies
    /// during that, no other process sees the slot, because it was never published.
    pub fn compact_in_place(&mut self) {
        self.region_mut().compact_in_place();
    }

    /// The live image.
    pub fn bytes(&self) -> &[u8] {
        self.region().bytes()
    }

    /// The canonical image: equal values have equal bytes.
    pub fn canonical(&self) -> Vec<u8> {
        self.region().canonical()
    }

    /// Publishes the region's live image, and returns its number in the topic's order.
    pub fn publish(self) -> Result<u64, PublishError> {
        self.publish_with(&[])
    }

    /// As [`publish`](Self::publish), with these bytes as the first of the message's user header. The others
    /// are zero. Bytes beyond the size of the topic's user headers are left out.
    pub fn publish_with(mut self, user_header: &[u8]) -> Result<u64, PublishError> {
        let Some(region) = self.region.take() else { unreachable!("a loan is there until it ends") };
        let (mut memory, size) = region.into_boxed();
        let Some(loan) = memory.loan.take() else { unreachable!("a loan's memory is lent") };
        // SAFETY: the publisher lent it.
        let mut loan = unsafe { self.publisher.raw.attach(loan) };
        loan.shrink_body(size);
        loan.user_header_mut().iter_mut().zip(user_header).for_each(|(to, from)| *to = *from);
        let published = loan.publish();
        self.publisher.spare.replace(Some(memory));
        self.publisher.learn(size);
        published
    }
}

impl<T: RegionMessage> fmt::Debug for RegionLoan<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RegionLoan").field("type", &T::NAME).field("bytes", &self.bytes().len()).finish()
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
        match self.raw.take()? {
            None => Ok(None),
            Some(raw) if raw.encoding() == Encoding::Region => match view::<T>(raw.body_in_place()) {
                Ok(_) => Ok(Some(RegionSample { size: size_of_image(raw.body()), raw, own: None })),
                Err(error) if matches!(error.problem, InvalidProblem::OtherVersion { .. }) => {
                    self.renew(raw).map(Some)
                }
                Err(error) => Err(self.invalid(&raw, error.into())),
            },
            Some(raw) => self.store(raw).map(Some),
        }
    }

    /// Keeps a copy of a message of an older version. Members that the message lacks have their defaults in
    /// the copy.
    #[cold]
    fn renew(&self, raw: RawSample) -> Result<RegionSample<T>, ReceiveError> {
        // The check and the sample must use the same bytes: other processes could write to the message in
        // between.
        let private = raw.body().try_to_vec().map_err(|error| self.invalid(&raw, error.into()))?;
        let own = Region::adopt(&private).map_err(|error| self.invalid(&raw, error.into()))?;
        CopyCounter::of_process().count(private.len());
        Ok(RegionSample { raw, size: own.bytes().len(), own: Some(Box::new(own)) })
    }

    #[cold]
    fn invalid(&self, raw: &RawSample, source: RegionFormError) -> ReceiveError {
        let topic = self.raw.topic().to_owned();
        ReceiveError::Region { topic, sequence: raw.sequence(), type_name: T::NAME, source }
    }

    /// Stores a message that has another form in a region.
    fn store(&self, raw: RawSample) -> Result<RegionSample<T>, ReceiveError> {
        let (topic, sequence, type_name) = (self.raw.topic().to_owned(), raw.sequence(), T::NAME);
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
        Ok(RegionSample { raw, size: own.bytes().len(), own: Some(Box::new(own)) })
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

/// The memory options of a lent region: only its slot limits its size.
fn growing() -> Options {
    Options { limit: MAX_SIZE, ..Options::default() }
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
