//! `situ service list` and `situ service info`.

use std::collections::HashMap;

use serde::Serialize;
use situ::bus::inspect::{self, ServiceInfo};
use situ::bus::{NodeId, NodeInfo};
use situ::layout::foreign::Foreign;

use super::Context;
use super::service_types::find;
use crate::error::CliError;
use crate::output::table::{Cell, Column, Table};
use crate::output::{Output, Style};

#[derive(Serialize)]
struct Listing {
    services: Vec<Summary>,
}

#[derive(Serialize)]
struct Summary {
    name: String,
    request: String,
    reply: String,
    servers: usize,
    clients: usize,
    requests: u64,
}

#[derive(Serialize)]
struct Details {
    #[serde(flatten)]
    summary: Summary,
    server_nodes: Vec<Server>,
    client_nodes: Vec<Client>,
}

#[derive(Serialize)]
struct Server {
    node: String,
    pid: Option<u32>,
    alive: bool,
    taken: u64,
    behind: u64,
}

#[derive(Serialize)]
struct Client {
    node: String,
    pid: Option<u32>,
    alive: bool,
}

fn summary(service: &ServiceInfo) -> Summary {
    // The type of the topic of requests is named `<request> -> <reply>`.
    let types = &service.requests.description.name;
    let (request, reply) = types.split_once(" -> ").unwrap_or((types, ""));
    Summary {
        name: service.name.clone(),
        request: request.to_owned(),
        reply: reply.to_owned(),
        servers: service.requests.subscribers.iter().filter(|server| server.alive).count(),
        clients: service.requests.publishers.iter().filter(|client| client.alive).count(),
        requests: service.requests.published,
    }
}

/// `situ service list`.
pub fn list(context: &Context) -> Result<(), CliError> {
    let found = inspect::services(&context.root).map_err(CliError::failed)?;
    let services: Vec<Summary> = found.iter().map(summary).collect();
    let output = &context.output;
    if output.is_json() {
        return Ok(output.record(&Listing { services })?);
    }
    if services.is_empty() {
        return Ok(output.line(format!("No services in {}.", context.root.path().display()))?);
    }
    Ok(output.text(table(services).render(output))?)
}

fn table(services: Vec<Summary>) -> Table {
    let mut table = Table::new([
        Column::left("SERVICE").flexible(),
        Column::left("REQUEST").flexible().rank(2),
        Column::left("REPLY").flexible().rank(3),
        Column::right("SERVERS"),
        Column::right("CLIENTS"),
        Column::right("REQUESTS").rank(1),
    ]);
    for service in services {
        table.row([
            Cell::styled(service.name, Style::Strong),
            service.request.into(),
            service.reply.into(),
            service.servers.to_string().into(),
            service.clients.to_string().into(),
            service.requests.to_string().into(),
        ]);
    }
    table
}

/// `situ service info`.
pub fn info(context: &Context, name: &str) -> Result<(), CliError> {
    let service = find(context, name)?;
    let details = details(&service, inspect::nodes(&context.root).map_err(CliError::failed)?);
    let output = &context.output;
    if output.is_json() { Ok(output.record(&details)?) } else { Ok(output.text(render(&details, output))?) }
}

fn details(service: &ServiceInfo, nodes: Vec<NodeInfo>) -> Details {
    let nodes: HashMap<NodeId, NodeInfo> = nodes.into_iter().map(|node| (node.id, node)).collect();
    let named = |id: NodeId| match nodes.get(&id) {
        Some(node) => (node.name.clone(), Some(node.pid)),
        None => (id.to_string(), None),
    };
    let server = |info: &inspect::SubscriberInfo| {
        let (node, pid) = named(info.node);
        Server { node, pid, alive: info.alive, taken: info.taken, behind: info.behind }
    };
    let client = |info: &inspect::PublisherInfo| {
        let (node, pid) = named(info.node);
        Client { node, pid, alive: info.alive }
    };
    Details {
        summary: summary(service),
        server_nodes: service.requests.subscribers.iter().map(server).collect(),
        client_nodes: service.requests.publishers.iter().filter(|it| it.alive).map(client).collect(),
    }
}

fn render(details: &Details, output: &Output) -> String {
    let Details { summary, server_nodes, client_nodes } = details;
    let mut text = String::new();
    for (label, value) in [
        ("service", output.paint(Style::Strong, Foreign(&summary.name))),
        ("request", Foreign(&summary.request).to_string()),
        ("reply", Foreign(&summary.reply).to_string()),
        ("requests", summary.requests.to_string()),
    ] {
        text.push_str(&format!("{} {value}\n", output.paint(Style::Dim, format!("{label:<9}"))));
    }
    let state = |alive: bool| if alive { Cell::from("alive") } else { Cell::styled("gone", Style::Warn) };
    let process = |pid: Option<u32>| pid.map_or_else(|| "-".to_owned(), |pid| pid.to_string());
    text.push_str(&format!("\n{} server(s)\n", server_nodes.len()));
    if !server_nodes.is_empty() {
        let mut table = Table::new([
            Column::left("NODE").flexible(),
            Column::right("PID").rank(1),
            Column::right("TAKEN"),
            Column::right("WAITING"),
            Column::left("STATE"),
        ]);
        for server in server_nodes {
            table.row([
                Cell::styled(server.node.as_str(), Style::Strong),
                process(server.pid).into(),
                server.taken.to_string().into(),
                server.behind.to_string().into(),
                state(server.alive),
            ]);
        }
        text.push_str(&table.render(output));
    }
    text.push_str(&format!("\n{} client(s)\n", client_nodes.len()));
    if !client_nodes.is_empty() {
        let mut table = Table::new([
            Column::left("NODE").flexible(),
            Column::right("PID").rank(1),
            Column::left("STATE"),
        ]);
        for client in client_nodes {
            table.row([
                Cell::styled(client.node.as_str(), Style::Strong),
                process(client.pid).into(),
                state(client.alive),
            ]);
        }
        text.push_str(&table.render(output));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::top::snapshot::tests::topic;

    fn service() -> ServiceInfo {
        let mut requests = topic("situ:request/add", 12, 0);
        requests.description.name = "demo::Sum -> demo::Total".to_owned();
        ServiceInfo { name: "add".to_owned(), requests }
    }

    #[test]
    fn services_are_listed_with_both_types() {
        let listed = table(vec![summary(&service())]).render(&Output::plain(100));
        assert_eq!(
            listed,
            "SERVICE  REQUEST    REPLY        SERVERS  CLIENTS  REQUESTS\n\
             add      demo::Sum  demo::Total        1        1        12\n"
        );
    }

    #[test]
    fn the_details_name_servers_and_clients() {
        let text = render(&details(&service(), Vec::new()), &Output::plain(100));
        assert_eq!(
            text,
            "service   add\n\
             request   demo::Sum\n\
             reply     demo::Total\n\
             requests  12\n\
             \n\
             1 server(s)\n\
             NODE              PID  TAKEN  WAITING  STATE\n\
             0000000000000001    -      5        3  alive\n\
             \n\
             1 client(s)\n\
             NODE              PID  STATE\n\
             0000000000000001    -  alive\n"
        );
    }
}
