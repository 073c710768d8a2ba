//! The grammar of overlay files: structs of IDL whose members need no types.

use super::lexer::{Token, TokenKind};
use super::parser::{Parsed, Parser};
use crate::frontend::ast::{OverlayMember, OverlayStruct};
use crate::source::Sources;

/// The structs that the tokens of an overlay file speak of.
pub(crate) fn parse_overlay(sources: &Sources, tokens: &[Token]) -> Parsed<Vec<OverlayStruct>> {
    let mut parser = Parser::new(sources, tokens);
    let mut structs = Vec::new();
    while parser.peek().kind != TokenKind::End {
        if !parser.eat(";") {
            structs.push(parser.overlay_struct()?);
        }
    }
    Ok(structs)
}

impl Parser<'_> {
    /// `@flat struct Scan { … };`
    fn overlay_struct(&mut self) -> Parsed<OverlayStruct> {
        let prefix = self.prefix()?;
        if !self.eat_word("struct") {
            return Err(self.unexpected("`struct` and the name of a message"));
        }
        let name = self.ident("the name of the message")?;
        let mut members = Vec::new();
        if self.eat("{") {
            while !self.eat("}") {
                if self.peek().kind == TokenKind::End {
                    return Err(self.never_closed("struct", &name));
                }
                self.overlay_members(&mut members)?;
            }
        }
        self.expect(";", "after the struct")?;
        Ok(OverlayStruct { name, prefix, members })
    }

    /// `@bulk ranges;` or `string<64> frame_id;`, with one or more names.
    fn overlay_members(&mut self, members: &mut Vec<OverlayMember>) -> Parsed<()> {
        let prefix = self.prefix()?;
        let is_name = matches!(self.peek_at(1).kind, TokenKind::Sign(";" | ","));
        let ty = if is_name { None } else { Some(self.type_ref()?) };
        loop {
            let (name, ty) = match &ty {
                None => (self.ident("the name of a member")?, None),
                Some(ty) => {
                    let (name, ty) = self.declarator(ty.clone(), "the name of a member")?;
                    (name, Some(ty))
                }
            };
            members.push(OverlayMember { name, prefix: prefix.clone(), ty });
            if !self.eat(",") {
                break;
            }
        }
        self.expect(";", "after the member")
    }
}
