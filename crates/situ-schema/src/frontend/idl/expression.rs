//! Constant expressions.

use super::lexer::TokenKind;
use super::parser::{Parsed, Parser};
use crate::frontend::ast::{BinaryOperator, Expr, ExprKind};
use crate::source::diagnostic::Diagnostic;

/// How many operators one expression may have: bounds the depth of its tree.
const MAX_OPERATORS: u32 = 200;

/// Operators from the weakest to the strongest binding, by their first sign.
const LEVELS: [&[(&str, BinaryOperator)]; 6] = [
    &[("|", BinaryOperator::Or)],
    &[("^", BinaryOperator::Xor)],
    &[("&", BinaryOperator::And)],
    &[("<", BinaryOperator::ShiftLeft), (">", BinaryOperator::ShiftRight)],
    &[("+", BinaryOperator::Add), ("-", BinaryOperator::Subtract)],
    &[("*", BinaryOperator::Multiply), ("/", BinaryOperator::Divide), ("%", BinaryOperator::Remainder)],
];

impl Parser<'_> {
    /// An expression.
    pub fn expression(&mut self) -> Parsed<Expr> {
        self.operators = 0;
        self.binary(0, false)
    }

    /// An expression between `<` and `>`, where `>>` is not a shift.
    pub fn bound(&mut self) -> Parsed<Expr> {
        self.operators = 0;
        self.binary(0, true)
    }

    fn count_operator(&mut self) -> Parsed<()> {
        self.operators += 1;
        if self.operators > MAX_OPERATORS {
            let span = self.peek().span;
            return Err(Box::new(
                Diagnostic::new("this expression is too long", span, "more operators than Situ supports")
                    .help(format!("split it into constants of at most {MAX_OPERATORS} operators each")),
            ));
        }
        Ok(())
    }

    /// The operator of this level that comes next, if any, with the number of its signs.
    fn operator(&self, level: usize, in_bound: bool) -> Option<(BinaryOperator, usize)> {
        let TokenKind::Sign(sign) = self.peek().kind else { return None };
        let (_, operator) = LEVELS[level].iter().find(|(first, _)| *first == sign)?;
        match operator {
            BinaryOperator::ShiftRight if in_bound => None,
            BinaryOperator::ShiftLeft | BinaryOperator::ShiftRight => {
                let next = self.peek_at(1);
                let doubled = next.kind == TokenKind::Sign(sign) && next.span.start == self.peek().span.end;
                doubled.then_some((*operator, 2))
            }
            _ => Some((*operator, 1)),
        }
    }

    fn binary(&mut self, level: usize, in_bound: bool) -> Parsed<Expr> {
        if level == LEVELS.len() {
            return self.unary();
        }
        let mut left = self.binary(level + 1, in_bound)?;
        while let Some((operator, signs)) = self.operator(level, in_bound) {
            self.count_operator()?;
            for _ in 0..signs {
                self.take();
            }
            let right = self.binary(level + 1, in_bound)?;
            let span = left.span.to(right.span);
            left = Expr { kind: ExprKind::Binary(operator, Box::new(left), Box::new(right)), span };
        }
        Ok(left)
    }

    fn unary(&mut self) -> Parsed<Expr> {
        let start = self.peek().span;
        for sign in ['-', '+', '~'] {
            let text = match sign {
                '-' => "-",
                '+' => "+",
                _ => "~",
            };
            if self.eat(text) {
                self.count_operator()?;
                let operand = self.unary()?;
                let span = start.to(operand.span);
                return Ok(Expr { kind: ExprKind::Unary(sign, Box::new(operand)), span });
            }
        }
        self.primary()
    }

    fn primary(&mut self) -> Parsed<Expr> {
        let token = self.peek().clone();
        let kind = match token.kind {
            TokenKind::Integer(value) => ExprKind::Integer(value),
            TokenKind::Float(value) => ExprKind::Float(value),
            TokenKind::Char(value) => ExprKind::Char(value),
            TokenKind::String(_) => return Ok(self.strings()),
            TokenKind::Word(word) if word == "TRUE" || word == "FALSE" => ExprKind::Bool(word == "TRUE"),
            TokenKind::Word(_) | TokenKind::Sign("::") => {
                let name = self.scoped_name("a value")?;
                return Ok(Expr { span: name.span, kind: ExprKind::Name(name) });
            }
            TokenKind::Sign("(") => {
                self.take();
                // Parentheses are counted like operators: they too deepen the recursion.
                self.count_operator()?;
                let inner = self.binary(0, false)?;
                self.expect(")", "to close the parenthesis")?;
                return Ok(inner);
            }
            _ => return Err(self.unexpected("a value")),
        };
        self.take();
        Ok(Expr { kind, span: token.span })
    }

    /// One or more adjacent strings, which form one string.
    fn strings(&mut self) -> Expr {
        let mut span = self.peek().span;
        let mut joined = String::new();
        while let TokenKind::String(text) = &self.peek().kind {
            joined.push_str(text);
            span = span.to(self.peek().span);
            self.take();
        }
        Expr { kind: ExprKind::String(joined), span }
    }
}
