//! Interfaces: each operation becomes a struct of what it takes, a struct of what it gives, and a service.

use super::lexer::TokenKind;
use super::parser::{Parsed, Parser, append_docs};
use crate::frontend::ast::{
    Annotation, DeclarationKind, Ident, MemberDeclaration, Prefix, StructDeclaration,
};
use crate::frontend::ros::dummy_member;
use crate::source::Span;
use crate::source::diagnostic::Diagnostic;

/// The member that holds what an operation returns, as DDS-RPC calls it.
const RETURN: &str = "return_";

const REFUSALS: &str = "a server refuses a request with a number and a text, which are an error for the client; or give back \
                        a union of the result and of what can go wrong";

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
        self.push(name.clone(), Prefix::default(), DeclarationKind::Interface { bases });
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
        let token = self.peek();
        if let TokenKind::Word(word) = &token.kind
            && (word == "raises" || word == "context")
        {
            return Err(not_supported(word, token.span, REFUSALS));
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
        self.push_operation(interface, &name, prefix, inputs, outputs);
        Ok(())
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
        inputs: Vec<MemberDeclaration>,
        outputs: Vec<MemberDeclaration>,
    ) {
        let span = name.span;
        let named = |suffix: &str| Ident { text: format!("{}_{}{suffix}", interface.text, name.text), span };
        let (request, response) = (named("_In"), named("_Out"));
        let kind = DeclarationKind::Service {
            interface: interface.text.clone(),
            operation: name.text.clone(),
            request: request.text.clone(),
            response: response.text.clone(),
            modules: self.modules().to_vec(),
        };
        for (struct_name, what, mut members) in [(request, "takes", inputs), (response, "gives", outputs)] {
            if members.is_empty() {
                members.push(dummy_member(span));
            }
            let docs = format!("What the operation `{}` of `{}` {what}.", name.text, interface.text);
            let prefix = Prefix { docs, annotations: prefix.annotations.clone() };
            let structure = StructDeclaration { base: None, members, extensibility: None };
            self.push(struct_name, prefix, DeclarationKind::Struct(structure));
        }
        self.push(named(""), Prefix { docs: prefix.docs, annotations: Vec::new() }, kind);
    }
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
        "exception" => Some(not_supported(word, span, REFUSALS)),
        "module" | "typedef" | "const" | "bitmask" | "bitset" | "interface" => Some(Box::new(
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
