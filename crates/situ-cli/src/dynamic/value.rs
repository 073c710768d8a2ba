//! A message as a tree of values: what is read without compiled-in types.

use std::borrow::Cow;

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

/// Any value of any message.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `boolean`.
    Bool(bool),
    /// A signed integer.
    Signed(i64),
    /// An unsigned integer, a byte, a wide character.
    Unsigned(u64),
    /// `float`.
    Float(f32),
    /// `double`.
    Double(f64),
    /// `char`.
    Char(u8),
    /// A string or wide string.
    Text(String),
    /// An enumerator: its name, unless the value has none.
    Enum {
        /// The name.
        name: Option<String>,
        /// The value.
        value: i32,
    },
    /// A bitmask: the names of the flags that are set.
    Bits {
        /// The names.
        names: Vec<String>,
        /// The value.
        value: u64,
    },
    /// A sequence or array; fewer `items` than `len` when it was shortened.
    List {
        /// The elements.
        items: Vec<Value>,
        /// How many there are.
        len: u64,
    },
    /// A sequence or array of bytes; less `data` than `len` when it was shortened.
    Bytes {
        /// The bytes.
        data: Vec<u8>,
        /// How many there are.
        len: u64,
    },
    /// A map.
    Map(Vec<(Value, Value)>),
    /// A struct; a union is one of its discriminator and the member that it selects.
    Struct(Vec<(String, Value)>),
    /// An optional member that is not there.
    Absent,
}

impl Value {
    /// A list with nothing left out.
    pub fn list(items: Vec<Value>) -> Self {
        let len = items.len() as u64;
        Value::List { items, len }
    }

    /// The value that a path such as `header.stamp` or `points[3].x` leads to.
    pub fn at(&self, path: &str) -> Option<Cow<'_, Value>> {
        let mut value = Cow::Borrowed(self);
        for step in path.split('.') {
            let (name, indices) = step.split_once('[').map_or((step, None), |(n, i)| (n, Some(i)));
            if !name.is_empty() {
                value = value.step(|v| match v {
                    Value::Struct(members) => members.iter().find(|(n, _)| n == name).map(|(_, v)| v),
                    _ => None,
                })?;
            }
            for index in indices.into_iter().flat_map(|i| i.split('[')) {
                let index: usize = index.strip_suffix(']')?.parse().ok()?;
                if let Value::Bytes { data, .. } = &*value {
                    value = Cow::Owned(Value::Unsigned(u64::from(*data.get(index)?)));
                } else {
                    value = value
                        .step(|v| if let Value::List { items, .. } = v { items.get(index) } else { None })?;
                }
            }
        }
        Some(value)
    }

    /// The number of elements, and those that were kept as values.
    fn as_list(&self, limit: usize) -> Option<(u64, Cow<'_, [Value]>)> {
        match self {
            Value::List { items, len } => Some((*len, Cow::Borrowed(&items[..items.len().min(limit)]))),
            Value::Bytes { data, len } => {
                Some((*len, data.iter().take(limit).map(|&b| Value::Unsigned(b.into())).collect()))
            }
            _ => None,
        }
    }

    /// The value as the label of a union's case.
    pub fn as_label(&self) -> Option<i128> {
        Some(match self {
            Value::Bool(v) => i128::from(*v),
            Value::Signed(v) => i128::from(*v),
            Value::Unsigned(v) => i128::from(*v),
            Value::Char(v) => i128::from(*v),
            Value::Enum { value, .. } => i128::from(*value),
            _ => return None,
        })
    }

    fn is_scalar(&self) -> bool {
        !matches!(self, Value::List { .. } | Value::Bytes { .. } | Value::Map(_) | Value::Struct(_))
    }

    fn is_long_text(&self) -> bool {
        matches!(self, Value::Text(text) if text.len() > 24)
    }

    /// The value as text for people, in the manner of YAML: a line per member, short lists on one line, at most `limit`
    /// elements of each list and characters of each string.
    pub fn to_text(&self, limit: usize) -> String {
        let mut text = String::new();
        match self {
            Value::Struct(_) | Value::Map(_) => self.write_block(&mut text, 0, limit),
            _ => {
                self.write_inline(&mut text, limit);
                text.push('\n');
            }
        }
        text
    }

    fn write_block(&self, out: &mut String, indent: usize, limit: usize) {
        let pad = |out: &mut String, depth: usize| out.push_str(&"  ".repeat(depth));
        match self {
            Value::Struct(members) if members.is_empty() => {
                pad(out, indent);
                out.push_str("{}\n");
            }
            Value::Struct(members) => {
                for (name, value) in members {
                    pad(out, indent);
                    out.push_str(name);
                    value.write_after_name(out, indent, limit);
                }
            }
            Value::Map(entries) => {
                for (key, value) in entries {
                    pad(out, indent);
                    key.write_inline(out, limit);
                    value.write_after_name(out, indent, limit);
                }
            }
            Value::List { items, len } => {
                let shown = items.len().min(limit);
                for item in &items[..shown] {
                    pad(out, indent);
                    out.push('-');
                    if item.fits_inline() {
                        out.push(' ');
                        item.write_inline(out, limit);
                        out.push('\n');
                    } else {
                        out.push('\n');
                        item.write_block(out, indent + 1, limit);
                    }
                }
                if *len > shown as u64 {
                    pad(out, indent);
                    out.push_str(&format!("- … {len} in all\n"));
                }
            }
            _ => {
                pad(out, indent);
                self.write_inline(out, limit);
                out.push('\n');
            }
        }
    }

    fn write_after_name(&self, out: &mut String, indent: usize, limit: usize) {
        out.push(':');
        if self.fits_inline() {
            out.push(' ');
            self.write_inline(out, limit);
            out.push('\n');
        } else {
            out.push('\n');
            self.write_block(out, indent + 1, limit);
        }
    }

    /// Scalars, lists of scalars, and small structs of scalars stand on one line.
    fn fits_inline(&self) -> bool {
        match self {
            Value::Bytes { .. } => true,
            Value::List { items, .. } => items.iter().all(Value::is_scalar),
            Value::Struct(members) => {
                members.len() <= 4 && members.iter().all(|(_, v)| v.is_scalar() && !v.is_long_text())
            }
            Value::Map(entries) => entries.is_empty(),
            _ => true,
        }
    }

    fn write_inline(&self, out: &mut String, limit: usize) {
        match self {
            Value::Bool(v) => out.push_str(&v.to_string()),
            Value::Signed(v) => out.push_str(&v.to_string()),
            Value::Unsigned(v) => out.push_str(&v.to_string()),
            Value::Float(v) => out.push_str(&format!("{v:?}")),
            Value::Double(v) => out.push_str(&format!("{v:?}")),
            Value::Char(v) => out.push_str(&format!("{:?}", char::from(*v))),
            Value::Text(v) => {
                let shown: String = v.chars().take(limit.max(16)).collect();
                out.push_str(&format!("{shown:?}"));
                if shown.len() < v.len() {
                    out.push_str(&format!("… {} bytes in all", v.len()));
                }
            }
            Value::Enum { name: Some(name), .. } => out.push_str(name),
            Value::Enum { name: None, value } => out.push_str(&format!("{value} (no enumerator)")),
            Value::Bits { names, value } if names.is_empty() => out.push_str(&format!("{value:#x}")),
            Value::Bits { names, .. } => out.push_str(&names.join(" | ")),
            Value::Absent => out.push_str("(absent)"),
            Value::List { .. } | Value::Bytes { .. } => {
                let (len, shown) = self.as_list(limit).unwrap_or_default();
                out.push('[');
                for (index, item) in shown.iter().enumerate() {
                    if index > 0 {
                        out.push_str(", ");
                    }
                    item.write_inline(out, limit);
                }
                if len > shown.len() as u64 {
                    out.push_str(if shown.is_empty() { "" } else { ", " });
                    out.push_str(&format!("… {len} in all"));
                }
                out.push(']');
            }
            Value::Struct(members) => {
                out.push('{');
                for (index, (name, value)) in members.iter().enumerate() {
                    if index > 0 {
                        out.push_str(", ");
                    }
                    out.push_str(name);
                    out.push_str(": ");
                    value.write_inline(out, limit);
                }
                out.push('}');
            }
            Value::Map(entries) => {
                out.push('{');
                for (index, (key, value)) in entries.iter().enumerate() {
                    if index > 0 {
                        out.push_str(", ");
                    }
                    key.write_inline(out, limit);
                    out.push_str(": ");
                    value.write_inline(out, limit);
                }
                out.push('}');
            }
        }
    }

    /// The key of a JSON object that this key of a map becomes.
    fn as_json_key(&self) -> String {
        match self {
            Value::Text(text) => text.clone(),
            other => {
                let mut text = String::new();
                other.write_inline(&mut text, usize::MAX);
                text
            }
        }
    }
}

/// A step from a value into a part of it, borrowed if the value is.
trait Step<'a> {
    fn step(self, select: impl Fn(&Value) -> Option<&Value>) -> Option<Cow<'a, Value>>;
}

impl<'a> Step<'a> for Cow<'a, Value> {
    fn step(self, select: impl Fn(&Value) -> Option<&Value>) -> Option<Cow<'a, Value>> {
        match self {
            Cow::Borrowed(value) => select(value).map(Cow::Borrowed),
            Cow::Owned(value) => select(&value).cloned().map(Cow::Owned),
        }
    }
}

/// As JSON: structs and maps are objects, sequences and arrays are arrays, enumerators and flags are named, what is absent
/// or no number is null.
impl Serialize for Value {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        match self {
            Value::Bool(v) => out.serialize_bool(*v),
            Value::Signed(v) => out.serialize_i64(*v),
            Value::Unsigned(v) => out.serialize_u64(*v),
            Value::Float(v) => out.serialize_f32(*v),
            Value::Double(v) => out.serialize_f64(*v),
            Value::Char(v) => out.serialize_char(char::from(*v)),
            Value::Text(v) => out.serialize_str(v),
            Value::Enum { name: Some(name), .. } => out.serialize_str(name),
            Value::Enum { name: None, value } => out.serialize_i32(*value),
            Value::Bits { names, value } if names.is_empty() => out.serialize_u64(*value),
            Value::Bits { names, .. } => names.serialize(out),
            Value::Absent => out.serialize_none(),
            Value::Bytes { data, .. } => data.serialize(out),
            Value::List { items, .. } => {
                let mut list = out.serialize_seq(Some(items.len()))?;
                for item in items {
                    list.serialize_element(item)?;
                }
                list.end()
            }
            Value::Struct(members) => {
                let mut object = out.serialize_map(Some(members.len()))?;
                for (name, value) in members {
                    object.serialize_entry(name, value)?;
                }
                object.end()
            }
            Value::Map(entries) => {
                let mut object = out.serialize_map(Some(entries.len()))?;
                for (key, value) in entries {
                    object.serialize_entry(&key.as_json_key(), value)?;
                }
                object.end()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Value {
        let number = |n: &str, v| (n.to_owned(), Value::Unsigned(v));
        Value::Struct(vec![
            (
                "header".into(),
                Value::Struct(vec![
                    ("stamp".into(), Value::Struct(vec![number("sec", 7), number("nanosec", 5)])),
                    ("frame_id".into(), Value::Text("front".into())),
                ]),
            ),
            ("data".into(), Value::list((0..5).map(Value::Unsigned).collect())),
            ("raw".into(), Value::Bytes { data: vec![8, 9], len: 7 }),
            (
                "poses".into(),
                Value::list(vec![Value::Struct(vec![("name".into(), Value::Text("a".into()))])]),
            ),
            ("mode".into(), Value::Enum { name: Some("FAST".into()), value: 1 }),
            ("extra".into(), Value::Absent),
        ])
    }

    #[test]
    fn text_reads_like_yaml() {
        let expected = "\
header:
  stamp: {sec: 7, nanosec: 5}
  frame_id: \"front\"
data: [0, 1, 2, … 5 in all]
raw: [8, 9, … 7 in all]
poses:
  - {name: \"a\"}
mode: FAST
extra: (absent)
";
        assert_eq!(sample().to_text(3), expected);
    }

    #[test]
    fn json_names_enumerators_and_keeps_the_order() {
        assert_eq!(
            serde_json::to_string(&sample()).unwrap(),
            r#"{"header":{"stamp":{"sec":7,"nanosec":5},"frame_id":"front"},"data":[0,1,2,3,4],"raw":[8,9],"poses":[{"name":"a"}],"mode":"FAST","extra":null}"#
        );
        let odd = Value::list(vec![Value::Float(f32::NAN), Value::Double(0.1), Value::Float(0.1)]);
        assert_eq!(serde_json::to_string(&odd).unwrap(), "[null,0.1,0.1]");
        let map = Value::Map(vec![(Value::Signed(-1), Value::Bool(true))]);
        assert_eq!(serde_json::to_string(&map).unwrap(), r#"{"-1":true}"#);
    }

    #[test]
    fn paths_lead_into_structs_and_lists() {
        let sample = sample();
        let at = |path: &str| sample.at(path).map(Cow::into_owned);
        assert_eq!(at("header.stamp.sec"), Some(Value::Unsigned(7)));
        assert_eq!(at("data[4]"), Some(Value::Unsigned(4)));
        assert_eq!(at("raw[1]"), Some(Value::Unsigned(9)));
        assert_eq!(at("poses[0].name"), Some(Value::Text("a".into())));
        for wrong in ["data[5]", "raw[2]", "data[-1]", "data[0", "nothing", "mode.x", "header[0]"] {
            assert_eq!(at(wrong), None, "{wrong}");
        }
    }
}
