//! Types as ROS message texts (`ros2msg`): the definition, then those of the messages that it uses.

use std::fmt::Write;

use situ_schema::Schema;
use situ_schema::model::{Extensibility, Kind, Primitive, Struct, Type, TypeId};

/// The line between two definitions.
pub const SEPARATOR: &str =
    "================================================================================";

/// The package and the name of a ROS message: `sensor_msgs`, `Image` of `sensor_msgs::msg::Image`.
pub fn package_and_name(type_name: &str) -> Option<(&str, &str)> {
    let (package, name) = type_name.split_once("::msg::")?;
    let is_word = |text: &str| !text.is_empty() && !text.contains(':');
    (is_word(package) && is_word(name)).then_some((package, name))
}

/// The text of a ROS message, with those that it uses. `None` if a part of it cannot be said in such a text.
pub fn ros_text(schema: &Schema, root: TypeId) -> Option<String> {
    package_and_name(schema.name(root).as_str())?;
    any_text(schema, root)
}

/// The same for a type of any name, such as the requests of a service. The types that it uses are messages.
pub fn any_text(schema: &Schema, root: TypeId) -> Option<String> {
    let mut text = definition(schema, root)?;
    for id in schema.closure(root) {
        if id == root || matches!(schema.definition(id).kind, Kind::Alias(_)) {
            continue;
        }
        let (package, name) = package_and_name(schema.name(id).as_str())?;
        let _ = write!(text, "{SEPARATOR}\nMSG: {package}/{name}\n{}", definition(schema, id)?);
    }
    Some(text)
}

fn plain(it: &Struct) -> bool {
    it.base.is_none() && it.extensibility == Extensibility::Final && !it.region
}

fn definition(schema: &Schema, id: TypeId) -> Option<String> {
    let it = schema.definition(id).kind.as_struct().filter(|it| plain(it))?;
    let mut text = String::new();
    for member in &it.members {
        if member.optional || member.bulk || member.key {
            return None;
        }
        let _ = writeln!(text, "{} {}", field(schema, &member.ty)?, member.name);
    }
    Some(text)
}

fn field(schema: &Schema, ty: &Type) -> Option<String> {
    if let Some((element, dimensions)) = schema.array(ty) {
        let [count] = dimensions.as_slice() else { return None };
        return Some(format!("{}[{count}]", element_text(schema, element)?));
    }
    match schema.resolve(ty) {
        Type::Sequence { element, bound: None } => Some(format!("{}[]", element_text(schema, element)?)),
        Type::Sequence { element, bound: Some(bound) } => {
            Some(format!("{}[<={bound}]", element_text(schema, element)?))
        }
        other => element_text(schema, other),
    }
}

fn element_text(schema: &Schema, ty: &Type) -> Option<String> {
    Some(match schema.resolve(ty) {
        Type::Primitive(primitive) => primitive_text(*primitive)?.to_owned(),
        Type::String { bound } => bounded("string", *bound),
        Type::WString { bound } => bounded("wstring", *bound),
        Type::Named(id) => {
            let (package, name) = package_and_name(schema.name(*id).as_str())?;
            format!("{package}/{name}")
        }
        _ => return None,
    })
}

fn bounded(name: &str, bound: Option<u32>) -> String {
    bound.map_or_else(|| name.to_owned(), |bound| format!("{name}<={bound}"))
}

fn primitive_text(primitive: Primitive) -> Option<&'static str> {
    Some(match primitive {
        Primitive::Bool => "bool",
        Primitive::I8 => "int8",
        Primitive::U8 => "uint8",
        Primitive::I16 => "int16",
        Primitive::U16 => "uint16",
        Primitive::I32 => "int32",
        Primitive::U32 => "uint32",
        Primitive::I64 => "int64",
        Primitive::U64 => "uint64",
        Primitive::F32 => "float32",
        Primitive::F64 => "float64",
        Primitive::Char8 | Primitive::WChar => return None,
    })
}
