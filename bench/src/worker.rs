//! A worker: the process of one system in one table. The driver starts it.

use std::path::PathBuf;

use clap::Args;

use crate::clock::Clock;
use crate::context::Context;
use crate::failure::Failure;
use crate::os::{self, Page};
use crate::session::Session;
use crate::systems::cyclonedds::Cyclone;
use crate::systems::floor::Floor;
use crate::systems::iceoryx2::Iceoryx2;
use crate::systems::situ::Situ;
use crate::systems::situ_serialized::SituSerialized;
use crate::systems::situ_service::SituServices;
use crate::systems::{Kind, System};
#[cfg(feature = "bridge")]
use crate::tables::bridge;
use crate::tables::{
    bounded, domains, executor, fanout, graphs, hop, inprocess, scale, service, setup, throughput, wake,
};
use crate::workload::in_domain::InDomain;

/// The command line of a worker.
#[derive(Args, Debug)]
pub struct WorkerArgs {
    #[arg(long)]
    system: String,
    #[arg(long)]
    table: String,
    #[arg(long)]
    role: String,
    #[arg(long)]
    index: usize,
    #[arg(long)]
    cpu: usize,
    #[arg(long)]
    session: u32,
    #[arg(long)]
    page: PathBuf,
    #[arg(long)]
    domain: u32,
}

/// Runs the worker's role in its table.
pub fn main(args: &WorkerArgs) -> Result<(), Failure> {
    os::pin(args.cpu).map_err(Failure::io(format!("cannot bind to core {}", args.cpu)))?;
    let page = Page::open(&args.page).map_err(Failure::io(format!("cannot map {}", args.page.display())))?;
    let context = Context {
        session: Session::of(args.session),
        role: args.role.clone(),
        index: args.index,
        page,
        clock: Clock::new(),
    };
    match Kind::parse(&args.system) {
        #[cfg(feature = "bridge")]
        Some(kind @ (Kind::Situ | Kind::Zenoh)) if args.table == "bridge" => bridge::work(kind, context),
        Some(Kind::SituEmulated | Kind::SituVulkan | Kind::SituCuda) => match args.table.as_str() {
            "domains" => domains::play(InDomain::new(context.session.clone()), context),
            "graphs" => graphs::play(InDomain::new(context.session.clone()), context),
            _ => Err(Failure::Protocol { line: args.table.clone(), why: "no such table for this system" }),
        },
        Some(Kind::SituHost) => on_device::<Situ>(&args.table, context),
        Some(Kind::Iceoryx2) if args.table == "domains" || args.table == "graphs" => {
            on_device::<Iceoryx2>(&args.table, context)
        }
        Some(Kind::Situ) if args.table == "service" => service::work::<SituServices>(context),
        Some(Kind::Iceoryx2) if args.table == "service" => service::work::<Iceoryx2>(context),
        Some(Kind::Situ) if args.table == "scale" => scale::work::<Situ>(context),
        Some(Kind::Iceoryx2) if args.table == "scale" => scale::work::<Iceoryx2>(context),
        Some(Kind::Situ) if args.table == "executor" => executor::work::<Situ>(context),
        Some(Kind::Iceoryx2) if args.table == "executor" => executor::work::<Iceoryx2>(context),
        Some(Kind::CycloneDds) => on_device::<Cyclone>(&args.table, context),
        Some(Kind::Floor) => work::<Floor>(&args.table, context),
        Some(Kind::Situ) => work::<Situ>(&args.table, context),
        Some(Kind::SituSerialized) => work::<SituSerialized>(&args.table, context),
        Some(Kind::Iceoryx2) => work::<Iceoryx2>(&args.table, context),
        _ => Err(Failure::Protocol { line: args.system.clone(), why: "no such system in this program" }),
    }
}

/// Tables with nodes on a device, for systems with messages in host memory.
fn on_device<S: System>(table: &str, context: Context) -> Result<(), Failure> {
    match table {
        "domains" => domains::work::<S>(context),
        "graphs" => graphs::work::<S>(context),
        _ => Err(Failure::Protocol { line: table.to_owned(), why: "no such table for this system" }),
    }
}

fn work<S: System>(table: &str, context: Context) -> Result<(), Failure> {
    match table {
        "hop" => hop::work::<S>(context),
        "inprocess" => inprocess::work::<S>(context),
        "fanout" => fanout::work::<S>(context),
        "wake" => wake::work::<S>(context),
        "throughput" => throughput::work::<S>(context),
        "setup" => setup::work::<S>(context),
        "bounded" => bounded::work::<S>(context),
        _ => Err(Failure::Protocol { line: table.to_owned(), why: "no such table" }),
    }
}
