//! Decodes the data packets of the lidar Velodyne VLP-16.
//!
//! ```text
//!   packet (1206 bytes): 12 blocks, time (u32, us since the hour), return mode, product
//!   block (100 bytes):   FF EE, azimuth (u16, 0.01 degrees), 32 returns: 2 firings of 16 lasers
//!   return (3 bytes):    distance (u16, 2 mm; 0: nothing), reflectivity (u8)
//! ```
//!
//! Numbers are little endian. The lasers of a firing shoot one after another while the head turns, so each
//! return has an azimuth and a time of its own. If a packet has two returns of each shot (dual mode), each
//! pair of blocks has the same shots.

use std::fmt;

/// The size of a data packet.
pub const PACKET: usize = 1206;
/// The port to which the lidar sends data packets.
pub const PORT: u16 = 2368;
const BLOCKS: usize = 12;
const BLOCK: usize = 100;
const LASERS: usize = 16;
const DUAL: u8 = 0x39;
const VLP16: u8 = 0x22;
/// From one laser's shot to the next one's.
const SHOT_US: f64 = 2.304;
/// From one firing of all lasers to the next one.
const FIRING_US: f64 = 55.296;
const BLOCK_US: f64 = 2.0 * FIRING_US;

/// The elevation of each laser in degrees, in the order in which they shoot.
const ELEVATIONS: [i8; LASERS] = [-15, 1, -13, 3, -11, 5, -9, 7, -7, 9, -5, 11, -3, 13, -1, 15];

/// Why bytes are no data packet.
#[derive(Debug, PartialEq, Eq)]
pub enum PacketError {
    /// They have another length.
    Length(usize),
    /// The packet is of the product with this number.
    Product(u8),
    /// A block begins with these bytes.
    Block(usize, [u8; 2]),
    /// The azimuth of a block is not below 36000.
    Azimuth(usize, u16),
}

impl fmt::Display for PacketError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length(length) => write!(out, "the packet has {length} bytes, not {PACKET}"),
            Self::Product(product) => {
                write!(out, "the packet is of the product {product:#04x}, not of a VLP-16 ({VLP16:#04x})")
            }
            Self::Block(index, [first, second]) => {
                write!(
                    out,
                    "block {index} of the packet begins with {first:02x} {second:02x}, not with ff ee"
                )
            }
            Self::Azimuth(index, azimuth) => {
                write!(out, "the azimuth of block {index} of the packet is {azimuth}, not below 36000")
            }
        }
    }
}

impl std::error::Error for PacketError {}

/// A checked data packet.
#[derive(Clone, Debug)]
pub struct Packet(Box<[u8; PACKET]>);

/// A point that a laser hit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Forward, left and up from the lidar, in metres.
    pub position: [f32; 3],
    /// From 0 to 255: up to 100 diffuse, above that a retroreflector.
    pub reflectivity: u8,
    /// The laser, from 0 (the lowest) to 15.
    pub ring: u16,
    /// Since the packet's first shot.
    pub seconds: f64,
}

impl Packet {
    /// Copies and checks a packet.
    pub fn new(bytes: &[u8]) -> Result<Self, PacketError> {
        let bytes: &[u8; PACKET] = bytes.try_into().map_err(|_| PacketError::Length(bytes.len()))?;
        if bytes[PACKET - 1] != VLP16 {
            return Err(PacketError::Product(bytes[PACKET - 1]));
        }
        let packet = Self(Box::new(*bytes));
        for index in 0..BLOCKS {
            let block = packet.block(index);
            if block[..2] != [0xff, 0xee] {
                return Err(PacketError::Block(index, [block[0], block[1]]));
            }
            if packet.azimuth(index) >= 36_000 {
                return Err(PacketError::Azimuth(index, packet.azimuth(index)));
            }
        }
        Ok(packet)
    }

    fn block(&self, index: usize) -> &[u8] {
        &self.0[index * BLOCK..(index + 1) * BLOCK]
    }

    fn azimuth(&self, block: usize) -> u16 {
        let block = self.block(block);
        u16::from_le_bytes([block[2], block[3]])
    }

    /// Returns the azimuth at its first shot, in hundredths of a degree.
    pub fn first_azimuth(&self) -> u16 {
        self.azimuth(0)
    }

    /// Returns the number of its points.
    pub fn point_count(&self) -> usize {
        self.hits().count()
    }

    /// Returns block, index in it, distance (2 mm) and reflectivity of each shot that hit something.
    fn hits(&self) -> impl Iterator<Item = (usize, usize, u16, u8)> {
        (0..BLOCKS).flat_map(move |block| {
            let (returns, _) = self.block(block)[4..].as_chunks();
            returns.iter().enumerate().filter_map(move |(index, &[low, high, reflectivity])| {
                let distance = u16::from_le_bytes([low, high]);
                (distance != 0).then_some((block, index, distance, reflectivity))
            })
        })
    }

    /// Returns its points.
    pub fn points(&self) -> impl Iterator<Item = Point> {
        let blocks_at_once = if self.0[PACKET - 2] == DUAL { 2 } else { 1 };
        self.hits().map(move |(block, index, distance, reflectivity)| {
            let laser = index % LASERS;
            let in_block_us = (index / LASERS) as f64 * FIRING_US + laser as f64 * SHOT_US;
            let at_us = (block / blocks_at_once) as f64 * BLOCK_US + in_block_us;
            // How far the head turns during a block. That of the last block is as for the one before.
            let from = block.min(BLOCKS - 1 - blocks_at_once);
            let (now, next) = (i32::from(self.azimuth(from)), i32::from(self.azimuth(from + blocks_at_once)));
            let turn = f64::from((next - now).rem_euclid(36_000));
            let azimuth = f64::from(self.azimuth(block)) + turn * in_block_us / BLOCK_US;
            let (sine, cosine) = (azimuth / 100.0).to_radians().sin_cos();
            let (up, along) = f64::from(ELEVATIONS[laser]).to_radians().sin_cos();
            let distance = f64::from(distance) * 0.002;
            Point {
                // The azimuth grows clockwise, seen from above.
                position: [along * cosine, -along * sine, up].map(|part| (distance * part) as f32),
                reflectivity,
                ring: ((ELEVATIONS[laser] + 15) / 2) as u16,
                seconds: at_us / 1e6,
            }
        })
    }
}
