//! The lines of the layout of described types, with the layout hash and the table of versions that follow
//! from them: `spec/region.md`.

use std::collections::HashSet;

use crate::dynamic::types::{Kind, TypeNumber, Types, TypesError};
use crate::image::sha256::sha256_u64;
use crate::image::versions::{history_of, key_of, next_in_history, table_with};

/// The lines of some types during their construction.
struct Lines<'t> {
    types: &'t Types,
    text: String,
    /// The structs and unions whose lines are written.
    written: HashSet<TypeNumber>,
    /// The appendable structs found so far, if they are collected.
    appendable: Option<Vec<TypeNumber>>,
}

/// The layout hash, and the tables of versions: that of packed images is the second.
pub(crate) fn hashes(types: &Types) -> Result<(u64, [Vec<u8>; 2]), TypesError> {
    let mut lines = Lines::new(types, false);
    lines.needed(types.root);
    let text = format!("region-v2 {}\n{}", types.kind_text(types.root), lines.text);
    let mut all = Lines::new(types, true);
    all.needed(types.root);
    let appendable = all.appendable.unwrap_or_default();
    let mut names = HashSet::new();
    if let Some(twin) = appendable.iter().map(|it| types.kind_text(*it)).find(|it| !names.insert(it.clone()))
    {
        return Err(TypesError::Twin(twin));
    }
    let versions: Vec<_> = appendable.iter().map(|it| version(types, *it)).collect();
    let packed = appendable.iter().zip(&versions);
    let packed = packed.map(|(of, (key, _, history))| (*key, types.packed_size(*of), history.clone()));
    let packed = table_with(packed.collect());
    Ok((sha256_u64(text.as_bytes()), [table_with(versions), packed]))
}

/// The key, the size and the history of an appendable struct.
fn version(types: &Types, number: TypeNumber) -> (u64, u32, Vec<u64>) {
    let Kind::Struct { name, members, .. } = &types.get(number).kind else { return (0, 0, Vec::new()) };
    let mut last = history_of(name);
    let mut history = Vec::with_capacity(members.len());
    for member in members {
        let mut lines = Lines::new(types, false);
        lines.value(&format!("{name}.{}", member.name), member.ty, member.offset);
        lines.needed(member.ty);
        last = next_in_history(last, &lines.text);
        history.push(last);
    }
    (key_of(name), types.get(number).size, history)
}

impl<'t> Lines<'t> {
    fn new(types: &'t Types, collects: bool) -> Self {
        let appendable = collects.then(Vec::new);
        Self { types, text: String::new(), written: HashSet::new(), appendable }
    }

    fn line(&mut self, path: &str, offset: u32, size: u32, align: u32, kind: &str) {
        self.text.push_str(&format!("{path} {offset} {size} {align} {kind}\n"));
    }

    /// The lines of a member, element, key or value.
    fn value(&mut self, path: &str, number: TypeNumber, offset: u32) {
        let it = self.types.get(number);
        self.line(path, offset, it.size, it.align, &self.types.kind_text(number));
        self.inner(path, number);
    }

    /// The further lines of a type.
    fn inner(&mut self, path: &str, number: TypeNumber) {
        let it = self.types.get(number);
        match &it.kind {
            Kind::Array { .. } | Kind::Vector { .. } | Kind::Set { .. } | Kind::Map { .. } => {
                self.value(&format!("{path}[]"), it.element, 0);
            }
            Kind::Entry { key, value } => {
                self.value(&format!("{path}.key"), *key, 0);
                self.value(&format!("{path}.value"), *value, it.value_at);
            }
            Kind::Optional { value } => self.value(&format!("{path}?"), *value, it.value_at),
            Kind::Unique { value } => self.pointee(&format!("{path}*"), *value, 0),
            Kind::Shared { value } => self.pointee(&format!("{path}&"), *value, it.value_at),
            Kind::Scalar { .. } | Kind::Text | Kind::Struct { .. } | Kind::Union { .. } => {}
        }
    }

    fn pointee(&mut self, path: &str, number: TypeNumber, offset: u32) {
        match &self.types.get(number).kind {
            Kind::Struct { name, appendable: true, .. } => self.line(path, offset, 0, 0, name),
            _ => self.value(path, number, offset),
        }
    }

    /// The lines of the structs and unions that a type needs, each once.
    fn needed(&mut self, number: TypeNumber) {
        let types = self.types;
        let it = types.get(number);
        match &it.kind {
            Kind::Scalar { .. } | Kind::Text => {}
            Kind::Array { element, .. } | Kind::Vector { element } => self.needed(*element),
            Kind::Set { key, .. } => self.needed(*key),
            Kind::Map { key, value, .. } | Kind::Entry { key, value } => {
                self.needed(*key);
                self.needed(*value);
            }
            Kind::Optional { value } | Kind::Unique { value } | Kind::Shared { value } => {
                self.needed(*value);
            }
            Kind::Struct { name, members, appendable } => {
                if !self.written.insert(number) {
                    return;
                }
                if *appendable {
                    self.line(name, 0, 0, 0, "appendable");
                    let Some(found) = &mut self.appendable else { return };
                    found.push(number);
                } else {
                    self.line(name, 0, it.size, it.align, "struct");
                    for member in members {
                        self.value(&format!("{name}.{}", member.name), member.ty, member.offset);
                    }
                }
                members.iter().for_each(|member| self.needed(member.ty));
            }
            Kind::Union { name, discriminator, cases, .. } => {
                if !self.written.insert(number) {
                    return;
                }
                self.line(name, 0, it.size, it.align, "union");
                let size = discriminator.size();
                self.line(&format!("{name}.discriminator"), 0, size, size, discriminator.kind());
                for case in cases {
                    let mut labels = case.labels.clone();
                    labels.sort_unstable();
                    let mut all: Vec<_> = labels.iter().map(i128::to_string).collect();
                    if case.is_default {
                        all.push("default".to_owned());
                    }
                    let (path, of) = (format!("{name}.{}", case.name), types.get(case.ty));
                    let kind = format!("{}:{}", all.join(","), types.kind_text(case.ty));
                    self.line(&path, it.value_at, of.size, of.align, &kind);
                    self.inner(&path, case.ty);
                }
                cases.iter().for_each(|case| self.needed(case.ty));
            }
        }
    }
}
