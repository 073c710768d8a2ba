//! Pictures in a terminal: a bitmap of dots, eight to a character.

/// A bitmap printed with Braille characters, two dots wide and four high each.
#[derive(Clone, Debug)]
pub struct Canvas {
    columns: usize,
    rows: usize,
    cells: Vec<u8>,
}

impl Canvas {
    /// An empty picture of `columns` by `rows` characters.
    pub fn new(columns: usize, rows: usize) -> Self {
        Self { columns, rows, cells: vec![0; columns * rows] }
    }

    /// Width in dots.
    pub fn width(&self) -> usize {
        self.columns * 2
    }

    /// Height in dots.
    pub fn height(&self) -> usize {
        self.rows * 4
    }

    /// Sets a dot; ignores one outside the picture.
    pub fn set(&mut self, x: usize, y: usize) {
        if x >= self.width() || y >= self.height() {
            return;
        }
        const DOTS: [[u8; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];
        self.cells[y / 4 * self.columns + x / 2] |= DOTS[y % 4][x % 2];
    }

    /// The lines of the picture.
    pub fn lines(&self) -> impl Iterator<Item = String> + '_ {
        self.cells.chunks(self.columns.max(1)).map(|row| {
            row.iter().map(|&c| char::from_u32(0x2800 + u32::from(c)).unwrap_or(' ')).collect::<String>()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_land_where_unicode_says() {
        let mut canvas = Canvas::new(2, 1);
        canvas.set(0, 0);
        canvas.set(3, 3);
        canvas.set(4, 0);
        canvas.set(0, 4);
        assert_eq!(canvas.lines().collect::<Vec<_>>(), ["\u{2801}\u{2880}"]);
    }
}
