//! What was measured of one graph: the durations of its rounds, and the numbers that are made of them.

use crate::bench::Bench;
use crate::driver::Team;
use crate::failure::Failure;
use crate::rows::Case;
use crate::stats::{geometric_mean, interval_of_ratios, jitter, percentile, ratio_interval, spread};
use crate::systems::Kind;
use crate::workload::graph::{Graph, Placement};

use super::TABLE;

/// The place of Situ among the teams, and that of the host baseline.
const SITU: usize = 0;
const BASELINE: usize = 1;

/// The rounds of one set of processes: one series for each time that they opened the graph. A series has the
/// durations of its rounds for each team, in nanoseconds.
#[derive(Clone, Debug, Default)]
pub struct Set {
    series: Vec<Vec<Vec<f64>>>,
}

impl Set {
    /// A set with one series.
    pub fn new(series: Vec<Vec<f64>>) -> Self {
        Self { series: vec![series] }
    }

    /// The series of a team.
    fn series_of(&self, team: usize) -> impl Iterator<Item = &[f64]> {
        self.series.iter().filter_map(move |teams| teams.get(team)).map(Vec::as_slice)
    }

    fn rounds(&self, team: usize) -> Vec<f64> {
        self.series_of(team).flatten().copied().collect()
    }

    fn median(&self, team: usize) -> Option<f64> {
        percentile(&mut self.rounds(team), 0.5)
    }

    /// Situ's duration minus that of the host baseline, for each round of both.
    fn differences(&self) -> impl Iterator<Item = f64> {
        let pairs = self.series_of(SITU).zip(self.series_of(BASELINE));
        pairs.flat_map(|(situ, baseline)| situ.iter().zip(baseline).map(|(situ, baseline)| situ - baseline))
    }
}

/// The measurements of a graph.
pub struct Measured {
    /// The graph's number.
    pub number: usize,
    /// Where its nodes worked.
    pub placement: Placement,
    /// The first set, with all teams.
    first: Set,
    /// Sets of Situ and the host baseline alone, from repetitions.
    pub repeated: Vec<Set>,
    /// For each team, the copies in a round.
    copies: Vec<f64>,
}

impl Measured {
    /// The first series of a graph. `copies` are those of a round, for each team.
    pub fn new(number: usize, placement: Placement, series: Vec<Vec<f64>>, copies: Vec<f64>) -> Self {
        Self { number, placement, first: Set::new(series), repeated: Vec::new(), copies }
    }

    /// The name of its rows.
    pub fn case(&self) -> Case {
        Case::named(match self.placement {
            Placement::Mixed => format!("graph {:02}", self.number),
            Placement::Host => format!("graph {:02}, all on the CPU", self.number),
        })
    }

    /// Adds measurements of the same graph by the same teams.
    pub fn add(&mut self, other: Self) {
        self.first.series.extend(other.first.series);
        for (copies, more) in self.copies.iter_mut().zip(other.copies) {
            // Neither measurement may hide the other's copies.
            *copies = copies.max(more);
        }
    }

    /// Adds a repetition by other processes. One in which a side failed does not count.
    pub fn repeat(&mut self, other: Self) {
        if other.first.median(SITU).is_some() && other.first.median(BASELINE).is_some() {
            self.repeated.push(other.first);
        }
    }

    /// The sets that count: the repetitions, or the first measurement if there are none.
    fn sets(&self) -> &[Set] {
        if self.repeated.is_empty() { std::slice::from_ref(&self.first) } else { &self.repeated }
    }

    /// The sets that count for a team. Only Situ and the host baseline are measured again.
    fn sets_of(&self, team: usize) -> &[Set] {
        if team > BASELINE { std::slice::from_ref(&self.first) } else { self.sets() }
    }

    fn rounds(&self, team: usize) -> Vec<f64> {
        self.sets_of(team).iter().flat_map(|set| set.rounds(team)).collect()
    }

    /// Situ's median divided by the host baseline's, for each set.
    fn ratios(&self) -> Vec<f64> {
        self.sets().iter().filter_map(|set| Some(set.median(SITU)? / set.median(BASELINE)?)).collect()
    }

    /// The geometric mean of the ratios.
    pub fn ratio(&self) -> f64 {
        geometric_mean(&self.ratios()).unwrap_or(0.0)
    }

    /// The 95 % confidence interval of the ratio.
    pub fn interval(&self) -> Option<(f64, f64)> {
        match self.sets() {
            [only] => ratio_interval(&only.rounds(SITU), &only.rounds(BASELINE)),
            _ => interval_of_ratios(&self.ratios()),
        }
    }

    /// Records the rows of the graph. Fails if a system made other copies than the graph needs.
    pub fn record(&self, bench: &mut Bench, teams: &[Team]) -> Result<(), Failure> {
        let graph = Graph::placed(self.number, self.placement);
        let case = self.case();
        for (index, team) in teams.iter().enumerate().filter(|(_, team)| team.absence().is_none()) {
            let mut rounds = self.rounds(index);
            let Some(median) = percentile(&mut rounds, 0.5) else { continue };
            bench.record(TABLE, &case, team.kind, "p50_ns", median);
            let jitter = jitter(self.sets_of(index).iter().flat_map(|set| set.series_of(index)));
            for (metric, value) in [("spread_ns", spread(&mut rounds)), ("jitter_ns", jitter)] {
                if let Some(value) = value {
                    bench.record(TABLE, &case, team.kind, metric, value);
                }
            }
            let over = self.copies[index] - graph.copies_needed() as f64;
            bench.record(TABLE, &case, team.kind, "copies_over_one_per_domain", over);
            check(&graph, &case, team.kind, self.copies[index])?;
        }
        if teams.iter().take(BASELINE + 1).all(|team| team.absence().is_none()) {
            self.record_comparison(bench, &case);
        }
        bench.note_absent(TABLE, &case, teams);
        Ok(())
    }

    /// Records the rows that compare Situ with the host baseline.
    fn record_comparison(&self, bench: &mut Bench, case: &Case) {
        let mut differences: Vec<f64> = self.sets().iter().flat_map(Set::differences).collect();
        let shares = [("difference_p10_ns", 0.1), ("difference_p50_ns", 0.5), ("difference_p90_ns", 0.9)];
        for (metric, share) in shares {
            if let Some(value) = percentile(&mut differences, share) {
                bench.record(TABLE, case, Kind::SituEmulated, metric, value);
            }
        }
        if let Some((low, high)) = self.interval() {
            bench.record(TABLE, case, Kind::SituEmulated, "ratio_to_host_low", low);
            bench.record(TABLE, case, Kind::SituEmulated, "ratio_to_host_high", high);
        }
    }
}

/// Compares the counted copies with those that the graph needs.
fn check(graph: &Graph, case: &Case, kind: Kind, copies: f64) -> Result<(), Failure> {
    let wrong = match kind {
        // At most one for each message and further domain.
        _ if kind.is_own() => copies > graph.copies_needed() as f64,
        Kind::SituHost | Kind::Iceoryx2 => copies != graph.copies_explicit() as f64,
        _ => false,
    };
    if wrong {
        let (name, needed, explicit) = (kind.name(), graph.copies_needed(), graph.copies_explicit());
        return Err(Failure::Worker(format!(
            "{}: {name} made {copies} copies a round; {needed} are needed, or {explicit} explicit ones",
            case.name
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{BASELINE, Measured, SITU};
    use crate::workload::graph::Placement;

    fn measured(situ: &[f64], baseline: &[f64], rival: &[f64]) -> Measured {
        let series = vec![situ.to_vec(), baseline.to_vec(), rival.to_vec()];
        Measured::new(7, Placement::Mixed, series, vec![1.0, 2.0, 3.0])
    }

    #[test]
    fn differences_pair_the_rounds() {
        let mut graph = measured(&[10.0, 30.0], &[15.0, 20.0], &[9.0, 9.0]);
        graph.add(measured(&[50.0], &[40.0], &[8.0]));
        // Pairs of medians would give 30 - 20 alone.
        assert_eq!(graph.first.differences().collect::<Vec<_>>(), [-5.0, 10.0, 10.0]);
        assert_eq!(graph.rounds(SITU), [10.0, 30.0, 50.0]);
        assert_eq!(graph.ratio(), 1.5);
        assert_eq!(graph.case().name, "graph 07");
    }

    #[test]
    fn repetitions_replace_the_first_set_of_two_systems() {
        let mut graph = measured(&[10.0], &[5.0], &[9.0]);
        graph.repeat(measured(&[4.0], &[], &[]));
        assert_eq!(graph.rounds(SITU), [10.0]);
        graph.repeat(measured(&[4.0], &[8.0], &[]));
        graph.repeat(measured(&[8.0], &[4.0], &[]));
        assert_eq!(graph.rounds(SITU), [4.0, 8.0]);
        assert_eq!(graph.rounds(BASELINE), [8.0, 4.0]);
        assert_eq!(graph.rounds(2), [9.0]);
        // A half and two.
        assert!((graph.ratio() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn the_most_copies_count() {
        let mut graph = measured(&[1.0], &[1.0], &[1.0]);
        let mut other = measured(&[1.0], &[1.0], &[1.0]);
        other.copies = vec![0.0, 5.0, 3.0];
        graph.add(other);
        assert_eq!(graph.copies, [1.0, 5.0, 3.0]);
    }
}
