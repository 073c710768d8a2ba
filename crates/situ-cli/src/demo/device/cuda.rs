//! The demo's filter on an NVIDIA GPU. It is written in PTX, the assembly language that every driver compiles
//! for its device. Building this program needs no part of CUDA, and running it needs only the driver.

use std::ffi::c_void;

use cudarc::driver::sys;
use situ::memory::cuda::{CudaDomain, CudaStream};
use situ::memory::{Domain, DomainError, DomainId, Stream};

use super::Place;
use crate::demo::frames::Shape;

/// Threads of a block, one for each pixel.
const BLOCK: u64 = 256;

fn check(domain: DomainId, action: &str, result: sys::CUresult) -> Result<(), DomainError> {
    match result {
        sys::CUresult::CUDA_SUCCESS => Ok(()),
        other => {
            let reason = format!("{other:?}");
            Err(DomainError::Refused { domain, action: action.to_owned(), reason })
        }
    }
}

/// Loads the grey value of a neighbour into register `%g{index}`. Outside of the image, loads that of the
/// nearest pixel.
fn grey(index: usize, across: i32, down: i32) -> String {
    format!(
        "add.s32 %r20, %x, {across};\n max.s32 %r20, %r20, 0;\n min.s32 %r20, %r20, %right;\n\
         add.s32 %r21, %y, {down};\n max.s32 %r21, %r21, 0;\n min.s32 %r21, %r21, %bottom;\n\
         mad.lo.s32 %r22, %r21, %width, %r20;\n mul.lo.s32 %r22, %r22, %channels;\n\
         cvt.s64.s32 %d4, %r22;\n add.s64 %d5, %image, %d4;\n\
         ld.global.u8 %g{index}, [%d5];\n @%single bra NEXT{index};\n\
         ld.global.u8 %r23, [%d5+1];\n ld.global.u8 %r24, [%d5+2];\n\
         add.s32 %g{index}, %g{index}, %r23;\n add.s32 %g{index}, %g{index}, %r24;\n\
         div.s32 %g{index}, %g{index}, 3;\nNEXT{index}:\n"
    )
}

/// The kernel: the same arithmetic as `edges` in mod.rs, to the bit.
fn code() -> String {
    // From the upper left to the lower right, without the pixel itself.
    let around = [(-1, -1), (0, -1), (1, -1), (-1, 0), (1, 0), (-1, 1), (0, 1), (1, 1)];
    let loads: String =
        around.iter().enumerate().map(|(index, (across, down))| grey(index, *across, *down)).collect();
    // The sum of one side, with the middle counted twice, minus that of the other side.
    let difference = |to: &str, plus: [usize; 3], minus: [usize; 3]| {
        let [a, b, c] = plus;
        let [d, e, f] = minus;
        format!(
            "add.s32 {to}, %g{a}, %g{c};\n add.s32 {to}, {to}, %g{b};\n add.s32 {to}, {to}, %g{b};\n\
             sub.s32 {to}, {to}, %g{d};\n sub.s32 {to}, {to}, %g{e};\n sub.s32 {to}, {to}, %g{e};\n\
             sub.s32 {to}, {to}, %g{f};\n abs.s32 {to}, {to};\n"
        )
    };
    let across = difference("%r30", [2, 4, 7], [0, 3, 5]);
    let down = difference("%r31", [5, 6, 7], [0, 1, 2]);
    format!(
        ".version 6.0\n.target sm_50\n.address_size 64\n\
         .visible .entry edges(.param .u64 p0, .param .u64 p1, .param .u32 p2, .param .u32 p3, .param .u32 p4)\n{{\n\
         .reg .pred %outside, %single;\n.reg .s32 %r<40>, %g<8>, %x, %y, %width, %height, %channels, %right, %bottom;\n\
         .reg .s64 %d<8>, %image, %edges;\n\
         ld.param.u64 %image, [p0];\n ld.param.u64 %edges, [p1];\n ld.param.u32 %width, [p2];\n\
         ld.param.u32 %height, [p3];\n ld.param.u32 %channels, [p4];\n\
         cvta.to.global.u64 %image, %image;\n cvta.to.global.u64 %edges, %edges;\n\
         mov.u32 %r1, %ctaid.x;\n mov.u32 %r2, %ntid.x;\n mov.u32 %r3, %tid.x;\n\
         mad.lo.s32 %r4, %r1, %r2, %r3;\n mul.lo.s32 %r5, %width, %height;\n\
         setp.ge.s32 %outside, %r4, %r5;\n @%outside bra END;\n\
         setp.lt.s32 %single, %channels, 3;\n rem.s32 %x, %r4, %width;\n div.s32 %y, %r4, %width;\n\
         sub.s32 %right, %width, 1;\n sub.s32 %bottom, %height, 1;\n\
         {loads}{across}{down}\
         add.s32 %r30, %r30, %r31;\n min.s32 %r30, %r30, 255;\n\
         cvt.s64.s32 %d6, %r4;\n add.s64 %d7, %edges, %d6;\n st.global.u8 [%d7], %r30;\n\
         END:\n ret;\n}}\n\0"
    )
}

/// The loaded kernel.
pub struct Kernel {
    function: sys::CUfunction,
    /// Keeps the context in which the kernel lives.
    _domain: CudaDomain,
}

impl Kernel {
    /// Lets the driver compile the kernel. Makes the device's context current for this thread.
    pub fn new(domain: &CudaDomain) -> Result<Self, DomainError> {
        let (id, code) = (domain.id(), code());
        let mut module = std::ptr::null_mut();
        let mut function = std::ptr::null_mut();
        // SAFETY: the context lives as long as the domain, which `Self` keeps. The code ends with a zero, and
        // the results are exclusively borrowed.
        unsafe {
            check(id, "use the device", sys::cuCtxSetCurrent(domain.context()?.cast()))?;
            let loaded = sys::cuModuleLoadData(&mut module, code.as_ptr().cast());
            check(id, "compile the demo's filter", loaded)?;
            let found = sys::cuModuleGetFunction(&mut function, module, c"edges".as_ptr());
            check(id, "find the demo's filter", found)?;
        }
        Ok(Self { function, _domain: domain.clone() })
    }

    /// Enqueues the filter. Must run on the thread that made the kernel.
    pub fn launch(
        &self,
        stream: &dyn Stream,
        shape: &Shape,
        from: &Place,
        to: &Place,
    ) -> Result<(), DomainError> {
        let id = stream.domain();
        let foreign = || DomainError::Foreign { domain: DomainId { number: 0, ..id }, found: id };
        let stream = stream.as_any().downcast_ref::<CudaStream>().ok_or_else(foreign)?;
        let address = |place: &Place| place.memory.address().wrapping_add(place.offset);
        let (mut image, mut edges) = (address(from), address(to));
        let [mut width, mut height, mut channels] =
            [shape.width, shape.height, shape.step].map(|number| number as u32);
        let mut arguments: [*mut c_void; 5] = [
            (&raw mut image).cast(),
            (&raw mut edges).cast(),
            (&raw mut width).cast(),
            (&raw mut height).cast(),
            (&raw mut channels).cast(),
        ];
        let blocks = to.len.div_ceil(BLOCK).max(1) as u32;
        // SAFETY: the arguments are the kernel's, in its order. The caller checked that both ranges are as
        // large as the shape says; they last until the stream has passed. The stream is alive.
        let launched = unsafe {
            sys::cuLaunchKernel(
                self.function,
                blocks,
                1,
                1,
                BLOCK as u32,
                1,
                1,
                0,
                stream.raw().cast(),
                arguments.as_mut_ptr(),
                std::ptr::null_mut(),
            )
        };
        check(id, "launch the demo's filter", launched)
    }
}
