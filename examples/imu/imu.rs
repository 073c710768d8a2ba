//! Reads an inertial measurement unit on a serial line, and publishes its measurements.
//!
//! `imu /dev/ttyUSB0 [BAUD]` publishes `imu/data` until the device is gone.

mod mtdata2;

use std::error::Error;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{ErrorKind, Read};

use mtdata2::{MAX_MESSAGE, Measurement, Parser};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use rustix::termios::{OptionalActions, isatty, tcgetattr, tcsetattr};
use situ::prelude::*;
use situ_examples::situ_::{common::Time, sensor::Imu};

/// The speed that the device has when it is new.
const BAUD: u32 = 115_200;

/// Opens a serial line for bytes as they are: no lines, no echo, no characters with a meaning.
fn open_line(path: &OsStr, baud: u32) -> Result<File, Errno> {
    let line = open(path, OFlags::RDONLY | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty())?;
    if isatty(&line) {
        let mut attributes = tcgetattr(&line)?;
        attributes.make_raw();
        attributes.set_speed(baud)?;
        tcsetattr(&line, OptionalActions::Flush, &attributes)?;
    }
    Ok(File::from(line))
}

/// Writes a measurement directly into the message, which lies in shared memory. Its members are 0.
fn fill(imu: &mut Imu, measurement: &Measurement) -> Result<(), Box<dyn Error>> {
    imu.header.stamp = Time::now();
    imu.header.frame_id.try_assign("imu_link")?;
    match measurement.orientation {
        Some([w, x, y, z]) => {
            let orientation = &mut imu.orientation;
            (orientation.w, orientation.x) = (w.into(), x.into());
            (orientation.y, orientation.z) = (y.into(), z.into());
        }
        None => imu.orientation_covariance[0] = -1.0,
    }
    match measurement.angular_velocity {
        Some([x, y, z]) => {
            let velocity = &mut imu.angular_velocity;
            (velocity.x, velocity.y, velocity.z) = (x.into(), y.into(), z.into());
        }
        None => imu.angular_velocity_covariance[0] = -1.0,
    }
    match measurement.acceleration {
        Some([x, y, z]) => {
            let acceleration = &mut imu.linear_acceleration;
            (acceleration.x, acceleration.y, acceleration.z) = (x.into(), y.into(), z.into());
        }
        None => imu.linear_acceleration_covariance[0] = -1.0,
    }
    Ok(())
}

/// Publishes a measurement.
fn publish(publisher: &Publisher<Imu>, measurement: &Measurement) -> Result<(), Box<dyn Error>> {
    let mut imu = publisher.loan()?;
    fill(&mut imu, measurement)?;
    imu.publish()?;
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let path = arguments.next().ok_or("usage: imu DEVICE [BAUD]")?;
    let baud = match arguments.next() {
        Some(baud) => baud.to_str().and_then(|baud| baud.parse().ok()).ok_or("the speed is no number")?,
        None => BAUD,
    };
    let mut line = open_line(&path, baud).map_err(|error| format!("{}: {error}", path.display()))?;

    let node = Node::new("imu")?;
    let publisher = node.publisher::<Imu>("imu/data").create()?;
    println!("reads {}", path.display());
    let (mut parser, mut published, mut bytes) = (Parser::default(), 0u64, [0; MAX_MESSAGE]);
    loop {
        let length = match line.read(&mut bytes) {
            Ok(0) => break,
            Ok(length) => length,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            // The device was unplugged.
            Err(error) if error.raw_os_error() == Some(Errno::IO.raw_os_error()) => break,
            Err(error) => return Err(error.into()),
        };
        let mut result = Ok(());
        parser.push(&bytes[..length], |measurement| {
            if result.is_ok() {
                result = publish(&publisher, &measurement);
                published += u64::from(result.is_ok());
            }
        });
        result?;
    }
    println!("published {published} measurements; {} bytes were not part of any message", parser.skipped());
    Ok(())
}
