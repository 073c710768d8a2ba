//! The memory of messages, and what keeps it.
//!
//! ```text
//!   Struct, ListView --> Hold --> Memory <-- Array <-- numpy array, DLPack tensor
//!      views            may be    the sample or loan
//!                       emptied   itself
//! ```
//!
//! A view reaches the memory through its message's `Hold`. When the message is released, the hold is emptied,
//! and every view raises from then on. An array that was given to numpy keeps the memory itself, so it stays
//! valid as long as it lives, and the slot stays held. A loan is published only if nothing but its hold keeps
//! the memory: no array can then change the published message.

use std::any::Any;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use situ_bus::{DetachedLoan, RawSample};

use crate::device::{DeviceBody, TIMEOUT, keep_until_passed};
use crate::errors::Kind;
use crate::port::Port;
use crate::process;
use crate::region_loan::RegionLoan;
use crate::sync::lock;

/// The owner of the bytes.
pub enum Owner {
    /// A message that was taken.
    Sample(RawSample),
    /// A message that is being written. The loan is taken out when it is published.
    Loan(Arc<Port>, Mutex<Option<DetachedLoan>>),
    /// A region that is being written. It is taken out when it is published.
    Region(Mutex<Option<Box<RegionLoan>>>),
    /// A request or a reply that is being written. The loan is taken out when it is sent.
    Service(Mutex<Option<Box<dyn ServiceLoan>>>),
    /// Private bytes: one allocation, the body behind the head.
    Bytes(#[allow(dead_code, reason = "keeps the bytes")] Box<[u64]>),
}

impl Drop for Owner {
    fn drop(&mut self) {
        match self {
            Self::Loan(port, loan) => {
                if let Some(loan) = loan.get_mut().unwrap_or_else(PoisonError::into_inner).take() {
                    port.take_back(loan);
                }
            }
            Self::Service(loan) => {
                if let Some(loan) = loan.get_mut().unwrap_or_else(PoisonError::into_inner).take() {
                    loan.take_back();
                }
            }
            // A region gives its memory back itself.
            Self::Sample(_) | Self::Region(_) | Self::Bytes(_) => {}
        }
    }
}

/// An owner that streams keep.
struct Kept(#[allow(dead_code, reason = "it is only kept")] Owner);

// SAFETY: nobody uses it any more. What its end does takes the locks of the publisher, as the end of any
// memory does, which arrays may bring about on any thread.
unsafe impl Send for Kept {}
// SAFETY: as above.
unsafe impl Sync for Kept {}

/// A loan of a client or a server.
pub trait ServiceLoan: Send {
    /// Returns its memory to the client or the server.
    fn take_back(self: Box<Self>);
    /// The loan itself.
    fn into_any(self: Box<Self>) -> Box<dyn Any>;
    /// As `into_any`.
    fn as_any(&self) -> &dyn Any;
}

/// The bytes of one message.
pub struct Memory {
    head: *mut u8,
    head_size: usize,
    body: *mut u8,
    body_size: usize,
    /// Whether this process may write it.
    pub writable: bool,
    pub owner: Owner,
    /// The body, if it is in the memory of a device. Then there are no bytes of it here.
    pub device: Option<Box<DeviceBody>>,
    /// Its number in the list of held samples, while such a list is kept.
    taken: Option<u64>,
}

// SAFETY: the bytes of a sample are only read. Those of a loan and private bytes are read and written by code
// that holds the GIL, and by arrays that Python's code owns, as every array of numpy.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    /// The memory of a message that was taken.
    pub fn of_sample(sample: RawSample, taken: Option<u64>) -> Arc<Self> {
        let (head, body) = (sample.head_in_place(), sample.body_in_place());
        let is_elsewhere = body.is_empty() && sample.body_size() > 0;
        let device = is_elsewhere.then(|| DeviceBody::of(&sample.span()));
        Arc::new(Self {
            head: head.as_ptr().cast_mut(),
            head_size: head.len(),
            body: body.as_ptr().cast_mut(),
            body_size: body.len(),
            writable: false,
            owner: Owner::Sample(sample),
            device,
            taken,
        })
    }

    /// The memory of a loan, whose head and body are these. The body may be on a device instead.
    pub fn of_loan(
        port: Arc<Port>,
        loan: DetachedLoan,
        (head, head_size): (*mut u8, usize),
        (body, body_size): (*mut u8, usize),
        device: Option<Box<DeviceBody>>,
    ) -> Arc<Self> {
        let owner = Owner::Loan(port, Mutex::new(Some(loan)));
        Arc::new(Self { head, head_size, body, body_size, writable: true, owner, device, taken: None })
    }

    /// The memory of a region that is lent. Its place and its size are the region's.
    pub fn of_region(loan: RegionLoan) -> Arc<Self> {
        let nothing = std::ptr::NonNull::dangling().as_ptr();
        Arc::new(Self {
            head: nothing,
            head_size: 0,
            body: nothing,
            body_size: 0,
            writable: true,
            owner: Owner::Region(Mutex::new(Some(Box::new(loan)))),
            device: None,
            taken: None,
        })
    }

    /// The region that is being written, if it is one.
    pub fn region(&self) -> Option<&Mutex<Option<Box<RegionLoan>>>> {
        if let Owner::Region(loan) = &self.owner { Some(loan) } else { None }
    }

    /// The memory of a request or a reply that is lent.
    pub fn of_service(
        loan: Box<dyn ServiceLoan>,
        (head, head_size): (*mut u8, usize),
        (body, body_size): (*mut u8, usize),
    ) -> Arc<Self> {
        let owner = Owner::Service(Mutex::new(Some(loan)));
        Arc::new(Self { head, head_size, body, body_size, writable: true, owner, device: None, taken: None })
    }

    /// Whether it is a loan of a client or a server of this kind that `fits`.
    pub fn lends<L: 'static>(&self, fits: impl Fn(&L) -> bool) -> bool {
        let Owner::Service(loan) = &self.owner else { return false };
        lock(loan).as_ref().and_then(|loan| loan.as_any().downcast_ref::<L>()).is_some_and(fits)
    }

    /// A private copy. `None` if there is not enough memory.
    pub fn of_bytes(head: &[u8], body: &[u8], writable: bool) -> Option<Arc<Self>> {
        // Both begin at a multiple of 8, as the elements of arrays need it.
        let begin = head.len().next_multiple_of(8);
        let words = begin.checked_add(body.len())?.div_ceil(8);
        let mut bytes: Vec<u64> = Vec::new();
        bytes.try_reserve_exact(words).ok()?;
        bytes.resize(words, 0);
        let mut bytes = bytes.into_boxed_slice();
        let first = bytes.as_mut_ptr().cast::<u8>();
        // SAFETY: the allocation has room for both, one behind the other, and is new.
        unsafe {
            first.copy_from_nonoverlapping(head.as_ptr(), head.len());
            first.add(begin).copy_from_nonoverlapping(body.as_ptr(), body.len());
        }
        Some(Arc::new(Self {
            head: first,
            head_size: head.len(),
            body: first.wrapping_add(begin),
            body_size: body.len(),
            writable,
            owner: Owner::Bytes(bytes),
            device: None,
            taken: None,
        }))
    }

    /// The head.
    pub fn head(&self) -> &[u8] {
        // SAFETY: the owner keeps the bytes. The GIL orders reads and writes of this process.
        unsafe { std::slice::from_raw_parts(self.head, self.head_size) }
    }

    /// The body.
    pub fn body(&self) -> &[u8] {
        if let Owner::Region(loan) = &self.owner {
            let extent = lock(loan).as_ref().map(|loan| (loan.bytes().as_ptr(), loan.bytes().len()));
            let Some((image, size)) = extent else { return &[] };
            // SAFETY: the region grows in place, and lives as long as the memory: who takes it out has the
            // only reference to the memory. The GIL orders reads and changes of this process.
            return unsafe { std::slice::from_raw_parts(image, size) };
        }
        // SAFETY: as for `head`; an absent body is empty.
        unsafe { std::slice::from_raw_parts(self.body, self.body_size) }
    }

    /// The body, or a copy of it if it is in the memory of a device. Then it waits until the message is
    /// complete.
    pub fn body_on_host(&self, py: Python<'_>) -> PyResult<Cow<'_, [u8]>> {
        match &self.device {
            Some(device) => self.copy_of_device(py, device, 0, device.size).map(Cow::Owned),
            None => Ok(Cow::Borrowed(self.body())),
        }
    }

    /// A copy of a part of the body that is in the memory of a device, once it is complete.
    pub fn copy_of_device(
        &self,
        py: Python<'_>,
        device: &DeviceBody,
        at: u64,
        size: u64,
    ) -> PyResult<Vec<u8>> {
        let copied = process::detached(py, || {
            if let Some(sample) = self.sample() {
                sample.synchronize(TIMEOUT).map_err(|error| error.to_string())?;
            }
            device.copy(at, size).map_err(|error| error.to_string())
        });
        copied.map_err(|text| Kind::Take.error(py, text))
    }

    /// Copies bytes into the head. Returns whether they fit and may be written.
    pub fn write(&self, at: u64, bytes: &[u8]) -> bool {
        let Some(end) = usize::try_from(at).ok().and_then(|at| at.checked_add(bytes.len())) else {
            return false;
        };
        if !self.writable || end > self.head_size {
            return false;
        }
        // SAFETY: within the head, which may be written; the source is other memory.
        unsafe { self.head.add(at as usize).copy_from(bytes.as_ptr(), bytes.len()) };
        true
    }

    /// A place in the head or in the body, if that many bytes are there.
    pub fn place(&self, in_body: bool, at: u64, size: u64) -> Option<*mut u8> {
        let (begin, all) = if in_body { (self.body, self.body_size) } else { (self.head, self.head_size) };
        let end = at.checked_add(size)?;
        (end <= all as u64).then(|| begin.wrapping_add(at as usize))
    }

    /// The message that was taken, if it is one.
    pub fn sample(&self) -> Option<&RawSample> {
        if let Owner::Sample(sample) = &self.owner { Some(sample) } else { None }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if let Some(number) = self.taken {
            lock(&TAKEN).remove(&number);
        }
        // Work on a device may still use the body.
        if let Some(device) = &self.device {
            let streams = device.take_streams();
            if !streams.is_empty() {
                let owner = std::mem::replace(&mut self.owner, Owner::Bytes(Box::default()));
                keep_until_passed(&streams, Kept(owner));
            }
        }
    }
}

/// What a view looks at: the memory, until it is released.
pub struct Hold {
    memory: Mutex<Result<Arc<Memory>, &'static str>>,
}

impl Hold {
    /// Holds the memory.
    pub fn new(memory: Arc<Memory>) -> Arc<Self> {
        Arc::new(Self { memory: Mutex::new(Ok(memory)) })
    }

    /// The memory, or an error that says why it is gone.
    pub fn memory(&self, py: Python<'_>) -> PyResult<Arc<Memory>> {
        match &*lock(&self.memory) {
            Ok(memory) => Ok(memory.clone()),
            Err(reason) => Err(Kind::Released.error(py, reason)),
        }
    }

    /// Asks for something of the body, if it is in the memory of a device.
    pub fn of_device<R>(&self, of: impl FnOnce(&DeviceBody) -> R) -> Option<R> {
        let memory = lock(&self.memory);
        memory.as_ref().ok()?.device.as_deref().map(of)
    }

    /// Whether the memory is still there.
    pub fn is_held(&self) -> bool {
        lock(&self.memory).is_ok()
    }

    /// Lets go of the memory. Views say `reason` from now on.
    pub fn release(&self, reason: &'static str) -> Option<Arc<Memory>> {
        let mut memory = lock(&self.memory);
        if memory.is_err() {
            return None;
        }
        std::mem::replace(&mut *memory, Err(reason)).ok()
    }

    /// Takes the memory out if nothing else keeps it. Otherwise returns by how many arrays it is kept, or
    /// `None` if it was released before.
    pub fn take(&self, reason: &'static str) -> Result<Memory, Option<usize>> {
        let mut held = lock(&self.memory);
        match std::mem::replace(&mut *held, Err(reason)) {
            Ok(memory) => Arc::try_unwrap(memory).map_err(|memory| {
                let arrays = Arc::strong_count(&memory) - 1;
                *held = Ok(memory);
                Some(arrays)
            }),
            Err(earlier) => {
                *held = Err(earlier);
                Err(None)
            }
        }
    }
}

/// Where the samples that are held now were taken, by a number for each. Kept in debug mode only.
static TAKEN: Mutex<BTreeMap<u64, (String, String)>> = Mutex::new(BTreeMap::new());
static NEXT: AtomicU64 = AtomicU64::new(0);

/// Notes where a sample of a topic was taken.
pub fn note_taken(topic: &str, place: String) -> u64 {
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    lock(&TAKEN).insert(number, (topic.to_owned(), place));
    number
}

/// Where the held samples of a topic were taken, each place with its number of samples.
pub fn places_of(topic: &str) -> BTreeMap<String, usize> {
    let mut places = BTreeMap::new();
    for (_, place) in lock(&TAKEN).values().filter(|(of, _)| of == topic) {
        *places.entry(place.clone()).or_default() += 1;
    }
    places
}
