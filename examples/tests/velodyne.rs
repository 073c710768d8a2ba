//! The example `velodyne`: its readers of captures and packets, and the programs in Rust
//! and C++ with captures of some turns.

#[path = "../velodyne/pcap.rs"]
mod pcap;
#[allow(dead_code, reason = "the program needs more")]
#[path = "../velodyne/vlp16.rs"]
mod vlp16;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use pcap::{Datagram, Pcap, PcapError};
use proptest::collection::vec;
use proptest::prelude::*;
use situ::bus::{Node, Root, Sample};
use situ_examples::situ_::sensor::{PointCloud2, PointFieldType};
use situ_testkit::Scratch;
use vlp16::{Packet, PacketError};

const PATIENCE: Duration = Duration::from_secs(20);
const STRONGEST: u8 = 0x37;
const DUAL: u8 = 0x39;

/// A packet whose blocks have these azimuths. Returns: block, place in it, distance (2 mm), reflectivity.
fn packet(azimuths: [u16; 12], returns: &[(usize, usize, u16, u8)], mode: u8) -> Vec<u8> {
    let mut packet = vec![0; 1206];
    for (index, azimuth) in azimuths.into_iter().enumerate() {
        packet[index * 100..][..2].copy_from_slice(&[0xff, 0xee]);
        packet[index * 100 + 2..][..2].copy_from_slice(&azimuth.to_le_bytes());
    }
    for (block, place, distance, reflectivity) in returns {
        let bytes = &mut packet[block * 100 + 4 + place * 3..][..3];
        bytes[..2].copy_from_slice(&distance.to_le_bytes());
        bytes[2] = *reflectivity;
    }
    packet[1204..].copy_from_slice(&[mode, 0x22]);
    packet
}

fn azimuths(first: u16, step: u16) -> [u16; 12] {
    std::array::from_fn(|index| (first + step * index as u16) % 36_000)
}

/// A frame of Ethernet with a packet of UDP.
fn frame(port: u16, content: &[u8]) -> Vec<u8> {
    let mut frame = vec![2; 12];
    frame.extend([0x08, 0x00]);
    let udp = 8 + content.len() as u16;
    frame.extend([0x45, 0]);
    frame.extend((20 + udp).to_be_bytes());
    frame.extend([0, 0, 0x40, 0, 64, 17, 0, 0, 192, 168, 1, 201, 255, 255, 255, 255]);
    [port, port, udp, 0].iter().for_each(|number| frame.extend(number.to_be_bytes()));
    frame.extend(content);
    frame
}

/// A capture of frames with the time of each, in microseconds of the second 1_700_000_000. Little endian.
fn capture(frames: &[(u32, Vec<u8>)]) -> Vec<u8> {
    let mut file = Vec::new();
    [0xa1b2_c3d4, 0x0004_0002, 0, 0, 65_535, 1u32].iter().for_each(|it| file.extend(it.to_le_bytes()));
    for (at_us, frame) in frames {
        let size = frame.len() as u32;
        [1_700_000_000, *at_us, size, size].iter().for_each(|it| file.extend(it.to_le_bytes()));
        file.extend(frame);
    }
    file
}

fn all(bytes: &[u8]) -> Result<Vec<(u64, u16, Vec<u8>)>, PcapError> {
    let (mut pcap, mut all) = (Pcap::new(bytes)?, Vec::new());
    while let Some(Datagram { at_ns, port, content }) = pcap.next_datagram()? {
        all.push((at_ns, port, content.to_vec()));
    }
    Ok(all)
}

fn close(one: [f32; 3], other: [f64; 3]) -> bool {
    one.iter().zip(other).all(|(one, other)| (f64::from(*one) - other).abs() < 2e-5)
}

#[test]
fn points_are_where_their_lasers_hit() {
    // A turn of 0.4 degrees for each block. The expected points are computed by hand from the angles: the
    // second is 3 blocks, 1 firing and 10 shots behind the first shot, so its azimuth is
    // 91.2 + 0.4 * (55.296 + 10 * 2.304) / 110.592 = 91.4833 degrees, its elevation -5 degrees.
    let returns = [(0, 1, 5000, 50), (3, 26, 65_535, 255), (11, 31, 2000, 0)];
    let bytes = packet(azimuths(9000, 40), &returns, STRONGEST);
    let decoded = Packet::new(&bytes).unwrap();
    let points: Vec<_> = decoded.points().collect();
    assert_eq!((points.len(), decoded.point_count()), (3, 3));
    let expected = [
        ([-0.001_454_22, -9.998_476_85, 0.174_524_06], 50, 8, 2.304),
        ([-3.379_987_81, -130.527_484_30, -11.423_503_20], 255, 5, 410.112),
        ([-0.318_266_25, -3.850_572_66, 1.035_276_18], 0, 15, 1306.368),
    ];
    for (point, (position, reflectivity, ring, microseconds)) in points.iter().zip(expected) {
        assert!(close(point.position, position), "{point:?}, not {position:?}");
        assert_eq!((point.reflectivity, point.ring), (reflectivity, ring));
        assert!((point.seconds * 1e6 - microseconds).abs() < 1e-9, "{point:?}");
    }
}

#[test]
fn the_head_turns_through_north_within_a_packet() {
    let bytes = packet(azimuths(35_990, 40), &[(0, 0, 1000, 1), (0, 16, 1000, 1)], STRONGEST);
    let points: Vec<_> = Packet::new(&bytes).unwrap().points().collect();
    // At 359.9 and at 359.9 + 0.2 = 0.1 degrees: as far right of north as left of it.
    let [before, behind] = &points[..] else { panic!("{points:?}") };
    assert!(close(before.position, [1.931_848_71, 0.003_371_72, -0.517_638_09]), "{before:?}");
    assert!(close(behind.position, [1.931_848_71, -0.003_371_72, -0.517_638_09]), "{behind:?}");
}

#[test]
fn in_dual_mode_pairs_of_blocks_have_the_same_shots() {
    let azimuths: [u16; 12] = std::array::from_fn(|index| 9000 + 40 * (index as u16 / 2));
    let returns = [(2, 17, 5000, 9), (3, 17, 6000, 8), (11, 17, 5000, 7)];
    let points: Vec<_> = Packet::new(&packet(azimuths, &returns, DUAL)).unwrap().points().collect();
    let [first, second, last] = &points[..] else { panic!("{points:?}") };
    assert_eq!((first.seconds, first.ring), (second.seconds, second.ring));
    for (one, other) in first.position.iter().zip(second.position) {
        assert!((one * 1.2 - other).abs() < 1e-5, "the same direction: {first:?} {second:?}");
    }
    // 1 block, a firing and a shot; 5 blocks, a firing and a shot.
    assert!((first.seconds * 1e6 - 168.192).abs() < 1e-9 && (last.seconds * 1e6 - 610.56).abs() < 1e-9);
}

#[test]
fn bytes_that_are_no_packet_are_refused() {
    let whole = packet(azimuths(0, 40), &[], STRONGEST);
    let refused = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = whole.clone();
        change(&mut bytes);
        Packet::new(&bytes).unwrap_err()
    };
    assert_eq!(refused(&|bytes| bytes.truncate(512)), PacketError::Length(512));
    assert_eq!(refused(&|bytes| bytes[1205] = 0x21), PacketError::Product(0x21));
    assert_eq!(refused(&|bytes| bytes[501] = 0xdd), PacketError::Block(5, [0xff, 0xdd]));
    assert_eq!(
        refused(&|bytes| bytes[1102..1104].copy_from_slice(&[0xa0, 0x8c])),
        PacketError::Azimuth(11, 36_000)
    );
}

#[test]
fn captures_of_both_byte_orders_and_units_are_read() {
    let expected = (1_700_000_000_000_000_000, 2368, b"content".to_vec());
    let little = capture(&[(5, frame(2368, b"content"))]);
    assert_eq!(all(&little).unwrap(), [(expected.0 + 5000, 2368, b"content".to_vec())]);
    let mut big = Vec::new();
    let content = frame(2368, b"content");
    let size = content.len() as u32;
    [0xa1b2_3c4d, 0x0002_0004, 0, 0, 65_535, 1u32, 1_700_000_000, 7, size, size]
        .iter()
        .for_each(|it| big.extend(it.to_be_bytes()));
    big.extend(&content);
    assert_eq!(all(&big).unwrap(), [(expected.0 + 7, 2368, b"content".to_vec())]);
}

#[test]
fn what_is_no_whole_packet_of_udp_is_skipped() {
    let whole = frame(2368, b"content");
    let changed = |at: usize, value: u8| {
        let mut frame = whole.clone();
        frame[at] = value;
        frame
    };
    let mut tagged = whole[..12].to_vec();
    tagged.extend([0x81, 0x00, 0, 7]);
    tagged.extend(&whole[12..]);
    let padded = [&whole[..], &[0; 20]].concat();
    let skipped = [
        // IPv6; TCP; a fragment; a length of IP, of its head and of UDP behind the end.
        changed(12, 0x86),
        changed(23, 6),
        changed(20, 0x20),
        changed(16, 0xff),
        changed(14, 0x4f),
        changed(38, 0xff),
        whole[..30].to_vec(),
        vec![],
    ];
    let mut frames: Vec<_> = skipped.into_iter().map(|frame| (0, frame)).collect();
    frames.extend([(1, tagged), (2, padded), (3, whole)]);
    let mut file = capture(&frames);
    let read = all(&file).unwrap();
    let times: Vec<_> = read.iter().map(|(at_ns, ..)| at_ns % 1_000_000).collect();
    assert_eq!(times, [1000, 2000, 3000]);
    assert!(read.iter().all(|(_, port, content)| *port == 2368 && content == b"content"));
    // The end is within a record.
    file.pop();
    assert_eq!(all(&file).unwrap().len(), 2);
}

#[test]
fn damaged_captures_are_refused() {
    let whole = capture(&[(0, frame(2368, b"content"))]);
    let refused = |at: usize, value: u8| {
        let mut file = whole.clone();
        file[at] = value;
        all(&file).unwrap_err()
    };
    assert!(matches!(refused(0, 0), PcapError::NotPcap(0xa1b2_c300)));
    assert!(matches!(refused(20, 113), PcapError::OtherLink(113)));
    assert!(matches!(refused(24 + 11, 1), PcapError::TooLarge(size) if size > 1 << 24));
    assert!(matches!(all(&whole[..23]), Err(PcapError::Io(_))));
}

proptest! {
    #[test]
    fn no_bytes_stop_the_readers(bytes in vec(any::<u8>(), 0..400), at in 0..60usize, value in any::<u8>()) {
        let _ = all(&bytes);
        let mut file = capture(&[(0, frame(2368, &bytes)), (0, frame(2368, b"content"))]);
        file[24 + at] = value;
        let _ = all(&file);
        let mut content = packet(azimuths(0, 40), &[], STRONGEST);
        let length = bytes.len();
        content[4..4 + length].copy_from_slice(&bytes);
        if let Ok(packet) = Packet::new(&content) {
            prop_assert_eq!(packet.points().count(), packet.point_count());
        }
    }
}

/// What a program publishes and prints.
struct Played {
    clouds: Vec<Sample<PointCloud2>>,
    said: String,
    errors: String,
}

/// Plays a capture of so many turns through a program.
fn play(program: &Path, capture: &[u8], turns: usize) -> Played {
    let scratch = Scratch::new("velodyne");
    std::fs::create_dir_all(scratch.path()).unwrap();
    let (file, root) = (scratch.join("turns.pcap"), scratch.join("root"));
    std::fs::write(&file, capture).unwrap();
    let node = Node::in_root("reader", Root::at(&root, None)).unwrap();
    let subscriber = node.subscriber::<PointCloud2>("velodyne/points").reliable().create().unwrap();
    let mut command = Command::new(program);
    command.arg(&file).env("SITU_ROOT", &root).stdout(Stdio::piped()).stderr(Stdio::piped());
    let program = command.spawn().unwrap();
    let clouds = (0..turns).map(|_| subscriber.recv(Some(PATIENCE)).unwrap().expect("a cloud")).collect();
    let output = program.wait_with_output().unwrap();
    let (said, errors) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(output.status.success(), "{errors}");
    assert!(subscriber.take().unwrap().is_none());
    Played { clouds, said, errors }
}

/// The position, the intensity, the ring and the time of each point.
fn points(cloud: &Sample<PointCloud2>) -> Vec<([f32; 3], f32, u16, f32)> {
    let point = |bytes: &[u8; 24]| {
        let float = |at: usize| f32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        let ring = u16::from_le_bytes(bytes[16..18].try_into().unwrap());
        ([float(0), float(4), float(8)], float(12), ring, float(20))
    };
    cloud.bulk(|cloud| &cloud.data).as_chunks().0.iter().map(point).collect()
}

#[test]
fn the_program_publishes_a_cloud_for_each_turn() {
    // Two packets to the north-west and north, then the next turn. A packet of the position port and a
    // damaged one are in between.
    let first = packet(azimuths(35_000, 40), &[(0, 0, 1000, 3)], STRONGEST);
    let second = packet(azimuths(35_480, 40), &[(0, 0, 1000, 4), (0, 2, 500, 5)], STRONGEST);
    let third = packet(azimuths(9000, 40), &[(0, 1, 5000, 50)], STRONGEST);
    let frames = [
        (100, frame(2368, &first)),
        (500, frame(8308, &[0; 512])),
        (600, frame(2368, &first[..1000])),
        (1427, frame(2368, &second)),
        (90_000, frame(2368, &third)),
    ];
    let Played { clouds, said, errors } =
        play(Path::new(env!("CARGO_BIN_EXE_velodyne")), &capture(&frames), 2);
    assert_eq!(errors, "skipped: the packet has 1000 bytes, not 1206\n");
    assert_eq!(said, "published 3 points of 2 packets\npublished 1 points of 1 packets\n");

    let cloud = &clouds[0];
    assert_eq!((cloud.header.stamp.sec, cloud.header.stamp.nanosec), (1_700_000_000, 100_000));
    assert_eq!(&*cloud.header.frame_id, "velodyne");
    assert_eq!((cloud.height, cloud.width, cloud.point_step, cloud.row_step), (1, 3, 24, 72));
    assert!(cloud.is_dense && !cloud.is_bigendian);
    let fields: Vec<_> =
        cloud.fields.iter().map(|it| (&*it.name, it.offset, it.datatype, it.count)).collect();
    let float = PointFieldType::FLOAT32;
    let expected = [("x", 0, float), ("y", 4, float), ("z", 8, float), ("intensity", 12, float)];
    assert_eq!(fields[..4], expected.map(|(name, offset, datatype)| (name, offset, datatype, 1)));
    assert_eq!(fields[4..], [("ring", 16, PointFieldType::UINT16, 1), ("time", 20, float, 1)]);
    let point = |index: usize| points(cloud)[index];
    assert_eq!(cloud.bulk(|cloud| &cloud.data).len(), 72);
    // At 350 degrees and -15 degrees, 2 m; the third at 354.8 + 0.4 / 24 and -13 degrees, 1 m.
    let (position, intensity, ring, time) = point(0);
    assert!(close(position, [1.902_502_49, 0.335_462_52, -0.517_638_09]), "{position:?}");
    assert_eq!((intensity, ring, time), (3.0, 0, 0.0));
    let (position, intensity, ring, time) = point(2);
    assert!(close(position, [0.970_385_59, 0.088_027_40, -0.224_951_05]), "{position:?}");
    assert_eq!((intensity, ring), (5.0, 1));
    // 1427 - 100 us, and two shots.
    assert!((time - 0.001_331_608).abs() < 1e-9, "{time}");
    assert_eq!(clouds[1].width, 1);
}

/// The program in C++, if it is built.
fn cpp_program() -> Option<PathBuf> {
    let folder = std::env::var_os("SITU_CPP_EXAMPLES").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../build/cpp/examples")),
        PathBuf::from,
    );
    let program = folder.join("velodyne");
    if program.is_file() {
        return Some(program);
    }
    eprintln!(
        "SKIPPED: {} is not built (cmake -S cpp -B build/cpp && cmake --build build/cpp)",
        program.display()
    );
    None
}

/// Three turns whose shots hit at any distance, among frames that are skipped, and packets that are refused.
fn any_turns() -> Vec<u8> {
    // Marsaglia's xorshift.
    let mut state = 0x9e37_79b9_u32;
    let mut any = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state as usize
    };
    let (mut frames, mut at_us) = (Vec::new(), 100);
    for turn in 0..3 {
        let mode = if turn == 1 { DUAL } else { STRONGEST };
        for number in 0..5u16 {
            let first = 2000 + 7000 * number;
            let azimuths = match mode {
                DUAL => std::array::from_fn(|index| (first + 40 * (index as u16 / 2)) % 36_000),
                _ => azimuths(first + any() as u16 % 100, 39),
            };
            // Not all shots hit.
            let hits = (0..12 * 32).filter_map(|shot| match any() {
                chance if chance % 3 == 0 => None,
                _ => Some((shot / 32, shot % 32, any() as u16, any() as u8)),
            });
            let content = packet(azimuths, &hits.collect::<Vec<_>>(), mode);
            let mut refused = content.clone();
            match any() % 4 {
                0 => refused.truncate(any() % 1206),
                1 => refused[1205] = 0x21,
                2 => refused[100 * (any() % 12)] = 0x0f,
                _ => refused[100 * (any() % 12) + 3] = 0x8d,
            }
            let mut fragment = frame(2368, &content);
            fragment[20] = 0x20;
            let mut damaged = frame(2368, &content);
            let at = any() % 44;
            damaged[at] ^= 1 << (any() % 8);
            let mut tagged = frame(2368, &content);
            tagged.splice(12..12, [0x81, 0x00, 0, 7]);
            for frame in [frame(2368, &refused), fragment, damaged, tagged, frame(8308, &[0; 512])] {
                frames.push((at_us, frame));
                at_us += 1327;
            }
        }
    }
    capture(&frames)
}

#[test]
fn the_program_in_cpp_publishes_the_same_clouds() {
    let Some(program) = cpp_program() else { return };
    let capture = any_turns();
    let turns = 3;
    let rust = play(Path::new(env!("CARGO_BIN_EXE_velodyne")), &capture, turns);
    let cpp = play(&program, &capture, turns);
    assert_eq!(cpp.said, rust.said);
    assert_eq!(cpp.errors, rust.errors);
    assert!(rust.errors.lines().count() >= 15, "{}", rust.errors);
    for (rust, cpp) in rust.clouds.iter().zip(&cpp.clouds) {
        assert_eq!(cpp.header, rust.header);
        assert_eq!(cpp.fields.as_slice(), rust.fields.as_slice());
        let shape = |cloud: &PointCloud2| {
            let bits = (cloud.is_bigendian, cloud.is_dense);
            (cloud.height, cloud.width, cloud.point_step, cloud.row_step, bits)
        };
        assert_eq!(shape(cpp), shape(rust));
        let (rust, cpp) = (points(rust), points(cpp));
        assert!(rust.len() > 1000 && cpp.len() == rust.len(), "{} {}", rust.len(), cpp.len());
        for (rust, cpp) in rust.iter().zip(&cpp) {
            assert!(close(cpp.0, rust.0.map(f64::from)), "{cpp:?} {rust:?}");
            assert_eq!((cpp.1, cpp.2), (rust.1, rust.2));
            assert!((cpp.3 - rust.3).abs() < 1e-9, "{cpp:?} {rust:?}");
        }
    }
}

#[test]
fn the_program_in_cpp_refuses_damaged_captures() {
    let Some(program) = cpp_program() else { return };
    let scratch = Scratch::new("velodyne");
    std::fs::create_dir_all(scratch.path()).unwrap();
    let file = scratch.join("damaged.pcap");
    let run = |content: &[u8]| {
        std::fs::write(&file, content).unwrap();
        let output =
            Command::new(&program).arg(&file).env("SITU_ROOT", scratch.join("root")).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let whole = capture(&[(0, frame(2368, b"content"))]);
    for (at, value) in [(0, 0), (20, 113)] {
        let mut file = whole.clone();
        file[at] = value;
        assert_eq!(run(&file), (Some(1), format!("{}\n", all(&file).unwrap_err())));
    }
    assert_eq!(run(&whole[..23]), (Some(1), "the capture is shorter than its head\n".to_owned()));
}
