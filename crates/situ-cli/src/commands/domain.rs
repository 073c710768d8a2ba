//! `situ domain list`: the memory domains of this machine, or why they are absent, and the nodes that use
//! them.

use serde::Serialize;
use situ::bus::inspect::{self, TopicInfo};
use situ::memory::{self, Capabilities, DomainError, DomainId, Sharing, StreamOrder};

use super::Context;
use crate::error::CliError;
use crate::output::Style;
use crate::output::table::{Cell, Column, Table};

#[derive(Serialize)]
struct Listing {
    domains: Vec<Row>,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
struct Row {
    domain: String,
    present: bool,
    /// The name; `None` if the domain is absent.
    name: Option<String>,
    /// Why it is absent.
    reason: Option<String>,
    host_access: Option<bool>,
    outlives_owner: Option<bool>,
    sharing: Option<&'static str>,
    order: Option<&'static str>,
    publishers: usize,
    subscribers: usize,
    copies: u64,
    bytes_copied: u64,
}

/// How a domain shares memory with other processes, in a word.
fn sharing(sharing: Sharing) -> &'static str {
    match sharing {
        Sharing::File => "file",
        Sharing::Descriptor => "descriptor",
    }
}

/// How streams of different processes wait for each other, in a word.
pub fn order(order: StreamOrder) -> &'static str {
    match order {
        StreamOrder::Host => "host",
        StreamOrder::Watched => "watched",
        StreamOrder::Events => "events",
        StreamOrder::Words => "words",
    }
}

fn row(
    id: DomainId,
    found: Option<Result<(String, Capabilities), DomainError>>,
    topics: &[TopicInfo],
) -> Row {
    let uses = topics.iter().flat_map(|topic| &topic.domains).filter(|usage| usage.domain == id);
    let (copies, bytes_copied) =
        uses.fold((0, 0), |(copies, bytes), usage| (copies + usage.copies, bytes + usage.bytes));
    let publishers = topics.iter().flat_map(|topic| &topic.publishers);
    let subscribers = topics.iter().flat_map(|topic| &topic.subscribers);
    let (name, reason, capabilities) = match found {
        Some(Ok((name, capabilities))) => (Some(name), None, Some(capabilities)),
        Some(Err(DomainError::Absent { reason, .. })) => (None, Some(reason), None),
        Some(Err(error)) => (None, Some(error.to_string()), None),
        None => (None, Some("not built into Situ: a process provides it".to_owned()), None),
    };
    Row {
        domain: id.to_string(),
        present: capabilities.is_some(),
        name,
        reason,
        host_access: capabilities.map(|c| c.host_access),
        outlives_owner: capabilities.map(|c| c.outlives_owner),
        sharing: capabilities.map(|c| sharing(c.sharing)),
        order: capabilities.map(|c| order(c.order)),
        publishers: publishers.filter(|p| p.alive && p.domain == id).count(),
        subscribers: subscribers.filter(|s| s.alive && s.domain == id).count(),
        copies,
        bytes_copied,
    }
}

/// The domains of the machine, then further domains that topics were used in.
fn rows(surveyed: Vec<memory::Surveyed>, topics: &[TopicInfo]) -> Vec<Row> {
    let known: Vec<DomainId> = surveyed.iter().map(|(id, _)| *id).collect();
    let mut rows: Vec<Row> = surveyed.into_iter().map(|(id, found)| row(id, Some(found), topics)).collect();
    let mut others: Vec<DomainId> =
        topics.iter().flat_map(|topic| &topic.domains).map(|usage| usage.domain).collect();
    others.retain(|id| !known.contains(id));
    others.sort_by_key(ToString::to_string);
    others.dedup();
    rows.extend(others.into_iter().map(|id| row(id, None, topics)));
    rows
}

/// `situ domain list`.
pub fn list(context: &Context) -> Result<(), CliError> {
    let topics = inspect::topics(&context.root).map_err(CliError::failed)?;
    let domains = rows(memory::survey(), &topics);
    let output = &context.output;
    if output.is_json() {
        return Ok(output.record(&Listing { domains })?);
    }
    let mut table = Table::new([
        Column::left("DOMAIN"),
        Column::left("NAME").flexible(),
        Column::left("SHARED BY"),
        Column::left("ORDERED BY"),
        Column::right("PUB"),
        Column::right("SUB"),
        Column::right("COPIES"),
    ]);
    for domain in &domains {
        let style = if domain.present { Style::Strong } else { Style::Dim };
        table.row([
            Cell::styled(domain.domain.as_str(), style),
            domain.name.as_deref().unwrap_or("absent").into(),
            domain.sharing.unwrap_or("-").into(),
            domain.order.unwrap_or("-").into(),
            domain.publishers.to_string().into(),
            domain.subscribers.to_string().into(),
            domain.copies.to_string().into(),
        ]);
    }
    output.text(table.render(output))?;
    for domain in &domains {
        if let Some(reason) = &domain.reason {
            output.line(format!("\n{} is absent: {reason}", domain.domain))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::top::snapshot::tests::topic;
    use situ::bus::inspect::DomainUse;

    #[test]
    fn absent_domains_have_a_reason_and_domains_of_others_are_shown() {
        let own: DomainId = "kind1024:3".parse().unwrap();
        let cuda: DomainId = "cuda:0".parse().unwrap();
        let capabilities = Capabilities {
            host_access: true,
            outlives_owner: true,
            sharing: Sharing::File,
            order: StreamOrder::Host,
        };
        let surveyed = vec![
            (memory::HOST, Ok(("host".to_owned(), capabilities))),
            (cuda, Err(DomainError::Absent { domain: cuda, reason: "no driver".to_owned() })),
        ];
        let mut used = topic("a", 5, 0);
        used.domains = vec![
            DomainUse { domain: memory::HOST, copies: 2, bytes: 20 },
            DomainUse { domain: own, copies: 3, bytes: 30 },
        ];
        let rows = rows(surveyed, &[used, topic("b", 1, 0)]);
        let names: Vec<_> = rows.iter().map(|row| (row.domain.as_str(), row.present)).collect();
        assert_eq!(names, [("host", true), ("cuda:0", false), ("kind1024:3", false)]);
        assert_eq!((rows[0].publishers, rows[0].subscribers, rows[0].copies), (2, 2, 2));
        assert_eq!((rows[0].sharing, rows[0].order), (Some("file"), Some("host")));
        assert_eq!(rows[1].reason.as_deref(), Some("no driver"));
        assert_eq!((rows[2].copies, rows[2].bytes_copied), (3, 30));
    }
}
