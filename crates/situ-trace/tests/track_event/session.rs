//! Sessions in a scratch directory.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use situ_memory::Root;
use situ_testkit::Scratch;
use situ_trace::{Category, Collector, CollectorOptions, Summary, category, instant};

category!(PROBE, "probe");

/// This process, connected to a scratch directory, which is removed at the end.
pub struct Recording(Scratch);

impl Recording {
    pub fn new() -> Self {
        let recording = Self(Scratch::new("track-event"));
        situ_trace::join(&recording.root(), "people at work");
        assert!(situ_trace::is_traced());
        recording
    }

    pub fn root(&self) -> Root {
        Root::at(self.0.path(), None)
    }

    /// The bytes of a trace of `work`.
    pub fn record(&self, categories: &str, work: impl FnOnce()) -> Vec<u8> {
        let wanted = if categories.is_empty() { String::new() } else { format!("probe,{categories}") };
        self.record_with(|options| options.categories(wanted), work)
    }

    pub fn record_with(
        &self,
        options: impl FnOnce(CollectorOptions) -> CollectorOptions,
        work: impl FnOnce(),
    ) -> Vec<u8> {
        let summary = self.collect(options, |_| work());
        let bytes = std::fs::read(self.path()).unwrap();
        assert_eq!(summary.bytes, bytes.len() as u64);
        bytes
    }

    /// The file of a trace.
    pub fn path(&self) -> PathBuf {
        self.0.join("trace.pftrace")
    }

    /// The result of a session with `work`.
    pub fn collect(
        &self,
        options: impl FnOnce(CollectorOptions) -> CollectorOptions,
        work: impl FnOnce(&Collector),
    ) -> Summary {
        let options = options(CollectorOptions::to_file(self.path()));
        let collector = Collector::start(&self.root(), options).unwrap();
        until(&PROBE, true);
        instant!(PROBE, "begin");
        work(&collector);
        let summary = collector.stop().unwrap();
        until(&PROBE, false);
        summary
    }
}

fn until(category: &'static Category, state: bool) {
    let begin = Instant::now();
    while category.is_enabled() != state {
        assert!(begin.elapsed() < Duration::from_secs(20), "the category does not change");
        std::thread::sleep(Duration::from_millis(1));
    }
}
