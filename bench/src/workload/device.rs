//! The device of the nodes of `domains` and `graphs`: its memory, its stream, and the kernels of the
//! experiments.

use std::cell::RefCell;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use situ::memory::cuda::{CudaDomain, CudaStream};
use situ::memory::vulkan::{VulkanDomain, VulkanStream};
use situ::memory::{
    Domain, DomainError, DomainId, DomainKind, EmulatedStream, EmulatedView, MemoryRequest, Stream,
};

use super::bilateral::{Bilateral, Extent};
use super::span::Span;
use super::{cuda, vulkan};
use crate::failure::Failure;
use crate::os::monotonic_ns;

/// The emulated device.
pub const EMULATED: DomainId = DomainId { kind: DomainKind::EMULATED, number: 0 };
/// The first Vulkan device.
pub const VULKAN: DomainId = DomainId { kind: DomainKind::VULKAN, number: 0 };

/// The first CUDA device.
pub const CUDA: DomainId = DomainId { kind: DomainKind::CUDA, number: 0 };

const NAME: &str = "device";
const TIMEOUT: Duration = Duration::from_secs(15);

/// A kernel.
#[derive(Clone, Debug)]
pub enum Kernel {
    /// Filters the input into the output.
    Filter(Bilateral, Extent),
    /// Fills the output with this byte. The first and the last byte of each input must be this byte.
    Produce(u8),
}

/// The result of a kernel. Valid once the stream has passed the kernel.
#[derive(Debug, Default)]
pub struct Receipt {
    started: AtomicU64,
    ended: AtomicU64,
    wrong: AtomicU64,
}

impl Receipt {
    /// The times at which it began and ended, in nanoseconds of CLOCK_MONOTONIC.
    pub fn times(&self) -> (u64, u64) {
        (self.started.load(Ordering::Acquire), self.ended.load(Ordering::Acquire))
    }

    /// Fails if an input had wrong bytes.
    pub fn check(&self, system: &'static str) -> Result<(), Failure> {
        match self.wrong.load(Ordering::Acquire) {
            0 => Ok(()),
            wrong => {
                Err(Failure::System { system, what: "kernel", why: format!("{wrong} inputs are wrong") })
            }
        }
    }
}

/// The filter on devices that this program does not emulate.
enum Kernels {
    Vulkan(vulkan::Kernels),
    Cuda(cuda::Kernels),
}

/// A device with one stream, as one process uses it.
pub struct Device {
    /// Declared first and so dropped first: the kernels are made from the device.
    kernels: Option<Kernels>,
    /// The last launched kernel, until its times are known.
    launched: RefCell<Option<Arc<Receipt>>>,
    domain: Arc<dyn Domain>,
    stream: Arc<dyn Stream>,
    directory: PathBuf,
    buffers: AtomicU64,
    copies: AtomicU64,
}

fn wrap<E: std::fmt::Display>(what: &'static str) -> impl FnOnce(E) -> Failure {
    move |error| Failure::System { system: NAME, what, why: error.to_string() }
}

impl Device {
    /// Opens a device. Files of its memory go into the directory.
    pub fn open(id: DomainId, directory: PathBuf) -> Result<Self, Failure> {
        let find = wrap("find");
        let (domain, stream, kernels): (Arc<dyn Domain>, _, _) = match id.kind {
            DomainKind::VULKAN => {
                let domain = VulkanDomain::find(id.number).map_err(find)?;
                let stream = domain.stream().map_err(wrap("stream"))?;
                let own = stream.as_any().downcast_ref::<VulkanStream>();
                let kernels = own.map(|own| vulkan::Kernels::new(&domain, own)).transpose()?;
                (Arc::new(domain), stream, kernels.map(Kernels::Vulkan))
            }
            DomainKind::CUDA => {
                let domain = CudaDomain::find(id.number).map_err(find)?;
                let stream = domain.stream().map_err(wrap("stream"))?;
                let own = stream.as_any().downcast_ref::<CudaStream>();
                let kernels = own.map(|own| cuda::Kernels::new(&domain, own)).transpose()?;
                (Arc::new(domain), stream, kernels.map(Kernels::Cuda))
            }
            _ => {
                let domain = situ::memory::find(id).map_err(find)?;
                let stream = domain.stream().map_err(wrap("stream"))?;
                (domain, stream, None)
            }
        };
        Ok(Self {
            kernels,
            launched: RefCell::default(),
            domain,
            stream,
            directory,
            buffers: AtomicU64::new(0),
            copies: AtomicU64::new(0),
        })
    }

    /// The domain, for Situ's nodes.
    pub fn domain(&self) -> &Arc<dyn Domain> {
        &self.domain
    }

    /// The stream, for Situ's messages.
    pub fn stream(&self) -> &dyn Stream {
        &*self.stream
    }

    /// The number of copies so far.
    pub fn copies(&self) -> u64 {
        self.copies.load(Ordering::Relaxed)
    }

    /// New memory of this process.
    pub fn buffer(&self, len: usize) -> Result<Span, Failure> {
        let number = self.buffers.fetch_add(1, Ordering::Relaxed);
        let path = self.directory.join(format!("buffer-{}-{number}", std::process::id()));
        let size = (len as u64).next_multiple_of(4096);
        let request = MemoryRequest { size, mode: 0o600, group: None };
        let memory = self.domain.create(&(&path).into(), &request).map_err(wrap("create"))?;
        memory.back(0, size).map_err(wrap("back"))?;
        // Processes that map the memory keep it. No process needs to find it by its name.
        let _ = std::fs::remove_file(&path);
        Ok(Span { memory, offset: 0, len: len as u64 })
    }

    /// Enqueues a copy of host bytes into the span.
    ///
    /// # Safety
    /// The bytes must not change until [`finish`](Self::finish) has returned.
    pub unsafe fn copy_in(&self, from: &[u8], to: &Span) -> Result<(), Failure> {
        assert_eq!(from.len() as u64, to.len, "as many bytes as the span has");
        self.copies.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the slice is readable, and the caller does not change it until the copy is done. The span
        // is this process's own.
        unsafe { self.stream.copy_from_host(from.as_ptr(), &to.memory, to.offset, to.len) }
            .map_err(wrap("copy_from_host"))
    }

    /// Enqueues a copy of the span to host memory.
    ///
    /// # Safety
    /// The caller must not use the bytes until [`finish`](Self::finish) has returned.
    pub unsafe fn copy_out(&self, from: &Span, to: &mut [u8]) -> Result<(), Failure> {
        assert_eq!(to.len() as u64, from.len, "as many bytes as the span has");
        self.copies.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the slice is writable, and the caller does not use it until the copy is done.
        unsafe { self.stream.copy_to_host(&from.memory, from.offset, to.as_mut_ptr(), to.len() as u64) }
            .map_err(wrap("copy_to_host"))
    }

    /// Enqueues a kernel.
    pub fn launch(
        &self,
        kernel: Kernel,
        inputs: Vec<Span>,
        output: Option<Span>,
    ) -> Result<Arc<Receipt>, Failure> {
        let receipt = Arc::new(Receipt::default());
        if let Some(kernels) = &self.kernels {
            let (Kernel::Filter(filter, extent), [input], Some(output)) = (&kernel, &inputs[..], &output)
            else {
                return Err(self.cannot("launch this kernel"));
            };
            match (kernels, self.stream.as_any().downcast_ref::<VulkanStream>()) {
                (Kernels::Vulkan(kernels), Some(stream)) => {
                    kernels.launch(stream, filter, *extent, input, output)?;
                }
                (Kernels::Vulkan(_), None) => return Err(self.cannot("launch kernels")),
                (Kernels::Cuda(kernels), _) => kernels.launch(filter, *extent, input, output)?,
            }
            *self.launched.borrow_mut() = Some(Arc::clone(&receipt));
            return Ok(receipt);
        }
        let Some(stream) = self.stream.as_any().downcast_ref::<EmulatedStream>() else {
            return Err(self.cannot("launch kernels"));
        };
        let kept = Arc::clone(&receipt);
        stream
            .launch(move |view| {
                kept.started.store(monotonic_ns(), Ordering::Release);
                let wrong = compute(view, &kernel, &inputs, output.as_ref())?;
                kept.wrong.store(wrong, Ordering::Release);
                kept.ended.store(monotonic_ns(), Ordering::Release);
                Ok(())
            })
            .map_err(wrap("launch"))?;
        Ok(receipt)
    }

    /// Waits until the device has finished everything that was enqueued.
    pub fn finish(&self) -> Result<(), Failure> {
        self.stream.synchronize(TIMEOUT).map_err(wrap("synchronize"))?;
        let times = match &self.kernels {
            None => None,
            Some(Kernels::Vulkan(kernels)) => kernels.times()?,
            Some(Kernels::Cuda(kernels)) => kernels.times()?,
        };
        if let (Some((started, ended)), Some(receipt)) = (times, self.launched.take()) {
            receipt.started.store(started, Ordering::Release);
            receipt.ended.store(ended, Ordering::Release);
        }
        Ok(())
    }

    fn cannot(&self, what: &'static str) -> Failure {
        let why = format!("the benchmark has no kernels for domain {}", self.domain.id());
        Failure::System { system: NAME, what, why }
    }
}

/// A kernel on the emulated device. Returns the number of wrong inputs.
fn compute(
    view: &EmulatedView<'_>,
    kernel: &Kernel,
    inputs: &[Span],
    output: Option<&Span>,
) -> Result<u64, DomainError> {
    match (kernel, inputs, output) {
        (Kernel::Filter(filter, extent), [input], Some(output)) => {
            filter.apply(*extent, reading(view, input)?, writing(view, output)?);
            Ok(0)
        }
        (Kernel::Filter(..), _, _) => Ok(1),
        (Kernel::Produce(byte), _, _) => {
            let mut wrong = 0;
            for input in inputs {
                let bytes = reading(view, input)?;
                wrong += u64::from(bytes.first() != Some(byte) || bytes.last() != Some(byte));
            }
            if let Some(output) = output {
                writing(view, output)?.fill(*byte);
            }
            Ok(wrong)
        }
    }
}

fn reading<'s>(view: &EmulatedView<'_>, span: &'s Span) -> Result<&'s [u8], DomainError> {
    // SAFETY: inputs are this process's own buffers, which only this stream uses, or messages that are
    // complete and held.
    unsafe { view.bytes(&span.memory, span.offset, span.len) }
}

#[allow(clippy::mut_from_ref, reason = "the bytes are the device's, not the span's")]
fn writing<'s>(view: &EmulatedView<'_>, span: &'s Span) -> Result<&'s mut [u8], DomainError> {
    // SAFETY: outputs are this process's own buffers, which only this stream uses, or loans.
    unsafe { view.bytes_mut(&span.memory, span.offset, span.len) }
}

#[cfg(test)]
mod tests {
    use super::{CUDA, Device, EMULATED, Kernel, VULKAN};
    use crate::workload::bilateral::{Bilateral, Extent, picture};

    /// A picture, filtered by the device.
    fn filtered(device: &Device, radius: usize, extent: Extent, image: &[u8]) -> Vec<u8> {
        let (input, output) =
            (device.buffer(image.len()).expect("memory"), device.buffer(image.len()).expect("memory"));
        let mut result = vec![0; image.len()];
        let kernel = Kernel::Filter(Bilateral::new(radius), extent);
        // SAFETY: this function does not use the picture or the result before `finish`.
        unsafe { device.copy_in(image, &input) }.expect("a copy");
        let receipt = device.launch(kernel, vec![input], Some(output.clone())).expect("a kernel");
        // SAFETY: as above.
        unsafe { device.copy_out(&output, &mut result) }.expect("a copy");
        device.finish().expect("done");
        let (started, ended) = receipt.times();
        assert!(0 < started && started <= ended, "{started} to {ended}");
        receipt.check("test").expect("nothing wrong");
        result
    }

    #[test]
    fn devices_compute_what_the_cpu_computes() {
        let extent = Extent { width: 150, height: 37 };
        let image = picture(extent, 3);
        for id in [EMULATED, VULKAN, CUDA] {
            let device = match Device::open(id, std::env::temp_dir()) {
                Ok(device) => device,
                Err(absent) => {
                    println!("{id} is absent: {absent}");
                    continue;
                }
            };
            for radius in [0, 3, 5] {
                let mut expected = vec![0; extent.bytes()];
                Bilateral::new(radius).apply(extent, &image, &mut expected);
                let result = filtered(&device, radius, extent, &image);
                // Other machines round differently, by one step at most.
                assert!(
                    result.iter().zip(&expected).all(|(a, b)| a.abs_diff(*b) <= 1),
                    "{id}, radius {radius}"
                );
            }
        }
    }
}
