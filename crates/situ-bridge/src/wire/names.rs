//! Names of topics and types as ROS and as DDS write them, and keys of topics.

use super::token::Space;

/// How a type is named on the network.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WireType {
    /// Where its keys lie.
    pub space: Space,
    /// Its name: for ROS as DDS writes it.
    pub name: String,
    /// Its hash: `RIHS01_...`, or `SITU_...`.
    pub hash: String,
}

/// The name as DDS writes it of a type with a name of ROS: `std_msgs::msg::dds_::String_` of
/// `std_msgs::msg::String`. `None` for other names.
pub fn dds_name(type_name: &str) -> Option<String> {
    let parts: Vec<&str> = type_name.split("::").collect();
    let [package, kind, name] = parts[..] else { return None };
    let is_word = |text: &str| {
        !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    let is_ros = matches!(kind, "msg" | "srv" | "action") && is_word(package) && is_word(name);
    is_ros.then(|| format!("{package}::{kind}::dds_::{name}_"))
}

/// The name on the bus of a type that DDS writes so.
pub fn bus_type_name(dds_name: &str) -> Option<String> {
    let (scope, name) = dds_name.split_once("::dds_::")?;
    let found = format!("{scope}::{}", name.strip_suffix('_')?);
    (self::dds_name(&found).as_deref() == Some(dds_name)).then_some(found)
}

/// The name as DDS writes it of a service, by the type of its requests.
pub fn dds_service_name(request: &str) -> Option<String> {
    let name = dds_name(request.strip_suffix("_Request")?)?;
    name.contains("::srv::").then_some(name)
}

/// The name of ROS of a topic on the bus, without the hash that `rmw_situ` appends for several types.
pub fn ros_topic(bus_topic: &str) -> String {
    let bare = bus_topic.strip_prefix('/').unwrap_or(bus_topic);
    let bare = match bare.rsplit_once('@') {
        Some((name, hash)) if hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()) => name,
        _ => bare,
    };
    format!("/{bare}")
}

/// The name on the bus of a topic of ROS.
pub fn bus_topic(ros_topic: &str) -> &str {
    ros_topic.strip_prefix('/').unwrap_or(ros_topic)
}

/// Whether a name can be a part of a key, and of a token. Zenoh keeps some characters for itself, and tokens
/// write `%` for `/`.
pub fn is_key_name(name: &str) -> bool {
    let is_bad = |letter: char| "*$?#%@".contains(letter) || letter.is_control();
    let bare = name.strip_prefix('/').unwrap_or(name);
    name.len() <= 1024 && bare.split('/').all(|part| !part.is_empty() && !part.contains(is_bad))
}

/// The key of a topic or service.
pub fn topic_key(domain: u32, topic: &str, wire: &WireType) -> String {
    let topic = topic.trim_matches('/');
    let prefix = if wire.space == Space::Situ { "situ/" } else { "" };
    format!("{prefix}{domain}/{topic}/{}/{}", wire.name, wire.hash)
}

/// The key by which a client tells that it needs no reply any more, for the key of a service.
pub fn cancel_key(service_key: &str) -> String {
    format!("@situ_cancel/{service_key}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_of_ros_have_the_names_of_dds() {
        for (bus, dds) in [
            ("std_msgs::msg::String", "std_msgs::msg::dds_::String_"),
            ("a::srv::B_Request", "a::srv::dds_::B_Request_"),
            ("a::action::F_SendGoal_Request", "a::action::dds_::F_SendGoal_Request_"),
        ] {
            assert_eq!(dds_name(bus).as_deref(), Some(dds));
            assert_eq!(bus_type_name(dds).as_deref(), Some(bus));
        }
        for other in ["situ::sensor::Image", "String", "a::msg::", "a::msg::b::C", "a::msg::B<C>"] {
            assert_eq!(dds_name(other), None, "{other}");
        }
        for other in ["std_msgs::msg::String", "a::dds_::B", "a::msg::dds_::B", "a::msg::dds_::*_"] {
            assert_eq!(bus_type_name(other), None, "{other}");
        }
        assert_eq!(dds_service_name("a::srv::Add_Request").as_deref(), Some("a::srv::dds_::Add_"));
        assert_eq!(dds_service_name("a::srv::Add_Response"), None);
    }

    #[test]
    fn topics_have_the_names_of_ros() {
        assert_eq!(ros_topic("camera/image"), "/camera/image");
        assert_eq!(ros_topic("/camera/image"), "/camera/image");
        assert_eq!(ros_topic("camera/image@0123456789abcdef"), "/camera/image");
        assert_eq!(ros_topic("camera/image@012345678"), "/camera/image@012345678");
        assert_eq!(bus_topic("/camera/image"), "camera/image");
        assert!(is_key_name("/camera/image") && is_key_name("grün/ä b"));
        for bad in ["", "/", "a//b", "a/", "a*", "a/@b", "a%b", "a\nb"] {
            assert!(!is_key_name(bad), "{bad:?}");
        }
    }

    #[test]
    fn keys_of_topics_are_those_of_rmw_zenoh() {
        let ros = WireType {
            space: Space::Ros,
            name: "std_msgs::msg::dds_::String_".into(),
            hash: "RIHS01_ab".into(),
        };
        assert_eq!(topic_key(3, "/a/b", &ros), "3/a/b/std_msgs::msg::dds_::String_/RIHS01_ab");
        let situ = WireType { space: Space::Situ, name: "situ::sensor::Image".into(), hash: "SITU_1".into() };
        assert_eq!(topic_key(3, "a/b", &situ), "situ/3/a/b/situ::sensor::Image/SITU_1");
    }
}
