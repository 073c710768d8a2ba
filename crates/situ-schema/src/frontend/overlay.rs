//! Overlay files add annotations and bounds to ROS messages, for which ROS interface files have no syntax
//! (`spec/schema.md`).

use std::path::{Path, PathBuf};

use crate::frontend::ast::{
    Annotation, Declaration, DeclarationKind, Expr, ExprKind, MemberDeclaration, OverlayMember,
    OverlayStruct, Prefix, StructDeclaration, TypeRef, TypeRefKind,
};
use crate::frontend::files::{Files, interface_of, read};
use crate::frontend::idl::{self, Included, Includes};
use crate::source::diagnostic::{Diagnostic, did_you_mean};
use crate::source::{FileId, Sources, Span};

/// The extension of overlay files.
pub(crate) const EXTENSION: &str = "situ";

/// Annotations that do not change the bytes that ROS sends.
const ALLOWED: &[&str] = &[
    "flat", "region", "bulk", "set", "hash", "ordered", "key", "default", "unit", "final", "nested",
    "verbatim",
];
/// Annotations that would change them.
const CHANGE_THE_WIRE: &[&str] = &[
    "optional",
    "must_understand",
    "id",
    "hashid",
    "autoid",
    "appendable",
    "mutable",
    "extensibility",
    "external",
    "shared",
    "weak",
];

type Outcome<T> = Result<T, Box<Diagnostic>>;

/// Refuses includes: an overlay file is complete in itself.
struct Nothing;

impl Includes for Nothing {
    fn find(&mut self, _: &mut Sources, _: FileId, _: &str, _: bool, span: Span) -> Outcome<Included> {
        let help = "write the content of that file here";
        Err(Box::new(Diagnostic::new("an overlay file cannot include another file", span, "here").help(help)))
    }
}

/// Reads the overlay files of all interface files among the sources, and adds what they say to the
/// declarations.
pub(crate) fn apply(files: &Files, sources: &mut Sources, declarations: &mut [Declaration]) -> Outcome<()> {
    let read_so_far: Vec<(FileId, PathBuf)> = sources.iter().map(|(id, it)| (id, it.path.clone())).collect();
    for (file, path) in read_so_far {
        let Some(overlay) = find(files, &path) else { continue };
        let text = read(&overlay).map_err(|error| {
            let help = "check that it is a text file, and its permissions";
            Box::new(Diagnostic::general(error.to_string()).help(help))
        })?;
        let id = sources.add(&overlay, text, false);
        let tokens = idl::preprocess(sources, id, &mut Nothing)?;
        let structs = idl::parse_overlay(sources, &tokens)?;
        structs.into_iter().try_for_each(|it| apply_struct(it, file, &path, declarations))?;
    }
    Ok(())
}

/// The overlay file of an interface file: the one next to it, or the first in the search path.
fn find(files: &Files, path: &Path) -> Option<PathBuf> {
    let interface = interface_of(path);
    let of_ros = path.extension().is_some_and(|it| it == "msg" || it == "srv" || it == "action");
    let beside = (path.is_file() && (of_ros || interface.is_some()))
        .then(|| path.with_extension(EXTENSION))
        .filter(|it| it.is_file());
    beside.or_else(|| files.find_file(&format!("{}.{EXTENSION}", interface?)))
}

fn apply_struct(
    overlay: OverlayStruct,
    file: FileId,
    path: &Path,
    declarations: &mut [Declaration],
) -> Outcome<()> {
    let own =
        |it: &&mut Declaration| it.name.span.file == file && matches!(it.kind, DeclarationKind::Struct(_));
    let mut structs: Vec<&mut Declaration> = declarations.iter_mut().filter(own).collect();
    let Some(at) = structs.iter().position(|it| it.name.text == overlay.name.text) else {
        let message = format!("`{}` has no struct `{}`", path.display(), overlay.name.text);
        let diagnostic = Diagnostic::new(message, overlay.name.span, "not there");
        let names: Vec<&str> = structs.iter().map(|it| it.name.text.as_str()).collect();
        return Err(Box::new(diagnostic.help(suggestion(&overlay.name.text, &names))));
    };
    let declaration = &mut *structs[at];
    annotate(&mut declaration.prefix, overlay.prefix)?;
    if let DeclarationKind::Struct(it) = &mut declaration.kind {
        overlay
            .members
            .into_iter()
            .try_for_each(|member| apply_member(member, &declaration.name.text, it))?;
    }
    Ok(())
}

fn apply_member(overlay: OverlayMember, of: &str, structure: &mut StructDeclaration) -> Outcome<()> {
    let Some(at) = structure.members.iter().position(|it| it.name.text == overlay.name.text) else {
        let message = format!("`{of}` has no member `{}`", overlay.name.text);
        let diagnostic = Diagnostic::new(message, overlay.name.span, "not there");
        let names: Vec<&str> = structure.members.iter().map(|it| it.name.text.as_str()).collect();
        return Err(Box::new(diagnostic.help(suggestion(&overlay.name.text, &names))));
    };
    let member: &mut MemberDeclaration = &mut structure.members[at];
    annotate(&mut member.prefix, overlay.prefix)?;
    let Some(ty) = overlay.ty else { return Ok(()) };
    let span = ty.span;
    if bound(&mut member.ty, ty) {
        return Ok(());
    }
    let message = format!("`{of}.{}` has another type in its definition", member.name.text);
    let help = "write only its name, or the same type with bounds where it has none: string<64>, sequence<float, 1024>";
    Err(Box::new(
        Diagnostic::new(message, span, "not the same").also(member.ty.span, "defined here").help(help),
    ))
}

/// A help text: the name that was probably meant, or all known names.
fn suggestion(word: &str, known: &[&str]) -> String {
    match did_you_mean(word, known.iter().copied()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("there is: {}", known.join(", ")),
    }
}

/// Adds annotations. Comments in the overlay file do not become documentation.
fn annotate(prefix: &mut Prefix, overlay: Prefix) -> Outcome<()> {
    overlay.annotations.iter().try_for_each(check)?;
    prefix.annotations.extend(overlay.annotations);
    Ok(())
}

fn check(annotation: &Annotation) -> Outcome<()> {
    let name = annotation.name.as_str();
    if ALLOWED.contains(&name) {
        return Ok(());
    }
    let wrong = |message: String, help: String| {
        Err(Box::new(Diagnostic::new(message, annotation.span, "here").help(help)))
    };
    if CHANGE_THE_WIRE.contains(&name) {
        let message = format!("`@{name}` would change the bytes that ROS sends");
        return wrong(message, "delete it; only Situ's own types may have it, in an .idl file".into());
    }
    let help = match did_you_mean(name, ALLOWED.iter().copied()) {
        Some(meant) => format!("did you mean `@{meant}`?"),
        None => format!("there is: @{}", ALLOWED.join(", @")),
    };
    wrong(format!("there is no annotation `@{name}`"), help)
}

/// Sets the bounds of `overlay` on strings and sequences of `ty` that have none. Returns `false` if the types
/// differ otherwise.
fn bound(ty: &mut TypeRef, overlay: TypeRef) -> bool {
    match (&mut ty.kind, overlay.kind) {
        (TypeRefKind::Primitive(a), TypeRefKind::Primitive(b)) => *a == b,
        (TypeRefKind::String { wide: a, bound: ours }, TypeRefKind::String { wide: b, bound: theirs }) => {
            *a == b && narrow(ours, theirs)
        }
        (
            TypeRefKind::Sequence { element: a, bound: ours },
            TypeRefKind::Sequence { element: b, bound: theirs },
        ) => bound(a, *b) && narrow(ours, theirs),
        (
            TypeRefKind::Array { element: a, dimensions: ours },
            TypeRefKind::Array { element: b, dimensions: theirs },
        ) => ours.len() == theirs.len() && ours.iter().zip(&theirs).all(|(a, b)| same(a, b)) && bound(a, *b),
        // The name may be written with fewer modules: `Header` for `std_msgs::msg::Header`.
        (TypeRefKind::Named(a), TypeRefKind::Named(b)) => {
            if b.absolute && !a.absolute {
                return a.parts == b.parts;
            }
            a.parts.ends_with(&b.parts) || b.parts.ends_with(&a.parts)
        }
        _ => false,
    }
}

/// Sets a bound where there is none.
fn narrow(ours: &mut Option<Expr>, theirs: Option<Expr>) -> bool {
    match (&*ours, &theirs) {
        (None, _) => {
            *ours = theirs;
            true
        }
        (Some(ours), Some(theirs)) => same(ours, theirs),
        (Some(_), None) => true,
    }
}

fn same(a: &Expr, b: &Expr) -> bool {
    match (&a.kind, &b.kind) {
        (ExprKind::Integer(a), ExprKind::Integer(b)) => a == b,
        (ExprKind::Name(a), ExprKind::Name(b)) => a.parts == b.parts,
        _ => false,
    }
}
