//! Any bytes as a message of every type of the vectors, in CDR and in the form in memory. A message that can
//! be read is written and read again.
#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use situ_schema::dynamic::{self, PrintOptions};
use situ_schema::model::TypeId;
use situ_schema::{Format, Loader, Schema};
use situ_wire::Encoding;

fn kitchen() -> &'static (Schema, Vec<TypeId>) {
    static KITCHEN: OnceLock<(Schema, Vec<TypeId>)> = OnceLock::new();
    KITCHEN.get_or_init(|| {
        let text = include_str!("../../spec/vectors/kitchen.idl");
        let schema = Loader::new().sealed().text("kitchen.idl", text, Format::Idl).load().unwrap();
        let structs = schema.definitions().filter(|(_, it)| it.kind.as_struct().is_some());
        let structs = structs.map(|(id, _)| id).collect();
        (schema, structs)
    })
}

fuzz_target!(|bytes: &[u8]| {
    let Some((choice, bytes)) = bytes.split_first() else { return };
    let (schema, structs) = kitchen();
    let id = structs[usize::from(*choice) % structs.len()];
    if let Ok(value) = dynamic::from_cdr(schema, id, bytes) {
        let _ = value.to_yaml(&PrintOptions { max_elements: Some(8), max_text: Some(8) });
        if let Ok(written) = dynamic::to_cdr(schema, id, &value, Encoding::Xcdr2) {
            let again = dynamic::from_cdr(schema, id, &written).unwrap();
            // Compares the text, because a NaN is not equal to itself.
            assert_eq!(again.to_yaml(&PrintOptions::default()), value.to_yaml(&PrintOptions::default()));
        }
    }
    let size = schema.flat_layout(id).map_or(0, |it| it.extent.size as usize);
    let (head, body) = bytes.split_at(size.min(bytes.len()));
    if let Ok(value) = dynamic::from_flat(schema, id, head, body) {
        let _ = value.to_json();
        if let Ok(written) = dynamic::to_flat(schema, id, &value) {
            let again = dynamic::from_flat(schema, id, &written.head, &written.body).unwrap();
            assert_eq!(again.to_yaml(&PrintOptions::default()), value.to_yaml(&PrintOptions::default()));
        }
    }
});
