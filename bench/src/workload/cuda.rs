//! The filter on CUDA devices: a kernel that is compiled on the machine that runs it, and events that record
//! its times.

use std::cell::Cell;
use std::ffi::c_void;
use std::mem::MaybeUninit;

use cudarc::driver::sys;
use situ::memory::cuda::{CudaDomain, CudaStream};

use super::bilateral::{Bilateral, Extent, SIGMA_R, SIGMA_S};
use super::span::Span;
use crate::failure::Failure;
use crate::os::monotonic_ns;

const NAME: &str = "cuda";
const SOURCE: &str = include_str!("bilateral.cu");
/// Threads of a block.
const BLOCK: (u32, u32) = (32, 4);

fn failure(what: &'static str, why: impl Into<String>) -> Failure {
    Failure::System { system: NAME, what, why: why.into() }
}

fn check(what: &'static str, result: sys::CUresult) -> Result<(), Failure> {
    if result == sys::CUresult::CUDA_SUCCESS { Ok(()) } else { Err(failure(what, format!("{result:?}"))) }
}

/// The filter's objects on a device. One filter runs at a time: its times must be read before the next is
/// launched.
pub struct Kernels {
    /// Keeps the context alive.
    _domain: CudaDomain,
    filter: sys::CUfunction,
    /// Before and behind a filter, and later than both.
    events: [sys::CUevent; 3],
    stream: sys::CUstream,
    /// Whether a filter was launched whose times have not been read.
    pending: Cell<bool>,
}

impl Kernels {
    /// Compiles and loads the filter for this stream, before anything waits. This thread then has the
    /// device's context.
    pub fn new(domain: &CudaDomain, stream: &CudaStream) -> Result<Self, Failure> {
        // SAFETY: the call only looks for a library.
        if !unsafe { cudarc::nvrtc::sys::is_culib_present() } {
            return Err(failure("compile", "libnvrtc is not installed"));
        }
        let compiled = cudarc::nvrtc::compile_ptx(SOURCE).map_err(Failure::system(NAME, "compile"))?;
        let mut image = compiled.to_src().into_bytes();
        image.push(0);
        let context = domain.context().map_err(Failure::system(NAME, "context"))?;
        let mut events = [std::ptr::null_mut(); 3];
        // SAFETY: the context lives as long as the domain, which is kept. The image and the name end with a
        // zero.
        let filter = unsafe {
            check("cuCtxSetCurrent", sys::cuCtxSetCurrent(context.cast()))?;
            let mut module = std::ptr::null_mut();
            check("cuModuleLoadData", sys::cuModuleLoadData(&mut module, image.as_ptr().cast()))?;
            let mut function = MaybeUninit::uninit();
            let got = sys::cuModuleGetFunction(function.as_mut_ptr(), module, c"bilateral".as_ptr());
            check("cuModuleGetFunction", got)?;
            for event in &mut events {
                check("cuEventCreate", sys::cuEventCreate(event, 0))?;
            }
            function.assume_init()
        };
        let stream = stream.raw().cast();
        Ok(Self { _domain: domain.clone(), filter, events, stream, pending: Cell::new(false) })
    }

    /// Enqueues the filter.
    pub fn launch(
        &self,
        filter: &Bilateral,
        extent: Extent,
        input: &Span,
        output: &Span,
    ) -> Result<(), Failure> {
        if self.pending.get() {
            return Err(failure("launch", "the times of the last filter were not read"));
        }
        if [input, output].iter().any(|span| span.len < extent.bytes() as u64) {
            return Err(failure("launch", "an image is larger than its memory"));
        }
        let log2_e = std::f32::consts::LOG2_E;
        let mut from = input.memory.address() + input.offset;
        let mut to = output.memory.address() + output.offset;
        let (mut width, mut height) = (extent.width as i32, extent.height as i32);
        let mut radius = filter.radius() as i32;
        let mut spatial = -log2_e / (2.0 * SIGMA_S * SIGMA_S);
        let mut tonal = -log2_e / (2.0 * SIGMA_R * SIGMA_R);
        let mut arguments: [*mut c_void; 7] = [
            (&raw mut from).cast(),
            (&raw mut to).cast(),
            (&raw mut width).cast(),
            (&raw mut height).cast(),
            (&raw mut radius).cast(),
            (&raw mut spatial).cast(),
            (&raw mut tonal).cast(),
        ];
        let blocks = ((extent.width as u32).div_ceil(BLOCK.0), (extent.height as u32).div_ceil(BLOCK.1));
        // SAFETY: the arguments are the kernel's, in its order, and the call copies them. Both images are as
        // large as the extent. The caller keeps them until the stream has passed.
        unsafe {
            check("cuEventRecord", sys::cuEventRecord(self.events[0], self.stream))?;
            let launched = sys::cuLaunchKernel(
                self.filter,
                blocks.0,
                blocks.1,
                1,
                BLOCK.0,
                BLOCK.1,
                1,
                0,
                self.stream,
                arguments.as_mut_ptr(),
                std::ptr::null_mut(),
            );
            check("cuLaunchKernel", launched)?;
            check("cuEventRecord", sys::cuEventRecord(self.events[1], self.stream))?;
        }
        self.pending.set(true);
        Ok(())
    }

    /// The times at which the last filter began and ended, in nanoseconds of CLOCK_MONOTONIC. `None` if none
    /// was launched since the last call. The stream must have passed it.
    pub fn times(&self) -> Result<Option<(u64, u64)>, Failure> {
        if !self.pending.replace(false) {
            return Ok(None);
        }
        let [began, ended, later] = self.events;
        let mut ago = [0.0_f32; 2];
        // SAFETY: the events belong to this object, and were recorded on this stream.
        let now = unsafe {
            check("cuEventRecord", sys::cuEventRecord(later, self.stream))?;
            check("cuEventSynchronize", sys::cuEventSynchronize(later))?;
            let now = monotonic_ns();
            for (ago, event) in ago.iter_mut().zip([began, ended]) {
                check("cuEventElapsedTime", sys::cuEventElapsedTime_v2(ago, event, later))?;
            }
            now
        };
        let [began, ended] = ago.map(|milliseconds| now - (f64::from(milliseconds) * 1e6) as u64);
        Ok(Some((began, ended)))
    }
}

impl Drop for Kernels {
    fn drop(&mut self) {
        for event in self.events {
            // SAFETY: the event belongs to this object, and this is its last use.
            unsafe { sys::cuEventDestroy_v2(event) };
        }
    }
}
