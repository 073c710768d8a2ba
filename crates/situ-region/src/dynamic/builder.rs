//! Collects descriptions of types, and computes their layouts by the rules of `spec/region.md`.

use std::collections::HashMap;

use crate::dynamic::lines::hashes;
use crate::dynamic::packed::layouts;
use crate::dynamic::types::{Described, Kind, Member, TypeNumber, Types, TypesError};

/// Collects the descriptions of types.
#[derive(Debug, Default)]
pub struct TypesBuilder {
    kinds: Vec<Option<Kind>>,
}

impl TypesBuilder {
    /// A number for a type that is described later, because it leads to itself.
    pub fn announce(&mut self) -> TypeNumber {
        self.kinds.push(None);
        self.kinds.len() as u32 - 1
    }

    /// Describes an announced type. Without effect if it was not announced.
    pub fn describe(&mut self, number: TypeNumber, kind: Kind) {
        if let Some(known) = self.kinds.get_mut(number as usize) {
            *known = Some(kind);
        }
    }

    /// Adds a type.
    pub fn add(&mut self, kind: Kind) -> TypeNumber {
        let number = self.announce();
        self.describe(number, kind);
        number
    }

    /// Computes the layouts of all types. `schema_hash` is that of the schema which declares the root; 0 if
    /// there is none.
    pub fn finish(self, root: TypeNumber, schema_hash: u64) -> Result<Types, TypesError> {
        let kinds = self.kinds.into_iter().enumerate();
        let kinds = kinds.map(|(i, kind)| kind.ok_or(TypesError::Missing(i as u32)));
        let mut kinds: Vec<Kind> = kinds.collect::<Result<_, _>>()?;
        if !matches!(kinds.get(root as usize), Some(Kind::Struct { .. } | Kind::Union { .. })) {
            return Err(TypesError::Root);
        }
        // Entries of maps are types of their own.
        let mut entries = HashMap::new();
        for number in 0..kinds.len() {
            if let Kind::Map { key, value, .. } = kinds[number] {
                entries.insert(number as u32, kinds.len() as u32);
                kinds.push(Kind::Entry { key, value });
            }
        }
        let mut places = Places { laid: vec![None; kinds.len()], open: vec![false; kinds.len()], kinds };
        for number in 0..places.kinds.len() as u32 {
            places.place(number)?;
        }
        let Places { kinds, laid, .. } = places;
        let mut all = Vec::with_capacity(kinds.len());
        for (number, (kind, laid)) in (0..).zip(kinds.into_iter().zip(laid)) {
            let Some(laid) = laid else { return Err(TypesError::Missing(number)) };
            let element = match &kind {
                Kind::Set { key, .. } => *key,
                Kind::Map { .. } => entries.get(&number).copied().unwrap_or(number),
                Kind::Vector { element } | Kind::Array { element, .. } => *element,
                _ => number,
            };
            let Laid { size, align, links, dense, begins_zero, value_at } = laid;
            all.push(Described {
                kind,
                size,
                align,
                links,
                dense,
                begins_zero,
                shares: false,
                element,
                value_at,
            });
        }
        check(&all)?;
        find_sharing(&mut all);
        let (packed, packed_table) = (layouts(&all), Vec::new());
        let mut types =
            Types { all, root, schema_hash, layout_hash: 0, table: Vec::new(), packed, packed_table };
        (types.layout_hash, [types.table, types.packed_table]) = hashes(&types)?;
        if !types.table.is_empty() {
            types.schema_hash = 0;
        }
        Ok(types)
    }
}

#[derive(Debug, Clone, Copy)]
struct Laid {
    size: u32,
    align: u32,
    links: bool,
    dense: bool,
    begins_zero: bool,
    value_at: u32,
}

/// Computes layouts, those of members first.
struct Places {
    kinds: Vec<Kind>,
    laid: Vec<Option<Laid>>,
    open: Vec<bool>,
}

fn container(size: u32) -> Laid {
    Laid { size, align: 4, links: true, dense: false, begins_zero: false, value_at: 0 }
}

impl Places {
    fn place(&mut self, number: TypeNumber) -> Result<Laid, TypesError> {
        let index = number as usize;
        let Some(known) = self.laid.get(index) else { return Err(TypesError::Missing(number)) };
        if let Some(laid) = known {
            return Ok(*laid);
        }
        if std::mem::replace(&mut self.open[index], true) {
            return Err(TypesError::Endless(self.name(number)));
        }
        let laid = match self.kinds[index].clone() {
            Kind::Scalar { of, initial } => {
                let (size, begins_zero) = (of.size(), initial == 0);
                Laid { size, align: size, links: false, dense: true, begins_zero, value_at: 0 }
            }
            Kind::Text | Kind::Vector { .. } | Kind::Set { .. } | Kind::Map { .. } => container(16),
            Kind::Unique { .. } => container(8),
            Kind::Shared { value } => {
                // The alignment of a value behind a link: its own layout may depend on this one.
                let align = self.align_behind(value)?;
                Laid { value_at: align.max(8), ..container(8) }
            }
            Kind::Array { element, count } => {
                let element = self.place(element)?;
                let size = u64::from(element.size) * u64::from(count);
                Laid { size: fit(number, size)?, ..element }
            }
            Kind::Optional { value } => {
                let value = self.place(value)?;
                let (value_at, align) = (value.align.max(8), value.align.max(4));
                let size = (u64::from(value_at) + u64::from(value.size)).next_multiple_of(u64::from(align));
                Laid { size: fit(number, size)?, align, value_at, ..container(0) }
            }
            Kind::Entry { key, value } => {
                let (key, value) = (self.place(key)?, self.place(value)?);
                let align = key.align.max(value.align);
                let value_at = key.size.next_multiple_of(value.align);
                let size = (u64::from(value_at) + u64::from(value.size)).next_multiple_of(u64::from(align));
                Laid {
                    size: fit(number, size)?,
                    align,
                    links: key.links || value.links,
                    dense: key.dense && value.dense && size == u64::from(key.size + value.size),
                    begins_zero: key.begins_zero && value.begins_zero,
                    value_at,
                }
            }
            Kind::Struct { members, appendable, .. } => self.structure(number, members, appendable)?,
            Kind::Union { discriminator, cases, .. } => {
                let (mut size, mut align) = (0, 1);
                for case in &cases {
                    let laid = self.place(case.ty)?;
                    size = laid.size.max(size);
                    align = laid.align.max(align);
                }
                let link = if discriminator.size() > 4 { 8 } else { 4 };
                let value_at = (link + 4_u32).next_multiple_of(align);
                let align = align.max(4).max(discriminator.size());
                let size = (u64::from(value_at) + u64::from(size)).next_multiple_of(u64::from(align));
                Laid { size: fit(number, size)?, align, value_at, ..container(0) }
            }
        };
        fit(number, u64::from(laid.size))?;
        self.open[index] = false;
        self.laid[index] = Some(laid);
        Ok(laid)
    }

    fn structure(
        &mut self,
        number: TypeNumber,
        mut members: Vec<Member>,
        appendable: bool,
    ) -> Result<Laid, TypesError> {
        let mut all = Laid { size: 0, align: 1, links: false, dense: true, begins_zero: true, value_at: 0 };
        let mut end = 0;
        for member in &mut members {
            let laid = self.place(member.ty)?;
            let offset = u64::next_multiple_of(end, u64::from(laid.align));
            all.links |= laid.links;
            all.dense &= laid.dense && offset == end;
            all.begins_zero &= laid.begins_zero && member.default.is_none();
            all.align = all.align.max(laid.align);
            member.offset = u32::try_from(offset).map_err(|_| TypesError::Size(number))?;
            end = offset + u64::from(laid.size);
        }
        let size = end.next_multiple_of(u64::from(all.align));
        all.dense &= size == end;
        all.size = fit(number, size)?;
        if appendable {
            let size = all.size.next_multiple_of(8);
            all = Laid { size, align: 8, links: true, dense: false, ..all };
        }
        if let Kind::Struct { members: known, .. } = &mut self.kinds[number as usize] {
            *known = members;
        }
        Ok(all)
    }

    /// The alignment of a type, without its size: that of a struct may depend on where this is asked.
    fn align_behind(&mut self, number: TypeNumber) -> Result<u32, TypesError> {
        let mut seen = Vec::new();
        self.align_of(number, &mut seen)
    }

    fn align_of(&self, number: TypeNumber, seen: &mut Vec<TypeNumber>) -> Result<u32, TypesError> {
        let Some(kind) = self.kinds.get(number as usize) else { return Err(TypesError::Missing(number)) };
        if seen.contains(&number) {
            return Err(TypesError::Endless(self.name(number)));
        }
        seen.push(number);
        let align = match kind {
            Kind::Scalar { of, .. } => of.size(),
            Kind::Array { element, .. } => self.align_of(*element, seen)?,
            Kind::Optional { value } => self.align_of(*value, seen)?.max(4),
            Kind::Entry { key, value } => self.align_of(*key, seen)?.max(self.align_of(*value, seen)?),
            Kind::Struct { appendable: true, .. } => 8,
            Kind::Struct { members, .. } => {
                members.iter().try_fold(1, |align, it| Ok(self.align_of(it.ty, seen)?.max(align)))?
            }
            Kind::Union { discriminator, cases, .. } => {
                let begin = discriminator.size().max(4);
                cases.iter().try_fold(begin, |align, it| Ok(self.align_of(it.ty, seen)?.max(align)))?
            }
            _ => 4,
        };
        seen.pop();
        Ok(align)
    }

    fn name(&self, number: TypeNumber) -> String {
        match self.kinds.get(number as usize) {
            Some(Kind::Struct { name, .. } | Kind::Union { name, .. }) => name.clone(),
            _ => format!("type {number}"),
        }
    }
}

/// A size that values of a region can have.
fn fit(number: TypeNumber, size: u64) -> Result<u32, TypesError> {
    match u32::try_from(size) {
        Ok(size) if size != 0 && size <= 0x7fff_fff0 => Ok(size),
        _ => Err(TypesError::Size(number)),
    }
}

/// Checks keys, defaults, and places of appendable structs.
fn check(all: &[Described]) -> Result<(), TypesError> {
    let get = |number: TypeNumber| {
        let found = all.get(number as usize);
        found.filter(|it| !matches!(it.kind, Kind::Entry { .. })).ok_or(TypesError::Missing(number))
    };
    let in_place = |number: TypeNumber| match &get(number)?.kind {
        Kind::Struct { name, appendable: true, .. } => Err(TypesError::Appendable(name.clone())),
        _ => Ok(()),
    };
    for (number, it) in (0..).zip(all) {
        match &it.kind {
            Kind::Set { key, .. } | Kind::Map { key, .. } => match &get(*key)?.kind {
                Kind::Text | Kind::Scalar { .. } => {}
                _ => return Err(TypesError::Key(number)),
            },
            _ => {}
        }
        match &it.kind {
            Kind::Map { value, .. } => in_place(*value)?,
            Kind::Vector { element } | Kind::Array { element, .. } => in_place(*element)?,
            Kind::Optional { value } => in_place(*value)?,
            Kind::Unique { value } | Kind::Shared { value } => drop(get(*value)?),
            Kind::Union { cases, .. } => cases.iter().try_for_each(|case| in_place(case.ty))?,
            Kind::Struct { members, .. } => {
                for member in members {
                    in_place(member.ty)?;
                    let Some(default) = &member.default else { continue };
                    let of = get(member.ty)?;
                    let fits = match &of.kind {
                        Kind::Text => default.len() <= 11 && std::str::from_utf8(default).is_ok(),
                        _ => of.dense && default.len() == of.size as usize,
                    };
                    if !fits {
                        return Err(TypesError::Default(member.name.clone()));
                    }
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Finds out from which types shared links are reached.
fn find_sharing(all: &mut [Described]) {
    loop {
        let mut changed = false;
        for number in 0..all.len() {
            if all[number].shares {
                continue;
            }
            let is = |it: &TypeNumber| all[*it as usize].shares;
            let shares = match &all[number].kind {
                Kind::Shared { .. } => true,
                Kind::Scalar { .. } | Kind::Text => false,
                Kind::Array { element, .. } | Kind::Vector { element } => is(element),
                Kind::Set { .. } => false,
                Kind::Map { value, .. } | Kind::Entry { value, .. } => is(value),
                Kind::Optional { value } | Kind::Unique { value } => is(value),
                Kind::Struct { members, .. } => members.iter().any(|it| is(&it.ty)),
                Kind::Union { cases, .. } => cases.iter().any(|it| is(&it.ty)),
            };
            if shares {
                all[number].shares = true;
                changed = true;
            }
        }
        if !changed {
            return;
        }
    }
}
