//! The two hashes of a type, by the rules of `spec/signature.md`.

use crate::layout::flat::{ContainerLayout, Extent, FlatReason, optional};
use crate::model::{Kind, Member, Type, TypeId};
use crate::schema::Schema;

/// The first 8 bytes of the SHA-256 of a text, as a little-endian number.
pub(crate) fn text_hash(text: &str) -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = hmac_sha256::Hash::hash(text.as_bytes());
    u64::from_le_bytes([a, b, c, d, e, f, g, h])
}

impl Schema {
    /// The schema hash. Types that are the same on the wire have the same hash, whatever their storage.
    pub fn schema_hash(&self, id: TypeId) -> u64 {
        text_hash(&format!("schema-v1 {}\n{}", self.name(id), self.identity(id)))
    }

    /// The layout hash. Types whose flat messages are the same in memory have the same hash. It is 0 for
    /// types that cannot be flat, and for Heap storage.
    pub fn layout_hash(&self, id: TypeId) -> u64 {
        self.layout_description(id).map_or(0, |text| text_hash(&text))
    }

    /// The text whose hash is the layout hash: a line `path offset size align kind` for every member of the
    /// type and of those within it. `None` for types that cannot be flat.
    pub fn layout_description(&self, id: TypeId) -> Option<String> {
        if !self.is_flattable(id) {
            return None;
        }
        let mut description = Description { schema: self, text: format!("flat-v1 {}\n", self.name(id)) };
        for id in self.closure_without_aliases(id) {
            description.definition(id).ok()?;
        }
        Some(description.text)
    }
}

struct Description<'s> {
    schema: &'s Schema,
    text: String,
}

impl Description<'_> {
    fn line(&mut self, path: &str, offset: u64, extent: Extent, kind: &str) {
        self.text.push_str(&format!("{path} {offset} {} {} {kind}\n", extent.size, extent.align));
    }

    fn definition(&mut self, id: TypeId) -> Result<(), FlatReason> {
        let definition = self.schema.definition(id);
        let Some(layout) = self.schema.flat_layout(id) else { return Ok(()) };
        let name = definition.name.as_str();
        match &definition.kind {
            Kind::Struct(it) => {
                self.line(name, 0, layout.extent, "struct");
                let own = layout.members.len() - it.members.len();
                if let Some(base) = it.base {
                    let path = format!("{name}.base");
                    self.line(&path, 0, layout.members[0].extent, self.schema.name(base).as_str());
                }
                for (member, place) in it.members.iter().zip(&layout.members[own..]) {
                    let path = format!("{name}.{}", member.name);
                    self.member(&path, place.offset, place.extent, member)?;
                }
            }
            Kind::Union(it) => {
                self.line(name, 0, layout.extent, "union");
                let place = &layout.members[0];
                self.value(&format!("{name}.discriminator"), 0, place.extent, &it.discriminator)?;
                for (case, place) in it.cases.iter().zip(&layout.members[1..]) {
                    let path = format!("{name}.{}", case.member.name);
                    self.value(&path, place.offset, place.extent, &case.member.ty)?;
                }
            }
            Kind::Enum(_) => self.line(name, 0, layout.extent, "enum"),
            Kind::Bitmask(_) => self.line(name, 0, layout.extent, "bitmask"),
            Kind::Alias(_) => {}
        }
        Ok(())
    }

    fn member(&mut self, path: &str, offset: u64, extent: Extent, member: &Member) -> Result<(), FlatReason> {
        match self.schema.resolve(&member.ty) {
            Type::Sequence { element, .. } if member.bulk => {
                self.line(path, offset, extent, "bulk");
                self.value(&format!("{path}[]"), 0, self.schema.flat_extent(element)?, element)
            }
            ty if member.optional => {
                self.line(path, offset, extent, "optional");
                let value = self.schema.flat_extent(ty)?;
                self.value(&format!("{path}?"), optional(value)?.1, value, ty)
            }
            ty => self.value(path, offset, extent, ty),
        }
    }

    fn value(&mut self, path: &str, offset: u64, extent: Extent, ty: &Type) -> Result<(), FlatReason> {
        if let Some((element, dimensions)) = self.schema.array(ty) {
            let dimensions: String = dimensions.iter().map(|it| format!("[{it}]")).collect();
            self.line(path, offset, extent, &format!("array{dimensions}"));
            return self.value(&format!("{path}[]"), 0, self.schema.flat_extent(element)?, element);
        }
        match self.schema.resolve(ty) {
            Type::Primitive(primitive) => self.line(path, offset, extent, primitive.idl()),
            Type::String { bound } => {
                self.line(path, offset, extent, &format!("string<{}>", bound.unwrap_or(0)));
            }
            Type::WString { bound } => {
                self.line(path, offset, extent, &format!("wstring<{}>", bound.unwrap_or(0)));
            }
            Type::Sequence { element, bound } => {
                let bound = bound.ok_or(FlatReason::UnboundedSequence)?;
                self.line(path, offset, extent, &format!("sequence<{bound}>"));
                let inner = self.schema.flat_extent(element)?;
                let container = ContainerLayout::new(inner, bound.into())?;
                self.value(&format!("{path}[]"), container.data_offset, inner, element)?;
            }
            Type::Map { key, value, bound } => {
                let bound = bound.ok_or(FlatReason::UnboundedMap)?;
                self.line(path, offset, extent, &format!("map<{bound}>"));
                let (key_extent, value_extent) =
                    (self.schema.flat_extent(key)?, self.schema.flat_extent(value)?);
                let map = ContainerLayout::map(key_extent, value_extent, bound)?;
                let entry = Extent { size: map.stride, align: key_extent.align.max(value_extent.align) };
                self.line(&format!("{path}[]"), map.data_offset, entry, "entry");
                self.value(&format!("{path}[].key"), 0, key_extent, key)?;
                self.value(&format!("{path}[].value"), map.value_offset, value_extent, value)?;
            }
            Type::Named(id) => self.line(path, offset, extent, self.schema.name(*id).as_str()),
            // Arrays were handled above.
            Type::Array { .. } => {}
        }
        Ok(())
    }
}
