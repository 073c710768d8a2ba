//! The context that all parts of the generator share.

use super::names::Names;
use crate::codegen::rust::words::raw;
use crate::proto::model::Model;

/// A model, and the names of its elements in generated code.
pub struct Context<'a> {
    /// The model that code is generated for.
    pub model: &'a Model,
    /// The names of all elements.
    pub names: &'a Names<'a>,
    /// The path of the module `protobuf`.
    pub protobuf: String,
}

impl Context<'_> {
    /// A message or enum, as seen from a module.
    pub fn named(&self, name: &str, end: &str, from: &[String]) -> String {
        // The suffix may have a lifetime, which is not part of the name.
        let (end, generics) = end.split_at(end.find('<').unwrap_or(end.len()));
        let up = "super::".repeat(from.len());
        let down: String = self.names.module(name).iter().map(|it| format!("{}::", raw(it))).collect();
        // Without `self::`, the compiler could take the first module for a crate.
        let root = if up.is_empty() && !down.is_empty() { "self::" } else { "" };
        format!("{root}{up}{down}{}{generics}", self.names.simple(name, end))
    }
}
