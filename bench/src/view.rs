//! How a table is shown: the result of its measurement for the report and for the plots.

use crate::systems::Kind;

/// A column: the case, the metric, and the heading.
pub type Column = (&'static str, &'static str, &'static str);

/// A part of a table: columns side by side.
pub struct Part {
    /// What it shows.
    pub title: &'static str,
    /// Its columns.
    pub columns: &'static [Column],
    /// The system of the ratios in the last line.
    pub own: Kind,
    /// The system to compare with. Absent: the best of the peers.
    pub to: Option<Kind>,
}

/// The times of one image, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Way {
    /// From host memory to host memory.
    pub total: f64,
    /// Both filters.
    pub compute: f64,
    /// Copies in the two nodes.
    pub within: f64,
    /// From node to node.
    pub between: f64,
}

/// A panel of ways: its name, and the measurements of each system.
pub type Ways = (String, Vec<(Kind, Vec<Way>)>);

/// A part of a table with lines of its own.
pub struct Lines {
    /// What it shows.
    pub title: &'static str,
    /// The heading of the columns, and the lines.
    pub cells: Vec<Vec<String>>,
}

/// How the rows are printed.
pub enum Text {
    /// A line for each case and metric, a column for each system.
    Cases,
    /// Part by part, with a line for each system.
    Systems(&'static [Part]),
    /// Part by part, with lines of the table's own.
    Lines(Vec<Lines>),
}

/// What a plot shows.
pub enum Drawing {
    /// Median and 99th percentile over message size, one panel for each name.
    Sizes(&'static [&'static str]),
    /// One metric as bars, grouped by case.
    Bars {
        /// The metric.
        metric: &'static str,
        /// The name of its unit.
        unit: &'static str,
    },
    /// A panel for each column, with a bar for each system.
    Systems(&'static [Column]),
    /// The densities of images' times, and the parts of their medians.
    Ways(Vec<Ways>),
    /// Ratios to several systems, sorted.
    Ratios(Vec<(Kind, Vec<f64>)>),
}

/// A plot.
pub struct Plot {
    /// Its title.
    pub title: &'static str,
    /// What it shows.
    pub drawing: Drawing,
}

/// How a table is shown.
pub struct View {
    /// Its rows.
    pub text: Text,
    /// Its plot, if it has one.
    pub plot: Option<Plot>,
}

impl View {
    /// A line for each case, and a plot.
    pub fn of(title: &'static str, drawing: Drawing) -> Self {
        Self { text: Text::Cases, plot: Some(Plot { title, drawing }) }
    }
}
