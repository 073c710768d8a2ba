//! Which types a definition names, and which files need each other for them.

use std::collections::BTreeSet;

use crate::model::{Kind, Type, TypeId};
use crate::{FileId, Schema};

/// The files whose types this one uses.
pub fn needed_files(schema: &Schema, file: FileId) -> BTreeSet<FileId> {
    let here = schema.definitions().map(|(id, _)| id).filter(|id| schema.file_of(*id) == file);
    let services = schema.services().iter().filter(|it| it.span.file == file);
    let of_services = services.flat_map(|it| [it.request, it.response]);
    let needed = here.flat_map(|id| direct_dependencies(schema, id)).chain(of_services);
    needed.map(|id| schema.file_of(id)).filter(|it| *it != file).collect()
}

/// Whether the header of `from` includes that of `to`, directly or through others.
pub fn reaches(schema: &Schema, from: FileId, to: FileId) -> bool {
    let mut seen = BTreeSet::from([from]);
    let mut open = vec![from];
    while let Some(file) = open.pop() {
        if file == to {
            return true;
        }
        open.extend(needed_files(schema, file).into_iter().filter(|it| seen.insert(*it)));
    }
    false
}

/// The types that a definition names.
pub fn direct_dependencies(schema: &Schema, id: TypeId) -> Vec<TypeId> {
    fn of_type(ty: &Type, found: &mut Vec<TypeId>) {
        match ty {
            Type::Sequence { element, .. } | Type::Array { element, .. } => of_type(element, found),
            Type::Map { key, value, .. } => {
                of_type(key, found);
                of_type(value, found);
            }
            Type::Named(id) => found.push(*id),
            Type::Primitive(_) | Type::String { .. } | Type::WString { .. } => {}
        }
    }
    let mut found = Vec::new();
    match &schema.definition(id).kind {
        Kind::Struct(it) => {
            found.extend(it.base);
            it.members.iter().for_each(|member| of_type(&member.ty, &mut found));
        }
        Kind::Union(it) => {
            of_type(&it.discriminator, &mut found);
            it.cases.iter().for_each(|case| of_type(&case.member.ty, &mut found));
        }
        Kind::Alias(ty) => of_type(ty, &mut found),
        Kind::Enum(_) | Kind::Bitmask(_) => {}
    }
    found
}
