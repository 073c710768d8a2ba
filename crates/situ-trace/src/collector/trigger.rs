//! Triggers: events at which a ring in memory is written into its file.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::event_names::EventNames;

/// A longer time after an event counts as this one: later times may not be representable.
const MAX_AFTER: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);

/// When the newest packets of a [`Sink::Ring`](crate::Sink::Ring) are written into a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trigger {
    /// The names of events: whole names, or beginnings of names and `*`. The first event with one of them
    /// fires.
    pub events: Vec<String>,
    /// How long packets are still taken after the event.
    pub after: Duration,
    /// After how many files the session ends. With more than one, the files have numbers in their names:
    /// `run-1.pftrace`. Events while a file is due do not fire again.
    pub files: u32,
}

impl Trigger {
    /// A trigger that fires once, and takes packets for another second.
    pub fn on(event: impl Into<String>) -> Self {
        Self { events: vec![event.into()], after: Duration::from_secs(1), files: 1 }
    }

    /// The name of a file, counted from 1.
    pub(super) fn path(&self, path: &Path, number: u32) -> PathBuf {
        if self.files <= 1 {
            return path.to_owned();
        }
        let mut name = path.file_stem().unwrap_or_default().to_owned();
        name.push(format!("-{number}"));
        if let Some(extension) = path.extension() {
            name.push(".");
            name.push(extension);
        }
        path.with_file_name(name)
    }
}

/// Waits for a trigger.
#[derive(Debug)]
pub(super) struct TriggerWatch {
    trigger: Trigger,
    names: EventNames,
    /// When the next file is due.
    due: Option<Instant>,
    pub(super) written: u32,
}

impl TriggerWatch {
    pub(super) fn new(trigger: Trigger) -> Self {
        Self { trigger, names: EventNames::default(), due: None, written: 0 }
    }

    /// Looks at a packet, in the order of its sequence.
    pub(super) fn look(&mut self, sequence: u32, packet: &[u8]) {
        self.names.learn(sequence, packet);
        if self.due.is_some() || self.is_done() {
            return;
        }
        let fires = self.names.with_name(sequence, packet, |name| {
            self.trigger.events.iter().any(|pattern| match pattern.strip_suffix('*') {
                Some(beginning) => name.starts_with(beginning),
                None => name == pattern,
            })
        });
        if fires == Some(true) {
            self.due = Some(Instant::now() + self.trigger.after.min(MAX_AFTER));
        }
    }

    pub(super) fn end(&mut self, sequence: u32) {
        self.names.forget(sequence);
    }

    /// Returns the file to write, if one is due, or if the session ends and one would be.
    pub(super) fn take_due(&mut self, path: &Path, ends: bool) -> Option<PathBuf> {
        let due = self.due?;
        if !ends && Instant::now() < due {
            return None;
        }
        self.due = None;
        self.written += 1;
        Some(self.trigger.path(path, self.written))
    }

    /// Whether all files are written.
    pub(super) fn is_done(&self) -> bool {
        self.written >= self.trigger.files.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_files_have_numbers() {
        let one = Trigger::on("lost *");
        let many = Trigger { files: 3, ..one.clone() };
        assert_eq!(one.path(Path::new("/a/run.pftrace"), 1), Path::new("/a/run.pftrace"));
        assert_eq!(many.path(Path::new("/a/run.pftrace"), 2), Path::new("/a/run-2.pftrace"));
        assert_eq!(many.path(Path::new("run"), 3), Path::new("run-3"));
    }

    #[test]
    fn a_name_fires_once_until_its_file_is_written() {
        // Interned: 7 is "stop here"; cleared with flag 1; an event with the name 7, and one with its name.
        let interned = [0x68, 1, 0x62, 15, 0x12, 13, 8, 7, 0x12, 9];
        let learn = [&interned[..], b"stop here"].concat();
        let by_number = [0x5a, 2, 0x50, 7];
        let by_name = [&[0x5a, 12, 0xba, 1, 9][..], b"stop now!"].concat();
        let trigger =
            |event: &str| TriggerWatch::new(Trigger { after: Duration::ZERO, ..Trigger::on(event) });
        let path = Path::new("run");
        let fires = |watch: &mut TriggerWatch| watch.take_due(path, false).is_some();

        let mut watch = trigger("stop here");
        watch.look(1, &by_number);
        assert!(!fires(&mut watch), "the name is not known yet");
        watch.look(1, &learn);
        watch.look(2, &by_number);
        assert!(!fires(&mut watch), "of another sequence");
        watch.look(1, &by_name);
        assert!(!fires(&mut watch), "another name");
        watch.look(1, &by_number);
        assert!(fires(&mut watch) && watch.is_done() && !fires(&mut watch));
        watch.look(1, &by_number);
        assert!(!fires(&mut watch), "one file was wanted");

        let mut watch = trigger("stop*");
        watch.look(1, &by_name);
        assert!(fires(&mut watch));
        let mut watch = trigger("stop here");
        watch.look(1, &learn);
        watch.look(1, &[0x68, 1]);
        watch.look(1, &by_number);
        assert!(!fires(&mut watch), "cleared");
        let mut watch =
            TriggerWatch::new(Trigger { after: Duration::from_secs(3600), ..Trigger::on("stop*") });
        watch.look(1, &by_name);
        assert!(!fires(&mut watch) && watch.take_due(path, true).is_some(), "at the end");
    }
}
