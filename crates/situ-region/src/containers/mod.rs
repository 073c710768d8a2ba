//! The containers of regions, each with its check, its copy and its compaction.
//!
//! ```text
//!   text     text; up to 11 bytes lie in the string itself
//!   vector   vectors, and blocks of elements, which sorted sets and maps share
//!   edit     operations that shorten vectors, remove elements and reorder them
//!   std_methods  what collections of the standard library can do as well
//!   iterate  `for` over vectors, sets and maps
//!   key      keys, with the order and hash that the format fixes
//!   composite_key  keys other than integers and text
//!   engine   what a sorted vector, a hash table and a tree of keys have in common
//!   keyed    sets and maps, over an engine
//!   keyed_traits  sets and maps, printed and compared
//!   sorted   sorted sets and maps: vectors of keys or entries
//!   hash     hash sets and maps: entries in a row, and an index
//!   hash_index  which entry has a key: words found by the hash of the key
//!   tree     ordered sets and maps for large data: B-trees
//!   node     the nodes of trees
//!   ordered  operations that need an order: first and last key, ranges
//!   entries  visits the entries of a map to change their values
//!   maybe    a value that may be absent, in place or behind a link that owns it
//!   shared   several links to one value, with a count of the links
//!   weak     a link to a shared value that does not own it
//!   union    unions
//! ```

pub(crate) mod composite_key;
pub(crate) mod edit;
pub(crate) mod engine;
pub(crate) mod entries;
pub(crate) mod hash;
mod hash_index;
pub(crate) mod iterate;
pub(crate) mod key;
pub(crate) mod keyed;
mod keyed_traits;
pub(crate) mod maybe;
pub(crate) mod node;
pub(crate) mod ordered;
pub(crate) mod shared;
pub(crate) mod sorted;
mod std_methods;
pub(crate) mod text;
pub(crate) mod tree;
pub(crate) mod union;
pub(crate) mod vector;
pub(crate) mod weak;
