//! The CUDA kernels: compiled on the machine that runs them, and enqueued on a stream.

use std::ffi::c_void;

use cudarc::driver::sys;
use situ::memory::Stream;
use situ::memory::cuda::{CudaDomain, CudaStream};

use crate::Result;

const SOURCE: &str = r#"
// Keeps the stream busy for the given nanoseconds.
extern "C" __global__ void hold(unsigned long long duration) {
  unsigned long long begin, now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin));
  do {
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  } while (now - begin < duration);
}

// One step of a chain: several rounds of arithmetic for each number.
extern "C" __global__ void step(float *to, const float *from, unsigned long long count, int rounds) {
  unsigned long long at = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x;
  if (at >= count) return;
  float value = from[at];
  for (int round = 0; round < rounds; round++) value = value * 0.999f + 0.001f;
  to[at] = value + 1.0f;
}

extern "C" __global__ void fill(float *to, unsigned long long count, float value) {
  unsigned long long at = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x;
  if (at < count) to[at] = value;
}
"#;

/// Converts an error code of the driver to an error.
pub fn check(what: &str, result: sys::CUresult) -> Result<()> {
    if result == sys::CUresult::CUDA_SUCCESS { Ok(()) } else { Err(format!("{what}: {result:?}").into()) }
}

/// The kernels of a device, loaded before anything waits.
pub struct Kernels {
    hold: sys::CUfunction,
    step: sys::CUfunction,
    fill: sys::CUfunction,
}

impl Kernels {
    /// Compiles and loads them. This thread then has the device's context.
    pub fn load(domain: &CudaDomain) -> Result<Self> {
        // SAFETY: the call only looks for a library.
        if !unsafe { cudarc::nvrtc::sys::is_culib_present() } {
            return Err("kernels cannot be compiled: libnvrtc.so.13 or .12 is in no folder that the loader looks into (LD_LIBRARY_PATH); \
                        `pip install nvidia-cuda-nvrtc`, or -cu12 for a driver of CUDA 12, and bench/device.sh finds it"
                .into());
        }
        let compiled = cudarc::nvrtc::compile_ptx(SOURCE).map_err(|error| format!("{error:?}"))?;
        let mut image = compiled.to_src().into_bytes();
        image.push(0);
        // SAFETY: the context lives as long as the domain; the image ends with a zero.
        unsafe {
            check("cuCtxSetCurrent", sys::cuCtxSetCurrent(domain.context()?.cast()))?;
            let mut module = std::ptr::null_mut();
            let loaded = sys::cuModuleLoadData(&mut module, image.as_ptr().cast());
            if loaded == sys::CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION {
                return Err("libnvrtc is newer than the driver: install only an older one (`pip install nvidia-cuda-nvrtc-cu12`)".into());
            }
            check("cuModuleLoadData", loaded)?;
            let function = |name: &std::ffi::CStr| {
                let mut function = std::ptr::null_mut();
                let result = sys::cuModuleGetFunction(&mut function, module, name.as_ptr());
                check("cuModuleGetFunction", result).map(|()| function)
            };
            Ok(Self { hold: function(c"hold")?, step: function(c"step")?, fill: function(c"fill")? })
        }
    }

    /// # Safety
    /// The arguments are those of the kernel, in its order.
    unsafe fn launch(
        function: sys::CUfunction,
        blocks: u64,
        threads: u32,
        stream: &dyn Stream,
        arguments: &mut [*mut c_void],
    ) -> Result<()> {
        let stream = stream.as_any().downcast_ref::<CudaStream>().ok_or("not a CUDA stream")?;
        // SAFETY: the caller promises the arguments, and the stream is alive.
        let result = unsafe {
            sys::cuLaunchKernel(
                function,
                blocks as u32,
                1,
                1,
                threads,
                1,
                1,
                0,
                stream.raw().cast(),
                arguments.as_mut_ptr(),
                std::ptr::null_mut(),
            )
        };
        check("cuLaunchKernel", result)
    }

    /// Keeps the stream busy.
    pub fn hold(&self, stream: &dyn Stream, duration_ns: u64) -> Result<()> {
        let mut duration = duration_ns;
        // SAFETY: the argument is one 64-bit number.
        unsafe { Self::launch(self.hold, 1, 1, stream, &mut [(&raw mut duration).cast()]) }
    }

    /// Enqueues a step over `count` numbers.
    ///
    /// # Safety
    /// Both addresses must point to `count` numbers on the device. They must stay valid until the stream has
    /// passed.
    pub unsafe fn step(
        &self,
        stream: &dyn Stream,
        to: u64,
        from: u64,
        count: u64,
        rounds: i32,
    ) -> Result<()> {
        let (mut to, mut from, mut count, mut rounds) = (to, from, count, rounds);
        let blocks = count.div_ceil(256);
        let mut arguments: [*mut c_void; 4] =
            [(&raw mut to).cast(), (&raw mut from).cast(), (&raw mut count).cast(), (&raw mut rounds).cast()];
        // SAFETY: these are the kernel's arguments, and the caller promises the addresses.
        unsafe { Self::launch(self.step, blocks, 256, stream, &mut arguments) }
    }

    /// Enqueues filling `count` numbers.
    ///
    /// # Safety
    /// As for `step`.
    pub unsafe fn fill(&self, stream: &dyn Stream, to: u64, count: u64, value: f32) -> Result<()> {
        let (mut to, mut count, mut value) = (to, count, value);
        let blocks = count.div_ceil(256);
        let mut arguments: [*mut c_void; 3] =
            [(&raw mut to).cast(), (&raw mut count).cast(), (&raw mut value).cast()];
        // SAFETY: as above.
        unsafe { Self::launch(self.fill, blocks, 256, stream, &mut arguments) }
    }
}
