//! The source file of a module: classes of messages, constants, services.

use std::collections::{BTreeMap, BTreeSet};

use super::interface;
use super::modules::{CodeWriter, Module};
use super::names::{Names, all_members};
use super::shared::{
    aliases, class, docs_of, ends_of, enumeration, head_of_struct, header, member_docs, outer_base, service,
};
use super::text::{docstring, quoted, value};

use crate::model::{Definition, Kind, TypeId, Union};

/// Writes a source file.
pub fn write(names: &Names<'_>, scope: &str, module: &Module<'_>) -> String {
    let mut code = CodeWriter::default();
    header(&mut code, names, scope, module);
    code.line("from situ import generated as _generated");
    for other in base_modules(names, scope, module) {
        code.line(format!("import {} as {}", names.module(&other), names.module_alias(&other)));
    }
    for constant in &module.constants {
        code.gap();
        code.line(format!("{} = {}", names.other(&constant.name), value(names.schema, constant)));
        docstring(&mut code, &constant.docs);
    }
    for (id, definition) in &module.types {
        gap(&mut code);
        definition_of(&mut code, names, scope, *id, definition);
    }
    aliases(&mut code, names, scope, module);
    gap(&mut code);
    bind(&mut code, names, scope, module);
    for (id, _) in module.exceptions() {
        gap(&mut code);
        interface::exception(&mut code, names, *id);
    }
    services(&mut code, names, scope, module);
    for it in &module.interfaces {
        gap(&mut code);
        interface::source(&mut code, names, scope, it);
    }
    code.finish()
}

/// The lines between two classes.
fn gap(code: &mut CodeWriter) {
    code.line("");
    code.line("");
}

/// The modules whose structs are bases of structs here.
fn base_modules(names: &Names<'_>, scope: &str, module: &Module<'_>) -> BTreeSet<String> {
    let of = |(id, _): &(TypeId, &Definition)| outer_base(names, scope, *id);
    module.types.iter().filter_map(of).map(|base| names.schema.name(base).scope().to_owned()).collect()
}

fn definition_of(code: &mut CodeWriter, names: &Names<'_>, scope: &str, id: TypeId, definition: &Definition) {
    match &definition.kind {
        Kind::Struct(_) => {
            let head = head_of_struct(names, scope, id);
            class(code, &head, &docs_of(definition), |code| structure(code, names, id));
        }
        Kind::Union(it) => union(code, names, id, it, &docs_of(definition)),
        Kind::Enum(_) | Kind::Bitmask(_) => enumeration(code, names, id, definition),
        Kind::Alias(_) => {}
    }
}

fn union(code: &mut CodeWriter, names: &Names<'_>, id: TypeId, it: &Union, docs: &str) {
    let of_union = names.class(id).unwrap_or_default();
    class(code, &format!("{of_union}(_generated.Union)"), docs, |code| code.line("__slots__ = ()"));
    for (case, of_case) in it.cases.iter().zip(names.cases(id)) {
        gap(code);
        let docs = member_docs(names.schema, &case.member);
        class(code, &format!("{of_case}({of_union})"), &docs, |code| {
            code.line("__slots__ = ()");
            code.line(format!("__situ_case__ = {}", quoted(&case.member.name)));
        });
    }
}

fn structure(code: &mut CodeWriter, names: &Names<'_>, id: TypeId) {
    let scope = names.members(id);
    let called = |name: &str| scope.get(name).unwrap_or(name).to_owned();
    let members = all_members(names.schema, id);
    code.line("__slots__ = ()");
    let listed: String = members.iter().map(|it| format!("{}, ", quoted(&called(&it.name)))).collect();
    let listed = if members.len() == 1 { listed.trim_end() } else { listed.trim_end_matches(", ") };
    code.line(format!("__match_args__ = ({listed})"));
    let renamed = members.iter().filter(|it| called(&it.name) != it.name);
    let renamed: Vec<String> =
        renamed.map(|it| format!("{}: {}", quoted(&called(&it.name)), quoted(&it.name))).collect();
    if !renamed.is_empty() {
        code.line(format!("__situ_renamed__ = {{{}}}", renamed.join(", ")));
    }
    for constant in names.schema.constants_of(id) {
        code.line(format!("{} = {}", called(constant.name.simple()), value(names.schema, constant)));
    }
    for (index, member) in members.iter().enumerate() {
        let docs = quoted(&member_docs(names.schema, member));
        code.line(format!(
            "{} = _generated.Member({index}, {}, {docs})",
            called(&member.name),
            quoted(&member.name)
        ));
    }
}

/// Binds the classes to their types.
fn bind(code: &mut CodeWriter, names: &Names<'_>, scope: &str, module: &Module<'_>) {
    let roots: Vec<TypeId> = module.types.iter().map(|(id, _)| *id).collect();
    // In which modules the classes of types lie that these need.
    let mut modules = BTreeMap::new();
    for id in roots.iter().flat_map(|id| names.schema.closure(*id)) {
        let other = names.schema.name(id).scope();
        if other != scope && names.class(id).is_some() {
            modules.insert(other.to_owned(), names.inner_module(other));
        }
    }
    let depth = names.inner_module(scope).split('.').count();
    code.line("_generated.bind(");
    code.indent();
    code.line("__name__,");
    code.line(format!("{depth},"));
    code.line("{");
    code.indent();
    for (id, definition) in &module.types {
        code.line(format!("{}: {},", quoted(definition.name.as_str()), names.class(*id).unwrap_or_default()));
    }
    code.dedent();
    code.line("},");
    let modules: Vec<String> =
        modules.iter().map(|(scope, path)| format!("{}: {}", quoted(scope), quoted(path))).collect();
    code.line(format!("{{{}}},", modules.join(", ")));
    // One literal for each line of the schema, so that a change of it is a change of lines.
    let text = names.schema.canonical_of(&roots);
    if text.is_empty() {
        code.line("\"\",");
    }
    for (at, line) in text.lines().enumerate() {
        let comma = if at + 1 == text.lines().count() { "," } else { "" };
        code.line(format!("{}{comma}", quoted(&format!("{line}\n"))));
    }
    code.dedent();
    code.line(")");
}

/// The classes of services. Those of other modules whose types they use are imported here, at the end: two
/// modules may use each other's.
fn services(code: &mut CodeWriter, names: &Names<'_>, scope: &str, module: &Module<'_>) {
    let ends = module.services.iter().filter(|it| ends_of(names, scope, it).is_some());
    let ends = ends.flat_map(|it| [it.request, it.response]);
    let others: BTreeSet<&str> =
        ends.map(|id| names.schema.name(id).scope()).filter(|it| *it != scope).collect();
    for other in others {
        code.gap();
        code.line(format!("import {} as {}  # noqa: E402", names.module(other), names.module_alias(other)));
    }
    for it in module.services.iter().filter(|it| ends_of(names, scope, it).is_some()) {
        gap(code);
        service(code, names, scope, it, "");
    }
}
