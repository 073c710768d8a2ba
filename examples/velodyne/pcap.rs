//! Reads UDP packets from a capture in the classic format of libpcap.
//!
//! ```text
//!   file: magic (a1b2c3d4: microseconds, a1b23c4d: nanoseconds), version, 8 unused bytes, limit, link
//!   record: seconds, fraction, bytes in the file, bytes on the line; then the bytes: Ethernet, IPv4, UDP
//! ```
//!
//! The magic is written in the byte order of all other numbers of the file. Packets that are no UDP in whole
//! IPv4 packets are skipped: a capture has others, too.

use std::fmt;
use std::io::{self, ErrorKind, Read};

/// The largest record that any capture program writes.
const MAX_RECORD: u32 = 256 << 10;
const ETHERNET: u32 = 1;
const IPV4: u16 = 0x0800;
const VLAN: u16 = 0x8100;
const UDP: u8 = 17;

/// Why a capture cannot be read.
#[derive(Debug)]
pub enum PcapError {
    /// The file cannot be read.
    Io(io::Error),
    /// It does not begin as a capture, but with this number.
    NotPcap(u32),
    /// It was captured on a link of this kind, not on Ethernet.
    OtherLink(u32),
    /// A record claims this size. The file is damaged.
    TooLarge(u32),
}

impl fmt::Display for PcapError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(out, "the capture cannot be read: {error}"),
            Self::NotPcap(magic) => write!(
                out,
                "the file begins with {magic:08x}, no capture of libpcap (`editcap -F pcap` converts others)"
            ),
            Self::OtherLink(link) => {
                write!(out, "the capture is of link type {link}; only Ethernet (1) is known")
            }
            Self::TooLarge(size) => {
                write!(out, "a record claims {size} bytes, more than {MAX_RECORD}: the capture is damaged")
            }
        }
    }
}

impl std::error::Error for PcapError {}

impl From<io::Error> for PcapError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// A UDP packet.
#[derive(Debug, PartialEq)]
pub struct Datagram<'a> {
    /// When it was captured: nanoseconds since 1970.
    pub at_ns: u64,
    /// The port that it was sent to.
    pub port: u16,
    /// Its content.
    pub content: &'a [u8],
}

/// A capture.
#[derive(Debug)]
pub struct Pcap<R> {
    from: R,
    is_big_endian: bool,
    /// The unit of a record's fraction of a second.
    unit_ns: u32,
    record: Vec<u8>,
}

impl<R: Read> Pcap<R> {
    /// Reads the head of a capture.
    pub fn new(mut from: R) -> Result<Self, PcapError> {
        let mut head = [0; 24];
        from.read_exact(&mut head)?;
        let magic = u32::from_le_bytes([head[0], head[1], head[2], head[3]]);
        let (is_big_endian, unit_ns) = match magic {
            0xa1b2_c3d4 => (false, 1000),
            0xa1b2_3c4d => (false, 1),
            0xd4c3_b2a1 => (true, 1000),
            0x4d3c_b2a1 => (true, 1),
            other => return Err(PcapError::NotPcap(other)),
        };
        let pcap = Self { from, is_big_endian, unit_ns, record: Vec::new() };
        // The upper half has other information.
        match pcap.numbers::<24, 6>(&head)[5] & 0xffff {
            ETHERNET => Ok(pcap),
            other => Err(PcapError::OtherLink(other)),
        }
    }

    /// Returns the numbers of a head.
    fn numbers<const BYTES: usize, const NUMBERS: usize>(&self, head: &[u8; BYTES]) -> [u32; NUMBERS] {
        const { assert!(BYTES == 4 * NUMBERS) };
        let number = if self.is_big_endian { u32::from_be_bytes } else { u32::from_le_bytes };
        std::array::from_fn(|index| number(std::array::from_fn(|byte| head[4 * index + byte])))
    }

    /// Returns the next UDP packet; `None` at the end. A record that the end of the file cuts off is the end:
    /// the capture was interrupted.
    pub fn next_datagram(&mut self) -> Result<Option<Datagram<'_>>, PcapError> {
        loop {
            let mut head = [0; 16];
            if !read(&mut self.from, &mut head)? {
                return Ok(None);
            }
            let [seconds, fraction, size, _] = self.numbers(&head);
            if size > MAX_RECORD {
                return Err(PcapError::TooLarge(size));
            }
            self.record.resize(size as usize, 0);
            if !read(&mut self.from, &mut self.record)? {
                return Ok(None);
            }
            // Looked for again, because the first reference would last for the whole loop.
            if udp(&self.record).is_some() {
                let at_ns =
                    u64::from(seconds) * 1_000_000_000 + u64::from(fraction) * u64::from(self.unit_ns);
                return Ok(udp(&self.record).map(|(port, content)| Datagram { at_ns, port, content }));
            }
        }
    }
}

/// Fills `bytes`. Returns false if the file ends before.
fn read(from: &mut impl Read, bytes: &mut [u8]) -> Result<bool, PcapError> {
    match from.read_exact(bytes) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Returns the port and the content of a frame of Ethernet with a whole UDP packet in IPv4.
fn udp(frame: &[u8]) -> Option<(u16, &[u8])> {
    let (_addresses, mut rest) = frame.split_at_checked(12)?;
    let mut kind = u16_at(rest, 0)?;
    while kind == VLAN {
        rest = rest.get(4..)?;
        kind = u16_at(rest, 0)?;
    }
    let ip = rest.get(2..)?;
    let version_and_length = *ip.first()?;
    let is_fragment = u16_at(ip, 6)? & 0x3fff != 0;
    if kind != IPV4 || version_and_length >> 4 != 4 || *ip.get(9)? != UDP || is_fragment {
        return None;
    }
    let head = usize::from(version_and_length & 0xf) * 4;
    // A frame may have padding behind the packet.
    let udp = ip.get(head.max(20)..usize::from(u16_at(ip, 2)?))?;
    let content = udp.get(8..usize::from(u16_at(udp, 4)?))?;
    Some((u16_at(udp, 2)?, content))
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]))
}
