//! The example `imu`: its parser on any bytes, and the program with a pseudo terminal as its serial line.

#[path = "../imu/mtdata2.rs"]
mod mtdata2;

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

use mtdata2::{MAX_MESSAGE, Measurement, Parser};
use proptest::collection::vec;
use proptest::prelude::*;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use situ::bus::{Node, Root};
use situ_examples::situ_::sensor::Imu;
use situ_testkit::Scratch;

const PATIENCE: Duration = Duration::from_secs(20);

/// A message as the device sends it.
fn message(kind: u8, values: &[u8]) -> Vec<u8> {
    let mut message = vec![0xfa, 0xff, kind, u8::try_from(values.len()).unwrap()];
    message.extend(values);
    let sum: u32 = message[1..].iter().map(|byte| u32::from(*byte)).sum();
    message.push(((0x10000 - sum) & 0xff) as u8);
    message
}

fn value(number: u16, floats: &[f32]) -> Vec<u8> {
    let mut value = number.to_be_bytes().to_vec();
    value.push(4 * floats.len() as u8);
    floats.iter().for_each(|float| value.extend(float.to_be_bytes()));
    value
}

/// A message of MTData2 with these values.
fn sent(measurement: &Measurement) -> Vec<u8> {
    let mut values = Vec::new();
    // A value that the example does not use: PacketCounter.
    values.extend([0x10, 0x20, 2, 0xfa, 0xff]);
    if let Some(time) = measurement.time {
        values.extend([0x10, 0x60, 4]);
        values.extend(time.to_be_bytes());
    }
    measurement.orientation.iter().for_each(|it| values.extend(value(0x2010, it)));
    measurement.acceleration.iter().for_each(|it| values.extend(value(0x4020, it)));
    measurement.angular_velocity.iter().for_each(|it| values.extend(value(0x8020, it)));
    message(0x36, &values)
}

/// What a parser finds in bytes that come in parts, and how many bytes it skips.
fn found<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> (Vec<Measurement>, u64) {
    let (mut parser, mut found) = (Parser::default(), Vec::new());
    for part in parts {
        parser.push(part, |measurement| found.push(measurement));
    }
    (found, parser.skipped())
}

fn measurements() -> impl Strategy<Value = Measurement> {
    let float = || -1e6f32..1e6;
    let orientation = proptest::option::of([float(), float(), float(), float()]);
    let acceleration = [float(), float(), float()];
    let angular_velocity = proptest::option::of([float(), float(), float()]);
    (proptest::option::of(any::<u32>()), orientation, acceleration, angular_velocity).prop_map(
        |(time, orientation, acceleration, angular_velocity)| Measurement {
            time,
            orientation,
            acceleration: Some(acceleration),
            angular_velocity,
        },
    )
}

proptest! {
    #[test]
    fn messages_between_noise_are_found_however_the_bytes_are_split(
        // Without a preamble, so that no noise looks like a message that contains others.
        parts in vec((vec(prop_oneof![0..0xfau8, 0xfb..=0xffu8], 0..40), measurements()), 0..8),
        size in 1..100usize,
    ) {
        let mut bytes = Vec::new();
        for (noise, measurement) in &parts {
            bytes.extend(noise);
            bytes.extend(sent(measurement));
        }
        let (measurements, skipped) = found(bytes.chunks(size));
        prop_assert!(measurements.iter().eq(parts.iter().map(|(_, measurement)| measurement)));
        prop_assert_eq!(skipped, parts.iter().map(|(noise, _)| noise.len() as u64).sum::<u64>());
    }

    #[test]
    fn no_bytes_hide_a_message_for_longer_than_one_message(
        // Many of these bytes look like the begin of a message.
        noise in vec(prop_oneof![Just(0xfau8), Just(0xff), Just(0x36), any::<u8>()], 0..600),
        measurement in measurements(),
        size in 1..100usize,
    ) {
        let mut bytes = noise;
        bytes.extend([0; MAX_MESSAGE]);
        bytes.extend(sent(&measurement));
        let (measurements, _) = found(bytes.chunks(size));
        prop_assert_eq!(measurements.last(), Some(&measurement));
        let whole = found([&bytes[..]]);
        prop_assert_eq!(found(bytes.chunks(size)), whole, "the parts do not matter");
    }
}

#[test]
fn other_messages_and_damaged_ones_give_no_measurement() {
    // From the manufacturer's documentation: GoToConfig and GoToMeasurement.
    let known = [0xfa, 0xff, 0x30, 0x00, 0xd1, 0xfa, 0xff, 0x10, 0x00, 0xf1];
    assert_eq!(found([&known[..]]), (vec![], 0));

    let measurement = Measurement { acceleration: Some([0.5, -1.0, 9.75]), ..Measurement::default() };
    let whole = sent(&measurement);
    for index in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[index] ^= 0x10;
        damaged.extend(&whole);
        damaged.extend([0; MAX_MESSAGE]);
        let (measurements, skipped) = found([&damaged[..]]);
        assert_eq!(measurements, [measurement], "byte {index}");
        assert!(skipped >= whole.len() as u64);
    }
    // A value that is longer than its message, and one of another precision: Acceleration with doubles.
    for values in [&[0x40, 0x20, 12, 0, 0][..], &[[0x40, 0x23, 24].as_slice(), &[0; 24]].concat()] {
        assert_eq!(found([&message(0x36, values)[..]]), (vec![], 0));
    }
}

#[test]
fn the_program_publishes_what_its_serial_line_says() {
    let line = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&line).unwrap();
    unlockpt(&line).unwrap();
    let device = ptsname(&line, Vec::new()).unwrap().into_string().unwrap();

    let scratch = Scratch::new("imu");
    let node = Node::in_root("reader", Root::at(scratch.path(), None)).unwrap();
    let subscriber = node.subscriber::<Imu>("imu/data").keep_last(8).create().unwrap();
    let mut program = Command::new(env!("CARGO_BIN_EXE_imu"))
        .arg(&device)
        .env("SITU_ROOT", scratch.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(program.stdout.take().unwrap()).lines();
    assert_eq!(said.next().unwrap().unwrap(), format!("reads {device}"));

    let whole = Measurement {
        time: Some(7),
        orientation: Some([0.5, -0.5, 0.5, 0.25]),
        acceleration: Some([0.125, -0.25, 9.75]),
        angular_velocity: Some([1.5, 0.0, -2.0]),
    };
    let part = Measurement { acceleration: Some([13.0, 10.0, 4.0]), ..Measurement::default() };
    let mut line = File::from(line);
    // Bytes that a terminal in another mode would change: ^C, ^D, CR, NL, XON, XOFF. Then a preamble.
    line.write_all(b"\x03\x04\r\n\x11\x13\xfa").unwrap();
    line.write_all(&sent(&whole)).unwrap();
    line.write_all(&sent(&part)).unwrap();

    let first = subscriber.recv(Some(PATIENCE)).unwrap().expect("the first measurement");
    assert_eq!(&*first.header.frame_id, "imu_link");
    assert!(first.header.stamp.sec > 0);
    let orientation = &first.orientation;
    assert_eq!([orientation.w, orientation.x, orientation.y, orientation.z], [0.5, -0.5, 0.5, 0.25]);
    let (velocity, acceleration) = (&first.angular_velocity, &first.linear_acceleration);
    assert_eq!([velocity.x, velocity.y, velocity.z], [1.5, 0.0, -2.0]);
    assert_eq!([acceleration.x, acceleration.y, acceleration.z], [0.125, -0.25, 9.75]);
    assert_eq!(first.orientation_covariance, [0.0; 9]);

    let second = subscriber.recv(Some(PATIENCE)).unwrap().expect("the second measurement");
    let unknown = [-1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    assert_eq!((second.orientation_covariance, second.angular_velocity_covariance), (unknown, unknown));
    assert_eq!((second.linear_acceleration.x, second.linear_acceleration_covariance), (13.0, [0.0; 9]));

    // The device is unplugged.
    drop(line);
    assert_eq!(
        said.next().unwrap().unwrap(),
        "published 2 measurements; 7 bytes were not part of any message"
    );
    assert!(program.wait().unwrap().success());
}
