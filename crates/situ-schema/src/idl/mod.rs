//! The front end for OMG IDL 4.2.

mod condition;
mod expression;
mod lexer;
mod literal;
mod parser;
mod preprocessor;
mod side;

pub(crate) use literal::{list_literal, number_or_bool};
pub(crate) use parser::parse;
pub(crate) use preprocessor::{Included, Includes, preprocess};
pub(crate) use side::parse_side;
