//! From declarations to the model: looks up names, evaluates constants, checks the rules.
//!
//! ```text
//!   types        types, structs, unions, enums and bitmasks
//!   constant     constants: evaluates expressions and fits values to types
//!   annotations  where each annotation is allowed, and its value
//!   check        rules that need the whole schema: what may be flat, bulk, a key
//! ```

mod annotations;
mod check;
mod constant;
mod types;

use std::collections::HashMap;

use crate::frontend::ast::{Declaration, DeclarationKind, ScopedName};
use crate::model::graph::MAX_NESTING;
use crate::model::{
    Constant, Definition, Extensibility, Interface, Kind, Name, Raises, Service, Struct, Type, TypeId,
};
use crate::schema::{Parts, Schema};
use crate::source::diagnostic::{Diagnostic, MAX_DIAGNOSTICS, SchemaError, did_you_mean};
use crate::source::{Sources, Span};

type Resolved<T> = Result<T, Box<Diagnostic>>;

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Symbol {
    Module,
    Interface,
    Service,
    Type(TypeId),
    Constant(usize),
    /// An enumerator: its enum and position.
    Enumerator(TypeId, usize),
    /// A flag: its bitmask and position.
    Flag(TypeId, usize),
}

/// A struct's base and declared extensibility, before they are checked.
#[derive(Debug, Clone, Copy, Default)]
struct Ancestry {
    base: Option<TypeId>,
    extensibility: Option<Extensibility>,
}

struct Resolver<'a> {
    declarations: &'a [Declaration],
    symbols: HashMap<String, (Symbol, Span)>,
    /// The declaration of each type.
    declared: Vec<usize>,
    definitions: Vec<Option<Definition>>,
    constants: Vec<Constant>,
    ancestry: Vec<Ancestry>,
    diagnostics: Vec<Diagnostic>,
    /// Whether definitions may refer only to those before them: true for constants, enums, bitmasks and
    /// typedefs.
    in_order: bool,
}

/// Builds a schema from what the front ends have read.
pub(crate) fn resolve(sources: Sources, declarations: &[Declaration]) -> Result<Schema, Box<SchemaError>> {
    let mut resolver = Resolver {
        declarations,
        symbols: HashMap::new(),
        declared: Vec::new(),
        definitions: Vec::new(),
        constants: Vec::new(),
        ancestry: Vec::new(),
        diagnostics: Vec::new(),
        in_order: true,
    };
    resolver.collect();
    resolver.define_in_order();
    resolver.in_order = false;
    resolver.define_structures();
    resolver.check_forwards();
    resolver.finish(sources)
}

/// Adds the services of the interfaces among the declarations, and returns the interfaces.
pub(crate) fn services(
    schema: &Schema,
    declarations: &[Declaration],
    services: &mut Vec<Service>,
) -> Vec<Interface> {
    let mut interfaces: Vec<Interface> = Vec::new();
    let mut positions = HashMap::new();
    for it in declarations {
        let (docs, span) = (it.prefix.docs.clone(), it.name.span);
        let name = full_name(&it.scope, &it.name.text);
        match &it.kind {
            DeclarationKind::Interface { .. } => {
                positions.insert(name.clone(), interfaces.len());
                interfaces.push(Interface { name: Name::new(name), docs, span, operations: Vec::new() });
            }
            DeclarationKind::Service { interface, operation, request, response, raises, modules } => {
                let of = |name: &str| schema.find(&full_name(modules, name));
                let (Some(request), Some(response)) = (of(request), of(response)) else { continue };
                let raises = if *raises { raises_of(schema, response) } else { None };
                if let Some(position) = positions.get(&full_name(&it.scope, interface)) {
                    interfaces[*position].operations.push((operation.clone(), services.len()));
                }
                services.push(Service { name: Name::new(name), docs, span, request, response, raises });
            }
            _ => {}
        }
    }
    interfaces
}

/// What the response of an operation holds that raises exceptions.
fn raises_of(schema: &Schema, response: TypeId) -> Option<Raises> {
    let [reply] = schema.definition(response).kind.as_struct()?.members.as_slice() else { return None };
    let Type::Named(outcome) = reply.ty else { return None };
    let Kind::Union(union) = &schema.definition(outcome).kind else { return None };
    let Type::Named(output) = union.cases.first()?.member.ty else { return None };
    Some(Raises { output, outcome })
}

fn full_name(scope: &[String], name: &str) -> String {
    scope.iter().map(String::as_str).chain([name]).collect::<Vec<_>>().join("::")
}

impl Resolver<'_> {
    fn report<T>(&mut self, result: Resolved<T>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(diagnostic) => {
                self.diagnostics.push(*diagnostic);
                None
            }
        }
    }

    /// Assigns an id to every type and a symbol to every name.
    fn collect(&mut self) {
        for (at, declaration) in self.declarations.iter().enumerate() {
            let Declaration { scope, name, kind, .. } = declaration;
            for depth in 1..=scope.len() {
                self.declare(scope[..depth].join("::"), Symbol::Module, name.span);
            }
            let full = full_name(scope, &name.text);
            let id = TypeId(self.declared.len() as u32);
            match kind {
                DeclarationKind::Forward => continue,
                DeclarationKind::Constant { .. } => {
                    // The position is known once it is evaluated; see `define_in_order`.
                    self.declare(full, Symbol::Constant(usize::MAX), name.span);
                    continue;
                }
                DeclarationKind::Interface { .. } | DeclarationKind::Service { .. } => {
                    let is_service = matches!(kind, DeclarationKind::Service { .. });
                    let symbol = if is_service { Symbol::Service } else { Symbol::Interface };
                    self.declare(full, symbol, name.span);
                    continue;
                }
                // ROS 2's tools repeat typedefs in every file; they are compared in `define_in_order`.
                DeclarationKind::Alias(_) if self.is_alias(&full) => continue,
                _ => {}
            }
            if !self.declare(full.clone(), Symbol::Type(id), name.span) {
                continue;
            }
            self.declared.push(at);
            self.definitions.push(None);
            self.ancestry.push(Ancestry::default());
            match kind {
                DeclarationKind::Enum(entries) => {
                    for (position, entry) in entries.iter().enumerate() {
                        let symbol = Symbol::Enumerator(id, position);
                        self.declare(full_name(scope, &entry.name.text), symbol, entry.name.span);
                        let qualified = format!("{full}::{}", entry.name.text);
                        self.symbols.entry(qualified).or_insert((symbol, entry.name.span));
                    }
                }
                DeclarationKind::Bitmask(entries) => {
                    for (position, entry) in entries.iter().enumerate() {
                        let name = format!("{full}::{}", entry.name.text);
                        self.declare(name, Symbol::Flag(id, position), entry.name.span);
                    }
                }
                _ => {}
            }
        }
    }

    fn is_alias(&self, name: &str) -> bool {
        match self.symbols.get(name) {
            Some((Symbol::Type(id), _)) => {
                matches!(self.declarations[self.declared[id.index()]].kind, DeclarationKind::Alias(_))
            }
            _ => false,
        }
    }

    fn declare(&mut self, name: String, symbol: Symbol, span: Span) -> bool {
        if let Some((known, first)) = self.symbols.get(&name) {
            if *known == Symbol::Module && symbol == Symbol::Module {
                return true;
            }
            let diagnostic = Diagnostic::new(format!("`{name}` is declared twice"), span, "declared again")
                .also(*first, "declared first")
                .help("rename one of them, or put them into different modules");
            self.diagnostics.push(diagnostic);
            return false;
        }
        self.symbols.insert(name, (symbol, span));
        true
    }

    fn define(&mut self, id: TypeId, kind: Kind) {
        let declaration = &self.declarations[self.declared[id.index()]];
        // Where `@flat` is not allowed, it was refused before.
        let flat = self.flag(&declaration.prefix, "flat");
        let (docs, annotations) = annotations::split_docs(&declaration.prefix);
        self.definitions[id.index()] = Some(Definition {
            name: Name::new(full_name(&declaration.scope, &declaration.name.text)),
            docs,
            span: declaration.name.span,
            annotations,
            flat,
            kind,
        });
    }

    /// Constants, enums, bitmasks and typedefs, which may refer to those before them.
    fn define_in_order(&mut self) {
        for declaration in self.declarations {
            let name = full_name(&declaration.scope, &declaration.name.text);
            match &declaration.kind {
                DeclarationKind::Constant { ty, value } => {
                    let constant = self.constant(declaration, ty, value);
                    let Some(constant) = self.report(constant) else { continue };
                    if let Some((symbol @ Symbol::Constant(usize::MAX), _)) = self.symbols.get_mut(&name) {
                        *symbol = Symbol::Constant(self.constants.len());
                        self.constants.push(constant);
                    }
                }
                DeclarationKind::Enum(entries) => {
                    let Some(id) = self.own_id(declaration) else { continue };
                    if let Some(kind) = self.enumeration(declaration, entries) {
                        self.define(id, Kind::Enum(kind));
                    }
                }
                DeclarationKind::Bitmask(entries) => {
                    let Some(id) = self.own_id(declaration) else { continue };
                    if let Some(kind) = self.bitmask(declaration, entries) {
                        self.define(id, Kind::Bitmask(kind));
                    }
                }
                DeclarationKind::Alias(ty) => {
                    self.check_annotations(&declaration.prefix, annotations::Place::Typedef);
                    let ty = self.type_of(ty, &declaration.scope);
                    let Some(ty) = self.report(ty) else { continue };
                    if let Some(id) = self.own_id(declaration) {
                        self.define(id, Kind::Alias(ty));
                    } else if let Some((Symbol::Type(id), first)) = self.symbols.get(&name).copied()
                        && let Some(Definition { kind: Kind::Alias(known), .. }) =
                            &self.definitions[id.index()]
                        && *known != ty
                    {
                        let message = format!("the typedef `{name}` stands for two different types");
                        self.diagnostics.push(
                            Diagnostic::new(message, declaration.name.span, "declared again")
                                .also(first, "declared first")
                                .help("rename one of them"),
                        );
                    }
                }
                DeclarationKind::Struct(_)
                | DeclarationKind::Union(_)
                | DeclarationKind::Forward
                | DeclarationKind::Interface { .. }
                | DeclarationKind::Service { .. } => {}
            }
        }
    }

    /// The id of a declaration; `None` for one that repeats another.
    fn own_id(&self, declaration: &Declaration) -> Option<TypeId> {
        match self.symbols.get(&full_name(&declaration.scope, &declaration.name.text)) {
            Some((Symbol::Type(id), span)) if *span == declaration.name.span => Some(*id),
            _ => None,
        }
    }

    fn define_structures(&mut self) {
        for declaration in self.declarations {
            let Some(id) = self.own_id(declaration) else { continue };
            if let DeclarationKind::Struct(it) = &declaration.kind {
                self.ancestry[id.index()] = self.find_ancestry(declaration, it);
            }
        }
        for declaration in self.declarations {
            let Some(id) = self.own_id(declaration) else { continue };
            let kind = match &declaration.kind {
                DeclarationKind::Struct(it) => Some(Kind::Struct(self.structure(declaration, id, it))),
                DeclarationKind::Union(it) => self.union(declaration, it).map(Kind::Union),
                _ => None,
            };
            if let Some(kind) = kind {
                self.define(id, kind);
            }
        }
        for id in 0..self.definitions.len() {
            self.number_members(TypeId(id as u32));
        }
    }

    /// Looks a name up from the innermost scope outwards.
    fn find(&self, name: &ScopedName, scope: &[String]) -> Option<Symbol> {
        let text = name.parts.join("::");
        let innermost = if name.absolute { 0 } else { scope.len() };
        (0..=innermost).rev().find_map(|depth| {
            let full =
                if depth == 0 { text.clone() } else { format!("{}::{text}", scope[..depth].join("::")) };
            self.symbols.get(&full).map(|(symbol, _)| *symbol)
        })
    }

    /// A diagnostic for an unknown name, with a similar known name.
    fn unknown(
        &self,
        name: &ScopedName,
        what: &str,
        help: &str,
        fits: fn(&Symbol) -> bool,
    ) -> Box<Diagnostic> {
        let message = format!("unknown {what} `{}`", name.text());
        let diagnostic = Diagnostic::new(message, name.span, "not declared here or in an outer module");
        let last_part = |full: &str| full.rfind("::").map_or(0, |at| at + 2);
        let last = name.parts.last().map_or("", String::as_str);
        let mut known: Vec<&str> = Vec::new();
        // The search for a similar name is slow, so only the first mistakes get one.
        if self.diagnostics.len() < MAX_DIAGNOSTICS {
            known.extend(
                self.symbols.iter().filter(|(_, (symbol, _))| fits(symbol)).map(|(full, _)| full.as_str()),
            );
            known.sort_unstable();
        }
        let elsewhere = known.iter().find(|full| &full[last_part(full)..] == last).copied();
        let meant =
            elsewhere.or_else(|| did_you_mean(last, known.iter().map(|full| &full[last_part(full)..])));
        Box::new(match meant {
            Some(meant) => diagnostic.help(format!("did you mean `{meant}`?")),
            None => diagnostic.help(help),
        })
    }

    fn check_forwards(&mut self) {
        for declaration in self.declarations {
            let name = full_name(&declaration.scope, &declaration.name.text);
            if !matches!(declaration.kind, DeclarationKind::Forward) || self.symbols.contains_key(&name) {
                continue;
            }
            self.diagnostics.push(
                Diagnostic::new(
                    format!("`{name}` is declared but never defined"),
                    declaration.name.span,
                    "here",
                )
                .help("define it, or delete the declaration"),
            );
        }
    }

    fn finish(mut self, sources: Sources) -> Result<Schema, Box<SchemaError>> {
        let definitions: Option<Vec<Definition>> = self.definitions.drain(..).collect();
        let failed = |mut diagnostics: Vec<Diagnostic>, sources: &Sources| {
            diagnostics.truncate(MAX_DIAGNOSTICS);
            Err(Box::new(SchemaError::new(diagnostics, sources)))
        };
        let definitions = match definitions {
            Some(definitions) if self.diagnostics.is_empty() => definitions,
            _ => return failed(self.diagnostics, &sources),
        };
        let parts = Parts { sources, definitions, constants: self.constants };
        let schema = match Schema::new(parts) {
            Ok(schema) => schema,
            Err((error, parts)) => {
                return failed(vec![check::graph_error(&error, &parts.definitions)], &parts.sources);
            }
        };
        let diagnostics = check::check(&schema);
        if diagnostics.is_empty() { Ok(schema) } else { failed(diagnostics, schema.sources()) }
    }

    /// A struct and all its bases, the outermost base first.
    fn lineage(&self, id: TypeId) -> Vec<TypeId> {
        let mut chain = vec![id];
        let mut current = id;
        while let Some(base) = self.ancestry[current.index()].base {
            // The graph refuses chains of this length, and cycles, later.
            if chain.len() > MAX_NESTING as usize {
                break;
            }
            chain.push(base);
            current = base;
        }
        chain.reverse();
        chain
    }

    fn struct_mut(&mut self, id: TypeId) -> Option<&mut Struct> {
        match &mut self.definitions[id.index()].as_mut()?.kind {
            Kind::Struct(it) => Some(it),
            _ => None,
        }
    }
}
