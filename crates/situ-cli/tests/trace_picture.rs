//! `situ trace view --svg` of a trace that is written by hand, so that the picture's places can be computed:
//! the part that `--from` and `--for` select, and the arrows of moments.

mod common;

use common::{Sandbox, text};

/// A field of a protobuf message that has a length.
fn bytes(number: u64, value: &[u8]) -> Vec<u8> {
    [varint(number << 3 | 2), varint(value.len() as u64), value.to_vec()].concat()
}

/// A number of a protobuf message.
fn uint(number: u64, value: u64) -> Vec<u8> {
    [varint(number << 3), varint(value)].concat()
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

const MS: u64 = 1_000_000;
/// The time at which the trace begins.
const ZERO: u64 = 5_000 * MS;

const BEGIN: u64 = 1;
const END: u64 = 2;
const INSTANT: u64 = 3;

/// Perfetto's `Trace`, packet by packet.
#[derive(Default)]
struct Trace(Vec<u8>);

impl Trace {
    fn packet(&mut self, fields: &[Vec<u8>]) {
        let sequence = uint(10, 7);
        self.0.extend(bytes(1, &[&sequence[..], &fields.concat()].concat()));
    }

    /// A process with a thread of the same number, whose track has the number too.
    fn thread(&mut self, number: u64, name: &str) {
        let process = bytes(3, &[uint(1, number), bytes(6, format!("{name} process").as_bytes())].concat());
        self.packet(&[uint(13, 1), bytes(60, &[uint(1, 100 + number), process].concat())]);
        let thread = bytes(4, &[uint(1, number), uint(2, number), bytes(5, name.as_bytes())].concat());
        self.packet(&[bytes(60, &[uint(1, number), uint(5, 100 + number), thread].concat())]);
    }

    fn event(&mut self, track: u64, at_ms: u64, kind: u64, name: &str, flow: Option<u64>) {
        let mut event = [uint(9, kind), uint(11, track)].concat();
        if !name.is_empty() {
            event.extend(bytes(23, name.as_bytes()));
        }
        if let Some(flow) = flow {
            event.extend(varint(47 << 3 | 1));
            event.extend(flow.to_le_bytes());
        }
        self.packet(&[uint(8, ZERO + at_ms * MS), bytes(11, &event)]);
    }
}

/// Slices of 10 ms at 0, 20, 40 and 60 ms on one thread, and moments on another.
fn trace() -> Vec<u8> {
    let mut trace = Trace::default();
    trace.thread(1, "arm");
    trace.thread(2, "eye");
    for (index, name) in ["first", "second", "third", "fourth"].into_iter().enumerate() {
        let begin = 20 * index as u64;
        trace.event(1, begin, BEGIN, name, (name == "second").then_some(9));
        trace.event(1, begin + 10, END, "", None);
    }
    trace.event(2, 15, INSTANT, "seen", Some(9));
    trace.event(2, 45, INSTANT, "gone", Some(9));
    trace.event(2, 46, INSTANT, "alone", Some(10));
    trace.0
}

/// Draws a part of the trace.
fn draw(sandbox: &Sandbox, arguments: &[&str]) -> String {
    let (file, svg) = (sandbox.path("run.pftrace"), sandbox.path("run.svg"));
    std::fs::write(&file, trace()).unwrap();
    text(&sandbox.run(&[&["trace", "view", &file, "--svg", &svg], arguments].concat()));
    std::fs::read_to_string(&svg).unwrap()
}

/// The slices and moments in a picture, by their titles, without what stands behind the names.
fn events(svg: &str) -> Vec<&str> {
    let names = ["first", "second", "third", "fourth", "seen", "gone", "alone"];
    let has =
        |name: &&str| svg.contains(&format!("<title>{name} (")) || svg.contains(&format!("<title>{name}<"));
    names.into_iter().filter(has).collect()
}

/// The place and the width of a slice's rectangle.
fn place(svg: &str, name: &str) -> (f64, f64) {
    let behind = svg.split(&format!("<title>{name} (")).nth(1).unwrap();
    let number = |attribute: &str| {
        behind.split(&format!(" {attribute}=\"")).nth(1).unwrap().split('"').next().unwrap().parse().unwrap()
    };
    (number("x"), number("width"))
}

#[test]
fn a_picture_has_the_part_that_is_wanted() {
    let sandbox = Sandbox::new();
    let all = draw(&sandbox, &["--from", "0ms", "--for", "100ms"]);
    assert_eq!(events(&all), ["first", "second", "third", "fourth", "seen", "gone", "alone"]);
    // The names take 190 pixels of 1200, and the margin on the right 12: 998 pixels are 100 ms.
    assert_eq!(place(&all, "second"), (190.0 + 0.2 * 998.0, 99.8));
    // What begins before the part, or ends behind it, is cut.
    let part = draw(&sandbox, &["--from", "25ms", "--for", "20ms"]);
    assert_eq!(events(&part), ["second", "third", "gone"]);
    assert_eq!(place(&part, "second"), (190.0, 0.25 * 998.0));
    assert_eq!(place(&part, "third"), (190.0 + 0.75 * 998.0, 0.25 * 998.0));
    // Times are those since the beginning of the trace.
    assert!(part.contains("<line x1=\"239.9\" ") && part.contains(">26.0 ms<"), "{part}");
    // Without a length, the picture ends with the trace, at 70 ms: 25 ms are 998 pixels.
    let rest = draw(&sandbox, &["--from", "45ms"]);
    assert_eq!(events(&rest), ["third", "fourth", "gone", "alone"]);
    assert_eq!(place(&rest, "fourth"), (788.8, 399.2));
    // A part without events is a picture without lanes.
    let nothing = draw(&sandbox, &["--from", "1h", "--for", "1s"]);
    assert!(events(&nothing).is_empty() && !nothing.contains("arm"), "{nothing}");
    let longest = draw(&sandbox, &["--from", "500000h", "--for", "500000h"]);
    assert!(events(&longest).is_empty());
}

#[test]
fn wrong_parts_are_refused() {
    let sandbox = Sandbox::new();
    let file = sandbox.path("run.pftrace");
    std::fs::write(&file, trace()).unwrap();
    for arguments in [["--from", "5ms"], ["--for", "5ms"], ["--svg", "x.svg"]] {
        let more: &[&str] = if arguments[0] == "--svg" { &["--from", "early"] } else { &[] };
        let output = sandbox.run(&[&["trace", "view", &file], &arguments[..], more].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn moments_have_arrows_too() {
    let sandbox = Sandbox::new();
    let svg = draw(&sandbox, &["--from", "0ms", "--for", "100ms"]);
    // In the order of time: the moment at 15 ms, the slice at 20 ms, the moment at 45 ms.
    assert!(svg.contains("<title>seen → second</title>") && svg.contains("<title>second → gone</title>"));
    assert_eq!(svg.matches(" → ").count(), 2, "{svg}");
    // Headings have 26 pixels, levels 20, gaps 6, and the ruler 34: the lanes begin at 60 and 112, and their
    // middles are 9 pixels lower. The slice ends at 30 ms.
    let x = |at_ms: f64| 190.0 + at_ms / 100.0 * 998.0;
    for start in [
        format!("M{:.2} 121.0 ", x(15.0)),
        format!(" {:.2} 69.0\"", x(20.0)),
        format!("M{:.2} 69.0 ", x(30.0)),
        format!(" {:.2} 121.0\"", x(45.0)),
    ] {
        assert!(svg.contains(&start), "{start} in {svg}");
    }
    // The track of the moments has no event in this part, so it is left out, and with it their arrows.
    let between = draw(&sandbox, &["--from", "26ms", "--for", "18ms"]);
    assert!(!between.contains("second → gone"), "{between}");
}
