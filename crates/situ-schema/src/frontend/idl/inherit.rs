//! Interfaces that inherit: each operation of a base becomes a service of the derived interface, too.
//!
//! This happens before names are resolved, because types must not have the names of these services. A service
//! of the derived interface has the structs of the base: so a client of the base can call its servers.

use std::collections::HashMap;

use crate::frontend::ast::{Declaration, DeclarationKind, Ident, Prefix, ScopedName};
use crate::source::Span;
use crate::source::diagnostic::Diagnostic;

/// How many operations all bases together may give. A short file could otherwise ask for very many.
const MAX_INHERITED: usize = 1 << 16;

/// An operation that an interface has.
#[derive(Clone)]
struct Operation {
    name: String,
    /// The interface that declares it.
    origin: String,
    docs: String,
    /// The structs beside that interface, and its modules.
    request: String,
    response: String,
    raises: bool,
    modules: Vec<String>,
}

/// The operations of an interface, in their order.
#[derive(Default)]
struct Operations {
    all: Vec<Operation>,
    by_name: HashMap<String, usize>,
}

impl Operations {
    /// Adds an operation, unless it comes from the same interface over two bases.
    fn add(&mut self, added: Operation, span: Span) -> Result<(), Box<Diagnostic>> {
        let Some(known) = self.by_name.get(&added.name).map(|index| &self.all[*index]) else {
            self.by_name.insert(added.name.clone(), self.all.len());
            self.all.push(added);
            return Ok(());
        };
        // One that an interface itself declares twice is an error of the resolver.
        if known.origin == added.origin {
            return Ok(());
        }
        let message =
            format!("the operation `{}` of `{}` and of `{}`", added.name, known.origin, added.origin);
        let diagnostic = Diagnostic::new(message, span, "two operations of one name").help(
            "an interface has one operation of each name, and does not change what it inherits: rename one",
        );
        Err(Box::new(diagnostic))
    }
}

/// Adds the services of inherited operations. A base stands before the interfaces that inherit from it.
pub(crate) fn inherit(declarations: &mut Vec<Declaration>) -> Result<(), Box<Diagnostic>> {
    let mut interfaces: HashMap<String, Operations> = HashMap::new();
    let (mut inherited, mut given) = (Vec::new(), 0);
    for declaration in declarations.iter() {
        let Declaration { scope, name, prefix, kind } = declaration;
        match kind {
            DeclarationKind::Interface { bases } => {
                let mut operations = Operations::default();
                for base in bases {
                    let from = find(&interfaces, base, scope).ok_or_else(|| unknown(base))?;
                    given += from.all.len();
                    if given > MAX_INHERITED {
                        return Err(too_many(base));
                    }
                    for operation in &from.all {
                        operations.add(operation.clone(), base.span)?;
                    }
                }
                inherited.extend(operations.all.iter().map(|it| service(scope, name, it)));
                // A second interface of this name is an error of the resolver.
                interfaces.entry(full_name(scope, &name.text)).or_insert(operations);
            }
            DeclarationKind::Service { interface, operation, request, response, raises, modules } => {
                let origin = full_name(scope, interface);
                let Some(operations) = interfaces.get_mut(&origin) else { continue };
                let own = Operation {
                    name: operation.clone(),
                    origin,
                    docs: prefix.docs.clone(),
                    request: request.clone(),
                    response: response.clone(),
                    raises: *raises,
                    modules: modules.clone(),
                };
                operations.add(own, name.span)?;
            }
            _ => {}
        }
    }
    declarations.extend(inherited);
    Ok(())
}

fn full_name(scope: &[String], name: &str) -> String {
    scope.iter().map(String::as_str).chain([name]).collect::<Vec<_>>().join("::")
}

fn find<'a>(
    interfaces: &'a HashMap<String, Operations>,
    base: &ScopedName,
    scope: &[String],
) -> Option<&'a Operations> {
    let innermost = if base.absolute { 0 } else { scope.len() };
    let text = base.parts.join("::");
    (0..=innermost).rev().find_map(|depth| interfaces.get(&full_name(&scope[..depth], &text)))
}

fn service(scope: &[String], interface: &Ident, operation: &Operation) -> Declaration {
    let text = format!("{}_{}", interface.text, operation.name);
    Declaration {
        scope: scope.to_vec(),
        name: Ident { text, span: interface.span },
        prefix: Prefix { docs: operation.docs.clone(), annotations: Vec::new() },
        kind: DeclarationKind::Service {
            interface: interface.text.clone(),
            operation: operation.name.clone(),
            request: operation.request.clone(),
            response: operation.response.clone(),
            raises: operation.raises,
            modules: operation.modules.clone(),
        },
    }
}

#[cold]
fn unknown(base: &ScopedName) -> Box<Diagnostic> {
    let message = format!("`{}` is no interface that is defined before", base.text());
    let help = "define it before this interface, or #include the file that defines it";
    Box::new(Diagnostic::new(message, base.span, "the base").help(help))
}

#[cold]
fn too_many(base: &ScopedName) -> Box<Diagnostic> {
    let message = format!("the interfaces inherit more than {MAX_INHERITED} operations");
    Box::new(
        Diagnostic::new(message, base.span, "too many with this base").help(
            "each is a service of its own: let servers serve the operations of several interfaces instead",
        ),
    )
}
