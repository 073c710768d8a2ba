//! Tables with a column for each system, and the ratio of Situ to the best of its peers.

use crate::rows::{self, Row};
use crate::systems::Kind;
use crate::units::quantity;

use super::lines::aligned;

/// Whether more is better.
fn ascending(metric: &str) -> bool {
    metric.starts_with("msg_per_s")
}

/// A metric's short name in tables; the unit stands with the value.
fn short(metric: &str) -> &str {
    match metric {
        "p50_ns" => "p50",
        "p99_ns" => "p99",
        "msg_per_s" => "median",
        "msg_per_s_min" => "slowest",
        other => other,
    }
}

/// The table with one column a system and the ratio of Situ to the best of its peers.
pub fn table(name: &str, title: &str, rows: &[&Row]) -> String {
    let systems = rows::systems(rows.iter().copied());
    let mut lines: Vec<(&str, &'static str)> = Vec::new();
    for row in rows {
        if !lines.contains(&(row.case.name.as_str(), row.metric)) {
            lines.push((&row.case.name, row.metric));
        }
    }
    let own = systems.iter().copied().find(|system| system.is_own()).unwrap_or(Kind::Situ);
    let value = |case: &str, metric: &str, system: Kind| rows::value(rows, case, system, metric);
    let mut cells: Vec<Vec<String>> = Vec::new();
    let mut head = vec!["case".to_owned(), String::new()];
    head.extend(systems.iter().map(|system| system.name().to_owned()));
    head.push("situ / best peer".to_owned());
    cells.push(head);
    let mut last = "";
    for (case, metric) in lines {
        let mut line =
            vec![if case == last { String::new() } else { case.to_owned() }, short(metric).to_owned()];
        last = case;
        line.extend(systems.iter().map(|&system| {
            value(case, metric, system).map_or_else(|| "-".to_owned(), |value| quantity(metric, value))
        }));
        let peers = systems.iter().filter(|system| system.is_peer());
        let best = peers
            .filter_map(|&system| Some((system, value(case, metric, system)?)))
            .reduce(|a, b| if (b.1 < a.1) != ascending(metric) { b } else { a });
        line.push(match (value(case, metric, own), best) {
            (Some(own), Some((peer, best))) if best > 0.0 => format!("{:.2}x {}", own / best, peer.name()),
            _ => "-".to_owned(),
        });
        cells.push(line);
    }
    format!("{name}: {title}\n{}", aligned(&cells, 2))
}

#[cfg(test)]
mod tests {
    use super::table;
    use crate::rows::{Case, Row};
    use crate::systems::Kind;

    fn row(system: Kind, metric: &'static str, value: f64) -> Row {
        Row { table: "hop", case: Case::named("64 B"), system, metric, value }
    }

    #[test]
    fn ratio_to_the_best_peer() {
        let rows = [
            row(Kind::Floor, "p50_ns", 100.0),
            row(Kind::Situ, "p50_ns", 250.0),
            row(Kind::Iceoryx2, "p50_ns", 1000.0),
            row(Kind::Iceoryx, "p50_ns", 500.0),
        ];
        let text = table("hop", "t", &rows.iter().collect::<Vec<_>>());
        assert!(text.contains("0.50x iceoryx\n"), "{text}");
        let rows = [row(Kind::Situ, "msg_per_s", 6e6), row(Kind::Iceoryx2, "msg_per_s", 2e6)];
        let text = table("throughput", "t", &rows.iter().collect::<Vec<_>>());
        assert!(text.contains("3.00x iceoryx2\n"), "{text}");
    }
}
