//! Plots as SVG.

use std::path::{Path, PathBuf};

use plotters::coord::Shift;
use plotters::prelude::*;

use crate::bench::Row;
use crate::failure::Failure;
use crate::report;
use crate::systems::Kind;

const SIZE: (u32, u32) = (960, 540);

/// A system's colour.
pub fn colour(system: Kind) -> RGBColor {
    match system {
        Kind::Floor => RGBColor(140, 140, 140),
        Kind::Situ => RGBColor(214, 69, 65),
        Kind::SituSerialized => RGBColor(240, 160, 120),
        Kind::SituEmulated => RGBColor(214, 69, 65),
        Kind::SituVulkan => RGBColor(200, 40, 120),
        Kind::SituCuda => RGBColor(120, 170, 0),
        Kind::SituHost => RGBColor(240, 160, 120),
        Kind::Iceoryx2 => RGBColor(44, 110, 180),
        Kind::Iceoryx => RGBColor(120, 180, 225),
        Kind::CycloneDds => RGBColor(60, 140, 80),
        Kind::CycloneDdsLoan => RGBColor(150, 200, 120),
        Kind::FastDds => RGBColor(130, 80, 160),
        Kind::FastDdsLoan => RGBColor(190, 150, 215),
        Kind::SituClang => RGBColor(235, 120, 110),
        Kind::SituCanonical => RGBColor(240, 160, 120),
        Kind::SituRust => RGBColor(170, 40, 60),
        Kind::Std => RGBColor(140, 140, 140),
        Kind::StdRust => RGBColor(110, 110, 110),
        Kind::Boost => RGBColor(170, 170, 170),
        Kind::XOffset => RGBColor(90, 150, 150),
        Kind::Cista => RGBColor(60, 140, 80),
        Kind::FlatBuffers => RGBColor(44, 110, 180),
        Kind::CapnProto => RGBColor(130, 80, 160),
        Kind::MessagePack => RGBColor(200, 160, 60),
        Kind::Protobuf => RGBColor(120, 100, 80),
        Kind::Rkyv => RGBColor(60, 140, 80),
        Kind::FlatBuffersRust => RGBColor(44, 110, 180),
        Kind::CapnProtoRust => RGBColor(130, 80, 160),
        Kind::Prost => RGBColor(120, 100, 80),
        Kind::Libprotobuf => RGBColor(44, 110, 180),
        Kind::LibprotobufReused => RGBColor(120, 180, 225),
        Kind::Mapbox => RGBColor(60, 140, 80),
        Kind::MapboxClang => RGBColor(150, 200, 120),
        Kind::QuickProtobuf => RGBColor(190, 150, 215),
        Kind::Buffa => RGBColor(200, 170, 60),
        Kind::Elementwise => RGBColor(190, 150, 215),
        Kind::RosidlRuntimeRs => RGBColor(130, 80, 160),
        Kind::SituCopy => RGBColor(240, 160, 80),
        Kind::SituMove => RGBColor(214, 69, 65),
        Kind::SituLend => RGBColor(150, 40, 90),
        Kind::PerfettoSdk => RGBColor(190, 100, 90),
        Kind::SituRmw => RGBColor(240, 160, 80),
        Kind::SituWorker => RGBColor(214, 120, 65),
        Kind::RosidlRuntimeRsWorker => RGBColor(160, 110, 190),
        Kind::RosidlRuntimeRsRmw => RGBColor(100, 50, 130),
        Kind::Rclcpp => RGBColor(60, 130, 60),
        Kind::Rclpy => RGBColor(44, 110, 180),
    }
}

fn systems(rows: &[&Row]) -> Vec<Kind> {
    let mut systems: Vec<Kind> = Vec::new();
    for row in rows {
        if !systems.contains(&row.system) {
            systems.push(row.system);
        }
    }
    systems.sort_by_key(|system| *system as usize);
    systems
}

/// The file of a table's plot, in a directory that is there.
pub fn target(directory: &Path, table: &str) -> Result<PathBuf, Failure> {
    std::fs::create_dir_all(directory)
        .map_err(Failure::io(format!("cannot make {}", directory.display())))?;
    Ok(directory.join(format!("{table}.svg")))
}

fn range(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.filter(|value| *value > 0.0).fold(None, |range, value| {
        let (low, high) = range.unwrap_or((value, value));
        Some((value.min(low), value.max(high)))
    })
}

/// Median (line) and 99th percentile (circles) over message size, logarithmic both ways.
pub fn sizes(
    directory: &Path,
    table: &str,
    title: &str,
    panels: &[&str],
    rows: &[&Row],
) -> Result<PathBuf, Failure> {
    let path = target(directory, table)?;
    let wrong = |why: String| Failure::Plot { path: path.display().to_string(), why };
    let root = SVGBackend::new(&path, (SIZE.0 * panels.len() as u32, SIZE.1)).into_drawing_area();
    root.fill(&WHITE).map_err(|error| wrong(error.to_string()))?;
    let areas = root.titled(title, ("sans-serif", 24)).map_err(|error| wrong(error.to_string()))?;
    for (panel, (area, name)) in areas.split_evenly((1, panels.len())).iter().zip(panels).enumerate() {
        let rows: Vec<&Row> =
            rows.iter().copied().filter(|row| row.case.size.is_some_and(|(_, of)| of == panel)).collect();
        size_panel(area, name, &rows).map_err(wrong)?;
    }
    root.present().map_err(|error| wrong(error.to_string()))?;
    Ok(path.clone())
}

fn size_panel(area: &DrawingArea<SVGBackend, Shift>, name: &str, rows: &[&Row]) -> Result<(), String> {
    let text = |error: DrawingAreaErrorKind<_>| -> String { error.to_string() };
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
        .x_label_formatter(&|size| report::size(size.round() as usize))
        .draw()
        .map_err(text)?;
    for system in systems(rows) {
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
pub fn bars(
    directory: &Path,
    table: &str,
    title: &str,
    unit: &str,
    rows: &[&Row],
) -> Result<PathBuf, Failure> {
    let path = target(directory, table)?;
    let root = SVGBackend::new(&path, SIZE).into_drawing_area();
    bar_chart(&root, title, unit, rows)
        .map_err(|why| Failure::Plot { path: path.display().to_string(), why })?;
    drop(root);
    Ok(path)
}

fn bar_chart(
    root: &DrawingArea<SVGBackend, Shift>,
    title: &str,
    unit: &str,
    rows: &[&Row],
) -> Result<(), String> {
    let text = |error: DrawingAreaErrorKind<_>| -> String { error.to_string() };
    root.fill(&WHITE).map_err(text)?;
    let mut cases: Vec<&str> = Vec::new();
    for row in rows {
        if !cases.contains(&row.case.name.as_str()) {
            cases.push(&row.case.name);
        }
    }
    let systems = systems(rows);
    let Some((low, high)) = range(rows.iter().map(|row| row.value)) else { return Ok(()) };
    let mut chart = ChartBuilder::on(root)
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
