//! Writes Rust code: lines, indentation, comments, broken as `rustfmt` would break them.

/// The longest line.
pub const WIDTH: usize = 100;
/// The longest list of arguments, array and chain of calls on one line.
pub const ARGUMENTS: usize = 60;
/// The longest elements of an array, and arguments of a broken call, that stand several on a line.
pub const SHORT: usize = 10;
/// The longest members in the literal of a struct that stand on one line.
pub const LITERAL: usize = 18;

/// `Head<A, B<C, D>>` as its head and its outermost arguments.
pub fn generic_arguments(ty: &str) -> Option<(&str, Vec<&str>)> {
    let inside = ty.strip_suffix('>')?;
    let (mut depth, mut ends) = (0, vec![inside.len()]);
    for (at, letter) in inside.char_indices().rev() {
        match letter {
            '>' | ']' => depth += 1,
            '[' => depth -= 1,
            '<' if depth > 0 => depth -= 1,
            '<' => {
                ends.push(at);
                let arguments = ends.windows(2).rev().map(|ends| inside[ends[1] + 1..ends[0]].trim());
                return Some((&inside[..at], arguments.collect()));
            }
            ',' if depth == 0 => ends.push(at),
            _ => {}
        }
    }
    None
}

/// Collects the lines of Rust code.
pub type CodeWriter = crate::codegen::writer::CodeWriter<4>;

impl CodeWriter {
    /// Several lines.
    pub fn lines(&mut self, lines: &str) {
        lines.lines().for_each(|line| self.line(line));
    }

    /// `head {`, what `inside` writes, `}`.
    pub fn block(&mut self, head: impl AsRef<str>, inside: impl FnOnce(&mut Self)) {
        self.closed(head, "}", inside);
    }

    /// `head {`, what `inside` writes, `end`.
    pub fn closed(&mut self, head: impl AsRef<str>, end: &str, inside: impl FnOnce(&mut Self)) {
        self.line(format!("{} {{", head.as_ref()));
        self.indent();
        inside(self);
        self.dedent();
        self.line(end);
    }

    /// Whether a line of this number of characters fits.
    pub fn fits(&self, length: usize) -> bool {
        self.indentation() + length <= WIDTH
    }

    /// `left = right`, broken behind the sign if it is too long.
    pub fn assign(&mut self, left: &str, right: &str, end: &str) {
        let whole = format!("{left} = {right}{end}");
        if self.fits(whole.chars().count()) {
            return self.line(whole);
        }
        if !self.fits(left.len() + 2) {
            return self.ty(left, &format!(" = {right}{end}"));
        }
        self.line(format!("{left} ="));
        self.indent();
        self.ty(right, end);
        self.dedent();
    }

    /// A type on a line of its own, broken at its arguments if it is too long.
    pub fn ty(&mut self, ty: &str, end: &str) {
        match generic_arguments(ty) {
            Some((head, arguments)) if !self.fits(ty.len() + end.len()) => {
                self.line(format!("{head}<"));
                self.indent();
                arguments.iter().for_each(|argument| self.ty(argument, ","));
                self.dedent();
                self.line(format!(">{end}"));
            }
            _ => self.line(format!("{ty}{end}")),
        }
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
        self.signature(name, parameters, &format!(" -> {result} {{"));
    }

    /// The head of a function without a result, opening its block.
    pub fn procedure(&mut self, name: &str, parameters: &[&str]) {
        self.signature(name, parameters, " {");
    }

    /// A function of a trait, without a body.
    pub fn declaration(&mut self, name: &str, parameters: &[&str], result: &str) {
        self.signature(name, parameters, &format!(" -> {result};"));
    }

    /// As [`declaration`](Self::declaration), without a result.
    pub fn required(&mut self, name: &str, parameters: &[&str]) {
        self.signature(name, parameters, ";");
    }

    fn signature(&mut self, name: &str, parameters: &[&str], end: &str) {
        let whole = format!("{name}({}){end}", parameters.join(", "));
        // Before a result, there must be room for a block even if there is none.
        let room = usize::from(end.contains("->") && end.ends_with(';'));
        if self.fits(whole.len() + room) {
            return self.line(whole);
        }
        if self.fits(whole.len())
            && let Some((head, result)) = whole.rsplit_once(" -> ")
        {
            self.line(head);
            return self.line(format!("-> {result}"));
        }
        self.line(format!("{name}("));
        self.indent();
        parameters.iter().for_each(|parameter| self.line(format!("{parameter},")));
        self.dedent();
        let last = format!("){end}");
        // The bracket and the space before an arrow do not count.
        let is_short = |result: &str| self.fits(result.len().saturating_sub(") ".len()));
        match last.strip_suffix(" {") {
            // The indentation counts twice.
            Some(result) if is_short(result) && !self.fits(last.len() + self.indentation()) => {
                self.line(result);
                self.line("{");
            }
            Some(result) => self.ty(result, " {"),
            None if is_short(&last) => self.line(last),
            None => self.ty(last.trim_end_matches(';'), &last[last.trim_end_matches(';').len()..]),
        }
    }

    /// An assignment of an array: `left = &[a, b];`, with `head` up to the bracket and `tail` from there on.
    pub fn list(&mut self, head: &str, items: &[String], tail: &str) {
        let joined = items.join(", ");
        let whole = format!("{head}{joined}{tail}");
        if joined.len() <= ARGUMENTS && self.fits(whole.len()) {
            return self.line(whole);
        }
        if let Some((left, bracket)) = head.rsplit_once(" = ")
            && joined.len() <= ARGUMENTS
            && self.fits(4 + bracket.len() + joined.len() + tail.len())
        {
            return self.assign(left, &format!("{bracket}{joined}]"), ";");
        }
        self.line(head);
        self.indent();
        if items.iter().all(|item| item.len() <= SHORT) {
            let mut line = String::new();
            for item in items {
                if !line.is_empty() && !self.fits(line.len() + item.len() + 2) {
                    self.line(&line);
                    line.clear();
                }
                line.push_str(if line.is_empty() { "" } else { " " });
                line.push_str(&format!("{item},"));
            }
            self.line(line);
        } else {
            items.iter().for_each(|item| self.line(format!("{item},")));
        }
        self.dedent();
        self.line(tail);
    }

    /// A string that keeps its lines, behind `head`.
    pub fn raw_string(&mut self, head: &str, text: &str) {
        let mut fence = String::from("#");
        while text.contains(&format!("\"{fence}")) {
            fence.push('#');
        }
        self.line(format!("{head} r{fence}\"{text}\"{fence};"));
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generic_arguments_are_found() {
        let (head, arguments) =
            generic_arguments("<S as Storage>::Map<S::String<3>, [A<B, C>; 2], 5>").unwrap();
        assert_eq!((head, arguments), ("<S as Storage>::Map", vec!["S::String<3>", "[A<B, C>; 2]", "5"]));
        assert_eq!(generic_arguments("[i32; 3]"), None);
    }

    #[test]
    fn comments_hold_no_code() {
        let mut code = CodeWriter::default();
        code.docs("a\n\n        b\n```c", String::new);
        assert_eq!(code.finish(), "/// a\n///\n///    b\n/// '''c\n");
    }
}
