//! The lines of a type's layout, which list every member with its place and kind, and other facts of a type
//! as a whole. The layout hash is the SHA-256 of the lines.

use std::any::TypeId;

use crate::image::versions::Version;

/// The lines of a type's layout during their construction.
#[derive(Default)]
pub struct Lines {
    pub(crate) text: String,
    named: Vec<Named>,
    pub(crate) shares: bool,
    /// Whether a struct or union was met once more, so that values may hold others of their type.
    pub(crate) repeats: bool,
    /// The appendable structs found so far. The lines do not describe their members.
    pub(crate) versions: Option<Vec<Version>>,
}

/// A struct or union that the lines name.
pub(crate) struct Named {
    of: TypeId,
    name: String,
    /// Its name in the lines.
    pub text: String,
    /// Whether its own lines are written.
    pub written: bool,
}

impl Lines {
    /// Lines that also collect the appendable structs.
    pub(crate) fn with_versions() -> Self {
        Self { versions: Some(Vec::new()), ..Self::default() }
    }

    /// Writes a line, without the further lines of the type.
    pub fn line(&mut self, path: &str, offset: u32, size: u32, align: u32, kind: &str) {
        self.text.push_str(&format!("{path} {offset} {size} {align} {kind}\n"));
    }

    /// The record of a struct or union. If types of several modules have the same name, each one after the
    /// first gets a number appended.
    pub(crate) fn named(&mut self, of: TypeId, name: &str) -> &mut Named {
        let known = self.named.iter().position(|each| each.of == of).unwrap_or_else(|| {
            let number = 1 + self.named.iter().filter(|each| each.name == name).count();
            let text = if number == 1 { name.to_owned() } else { format!("{name}#{number}") };
            self.named.push(Named { of, name: name.to_owned(), text, written: false });
            self.named.len() - 1
        });
        &mut self.named[known]
    }

    /// Records an appendable struct, if the lines collect versions.
    pub fn version(&mut self, version: impl FnOnce() -> Version) -> bool {
        if let Some(versions) = &mut self.versions {
            versions.push(version());
        }
        self.versions.is_some()
    }

    /// Records that there are shared links.
    pub(crate) fn share(&mut self) {
        self.shares = true;
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }
}

/// The facts of a type as a root.
#[derive(Debug)]
pub struct Facts {
    pub(crate) layout: u64,
    /// Whether its values have shared links.
    pub(crate) shares: bool,
    /// Whether its values may hold others of the type.
    pub(crate) repeats: bool,
    pub(crate) versions: Vec<Version>,
    /// The table of versions in its images.
    pub(crate) table: Vec<u8>,
    /// As `table`, with the sizes of packed images.
    pub(crate) packed_table: Vec<u8>,
}
