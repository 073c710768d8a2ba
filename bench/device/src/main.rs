//! Measures Situ on a GPU, and prints a table. `bench/device.sh` builds and runs it.
//!
//! ```text
//!   situ-device [DOMAIN] [--quick]   DOMAIN: cuda:0 (default); vulkan:0 and emulated:0 run what they support
//! ```
//!
//! For measurements between processes, the program starts itself again as `child ROLE ...`.

mod copies;
mod hop;
mod kernels;
mod order;
mod process;
mod roles;
mod survive;
mod table;

use std::process::ExitCode;

use situ::memory::{DomainId, DomainKind};

use table::Table;

/// An error anywhere. The program prints it and goes on with the next row.
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// The options of a run.
#[derive(Clone, Copy)]
pub struct Wanted {
    /// The domain to measure.
    pub domain: DomainId,
    /// Fewer and smaller messages, for a quick check.
    pub quick: bool,
}

impl Wanted {
    /// Whether this program can run kernels in the domain.
    pub fn is_cuda(&self) -> bool {
        self.domain.kind == DomainKind::CUDA
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|first| first == "child") {
        return match roles::play(&arguments[1..]) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                println!("failed {error}");
                ExitCode::FAILURE
            }
        };
    }
    let mut wanted = Wanted { domain: DomainId { kind: DomainKind::CUDA, number: 0 }, quick: false };
    for argument in &arguments {
        match (argument.as_str(), argument.parse()) {
            ("--quick", _) => wanted.quick = true,
            (_, Ok(domain)) => wanted.domain = domain,
            (_, Err(error)) => {
                eprintln!("situ-device: {error}");
                return ExitCode::from(2);
            }
        }
    }
    let mut table = Table::new();
    if let Err(error) = measure(&wanted, &mut table) {
        eprintln!("situ-device: {error}");
        return ExitCode::FAILURE;
    }
    table.end()
}

fn measure(wanted: &Wanted, table: &mut Table) -> Result<()> {
    let domain = situ::memory::find(wanted.domain)?;
    let can = domain.capabilities();
    table.heading(&format!("{}: {}", wanted.domain, domain.name()));
    table.fact("streams of several processes are ordered by", &format!("{:?}", can.order).to_lowercase());
    table.fact("memory outlives its owner", if can.outlives_owner { "yes" } else { "no" });
    if wanted.is_cuda() {
        for (name, value) in situ::memory::cuda::CudaDomain::find(wanted.domain.number)?.attributes() {
            table.fact(name, &value.to_string());
        }
    }
    table.heading("Memory");
    table.row("imported after the exporter was killed", survive::measure(wanted));
    table.heading("A hop in the domain, from before lending to having the span (us)");
    hop::measure(wanted, table);
    table.heading("The same through host memory: lend, copy, iceoryx2, copy (us)");
    copies::measure(wanted, table);
    table.heading("Stream order");
    order::measure(wanted, table);
    // The tests come last: if a driver hangs, no other row is lost.
    table.heading("Tests");
    let suite = format!("{}::", wanted.domain.kind);
    table.row("conformance suite", survive::tests(wanted, "conformance", &[&suite]));
    if wanted.is_cuda() {
        table.row("the domain alone", survive::tests(wanted, "cuda", &["--skip", "played::"]));
    }
    table.row("topics on devices", survive::tests(wanted, "devices", &[]));
    Ok(())
}
