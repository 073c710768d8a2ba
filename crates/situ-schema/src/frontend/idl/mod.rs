//! The front end for OMG IDL 4.2.

mod condition;
mod expression;
mod lexer;
mod literal;
mod overlay;
mod parser;
mod preprocessor;

pub(crate) use literal::{list_literal, number_or_bool};
pub(crate) use overlay::parse_overlay;
pub(crate) use parser::parse;
pub(crate) use preprocessor::{Included, Includes, preprocess};
