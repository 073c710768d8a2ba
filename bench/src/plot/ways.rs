//! The plots of the tables `domains` and `graphs`.

use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::*;

use super::canvas::{colour, text};
use crate::stats::percentile;
use crate::systems::Kind;
use crate::view::{Way, Ways};

const PANEL: (u32, u32) = (460, 360);
/// Points at which a density is computed.
const STEPS: usize = 80;

/// The parts of a way, in the order of stacking.
type Part = (&'static str, RGBColor, fn(&Way) -> f64);
const PARTS: [Part; 3] = [
    ("compute", RGBColor(90, 90, 90), |way| way.compute),
    ("copies within", RGBColor(230, 150, 60), |way| way.within),
    ("between", RGBColor(60, 130, 190), |way| way.between),
];

/// Two rows of panels. Above: the density of all end-to-end samples as violins. Below: the parts of the
/// medians.
pub fn ways(path: &Path, title: &str, panels: &[Ways]) -> Result<(), String> {
    let size = (PANEL.0 * panels.len().max(1) as u32, 2 * PANEL.1);
    let root = SVGBackend::new(path, size).into_drawing_area();
    root.fill(&WHITE).map_err(text)?;
    let areas = root.titled(title, ("sans-serif", 24)).map_err(text)?.split_evenly((2, panels.len()));
    for ((name, systems), (above, below)) in
        panels.iter().zip(areas.iter().zip(areas.iter().skip(panels.len())))
    {
        violins(above, name, systems)?;
        stacks(below, systems)?;
    }
    root.present().map_err(text)
}

fn there(systems: &[(Kind, Vec<Way>)]) -> Vec<&(Kind, Vec<Way>)> {
    systems.iter().filter(|(_, ways)| !ways.is_empty()).collect()
}

/// The density of the values at `at`, by Gaussian kernels of this width.
fn density(values: &[f64], width: f64, at: f64) -> f64 {
    values.iter().map(|value| (-0.5 * ((value - at) / width).powi(2)).exp()).sum()
}

/// Silverman's width for the kernels, but at least half a percent of the mean, as few samples say little.
fn kernel_width(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let deviation = (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count).sqrt();
    (1.06 * deviation * count.powf(-0.2)).max(0.005 * mean)
}

/// The range of a violin: it ends where the kernels of the outermost samples are close to zero.
fn range(values: &[f64]) -> (f64, f64) {
    let reach = 3.0 * kernel_width(values);
    let low = values.iter().copied().fold(f64::MAX, f64::min);
    (low - reach, values.iter().copied().fold(f64::MIN, f64::max) + reach)
}

fn violins(
    area: &DrawingArea<SVGBackend, Shift>,
    name: &str,
    systems: &[(Kind, Vec<Way>)],
) -> Result<(), String> {
    let systems = there(systems);
    let totals: Vec<(Kind, Vec<f64>)> = systems
        .iter()
        .map(|(kind, ways)| (*kind, ways.iter().map(|way| way.total / 1e6).collect()))
        .collect();
    let ranges = || totals.iter().map(|(_, values)| range(values));
    let low = ranges().map(|(from, _)| from).reduce(f64::min);
    let (Some(low), Some(high)) = (low, ranges().map(|(_, to)| to).reduce(f64::max)) else { return Ok(()) };
    let mut chart = ChartBuilder::on(area)
        .caption(name, ("sans-serif", 18))
        .margin(12)
        .x_label_area_size(30)
        .y_label_area_size(64)
        .build_cartesian_2d(0.0..totals.len() as f64, low..high)
        .map_err(text)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .disable_x_axis()
        .y_desc("end to end, milliseconds")
        .draw()
        .map_err(text)?;
    for (at, (kind, values)) in totals.iter().enumerate() {
        let (centre, width, (from, to)) = (at as f64 + 0.5, kernel_width(values), range(values));
        let shape: Vec<(f64, f64)> = (0..=STEPS)
            .map(|step| from + (to - from) * step as f64 / STEPS as f64)
            .map(|place| (density(values, width, place), place))
            .collect();
        let peak = shape.iter().map(|(size, _)| *size).fold(f64::MIN_POSITIVE, f64::max);
        let side =
            |sign: f64| shape.iter().map(move |(size, place)| (centre + sign * 0.4 * size / peak, *place));
        let outline: Vec<(f64, f64)> = side(-1.0).chain(side(1.0).rev()).collect();
        chart.draw_series([Polygon::new(outline, colour(*kind).mix(0.45).filled())]).map_err(text)?;
        chart
            .draw_series(values.iter().map(|value| Circle::new((centre, *value), 2, colour(*kind).filled())))
            .map_err(text)?;
        if let Some(median) = percentile(&mut values.clone(), 0.5) {
            let line = [(centre - 0.2, median), (centre + 0.2, median)];
            chart.draw_series([PathElement::new(line, BLACK.stroke_width(2))]).map_err(text)?;
        }
        label(area, chart.backend_coord(&(centre, low)), *kind)?;
    }
    Ok(())
}

fn label(area: &DrawingArea<SVGBackend, Shift>, at: (i32, i32), kind: Kind) -> Result<(), String> {
    let origin = area.get_base_pixel();
    let name = kind.name();
    let place = (at.0 - origin.0 - 3 * name.len() as i32, at.1 - origin.1 + 8);
    area.draw(&Text::new(name.to_owned(), place, ("sans-serif", 13))).map_err(text)
}

fn stacks(area: &DrawingArea<SVGBackend, Shift>, systems: &[(Kind, Vec<Way>)]) -> Result<(), String> {
    let systems = there(systems);
    let median = |ways: &[Way], part: fn(&Way) -> f64| {
        let mut values: Vec<f64> = ways.iter().map(|way| part(way) / 1e6).collect();
        percentile(&mut values, 0.5).unwrap_or(0.0)
    };
    let sum = |ways: &[Way]| PARTS.iter().map(|part| median(ways, part.2)).sum::<f64>();
    let Some(high) = systems.iter().map(|(_, ways)| sum(ways)).reduce(f64::max) else { return Ok(()) };
    let mut chart = ChartBuilder::on(area)
        .margin(12)
        .x_label_area_size(30)
        .y_label_area_size(64)
        .build_cartesian_2d(0.0..systems.len() as f64, 0.0..high * 1.35)
        .map_err(text)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .disable_x_axis()
        .y_desc("medians, milliseconds")
        .draw()
        .map_err(text)?;
    let mut floors = vec![0.0; systems.len()];
    for (name, colour, part) in PARTS {
        let mut boxes = Vec::new();
        for (at, (_, ways)) in systems.iter().enumerate() {
            let (floor, left) = (floors[at], at as f64 + 0.15);
            floors[at] += median(ways, part);
            boxes.push(Rectangle::new([(left, floor), (left + 0.7, floors[at])], colour.filled()));
        }
        chart
            .draw_series(boxes)
            .map_err(text)?
            .label(name)
            .legend(move |(x, y)| Rectangle::new([(x, y - 5), (x + 14, y + 5)], colour.filled()));
    }
    for (at, (kind, _)) in systems.iter().enumerate() {
        label(area, chart.backend_coord(&(at as f64 + 0.5, 0.0)), *kind)?;
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .background_style(WHITE.mix(0.8))
        .draw()
        .map_err(text)
}

/// One line for each rival, with the ratios of all graphs in ascending order.
pub fn ratios(path: &Path, title: &str, lines: &[(Kind, Vec<f64>)]) -> Result<(), String> {
    let root = SVGBackend::new(path, (960, 540)).into_drawing_area();
    root.fill(&WHITE).map_err(text)?;
    let count = lines.iter().map(|(_, ratios)| ratios.len()).max().unwrap_or(1);
    let high = lines.iter().flat_map(|(_, ratios)| ratios).copied().fold(1.2, f64::max);
    let mut chart = ChartBuilder::on(&root)
        .caption(title, ("sans-serif", 22))
        .margin(16)
        .x_label_area_size(44)
        .y_label_area_size(64)
        .build_cartesian_2d(0.0..count as f64, 0.0..high * 1.05)
        .map_err(text)?;
    chart
        .configure_mesh()
        .x_desc("graphs, sorted for each line")
        .y_desc("relative latency (below 1: Situ is faster)")
        .draw()
        .map_err(text)?;
    for (level, style) in [(1.0, BLACK.stroke_width(1)), (1.05, RED.mix(0.5).stroke_width(1))] {
        let line = [(0.0, level), (count as f64, level)];
        chart.draw_series([PathElement::new(line, style)]).map_err(text)?;
    }
    for (kind, ratios) in lines {
        let colour = colour(*kind);
        let mut sorted = ratios.clone();
        sorted.sort_by(f64::total_cmp);
        let points: Vec<(f64, f64)> =
            sorted.into_iter().enumerate().map(|(at, ratio)| (at as f64 + 0.5, ratio)).collect();
        chart
            .draw_series(LineSeries::new(points.clone(), colour.stroke_width(1)))
            .map_err(text)?
            .label(format!("against {}", kind.name()))
            .legend(move |(x, y)| Circle::new((x + 8, y), 4, colour.filled()));
        chart
            .draw_series(points.into_iter().map(|point| Circle::new(point, 3, colour.filled())))
            .map_err(text)?;
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK.mix(0.3))
        .draw()
        .map_err(text)?;
    root.present().map_err(text)
}

#[cfg(test)]
mod tests {
    use super::{density, kernel_width, ratios, ways};
    use crate::systems::Kind;
    use crate::view::{Way, Ways};

    #[test]
    fn densities() {
        // Equal samples give the least width, half a percent.
        assert!((kernel_width(&[10.0, 10.0, 10.0]) - 0.05).abs() < 1e-12);
        assert!((density(&[1.0, 2.0], 0.001, 1.0) - 1.0).abs() < 1e-9);
        assert!((density(&[1.0], 1.0, 2.0) - (-0.5_f64).exp()).abs() < 1e-12);
    }

    #[test]
    fn plots_are_drawn_with_what_there_is() {
        let directory = std::env::temp_dir().join(format!("situ-bench-plots-{}", std::process::id()));
        std::fs::create_dir_all(&directory).expect("a directory");
        let path = directory.join("plot.svg");
        let way = |total| Way { total, compute: 0.8 * total, within: 0.15 * total, between: 0.05 * total };
        let panels: Vec<Ways> = vec![
            (
                "radius 5".to_owned(),
                vec![(Kind::SituEmulated, vec![way(1e6), way(1.1e6)]), (Kind::Iceoryx2, vec![])],
            ),
            ("radius 3".to_owned(), vec![]),
        ];
        ways(&path, "title", &panels).expect("a plot");
        let svg = std::fs::read_to_string(&path).expect("a file");
        assert!(svg.contains("situ-emulated") && !svg.contains("iceoryx2"), "only systems with samples");
        let lines = [(Kind::SituHost, vec![0.9, 0.7, 1.1]), (Kind::Iceoryx2, vec![])];
        ratios(&path, "title", &lines).expect("a plot");
        assert!(std::fs::read_to_string(path).expect("a file").contains("against situ-host"));
        std::fs::remove_dir_all(directory).expect("it is ours");
    }
}
