//! Types as they stand in files: from a topic's type to a schema of a file, and back.

use situ_schema::model::TypeId;
use situ_schema::{Format, Loader, Schema, SchemaError};

use super::ros_text::{SEPARATOR, any_text, package_and_name, ros_text};

/// The largest definition of a type that is read.
const MAX_TEXT: usize = 16 << 20;

/// A type as it stands in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileType {
    /// Its name, for instance `sensor_msgs/msg/Image`.
    pub name: String,
    /// The language of its definition.
    pub encoding: &'static str,
    /// Its definition.
    pub text: String,
}

/// Why the type of a channel cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TypeError {
    /// Its definition is malformed.
    #[error("the definition of {name} cannot be read: {source}")]
    Schema {
        /// The type.
        name: String,
        /// What is wrong with it.
        source: Box<SchemaError>,
    },
    /// Its definition is not text.
    #[error("the definition of {name} is not a text of at most 16 MiB")]
    NotText {
        /// The type.
        name: String,
    },
    /// Its definition does not contain it.
    #[error("the definition of {name} does not contain it")]
    Missing {
        /// The type.
        name: String,
    },
    /// Its definition is in a language that Situ does not know.
    #[error(
        "the type {name} is defined in the language {encoding:?}; Situ reads ros2msg, ros2idl and omgidl"
    )]
    Language {
        /// The type.
        name: String,
        /// The language.
        encoding: String,
    },
}

impl FileType {
    /// The type of a topic. ROS messages become `ros2msg`, which most programs read, if that text means the
    /// same type. All others become `ros2idl`, with the text that the topic carries.
    pub fn of(schema: &Schema, root: TypeId) -> Self {
        let type_name = schema.name(root).as_str();
        let name = type_name.replace("::", "/");
        let is_same = |text: &String| {
            read("ros2msg", &name, text.as_bytes())
                .is_ok_and(|(other, id)| other.schema_hash(id) == schema.schema_hash(root))
        };
        match ros_text(schema, root).filter(is_same) {
            Some(text) => Self { name, encoding: "ros2msg", text },
            None => Self { name, encoding: "ros2idl", text: schema.canonical(root) },
        }
    }

    /// The type of the requests or the replies of a service, for instance `std_srvs/srv/SetBool_Request`. Its
    /// text is `ros2msg` if that says the same.
    pub fn of_service(schema: &Schema, root: TypeId) -> Self {
        let name = schema.name(root).as_str().replace("::", "/");
        // The text has no name: read as a message, it must be written again as it was.
        let is_same = |text: &String| {
            let read = read("ros2msg", "a/msg/A", text.as_bytes());
            read.is_ok_and(|(other, id)| any_text(&other, id).as_ref() == Some(text))
        };
        let is_of_ros = name.contains("/srv/") || name.contains("/action/");
        match any_text(schema, root).filter(|text| is_of_ros && is_same(text)) {
            Some(text) => Self { name, encoding: "ros2msg", text },
            None => Self { name, encoding: "ros2idl", text: schema.canonical(root) },
        }
    }
}

/// Reads a type of a file. The text comes from anybody.
pub fn read(encoding: &str, name: &str, data: &[u8]) -> Result<(Schema, TypeId), TypeError> {
    let text = std::str::from_utf8(data).ok().filter(|text| text.len() <= MAX_TEXT);
    let text = text.ok_or_else(|| TypeError::NotText { name: name.to_owned() })?;
    let loader = match encoding {
        "ros2msg" => messages(name, text),
        "ros2idl" | "omgidl" => idl(name, text),
        other => {
            return Err(TypeError::Language { name: name.to_owned(), encoding: other.to_owned() });
        }
    };
    let loaded = loader.sealed().load();
    let schema = loaded.map_err(|source| TypeError::Schema { name: name.to_owned(), source })?;
    let full = full_name(name, encoding);
    let root = schema.find(&full).or_else(|| schema.find(&name.replace('/', "::")));
    let root = root.ok_or_else(|| TypeError::Missing { name: name.to_owned() })?;
    Ok((schema, root))
}

/// `sensor_msgs::msg::Image` of `sensor_msgs/Image` or `sensor_msgs/msg/Image`.
fn full_name(name: &str, encoding: &str) -> String {
    match (encoding, name.split('/').collect::<Vec<_>>().as_slice()) {
        ("ros2msg", [package, name]) => format!("{package}::msg::{name}"),
        _ => name.replace('/', "::"),
    }
}

fn path_of(name: &str, extension: &str) -> String {
    let full = full_name(name, "ros2msg");
    match package_and_name(&full) {
        Some((package, name)) => format!("{package}/msg/{name}.{extension}"),
        None => format!("{}.{extension}", full.replace("::", "/")),
    }
}

/// The definitions of a text, each with its name if a line gives it.
fn parts<'t>(text: &'t str, word: &str) -> Vec<(Option<&'t str>, String)> {
    let mut parts = Vec::new();
    let (mut name, mut part) = (None, String::new());
    let mut is_behind_separator = false;
    for line in text.lines() {
        if line.trim_end() == SEPARATOR {
            parts.push((name.take(), std::mem::take(&mut part)));
            is_behind_separator = true;
            continue;
        }
        match line.strip_prefix(word) {
            Some(given) if is_behind_separator || part.is_empty() => name = Some(given.trim()),
            _ => {
                part.push_str(line);
                part.push('\n');
            }
        }
        is_behind_separator = false;
    }
    parts.push((name, part));
    parts
}

fn messages(name: &str, text: &str) -> Loader {
    parts(text, "MSG: ").into_iter().enumerate().fold(Loader::new(), |loader, (index, (given, part))| {
        match given.or((index == 0).then_some(name)) {
            Some(name) => loader.text(path_of(name, "msg"), part, Format::Msg),
            None => loader,
        }
    })
}

fn idl(name: &str, text: &str) -> Loader {
    let parts = parts(text, "IDL: ");
    let paths: Vec<String> = parts.iter().map(|(given, _)| path_of(given.unwrap_or(name), "idl")).collect();
    // The files that the parts include are parts, too.
    let is_known = |line: &str| {
        let included = line.trim_start().strip_prefix("#include").map(str::trim);
        let path = included.map(|path| path.trim_matches(['"', '<', '>']));
        path.is_some_and(|path| paths.iter().any(|known| known == path))
    };
    parts.iter().zip(&paths).fold(Loader::new(), |loader, ((_, part), path)| {
        if part.trim().is_empty() {
            return loader;
        }
        let lines: Vec<&str> = part.lines().map(|line| if is_known(line) { "" } else { line }).collect();
        loader.text(path.clone(), lines.join("\n") + "\n", Format::Idl)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const POSE: &str = "module geometry_msgs { module msg { struct Point { double x; double y; double z; }; }; };
        module nav { module msg { struct Path { string frame; sequence<geometry_msgs::msg::Point> points; uint8 raw[3]; }; }; };";

    #[test]
    fn ros_messages_become_their_text_and_come_back() {
        let schema = Schema::from_idl(POSE).unwrap();
        let root = schema.find("nav::msg::Path").unwrap();
        let file = FileType::of(&schema, root);
        assert_eq!((file.name.as_str(), file.encoding), ("nav/msg/Path", "ros2msg"));
        let expected = format!(
            "string frame\ngeometry_msgs/Point[] points\nuint8[3] raw\n{SEPARATOR}\n\
             MSG: geometry_msgs/Point\nfloat64 x\nfloat64 y\nfloat64 z\n"
        );
        assert_eq!(file.text, expected);
        let (again, id) = read(file.encoding, &file.name, file.text.as_bytes()).unwrap();
        assert_eq!(again.canonical(id), schema.canonical(root));
        // The short form of the name, as older files have it.
        let (again, id) = read("ros2msg", "nav/Path", file.text.as_bytes()).unwrap();
        assert_eq!(again.schema_hash(id), schema.schema_hash(root));
    }

    #[test]
    fn other_types_keep_their_idl() {
        let schema =
            Schema::from_idl("module demo { enum E { A, B }; struct S { E e; @bulk sequence<float> f; }; };");
        let schema = schema.unwrap();
        let root = schema.find("demo::S").unwrap();
        let file = FileType::of(&schema, root);
        assert_eq!((file.name.as_str(), file.encoding), ("demo/S", "ros2idl"));
        let (again, id) = read(file.encoding, &file.name, file.text.as_bytes()).unwrap();
        assert_eq!(again.schema_hash(id), schema.schema_hash(root));
    }

    #[test]
    fn definitions_of_rosbag2_are_read() {
        let text = format!(
            "{SEPARATOR}\nIDL: a/msg/Outer\n#include \"a/msg/Inner.idl\"\nmodule a {{ module msg {{ struct Outer {{ \
             a::msg::Inner one; }}; }}; }};\n{SEPARATOR}\nIDL: a/msg/Inner\nmodule a {{ module msg {{ struct Inner \
             {{ long x; }}; }}; }};\n"
        );
        let (schema, root) = read("ros2idl", "a/msg/Outer", text.as_bytes()).unwrap();
        assert_eq!(schema.name(root).as_str(), "a::msg::Outer");
        assert!(matches!(read("ros2msg", "a/msg/B", b"nonsense"), Err(TypeError::Schema { .. })));
        assert!(matches!(read("protobuf", "a.B", b""), Err(TypeError::Language { .. })));
        assert!(matches!(read("ros2msg", "a/msg/B", &[0xff]), Err(TypeError::NotText { .. })));
    }
}
