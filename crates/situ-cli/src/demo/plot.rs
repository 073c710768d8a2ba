//! The latency plot: cumulative distributions of the runs, one curve each, as an SVG.

use std::path::Path;

use plotters::prelude::*;

use super::latency::{Latencies, percentile};

/// One curve.
pub struct Curve<'a> {
    /// The label.
    pub label: &'a str,
    /// The latencies.
    pub latencies: &'a Latencies,
}

/// The reason that no plot was written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the plot {path}: {reason}")]
pub struct PlotError {
    path: String,
    reason: String,
}

const SIZE: (u32, u32) = (900, 520);
const COLOURS: [RGBColor; 3] =
    [RGBColor(0x0b, 0x6e, 0x99), RGBColor(0xd9, 0x5f, 0x02), RGBColor(0x75, 0x70, 0xb3)];

/// Writes the cumulative distribution of every curve with its p50 and p99 to `path`.
pub fn write(path: &Path, title: &str, curves: &[Curve<'_>]) -> Result<(), PlotError> {
    let fail = |reason: String| PlotError { path: path.display().to_string(), reason };
    let svg = render(title, curves).map_err(|e| fail(e.to_string()))?;
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(|e| fail(e.to_string()))?;
    }
    std::fs::write(path, svg).map_err(|e| fail(e.to_string()))
}

fn render(title: &str, curves: &[Curve<'_>]) -> Result<String, Box<dyn std::error::Error>> {
    let sorted: Vec<Vec<u64>> = curves.iter().map(|c| c.latencies.sorted()).collect();
    let micros = |ns: u64| ns as f64 / 1e3;
    // From zero, so that lengths can be compared, to slightly more than the greater p99, so that one outlier
    // does not compress the rest.
    let limit = sorted.iter().map(|s| percentile(s, 99.0)).max().unwrap_or(0).max(1_000) as f64 / 1e3 * 1.25;

    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        root.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&root)
            .caption(title, ("sans-serif", 20))
            .margin(16)
            .x_label_area_size(44)
            .y_label_area_size(56)
            .build_cartesian_2d(0.0..limit, 0.0..100.0)?;
        chart
            .configure_mesh()
            .x_desc("end-to-end latency in µs")
            .y_desc("frames at most this late, %")
            .x_label_formatter(&|v| micros_label(*v))
            .light_line_style(WHITE)
            .bold_line_style(RGBColor(0xe4, 0xe4, 0xe4))
            .label_style(("sans-serif", 13))
            .draw()?;
        for (index, (curve, values)) in curves.iter().zip(&sorted).enumerate() {
            let colour = COLOURS[index % COLOURS.len()];
            let (p50, p99) = (percentile(values, 50.0), percentile(values, 99.0));
            let worst = micros(values.last().copied().unwrap_or(0));
            let label = format!(
                "{}: p50 {} µs, p99 {} µs, worst {} µs",
                curve.label,
                micros_label(micros(p50)),
                micros_label(micros(p99)),
                micros_label(worst)
            );
            let count = values.len().max(1) as f64;
            let steps = values.iter().enumerate().flat_map(|(i, &ns)| {
                let latency = micros(ns).min(limit);
                [(latency, i as f64 / count * 100.0), (latency, (i + 1) as f64 / count * 100.0)]
            });
            chart
                .draw_series(LineSeries::new(steps, colour.stroke_width(2)))?
                .label(label)
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], colour.stroke_width(3)));
            let marks =
                [(p50, 50.0), (p99, 99.0)].map(|(ns, y)| Circle::new((micros(ns), y), 4, colour.filled()));
            chart.draw_series(marks)?;
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::LowerRight)
            .background_style(WHITE.mix(0.85))
            .border_style(RGBColor(0xc8, 0xc8, 0xc8))
            .label_font(("sans-serif", 14))
            .draw()?;
        root.present()?;
    }
    Ok(svg)
}

fn micros_label(value: f64) -> String {
    match value {
        v if v < 10.0 => format!("{v:.2}"),
        v if v < 100.0 => format!("{v:.1}"),
        v => format!("{v:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plot_names_its_curves_and_their_percentiles() {
        let fast: Latencies = (1..=100).map(|i| i * 1_000).collect();
        let slow: Latencies = (1..=100).map(|i| i * 10_000).collect();
        let curves =
            [Curve { label: "zero-copy", latencies: &fast }, Curve { label: "serialized", latencies: &slow }];
        let svg = render("Demo", &curves).unwrap();
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
        assert!(svg.contains("zero-copy: p50 50.0 µs, p99 99.0 µs, worst 100 µs"), "{svg}");
        assert!(svg.contains("serialized: p50 500 µs, p99 990 µs, worst 1000 µs"), "{svg}");
        for colour in ["#0B6E99", "#D95F02"] {
            let strokes = svg.lines().filter(|l| l.starts_with("<polyline") && l.contains(colour)).count();
            assert_eq!(strokes, 2, "a curve and its legend in {colour}");
        }
    }

    #[test]
    fn equal_or_missing_values_still_make_a_plot() {
        let one: Latencies = [5_000].into_iter().collect();
        let none = Latencies::default();
        for latencies in [&one, &none] {
            assert!(render("Demo", &[Curve { label: "run", latencies }]).is_ok());
        }
    }

    #[test]
    fn a_path_that_cannot_be_written_is_named() {
        let error = write(Path::new("/proc/none/plot.svg"), "Demo", &[]).unwrap_err().to_string();
        assert!(error.starts_with("cannot write the plot /proc/none/plot.svg: "), "{error}");
    }
}
