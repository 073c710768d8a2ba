//! What the terminal can draw, and its size.

use std::io::{IsTerminal, Write, stdin, stdout};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::getpgrp;
use rustix::termios::{self, OptionalActions, Termios, tcgetattr, tcgetpgrp, tcgetwinsize, tcsetattr};

use super::blocks::Colours;
use crate::cli::ProtocolKind;
use crate::output::Output;

/// How long the terminal has to answer. Over a slow connection it takes longer, and characters are drawn.
const ANSWER: Duration = Duration::from_millis(500);
/// The most bytes of an answer.
const MAX_ANSWER: usize = 1024;
/// A cell in pixels, if the terminal does not say.
const CELL: (usize, usize) = (10, 20);
/// The most pixels of a cell in each direction.
const MAX_CELL: usize = 200;
/// The most characters of a line, and the most lines.
const MAX_CELLS: usize = 1000;

/// How pictures are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// By kitty's protocol.
    Kitty,
    /// As sixels.
    Sixel,
    /// As characters.
    Blocks(Colours),
}

/// The terminal, or what stands in its place.
#[derive(Debug, Clone, Copy)]
pub struct Terminal {
    /// How pictures are drawn.
    pub protocol: Protocol,
    /// Whether it can be drawn in place.
    pub is_live: bool,
    cell: (usize, usize),
}

/// What a terminal said about itself.
#[derive(Debug, Default, PartialEq, Eq)]
struct Answer {
    kitty: bool,
    sixel: bool,
    cell: Option<(usize, usize)>,
}

impl Terminal {
    /// Asks the terminal what it can do, unless the command line says how to draw.
    pub fn detect(output: &Output, wanted: ProtocolKind) -> Self {
        let is_live = output.is_live();
        let answer = if is_live && wanted != ProtocolKind::Blocks {
            ask().unwrap_or_default()
        } else {
            Answer::default()
        };
        let blocks = Protocol::Blocks(colours(output, |name| std::env::var(name).unwrap_or_default()));
        let protocol = match wanted {
            ProtocolKind::Kitty => Protocol::Kitty,
            ProtocolKind::Sixel => Protocol::Sixel,
            ProtocolKind::Blocks => blocks,
            ProtocolKind::Auto if answer.kitty => Protocol::Kitty,
            ProtocolKind::Auto if answer.sixel => Protocol::Sixel,
            ProtocolKind::Auto => blocks,
        };
        Self { protocol, is_live, cell: answer.cell.unwrap_or(CELL) }
    }

    /// Its columns, its lines, and the pixels of a picture that a character covers.
    pub fn size(&self) -> (usize, usize, (usize, usize)) {
        let size = tcgetwinsize(stdout()).ok().filter(|it| self.is_live && it.ws_col > 0 && it.ws_row > 0);
        let Some(size) = size else { return (80, 40, self.pixels(self.cell)) };
        let (columns, rows) = (usize::from(size.ws_col), usize::from(size.ws_row));
        let cell = (usize::from(size.ws_xpixel) / columns, usize::from(size.ws_ypixel) / rows);
        let is_known = cell.0 > 0 && cell.1 > 0;
        let cell = if is_known { cell } else { self.cell };
        (columns.min(MAX_CELLS), rows.min(MAX_CELLS), self.pixels(cell))
    }

    fn pixels(&self, cell: (usize, usize)) -> (usize, usize) {
        match self.protocol {
            Protocol::Blocks(_) => (1, 2),
            Protocol::Kitty | Protocol::Sixel => (cell.0.min(MAX_CELL), cell.1.min(MAX_CELL)),
        }
    }
}

fn colours(output: &Output, variable: impl Fn(&str) -> String) -> Colours {
    if !output.is_coloured() {
        return Colours::None;
    }
    let has_all = matches!(variable("COLORTERM").as_str(), "truecolor" | "24bit")
        || variable("TERM").contains("direct");
    if has_all || !output.is_live() { Colours::All } else { Colours::Palette }
}

/// The terminal without echo and without lines, until the end of a question.
struct Raw(Termios);

impl Raw {
    fn set() -> Option<Self> {
        let before = tcgetattr(stdin()).ok()?;
        let mut raw = before.clone();
        raw.local_modes &= !(termios::LocalModes::ICANON | termios::LocalModes::ECHO);
        tcsetattr(stdin(), OptionalActions::Now, &raw).ok()?;
        Some(Self(before))
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        let _ = tcsetattr(stdin(), OptionalActions::Now, &self.0);
    }
}

/// Asks whether the terminal speaks kitty's protocol, for the pixels of a cell, and for its abilities. All
/// terminals answer the last question, so that the command need not wait for those that do not answer the
/// others.
fn ask() -> Option<Answer> {
    let is_ours = stdin().is_terminal() && tcgetpgrp(stdin()).ok()? == getpgrp();
    if !is_ours || std::env::var("TERM").is_ok_and(|it| it == "dumb") {
        return None;
    }
    let _raw = Raw::set()?;
    let mut out = stdout().lock();
    out.write_all(b"\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\\x1b[16t\x1b[c")
        .and_then(|()| out.flush())
        .ok()?;
    let (mut answer, end) = (Vec::new(), Instant::now() + ANSWER);
    while !is_complete(&answer) && answer.len() < MAX_ANSWER {
        let left = end.saturating_duration_since(Instant::now());
        let wait = Timespec { tv_sec: 0, tv_nsec: left.as_nanos() as _ };
        // After a signal, the command looks what it means.
        if left.is_zero() || poll(&mut [PollFd::new(&stdin(), PollFlags::IN)], Some(&wait)).ok()? == 0 {
            break;
        }
        let mut bytes = [0; 256];
        let count = rustix::io::read(stdin(), &mut bytes).ok()?;
        if count == 0 {
            break;
        }
        answer.extend_from_slice(&bytes[..count]);
    }
    Some(parse(&answer))
}

/// The sequences of an answer that begin with `ESC [`: what is between, and the last letter.
fn sequences(answer: &[u8]) -> impl Iterator<Item = (&[u8], u8)> {
    let is_end = |it: &u8| (0x40..=0x7e).contains(it);
    let starts = (0..answer.len()).filter(|at| answer[*at..].starts_with(b"\x1b["));
    starts.filter_map(move |at| {
        let inside = &answer[at + 2..];
        let end = inside.iter().position(is_end)?;
        Some((&inside[..end], inside[end]))
    })
}

fn is_complete(answer: &[u8]) -> bool {
    sequences(answer).any(|(inside, end)| end == b'c' && inside.starts_with(b"?"))
}

fn parse(answer: &[u8]) -> Answer {
    let mut parsed = Answer { kitty: answer.windows(9).any(|it| it == b"_Gi=31;OK"), ..Answer::default() };
    for (inside, end) in sequences(answer) {
        let text = String::from_utf8_lossy(inside);
        let numbers: Vec<usize> =
            text.trim_start_matches('?').split(';').filter_map(|it| it.parse().ok()).collect();
        match (end, numbers.as_slice()) {
            (b'c', [_, abilities @ ..]) if inside.starts_with(b"?") => parsed.sixel = abilities.contains(&4),
            (b't', [6, height, width]) if *height > 0 && *width > 0 => parsed.cell = Some((*width, *height)),
            _ => {}
        }
    }
    parsed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read() {
        let kitty = b"\x1b_Gi=31;OK\x1b\\\x1b[6;18;9t\x1b[?62;c";
        assert_eq!(parse(kitty), Answer { kitty: true, sixel: false, cell: Some((9, 18)) });
        let foot = b"\x1b[6;20;10t\x1b[?62;4;22c";
        assert_eq!(parse(foot), Answer { kitty: false, sixel: true, cell: Some((10, 20)) });
        // An error of kitty's protocol, an xterm without sixels (64 is its kind), and keys in between.
        let other = b"\x1b_Gi=31;EINVAL\x1b\\ab\x1b[?64;1;2;6c";
        assert_eq!(parse(other), Answer::default());
        assert!(is_complete(other) && is_complete(kitty));
        for bad in
            [&b""[..], b"\x1b[", b"\x1b[6;0;0t", b"\x1b[?", b"\x1b[6;99999999999999999999;1t", b"\xff\x1b[c"]
        {
            assert_eq!(parse(bad), Answer::default());
            assert!(!is_complete(bad));
        }
    }
}
