//! Types of ROS that no program here uses, for topics and services of nodes of rmw_zenoh, which tell the name
//! and the hash of a type, and not the type.
//!
//! The definition is one of the common ones in `ros_types.idl`, or a file of the ROS installation that
//! `AMENT_PREFIX_PATH` names. It is used if it has the hash that the other node tells.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use situ_bus::{Encoding, TypeDescription};
use situ_schema::{Loader, Schema};

use crate::discovery::ToldType;
use crate::message_type::MessageType;
use crate::service_out::ServiceTypes;
use crate::wire::names::{WireType, bus_type_name};
use crate::wire::token::Space;

/// The common definitions.
const COMMON: &str = include_str!("ros_types.idl");
/// How many names are remembered.
const MAX_NAMES: usize = 4096;
/// How long a file is not read again, or not looked for. Packages may be installed while a bridge runs.
const REMEMBERED: Duration = Duration::from_secs(60);
/// How many files are looked for in a second. Machines may tell ever new names.
const MAX_LOADS: usize = 64;

fn common() -> Option<&'static Schema> {
    static SCHEMA: OnceLock<Option<Schema>> = OnceLock::new();
    SCHEMA.get_or_init(|| Schema::from_idl(COMMON).ok()).as_ref()
}

/// What is known of a type that another machine tells.
#[derive(Debug)]
pub enum Found {
    /// The type.
    Type(ToldType),
    /// There is none with its name and hash.
    Nothing,
    /// Too many files were looked for just now. A later call looks.
    Later,
}

/// Reads the file of `package/msg/Name`.
type Load = Box<dyn FnMut(&str) -> Option<Schema> + Send>;

/// Definitions by their names, whatever hash is asked for: a new hash reads no file again.
pub struct RosTypes {
    named: HashMap<String, Named>,
    load: Load,
    /// When files were looked for first in this second, and how many.
    loads: (Option<Instant>, usize),
}

struct Named {
    common: Option<ToldType>,
    /// The one of the installation, and when it was looked for.
    installed: Option<(Instant, Option<ToldType>)>,
}

impl Default for RosTypes {
    fn default() -> Self {
        Self::loading(|path| Loader::new().ament_prefix_path().ros_interface(path).load().ok())
    }
}

impl fmt::Debug for RosTypes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RosTypes").field("names", &self.named.len()).finish_non_exhaustive()
    }
}

impl RosTypes {
    /// With a function that reads the file of `package/msg/Name`.
    fn loading(load: impl FnMut(&str) -> Option<Schema> + Send + 'static) -> Self {
        Self { named: HashMap::new(), load: Box::new(load), loads: (None, 0) }
    }

    /// Finds the definition of a type by its name and its hash.
    pub fn find(&mut self, wire: &WireType, now: Instant) -> Found {
        let Some(name) = bus_type_name(&wire.name).filter(|_| wire.space == Space::Ros) else {
            return Found::Nothing;
        };
        let parts: Vec<&str> = name.split("::").collect();
        let is_name = |part: &&str| part.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'_');
        // The name becomes the name of a file.
        if parts.len() != 3 || !parts.iter().all(is_name) {
            return Found::Nothing;
        }
        if self.named.len() >= MAX_NAMES && !self.named.contains_key(&name) {
            self.named.clear();
        }
        let named = self.named.entry(name.clone()).or_insert_with(|| Named {
            common: common().and_then(|schema| of_schema(schema, &name)),
            installed: None,
        });
        let installed = || named.installed.as_ref().and_then(|(_, found)| found.as_ref());
        let known = named.common.iter().chain(installed()).find(|it| has_hash(it, &wire.hash));
        if let Some(found) = known {
            return Found::Type(found.clone());
        }
        let is_new = |since: Instant| now.saturating_duration_since(since) < REMEMBERED;
        if named.installed.as_ref().is_some_and(|(since, _)| is_new(*since)) {
            return Found::Nothing;
        }
        if self.loads.0.is_none_or(|since| now.saturating_duration_since(since) >= Duration::from_secs(1)) {
            self.loads = (Some(now), 0);
        }
        if self.loads.1 >= MAX_LOADS {
            return Found::Later;
        }
        self.loads.1 += 1;
        let loaded = (self.load)(&parts.join("/")).and_then(|schema| of_schema(&schema, &name));
        let found = loaded.clone().filter(|it| has_hash(it, &wire.hash));
        named.installed = Some((now, loaded));
        found.map_or(Found::Nothing, Found::Type)
    }
}

fn has_hash(told: &ToldType, hash: &str) -> bool {
    match told {
        ToldType::Topic(message) => message.subject().has_hash(hash),
        ToldType::Service(types) => types.request.service_subject(&types.reply).has_hash(hash),
    }
}

/// The type with this name.
fn of_schema(schema: &Schema, name: &str) -> Option<ToldType> {
    let of = |name: &str| {
        let root = schema.find(name)?;
        let description = TypeDescription {
            name: name.to_owned(),
            schema: schema.canonical(root),
            schema_hash: schema.schema_hash(root),
            layout_hash: 0,
            encoding: Encoding::Xcdr1,
            fixed_size: 0,
            user_header_size: 0,
        };
        MessageType::new(&description).ok().map(Arc::new)
    };
    if let Some(message) = of(name) {
        return Some(ToldType::Topic(message));
    }
    let (request, reply) = (of(&format!("{name}_Request"))?, of(&format!("{name}_Response"))?);
    Some(ToldType::Service(ServiceTypes { request, reply, space: Space::Ros }))
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};
    use std::sync::atomic::{AtomicUsize, Ordering};

    use crate::wire::names::dds_name;

    use super::*;

    /// Finds a type, also in an installation.
    fn find(wire: &WireType) -> Option<ToldType> {
        match RosTypes::default().find(wire, Instant::now()) {
            Found::Type(found) => Some(found),
            Found::Nothing => None,
            Found::Later => panic!("it is the first"),
        }
    }

    fn wire(name: &str, hash: &str) -> WireType {
        WireType { space: Space::Ros, name: name.into(), hash: hash.into() }
    }

    #[test]
    fn types_are_found_by_name_and_hash() {
        let hash = "RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18";
        let string = wire("std_msgs::msg::dds_::String_", hash);
        let Some(ToldType::Topic(found)) = find(&string) else { panic!("no type") };
        assert_eq!((found.name(), found.wire(None)), ("std_msgs::msg::String", string.clone()));
        let other = hash.replace("df66", "df67");
        for (name, hash) in [
            (string.name.as_str(), other.as_str()),
            ("std_msgs::msg::dds_::Nothing_", hash),
            ("std_msgs::msg::dds_::../../String_", hash),
            ("a/b::msg::dds_::String_", hash),
        ] {
            assert!(find(&wire(name, hash)).is_none(), "{name}");
        }
        assert!(find(&WireType { space: Space::Situ, ..string }).is_none());
    }

    /// The loads of a looked-up type, and how long ago the first call was.
    struct Counted {
        types: RosTypes,
        loads: Arc<AtomicUsize>,
        begin: Instant,
    }

    impl Counted {
        /// With an installation that has one type.
        fn new() -> Self {
            let loads = Arc::<AtomicUsize>::default();
            let count = loads.clone();
            let types = RosTypes::loading(move |path| {
                count.fetch_add(1, Ordering::Relaxed);
                let text = "module pkg { module msg { struct Thing { long x; }; }; };";
                (path == "pkg/msg/Thing").then(|| Schema::from_idl(text).unwrap())
            });
            Self { types, loads, begin: Instant::now() }
        }

        /// What is found after these seconds, and how many files were looked for altogether.
        fn find(&mut self, seconds: u64, name: &str, hash: &str) -> (char, usize) {
            let now = self.begin + Duration::from_secs(seconds);
            let found = match self.types.find(&wire(&dds_name(name).unwrap(), hash), now) {
                Found::Type(_) => 't',
                Found::Nothing => '-',
                Found::Later => 'l',
            };
            (found, self.loads.load(Ordering::Relaxed))
        }
    }

    #[test]
    fn new_hashes_read_no_file_again() {
        let mut counted = Counted::new();
        let schema = Schema::from_idl("module pkg { module msg { struct Thing { long x; }; }; };").unwrap();
        let Some(ToldType::Topic(thing)) = of_schema(&schema, "pkg::msg::Thing") else { panic!("no type") };
        let hash = thing.wire(None).hash;
        let other = |number: usize| format!("RIHS01_{number:064x}");
        assert_eq!(counted.find(0, "pkg::msg::Thing", &other(0)), ('-', 1));
        for number in 0..200 {
            assert_eq!(counted.find(0, "pkg::msg::Missing", &other(number)), ('-', 2));
            assert_eq!(counted.find(0, "pkg::msg::Thing", &other(number)), ('-', 2));
            assert_eq!(counted.find(0, "pkg::msg::Thing", &hash), ('t', 2));
        }
        // A common type with another hash looks for the file once, too.
        assert_eq!(counted.find(1, "std_msgs::msg::String", &other(0)), ('-', 3));
        assert_eq!(counted.find(1, "std_msgs::msg::String", &other(1)), ('-', 3));
        // After a while it is looked for again: its package may be there now.
        assert_eq!(counted.find(59, "pkg::msg::Missing", &other(0)), ('-', 3));
        assert_eq!(counted.find(60, "pkg::msg::Missing", &other(0)), ('-', 4));
        // A type that is known needs no file.
        assert_eq!(counted.find(1000, "pkg::msg::Thing", &hash), ('t', 4));
    }

    #[test]
    fn ever_new_names_are_looked_for_at_a_limited_rate() {
        let mut counted = Counted::new();
        for number in 0..MAX_LOADS {
            assert_eq!(counted.find(0, &format!("a::msg::N{number}"), "x"), ('-', number + 1));
        }
        assert_eq!(counted.find(0, "a::msg::More", "x"), ('l', MAX_LOADS));
        assert_eq!(counted.find(1, "a::msg::More", "x"), ('-', MAX_LOADS + 1));
        for number in 0..2 * MAX_NAMES {
            counted.find(2, &format!("b::msg::N{number}"), "x");
        }
        assert!(counted.types.named.len() <= MAX_NAMES, "{}", counted.types.named.len());
        assert_eq!(counted.loads.load(Ordering::Relaxed), 2 * MAX_LOADS + 1);
    }

    /// The hash of a type as a ROS installation states it.
    fn stated(share: &Path, name: &str) -> Option<String> {
        let text = std::fs::read_to_string(share.join(format!("{}.json", name.replace("::", "/")))).ok()?;
        // The first hash is that of the type, and those of other types follow.
        let at = text.find(&format!("\"{}\"", name.replace("::", "/")))?;
        let hash = &text[at..][text[at..].find("RIHS01_")?..];
        hash.get(..71).map(str::to_owned)
    }

    #[test]
    fn the_common_types_have_the_hashes_of_ros() {
        let schema = common().expect("the definitions can be read");
        let python = std::env::var("SITU_TEST_PYTHON").map(PathBuf::from).unwrap_or_default();
        let share = python.parent().map(|it| it.join("../share")).unwrap_or_default();
        if !share.join("std_msgs/msg/String.json").exists() {
            println!("skipped: SITU_TEST_PYTHON is in no environment with ROS");
            return;
        }
        let mut compared = 0;
        for (id, _) in schema.definitions() {
            let name = schema.name(id).to_string();
            let name = name.strip_suffix("_Request").unwrap_or(&name);
            if name.ends_with("_Response") {
                continue;
            }
            let Some(hash) = stated(&share, name) else { continue };
            let dds = dds_name(name).unwrap();
            assert!(find(&wire(&dds, &hash)).is_some(), "{name} has not the hash {hash}");
            compared += 1;
        }
        assert!(compared > 60, "{compared} types");
    }
}
