//! Generates code for the files of a model, in any language.

use super::error::ProtoError;
use super::model::Model;
use super::{cpp, rust};
use crate::codegen::{GeneratedFile, Language, Options};

pub fn generate(
    model: &Model,
    wanted: &dyn Fn(&str) -> bool,
    options: &Options,
) -> Result<Vec<GeneratedFile>, ProtoError> {
    Ok(match options.language {
        Language::Rclrs | Language::RosEnv => return Err(ProtoError::NotForRos),
        Language::C => return Err(ProtoError::NotForC),
        Language::Python => return Err(ProtoError::NotForPython),
        Language::Rust => vec![rust::generate(model, options)],
        Language::Cpp => {
            let names = cpp::Names::new(model)?;
            let files = model.files.iter().filter(|file| wanted(&file.name));
            files.map(|file| cpp::generate(&names, file)).collect()
        }
    })
}
