//! Finds the flat layout of every definition of a schema, each after those it depends on.

use super::layout::{
    ContainerLayout, Cursor, Extent, FlatLayout, FlatMember, FlatObstacle, FlatReason, MAX_BULK_FIELDS,
    optional, round_up,
};
use crate::model::graph::Graph;
use crate::model::{Definition, Kind, Member, Primitive, Type, TypeId};
use crate::source::Span;

/// The flat form's facts about one definition.
#[derive(Debug, Clone)]
pub(crate) struct FlatFacts {
    /// Whether it contains itself, through a sequence or map.
    pub recursive: bool,
    /// The number of its bulk fields, nested structs included.
    pub bulk_fields: u32,
    /// Its layout, or why it has none.
    pub layout: Result<FlatLayout, FlatObstacle>,
    /// Whether its values have a fixed size and no variable parts.
    pub plain: bool,
}

/// The facts about all definitions, by [`TypeId::index`].
#[derive(Debug, Clone, Default)]
pub(crate) struct FlatTable {
    facts: Vec<FlatFacts>,
}

/// An obstacle found while a member is laid out. `inner` is the path from that member, empty if the member
/// itself is at fault.
struct Blocked {
    inner: String,
    reason: FlatReason,
    span: Option<Span>,
}

impl From<FlatReason> for Blocked {
    fn from(reason: FlatReason) -> Self {
        Self { inner: String::new(), reason, span: None }
    }
}

impl FlatTable {
    /// Computes the facts about the definitions, in the order of their graph.
    pub fn new(definitions: &[Definition], graph: &Graph) -> Self {
        let unknown = |it: &Definition| FlatFacts {
            recursive: false,
            bulk_fields: 0,
            layout: Err(obstacle("", it.span, FlatReason::Recursive.into())),
            plain: false,
        };
        let mut table = Self { facts: definitions.iter().map(unknown).collect() };
        for id in &graph.order {
            let recursive = graph.recursive[id.index()];
            table.facts[id.index()] = table.find(&definitions[id.index()], recursive);
        }
        table
    }

    /// The facts about a definition.
    pub fn of(&self, id: TypeId) -> &FlatFacts {
        &self.facts[id.index()]
    }

    /// Size and alignment of a value of a type.
    pub fn extent(&self, ty: &Type) -> Result<Extent, FlatReason> {
        self.extent_within(ty, false).map_err(|blocked| blocked.reason)
    }

    /// Whether values of a type have a fixed size and no variable parts.
    pub fn is_plain(&self, ty: &Type) -> bool {
        match ty {
            Type::Primitive(_) => true,
            Type::Array { element, .. } => self.is_plain(element),
            Type::Named(id) => self.of(*id).plain,
            _ => false,
        }
    }

    fn find(&self, Definition { kind, span, .. }: &Definition, recursive: bool) -> FlatFacts {
        let bulk_fields = self.count_bulk_fields(kind);
        let blocked = |reason: FlatReason| Err(obstacle("", *span, reason.into()));
        let layout = if recursive {
            blocked(FlatReason::Recursive)
        } else if bulk_fields > MAX_BULK_FIELDS {
            blocked(FlatReason::TooManyBulkFields)
        } else {
            self.lay_out(kind, *span)
        };
        let plain = match kind {
            Kind::Struct(it) => {
                it.base.is_none_or(|base| self.is_plain(&Type::Named(base)))
                    && it.members.iter().all(|it| !it.optional && !it.bulk && self.is_plain(&it.ty))
            }
            Kind::Union(_) => false,
            Kind::Enum(_) | Kind::Bitmask(_) => true,
            Kind::Alias(ty) => self.is_plain(ty),
        };
        FlatFacts { recursive, bulk_fields, layout, plain }
    }

    /// The extent of `ty`. The facts about all definitions that it names must be known. `nested`: inside a
    /// container.
    fn extent_within(&self, ty: &Type, nested: bool) -> Result<Extent, Blocked> {
        Ok(match ty {
            Type::Primitive(primitive) => Extent::of(*primitive),
            Type::String { bound } => {
                ContainerLayout::string(bound.ok_or(FlatReason::UnboundedString)?)?.extent
            }
            Type::WString { bound } => {
                ContainerLayout::wstring(bound.ok_or(FlatReason::UnboundedWString)?)?.extent
            }
            Type::Sequence { element, bound } => {
                let bound = bound.ok_or(FlatReason::UnboundedSequence)?;
                ContainerLayout::new(self.extent_within(element, true)?, u64::from(bound))?.extent
            }
            Type::Array { element, dimensions } => {
                let count = Type::element_count(dimensions).ok_or(FlatReason::TooLarge)?;
                self.extent_within(element, true)?.repeat(count)?
            }
            Type::Map { key, value, bound } => {
                let bound = bound.ok_or(FlatReason::UnboundedMap)?;
                ContainerLayout::map(self.extent_within(key, true)?, self.extent_within(value, true)?, bound)?
                    .extent
            }
            Type::Named(id) => {
                let facts = self.of(*id);
                if facts.recursive {
                    return Err(FlatReason::Recursive.into());
                }
                match &facts.layout {
                    Err(obstacle) => {
                        return Err(Blocked {
                            inner: obstacle.path.clone(),
                            reason: obstacle.reason,
                            span: Some(obstacle.span),
                        });
                    }
                    Ok(_) if nested && facts.bulk_fields > 0 => {
                        return Err(FlatReason::BulkInContainer.into());
                    }
                    Ok(layout) => layout.extent,
                }
            }
        })
    }

    fn member_extent(&self, member: &Member) -> Result<Extent, Blocked> {
        if member.is_weak() {
            return Err(FlatReason::WeakLink.into());
        }
        if member.bulk {
            return Ok(Extent::BULK);
        }
        if member.optional {
            return Ok(optional(self.extent_within(&member.ty, true)?)?.0);
        }
        self.extent_within(&member.ty, false)
    }

    /// Lays out one definition. Its dependencies must be laid out already.
    fn lay_out(&self, kind: &Kind, span: Span) -> Result<FlatLayout, FlatObstacle> {
        let whole = |reason: FlatReason| obstacle("", span, reason.into());
        match kind {
            Kind::Struct(it) => {
                let mut cursor = Cursor::new();
                let mut members = Vec::with_capacity(it.members.len() + 1);
                let mut place = |name: &str, span: Span, extent: Result<Extent, Blocked>| {
                    let placed = extent.and_then(|extent| Ok((cursor.place(extent)?, extent)));
                    let (offset, extent) = placed.map_err(|blocked| obstacle(name, span, blocked))?;
                    members.push(FlatMember { name: name.to_owned(), offset, extent });
                    Ok(())
                };
                if let Some(base) = it.base {
                    place("base", span, self.extent_within(&Type::Named(base), false))?;
                }
                for member in &it.members {
                    place(&member.name, member.span, self.member_extent(member))?;
                }
                Ok(FlatLayout { extent: cursor.finish().map_err(whole)?, members })
            }
            Kind::Union(it) => {
                let discriminator = self
                    .extent_within(&it.discriminator, true)
                    .map_err(|blocked| obstacle("discriminator", span, blocked))?;
                let mut payload = Extent { size: 0, align: 1 };
                let mut cases = Vec::with_capacity(it.cases.len());
                for case in &it.cases {
                    let extent = self
                        .extent_within(&case.member.ty, true)
                        .map_err(|blocked| obstacle(&case.member.name, case.member.span, blocked))?;
                    payload = Extent {
                        size: payload.size.max(extent.size),
                        align: payload.align.max(extent.align),
                    };
                    cases.push(extent);
                }
                payload.size = round_up(payload.size, payload.align).map_err(whole)?;
                let mut cursor = Cursor::new();
                cursor.place(discriminator).map_err(whole)?;
                let offset = cursor.place(payload).map_err(whole)?;
                let mut members =
                    vec![FlatMember { name: "discriminator".into(), offset: 0, extent: discriminator }];
                for (case, extent) in it.cases.iter().zip(cases) {
                    members.push(FlatMember { name: case.member.name.clone(), offset, extent });
                }
                Ok(FlatLayout { extent: cursor.finish().map_err(whole)?, members })
            }
            Kind::Enum(_) => Ok(FlatLayout { extent: Extent::of(Primitive::I32), members: Vec::new() }),
            Kind::Bitmask(it) => Ok(FlatLayout { extent: Extent::of(it.storage()), members: Vec::new() }),
            Kind::Alias(ty) => {
                let extent = self.extent_within(ty, false).map_err(|blocked| obstacle("", span, blocked))?;
                Ok(FlatLayout { extent, members: Vec::new() })
            }
        }
    }

    /// The number of bulk fields of a definition, nested structs included.
    fn count_bulk_fields(&self, kind: &Kind) -> u32 {
        let of = |facts: &FlatFacts| facts.bulk_fields;
        match kind {
            Kind::Struct(it) => {
                let base = it.base.map_or(0, |base| of(self.of(base)));
                it.members.iter().fold(base, |count, member| {
                    count.saturating_add(match &member.ty {
                        _ if member.bulk => 1,
                        Type::Named(id) if !member.optional => of(self.of(*id)),
                        _ => 0,
                    })
                })
            }
            Kind::Alias(Type::Named(id)) => of(self.of(*id)),
            _ => 0,
        }
    }
}

fn obstacle(name: &str, span: Span, blocked: Blocked) -> FlatObstacle {
    let path = match (name.is_empty(), blocked.inner.is_empty()) {
        (true, _) => blocked.inner,
        (false, true) => name.to_owned(),
        (false, false) => format!("{name}.{}", blocked.inner),
    };
    FlatObstacle { path, reason: blocked.reason, span: blocked.span.unwrap_or(span) }
}
