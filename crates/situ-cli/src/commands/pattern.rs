//! Names of topics and patterns of them, as a shell has them, and the one spelling of a topic's name.

/// Whether a name has characters of a pattern.
pub fn is_pattern(name: &str) -> bool {
    name.contains(['*', '?', '['])
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

/// Whether two names differ only in slashes, as `/robot/cmd` and `robot/cmd`. They are different topics, but
/// having both is a mistake.
pub fn are_alike(one: &str, other: &str) -> bool {
    let parts = |name: &str| -> Vec<String> {
        name.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect()
    };
    parts(one) == parts(other)
}

/// Checks the name of a topic that does not exist yet. The bus accepts more names, but such a name is a
/// mistake on a command line.
pub fn check_new(name: &str) -> Result<(), String> {
    const RULE: &str = "use letters, digits, `_`, `-`, `.` and single `/` between parts";
    let is_good = |letter: char| letter.is_alphanumeric() || "_-./".contains(letter);
    if let Some((at, letter)) = name.chars().enumerate().find(|(_, letter)| !is_good(*letter)) {
        let letter = match letter {
            ' ' => "a space".to_owned(),
            letter => format!("`{}`", letter.escape_debug()),
        };
        return Err(format!("the topic name {name:?} has {letter} as character {}; {RULE}", at + 1));
    }
    // A `/` in front is as good as none: ROS writes it.
    if name.strip_prefix('/').unwrap_or(name).split('/').any(str::is_empty) {
        return Err(format!("the topic name {name:?} has an empty part; {RULE}"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_new_topics_are_checked() {
        for name in ["pose", "/robot/cmd", "robot/cmd", "grün", "a-b_c.d"] {
            assert_eq!(check_new(name), Ok(()));
        }
        let why = |name| check_new(name).unwrap_err();
        assert!(why("bad topic name!").contains("has a space as character 4;"));
        assert!(why("bad!").contains("has `!` as character 4;"));
        for name in ["", "/", "a//b", "a/"] {
            assert!(why(name).contains("has an empty part"));
        }
        assert!(are_alike("/robot/cmd", "robot/cmd") && are_alike("a//b", "a/b/"));
        assert!(!are_alike("robot/cmd", "robot/cmd2"));
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
