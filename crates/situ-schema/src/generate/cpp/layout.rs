//! Assertions that the C++ compiler lays a flat type out as the model does.

use super::names::Named;
use super::page::Page;
use crate::model::{Kind, TypeId};

/// Size, alignment and offsets of a flat struct or union.
pub fn assertions(page: &mut Page, schema: &Named, id: TypeId) {
    let definition = schema.definition(id);
    let Some(layout) = schema.flat_layout(id) else { return };
    let flat = format!("{}<::situ::flat>", schema.qualified(&definition.name, schema.template(id)));
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
    page.gap();
    page.line(format!("// The layout of a flat {}, as spec/flat.md says.", definition.name));
    let extent = layout.extent;
    page.line(format!("static_assert(::situ::is_flat_v<{flat}>);"));
    page.line(format!("static_assert(sizeof({flat}) == {});", extent.size));
    page.line(format!("static_assert(alignof({flat}) == {});", extent.align));
    for (name, offset) in offsets {
        page.line(format!("static_assert(offsetof({flat}, {name}) == {offset});"));
    }
    if let (Kind::Union(_), Some(case)) = (&definition.kind, layout.members.get(1)) {
        page.line(format!("static_assert(::situ::payload_offset<{flat}> == {});", case.offset));
    }
}
