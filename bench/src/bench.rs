//! One run of the program: its options, its files, and what it has measured so far.

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use crate::driver::Team;
use crate::failure::Failure;
use crate::os::{self, Awake};
use crate::plot_memory::Panel;
use crate::report_systems::{Column, Part};
use crate::session::{Ownership, Session};
use crate::stats::percentile;
use crate::systems::Kind;
use crate::{plot, plot_memory, plot_region, report, report_systems};

/// What the command line asks for.
#[derive(Debug)]
pub struct Options {
    /// One JSON object a line, and nothing else.
    pub json: bool,
    /// More rounds.
    pub full: bool,
    /// Where plots go.
    pub svg: PathBuf,
    /// The cores to use, if chosen by hand.
    pub cpus: Vec<usize>,
    /// What is asked for of table `graphs`.
    pub graphs: Graphs,
}

/// How table `graphs` is to be measured.
#[derive(Debug, Default)]
pub struct Graphs {
    /// The graphs, if chosen by hand.
    pub only: Vec<usize>,
    /// In how many rounds, if chosen by hand.
    pub rounds: Option<usize>,
    /// Whether the cores are kept from becoming idle.
    pub busy: bool,
}

/// A row of a table: what is measured.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its name.
    pub name: String,
    /// For plots over message size: the size, and which of the plot's panels it belongs to.
    pub size: Option<(usize, usize)>,
}

impl Case {
    /// A case without a place on a size axis.
    pub fn named(name: impl Into<String>) -> Self {
        Self { name: name.into(), size: None }
    }

    /// A case with a message size.
    pub fn sized(name: String, size: usize, panel: usize) -> Self {
        Self { name, size: Some((size, panel)) }
    }
}

/// One number.
#[derive(Clone, Debug)]
pub struct Row {
    /// The table.
    pub table: &'static str,
    /// The case.
    pub case: Case,
    /// The system.
    pub system: Kind,
    /// What the number is.
    pub metric: &'static str,
    /// The number.
    pub value: f64,
}

/// One run.
pub struct Bench {
    options: Options,
    files: Ownership,
    rows: Vec<Row>,
    remarks: Vec<String>,
    ids: u64,
    cores: Vec<usize>,
    awake: Option<Awake>,
}

impl Bench {
    /// Prepares the files of a run.
    pub fn new(options: Options) -> Result<Self, Failure> {
        let files = Ownership::take()?;
        let cores = if options.cpus.is_empty() {
            os::cores().map_err(Failure::io("cannot ask for this process's cores"))?
        } else {
            options.cpus.clone()
        };
        let mut bench =
            Self { options, files, rows: Vec::new(), remarks: Vec::new(), ids: 0, cores, awake: None };
        bench.keep_awake();
        Ok(bench)
    }

    /// The files of the run.
    pub fn session(&self) -> &Session {
        self.files.session()
    }

    /// The cores to measure on: at least so many.
    pub fn cores(&self, needed: usize) -> Result<Vec<usize>, Failure> {
        let found = self.cores.len();
        if found < needed { Err(Failure::Cores { needed, found }) } else { Ok(self.cores.clone()) }
    }

    /// Keeps the cores out of deep sleep, if the kernel lets us.
    pub fn keep_awake(&mut self) {
        match Awake::request() {
            Ok(awake) => self.awake = Some(awake),
            Err(error) => self.remark(format!(
                "cores may sleep deeply, which waking pays for: cannot use /dev/cpu_dma_latency: {error}"
            )),
        }
    }

    /// Lets cores sleep as deeply as they like again. Says whether that changes anything.
    pub fn let_sleep(&mut self) -> bool {
        self.awake.take().is_some()
    }

    /// A number that makes the names of a case's channels unique.
    pub fn next_id(&mut self) -> u64 {
        self.ids += 1;
        self.ids
    }

    /// The first number, or the second in a full run.
    pub fn scale(&self, normal: usize, full: usize) -> usize {
        if self.options.full { full } else { normal }
    }

    /// What is asked for of table `graphs`.
    pub fn graphs(&self) -> &Graphs {
        &self.options.graphs
    }

    /// How long one case may take: a table stays under a minute even on a busy machine.
    pub fn budget(&self) -> Duration {
        Duration::from_secs(if self.options.full { 30 } else { 3 })
    }

    /// A size in words.
    pub fn size(&self, bytes: usize) -> String {
        report::size(bytes)
    }

    /// Keeps one number, and prints it at once if JSON is wanted.
    pub fn record(
        &mut self,
        table: &'static str,
        case: &Case,
        system: Kind,
        metric: &'static str,
        value: f64,
    ) {
        let row = Row { table, case: case.clone(), system, metric, value };
        if self.options.json {
            let line = report::json(&row).map_err(std::io::Error::other);
            if line.and_then(|line| writeln!(std::io::stdout(), "{line}")).is_err() {
                // Nobody listens any more: tidy up and go.
                os::interrupt();
            }
        }
        self.rows.push(row);
    }

    /// Keeps the median and the 99th percentile of each team's samples.
    pub fn latencies(&mut self, table: &'static str, case: &Case, teams: &[Team], samples: Vec<Vec<f64>>) {
        for (team, mut samples) in teams.iter().zip(samples) {
            for (metric, share) in [("p50_ns", 0.5), ("p99_ns", 0.99)] {
                if let Some(value) = percentile(&mut samples, share) {
                    self.record(table, case, team.kind, metric, value);
                }
            }
        }
        self.note_absent(table, case, teams);
    }

    /// Remarks which systems are absent and why, each reason once.
    pub fn note_absent(&mut self, table: &'static str, case: &Case, teams: &[Team]) {
        for team in teams {
            let Some(reason) = team.absence() else { continue };
            let name = team.kind.name();
            let head = format!("{table}: {name} is absent");
            if !self.remarks.iter().any(|remark| remark.starts_with(&head) && remark.ends_with(reason)) {
                self.remark(format!("{head} from `{}` on: {reason}", case.name));
            }
        }
    }

    /// Says something about the run beside its numbers.
    pub fn remark(&mut self, remark: String) {
        if self.options.json {
            eprintln!("{remark}");
        }
        self.remarks.push(remark);
    }

    /// Prints what there is to say about a table beside its numbers, unless JSON is wanted.
    pub fn print_remarks(&mut self, table: &'static str, title: &str) {
        if !self.options.json {
            let remarks: Vec<String> = self.remarks.drain(..).map(|remark| format!("  {remark}\n")).collect();
            if writeln!(std::io::stdout(), "{table}: {title}\n{}", remarks.concat()).is_err() {
                os::interrupt();
            }
        }
    }

    /// One system's value divided by another's, for each case that has both.
    pub fn ratios(&self, table: &str, metric: &str, of: Kind, to: Kind) -> Vec<f64> {
        let rows = || self.rows.iter().filter(|row| row.table == table && row.metric == metric);
        rows()
            .filter(|row| row.system == of)
            .filter_map(|own| {
                let other = rows().find(|row| row.system == to && row.case.name == own.case.name)?;
                Some(own.value / other.value)
            })
            .collect()
    }

    /// Prints the table for people, unless JSON is wanted.
    pub fn print(&mut self, table: &'static str, title: &str) {
        if !self.options.json {
            let rows: Vec<&Row> = self.rows.iter().filter(|row| row.table == table).collect();
            let mut text = report::table(table, title, &rows);
            for remark in self.remarks.drain(..) {
                text.push_str(&format!("  {remark}\n"));
            }
            if writeln!(std::io::stdout(), "{text}").is_err() {
                os::interrupt();
            }
        }
    }

    /// Prints a table part by part, with a line for each system, unless JSON is wanted.
    pub fn print_parts(&mut self, table: &'static str, title: &str, parts: &[Part]) {
        if !self.options.json {
            let rows = self.table_rows(table);
            let mut text = format!("{table}: {title}\n");
            for part in parts {
                let shown = report_systems::part(part, &rows);
                if !shown.is_empty() {
                    text.push_str(&format!("\n{shown}"));
                }
            }
            text.push('\n');
            for remark in self.remarks.drain(..) {
                text.push_str(&format!("  {remark}\n"));
            }
            if writeln!(std::io::stdout(), "{text}").is_err() {
                os::interrupt();
            }
        }
    }

    /// A number that was measured.
    pub fn value(&self, table: &str, case: &str, system: Kind, metric: &str) -> Option<f64> {
        self.rows
            .iter()
            .find(|row| {
                row.table == table && row.case.name == case && row.system == system && row.metric == metric
            })
            .map(|row| row.value)
    }

    /// Draws panels of bars, a bar for each system.
    pub fn plot_systems(
        &mut self,
        table: &'static str,
        title: &str,
        panels: &[Column],
    ) -> Result<(), Failure> {
        let outcome = plot_region::bars(&self.options.svg, table, title, panels, &self.table_rows(table));
        self.plotted(outcome)
    }

    fn table_rows(&self, table: &str) -> Vec<&Row> {
        self.rows.iter().filter(|row| row.table == table).collect()
    }

    fn plotted(&mut self, outcome: Result<PathBuf, Failure>) -> Result<(), Failure> {
        let path = outcome?;
        if !self.options.json {
            self.remark(format!("plot: {}", path.display()));
        }
        Ok(())
    }

    /// Draws median and 99th percentile over message size, one panel for each name.
    pub fn plot_sizes(&mut self, table: &'static str, title: &str, panels: &[&str]) -> Result<(), Failure> {
        let outcome = plot::sizes(&self.options.svg, table, title, panels, &self.table_rows(table));
        self.plotted(outcome)
    }

    /// Draws the densities of images' ways, and what they consist of.
    pub fn plot_ways(&mut self, table: &'static str, title: &str, panels: &[Panel]) -> Result<(), Failure> {
        let outcome = plot_memory::ways(&self.options.svg, table, title, panels);
        self.plotted(outcome)
    }

    /// Draws ratios to several systems, sorted.
    pub fn plot_ratios(
        &mut self,
        table: &'static str,
        title: &str,
        lines: &[(Kind, Vec<f64>)],
    ) -> Result<(), Failure> {
        let outcome = plot_memory::ratios(&self.options.svg, table, title, lines);
        self.plotted(outcome)
    }

    /// Draws one metric as bars, grouped by case.
    pub fn plot_bars(
        &mut self,
        table: &'static str,
        title: &str,
        metric: &'static str,
        unit: &str,
    ) -> Result<(), Failure> {
        let rows: Vec<&Row> = self.table_rows(table).into_iter().filter(|row| row.metric == metric).collect();
        let outcome = plot::bars(&self.options.svg, table, title, unit, &rows);
        self.plotted(outcome)
    }
}
