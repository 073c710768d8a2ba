//! A camera of V4L2: negotiates a format, and lends the driver's buffers, in which it captures frames.
//!
//! ```text
//!   driver: empty buffers --- captures ---> filled buffers --- DQBUF ---> program: reads --- QBUF ---+
//!             ^                                                                                      |
//!             +--------------------------------------------------------------------------------------+
//! ```

use std::ffi::{OsStr, c_void};
use std::fmt;
use std::os::fd::OwnedFd;
use std::ptr::{self, NonNull};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::{Errno, retry_on_intr};
use rustix::ioctl::{Ioctl, IoctlOutput, Opcode, ioctl};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use crate::v4l2::{self, Format, FormatError, Frame, Gaps, Pixels};

/// As many as a driver needs while the program reads one.
const BUFFERS: u32 = 4;
/// The highest number of buffers that a driver makes.
const MAX_BUFFERS: u32 = 32;

/// What a camera needs of the kernel. The tests have another implementation.
pub trait Driver {
    /// Calls the driver. The argument has the size that the request says.
    fn call(&mut self, request: u32, argument: &mut [u8]) -> Result<(), Errno>;
    /// Maps the next buffer for reading.
    fn map(&mut self, offset: u64, length: usize) -> Result<(), Errno>;
    /// Returns a mapped buffer. It is read only while the driver has given it to the program.
    fn buffer(&self, index: u32) -> Option<&[u8]>;
    /// Waits until a buffer is filled. Returns false if the time is over.
    fn wait(&mut self, limit: Duration) -> Result<bool, Errno>;
}

/// A file such as `/dev/video0`, and the buffers of its driver.
pub struct Video {
    file: OwnedFd,
    buffers: Vec<Mapping>,
}

impl Video {
    /// Opens a device. Returns `None` if there is none.
    pub fn open(path: &OsStr) -> Result<Option<Self>, Errno> {
        match open(path, OFlags::RDWR | OFlags::CLOEXEC | OFlags::NONBLOCK, Mode::empty()) {
            Ok(file) => Ok(Some(Self { file, buffers: Vec::new() })),
            Err(Errno::NOENT | Errno::NODEV | Errno::NXIO) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// A call with any argument.
struct Call<'a>(u32, &'a mut [u8]);

// SAFETY: the argument has the size in the request, which the kernel reads and writes.
unsafe impl Ioctl for Call<'_> {
    type Output = ();
    const IS_MUTATING: bool = true;

    fn opcode(&self) -> Opcode {
        self.0 as Opcode
    }

    fn as_ptr(&mut self) -> *mut c_void {
        self.1.as_mut_ptr().cast()
    }

    unsafe fn output_from_ptr(_: IoctlOutput, _: *mut c_void) -> Result<(), Errno> {
        Ok(())
    }
}

impl Driver for Video {
    fn call(&mut self, request: u32, argument: &mut [u8]) -> Result<(), Errno> {
        assert_eq!((request >> 16) as usize & 0x3fff, argument.len(), "the size in {request:#x}");
        // SAFETY: the kernel reads and writes the argument within its size, as checked.
        retry_on_intr(|| unsafe { ioctl(&self.file, Call(request, argument)) })
    }

    fn map(&mut self, offset: u64, length: usize) -> Result<(), Errno> {
        // SAFETY: a new mapping at a place that the kernel chooses.
        let memory =
            unsafe { mmap(ptr::null_mut(), length, ProtFlags::READ, MapFlags::SHARED, &self.file, offset) }?;
        let memory = NonNull::new(memory).ok_or(Errno::FAULT)?;
        self.buffers.push(Mapping { memory, length });
        Ok(())
    }

    fn buffer(&self, index: u32) -> Option<&[u8]> {
        let Mapping { memory, length } = self.buffers.get(index as usize)?;
        // SAFETY: mapped for reading until it is dropped. The driver does not write while it has given the
        // buffer to the program.
        Some(unsafe { std::slice::from_raw_parts(memory.as_ptr().cast(), *length) })
    }

    fn wait(&mut self, limit: Duration) -> Result<bool, Errno> {
        let limit = Timespec { tv_sec: limit.as_secs() as i64, tv_nsec: limit.subsec_nanos().into() };
        let ready = retry_on_intr(|| poll(&mut [PollFd::new(&self.file, PollFlags::IN)], Some(&limit)))?;
        Ok(ready > 0)
    }
}

/// A buffer of the driver.
struct Mapping {
    memory: NonNull<c_void>,
    length: usize,
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is used by nothing else.
        let _ = unsafe { munmap(self.memory.as_ptr(), self.length) };
    }
}

/// Why a camera gives no frames.
#[derive(Debug)]
pub enum CameraError {
    /// A call failed.
    Call(&'static str, Errno),
    /// The file is of no device that captures frames.
    NoCamera,
    /// There is no format for both sides.
    Format(FormatError),
    /// The driver made this number of buffers.
    Buffers(u32),
    /// The driver filled a buffer with this index, which has fewer bytes than this.
    Frame(u32, usize),
    /// There was no frame for this time.
    Silent(Duration),
}

impl fmt::Display for CameraError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Call(what, Errno::BUSY) => {
                write!(out, "cannot {what}: another program uses the camera (`fuser -v /dev/video*`)")
            }
            Self::Call(what, error) => write!(out, "cannot {what}: {error}"),
            Self::NoCamera => write!(
                out,
                "it captures no frames: a camera may have several devices (`v4l2-ctl --list-devices`)"
            ),
            Self::Format(error) => error.fmt(out),
            Self::Buffers(number) => write!(out, "the driver made {number} buffers, not 2 to {MAX_BUFFERS}"),
            Self::Frame(index, length) => {
                write!(out, "the driver says that buffer {index} has {length} bytes, more than it has")
            }
            Self::Silent(time) => write!(out, "no frame for {} s: is the camera connected?", time.as_secs()),
        }
    }
}

impl std::error::Error for CameraError {}

/// A camera that captures.
pub struct Camera<D: Driver> {
    driver: D,
    name: String,
    format: Format,
    gaps: Gaps,
}

impl<D: Driver> Camera<D> {
    /// Starts to capture, in a size as near as possible.
    pub fn start(mut driver: D, pixels: Pixels, width: u32, height: u32) -> Result<Self, CameraError> {
        let failed = |what| move |error| CameraError::Call(what, error);
        let mut capability: v4l2::Capability = [0; 104];
        match driver.call(v4l2::QUERYCAP, &mut capability) {
            Ok(()) if v4l2::can_capture(&capability) => {}
            Ok(()) | Err(Errno::NOTTY) => return Err(CameraError::NoCamera),
            Err(error) => return Err(CameraError::Call("ask the camera what it can do", error)),
        }
        let mut format = Format::request(pixels, width, height);
        driver.call(v4l2::S_FMT, &mut format).map_err(failed("set the camera's format"))?;
        let format = Format::granted(&format, pixels).map_err(CameraError::Format)?;

        let mut request = v4l2::request_buffers(BUFFERS);
        driver.call(v4l2::REQBUFS, &mut request).map_err(failed("make buffers"))?;
        let number = v4l2::buffers_of(&request);
        if !(2..=MAX_BUFFERS).contains(&number) {
            return Err(CameraError::Buffers(number));
        }
        let mut camera = Self { driver, name: v4l2::name(&capability), format, gaps: Gaps::default() };
        for index in 0..number {
            let mut buffer = v4l2::buffer(index);
            camera.driver.call(v4l2::QUERYBUF, &mut buffer).map_err(failed("find a buffer"))?;
            let (offset, length) = v4l2::place_of(&buffer);
            camera.driver.map(offset, length).map_err(failed("map a buffer"))?;
            camera.give(index)?;
        }
        let mut kind = v4l2::CAPTURE.to_ne_bytes();
        camera.driver.call(v4l2::STREAMON, &mut kind).map_err(failed("start to capture"))?;
        Ok(camera)
    }

    /// The name that the device gives itself.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the camera sends.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Gives a buffer to the driver, which fills it.
    fn give(&mut self, index: u32) -> Result<(), CameraError> {
        let given = self.driver.call(v4l2::QBUF, &mut v4l2::buffer(index));
        given.map_err(|error| CameraError::Call("give a buffer to the driver", error))
    }

    /// Waits for a frame, and calls `receive` with it, its bytes, and the number of frames that were lost
    /// before it. Returns `None` if the camera was disconnected.
    pub fn next<R>(
        &mut self,
        limit: Duration,
        receive: impl FnOnce(&Frame, &[u8], u32) -> R,
    ) -> Result<Option<R>, CameraError> {
        let mut buffer = v4l2::buffer(0);
        loop {
            let is_ready = self.driver.wait(limit);
            if !is_ready.map_err(|error| CameraError::Call("wait for a frame", error))? {
                return Err(CameraError::Silent(limit));
            }
            match self.driver.call(v4l2::DQBUF, &mut buffer) {
                Ok(()) => break,
                Err(Errno::AGAIN) => {}
                Err(Errno::NODEV) => return Ok(None),
                Err(error) => return Err(CameraError::Call("take a frame", error)),
            }
        }
        let frame = Frame::of(&buffer);
        let gap = self.gaps.before(frame.number);
        let bytes = self.driver.buffer(frame.index).and_then(|memory| memory.get(..frame.length));
        let received = receive(&frame, bytes.ok_or(CameraError::Frame(frame.index, frame.length))?, gap);
        match self.give(frame.index) {
            Err(CameraError::Call(_, Errno::NODEV)) => Ok(None),
            given => given.map(|()| Some(received)),
        }
    }
}

impl<D: Driver> Drop for Camera<D> {
    fn drop(&mut self) {
        // Before the buffers are unmapped. If it fails, closing the file does it.
        let _ = self.driver.call(v4l2::STREAMOFF, &mut v4l2::CAPTURE.to_ne_bytes());
    }
}
