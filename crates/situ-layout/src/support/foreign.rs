//! Makes text that another process wrote safe to print on a terminal.
//!
//! Names of nodes, programs and topics, and texts of errors, come from other processes. Printed unchanged,
//! they could move the cursor, set the title, write to the clipboard, or reverse the order of the letters in
//! a line.

use std::fmt::{self, Display, Write};

/// Whether a character controls the display instead of being shown. Such characters are control characters
/// (C0, DEL, C1), line separators, marks that change the direction of text, and invisible characters.
pub fn is_steering(letter: char) -> bool {
    letter.is_control()
        || matches!(
            letter,
            '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}'
                | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}'
        )
}

/// Whether a text may name a node or a topic: 1 to `most` characters, none of which controls the display.
pub fn is_name(text: &str, most: usize) -> bool {
    // Most names are of this kind, and a graph has thousands.
    if text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
        return (1..=most).contains(&text.len());
    }
    !text.is_empty() && text.chars().nth(most).is_none() && !text.chars().any(is_steering)
}

/// Displays a text that another process wrote. Characters that control the display appear as escapes such as
/// `\u{1b}`.
#[derive(Clone, Copy, Debug)]
pub struct Foreign<'a>(pub &'a str);

impl Display for Foreign<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0;
        while let Some((at, letter)) = rest.char_indices().find(|(_, it)| is_steering(*it)) {
            f.write_str(&rest[..at])?;
            match letter {
                '\n' => f.write_str("\\n")?,
                '\t' => f.write_str("\\t")?,
                '\r' => f.write_str("\\r")?,
                _ => write!(f, "{}", letter.escape_unicode())?,
            }
            rest = &rest[at + letter.len_utf8()..];
        }
        f.write_str(rest)
    }
}

/// Displays a text of several lines, each as [`Foreign`] does.
#[derive(Clone, Copy, Debug)]
pub struct ForeignLines<'a>(pub &'a str);

impl Display for ForeignLines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, line) in self.0.split('\n').enumerate() {
            if index > 0 {
                f.write_char('\n')?;
            }
            write!(f, "{}", Foreign(line))?;
        }
        Ok(())
    }
}

/// Keeps line breaks and style sequences of a text, and shows all other control characters as escapes.
/// `style` returns the number of bytes after an escape character that form a style to keep; `None` means any
/// other sequence.
pub fn keep_styles(text: &str, style: impl Fn(&str) -> Option<usize>) -> String {
    let mut parts = text.split('\u{1b}');
    let mut fit = ForeignLines(parts.next().unwrap_or_default()).to_string();
    for part in parts {
        let (code, rest) = style(part).and_then(|length| part.split_at_checked(length)).unwrap_or(("", part));
        if code.is_empty() {
            fit.push_str("\\u{1b}");
        } else {
            fit.push('\u{1b}');
            fit.push_str(code);
        }
        fit.push_str(&ForeignLines(rest).to_string());
    }
    fit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_a_terminal_is_shown() {
        for (text, shown) in [
            ("plain größe 日本 👩‍🚀", "plain größe 日本 👩‍🚀"),
            ("\u{1b}[2J", "\\u{1b}[2J"),
            ("\u{1b}]52;c;aGk=\u{7}", "\\u{1b}]52;c;aGk=\\u{7}"),
            ("\u{9b}31m\u{9d}0;t\u{9c}", "\\u{9b}31m\\u{9d}0;t\\u{9c}"),
            ("a\u{202e}b\u{2066}c\u{200f}d", "a\\u{202e}b\\u{2066}c\\u{200f}d"),
            ("a\nb\rc\td\u{2028}e\u{7f}", "a\\nb\\rc\\td\\u{2028}e\\u{7f}"),
            ("\u{feff}\u{200b}\u{e0041}", "\\u{feff}\\u{200b}\\u{e0041}"),
            ("", ""),
        ] {
            assert_eq!(Foreign(text).to_string(), shown);
        }
        assert_eq!(ForeignLines("a\u{1b}\nb\r\n").to_string(), "a\\u{1b}\nb\\r\n");
    }

    #[test]
    fn names_have_letters_and_an_end() {
        assert!(is_name("camera/left größe", 80) && is_name(&"ä".repeat(80), 80));
        for name in ["", "a\nb", "\u{1b}[31m", "\u{9b}1m", "x\u{202e}y", &"a".repeat(81)] {
            assert!(!is_name(name, 80), "{name:?}");
        }
    }
}
