//! Assertions that the C++ compiler and the model agree on the layout of a flat type.

use super::names::Named;
use super::writer::CodeWriter;
use crate::model::{Kind, TypeId};

/// Size, alignment and offsets of a flat struct or union.
pub fn assertions(code: &mut CodeWriter, schema: &Named, id: TypeId) {
    let definition = schema.definition(id);
    let Some(layout) = schema.flat_layout(id) else { return };
    let flat = match schema.is_template(id) {
        true => format!("{}<::situ::flat>", schema.qualified(&definition.name, schema.template(id))),
        false => schema.qualified(&definition.name, schema.simple(id)),
    };
    let members = schema.members(id);
    let offsets: Vec<(String, u64)> = match &definition.kind {
        Kind::Struct(it) => layout
            .members
            .iter()
            .enumerate()
            .map(|(at, member)| {
                let is_base = it.base.is_some() && at == 0;
                (
                    if is_base { member.name.clone() } else { members.get(&member.name).to_owned() },
                    member.offset,
                )
            })
            .collect(),
        Kind::Union(_) => Vec::new(),
        _ => return,
    };
    code.gap();
    code.line(format!("// The layout of a flat {}, as spec/flat.md says.", definition.name));
    let extent = layout.extent;
    code.line(format!("static_assert(::situ::is_flat_v<{flat}>);"));
    code.line(format!("static_assert(sizeof({flat}) == {});", extent.size));
    code.line(format!("static_assert(alignof({flat}) == {});", extent.align));
    for (name, offset) in offsets {
        code.line(format!("static_assert(offsetof({flat}, {name}) == {offset});"));
    }
    if let (Kind::Union(_), Some(case)) = (&definition.kind, layout.members.get(1)) {
        code.line(format!("static_assert(::situ::payload_offset<{flat}> == {});", case.offset));
    }
}
