//! The schema: all definitions with their graph, and the questions that generators and readers ask.

use std::collections::HashMap;

use crate::flat_layout::{self, BulkField, Extent, FlatLayout, FlatObstacle};
use crate::graph::{Graph, GraphError};
use crate::model::{
    Action, Constant, Definition, Kind, Literal, Name, Primitive, Service, Struct, Type, TypeId,
};
use crate::source::{FileId, Sources, Span};

/// What is known about a definition once its dependencies are known.
#[derive(Debug, Clone)]
pub(crate) struct Facts {
    pub recursive: bool,
    pub bulk_fields: u32,
    pub flat: Result<FlatLayout, FlatObstacle>,
    pub plain: bool,
}

/// A set of types that is closed: every name in it is resolved. Cheap to ask, never changed once built.
#[derive(Debug, Clone, Default)]
pub struct Schema {
    sources: Sources,
    definitions: Vec<Definition>,
    constants: Vec<Constant>,
    services: Vec<Service>,
    actions: Vec<Action>,
    by_name: HashMap<String, TypeId>,
    graph: Graph,
    facts: Vec<Facts>,
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
        let unknown = |definition: &Definition| Facts {
            recursive: false,
            bulk_fields: 0,
            plain: false,
            flat: Err(FlatObstacle {
                path: String::new(),
                reason: flat_layout::FlatReason::Recursive,
                span: definition.span,
            }),
        };
        let mut schema = Self {
            facts: parts.definitions.iter().map(unknown).collect(),
            sources: parts.sources,
            definitions: parts.definitions,
            constants: parts.constants,
            services: Vec::new(),
            actions: Vec::new(),
            by_name,
            graph,
        };
        for at in 0..schema.graph.order.len() {
            let id = schema.graph.order[at];
            let facts = schema.find_facts(id);
            schema.facts[id.index()] = facts;
        }
        Ok(schema)
    }

    fn find_facts(&self, id: TypeId) -> Facts {
        let Definition { kind, span, .. } = self.definition(id);
        let recursive = self.graph.recursive[id.index()];
        let bulk_fields = flat_layout::count_bulk_fields(self, kind);
        let obstacle = |reason| FlatObstacle { path: String::new(), reason, span: *span };
        let flat = if recursive {
            Err(obstacle(flat_layout::FlatReason::Recursive))
        } else if bulk_fields > flat_layout::MAX_BULK_FIELDS {
            Err(obstacle(flat_layout::FlatReason::TooManyBulkFields))
        } else {
            flat_layout::lay_out(self, kind, *span)
        };
        let plain = match kind {
            Kind::Struct(it) => {
                it.base.is_none_or(|base| self.is_plain(&Type::Named(base)))
                    && it.members.iter().all(|it| !it.optional && !it.bulk && self.is_plain(&it.ty))
            }
            Kind::Union(_) => false,
            Kind::Enum(_) | Kind::Bitmask(_) => true,
            Kind::Alias(ty) => self.is_plain(ty),
        };
        Facts { recursive, bulk_fields, flat, plain }
    }

    pub(crate) fn set_services(&mut self, services: Vec<Service>, actions: Vec<Action>) {
        self.services = services;
        self.actions = actions;
    }

    pub(crate) fn facts(&self, id: TypeId) -> &Facts {
        &self.facts[id.index()]
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

    /// The definition with this name: `sensor_msgs::msg::Image`, or the ROS spelling `sensor_msgs/msg/Image`, or
    /// its short form `sensor_msgs/Image`.
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

    /// All definitions, each after those it depends on. Types that contain themselves through a sequence or map
    /// come in an order in which each follows those it holds by value.
    pub fn dependency_order(&self) -> &[TypeId] {
        &self.graph.order
    }

    /// `root` and all that it needs, dependencies first; the same in every schema that holds these types.
    pub fn closure(&self, root: TypeId) -> Vec<TypeId> {
        self.graph.closure(root)
    }

    /// The same with typedefs replaced by what they stand for; `root` is no typedef.
    pub(crate) fn closure_without_aliases(&self, root: TypeId) -> Vec<TypeId> {
        self.graph.closure_without_aliases(root)
    }

    /// Whether a value of `a` can hold one of `b`. A type depends on itself only if it is recursive.
    pub fn depends_on(&self, a: TypeId, b: TypeId) -> bool {
        if a == b { self.is_recursive(a) } else { self.graph.closure(a).contains(&b) }
    }

    /// Whether a type contains itself, through a sequence or a map.
    pub fn is_recursive(&self, id: TypeId) -> bool {
        self.facts(id).recursive
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

    /// The actions.
    pub fn actions(&self) -> &[Action] {
        &self.actions
    }

    /// The file in which a definition stands.
    pub fn file_of(&self, id: TypeId) -> FileId {
        self.definition(id).span.file
    }

    /// Whether a definition stands in a file that was asked for by name, not merely included.
    pub fn is_requested(&self, id: TypeId) -> bool {
        self.sources.get(self.file_of(id)).requested
    }

    /// `ty` with typedefs at its top replaced by what they stand for. An array of a typedef of an array stays as it
    /// is; see [`Schema::array`].
    pub fn resolve<'a>(&'a self, mut ty: &'a Type) -> &'a Type {
        while let Type::Named(id) = ty {
            match &self.definition(*id).kind {
                Kind::Alias(target) => ty = target,
                _ => break,
            }
        }
        ty
    }

    /// The element and all dimensions of an array, arrays of arrays (by typedefs) joined; `None` for other types.
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

    /// Whether the type can have Flat storage.
    pub fn is_flattable(&self, id: TypeId) -> bool {
        self.facts(id).flat.is_ok()
    }

    /// Why the type cannot have Flat storage, `None` when it can.
    pub fn flat_obstacle(&self, id: TypeId) -> Option<&FlatObstacle> {
        self.facts(id).flat.as_ref().err()
    }

    /// The layout of the head of a flat message, `None` when the type cannot be flat.
    pub fn flat_layout(&self, id: TypeId) -> Option<&FlatLayout> {
        self.facts(id).flat.as_ref().ok()
    }

    /// Whether the type's default storage is Flat: it is marked `@flat`, or is a typedef of what is.
    pub fn is_flat(&self, id: TypeId) -> bool {
        let definition = self.definition(id);
        match definition.kind {
            Kind::Alias(Type::Named(other)) => definition.flat || self.is_flat(other),
            _ => definition.flat,
        }
    }

    /// Whether a message of this type has a bulk field, be it in a struct within it.
    pub fn has_bulk(&self, id: TypeId) -> bool {
        self.facts(id).bulk_fields > 0
    }

    /// Whether values have a fixed size, no padding-free guarantee, and nothing variable in them: primitives, enums,
    /// bitmasks, and arrays and structs of them. Only these may be elements of a bulk sequence.
    pub fn is_plain(&self, ty: &Type) -> bool {
        match ty {
            Type::Primitive(_) => true,
            Type::Array { element, .. } => self.is_plain(element),
            Type::Named(id) => self.facts(*id).plain,
            _ => false,
        }
    }

    /// The bulk fields of a flat message in the order of the body: declaration order, depth first, bases first.
    /// Empty when there are none or the type cannot be flat.
    pub fn bulk_fields(&self, id: TypeId) -> Vec<BulkField> {
        let mut fields = Vec::new();
        if self.is_flattable(id) {
            self.collect_bulk_fields(id, &mut Vec::new(), 0, &mut fields);
        }
        fields
    }

    fn collect_bulk_fields(&self, id: TypeId, path: &mut Vec<String>, at: u64, fields: &mut Vec<BulkField>) {
        if !self.has_bulk(id) {
            return;
        }
        let definition = self.definition(id);
        if let Kind::Alias(Type::Named(target)) = definition.kind {
            return self.collect_bulk_fields(target, path, at, fields);
        }
        let (Kind::Struct(it), Some(layout)) = (&definition.kind, self.flat_layout(id)) else { return };
        let own = layout.members.len() - it.members.len();
        if let Some(base) = it.base {
            path.push("base".into());
            self.collect_bulk_fields(base, path, at, fields);
            path.pop();
        }
        for (member, place) in it.members.iter().zip(&layout.members[own..]) {
            path.push(member.name.clone());
            match (self.resolve(&member.ty), &member.ty) {
                (Type::Sequence { element, bound }, _) if member.bulk => fields.push(BulkField {
                    path: path.clone(),
                    offset: at + place.offset,
                    element: (**element).clone(),
                    element_extent: self.flat_extent(element).unwrap_or(Extent { size: 1, align: 1 }),
                    bound: *bound,
                }),
                (_, Type::Named(inner)) if !member.optional => {
                    self.collect_bulk_fields(*inner, path, at + place.offset, fields);
                }
                _ => {}
            }
            path.pop();
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

    /// A discriminator value that no case names (which selects the `default` case, or nothing): the first
    /// enumerator, or the smallest number from 0, that is free. `None` when all are taken.
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

    /// The value that a new member of this type holds, for types that have a simple one; `None` for structs, unions
    /// and arrays, whose members hold theirs.
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
