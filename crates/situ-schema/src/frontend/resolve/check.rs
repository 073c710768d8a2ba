//! Rules that need the whole schema: what may be flat, bulk, a key.

use crate::layout::flat::{FlatObstacle, FlatReason};
use crate::layout::region::RegionReason;
use crate::model::graph::{GraphError, MAX_NESTING};
use crate::model::{Definition, Kind, Lookup, MAX_ARRAY_LENGTH, MAX_DIMENSIONS, Member, Type, TypeId};
use crate::schema::Schema;
use crate::source::Span;
use crate::source::diagnostic::{Diagnostic, MAX_DIAGNOSTICS};

/// A diagnostic for an invalid graph.
pub(super) fn graph_error(error: &GraphError, definitions: &[Definition]) -> Diagnostic {
    let of = |id: TypeId| &definitions[id.index()];
    match error {
        GraphError::Infinite(cycle) => {
            let first = of(cycle[0]);
            let names: Vec<&str> = cycle.iter().take(8).map(|id| of(*id).name.simple()).collect();
            Diagnostic::new(
                format!("the {} `{}` contains itself", first.kind.word(), first.name),
                first.span,
                names.join(" holds "),
            )
            .help("its size would be infinite; hold the inner one in a sequence: `sequence<T, 1>`")
        }
        GraphError::TooDeep(id) => {
            let definition = of(*id);
            Diagnostic::new(format!("`{}` is nested too deep", definition.name), definition.span, "here")
                .help(format!("types may be nested {MAX_NESTING} levels deep"))
        }
    }
}

/// Checks a schema with a valid graph.
pub(super) fn check(schema: &Schema) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for (id, definition) in schema.definitions() {
        if found.len() >= MAX_DIAGNOSTICS {
            break;
        }
        if definition.flat
            && let Some(obstacle) = schema.flat_obstacle(id)
        {
            found.push(not_flat(definition, obstacle));
        }
        match &definition.kind {
            Kind::Struct(it) => {
                it.members.iter().for_each(|member| check_member(schema, member, &mut found));
                if it.region {
                    found.extend(not_in_region(schema, id, definition));
                }
            }
            Kind::Union(it) => {
                for case in &it.cases {
                    check_type(schema, &case.member.ty, case.member.span, &mut found);
                }
            }
            Kind::Alias(ty) => check_type(schema, ty, definition.span, &mut found),
            Kind::Enum(_) | Kind::Bitmask(_) => {}
        }
    }
    found
}

fn not_flat(definition: &Definition, obstacle: &FlatObstacle) -> Diagnostic {
    let name = definition.name.simple();
    let (what, help) = match obstacle.reason {
        FlatReason::UnboundedSequence => (
            "an unbounded sequence",
            "give it a bound: `sequence<T, N>`; or mark it `@bulk`, so that it is stored in the body"
                .to_owned(),
        ),
        FlatReason::UnboundedString => ("an unbounded string", "give it a bound: `string<N>`".to_owned()),
        FlatReason::UnboundedWString => ("an unbounded wstring", "give it a bound: `wstring<N>`".to_owned()),
        FlatReason::UnboundedMap => ("an unbounded map", "give it a bound: `map<K, V, N>`".to_owned()),
        FlatReason::Recursive => (
            "a type that contains itself",
            format!("remove `@flat` from `{name}`, or do not hold values of its own type"),
        ),
        FlatReason::WeakLink => {
            ("a weak link", format!("remove `@flat` from `{name}`: only regions have weak links"))
        }
        FlatReason::BulkInContainer => (
            "a type with a bulk field, in a place where it can occur any number of times",
            "hold it as a plain member, or give its bulk field a bound and remove `@bulk`".to_owned(),
        ),
        FlatReason::TooManyBulkFields => {
            ("too many bulk fields", "give some of them a bound and remove `@bulk`".to_owned())
        }
        FlatReason::TooLarge => (
            "more than 4 GiB large",
            "make the bounds smaller, or mark the largest sequence `@bulk`".to_owned(),
        ),
    };
    let subject = if obstacle.path.is_empty() {
        format!("`{name}` is @flat, but it is {what}")
    } else {
        format!("`{name}` is @flat, but its member `{}` is {what}", obstacle.path)
    };
    let diagnostic = Diagnostic::new(subject, obstacle.span, what).help(help);
    if obstacle.span == definition.span {
        diagnostic
    } else {
        diagnostic.also(definition.span, format!("the flat {}", definition.kind.word()))
    }
}

fn not_in_region(schema: &Schema, id: TypeId, definition: &Definition) -> Option<Diagnostic> {
    let name = definition.name.simple();
    if definition.flat {
        let message = format!("`{name}` is both @flat and @region");
        let help = "keep one of the two: each names the default storage";
        return Some(Diagnostic::new(message, definition.span, "here").help(help));
    }
    let obstacle = schema.region_obstacle(id)?;
    let help = match obstacle.reason {
        RegionReason::Key => "keys in a region are numbers, booleans, characters, enums and strings",
        RegionReason::Appendable => {
            "hold it behind a link, `@optional @external` or `@optional @shared`; for elements and values of maps, put that link into a struct of its own"
        }
        RegionReason::Default => "delete the default, or give text one of at most 11 bytes",
        RegionReason::TooLarge => "make the arrays shorter, or sequences of them",
    };
    let message = format!("`{name}` is @region, but `{}` {}", obstacle.path, obstacle.reason);
    let diagnostic = Diagnostic::new(message, obstacle.span, "here").help(help);
    Some(if obstacle.span == definition.span {
        diagnostic
    } else {
        diagnostic.also(definition.span, "the struct")
    })
}

/// Checks which members may be `@set`, and which may choose their container in regions.
fn check_lookup(schema: &Schema, member: &Member, found: &mut Vec<Diagnostic>) {
    let name = &member.name;
    let ty = schema.resolve(&member.ty);
    let mut refuse = |message: String, help: &str| {
        found.push(Diagnostic::new(message, member.span, "here").help(help));
    };
    if member.set && !matches!(ty, Type::Sequence { .. }) {
        refuse(
            format!("`@set` marks sequences, but `{name}` is {}", with_article(schema, ty)),
            "delete `@set`, or make it a sequence",
        );
    } else if member.set && schema.region_type(member) == Err(RegionReason::Key) {
        refuse(
            format!("the elements of the set `{name}` cannot be keys"),
            "a set holds numbers, booleans, characters, enums or strings",
        );
    } else if member.lookup != Lookup::Sorted && !member.set && !matches!(ty, Type::Map { .. }) {
        let word = if member.lookup == Lookup::Hash { "@hash" } else { "@ordered" };
        refuse(
            format!("`{word}` marks maps and sets, but `{name}` is {}", with_article(schema, ty)),
            "delete it, or make it a map, or a sequence that is marked `@set`",
        );
    }
}

fn check_member(schema: &Schema, member: &Member, found: &mut Vec<Diagnostic>) {
    check_type(schema, &member.ty, member.span, found);
    check_lookup(schema, member, found);
    let mut refuse = |message: String, label: &str, help: &str| {
        found.push(Diagnostic::new(message, member.span, label).help(help));
    };
    let name = &member.name;
    if member.key && member.optional {
        refuse(
            format!("the key `{name}` cannot be optional"),
            "both @key and @optional",
            "every instance needs its key; delete one of the two annotations",
        );
    }
    if !member.bulk {
        return;
    }
    if member.optional || member.key {
        let other = if member.key { "@key" } else { "@optional" };
        refuse(
            format!("the bulk field `{name}` cannot be {other}"),
            "here",
            "delete one of the two annotations; an empty bulk field costs nothing",
        );
    }
    match schema.resolve(&member.ty) {
        Type::Sequence { element, .. } if schema.is_plain(element) => {}
        Type::Sequence { element, .. } => {
            let (part, what, help) = not_plain(schema, element);
            let part =
                if part.is_empty() { "an element".to_owned() } else { format!("`{part}` of an element") };
            refuse(
                format!(
                    "the elements of the bulk field `{name}` are not the same in every storage: {part} is {what}"
                ),
                &format!("a sequence of {}", schema.display(element)),
                &format!("{help}; or remove `@bulk` from `{name}` and give it a bound: `sequence<T, N>`"),
            );
        }
        other => refuse(
            format!("`@bulk` marks sequences, but `{name}` is {}", with_article(schema, other)),
            "here",
            "delete `@bulk`, or make it a sequence",
        ),
    }
}

/// Why a type cannot be the element of a bulk field: the path to the obstacle, its description, and what to
/// write instead.
fn not_plain(schema: &Schema, ty: &Type) -> (String, String, &'static str) {
    const ALONE: &str = "bulk elements are numbers, booleans, characters, enums, bitmasks, or structs and arrays of these alone";
    let here = |help| (String::new(), schema.display(ty).to_string(), help);
    match schema.resolve(ty) {
        Type::String { .. } => {
            here("write an array of characters, `char name[16]`, which is the same in every storage")
        }
        Type::WString { .. } => {
            here("write an array of units, `uint16 name[16]`, which is the same in every storage")
        }
        Type::Sequence { .. } => {
            here("write an array and the number of used elements, `T name[16]; uint32 used`")
        }
        Type::Array { element, .. } => not_plain(schema, element),
        Type::Named(id) => {
            let Kind::Struct(it) = &schema.definition(*id).kind else {
                let (_, _, help) = here(ALONE);
                return (String::new(), with_article(schema, ty).replacen("of type ", "the union ", 1), help);
            };
            let member = it.members.iter().find(|it| it.optional || it.bulk || !schema.is_plain(&it.ty));
            match member {
                Some(member) if member.optional || member.bulk => {
                    let what = if member.bulk { "@bulk itself" } else { "@optional" };
                    (member.name.clone(), what.to_owned(), ALONE)
                }
                Some(member) => {
                    let (part, what, help) = not_plain(schema, &member.ty);
                    let dot = if part.is_empty() { "" } else { "." };
                    (format!("{}{dot}{part}", member.name), what, help)
                }
                None => it.base.map_or_else(|| here(ALONE), |base| not_plain(schema, &Type::Named(base))),
            }
        }
        Type::Map { .. } | Type::Primitive(_) => here(ALONE),
    }
}

fn with_article(schema: &Schema, ty: &Type) -> String {
    match ty {
        Type::Primitive(primitive) => format!("of type {}", primitive.idl()),
        Type::String { .. } => "a string".into(),
        Type::WString { .. } => "a wstring".into(),
        Type::Sequence { .. } => "a sequence".into(),
        Type::Array { .. } => "an array".into(),
        Type::Map { .. } => "a map".into(),
        Type::Named(id) => format!("of type {}", schema.name(*id)),
    }
}

/// Refuses maps with unordered keys, and arrays that are too large.
fn check_type(schema: &Schema, ty: &Type, span: Span, found: &mut Vec<Diagnostic>) {
    match ty {
        Type::Sequence { element, .. } => check_type(schema, element, span, found),
        Type::Array { element, .. } => {
            check_type(schema, element, span, found);
            let dimensions = schema.array(ty).map(|(_, it)| it).unwrap_or_default();
            let count = Type::element_count(&dimensions);
            if dimensions.len() > MAX_DIMENSIONS || count.is_none_or(|it| it > MAX_ARRAY_LENGTH) {
                let help = format!(
                    "an array has at most {MAX_DIMENSIONS} dimensions and {MAX_ARRAY_LENGTH} elements in all"
                );
                found.push(Diagnostic::new("this array is too large", span, "in this type").help(help));
            }
        }
        Type::Map { key, value, .. } => {
            check_type(schema, value, span, found);
            let fits = match schema.resolve(key) {
                Type::Primitive(_) | Type::String { .. } | Type::WString { .. } => true,
                Type::Named(id) => matches!(schema.definition(*id).kind, Kind::Enum(_)),
                _ => false,
            };
            if !fits {
                let why = match schema.resolve(key) {
                    Type::Named(id) => format!("a {}", schema.definition(*id).kind.word()),
                    Type::Array { .. } => "an array".to_owned(),
                    Type::Map { .. } => "a map".to_owned(),
                    _ => "a sequence".to_owned(),
                };
                let message = format!("{} cannot be the key of a map: it is {why}", schema.display(key));
                let help = "keys are numbers, booleans, characters, strings or enums";
                found.push(Diagnostic::new(message, span, "in this type").help(help));
            }
        }
        _ => {}
    }
}
