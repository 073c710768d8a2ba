//! Comments in ROS interface files, by the rules of ROS 2's own tools.

/// The text of a comment line without its number signs.
pub(super) fn strip(comment: &str) -> String {
    comment.trim_start_matches('#').trim_end().to_owned()
}

/// Joins comment lines: takes out the unit (the only `[…]` without a comma), empty lines at both ends,
/// repeated empty lines, and the common indentation. Returns docs and unit.
pub(super) fn join(mut lines: Vec<String>) -> (String, Option<String>) {
    let text = lines.join("\n");
    let mut units = units(&text);
    let unit = if units.len() == 1 { units.pop() } else { None };
    let unit = unit.map(|(whole, unit)| {
        for line in &mut lines {
            *line = line.replace(&whole, "");
        }
        unit
    });
    let mut kept: Vec<String> = Vec::new();
    for line in lines {
        if !line.is_empty() || kept.last().is_some_and(|it| !it.is_empty()) {
            kept.push(line);
        }
    }
    while kept.last().is_some_and(String::is_empty) {
        kept.pop();
    }
    (dedent(&kept), unit)
}

/// All `[…]` without a comma, with the blanks in front of them, and what is in them.
fn units(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(open) = text[from..].find('[').map(|at| at + from) {
        let inner = &text[open + 1..];
        let end = inner.find([',', ']']).unwrap_or(inner.len());
        if end > 0 && inner[end..].starts_with(']') {
            let blank = text[from..open].len() - text[from..open].trim_end().len();
            let close = open + 1 + end + 1;
            found.push((text[open - blank..close].to_owned(), inner[..end].to_owned()));
            from = close;
        } else {
            from = open + 1;
        }
    }
    found
}

/// Takes away the indentation that all lines share.
fn dedent(lines: &[String]) -> String {
    let filled = || lines.iter().filter(|it| !it.trim().is_empty());
    let indentation = |line: &String| line.len() - line.trim_start_matches(' ').len();
    let common = filled().map(indentation).min().unwrap_or(0);
    let lines = lines.iter().map(|line| if line.trim().is_empty() { "" } else { &line[common..] });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &[&str]) -> Vec<String> {
        text.iter().map(|it| (*it).to_owned()).collect()
    }

    #[test]
    fn docs_and_units() {
        assert_eq!(join(lines(&["", " one", "", "", "  two", ""])), ("one\n\n two".into(), None));
        assert_eq!(join(lines(&[" mass [kg]"])), ("mass".into(), Some("kg".into())));
        assert_eq!(join(lines(&[" from [0, 1]"])), ("from [0, 1]".into(), None));
        assert_eq!(join(lines(&[" a [m] b [s]"])), ("a [m] b [s]".into(), None));
        assert_eq!(join(lines(&[" [unclosed"])), ("[unclosed".into(), None));
        assert_eq!(join(Vec::new()), (String::new(), None));
    }
}
