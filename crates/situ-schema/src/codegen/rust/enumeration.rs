//! Enums and bitmasks in Rust: newtypes over integers, so that any value that arrives is a valid one.

use super::call::Call;
use super::names::Idents;
use super::writer::CodeWriter;
use super::{Generator, types};
use crate::model::{Bitmask, Enum, Kind, TypeId};

const DERIVES: &str = "#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]";

/// The methods of bitmasks.
const BITMASK_METHODS: &[&str] = &["contains", "empty", "insert", "is_empty", "remove"];

/// The functions of every bitmask.
const BITMASK_FUNCTIONS: &str = "/// No flag.
pub const fn empty() -> Self {
    Self(0)
}

/// Whether no flag is set.
pub const fn is_empty(self) -> bool {
    self.0 == 0
}

/// Whether all flags of `other` are set.
pub const fn contains(self, other: Self) -> bool {
    self.0 & other.0 == other.0
}

/// Sets the flags of `other`.
pub const fn insert(&mut self, other: Self) {
    self.0 |= other.0;
}

/// Clears the flags of `other`.
pub const fn remove(&mut self, other: Self) {
    self.0 &= !other.0;
}";

/// The operators of every bitmask.
const BITMASK_OPERATORS: [(&str, &str, &str); 4] = [
    ("BitOr", "bitor(self, other: Self)", "self.0 | other.0"),
    ("BitAnd", "bitand(self, other: Self)", "self.0 & other.0"),
    ("BitXor", "bitxor(self, other: Self)", "self.0 ^ other.0"),
    ("Not", "not(self)", "!self.0"),
];

/// The assignments of every bitmask.
const BITMASK_ASSIGNMENTS: [(&str, &str, &str); 3] = [
    ("BitOrAssign", "bitor_assign", "|="),
    ("BitAndAssign", "bitand_assign", "&="),
    ("BitXorAssign", "bitxor_assign", "^="),
];

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
    pub fn enumeration(&self, code: &mut CodeWriter, id: TypeId, it: &Enum) {
        let definition = self.schema.definition(id);
        let name = self.names.ident(&definition.name);
        let constants = self.enumerators(id);
        code.docs(&definition.docs, || format!("`{}`.", definition.name));
        code.line(DERIVES);
        code.line("#[repr(transparent)]");
        code.line(format!("pub struct {name}(pub i32);"));
        code.gap();
        code.block(format!("impl {name}"), |code| {
            for enumerator in &it.enumerators {
                code.docs(&enumerator.docs, || format!("`{}`.", enumerator.name));
                let constant = constants.get(&enumerator.name);
                code.line(format!("pub const {constant}: Self = Self({});", enumerator.value));
            }
        });
        let default = constants.get(&it.default_enumerator().name);
        let names = it.enumerators.iter();
        let names = names.map(|it| format!("({}, \"{}\")", it.value, it.name)).collect::<Vec<_>>();
        code.gap();
        code.block(format!("impl {} for {name}", self.layout("visit::Enumeration")), |code| {
            code.list("const NAMES: &'static [(i32, &'static str)] = &[", &names, "];");
            code.gap();
            code.block("fn from_value(value: i32) -> Self", |code| code.line("Self(value)"));
            code.gap();
            code.block("fn value(self) -> i32", |code| code.line("self.0"));
        });
        self.newtype(code, &name, "i32", "enumeration", &format!("Self::{default}"));
        self.stored_newtype(code, &name, "i32", it.default_enumerator().value != 0);
        self.region_key(code, &name);
    }

    /// A bitmask.
    pub fn bitmask(&self, code: &mut CodeWriter, id: TypeId, it: &Bitmask) {
        let definition = self.schema.definition(id);
        let name = self.names.ident(&definition.name);
        let constants = self.enumerators(id);
        let bits = types::primitive(it.storage());
        code.docs(&definition.docs, || format!("`{}`.", definition.name));
        code.line(DERIVES);
        code.line("#[repr(transparent)]");
        code.line(format!("pub struct {name}(pub {bits});"));
        code.gap();
        code.block(format!("impl {name}"), |code| {
            for flag in &it.flags {
                code.docs(&flag.docs, || format!("`{}`.", flag.name));
                let constant = constants.get(&flag.name);
                code.line(format!("pub const {constant}: Self = Self(1 << {});", flag.position));
            }
        });
        let flags = it.flags.iter();
        let flags = flags.map(|it| format!("({}, \"{}\")", it.position, it.name)).collect::<Vec<_>>();
        code.gap();
        code.block(format!("impl {} for {name}", self.layout("visit::Bitmask")), |code| {
            code.line(format!("type Bits = {bits};"));
            code.gap();
            code.list("const FLAGS: &'static [(u8, &'static str)] = &[", &flags, "];");
            code.gap();
            code.block(format!("fn from_bits(bits: {bits}) -> Self"), |code| code.line("Self(bits)"));
            code.gap();
            code.block(format!("fn bits(self) -> {bits}"), |code| code.line("self.0"));
        });
        code.gap();
        code.block(format!("impl {name}"), |code| code.lines(BITMASK_FUNCTIONS));
        for (operator, function, expression) in BITMASK_OPERATORS {
            code.gap();
            code.block(format!("impl ::core::ops::{operator} for {name}"), |code| {
                code.line("type Output = Self;");
                code.gap();
                code.block(format!("fn {function} -> Self"), |code| code.line(format!("Self({expression})")));
            });
        }
        for (operator, function, sign) in BITMASK_ASSIGNMENTS {
            code.gap();
            code.block(format!("impl ::core::ops::{operator} for {name}"), |code| {
                code.block(format!("fn {function}(&mut self, other: Self)"), |code| {
                    code.line(format!("self.0 {sign} other.0;"));
                });
            });
        }
        self.newtype(code, &name, bits, "bitmask", "Self::empty()");
        self.stored_newtype(code, &name, bits, false);
    }

    /// What enums and bitmasks have in common: they are numbers, which have a default and are printed by
    /// name.
    fn newtype(&self, code: &mut CodeWriter, name: &str, number: &str, what: &str, default: &str) {
        code.gap();
        code.line("// SAFETY: the type is a transparent number, and any number is valid.");
        code.block(format!("unsafe impl {} for {name}", self.layout("Newtype")), |code| {
            code.line(format!("type Number = {number};"));
            self.pass_to_visitors(code, "visit_newtype", what, ["self", "&mut self"]);
        });
        code.gap();
        code.block(format!("impl ::core::default::Default for {name}"), |code| {
            code.block("fn default() -> Self", |code| code.line(default));
        });
        code.gap();
        code.block(format!("impl ::core::fmt::Debug for {name}"), |code| {
            let head = "fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result";
            code.block(head, |code| {
                let quoted = format!("\"{name}\"");
                let function = self.layout(&format!("newtype::fmt_{what}"));
                code.call(&Call::new(function, &["f", &quoted, "*self"]), "");
            });
        });
    }
}
