//! Topics by patterns and regular expressions.

use regex_lite::Regex;
use situ_record::{Selection, WriterOptions};

use crate::cli::FileArgs;
use crate::error::CliError;

/// Topics that match one of the patterns or the regular expression, and none of the excluded patterns.
/// Without patterns and expression, all. A `/` in front makes no difference, because ROS writes it.
pub fn select(patterns: &[String], regex: Option<&str>, exclude: &[String]) -> Result<Selection, CliError> {
    let chosen = Selection::patterns(patterns, exclude);
    let Some(regex) = regex else { return Ok(chosen) };
    let regex = Regex::new(regex).map_err(|error| CliError::Usage(format!("--regex: {error}")))?;
    let excluded = (!exclude.is_empty()).then(|| Selection::patterns(exclude, &[]));
    let has_patterns = !patterns.is_empty();
    Ok(Selection::of(move |topic| {
        let is_excluded = excluded.as_ref().is_some_and(|excluded| excluded.has(topic));
        has_patterns && chosen.has(topic) || regex.is_match(topic) && !is_excluded
    }))
}

/// How a file is written.
pub fn writer(file: &FileArgs) -> WriterOptions {
    WriterOptions {
        profile: String::new(),
        compression: file.compress,
        threads: usize::from(file.threads),
        chunk_bytes: file.chunk,
        checksums: file.checksums,
        split_bytes: file.split_size,
        split_time: file.split_time,
        overwrite: file.overwrite,
        ..WriterOptions::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_are_chosen_with_or_without_a_slash() {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let chosen = select(&texts(&["/camera/**", "imu"]), Some("^/?gps"), &texts(&["**/debug"])).unwrap();
        for (topic, is_chosen) in [
            ("camera/a/image", true),
            ("/camera/image", true),
            ("/imu", true),
            ("gps/fix", true),
            ("lidar", false),
            ("camera/debug", false),
        ] {
            assert_eq!(chosen.has(topic), is_chosen, "{topic}");
        }
        assert!(select(&[], None, &[]).unwrap().has("anything"));
        assert!(select(&[], Some("("), &[]).is_err());
    }
}
