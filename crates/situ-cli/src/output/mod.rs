//! How the command speaks: text for people, JSON for programs, colour and live tables for terminals.

pub mod braille;
pub mod table;
pub mod units;

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};

use serde::Serialize;

/// Width that tables are fitted to when the output is no terminal and `COLUMNS` says nothing.
const DEFAULT_WIDTH: usize = 100;

/// When to colour the output: only on a terminal and not when `NO_COLOR` is set, always, or never. (The variants bear no
/// documentation of their own, which would blow up every `--help`.)
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum ColorChoice {
    Auto,
    Always,
    Never,
}

/// The colours in use: a meaning each, not a hue each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// No colour.
    Plain,
    /// Headings and names.
    Strong,
    /// Units, hints, things that matter less.
    Dim,
    /// All is well.
    Good,
    /// Worth a look.
    Warn,
    /// Broken.
    Bad,
}

impl Style {
    fn code(self) -> &'static str {
        match self {
            Style::Plain => "",
            Style::Strong => "\x1b[1m",
            Style::Dim => "\x1b[2m",
            Style::Good => "\x1b[32m",
            Style::Warn => "\x1b[33m",
            Style::Bad => "\x1b[31m",
        }
    }
}

/// Where results go and in which form.
#[derive(Clone, Debug)]
pub struct Output {
    json: bool,
    colour: bool,
    width: usize,
    terminal: bool,
}

impl Output {
    /// Looks at the terminal and the environment.
    pub fn detect(json: bool, color: ColorChoice) -> Self {
        let terminal = io::stdout().is_terminal() && !json;
        let colour = match color {
            ColorChoice::Always => !json,
            ColorChoice::Never => false,
            ColorChoice::Auto => terminal && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty()),
        };
        Self { json, colour, width: width(), terminal }
    }

    /// Whether results are JSON.
    pub fn is_json(&self) -> bool {
        self.json
    }

    /// Whether a table may be redrawn in place.
    pub fn is_live(&self) -> bool {
        self.terminal
    }

    /// The width that lines are fitted to.
    pub fn width(&self) -> usize {
        self.width
    }

    /// `text` in the given style, or as it is when there are no colours.
    pub fn paint(&self, style: Style, text: impl Display) -> String {
        if self.colour && style != Style::Plain {
            format!("{}{text}\x1b[0m", style.code())
        } else {
            text.to_string()
        }
    }

    /// Writes one line.
    pub fn line(&self, text: impl Display) -> io::Result<()> {
        writeln!(io::stdout().lock(), "{text}")
    }

    /// Writes text as it is.
    pub fn text(&self, text: impl Display) -> io::Result<()> {
        let mut out = io::stdout().lock();
        write!(out, "{text}")?;
        out.flush()
    }

    /// Writes one JSON object on one line, at once visible to whoever reads the pipe.
    pub fn record(&self, value: &impl Serialize) -> io::Result<()> {
        let mut out = io::stdout().lock();
        serde_json::to_writer(&mut out, value)?;
        out.write_all(b"\n")?;
        out.flush()
    }
}

fn width() -> usize {
    if let Some((terminal_size::Width(columns), _)) = terminal_size::terminal_size() {
        return usize::from(columns).max(40);
    }
    std::env::var("COLUMNS").ok().and_then(|v| v.parse().ok()).unwrap_or(DEFAULT_WIDTH).clamp(40, 1000)
}

/// Redraws a block of lines in place on a terminal.
#[derive(Debug, Default)]
pub struct LiveBlock {
    drawn: usize,
}

impl LiveBlock {
    /// Replaces what was drawn last by `text`, on `out`.
    pub fn draw(&mut self, out: &mut impl Write, text: &str) -> io::Result<()> {
        let mut frame = String::with_capacity(text.len() + 64);
        if self.drawn > 0 {
            frame.push_str(&format!("\x1b[{}A", self.drawn));
        }
        for line in text.lines() {
            frame.push_str(line);
            frame.push_str("\x1b[K\n");
        }
        frame.push_str("\x1b[J");
        self.drawn = text.lines().count();
        out.write_all(frame.as_bytes())?;
        out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_live_block_moves_up_by_what_it_drew() {
        let mut block = LiveBlock::default();
        let mut out = Vec::new();
        block.draw(&mut out, "a\nb\n").unwrap();
        assert_eq!(out, b"a\x1b[K\nb\x1b[K\n\x1b[J");
        out.clear();
        block.draw(&mut out, "c\n").unwrap();
        assert_eq!(out, b"\x1b[2Ac\x1b[K\n\x1b[J");
    }

    #[test]
    fn paint_is_silent_without_colours() {
        let plain = Output { json: false, colour: false, width: 80, terminal: false };
        assert_eq!(plain.paint(Style::Bad, "x"), "x");
        let colour = Output { colour: true, ..plain };
        assert_eq!(colour.paint(Style::Bad, "x"), "\x1b[31mx\x1b[0m");
        assert_eq!(colour.paint(Style::Plain, "x"), "x");
    }
}
