//! A plugin of protoc.

use prost::Message as _;

use super::codegen::generate;
use super::error::ProtoError;
use super::frontend::descriptor::{self, Generated, Request, Response};
use super::model::Model;
use crate::codegen::{GeneratedFile, Language, Options};

/// Features that the plugin reports to protoc: `optional` in proto3, and editions.
const PROTO3_OPTIONAL: u64 = 1;
const SUPPORTS_EDITIONS: u64 = 2;
/// protoc's number for proto2.
const EDITION_PROTO2: i32 = 998;

/// Answers an encoded `CodeGeneratorRequest` of protoc with an encoded `CodeGeneratorResponse`. Options:
/// `lang=cpp` (the default) or `lang=rust`, and `namespace=<name>` around everything.
pub fn answer_protoc(request: &[u8]) -> Vec<u8> {
    let mut response = Response {
        supported_features: Some(PROTO3_OPTIONAL | SUPPORTS_EDITIONS),
        minimum_edition: Some(EDITION_PROTO2),
        maximum_edition: Some(descriptor::EDITION_2024),
        ..Response::default()
    };
    match plugin(request) {
        Ok(files) => {
            response.file = files
                .into_iter()
                .map(|file| Generated {
                    name: Some(file.path.to_string_lossy().into_owned()),
                    content: Some(file.text),
                })
                .collect();
        }
        Err(error) => response.error = Some(error.render(false)),
    }
    response.encode_to_vec()
}

fn plugin(request: &[u8]) -> Result<Vec<GeneratedFile>, ProtoError> {
    let request = Request::decode(request)?;
    let (mut language, mut namespace) = (Language::Cpp, "");
    let parameter = request.parameter.as_deref().unwrap_or("");
    for option in parameter.split(',').map(str::trim).filter(|it| !it.is_empty()) {
        match option.split_once('=') {
            Some(("lang", "cpp")) => language = Language::Cpp,
            Some(("lang", "rust")) => language = Language::Rust,
            Some(("namespace", name)) => namespace = name,
            _ => return Err(ProtoError::Option { option: option.to_owned() }),
        }
    }
    let wanted = |name: &str| request.file_to_generate.iter().any(|it| it == name);
    let model = Model::new(&request.proto_file, namespace)?;
    generate(&model, &wanted, &Options::new(language))
}

#[cfg(test)]
mod tests {
    use super::descriptor::{Field, File, MessageOptions, MessageType};
    use super::*;

    /// The plugin's response to a file with one message and an extension.
    fn answer(language: &str, field: Field, extension: Field, is_map_entry: bool) -> Response {
        let options = Some(MessageOptions { map_entry: is_map_entry, ..Default::default() });
        let message = MessageType { name: "M".into(), field: vec![field], options, ..Default::default() };
        let file = File {
            name: "m.proto".into(),
            message_type: vec![message],
            extension: vec![extension],
            syntax: "proto2".into(),
            ..Default::default()
        };
        let request = Request {
            file_to_generate: vec!["m.proto".into()],
            parameter: Some(format!("lang={language}")),
            proto_file: vec![file],
        };
        Response::decode(answer_protoc(&request.encode_to_vec()).as_slice()).expect("it is a response")
    }

    #[test]
    fn descriptors_that_no_protoc_makes_are_refused() {
        let field = |name: &str, kind, type_name: &str, extendee: &str| Field {
            name: name.into(),
            number: 1,
            label: 1,
            r#type: kind,
            type_name: type_name.into(),
            extendee: extendee.into(),
            ..Default::default()
        };
        let (plain, message, group) = (5, 11, 10);
        for language in ["cpp", "rust"] {
            let good =
                answer(language, field("a", message, ".M", ""), field("größe_ä", group, ".M", ".M"), false);
            assert_eq!(good.error, None);
            for (own, extension, is_map_entry) in [
                (field("a", message, ".Nobody", ""), field("b", plain, "", ".M"), false),
                (field("a", message, "", ""), field("b", plain, "", ".M"), false),
                (field("a", plain, "", ""), field("b", plain, "", ".Nobody"), false),
                (field("a", plain, "", ""), field("b", plain, "", ".M"), true),
            ] {
                let error = answer(language, own, extension, is_map_entry).error.expect("it is refused");
                assert!(error.contains("m.proto: the descriptor of"), "{error}");
            }
        }
    }
}
