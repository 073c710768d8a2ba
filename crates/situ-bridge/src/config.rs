//! How a bridge reaches others: Zenoh's own configuration, and the values for which the command has options.

use std::path::PathBuf;

use zenoh::Config;

/// How a session is opened.
#[derive(Debug, Clone, Default)]
pub struct SessionOptions {
    /// Zenoh's configuration file. Its TLS and access control are Zenoh's own.
    pub file: Option<PathBuf>,
    /// Endpoints to connect to, such as `tcp/192.168.1.7:7447`. They replace those of the file.
    pub connect: Vec<String>,
    /// Endpoints to listen on. They replace those of the file.
    pub listen: Vec<String>,
    /// `peer`, `client` or `router`.
    pub mode: Option<String>,
    /// Whether others are looked for by multicast.
    pub multicast: Option<bool>,
}

/// Why a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read as one.
    #[error("{path} is no configuration of Zenoh: {reason}; see https://zenoh.io/docs/manual/configuration")]
    File {
        /// The file.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
    /// A value is refused.
    #[error("Zenoh refuses {value} as {key}: {reason}")]
    Value {
        /// The key in the configuration.
        key: &'static str,
        /// The value.
        value: String,
        /// Why.
        reason: String,
    },
}

/// What Zenoh says went wrong, without the lines of its source: `... at /path/file.rs:12.`.
pub fn reason(error: &impl std::fmt::Display) -> String {
    without_places(&error.to_string())
}

fn without_places(text: &str) -> String {
    let mut made = String::new();
    let mut left = text;
    while let Some((before, after)) = left.split_once(" at ") {
        made.push_str(before);
        let place = after.split_once(".rs:").filter(|(path, _)| !path.contains(' '));
        let rest = place
            .and_then(|(_, line)| line.trim_start_matches(|it: char| it.is_ascii_digit()).strip_prefix('.'));
        made.push_str(if rest.is_none() { " at " } else { "" });
        left = rest.unwrap_or(after);
    }
    made + left
}

/// A list of texts as JSON.
fn list(texts: &[String]) -> String {
    let quoted: Vec<String> = texts.iter().map(|text| quote(text)).collect();
    format!("[{}]", quoted.join(", "))
}

fn quote(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

impl SessionOptions {
    /// The configuration.
    pub fn config(&self) -> Result<Config, ConfigError> {
        let mut config = match &self.file {
            None => Config::default(),
            Some(path) => Config::from_file(path)
                .map_err(|error| ConfigError::File { path: path.clone(), reason: reason(&error) })?,
        };
        // Caches number their messages by time.
        let mut values = vec![("timestamping/enabled", "true".to_owned())];
        if let Some(mode) = &self.mode {
            values.push(("mode", quote(mode)));
        }
        if let Some(multicast) = self.multicast {
            values.push(("scouting/multicast/enabled", multicast.to_string()));
        }
        if !self.connect.is_empty() {
            values.push(("connect/endpoints", list(&self.connect)));
        }
        if !self.listen.is_empty() {
            values.push(("listen/endpoints", list(&self.listen)));
        }
        for (key, value) in values {
            config.insert_json5(key, &value).map_err(|error| ConfigError::Value {
                key,
                value,
                reason: reason(&error),
            })?;
        }
        Ok(config)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_name_no_lines_of_source() {
        let text = "Can not listen on tcp/[::]:7447: [[::]:7447: in use (os error 98) at /a/b-1.2/tcp.rs:61.] \
                    at /a/unicast.rs:338. - Caused by x at y at z.rs:7.";
        let expected =
            "Can not listen on tcp/[::]:7447: [[::]:7447: in use (os error 98)] - Caused by x at y";
        assert_eq!(without_places(text), expected);
        for other in ["", "at 7", "look at a.rs:", "look at the file a.rs:7.", " at ", "x at a.rs:7"] {
            assert_eq!(without_places(other), other);
        }
    }

    #[test]
    fn values_are_checked_by_zenoh() {
        let good = SessionOptions {
            connect: vec!["tcp/127.0.0.1:7447".into()],
            mode: Some("client".into()),
            multicast: Some(false),
            ..SessionOptions::default()
        };
        assert!(good.config().is_ok());
        let bad = SessionOptions { connect: vec!["nonsense".into()], ..SessionOptions::default() };
        assert!(matches!(bad.config(), Err(ConfigError::Value { key: "connect/endpoints", .. })));
        let bad = SessionOptions { mode: Some("\"king\"".into()), ..SessionOptions::default() };
        assert!(matches!(bad.config(), Err(ConfigError::Value { key: "mode", .. })));
        let missing = SessionOptions { file: Some("/nowhere".into()), ..SessionOptions::default() };
        assert!(matches!(missing.config(), Err(ConfigError::File { .. })));
    }
}
