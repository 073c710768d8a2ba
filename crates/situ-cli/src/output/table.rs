//! Plain tables, fitted to the terminal's width.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use situ::layout::foreign::Foreign;

use super::{Output, Style};

/// The smallest width of a flexible column.
const NARROWEST: usize = 8;
/// Blanks between two columns.
const GAP: usize = 2;

/// One column: its heading, its alignment, and whether it may be shortened.
#[derive(Clone, Debug)]
pub struct Column {
    heading: &'static str,
    right: bool,
    flexible: bool,
}

impl Column {
    /// A column of text.
    pub fn left(heading: &'static str) -> Self {
        Self { heading, right: false, flexible: false }
    }

    /// A column of numbers.
    pub fn right(heading: &'static str) -> Self {
        Self { heading, right: true, flexible: false }
    }

    /// Allows the column to be shortened when the table is too wide.
    pub fn flexible(mut self) -> Self {
        self.flexible = true;
        self
    }
}

/// One cell.
#[derive(Clone, Debug)]
pub struct Cell {
    text: String,
    style: Style,
}

impl Cell {
    /// A cell in a style. Its text may come from another process.
    pub fn styled(text: impl Into<String>, style: Style) -> Self {
        Self { text: Foreign(&text.into()).to_string(), style }
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::styled(text, Style::Plain)
    }
}

/// A table under construction.
#[derive(Clone, Debug)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    /// An empty table.
    pub fn new(columns: impl IntoIterator<Item = Column>) -> Self {
        Self { columns: columns.into_iter().collect(), rows: Vec::new() }
    }

    /// Adds a row. Missing cells are empty, and surplus ones are ignored.
    pub fn row(&mut self, cells: impl IntoIterator<Item = Cell>) -> &mut Self {
        let mut row: Vec<Cell> = cells.into_iter().take(self.columns.len()).collect();
        row.resize_with(self.columns.len(), || Cell::from(""));
        self.rows.push(row);
        self
    }

    /// Returns the table as lines. They fit the output's width as far as the flexible columns allow.
    pub fn render(&self, output: &Output) -> String {
        let widths = self.widths(output.width());
        let mut text = String::new();
        let headings = self.columns.iter().map(|c| Cell::styled(c.heading, Style::Dim)).collect::<Vec<_>>();
        for row in std::iter::once(&headings).chain(&self.rows) {
            let mut line = String::new();
            let last = row.len().saturating_sub(1);
            for (index, ((cell, column), &width)) in row.iter().zip(&self.columns).zip(&widths).enumerate() {
                let shown = shorten(&cell.text, width);
                let padding = " ".repeat(width.saturating_sub(shown.width()));
                let painted = output.paint(cell.style, &shown);
                if column.right {
                    line.push_str(&padding);
                    line.push_str(&painted);
                } else {
                    line.push_str(&painted);
                    if index != last {
                        line.push_str(&padding);
                    }
                }
                if index != last {
                    line.push_str(&" ".repeat(GAP));
                }
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }

    fn widths(&self, available: usize) -> Vec<usize> {
        let mut widths: Vec<usize> = self
            .columns
            .iter()
            .enumerate()
            .map(|(i, c)| self.rows.iter().map(|r| r[i].text.width()).fold(c.heading.width(), usize::max))
            .collect();
        let gaps = GAP * self.columns.len().saturating_sub(1);
        // Shortens the widest flexible column by one cell at a time until the table fits.
        while widths.iter().sum::<usize>() + gaps > available {
            let widest = (0..widths.len())
                .filter(|&i| self.columns[i].flexible && widths[i] > NARROWEST)
                .max_by_key(|&i| widths[i]);
            match widest {
                Some(i) => widths[i] -= 1,
                None => break,
            }
        }
        widths
    }
}

/// Returns `text`, or its beginning and an ellipsis if it is wider than `width` cells.
pub fn shorten(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut shown = String::new();
    let mut used = 0;
    for c in text.chars() {
        let cells = c.width().unwrap_or(0);
        if used + cells + 1 > width {
            break;
        }
        shown.push(c);
        used += cells;
    }
    shown.push('…');
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::ColorChoice;

    fn output(width: usize) -> Output {
        Output { width, ..Output::detect(false, ColorChoice::Never) }
    }

    fn table() -> Table {
        let mut table = Table::new([Column::left("TOPIC").flexible(), Column::right("RATE")]);
        table.row(["points".into(), "9.98 Hz".into()]);
        table.row(["a/very/long/topic/name".into(), "1 Hz".into()]);
        table
    }

    #[test]
    fn columns_line_up() {
        assert_eq!(
            table().render(&output(80)),
            "TOPIC                      RATE\n\
             points                  9.98 Hz\n\
             a/very/long/topic/name     1 Hz\n"
        );
    }

    #[test]
    fn a_wide_column_is_shortened_to_fit() {
        let text = table().render(&output(20));
        assert!(text.lines().all(|l| l.width() <= 20), "{text}");
        assert!(text.contains("a/very/lon…"), "{text}");
    }

    #[test]
    fn a_cell_has_one_line_without_control_characters() {
        let mut table = Table::new([Column::left("NODE").flexible(), Column::left("PROGRAM")]);
        table.row(["a\nb".into(), "\x1b]0;title\x07\u{202e}".into()]);
        let text = table.render(&output(80));
        assert_eq!(text, "NODE  PROGRAM\na\\nb  \\u{1b}]0;title\\u{7}\\u{202e}\n");
    }

    #[test]
    fn shortening_counts_cells_not_bytes() {
        assert_eq!(shorten("größe", 5), "größe");
        assert_eq!(shorten("größenordnung", 5), "größ…");
        assert_eq!(shorten("日本語", 5), "日本…");
        assert_eq!(shorten("日本語", 4), "日…");
    }
}
