//! The `situ` command: inspects topics and nodes, generates code, checks the machine, runs the demo.

mod bench;
mod bridge;
mod cli;
mod commands;
mod demo;
mod doctor;
mod error;
mod foxglove;
mod help;
mod image;
mod message;
mod messages;
mod output;
mod record;
mod top;
mod trace;
mod view;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches};

use cli::{
    BlackboardCommand, Cli, Command, DomainCommand, ImageCommand, NodeCommand, ProtoCommand, SchemaCommand,
    ServiceCommand, TopicCommand, TraceCommand,
};
use commands::Context;
use error::CliError;
use output::Output;

fn main() -> ExitCode {
    let matches = help::grouped(Cli::command()).get_matches();
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    // Another process may shorten a file that this process has mapped. Without the guard, a signal would then
    // end this process.
    let _ = situ::memory::guard::install();
    let json = cli.global.json;
    match run(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => error.report(json),
    }
}

fn run(cli: Cli) -> Result<(), CliError> {
    let output = Output::detect(cli.global.json, cli.global.color);
    let context = Context::new(cli.global.root, cli.global.domain_id, output)?;
    match cli.command {
        Command::Topic { command } => match command {
            TopicCommand::List => commands::topic::list(&context),
            TopicCommand::Info { topic, verbose: false } => commands::topic::info(&context, &topic),
            TopicCommand::Info { topic, verbose: true } => commands::endpoints::info(&context, &topic),
            TopicCommand::Echo(arguments) => commands::echo::echo(&context, &arguments),
            TopicCommand::View(arguments) => view::run(&context, &arguments),
            TopicCommand::Hz(arguments) => commands::measure::hz(&context, &arguments),
            TopicCommand::Bw(arguments) => commands::measure::bw(&context, &arguments),
            TopicCommand::Delay(arguments) => commands::measure::delay(&context, &arguments),
            TopicCommand::Pub(arguments) => commands::publish::run(&context, &arguments),
            TopicCommand::Create(arguments) => commands::standing::create(&context, &arguments),
            TopicCommand::Remove { topic } => commands::standing::remove(&context, &topic),
        },
        Command::Domain { command } => match command {
            DomainCommand::List => commands::domain::list(&context),
        },
        Command::Trace { command } => match command {
            TraceCommand::Record(arguments) => trace::record::run(&context, &arguments),
            TraceCommand::Stop => trace::record::stop(&context),
            TraceCommand::Trigger { event } => trace::trigger::run(&context, &event),
            TraceCommand::View(arguments) => trace::view::run(&context, &arguments),
            TraceCommand::Flame(arguments) => trace::flame::run(&context, &arguments),
        },
        Command::Record(arguments) => record::run(&context, &arguments),
        Command::Play(arguments) => record::play::run(&context, &arguments),
        Command::Bridge(arguments) => bridge::run(&context, &arguments),
        Command::Flashback(arguments) => record::flashback::run(&context, &arguments),
        Command::Foxglove(arguments) => foxglove::run(&context, &arguments),
        Command::Top(arguments) => top::run(&context, &arguments),
        Command::Node { command } => match command {
            NodeCommand::List => commands::node::list(&context),
            NodeCommand::Info { node } => commands::node::info(&context, &node),
        },
        Command::Service { command } => match command {
            ServiceCommand::List => commands::service::list(&context),
            ServiceCommand::Info { service } => commands::service::info(&context, &service),
            ServiceCommand::Call(arguments) => commands::service_call::run(&context, &arguments),
            ServiceCommand::Echo(arguments) => commands::service_echo::run(&context, &arguments),
            ServiceCommand::Create(arguments) => commands::standing::create_service(&context, &arguments),
            ServiceCommand::Remove { service } => commands::standing::remove_service(&context, &service),
        },
        Command::Blackboard { command } => match command {
            BlackboardCommand::List => commands::blackboard::list(&context),
            BlackboardCommand::Get(arguments) => commands::blackboard::get(&context, &arguments),
            BlackboardCommand::Watch(arguments) => commands::blackboard::watch(&context, &arguments),
        },
        Command::Graph(arguments) => commands::graph::run(&context, &arguments),
        Command::Schema { command } => match command {
            SchemaCommand::Show(arguments) => commands::schema::show(&context, &arguments),
            SchemaCommand::Check(sources) => commands::schema::check(&context, &sources),
            SchemaCommand::Hash(arguments) => commands::schema::hash(&context, &arguments),
        },
        Command::Gen(arguments) => commands::generate::run(&context, &arguments),
        Command::Proto { command } => match command {
            ProtoCommand::Print(arguments) => commands::proto::print(&context, &arguments),
            ProtoCommand::Parse(arguments) => commands::proto::parse(&arguments),
        },
        Command::Image { command } => match command {
            ImageCommand::Check(arguments) => image::check(&context, &arguments),
            ImageCommand::Print(arguments) => image::print(&context, &arguments),
            ImageCommand::Diff(arguments) => image::diff(&context, &arguments),
            ImageCommand::Stat(arguments) => image::stat(&context, &arguments),
            ImageCommand::Convert(arguments) => image::convert(&context, &arguments),
        },
        Command::New(arguments) => commands::new::run(&context, &arguments),
        Command::Doctor => doctor::run(&context),
        Command::Clean(arguments) => commands::clean::run(&context, &arguments),
        Command::Bench(arguments) => bench::run(&context, &arguments),
        Command::Part(arguments) => commands::part::run(&context, &arguments),
        Command::Completions { shell } => commands::manual::completions(shell),
        Command::Man { folder } => commands::manual::man(&folder),
        Command::Demo(arguments) => demo::run(&context, &arguments),
    }
}
