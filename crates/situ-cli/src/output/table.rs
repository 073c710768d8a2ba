//! Plain tables, fitted to the terminal's width.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use situ::layout::foreign::Foreign;

use super::{Output, Style};

/// The smallest width of a flexible column.
const NARROWEST: usize = 8;
/// The width down to which flexible columns are shortened before other columns are left out.
const READABLE: usize = 16;
/// Blanks between two columns.
const GAP: usize = 2;

/// One column: its heading, its alignment, and whether it may be shortened.
#[derive(Clone, Debug)]
pub struct Column {
    heading: &'static str,
    right: bool,
    flexible: bool,
    rank: u8,
}

impl Column {
    /// A column of text.
    pub fn left(heading: &'static str) -> Self {
        Self { heading, right: false, flexible: false, rank: 0 }
    }

    /// A column of numbers.
    pub fn right(heading: &'static str) -> Self {
        Self { heading, right: true, flexible: false, rank: 0 }
    }

    /// Allows the column to be shortened when the table is too wide.
    pub fn flexible(mut self) -> Self {
        self.flexible = true;
        self
    }

    /// Allows the column to be left out when the table is too wide. The column with the highest rank goes
    /// first.
    pub fn rank(mut self, rank: u8) -> Self {
        self.rank = rank;
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

    /// Returns the table as lines. They fit the output's width as far as the flexible columns
    /// and those with a rank allow. A number is never cut.
    pub fn render(&self, output: &Output) -> String {
        let widths = self.widths(output.width());
        let mut text = String::new();
        let headings = self.columns.iter().map(|c| Cell::styled(c.heading, Style::Dim)).collect::<Vec<_>>();
        for row in std::iter::once(&headings).chain(&self.rows) {
            let mut line = String::new();
            let last = widths.iter().rposition(Option::is_some).unwrap_or(0);
            for (index, ((cell, column), &width)) in row.iter().zip(&self.columns).zip(&widths).enumerate() {
                let Some(width) = width else { continue };
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

    fn widths(&self, available: usize) -> Vec<Option<usize>> {
        let width = |(index, column): (usize, &Column)| {
            self.rows.iter().map(|row| row[index].text.width()).fold(column.heading.width(), usize::max)
        };
        let demands = self.columns.iter().enumerate().map(|it| Demand {
            width: width(it),
            flexible: it.1.flexible,
            rank: it.1.rank,
        });
        fit(&demands.collect::<Vec<_>>(), GAP, available)
    }
}

/// The space that a column needs.
#[derive(Clone, Copy, Debug)]
pub struct Demand {
    /// The cells of its widest text.
    pub width: usize,
    /// Whether its texts may be shortened.
    pub flexible: bool,
    /// 0 if it may not be left out. Of several, the one with the highest rank is left out first.
    pub rank: u8,
}

/// Returns the widths of columns with `gap` cells in between, so that they fit into `available` cells: first
/// it shortens flexible columns, then it leaves columns out (`None`).
pub fn fit(demands: &[Demand], gap: usize, available: usize) -> Vec<Option<usize>> {
    let mut widths: Vec<Option<usize>> = demands.iter().map(|it| Some(it.width)).collect();
    let total = |widths: &[Option<usize>]| {
        let shown = widths.iter().flatten();
        shown.clone().sum::<usize>() + gap * shown.count().saturating_sub(1)
    };
    let shorten = |widths: &mut [Option<usize>], least: usize| {
        while total(widths) > available {
            let flexible = widths.iter_mut().zip(demands).filter(|(_, demand)| demand.flexible);
            let wide = flexible.filter_map(|(width, _)| width.as_mut()).filter(|width| **width > least);
            match wide.max_by_key(|width| **width) {
                Some(width) => *width -= 1,
                None => return,
            }
        }
    };
    loop {
        shorten(&mut widths, READABLE);
        if total(&widths) <= available {
            return widths;
        }
        let shown = demands.iter().enumerate().filter(|(index, it)| widths[*index].is_some() && it.rank > 0);
        match shown.max_by_key(|(_, it)| it.rank) {
            Some((index, _)) => {
                widths[index] = None;
                // The columns that stay have the room of the one that goes.
                for (width, demand) in widths.iter_mut().zip(demands) {
                    *width = width.map(|_| demand.width);
                }
            }
            None => {
                shorten(&mut widths, NARROWEST);
                return widths;
            }
        }
    }
}

/// Returns `text`, or its beginning and an ellipsis if it is wider than `width` cells.
pub fn shorten(text: &str, width: usize) -> String {
    if text.width() <= width { text.to_owned() } else { shorten_always(text, width) }
}

/// Returns the beginning of a text and an ellipsis, in at most `width` cells; nothing if there is no cell.
pub fn shorten_always(text: &str, width: usize) -> String {
    if width == 0 {
        return String::new();
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

    fn table() -> Table {
        let mut table = Table::new([Column::left("TOPIC").flexible(), Column::right("RATE")]);
        table.row(["points".into(), "9.98 Hz".into()]);
        table.row(["a/very/long/topic/name".into(), "1 Hz".into()]);
        table
    }

    #[test]
    fn columns_line_up() {
        assert_eq!(
            table().render(&Output::plain(80)),
            "TOPIC                      RATE\n\
             points                  9.98 Hz\n\
             a/very/long/topic/name     1 Hz\n"
        );
    }

    #[test]
    fn a_wide_column_is_shortened_to_fit() {
        let text = table().render(&Output::plain(20));
        assert!(text.lines().all(|l| l.width() <= 20), "{text}");
        assert!(text.contains("a/very/lon…"), "{text}");
    }

    #[test]
    fn columns_are_left_out_before_numbers_are_cut() {
        let mut table = Table::new([
            Column::left("TOPIC").flexible(),
            Column::right("RATE"),
            Column::right("LOST").rank(1),
            Column::right("MEMORY").rank(2),
        ]);
        table.row(["a/very/long/topic/name".into(), "9.98 Hz".into(), "1234".into(), "2.21 MiB".into()]);
        let line = |width: usize| table.render(&Output::plain(width)).lines().nth(1).unwrap().to_owned();
        assert_eq!(line(60), "a/very/long/topic/name  9.98 Hz  1234  2.21 MiB");
        assert_eq!(line(41), "a/very/long/top…  9.98 Hz  1234  2.21 MiB");
        assert_eq!(line(40), "a/very/long/topic/name  9.98 Hz  1234");
        assert_eq!(line(25), "a/very/long/top…  9.98 Hz");
        assert_eq!(line(20), "a/very/lon…  9.98 Hz");
        assert!(!table.render(&Output::plain(30)).contains("LOST"));
    }

    #[test]
    fn a_cell_has_one_line_without_control_characters() {
        let mut table = Table::new([Column::left("NODE").flexible(), Column::left("PROGRAM")]);
        table.row(["a\nb".into(), "\x1b]0;title\x07\u{202e}".into()]);
        let text = table.render(&Output::plain(80));
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
