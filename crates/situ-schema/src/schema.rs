//! The schema: all definitions with their graph, and queries for generators and readers.

use std::collections::HashMap;

use crate::layout::flat::FlatTable;
use crate::model::graph::{Graph, GraphError};
use crate::model::{
    Action, Constant, Definition, Interface, Kind, Literal, Name, Primitive, Service, Struct, Type, TypeId,
};
use crate::source::{FileId, Sources, Span};

/// A closed set of types: every name in it is resolved. Queries are cheap, and a schema never changes once it
/// is built.
#[derive(Debug, Clone, Default)]
pub struct Schema {
    sources: Sources,
    definitions: Vec<Definition>,
    constants: Vec<Constant>,
    services: Vec<Service>,
    interfaces: Vec<Interface>,
    actions: Vec<Action>,
    by_name: HashMap<String, TypeId>,
    graph: Graph,
    flat: FlatTable,
}

/// The pieces of a schema before the graph is walked.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    pub sources: Sources,
    pub definitions: Vec<Definition>,
    pub constants: Vec<Constant>,
}

impl Schema {
    /// Walks the graph and computes the facts about every definition.
    pub(crate) fn new(parts: Parts) -> Result<Self, (GraphError, Parts)> {
        let graph = match Graph::new(&parts.definitions) {
            Ok(graph) => graph,
            Err(error) => return Err((error, parts)),
        };
        let by_name = parts.definitions.iter().enumerate();
        let by_name = by_name.map(|(at, it)| (it.name.as_str().to_owned(), TypeId(at as u32))).collect();
        Ok(Self {
            flat: FlatTable::new(&parts.definitions, &graph),
            sources: parts.sources,
            definitions: parts.definitions,
            constants: parts.constants,
            services: Vec::new(),
            interfaces: Vec::new(),
            actions: Vec::new(),
            by_name,
            graph,
        })
    }

    pub(crate) fn set_services(
        &mut self,
        services: Vec<Service>,
        interfaces: Vec<Interface>,
        actions: Vec<Action>,
    ) {
        self.services = services;
        self.interfaces = interfaces;
        self.actions = actions;
    }

    /// The flat form's facts about every definition.
    pub(crate) fn flat_table(&self) -> &FlatTable {
        &self.flat
    }

    /// The source files.
    pub fn sources(&self) -> &Sources {
        &self.sources
    }

    /// All definitions, in the order of the source; [`TypeId::index`] is the position.
    pub fn definitions(&self) -> impl ExactSizeIterator<Item = (TypeId, &Definition)> {
        self.definitions.iter().enumerate().map(|(at, it)| (TypeId(at as u32), it))
    }

    /// The definition named `id`.
    pub fn definition(&self, id: TypeId) -> &Definition {
        &self.definitions[id.index()]
    }

    /// The definition with this name: `sensor_msgs::msg::Image`, or the ROS spelling `sensor_msgs/msg/Image`,
    /// or its short form `sensor_msgs/Image`.
    pub fn find(&self, name: &str) -> Option<TypeId> {
        let name = name.strip_prefix("::").unwrap_or(name);
        if let Some(id) = self.by_name.get(name) {
            return Some(*id);
        }
        let parts: Vec<&str> = name.split('/').collect();
        let spelled = match parts.as_slice() {
            [package, simple] => format!("{package}::msg::{simple}"),
            parts => parts.join("::"),
        };
        self.by_name.get(&spelled).copied()
    }

    /// All definitions, each after those it depends on. Types that contain themselves through a sequence or
    /// map come in an order in which each follows those it holds by value.
    pub fn dependency_order(&self) -> &[TypeId] {
        &self.graph.order
    }

    /// `root` and everything it depends on, dependencies first. The order is the same in every schema that
    /// holds these types.
    pub fn closure(&self, root: TypeId) -> Vec<TypeId> {
        self.graph.closure(root)
    }

    /// The same with typedefs resolved. `root` must not be a typedef.
    pub(crate) fn closure_without_aliases(&self, root: TypeId) -> Vec<TypeId> {
        self.graph.closure_without_aliases(root)
    }

    /// Whether a value of `a` can hold one of `b`. A type depends on itself only if it is recursive.
    pub fn depends_on(&self, a: TypeId, b: TypeId) -> bool {
        if a == b { self.is_recursive(a) } else { self.graph.closure(a).contains(&b) }
    }

    /// Whether a type contains itself, through a sequence or a map.
    pub fn is_recursive(&self, id: TypeId) -> bool {
        self.flat.of(id).recursive
    }

    /// All constants, in the order of the source.
    pub fn constants(&self) -> &[Constant] {
        &self.constants
    }

    /// The constants of a ROS message: those of the module `<name>_Constants`.
    pub fn constants_of(&self, id: TypeId) -> impl Iterator<Item = &Constant> {
        let scope = format!("{}_Constants", self.definition(id).name);
        self.constants.iter().filter(move |constant| constant.name.scope() == scope)
    }

    /// The services.
    pub fn services(&self) -> &[Service] {
        &self.services
    }

    /// The interfaces of IDL.
    pub fn interfaces(&self) -> &[Interface] {
        &self.interfaces
    }

    /// The actions.
    pub fn actions(&self) -> &[Action] {
        &self.actions
    }

    /// The file in which a definition stands.
    pub fn file_of(&self, id: TypeId) -> FileId {
        self.definition(id).span.file
    }

    /// Whether a definition stands in a file that was requested by name, not only included.
    pub fn is_requested(&self, id: TypeId) -> bool {
        self.sources.get(self.file_of(id)).requested
    }

    /// `ty` with typedefs at its top resolved. An array of a typedef of an array stays as it is; see
    /// [`Schema::array`].
    pub fn resolve<'a>(&'a self, mut ty: &'a Type) -> &'a Type {
        while let Type::Named(id) = ty {
            match &self.definition(*id).kind {
                Kind::Alias(target) => ty = target,
                _ => break,
            }
        }
        ty
    }

    /// The element and all dimensions of an array, arrays of arrays (by typedefs) joined; `None` for other
    /// types.
    pub fn array<'a>(&'a self, ty: &'a Type) -> Option<(&'a Type, Vec<u32>)> {
        let mut joined = Vec::new();
        let mut ty = self.resolve(ty);
        while let Type::Array { element, dimensions } = ty {
            joined.extend_from_slice(dimensions);
            ty = self.resolve(element);
        }
        if joined.is_empty() { None } else { Some((ty, joined)) }
    }

    /// The struct that `ty` stands for, typedefs resolved.
    pub fn as_struct(&self, ty: &Type) -> Option<(TypeId, &Struct)> {
        match self.resolve(ty) {
            Type::Named(id) => self.definition(*id).kind.as_struct().map(|it| (*id, it)),
            _ => None,
        }
    }

    /// Whether the type's default storage is Flat: the type is marked `@flat`, or is a typedef of such a
    /// type.
    pub fn is_flat(&self, id: TypeId) -> bool {
        let definition = self.definition(id);
        match definition.kind {
            Kind::Alias(Type::Named(other)) => definition.flat || self.is_flat(other),
            _ => definition.flat,
        }
    }

    /// The discriminator of a new union: the first label of its first case.
    pub fn default_discriminator(&self, union: &crate::model::Union) -> i128 {
        match union.cases.first() {
            Some(first) => {
                first.labels.first().copied().unwrap_or_else(|| self.unlabelled(union).unwrap_or(0))
            }
            None => 0,
        }
    }

    /// A discriminator value that no case names, and that therefore selects the `default` case or none: the
    /// first free enumerator, or the smallest free number from 0. `None` when all are taken.
    pub fn unlabelled(&self, union: &crate::model::Union) -> Option<i128> {
        let free = |value: &i128| !union.cases.iter().any(|case| case.labels.contains(value));
        match self.resolve(&union.discriminator) {
            Type::Named(id) => match &self.definition(*id).kind {
                Kind::Enum(it) => it.enumerators.iter().map(|it| i128::from(it.value)).find(free),
                _ => None,
            },
            Type::Primitive(primitive) => {
                let (_, last) = primitive.integer_range()?;
                (0..=last).find(free)
            }
            _ => None,
        }
    }

    /// The name of a type as it is written in IDL, typedef names kept: `sequence<std_msgs::msg::Header, 4>`.
    pub fn display(&self, ty: &Type) -> String {
        let bounded = |head: &str, bound: Option<u32>| match bound {
            Some(bound) => format!("{head}<{bound}>"),
            None => head.to_owned(),
        };
        match ty {
            Type::Primitive(primitive) => primitive.idl().to_owned(),
            Type::String { bound } => bounded("string", *bound),
            Type::WString { bound } => bounded("wstring", *bound),
            Type::Sequence { element, bound: None } => format!("sequence<{}>", self.display(element)),
            Type::Sequence { element, bound: Some(bound) } => {
                format!("sequence<{}, {bound}>", self.display(element))
            }
            Type::Array { element, dimensions } => {
                let dimensions: String = dimensions.iter().map(|it| format!("[{it}]")).collect();
                format!("{}{dimensions}", self.display(element))
            }
            Type::Map { key, value, bound } => {
                let bound = bound.map(|it| format!(", {it}")).unwrap_or_default();
                format!("map<{}, {}{bound}>", self.display(key), self.display(value))
            }
            Type::Named(id) => self.definition(*id).name.to_string(),
        }
    }

    /// The name of an enumerator that a literal stands for.
    pub fn enumerator_of(&self, literal: &Literal) -> Option<&crate::model::Enumerator> {
        match literal {
            Literal::Enumerator { of, index } => self.definition(*of).kind.as_enum()?.enumerators.get(*index),
            _ => None,
        }
    }

    /// The value of a new member of this type, if one literal can say it. `None` for structs, unions and
    /// arrays, because their parts have values of their own.
    pub fn zero(&self, ty: &Type) -> Option<Literal> {
        Some(match self.resolve(ty) {
            Type::Primitive(Primitive::Bool) => Literal::Bool(false),
            Type::Primitive(primitive) if primitive.is_float() => Literal::Float(0.0),
            Type::Primitive(_) => Literal::Integer(0),
            Type::String { .. } | Type::WString { .. } => Literal::String(String::new()),
            Type::Sequence { .. } | Type::Map { .. } => Literal::List(Vec::new()),
            Type::Array { .. } => return None,
            Type::Named(id) => match &self.definition(*id).kind {
                Kind::Enum(it) => Literal::Enumerator { of: *id, index: it.default },
                Kind::Bitmask(_) => Literal::Integer(0),
                _ => return None,
            },
        })
    }

    /// The position of a definition in the source, for messages.
    pub fn span(&self, id: TypeId) -> Span {
        self.definition(id).span
    }

    /// The name of a definition.
    pub fn name(&self, id: TypeId) -> &Name {
        &self.definition(id).name
    }
}
