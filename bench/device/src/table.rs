//! The table: prints rows as they are measured, and whether each reaches its target.

use std::process::ExitCode;

use crate::Result;

/// The result of a row.
pub struct Finding {
    /// The measured value, in words.
    pub value: String,
    /// The target, and whether the value reaches it. Absent for a row without a target.
    pub asked: Option<(String, bool)>,
}

impl Finding {
    /// A value without a target.
    pub fn plain(value: impl Into<String>) -> Self {
        Self { value: value.into(), asked: None }
    }

    /// A value with a target.
    pub fn asked(value: impl Into<String>, asked: impl Into<String>, reached: bool) -> Self {
        Self { value: value.into(), asked: Some((asked.into(), reached)) }
    }
}

/// Prints rows, and counts failures and missed targets.
pub struct Table {
    failed: usize,
    missed: usize,
}

impl Table {
    /// An empty table.
    pub fn new() -> Self {
        Self { failed: 0, missed: 0 }
    }

    /// Begins a part.
    pub fn heading(&mut self, text: &str) {
        println!("\n{text}");
    }

    /// Prints a fact.
    pub fn fact(&mut self, name: &str, value: &str) {
        println!("  {name:<44} {value}");
    }

    /// Prints a measurement, or why it failed.
    pub fn row(&mut self, name: &str, finding: Result<Finding>) {
        match finding {
            Ok(Finding { value, asked: None }) => println!("  {name:<44} {value}"),
            Ok(Finding { value, asked: Some((asked, reached)) }) => {
                println!(
                    "  {name:<44} {value:<36} target: {asked:<18} {}",
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

    /// Prints the totals. A failed row makes the program fail; a missed target does not.
    pub fn end(self) -> ExitCode {
        println!("\n{} rows failed, {} missed the target", self.failed, self.missed);
        if self.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

/// The given percentile of the times, in microseconds.
pub fn percentile(times_ns: &mut [u64], percent: usize) -> f64 {
    if times_ns.is_empty() {
        return f64::NAN;
    }
    times_ns.sort_unstable();
    times_ns[(times_ns.len() * percent / 100).min(times_ns.len() - 1)] as f64 / 1000.0
}

/// A size as text: `4 KiB`.
pub fn size(bytes: u64) -> String {
    match bytes {
        0..0x10_0000 => format!("{} KiB", bytes >> 10),
        0x10_0000..0x4000_0000 => format!("{} MiB", bytes >> 20),
        _ => format!("{} GiB", bytes >> 30),
    }
}
