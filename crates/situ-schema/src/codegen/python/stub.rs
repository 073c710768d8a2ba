//! The stub file of a module: what type checkers and editors read.

use std::collections::BTreeSet;

use super::modules::{CodeWriter, Module};
use super::names::{Names, all_members};
use super::source::{base_class, enumeration, header, member_docs, service_docs};
use super::text::{docs_or, docstring};
use super::types::{Storage, Words};

use crate::model::{Constant, Definition, Kind, Literal, Primitive, Type, TypeId, Union};

/// How long a line may be before its parameters get lines of their own.
const LINE: usize = 100;

/// Writes a stub file.
pub fn write(names: &Names<'_>, scope: &str, module: &Module<'_>) -> String {
    let is_struct = |it: &&(TypeId, &Definition)| it.1.kind.as_struct().is_some();
    let structs: Vec<TypeId> = module.types.iter().filter(is_struct).map(|(id, _)| *id).collect();
    let words = Words::new(names, scope, &structs);
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
        class(&mut code, &words, *id, definition);
    }
    for class in &words.shadowed {
        code.gap();
        code.line(format!("_{class} = {class}"));
    }
    for (alias, target) in &module.aliases {
        if let Some(class) = names.class_in(scope, *target).filter(|it| !it.contains('.')) {
            code.gap();
            code.line(format!("{} = {class}", names.other(&alias.name)));
        }
    }
    for service in &module.services {
        let (Some(request), Some(response)) =
            (names.class_in(scope, service.request), names.class_in(scope, service.response))
        else {
            continue;
        };
        code.gap();
        code.line(format!(
            "class {}(_generated.Service[{request}, {response}]):",
            names.other(&service.name)
        ));
        code.indent();
        docstring(&mut code, &service_docs(&service.name, &service.docs));
        code.gap();
        code.line(format!("Request: _TypeAlias = {request}"));
        code.line(format!("Response: _TypeAlias = {response}"));
        code.dedent();
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

fn class(code: &mut CodeWriter, words: &Words<'_, '_>, id: TypeId, definition: &Definition) {
    let names = words.names;
    let class = names.class(id).unwrap_or_default();
    let docs = docs_or(&definition.docs, definition.name.to_string());
    match &definition.kind {
        Kind::Struct(_) => {
            let base = base_class(names, words.scope, id).unwrap_or_else(|| "_generated.Message".into());
            code.line(format!("class {class}({base}):"));
            code.indent();
            docstring(code, &docs);
            code.gap();
            structure(code, words, id);
            code.dedent();
        }
        Kind::Union(it) => union(code, words, id, it, class, &docs),
        Kind::Enum(it) => {
            let entries = it.enumerators.iter();
            let entries = entries.map(|it| (it.name.as_str(), it.value.to_string(), it.docs.as_str()));
            enumeration(
                code,
                names,
                &format!("class {class}(_generated.Enum):"),
                &docs,
                &entries.collect::<Vec<_>>(),
            );
        }
        Kind::Bitmask(it) => {
            let entries = it.flags.iter();
            let entries =
                entries.map(|it| (it.name.as_str(), (1u64 << it.position).to_string(), it.docs.as_str()));
            enumeration(
                code,
                names,
                &format!("class {class}(_generated.Bitmask):"),
                &docs,
                &entries.collect::<Vec<_>>(),
            );
        }
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
        let ty = if seen.read == seen.written {
            seen.read
        } else {
            format!("_generated.Field[{}, {}]", seen.read, seen.written)
        };
        code.line(format!("{name}: {ty}"));
        docstring(code, &member_docs(names.schema, member));
    }
    let star = if parameters.is_empty() { "" } else { ", *, " };
    let line = format!("def __init__(self{star}{}) -> None: ...", parameters.join(", "));
    if line.len() <= LINE {
        return code.line(line);
    }
    code.line("def __init__(");
    code.indent();
    code.line("self,");
    code.line("*,");
    parameters.iter().for_each(|it| code.line(format!("{it},")));
    code.dedent();
    code.line(") -> None: ...");
}

fn union(code: &mut CodeWriter, words: &Words<'_, '_>, id: TypeId, it: &Union, class: &str, docs: &str) {
    let names = words.names;
    code.line(format!("class {class}(_generated.Union):"));
    code.indent();
    docstring(code, docs);
    code.dedent();
    let storage = if names.schema.is_flattable(id) { Storage::Flat } else { Storage::Heap };
    for (case, class_of_case) in it.cases.iter().zip(names.cases(id)) {
        let seen = words.member(&case.member, storage);
        code.gap();
        code.line(format!("class {class_of_case}({class}):"));
        code.indent();
        docstring(code, &member_docs(names.schema, &case.member));
        code.gap();
        code.line("@property");
        code.line(format!("def value(self) -> {}: ...", seen.read));
        code.line(format!(
            "def __new__(cls, value: {}, discriminator: _t.Any = ...) -> {class_of_case}: ...",
            seen.written
        ));
        code.dedent();
    }
}
