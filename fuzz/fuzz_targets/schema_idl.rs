//! Any text as IDL. A rejection has a reason. A schema that loads has a canonical text, which loads to the
//! same types.
#![no_main]

use libfuzzer_sys::fuzz_target;
use situ_schema::{Schema, diff};

fuzz_target!(|text: &str| {
    let schema = match Schema::from_idl(text) {
        Ok(schema) => schema,
        Err(error) => {
            assert!(!error.render(false).is_empty());
            return;
        }
    };
    for (id, definition) in schema.definitions().take(16) {
        if definition.kind.word() == "typedef" {
            continue;
        }
        let text = schema.canonical(id);
        let again = Schema::from_idl(&text).unwrap_or_else(|error| panic!("{text}\n{}", error.render(false)));
        let same = again.find(definition.name.as_str()).expect("the type is in its canonical text");
        assert_eq!(again.canonical(same), text);
        assert_eq!(again.layout_description(same), schema.layout_description(id));
        assert_eq!(diff((&schema, id), (&again, same)), None);
    }
});
