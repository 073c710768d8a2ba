//! Lines of cells as text, in columns.

use std::fmt::Write;

/// The lines with their cells below each other: the first `names` columns to the left, the others to the right.
pub fn aligned(lines: &[Vec<String>], names: usize) -> String {
    let columns = lines.iter().map(Vec::len).max().unwrap_or(0);
    let width = |at: usize| {
        lines.iter().filter_map(|line| line.get(at)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for line in lines {
        let mut shown = String::new();
        for (at, (cell, &width)) in line.iter().zip(&widths).enumerate() {
            // Writing to a `String` cannot fail.
            let _ = if at < names {
                write!(shown, "  {cell:<width$}")
            } else {
                write!(shown, "  {cell:>width$}")
            };
        }
        text.push_str(shown.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::aligned;

    #[test]
    fn names_to_the_left_and_numbers_to_the_right() {
        let line = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        let lines = [line(["graph", "p50", ""]), line(["7", "12.3 us", "x"])];
        assert_eq!(aligned(&lines, 1), "  graph      p50\n  7      12.3 us  x\n");
        assert_eq!(aligned(&[], 1), "");
    }
}
