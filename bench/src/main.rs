//! `situ-bench`: measures Situ beside its peers, in turns, on pinned cores.

mod allocations;
mod bench;
mod clock;
mod context;
mod driver;
mod failure;
#[cfg(feature = "bridge")]
mod network;
#[allow(dead_code, reason = "not all of the generated code is used")]
mod messages {
    //! Generated from messages.idl.
    include!(concat!(env!("OUT_DIR"), "/messages.rs"));
}
mod os;
mod payload;
mod plot;
mod protocol;
mod report;
mod rows;
mod session;
mod stats;
mod syscalls;
mod systems;
mod tables;
mod units;
mod view;
mod worker;
mod workload;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

use bench::{Bench, Graphs, Options};
use failure::Failure;
use tables::Table;

#[global_allocator]
static ALLOCATOR: allocations::Counting = allocations::Counting;

/// Measures Situ beside its peers.
#[derive(Parser, Debug)]
#[command(version, about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Every table.
    All(RunArgs),
    /// One-way latency between two processes that poll.
    Hop(RunArgs),
    /// A message within one thread.
    Inprocess(RunArgs),
    /// The publisher's call with many subscribers.
    Fanout(RunArgs),
    /// Publishing to, joining and finding thousands of participants.
    Scale(RunArgs),
    /// Latency to a sleeping process, and the system calls of a hop.
    Wake(RunArgs),
    /// Latency to a callback of an executor, by the number of its sources.
    Executor(RunArgs),
    /// Requests and replies between two processes.
    Service(RunArgs),
    /// Messages to another machine, through two bridges and by plain Zenoh.
    #[cfg(feature = "bridge")]
    Bridge(RunArgs),
    /// Lossless messages a second, one way.
    Throughput(RunArgs),
    /// Time to create node, topic and ports; open files.
    Setup(RunArgs),
    /// End-to-end latency of bounded sequences, against DDS too.
    Bounded(RunArgs),
    /// Two bilateral filters in two processes, on the device.
    Domains(RunArgs),
    /// Random graphs of processes, half of them on the device, and all on the CPU.
    Graphs(GraphArgs),
    /// Characters of a game, and the data sets of the Rust serialization benchmark.
    Region(RunArgs),
    /// Encoding protobuf messages, in C++ and in Rust.
    Protobuf(RunArgs),
    /// Messages of ROS 2 between their C form and idiomatic Rust.
    Conversion(RunArgs),
    /// Messages of ROS 2 end to end, in rclrs, rclcpp and rclpy.
    ConversionRos(RunArgs),
    /// One process of a measurement. The program starts it itself.
    #[command(hide = true)]
    Worker(worker::WorkerArgs),
}

#[derive(Args, Debug)]
struct RunArgs {
    /// Print one JSON object a line and nothing else.
    #[arg(long)]
    json: bool,
    /// Measure longer.
    #[arg(long)]
    full: bool,
    /// Directory for the plots.
    #[arg(long, value_name = "DIR", default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/plots"))]
    svg: PathBuf,
    /// The cores to use, the publisher's first. Default: one hardware thread of each physical core.
    #[arg(long, value_delimiter = ',')]
    cpus: Vec<usize>,
}

#[derive(Args, Debug)]
struct GraphArgs {
    #[command(flatten)]
    run: RunArgs,
    /// Measure only these graphs, numbered from 0, and compare only with the host baseline.
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u64).range(0..98))]
    only: Vec<u64>,
    /// The exact number of rounds.
    #[arg(long)]
    rounds: Option<usize>,
    /// Keep the cores from becoming idle, by a thread of the lowest priority on each.
    #[arg(long)]
    busy: bool,
}

fn run(tables: &[Table], args: RunArgs) -> Result<(), Failure> {
    run_with(tables, args, Graphs::default())
}

fn run_with(tables: &[Table], args: RunArgs, graphs: Graphs) -> Result<(), Failure> {
    os::catch_signals();
    let RunArgs { json, full, svg, cpus } = args;
    let mut bench = Bench::new(Options { json, full, svg, cpus, graphs })?;
    for table in tables {
        let view = table.run(&mut bench)?;
        let (name, title) = table.title();
        report::show(&mut bench, name, title, &view)?;
    }
    Ok(())
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::All(args) => run(Table::ALL, args),
        Command::Hop(args) => run(&[Table::Hop], args),
        Command::Inprocess(args) => run(&[Table::Inprocess], args),
        Command::Fanout(args) => run(&[Table::Fanout], args),
        Command::Scale(args) => run(&[Table::Scale], args),
        Command::Wake(args) => run(&[Table::Wake], args),
        Command::Executor(args) => run(&[Table::Executor], args),
        Command::Service(args) => run(&[Table::Service], args),
        #[cfg(feature = "bridge")]
        Command::Bridge(args) => run(&[Table::Bridge], args),
        Command::Throughput(args) => run(&[Table::Throughput], args),
        Command::Setup(args) => run(&[Table::Setup], args),
        Command::Bounded(args) => run(&[Table::Bounded], args),
        Command::Domains(args) => run(&[Table::Domains], args),
        Command::Graphs(args) => {
            let only = args.only.into_iter().map(|number| number as usize).collect();
            run_with(&[Table::Graphs], args.run, Graphs { only, rounds: args.rounds, busy: args.busy })
        }
        Command::Region(args) => run(&[Table::Region], args),
        Command::Protobuf(args) => run(&[Table::Protobuf], args),
        Command::Conversion(args) => run(&[Table::Conversion], args),
        Command::ConversionRos(args) => run(&[Table::ConversionRos], args),
        Command::Worker(args) => {
            // The driver reads a worker's messages from its standard output.
            return worker::main(&args).map_or_else(
                |failure| {
                    println!("error {}", failure.to_string().replace('\n', " "));
                    ExitCode::FAILURE
                },
                |()| ExitCode::SUCCESS,
            );
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("situ-bench: {failure}");
            ExitCode::FAILURE
        }
    }
}
