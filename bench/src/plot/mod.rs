//! Draws the plot of a table as SVG.

mod canvas;
mod cases;
mod systems;
mod ways;

use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::rows::Row;
use crate::view::{Drawing, Plot};

/// Draws the plot into a file of the directory, and returns the file's path.
pub fn draw(directory: &Path, table: &str, plot: &Plot, rows: &[&Row]) -> Result<PathBuf, Failure> {
    std::fs::create_dir_all(directory)
        .map_err(Failure::io(format!("cannot make {}", directory.display())))?;
    let path = directory.join(format!("{table}.svg"));
    let title = plot.title;
    match &plot.drawing {
        Drawing::Sizes(panels) => cases::sizes(&path, title, panels, rows),
        Drawing::Bars { metric, unit } => {
            let rows: Vec<&Row> = rows.iter().copied().filter(|row| row.metric == *metric).collect();
            cases::bars(&path, title, unit, &rows)
        }
        Drawing::Systems(panels) => systems::bars(&path, title, panels, rows),
        Drawing::Ways(panels) => ways::ways(&path, title, panels),
        Drawing::Ratios(lines) => ways::ratios(&path, title, lines),
    }
    .map_err(|why| Failure::Plot { path: path.display().to_string(), why })?;
    Ok(path)
}
