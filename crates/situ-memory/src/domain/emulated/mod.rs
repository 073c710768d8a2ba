//! An emulated device: memory that the CPU may not touch, and work on it that takes time.
//!
//! The bytes are a file like the host's, mapped twice. The address that programs see has no access rights at
//! all. A program that dereferences device memory by mistake therefore dies as it would on a device. The
//! other mapping is the device's: only its streams use it, each a thread of its own. Latency and bandwidth
//! are modelled, and everything that a device can refuse can be made to fail.

mod faults;
mod memory;
mod stream;

use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

pub use faults::{FaultPlan, Faults};
pub use stream::{EmulatedStream, EmulatedView};

use crate::domain::traits::{
    Capabilities, Domain, DomainError, DomainId, DomainKind, Memory, MemoryRequest, Sharing, Stream,
    StreamOrder,
};
use crate::os::beneath::Beneath;
use memory::EmulatedMemory;

/// The properties of an emulated device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmulatedOptions {
    /// Its number among the emulated devices.
    pub number: u32,
    /// How long each copy and each kernel takes before it begins, after it is enqueued and all earlier work
    /// is done.
    pub latency: Duration,
    /// How many bytes a second it copies, all streams together; 0: no limit.
    pub bandwidth_bytes_per_s: u64,
    /// What is going to fail.
    pub fault: FaultPlan,
}

impl Default for EmulatedOptions {
    /// A graphics card on a present-day bus: 10 us and 12 GB/s. Nothing fails.
    fn default() -> Self {
        Self {
            number: 0,
            latency: Duration::from_micros(10),
            bandwidth_bytes_per_s: 12_000_000_000,
            fault: FaultPlan::default(),
        }
    }
}

/// What all handles, streams and memories of one emulated device share.
#[derive(Debug)]
struct Device {
    id: DomainId,
    latency: Duration,
    bandwidth_bytes_per_s: u64,
    faults: Faults,
    /// When the bus has carried all the bytes that it was given.
    bus_free_at: Mutex<Instant>,
}

impl Device {
    /// An error if the device is lost.
    fn check(&self) -> Result<(), DomainError> {
        if self.faults.is_lost() { Err(self.lost()) } else { Ok(()) }
    }

    fn lost(&self) -> DomainError {
        DomainError::Lost { domain: self.id, reason: "it was made to fail".to_owned() }
    }

    fn refused(&self, action: impl Into<String>, reason: impl Into<String>) -> DomainError {
        DomainError::Refused { domain: self.id, action: action.into(), reason: reason.into() }
    }

    /// How long the bus carries `len` bytes.
    fn carries(&self, len: u64) -> Duration {
        if self.bandwidth_bytes_per_s == 0 {
            return Duration::ZERO;
        }
        let nanoseconds = u128::from(len) * 1_000_000_000 / u128::from(self.bandwidth_bytes_per_s);
        Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX))
    }

    /// How long a copy of `len` bytes takes that begins now, if no other copy takes the bus.
    fn time_of(&self, len: u64) -> Duration {
        let free_at = *self.bus_free_at.lock().unwrap_or_else(PoisonError::into_inner);
        let held_up = free_at.saturating_duration_since(Instant::now());
        self.latency.saturating_add(held_up).saturating_add(self.carries(len))
    }

    /// Takes the bus for `len` bytes, the latency after `since`. Returns when the bus begins to carry them,
    /// and when it ends.
    fn reserve(&self, since: Instant, len: u64) -> (Instant, Instant) {
        let begin = since + self.latency;
        if self.bandwidth_bytes_per_s == 0 {
            return (begin, begin);
        }
        let takes = self.carries(len);
        let mut free_at = self.bus_free_at.lock().unwrap_or_else(PoisonError::into_inner);
        let begin = begin.max(*free_at);
        *free_at = begin + takes;
        (begin, *free_at)
    }
}

/// An emulated device. Clones are handles to the same device. Two processes that make a device of the same
/// number share its memory, but not its streams and faults.
#[derive(Debug, Clone)]
pub struct EmulatedDomain {
    device: Arc<Device>,
}

impl Default for EmulatedDomain {
    fn default() -> Self {
        Self::new(EmulatedOptions::default())
    }
}

impl EmulatedDomain {
    /// A device with these properties.
    pub fn new(options: EmulatedOptions) -> Self {
        let device = Device {
            id: DomainId { kind: DomainKind::EMULATED, number: options.number },
            latency: options.latency,
            bandwidth_bytes_per_s: options.bandwidth_bytes_per_s,
            faults: Faults::new(options.fault),
            bus_free_at: Mutex::new(Instant::now()),
        };
        Self { device: Arc::new(device) }
    }

    /// A handle that makes the device fail, for tests.
    pub fn faults(&self) -> Faults {
        self.device.faults.clone()
    }
}

impl Domain for EmulatedDomain {
    fn id(&self) -> DomainId {
        self.device.id
    }

    fn name(&self) -> String {
        "emulated device".to_owned()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            host_access: false,
            outlives_owner: true,
            sharing: Sharing::File,
            order: StreamOrder::Words,
        }
    }

    fn create(&self, place: &Beneath, request: &MemoryRequest) -> Result<Arc<dyn Memory>, DomainError> {
        Ok(Arc::new(EmulatedMemory::create(&self.device, place, request)?))
    }

    fn import(&self, descriptor: OwnedFd, size: u64) -> Result<Arc<dyn Memory>, DomainError> {
        Ok(Arc::new(EmulatedMemory::import(&self.device, descriptor, size)?))
    }

    fn stream(&self) -> Result<Arc<dyn Stream>, DomainError> {
        Ok(Arc::new(EmulatedStream::new(&self.device)?))
    }
}
