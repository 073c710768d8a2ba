//! What a node may be told when it is created, and the names of nodes.

use situ_layout::foreign::is_name;

use crate::root::Root;

/// The greatest number of characters of a node's name, and of its namespace.
const MAX_CHARS: usize = 255;

/// The options of a node.
#[derive(Debug, Clone, Default)]
pub struct NodeOptions {
    /// The namespace of the node: names that each begin with a `/`, such as `/robot/arm`. Empty means `/`.
    pub namespace: String,
    /// Up to [`MAX_USER_DATA`](crate::MAX_USER_DATA) bytes that all participants can read, and that Situ does
    /// not interpret.
    pub user_data: Vec<u8>,
    /// The root directory. `None`: the one that the environment names, see [`Root::from_environment`].
    pub root: Option<Root>,
    /// The graph domain, in place of that of the root: see [`Root::in_graph_domain`].
    pub graph_domain: Option<u32>,
}

/// Whether a node may have this name.
pub(crate) fn is_node_name(name: &str) -> bool {
    is_name(name, MAX_CHARS)
}

/// Whether a text is a namespace: `/`, or names that each begin with a `/`.
pub(crate) fn is_namespace(text: &str) -> bool {
    let Some(names) = text.strip_prefix('/') else { return false };
    is_name(text, MAX_CHARS) && (names.is_empty() || names.split('/').all(|name| !name.is_empty()))
}

/// A node's name with its namespace.
pub(crate) fn full_name(namespace: &str, name: &str) -> String {
    let separator = if namespace.ends_with('/') { "" } else { "/" };
    format!("{namespace}{separator}{name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_is_a_path_of_names() {
        for good in ["/", "/robot", "/robot/arm", "/rö bot", &*format!("/{}", "x".repeat(254))] {
            assert!(is_namespace(good), "{good}");
        }
        for bad in ["", "robot", "//", "/robot/", "/a//b", "/a\nb", &*format!("/{}", "x".repeat(255))] {
            assert!(!is_namespace(bad), "{bad}");
        }
        assert_eq!((full_name("/", "n"), full_name("/a/b", "n")), ("/n".to_owned(), "/a/b/n".to_owned()));
    }
}
