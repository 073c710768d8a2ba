//! What lies in which module of a schema.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::Schema;
use crate::codegen::Options;
use crate::model::{Constant, Definition, Interface, Kind, Name, Service, Type, TypeId};

/// The 4 spaces of an indentation in Python.
pub type CodeWriter = crate::codegen::writer::CodeWriter<4>;

/// The start of the first line of a file, behind which the names of its types stand.
pub const HEADER: &str = "# situ gen --lang python:";

/// What lies in one module of a schema.
#[derive(Default)]
pub struct Module<'s> {
    /// Structs, unions, enums and bitmasks, each after its base.
    pub types: Vec<(TypeId, &'s Definition)>,
    /// Typedefs of those.
    pub aliases: Vec<(&'s Definition, TypeId)>,
    pub constants: Vec<&'s Constant>,
    pub services: Vec<&'s Service>,
    /// Interfaces with operations.
    pub interfaces: Vec<&'s Interface>,
}

impl<'s> Module<'s> {
    /// The exceptions of IDL.
    pub fn exceptions(&self) -> impl Iterator<Item = &(TypeId, &'s Definition)> {
        self.types.iter().filter(|(_, it)| it.kind.as_struct().is_some_and(|it| it.exception))
    }

    /// The names of typedefs, constants, services and interfaces.
    pub fn others(&self) -> impl Iterator<Item = &'s Name> {
        let aliases = self.aliases.iter().map(|(it, _)| &it.name);
        let constants = self.constants.iter().map(|it| &it.name);
        let services = self.services.iter().map(|it| &it.name);
        aliases.chain(constants).chain(services).chain(self.interfaces.iter().map(|it| &it.name))
    }
}

/// The modules of a schema, by their names. Constants of a ROS message lie in its class.
pub fn modules<'s>(schema: &'s Schema, options: &Options) -> BTreeMap<String, Module<'s>> {
    let mut modules: BTreeMap<String, Module<'s>> = BTreeMap::new();
    let is_wanted = |file| options.included || schema.sources().get(file).requested;
    for id in schema.dependency_order() {
        let definition = schema.definition(*id);
        if !is_wanted(definition.span.file) {
            continue;
        }
        let module = modules.entry(definition.name.scope().to_owned()).or_default();
        match &definition.kind {
            Kind::Alias(ty) => {
                if let Type::Named(target) = schema.resolve(ty) {
                    module.aliases.push((definition, *target));
                }
            }
            _ => module.types.push((*id, definition)),
        }
    }
    for constant in schema.constants().iter().filter(|it| is_wanted(it.span.file)) {
        let scope = constant.name.scope();
        let is_of_message = scope.strip_suffix("_Constants").is_some_and(|it| schema.find(it).is_some());
        if !is_of_message {
            modules.entry(scope.to_owned()).or_default().constants.push(constant);
        }
    }
    let of_actions = schema.actions().iter().flat_map(|it| [&it.send_goal, &it.get_result]);
    for service in schema.services().iter().chain(of_actions).filter(|it| is_wanted(it.span.file)) {
        modules.entry(service.name.scope().to_owned()).or_default().services.push(service);
    }
    for interface in schema.interfaces().iter().filter(|it| is_wanted(it.span.file)) {
        if !interface.operations.is_empty() {
            modules.entry(interface.name.scope().to_owned()).or_default().interfaces.push(interface);
        }
    }
    modules
}

/// A path below the output folder.
pub fn joined(parts: &[String]) -> PathBuf {
    parts.iter().collect()
}
