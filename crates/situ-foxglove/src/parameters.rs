//! Parameters of nodes of ROS: their names and values, as screens and as the nodes' services have them.
//!
//! A screen knows a parameter by the name of its node and its own: `/arm/camera.exposure`. The nodes'
//! services are those of `rcl_interfaces`; requests are written as JSON, which is read by the types of the
//! service.

use serde_json::{Map, Value as Json, json};
use situ_schema::dynamic::{Numbers, Record, Value};

use crate::base64;
use crate::protocol::Parameter;

/// The types of the services, and of the topic with changes.
pub const LIST: (&str, &str) = ("/list_parameters", "rcl_interfaces/srv/ListParameters");
pub const GET: (&str, &str) = ("/get_parameters", "rcl_interfaces/srv/GetParameters");
pub const SET: (&str, &str) = ("/set_parameters", "rcl_interfaces/srv/SetParameters");
pub const EVENTS: (&str, &str) = ("parameter_events", "rcl_interfaces::msg::ParameterEvent");

const BYTES: &str = "byte_array";
const DOUBLE: &str = "float64";
const DOUBLES: &str = "float64_array";

/// Why a parameter has no value that a node would take.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParameterError {
    /// The name has no node.
    #[error("the parameter {0:?} has no name of a node in front, such as /camera.exposure")]
    Name(String),
    /// The value is of no kind that a parameter has.
    #[error("the parameter {name:?} is not set: {reason}")]
    Value {
        /// The parameter.
        name: String,
        /// What is wrong.
        reason: &'static str,
    },
}

/// The node and the parameter of a name.
pub fn split(name: &str) -> Result<(&str, &str), ParameterError> {
    let parts = name.split_once('.').filter(|(node, own)| node.len() > 1 && !own.is_empty());
    parts
        .filter(|(node, _)| node.starts_with('/'))
        .ok_or_else(|| ParameterError::Name(name.chars().take(200).collect()))
}

/// The name of a parameter for a screen.
pub fn join(node: &str, name: &str) -> String {
    format!("{node}.{name}")
}

/// A request for all names.
pub fn list_request() -> Json {
    json!({ "prefixes": [], "depth": 0 })
}

/// A request for values.
pub fn get_request(names: &[String]) -> Json {
    json!({ "names": names })
}

/// A request to set values: names without their node, and what screens say.
pub fn set_request(parameters: &[(String, Parameter)]) -> Result<Json, ParameterError> {
    let set = parameters.iter().map(|(name, parameter)| {
        let value = value_of(parameter).map_err(|reason| ParameterError::Value {
            name: parameter.name.chars().take(200).collect(),
            reason,
        })?;
        Ok(json!({ "name": name, "value": value }))
    });
    Ok(json!({ "parameters": set.collect::<Result<Vec<_>, _>>()? }))
}

/// The members of a `rcl_interfaces/msg/ParameterValue`.
fn value_of(parameter: &Parameter) -> Result<Json, &'static str> {
    let of = |kind: u8, member: &str, value: Json| {
        let mut members = Map::new();
        members.insert("type".to_owned(), kind.into());
        members.insert(member.to_owned(), value);
        Ok(Json::Object(members))
    };
    let kind = parameter.kind.as_deref();
    let is_integer = |it: &Json| it.is_i64();
    match &parameter.value {
        None | Some(Json::Null) => Ok(json!({ "type": 0 })),
        Some(value @ Json::Bool(_)) => of(1, "bool_value", value.clone()),
        Some(Json::Number(number)) => match number.as_i64().filter(|_| kind != Some(DOUBLE)) {
            Some(integer) => of(2, "integer_value", integer.into()),
            None => of(3, "double_value", number.as_f64().into()),
        },
        Some(Json::String(text)) if kind == Some(BYTES) => {
            let bytes = base64::decode(text).ok_or("its bytes are not in base64")?;
            of(5, "byte_array_value", bytes.into())
        }
        Some(value @ Json::String(_)) => of(4, "string_value", value.clone()),
        Some(Json::Array(items)) if items.is_empty() && kind != Some(DOUBLES) => {
            Err("the type of an empty list is not known")
        }
        Some(value @ Json::Array(items)) if kind != Some(DOUBLES) && items.iter().all(is_integer) => {
            of(7, "integer_array_value", value.clone())
        }
        Some(Json::Array(items)) if items.iter().all(Json::is_number) => {
            of(8, "double_array_value", items.iter().map(Json::as_f64).collect())
        }
        Some(value @ Json::Array(items)) if items.iter().all(Json::is_boolean) => {
            of(6, "bool_array_value", value.clone())
        }
        Some(value @ Json::Array(items)) if items.iter().all(Json::is_string) => {
            of(9, "string_array_value", value.clone())
        }
        Some(Json::Array(_)) => Err("the items of its list are of several types"),
        Some(Json::Object(_)) => Err("parameters of ROS have no members"),
    }
}

fn record(value: &Value) -> Option<&Record> {
    match value {
        Value::Record(record) => Some(record),
        _ => None,
    }
}

fn list<'v>(record: &'v Record, member: &str) -> Option<&'v [Value]> {
    match record.get(member)? {
        Value::List(items) => Some(items),
        _ => None,
    }
}

fn text<'v>(record: &'v Record, member: &str) -> Option<&'v str> {
    match record.get(member)? {
        Value::Text(text) => Some(text),
        _ => None,
    }
}

/// The names in the reply of a node that was asked for all.
pub fn listed(reply: &Value) -> Option<Vec<String>> {
    let names = list(record(record(reply)?.get("result")?)?, "names")?;
    let name = |name: &Value| match name {
        Value::Text(name) => Some(name.clone()),
        _ => None,
    };
    names.iter().map(name).collect()
}

/// The parameters in the reply of a node that was asked for these names.
pub fn got(node: &str, names: &[String], reply: &Value) -> Option<Vec<Parameter>> {
    let values = list(record(reply)?, "values")?;
    let parameter = |(name, value): (&String, &Value)| parameter(node, name, value);
    (values.len() == names.len()).then(|| names.iter().zip(values).map(parameter).collect())?
}

/// Why a node did not set parameters, for each that was not set.
pub fn refused(node: &str, names: &[String], reply: &Value) -> Option<Vec<String>> {
    let results = list(record(reply)?, "results")?;
    let mut refused = Vec::new();
    for (name, result) in names.iter().zip(results) {
        let result = record(result)?;
        if !matches!(result.get("successful")?, Value::Bool(true)) {
            let (name, reason) = (join(node, name), text(result, "reason")?);
            refused.push(format!("the parameter {name:?} is not set: {reason}"));
        }
    }
    (results.len() == names.len()).then_some(refused)
}

/// The parameters that have changed, by a message of the topic; deleted ones have no value.
pub fn changed(event: &Value) -> Option<Vec<Parameter>> {
    let event = record(event)?;
    let node = text(event, "node")?;
    let mut changed = Vec::new();
    for (member, is_there) in
        [("new_parameters", true), ("changed_parameters", true), ("deleted_parameters", false)]
    {
        for it in list(event, member)? {
            let it = record(it)?;
            let mut parameter = parameter(node, text(it, "name")?, it.get("value")?)?;
            if !is_there {
                (parameter.value, parameter.kind) = (None, None);
            }
            changed.push(parameter);
        }
    }
    Some(changed)
}

/// A `rcl_interfaces/msg/ParameterValue` as a screen has it.
fn parameter(node: &str, name: &str, value: &Value) -> Option<Parameter> {
    let value = record(value)?;
    let kind = match value.get("type")? {
        Value::Unsigned(kind) => *kind,
        _ => return None,
    };
    let all = |member| list(value, member)?.iter().map(plain).collect::<Option<Vec<_>>>();
    let (value, kind) = match kind {
        0 => (None, None),
        1 => (Some(plain(value.get("bool_value")?)?), None),
        2 => (Some(plain(value.get("integer_value")?)?), None),
        3 => (Some(plain(value.get("double_value")?)?), Some(DOUBLE)),
        4 => (Some(plain(value.get("string_value")?)?), None),
        5 => match value.get("byte_array_value")? {
            Value::Numbers(Numbers::U8(bytes)) => (Some(base64::encode(bytes).into()), Some(BYTES)),
            _ => return None,
        },
        6 => (Some(all("bool_array_value")?.into()), None),
        7 => match value.get("integer_array_value")? {
            Value::Numbers(Numbers::I64(numbers)) => (Some(numbers.clone().into()), None),
            _ => return None,
        },
        8 => match value.get("double_array_value")? {
            Value::Numbers(Numbers::F64(numbers)) => (Some(numbers.clone().into()), Some(DOUBLES)),
            _ => return None,
        },
        9 => (Some(all("string_array_value")?.into()), None),
        _ => return None,
    };
    Some(Parameter { name: join(node, name), value, kind: kind.map(str::to_owned) })
}

fn plain(value: &Value) -> Option<Json> {
    Some(match value {
        Value::Bool(value) => (*value).into(),
        Value::Signed(value) => (*value).into(),
        // JSON has no infinite numbers: they become null.
        Value::Double(value) => (*value).into(),
        Value::Text(value) => value.as_str().into(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(value: Json, kind: Option<&str>) -> Parameter {
        Parameter { name: "/n.p".into(), value: Some(value), kind: kind.map(str::to_owned) }
    }

    #[test]
    fn names_have_a_node_and_their_own() {
        assert_eq!(split("/camera.exposure"), Ok(("/camera", "exposure")));
        assert_eq!(split("/arm/camera.a.b"), Ok(("/arm/camera", "a.b")));
        for bad in ["", "exposure", "camera.exposure", "/camera", "/camera.", "/.x", "."] {
            assert!(split(bad).is_err(), "{bad}");
        }
        assert_eq!(join("/arm/camera", "a.b"), "/arm/camera.a.b");
    }

    #[test]
    fn values_have_the_types_of_ros() {
        // The numbers are those of rcl_interfaces/msg/ParameterType.
        for (value, kind, number, member, said) in [
            (json!(true), None, 1, "bool_value", json!(true)),
            (json!(-7), None, 2, "integer_value", json!(-7)),
            (json!(3), Some("float64"), 3, "double_value", json!(3.0)),
            (json!(1.5), None, 3, "double_value", json!(1.5)),
            (json!("x"), None, 4, "string_value", json!("x")),
            (json!("QUJDRA=="), Some("byte_array"), 5, "byte_array_value", json!([65, 66, 67, 68])),
            (json!([true, false]), None, 6, "bool_array_value", json!([true, false])),
            (json!([1, 2]), None, 7, "integer_array_value", json!([1, 2])),
            (json!([1, 2]), Some("float64_array"), 8, "double_array_value", json!([1.0, 2.0])),
            (json!([]), Some("float64_array"), 8, "double_array_value", json!([])),
            (json!([1, 2.5]), None, 8, "double_array_value", json!([1.0, 2.5])),
            (json!(["a", "b"]), None, 9, "string_array_value", json!(["a", "b"])),
        ] {
            let expected = json!({ "type": number, member: said });
            assert_eq!(value_of(&of(value.clone(), kind)), Ok(expected), "{value} {kind:?}");
        }
        assert_eq!(value_of(&Parameter { value: None, ..of(json!(0), None) }), Ok(json!({ "type": 0 })));
        for (value, kind) in
            [(json!([]), None), (json!([1, "a"]), None), (json!({}), None), (json!("?"), Some("byte_array"))]
        {
            assert!(value_of(&of(value.clone(), kind)).is_err(), "{value}");
        }
        let request = set_request(&[("p".into(), of(json!(1), None))]).unwrap();
        let expected = json!({ "parameters": [{ "name": "p", "value": { "type": 2, "integer_value": 1 } }] });
        assert_eq!(request, expected);
    }
}
