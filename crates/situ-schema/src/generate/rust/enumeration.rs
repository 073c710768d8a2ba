//! Enums and bitmasks in Rust: newtypes over integers, so that any value that arrives is a valid one.

use super::names::Idents;
use super::page::Page;
use super::{Generator, types};
use crate::model::{Bitmask, Enum, Kind, TypeId};

const DERIVES: &str = "#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]";

/// The methods of bitmasks.
const BITMASK_METHODS: &[&str] = &["contains", "empty", "insert", "is_empty", "remove"];

impl Generator<'_> {
    /// What the enumerators of an enum, or the flags of a bitmask, are called.
    pub fn enumerators(&self, id: TypeId) -> Idents<'_> {
        match &self.schema.definition(id).kind {
            Kind::Enum(it) => Idents::constants(it.enumerators.iter().map(|it| it.name.as_str()), &[]),
            Kind::Bitmask(it) => {
                Idents::constants(it.flags.iter().map(|it| it.name.as_str()), BITMASK_METHODS)
            }
            _ => Idents::constants([], &[]),
        }
    }

    /// An enum.
    pub fn enumeration(&self, page: &mut Page, id: TypeId, it: &Enum) {
        let definition = self.schema.definition(id);
        let name = self.names.ident(&definition.name);
        let constants = self.enumerators(id);
        page.docs(&definition.docs, || format!("`{}`.", definition.name));
        page.line(DERIVES);
        page.line("#[repr(transparent)]");
        page.line(format!("pub struct {name}(pub i32);"));
        page.gap();
        page.block(format!("impl {name}"), |page| {
            for enumerator in &it.enumerators {
                page.docs(&enumerator.docs, || format!("`{}`.", enumerator.name));
                let constant = constants.get(&enumerator.name);
                page.line(format!("pub const {constant}: Self = Self({});", enumerator.value));
            }
        });
        page.gap();
        page.block(format!("{}!", self.layout("enumeration")), |page| {
            page.line(format!("{name}: {};", constants.get(&it.default_enumerator().name)));
            for enumerator in &it.enumerators {
                page.line(format!("\"{}\" {},", enumerator.name, constants.get(&enumerator.name)));
            }
        });
    }

    /// A bitmask.
    pub fn bitmask(&self, page: &mut Page, id: TypeId, it: &Bitmask) {
        let definition = self.schema.definition(id);
        let name = self.names.ident(&definition.name);
        let constants = self.enumerators(id);
        let bits = types::primitive(it.storage());
        page.docs(&definition.docs, || format!("`{}`.", definition.name));
        page.line(DERIVES);
        page.line("#[repr(transparent)]");
        page.line(format!("pub struct {name}(pub {bits});"));
        page.gap();
        page.block(format!("impl {name}"), |page| {
            for flag in &it.flags {
                page.docs(&flag.docs, || format!("`{}`.", flag.name));
                let constant = constants.get(&flag.name);
                page.line(format!("pub const {constant}: Self = Self(1 << {});", flag.position));
            }
        });
        page.gap();
        page.block(format!("{}!", self.layout("bitmask")), |page| {
            page.line(format!("{name}: {bits};"));
            for flag in &it.flags {
                page.line(format!("\"{}\" {} {},", flag.name, constants.get(&flag.name), flag.position));
            }
        });
    }
}
