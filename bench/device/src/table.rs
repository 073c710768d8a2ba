//! The table: rows as they are measured, and whether what was asked for is reached.

use std::process::ExitCode;

use crate::Result;

/// What a row has to say.
pub struct Finding {
    /// The measured value, in words.
    pub value: String,
    /// What is asked for, and whether that is reached; nothing where nothing is.
    pub asked: Option<(String, bool)>,
}

impl Finding {
    /// A value of which nothing is asked.
    pub fn plain(value: impl Into<String>) -> Self {
        Self { value: value.into(), asked: None }
    }

    /// A value of which something is asked.
    pub fn asked(value: impl Into<String>, asked: impl Into<String>, reached: bool) -> Self {
        Self { value: value.into(), asked: Some((asked.into(), reached)) }
    }
}

/// Prints rows, and counts.
pub struct Table {
    failed: usize,
    missed: usize,
}

impl Table {
    /// An empty one.
    pub fn new() -> Self {
        Self { failed: 0, missed: 0 }
    }

    /// Begins a part.
    pub fn heading(&mut self, text: &str) {
        println!("\n{text}");
    }

    /// Something that is so.
    pub fn fact(&mut self, name: &str, value: &str) {
        println!("  {name:<44} {value}");
    }

    /// Something that was measured, or could not be.
    pub fn row(&mut self, name: &str, finding: Result<Finding>) {
        match finding {
            Ok(Finding { value, asked: None }) => println!("  {name:<44} {value}"),
            Ok(Finding { value, asked: Some((asked, reached)) }) => {
                println!(
                    "  {name:<44} {value:<36} asked: {asked:<18} {}",
                    if reached { "reached" } else { "MISSED" }
                );
                self.missed += usize::from(!reached);
            }
            Err(error) => {
                println!("  {name:<44} FAILED: {error}");
                self.failed += 1;
            }
        }
    }

    /// The totals. What was missed is a finding; what failed is an error.
    pub fn end(self) -> ExitCode {
        println!("\n{} rows failed, {} missed what is asked", self.failed, self.missed);
        if self.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

/// The value that so many per cent of the times are below, in microseconds, and the number of times.
pub fn percentile(times_ns: &mut [u64], percent: usize) -> f64 {
    if times_ns.is_empty() {
        return f64::NAN;
    }
    times_ns.sort_unstable();
    times_ns[(times_ns.len() * percent / 100).min(times_ns.len() - 1)] as f64 / 1000.0
}

/// A size in bytes, for people.
pub fn size(bytes: u64) -> String {
    match bytes {
        0..0x10_0000 => format!("{} KiB", bytes >> 10),
        0x10_0000..0x4000_0000 => format!("{} MiB", bytes >> 20),
        _ => format!("{} GiB", bytes >> 30),
    }
}
