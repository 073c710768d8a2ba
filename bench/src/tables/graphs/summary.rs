//! The remarks below the table, and its lines: one for each graph.

use crate::bench::Bench;
use crate::stats::percentile;
use crate::systems::Kind;
use crate::units::quantity;
use crate::view::{Drawing, Lines, Plot, Text, View};
use crate::workload::graph::Placement;

use super::measured::Measured;
use super::{RIVALS, TABLE};

/// The limit for each graph's ratio to the host baseline.
const LIMIT: f64 = 1.05;
const NAMES: [(Placement, &str); 2] =
    [(Placement::Mixed, "half on the device"), (Placement::Host, "all on the CPU")];

/// Adds the remarks, and returns the view. `before` graphs were slow before they were measured again.
pub fn summarize(bench: &mut Bench, results: &[Measured], before: usize) -> View {
    let mut parts = Vec::new();
    let mut ratios_of_mixed = Vec::new();
    for (placement, name) in NAMES {
        let those: Vec<&Measured> = results.iter().filter(|result| result.placement == placement).collect();
        for rival in RIVALS {
            let ratios = compare(bench, &those, name, rival);
            if placement == Placement::Mixed && !ratios.is_empty() {
                ratios_of_mixed.push((rival, ratios));
            }
        }
        parts.push(lines(bench, &those, name));
    }
    beside_the_paper(bench, &ratios_of_mixed);
    confidence(bench, results, before);
    let title = "98 random graphs: Situ's latency divided by a rival's";
    let plot = Plot { title, drawing: Drawing::Ratios(ratios_of_mixed) };
    View { text: Text::Lines(parts), plot: Some(plot) }
}

/// Situ's value divided by the rival's, for each graph with both.
fn ratios(bench: &Bench, results: &[&Measured], metric: &str, rival: Kind) -> Vec<f64> {
    let ratio = |result: &&Measured| {
        let case = result.case();
        let value = |kind| bench.value(TABLE, &case.name, kind, metric);
        Some(value(Kind::SituEmulated)? / value(rival)?)
    };
    results.iter().filter_map(ratio).filter(|ratio| ratio.is_finite()).collect()
}

/// Compares Situ with a rival, and returns the ratios of the medians.
fn compare(bench: &mut Bench, results: &[&Measured], name: &str, rival: Kind) -> Vec<f64> {
    let mut medians = ratios(bench, results, "p50_ns", rival);
    let at = |values: &mut [f64], share| percentile(values, share).unwrap_or(f64::NAN);
    if medians.is_empty() {
        return medians;
    }
    let of = medians.len();
    let slower = above(&medians, 1.0);
    let too_slow = above(&medians, LIMIT);
    let (low, middle, high) = (at(&mut medians, 0.0), at(&mut medians, 0.5), at(&mut medians, 1.0));
    let (situ, other) = (Kind::SituEmulated.name(), rival.name());
    bench.remark(format!(
        "{name}, {situ} / {other}: p50 median {middle:.2}, best {low:.2}, worst {high:.2}; slower in {slower} of {of} \
         graphs, by more than 5 % in {too_slow}"
    ));
    let variations = [("spread", "spread_ns"), ("jitter", "jitter_ns")].map(|(word, metric)| {
        let mut ratios = ratios(bench, results, metric, rival);
        let (more, of) = (above(&ratios, 1.0), ratios.len());
        format!("{word} median {:.2}, larger in {more} of {of} graphs", at(&mut ratios, 0.5))
    });
    bench.remark(format!("{name}, {situ} / {other}: {}", variations.join("; ")));
    medians
}

fn above(values: &[f64], limit: f64) -> usize {
    values.iter().filter(|&&value| value > limit).count()
}

/// The figures of the paper beside those of this run.
fn beside_the_paper(bench: &mut Bench, lines: &[(Kind, Vec<f64>)]) {
    let of = |kind| lines.iter().find(|(rival, _)| *rival == kind).map(|(_, ratios)| ratios.clone());
    let mut here = Vec::new();
    if let Some(median) = of(Kind::CycloneDds).and_then(|mut ratios| percentile(&mut ratios, 0.5)) {
        here.push(format!("{:.0} % faster than cyclonedds (median)", 100.0 * (1.0 - median)));
    }
    if let Some(ratios) = of(Kind::Iceoryx2) {
        let share = 100.0 * above(&ratios, 1.0) as f64 / ratios.len() as f64;
        here.push(format!("slower than iceoryx2 in {share:.0} %"));
    }
    if !here.is_empty() {
        bench.remark(format!(
            "the paper's Hazcat, on a GPU, over ROS 2: typically 27 % faster than CycloneDDS, slower than Iceoryx in about \
             31 % of its graphs; Situ here, on an emulated device: {}",
            here.join(", ")
        ));
    }
}

/// What is known of the graphs above the limit.
fn confidence(bench: &mut Bench, results: &[Measured], before: usize) {
    let mixed = results.iter().filter(|result| result.placement == Placement::Mixed);
    let intervals = mixed.filter_map(|result| Some((result, result.interval()?)));
    let (mut surely, mut perhaps) = (Vec::new(), Vec::new());
    for (result, (low, high)) in intervals.filter(|(result, _)| result.ratio() > LIMIT) {
        let text = format!("{:02}: {:.2} ({low:.2} to {high:.2})", result.number, result.ratio());
        if low > LIMIT { surely.push(text) } else { perhaps.push(text) }
    }
    let again = results.iter().map(|result| result.repeated.len()).max().unwrap_or(0);
    bench.remark(format!(
        "{before} graphs with nodes on the device were slower than the host baseline at first, and were measured again, \
         alone, with more rounds and by {again} sets of processes; with 95 % confidence {} are more than 5 % slower, and {} \
         others may be",
        surely.len(),
        perhaps.len(),
    ));
    for (what, graphs) in [("slower", surely), ("perhaps slower", perhaps)] {
        if !graphs.is_empty() {
            bench.remark(format!("{what}: {}", graphs.join(", ")));
        }
    }
}

/// One line for each graph: Situ, the host baseline, and the difference.
fn lines(bench: &Bench, results: &[&Measured], name: &'static str) -> Lines {
    let own = [(Kind::SituEmulated, "situ"), (Kind::SituHost, "by hand")];
    let columns = own.into_iter().flat_map(|(kind, word)| {
        [("p50", "p50_ns"), ("spread", "spread_ns"), ("jitter", "jitter_ns")]
            .map(|(short, metric)| (kind, metric, format!("{word} {short}")))
    });
    let differences = [
        ("difference", "difference_p50_ns"),
        ("its p10", "difference_p10_ns"),
        ("its p90", "difference_p90_ns"),
    ]
    .map(|(short, metric)| (Kind::SituEmulated, metric, short.to_owned()));
    let columns: Vec<(Kind, &str, String)> = columns.chain(differences).collect();
    let mut cells =
        vec![std::iter::once("graph").chain(columns.iter().map(|it| &*it.2)).map(str::to_owned).collect()];
    for result in results {
        let case = result.case();
        let mut line = vec![format!("{:02}", result.number)];
        line.extend(columns.iter().map(|(kind, metric, _)| {
            let value = bench.value(TABLE, &case.name, *kind, metric);
            value.map_or_else(|| "-".to_owned(), |value| quantity(metric, value))
        }));
        cells.push(line);
    }
    Lines { title: name, cells }
}
