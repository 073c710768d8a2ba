//! Positions: lines and columns, as descriptors have them, and bytes of a text.

/// The byte at a line and column, both from 0; the text's end if there is none.
fn offset(text: &str, line: i32, column: i32) -> usize {
    let before: usize = text.split_inclusive('\n').take(line.max(0) as usize).map(str::len).sum();
    (before + column.max(0) as usize).min(text.len())
}

/// The line and column of a byte, both from 0.
pub fn line_column(text: &str, at: usize) -> (i32, i32) {
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count();
    (line as i32, (before.len() - before.rfind('\n').map_or(0, |it| it + 1)) as i32)
}

/// The bytes of a span in a descriptor: `[line, column, end]` or `[line, column, last line, end]`.
pub fn byte_range(text: &str, span: &[i32]) -> Option<(usize, usize)> {
    match *span {
        [line, from, to] => Some((offset(text, line, from), offset(text, line, to))),
        [line, from, last, to] => Some((offset(text, line, from), offset(text, last, to))),
        _ => None,
    }
}
