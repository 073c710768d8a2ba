//! Values as YAML and JSON.

use std::fmt::Write;

use situ_layout::foreign::is_steering;

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

use super::all_members;
use super::value::{Numbers, Value, each};
use crate::model::{Kind, Member, Type, TypeId};
use crate::schema::Schema;

/// A type, if it is known.
type Typed<'s> = Option<(&'s Schema, &'s Type)>;

/// How values are printed.
#[derive(Debug, Clone, Default)]
pub struct PrintOptions {
    /// After how many elements a sequence, array or map is cut off; `None` prints all.
    pub max_elements: Option<usize>,
    /// After how many characters text is cut off; `None` prints all.
    pub max_text: Option<usize>,
}

impl Value {
    /// As YAML, as `ros2 topic echo` prints it, but for numbers in one line: `data: [1, 2, 3]`. If elements
    /// are cut off, a comment says how many there are: `[1, 2, '...'] # 512 elements`.
    pub fn to_yaml(&self, options: &PrintOptions) -> String {
        self.print(options, None)
    }

    /// As [`to_yaml`](Self::to_yaml), with the units of members (`@unit`) as comments: `x: 1.5 # m`. The
    /// value must be one of the type `id`; otherwise units are missing.
    pub fn to_yaml_with_units(&self, options: &PrintOptions, schema: &Schema, id: TypeId) -> String {
        self.print(options, Some((schema, &Type::Named(id))))
    }

    fn print(&self, options: &PrintOptions, of: Typed<'_>) -> String {
        let mut printer = Printer { options, text: String::new() };
        match self {
            Self::Record(_) | Self::Union { .. } | Self::Map(_) => printer.block(self, 0, of),
            Self::List(values) if !values.is_empty() => printer.block(self, 0, of),
            other => {
                printer.inline(other);
                printer.text.push('\n');
            }
        }
        printer.text
    }

    /// As JSON, in one line and complete. Enumerators are names (numbers if they have none), bitmasks lists
    /// of flags, and absent optional members `null`. Infinite numbers and NaN are `null`, too.
    pub fn to_json(&self) -> String {
        // This cannot fail: keys are strings, and NaN becomes `null`.
        serde_json::to_string(self).unwrap_or_default()
    }
}

fn float(value: f64) -> Option<&'static str> {
    match value {
        _ if value.is_nan() => Some(".nan"),
        _ if value == f64::INFINITY => Some(".inf"),
        _ if value == f64::NEG_INFINITY => Some("-.inf"),
        _ => None,
    }
}

/// Text as YAML writes it, in quotes where it could be taken for something else.
fn yaml_text(text: &str) -> String {
    let plain = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_' || c == '/')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "_/.-".contains(c))
        && !matches!(
            text.to_ascii_lowercase().as_str(),
            "true" | "false" | "null" | "yes" | "no" | "on" | "off" | "y" | "n" | "inf" | "nan"
        );
    if plain {
        return text.to_owned();
    }
    if text.chars().any(is_steering) {
        let mut quoted = String::from("\"");
        for c in text.chars() {
            match c {
                '"' | '\\' => quoted.extend(['\\', c]),
                '\n' => quoted.push_str("\\n"),
                '\t' => quoted.push_str("\\t"),
                '\r' => quoted.push_str("\\r"),
                c if is_steering(c) && c <= '\u{ffff}' => {
                    quoted.push_str(&format!("\\u{:04x}", u32::from(c)));
                }
                c if is_steering(c) => quoted.push_str(&format!("\\U{:08x}", u32::from(c))),
                c => quoted.push(c),
            }
        }
        quoted.push('"');
        return quoted;
    }
    format!("'{}'", text.replace('\'', "''"))
}

/// A character as text, if it is printable.
fn character(unit: u16) -> Option<String> {
    char::from_u32(unit.into()).filter(|c| !is_steering(*c) && !c.is_whitespace()).map(String::from)
}

/// The type of the innermost elements of a list, or the type itself.
fn innermost(of: Typed<'_>) -> Typed<'_> {
    let (schema, ty) = of?;
    let mut ty = schema.resolve(ty);
    while let Type::Sequence { element, .. } | Type::Array { element, .. } = ty {
        ty = schema.resolve(element);
    }
    Some((schema, ty))
}

/// The member of a struct, or of a union's cases.
fn member_of<'s>(of: Typed<'s>, name: &str) -> Option<&'s Member> {
    let (schema, Type::Named(id)) = innermost(of)? else { return None };
    match &schema.definition(*id).kind {
        Kind::Struct(_) => all_members(schema, *id).into_iter().find(|it| it.name == name),
        Kind::Union(it) => it.cases.iter().map(|it| &it.member).find(|it| it.name == name),
        _ => None,
    }
}

struct Printer<'o> {
    options: &'o PrintOptions,
    text: String,
}

impl Printer<'_> {
    fn shown(&self, length: usize) -> usize {
        self.options.max_elements.map_or(length, |most| most.min(length))
    }

    fn push(&mut self, text: impl std::fmt::Display) {
        // Writing to a string cannot fail.
        let _ = write!(self.text, "{text}");
    }

    fn quote(&mut self, text: &str) {
        let most = self.options.max_text.unwrap_or(usize::MAX);
        match text.char_indices().nth(most) {
            Some((end, _)) => self.push(yaml_text(&format!("{}...", &text[..end]))),
            None => self.push(yaml_text(text)),
        }
    }

    /// A value that takes one line.
    fn inline(&mut self, value: &Value) {
        match value {
            Value::Bool(it) => self.push(it),
            Value::Signed(it) => self.push(it),
            Value::Unsigned(it) => self.push(it),
            Value::Float(it) => match float(f64::from(*it)) {
                Some(word) => self.push(word),
                None => self.push(format!("{it:?}")),
            },
            Value::Double(it) => match float(*it) {
                Some(word) => self.push(word),
                None => self.push(format!("{it:?}")),
            },
            Value::Char(it) => self.unit(u16::from(*it), it.is_ascii()),
            Value::WChar(it) => self.unit(*it, true),
            Value::Text(it) => self.quote(it),
            Value::WideText(it) => self.quote(&String::from_utf16_lossy(it)),
            Value::Enum { name: Some(name), .. } => self.push(yaml_text(name)),
            Value::Enum { value, .. } => self.push(value),
            Value::Bitmask { flags, .. } => {
                let flags: Vec<String> = flags.iter().map(|it| yaml_text(it)).collect();
                self.push(format!("[{}]", flags.join(", ")));
            }
            Value::Optional(None) => self.push("null"),
            Value::Optional(Some(it)) => self.inline(it),
            Value::Numbers(numbers) => self.numbers(numbers),
            Value::List(values) => {
                let shown = self.shown(values.len());
                self.push("[");
                for (index, value) in values[..shown].iter().enumerate() {
                    self.push(if index > 0 { ", " } else { "" });
                    self.inline(value);
                }
                self.cut(shown, values.len());
            }
            // Only empty ones are printed within a line; others have lines of their own.
            Value::Record(_) | Value::Union { .. } | Value::Map(_) => self.push("{}"),
        }
    }

    fn unit(&mut self, unit: u16, printable: bool) {
        match character(unit).filter(|_| printable) {
            // In quotes, because a digit would be read as a number otherwise.
            Some(text) => self.push(format!("'{}'", text.replace('\'', "''"))),
            None => self.push(unit),
        }
    }

    fn numbers(&mut self, numbers: &Numbers) {
        let shown = self.shown(numbers.len());
        self.push("[");
        for index in 0..shown {
            self.push(if index > 0 { ", " } else { "" });
            if let Some(number) = numbers.get(index) {
                self.inline(&number);
            }
        }
        self.cut(shown, numbers.len());
    }

    /// Closes a list, and says how many elements there are if some are cut off.
    fn cut(&mut self, shown: usize, length: usize) {
        if shown < length {
            self.push(if shown > 0 { ", " } else { "" });
            self.push(format!("'...'] # {length} elements"));
        } else {
            self.push("]");
        }
    }

    fn indent(&mut self, depth: usize) {
        self.text.push_str(&"  ".repeat(depth));
    }

    /// Whether a value needs lines of its own.
    fn is_block(value: &Value) -> bool {
        match value {
            Value::Record(record) => record.iter().len() > 0,
            Value::Map(entries) => !entries.is_empty(),
            Value::Union { .. } => true,
            Value::Optional(Some(value)) => Self::is_block(value),
            Value::List(values) => {
                let own_line =
                    |it: &Value| matches!(it, Value::List(_) | Value::Numbers(_)) || Self::is_block(it);
                values.iter().any(own_line)
            }
            _ => false,
        }
    }

    /// The entry of a struct's member or a union's case, the key being written already.
    fn member(&mut self, name: &str, value: &Value, depth: usize, of: Typed<'_>) {
        let member = member_of(of, name);
        let ty = of.zip(member).map(|((schema, _), member)| (schema, &member.ty));
        let unit = member.and_then(|it| it.unit.as_deref());
        self.entry(value, depth, ty, unit.unwrap_or_default());
    }

    /// Adds a unit to the end of a line, as a comment. The unit comes from another process.
    fn unit_of(&mut self, unit: &str, has_comment: bool) {
        if !unit.is_empty() {
            let unit: String = unit.chars().filter(|c| !is_steering(*c)).collect();
            self.push(if has_comment { ", in " } else { " # " });
            self.push(unit);
        }
    }

    /// `key:` and its value, the key being written already.
    fn entry(&mut self, value: &Value, depth: usize, of: Typed<'_>, unit: &str) {
        let value = match value {
            Value::Optional(Some(inner)) => inner,
            other => other,
        };
        if !Self::is_block(value) {
            self.push(": ");
            self.inline(value);
            let length = match value {
                Value::Numbers(numbers) => numbers.len(),
                Value::List(values) => values.len(),
                _ => 0,
            };
            self.unit_of(unit, self.shown(length) < length);
            self.push("\n");
            return;
        }
        self.push(":");
        self.unit_of(unit, false);
        self.push("\n");
        // The dashes of a list stand right under its key.
        let inner = if matches!(value, Value::List(_)) { depth } else { depth + 1 };
        self.block(value, inner, of);
    }

    /// A value in lines of its own.
    fn block(&mut self, value: &Value, depth: usize, of: Typed<'_>) {
        match value {
            Value::Record(record) => {
                for (name, value) in record.iter() {
                    self.indent(depth);
                    self.push(name);
                    self.member(name, value, depth, of);
                }
            }
            Value::Union { discriminator, case } => {
                self.indent(depth);
                self.push("discriminator");
                self.entry(discriminator, depth, None, "");
                if let Some((name, value)) = case {
                    self.indent(depth);
                    self.push(name);
                    self.member(name, value, depth, of);
                }
            }
            Value::Map(entries) => {
                let shown = self.shown(entries.len());
                let inner = innermost(of).and_then(|(schema, ty)| match ty {
                    Type::Map { value, .. } => Some((schema, &**value)),
                    _ => None,
                });
                for (key, value) in &entries[..shown] {
                    self.indent(depth);
                    self.inline(key);
                    self.entry(value, depth, inner, "");
                }
                self.rest(shown, entries.len(), depth);
            }
            Value::List(values) => {
                let shown = self.shown(values.len());
                for value in &values[..shown] {
                    self.indent(depth);
                    if !Self::is_block(value) {
                        self.push("- ");
                        self.inline(value);
                        self.push("\n");
                        continue;
                    }
                    // The dash stands in the indentation of the element's first line.
                    let start = self.text.len();
                    self.block(value, depth + 1, of);
                    self.text.replace_range(start..start + 2 * (depth + 1), "- ");
                }
                self.rest(shown, values.len(), depth);
            }
            Value::Optional(Some(inner)) => self.block(inner, depth, of),
            other => {
                self.indent(depth);
                self.inline(other);
                self.push("\n");
            }
        }
    }

    fn rest(&mut self, shown: usize, length: usize, depth: usize) {
        if shown < length {
            self.indent(depth);
            self.push(format!("# {} more of {length}\n", length - shown));
        }
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Bool(it) => serializer.serialize_bool(*it),
            Self::Signed(it) => serializer.serialize_i64(*it),
            Self::Unsigned(it) => serializer.serialize_u64(*it),
            Self::Float(it) => serializer.serialize_f32(*it),
            Self::Double(it) => serializer.serialize_f64(*it),
            Self::Char(it) => match character(u16::from(*it)).filter(|_| it.is_ascii()) {
                Some(text) => serializer.serialize_str(&text),
                None => serializer.serialize_u8(*it),
            },
            Self::WChar(it) => match character(*it) {
                Some(text) => serializer.serialize_str(&text),
                None => serializer.serialize_u16(*it),
            },
            Self::Text(it) => serializer.serialize_str(it),
            Self::WideText(it) => serializer.serialize_str(&String::from_utf16_lossy(it)),
            Self::Enum { name: Some(name), .. } => serializer.serialize_str(name),
            Self::Enum { value, .. } => serializer.serialize_i32(*value),
            Self::Bitmask { flags, .. } => flags.serialize(serializer),
            Self::Record(record) => {
                let mut map = serializer.serialize_map(Some(record.iter().len()))?;
                record.iter().try_for_each(|(name, value)| map.serialize_entry(name, value))?;
                map.end()
            }
            Self::Union { discriminator, case } => {
                let mut map = serializer.serialize_map(None)?;
                map.serialize_entry("discriminator", discriminator)?;
                if let Some((name, value)) = case {
                    map.serialize_entry(name, value)?;
                }
                map.end()
            }
            Self::Optional(it) => it.serialize(serializer),
            Self::Numbers(numbers) => each!(numbers, it => it.serialize(serializer)),
            Self::List(values) => {
                let mut list = serializer.serialize_seq(Some(values.len()))?;
                values.iter().try_for_each(|it| list.serialize_element(it))?;
                list.end()
            }
            Self::Map(entries) => {
                let mut map = serializer.serialize_map(Some(entries.len()))?;
                for (key, value) in entries {
                    map.serialize_entry(&json_key(key), value)?;
                }
                map.end()
            }
        }
    }
}

/// A key as JSON has them: text.
fn json_key(key: &Value) -> String {
    match key {
        Value::Text(it) => it.clone(),
        Value::WideText(it) => String::from_utf16_lossy(it),
        Value::Enum { name: Some(name), .. } => name.clone(),
        Value::Bool(it) => it.to_string(),
        Value::Float(it) => float(f64::from(*it)).map_or_else(|| format!("{it:?}"), str::to_owned),
        Value::Double(it) => float(*it).map_or_else(|| format!("{it:?}"), str::to_owned),
        Value::Char(it) => {
            character(u16::from(*it)).filter(|_| it.is_ascii()).unwrap_or_else(|| it.to_string())
        }
        Value::WChar(it) => character(*it).unwrap_or_else(|| it.to_string()),
        other => other.as_integer().unwrap_or(0).to_string(),
    }
}
