//! Messages of logs: instants that Perfetto shows on their thread's track and in its list of logs.
//!
//! The text and the place in the source are interned data, because Perfetto's format has no other place for
//! them. Each message has a number of its own there, so that nothing needs to be looked up, and the data is
//! useless without the message's packet.

use super::names::Name;
use crate::proto::{InternedDataWriter, LogMessageWriter, log_message::Priority};

/// How severe a message of a log is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u32)]
pub enum Severity {
    /// Each step of an algorithm. Perfetto calls it verbose.
    Trace = 2,
    /// What only the authors of the program need.
    Debug = 3,
    /// What happens in normal operation.
    Info = 4,
    /// What is unusual, and does not prevent the program's work.
    Warn = 5,
    /// Something failed.
    Error = 6,
    /// The program cannot continue.
    Fatal = 7,
}

impl Severity {
    /// Returns the name of its events.
    pub(super) fn name(self) -> &'static Name {
        static NAMES: [Name; 6] = [
            Name::new("trace"),
            Name::new("debug"),
            Name::new("info"),
            Name::new("warn"),
            Name::new("error"),
            Name::new("fatal"),
        ];
        &NAMES[self as usize - Self::Trace as usize]
    }

    fn priority(self) -> Priority {
        match self {
            Self::Trace => Priority::PRIO_VERBOSE,
            Self::Debug => Priority::PRIO_DEBUG,
            Self::Info => Priority::PRIO_INFO,
            Self::Warn => Priority::PRIO_WARN,
            Self::Error => Priority::PRIO_ERROR,
            Self::Fatal => Priority::PRIO_FATAL,
        }
    }
}

/// A message of a log.
#[derive(Debug, Clone, Copy)]
pub struct Log<'a> {
    /// How severe it is.
    pub severity: Severity,
    /// Its text.
    pub text: &'a str,
    /// The source file that wrote it; empty if unknown.
    pub file: &'a str,
    /// The line of that file, from 1; 0 if unknown.
    pub line: u32,
}

impl Log<'_> {
    /// Sends the texts with their number.
    pub(super) fn introduce(&self, data: &mut InternedDataWriter<'_>, number: u64) {
        if !self.file.is_empty() {
            let mut place = data.add_source_locations();
            place.set_iid(number);
            place.set_file_name(self.file);
            place.set_line_number(self.line);
        }
        let mut body = data.add_log_message_body();
        body.set_iid(number);
        body.set_body(self.text);
    }

    /// Writes the message. Its texts have this number.
    pub(super) fn write(&self, message: &mut LogMessageWriter<'_>, number: u64) {
        if !self.file.is_empty() {
            message.set_source_location_iid(number);
        }
        message.set_body_iid(number);
        message.set_prio(self.severity.priority());
    }
}
