//! `situ gen`: code for message definitions.

use std::fs;
use std::path::Path;

use serde::Serialize;
use situ_schema::Schema;
use situ_schema::generate::{self, Options};

use super::{Context, schema};
use crate::cli::{GenArgs, Language};
use crate::error::CliError;

#[derive(Serialize)]
struct Generated {
    files: Vec<String>,
    changed: usize,
}

/// Generates and writes. Files that would not change are left alone, so that builds do not start over.
pub fn run(context: &Context, arguments: &GenArgs) -> Result<(), CliError> {
    let schema = schema::load(&arguments.sources)?;
    let language = match arguments.lang {
        Language::Rust => generate::Language::Rust,
        Language::Cpp => generate::Language::Cpp,
        Language::Rclrs => generate::Language::Rclrs,
    };
    let mut generated = Generated { files: Vec::new(), changed: 0 };
    let mut options = Options { roots: arguments.sources.include.clone(), ..Options::new(language) };
    if let Some(folder) = &arguments.layout {
        let fail = |e| CliError::Failed(format!("{}: {e}", folder.display()));
        let folder = folder.canonicalize().map_err(fail)?;
        options.layout_dependency = format!("{{ path = {:?} }}", folder.display().to_string());
    }
    if language == generate::Language::Rclrs {
        check_packages(&schema)?;
    }
    for file in generate::generate(&schema, &options) {
        let path = arguments.out.join(&file.path);
        generated.changed += usize::from(write(&path, &file.text)?);
        generated.files.push(path.display().to_string());
    }
    if let Some(path) = &arguments.depfile {
        write(path, &depfile(&schema, path))?;
    }
    let output = &context.output;
    if output.is_json() {
        return Ok(output.record(&generated)?);
    }
    let unchanged = generated.files.len() - generated.changed;
    Ok(output.line(format!(
        "{} file(s) written to {}, {unchanged} unchanged.",
        generated.changed,
        arguments.out.display()
    ))?)
}

/// Fails if there is nothing to make a crate of, or if actions lack what they need.
fn check_packages(schema: &Schema) -> Result<(), CliError> {
    let is_ros = |name: &str| matches!(name.split("::").nth(1), Some("msg" | "srv" | "action"));
    if !schema.definitions().any(|(_, it)| is_ros(it.name.as_str())) {
        return Err(CliError::Failed(
            "no ROS packages: their types lie in modules such as std_msgs::msg; name some with --ros".into(),
        ));
    }
    if !schema.actions().is_empty() && schema.find("action_msgs::srv::CancelGoal_Request").is_none() {
        return Err(CliError::Failed(
            "actions need the service that cancels their goals: add --ros action_msgs".into(),
        ));
    }
    Ok(())
}

/// The files that the schema was read from, in the format of make.
fn depfile(schema: &Schema, path: &Path) -> String {
    let escaped = |path: &Path| path.display().to_string().replace(' ', "\\ ").replace('$', "$$");
    let mut text = format!("{}:", escaped(&path.with_extension("")));
    // What comes with Situ is no file.
    let files = schema.sources().iter().map(|(_, it)| it.path.as_path()).filter(|it| it.is_file());
    for file in files {
        text.push_str(" \\\n  ");
        text.push_str(&escaped(&file.canonicalize().unwrap_or_else(|_| file.to_owned())));
    }
    text.push('\n');
    text
}

fn write(path: &Path, text: &str) -> Result<bool, CliError> {
    if fs::read_to_string(path).is_ok_and(|old| old == text) {
        return Ok(false);
    }
    let fail = |e| CliError::Failed(format!("cannot write {}: {e}", path.display()));
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(fail)?;
    }
    fs::write(path, text).map_err(fail)?;
    Ok(true)
}
