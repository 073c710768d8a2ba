//! Situ's own types as those of ROS, because Foxglove's panels for images, clouds and poses know only these
//! by name.

use situ_schema::Schema;
use situ_schema::dynamic::Value;
use situ_schema::model::{Kind, Primitive, Type, TypeId};

/// The types of ROS, with the members that they have there.
const ROS: &str = "
module builtin_interfaces { module msg { struct Time { int32 sec; uint32 nanosec; }; }; };
module std_msgs { module msg { struct Header { builtin_interfaces::msg::Time stamp; string frame_id; }; }; };
module geometry_msgs { module msg {
  struct Vector3 { double x; double y; double z; };
  struct Point { double x; double y; double z; };
  struct Quaternion { double x; double y; double z; double w; };
  struct Pose { Point position; Quaternion orientation; };
  struct PoseStamped { std_msgs::msg::Header header; Pose pose; };
  struct Transform { Vector3 translation; Quaternion rotation; };
  struct TransformStamped { std_msgs::msg::Header header; string child_frame_id; Transform transform; };
  struct Twist { Vector3 linear; Vector3 angular; };
  struct TwistStamped { std_msgs::msg::Header header; Twist twist; };
}; };
module sensor_msgs { module msg {
  struct PointField { string name; uint32 offset; uint8 datatype; uint32 count; };
  struct PointCloud2 { std_msgs::msg::Header header; uint32 height; uint32 width; sequence<PointField> fields;
    boolean is_bigendian; uint32 point_step; uint32 row_step; sequence<uint8> data; boolean is_dense; };
  struct Image { std_msgs::msg::Header header; uint32 height; uint32 width; string encoding; uint8 is_bigendian;
    uint32 step; sequence<uint8> data; };
  struct CompressedImage { std_msgs::msg::Header header; string format; sequence<uint8> data; };
  struct Imu { std_msgs::msg::Header header; geometry_msgs::msg::Quaternion orientation;
    double orientation_covariance[9]; geometry_msgs::msg::Vector3 angular_velocity;
    double angular_velocity_covariance[9]; geometry_msgs::msg::Vector3 linear_acceleration;
    double linear_acceleration_covariance[9]; };
}; };
";

/// A type of Situ as one of ROS.
#[derive(Debug)]
pub struct Screen {
    /// The types of ROS.
    pub schema: Schema,
    /// The type of the messages.
    pub root: TypeId,
    /// Whether the CDR of both is the same.
    pub is_same: bool,
}

/// How two types agree.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Fit {
    /// Their values have the same bytes.
    Same,
    /// Their values must be written anew.
    Values,
}

impl Screen {
    /// The type of ROS with the name and the members of a type of Situ, if there is one.
    pub fn of(schema: &Schema, root: TypeId) -> Option<Self> {
        let (package, name) = schema.name(root).as_str().strip_prefix("situ::")?.split_once("::")?;
        let name = match package {
            "sensor" => format!("sensor_msgs::msg::{name}"),
            "geometry" => format!("geometry_msgs::msg::{name}"),
            _ => return None,
        };
        let ros = Schema::from_idl(ROS).ok()?;
        let target = ros.find(&name)?;
        let fit = fit((schema, &Type::Named(root)), (&ros, &Type::Named(target)))?;
        Some(Self { root: target, is_same: fit == Fit::Same, schema: ros })
    }

    /// A message of the type of Situ as one of the type of ROS.
    pub fn adapt(&self, message: Value) -> Value {
        adapt(message, &self.schema, &Type::Named(self.root))
    }
}

/// How a type agrees with one of ROS: in the names and kinds of all members. Bounds make no difference.
fn fit(own: (&Schema, &Type), ros: (&Schema, &Type)) -> Option<Fit> {
    if let Some((element, dimensions)) = ros.0.array(ros.1) {
        let (own_element, own_dimensions) = own.0.array(own.1)?;
        return (own_dimensions == dimensions).then(|| fit((own.0, own_element), (ros.0, element)))?;
    }
    match (own.0.resolve(own.1), ros.0.resolve(ros.1)) {
        (Type::Primitive(own), Type::Primitive(ros)) => {
            let is_same = own == ros || (*own, *ros) == (Primitive::Bool, Primitive::U8);
            is_same.then_some(Fit::Same)
        }
        (Type::String { .. }, Type::String { .. }) => Some(Fit::Same),
        (Type::Sequence { element: own_element, .. }, Type::Sequence { element, .. }) => {
            fit((own.0, own_element), (ros.0, element))
        }
        (Type::Named(id), Type::Primitive(Primitive::U8)) => {
            matches!(own.0.definition(*id).kind, Kind::Enum(_)).then_some(Fit::Values)
        }
        (Type::Named(own_id), Type::Named(id)) => {
            let own_struct = own.0.definition(*own_id).kind.as_struct()?;
            let ros_struct = ros.0.definition(*id).kind.as_struct()?;
            if own_struct.base.is_some() || own_struct.members.len() != ros_struct.members.len() {
                return None;
            }
            let mut all = Fit::Same;
            for (own_member, member) in own_struct.members.iter().zip(&ros_struct.members) {
                if own_member.name != member.name || own_member.optional {
                    return None;
                }
                all = all.max(fit((own.0, &own_member.ty), (ros.0, &member.ty))?);
            }
            Some(all)
        }
        _ => None,
    }
}

/// A value of a type that fits, as the type of ROS has it.
fn adapt(value: Value, schema: &Schema, ty: &Type) -> Value {
    match (value, schema.resolve(ty)) {
        (Value::Bool(value), Type::Primitive(Primitive::U8)) => Value::Unsigned(value.into()),
        // The values of the enums that fit are those of the numbers in ROS.
        (Value::Enum { value, .. }, Type::Primitive(_)) => Value::Unsigned(u64::from(value as u8)),
        (Value::List(items), Type::Sequence { element, .. }) => {
            Value::List(items.into_iter().map(|item| adapt(item, schema, element)).collect())
        }
        (Value::Record(mut record), Type::Named(id)) => {
            let Some(it) = schema.definition(*id).kind.as_struct() else { return Value::Record(record) };
            for member in &it.members {
                if let Some(value) = record.get_mut(&member.name) {
                    *value = adapt(std::mem::replace(value, Value::Bool(false)), schema, &member.ty);
                }
            }
            Value::Record(record)
        }
        (value, _) => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use situ_schema::Loader;
    use situ_schema::dynamic::{from_cdr, from_text, to_cdr};
    use situ_wire::Encoding::Xcdr1;

    fn situ() -> Schema {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schema");
        Loader::new().include(folder).file(format!("{folder}/situ/sensor.idl")).load().unwrap()
    }

    #[test]
    fn types_with_the_same_bytes_only_get_another_name() {
        let schema = situ();
        for (own, ros, text) in [
            (
                "situ::sensor::Image",
                "sensor_msgs::msg::Image",
                "{header: {stamp: {sec: 1, nanosec: 2}, frame_id: abc}, height: 1, width: 2, encoding: rgb8,
                is_bigendian: true, step: 6, data: [1, 2, 3, 4, 5, 6]}",
            ),
            (
                "situ::sensor::CompressedImage",
                "sensor_msgs::msg::CompressedImage",
                "{format: png, data: [7]}",
            ),
            (
                "situ::sensor::Imu",
                "sensor_msgs::msg::Imu",
                "{orientation: {x: 0.5}, orientation_covariance: [1, 2, 3, 4, 5, 6, 7, 8, 9]}",
            ),
            (
                "situ::geometry::TransformStamped",
                "geometry_msgs::msg::TransformStamped",
                "{child_frame_id: ab, transform: {rotation: {w: 0.5}}}",
            ),
            (
                "situ::geometry::TwistStamped",
                "geometry_msgs::msg::TwistStamped",
                "{twist: {angular: {z: 3}}}",
            ),
            ("situ::geometry::PoseStamped", "geometry_msgs::msg::PoseStamped", "{pose: {position: {z: 3}}}"),
        ] {
            let root = schema.find(own).unwrap();
            let screen = Screen::of(&schema, root).unwrap();
            assert_eq!(screen.schema.name(screen.root).as_str(), ros);
            assert!(screen.is_same, "{own}");
            let value = from_text(&schema, root, text).unwrap();
            let bytes = to_cdr(&schema, root, &value, Xcdr1).unwrap();
            let seen = from_cdr(&screen.schema, screen.root, &bytes).unwrap();
            assert_eq!(to_cdr(&screen.schema, screen.root, &seen, Xcdr1).unwrap(), bytes, "{own}");
            assert_eq!(seen, screen.adapt(value), "{own}");
        }
    }

    #[test]
    fn points_have_the_fields_of_ros() {
        let schema = situ();
        let root = schema.find("situ::sensor::PointCloud2").unwrap();
        let screen = Screen::of(&schema, root).unwrap();
        assert!(!screen.is_same);
        let text = "{height: 1, width: 1, fields: [{name: x, offset: 4, datatype: FLOAT64}], data: [9], is_dense: true}";
        let value = screen.adapt(from_text(&schema, root, text).unwrap());
        let bytes = to_cdr(&screen.schema, screen.root, &value, Xcdr1).unwrap();
        // The header (8 bytes of time, the length and the zero of an empty name, 3 of padding), height,
        // width, the number of fields, `x` with its length (4 + 2, 2 of padding), then the offset, the type
        // and the count.
        let at = 4 + 8 + 8 + 8 + 4 + 8;
        assert_eq!(bytes[at..at + 12], [4, 0, 0, 0, 8, 0, 0, 0, 1, 0, 0, 0]);
    }

    #[test]
    fn other_types_keep_their_name() {
        let find = |idl: &str, name: &str| {
            let schema = Schema::from_idl(idl).unwrap();
            let root = schema.find(name).unwrap();
            Screen::of(&schema, root).is_some()
        };
        assert!(!find(
            "module situ { module sensor { struct Image { long x; }; }; };",
            "situ::sensor::Image"
        ));
        assert!(!find("module situ { module other { struct Image { long x; }; }; };", "situ::other::Image"));
        assert!(!find("module my { module sensor { struct Image { long x; }; }; };", "my::sensor::Image"));
    }
}
