//! Writes C++ code: lines, indentation, comments. All generators of C++ use it.

/// The longest line that the generator writes where it can break one.
pub const WIDTH: usize = 110;

/// Collects the lines of C++ code.
pub type CodeWriter = crate::codegen::writer::CodeWriter<2>;

impl CodeWriter {
    /// A line without indentation.
    pub fn edge(&mut self, line: impl AsRef<str>) {
        self.text.push_str(line.as_ref());
        self.text.push('\n');
    }

    /// A documentation comment, unless the text is empty.
    pub fn docs(&mut self, text: &str) {
        for line in text.lines() {
            let line = line.trim_end();
            // A backslash at the end would continue the comment on the next line.
            let guard = if line.ends_with('\\') { " //" } else { "" };
            let space = if line.is_empty() { "" } else { " " };
            self.line(format!("///{space}{line}{guard}"));
        }
    }

    /// `head`, `items` separated by `separator`, and `tail`: on one line if they fit, otherwise each item on
    /// a line of its own.
    pub fn list(&mut self, head: &str, items: &[String], separator: &str, tail: &str) {
        let short = format!("{head}{}{tail}", items.join(&format!("{separator} ")));
        if self.indentation() + short.len() <= WIDTH {
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

    /// Appends the text of another one.
    #[cfg(feature = "proto")]
    pub fn append(&mut self, other: Self) {
        self.text.push_str(&other.text);
    }

    /// The number of bytes so far.
    pub fn len(&self) -> usize {
        self.text.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_do_not_swallow_code() {
        let mut code = CodeWriter::default();
        code.docs("a \\\n\nb");
        assert_eq!(code.finish(), "/// a \\ //\n///\n/// b\n");
    }

    #[test]
    fn long_lists_are_broken() {
        let mut code = CodeWriter::default();
        code.list("f(", &["a".into(), "b".into()], ",", ");");
        code.list("f(", &["a".repeat(60), "b".repeat(60)], ",", ");");
        let expected = format!("f(a, b);\nf(\n    {},\n    {});\n", "a".repeat(60), "b".repeat(60));
        assert_eq!(code.finish(), expected);
    }
}
