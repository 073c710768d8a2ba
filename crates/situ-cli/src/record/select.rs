//! Topics by patterns and regular expressions.

use regex_lite::Regex;
use situ_record::{Selection, WriterOptions};

use crate::cli::FileArgs;
use crate::commands::pattern::matches;
use crate::error::CliError;

/// Topics that match one of the patterns or the regular expression, and none of the excluded patterns.
/// Without patterns and expression, all. A `/` in front makes no difference, because ROS writes it.
pub fn select(patterns: &[String], regex: Option<&str>, exclude: &[String]) -> Result<Selection, CliError> {
    let bare = |texts: &[String]| -> Vec<String> {
        texts.iter().map(|text| text.strip_prefix('/').unwrap_or(text).to_owned()).collect()
    };
    let (patterns, exclude) = (bare(patterns), bare(exclude));
    let regex = regex.map(Regex::new).transpose();
    let regex = regex.map_err(|error| CliError::Usage(format!("--regex: {error}")))?;
    Ok(Selection::of(move |topic| {
        let name = topic.strip_prefix('/').unwrap_or(topic);
        let is_any = |patterns: &[String]| patterns.iter().any(|pattern| matches(pattern, name));
        let is_found = regex.as_ref().is_some_and(|regex| regex.is_match(topic));
        let all = patterns.is_empty() && regex.is_none();
        (all || is_found || is_any(&patterns)) && !is_any(&exclude)
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
