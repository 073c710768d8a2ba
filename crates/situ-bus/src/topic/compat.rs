//! What canonical schemas, the texts that topics carry, say of their types.

/// The first line in which two canonical schemas differ, in words.
pub(super) fn first_difference(theirs: &str, ours: &str) -> String {
    let (mut a, mut b) = (theirs.lines(), ours.lines());
    loop {
        match (a.next(), b.next()) {
            (Some(a), Some(b)) if a == b => {}
            (Some(a), Some(b)) => {
                return format!("the first difference is `{}` there and `{}` here", a.trim(), b.trim());
            }
            (Some(a), None) => return format!("it also has `{}`", a.trim()),
            (None, Some(b)) => return format!("it lacks `{}`", b.trim()),
            (None, None) => return "they differ in name only".to_owned(),
        }
    }
}

/// Whether a canonical schema has structs to which members may be appended while regions understand it: a
/// line of its own begins each of them.
pub(super) fn may_be_appended(schema: &str) -> bool {
    schema.lines().any(|line| line.starts_with("@appendable @region struct "))
}

/// Whether a canonical schema, which says what a type consists of and nothing else, has a bulk member. (Texts
/// in it are defaults.)
pub(crate) fn has_bulk(schema: &str) -> bool {
    schema.lines().any(|line| line.split('"').step_by(2).any(|part| part.contains("@bulk(TRUE)")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_is_named() {
        let a = "struct P {\n  float x;\n};";
        assert_eq!(
            first_difference(a, "struct P {\n  double x;\n};"),
            "the first difference is `float x;` there and `double x;` here"
        );
        assert_eq!(first_difference(a, "struct P {\n  float x;\n"), "it also has `};`");
        assert_eq!(first_difference("", "module m {"), "it lacks `module m {`");
    }
}
