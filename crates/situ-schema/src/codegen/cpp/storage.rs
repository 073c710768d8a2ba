//! Which C++ types are templates because they depend on the storage policy.

use std::collections::{HashMap, HashSet};

use super::files::reaches;
use crate::model::{Kind, Type, TypeId};
use crate::{FileId, Schema};

/// Whether a type has another form in another storage, or could have one: whether there is a template of it.
pub fn has_template(schema: &Schema, id: TypeId) -> bool {
    match &schema.definition(id).kind {
        Kind::Struct(_) | Kind::Union(_) => true,
        Kind::Enum(_) | Kind::Bitmask(_) => false,
        Kind::Alias(ty) => holds(ty, &|id| has_template(schema, id)),
    }
}

/// Whether a type has strings, sequences or maps, or names one for which `is_found`.
pub fn holds(ty: &Type, is_found: &dyn Fn(TypeId) -> bool) -> bool {
    match ty {
        Type::Primitive(_) => false,
        Type::Array { element, .. } => holds(element, is_found),
        Type::Named(id) => is_found(*id),
        Type::String { .. } | Type::WString { .. } | Type::Sequence { .. } | Type::Map { .. } => true,
    }
}

/// The structs that are one type in all storages: numbers and structs of numbers.
///
/// These have a type for each storage nevertheless: a struct with `@region`, whose type says that it is sent
/// as a region; and a struct of which a part is defined in a file that includes its file, because the part is
/// only declared before it.
pub fn single_types(schema: &Schema) -> HashSet<TypeId> {
    let mut found = HashSet::new();
    let mut includes: HashMap<(FileId, FileId), bool> = HashMap::new();
    for id in schema.dependency_order() {
        let definition = schema.definition(*id);
        let Kind::Struct(it) = &definition.kind else { continue };
        if it.region || !schema.is_plain(&Type::Named(*id)) {
            continue;
        }
        let here = schema.file_of(*id);
        let mut is_declared_before = |other: TypeId| {
            let there = schema.file_of(other);
            there == here || !*includes.entry((there, here)).or_insert_with(|| reaches(schema, there, here))
        };
        let parts = it.members.iter().filter_map(|member| part_of(schema, &member.ty)).chain(it.base);
        if parts.into_iter().all(|part| found.contains(&part) && is_declared_before(part)) {
            found.insert(*id);
        }
    }
    found
}

/// The struct that a plain type is or holds.
fn part_of(schema: &Schema, ty: &Type) -> Option<TypeId> {
    match schema.resolve(ty) {
        Type::Array { element, .. } => part_of(schema, element),
        Type::Named(id) => schema.definition(*id).kind.as_struct().map(|_| *id),
        _ => None,
    }
}
