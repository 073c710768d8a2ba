//! Any text as the value of a message; what can be read is printed and read again.
#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use situ_schema::dynamic::{self, PrintOptions};
use situ_schema::{Format, Loader, Schema};

fn kitchen() -> &'static Schema {
    static KITCHEN: OnceLock<Schema> = OnceLock::new();
    KITCHEN.get_or_init(|| {
        let text = include_str!("../../spec/vectors/kitchen.idl");
        Loader::new().sealed().text("kitchen.idl", text, Format::Idl).load().unwrap()
    })
}

fuzz_target!(|text: &str| {
    let schema = kitchen();
    for name in ["kitchen::Primitives", "kitchen::Containers", "kitchen::Unions", "kitchen::Heaped"] {
        let id = schema.find(name).unwrap();
        let Ok(value) = dynamic::from_text(schema, id, text) else { continue };
        let printed = value.to_yaml(&PrintOptions::default());
        let again = dynamic::from_text(schema, id, &printed)
            .unwrap_or_else(|error| panic!("{name}: {error}\n{printed}"));
        assert_eq!(again.to_yaml(&PrintOptions::default()), printed);
        let json = value.to_json();
        let floats = json.contains("null");
        assert!(dynamic::from_text(schema, id, &json).is_ok() || floats, "{json}");
    }
});
