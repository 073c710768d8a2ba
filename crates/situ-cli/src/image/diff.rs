//! `situ image diff`: which members differ in two images.

use serde::Serialize;
use situ::layout::foreign::Foreign;
use situ_schema::dynamic::{PrintOptions, Value};

use super::open::open;
use crate::cli::ImageDiffArgs;
use crate::commands::Context;
use crate::error::CliError;

/// The maximum number of differences that are listed.
const MAX_SHOWN: usize = 1000;
/// The maximum number of characters of a value.
const MAX_VALUE: usize = 60;

/// A member that differs.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Difference {
    path: String,
    /// Absent if only the other image has the element.
    one: Option<String>,
    other: Option<String>,
}

/// `situ image diff`.
pub fn diff(context: &Context, arguments: &ImageDiffArgs) -> Result<(), CliError> {
    let one = open(context, &arguments.file, &arguments.of)?;
    let other = open(context, &arguments.other, &arguments.of)?;
    if one.id != other.id {
        let (one, other) = (one.type_name(), other.type_name());
        return Err(CliError::Failed(format!("the images are of different types: {one} and {other}")));
    }
    let mut differences = Differences::default();
    differences.values("", &one.value()?, &other.value()?);
    let Differences { found, count } = differences;
    let output = &context.output;
    if output.is_json() {
        output
            .record(&serde_json::json!({ "type": one.type_name(), "count": count, "differences": found }))?;
    } else if count == 0 {
        output.line(format!("The values of {} and {} are equal.", one.file, other.file))?;
    } else {
        let absent = || "absent".to_owned();
        for Difference { path, one, other } in found {
            let path = if path.is_empty() { "message" } else { &path };
            let (one, other) = (one.unwrap_or_else(absent), other.unwrap_or_else(absent));
            output.line(format!("{}: {} -> {}", Foreign(path), Foreign(&one), Foreign(&other)))?;
        }
        if count > MAX_SHOWN {
            output.line(format!("... and {} more", count - MAX_SHOWN))?;
        }
    }
    if count == 0 { Ok(()) } else { Err(CliError::CheckFailed) }
}

#[derive(Default)]
struct Differences {
    found: Vec<Difference>,
    count: usize,
}

/// Returns a value in one line.
fn line(value: &Value) -> String {
    let options = PrintOptions { max_elements: Some(8), max_text: Some(MAX_VALUE) };
    match value {
        Value::Record(_) | Value::List(_) | Value::Map(_) | Value::Union { .. } => {
            let json = value.to_json();
            match json.char_indices().nth(MAX_VALUE) {
                Some((end, _)) => format!("{}...", &json[..end]),
                None => json,
            }
        }
        other => other.to_yaml(&options).trim_end().to_owned(),
    }
}

impl Differences {
    fn add(&mut self, path: &str, one: Option<&Value>, other: Option<&Value>) {
        self.count += 1;
        if self.found.len() < MAX_SHOWN {
            let (one, other) = (one.map(line), other.map(line));
            self.found.push(Difference { path: path.to_owned(), one, other });
        }
    }

    fn values(&mut self, path: &str, one: &Value, other: &Value) {
        match (one, other) {
            _ if one == other => {}
            // Two numbers that are not numbers are no difference.
            (Value::Float(one), Value::Float(other)) if one.is_nan() && other.is_nan() => {}
            (Value::Double(one), Value::Double(other)) if one.is_nan() && other.is_nan() => {}
            (Value::Record(one), Value::Record(other)) => {
                for ((name, one), (_, other)) in one.iter().zip(other.iter()) {
                    self.values(&member(path, name), one, other);
                }
            }
            (Value::Optional(Some(one)), Value::Optional(Some(other))) => self.values(path, one, other),
            (Value::Optional(one), Value::Optional(other)) => {
                self.add(path, one.as_deref(), other.as_deref())
            }
            (
                Value::Union { case: Some((name, one)), discriminator },
                Value::Union { case: Some((other_name, other)), discriminator: other_discriminator },
            ) if name == other_name => {
                self.values(&member(path, "discriminator"), discriminator, other_discriminator);
                self.values(&member(path, name), one, other);
            }
            (Value::List(one), Value::List(other)) => {
                self.elements(path, one.len(), other.len(), |index| {
                    (one.get(index).cloned(), other.get(index).cloned())
                });
            }
            (Value::Numbers(one), Value::Numbers(other)) => {
                self.elements(path, one.len(), other.len(), |index| (one.get(index), other.get(index)));
            }
            (Value::Map(one), Value::Map(other)) => self.entries(path, one, other),
            _ => self.add(path, Some(one), Some(other)),
        }
    }

    fn elements(
        &mut self,
        path: &str,
        one: usize,
        other: usize,
        get: impl Fn(usize) -> (Option<Value>, Option<Value>),
    ) {
        for index in 0..one.max(other) {
            let pair = get(index);
            // Most elements are equal, and need no path.
            if pair.0 == pair.1 {
                continue;
            }
            let path = format!("{path}[{index}]");
            match pair {
                (Some(one), Some(other)) => self.values(&path, &one, &other),
                (one, other) => self.add(&path, one.as_ref(), other.as_ref()),
            }
        }
    }

    /// Entries of maps, by their keys.
    fn entries(&mut self, path: &str, one: &[(Value, Value)], other: &[(Value, Value)]) {
        // Keys are printed alike if and only if they are equal: they are numbers, enumerators or texts.
        let by_key = |entries: &[(Value, Value)]| -> std::collections::BTreeMap<String, Value> {
            entries.iter().map(|(key, value)| (key.to_json(), value.clone())).collect()
        };
        let (one, other) = (by_key(one), by_key(other));
        for (key, value) in &one {
            let path = format!("{path}[{key}]");
            match other.get(key) {
                Some(other) => self.values(&path, value, other),
                None => self.add(&path, Some(value), None),
            }
        }
        for (key, value) in other.iter().filter(|(key, _)| !one.contains_key(*key)) {
            self.add(&format!("{path}[{key}]"), None, Some(value));
        }
    }
}

fn member(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

#[cfg(test)]
mod tests {
    use situ_schema::Schema;
    use situ_schema::dynamic::from_text;

    use super::*;

    #[test]
    fn differences_are_named_by_their_paths() {
        let idl = "struct P { double x; }; struct M { string name; sequence<P> poses; sequence<octet> raw; \
                   map<string, P> by_name; @optional P one; };";
        let schema = Schema::from_idl(idl).unwrap();
        let of = |text: &str| from_text(&schema, schema.find("M").unwrap(), text).unwrap();
        let one = of("{name: a, poses: [{x: 1}, {x: 2}], raw: [1, 2], by_name: {p: {x: 1}, q: {x: 2}}}");
        let other =
            of("{name: b, poses: [{x: 1}], raw: [1, 3, 4], by_name: {q: {x: 3}, r: {x: 4}}, one: {x: 5}}");
        let mut differences = Differences::default();
        differences.values("", &one, &other);
        let found: Vec<(&str, Option<&str>, Option<&str>)> = differences
            .found
            .iter()
            .map(|it| (it.path.as_str(), it.one.as_deref(), it.other.as_deref()))
            .collect();
        let expected = [
            ("name", Some("a"), Some("b")),
            ("poses[1]", Some("{\"x\":2.0}"), None),
            ("raw[1]", Some("2"), Some("3")),
            ("raw[2]", None, Some("4")),
            ("by_name[\"p\"]", Some("{\"x\":1.0}"), None),
            ("by_name[\"q\"].x", Some("2.0"), Some("3.0")),
            ("by_name[\"r\"]", None, Some("{\"x\":4.0}")),
            ("one", None, Some("{\"x\":5.0}")),
        ];
        assert_eq!(found, expected);
        // Values equal themselves, also if a number in them is not one.
        let strange = of("{poses: [{x: .nan}, {x: 2}]}");
        for value in [&one, &strange] {
            let mut equal = Differences::default();
            equal.values("", value, value);
            assert_eq!(equal.count, 0, "{:?}", equal.found);
        }
    }
}
