//! Plots of a table's cases: over message size, or as bars.

use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::*;

use super::canvas::{colour, text};
use crate::rows::{Row, systems};
use crate::units;

const SIZE: (u32, u32) = (960, 540);

fn range(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.filter(|value| *value > 0.0).fold(None, |range, value| {
        let (low, high) = range.unwrap_or((value, value));
        Some((value.min(low), value.max(high)))
    })
}

/// Median (line) and 99th percentile (circles) over message size, logarithmic both ways.
pub fn sizes(path: &Path, title: &str, panels: &[&str], rows: &[&Row]) -> Result<(), String> {
    let root = SVGBackend::new(path, (SIZE.0 * panels.len() as u32, SIZE.1)).into_drawing_area();
    root.fill(&WHITE).map_err(text)?;
    let areas = root.titled(title, ("sans-serif", 24)).map_err(text)?;
    for (panel, (area, name)) in areas.split_evenly((1, panels.len())).iter().zip(panels).enumerate() {
        let rows: Vec<&Row> =
            rows.iter().copied().filter(|row| row.case.size.is_some_and(|(_, of)| of == panel)).collect();
        size_panel(area, name, &rows)?;
    }
    root.present().map_err(text)
}

fn size_panel(area: &DrawingArea<SVGBackend, Shift>, name: &str, rows: &[&Row]) -> Result<(), String> {
    let Some((low, high)) = range(rows.iter().map(|row| row.value)) else { return Ok(()) };
    let Some((small, big)) = range(rows.iter().filter_map(|row| row.case.size.map(|(size, _)| size as f64)))
    else {
        return Ok(());
    };
    let mut chart = ChartBuilder::on(area)
        .caption(name, ("sans-serif", 18))
        .margin(16)
        .x_label_area_size(44)
        .y_label_area_size(72)
        .build_cartesian_2d((small / 1.5..big * 1.5).log_scale(), (low / 1.5..high * 1.5).log_scale())
        .map_err(text)?;
    chart
        .configure_mesh()
        .x_desc("bytes (line: median, circles: 99th percentile)")
        .y_desc("nanoseconds")
        .x_label_formatter(&|size| units::size(size.round() as usize))
        .draw()
        .map_err(text)?;
    for system in systems(rows.iter().copied()) {
        let points = |metric: &str| -> Vec<(f64, f64)> {
            rows.iter()
                .filter(|row| row.system == system && row.metric == metric)
                .filter_map(|row| row.case.size.map(|(size, _)| (size as f64, row.value)))
                .collect()
        };
        let colour = colour(system);
        chart
            .draw_series(LineSeries::new(points("p50_ns"), colour.stroke_width(2)))
            .map_err(text)?
            .label(system.name())
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], colour.stroke_width(3)));
        chart
            .draw_series(points("p99_ns").into_iter().map(|point| Circle::new(point, 3, colour)))
            .map_err(text)?;
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK.mix(0.3))
        .draw()
        .map_err(text)
}

/// Bars grouped by case, logarithmic.
pub fn bars(path: &Path, title: &str, unit: &str, rows: &[&Row]) -> Result<(), String> {
    let root = SVGBackend::new(path, SIZE).into_drawing_area();
    root.fill(&WHITE).map_err(text)?;
    let mut cases: Vec<&str> = Vec::new();
    for row in rows {
        if !cases.contains(&row.case.name.as_str()) {
            cases.push(&row.case.name);
        }
    }
    let systems = systems(rows.iter().copied());
    let Some((low, high)) = range(rows.iter().map(|row| row.value)) else { return Ok(()) };
    let mut chart = ChartBuilder::on(&root)
        .caption(title, ("sans-serif", 24))
        .margin(16)
        .x_label_area_size(44)
        .y_label_area_size(72)
        .build_cartesian_2d(0.0..cases.len() as f64, (low / 3.0..high * 3.0).log_scale())
        .map_err(text)?;
    chart.configure_mesh().disable_x_mesh().disable_x_axis().y_desc(unit).draw().map_err(text)?;
    let width = 0.8 / systems.len() as f64;
    for (at, &system) in systems.iter().enumerate() {
        let colour = colour(system);
        let boxes = cases.iter().enumerate().filter_map(|(group, case)| {
            let value = rows.iter().find(|row| row.system == system && row.case.name == **case)?.value;
            let left = group as f64 + 0.1 + at as f64 * width;
            Some(Rectangle::new([(left, low / 3.0), (left + width * 0.92, value)], colour.filled()))
        });
        chart
            .draw_series(boxes)
            .map_err(text)?
            .label(system.name())
            .legend(move |(x, y)| Rectangle::new([(x, y - 5), (x + 14, y + 5)], colour.filled()));
    }
    for (group, case) in cases.iter().enumerate() {
        let place = chart.backend_coord(&(group as f64 + 0.5, low / 3.0));
        root.draw(&Text::new(
            (*case).to_owned(),
            (place.0 - 4 * case.len() as i32, place.1 + 12),
            ("sans-serif", 14),
        ))
        .map_err(text)?;
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK.mix(0.3))
        .draw()
        .map_err(text)?;
    root.present().map_err(text)
}
