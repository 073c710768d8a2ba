//! The types that ROS 2 derives from services and actions.

use std::collections::HashSet;

use super::InterfaceKind;
use super::message::{Interface, Reference};
use crate::frontend::ast::{
    Declaration, DeclarationKind, Expr, ExprKind, Ident, MemberDeclaration, Prefix, ScopedName,
    StructDeclaration, TypeRef, TypeRefKind,
};
use crate::model::{Action, Name, Primitive, Service};
use crate::schema::Schema;
use crate::source::Span;

/// The simple names, in the module `package::kind`, that have all these suffixes: `Fibonacci` for
/// `Fibonacci_Goal`, `Fibonacci_Result` and `Fibonacci_Feedback`.
fn families<'d>(names: impl Iterator<Item = (&'d str, Span)>, suffixes: &[&str]) -> Vec<(String, Span)> {
    let names: Vec<(&str, Span)> = names.collect();
    let known: HashSet<&str> = names.iter().map(|(name, _)| *name).collect();
    let stem = |(name, span): &(&str, Span)| {
        let stem = name.strip_suffix(suffixes[0])?;
        suffixes
            .iter()
            .all(|it| known.contains(format!("{stem}{it}").as_str()))
            .then(|| (stem.to_owned(), *span))
    };
    names.iter().filter_map(stem).collect()
}

const SERVICE: [&str; 2] = ["_Request", "_Response"];
const ACTION: [&str; 3] = ["_Goal", "_Result", "_Feedback"];

/// The structs of all modules `package::kind`: the full name of the module and of the struct.
fn structs_of<'d>(declarations: &'d [Declaration], kind: &str) -> Vec<(String, &'d str, Span)> {
    let fits = |it: &&Declaration| {
        matches!(it.kind, DeclarationKind::Struct(_))
            && matches!(it.scope.as_slice(), [_, folder] if folder == kind)
    };
    let named = |it: &'d Declaration| (it.scope[0].clone(), it.name.text.as_str(), it.name.span);
    declarations.iter().filter(fits).map(named).collect()
}

fn families_of(declarations: &[Declaration], kind: &str, suffixes: &[&str]) -> Vec<(String, String, Span)> {
    let structs = structs_of(declarations, kind);
    let mut packages: Vec<&str> = structs.iter().map(|(package, ..)| package.as_str()).collect();
    packages.sort_unstable();
    packages.dedup();
    let of = |package: &str| {
        let own = structs.iter().filter(|(it, ..)| it == package).map(|(_, name, span)| (*name, *span));
        families(own, suffixes)
            .into_iter()
            .map(|(stem, span)| (package.to_owned(), stem, span))
            .collect::<Vec<_>>()
    };
    packages.into_iter().flat_map(of).collect()
}

struct Builder {
    package: String,
    kind: &'static str,
    span: Span,
    declarations: Vec<Declaration>,
    references: Vec<Reference>,
}

impl Builder {
    fn named(&mut self, package: &str, kind: InterfaceKind, name: &str) -> TypeRefKind {
        if package != self.package || kind == InterfaceKind::Message {
            let interface = Interface { package: package.into(), kind, name: name.into() };
            self.references.push(Reference { interface, span: self.span });
        }
        let parts = vec![package.to_owned(), kind.folder().to_owned(), name.to_owned()];
        TypeRefKind::Named(ScopedName { absolute: true, parts, span: self.span })
    }

    fn own(&self, name: &str) -> TypeRefKind {
        let parts = vec![self.package.clone(), self.kind.to_owned(), name.to_owned()];
        TypeRefKind::Named(ScopedName { absolute: true, parts, span: self.span })
    }

    fn at_most_one(&self, element: TypeRefKind) -> TypeRefKind {
        let element = Box::new(TypeRef { kind: element, span: self.span });
        let bound = Some(Expr { kind: ExprKind::Integer(1), span: self.span });
        TypeRefKind::Sequence { element, bound }
    }

    fn declare(&mut self, name: String, docs: &str, members: Vec<(&str, TypeRefKind)>) {
        let span = self.span;
        let member = |(name, kind): (&str, TypeRefKind)| MemberDeclaration {
            name: Ident { text: name.into(), span },
            ty: TypeRef { kind, span },
            prefix: Prefix::default(),
            default: None,
            unit: None,
        };
        let members = members.into_iter().map(member).collect();
        self.declarations.push(Declaration {
            scope: vec![self.package.clone(), self.kind.to_owned()],
            name: Ident { text: name, span },
            prefix: Prefix { docs: docs.into(), annotations: Vec::new() },
            kind: DeclarationKind::Struct(StructDeclaration { members, ..StructDeclaration::default() }),
        });
    }

    fn event(&mut self, stem: &str) {
        let info = self.named("service_msgs", InterfaceKind::Message, "ServiceEventInfo");
        let request = self.at_most_one(self.own(&format!("{stem}_Request")));
        let response = self.at_most_one(self.own(&format!("{stem}_Response")));
        let members = vec![("info", info), ("request", request), ("response", response)];
        self.declare(format!("{stem}_Event"), "What an observer of the service sees.", members);
    }

    fn action(&mut self, stem: &str) {
        let message = InterfaceKind::Message;
        let uuid = self.named("unique_identifier_msgs", message, "UUID");
        let stamp = self.named("builtin_interfaces", message, "Time");
        let boolean = TypeRefKind::Primitive(Primitive::Bool);
        let status = TypeRefKind::Primitive(Primitive::I8);
        let [goal, result, feedback] = ACTION.map(|suffix| self.own(&format!("{stem}{suffix}")));
        let request = format!("{stem}_SendGoal_Request");
        self.declare(request, "Asks for a goal.", vec![("goal_id", uuid.clone()), ("goal", goal)]);
        let response = format!("{stem}_SendGoal_Response");
        self.declare(
            response,
            "Whether the goal was accepted.",
            vec![("accepted", boolean), ("stamp", stamp)],
        );
        let request = format!("{stem}_GetResult_Request");
        self.declare(request, "Asks for the result of a goal.", vec![("goal_id", uuid.clone())]);
        let response = format!("{stem}_GetResult_Response");
        self.declare(response, "The result of a goal.", vec![("status", status), ("result", result)]);
        let name = format!("{stem}_FeedbackMessage");
        self.declare(name, "Feedback on a goal.", vec![("goal_id", uuid), ("feedback", feedback)]);
    }
}

/// Adds the types that the services and actions among `declarations` imply, unless they exist. Returns the
/// messages that these need.
pub(crate) fn add_implicit(declarations: &mut Vec<Declaration>, service_events: bool) -> Vec<Reference> {
    let mut references = Vec::new();
    let mut known: HashSet<(Vec<String>, String)> =
        declarations.iter().map(|it| (it.scope.clone(), it.name.text.clone())).collect();
    let mut add = |declarations: &mut Vec<Declaration>,
                   (package, stem, span): (String, String, Span),
                   action: bool| {
        let kind = if action { "action" } else { "srv" };
        let mut builder = Builder { package, kind, span, declarations: Vec::new(), references: Vec::new() };
        if action {
            builder.action(&stem);
        }
        if service_events {
            let services = if action {
                vec![format!("{stem}_SendGoal"), format!("{stem}_GetResult")]
            } else {
                vec![stem]
            };
            services.iter().for_each(|it| builder.event(it));
        }
        let mut missing = |it: &Declaration| known.insert((it.scope.clone(), it.name.text.clone()));
        declarations.extend(builder.declarations.into_iter().filter(|it| missing(it)));
        references.extend(builder.references);
    };
    for family in families_of(declarations, "srv", &SERVICE) {
        add(declarations, family, false);
    }
    for family in families_of(declarations, "action", &ACTION) {
        add(declarations, family, true);
    }
    references
}

fn service(schema: &Schema, stem: &str) -> Option<Service> {
    let of = |suffix: &str| schema.find(&format!("{stem}{suffix}"));
    let (name, docs, request) = (Name::new(stem), String::new(), of("_Request")?);
    let span = schema.definition(request).span;
    Some(Service { name, docs, span, request, response: of("_Response")?, raises: None })
}

fn stems(schema: &Schema, kind: &str, suffix: &str) -> Vec<String> {
    let stem = |name: &Name| match name.modules().as_slice() {
        [_, folder] if *folder == kind => name.as_str().strip_suffix(suffix).map(str::to_owned),
        _ => None,
    };
    schema.definitions().filter_map(|(_, it)| stem(&it.name)).collect()
}

/// The services of a schema.
pub(crate) fn find_services(schema: &Schema) -> Vec<Service> {
    stems(schema, "srv", "_Request").iter().filter_map(|stem| service(schema, stem)).collect()
}

/// The actions of a schema.
pub(crate) fn find_actions(schema: &Schema) -> Vec<Action> {
    let action = |stem: &String| {
        let of = |suffix: &str| schema.find(&format!("{stem}{suffix}"));
        Some(Action {
            name: Name::new(stem.as_str()),
            goal: of("_Goal")?,
            result: of("_Result")?,
            feedback: of("_Feedback")?,
            send_goal: service(schema, &format!("{stem}_SendGoal"))?,
            get_result: service(schema, &format!("{stem}_GetResult"))?,
            feedback_message: of("_FeedbackMessage")?,
        })
    };
    stems(schema, "action", "_Goal").iter().filter_map(action).collect()
}
