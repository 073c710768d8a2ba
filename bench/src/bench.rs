//! One run of the program: its options, its files, and the rows that it has measured.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::driver::Team;
use crate::failure::Failure;
use crate::os::{self, Awake};
use crate::rows::{self, Case, Row};
use crate::session::{Ownership, Session};
use crate::stats::percentile;
use crate::systems::Kind;

/// The options of the command line.
#[derive(Debug)]
pub struct Options {
    /// Print one JSON object a line, and nothing else.
    pub json: bool,
    /// Measure more rounds.
    pub full: bool,
    /// The directory of the plots.
    pub svg: PathBuf,
    /// The cores to use; empty: the program chooses.
    pub cpus: Vec<usize>,
    /// The options of table `graphs`.
    pub graphs: Graphs,
}

/// The options of table `graphs`.
#[derive(Debug, Default)]
pub struct Graphs {
    /// The graphs to measure; empty: all.
    pub only: Vec<usize>,
    /// The number of rounds; absent: the program chooses.
    pub rounds: Option<usize>,
    /// Whether to keep the cores from becoming idle.
    pub busy: bool,
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
            os::cores().map_err(Failure::io("cannot read this process's cores"))?
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

    /// The cores to measure on. Fails if there are fewer than `needed`.
    pub fn cores(&self, needed: usize) -> Result<Vec<usize>, Failure> {
        let found = self.cores.len();
        if found < needed { Err(Failure::Cores { needed, found }) } else { Ok(self.cores.clone()) }
    }

    /// Keeps the cores out of deep sleep, if the kernel permits that.
    pub fn keep_awake(&mut self) {
        match Awake::request() {
            Ok(awake) => self.awake = Some(awake),
            Err(error) => self.remark(format!(
                "cores may sleep deeply, which makes waking slower: cannot use /dev/cpu_dma_latency: {error}"
            )),
        }
    }

    /// Lets cores sleep deeply again. Returns whether that changes anything.
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

    /// The options of table `graphs`.
    pub fn graphs(&self) -> &Graphs {
        &self.options.graphs
    }

    /// The time for one case. A table takes less than a minute even on a busy machine.
    pub fn budget(&self) -> Duration {
        Duration::from_secs(if self.options.full { 30 } else { 3 })
    }

    /// Whether rows are printed as JSON, and nothing else.
    pub fn is_json(&self) -> bool {
        self.options.json
    }

    /// The directory of the plots.
    pub fn plots(&self) -> &Path {
        &self.options.svg
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
            let line = row.json().map_err(std::io::Error::other);
            if line.and_then(|line| writeln!(std::io::stdout(), "{line}")).is_err() {
                // Standard output is closed: clean up and exit.
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

    /// Adds a remark for each absent system with the reason, once for each reason.
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

    /// Adds a remark that is printed below the table.
    pub fn remark(&mut self, remark: String) {
        if self.options.json {
            eprintln!("{remark}");
        }
        self.remarks.push(remark);
    }

    /// The remarks since the last call.
    pub fn take_remarks(&mut self) -> Vec<String> {
        std::mem::take(&mut self.remarks)
    }

    /// The rows of a table.
    pub fn rows(&self, table: &str) -> Vec<&Row> {
        self.rows.iter().filter(|row| row.table == table).collect()
    }

    /// One system's value divided by another's, for each case with both.
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

    /// A measured number.
    pub fn value(&self, table: &str, case: &str, system: Kind, metric: &str) -> Option<f64> {
        rows::value(&self.rows(table), case, system, metric)
    }
}
