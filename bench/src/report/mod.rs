//! Shows a table that was measured: draws its plot, and prints its rows and remarks.

mod cases;
mod lines;
mod systems;

use std::io::Write;

use crate::bench::Bench;
use crate::failure::Failure;
use crate::view::{Text, View};
use crate::{os, plot};

use lines::aligned;

/// Draws the plot, and prints the table unless JSON is wanted.
pub fn show(bench: &mut Bench, name: &'static str, title: &str, view: &View) -> Result<(), Failure> {
    if let Some(plot) = &view.plot {
        let path = plot::draw(bench.plots(), name, plot, &bench.rows(name))?;
        if !bench.is_json() {
            bench.remark(format!("plot: {}", path.display()));
        }
    }
    if bench.is_json() {
        return Ok(());
    }
    let rows = bench.rows(name);
    let mut text = match &view.text {
        Text::Cases => cases::table(name, title, &rows),
        Text::Lines(parts) => {
            let parts: Vec<String> =
                parts.iter().map(|part| format!("\n{}\n{}", part.title, aligned(&part.cells, 1))).collect();
            format!("{name}: {title}\n{}\n", parts.concat())
        }
        Text::Systems(parts) => {
            let parts = parts.iter().map(|part| systems::part(part, &rows)).filter(|part| !part.is_empty());
            let parts: Vec<String> = parts.map(|part| format!("\n{part}")).collect();
            format!("{name}: {title}\n{}\n", parts.concat())
        }
    };
    for remark in bench.take_remarks() {
        text.push_str(&format!("  {remark}\n"));
    }
    if writeln!(std::io::stdout(), "{text}").is_err() {
        os::interrupt();
    }
    Ok(())
}
