//! Tables with a line for each system and a column for each number, for tables with more systems than cases.

use crate::rows::{self, Row};
use crate::systems::Kind;
use crate::units::quantity;
use crate::view::{Column, Part};

use super::lines::aligned;

fn value(rows: &[&Row], system: Kind, (case, metric, _): Column) -> Option<f64> {
    rows::value(rows, case, system, metric)
}

/// Formats a part. Empty if nothing of it was measured.
pub fn part(part: &Part, rows: &[&Row]) -> String {
    let systems =
        rows::systems(rows.iter().copied().filter(|row| {
            part.columns.iter().any(|column| column.0 == row.case.name && column.1 == row.metric)
        }));
    if systems.is_empty() {
        return String::new();
    }
    let mut lines = vec![vec![String::new()]];
    lines[0].extend(part.columns.iter().map(|column| column.2.to_owned()));
    for &system in &systems {
        let mut line = vec![system.name().to_owned()];
        line.extend(part.columns.iter().map(|&column| {
            value(rows, system, column).map_or_else(|| "-".to_owned(), |value| quantity(column.1, value))
        }));
        lines.push(line);
    }
    let name = part.to.map_or("best peer", Kind::name);
    let mut line = vec![format!("{} / {name}", part.own.name())];
    line.extend(part.columns.iter().map(|&column| {
        let others = systems.iter().filter(|&&system| match part.to {
            Some(to) => system == to,
            None => system.is_peer(),
        });
        let best = others
            .filter_map(|&system| Some((system, value(rows, system, column)?)))
            .reduce(|a, b| if b.1 < a.1 { b } else { a });
        match (value(rows, part.own, column), best) {
            (Some(own), Some((peer, best))) if best > 0.0 => {
                let ratio = format!("{:.2}x", own / best);
                if part.to.is_some() { ratio } else { format!("{ratio} {}", peer.name()) }
            }
            _ => "-".to_owned(),
        }
    }));
    lines.push(line);
    format!("{}\n{}", part.title, aligned(&lines, 1))
}

#[cfg(test)]
mod tests {
    use super::part;
    use crate::rows::{Case, Row};
    use crate::systems::Kind;
    use crate::view::Part;

    #[test]
    fn a_line_for_each_system_and_the_ratio_to_the_best_peer() {
        let row = |system, metric, value| Row {
            table: "region",
            case: Case::named("character"),
            system,
            metric,
            value,
        };
        let rows = [
            row(Kind::Rkyv, "read_ns", 50.0),
            row(Kind::FlatBuffers, "read_ns", 100.0),
            row(Kind::Situ, "read_ns", 25.0),
            row(Kind::Std, "read_ns", 10.0),
        ];
        let shape = Part {
            title: "characters",
            columns: &[("character", "read_ns", "read"), ("character", "build_ns", "build")],
            own: Kind::Situ,
            to: None,
        };
        let text = part(&shape, &rows.iter().collect::<Vec<_>>());
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[2], ["situ", "25.0", "ns", "-"]);
        assert_eq!(lines[3], ["std", "10.0", "ns", "-"]);
        // Containers that are never sent are not a peer.
        assert_eq!(lines[6], ["situ", "/", "best", "peer", "0.50x", "rkyv", "-"]);
        assert_eq!(part(&shape, &[]), "");
    }
}
