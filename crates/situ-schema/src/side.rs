//! Side files: what ROS interface files cannot say about their own messages, said beside them (`spec/schema.md`).

use std::path::{Path, PathBuf};

use crate::ast::{
    Annotation, Declaration, DeclarationKind, Expr, ExprKind, MemberDeclaration, Prefix, SideMember,
    SideStruct, StructDeclaration, TypeRef, TypeRefKind,
};
use crate::diagnostic::{Diagnostic, did_you_mean};
use crate::files::{Files, interface_of, read};
use crate::idl::{self, Included, Includes};
use crate::source::{FileId, Sources, Span};

/// The extension of side files.
pub(crate) const EXTENSION: &str = "situ";

/// The annotations that change nothing of what ROS sends.
const ALLOWED: &[&str] = &[
    "flat", "region", "bulk", "set", "hash", "ordered", "key", "default", "unit", "final", "nested",
    "verbatim",
];
/// Those that would.
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
];

type Outcome<T> = Result<T, Box<Diagnostic>>;

/// Side files say everything themselves.
struct Nothing;

impl Includes for Nothing {
    fn find(&mut self, _: &mut Sources, _: FileId, _: &str, _: bool, span: Span) -> Outcome<Included> {
        let help = "write what it says here";
        Err(Box::new(Diagnostic::new("a side file includes no other", span, "here").help(help)))
    }
}

/// Reads the side files of all interface files among the sources, and adds what they say to the declarations.
pub(crate) fn apply(files: &Files, sources: &mut Sources, declarations: &mut [Declaration]) -> Outcome<()> {
    let read_so_far: Vec<(FileId, PathBuf)> = sources.iter().map(|(id, it)| (id, it.path.clone())).collect();
    for (file, path) in read_so_far {
        let Some(side) = find(files, &path) else { continue };
        let text = read(&side).map_err(|error| {
            let help = "check that it is a text file, and its permissions";
            Box::new(Diagnostic::general(error.to_string()).help(help))
        })?;
        let id = sources.add(&side, text, false);
        let tokens = idl::preprocess(sources, id, &mut Nothing)?;
        let structs = idl::parse_side(sources, &tokens)?;
        structs.into_iter().try_for_each(|it| apply_struct(it, file, &path, declarations))?;
    }
    Ok(())
}

/// The side file of an interface file: the one beside it, or the first in the search path.
fn find(files: &Files, path: &Path) -> Option<PathBuf> {
    let interface = interface_of(path);
    let of_ros = path.extension().is_some_and(|it| it == "msg" || it == "srv" || it == "action");
    let beside = (path.is_file() && (of_ros || interface.is_some()))
        .then(|| path.with_extension(EXTENSION))
        .filter(|it| it.is_file());
    beside.or_else(|| files.find_file(&format!("{}.{EXTENSION}", interface?)))
}

fn apply_struct(
    side: SideStruct,
    file: FileId,
    path: &Path,
    declarations: &mut [Declaration],
) -> Outcome<()> {
    let own =
        |it: &&mut Declaration| it.name.span.file == file && matches!(it.kind, DeclarationKind::Struct(_));
    let mut structs: Vec<&mut Declaration> = declarations.iter_mut().filter(own).collect();
    let Some(at) = structs.iter().position(|it| it.name.text == side.name.text) else {
        let message = format!("`{}` has no struct `{}`", path.display(), side.name.text);
        let diagnostic = Diagnostic::new(message, side.name.span, "not there");
        let names: Vec<&str> = structs.iter().map(|it| it.name.text.as_str()).collect();
        return Err(Box::new(diagnostic.help(suggestion(&side.name.text, &names))));
    };
    let declaration = &mut *structs[at];
    annotate(&mut declaration.prefix, side.prefix)?;
    if let DeclarationKind::Struct(it) = &mut declaration.kind {
        side.members.into_iter().try_for_each(|member| apply_member(member, &declaration.name.text, it))?;
    }
    Ok(())
}

fn apply_member(side: SideMember, of: &str, structure: &mut StructDeclaration) -> Outcome<()> {
    let Some(at) = structure.members.iter().position(|it| it.name.text == side.name.text) else {
        let message = format!("`{of}` has no member `{}`", side.name.text);
        let diagnostic = Diagnostic::new(message, side.name.span, "not there");
        let names: Vec<&str> = structure.members.iter().map(|it| it.name.text.as_str()).collect();
        return Err(Box::new(diagnostic.help(suggestion(&side.name.text, &names))));
    };
    let member: &mut MemberDeclaration = &mut structure.members[at];
    annotate(&mut member.prefix, side.prefix)?;
    let Some(ty) = side.ty else { return Ok(()) };
    let span = ty.span;
    if bound(&mut member.ty, ty) {
        return Ok(());
    }
    let message = format!("`{of}.{}` has another type where it is defined", member.name.text);
    let help = "write only its name, or the same type with bounds where it has none: string<64>, sequence<float, 1024>";
    Err(Box::new(
        Diagnostic::new(message, span, "not the same").also(member.ty.span, "defined here").help(help),
    ))
}

/// What was probably meant, or what there is.
fn suggestion(word: &str, known: &[&str]) -> String {
    match did_you_mean(word, known.iter().copied()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("there is: {}", known.join(", ")),
    }
}

/// Adds annotations. Comments of the side file are for those who read it.
fn annotate(prefix: &mut Prefix, side: Prefix) -> Outcome<()> {
    side.annotations.iter().try_for_each(check)?;
    prefix.annotations.extend(side.annotations);
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
        return wrong(message, "delete it; a type that is Situ's alone may have it, in an .idl file".into());
    }
    let help = match did_you_mean(name, ALLOWED.iter().copied()) {
        Some(meant) => format!("did you mean `@{meant}`?"),
        None => format!("there is: @{}", ALLOWED.join(", @")),
    };
    wrong(format!("there is no annotation `@{name}`"), help)
}

/// Gives the bounds of `side` to the strings and sequences of `ty` that have none; `false` if the two differ otherwise.
fn bound(ty: &mut TypeRef, side: TypeRef) -> bool {
    match (&mut ty.kind, side.kind) {
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

/// Takes over a bound where there is none.
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
