//! The lines of `.msg`, `.srv` and `.action` files.

use winnow::prelude::*;

use super::{InterfaceKind, docs, value};
use crate::frontend::ast::{
    Declaration, DeclarationKind, Expr, ExprKind, Ident, MemberDeclaration, Prefix, ScopedName,
    StructDeclaration, TypeRef, TypeRefKind,
};
use crate::model::{DUMMY_MEMBER, Primitive};
use crate::source::diagnostic::Diagnostic;
use crate::source::{FileId, Span};

/// The name of a ROS interface: `geometry_msgs/msg/Point`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Interface {
    pub package: String,
    pub kind: InterfaceKind,
    pub name: String,
}

impl std::fmt::Display for Interface {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}/{}", self.package, self.kind.folder(), self.name)
    }
}

/// A reference to another message.
#[derive(Debug, Clone)]
pub(crate) struct Reference {
    pub interface: Interface,
    pub span: Span,
}

/// The content of a file.
#[derive(Debug, Default)]
pub(crate) struct Parsed {
    pub declarations: Vec<Declaration>,
    pub references: Vec<Reference>,
}

type Outcome<T> = Result<T, Box<Diagnostic>>;

/// Reads the text of an interface file.
pub(crate) fn parse(text: &str, file: FileId, interface: &Interface) -> Outcome<Parsed> {
    let suffixes: &[&str] = match interface.kind {
        InterfaceKind::Message => &[""],
        InterfaceKind::Service => &["_Request", "_Response"],
        InterfaceKind::Action => &["_Goal", "_Result", "_Feedback"],
    };
    let mut sections: Vec<Vec<Line<'_>>> = vec![Vec::new()];
    let mut start = text.strip_prefix('\u{feff}').map_or(0, |_| 3);
    let end_of_text = Span::new(file, text.len() as u32, text.len() as u32);
    for line in text[start..].split('\n') {
        let here = Line { text: line.strip_suffix('\r').unwrap_or(line), start, file };
        start += line.len() + 1;
        if here.text == "---" && interface.kind != InterfaceKind::Message {
            sections.push(Vec::new());
        } else if let Some(section) = sections.last_mut() {
            section.push(here);
        }
    }
    if sections.len() != suffixes.len() {
        let (what, help) = match interface.kind {
            InterfaceKind::Action => {
                ("an action", "separate goal, result and feedback by two lines of `---`")
            }
            _ => ("a service", "separate request and response by one line of `---`"),
        };
        let message = format!("{what} has {} parts, found {}", suffixes.len(), sections.len());
        return Err(Box::new(Diagnostic::new(message, end_of_text, "the file ends here").help(help)));
    }
    let mut parsed = Parsed::default();
    for (lines, suffix) in sections.iter().zip(suffixes) {
        let name = Ident { text: format!("{}{suffix}", interface.name), span: Span::new(file, 0, 0) };
        message(lines, name, interface, &mut parsed)?;
    }
    Ok(parsed)
}

/// A line of a file.
struct Line<'t> {
    text: &'t str,
    start: usize,
    file: FileId,
}

impl Line<'_> {
    /// The position of a part of the line's text.
    fn span(&self, part: &str) -> Span {
        let offset =
            (part.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize).min(self.text.len());
        let start = (self.start + offset) as u32;
        Span::new(self.file, start, start + part.len() as u32)
    }
}

/// A field or constant with the comment lines that belong to it.
struct Element {
    name: Ident,
    ty: TypeRef,
    value: Option<Expr>,
    is_constant: bool,
    comments: Vec<String>,
}

fn message(lines: &[Line<'_>], name: Ident, interface: &Interface, parsed: &mut Parsed) -> Outcome<()> {
    let first = lines.iter().position(|it| !it.text.starts_with('#')).unwrap_or(lines.len());
    let head = lines[..first].iter().map(|it| docs::strip(it.text)).collect();
    let (mut elements, mut waiting): (Vec<Element>, Vec<String>) = (Vec::new(), Vec::new());
    for line in &lines[first..] {
        let (code, comment) = match line.text.find('#') {
            Some(at) => (&line.text[..at], Some(docs::strip(&line.text[at..]))),
            None => (line.text, None),
        };
        let indented = !code.is_empty() && code.trim().is_empty();
        match comment {
            Some(comment) if indented => {
                if let Some(last) = elements.last_mut() {
                    last.comments.push(comment);
                }
            }
            Some(comment) => waiting.push(comment),
            None => {}
        }
        if !code.trim().is_empty() {
            let mut element = element(line, code.trim_end(), interface, &mut parsed.references)?;
            element.comments = std::mem::take(&mut waiting);
            elements.push(element);
        }
    }
    let scope = vec![interface.package.clone(), interface.kind.folder().to_owned()];
    let mut constants_scope = scope.clone();
    constants_scope.push(format!("{}_Constants", name.text));
    let mut structure = StructDeclaration::default();
    for element in elements {
        let (docs, unit) = docs::join(element.comments);
        let prefix = Prefix { docs, annotations: Vec::new() };
        match element.value {
            Some(value) if element.is_constant => parsed.declarations.push(Declaration {
                scope: constants_scope.clone(),
                name: element.name,
                prefix,
                kind: DeclarationKind::Constant { ty: element.ty, value },
            }),
            default => {
                let member = MemberDeclaration { name: element.name, ty: element.ty, prefix, default, unit };
                structure.members.push(member);
            }
        }
    }
    if structure.members.is_empty() {
        structure.members.push(dummy_member(name.span));
    }
    let prefix = Prefix { docs: docs::join(head).0, annotations: Vec::new() };
    parsed.declarations.push(Declaration { scope, name, prefix, kind: DeclarationKind::Struct(structure) });
    Ok(())
}

/// The only member of an empty message, and of an empty struct of IDL, so that both are the same type.
pub(crate) fn dummy_member(span: Span) -> MemberDeclaration {
    MemberDeclaration {
        name: Ident { text: DUMMY_MEMBER.into(), span },
        ty: TypeRef { kind: TypeRefKind::Primitive(Primitive::U8), span },
        prefix: Prefix::default(),
        default: None,
        unit: None,
    }
}

/// A line that is not blank: `type name`, `type name default` or `type NAME=value`.
fn element(
    line: &Line<'_>,
    code: &str,
    interface: &Interface,
    references: &mut Vec<Reference>,
) -> Outcome<Element> {
    let code = code.trim_start();
    let is_space = |c: char| c == ' ' || c == '\t';
    let (written, rest) = code.split_once(is_space).unwrap_or((code, ""));
    let rest = rest.trim_start_matches(is_space);
    let ty = type_ref(line, written, interface, references)?;
    let constant = rest.split_once('=').map(|(name, value)| (name, Some(value)));
    let is_constant = constant.is_some();
    let (name, value) = constant.unwrap_or_else(|| match rest.split_once(is_space) {
        Some((name, value)) => (name, Some(value)),
        None => (rest, None),
    });
    let name = name.trim_end_matches(is_space);
    let value = value.map(|it| it.trim_matches(is_space)).filter(|it| !it.is_empty() || is_constant);
    if name.is_empty() {
        let what = if is_constant { "constant" } else { "field" };
        let message = format!("this {what} has no name");
        let help = "write `type name`, `type name default` or `type NAME=value`";
        return Err(Box::new(Diagnostic::new(message, line.span(written), "only a type").help(help)));
    }
    let starts_well = name.starts_with(|c: char| c.is_ascii_alphabetic());
    if !starts_well || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        let help = "names are made of letters, digits and underscores, and begin with a letter";
        return Err(Box::new(
            Diagnostic::new(format!("`{name}` is not a name"), line.span(name), "here").help(help),
        ));
    }
    if is_constant && !matches!(ty.kind, TypeRefKind::Primitive(_) | TypeRefKind::String { .. }) {
        let help = "constants are numbers, booleans and strings; a default is written without `=`";
        return Err(Box::new(
            Diagnostic::new("a constant cannot be of this type", line.span(written), "here").help(help),
        ));
    }
    let value = match value {
        Some(text) => Some(value::parse(text, &ty, line.span(if text.is_empty() { name } else { text }))?),
        None => None,
    };
    let name = Ident { text: name.to_owned(), span: line.span(name) };
    Ok(Element { name, ty, value, is_constant, comments: Vec::new() })
}

fn primitive(word: &str) -> Option<TypeRefKind> {
    Some(TypeRefKind::Primitive(match word {
        "bool" => Primitive::Bool,
        "byte" | "char" | "uint8" => Primitive::U8,
        "int8" => Primitive::I8,
        "int16" => Primitive::I16,
        "uint16" => Primitive::U16,
        "int32" => Primitive::I32,
        "uint32" => Primitive::U32,
        "int64" => Primitive::I64,
        "uint64" => Primitive::U64,
        "float32" => Primitive::F32,
        "float64" => Primitive::F64,
        _ => return None,
    }))
}

fn type_ref(
    line: &Line<'_>,
    written: &str,
    interface: &Interface,
    references: &mut Vec<Reference>,
) -> Outcome<TypeRef> {
    let span = line.span(written);
    let wrong =
        |message: String, help: &str| Err(Box::new(Diagnostic::new(message, span, "here").help(help)));
    let not_a_type = || {
        let help =
            "write a type such as int32, string<=10, geometry_msgs/Point, float64[3], uint8[<=10] or uint8[]";
        wrong(format!("`{written}` is not a type"), help)
    };
    let number = |digits: &str| match digits.parse::<i128>() {
        Ok(value) => Ok(Expr { kind: ExprKind::Integer(value), span }),
        Err(_) => Err(Box::new(
            Diagnostic::new(format!("`{digits}` is not a number of elements"), span, "here")
                .help("write a positive integer"),
        )),
    };
    let mut input = written;
    let Ok((word, string_bound)) = value::type_name(&mut input) else { return not_a_type() };
    let kind = match (word, string_bound) {
        ("string" | "wstring", bound) => {
            TypeRefKind::String { wide: word == "wstring", bound: bound.map(number).transpose()? }
        }
        (_, Some(_)) => {
            return wrong(format!("`{word}` cannot have a bound"), "only string and wstring can: string<=10");
        }
        ("time" | "duration", _) => {
            let help = "ROS 2 calls them builtin_interfaces/Time and builtin_interfaces/Duration";
            return wrong(format!("`{word}` is a type of ROS 1"), help);
        }
        _ => match primitive(word) {
            Some(kind) => kind,
            None => {
                let (package, name) = match word.split('/').collect::<Vec<_>>().as_slice() {
                    [name] => (interface.package.clone(), (*name).to_owned()),
                    [package, name] | [package, "msg", name] => ((*package).to_owned(), (*name).to_owned()),
                    _ => return not_a_type(),
                };
                if package.is_empty() || name.is_empty() {
                    return not_a_type();
                }
                let parts = vec![package.clone(), "msg".to_owned(), name.clone()];
                let interface = Interface { package, kind: InterfaceKind::Message, name };
                references.push(Reference { interface, span });
                TypeRefKind::Named(ScopedName { absolute: true, parts, span })
            }
        },
    };
    let element = TypeRef { kind, span };
    if input.is_empty() {
        return Ok(element);
    }
    match value::brackets.parse_next(&mut input) {
        Ok((false, "")) => {
            Ok(TypeRef { kind: TypeRefKind::Sequence { element: Box::new(element), bound: None }, span })
        }
        Ok((true, digits)) => {
            let bound = Some(number(digits)?);
            Ok(TypeRef { kind: TypeRefKind::Sequence { element: Box::new(element), bound }, span })
        }
        Ok((false, digits)) => {
            let dimensions = vec![number(digits)?];
            Ok(TypeRef { kind: TypeRefKind::Array { element: Box::new(element), dimensions }, span })
        }
        Err(_) => not_a_type(),
    }
}
