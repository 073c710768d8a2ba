//! Reads canonical schemas, the texts that topics carry: their differences, and what a participant needs of
//! them.

/// The line between the schemas of requests and replies in the text that a topic of requests carries.
pub(crate) const SCHEMA_SEPARATOR: &str = "---";

/// Returns the first line in which two canonical schemas differ, as text.
pub(crate) fn first_difference(theirs: &str, ours: &str) -> String {
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

/// What participants need to know of a type to join its topic and to take from it.
///
/// The canonical schema is the only form in which a type reaches other processes and languages. A topic's
/// file and the C interface carry the text, which a flag beside it could contradict. The flags are therefore
/// read from the text, here and nowhere else, once for each participant. A canonical schema has one
/// declaration a line and always the same order of annotations, so that no parser is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SchemaFlags {
    /// Whether a member is bulk.
    pub has_bulk: bool,
    /// Whether there are structs to which members may be appended while regions understand it.
    pub may_be_appended: bool,
}

impl SchemaFlags {
    /// Reads the flags of a canonical schema; of a service, those of the requests.
    pub(crate) fn read(schema: &str) -> Self {
        // Without the escapes of quoted texts, every other part of a line lies in quotes, as defaults and
        // units do.
        let is_bulk = |line: &str| {
            let plain = line.replace(r"\\", "").replace(r#"\""#, "");
            plain.split('"').step_by(2).any(|part| part.contains("@bulk(TRUE)"))
        };
        let lines = || schema.lines().take_while(|line| *line != SCHEMA_SEPARATOR);
        Self {
            has_bulk: lines().any(is_bulk),
            may_be_appended: lines().any(|line| line.starts_with("@appendable @region struct ")),
        }
    }
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

    #[test]
    fn flags_are_read_from_annotations_alone() {
        let flags = |has_bulk, may_be_appended| SchemaFlags { has_bulk, may_be_appended };
        assert_eq!(SchemaFlags::read("struct P {\n  @bulk(TRUE) sequence<octet> x;\n};"), flags(true, false));
        assert_eq!(SchemaFlags::read("@appendable @region struct P {\n  octet x;\n};"), flags(false, true));
        let text = "struct P {\n  @default(\"@bulk(TRUE)\") @unit(\"@bulk(TRUE)\") string x;\n};";
        assert_eq!(SchemaFlags::read(text), flags(false, false));
        let text = r#"  @default("\\\" @bulk(TRUE)") string x;"#;
        assert_eq!(SchemaFlags::read(text), flags(false, false));
    }
}
