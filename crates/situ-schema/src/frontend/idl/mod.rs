//! The front end for OMG IDL 4.2.
//!
//! ```text
//!   preprocessor  includes, guards, conditions and simple macros
//!   condition     the conditions of `#if` and `#elif`
//!   lexer         tokens: identifiers, literals, signs, comments
//!   parser        parses tokens to declarations
//!   interface     the operations of interfaces
//!   inherit       the operations that interfaces inherit
//!   expression    constant expressions
//!   literal       lists in the text of `@default`
//!   overlay       the grammar of overlay files
//! ```

mod condition;
mod expression;
mod inherit;
mod interface;
mod lexer;
mod literal;
mod overlay;
mod parser;
mod preprocessor;

pub(crate) use inherit::inherit;
pub(crate) use literal::{list_literal, number_or_bool};
pub(crate) use overlay::parse_overlay;
pub(crate) use parser::parse;
pub(crate) use preprocessor::{Included, Includes, preprocess};
