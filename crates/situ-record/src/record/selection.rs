//! Which topics are recorded and played: by their names, or by patterns of names.

use std::fmt;

/// Which topics are recorded or played.
pub struct Selection(Box<dyn Fn(&str) -> bool + Send + Sync>);

impl Selection {
    /// Those whose names a function accepts.
    pub fn of(wants: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        Self(Box::new(wants))
    }

    /// Those whose names match one of the patterns ([`matches()`]), and none of the excluded ones. Without
    /// patterns, all. A `/` in front makes no difference, because ROS writes it.
    pub fn patterns(patterns: &[String], exclude: &[String]) -> Self {
        let names = |texts: &[String]| texts.iter().map(|text| bare(text).to_owned()).collect::<Vec<_>>();
        let (patterns, exclude) = (names(patterns), names(exclude));
        Self::of(move |topic| {
            let is_any = |patterns: &[String]| patterns.iter().any(|it| matches(it, bare(topic)));
            (patterns.is_empty() || is_any(&patterns)) && !is_any(&exclude)
        })
    }

    /// All.
    pub fn all() -> Self {
        Self::of(|_| true)
    }

    /// Whether it has a topic.
    pub fn has(&self, topic: &str) -> bool {
        (self.0)(topic)
    }
}

impl fmt::Debug for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Selection")
    }
}

fn bare(topic: &str) -> &str {
    topic.strip_prefix('/').unwrap_or(topic)
}

/// Whether a name matches a pattern: `?` stands for a character and `*` for several, but not for `/`; `**`
/// also stands for `/`; `[abc]` and `[a-z]` for one of these characters, `[!a]` for another one.
pub fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    // `here[at]`: whether the pattern so far matches the first `at` characters. Each step costs the length of
    // the name, whatever the pattern.
    let mut here = vec![false; name.len() + 1];
    here[0] = true;
    let mut rest = pattern.as_slice();
    while let Some(first) = rest.first() {
        let mut next = vec![false; name.len() + 1];
        let used = match first {
            '*' => {
                let both = rest.get(1) == Some(&'*');
                for at in 0..=name.len() {
                    next[at] = here[at] || at > 0 && next[at - 1] && (both || name[at - 1] != '/');
                }
                if both { 2 } else { 1 }
            }
            first => {
                let set = rest.iter().skip(2).position(|it| *it == ']').filter(|_| *first == '[');
                let is_one = |letter: char| match (first, set) {
                    ('?', _) => letter != '/',
                    (_, Some(end)) => letter != '/' && is_in(&rest[1..end + 2], letter),
                    (first, _) => *first == letter,
                };
                for at in 1..=name.len() {
                    next[at] = here[at - 1] && is_one(name[at - 1]);
                }
                set.map_or(1, |end| end + 3)
            }
        };
        (here, rest) = (next, &rest[used..]);
    }
    here[name.len()]
}

/// Whether a set (the text between the brackets) has a letter.
fn is_in(set: &[char], letter: char) -> bool {
    let (set, is_other) = match set {
        ['!' | '^', set @ ..] => (set, true),
        set => (set, false),
    };
    let mut rest = set;
    let mut has = false;
    while let [first, after @ ..] = rest {
        match after {
            ['-', last, after @ ..] => {
                has |= (*first..=*last).contains(&letter);
                rest = after;
            }
            after => {
                has |= *first == letter;
                rest = after;
            }
        }
    }
    has != is_other
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_are_chosen_with_or_without_a_slash() {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let chosen = Selection::patterns(&texts(&["/camera/**", "imu"]), &texts(&["**/debug"]));
        let names = [("camera/a/image", true), ("/imu", true), ("lidar", false), ("camera/debug", false)];
        for (topic, is_chosen) in names {
            assert_eq!(chosen.has(topic), is_chosen, "{topic}");
        }
        assert!(Selection::patterns(&[], &[]).has("anything"));
    }

    #[test]
    fn patterns_match_as_in_a_shell() {
        for (pattern, yes, no) in [
            ("lidar/*", ["lidar/points", "lidar/"].as_slice(), ["lidar", "lidar/a/b", "xlidar/a"].as_slice()),
            ("**/points", &["lidar/points", "a/b/points", "/points"], &["points", "lidar/pointsx"]),
            ("cam?", &["cam1", "camé"], &["cam", "cam12", "cam/"]),
            ("cam[0-2b]", &["cam0", "cam2", "camb"], &["cam3", "cam-", "cam"]),
            ("cam[!0-2]x", &["cam3x"], &["cam0x", "cam/x", "cam3"]),
            ("a*b*c", &["abc", "axxbxxc", "abbcc"], &["ab", "a/b/c"]),
            ("cam[", &["cam["], &["cam"]),
            ("[]]", &["]"], &["[]]"]),
            ("", &[""], &["a"]),
        ] {
            yes.iter().for_each(|name| assert!(matches(pattern, name), "{pattern} {name}"));
            no.iter().for_each(|name| assert!(!matches(pattern, name), "{pattern} {name}"));
        }
        // This takes forever if each star tries every length.
        assert!(!matches(&"*a".repeat(40), &"a".repeat(80).replace("aaaa", "aaab")));
    }
}
