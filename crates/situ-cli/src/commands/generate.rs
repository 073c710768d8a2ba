//! `situ gen`: code for message definitions.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;
use situ_schema::Schema;
use situ_schema::generate::{self, GeneratedFile, Options};
use situ_schema::proto::{ProtoBuild, ProtoError};

use super::{Context, schema};
use crate::cli::{GenArgs, Language, SourceArgs};
use crate::error::CliError;

#[derive(Serialize)]
struct Generated {
    files: Vec<String>,
    changed: usize,
}

/// Generates and writes. Files that would not change are left alone, so that builds do not start over.
pub fn run(context: &Context, arguments: &GenArgs) -> Result<(), CliError> {
    let language = match arguments.lang {
        Language::Rust => generate::Language::Rust,
        Language::Cpp => generate::Language::Cpp,
        Language::Rclrs => generate::Language::Rclrs,
        Language::RosEnv => generate::Language::RosEnv,
    };
    if arguments.namespace.is_some() && language != generate::Language::Cpp {
        return Err(CliError::Usage(
            "--namespace is for --lang cpp; in Rust, put the `include!` of the file into a module".into(),
        ));
    }
    let is_protobuf = |path: &PathBuf| path.extension().is_some_and(|it| it == "proto");
    let (files, read) = if arguments.sources.files.iter().any(is_protobuf) {
        protobuf(arguments, language)?
    } else {
        definitions(arguments, language)?
    };
    let mut generated = Generated { files: Vec::new(), changed: 0 };
    for mut file in files {
        let path = arguments.out.join(&file.path);
        // One file holds all Rust types of a call, whatever their files are called.
        if arguments.lang == Language::Rust {
            let origin = origin(&arguments.sources);
            if !arguments.force {
                check_replaced(&path, &origin)?;
            }
            file.text.insert_str(0, &format!("{ORIGIN}{origin}\n"));
        }
        generated.changed += usize::from(write(&path, &file.text)?);
        generated.files.push(path.display().to_string());
    }
    if let Some(path) = &arguments.depfile {
        write(path, &depfile(&read, path))?;
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

/// What begins the line that says of what a file of Rust types was made.
const ORIGIN: &str = "// situ gen --lang rust ";

/// What types are made of, as it was named in the call: without folders, so that it may be named from anywhere.
fn origin(sources: &SourceArgs) -> String {
    let files =
        sources.files.iter().filter_map(|file| Some(file.file_name()?.to_string_lossy().into_owned()));
    let packages = sources.ros.iter().map(|package| format!("--ros {package}"));
    let mut named: Vec<String> = files.chain(packages).collect();
    named.sort();
    named.join(" ").replace(char::is_control, "?")
}

/// Fails if a file is there that is not Situ's, or that was made of something else.
fn check_replaced(path: &Path, origin: &str) -> Result<(), CliError> {
    let Ok(old) = fs::read_to_string(path) else { return Ok(()) };
    let path = path.display();
    match old.lines().next().and_then(|line| line.strip_prefix(ORIGIN)) {
        Some(before) if before == origin => Ok(()),
        Some(before) => Err(CliError::Failed(format!(
            "{path} holds the types of {before}, which this call would replace by those of {origin}; name all in one call, write to \
             another folder with --out, or replace it with --force"
        ))),
        None => Err(CliError::Failed(format!(
            "{path} was not written by `situ gen --lang rust`; write to another folder with --out, or replace it with --force"
        ))),
    }
}

/// Code for message definitions in IDL and of ROS, and the files that were read.
fn definitions(
    arguments: &GenArgs,
    language: generate::Language,
) -> Result<(Vec<GeneratedFile>, Vec<PathBuf>), CliError> {
    let schema = schema::load(&arguments.sources)?;
    let mut options = Options { roots: arguments.sources.include.clone(), ..Options::new(language) };
    options.only.clone_from(&arguments.only);
    options.namespace = arguments.namespace.clone().unwrap_or_default();
    if let Some(folder) = &arguments.layout {
        let fail = |e| CliError::Failed(format!("{}: {e}", folder.display()));
        let folder = folder.canonicalize().map_err(fail)?;
        options.layout_dependency = format!("{{ path = {:?} }}", folder.display().to_string());
    }
    if matches!(language, generate::Language::Rclrs | generate::Language::RosEnv) {
        check_packages(&schema)?;
    }
    let obstacle =
        (language == generate::Language::RosEnv).then(|| generate::ros_env_obstacle(&schema)).flatten();
    if let Some(obstacle) = obstacle {
        return Err(CliError::Failed(obstacle));
    }
    Ok((generate::generate(&schema, &options), files_of(&schema)))
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

/// Code for `.proto` files, which are not mixed with others, and the files that were read.
fn protobuf(
    arguments: &GenArgs,
    language: generate::Language,
) -> Result<(Vec<GeneratedFile>, Vec<PathBuf>), CliError> {
    let sources = &arguments.sources;
    if !sources.ros.is_empty() || sources.files.iter().any(|it| it.extension().is_none_or(|it| it != "proto"))
    {
        return Err(CliError::Usage(
            ".proto files are generated by themselves; run the command twice".into(),
        ));
    }
    let build = sources.include.iter().fold(ProtoBuild::new(), ProtoBuild::include);
    let build = sources.files.iter().fold(build, ProtoBuild::file);
    let build = arguments.namespace.iter().fold(build, ProtoBuild::namespace);
    build.generate(language).map_err(|error| match error {
        ProtoError::Schema(error) => CliError::Schema(error),
        other => CliError::Failed(other.to_string()),
    })
}

/// The files that a schema was read from; what comes with Situ is no file.
fn files_of(schema: &Schema) -> Vec<PathBuf> {
    schema.sources().iter().map(|(_, it)| it.path.clone()).filter(|it| it.is_file()).collect()
}

/// The files that were read, in the format of make.
fn depfile(files: &[PathBuf], path: &Path) -> String {
    let escaped = |path: &Path| path.display().to_string().replace(' ', "\\ ").replace('$', "$$");
    let mut text = format!("{}:", escaped(&path.with_extension("")));
    for file in files {
        text.push_str(" \\\n  ");
        text.push_str(&escaped(&file.canonicalize().unwrap_or_else(|_| file.clone())));
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
