//! Draws pictures in place on the terminal, with a line of text below.

use std::io::{self, Write, stdout};

use unicode_width::UnicodeWidthStr;

use super::picture::Picture;
use super::terminal::{Protocol, Terminal};
use super::{blocks, kitty, sixel};
use crate::output::table::shorten_always;

/// The most lines of a picture that is not on a terminal.
const MAX_LINES: usize = 1000;

/// The place of the pictures. Dropped, it gives the terminal back as it was.
pub struct Display {
    terminal: Terminal,
    /// The columns of a picture that the command line asks for.
    wanted: Option<usize>,
    /// Whether one picture is drawn, and what is on the terminal stays.
    once: bool,
    /// The lines that were drawn last, and the size of the terminal then.
    drawn: usize,
    columns: usize,
    rows: usize,
    /// The pixels of a picture that a character covers.
    cell: (usize, usize),
    hides_cursor: bool,
}

impl Display {
    /// The display of a terminal.
    pub fn new(terminal: Terminal, wanted: Option<usize>, once: bool) -> Self {
        let (columns, rows, cell) = terminal.size();
        Self { terminal, wanted, once, drawn: 0, columns, rows, cell, hides_cursor: false }
    }

    /// Asks for the size of the terminal, before a picture.
    pub fn measure(&mut self) {
        let (columns, rows, cell) = self.terminal.size();
        if (columns, rows) != (self.columns, self.rows) && self.drawn > 0 {
            // Terminals differ in what they do with lines when their size changes.
            self.drawn = usize::MAX;
        }
        (self.columns, self.rows, self.cell) = (columns, rows, cell);
    }

    /// The size of a picture in pixels: as large as there is room, for an image at most its own size, unless
    /// the command line asks for more.
    pub fn size(&self, native: Option<(usize, usize)>) -> (usize, usize) {
        let columns = self.wanted.unwrap_or(self.columns).min(self.columns_limit());
        // Two lines are for the text and the cursor.
        let rows = if self.terminal.is_live { self.rows.saturating_sub(2).max(1) } else { MAX_LINES };
        let (width, height) = (columns * self.cell.0, rows * self.cell.1);
        match native {
            Some((own_width, own_height)) => {
                let (own_width, own_height) = (own_width.max(1) as f64, own_height.max(1) as f64);
                let scale = (width as f64 / own_width).min(height as f64 / own_height);
                let scale = if self.wanted.is_some() { scale } else { scale.min(1.0) };
                let scaled = |own: f64| ((own * scale).round() as usize).max(1);
                (scaled(own_width), scaled(own_height))
            }
            None if self.terminal.is_live => (width, height),
            // Without a terminal a cloud is a square.
            None => (width, width),
        }
    }

    fn columns_limit(&self) -> usize {
        if self.terminal.is_live { self.columns } else { MAX_LINES }
    }

    /// Draws a picture, and a line of text below it, over the last one.
    pub fn show(&mut self, picture: &Picture, text: &str) -> io::Result<()> {
        let mut frame = String::new();
        if self.terminal.is_live && !self.once && !self.hides_cursor {
            frame.push_str("\x1b[?25l");
            self.hides_cursor = true;
        }
        match self.drawn {
            0 => {}
            usize::MAX => frame.push_str("\x1b[2J\x1b[H"),
            lines => frame.push_str(&format!("\x1b[{lines}A\r")),
        }
        let lines = picture.height().div_ceil(self.cell.1);
        match self.terminal.protocol {
            Protocol::Blocks(colours) => {
                for line in blocks::lines(picture, colours) {
                    if self.terminal.is_live {
                        frame.push_str("\x1b[K");
                    }
                    frame.push_str(&line);
                    frame.push('\n');
                }
            }
            protocol => {
                let columns = picture.width().div_ceil(self.cell.0);
                if self.terminal.is_live {
                    // Makes room, so that the picture does not scroll, and draws it there.
                    (0..lines).for_each(|_| frame.push_str("\x1b[K\n"));
                    frame.push_str(&format!("\x1b[{lines}A\x1b7"));
                }
                frame.push_str(&match protocol {
                    Protocol::Kitty => kitty::sequence(picture, columns, lines).map_err(io::Error::other)?,
                    _ => sixel::sequence(picture),
                });
                if self.terminal.is_live {
                    frame.push_str(&format!("\x1b8\x1b[{lines}B"));
                } else {
                    frame.push('\n');
                }
            }
        }
        let text = if text.width() < self.columns || !self.terminal.is_live {
            text.to_owned()
        } else {
            shorten_always(text, self.columns)
        };
        frame.push_str(if self.terminal.is_live { "\r\x1b[K" } else { "" });
        frame.push_str(&text);
        frame.push_str(if self.terminal.is_live { "\n\x1b[J" } else { "\n" });
        self.drawn = if self.terminal.is_live { lines + 1 } else { 0 };
        let mut out = stdout().lock();
        out.write_all(frame.as_bytes())?;
        out.flush()
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        if self.hides_cursor {
            let mut out = stdout().lock();
            // The terminal may be gone.
            let _ = out.write_all(b"\x1b[0m\x1b[?25h").and_then(|()| out.flush());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn display(wanted: Option<usize>, cell: (usize, usize), protocol: Protocol) -> Display {
        let output = crate::output::Output::plain(80);
        let mut terminal = Terminal::detect(&output, crate::cli::ProtocolKind::Blocks);
        (terminal.protocol, terminal.is_live) = (protocol, true);
        let mut display = Display::new(terminal, wanted, true);
        (display.columns, display.rows, display.cell) = (80, 24, cell);
        display
    }

    #[test]
    fn pictures_fit_the_terminal_and_keep_their_shape() {
        let blocks = Protocol::Blocks(blocks::Colours::None);
        // 22 lines are 44 pixels of characters.
        assert_eq!(display(None, (1, 2), blocks).size(Some((640, 480))), (59, 44));
        assert_eq!(display(None, (1, 2), blocks).size(Some((4000, 100))), (80, 2));
        assert_eq!(display(None, (1, 2), blocks).size(Some((4, 2))), (4, 2));
        assert_eq!(display(Some(16), (1, 2), blocks).size(Some((4, 2))), (16, 8));
        assert_eq!(display(None, (1, 2), blocks).size(None), (80, 44));
        assert_eq!(display(None, (10, 20), Protocol::Sixel).size(Some((1600, 400))), (800, 200));
        assert_eq!(display(None, (1, 2), blocks).size(Some((usize::MAX, 1))), (80, 1));
    }
}
