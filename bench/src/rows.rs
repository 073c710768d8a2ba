//! The measured numbers: rows of a table, and their form as JSON.

use crate::systems::Kind;

/// A case: what is measured.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its name.
    pub name: String,
    /// For plots over message size: the size, and the index of its panel in the plot.
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
    /// The name of the number.
    pub metric: &'static str,
    /// The number.
    pub value: f64,
}

/// The JSON form of a row.
#[derive(serde::Serialize)]
struct Line<'a> {
    table: &'a str,
    case: &'a str,
    system: &'a str,
    metric: &'a str,
    value: f64,
}

impl Row {
    /// The row as a JSON object.
    pub fn json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(&Line {
            table: self.table,
            case: &self.case.name,
            system: self.system.name(),
            metric: self.metric,
            value: (self.value * 1000.0).round() / 1000.0,
        })
    }
}

/// The systems with rows, in the order of [`Kind`].
pub fn systems<'r>(rows: impl IntoIterator<Item = &'r Row>) -> Vec<Kind> {
    let mut systems: Vec<Kind> = Vec::new();
    for row in rows {
        if !systems.contains(&row.system) {
            systems.push(row.system);
        }
    }
    systems.sort_by_key(|system| *system as usize);
    systems
}

/// The number of a system, if there is one.
pub fn value(rows: &[&Row], case: &str, system: Kind, metric: &str) -> Option<f64> {
    rows.iter()
        .find(|row| row.system == system && row.case.name == case && row.metric == metric)
        .map(|row| row.value)
}

#[cfg(test)]
mod tests {
    use super::{Case, Row};
    use crate::systems::Kind;

    #[test]
    fn json_is_one_flat_object() {
        let case = Case::named("64 B");
        let row = Row { table: "hop", case, system: Kind::Situ, metric: "p50_ns", value: 212.0 };
        assert_eq!(
            row.json().expect("serializable"),
            r#"{"table":"hop","case":"64 B","system":"situ","metric":"p50_ns","value":212.0}"#
        );
    }
}
