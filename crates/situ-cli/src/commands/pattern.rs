//! Names of topics and patterns of them, as a shell has them, and the one spelling of a topic's name.

pub use situ_record::matches;

/// Whether a name has characters of a pattern.
pub fn is_pattern(name: &str) -> bool {
    name.contains(['*', '?', '['])
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
}
