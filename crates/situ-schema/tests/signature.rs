//! Canonical texts and hashes against `spec/vectors/signature.json`, which an independent Python script
//! computed.

use situ_schema::{Format, Loader, Schema};

fn load(text: &str) -> Schema {
    let loader = Loader::new().sealed().text("vector.idl", text, Format::Idl);
    loader.load().unwrap_or_else(|error| panic!("{}", error.render(false)))
}

#[test]
fn vectors() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../spec/vectors/signature.json");
    let vectors: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let vectors = vectors["types"].as_array().unwrap();
    assert!(vectors.len() >= 8);
    for vector in vectors {
        let text = |key: &str| vector[key].as_str().unwrap();
        let schema = load(text("idl"));
        let id = schema.find(text("type")).unwrap();
        assert_eq!(schema.canonical(id), text("canonical"), "canonical text of {}", text("type"));
        assert_eq!(schema.identity(id), text("identity"), "identity text of {}", text("type"));
        assert_eq!(schema.layout_description(id).unwrap_or_default(), text("layout"), "{}", text("type"));
        assert_eq!(format!("{:016x}", schema.schema_hash(id)), text("schema_hash"), "{}", text("type"));
        assert_eq!(format!("{:016x}", schema.layout_hash(id)), text("layout_hash"), "{}", text("type"));

        let again = load(&schema.canonical(id));
        let same = again.find(text("type")).unwrap();
        assert_eq!(again.canonical(same), schema.canonical(id));
        assert_eq!(again.schema_hash(same), schema.schema_hash(id));
        assert_eq!(again.layout_hash(same), schema.layout_hash(id));
    }
}
