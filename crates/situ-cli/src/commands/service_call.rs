//! `situ service call`: sends a request written as YAML or JSON, and prints the replies.

use std::time::{Duration, Instant};

use serde::Serialize;
use situ::bus::inspect::ServiceInfo;
use situ::bus::{CallError, PublishError, RawClient, RawReply, ReplyError, ServiceOptions};
use situ_schema::dynamic::Value;

use super::echo::shown;
use super::service_types::{ServiceTypes, find};
use super::{Context, Interrupt};
use crate::cli::CallArgs;
use crate::error::CliError;
use crate::output::{Style, units};

/// The interval between checks for a server and for Ctrl-C.
const GLANCE: Duration = Duration::from_millis(10);

#[derive(Serialize)]
struct Replied<'a> {
    service: &'a str,
    call: u64,
    /// The number of this part of the reply, from 0.
    part: u64,
    is_last: bool,
    latency_ns: u64,
    message: &'a Value,
}

/// `situ service call`.
pub fn run(context: &Context, arguments: &CallArgs) -> Result<(), CliError> {
    let interrupt = Interrupt::listen()?;
    let name = &arguments.service;
    let service = wait_for_server(context, arguments, &interrupt)?;
    let types = ServiceTypes::of(&service)?;
    let type_name = &types.description.request.name;
    let wrong = |error: &dyn std::fmt::Display| {
        CliError::Usage(format!("the request does not fit {type_name}: {error}"))
    };
    let request = types.request.parse(&arguments.request).map_err(|e| wrong(&e))?;
    let encoding = types.description.request.encoding;
    let request = types.request.encode(&request, encoding).map_err(|e| wrong(&e))?;

    let node = context.node()?;
    let client = RawClient::create(&node, name, &types.description, &ServiceOptions::default())
        .map_err(CliError::failed)?;
    client.requests().set_interrupter(Some(interrupt.interrupter()));
    let mut loan =
        client.loan(request.head.len(), request.align, request.body.len()).map_err(CliError::failed)?;
    loan.head_bytes().copy_from_slice(&request.head);
    loan.body_bytes().copy_from_slice(&request.body);
    let begun = Instant::now();
    let call = loan.send(Some(Duration::from_secs_f64(arguments.timeout))).map_err(|error| match error {
        CallError::NoServer { .. } => no_server(name),
        CallError::Publish(PublishError::Interrupted { .. }) => CliError::Interrupted,
        error => CliError::failed(error),
    })?;
    let mut part = 0;
    loop {
        if interrupt.is_set() {
            // If the servers cannot be told, they answer in vain.
            let _ = client.cancel(call);
            return Err(CliError::Interrupted);
        }
        let reply = match client.receive_of(call, Some(GLANCE)) {
            Ok(None) => continue,
            Ok(Some(reply)) => reply,
            Err(error) => return Err(failure(name, error)),
        };
        if reply.has_content() {
            print(context, arguments, &types, &reply, (part, begun.elapsed()))?;
            part += 1;
        }
        if reply.is_last() {
            return Ok(());
        }
    }
}

/// The service, once it has a server.
fn wait_for_server(
    context: &Context,
    arguments: &CallArgs,
    interrupt: &Interrupt,
) -> Result<ServiceInfo, CliError> {
    let (begin, timeout) = (Instant::now(), Duration::from_secs_f64(arguments.wait));
    loop {
        let found = find(context, &arguments.service);
        match &found {
            Ok(service) if service.requests.subscribers.iter().any(|server| server.alive) => return found,
            Ok(_) | Err(CliError::NotFound(_)) if interrupt.is_set() => return Err(CliError::Interrupted),
            Ok(_) | Err(CliError::NotFound(_)) if begin.elapsed() < timeout => std::thread::sleep(GLANCE),
            Ok(_) => return Err(no_server(&arguments.service)),
            Err(_) => return found,
        }
    }
}

fn no_server(service: &str) -> CliError {
    CliError::Failed(format!(
        "service `{service}` has no server: start one, or wait for it with --wait SECONDS"
    ))
}

fn failure(service: &str, error: ReplyError) -> CliError {
    match error {
        ReplyError::Refused { code, text, .. } => {
            CliError::Refused { service: service.to_owned(), code, text }
        }
        ReplyError::Deadline { waited, .. } => {
            let waited = units::duration(waited.as_nanos() as u64);
            CliError::TimedOut(format!(
                "service `{service}` has not answered within {waited}; --timeout SECONDS allows more"
            ))
        }
        error => CliError::failed(error),
    }
}

fn print(
    context: &Context,
    arguments: &CallArgs,
    types: &ServiceTypes,
    reply: &RawReply,
    (part, latency): (u64, Duration),
) -> Result<(), CliError> {
    let output = &context.output;
    let message = &types.reply.read(reply.sample()).map_err(CliError::failed)?;
    if output.is_json() {
        let (service, call, is_last) = (arguments.service.as_str(), reply.call(), reply.is_last());
        let latency_ns = latency.as_nanos() as u64;
        return Ok(output.record(&Replied { service, call, part, is_last, latency_ns, message })?);
    }
    if part > 0 {
        output.line(output.paint(Style::Dim, "---"))?;
    }
    Ok(output.text(types.reply.print(message, &shown(arguments.full)))?)
}
