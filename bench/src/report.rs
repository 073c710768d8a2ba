//! Numbers for people and for programs.

use std::fmt::Write;

use crate::bench::Row;
use crate::systems::Kind;

/// A row as programs read it.
#[derive(serde::Serialize)]
struct Line<'a> {
    table: &'a str,
    case: &'a str,
    system: &'a str,
    metric: &'a str,
    value: f64,
}

/// One row as a JSON object.
pub fn json(row: &Row) -> Result<String, serde_json::Error> {
    serde_json::to_string(&Line {
        table: row.table,
        case: &row.case.name,
        system: row.system.name(),
        metric: row.metric,
        value: (row.value * 1000.0).round() / 1000.0,
    })
}

/// A size in words: `64 B`, `4 MiB`.
pub fn size(bytes: usize) -> String {
    match bytes {
        _ if bytes >= 1 << 20 && bytes.is_multiple_of(1 << 20) => format!("{} MiB", bytes >> 20),
        _ if bytes >= 1 << 10 && bytes.is_multiple_of(1 << 10) => format!("{} KiB", bytes >> 10),
        _ => format!("{bytes} B"),
    }
}

/// A value with a unit that suits it.
pub fn quantity(metric: &str, value: f64) -> String {
    if metric.ends_with("_ns") {
        match value {
            v if v < 100.0 => format!("{v:.1} ns"),
            v if v < 1e3 => format!("{v:.0} ns"),
            v if v < 1e4 => format!("{:.2} us", v / 1e3),
            v if v < 1e6 => format!("{:.1} us", v / 1e3),
            v => format!("{:.2} ms", v / 1e6),
        }
    } else if metric.ends_with("_ms") {
        format!("{value:.2} ms")
    } else if metric.ends_with("_mib") {
        format!("{value:.1} MiB")
    } else if metric.ends_with("bytes") {
        format!("{value:.0}")
    } else if metric.starts_with("msg_per_s") {
        match value {
            v if v < 1e6 => format!("{:.1} k/s", v / 1e3),
            v => format!("{:.2} M/s", v / 1e6),
        }
    } else {
        let text = format!("{value:.2}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    }
}

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
    let mut systems: Vec<Kind> = Vec::new();
    let mut lines: Vec<(&str, &'static str)> = Vec::new();
    for row in rows {
        if !systems.contains(&row.system) {
            systems.push(row.system);
        }
        if !lines.contains(&(row.case.name.as_str(), row.metric)) {
            lines.push((&row.case.name, row.metric));
        }
    }
    systems.sort_by_key(|system| *system as usize);
    let own = systems.iter().copied().find(|system| system.is_own()).unwrap_or(Kind::Situ);
    let value = |case: &str, metric: &str, system: Kind| {
        rows.iter()
            .find(|row| row.case.name == case && row.metric == metric && row.system == system)
            .map(|row| row.value)
    };
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
    let columns = cells.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns)
        .map(|at| {
            cells.iter().filter_map(|line| line.get(at)).map(|cell| cell.chars().count()).max().unwrap_or(0)
        })
        .collect();
    let mut text = format!("{name}: {title}\n");
    for line in &cells {
        let mut shown = String::new();
        for (at, (cell, &width)) in line.iter().zip(&widths).enumerate() {
            // Names to the left, numbers to the right.
            let _ =
                if at < 2 { write!(shown, "  {cell:<width$}") } else { write!(shown, "  {cell:>width$}") };
        }
        text.push_str(shown.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{json, quantity, size, table};
    use crate::bench::{Case, Row};
    use crate::systems::Kind;

    fn row(system: Kind, metric: &'static str, value: f64) -> Row {
        Row { table: "hop", case: Case::named("64 B"), system, metric, value }
    }

    #[test]
    fn json_is_one_flat_object() {
        assert_eq!(
            json(&row(Kind::Situ, "p50_ns", 212.0)).expect("serializable"),
            r#"{"table":"hop","case":"64 B","system":"situ","metric":"p50_ns","value":212.0}"#
        );
    }

    #[test]
    fn units() {
        assert_eq!(size(64), "64 B");
        assert_eq!(size(64 << 10), "64 KiB");
        assert_eq!(size(4 << 20), "4 MiB");
        assert_eq!(quantity("p50_ns", 212.4), "212 ns");
        assert_eq!(quantity("p50_ns", 12_340.0), "12.3 us");
        assert_eq!(quantity("msg_per_s", 3_210_000.0), "3.21 M/s");
        assert_eq!(quantity("open_files", 46.0), "46");
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
