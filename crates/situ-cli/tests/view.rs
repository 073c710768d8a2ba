//! `situ topic view`: pictures as files, without a terminal, and in place on terminals.

#[allow(dead_code, reason = "not every test file needs everything")]
mod common;
#[allow(dead_code, reason = "not every test file needs everything")]
#[path = "common/shown.rs"]
mod shown;

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use common::{Process, Sandbox, json};
use shown::{Shown, start, terminal};

const SCHEMA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schema");

fn publish(sandbox: &Sandbox, topic: &str, type_name: &str, message: &str) -> Process {
    let schema = format!("{SCHEMA}/situ/sensor.idl");
    let arguments = ["topic", "pub", topic, type_name, message, "--schema", &schema, "-I", SCHEMA];
    let publisher = sandbox.spawn(&[&arguments[..], &["--rate", "50", "--wait", "0"]].concat());
    sandbox.wait_for_topic(topic);
    publisher
}

/// Red and green above blue and white, as a camera of Windows sends it.
fn publish_image(sandbox: &Sandbox) -> Process {
    let message = "{height: 2, width: 2, encoding: bgr8, step: 7, \
                   data: [0, 0, 255, 0, 255, 0, 9, 255, 0, 0, 255, 255, 255, 9]}";
    publish(sandbox, "camera/image", "situ::sensor::Image", message)
}

fn publish_cloud(sandbox: &Sandbox) -> Process {
    let point = |x: f32, y: f32, z: f32| {
        let bytes: Vec<String> =
            [x, y, z].iter().flat_map(|it| it.to_le_bytes()).map(|it| it.to_string()).collect();
        bytes.join(", ")
    };
    let message = format!(
        "{{height: 1, width: 2, point_step: 12, row_step: 24, fields: [{{name: x, offset: 0}}, \
         {{name: y, offset: 4}}, {{name: z, offset: 8}}], data: [{}, {}]}}",
        point(1.5, 1.5, 0.0),
        point(-1.5, -1.5, 2.0)
    );
    publish(sandbox, "lidar/points", "situ::sensor::PointCloud2", &message)
}

/// The width and the pixels of a PNG file.
fn read(path: &str) -> (usize, Vec<[u8; 3]>) {
    let file = std::io::BufReader::new(std::fs::File::open(path).unwrap());
    let mut reader = png::Decoder::new(file).read_info().unwrap();
    let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut bytes).unwrap();
    assert_eq!(info.color_type, png::ColorType::Rgb);
    (info.width as usize, bytes.as_chunks().0.to_vec())
}

/// 16 x 8 pixels, red on the left and blue on the right: see `view/codec.rs`.
const JPEG: &[u8] = include_bytes!("../src/view/red_and_blue.jpeg");

#[test]
fn compressed_images_are_decoded() {
    let sandbox = Sandbox::new();
    let bytes: Vec<String> = JPEG.iter().map(u8::to_string).collect();
    let message = format!("{{format: jpeg, data: [{}]}}", bytes.join(", "));
    let _publisher = publish(&sandbox, "camera/compressed", "situ::sensor::CompressedImage", &message);
    let file = sandbox.path("jpeg.png");
    let output = sandbox.run(&["topic", "view", "camera/compressed", "--png", &file]);
    assert!(output.status.success(), "{output:?}");
    let (width, pixels) = read(&file);
    assert_eq!((width, pixels.len()), (16, 128));
    assert!(pixels[0][0] > 250 && pixels[0][2] < 5, "{:?}", pixels[0]);
    assert!(pixels[15][0] < 5 && pixels[15][2] > 250, "{:?}", pixels[15]);
}

#[test]
fn files_have_the_pixels_of_the_message() {
    let sandbox = Sandbox::new();
    let _publisher = publish_image(&sandbox);
    let path = sandbox.path("image.png");
    let output = sandbox.run(&["topic", "view", "camera/image", "--png", &path]);
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.ends_with(": camera/image  2 x 2 bgr8\n"), "{text}");
    let (red, green, blue, white) = ([255, 0, 0], [0, 255, 0], [0, 0, 255], [255; 3]);
    assert_eq!(read(&path), (2, vec![red, green, blue, white]));

    // Twice as large, and what is said about it.
    let arguments = ["--json", "topic", "view", "camera/image", "--png", &path, "--width", "4"];
    let said = json(&sandbox.run(&arguments));
    assert_eq!(
        (&said["kind"], &said["width"], &said["encoding"]),
        (&"image".into(), &2.into(), &"bgr8".into())
    );
    let (width, pixels) = read(&path);
    assert_eq!((width, pixels.len()), (4, 16));
    assert_eq!([pixels[0], pixels[5], pixels[7], pixels[10]], [red, red, green, white]);
}

#[test]
fn clouds_are_seen_from_above() {
    let sandbox = Sandbox::new();
    let _publisher = publish_cloud(&sandbox);
    let path = sandbox.path("cloud.png");
    let arguments = ["--json", "topic", "view", "lidar/points", "--png", &path, "--width", "4"];
    let said = json(&sandbox.run(&arguments));
    assert_eq!((&said["points"], &said["reach"], &said["by"]), (&2.into(), &2.0.into(), &"z".into()));
    let (width, pixels) = read(&path);
    // The lowest is dark violet, to the right and above; the highest is yellow.
    assert_eq!((width, pixels[3], pixels[12]), (4, [68, 1, 84], [253, 231, 37]));
    assert!(pixels.iter().enumerate().all(|(at, it)| at == 3 || at == 12 || *it == [13, 17, 23]));

    let error = sandbox.run(&["topic", "view", "lidar/points", "--png", &path, "--by", "intensity"]);
    let text = String::from_utf8(error.stderr).unwrap();
    assert!(text.contains("have no field `intensity`; they have: x, y, z"), "{text}");
    assert_eq!(error.status.code(), Some(1));
}

#[test]
fn other_messages_are_refused_with_what_could_be_drawn() {
    let sandbox = Sandbox::new();
    let _publisher = publish(&sandbox, "imu", "situ::sensor::Imu", "{}");
    let error = sandbox.run(&["topic", "view", "imu", "--once"]);
    let text = String::from_utf8(error.stderr).unwrap();
    assert!(text.contains("nothing that can be drawn") && text.contains("point clouds"), "{text}");
    let error = sandbox.run(&["topic", "view", "imu", "--once", "--field", "lens"]);
    assert_eq!(error.status.code(), Some(3));
    let _publisher = publish(&sandbox, "raw", "situ::sensor::Image", "{height: 9, width: 9, encoding: x1}");
    let error = sandbox.run(&["topic", "view", "raw", "--once"]);
    let text = String::from_utf8(error.stderr).unwrap();
    assert!(text.contains("encoded as \"x1\"") && text.contains("rgb8"), "{text}");
    let _publisher =
        publish(&sandbox, "short", "situ::sensor::Image", "{height: 9, width: 9, encoding: mono8}");
    let error = sandbox.run(&["topic", "view", "short", "--once"]);
    let text = String::from_utf8(error.stderr).unwrap();
    assert!(text.contains("do not fit into its 0 bytes of data"), "{text}");
}

#[test]
fn without_a_terminal_one_picture_is_printed() {
    let sandbox = Sandbox::new();
    let _publisher = publish_image(&sandbox);
    let print = |more: &[&str]| {
        let output = sandbox.run(&[&["topic", "view", "camera/image"], more].concat());
        String::from_utf8(output.stdout).unwrap()
    };
    // The grey of a column, of red (76) and blue (25), and of green (153) and white (255).
    let text = print(&[]);
    assert!(text.starts_with(" ▓\ncamera/image  2 x 2 bgr8  message "), "{text}");
    assert_eq!(text.lines().count(), 2);
    let coloured = print(&["--color", "always"]);
    let red_on_blue = "\u{1b}[38;2;255;0;0m\u{1b}[48;2;0;0;255m▀";
    assert!(coloured.starts_with(red_on_blue), "{coloured:?}");
    assert!(print(&["--as", "sixel"]).starts_with("\u{1b}P0;1q\"1;1;2;2"));
}

#[test]
fn pictures_are_drawn_in_place_and_the_terminal_is_given_back() {
    let sandbox = Sandbox::new();
    let _publisher = publish_image(&sandbox);
    let mut shown = Shown::start(&sandbox, 60, &["topic", "view", "camera/image", "--max-rate", "50"]);
    let number = |lines: &[String]| lines.get(1)?.rsplit_once("message ")?.1.parse::<u64>().ok();
    let is_whole = |lines: &[String]| lines.len() == 2 && lines[0] == " ▓" && number(lines).is_some();
    let first = number(&shown.lines(is_whole)).unwrap();
    shown.lines(|lines| is_whole(lines) && number(lines).unwrap() > first + 3);
    shown.resize(40);
    shown.lines(|lines| is_whole(lines) && number(lines).unwrap() > first + 10);
}

#[test]
fn terminals_are_asked_and_get_their_cursor_back() {
    // kitty's protocol, sixels, and neither.
    let kitty = ("\x1b_Gi=31;OK\x1b\\\x1b[6;20;10t\x1b[?62c", "\x1b_Ga=T,f=100,");
    let sixel = ("\x1b[6;20;10t\x1b[?62;4c", "\x1bP0;1q\"1;1;2;2");
    for (answer, drawn) in [kitty, sixel, ("\x1b[?62c", " ▓")] {
        let sandbox = Sandbox::new();
        let _publisher = publish_image(&sandbox);
        let (mut ours, theirs) = terminal(80);
        let mut view = start(&sandbox, theirs, &["topic", "view", "camera/image"]);
        let begin = Instant::now();
        let (mut seen, mut chunk, mut answered) = (String::new(), [0; 4096], false);
        while !(seen.contains(drawn) && seen.contains("message ")) {
            assert!(begin.elapsed() < Duration::from_secs(20), "{seen:?}");
            let count = ours.read(&mut chunk).unwrap();
            seen.push_str(&String::from_utf8_lossy(&chunk[..count]));
            if !answered && seen.contains("\x1b[c") {
                ours.write_all(answer.as_bytes()).unwrap();
                answered = true;
            }
        }
        assert!(seen.contains("\x1b[?25l"), "{seen:?}");
        // Ctrl-C, as a key of the terminal.
        ours.write_all(b"\x03").unwrap();
        while !seen.ends_with("\x1b[0m\x1b[?25h") {
            assert!(begin.elapsed() < Duration::from_secs(20), "{seen:?}");
            let count = ours.read(&mut chunk).unwrap();
            seen.push_str(&String::from_utf8_lossy(&chunk[..count]));
        }
        let status = view.wait().unwrap();
        assert!(status.success(), "{status}");
    }
}
