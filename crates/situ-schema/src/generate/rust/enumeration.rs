//! Enums and bitmasks in Rust: newtypes over integers, so that any value that arrives is a valid one.

use super::page::Page;
use super::{Generator, names, types};
use crate::model::{Bitmask, Enum, TypeId};

const DERIVES: &str = "#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]";

impl Generator<'_> {
    /// An enum.
    pub fn enumeration(&self, page: &mut Page, id: TypeId, it: &Enum) {
        let definition = self.schema.definition(id);
        let name = names::ident(definition.name.simple());
        page.docs(&definition.docs, || format!("`{}`.", definition.name));
        page.line(DERIVES);
        page.line("#[repr(transparent)]");
        page.line(format!("pub struct {name}(pub i32);"));
        page.gap();
        page.block(format!("impl {name}"), |page| {
            for enumerator in &it.enumerators {
                page.docs(&enumerator.docs, || format!("`{}`.", enumerator.name));
                let constant = names::ident(&enumerator.name);
                page.line(format!("pub const {constant}: Self = Self({});", enumerator.value));
            }
        });
        page.gap();
        page.block(format!("{}!", self.layout("enumeration")), |page| {
            page.line(format!("{name}: {};", names::ident(&it.default_enumerator().name)));
            for enumerator in &it.enumerators {
                page.line(format!("\"{}\" {},", enumerator.name, names::ident(&enumerator.name)));
            }
        });
    }

    /// A bitmask.
    pub fn bitmask(&self, page: &mut Page, id: TypeId, it: &Bitmask) {
        let definition = self.schema.definition(id);
        let name = names::ident(definition.name.simple());
        let bits = types::primitive(it.storage());
        page.docs(&definition.docs, || format!("`{}`.", definition.name));
        page.line(DERIVES);
        page.line("#[repr(transparent)]");
        page.line(format!("pub struct {name}(pub {bits});"));
        page.gap();
        page.block(format!("impl {name}"), |page| {
            for flag in &it.flags {
                page.docs(&flag.docs, || format!("`{}`.", flag.name));
                let constant = names::ident(&flag.name);
                page.line(format!("pub const {constant}: Self = Self(1 << {});", flag.position));
            }
        });
        page.gap();
        page.block(format!("{}!", self.layout("bitmask")), |page| {
            page.line(format!("{name}: {bits};"));
            for flag in &it.flags {
                page.line(format!("\"{}\" {} {},", flag.name, names::ident(&flag.name), flag.position));
            }
        });
    }
}
