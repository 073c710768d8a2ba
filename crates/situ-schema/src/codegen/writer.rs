//! Collects the lines of generated code. The writers of the languages build on it.

/// Collects lines, each level indented by `INDENT` more blanks.
#[derive(Debug, Default)]
pub struct CodeWriter<const INDENT: usize> {
    pub(super) text: String,
    depth: usize,
}

impl<const INDENT: usize> CodeWriter<INDENT> {
    /// One line. An empty line gets no indentation.
    pub fn line(&mut self, line: impl AsRef<str>) {
        let line = line.as_ref();
        if !line.is_empty() {
            self.text.push_str(&" ".repeat(self.indentation()));
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

    /// Indents the following lines by one more level.
    pub fn indent(&mut self) {
        self.depth += 1;
    }

    /// Indents the following lines by one level less.
    pub fn dedent(&mut self) {
        self.depth -= 1;
    }

    /// The blanks before a line.
    pub fn indentation(&self) -> usize {
        INDENT * self.depth
    }

    /// The text.
    pub fn finish(self) -> String {
        self.text
    }
}
