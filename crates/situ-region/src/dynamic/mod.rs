//! Regions of types that are known only when the program runs: of a schema, for instance.
//!
//! The memory, the blocks and the containers are those of typed regions; what differs is where the sizes and
//! places come from. So the bytes are the same.
//!
//! ```text
//!   types     descriptions of types with their layouts
//!   builder   collects them, and computes the layouts
//!   lines     the lines of a layout: its hash, and the table of versions
//!   element   a described type as containers see it: how values begin, move, end, and are copied
//!   key       keys of sets and maps, as integers and text
//!   place     where a value lies, and the steps that lead to its parts
//!   walk      the memory that a value has: what a pinned place or a cycle lies in
//!   edit      changes of a value
//!   region    a region with its memory, its images and its pins
//!   packed    writes packed images
//!   rewrite   writes an image in another form: canonical, or packed
//! ```
//!
//! ```
//! use situ_region::dynamic::{DynamicRegion, Key, Kind, Lookup, Member, Scalar, Step, TypesBuilder};
//!
//! // As `struct Team { string name; map<string, double> scores; };`
//! let mut builder = TypesBuilder::default();
//! let text = builder.add(Kind::Text);
//! let number = builder.add(Kind::Scalar { of: Scalar::F64, initial: 0 });
//! let scores = builder.add(Kind::Map { lookup: Lookup::Sorted, key: text, value: number });
//! let members = vec![Member::new("name", text, None), Member::new("scores", scores, None)];
//! let team = builder.add(Kind::Struct { name: "Team".into(), members, appendable: false });
//! let mut region = DynamicRegion::new(builder.finish(team, 0)?.into());
//!
//! region.edit(&[Step::Member(0)])?.set_text("a name that needs a block")?;
//! let mut scores = region.edit(&[Step::Member(1)])?;
//! let (mut score, is_new) = scores.insert_key(Key::Text("Hero"))?;
//! score.set_bytes(&1.5_f64.to_le_bytes())?;
//! assert!(is_new);
//! assert_eq!(region.part(&[Step::Member(0)])?.text(), Some("a name that needs a block"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub(crate) mod builder;
pub(crate) mod edit;
pub(crate) mod element;
pub(crate) mod key;
pub(crate) mod lines;
pub(crate) mod packed;
pub(crate) mod place;
pub(crate) mod region;
pub(crate) mod rewrite;
pub(crate) mod types;
pub(crate) mod walk;

pub use builder::TypesBuilder;
pub use edit::{EditError, PartMut};
pub use key::{Key, OwnedKey};
pub use place::{Part, Step};
pub use region::{DynamicRegion, Pin};
pub use rewrite::Form;
pub use types::{Case, Kind, Lookup, Member, Scalar, TypeNumber, Types, TypesError};
