//! The example `camera`: what it makes of the bytes of V4L2, and its frames from a driver that the test
//! plays. The program itself runs where there is a camera.

#[allow(dead_code, reason = "the program needs more")]
#[path = "../camera/device.rs"]
mod device;
#[path = "../camera/publish.rs"]
mod publish;
#[allow(dead_code, reason = "the program needs more")]
#[path = "../camera/v4l2.rs"]
mod v4l2;

use std::cell::Cell;
use std::collections::VecDeque;
use std::ffi::OsStr;
use std::process::{Command, Output};
use std::rc::Rc;
use std::time::Duration;

use device::{Camera, CameraError, Driver, Video};
use proptest::collection::vec;
use proptest::prelude::*;
use publish::{Counts, run};
use rustix::io::Errno;
use situ::bus::{Node, Root, now_ns};
use situ::prelude::*;
use situ_examples::situ_::common::Time;
use situ_examples::situ_::sensor::{CompressedImage, Image};
use situ_testkit::Scratch;
use v4l2::{Format, FormatError, Frame, Gaps, Pixels};

const PATIENCE: Duration = Duration::from_secs(20);

/// Bytes of a little-endian machine: 0, except for these places.
fn bytes<const N: usize>(parts: &[(usize, &[u8])]) -> [u8; N] {
    let mut bytes = [0; N];
    parts.iter().for_each(|(at, part)| bytes[*at..at + part.len()].copy_from_slice(part));
    bytes
}

/// 640 x 480 pixels of YUYV in rows of 1280 bytes.
const YUYV: &[(usize, &[u8])] = &[
    (0, &[1]),
    (8, &[0x80, 0x02]),
    (12, &[0xe0, 0x01]),
    (16, b"YUYV"),
    (20, &[1]),
    (24, &[0x00, 0x05]),
    (28, &[0x00, 0x60, 0x09]),
];

fn changed(parts: &[(usize, &[u8])]) -> v4l2::FormatBytes {
    bytes(&[YUYV, parts].concat())
}

#[cfg(target_endian = "little")]
#[test]
fn formats_are_negotiated() {
    let expected = bytes(&[(0, &[1]), (8, &[0x80, 0x02]), (12, &[0xe0, 0x01]), (16, b"MJPG"), (20, &[1])]);
    assert_eq!(Format::request(Pixels::Mjpeg, 640, 480), expected);

    let granted = |parts: &[(usize, &[u8])]| Format::granted(&changed(parts), Pixels::Yuyv);
    let whole = Format { pixels: Pixels::Yuyv, width: 640, height: 480, row: 1280, size: 614_400 };
    assert_eq!(granted(&[]), Ok(whole));
    // A driver whose rows have padding: 1344 bytes, 645,120 bytes a frame.
    let padded = granted(&[(24, &[0x40, 0x05]), (28, &[0x00, 0xd8, 0x09])]);
    assert_eq!(padded, Ok(Format { row: 1344, size: 645_120, ..whole }));
    assert_eq!(
        granted(&[(16, b"MJPG")]),
        Err(FormatError::Pixels(Pixels::Yuyv, u32::from_le_bytes(*b"MJPG")))
    );
    assert_eq!(granted(&[(8, &[0, 0])]), Err(FormatError::Empty(0, 480)));
    assert_eq!(granted(&[(24, &[0xff, 0x04])]), Err(FormatError::Row(1279, 640)));
    assert_eq!(granted(&[(28, &[0xff, 0x5f, 0x09])]), Err(FormatError::Size(614_399)));
    // Rows of 4 GiB in as many rows have no size in 64 bits that a frame could have.
    let huge = [(8, &[0xff; 3][..]), (12, &[0xff; 4]), (24, &[0xff; 4])];
    assert_eq!(granted(&huge), Err(FormatError::Size(614_400)));
    // A JPEG has no rows, whatever the driver says.
    let jpeg = Format::granted(&changed(&[(16, b"MJPG")]), Pixels::Mjpeg);
    assert_eq!(jpeg, Ok(Format { pixels: Pixels::Mjpeg, row: 0, ..whole }));
    assert_eq!(
        FormatError::Pixels(Pixels::Yuyv, u32::from_le_bytes(*b"H26\x01")).to_string(),
        "the camera has no Yuyv, but offers \"H26\\x01\": try --mjpeg"
    );
}

#[test]
fn the_content_of_a_frame_is_its_rows_or_its_jpeg() {
    let format = Format { pixels: Pixels::Yuyv, width: 2, height: 3, row: 6, size: 20 };
    let frame: Vec<u8> = (0..20).collect();
    assert_eq!(format.content(&frame), Some(&frame[..18]));
    assert_eq!(format.content(&frame[..18]), Some(&frame[..18]));
    assert_eq!(format.content(&frame[..17]), None);
    let format = Format { pixels: Pixels::Mjpeg, row: 0, ..format };
    assert_eq!(format.content(&[0xff, 0xd8, 0xff, 0xd9]), Some(&[0xff, 0xd8, 0xff, 0xd9][..]));
    for no_jpeg in [&[][..], &[0xff], &[0xd8, 0xff]] {
        assert_eq!(format.content(no_jpeg), None);
    }
}

#[cfg(target_endian = "little")]
#[test]
fn a_capability_of_the_file_counts_if_there_is_one() {
    let capability =
        |of_device: [u8; 4], of_file: [u8; 4]| bytes(&[(16, b"HD Webcam"), (84, &of_device), (88, &of_file)]);
    assert!(v4l2::can_capture(&capability([1, 0, 0, 0x84], [1, 0, 0x20, 0x04])));
    // The file of the camera's metadata.
    assert!(!v4l2::can_capture(&capability([1, 0, 0x80, 0x84], [0, 0, 0x80, 0x04])));
    assert!(v4l2::can_capture(&capability([1, 0, 0, 0x04], [0; 4])));
    // Without buffers that can be mapped.
    assert!(!v4l2::can_capture(&capability([1, 0, 0, 0x01], [0; 4])));
    assert_eq!(v4l2::name(&capability([0; 4], [0; 4])), "HD Webcam");
    assert_eq!(v4l2::name(&[b'x'; 104]), "x".repeat(32));
}

#[cfg(target_endian = "little")]
#[test]
fn frames_have_a_place_a_time_and_a_number() {
    // Buffer 2, 614,400 bytes, mapped and filled, at 300.25 s of the steady clock, number 258.
    let parts: &[(usize, &[u8])] = &[
        (0, &[2]),
        (4, &[1]),
        (8, &[0x00, 0x60, 0x09]),
        (12, &[0x05, 0x20]),
        (24, &[0x2c, 0x01]),
        (32, &[0x90, 0xd0, 0x03]),
        (56, &[0x02, 0x01]),
        (60, &[1]),
        (64, &[0x00, 0xc0, 0x12]),
        (72, &[0x00, 0x60, 0x09]),
    ];
    let with = |more: &[(usize, &[u8])]| bytes(&[parts, more].concat());
    let frame =
        Frame { index: 2, length: 614_400, at_ns: Some(300_250_000_000), number: 258, is_damaged: false };
    assert_eq!(Frame::of(&with(&[])), frame);
    assert_eq!(v4l2::place_of(&with(&[])), (0x12_c000, 614_400));
    assert_eq!(Frame::of(&with(&[(12, &[0x45])])), Frame { is_damaged: true, ..frame });
    // A clock that is not known, a copied time, no time, and one that does not fit.
    let unknown = Frame { at_ns: None, ..frame };
    assert_eq!(Frame::of(&with(&[(13, &[0x00])])), unknown);
    assert_eq!(Frame::of(&with(&[(13, &[0x40])])), unknown);
    assert_eq!(Frame::of(&with(&[(24, &[0; 16])])), unknown);
    assert_eq!(Frame::of(&with(&[(24, &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f])])), unknown);

    // Captured 20 ms ago.
    let system = 1_700_000_000_000_000_000;
    assert_eq!(frame.stamp_ns(300_270_000_000, system), 1_699_999_999_980_000_000);
    assert_eq!(frame.stamp_ns(300_000_000_000, system), system, "not later than now");
    assert_eq!(unknown.stamp_ns(300_270_000_000, system), system);
}

#[test]
fn gaps_between_numbers_are_lost_frames() {
    let lost = |numbers: &[u32]| {
        let mut gaps = Gaps::default();
        numbers.iter().map(|number| gaps.before(*number)).collect::<Vec<_>>()
    };
    assert_eq!(lost(&[7, 8, 9, 12, 13]), [0, 0, 0, 2, 0]);
    assert_eq!(lost(&[u32::MAX - 1, 1]), [0, 2], "the number starts anew");
    assert_eq!(lost(&[500, 0, 1]), [0, 0, 0], "the stream starts anew");
    assert_eq!(lost(&[0, 0, 0]), [0, 0, 0], "the driver does not count");
}

/// What the kernel's header says: direction and size of the argument.
#[test]
fn calls_have_the_sizes_of_their_arguments() {
    let size = |call: u32| (call >> 16) as usize & 0x3fff;
    assert_eq!(size(v4l2::QUERYCAP), size_of::<v4l2::Capability>());
    assert_eq!(size(v4l2::S_FMT), size_of::<v4l2::FormatBytes>());
    assert_eq!(size(v4l2::REQBUFS), size_of::<v4l2::Request>());
    for call in [v4l2::QUERYBUF, v4l2::QBUF, v4l2::DQBUF] {
        assert_eq!(size(call), size_of::<v4l2::BufferBytes>());
    }
    assert_eq!((size(v4l2::STREAMON), size(v4l2::STREAMOFF)), (4, 4));
}

/// A driver with three buffers of 32 bytes. Its images have 2 x 2 pixels in rows of 6 bytes.
struct Played {
    pixels: &'static [u8; 4],
    /// Numbers and contents of the frames to come. Then the camera is disconnected.
    frames: VecDeque<(u32, Vec<u8>)>,
    /// Buffers that the driver may fill.
    given: VecDeque<u32>,
    buffers: Vec<Vec<u8>>,
    is_capturing: Rc<Cell<bool>>,
}

impl Played {
    fn new(pixels: &'static [u8; 4], frames: impl IntoIterator<Item = (u32, Vec<u8>)>) -> Self {
        let (frames, is_capturing) = (frames.into_iter().collect(), Rc::default());
        Self { pixels, frames, given: VecDeque::new(), buffers: Vec::new(), is_capturing }
    }
}

impl Driver for Played {
    fn call(&mut self, request: u32, argument: &mut [u8]) -> Result<(), Errno> {
        assert_eq!((request >> 16) as usize & 0x3fff, argument.len());
        let index = u32::from(argument[0]);
        match request {
            v4l2::QUERYCAP => argument[84..88].copy_from_slice(&[1, 0, 0, 4]),
            v4l2::S_FMT => {
                let granted: v4l2::FormatBytes =
                    bytes(&[(8, &[2]), (12, &[2]), (16, self.pixels), (24, &[6]), (28, &[32])]);
                argument.copy_from_slice(&granted);
            }
            v4l2::REQBUFS => argument[0] = 3,
            v4l2::QUERYBUF => {
                argument[65] = 0x10 + index as u8;
                argument[72] = 32;
            }
            v4l2::QBUF => {
                assert!(index < 3 && !self.given.contains(&index));
                assert_eq!((argument[4], argument[60]), (1, 1));
                self.given.push_back(index);
            }
            v4l2::DQBUF => {
                assert!(self.is_capturing.get());
                let (number, content) = self.frames.pop_front().ok_or(Errno::NODEV)?;
                let index = self.given.pop_front().expect("a buffer for the frame");
                // Other bytes stand behind a frame than before it was captured.
                let buffer = &mut self.buffers[index as usize];
                buffer.fill(0xaa);
                buffer[..content.len()].copy_from_slice(&content);
                let captured: v4l2::BufferBytes = bytes(&[
                    (0, &[index as u8]),
                    (8, &(content.len() as u32).to_le_bytes()),
                    (12, &[0x05, 0x20]),
                    (24, &(now_ns() / 1_000_000_000).to_le_bytes()),
                    (32, &(now_ns() % 1_000_000_000 / 1000).to_le_bytes()),
                    (56, &number.to_le_bytes()),
                ]);
                argument.copy_from_slice(&captured);
            }
            v4l2::STREAMON => self.is_capturing.set(true),
            v4l2::STREAMOFF => self.is_capturing.set(false),
            _ => panic!("{request:#x}"),
        }
        Ok(())
    }

    fn map(&mut self, offset: u64, length: usize) -> Result<(), Errno> {
        assert_eq!((offset, length), (0x1000 + 0x100 * self.buffers.len() as u64, 32));
        self.buffers.push(vec![0; length]);
        Ok(())
    }

    fn buffer(&self, index: u32) -> Option<&[u8]> {
        assert!(!self.given.contains(&index), "the driver may write buffer {index}");
        self.buffers.get(index as usize).map(Vec::as_slice)
    }

    fn wait(&mut self, _limit: Duration) -> Result<bool, Errno> {
        Ok(true)
    }
}

#[cfg(target_endian = "little")]
#[test]
fn frames_become_images() {
    let scratch = Scratch::new("camera");
    let node = Node::in_root("camera", Root::at(scratch.path(), None)).unwrap();
    let subscriber = node.subscriber::<Image>("camera/image").keep_last(16).create().unwrap();
    let content = |number: u8| (0..14).map(|byte| 16 * number + byte).collect::<Vec<u8>>();
    // Frame 2 and 3 were lost, and half of frame 5 arrived.
    let numbers = [0, 1, 4, 5, 6, 7];
    let frames = numbers.map(|number| {
        let mut content = content(number);
        content.truncate(if number == 5 { 11 } else { 14 });
        (number.into(), content)
    });
    let played = Played::new(b"YUYV", frames);
    let is_capturing = Rc::clone(&played.is_capturing);
    let before = Time::now();
    let mut camera = Camera::start(played, Pixels::Yuyv, 2, 2).unwrap();
    let counts = run(&node, &mut camera, u64::MAX).unwrap();
    assert_eq!(counts, Counts { published: 5, lost: 2, damaged: 1 });
    for number in [0, 1, 4, 6, 7] {
        let image = subscriber.take().unwrap().expect("an image");
        assert_eq!((image.width, image.height, image.step, &*image.encoding), (2, 2, 6, "yuv422_yuy2"));
        assert_eq!(image.bulk(|image| &image.data), &content(number)[..12]);
        assert_eq!(&*image.header.frame_id, "camera");
        let stamp = image.header.stamp.to_nanos();
        // The microseconds of the driver are rounded.
        assert!(before.to_nanos() - 2000 <= stamp && stamp <= Time::now().to_nanos());
    }
    assert!(subscriber.take().unwrap().is_none());
    assert!(is_capturing.get());
    drop(camera);
    assert!(!is_capturing.get());
}

#[cfg(target_endian = "little")]
#[test]
fn jpegs_become_compressed_images() {
    let scratch = Scratch::new("camera");
    let node = Node::in_root("camera", Root::at(scratch.path(), None)).unwrap();
    let subscriber = node.subscriber::<CompressedImage>("camera/compressed").keep_last(16).create().unwrap();
    let jpegs = [vec![0xff, 0xd8, 1, 2, 3], vec![0xff, 0xd8], vec![0; 5], vec![0xff, 0xd8, 4]];
    let frames = jpegs.iter().cloned().enumerate().map(|(number, jpeg)| (number as u32, jpeg));
    let mut camera = Camera::start(Played::new(b"MJPG", frames), Pixels::Mjpeg, 2, 2).unwrap();
    assert_eq!(run(&node, &mut camera, 3).unwrap(), Counts { published: 3, lost: 0, damaged: 1 });
    for jpeg in [&jpegs[0], &jpegs[1], &jpegs[3]] {
        let image = subscriber.take().unwrap().expect("an image");
        assert_eq!((&*image.format, image.bulk(|image| &image.data)), ("jpeg", &jpeg[..]));
    }
}

#[cfg(target_endian = "little")]
#[test]
fn what_does_not_fit_is_refused() {
    let error = Camera::start(Played::new(b"MJPG", []), Pixels::Yuyv, 2, 2).err().unwrap();
    assert!(matches!(error, CameraError::Format(FormatError::Pixels(Pixels::Yuyv, _))), "{error}");
    // 33 bytes of a buffer of 32.
    struct Lies(Played);
    impl Driver for Lies {
        fn call(&mut self, request: u32, argument: &mut [u8]) -> Result<(), Errno> {
            self.0.call(request, argument)?;
            if request == v4l2::DQBUF {
                argument[8] = 33;
            }
            Ok(())
        }
        fn map(&mut self, offset: u64, length: usize) -> Result<(), Errno> {
            self.0.map(offset, length)
        }
        fn buffer(&self, index: u32) -> Option<&[u8]> {
            self.0.buffer(index)
        }
        fn wait(&mut self, limit: Duration) -> Result<bool, Errno> {
            self.0.wait(limit)
        }
    }
    let lies = Lies(Played::new(b"YUYV", [(0, vec![0; 12])]));
    let mut camera = Camera::start(lies, Pixels::Yuyv, 2, 2).unwrap();
    let error = camera.next(PATIENCE, |_, _, _| ()).unwrap_err();
    assert!(matches!(error, CameraError::Frame(0, 33)), "{error}");
}

/// The calls of the kernel, with files of other kinds.
#[test]
fn the_kernel_is_called_as_cameras_are() {
    // TIOCGPTN, which also writes into an argument of its own size: the number of a pseudo terminal.
    let mut terminal = Video::open(OsStr::new("/dev/ptmx")).unwrap().expect("a terminal");
    let mut number = [0xff; 4];
    terminal.call(0x8004_5430, &mut number).unwrap();
    let path = format!("/dev/pts/{}", u32::from_ne_bytes(number));
    assert!(std::path::Path::new(&path).exists(), "{path}");
    assert_eq!(terminal.wait(Duration::from_millis(1)), Ok(false), "nobody writes");

    let scratch = Scratch::new("camera");
    std::fs::create_dir_all(scratch.path()).unwrap();
    let file = scratch.join("buffers");
    let content: Vec<u8> = (0..8192u32).map(|index| (index / 32) as u8).collect();
    std::fs::write(&file, &content).unwrap();
    let mut buffers = Video::open(file.as_os_str()).unwrap().expect("a file");
    buffers.map(4096, 100).unwrap();
    buffers.map(0, 8192).unwrap();
    assert_eq!(buffers.buffer(0), Some(&content[4096..4196]));
    assert_eq!(buffers.buffer(1), Some(&content[..]));
    assert_eq!(buffers.buffer(2), None);
    assert_eq!(buffers.map(1, 100), Err(Errno::INVAL));
    assert_eq!(buffers.wait(Duration::ZERO), Ok(true));
    assert_eq!(buffers.call(v4l2::STREAMON, &mut [1, 0, 0, 0]), Err(Errno::NOTTY));
}

/// A file that exists, but is of no camera.
#[test]
fn other_files_are_refused() {
    let null = Video::open(OsStr::new("/dev/null")).unwrap().expect("a file");
    let error = Camera::start(null, Pixels::Yuyv, 640, 480).err().unwrap();
    assert!(matches!(error, CameraError::NoCamera), "{error}");
}

proptest! {
    #[test]
    fn no_bytes_stop_the_readers(parts in vec(any::<u8>(), 208), frame in vec(any::<u8>(), 0..64)) {
        let format: v4l2::FormatBytes = std::array::from_fn(|at| parts[at]);
        let of_yuyv = bytes(&[(0, &format), (16, b"YUYV"), (26, &[0, 0]), (30, &[0xff, 0xff])]);
        for format in [format, of_yuyv] {
            if let Ok(format) = Format::granted(&format, Pixels::Yuyv) {
                let content = format.content(&frame);
                prop_assert!(content.is_none_or(|content| content.len() <= frame.len()));
            }
        }
        let buffer: v4l2::BufferBytes = std::array::from_fn(|at| parts[at]);
        let _ = Frame::of(&buffer).stamp_ns(i64::MAX, i64::MIN);
        let _ = v4l2::name(&std::array::from_fn(|at| parts[at]));
    }
}

fn camera(arguments: &[&str]) -> Output {
    let scratch = Scratch::new("camera");
    let mut program = Command::new(env!("CARGO_BIN_EXE_camera"));
    program.args(arguments).env("SITU_ROOT", scratch.path()).output().unwrap()
}

#[test]
fn the_program_says_that_there_is_no_camera() {
    let absent = "there is no camera at /dev/no-video: connect one, or name its device\n";
    for (option, code) in [("--mjpeg", 1), ("--skip-without-device", 0)] {
        let output = camera(&["/dev/no-video", option]);
        let (said, errors) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.status.code(), Some(code), "{option}: {said}{errors}");
        assert_eq!((&*said, &*errors), ("", absent));
    }
    for wrong in ["--frames=1", "--size"] {
        let output = camera(&["/dev/no-video", wrong]);
        assert!(!output.status.success());
        assert!(String::from_utf8_lossy(&output.stderr).contains("usage: camera"), "{output:?}");
    }
}

/// On a machine with a camera, the program publishes its frames.
#[test]
fn the_program_publishes_what_a_camera_captures() {
    let device = std::env::var("SITU_TEST_CAMERA").unwrap_or("/dev/video0".to_owned());
    let output = camera(&[&device, "--frames", "5", "--skip-without-device"]);
    let (said, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}{errors}");
    if errors.starts_with("there is no camera") {
        eprintln!("SKIPPED: {errors}");
        return;
    }
    assert!(said.contains("published 5 frames"), "{said}{errors}");
}
