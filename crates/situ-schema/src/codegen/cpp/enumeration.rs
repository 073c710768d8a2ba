//! Enums and bitmasks.

use super::names::{Idents, Named};
use super::types::primitive;
use super::writer::CodeWriter;
use crate::model::{Bitmask, Definition, Enum, Primitive};

/// An enum, the names of its values, and how it is printed.
pub fn enumeration(code: &mut CodeWriter, schema: &Named, definition: &Definition, it: &Enum) {
    let (name, enumerators) = (schema.ident(&definition.name), Idents::enumerators(it));
    code.docs(&definition.docs);
    code.line(format!("enum class {name} : ::std::int32_t {{"));
    code.indent();
    for enumerator in &it.enumerators {
        code.docs(&enumerator.docs);
        let value = super::types::integer(Primitive::I32, enumerator.value.into());
        code.line(format!("{} = {value},", enumerators.get(&enumerator.name)));
    }
    code.dedent();
    code.line("};");

    code.gap();
    code.line(format!("/// The name of a value of {name}; empty for a value that has none."));
    code.line(format!(
        "[[nodiscard]] constexpr ::std::string_view enumerator_name({name} value) noexcept {{"
    ));
    code.indent();
    code.line("switch (value) {");
    code.indent();
    for enumerator in &it.enumerators {
        code.line(format!("case {name}::{}:", enumerators.get(&enumerator.name)));
        code.line(format!("  return \"{}\";", enumerator.name));
    }
    code.dedent();
    code.line("}");
    code.line("return {};");
    code.dedent();
    code.line("}");
    code.gap();
    code.line(format!("/// The value that a new {name} holds."));
    code.line(format!("[[nodiscard]] constexpr {name} situ_default({name} /*any*/) noexcept {{"));
    code.line(format!("  return {name}::{};", enumerators.get(&it.default_enumerator().name)));
    code.line("}");
    code.line(format!("SITU_PRINTED_ENUM({name})"));
}

/// A bitmask with the operators of a set of bits.
pub fn bitmask(code: &mut CodeWriter, schema: &Named, definition: &Definition, it: &Bitmask) {
    let (name, flags) = (schema.ident(&definition.name), Idents::flags(it));
    let storage = primitive(it.storage());
    let suffix = if it.storage() == Primitive::U64 { "ULL" } else { "U" };
    code.docs(&definition.docs);
    code.line(format!("enum class {name} : {storage} {{"));
    code.indent();
    for flag in &it.flags {
        code.docs(&flag.docs);
        code.line(format!("{} = 1{suffix} << {}{suffix},", flags.get(&flag.name), flag.position));
    }
    code.dedent();
    code.line("};");

    code.gap();
    code.line(format!("/// The name of a flag of {name}; empty for a value that is not one flag."));
    code.line(format!("[[nodiscard]] constexpr ::std::string_view enumerator_name({name} flag) noexcept {{"));
    code.indent();
    code.line("switch (flag) {");
    code.indent();
    for flag in &it.flags {
        code.line(format!("case {name}::{}:", flags.get(&flag.name)));
        code.line(format!("  return \"{}\";", flag.name));
    }
    code.dedent();
    code.line("}");
    code.line("return {};");
    code.dedent();
    code.line("}");
    code.line(format!("SITU_BITMASK({name})"));
}
