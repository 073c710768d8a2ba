//! A page of Rust as it is being written: lines, indentation, comments, broken as `rustfmt` would break them.

/// The longest line.
const WIDTH: usize = 100;
/// The longest list of arguments on one line.
const ARGUMENTS: usize = 60;

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
            self.text.push_str(&"    ".repeat(self.depth));
            self.text.push_str(line);
        }
        self.text.push('\n');
    }

    /// Several lines.
    pub fn lines(&mut self, lines: &str) {
        lines.lines().for_each(|line| self.line(line));
    }

    /// An empty line, unless there is one already or a block has just begun.
    pub fn gap(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with("\n\n") && !self.text.ends_with("{\n") {
            self.text.push('\n');
        }
    }

    /// Further in.
    pub fn indent(&mut self) {
        self.depth += 1;
    }

    /// Back out.
    pub fn dedent(&mut self) {
        self.depth -= 1;
    }

    /// `head {`, what `inside` writes, `}`.
    pub fn block(&mut self, head: impl AsRef<str>, inside: impl FnOnce(&mut Self)) {
        self.line(format!("{} {{", head.as_ref()));
        self.indent();
        inside(self);
        self.dedent();
        self.line("}");
    }

    /// Whether a line of so many characters fits.
    pub fn fits(&self, length: usize) -> bool {
        4 * self.depth + length <= WIDTH
    }

    /// `left = right`, broken behind the sign if it is too long.
    pub fn assign(&mut self, left: &str, right: &str, end: &str) {
        let whole = format!("{left} = {right}{end}");
        if self.fits(whole.chars().count()) {
            return self.line(whole);
        }
        self.line(format!("{left} ="));
        self.indent();
        self.line(format!("{right}{end}"));
        self.dedent();
    }

    /// A member: `pub name: type,`.
    pub fn member(&mut self, name: &str, ty: &str) {
        let whole = format!("{name}: {ty},");
        if self.fits(whole.len()) {
            return self.line(whole);
        }
        self.line(format!("{name}:"));
        self.indent();
        self.line(format!("{ty},"));
        self.dedent();
    }

    /// The head of a function, opening its block.
    pub fn function(&mut self, name: &str, parameters: &[&str], result: &str) {
        let whole = format!("{name}({}) -> {result} {{", parameters.join(", "));
        if self.fits(whole.len()) {
            return self.line(whole);
        }
        self.line(format!("{name}("));
        self.indent();
        parameters.iter().for_each(|parameter| self.line(format!("{parameter},")));
        self.dedent();
        self.line(format!(") -> {result} {{"));
    }

    /// A call as the result of a function.
    pub fn call(&mut self, function: &str, arguments: &[&str]) {
        let joined = arguments.join(", ");
        if joined.len() <= ARGUMENTS && self.fits(function.len() + joined.len() + 2) {
            return self.line(format!("{function}({joined})"));
        }
        self.line(format!("{function}("));
        self.indent();
        arguments.iter().for_each(|argument| self.line(format!("{argument},")));
        self.dedent();
        self.line(")");
    }

    /// A string that keeps its lines, behind `head`.
    pub fn raw_string(&mut self, head: &str, text: &str) {
        let mut fence = String::from("#");
        while text.contains(&format!("\"{fence}")) {
            fence.push('#');
        }
        let first = text.lines().next().map_or(0, |line| line.chars().count());
        if self.fits(head.len() + first + fence.len() + 6) {
            return self.line(format!("{head} r{fence}\"{text}\"{fence};"));
        }
        self.line(head);
        self.indent();
        self.line(format!("r{fence}\"{text}\"{fence};"));
        self.dedent();
    }

    /// A documentation comment; if there is no text, what `otherwise` says.
    pub fn docs(&mut self, text: &str, otherwise: impl FnOnce() -> String) {
        if text.trim().is_empty() {
            return self.line(format!("/// {}", otherwise()));
        }
        for line in text.trim_end().lines() {
            let line = line.trim_end().replace('\t', "    ").replace("```", "'''");
            let words = line.trim_start();
            if words.is_empty() {
                self.line("///");
                continue;
            }
            // Four blanks would make it an example to be compiled.
            let blanks = " ".repeat((line.len() - words.len()).min(3));
            self.line(format!("/// {blanks}{words}"));
        }
    }

    /// The text.
    pub fn finish(self) -> String {
        self.text
    }
}
