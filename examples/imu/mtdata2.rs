//! Finds measurements of an inertial measurement unit in the bytes of a serial line: Xsens' MTData2 messages.
//!
//! ```text
//!   FA  FF  36  LEN  data of LEN bytes  CS       from FF on, all bytes add up to 0 modulo 256
//!                    XDI_HI XDI_LO SIZE SIZE bytes of this value, big endian;  XDI SIZE ...
//! ```
//!
//! A serial line loses bytes, and begins in the middle of a message. Bytes that look like the beginning of a
//! message, but are none, hide no message behind them: the parser continues at the next byte.

/// The largest message: preamble, bus, kind and length, 254 bytes, checksum. Longer ones have another form,
/// which no configuration of this example needs.
pub const MAX_MESSAGE: usize = 4 + 254 + 1;

const PREAMBLE: u8 = 0xfa;
/// The only device on its line.
const BUS: u8 = 0xff;
const MTDATA2: u8 = 0x36;
/// The length that announces a message of the longer form.
const EXTENDED: u8 = 0xff;

/// Numbers of values, as single precision floats in a frame whose axes point east, north and up.
mod xdi {
    pub(super) const SAMPLE_TIME_FINE: u16 = 0x1060;
    pub(super) const QUATERNION: u16 = 0x2010;
    pub(super) const ACCELERATION: u16 = 0x4020;
    pub(super) const RATE_OF_TURN: u16 = 0x8020;
}

/// The values of a message, as far as it has them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Measurement {
    /// The time of the device, in units of 100 us. It starts anew after 2^32 of them.
    pub time: Option<u32>,
    /// w, x, y, z.
    pub orientation: Option<[f32; 4]>,
    /// In m/s^2.
    pub acceleration: Option<[f32; 3]>,
    /// In rad/s.
    pub angular_velocity: Option<[f32; 3]>,
}

/// The bytes that are not yet a whole message, and what was skipped so far.
#[derive(Debug, Default)]
pub struct Parser {
    /// Empty, or begins with a preamble. Never more than [`MAX_MESSAGE`] bytes.
    bytes: Vec<u8>,
    skipped: u64,
}

/// What the bytes at the beginning are.
enum Found {
    /// The beginning of a message.
    Part,
    /// A whole message of this length.
    Message(usize),
    Nothing,
}

impl Parser {
    /// Returns the number of bytes that belong to no message.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Takes the next bytes of the line, and calls `measured` with each measurement that they complete.
    pub fn push(&mut self, bytes: &[u8], mut measured: impl FnMut(Measurement)) {
        for byte in bytes {
            self.bytes.push(*byte);
            loop {
                match look(&self.bytes) {
                    Found::Part => break,
                    Found::Message(length) => {
                        if let Some(measurement) = measurement(&self.bytes[..length]) {
                            measured(measurement);
                        }
                        self.bytes.drain(..length);
                    }
                    Found::Nothing => {
                        let next = self.bytes.iter().skip(1).position(|byte| *byte == PREAMBLE);
                        let skipped = next.map_or(self.bytes.len(), |next| next + 1);
                        self.bytes.drain(..skipped);
                        self.skipped += skipped as u64;
                    }
                }
            }
        }
    }
}

fn look(bytes: &[u8]) -> Found {
    let expected = [PREAMBLE, BUS];
    if !bytes.iter().zip(expected).all(|(byte, expected)| *byte == expected) {
        return Found::Nothing;
    }
    match bytes.get(3) {
        None => Found::Part,
        Some(&EXTENDED) => Found::Nothing,
        Some(length) => {
            let length = 4 + usize::from(*length) + 1;
            match bytes.get(1..length) {
                None => Found::Part,
                Some(summed) => match summed.iter().fold(0u8, |sum, byte| sum.wrapping_add(*byte)) {
                    0 => Found::Message(length),
                    _ => Found::Nothing,
                },
            }
        }
    }
}

/// Returns the values of a message with a correct checksum. `None` if it is of another kind, if its values do
/// not fill it, or if none of them is a measurement.
fn measurement(message: &[u8]) -> Option<Measurement> {
    let [_, _, MTDATA2, _, values @ .., _] = message else { return None };
    let mut measurement = Measurement::default();
    let mut rest = values;
    while let [high, low, size, behind @ ..] = rest {
        let (value, behind) = behind.split_at_checked(usize::from(*size))?;
        match u16::from_be_bytes([*high, *low]) {
            xdi::SAMPLE_TIME_FINE => measurement.time = Some(u32::from_be_bytes(value.try_into().ok()?)),
            xdi::QUATERNION => measurement.orientation = Some(floats(value)?),
            xdi::ACCELERATION => measurement.acceleration = Some(floats(value)?),
            xdi::RATE_OF_TURN => measurement.angular_velocity = Some(floats(value)?),
            _ => {}
        }
        rest = behind;
    }
    let Measurement { orientation, acceleration, angular_velocity, .. } = measurement;
    let is_empty = orientation.is_none() && acceleration.is_none() && angular_velocity.is_none();
    (rest.is_empty() && !is_empty).then_some(measurement)
}

fn floats<const N: usize>(bytes: &[u8]) -> Option<[f32; N]> {
    let (floats, []) = bytes.as_chunks::<4>() else { return None };
    let floats: &[[u8; 4]; N] = floats.try_into().ok()?;
    Some(floats.map(f32::from_be_bytes))
}
