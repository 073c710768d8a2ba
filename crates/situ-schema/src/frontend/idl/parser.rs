//! Parses IDL by recursive descent with one token of lookahead. Written by hand, it can say what it expected
//! and what to do about it.

use super::lexer::{Token, TokenKind};
use crate::frontend::ast::{
    Annotation, CaseDeclaration, Declaration, DeclarationKind, Entry, Expr, ExprKind, Ident,
    MemberDeclaration, Parameter, Prefix, ScopedName, StructDeclaration, TypeRef, TypeRefKind,
    UnionDeclaration,
};
use crate::frontend::ros::dummy_member;
use crate::model::graph::MAX_NESTING;
use crate::model::{MAX_DIMENSIONS, Primitive};
use crate::source::diagnostic::{Diagnostic, did_you_mean};
use crate::source::{Sources, Span};

pub(super) type Parsed<T> = Result<T, Box<Diagnostic>>;

/// How deep modules may be nested.
const MAX_MODULES: usize = 32;

pub(super) struct Parser<'t> {
    tokens: &'t [Token],
    at: usize,
    sources: &'t Sources,
    scope: Vec<String>,
    declarations: Vec<Declaration>,
    /// The operators of the expression being read.
    pub operators: u32,
    depth: u32,
}

/// Parses tokens, of which the last is [`TokenKind::End`], into declarations.
pub(crate) fn parse(sources: &Sources, tokens: &[Token]) -> Parsed<Vec<Declaration>> {
    let mut parser = Parser::new(sources, tokens);
    while parser.peek().kind != TokenKind::End {
        parser.definition()?;
    }
    Ok(parser.declarations)
}

const DEFINITIONS: [&str; 9] =
    ["module", "struct", "union", "enum", "bitmask", "typedef", "const", "exception", "interface"];

impl<'t> Parser<'t> {
    pub fn new(sources: &'t Sources, tokens: &'t [Token]) -> Self {
        let (scope, declarations) = (Vec::new(), Vec::new());
        Self { tokens, at: 0, sources, scope, declarations, operators: 0, depth: 0 }
    }

    pub fn peek(&self) -> &Token {
        self.peek_at(0)
    }

    pub fn peek_at(&self, distance: usize) -> &Token {
        // The last token is the end of the file, so there always is one.
        &self.tokens[(self.at + distance).min(self.tokens.len() - 1)]
    }

    pub fn take(&mut self) -> &Token {
        let at = self.at;
        self.at = (at + 1).min(self.tokens.len() - 1);
        &self.tokens[at]
    }

    pub fn eat(&mut self, sign: &str) -> bool {
        let found = matches!(self.peek().kind, TokenKind::Sign(it) if it == sign);
        if found {
            self.take();
        }
        found
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(&self.peek().kind, TokenKind::Word(it) if it == word)
    }

    pub fn eat_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        if found {
            self.take();
        }
        found
    }

    pub fn unexpected(&self, wanted: &str) -> Box<Diagnostic> {
        let token = self.peek();
        let message = format!("expected {wanted}, found {}", token.kind.describe());
        Box::new(Diagnostic::new(message, token.span, format!("expected {wanted}")))
    }

    pub fn expect(&mut self, sign: &str, why: &str) -> Parsed<()> {
        if self.eat(sign) {
            return Ok(());
        }
        let token = self.peek();
        let message = format!("expected `{sign}` {why}, found {}", token.kind.describe());
        let before = self.tokens[self.at.saturating_sub(1)].span;
        let mut diagnostic = Diagnostic::new(message, token.span, format!("expected `{sign}`"));
        if before.file == token.span.file && sign != "}" {
            let end = Span::new(before.file, before.end, before.end);
            diagnostic =
                Diagnostic { labels: vec![(end, format!("`{sign}` is missing here"))], ..diagnostic };
        }
        Err(Box::new(diagnostic.help(format!("write `{sign}` {why}"))))
    }

    /// A name for something new. Keywords are allowed, as ROS has members called `map` and `sequence`.
    pub fn ident(&mut self, wanted: &str) -> Parsed<Ident> {
        let TokenKind::Word(word) = &self.peek().kind else { return Err(self.unexpected(wanted)) };
        let text = word.strip_prefix('_').filter(|it| !it.is_empty()).unwrap_or(word).to_owned();
        let span = self.take().span;
        Ok(Ident { text, span })
    }

    /// The modules in which the parser is.
    pub fn modules(&self) -> &[String] {
        &self.scope
    }

    pub fn scoped_name(&mut self, wanted: &str) -> Parsed<ScopedName> {
        let start = self.peek().span;
        let absolute = self.eat("::");
        let first = self.ident(wanted)?;
        let (mut parts, mut span) = (vec![first.text], start.to(first.span));
        while self.eat("::") {
            let part = self.ident("a name after `::`")?;
            span = span.to(part.span);
            parts.push(part.text);
        }
        Ok(ScopedName { absolute, parts, span })
    }

    /// Docs and annotations.
    pub fn prefix(&mut self) -> Parsed<Prefix> {
        let mut prefix = Prefix { docs: self.peek().docs.clone(), annotations: Vec::new() };
        while matches!(self.peek().kind, TokenKind::Sign("@")) {
            prefix.annotations.push(self.annotation()?);
            if prefix.docs.is_empty() {
                prefix.docs = self.peek().docs.clone();
            }
        }
        Ok(prefix)
    }

    fn annotation(&mut self) -> Parsed<Annotation> {
        let start = self.peek().span;
        self.take();
        let name = self.annotation_name()?;
        let mut annotation =
            Annotation { name: name.text, span: start.to(name.span), parameters: Vec::new() };
        if !self.eat("(") {
            return Ok(annotation);
        }
        while !self.eat(")") {
            let named = matches!(self.peek().kind, TokenKind::Word(_))
                && matches!(self.peek_at(1).kind, TokenKind::Sign("="));
            let name = if named { Some(self.ident("a parameter")?) } else { None };
            if named {
                self.take();
            }
            let value = self.expression()?;
            let source = &self.sources.get(value.span.file).text;
            let text =
                source.get(value.span.start as usize..value.span.end as usize).unwrap_or("").to_owned();
            annotation.parameters.push(Parameter { name, value, text });
            if !self.eat(",") && !matches!(self.peek().kind, TokenKind::Sign(")")) {
                return Err(self.unexpected("`,` or `)` after the value of an annotation's parameter"));
            }
        }
        Ok(annotation)
    }

    /// The name of an annotation, its parts joined by `::` without blanks: in `@key ::a::B` the type begins
    /// with `::`.
    fn annotation_name(&mut self) -> Parsed<Ident> {
        let mut name = self.ident("the name of an annotation after `@`")?;
        while matches!(self.peek().kind, TokenKind::Sign("::"))
            && self.peek().span.start == name.span.end
            && self.peek_at(1).span.start == self.peek().span.end
        {
            self.take();
            let part = self.ident("a name after `::`")?;
            name.text = format!("{}::{}", name.text, part.text);
            name.span = name.span.to(part.span);
        }
        Ok(name)
    }

    pub(super) fn push(&mut self, name: Ident, prefix: Prefix, kind: DeclarationKind) {
        self.declarations.push(Declaration { scope: self.scope.clone(), name, prefix, kind });
    }

    /// One definition with its `;`.
    fn definition(&mut self) -> Parsed<()> {
        if self.eat(";") {
            return Ok(());
        }
        if matches!(self.peek().kind, TokenKind::Sign("@"))
            && matches!(&self.peek_at(1).kind, TokenKind::Word(it) if it == "annotation")
            && matches!(self.peek_at(2).kind, TokenKind::Word(_))
        {
            self.skip_annotation_definition()?;
            return self.expect(";", "after the definition of the annotation");
        }
        let first = self.declarations.len();
        let prefix = self.prefix()?;
        let token = self.peek().clone();
        let TokenKind::Word(word) = &token.kind else { return Err(self.unexpected("a definition")) };
        match word.as_str() {
            "module" => self.module()?,
            "struct" | "exception" => self.structure(prefix, word == "exception")?,
            "union" => self.union(prefix)?,
            "enum" => self.entries(prefix, "enumerator", DeclarationKind::Enum)?,
            "bitmask" => self.entries(prefix, "flag", DeclarationKind::Bitmask)?,
            "typedef" => self.alias(prefix)?,
            "bitset" => return Err(self.bitset(token.span)),
            "const" => self.constant(prefix)?,
            "interface" => self.interface(prefix)?,
            other => return Err(unsupported(other, token.span)),
        }
        self.expect(";", &format!("after the {word}"))?;
        let trailing = self.peek().after_previous.clone();
        if let Some(last) = self.declarations[first..].last_mut()
            && last.prefix.docs.is_empty()
            && word != "module"
            && word != "interface"
        {
            last.prefix.docs = trailing;
        }
        Ok(())
    }

    fn module(&mut self) -> Parsed<()> {
        self.take();
        let name = self.ident("the name of the module")?;
        if self.scope.len() >= MAX_MODULES {
            return Err(Box::new(
                Diagnostic::new("modules are nested too deep", name.span, "here")
                    .help(format!("at most {MAX_MODULES} modules may lie in one another")),
            ));
        }
        self.expect("{", "after the name of the module")?;
        self.scope.push(name.text.clone());
        while !self.eat("}") {
            if self.peek().kind == TokenKind::End {
                return Err(self.never_closed("module", &name));
            }
            self.definition()?;
        }
        self.scope.pop();
        Ok(())
    }

    pub fn never_closed(&self, what: &str, name: &Ident) -> Box<Diagnostic> {
        Box::new(
            Diagnostic::new(format!("the {what} `{}` is never closed", name.text), name.span, "begins here")
                .help("close it with `};`"),
        )
    }

    /// A struct, or an exception, which is one that operations may raise.
    fn structure(&mut self, prefix: Prefix, is_exception: bool) -> Parsed<()> {
        self.take();
        let what = if is_exception { "exception" } else { "struct" };
        let name = self.ident(&format!("the name of the {what}"))?;
        if matches!(self.peek().kind, TokenKind::Sign(";")) {
            self.push(name, prefix, DeclarationKind::Forward);
            return Ok(());
        }
        let inherits = !is_exception && self.eat(":");
        let base = if inherits { Some(self.scoped_name("the name of the base struct")?) } else { None };
        self.expect("{", &format!("after the name of the {what}"))?;
        let mut members = Vec::new();
        while !self.eat("}") {
            if self.peek().kind == TokenKind::End {
                return Err(self.never_closed(what, &name));
            }
            self.members(&mut members)?;
        }
        if members.is_empty() && base.is_none() {
            members.push(dummy_member(name.span));
        }
        self.push(
            name,
            prefix,
            DeclarationKind::Struct(StructDeclaration { base, members, extensibility: None, is_exception }),
        );
        Ok(())
    }

    /// One line of members: a type and one or more names.
    fn members(&mut self, members: &mut Vec<MemberDeclaration>) -> Parsed<()> {
        let first = members.len();
        let prefix = self.prefix()?;
        let ty = self.type_ref()?;
        loop {
            let (name, ty) = self.declarator(ty.clone(), "the name of the member")?;
            members.push(MemberDeclaration { name, ty, prefix: prefix.clone(), default: None, unit: None });
            if !self.eat(",") {
                break;
            }
        }
        self.expect(";", "after the member")?;
        let trailing = self.peek().after_previous.clone();
        for member in &mut members[first..] {
            append_docs(&mut member.prefix.docs, &trailing);
        }
        Ok(())
    }

    /// A name with array dimensions.
    pub fn declarator(&mut self, ty: TypeRef, wanted: &str) -> Parsed<(Ident, TypeRef)> {
        let name = self.ident(wanted)?;
        let ty = self.dimensions(ty)?;
        Ok((name, ty))
    }

    /// `[2][3]` behind a name. Situ also accepts them after a type within `<` `>`: the canonical text has no
    /// typedefs, and writes a sequence of arrays this way.
    fn dimensions(&mut self, element: TypeRef) -> Parsed<TypeRef> {
        let mut span = element.span;
        let mut dimensions = Vec::new();
        while self.eat("[") {
            if dimensions.len() >= MAX_DIMENSIONS {
                return Err(Box::new(
                    Diagnostic::new("this array has too many dimensions", self.peek().span, "here")
                        .help(format!("an array has at most {MAX_DIMENSIONS} dimensions")),
                ));
            }
            dimensions.push(self.expression()?);
            span = span.to(self.peek().span);
            self.expect("]", "after the length of the array")?;
        }
        if dimensions.is_empty() {
            return Ok(element);
        }
        Ok(TypeRef { kind: TypeRefKind::Array { element: Box::new(element), dimensions }, span })
    }

    fn too_deep(&self) -> Box<Diagnostic> {
        Box::new(Diagnostic::new("this type is nested too deep", self.peek().span, "here").help(format!(
            "types may be nested {MAX_NESTING} levels deep; name the inner ones with typedefs"
        )))
    }

    pub fn type_ref(&mut self) -> Parsed<TypeRef> {
        self.depth += 1;
        if self.depth > MAX_NESTING {
            return Err(self.too_deep());
        }
        while matches!(self.peek().kind, TokenKind::Sign("@")) {
            self.annotation()?;
        }
        let start = self.peek().span;
        let kind = self.type_kind()?;
        let end = self.tokens[self.at.saturating_sub(1)].span;
        self.depth -= 1;
        Ok(TypeRef { kind, span: start.to(end) })
    }

    fn type_kind(&mut self) -> Parsed<TypeRefKind> {
        let token = self.peek().clone();
        let TokenKind::Word(word) = &token.kind else {
            return Ok(TypeRefKind::Named(self.scoped_name("a type")?));
        };
        let opens = matches!(self.peek_at(1).kind, TokenKind::Sign("<"));
        let simple = match word.as_str() {
            "boolean" => Primitive::Bool,
            "octet" | "uint8" => Primitive::U8,
            "int8" => Primitive::I8,
            "int16" | "short" => Primitive::I16,
            "uint16" => Primitive::U16,
            "int32" => Primitive::I32,
            "uint32" => Primitive::U32,
            "int64" => Primitive::I64,
            "uint64" => Primitive::U64,
            "float" => Primitive::F32,
            "double" => Primitive::F64,
            "char" => Primitive::Char8,
            "wchar" => Primitive::WChar,
            "long" | "unsigned" => return self.long().map(TypeRefKind::Primitive),
            "string" | "wstring" => {
                self.take();
                let bound = if self.eat("<") { Some(self.closing_bound()?) } else { None };
                return Ok(TypeRefKind::String { wide: word == "wstring", bound });
            }
            "sequence" if opens => return self.sequence(),
            "map" if opens => return self.map(),
            "any" | "Object" | "ValueBase" | "fixed" | "struct" | "union" | "enum" => {
                return Err(unsupported(word, token.span));
            }
            _ => return Ok(TypeRefKind::Named(self.scoped_name("a type")?)),
        };
        self.take();
        Ok(TypeRefKind::Primitive(simple))
    }

    fn long(&mut self) -> Parsed<Primitive> {
        let start = self.peek().span;
        let unsigned = self.eat_word("unsigned");
        if self.eat_word("short") {
            return Ok(Primitive::U16);
        }
        if !self.eat_word("long") {
            return Err(self.unexpected("`short` or `long` after `unsigned`"));
        }
        if self.is_word("double") {
            let span = start.to(self.peek().span);
            return Err(Box::new(
                Diagnostic::new("`long double` is not supported", span, "no language agrees on its bytes").help(
                    "use `double`; Rust has no such number, and C++ has 8, 10 or 16 bytes of it. To hand its 16 bytes on as \
                     they are, write `octet NAME[16]`, which is an array to others",
                ),
            ));
        }
        Ok(match (unsigned, self.eat_word("long")) {
            (false, false) => Primitive::I32,
            (true, false) => Primitive::U32,
            (false, true) => Primitive::I64,
            (true, true) => Primitive::U64,
        })
    }

    fn closing_bound(&mut self) -> Parsed<Expr> {
        let bound = self.bound()?;
        self.expect(">", "after the bound")?;
        Ok(bound)
    }

    /// A type within `<` `>`.
    fn element(&mut self) -> Parsed<TypeRef> {
        let element = self.type_ref()?;
        self.dimensions(element)
    }

    fn sequence(&mut self) -> Parsed<TypeRefKind> {
        self.take();
        self.take();
        let element = Box::new(self.element()?);
        if self.eat(",") {
            return Ok(TypeRefKind::Sequence { element, bound: Some(self.closing_bound()?) });
        }
        self.expect(">", "after the type of the elements")?;
        Ok(TypeRefKind::Sequence { element, bound: None })
    }

    fn map(&mut self) -> Parsed<TypeRefKind> {
        self.take();
        self.take();
        let key = Box::new(self.element()?);
        self.expect(",", "between the types of key and value")?;
        let value = Box::new(self.element()?);
        if self.eat(",") {
            return Ok(TypeRefKind::Map { key, value, bound: Some(self.closing_bound()?) });
        }
        self.expect(">", "after the type of the values")?;
        Ok(TypeRefKind::Map { key, value, bound: None })
    }

    fn alias(&mut self, prefix: Prefix) -> Parsed<()> {
        self.take();
        let ty = self.type_ref()?;
        loop {
            let (name, ty) = self.declarator(ty.clone(), "the name of the typedef")?;
            self.push(name, prefix.clone(), DeclarationKind::Alias(ty));
            if !self.eat(",") {
                return Ok(());
            }
        }
    }

    fn constant(&mut self, prefix: Prefix) -> Parsed<()> {
        self.take();
        let ty = self.type_ref()?;
        let name = self.ident("the name of the constant")?;
        self.expect("=", "between the constant and its value")?;
        let value = self.expression()?;
        self.push(name, prefix, DeclarationKind::Constant { ty, value });
        Ok(())
    }

    /// The names of an enum or bitmask.
    fn entries(
        &mut self,
        prefix: Prefix,
        what: &str,
        kind: impl FnOnce(Vec<Entry>) -> DeclarationKind,
    ) -> Parsed<()> {
        self.take();
        let name = self.ident("a name")?;
        self.expect("{", "after the name")?;
        let mut entries: Vec<Entry> = Vec::new();
        while !self.eat("}") {
            let prefix = self.prefix()?;
            let name = self.ident(&format!("the name of the {what}"))?;
            entries.push(Entry { name, prefix });
            if matches!(self.peek().kind, TokenKind::Sign("=")) {
                let help = "write the value before the name: `@value(3) NAME`";
                return Err(Box::new(Diagnostic {
                    help: Some(help.into()),
                    ..*self.unexpected("`,` or `}`")
                }));
            }
            let more = self.eat(",");
            let trailing = self.peek().after_previous.clone();
            if let Some(last) = entries.last_mut() {
                append_docs(&mut last.prefix.docs, &trailing);
            }
            if !more && !matches!(self.peek().kind, TokenKind::Sign("}")) {
                return Err(self.unexpected("`,` or `}`"));
            }
        }
        self.push(name, prefix, kind(entries));
        Ok(())
    }

    /// Says what to write instead of a bitset, with the places of its fields.
    fn bitset(&mut self, span: Span) -> Box<Diagnostic> {
        let mut diagnostic = Diagnostic::new("`bitset` is not supported", span, "here").help(
            "it is one integer in CDR: write `typedef uint32 NAME;`, or a bitmask if each field has one bit",
        );
        if let Ok((name, fields, bits)) = self.bitfields() {
            let holder = match bits {
                0..=8 => "uint8",
                9..=16 => "uint16",
                17..=32 => "uint32",
                33..=64 => "uint64",
                _ => {
                    return Box::new(diagnostic.help("it has more than 64 bits; write a struct of integers"));
                }
            };
            let places = fields.join(", ");
            diagnostic = diagnostic.help(format!(
                "it is one integer of {bits} bits in CDR: write `typedef {holder} {name};` ({places}), or a bitmask if each \
                 field has one bit"
            ));
        }
        Box::new(diagnostic)
    }

    /// `bitset NAME { bitfield<3> a, b; bitfield<4>; };`: its name, where its fields are, and how many bits
    /// it has.
    fn bitfields(&mut self) -> Parsed<(String, Vec<String>, u64)> {
        self.take();
        let name = self.ident("the name of the bitset")?;
        self.expect("{", "after the name of the bitset")?;
        let (mut fields, mut bits) = (Vec::new(), 0u64);
        while !self.eat("}") {
            if !self.eat_word("bitfield") {
                return Err(self.unexpected("`bitfield<...>`"));
            }
            self.expect("<", "behind `bitfield`")?;
            let width = match self.bound()?.kind {
                ExprKind::Integer(width @ 1..=64) => width as u64,
                _ => return Err(self.unexpected("a number of bits")),
            };
            if self.eat(",") {
                self.type_ref()?;
            }
            self.expect(">", "after the number of bits")?;
            if self.eat(";") {
                bits = bits.saturating_add(width);
                continue;
            }
            loop {
                let field = self.ident("the name of the field")?.text;
                let last = bits.saturating_add(width) - 1;
                fields.push(match width {
                    1 => format!("{field}: bit {bits}"),
                    _ => format!("{field}: bits {bits} to {last}"),
                });
                bits = last.saturating_add(1);
                if !self.eat(",") {
                    break;
                }
            }
            self.expect(";", "after the field")?;
        }
        Ok((name.text, fields, bits))
    }

    fn union(&mut self, prefix: Prefix) -> Parsed<()> {
        self.take();
        let name = self.ident("the name of the union")?;
        if matches!(self.peek().kind, TokenKind::Sign(";")) {
            self.push(name, prefix, DeclarationKind::Forward);
            return Ok(());
        }
        if !self.eat_word("switch") {
            return Err(self.unexpected("`switch (…)` after the name of the union"));
        }
        self.expect("(", "before the type of the discriminator")?;
        let discriminator = self.type_ref()?;
        self.expect(")", "after the type of the discriminator")?;
        self.expect("{", "before the cases")?;
        let mut cases = Vec::new();
        while !self.eat("}") {
            if self.peek().kind == TokenKind::End {
                return Err(self.never_closed("union", &name));
            }
            cases.push(self.case()?);
        }
        self.push(name, prefix, DeclarationKind::Union(UnionDeclaration { discriminator, cases }));
        Ok(())
    }

    fn case(&mut self) -> Parsed<CaseDeclaration> {
        let docs = self.peek().docs.clone();
        let mut labels = Vec::new();
        loop {
            let span = self.peek().span;
            if self.eat_word("default") {
                labels.push((None, span));
            } else if self.eat_word("case") {
                let value = self.label()?;
                let span = value.span;
                labels.push((Some(value), span));
            } else {
                break;
            }
            self.expect(":", "after the label")?;
        }
        if labels.is_empty() {
            return Err(self.unexpected("`case …:` or `default:`"));
        }
        let mut prefix = self.prefix()?;
        if prefix.docs.is_empty() {
            prefix.docs = docs;
        }
        let ty = self.type_ref()?;
        let (name, ty) = self.declarator(ty, "the name of the case")?;
        self.expect(";", "after the case")?;
        append_docs(&mut prefix.docs, &self.peek().after_previous.clone());
        let member = MemberDeclaration { name, ty, prefix, default: None, unit: None };
        Ok(CaseDeclaration { labels, member })
    }

    fn label(&mut self) -> Parsed<Expr> {
        let value = self.expression()?;
        match value.kind {
            ExprKind::String(_) | ExprKind::Float(_) | ExprKind::List(_) => Err(Box::new(
                Diagnostic::new("this cannot be a label", value.span, "here")
                    .help("labels are integers, characters, booleans or enumerators"),
            )),
            _ => Ok(value),
        }
    }

    /// `@annotation name { … }` declares an annotation; Situ keeps unknown annotations without a declaration.
    fn skip_annotation_definition(&mut self) -> Parsed<()> {
        self.take();
        self.take();
        let name = self.ident("the name of the annotation")?;
        let mut open = 0u32;
        loop {
            match self.peek().kind {
                TokenKind::Sign("{") => open += 1,
                TokenKind::Sign("}") if open <= 1 => {
                    self.take();
                    return Ok(());
                }
                TokenKind::Sign("}") => open -= 1,
                TokenKind::End => return Err(self.never_closed("annotation", &name)),
                _ => {}
            }
            self.take();
        }
    }
}

/// Adds the comment after a declaration to the comment before it.
pub(super) fn append_docs(docs: &mut String, trailing: &str) {
    if !docs.is_empty() && !trailing.is_empty() {
        docs.push('\n');
    }
    docs.push_str(trailing);
}

/// A diagnostic for a word that begins an unsupported construct, or none at all.
fn unsupported(word: &str, span: Span) -> Box<Diagnostic> {
    let not_supported =
        |help: &str| Box::new(Diagnostic::new(format!("`{word}` is not supported"), span, "here").help(help));
    match word {
        "valuetype" | "eventtype" | "component" | "home" | "native" | "local" | "abstract" | "import"
        | "typeid" | "typeprefix" => not_supported(
            "Situ reads modules, structs, unions, enums, bitmasks, typedefs, constants, exceptions, and interfaces with operations",
        ),
        "any" | "Object" | "ValueBase" => not_supported("use a union of the types that can occur"),
        "fixed" => not_supported("use an integer and fix the place of its point by a @unit, or use `double`"),
        "struct" | "union" | "enum" => Box::new(
            Diagnostic::new(format!("a {word} cannot be defined here"), span, "a definition within another")
                .help("define it before this definition, and name it here"),
        ),
        _ => {
            let diagnostic = Diagnostic::new(
                format!("expected a definition, found `{word}`"),
                span,
                format!("expected one of {}", DEFINITIONS.join(", ")),
            );
            Box::new(match did_you_mean(word, DEFINITIONS.into_iter()) {
                Some(meant) => diagnostic.help(format!("did you mean `{meant}`?")),
                None => diagnostic.help("members belong into a struct, and types into the file or a module"),
            })
        }
    }
}
