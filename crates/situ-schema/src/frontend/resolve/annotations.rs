//! Annotations: where each is allowed, and its value.

use super::{Resolved, Resolver};
use crate::frontend::ast::{Annotation, ExprKind, Prefix};
use crate::model::{self, Extensibility, Link, Lookup};
use crate::source::diagnostic::Diagnostic;

/// What an annotation belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Struct,
    Member,
    Case,
    Union,
    Enum,
    Enumerator,
    Bitmask,
    Flag,
    Typedef,
    Other,
}

impl Place {
    fn word(self) -> &'static str {
        match self {
            Self::Struct => "a struct",
            Self::Member => "a member of a struct",
            Self::Case => "a case of a union",
            Self::Union => "a union",
            Self::Enum => "an enum",
            Self::Enumerator => "an enumerator",
            Self::Bitmask => "a bitmask",
            Self::Flag => "a flag of a bitmask",
            Self::Typedef => "a typedef",
            Self::Other => "this definition",
        }
    }
}

const EVERYWHERE: &[Place] = &[
    Place::Struct,
    Place::Member,
    Place::Case,
    Place::Union,
    Place::Enum,
    Place::Enumerator,
    Place::Bitmask,
    Place::Flag,
    Place::Typedef,
    Place::Other,
];
const TYPES: &[Place] = &[Place::Struct, Place::Union, Place::Enum, Place::Bitmask];

/// The annotations that Situ knows, and where each is allowed.
const KNOWN: &[(&str, &[Place])] = &[
    ("flat", &[Place::Struct, Place::Union, Place::Typedef]),
    ("region", &[Place::Struct]),
    ("bulk", &[Place::Member]),
    ("set", &[Place::Member]),
    ("hash", &[Place::Member]),
    ("ordered", &[Place::Member]),
    ("external", &[Place::Member, Place::Case]),
    ("shared", &[Place::Member]),
    ("weak", &[Place::Member]),
    ("key", &[Place::Member]),
    ("optional", &[Place::Member]),
    ("must_understand", &[Place::Member]),
    ("id", &[Place::Member, Place::Case]),
    ("default", &[Place::Member]),
    ("unit", &[Place::Member, Place::Case]),
    ("value", &[Place::Enumerator]),
    ("default_literal", &[Place::Enumerator]),
    ("position", &[Place::Flag]),
    ("bit_bound", &[Place::Bitmask, Place::Enum]),
    ("final", TYPES),
    ("appendable", TYPES),
    ("mutable", TYPES),
    ("extensibility", TYPES),
    ("nested", TYPES),
    ("autoid", TYPES),
    ("hashid", &[Place::Member, Place::Case]),
    ("verbatim", EVERYWHERE),
];

fn known(name: &str) -> Option<&'static [Place]> {
    KNOWN.iter().find(|(known, _)| *known == name).map(|(_, places)| *places)
}

/// The text of `@verbatim(language="comment", text=…)`.
fn comment(annotation: &Annotation) -> Option<&str> {
    let text = |name: &str| match &annotation.parameter(name)?.kind {
        ExprKind::String(text) => Some(text.as_str()),
        _ => None,
    };
    (annotation.name == "verbatim" && text("language") == Some("comment")).then(|| text("text"))?
}

/// The documentation of a declaration, and its annotations that Situ does not know.
pub(super) fn split_docs(prefix: &Prefix) -> (String, Vec<model::Annotation>) {
    let mut docs: Vec<&str> = prefix.annotations.iter().filter_map(comment).collect();
    if !prefix.docs.is_empty() {
        docs.push(&prefix.docs);
    }
    let unknown = |it: &&Annotation| match it.name.as_str() {
        "verbatim" => comment(it).is_none(),
        name => known(name).is_none(),
    };
    let keep = |it: &Annotation| model::Annotation {
        name: it.name.clone(),
        parameters: it
            .parameters
            .iter()
            .map(|it| (it.name.as_ref().map(|it| it.text.clone()).unwrap_or_default(), it.text.clone()))
            .collect(),
    };
    (docs.join("\n"), prefix.annotations.iter().filter(unknown).map(keep).collect())
}

/// The annotation with this name.
pub(super) fn find<'p>(prefix: &'p Prefix, name: &str) -> Option<&'p Annotation> {
    prefix.annotations.iter().find(|it| it.name == name)
}

impl Resolver<'_> {
    /// Reports annotations that are not allowed here, or appear twice.
    pub(super) fn check_annotations(&mut self, prefix: &Prefix, place: Place) {
        for (at, annotation) in prefix.annotations.iter().enumerate() {
            let Some(places) = known(&annotation.name) else { continue };
            let name = &annotation.name;
            if !places.contains(&place) {
                let belongs: Vec<&str> = places.iter().map(|it| it.word()).collect();
                let message = format!("`@{name}` is not allowed on {}", place.word());
                let help = format!("delete it; it is allowed on {}", belongs.join(", "));
                self.diagnostics.push(Diagnostic::new(message, annotation.span, "here").help(help));
            } else if name == "hashid" || (name == "autoid" && says(annotation, "HASH")) {
                let message = "member ids from hashes are not supported";
                let help = "give the ids with `@id(…)`";
                self.diagnostics.push(Diagnostic::new(message, annotation.span, "here").help(help));
            } else if name != "verbatim"
                && let Some(first) = prefix.annotations[..at].iter().find(|it| it.name == *name)
            {
                let message = format!("`@{name}` appears twice");
                self.diagnostics.push(
                    Diagnostic::new(message, annotation.span, "again")
                        .also(first.span, "first")
                        .help("delete one of them"),
                );
            }
        }
    }

    /// Whether a boolean annotation is present and not `FALSE`.
    pub(super) fn flag(&mut self, prefix: &Prefix, name: &str) -> bool {
        let Some(annotation) = find(prefix, name) else { return false };
        match annotation.parameter("value").map(|it| (&it.kind, it.span)) {
            None => true,
            Some((ExprKind::Bool(value), _)) => *value,
            Some((_, span)) => {
                let message = format!("`@{name}` takes TRUE or FALSE");
                let help = format!("write `@{name}` or `@{name}(FALSE)`");
                self.diagnostics.push(Diagnostic::new(message, span, "here").help(help));
                true
            }
        }
    }

    /// The container of a region that a member asks for.
    pub(super) fn lookup(&mut self, prefix: &Prefix) -> Lookup {
        match (self.flag(prefix, "hash"), self.flag(prefix, "ordered")) {
            (true, true) => {
                if let Some(annotation) = find(prefix, "ordered") {
                    let diagnostic = Diagnostic::new("both @hash and @ordered", annotation.span, "here")
                        .help("keep one of them, or none for a sorted one in one block");
                    self.diagnostics.push(diagnostic);
                }
                Lookup::Hash
            }
            (true, false) => Lookup::Hash,
            (false, true) => Lookup::Ordered,
            (false, false) => Lookup::Sorted,
        }
    }

    /// How a member asks to lie in a region. `@external` alone, which other tools know, changes nothing.
    pub(super) fn link(&mut self, prefix: &Prefix) -> Link {
        let optional = self.flag(prefix, "optional");
        if self.flag(prefix, "weak") {
            let mut refuse = |with: &str, message: &str, help: &str| {
                if let Some(annotation) = find(prefix, with) {
                    let diagnostic = Diagnostic::new(message, annotation.span, "here").help(help);
                    self.diagnostics.push(diagnostic);
                }
            };
            if !optional {
                let help = "its value may have ended; write `@optional @weak`";
                refuse("weak", "`@weak` needs `@optional`", help);
            }
            let help = "keep one of the two: `@weak` leads to a value that `@shared` links keep";
            refuse("shared", "both @weak and @shared", help);
            refuse("external", "both @weak and @external", help);
            let help = "delete it: only regions have weak links, and no reader needs them";
            refuse("must_understand", "a weak link cannot be @must_understand", help);
            return Link::Weak;
        }
        if self.flag(prefix, "shared") {
            if !optional && let Some(annotation) = find(prefix, "shared") {
                let diagnostic = Diagnostic::new("`@shared` needs `@optional`", annotation.span, "here")
                    .help("a link may be empty; write `@optional @shared`");
                self.diagnostics.push(diagnostic);
            }
            return Link::Shared;
        }
        if self.flag(prefix, "external") && optional { Link::Unique } else { Link::InPlace }
    }

    /// The extensibility that a type declares.
    pub(super) fn extensibility(&mut self, prefix: &Prefix) -> Option<Extensibility> {
        let mut said = None;
        for annotation in &prefix.annotations {
            let this = match annotation.name.as_str() {
                "final" => Extensibility::Final,
                "appendable" => Extensibility::Appendable,
                "mutable" => Extensibility::Mutable,
                "extensibility" if says(annotation, "FINAL") => Extensibility::Final,
                "extensibility" if says(annotation, "APPENDABLE") => Extensibility::Appendable,
                "extensibility" if says(annotation, "MUTABLE") => Extensibility::Mutable,
                "extensibility" => {
                    let diagnostic = Diagnostic::new("this is not an extensibility", annotation.span, "here")
                        .help("write `@extensibility(FINAL)`, `(APPENDABLE)` or `(MUTABLE)`");
                    self.diagnostics.push(diagnostic);
                    continue;
                }
                _ => continue,
            };
            if said.is_some_and(|said| said != this) {
                let diagnostic = Diagnostic::new("two different extensibilities", annotation.span, "here")
                    .help("keep one of @final, @appendable and @mutable");
                self.diagnostics.push(diagnostic);
            }
            said = Some(this);
        }
        said
    }

    /// The text of `@unit`.
    pub(super) fn unit(&mut self, prefix: &Prefix) -> Option<String> {
        let annotation = find(prefix, "unit")?;
        match annotation.parameter("value").map(|it| &it.kind) {
            Some(ExprKind::String(unit)) => Some(unit.clone()),
            _ => {
                let diagnostic = Diagnostic::new("`@unit` takes a string", annotation.span, "here")
                    .help("write for instance `@unit(\"m/s\")`");
                self.diagnostics.push(diagnostic);
                None
            }
        }
    }

    /// The value of an annotation that takes an integer from `smallest` to `largest`; `None` when it is not
    /// there.
    pub(super) fn number(
        &self,
        prefix: &Prefix,
        name: &str,
        scope: &[String],
        (smallest, largest): (i128, i128),
    ) -> Resolved<Option<i128>> {
        let Some(annotation) = find(prefix, name) else { return Ok(None) };
        let Some(value) = annotation.parameter("value") else {
            return Err(Box::new(
                Diagnostic::new(format!("`@{name}` needs a number"), annotation.span, "here")
                    .help(format!("write for instance `@{name}({smallest})`")),
            ));
        };
        let number = self.integer(value, scope)?;
        if number < smallest || number > largest {
            return Err(Box::new(
                Diagnostic::new(format!("`@{name}({number})` is out of range"), value.span, "here")
                    .help(format!("the range is {smallest} to {largest}")),
            ));
        }
        Ok(Some(number))
    }
}

/// Whether the only parameter is this word.
fn says(annotation: &Annotation, word: &str) -> bool {
    annotation.parameter("value").is_some_and(|it| match &it.kind {
        ExprKind::Name(name) => name.parts.last().is_some_and(|it| it == word),
        _ => false,
    })
}
