//! Interfaces: each operation becomes a struct of what it takes, a struct of what it gives, and a service.
//!
//! An operation that raises exceptions also has a union of what it gives and of its exceptions, and a struct
//! that holds the union, which is the service's response.

use super::lexer::TokenKind;
use super::parser::{Parsed, Parser, append_docs};
use crate::frontend::ast::{
    Annotation, CaseDeclaration, DeclarationKind, Expr, ExprKind, Ident, MemberDeclaration, Prefix,
    ScopedName, StructDeclaration, TypeRef, TypeRefKind, UnionDeclaration,
};
use crate::frontend::ros::dummy_member;
use crate::model::{Primitive, snake_case};
use crate::source::Span;
use crate::source::diagnostic::Diagnostic;

/// The member that holds what an operation returns, as DDS-RPC calls it.
const RETURN: &str = "return_";

/// The case of what the operation gives, in the union of an operation that raises exceptions.
const RESULT: &str = "result";

/// The member of the response that holds this union.
const REPLY: &str = "reply";

impl Parser<'_> {
    /// `interface NAME : BASE, BASE { … }`
    pub(super) fn interface(&mut self, prefix: Prefix) -> Parsed<()> {
        self.take();
        let name = self.ident("the name of the interface")?;
        if matches!(self.peek().kind, TokenKind::Sign(";")) {
            self.push(name, prefix, DeclarationKind::Forward);
            return Ok(());
        }
        let mut bases = Vec::new();
        if self.eat(":") {
            bases.push(self.scoped_name("the name of a base")?);
            while self.eat(",") {
                bases.push(self.scoped_name("the name of a base")?);
            }
        }
        self.expect("{", "after the name of the interface")?;
        let docs = Prefix { docs: prefix.docs.clone(), annotations: Vec::new() };
        self.push(name.clone(), docs, DeclarationKind::Interface { bases });
        while !self.eat("}") {
            if self.peek().kind == TokenKind::End {
                return Err(self.never_closed("interface", &name));
            }
            self.operation(&name, &prefix.annotations)?;
        }
        Ok(())
    }

    /// `TYPE NAME(in TYPE a, out TYPE b);`
    fn operation(&mut self, interface: &Ident, annotations: &[Annotation]) -> Parsed<()> {
        let mut prefix = self.prefix()?;
        let token = self.peek();
        if let TokenKind::Word(word) = &token.kind
            && let Some(diagnostic) = refused(word, token.span)
        {
            return Err(diagnostic);
        }
        let returned = if self.eat_word("void") { None } else { Some(self.type_ref()?) };
        let name = self.ident("the name of the operation")?;
        self.expect("(", "after the name of the operation")?;
        let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
        while !self.eat(")") {
            self.parameter(&mut inputs, &mut outputs)?;
            if !self.eat(",") && !matches!(self.peek().kind, TokenKind::Sign(")")) {
                return Err(self.unexpected("`,` or `)` after a parameter"));
            }
        }
        let exceptions = self.exceptions(&name)?;
        let token = self.peek();
        if let TokenKind::Word(word) = &token.kind
            && word == "context"
        {
            return Err(not_supported(word, token.span, "write what it holds as parameters"));
        }
        self.expect(";", "after the operation")?;
        append_docs(&mut prefix.docs, &self.peek().after_previous.clone());
        outputs.extend(returned.map(|ty| MemberDeclaration {
            name: Ident { text: RETURN.to_owned(), span: name.span },
            ty,
            prefix: Prefix::default(),
            default: None,
            unit: None,
        }));
        // An annotation of the interface holds for all operations that have none of this name.
        let own = |it: &&Annotation| !prefix.annotations.iter().any(|own| own.name == it.name);
        let inherited: Vec<Annotation> = annotations.iter().filter(own).cloned().collect();
        prefix.annotations.extend(inherited);
        self.push_operation(interface, &name, prefix, (inputs, outputs, exceptions));
        Ok(())
    }

    /// `raises (NAME, NAME)`, or nothing: the cases of the operation's exceptions, called as they are, in
    /// small letters.
    fn exceptions(&mut self, operation: &Ident) -> Parsed<Vec<MemberDeclaration>> {
        let mut exceptions: Vec<MemberDeclaration> = Vec::new();
        if !self.eat_word("raises") {
            return Ok(exceptions);
        }
        self.expect("(", "after `raises`")?;
        loop {
            let raised = self.scoped_name("the name of an exception")?;
            let span = raised.span;
            let name = snake_case(raised.parts.last().map_or("", String::as_str));
            let known = exceptions.iter().find(|it| it.name.text == name);
            if known.is_some() || name == RESULT {
                return Err(twice(operation, &raised, &name, known));
            }
            let ty = TypeRef { kind: TypeRefKind::Exception(raised), span };
            exceptions.push(member(&name, ty, span));
            if !self.eat(",") {
                break;
            }
        }
        self.expect(")", "after the exceptions")?;
        Ok(exceptions)
    }

    /// A parameter, with the annotations of a member.
    fn parameter(
        &mut self,
        inputs: &mut Vec<MemberDeclaration>,
        outputs: &mut Vec<MemberDeclaration>,
    ) -> Parsed<()> {
        let prefix = self.prefix()?;
        let (is_input, is_output) = match &self.peek().kind {
            TokenKind::Word(word) if word == "in" => (true, false),
            TokenKind::Word(word) if word == "out" => (false, true),
            TokenKind::Word(word) if word == "inout" => (true, true),
            _ => {
                let diagnostic = *self.unexpected("`in`, `out` or `inout` before the type of the parameter");
                return Err(Box::new(diagnostic.help(
                    "`in` is for what the client sends, `out` for what the server answers, `inout` for both",
                )));
            }
        };
        self.take();
        let ty = self.type_ref()?;
        let (name, ty) = self.declarator(ty, "the name of the parameter")?;
        let member = MemberDeclaration { name, ty, prefix, default: None, unit: None };
        if is_output {
            outputs.push(member.clone());
        }
        if is_input {
            inputs.push(member);
        }
        Ok(())
    }

    fn push_operation(
        &mut self,
        interface: &Ident,
        name: &Ident,
        prefix: Prefix,
        (inputs, outputs, exceptions): (
            Vec<MemberDeclaration>,
            Vec<MemberDeclaration>,
            Vec<MemberDeclaration>,
        ),
    ) {
        let span = name.span;
        let named = |suffix: &str| Ident { text: format!("{}_{}{suffix}", interface.text, name.text), span };
        let (request, output) = (named("_In"), named("_Out"));
        let raises = !exceptions.is_empty();
        let response = if raises { named("_Reply") } else { output.clone() };
        let kind = DeclarationKind::Service {
            interface: interface.text.clone(),
            operation: name.text.clone(),
            request: request.text.clone(),
            response: response.text.clone(),
            raises,
            modules: self.modules().to_vec(),
        };
        let operation = format!("the operation `{}` of `{}`", name.text, interface.text);
        let (takes, gives) = (format!("What {operation} takes."), format!("What {operation} gives."));
        let mut structs = vec![(request, takes, inputs), (output.clone(), gives, outputs)];
        if raises {
            let outcome = named("_Result");
            let held = vec![member(REPLY, beside(&outcome), span)];
            structs.push((response, format!("The reply of {operation}."), held));
            let docs = format!("What {operation} gives, or what it raises.");
            // Unions have no region form of their own.
            let of_both = prefix.annotations.iter().filter(|it| it.name != "region").cloned().collect();
            let prefix = Prefix { docs, annotations: of_both };
            let union = outcome_union(&output, exceptions);
            self.push(outcome, prefix, DeclarationKind::Union(union));
        }
        for (struct_name, docs, mut members) in structs {
            if members.is_empty() {
                members.push(dummy_member(span));
            }
            let prefix = Prefix { docs, annotations: prefix.annotations.clone() };
            let structure = StructDeclaration { members, ..StructDeclaration::default() };
            self.push(struct_name, prefix, DeclarationKind::Struct(structure));
        }
        self.push(named(""), Prefix { docs: prefix.docs, annotations: Vec::new() }, kind);
    }
}

/// The union of what an operation gives, with label 0, and of its exceptions, with labels from 1.
fn outcome_union(output: &Ident, exceptions: Vec<MemberDeclaration>) -> UnionDeclaration {
    let span = output.span;
    let members = std::iter::once(member(RESULT, beside(output), span)).chain(exceptions);
    let case = |(label, member): (usize, MemberDeclaration)| {
        let label = Expr { kind: ExprKind::Integer(label as i128), span };
        CaseDeclaration { labels: vec![(Some(label), span)], member }
    };
    let discriminator = TypeRef { kind: TypeRefKind::Primitive(Primitive::I32), span };
    UnionDeclaration { discriminator, cases: members.enumerate().map(case).collect() }
}

/// The type of this name in the same modules.
fn beside(name: &Ident) -> TypeRef {
    let named = ScopedName { absolute: false, parts: vec![name.text.clone()], span: name.span };
    TypeRef { kind: TypeRefKind::Named(named), span: name.span }
}

fn member(name: &str, ty: TypeRef, span: Span) -> MemberDeclaration {
    let name = Ident { text: name.to_owned(), span };
    MemberDeclaration { name, ty, prefix: Prefix::default(), default: None, unit: None }
}

/// A diagnostic for an exception whose case has the name of another one.
#[cold]
fn twice(
    operation: &Ident,
    raised: &ScopedName,
    case: &str,
    known: Option<&MemberDeclaration>,
) -> Box<Diagnostic> {
    let message = format!("the reply of `{}` would have two cases `{case}`", operation.text);
    let diagnostic = Diagnostic::new(message, raised.span, "the second one");
    let help = "name each exception once; in the reply, exceptions have their last names in small letters, and what the operation \
                gives is `result`: rename exceptions that are not told apart so";
    Box::new(match known {
        Some(known) => diagnostic.also(known.name.span, "named first").help(help),
        None => diagnostic.help(help),
    })
}

fn not_supported(word: &str, span: Span, help: &str) -> Box<Diagnostic> {
    Box::new(Diagnostic::new(format!("`{word}` is not supported"), span, "here").help(help))
}

/// A diagnostic for a word that begins something else than an operation.
fn refused(word: &str, span: Span) -> Option<Box<Diagnostic>> {
    match word {
        "oneway" => Some(not_supported(
            word,
            span,
            "every call has an end, of which its client learns: write the parameters as a struct, and publish it on a topic",
        )),
        "attribute" | "readonly" => Some(not_supported(
            word,
            span,
            "write operations: `double get_speed();` and `void set_speed(in double value);`",
        )),
        "module" | "typedef" | "const" | "exception" | "bitmask" | "bitset" | "interface" => Some(Box::new(
            Diagnostic::new(
                format!("a {word} cannot be defined here"),
                span,
                "a definition within an interface",
            )
            .help("define it before this interface, and name it here"),
        )),
        _ => None,
    }
}
