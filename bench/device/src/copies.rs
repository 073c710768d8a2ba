//! The same message through host memory, to show what hops within the domain save: iceoryx2 with one copy
//! before and one after.
//!
//! Mode `pageable` copies synchronously. Mode `registered` registers the memory with the driver once and
//! copies asynchronously. The receiver has a read-only mapping. If the driver does not register read-only
//! memory, the receiver first copies to its own pinned memory.

use std::collections::HashSet;
use std::time::Duration;

use cudarc::driver::sys;
use iceoryx2::port::publisher::Publisher;
use iceoryx2::port::subscriber::Subscriber;
use iceoryx2::prelude::*;
use iceoryx2::service::port_factory::publish_subscribe::PortFactory;
use situ::memory::Domain;
use situ::memory::cuda::{CudaDomain, CudaStream};

use crate::kernels::check;
use crate::process::{TIMEOUT, Role, now_ns, say_times, times};
use crate::table::{Finding, Table, percentile, size as sized};
use crate::{Result, Wanted};

const PAGE: usize = 4096;
/// The number of messages for which an iceoryx2 publisher has memory: two in the subscriber's buffer, two
/// borrowed, two lent, and one more.
const MESSAGES: u64 = 7;

/// The free bytes of the file system in which iceoryx2 stores its messages.
fn free_shared_memory() -> u64 {
    rustix::fs::statvfs("/dev/shm").map_or(0, |room| room.f_bavail * room.f_frsize)
}

/// Measures this part of the table.
pub fn measure(wanted: &Wanted, table: &mut Table) {
    if !wanted.is_cuda() {
        table.fact("copies through host memory", "measured with CUDA only");
        return;
    }
    let sizes: &[usize] =
        if wanted.quick { &[1 << 20] } else { &[4 << 10, 64 << 10, 1 << 20, 16 << 20, 256 << 20, 1 << 30] };
    for mode in ["pageable", "registered"] {
        for size in sizes {
            let (needed, free) = (MESSAGES * payload_size(*size) as u64, free_shared_memory());
            if needed > free {
                let why = format!(
                    "not measured: iceoryx2 takes {} of shared memory, {} are free",
                    sized(needed),
                    sized(free)
                );
                table.fact(&format!("{mode}, {}", sized(*size as u64)), &why);
                continue;
            }
            let count = if *size > 32 << 20 { 30 } else { 300 };
            let found = run(wanted.domain.number, mode, *size, count).map(|mut times| {
                let (p50, p99) = (percentile(&mut times, 50), percentile(&mut times, 99));
                Finding::plain(format!("p50 {p50:.1}  p99 {p99:.1}  ({} messages)", times.len()))
            });
            table.row(&format!("{mode}, {}", sized(*size as u64)), found);
        }
    }
}

fn failed<E: std::fmt::Debug>(what: &'static str) -> impl FnOnce(E) -> Box<dyn std::error::Error> {
    move |error| format!("iceoryx2, {what}: {error:?}").into()
}

type Topic = PortFactory<ipc::Service, [u8], ()>;

fn topic(mode: &str, size: usize) -> Result<(Node<ipc::Service>, Topic)> {
    set_log_level(LogLevel::Fatal);
    let node = NodeBuilder::new()
        .signal_handling_mode(SignalHandlingMode::Disabled)
        .create::<ipc::Service>()
        .map_err(failed("node"))?;
    let name = format!("situ-device/{mode}/{size}");
    let topic = node
        .service_builder(&ServiceName::new(&name).map_err(failed("name"))?)
        .publish_subscribe::<[u8]>()
        .payload_alignment(Alignment::new(64).ok_or("alignment")?)
        .max_publishers(1)
        .max_subscribers(1)
        .history_size(0)
        .subscriber_max_buffer_size(2)
        .subscriber_max_borrowed_samples(2)
        .open_or_create()
        .map_err(failed("service"))?;
    Ok((node, topic))
}

/// A device's buffer, and copies between it and host memory.
struct Device {
    stream: std::sync::Arc<dyn situ::memory::Stream>,
    domain: CudaDomain,
    buffer: sys::CUdeviceptr,
    registered: Option<HashSet<usize>>,
    /// Pinned memory of this process, if the payload's memory cannot be registered. iceoryx2 maps the payload
    /// read-only at the receiver, and drivers for x86 do not register read-only memory.
    own: Option<*mut u8>,
}

impl Device {
    fn new(number: u32, mode: &str, size: usize) -> Result<Self> {
        let domain = CudaDomain::find(number)?;
        let stream = domain.stream()?;
        let mut buffer = 0;
        // SAFETY: the context lives as long as the domain.
        unsafe {
            check("cuCtxSetCurrent", sys::cuCtxSetCurrent(domain.context()?.cast()))?;
            check("cuMemAlloc", sys::cuMemAlloc_v2(&mut buffer, size))?;
        }
        Ok(Self { stream, domain, buffer, registered: (mode == "registered").then(HashSet::new), own: None })
    }

    /// Copies synchronously. The payload has a page more than the size, so that whole pages can be
    /// registered.
    fn copy(&mut self, payload: *mut u8, size: usize, to_device: bool) -> Result<()> {
        let host = (payload as usize).next_multiple_of(PAGE);
        let raw = self.stream.as_any().downcast_ref::<CudaStream>().ok_or("not a CUDA stream")?.raw().cast();
        // SAFETY: the payload has this many bytes from `host` on, and only this process uses it until the
        // copy is done below.
        unsafe {
            let Some(registered) = &mut self.registered else {
                let result = if to_device {
                    sys::cuMemcpyHtoD_v2(self.buffer, host as *const _, size)
                } else {
                    sys::cuMemcpyDtoH_v2(host as *mut _, self.buffer, size)
                };
                return check("a copy", result);
            };
            if self.own.is_none() && registered.insert(host) {
                let registers = |flags| {
                    let pages = size.next_multiple_of(PAGE);
                    sys::cuMemHostRegister_v2(host as *mut _, pages, flags) == sys::CUresult::CUDA_SUCCESS
                };
                if !registers(0) && !registers(sys::CU_MEMHOSTREGISTER_READ_ONLY) {
                    if !to_device {
                        return Err("the sender's memory cannot be registered".into());
                    }
                    let mut own = std::ptr::null_mut();
                    check("cuMemHostAlloc", sys::cuMemHostAlloc(&mut own, size, 0))?;
                    self.own = Some(own.cast());
                }
            }
            let host = match self.own {
                Some(own) => {
                    own.copy_from_nonoverlapping(host as *const u8, size);
                    own as usize
                }
                None => host,
            };
            let result = if to_device {
                sys::cuMemcpyHtoDAsync_v2(self.buffer, host as *const _, size, raw)
            } else {
                sys::cuMemcpyDtoHAsync_v2(host as *mut _, self.buffer, size, raw)
            };
            check("an asynchronous copy", result)?;
            check("cuStreamSynchronize", sys::cuStreamSynchronize(raw))
        }
    }
}

/// The size of a payload for a message of `size` bytes: the time, and whole pages.
fn payload_size(size: usize) -> usize {
    size.next_multiple_of(PAGE) + 2 * PAGE
}

fn run(number: u32, mode: &str, size: usize, count: usize) -> Result<Vec<u64>> {
    let (_node, topic) = topic(mode, size)?;
    let publisher: Publisher<ipc::Service, [u8], ()> = topic
        .publisher_builder()
        .initial_max_slice_len(payload_size(size))
        .max_loaned_samples(2)
        .create()
        .map_err(failed("publisher"))?;
    let mut device = Device::new(number, mode, size)?;
    let arguments = ["copier", &number.to_string(), mode, &size.to_string(), &count.to_string()];
    let mut other = Role::start(&arguments, None)?;
    other.hear("ready")?;
    for turn in 0..=count {
        let began = if turn == count { 0 } else { now_ns() };
        let sample = publisher.loan_slice_uninit(payload_size(size)).map_err(failed("loan"))?;
        // SAFETY: every byte of shared memory has a value, and any value is a `u8`.
        let mut sample = unsafe { sample.assume_init() };
        let payload = sample.payload_mut();
        payload[..8].copy_from_slice(&began.to_ne_bytes());
        // Skips the time. The rest of the first page stays unused.
        device.copy(payload[8..].as_mut_ptr(), size, false)?;
        sample.send().map_err(failed("send"))?;
        // Sends the next message after this one has arrived.
        std::thread::sleep(Duration::from_micros(200 + size as u64 / 2000));
    }
    let found = times(&other.hear("times")?);
    drop(device.domain);
    found
}

/// The receiver's role.
pub fn receiver(number: u32, mode: &str, size: usize, count: usize) -> Result<()> {
    let (_node, topic) = topic(mode, size)?;
    let subscriber: Subscriber<ipc::Service, [u8], ()> =
        topic.subscriber_builder().create().map_err(failed("subscriber"))?;
    let mut device = Device::new(number, mode, size)?;
    println!("ready");
    let mut times = Vec::with_capacity(count);
    let mut last = now_ns();
    loop {
        let Some(sample) = subscriber.receive().map_err(failed("receive"))? else {
            if now_ns() - last > TIMEOUT.as_nanos() as u64 {
                return Err("no message arrived".into());
            }
            std::hint::spin_loop();
            continue;
        };
        let payload = sample.payload();
        let began = u64::from_ne_bytes(payload[..8].try_into()?);
        if began == 0 {
            break;
        }
        device.copy(payload[8..].as_ptr().cast_mut(), size, true)?;
        last = now_ns();
        times.push(last - began);
    }
    say_times(&times[times.len() / 10..]);
    Ok(())
}
