//! Any text as a ROS message, service and action.
#![no_main]

use libfuzzer_sys::fuzz_target;
use situ_schema::{Format, Loader};

fuzz_target!(|text: &str| {
    for (name, format) in
        [("p/msg/A.msg", Format::Msg), ("p/srv/A.srv", Format::Srv), ("p/action/A.action", Format::Action)]
    {
        match Loader::new().sealed().service_events(true).text(name, text, format).load() {
            Ok(schema) => assert!(schema.definitions().len() > 0),
            Err(error) => assert!(!error.render(false).is_empty()),
        }
    }
});
