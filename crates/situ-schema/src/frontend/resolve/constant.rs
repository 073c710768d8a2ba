//! Constants: evaluates expressions and fits values to types. All arithmetic is checked.

use super::{Resolved, Resolver, Symbol};
use crate::frontend::ast::{BinaryOperator, Declaration, Expr, ExprKind, ScopedName, TypeRef};
use crate::frontend::idl::list_literal;
use crate::model::{Constant, Kind, Literal, Name, Primitive, Type, TypeId};
use crate::source::Span;
use crate::source::diagnostic::Diagnostic;

/// A value in an expression.
#[derive(Debug, Clone)]
enum Value {
    Integer(i128),
    Float(f64),
    Bool(bool),
    Char(char),
    String(String),
    Enumerator(TypeId, usize),
    List(Vec<Expr>),
}

impl Value {
    fn word(&self) -> &'static str {
        match self {
            Self::Integer(_) => "an integer",
            Self::Float(_) => "a floating-point number",
            Self::Bool(_) => "a boolean",
            Self::Char(_) => "a character",
            Self::String(_) => "a string",
            Self::Enumerator(..) => "an enumerator",
            Self::List(_) => "a list",
        }
    }
}

fn overflow(span: Span) -> Box<Diagnostic> {
    Box::new(
        Diagnostic::new("this expression overflows", span, "here")
            .help("no integer type of IDL holds more than 64 bits; use smaller numbers"),
    )
}

fn integers(operator: BinaryOperator, left: i128, right: i128, span: Span) -> Resolved<i128> {
    let shift = || match u32::try_from(right) {
        Ok(distance) if distance < 64 => Ok(distance),
        _ => Err(Box::new(
            Diagnostic::new(format!("cannot shift by {right}"), span, "here").help("shift by 0 to 63 bits"),
        )),
    };
    let value = match operator {
        BinaryOperator::Or => Some(left | right),
        BinaryOperator::Xor => Some(left ^ right),
        BinaryOperator::And => Some(left & right),
        BinaryOperator::ShiftLeft => left.checked_mul(1i128 << shift()?),
        BinaryOperator::ShiftRight => Some(left >> shift()?),
        BinaryOperator::Add => left.checked_add(right),
        BinaryOperator::Subtract => left.checked_sub(right),
        BinaryOperator::Multiply => left.checked_mul(right),
        BinaryOperator::Divide | BinaryOperator::Remainder if right == 0 => {
            return Err(Box::new(
                Diagnostic::new("division by zero", span, "here").help("divide by another number"),
            ));
        }
        BinaryOperator::Divide => left.checked_div(right),
        BinaryOperator::Remainder => left.checked_rem(right),
    };
    value.ok_or_else(|| overflow(span))
}

fn floats(operator: BinaryOperator, left: f64, right: f64) -> Option<f64> {
    Some(match operator {
        BinaryOperator::Add => left + right,
        BinaryOperator::Subtract => left - right,
        BinaryOperator::Multiply => left * right,
        BinaryOperator::Divide => left / right,
        _ => return None,
    })
}

impl Resolver<'_> {
    /// The type of a value of `ty`, typedefs resolved; `None` if a typedef is not known (yet).
    fn target<'t>(&'t self, mut ty: &'t Type) -> Option<&'t Type> {
        // Typedefs refer only to earlier ones, so this ends.
        while let Type::Named(id) = ty {
            match &self.definitions[id.index()].as_ref()?.kind {
                Kind::Alias(target) => ty = target,
                _ => break,
            }
        }
        Some(ty)
    }

    fn named(&self, name: &ScopedName, scope: &[String], target: Option<&Type>) -> Resolved<Value> {
        if let (Some(Type::Named(id)), [only]) = (target, name.parts.as_slice()) {
            match self.definitions[id.index()].as_ref().map(|it| &it.kind) {
                Some(Kind::Enum(it)) => {
                    if let Some(at) = it.enumerators.iter().position(|it| it.name == *only) {
                        return Ok(Value::Enumerator(*id, at));
                    }
                }
                Some(Kind::Bitmask(it)) => {
                    if let Some(flag) = it.flags.iter().find(|it| it.name == *only) {
                        return Ok(Value::Integer(1 << flag.position));
                    }
                }
                _ => {}
            }
        }
        let too_early = || {
            Box::new(
                Diagnostic::new(
                    format!("`{}` is used before it is declared", name.text()),
                    name.span,
                    "here",
                )
                .help("move its declaration before this one"),
            )
        };
        match self.find(name, scope) {
            Some(Symbol::Constant(at)) => Ok(match &self.constants.get(at).ok_or_else(too_early)?.value {
                Literal::Bool(value) => Value::Bool(*value),
                Literal::Integer(value) => Value::Integer(*value),
                Literal::Float(value) => Value::Float(*value),
                Literal::String(value) => Value::String(value.clone()),
                Literal::Enumerator { of, index } => Value::Enumerator(*of, *index),
                Literal::List(_) => return Err(too_early()),
            }),
            Some(Symbol::Enumerator(of, at)) => Ok(Value::Enumerator(of, at)),
            Some(Symbol::Flag(of, at)) => match self.definitions[of.index()].as_ref().map(|it| &it.kind) {
                Some(Kind::Bitmask(it)) => Ok(Value::Integer(1 << it.flags[at].position)),
                _ => Err(too_early()),
            },
            Some(Symbol::Module | Symbol::Interface | Symbol::Service | Symbol::Type(_)) => Err(Box::new(
                Diagnostic::new(format!("`{}` is not a value", name.text()), name.span, "here")
                    .help("use a constant, an enumerator or a literal"),
            )),
            None if is_float(target)
                && matches!(name.parts.as_slice(), [it] if it == "inf" || it == "nan") =>
            {
                Ok(Value::Float(if name.parts[0] == "inf" { f64::INFINITY } else { f64::NAN }))
            }
            None => {
                let help = "declare it before this, or #include the file that does";
                Err(self.unknown(name, "constant", help, |it| {
                    matches!(it, Symbol::Constant(_) | Symbol::Enumerator(..) | Symbol::Flag(..))
                }))
            }
        }
    }

    fn evaluate(&self, expr: &Expr, scope: &[String], target: Option<&Type>) -> Resolved<Value> {
        let numbers_only = |value: &Value| {
            Box::new(
                Diagnostic::new(format!("cannot calculate with {}", value.word()), expr.span, "here")
                    .help("operators take integers and floating-point numbers"),
            )
        };
        Ok(match &expr.kind {
            ExprKind::Integer(value) => Value::Integer(*value),
            ExprKind::Float(value) => Value::Float(*value),
            ExprKind::Bool(value) => Value::Bool(*value),
            ExprKind::Char(value) => Value::Char(*value),
            ExprKind::String(value) => Value::String(value.clone()),
            ExprKind::List(elements) => Value::List(elements.clone()),
            ExprKind::Name(name) => self.named(name, scope, target)?,
            ExprKind::Unary(sign, operand) => match (sign, self.evaluate(operand, scope, target)?) {
                ('+', value @ (Value::Integer(_) | Value::Float(_))) => value,
                ('-', Value::Integer(value)) => {
                    Value::Integer(value.checked_neg().ok_or_else(|| overflow(expr.span))?)
                }
                ('-', Value::Float(value)) => Value::Float(-value),
                ('~', Value::Integer(value)) => Value::Integer(match self.unsigned_maximum(target) {
                    Some(maximum) if value >= 0 => maximum ^ value,
                    _ => !value,
                }),
                (_, other) => return Err(numbers_only(&other)),
            },
            ExprKind::Binary(operator, left, right) => {
                let left = self.evaluate(left, scope, target)?;
                let right = self.evaluate(right, scope, target)?;
                match (&left, &right) {
                    (Value::Integer(left), Value::Integer(right)) => {
                        Value::Integer(integers(*operator, *left, *right, expr.span)?)
                    }
                    (Value::Integer(_) | Value::Float(_), Value::Integer(_) | Value::Float(_)) => {
                        let number = |value: &Value| match value {
                            Value::Integer(value) => *value as f64,
                            Value::Float(value) => *value,
                            _ => f64::NAN,
                        };
                        match floats(*operator, number(&left), number(&right)) {
                            Some(value) => Value::Float(value),
                            None => return Err(numbers_only(&Value::Float(0.0))),
                        }
                    }
                    (Value::Integer(_) | Value::Float(_), other) | (other, _) => {
                        return Err(numbers_only(other));
                    }
                }
            }
        })
    }

    /// The largest value of an unsigned integer type or bitmask.
    fn unsigned_maximum(&self, target: Option<&Type>) -> Option<i128> {
        let primitive = match target? {
            Type::Primitive(primitive) => *primitive,
            Type::Named(id) => match &self.definitions[id.index()].as_ref()?.kind {
                Kind::Bitmask(it) => return Some((1i128 << it.bit_bound) - 1),
                _ => return None,
            },
            _ => return None,
        };
        primitive.integer_range().filter(|(smallest, _)| *smallest == 0).map(|(_, largest)| largest)
    }

    /// An integer.
    pub(super) fn integer(&self, expr: &Expr, scope: &[String]) -> Resolved<i128> {
        match self.evaluate(expr, scope, None)? {
            Value::Integer(value) => Ok(value),
            other => Err(Box::new(
                Diagnostic::new(format!("expected an integer, found {}", other.word()), expr.span, "here")
                    .help("write an integer, or the name of an integer constant"),
            )),
        }
    }

    /// The bound of a string, sequence or map, or the length of an array.
    pub(super) fn bound(&self, expr: &Expr, scope: &[String], what: &str) -> Resolved<u32> {
        let value = self.integer(expr, scope)?;
        match u32::try_from(value) {
            // A string's terminating zero must fit as well.
            Ok(bound) if bound > 0 && bound < u32::MAX => Ok(bound),
            _ => Err(Box::new(
                Diagnostic::new(format!("{value} cannot be the {what}"), expr.span, "out of range")
                    .help(format!("the range is 1 to {}", u32::MAX - 1)),
            )),
        }
    }

    pub(super) fn constant(
        &self,
        declaration: &Declaration,
        ty: &TypeRef,
        value: &Expr,
    ) -> Resolved<Constant> {
        let scope = &declaration.scope;
        let written = self.type_of(ty, scope)?;
        let simple = match self.target(&written) {
            Some(Type::Primitive(_) | Type::String { .. } | Type::WString { .. }) => true,
            Some(Type::Named(id)) => matches!(
                self.definitions[id.index()].as_ref().map(|it| &it.kind),
                Some(Kind::Enum(_) | Kind::Bitmask(_))
            ),
            _ => false,
        };
        if !simple {
            return Err(Box::new(
                Diagnostic::new("a constant cannot be of this type", ty.span, "here")
                    .help("constants are numbers, booleans, characters, strings, enumerators or bitmasks"),
            ));
        }
        let (docs, _) = super::annotations::split_docs(&declaration.prefix);
        Ok(Constant {
            name: Name::new(super::full_name(scope, &declaration.name.text)),
            value: self.literal(value, &written, scope)?,
            ty: written,
            docs,
            span: declaration.name.span,
        })
    }

    /// A value, fitted to its type.
    pub(super) fn literal(&self, expr: &Expr, ty: &Type, scope: &[String]) -> Resolved<Literal> {
        let Some(target) = self.target(ty) else {
            return Err(Box::new(
                Diagnostic::new("the type of this value is used before it is defined", expr.span, "here")
                    .help("move the definition of the type before this"),
            ));
        };
        let value = self.evaluate(expr, scope, Some(target))?;
        match target {
            Type::Primitive(primitive) => primitive_literal(*primitive, &value, expr.span),
            Type::String { bound } => string_literal(value, *bound, str::len, "bytes", expr.span),
            Type::WString { bound } => {
                string_literal(value, *bound, |text| text.encode_utf16().count(), "UTF-16 units", expr.span)
            }
            Type::Sequence { element, bound } => {
                let elements = elements(value, expr.span)?;
                if bound.is_some_and(|bound| elements.len() > bound as usize) {
                    return Err(wrong_count(elements.len(), "at most", bound.unwrap_or(0).into(), expr.span));
                }
                self.list(&elements, element, scope)
            }
            Type::Array { .. } => {
                let (mut element, mut count) = (target, 1u64);
                while let Some(Type::Array { element: inner, dimensions }) = self.target(element) {
                    count = count.saturating_mul(Type::element_count(dimensions).unwrap_or(u64::MAX));
                    element = inner;
                }
                let elements = elements(value, expr.span)?;
                if elements.len() as u64 != count {
                    return Err(wrong_count(elements.len(), "exactly", count, expr.span));
                }
                self.list(&elements, element, scope)
            }
            Type::Map { .. } => Err(no_literal("a map", expr.span)),
            Type::Named(id) => self.named_literal(*id, &value, expr.span),
        }
    }

    fn list(&self, elements: &[Expr], element: &Type, scope: &[String]) -> Resolved<Literal> {
        elements.iter().map(|it| self.literal(it, element, scope)).collect::<Resolved<_>>().map(Literal::List)
    }

    fn named_literal(&self, id: TypeId, value: &Value, span: Span) -> Resolved<Literal> {
        let Some(definition) = self.definitions[id.index()].as_ref() else {
            return Err(no_literal("a struct or union", span));
        };
        match (&definition.kind, value) {
            (Kind::Enum(_), Value::Enumerator(of, index)) if *of == id => {
                Ok(Literal::Enumerator { of: *of, index: *index })
            }
            (Kind::Enum(it), _) => {
                let names: Vec<&str> = it.enumerators.iter().take(8).map(|it| it.name.as_str()).collect();
                Err(Box::new(
                    Diagnostic::new(
                        format!("this is not a value of the enum `{}`", definition.name),
                        span,
                        "here",
                    )
                    .help(format!("write one of {}", names.join(", "))),
                ))
            }
            (Kind::Bitmask(it), Value::Integer(value)) if *value >= 0 && *value >> it.bit_bound == 0 => {
                Ok(Literal::Integer(*value))
            }
            (Kind::Bitmask(it), _) => Err(Box::new(
                Diagnostic::new(
                    format!("this is not a value of the bitmask `{}`", definition.name),
                    span,
                    "here",
                )
                .help(format!("write flags joined by `|`, or an integer of {} bits", it.bit_bound)),
            )),
            _ => Err(no_literal("a struct or union", span)),
        }
    }
}

fn is_float(target: Option<&Type>) -> bool {
    matches!(target, Some(Type::Primitive(primitive)) if primitive.is_float())
}

fn no_literal(what: &str, span: Span) -> Box<Diagnostic> {
    Box::new(
        Diagnostic::new(format!("{what} cannot be written as a value"), span, "here")
            .help("give defaults to the members of the type instead"),
    )
}

fn elements(value: Value, span: Span) -> Resolved<Vec<Expr>> {
    let list = match value {
        Value::List(elements) => Some(elements),
        Value::String(text) => list_literal(&text, span),
        _ => None,
    };
    list.ok_or_else(|| {
        Box::new(
            Diagnostic::new("this is not a list", span, "here")
                .help("write the elements in parentheses, in a string: `\"(1, 2, 3)\"`"),
        )
    })
}

fn wrong_count(found: usize, relation: &str, wanted: u64, span: Span) -> Box<Diagnostic> {
    Box::new(
        Diagnostic::new(format!("{found} elements, but there must be {relation} {wanted}"), span, "here")
            .help(format!("write {relation} {wanted} elements")),
    )
}

fn primitive_literal(primitive: Primitive, value: &Value, span: Span) -> Resolved<Literal> {
    let name = primitive.idl();
    let mismatch = || {
        let wanted = match primitive {
            Primitive::Bool => "write TRUE or FALSE",
            Primitive::Char8 | Primitive::WChar => "write a character such as 'a'",
            it if it.is_float() => "write a number",
            _ => "write an integer",
        };
        let message = format!("{} is not a value of the type {name}", value.word());
        Box::new(Diagnostic::new(message, span, "here").help(wanted))
    };
    match (primitive, value) {
        (Primitive::Bool, Value::Bool(value)) => Ok(Literal::Bool(*value)),
        (Primitive::Bool, _) | (_, Value::Bool(_)) => Err(mismatch()),
        (Primitive::F32 | Primitive::F64, Value::Integer(_) | Value::Float(_)) => {
            let wide = match value {
                Value::Integer(value) => *value as f64,
                Value::Float(value) => *value,
                _ => return Err(mismatch()),
            };
            let rounded = if primitive == Primitive::F32 { f64::from(wide as f32) } else { wide };
            if wide.is_finite() && rounded.is_infinite() {
                let help = "use `double`, or a smaller number";
                let message = format!("{wide:e} is too large for the type {name}");
                return Err(Box::new(Diagnostic::new(message, span, "here").help(help)));
            }
            Ok(Literal::Float(rounded))
        }
        (Primitive::F32 | Primitive::F64, _) => Err(mismatch()),
        (Primitive::Char8 | Primitive::WChar, Value::Integer(_) | Value::Char(_))
        | (_, Value::Integer(_)) => {
            let value = match value {
                Value::Integer(value) => *value,
                Value::Char(value) => i128::from(u32::from(*value)),
                _ => return Err(mismatch()),
            };
            let (smallest, largest) = primitive.integer_range().unwrap_or((0, 0));
            if value < smallest || value > largest {
                let help = format!("the range is {smallest} to {largest}");
                let message = format!("{value} does not fit the type {name}");
                return Err(Box::new(Diagnostic::new(message, span, "here").help(help)));
            }
            Ok(Literal::Integer(value))
        }
        _ => Err(mismatch()),
    }
}

fn string_literal(
    value: Value,
    bound: Option<u32>,
    length: fn(&str) -> usize,
    unit: &str,
    span: Span,
) -> Resolved<Literal> {
    let Value::String(text) = value else {
        let message = format!("{} is not a string", value.word());
        return Err(Box::new(Diagnostic::new(message, span, "here").help("write text in double quotes")));
    };
    if text.contains('\0') {
        let help = "strings end at the first zero in C; leave it out";
        return Err(Box::new(
            Diagnostic::new("a string cannot hold a zero character", span, "here").help(help),
        ));
    }
    let found = length(&text);
    match bound {
        Some(bound) if found > bound as usize => Err(Box::new(
            Diagnostic::new(
                format!("this string has {found} {unit}, its type holds {bound}"),
                span,
                "too long",
            )
            .help("shorten it, or give the type a larger bound"),
        )),
        _ => Ok(Literal::String(text)),
    }
}
