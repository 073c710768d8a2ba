//! Enums and bitmasks.

use super::names::{Idents, Named};
use super::page::Page;
use super::types::primitive;
use crate::model::{Bitmask, Definition, Enum, Primitive};

/// An enum, the names of its values, and how it is printed.
pub fn enumeration(page: &mut Page, schema: &Named, definition: &Definition, it: &Enum) {
    let (name, enumerators) = (schema.ident(&definition.name), Idents::enumerators(it));
    page.docs(&definition.docs);
    page.line(format!("enum class {name} : ::std::int32_t {{"));
    page.indent();
    for enumerator in &it.enumerators {
        page.docs(&enumerator.docs);
        let value = super::types::integer(Primitive::I32, enumerator.value.into());
        page.line(format!("{} = {value},", enumerators.get(&enumerator.name)));
    }
    page.dedent();
    page.line("};");

    page.gap();
    page.line(format!("/// The name of a value of {name}; empty for a value that has none."));
    page.line(format!(
        "[[nodiscard]] constexpr ::std::string_view enumerator_name({name} value) noexcept {{"
    ));
    page.indent();
    page.line("switch (value) {");
    page.indent();
    for enumerator in &it.enumerators {
        page.line(format!("case {name}::{}:", enumerators.get(&enumerator.name)));
        page.line(format!("  return \"{}\";", enumerator.name));
    }
    page.dedent();
    page.line("}");
    page.line("return {};");
    page.dedent();
    page.line("}");
    page.gap();
    page.line(format!("/// The value that a new {name} holds."));
    page.line(format!("[[nodiscard]] constexpr {name} situ_default({name} /*any*/) noexcept {{"));
    page.line(format!("  return {name}::{};", enumerators.get(&it.default_enumerator().name)));
    page.line("}");
    page.line(format!("SITU_PRINTED_ENUM({name})"));
}

/// A bitmask with the operators of a set of bits.
pub fn bitmask(page: &mut Page, schema: &Named, definition: &Definition, it: &Bitmask) {
    let (name, flags) = (schema.ident(&definition.name), Idents::flags(it));
    let storage = primitive(it.storage());
    let suffix = if it.storage() == Primitive::U64 { "ULL" } else { "U" };
    page.docs(&definition.docs);
    page.line(format!("enum class {name} : {storage} {{"));
    page.indent();
    for flag in &it.flags {
        page.docs(&flag.docs);
        page.line(format!("{} = 1{suffix} << {}{suffix},", flags.get(&flag.name), flag.position));
    }
    page.dedent();
    page.line("};");

    page.gap();
    page.line(format!("/// The name of a flag of {name}; empty for a value that is not one flag."));
    page.line(format!("[[nodiscard]] constexpr ::std::string_view enumerator_name({name} flag) noexcept {{"));
    page.indent();
    page.line("switch (flag) {");
    page.indent();
    for flag in &it.flags {
        page.line(format!("case {name}::{}:", flags.get(&flag.name)));
        page.line(format!("  return \"{}\";", flag.name));
    }
    page.dedent();
    page.line("}");
    page.line("return {};");
    page.dedent();
    page.line("}");
    page.line(format!("SITU_BITMASK({name})"));
}
