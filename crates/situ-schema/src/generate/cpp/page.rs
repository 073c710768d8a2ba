//! A page of C++ as it is being written: lines, indentation, comments.

use std::fmt::Write;

/// The longest line that the generator writes where it can break one.
pub const WIDTH: usize = 110;

/// Collects lines.
#[derive(Debug, Default)]
pub struct Page {
    text: String,
    depth: usize,
}

impl Page {
    /// One line; an empty one stays without indentation.
    pub fn line(&mut self, line: impl AsRef<str>) {
        let line = line.as_ref();
        if !line.is_empty() {
            self.text.push_str(&"  ".repeat(self.depth));
            self.text.push_str(line);
        }
        self.text.push('\n');
    }

    /// An empty line, unless there is one already or a block has just begun.
    pub fn gap(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with("\n\n") && !self.text.ends_with("{\n") {
            self.text.push('\n');
        }
    }

    /// A line that stands at the left edge wherever it is.
    pub fn edge(&mut self, line: impl AsRef<str>) {
        self.text.push_str(line.as_ref());
        self.text.push('\n');
    }

    /// Further in.
    pub fn indent(&mut self) {
        self.depth += 1;
    }

    /// Back out.
    pub fn dedent(&mut self) {
        self.depth -= 1;
    }

    /// A documentation comment; nothing for no text.
    pub fn docs(&mut self, text: &str) {
        for line in text.lines() {
            let line = line.trim_end();
            // A backslash at the end would continue the comment on the next line.
            let guard = if line.ends_with('\\') { " //" } else { "" };
            let space = if line.is_empty() { "" } else { " " };
            self.line(format!("///{space}{line}{guard}"));
        }
    }

    /// `head`, `items` separated by `separator`, and `tail`: on one line if they fit, otherwise each item on a line of
    /// its own.
    pub fn list(&mut self, head: &str, items: &[String], separator: &str, tail: &str) {
        let short = format!("{head}{}{tail}", items.join(&format!("{separator} ")));
        if 2 * self.depth + short.len() <= WIDTH {
            return self.line(short);
        }
        self.line(head.trim_end());
        self.indent();
        self.indent();
        for (at, item) in items.iter().enumerate() {
            let end = if at + 1 == items.len() { tail } else { separator };
            self.line(format!("{item}{end}"));
        }
        self.dedent();
        self.dedent();
    }

    /// The text.
    pub fn finish(self) -> String {
        self.text
    }
}

/// A hash as C++ writes it.
pub fn hash(value: u64) -> String {
    let mut text = String::new();
    _ = write!(text, "0x{value:016x}ULL");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_do_not_swallow_code() {
        let mut page = Page::default();
        page.docs("a \\\n\nb");
        assert_eq!(page.finish(), "/// a \\ //\n///\n/// b\n");
    }

    #[test]
    fn long_lists_are_broken() {
        let mut page = Page::default();
        page.list("f(", &["a".into(), "b".into()], ",", ");");
        page.list("f(", &["a".repeat(60), "b".repeat(60)], ",", ");");
        let expected = format!("f(a, b);\nf(\n    {},\n    {});\n", "a".repeat(60), "b".repeat(60));
        assert_eq!(page.finish(), expected);
    }
}
