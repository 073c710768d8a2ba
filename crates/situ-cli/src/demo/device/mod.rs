//! The demo's filter in a memory domain of its choice. It takes images there and publishes their edges there.
//!
//! ```text
//!   camera (host)  ──image──▶  filter (a device)  ──edges──▶  viewer (host)
//!                  one copy                       one copy
//! ```
//!
//! The filter publishes as soon as its work is enqueued. A subscriber of the edges waits for the device, not
//! for the filter.

mod cuda;
mod vulkan;

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use situ::bus::{CopyCounter, DeviceSpan, WhenFull};
use situ::layout::Flat;
use situ::memory::cuda::CudaDomain;
use situ::memory::vulkan::VulkanDomain;
use situ::memory::{self, Domain, DomainError, DomainId, DomainKind, EmulatedStream, Memory, Stream};

use super::children::Report;
use super::frames::{FlatFrame, FrameMessage, Shape};
use crate::commands::{Context, Interrupt};
use crate::error::CliError;
use crate::messages::situ_::sensor::Image;

/// The number of images by which the filter may be ahead of the viewer.
const DEPTH: usize = 8;
/// A viewer may be busy for a long time.
const BLOCKING: WhenFull = WhenFull::Block(Some(Duration::from_secs(30)));
/// The number of images in the filter's memory: those that are ahead, those that are held, and a margin.
const ROOM: u64 = 32;
/// The longest wait for an image before the filter checks whether to stop.
const GLANCE: Duration = Duration::from_millis(20);
/// The interval between reports.
const PERIOD: Duration = Duration::from_millis(100);
/// The time limit for a device to process an image.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The options of the filter.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FilterOptions {
    /// The memory domain.
    pub domain: String,
    /// The topic of images.
    pub input: String,
    /// The topic of edges.
    pub output: String,
    /// The size of an image in bytes.
    pub bytes: u64,
}

/// The domain that the command line names. `auto` is the first available device: CUDA, Vulkan, otherwise the
/// emulated one.
pub fn choose(wanted: &str) -> Result<DomainId, CliError> {
    if wanted != "auto" {
        let domain: DomainId = wanted.parse().map_err(|e| CliError::Usage(format!("{e}, or auto")))?;
        return match memory::find(domain) {
            Ok(_) => Ok(domain),
            Err(error) => Err(CliError::NotFound(error.to_string())),
        };
    }
    let first = |kind| DomainId { kind, number: 0 };
    let devices = [DomainKind::CUDA, DomainKind::VULKAN].map(first);
    // Opens each once, so that a device on which the filter cannot run is skipped.
    let there = devices.into_iter().find(|domain| Device::open(*domain).is_ok());
    Ok(there.unwrap_or(first(DomainKind::EMULATED)))
}

/// A range of a domain's memory.
#[derive(Clone, Debug)]
pub struct Place {
    /// The memory.
    pub memory: Arc<dyn Memory>,
    /// The offset of the range in the memory, in bytes.
    pub offset: u64,
    /// The size of the range in bytes.
    pub len: u64,
}

impl Place {
    fn of(span: &DeviceSpan<'_, u8>) -> Self {
        Self { memory: Arc::clone(span.memory()), offset: span.offset(), len: span.size() }
    }
}

/// The edges of an image, by the operator of Sobel: a byte for each pixel.
pub fn edges(image: &[u8], shape: &Shape, edges: &mut [u8]) {
    let (width, height) = (shape.width as i64, shape.height as i64);
    let grey = |x: i64, y: i64| {
        let at = (y.clamp(0, height - 1) * width + x.clamp(0, width - 1)) as usize * shape.step;
        let byte = |at: usize| image.get(at).copied().map_or(0, i64::from);
        if shape.step < 3 { byte(at) } else { (byte(at) + byte(at + 1) + byte(at + 2)) / 3 }
    };
    for (pixel, edge) in edges.iter_mut().enumerate().take(shape.width * shape.height) {
        let (x, y) = (pixel as i64 % width, pixel as i64 / width);
        let across = grey(x + 1, y - 1) + 2 * grey(x + 1, y) + grey(x + 1, y + 1)
            - grey(x - 1, y - 1)
            - 2 * grey(x - 1, y)
            - grey(x - 1, y + 1);
        let down = grey(x - 1, y + 1) + 2 * grey(x, y + 1) + grey(x + 1, y + 1)
            - grey(x - 1, y - 1)
            - 2 * grey(x, y - 1)
            - grey(x + 1, y - 1);
        *edge = (across.abs() + down.abs()).min(255) as u8;
    }
}

/// The implementation of the filter.
enum Kernel {
    /// The CPU, in the memory of the emulated device.
    Emulated,
    /// A CUDA kernel.
    Cuda(cuda::Kernel),
    /// A Vulkan shader.
    Vulkan(Box<vulkan::Kernel>),
}

/// A device that the filter works on.
struct Device {
    /// Declared first, so dropped first: it is made from the domain.
    kernel: Kernel,
    stream: Arc<dyn Stream>,
    domain: Arc<dyn Domain>,
}

impl Device {
    fn open(id: DomainId) -> Result<Self, DomainError> {
        let (domain, kernel): (Arc<dyn Domain>, _) = match id.kind {
            DomainKind::CUDA => {
                let domain = CudaDomain::find(id.number)?;
                let kernel = cuda::Kernel::new(&domain)?;
                (Arc::new(domain), Kernel::Cuda(kernel))
            }
            DomainKind::VULKAN => {
                let domain = VulkanDomain::find(id.number)?;
                let kernel = vulkan::Kernel::new(&domain)?;
                (Arc::new(domain), Kernel::Vulkan(Box::new(kernel)))
            }
            DomainKind::EMULATED => (memory::find(id)?, Kernel::Emulated),
            _ => {
                let action = "run the demo's filter".to_owned();
                let reason = "the demo has none for it: use emulated, vulkan or cuda".to_owned();
                return Err(DomainError::Refused { domain: id, action, reason });
            }
        };
        Ok(Self { kernel, stream: domain.stream()?, domain })
    }

    /// Enqueues the filter on the stream.
    fn launch(&self, shape: Shape, from: Place, to: Place) -> Result<(), DomainError> {
        match &self.kernel {
            Kernel::Cuda(kernel) => kernel.launch(&*self.stream, &shape, &from, &to),
            Kernel::Vulkan(kernel) => kernel.launch(&*self.stream, &shape, &from, &to),
            Kernel::Emulated => {
                let foreign =
                    || DomainError::Foreign { domain: self.domain.id(), found: self.stream.domain() };
                let stream = self.stream.as_any().downcast_ref::<EmulatedStream>().ok_or_else(foreign)?;
                stream.launch(move |view| {
                    // SAFETY: the stream has waited for the image, and the image is held until the stream has
                    // passed this operation. The edges belong to a loan of this process, which no other code
                    // uses before its fence is complete.
                    let (image, target) = unsafe {
                        (
                            view.bytes(&from.memory, from.offset, from.len)?,
                            view.bytes_mut(&to.memory, to.offset, to.len)?,
                        )
                    };
                    edges(image, &shape, target);
                    Ok(())
                })
            }
        }
    }
}

/// Runs until it is stopped.
pub fn run(context: &Context, options: &FilterOptions) -> Result<(), CliError> {
    super::die_with_parent();
    let interrupt = Interrupt::listen()?;
    let id: DomainId = options.domain.parse().map_err(CliError::failed)?;
    let device = Device::open(id).map_err(CliError::failed)?;
    let node = context.named_node("demo_filter")?.with_domain(Arc::clone(&device.domain));
    let room = |bytes: u64| (bytes.next_multiple_of(4096) * ROOM).max(16 << 20);
    let subscriber = node
        .subscriber::<Image<Flat>>(&options.input)
        .reliable()
        .domain(id)
        .capacity(room(options.bytes))
        .create()
        .map_err(CliError::failed)?;
    let publisher = node
        .publisher::<Image<Flat>>(&options.output)
        .reliable()
        .when_full(BLOCKING)
        .depth(DEPTH)
        .domain(id)
        .capacity(room(options.bytes))
        .create()
        .map_err(CliError::failed)?;
    let (mut frames, mut busy) = (0, Duration::ZERO);
    let tell = |frames, busy: Duration| {
        let (copies, bytes_copied) = CopyCounter::of_process().get();
        let busy_ns = busy.as_nanos() as u64;
        context.output.record(&Report { ready: true, frames, copies, bytes_copied, busy_ns })
    };
    tell(frames, busy)?;
    let mut told = Instant::now();
    while !interrupt.is_set() {
        if let Some(image) = subscriber.recv(Some(GLANCE)).map_err(CliError::failed)? {
            let begin = Instant::now();
            let (width, height) = (image.width as usize, image.height as usize);
            let from = image.span(FlatFrame::place);
            let shape = Shape { width, height, step: image.step as usize / width.max(1) };
            if shape.bytes() > from.len() || shape.step == 0 {
                return Err(CliError::Failed(format!(
                    "image {} has less data than its header states",
                    image.sequence()
                )));
            }
            let grey = Shape { step: 1, ..shape };
            let mut loan =
                publisher.loan_with(<Image<Flat>>::lengths(grey.bytes())).map_err(CliError::failed)?;
            loan.describe(&grey).map_err(CliError::failed)?;
            // The stamp is that of the image, so that the latency covers the path from the camera to the
            // viewer.
            *loan.stamp() = image.header.stamp;
            image.wait_on(&*device.stream, TIMEOUT).map_err(CliError::failed)?;
            let to = Place::of(&loan.span(FlatFrame::place));
            device.launch(shape, Place::of(&from), to).map_err(CliError::failed)?;
            loan.publish_on(&*device.stream).map_err(CliError::failed)?;
            // The image is held until the device has read it.
            device.stream.synchronize(TIMEOUT).map_err(CliError::failed)?;
            frames += 1;
            busy += begin.elapsed();
        }
        if told.elapsed() >= PERIOD {
            tell(frames, busy)?;
            told = Instant::now();
        }
    }
    tell(frames, busy)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use situ::memory::MemoryRequest;

    /// A bright square in the middle of black: 5 x 4 pixels, grey.
    const IMAGE: [u8; 20] = [0, 0, 0, 0, 0, 0, 9, 9, 0, 0, 0, 9, 9, 0, 0, 0, 0, 0, 0, 0];
    /// Computed by hand.
    const EDGES: [u8; 20] = [18, 36, 36, 18, 0, 36, 54, 54, 36, 0, 36, 54, 54, 36, 0, 18, 36, 36, 18, 0];

    #[test]
    fn edges_are_where_brightness_changes() {
        let mut found = [1; 20];
        edges(&IMAGE, &Shape { width: 5, height: 4, step: 1 }, &mut found);
        assert_eq!(found, EDGES);
        let colour: Vec<u8> = IMAGE.iter().flat_map(|grey| [*grey; 3]).collect();
        edges(&colour, &Shape { width: 5, height: 4, step: 3 }, &mut found);
        assert_eq!(found, EDGES);
    }

    /// Every device computes the same bits as the CPU.
    #[test]
    fn devices_compute_the_same() {
        let folder = std::env::temp_dir().join(format!("situ-demo-device-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        for domain in ["emulated:0", "vulkan:0", "cuda:0"] {
            let device = match Device::open(domain.parse().unwrap()) {
                Ok(device) => device,
                Err(error) => {
                    eprintln!("SKIPPED: {error}");
                    continue;
                }
            };
            for (width, height, step) in [(5, 4, 1), (37, 23, 3), (64, 48, 4), (1, 1, 3)] {
                let shape = Shape { width, height, step };
                let image: Vec<u8> = (0..shape.bytes()).map(|i| (i * 37 % 251) as u8).collect();
                let mut expected = vec![0; width * height];
                edges(&image, &shape, &mut expected);
                let request = MemoryRequest { size: 1 << 16, mode: 0o600, group: None };
                let place = |name: &str, len: usize| {
                    let memory = device.domain.create(&(&folder.join(name)).into(), &request).unwrap();
                    memory.back(0, request.size).unwrap();
                    Place { memory, offset: 4096, len: len as u64 }
                };
                let (from, to) = (place("from", image.len()), place("to", expected.len()));
                let mut found = vec![0; expected.len()];
                // SAFETY: both outlive the synchronization.
                unsafe {
                    let len = image.len() as u64;
                    device.stream.copy_from_host(image.as_ptr(), &from.memory, from.offset, len).unwrap();
                }
                device.launch(shape, from, to.clone()).unwrap();
                // SAFETY: as above.
                unsafe {
                    let len = found.len() as u64;
                    device.stream.copy_to_host(&to.memory, to.offset, found.as_mut_ptr(), len).unwrap();
                }
                device.stream.synchronize(TIMEOUT).unwrap();
                assert_eq!(found, expected, "{domain}: {shape:?}");
                let _ = (std::fs::remove_file(folder.join("from")), std::fs::remove_file(folder.join("to")));
            }
        }
        let _ = std::fs::remove_dir_all(&folder);
    }

    #[test]
    fn an_invalid_or_absent_domain_is_reported() {
        assert!(matches!(choose("gpu"), Err(CliError::Usage(_))));
        assert!(matches!(choose("kind99:1"), Err(CliError::NotFound(_))));
        assert_ne!(choose("auto").unwrap(), memory::HOST);
    }
}
