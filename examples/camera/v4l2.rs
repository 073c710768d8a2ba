//! The structs of V4L2, as the bytes that a program and the kernel exchange, and what they say about frames.
//!
//! ```text
//!   capability  104   16 name  84 capabilities of the device  88 those of this file
//!   format      208   0 kind  8 width  12 height  16 pixels  20 field  24 row's bytes  28 frame's bytes
//!   request      20   0 number of buffers  4 kind  8 memory
//!   buffer       88   0 index  4 kind  8 bytes used  12 flags  24 seconds  32 microseconds  56 number
//!                     60 memory  64 offset  72 length
//! ```
//!
//! Numbers are in the machine's byte order. Sizes and places are those of kernels with 64 bits.

use std::fmt;

/// Calls of the kernel: direction and size of their argument, the letter V, and a number.
pub const QUERYCAP: u32 = 0x8068_5600;
pub const S_FMT: u32 = 0xc0d0_5605;
pub const REQBUFS: u32 = 0xc014_5608;
pub const QUERYBUF: u32 = 0xc058_5609;
pub const QBUF: u32 = 0xc058_560f;
pub const DQBUF: u32 = 0xc058_5611;
pub const STREAMON: u32 = 0x4004_5612;
pub const STREAMOFF: u32 = 0x4004_5613;

pub type Capability = [u8; 104];
pub type FormatBytes = [u8; 208];
pub type Request = [u8; 20];
pub type BufferBytes = [u8; 88];

/// The kind of all buffers here: frames that the device captures, in one part each.
pub const CAPTURE: u32 = 1;
/// Buffers are memory of the driver, which the program maps.
const MMAP: u32 = 1;
/// Frames are whole, not every second row.
const PROGRESSIVE: u32 = 1;

const CAN_CAPTURE: u32 = 0x1;
const CAN_STREAM: u32 = 0x0400_0000;
const HAS_OWN_CAPABILITIES: u32 = 0x8000_0000;

const DAMAGED: u32 = 0x40;
const CLOCK: u32 = 0xe000;
const STEADY_CLOCK: u32 = 0x2000;

fn number(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes(std::array::from_fn(|index| bytes[at + index]))
}

fn wide(bytes: &[u8], at: usize) -> i64 {
    i64::from_ne_bytes(std::array::from_fn(|index| bytes[at + index]))
}

fn put(bytes: &mut [u8], at: usize, number: u32) {
    bytes[at..at + 4].copy_from_slice(&number.to_ne_bytes());
}

/// Whether frames can be read from this file, in buffers. A camera often has a second file for metadata.
pub fn can_capture(capability: &Capability) -> bool {
    let of_device = number(capability, 84);
    let of_file = if of_device & HAS_OWN_CAPABILITIES != 0 { number(capability, 88) } else { of_device };
    of_file & (CAN_CAPTURE | CAN_STREAM) == CAN_CAPTURE | CAN_STREAM
}

/// Returns the name of a device.
pub fn name(capability: &Capability) -> String {
    let name = &capability[16..48];
    let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
    String::from_utf8_lossy(&name[..end]).into_owned()
}

/// How a frame encodes its pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pixels {
    /// Two pixels in four bytes: luma, blue, luma, red.
    Yuyv,
    /// Each frame is a JPEG.
    Mjpeg,
}

impl Pixels {
    fn code(self) -> u32 {
        match self {
            Self::Yuyv => u32::from_le_bytes(*b"YUYV"),
            Self::Mjpeg => u32::from_le_bytes(*b"MJPG"),
        }
    }
}

/// What a driver and a program agree on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    pub pixels: Pixels,
    pub width: u32,
    pub height: u32,
    /// The bytes of a row, with what aligns the next one. 0 if a frame has no rows, as a JPEG.
    pub row: u32,
    /// The most bytes that a frame has.
    pub size: usize,
}

/// Why a driver's answer is no format for this program.
#[derive(Debug, PartialEq, Eq)]
pub enum FormatError {
    /// The device has other pixels, with this code of four letters.
    Pixels(Pixels, u32),
    /// It has no pixels at all.
    Empty(u32, u32),
    /// This row is shorter than this number of pixels.
    Row(u32, u32),
    /// A frame has this size, less than its rows.
    Size(usize),
}

impl fmt::Display for FormatError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pixels(asked, code) => {
                let letters = code.to_le_bytes();
                write!(out, "the camera has no {asked:?}, but offers \"{}\"", letters.escape_ascii())?;
                match asked {
                    Pixels::Yuyv => write!(out, ": try --mjpeg"),
                    Pixels::Mjpeg => write!(out, ": try without --mjpeg"),
                }
            }
            Self::Empty(width, height) => write!(out, "the camera's images are {width} x {height} pixels"),
            Self::Row(row, width) => {
                write!(out, "the camera's rows have {row} bytes, too few for {width} pixels")
            }
            Self::Size(size) => write!(out, "the camera's frames have {size} bytes, less than their rows"),
        }
    }
}

impl std::error::Error for FormatError {}

impl Format {
    /// What to ask a driver for. It answers with the nearest that it has.
    pub fn request(pixels: Pixels, width: u32, height: u32) -> FormatBytes {
        let mut bytes = [0; 208];
        let numbers = [(0, CAPTURE), (8, width), (12, height), (16, pixels.code()), (20, PROGRESSIVE)];
        numbers.into_iter().for_each(|(at, number)| put(&mut bytes, at, number));
        bytes
    }

    /// Reads a driver's answer. Its size may be another one; its pixels may not.
    pub fn granted(bytes: &FormatBytes, asked: Pixels) -> Result<Self, FormatError> {
        let [width, height, code, _, row, size] = std::array::from_fn(|index| number(bytes, 8 + 4 * index));
        if code != asked.code() {
            return Err(FormatError::Pixels(asked, code));
        }
        if width == 0 || height == 0 {
            return Err(FormatError::Empty(width, height));
        }
        let format = Self {
            pixels: asked,
            width,
            height,
            row: if asked == Pixels::Mjpeg { 0 } else { row },
            size: size as usize,
        };
        if asked == Pixels::Yuyv && u64::from(row) < 2 * u64::from(width) {
            return Err(FormatError::Row(row, width));
        }
        if format.rows().is_some_and(|rows| rows > u64::from(size)) || size == 0 {
            return Err(FormatError::Size(format.size));
        }
        Ok(format)
    }

    /// Returns the size of all rows. `None` if a frame has no rows.
    fn rows(&self) -> Option<u64> {
        (self.row != 0).then(|| u64::from(self.row) * u64::from(self.height))
    }

    /// Returns the content of a frame: all rows, without what the driver has behind them, or a JPEG. `None`
    /// if a part is missing.
    pub fn content<'a>(&self, frame: &'a [u8]) -> Option<&'a [u8]> {
        match self.rows() {
            Some(rows) => frame.get(..usize::try_from(rows).ok()?),
            None => Some(frame).filter(|frame| frame.starts_with(&[0xff, 0xd8])),
        }
    }
}

/// Asks for buffers, or gives all of them back if there are 0.
pub fn request_buffers(buffers: u32) -> Request {
    let mut bytes = [0; 20];
    [(0, buffers), (4, CAPTURE), (8, MMAP)].into_iter().for_each(|(at, number)| put(&mut bytes, at, number));
    bytes
}

/// Returns the number of buffers that a driver made.
pub fn buffers_of(request: &Request) -> u32 {
    number(request, 0)
}

/// Names a buffer.
pub fn buffer(index: u32) -> BufferBytes {
    let mut bytes = [0; 88];
    [(0, index), (4, CAPTURE), (60, MMAP)].into_iter().for_each(|(at, number)| put(&mut bytes, at, number));
    bytes
}

/// Returns where a buffer can be mapped, and its length.
pub fn place_of(buffer: &BufferBytes) -> (u64, usize) {
    (u64::from(number(buffer, 64)), number(buffer, 72) as usize)
}

/// What a driver says about a buffer that it has filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The buffer.
    pub index: u32,
    /// How many of its bytes are the frame.
    pub length: usize,
    /// When it was captured, in nanoseconds of the steady clock. `None` if the driver uses another clock.
    pub at_ns: Option<i64>,
    /// The frames of a stream have consecutive numbers. A gap is a frame that was lost.
    pub number: u32,
    /// Whether the driver received a part of it only.
    pub is_damaged: bool,
}

impl Frame {
    /// Reads what a driver wrote.
    pub fn of(bytes: &BufferBytes) -> Self {
        let flags = number(bytes, 12);
        let at_ns = wide(bytes, 24)
            .checked_mul(1_000_000_000)
            .and_then(|seconds| seconds.checked_add(wide(bytes, 32).checked_mul(1000)?));
        Self {
            index: number(bytes, 0),
            length: number(bytes, 8) as usize,
            at_ns: at_ns.filter(|at| flags & CLOCK == STEADY_CLOCK && *at > 0),
            number: number(bytes, 56),
            is_damaged: flags & DAMAGED != 0,
        }
    }

    /// Returns its time by the system clock, as stamps have it, from what both clocks say now. That is now if
    /// its time is not known.
    pub fn stamp_ns(&self, steady_ns: i64, system_ns: i64) -> i64 {
        let age = self.at_ns.map_or(0, |at| steady_ns.saturating_sub(at).max(0));
        system_ns.saturating_sub(age)
    }
}

/// Counts frames that were lost, by the gaps between the numbers of those that were not.
#[derive(Clone, Copy, Debug, Default)]
pub struct Gaps {
    last: Option<u32>,
}

impl Gaps {
    /// Returns how many frames were lost before this one. A number that is not behind the last one is a new
    /// beginning, or of a driver that does not count.
    pub fn before(&mut self, number: u32) -> u32 {
        let ahead = self.last.replace(number).map_or(1, |last| number.wrapping_sub(last));
        if ahead > u32::MAX / 2 { 0 } else { ahead.saturating_sub(1) }
    }
}
