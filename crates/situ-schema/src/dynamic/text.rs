//! Values from YAML or JSON text. Members that are not mentioned hold their defaults.

use std::collections::HashSet;

use super::defaults::{Defaults, bitmask_value, discriminator_value, enum_value, list};
use super::error::{ReadError, TextError};
use super::tree::{Tree, TreeKind, parse};
use super::value::{Record, Value};
use super::{Budget, Names, Shape, all_members, count, nested, shape};
use crate::model::{Bitmask, Enum, Kind, Member, Primitive, Type, TypeId, Union};
use crate::schema::Schema;
use crate::source::diagnostic::did_you_mean;

type Outcome<T> = Result<T, TextError>;

/// Reads a value from YAML or JSON. Structs and maps are maps, and sequences and arrays are lists.
/// Enumerators are names or numbers. Bitmasks are a list of flags, `A | B`, or a number. Absent optional
/// members are `null`. A union is a map of the selected case and, if several labels select it, of
/// `discriminator`.
pub fn from_text(schema: &Schema, id: TypeId, text: &str) -> Outcome<Value> {
    let defaults = Defaults { schema, names: Names::default(), budget: Budget::new(text.len()) };
    let mut reader = TextReader { schema, defaults };
    let tree = parse(text)?;
    let empty = Tree { kind: TreeKind::Map(Vec::new()), line: 1, column: 1 };
    let tree =
        tree.filter(|it| !matches!(&it.kind, TreeKind::Scalar { text, quoted: false } if text.is_empty()));
    reader.value(&Type::Named(id), &tree.unwrap_or(empty))
}

struct TextReader<'s> {
    schema: &'s Schema,
    defaults: Defaults<'s>,
}

/// An integer in decimal, or with `0x`, `0o` or `0b` in front.
fn integer(text: &str) -> Option<i128> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let radix = [("0x", 16), ("0X", 16), ("0o", 8), ("0b", 2)];
    let (digits, radix) = radix
        .iter()
        .find_map(|(prefix, radix)| Some((digits.strip_prefix(prefix)?, *radix)))
        .unwrap_or((digits, 10));
    if !digits.starts_with(|c: char| c.is_ascii_hexdigit()) {
        return None;
    }
    let value = i128::from_str_radix(digits, radix).ok()?;
    Some(if negative { -value } else { value })
}

fn float(text: &str) -> Option<f64> {
    match text.to_ascii_lowercase().trim_start_matches('+') {
        ".inf" | "inf" => Some(f64::INFINITY),
        "-.inf" | "-inf" => Some(f64::NEG_INFINITY),
        ".nan" | "nan" => Some(f64::NAN),
        text if text.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '.') => {
            text.parse().ok().filter(|it: &f64| it.is_finite())
        }
        _ => None,
    }
}

/// Whether a scalar means null.
fn is_null(tree: &Tree) -> bool {
    matches!(&tree.kind, TreeKind::Scalar { text, quoted: false } if matches!(text.as_str(), "" | "~" | "null" | "Null"))
}

fn mismatch(tree: &Tree, expected: &str, help: &str) -> TextError {
    tree.error(format!("expected {expected}, found {}", tree.describe()), help)
}

fn within(tree: &Tree, length: usize, bound: Option<u32>, unit: &str) -> Outcome<()> {
    match bound {
        Some(bound) if length > bound as usize => {
            let message = format!("{length} {unit}, but the bound is {bound}");
            Err(tree.error(message, format!("give at most {bound} {unit}")))
        }
        _ => Ok(()),
    }
}

impl<'s> TextReader<'s> {
    /// A new value.
    fn default_of(
        &mut self,
        tree: &Tree,
        make: impl FnOnce(&mut Defaults<'s>) -> Result<Value, super::ReadError>,
    ) -> Outcome<Value> {
        make(&mut self.defaults)
            .map_err(|error| tree.error(error.to_string(), "the type is too large to be written as text"))
    }

    fn value(&mut self, ty: &'s Type, tree: &Tree) -> Outcome<Value> {
        let schema = self.schema;
        match shape(schema, ty) {
            Shape::Primitive(primitive) => self.primitive(primitive, tree),
            Shape::Text { bound } => {
                let text = self.text(tree)?;
                within(tree, text.len(), bound, "bytes")?;
                Ok(Value::Text(text))
            }
            Shape::WideText { bound } => {
                let units: Vec<u16> = self.text(tree)?.encode_utf16().collect();
                within(tree, units.len(), bound, "UTF-16 units")?;
                Ok(Value::WideText(units))
            }
            Shape::Sequence { element, bound } => {
                let elements = self.elements(element, tree)?;
                within(tree, elements.len(), bound, "elements")?;
                list(schema, element, elements)
                    .map_err(|error| tree.error(error.to_string(), "write a shorter list"))
            }
            Shape::Array { element, dimensions } => {
                let mut elements = Vec::new();
                self.array(element, &dimensions, tree, &mut elements)?;
                let budget = &mut self.defaults.budget;
                let nested = list(schema, element, elements).map_err(ReadError::from);
                nested
                    .and_then(|elements| nested::nest(elements, &dimensions, budget))
                    .map_err(|error| tree.error(error.to_string(), "write a shorter list"))
            }
            Shape::Map { key, value, bound } => {
                let TreeKind::Map(entries) = &tree.kind else {
                    return Err(mismatch(tree, "a map", "write {key: value, ...}"));
                };
                within(tree, entries.len(), bound, "entries")?;
                let mut result = Vec::with_capacity(entries.len());
                for (index, (k, v)) in entries.iter().enumerate() {
                    let k = &self.unquoted_key(key, k);
                    let entry = self.value(key, k).and_then(|key| Ok((key, self.value(value, v)?)));
                    result.push(entry.map_err(|error| error.in_element(index))?);
                }
                Ok(Value::Map(result))
            }
            Shape::Definition(id, kind) => match kind {
                Kind::Struct(_) => self.record(id, tree),
                Kind::Union(it) => self.union(it, tree),
                Kind::Enum(it) => enumerator(it, tree),
                Kind::Bitmask(it) => bitmask(it, tree),
                Kind::Alias(ty) => self.value(ty, tree),
            },
        }
    }

    /// JSON has keys in quotes only: for keys that are not text the quotes mean nothing.
    fn unquoted_key(&self, ty: &'s Type, key: &Tree) -> Tree {
        let mut key = key.clone();
        if let (TreeKind::Scalar { quoted, .. }, Shape::Primitive(primitive)) =
            (&mut key.kind, shape(self.schema, ty))
        {
            *quoted &= matches!(primitive, Primitive::Char8 | Primitive::WChar);
        }
        key
    }

    fn text(&self, tree: &Tree) -> Outcome<String> {
        match &tree.kind {
            TreeKind::Scalar { text, .. } if text.contains('\0') => {
                Err(tree.error("text cannot hold a zero character", "leave it out"))
            }
            TreeKind::Scalar { text, .. } => Ok(text.clone()),
            _ => Err(mismatch(
                tree,
                "text",
                "write text, in quotes if it has other characters than letters and digits",
            )),
        }
    }

    fn primitive(&self, primitive: Primitive, tree: &Tree) -> Outcome<Value> {
        let TreeKind::Scalar { text, quoted } = &tree.kind else {
            return Err(mismatch(tree, &format!("a value of the type {}", primitive.idl()), ""));
        };
        let wrong =
            |help: &str| Err(mismatch(tree, &format!("a value of the type {}", primitive.idl()), help));
        if primitive == Primitive::Bool {
            return match text.to_ascii_lowercase().as_str() {
                "true" | "1" if !quoted => Ok(Value::Bool(true)),
                "false" | "0" if !quoted => Ok(Value::Bool(false)),
                _ => wrong("write true or false"),
            };
        }
        if primitive.is_float() {
            let number =
                if *quoted { None } else { float(text).or_else(|| integer(text).map(|it| it as f64)) };
            return match (number, primitive) {
                (None, _) => wrong("write a number such as 1.5, .inf or .nan"),
                (Some(number), Primitive::F32) if number.is_finite() && (number as f32).is_infinite() => {
                    wrong("it is too large for a float")
                }
                (Some(number), Primitive::F32) => Ok(Value::Float(number as f32)),
                (Some(number), _) => Ok(Value::Double(number)),
            };
        }
        let mut characters = text.chars();
        let single = match (characters.next(), characters.next()) {
            (Some(only), None) => Some(i128::from(u32::from(only))),
            _ => None,
        };
        let is_character = matches!(primitive, Primitive::Char8 | Primitive::WChar);
        let number = match (is_character, quoted) {
            (true, true) => single,
            (true, false) => integer(text).or(single),
            (false, true) => None,
            (false, false) => integer(text),
        };
        let Some(number) = number else {
            return wrong(if is_character {
                "write one character, or its number"
            } else {
                "write an integer"
            });
        };
        let (smallest, largest) = primitive.integer_range().unwrap_or((0, 0));
        if number < smallest || number > largest {
            let message = format!("{number} does not fit the type {}", primitive.idl());
            return Err(tree.error(message, format!("the range is {smallest} to {largest}")));
        }
        Ok(discriminator_value(self.schema, &Type::Primitive(primitive), number))
    }

    fn elements(&mut self, element: &'s Type, tree: &Tree) -> Outcome<Vec<Value>> {
        match &tree.kind {
            TreeKind::List(elements) => {
                let each = elements.iter().enumerate();
                each.map(|(index, it)| self.value(element, it).map_err(|error| error.in_element(index)))
                    .collect()
            }
            _ => Err(mismatch(tree, "a list", "write [a, b, ...]")),
        }
    }

    /// Appends the elements of an array. Those of several dimensions may also be one list without inner
    /// lists.
    fn array(
        &mut self,
        element: &'s Type,
        dimensions: &[u32],
        tree: &Tree,
        elements: &mut Vec<Value>,
    ) -> Outcome<()> {
        let TreeKind::List(given) = &tree.kind else {
            return Err(mismatch(tree, "a list", "write [a, b, ...]"));
        };
        let is_list = |it: &Tree| matches!(it.kind, TreeKind::List(_));
        let all = count(dimensions);
        let is_row = given.len() as u64 == all && !given.iter().any(is_list);
        let (length, inner) = match dimensions {
            [length, inner @ ..] if !is_row => (u64::from(*length), inner),
            _ => (all, [].as_slice()),
        };
        if given.len() as u64 != length {
            let message = format!("{} elements, but the array has {length}", given.len());
            return Err(tree.error(message, format!("give exactly {length} elements")));
        }
        for (index, it) in given.iter().enumerate() {
            let added = match inner {
                [] => self.value(element, it).map(|value| elements.push(value)),
                inner => self.array(element, inner, it, elements),
            };
            added.map_err(|error| error.in_element(index))?;
        }
        Ok(())
    }

    fn record(&mut self, id: TypeId, tree: &Tree) -> Outcome<Value> {
        let TreeKind::Map(entries) = &tree.kind else {
            return Err(mismatch(tree, "the members of a struct", "write {member: value, ...}"));
        };
        let schema = self.schema;
        let members = all_members(schema, id);
        let names = self.defaults.names.of(schema, id);
        let mut given: Vec<Option<&Tree>> = vec![None; members.len()];
        for (key, value) in entries {
            let name = match &key.kind {
                TreeKind::Scalar { text, .. } => text.as_str(),
                _ => return Err(mismatch(key, "the name of a member", "")),
            };
            let Some(at) = names.iter().position(|it| it == name) else {
                let message = format!("`{}` has no member `{name}`", schema.name(id));
                let help = match did_you_mean(name, names.iter().map(String::as_str)) {
                    Some(meant) => format!("did you mean `{meant}`?"),
                    None => format!("it has {}", names.join(", ")),
                };
                return Err(key.error(message, help));
            };
            if given[at].replace(value).is_some() {
                return Err(key.error(format!("the member `{name}` appears twice"), "delete one of them"));
            }
        }
        let mut values = Vec::with_capacity(members.len());
        for (member, given) in members.into_iter().zip(given) {
            let value = match given {
                Some(given) => self.member(member, given),
                None => self.default_of(tree, |defaults| defaults.member(member)),
            };
            values.push(value.map_err(|error| error.in_member(&member.name))?);
        }
        Ok(Value::Record(Record { names, values }))
    }

    fn member(&mut self, member: &'s Member, tree: &Tree) -> Outcome<Value> {
        if !member.optional {
            return self.value(&member.ty, tree);
        }
        if is_null(tree) {
            return Ok(Value::Optional(None));
        }
        if member.is_weak() {
            let help =
                "write `null`, or leave it out: a weak link leads to a value that is elsewhere in the region";
            return Err(tree.error(format!("the weak link `{}` has no text", member.name), help));
        }
        Ok(Value::Optional(Some(Box::new(self.value(&member.ty, tree)?))))
    }

    fn union(&mut self, it: &'s Union, tree: &Tree) -> Outcome<Value> {
        let names: Vec<&str> = it.cases.iter().map(|it| it.member.name.as_str()).collect();
        let TreeKind::Map(entries) = &tree.kind else {
            let help = format!("write {{case: value}} with one of {}", names.join(", "));
            return Err(mismatch(tree, "a union", &help));
        };
        let (mut discriminator, mut chosen) = (None, None);
        for (key, value) in entries {
            let name = match &key.kind {
                TreeKind::Scalar { text, .. } => text.as_str(),
                _ => return Err(mismatch(key, "the name of a case", "")),
            };
            match names.iter().position(|it| *it == name) {
                Some(at) if chosen.is_none() => chosen = Some((at, value)),
                Some(_) => return Err(key.error("a union has one case at a time", "delete the others")),
                None if name == "discriminator" && discriminator.is_none() => {
                    let value = self.value(&it.discriminator, value);
                    discriminator = Some(value.map_err(|error| error.in_member("discriminator"))?);
                }
                None => {
                    let help = format!("it has discriminator, {}", names.join(", "));
                    return Err(key.error(format!("the union has no case `{name}`"), help));
                }
            }
        }
        let schema = self.schema;
        let number = match (&discriminator, chosen) {
            (Some(given), _) => given.as_integer().unwrap_or(0),
            (None, Some((at, _))) => {
                let label = it.cases[at].labels.first().copied().or_else(|| schema.unlabelled(it));
                label.ok_or_else(|| tree.error("no discriminator selects this case", "give another case"))?
            }
            (None, None) => schema.default_discriminator(it),
        };
        let selected = it.case_of(number);
        let case = match (selected, chosen) {
            (Some(selected), Some((at, value))) if selected == at => {
                let member = &it.cases[at].member;
                let value = self.value(&member.ty, value).map_err(|error| error.in_member(&member.name))?;
                Some((member.name.clone(), Box::new(value)))
            }
            (_, Some((at, _))) => {
                let message = format!("the discriminator {number} does not select the case `{}`", names[at]);
                return Err(tree.error(message, "leave the discriminator out, or give another case"));
            }
            (Some(selected), None) => {
                let member = &it.cases[selected].member;
                let value = self.default_of(tree, |defaults| defaults.of(&member.ty))?;
                Some((member.name.clone(), Box::new(value)))
            }
            (None, None) => None,
        };
        let discriminator = discriminator_value(schema, &it.discriminator, number);
        Ok(Value::Union { discriminator: Box::new(discriminator), case })
    }
}

fn enumerator(it: &Enum, tree: &Tree) -> Outcome<Value> {
    let TreeKind::Scalar { text, .. } = &tree.kind else { return Err(mismatch(tree, "an enumerator", "")) };
    let named = it.enumerators.iter().find(|it| it.name == *text).map(|it| it.value);
    let value = named.or_else(|| integer(text).and_then(|it| i32::try_from(it).ok()));
    match value {
        Some(value) => Ok(enum_value(it, value)),
        None => {
            let meant = did_you_mean(text, it.enumerators.iter().map(|it| it.name.as_str()));
            let names: Vec<&str> = it.enumerators.iter().take(16).map(|it| it.name.as_str()).collect();
            let help = meant
                .map_or(format!("write one of {}", names.join(", ")), |it| format!("did you mean `{it}`?"));
            Err(mismatch(tree, "an enumerator", &help))
        }
    }
}

fn bitmask(it: &Bitmask, tree: &Tree) -> Outcome<Value> {
    let names: Vec<&str> = it.flags.iter().map(|it| it.name.as_str()).collect();
    let flag = |tree: &Tree, name: &str| match it.flags.iter().find(|it| it.name == name) {
        Some(flag) => Ok(1u64 << flag.position),
        None => {
            Err(tree.error(format!("there is no flag `{name}`"), format!("there are {}", names.join(", "))))
        }
    };
    let bits = match &tree.kind {
        TreeKind::Scalar { text, .. } => match integer(text) {
            Some(bits) => {
                let limit = 1i128 << it.bit_bound;
                match u64::try_from(bits) {
                    Ok(small) if bits < limit => small,
                    _ => return Err(tree.error(format!("{bits} has more than {} bits", it.bit_bound), "")),
                }
            }
            None => {
                let named = text.split('|').map(str::trim).filter(|it| !it.is_empty());
                named.map(|name| flag(tree, name)).try_fold(0, |bits, it| Ok(bits | it?))?
            }
        },
        TreeKind::List(elements) => {
            let mut bits = 0;
            let mut seen = HashSet::new();
            for element in elements {
                let TreeKind::Scalar { text, .. } = &element.kind else {
                    return Err(mismatch(element, "the name of a flag", ""));
                };
                if !seen.insert(text) {
                    return Err(
                        element.error(format!("the flag `{text}` appears twice"), "delete one of them")
                    );
                }
                bits |= flag(element, text)?;
            }
            bits
        }
        TreeKind::Map(_) => return Err(mismatch(tree, "flags", "write [A, B]")),
    };
    Ok(bitmask_value(it, bits))
}
