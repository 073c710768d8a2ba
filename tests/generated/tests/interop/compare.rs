//! Turns values into the form that cases have, and compares them to the last bit.

use std::convert::Infallible;

use serde_json::{Map, Value as Json, json};
use situ::layout::BulkRef;
use situ::layout::OpaqueBuffer;
use situ::layout::visit::{
    Bitmask, Enumeration, MemberInfo, MemberVisitor, Number, Structure, Union, Visitor,
};
use situ::layout::{BulkElement, MapField, MapKey, Value};
use situ_schema::dynamic;

/// The place at which two values differ, if they do.
pub fn difference(found: &Json, wanted: &Json, path: &str) -> Option<String> {
    match (found, wanted) {
        (Json::Object(left), Json::Object(right)) if left.len() == right.len() => {
            left.iter().find_map(|(name, it)| {
                difference(it, right.get(name).unwrap_or(&Json::Null), &format!("{path}.{name}"))
            })
        }
        (Json::Array(left), Json::Array(right)) => {
            if left.len() != right.len() {
                return Some(format!("{path}: {} elements instead of {}", left.len(), right.len()));
            }
            let pairs = left.iter().zip(right).enumerate();
            pairs
                .into_iter()
                .find_map(|(index, (left, right))| difference(left, right, &format!("{path}[{index}]")))
        }
        (Json::Number(left), Json::Number(right)) => {
            let bits = |it: &serde_json::Number| it.is_f64().then(|| it.as_f64().map(f64::to_bits));
            let same = left == right && bits(left) == bits(right);
            (!same).then(|| format!("{path}: {left} instead of {right}"))
        }
        _ => (found != wanted).then(|| format!("{path}: {found} instead of {wanted}")),
    }
}

fn float(value: f64) -> Json {
    match value {
        it if it.is_nan() => "nan".into(),
        f64::INFINITY => "inf".into(),
        f64::NEG_INFINITY => "-inf".into(),
        it => it.into(),
    }
}

/// The value of a message without a compiled type.
pub fn of_dynamic(value: &dynamic::Value) -> Json {
    use dynamic::Value;
    match value {
        Value::Bool(it) => (*it).into(),
        Value::Signed(it) => (*it).into(),
        Value::Unsigned(it) => (*it).into(),
        Value::Float(it) => float((*it).into()),
        Value::Double(it) => float(*it),
        Value::Char(it) => (*it).into(),
        Value::WChar(it) => (*it).into(),
        Value::Text(it) => it.as_str().into(),
        Value::WideText(it) => String::from_utf16_lossy(it).into(),
        Value::Enum { value, .. } => (*value).into(),
        Value::Bitmask { bits, .. } => (*bits).into(),
        Value::Record(it) => it.iter().map(|(name, it)| (name.to_owned(), of_dynamic(it))).collect(),
        Value::Union { discriminator, case } => json!({
            "discriminator": of_dynamic(discriminator),
            "case": case.as_ref().map(|it| it.0.as_str()),
            "value": case.as_ref().map(|it| of_dynamic(&it.1)),
        }),
        Value::Optional(it) => it.as_ref().map_or(Json::Null, |it| of_dynamic(it)),
        Value::Numbers(it) => {
            (0..it.len()).filter_map(|index| it.get(index)).map(|it| of_dynamic(&it)).collect()
        }
        Value::List(it) => it.iter().map(of_dynamic).collect(),
        Value::Map(it) => it.iter().map(|(key, value)| json!([of_dynamic(key), of_dynamic(value)])).collect(),
    }
}

/// The value of a message with a generated type.
pub fn of_generated<T: Value>(value: &T) -> Json {
    let mut visitor = ToJson { json: Json::Null };
    let Ok(()) = value.visit(&mut visitor);
    visitor.json
}

struct ToJson {
    json: Json,
}

impl Visitor for ToJson {
    type Error = Infallible;

    fn boolean(&mut self, value: bool) -> Result<(), Infallible> {
        self.json = value.into();
        Ok(())
    }

    fn number<T: Number>(&mut self, value: T) -> Result<(), Infallible> {
        let bytes = value.with_ne_bytes(<[u8]>::to_vec);
        let number: [u8; 8] = std::array::from_fn(|index| bytes.get(index).copied().unwrap_or(0));
        let bits = u64::from_le_bytes(number);
        self.json = match std::any::type_name::<T>() {
            "f32" => float(f32::from_bits(bits as u32).into()),
            "f64" => float(f64::from_bits(bits)),
            "i8" => (bits as i8).into(),
            "i16" => (bits as i16).into(),
            "i32" => (bits as i32).into(),
            "i64" => (bits as i64).into(),
            _ => bits.into(),
        };
        Ok(())
    }

    fn enumeration<T: Enumeration>(&mut self, value: T) -> Result<(), Infallible> {
        self.number(value.value())
    }

    fn bitmask<T: Bitmask>(&mut self, value: T) -> Result<(), Infallible> {
        self.number(value.bits())
    }

    fn text(&mut self, text: &str) -> Result<(), Infallible> {
        self.json = text.into();
        Ok(())
    }

    fn wide_text(&mut self, units: &[u16]) -> Result<(), Infallible> {
        self.json = String::from_utf16_lossy(units).into();
        Ok(())
    }

    fn sequence<T: Value>(&mut self, elements: &[T]) -> Result<(), Infallible> {
        self.json = elements.iter().map(of_generated).collect();
        Ok(())
    }

    fn opaque_buffer(&mut self, _: OpaqueBuffer) -> Result<(), Infallible> {
        panic!("no other implementation has rosidl buffers")
    }

    fn array<T: Value>(&mut self, elements: &[T]) -> Result<(), Infallible> {
        self.sequence(elements)
    }

    fn map<K: MapKey, V: Value, M: MapField<K, V>>(&mut self, table: &M) -> Result<(), Infallible> {
        self.json =
            table.entries().map(|(key, value)| json!([of_generated(key), of_generated(value)])).collect();
        Ok(())
    }

    fn optional<T: Value>(&mut self, value: Option<&T>) -> Result<(), Infallible> {
        self.json = value.map_or(Json::Null, of_generated);
        Ok(())
    }

    fn structure<T: Structure>(&mut self, value: &T) -> Result<(), Infallible> {
        let mut members = Members { value, json: Map::new() };
        let Ok(()) = T::visit_members(&mut members);
        self.json = members.json.into();
        Ok(())
    }

    fn union<T: Union>(&mut self, value: &T) -> Result<(), Infallible> {
        let discriminator = value.discriminator();
        let Ok(()) = value.visit_case(self);
        let case = T::case_of(discriminator);
        self.json = json!({
            "discriminator": of_generated(&discriminator),
            "case": case.map(|it| it.0.name),
            "value": case.map(|_| self.json.take()),
        });
        Ok(())
    }

    fn bulk<T: BulkElement, const N: usize>(&mut self, _: &BulkRef<T, N>) -> Result<(), Infallible> {
        panic!("no other implementation has bulk members")
    }
}

struct Members<'a, S> {
    value: &'a S,
    json: Map<String, Json>,
}

impl<S> MemberVisitor<S> for Members<'_, S> {
    type Error = Infallible;

    fn member<T: Value>(
        &mut self,
        info: &'static MemberInfo,
        get: impl Fn(&S) -> &T,
        _: impl Fn(&mut S) -> &mut T,
    ) -> Result<(), Infallible> {
        self.json.insert(info.name.to_owned(), of_generated(get(self.value)));
        Ok(())
    }
}
