//! Queries about the flat form of a schema's types.

use super::layout::{BulkField, ContainerLayout, Extent, FlatLayout, FlatObstacle, FlatReason};
use crate::model::{Kind, Type, TypeId};
use crate::schema::Schema;

impl Schema {
    /// Whether the type can have Flat storage.
    pub fn is_flattable(&self, id: TypeId) -> bool {
        self.flat_table().of(id).layout.is_ok()
    }

    /// Why the type cannot have Flat storage, `None` when it can.
    pub fn flat_obstacle(&self, id: TypeId) -> Option<&FlatObstacle> {
        self.flat_table().of(id).layout.as_ref().err()
    }

    /// The layout of the head of a flat message, `None` when the type cannot be flat.
    pub fn flat_layout(&self, id: TypeId) -> Option<&FlatLayout> {
        self.flat_table().of(id).layout.as_ref().ok()
    }

    /// Whether a message of this type has a bulk field, directly or in a nested struct.
    pub fn has_bulk(&self, id: TypeId) -> bool {
        self.flat_table().of(id).bulk_fields > 0
    }

    /// Whether values of the type have a fixed size and no variable parts. They may have padding. Primitives,
    /// enums and bitmasks are plain, and so are arrays and structs of plain types. Only plain types may be
    /// elements of a bulk sequence.
    pub fn is_plain(&self, ty: &Type) -> bool {
        self.flat_table().is_plain(ty)
    }

    /// The bulk fields of a flat message in the order of the body: declaration order, depth first, bases
    /// first. Empty when there are none or the type cannot be flat.
    pub fn bulk_fields(&self, id: TypeId) -> Vec<BulkField> {
        let mut fields = Vec::new();
        if self.is_flattable(id) {
            self.collect_bulk_fields(id, &mut Vec::new(), 0, &mut fields);
        }
        fields
    }

    fn collect_bulk_fields(&self, id: TypeId, path: &mut Vec<String>, at: u64, fields: &mut Vec<BulkField>) {
        if !self.has_bulk(id) {
            return;
        }
        let definition = self.definition(id);
        if let Kind::Alias(Type::Named(target)) = definition.kind {
            return self.collect_bulk_fields(target, path, at, fields);
        }
        let (Kind::Struct(it), Some(layout)) = (&definition.kind, self.flat_layout(id)) else { return };
        let own = layout.members.len() - it.members.len();
        if let Some(base) = it.base {
            path.push("base".into());
            self.collect_bulk_fields(base, path, at, fields);
            path.pop();
        }
        for (member, place) in it.members.iter().zip(&layout.members[own..]) {
            path.push(member.name.clone());
            match (self.resolve(&member.ty), &member.ty) {
                (Type::Sequence { element, bound }, _) if member.bulk => fields.push(BulkField {
                    path: path.clone(),
                    offset: at + place.offset,
                    element: (**element).clone(),
                    element_extent: self.flat_extent(element).unwrap_or(Extent { size: 1, align: 1 }),
                    bound: *bound,
                }),
                (_, Type::Named(inner)) if !member.optional => {
                    self.collect_bulk_fields(*inner, path, at + place.offset, fields);
                }
                _ => {}
            }
            path.pop();
        }
    }

    /// Size and alignment of a value of this type in a flat message.
    pub fn flat_extent(&self, ty: &Type) -> Result<Extent, FlatReason> {
        self.flat_table().extent(ty)
    }

    /// The layout of a container type (string, wstring, sequence, map) in a flat message, `None` for other
    /// types and for those that cannot be flat.
    pub fn container_layout(&self, ty: &Type) -> Option<ContainerLayout> {
        match self.resolve(ty) {
            Type::String { bound } => ContainerLayout::string((*bound)?).ok(),
            Type::WString { bound } => ContainerLayout::wstring((*bound)?).ok(),
            Type::Sequence { element, bound } => {
                ContainerLayout::new(self.flat_extent(element).ok()?, u64::from((*bound)?)).ok()
            }
            Type::Map { key, value, bound } => {
                ContainerLayout::map(self.flat_extent(key).ok()?, self.flat_extent(value).ok()?, (*bound)?)
                    .ok()
            }
            _ => None,
        }
    }
}
