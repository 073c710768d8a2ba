//! The output of the command: text, JSON, colours, and live tables on terminals.
//!
//! ```text
//!   table, units   tables that fit the terminal, and numbers for readers
//!   braille        pictures in a terminal
//! ```

pub mod braille;
pub mod table;
pub mod units;

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};

use serde::Serialize;
use situ::layout::foreign::{Foreign, is_steering, keep_styles};
use unicode_width::UnicodeWidthStr;

/// The width of tables when the output is not a terminal and `COLUMNS` is not set.
const DEFAULT_WIDTH: usize = 100;

/// When to colour the output: on a terminal unless `NO_COLOR` is set, always, or never. The variants have no
/// documentation of their own, because it would lengthen every `--help`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum ColorChoice {
    Auto,
    Always,
    Never,
}

/// The styles in use. Each has a meaning, not a hue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// No colour.
    Plain,
    /// Headings and names.
    Strong,
    /// Units, hints, and less important text.
    Dim,
    /// Good.
    Good,
    /// Worth attention.
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

/// The destination and the form of results.
#[derive(Clone, Debug)]
pub struct Output {
    json: bool,
    colour: bool,
    width: usize,
    terminal: bool,
}

impl Output {
    /// Reads the properties of the terminal and the environment.
    pub fn detect(json: bool, color: ColorChoice) -> Self {
        let terminal = io::stdout().is_terminal() && !json;
        let colour = match color {
            ColorChoice::Always => !json,
            ColorChoice::Never => false,
            ColorChoice::Auto => terminal && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty()),
        };
        Self { json, colour, width: width(), terminal }
    }

    /// Text of this width without colours.
    #[cfg(test)]
    pub fn plain(width: usize) -> Self {
        Self { json: false, colour: false, width, terminal: false }
    }

    /// Whether results are JSON.
    pub fn is_json(&self) -> bool {
        self.json
    }

    /// Whether the output may be coloured.
    pub fn is_coloured(&self) -> bool {
        self.colour
    }

    /// Whether a table may be redrawn in place.
    pub fn is_live(&self) -> bool {
        self.terminal
    }

    /// The width to which lines are fitted. A terminal may have changed its width since the last call.
    pub fn width(&self) -> usize {
        if self.terminal { width() } else { self.width }
    }

    /// Replaces the lines that `block` drew last on the terminal.
    pub fn draw(&self, block: &mut LiveBlock, text: &str) -> io::Result<()> {
        let (columns, rows) = terminal_size::terminal_size()
            .map_or((self.width, usize::MAX), |(columns, rows)| (columns.0.into(), rows.0.into()));
        block.draw(&mut io::stdout().lock(), text, columns, rows)
    }

    /// Returns `text` in the given style, or unstyled if colours are off. Characters that control the
    /// terminal are shown as escapes.
    pub fn paint(&self, style: Style, text: impl Display) -> String {
        let text = text.to_string();
        let text = Foreign(&text);
        if self.colour && style != Style::Plain {
            format!("{}{text}{PLAIN}", style.code())
        } else {
            text.to_string()
        }
    }

    /// Writes one line.
    pub fn line(&self, text: impl Display) -> io::Result<()> {
        writeln!(io::stdout().lock(), "{}", fit_for_terminal(&text.to_string()))
    }

    /// Writes several lines.
    pub fn text(&self, text: impl Display) -> io::Result<()> {
        let mut out = io::stdout().lock();
        write!(out, "{}", fit_for_terminal(&text.to_string()))?;
        out.flush()
    }

    /// Writes one JSON object on one line and flushes it, so that a reader of the pipe receives it at once.
    pub fn record(&self, value: &impl Serialize) -> io::Result<()> {
        let mut out = io::stdout().lock();
        writeln!(out, "{}", fit_for_json(&serde_json::to_string(value)?))?;
        out.flush()
    }
}

/// The sequence that ends a style.
const PLAIN: &str = "\x1b[0m";

/// Keeps this program's styles in lines, and shows all other control characters as escapes. [`Foreign`]
/// escapes names of other processes where they enter a line, so that they contain no line breaks and styles.
/// This function handles names that were missed.
pub fn fit_for_terminal(text: &str) -> String {
    const STYLES: [Style; 5] = [Style::Strong, Style::Dim, Style::Good, Style::Warn, Style::Bad];
    let codes = || STYLES.iter().map(|it| it.code()).chain([PLAIN]).map(|it| &it[1..]);
    keep_styles(text, |part| codes().find(|code| part.starts_with(code)).map(str::len))
}

/// Escapes characters that control a terminal in JSON. They can occur in strings only.
pub fn fit_for_json(json: &str) -> String {
    let mut fit = String::with_capacity(json.len());
    for letter in json.chars() {
        if !is_steering(letter) {
            fit.push(letter);
            continue;
        }
        for unit in letter.encode_utf16(&mut [0; 2]) {
            fit.push_str(&format!("\\u{unit:04x}"));
        }
    }
    fit
}

/// The width of the terminal, if there is one.
pub fn terminal_width() -> Option<usize> {
    let (terminal_size::Width(columns), _) = terminal_size::terminal_size()?;
    Some(usize::from(columns).max(20))
}

fn width() -> usize {
    if let Some(columns) = terminal_width() {
        return columns;
    }
    std::env::var("COLUMNS").ok().and_then(|v| v.parse().ok()).unwrap_or(DEFAULT_WIDTH).clamp(40, 1000)
}

/// Redraws a block of lines in place on a terminal.
#[derive(Debug, Default)]
pub struct LiveBlock {
    drawn: usize,
    columns: usize,
}

impl LiveBlock {
    /// Replaces the lines drawn last by `text`, on a terminal of this size. It cuts lines that are too long,
    /// and leaves out lines for which there is no room, because the next call could not replace them.
    ///
    /// Terminals differ in what they do with drawn lines when their width changes. The whole screen is then
    /// cleared.
    fn draw(&mut self, out: &mut impl Write, text: &str, columns: usize, rows: usize) -> io::Result<()> {
        let mut frame = String::with_capacity(text.len() + 64);
        if self.drawn > 0 && self.columns != columns {
            frame.push_str("\x1b[2J\x1b[H");
        } else if self.drawn > 0 {
            frame.push_str(&format!("\x1b[{}A", self.drawn));
        }
        self.drawn = 0;
        self.columns = columns;
        for line in fit_for_terminal(text).lines().take(rows.saturating_sub(1).max(1)) {
            // Clears before it writes: behind a full line, some terminals would clear the last character.
            frame.push_str("\x1b[K");
            frame.push_str(&cut(line, columns));
            frame.push('\n');
            self.drawn += 1;
        }
        frame.push_str("\x1b[J");
        out.write_all(frame.as_bytes())?;
        out.flush()
    }
}

/// Returns a line, or its beginning and an ellipsis if it is wider than `width` cells. Styles take no cells.
fn cut(line: &str, width: usize) -> String {
    let mut texts = Vec::new();
    for (index, part) in line.split('\x1b').enumerate() {
        let style = if index == 0 { 0 } else { part.find('m').map_or(0, |end| end + 1) };
        texts.push(part.split_at(style));
    }
    if texts.iter().map(|(_, text)| text.width()).sum::<usize>() <= width {
        return line.to_owned();
    }
    let mut left = width;
    let mut shown = String::new();
    for (index, (style, text)) in texts.into_iter().enumerate() {
        if index > 0 {
            shown.push('\x1b');
            shown.push_str(style);
        }
        // The last cell is for the ellipsis.
        let text = if text.width() < left { text.to_owned() } else { table::shorten_always(text, left) };
        left = left.saturating_sub(text.width());
        shown.push_str(&text);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_live_block_moves_up_by_what_it_drew() {
        let mut block = LiveBlock::default();
        let mut draw = |text: &str, columns, rows| {
            let mut out = Vec::new();
            block.draw(&mut out, text, columns, rows).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert_eq!(draw("a\nb\n", 80, 24), "\x1b[Ka\n\x1b[Kb\n\x1b[J");
        assert_eq!(draw("c\n", 80, 24), "\x1b[2A\x1b[Kc\n\x1b[J");
        // Another width clears the screen. A line too many is left out.
        assert_eq!(draw("a\nb\nc\n", 40, 3), "\x1b[2J\x1b[H\x1b[Ka\n\x1b[Kb\n\x1b[J");
        assert_eq!(draw("", 40, 3), "\x1b[2A\x1b[J");
    }

    #[test]
    fn lines_are_cut_without_their_styles() {
        assert_eq!(cut("12345", 5), "12345");
        assert_eq!(cut("123456", 5), "1234…");
        assert_eq!(cut("\x1b[1m123\x1b[0m45", 5), "\x1b[1m123\x1b[0m45");
        assert_eq!(cut("\x1b[1m123\x1b[0m456", 5), "\x1b[1m123\x1b[0m4…");
        assert_eq!(cut("\x1b[1m123456\x1b[0m7", 5), "\x1b[1m1234…\x1b[0m");
    }

    #[test]
    fn only_this_programs_styles_control_a_terminal() {
        let output = Output { json: false, colour: true, width: 80, terminal: true };
        for evil in
            ["\x1b[2J", "\x1b]52;c;aGk=\x07", "\u{9b}31m", "a\u{202e}b", "\x1b[31mred\x1b[0m", "a\nb", "\x1b"]
        {
            let painted = output.paint(Style::Strong, evil);
            let inner = painted.strip_prefix("\x1b[1m").and_then(|it| it.strip_suffix(PLAIN)).unwrap();
            assert!(!inner.chars().any(is_steering), "{inner:?}");
            // Painted text is unchanged.
            assert_eq!(fit_for_terminal(&painted), painted);
            assert!(!fit_for_json(&serde_json::to_string(evil).unwrap()).chars().any(is_steering));
            assert_eq!(
                serde_json::from_str::<String>(&fit_for_json(&serde_json::to_string(evil).unwrap())).unwrap(),
                evil
            );
        }
        let text = "\x1b[1mname\x1b[0m \x1b[2J \u{9d}0;x\x07\nnext\x1b";
        assert_eq!(fit_for_terminal(text), "\x1b[1mname\x1b[0m \\u{1b}[2J \\u{9d}0;x\\u{7}\nnext\\u{1b}");
        assert_eq!(fit_for_json("\"\u{e0041}\u{85}\""), "\"\\udb40\\udc41\\u0085\"");
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
