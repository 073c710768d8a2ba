//! The graph of definitions: their references, their order, and whether they contain themselves.

use std::collections::HashSet;

use crate::model::{Definition, Kind, Type, TypeId};

/// How deep types may be nested, every sequence, array, map and named type counting as one level.
pub const MAX_NESTING: u32 = 100;

/// What is wrong with a graph of definitions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum GraphError {
    /// A type contains itself by value: the types on the way, beginning and ending with it.
    Infinite(Vec<TypeId>),
    /// A type is nested deeper than [`MAX_NESTING`].
    TooDeep(TypeId),
}

/// What is known about the graph once it has been walked.
#[derive(Debug, Clone, Default)]
pub(crate) struct Graph {
    edges: Vec<Vec<Edge>>,
    /// The same with typedefs resolved.
    edges_without_aliases: Vec<Vec<Edge>>,
    /// All definitions, each after those it depends on (as far as recursion allows).
    pub order: Vec<TypeId>,
    /// For each definition, whether it contains itself through a sequence or map.
    pub recursive: Vec<bool>,
}

#[derive(Debug, Clone)]
struct Edge {
    to: TypeId,
    /// Whether a value of the one contains a value of the other in place.
    by_value: bool,
    /// The number of levels that the edge adds.
    levels: u32,
}

fn edges_of_type(ty: &Type, by_value: bool, levels: u32, edges: &mut Vec<Edge>) {
    match ty {
        Type::Primitive(_) | Type::String { .. } | Type::WString { .. } => {}
        Type::Sequence { element, .. } => edges_of_type(element, false, levels + 1, edges),
        Type::Array { element, .. } => edges_of_type(element, by_value, levels + 1, edges),
        Type::Map { key, value, .. } => {
            edges_of_type(key, false, levels + 1, edges);
            edges_of_type(value, false, levels + 1, edges);
        }
        Type::Named(to) => edges.push(Edge { to: *to, by_value, levels }),
    }
}

fn edges(definition: &Definition) -> Vec<Edge> {
    let mut edges = Vec::new();
    match &definition.kind {
        Kind::Struct(it) => {
            if let Some(base) = it.base {
                edges.push(Edge { to: base, by_value: true, levels: 1 });
            }
            for member in &it.members {
                edges_of_type(&member.ty, !member.is_weak(), 1, &mut edges);
            }
        }
        Kind::Union(it) => {
            edges_of_type(&it.discriminator, true, 1, &mut edges);
            it.cases.iter().for_each(|case| edges_of_type(&case.member.ty, true, 1, &mut edges));
        }
        Kind::Enum(_) | Kind::Bitmask(_) => {}
        Kind::Alias(ty) => edges_of_type(ty, true, 1, &mut edges),
    }
    edges
}

/// The edges of every definition, typedefs resolved. Typedefs form no cycle, and their depth was checked.
fn without_aliases(definitions: &[Definition], all: &[Vec<Edge>]) -> Vec<Vec<Edge>> {
    fn expand(definitions: &[Definition], all: &[Vec<Edge>], done: &mut [Option<Vec<Edge>>], at: usize) {
        if done[at].is_some() {
            return;
        }
        let mut found: Vec<Edge> = Vec::new();
        let mut known = HashSet::new();
        for edge in &all[at] {
            let to = edge.to.index();
            let mut add = |edge: Edge| {
                if known.insert((edge.to, edge.by_value)) {
                    found.push(edge);
                }
            };
            if !matches!(definitions[to].kind, Kind::Alias(_)) {
                add(edge.clone());
                continue;
            }
            expand(definitions, all, done, to);
            for inner in done[to].iter().flatten() {
                add(Edge { by_value: edge.by_value && inner.by_value, ..inner.clone() });
            }
        }
        done[at] = Some(found);
    }
    let mut done = vec![None; all.len()];
    (0..all.len()).for_each(|at| expand(definitions, all, &mut done, at));
    done.into_iter().map(Option::unwrap_or_default).collect()
}

/// How deep `ty` itself is nested, without following names.
fn own_depth(ty: &Type) -> u32 {
    match ty {
        Type::Sequence { element, .. } | Type::Array { element, .. } => 1 + own_depth(element),
        Type::Map { key, value, .. } => 1 + own_depth(key).max(own_depth(value)),
        Type::Primitive(_) | Type::String { .. } | Type::WString { .. } | Type::Named(_) => 1,
    }
}

fn own_depth_of(definition: &Definition) -> u32 {
    match &definition.kind {
        Kind::Struct(it) => it.members.iter().map(|it| own_depth(&it.ty)).max().unwrap_or(1),
        Kind::Union(it) => it.cases.iter().map(|it| own_depth(&it.member.ty)).max().unwrap_or(1),
        Kind::Enum(_) | Kind::Bitmask(_) => 1,
        Kind::Alias(ty) => own_depth(ty),
    }
}

/// A cycle along the edges that `follow` accepts: the types on it, beginning and ending with the same one.
fn find_cycle(all: &[Vec<Edge>], follow: impl Fn(TypeId, &Edge) -> bool) -> Option<Vec<TypeId>> {
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        New,
        Open,
        Done,
    }
    let mut marks = vec![Mark::New; all.len()];
    for start in 0..all.len() {
        if marks[start] != Mark::New {
            continue;
        }
        marks[start] = Mark::Open;
        let mut path = vec![(TypeId(start as u32), 0usize)];
        while let Some((id, next)) = path.last_mut() {
            let id = *id;
            let Some(edge) = all[id.index()].get(*next) else {
                marks[id.index()] = Mark::Done;
                path.pop();
                continue;
            };
            *next += 1;
            if !follow(id, edge) {
                continue;
            }
            match marks[edge.to.index()] {
                Mark::Done => {}
                Mark::New => {
                    marks[edge.to.index()] = Mark::Open;
                    path.push((edge.to, 0));
                }
                Mark::Open => {
                    let from = path.iter().position(|(on, _)| *on == edge.to).unwrap_or(0);
                    let mut cycle: Vec<TypeId> = path[from..].iter().map(|(on, _)| *on).collect();
                    cycle.push(edge.to);
                    return Some(cycle);
                }
            }
        }
    }
    None
}

/// The strongly connected components that are reachable from `starts`, dependencies first, by Tarjan's
/// algorithm without recursion. The order depends only on the structure of the types.
fn components(all: &[Vec<Edge>], starts: impl Iterator<Item = usize>) -> Vec<Vec<TypeId>> {
    const UNSEEN: u32 = u32::MAX;
    let mut index = vec![UNSEEN; all.len()];
    let mut low = vec![0u32; all.len()];
    let mut on_stack = vec![false; all.len()];
    let (mut stack, mut result, mut counter) = (Vec::new(), Vec::new(), 0u32);
    for start in starts {
        if index[start] != UNSEEN {
            continue;
        }
        let mut work = vec![(start, 0usize)];
        while let Some(&mut (node, ref mut next)) = work.last_mut() {
            if *next == 0 && index[node] == UNSEEN {
                index[node] = counter;
                low[node] = counter;
                counter += 1;
                stack.push(node);
                on_stack[node] = true;
            }
            if let Some(edge) = all[node].get(*next) {
                *next += 1;
                let to = edge.to.index();
                if index[to] == UNSEEN {
                    work.push((to, 0));
                } else if on_stack[to] {
                    low[node] = low[node].min(index[to]);
                }
                continue;
            }
            work.pop();
            if let Some(&(parent, _)) = work.last() {
                low[parent] = low[parent].min(low[node]);
            }
            if low[node] == index[node] {
                let mut component = Vec::new();
                while let Some(member) = stack.pop() {
                    on_stack[member] = false;
                    component.push(TypeId(member as u32));
                    if member == node {
                        break;
                    }
                }
                component.reverse();
                result.push(by_value_order(all, component));
            }
        }
    }
    result
}

/// Brings the members of a component into an order in which each comes after those it holds by value.
fn by_value_order(all: &[Vec<Edge>], component: Vec<TypeId>) -> Vec<TypeId> {
    let mut missing: Vec<TypeId> = component;
    let mut ordered = Vec::with_capacity(missing.len());
    while !missing.is_empty() {
        let ready = missing
            .iter()
            .position(|id| all[id.index()].iter().all(|edge| !edge.by_value || !missing.contains(&edge.to)));
        ordered.push(missing.remove(ready.unwrap_or(0)));
    }
    ordered
}

impl Graph {
    /// Walks the graph.
    pub fn new(definitions: &[Definition]) -> Result<Self, GraphError> {
        let all: Vec<Vec<Edge>> = definitions.iter().map(edges).collect();
        let is_alias = |id: TypeId| matches!(definitions[id.index()].kind, Kind::Alias(_));
        // A typedef that leads to itself has no end, even through a sequence.
        let cycle = find_cycle(&all, |_, edge| edge.by_value)
            .or_else(|| find_cycle(&all, |from, edge| is_alias(from) && is_alias(edge.to)));
        if let Some(cycle) = cycle {
            return Err(GraphError::Infinite(cycle));
        }
        let components = components(&all, 0..all.len());
        let mut graph = Graph {
            edges: all,
            edges_without_aliases: Vec::new(),
            order: Vec::new(),
            recursive: vec![false; definitions.len()],
        };
        let mut component_of = vec![usize::MAX; definitions.len()];
        let mut depth = vec![0u32; definitions.len()];
        for (number, component) in components.into_iter().enumerate() {
            component.iter().for_each(|id| component_of[id.index()] = number);
            let mut deepest = 0;
            for &id in &component {
                deepest = deepest.max(own_depth_of(&definitions[id.index()]) + 1);
                for edge in &graph.edges[id.index()] {
                    if component_of[edge.to.index()] == number {
                        graph.recursive[id.index()] = true;
                    } else {
                        deepest = deepest.max(depth[edge.to.index()] + edge.levels);
                    }
                }
            }
            let deepest = deepest + component.len() as u32 - 1;
            if deepest > MAX_NESTING {
                return Err(GraphError::TooDeep(component[0]));
            }
            component.iter().for_each(|id| depth[id.index()] = deepest);
            graph.order.extend(component);
        }
        graph.edges_without_aliases = without_aliases(definitions, &graph.edges);
        Ok(graph)
    }

    /// `root` and everything it depends on, dependencies first. The order is the same in every schema that
    /// holds these types.
    pub fn closure(&self, root: TypeId) -> Vec<TypeId> {
        components(&self.edges, std::iter::once(root.index())).concat()
    }

    /// The same with typedefs resolved.
    pub fn closure_without_aliases(&self, root: TypeId) -> Vec<TypeId> {
        components(&self.edges_without_aliases, std::iter::once(root.index())).concat()
    }
}
