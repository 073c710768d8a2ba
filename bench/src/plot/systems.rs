//! The plot of table `region`: a panel for each number, with a bar for each system.

use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::*;

use super::canvas::{colour, text};
use crate::rows::Row;
use crate::systems::Kind;
use crate::units::quantity;
use crate::view::Column;

const PANEL: (i32, i32) = (380, 330);
const COLUMNS: usize = 4;
/// Where a panel's names end and its bars begin and end.
const BARS: (i32, i32) = (120, 300);

/// Draws the panels, four in a row. Bars are logarithmic and sorted, shortest first.
pub fn bars(path: &Path, title: &str, panels: &[Column], rows: &[&Row]) -> Result<(), String> {
    let down = panels.len().div_ceil(COLUMNS).max(1);
    let size = (PANEL.0 as u32 * COLUMNS as u32, PANEL.1 as u32 * down as u32 + 40);
    let root = SVGBackend::new(path, size).into_drawing_area();
    root.fill(&WHITE).map_err(text)?;
    let areas = root.titled(title, ("sans-serif", 22)).map_err(text)?;
    for (area, column) in areas.split_evenly((down, COLUMNS)).iter().zip(panels) {
        panel(area, *column, rows)?;
    }
    root.present().map_err(text)
}

fn panel(area: &DrawingArea<SVGBackend, Shift>, column: Column, rows: &[&Row]) -> Result<(), String> {
    let (case, metric, name) = column;
    let mut values: Vec<(Kind, f64)> = rows
        .iter()
        .filter(|row| row.case.name == case && row.metric == metric && row.value > 0.0)
        .map(|row| (row.system, row.value))
        .collect();
    values.sort_by(|a, b| a.1.total_cmp(&b.1));
    let heading = format!("{case}: {name}");
    area.draw(&Text::new(heading, (10, 6), ("sans-serif", 15))).map_err(text)?;
    let (Some(first), Some(last)) = (values.first(), values.last()) else { return Ok(()) };
    let (low, high) = (first.1 / 2.0, last.1);
    let step = ((PANEL.1 - 40) / values.len() as i32).min(24);
    for (at, (system, value)) in values.iter().enumerate() {
        let top = 30 + at as i32 * step;
        let share = (value / low).ln() / (high / low).ln();
        let end = BARS.0 + (share * f64::from(BARS.1 - BARS.0)) as i32;
        let bar = [(BARS.0, top), (end, top + step - 4)];
        area.draw(&Rectangle::new(bar, colour(*system).filled())).map_err(text)?;
        let name = Text::new(system.name(), (10, top), ("sans-serif", 12));
        area.draw(&name).map_err(text)?;
        let shown = Text::new(quantity(metric, *value), (end + 4, top), ("sans-serif", 12));
        area.draw(&shown).map_err(text)?;
    }
    Ok(())
}
