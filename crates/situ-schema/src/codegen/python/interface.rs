//! Interfaces of IDL: a class with a method for each operation, clients with the same methods, and
//! exceptions.
//!
//! A program derives from the class and serves it. What the methods of clients do is in `situ/_interface.py`;
//! their types are in the stub.

use super::modules::CodeWriter;
use super::names::{Names, all_members, operations};
use super::shared::{class, ends_of, function};
use super::text::{docs_or, quoted};
use super::types::{Seen, Storage, Words};

use crate::codegen::naming::Scope;
use crate::model::{DUMMY_MEMBER, Interface, Kind, Member, Service, Type, TypeId};

/// Attributes of Python's exceptions, and of all that stand for exceptions of IDL.
const EXCEPTION: &[&str] = &["Message", "add_note", "args", "message", "with_traceback"];

/// The operations for which code is generated: the method, the name, and the service.
fn operations_of<'s>(
    names: &Names<'s>,
    scope: &str,
    interface: &'s Interface,
) -> Vec<(String, &'s str, &'s Service)> {
    let methods = operations(interface);
    let services = names.schema.services();
    let operations = interface.operations.iter();
    operations
        .map(|(name, at)| (methods.get(name).unwrap_or(name).to_owned(), name.as_str(), &services[*at]))
        .filter(|(.., service)| ends_of(names, scope, service).is_some())
        .collect()
}

fn docs_of(interface: &Interface) -> String {
    docs_or(&interface.docs, format!("The interface {}.", interface.name))
}

/// The class of an interface in the source file.
pub fn source(code: &mut CodeWriter, names: &Names<'_>, scope: &str, interface: &Interface) {
    let head = format!("{}(_generated.Interface)", names.other(&interface.name));
    class(code, &head, &docs_of(interface), |code| {
        code.line("__situ_operations__ = (");
        code.indent();
        for (method, name, service) in operations_of(names, scope, interface) {
            let raises = if service.raises.is_some() { ", raises=True" } else { "" };
            let (method, name, service) = (quoted(&method), quoted(name), names.other(&service.name));
            code.line(format!("_generated.Operation({method}, {name}, {service}{raises}),"));
        }
        code.dedent();
        code.line(")");
    });
}

/// The class of an exception in the source file.
pub fn exception(code: &mut CodeWriter, names: &Names<'_>, id: TypeId) {
    let (Some(error), Some(of)) = (names.error(id), names.class(id)) else { return };
    class(code, &format!("{error}(_generated.RaisedError[{of}])"), &docs_of_exception(names, id), |code| {
        code.line(format!("Message = {of}"));
    });
}

fn docs_of_exception(names: &Names<'_>, id: TypeId) -> String {
    let definition = names.schema.definition(id);
    docs_or(&definition.docs, format!("The exception {}.", definition.name))
}

/// The same in the stub file.
pub fn exception_stub(code: &mut CodeWriter, words: &Words<'_, '_>, id: TypeId) {
    let names = words.names;
    let (Some(error), Some(of)) = (names.error(id), names.class(id)) else { return };
    let (scope, storage) = (names.members(id), Storage::of(names, id));
    class(code, &format!("{error}(_generated.RaisedError[{of}])"), &docs_of_exception(names, id), |code| {
        code.line(format!("Message: _t.Type[{of}]"));
        let mut parameters = vec!["self".to_owned(), format!("message: _t.Optional[{of}] = ...")];
        let members = parts(names, id);
        if !members.is_empty() {
            parameters.extend(["/".to_owned(), "*".to_owned()]);
        }
        for member in members {
            let name = scope.get(&member.name).unwrap_or(&member.name);
            let seen = words.member(member, storage);
            if !EXCEPTION.contains(&name) {
                code.line(format!("{name}: {}", seen.read));
            }
            parameters.push(format!("{name}: {} = ...", seen.written));
        }
        function(code, "def __init__", &parameters, "None", "");
    });
}

/// The members of a struct. One without any has a member that stands for none.
fn parts<'s>(names: &Names<'s>, id: TypeId) -> Vec<&'s Member> {
    all_members(names.schema, id).into_iter().filter(|it| it.name != DUMMY_MEMBER).collect()
}

/// The class of an interface in the stub file.
pub fn stub(code: &mut CodeWriter, words: &Words<'_, '_>, interface: &Interface) {
    let names = words.names;
    let operations = operations_of(names, words.scope, interface);
    class(
        code,
        &format!("{}(_generated.Interface)", names.other(&interface.name)),
        &docs_of(interface),
        |code| {
            for (method, _, service) in &operations {
                let (mut parameters, result) = signature(words, service, |seen| &seen.read);
                parameters.insert(0, "self".to_owned());
                let docs = [service.docs.as_str(), &raised(words, service)];
                let docs =
                    docs.into_iter().filter(|it| !it.trim().is_empty()).collect::<Vec<_>>().join("\n\n");
                let result = format!("_generated.Result[{}]", result.written);
                function(code, &format!("def {method}"), &parameters, &result, &docs);
            }
            for (client, keyword) in [("Client", "def"), ("AsyncClient", "async def")] {
                code.gap();
                code.line(format!("class {client}(_generated.Interface{client}):"));
                code.indent();
                for (method, _, service) in &operations {
                    let (mut parameters, result) = signature(words, service, |seen| &seen.written);
                    parameters.insert(0, "self".to_owned());
                    let float = words.builtin("float");
                    parameters.extend(["*".to_owned(), format!("timeout: _t.Optional[{float}] = ...")]);
                    function(code, &format!("{keyword} {method}"), &parameters, &result.read, "");
                }
                if operations.is_empty() {
                    code.line("...");
                }
                code.dedent();
            }
        },
    );
}

/// The parameters of an operation, each with the type that `of` selects, and its result.
fn signature(words: &Words<'_, '_>, service: &Service, of: impl Fn(&Seen) -> &String) -> (Vec<String>, Seen) {
    let names = words.names;
    let (scope, storage) = (names.members(service.request), Storage::of(names, service.request));
    let members = parts(names, service.request);
    let called: Vec<&str> = members.iter().map(|it| scope.get(&it.name).unwrap_or(&it.name)).collect();
    let parameters = Scope::of(called.iter().copied(), |name| name == "timeout");
    let parameter = |(member, called): (&&Member, &&str)| {
        let name = parameters.get(called).unwrap_or(called);
        format!("{name}: {}", of(&words.member(member, storage)))
    };
    let parameters = members.iter().zip(&called).map(parameter).collect();
    let output = service.raises.map_or(service.response, |it| it.output);
    let result = match parts(names, output).as_slice() {
        [] => Seen::same("None"),
        [member] => words.member(member, Storage::of(names, output)),
        _ => words.value(&Type::Named(output), Storage::of(names, output)),
    };
    (parameters, result)
}

/// The sentence about the exceptions of an operation.
fn raised(words: &Words<'_, '_>, service: &Service) -> String {
    let names = words.names;
    let outcome = service.raises.map(|it| &names.schema.definition(it.outcome).kind);
    let Some(Kind::Union(union)) = outcome else { return String::new() };
    let exceptions = union.cases.iter().skip(1).filter_map(|case| match case.member.ty {
        Type::Named(id) => names.error(id),
        _ => None,
    });
    let exceptions: Vec<String> = exceptions.map(|it| format!("`{it}`")).collect();
    if exceptions.is_empty() { String::new() } else { format!("Raises {}.", exceptions.join(", ")) }
}
