//! Sessions in a scratch directory.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use situ_memory::Root;
use situ_trace::{Category, Collector, CollectorOptions, category, instant};

category!(PROBE, "probe");

/// This process, connected to a scratch directory, which is removed at the end.
pub struct Recording(PathBuf);

impl Recording {
    pub fn new() -> Self {
        let path = PathBuf::from(format!("/dev/shm/situ-test-people-{}", std::process::id()));
        let recording = Self(path);
        situ_trace::join(&recording.root(), "people at work");
        assert!(situ_trace::is_traced());
        recording
    }

    pub fn root(&self) -> Root {
        Root::at(&self.0, None)
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
        let path = self.0.join("trace.pftrace");
        let collector = Collector::start(&self.root(), options(CollectorOptions::to_file(&path))).unwrap();
        until(&PROBE, true);
        instant!(PROBE, "begin");
        work();
        let summary = collector.stop().unwrap();
        until(&PROBE, false);
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!(summary.bytes, bytes.len() as u64);
        bytes
    }
}

fn until(category: &'static Category, state: bool) {
    let begin = Instant::now();
    while category.is_enabled() != state {
        assert!(begin.elapsed() < Duration::from_secs(20), "the session is not heard of");
        std::thread::sleep(Duration::from_millis(1));
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
