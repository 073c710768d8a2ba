//! The stub file of a module: what type checkers and editors read.

use std::collections::BTreeSet;

use super::interface;
use super::modules::{CodeWriter, Module};
use super::names::{Names, all_members};
use super::shared::{
    aliases, class, docs_of, ends_of, enumeration, function, head_of_struct, header, member_docs, service,
};
use super::text::docstring;
use super::types::{Storage, Words};

use crate::model::{Constant, Definition, Kind, Literal, Primitive, Type, TypeId, Union};

/// Writes a stub file.
pub fn write(names: &Names<'_>, scope: &str, module: &Module<'_>) -> String {
    let words = Words::new(names, scope, module);
    let mut code = CodeWriter::default();
    header(&mut code, names, scope, module);
    if words.needs_builtins() {
        code.line("import builtins as _builtins");
    }
    code.line("import typing as _t");
    code.line("");
    code.line(SITU);
    if !module.services.is_empty() {
        // Every checker knows this module, also if it is not installed.
        code.line("from typing_extensions import TypeAlias as _TypeAlias");
    }
    code.line("from situ import generated as _generated");
    let others = other_modules(names, scope, module);
    if !others.is_empty() {
        code.gap();
    }
    for other in others {
        code.line(format!("import {} as {}", names.module(&other), names.module_alias(&other)));
    }
    for constant in &module.constants {
        code.gap();
        constant_line(&mut code, &words, &names.other(&constant.name), "_t.Final", constant);
    }
    for (id, definition) in &module.types {
        code.gap();
        definition_of(&mut code, &words, *id, definition);
    }
    for (class, other) in &words.shadowed {
        code.gap();
        code.line(format!("{other} = {class}"));
    }
    aliases(&mut code, names, scope, module);
    for (id, _) in module.exceptions() {
        code.gap();
        interface::exception_stub(&mut code, &words, *id);
    }
    for it in module.services.iter().filter(|it| ends_of(names, scope, it).is_some()) {
        code.gap();
        service(&mut code, names, scope, it, ": _TypeAlias");
    }
    for it in &module.interfaces {
        code.gap();
        interface::stub(&mut code, &words, it);
    }
    let text = code.finish();
    if text.contains("_situ.") { text } else { text.replace(&format!("{SITU}\n"), "") }
}

/// The import that only some files need.
const SITU: &str = "import situ as _situ";

/// The other modules that a stub names.
fn other_modules(names: &Names<'_>, scope: &str, module: &Module<'_>) -> BTreeSet<String> {
    let schema = names.schema;
    let needed = module.types.iter().flat_map(|(id, _)| schema.closure(*id));
    let needed = needed.chain(module.services.iter().flat_map(|it| [it.request, it.response]));
    let of = |id: TypeId| names.class(id).map(|_| schema.name(id).scope().to_owned());
    needed.filter_map(of).filter(|it| it != scope).collect()
}

fn constant_line(code: &mut CodeWriter, words: &Words<'_, '_>, name: &str, kind: &str, constant: &Constant) {
    let is_char = matches!(
        words.names.schema.resolve(&constant.ty),
        Type::Primitive(Primitive::Char8 | Primitive::WChar)
    );
    let ty = match &constant.value {
        Literal::Bool(_) => "bool",
        Literal::Integer(_) if is_char => "str",
        Literal::Integer(_) | Literal::Enumerator { .. } => "int",
        Literal::Float(_) => "float",
        Literal::String(_) => "str",
        Literal::List(_) => "list",
    };
    code.line(format!("{name}: {kind}[{}]", words.builtin(ty)));
    docstring(code, &constant.docs);
}

fn definition_of(code: &mut CodeWriter, words: &Words<'_, '_>, id: TypeId, definition: &Definition) {
    let names = words.names;
    match &definition.kind {
        Kind::Struct(_) => {
            let head = head_of_struct(names, words.scope, id);
            class(code, &head, &docs_of(definition), |code| structure(code, words, id));
        }
        Kind::Union(it) => union(code, words, id, it, &docs_of(definition)),
        Kind::Enum(_) | Kind::Bitmask(_) => enumeration(code, names, id, definition),
        Kind::Alias(_) => {}
    }
}

fn structure(code: &mut CodeWriter, words: &Words<'_, '_>, id: TypeId) {
    let names = words.names;
    let scope = names.members(id);
    let storage = Storage::of(names, id);
    let members = all_members(names.schema, id);
    for constant in names.schema.constants_of(id) {
        let name = scope.get(constant.name.simple()).unwrap_or_default();
        constant_line(code, words, name, "_t.ClassVar", constant);
    }
    let mut parameters = Vec::new();
    for member in &members {
        let name = scope.get(&member.name).unwrap_or(&member.name);
        let seen = words.member(member, storage);
        parameters.push(format!("{name}: {} = ...", seen.written));
        code.line(format!("{name}: {}", seen.field()));
        docstring(code, &member_docs(names.schema, member));
    }
    if !parameters.is_empty() {
        parameters.insert(0, "*".to_owned());
    }
    parameters.insert(0, "self".to_owned());
    function(code, "def __init__", &parameters, "None", "");
}

fn union(code: &mut CodeWriter, words: &Words<'_, '_>, id: TypeId, it: &Union, docs: &str) {
    let names = words.names;
    let of_union = names.class(id).unwrap_or_default();
    class(code, &format!("{of_union}(_generated.Union)"), docs, |_| {});
    let storage = Storage::of_union(names, id);
    for (case, of_case) in it.cases.iter().zip(names.cases(id)) {
        let seen = words.member(&case.member, storage);
        let docs = member_docs(names.schema, &case.member);
        code.gap();
        class(code, &format!("{of_case}({of_union})"), &docs, |code| {
            code.line(format!("@{}", words.builtin("property")));
            code.line(format!("def value(self) -> {}: ...", seen.read));
            code.line(format!(
                "def __new__(cls, value: {}, discriminator: _t.Any = ...) -> {of_case}: ...",
                seen.written
            ));
        });
    }
}
