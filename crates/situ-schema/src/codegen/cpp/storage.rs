//! Which C++ types are templates because they depend on the storage policy.

use crate::Schema;
use crate::model::{Kind, Type, TypeId};

/// Whether the C++ type is a template because it depends on the storage policy.
pub fn is_template(schema: &Schema, id: TypeId) -> bool {
    match &schema.definition(id).kind {
        Kind::Struct(_) | Kind::Union(_) => true,
        Kind::Enum(_) | Kind::Bitmask(_) => false,
        Kind::Alias(ty) => depends_on_storage(schema, ty),
    }
}

fn depends_on_storage(schema: &Schema, ty: &Type) -> bool {
    match ty {
        Type::Primitive(_) => false,
        Type::Array { element, .. } => depends_on_storage(schema, element),
        Type::Named(id) => is_template(schema, *id),
        Type::String { .. } | Type::WString { .. } | Type::Sequence { .. } | Type::Map { .. } => true,
    }
}
