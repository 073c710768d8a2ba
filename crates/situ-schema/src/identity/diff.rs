//! Finds the first difference between two types, for error messages about a mismatch.

use std::collections::HashSet;
use std::fmt;

use crate::model::{Bitmask, Enum, Kind, Link, Lookup, Member, Struct, Type, TypeId, Union};
use crate::schema::Schema;

/// The first difference between two types.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The name of the first type.
    pub left_type: String,
    /// The name of the second type.
    pub right_type: String,
    /// Where they differ: `header.stamp`, `fields[].name`; empty for the types themselves.
    pub path: String,
    /// What the first type has there.
    pub left: String,
    /// What the second type has there.
    pub right: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` and `{}` differ", self.left_type, self.right_type)?;
        if !self.path.is_empty() {
            write!(f, " at `{}`", self.path)?;
        }
        write!(f, ": {} here, {} there", self.left, self.right)
    }
}

/// The first difference between a type of one schema and a type of another, in what the schema hash covers
/// and in how members are stored. `None` if there is no difference.
pub fn diff(left: (&Schema, TypeId), right: (&Schema, TypeId)) -> Option<Difference> {
    let mut compare = Comparison { left: left.0, right: right.0, path: Vec::new(), seen: HashSet::new() };
    let found = compare.definitions(left.1, right.1).err()?;
    Some(Difference {
        left_type: left.0.name(left.1).to_string(),
        right_type: right.0.name(right.1).to_string(),
        path: compare.path.concat().trim_start_matches('.').to_owned(),
        left: found.0,
        right: found.1,
    })
}

/// A difference, as left and right. `Comparison::path` then stays at the place of the difference.
type Found = Result<(), (String, String)>;

struct Comparison<'a> {
    left: &'a Schema,
    right: &'a Schema,
    path: Vec<String>,
    seen: HashSet<(TypeId, TypeId)>,
}

fn same<T: PartialEq>(left: T, right: T, describe: impl Fn(&T) -> String) -> Found {
    if left == right { Ok(()) } else { Err((describe(&left), describe(&right))) }
}

impl Comparison<'_> {
    fn at(&mut self, step: String, inner: impl FnOnce(&mut Self) -> Found) -> Found {
        self.path.push(step);
        inner(self)?;
        self.path.pop();
        Ok(())
    }

    fn definitions(&mut self, left: TypeId, right: TypeId) -> Found {
        if !self.seen.insert((left, right)) {
            return Ok(());
        }
        let (a, b) = (self.left.definition(left), self.right.definition(right));
        let describe = |name: &String| format!("type {name}");
        match (&a.kind, &b.kind) {
            (Kind::Struct(a), Kind::Struct(b)) => self.structs(a, b)?,
            (Kind::Union(a), Kind::Union(b)) => self.unions(a, b)?,
            (Kind::Enum(a), Kind::Enum(b)) => enums(a, b)?,
            (Kind::Bitmask(a), Kind::Bitmask(b)) => bitmasks(a, b)?,
            (a, b) => {
                same(a.word(), b.word(), |it| format!("{} {it}", if *it == "enum" { "an" } else { "a" }))?
            }
        }
        same(a.name.to_string(), b.name.to_string(), describe)
    }

    fn structs(&mut self, a: &Struct, b: &Struct) -> Found {
        same(a.extensibility, b.extensibility, |it| format!("@{}", it.idl()))?;
        same(a.base.is_some(), b.base.is_some(), |it| if *it { "a base" } else { "no base" }.to_owned())?;
        if let (Some(a), Some(b)) = (a.base, b.base) {
            self.at(".base".into(), |compare| compare.definitions(a, b))?;
        }
        let (mut left, mut right) = (a.members.iter(), b.members.iter());
        loop {
            match (left.next(), right.next()) {
                (None, None) => return Ok(()),
                (Some(a), Some(b)) => self.at(format!(".{}", a.name), |compare| compare.members(a, b))?,
                (Some(a), None) => {
                    let found = (format!("member {}", a.name), "no member".to_owned());
                    return self.at(format!(".{}", a.name), |_| Err(found));
                }
                (None, Some(b)) => {
                    let found = ("no member".to_owned(), format!("member {}", b.name));
                    return self.at(format!(".{}", b.name), |_| Err(found));
                }
            }
        }
    }

    fn members(&mut self, a: &Member, b: &Member) -> Found {
        same(&a.name, &b.name, |it| format!("member {it}"))?;
        same(a.id, b.id, |it| format!("@id({it})"))?;
        let word = |name: &str, on: bool| format!("{}@{name}", if on { "" } else { "not " });
        same(a.key, b.key, |it| word("key", *it))?;
        same(a.optional, b.optional, |it| word("optional", *it))?;
        same(a.must_understand, b.must_understand, |it| word("must_understand", *it))?;
        self.types(&a.ty, &b.ty)?;
        same(a.bulk, b.bulk, |it| word("bulk", *it))?;
        same(a.set, b.set, |it| word("set", *it))?;
        same(a.lookup, b.lookup, |it| {
            match it {
                Lookup::Sorted => "neither @hash nor @ordered",
                Lookup::Hash => "@hash",
                Lookup::Ordered => "@ordered",
            }
            .to_owned()
        })?;
        same(a.link, b.link, |it| {
            match it {
                Link::InPlace => "neither @external, @shared nor @weak",
                Link::Unique => "@external",
                Link::Shared => "@shared",
                Link::Weak => "@weak",
            }
            .to_owned()
        })
    }

    fn types(&mut self, left: &Type, right: &Type) -> Found {
        let whole = |compare: &Self| Err((compare.left.display(left), compare.right.display(right)));
        match (self.left.array(left), self.right.array(right)) {
            (Some((a, a_dimensions)), Some((b, b_dimensions))) if a_dimensions == b_dimensions => {
                return self.at("[]".into(), |compare| compare.types(a, b));
            }
            (None, None) => {}
            _ => return whole(self),
        }
        match (self.left.resolve(left), self.right.resolve(right)) {
            (Type::Named(a), Type::Named(b)) => self.definitions(*a, *b),
            (Type::Sequence { element: a, bound: x }, Type::Sequence { element: b, bound: y }) if x == y => {
                self.at("[]".into(), |compare| compare.types(a, b))
            }
            (Type::Map { key: a, value: v, bound: x }, Type::Map { key: b, value: w, bound: y })
                if x == y =>
            {
                self.at("[].key".into(), |compare| compare.types(a, b))?;
                self.at("[].value".into(), |compare| compare.types(v, w))
            }
            (a, b) if a == b && !matches!(a, Type::Sequence { .. } | Type::Map { .. } | Type::Named(_)) => {
                Ok(())
            }
            _ => whole(self),
        }
    }

    fn unions(&mut self, a: &Union, b: &Union) -> Found {
        same(a.extensibility, b.extensibility, |it| format!("@{}", it.idl()))?;
        self.at(".discriminator".into(), |compare| compare.types(&a.discriminator, &b.discriminator))?;
        for (a, b) in a.cases.iter().zip(&b.cases) {
            self.at(format!(".{}", a.member.name), |compare| {
                same(&a.labels, &b.labels, |it| format!("case {it:?}"))?;
                same(a.is_default, b.is_default, |it| {
                    if *it { "default" } else { "not default" }.to_owned()
                })?;
                compare.members(&a.member, &b.member)
            })?;
        }
        same(a.cases.len(), b.cases.len(), |it| format!("{it} cases"))
    }
}

fn enums(a: &Enum, b: &Enum) -> Found {
    for (a, b) in a.enumerators.iter().zip(&b.enumerators) {
        same((&a.name, a.value), (&b.name, b.value), |(name, value)| format!("{name} = {value}"))?;
    }
    same(a.enumerators.len(), b.enumerators.len(), |it| format!("{it} enumerators"))
}

fn bitmasks(a: &Bitmask, b: &Bitmask) -> Found {
    same(a.bit_bound, b.bit_bound, |it| format!("{it} bits"))?;
    for (a, b) in a.flags.iter().zip(&b.flags) {
        same((&a.name, a.position), (&b.name, b.position), |(name, position)| {
            format!("{name} at bit {position}")
        })?;
    }
    same(a.flags.len(), b.flags.len(), |it| format!("{it} flags"))
}
