//! Table `domains`: two processes, each of which runs a bilateral filter on the device over an image of 3840
//! x 2160 pixels.
//!
//! The image lies in the first process's host memory, and the result must lie in the second's. `between` is
//! the time from the completion of the first node's message to its arrival at the second. `copies within` is
//! the rest without the filters: the two nodes' copies between host and device.

use situ::memory::DomainId;

use crate::bench::Bench;
use crate::context::Context;
use crate::driver::{Role, Team};
use crate::failure::Failure;
use crate::protocol::{Duty, Params, serve};
use crate::rows::Case;
use crate::stats::percentile;
use crate::systems::iceoryx::Daemon;
use crate::systems::{Kind, System};
use crate::view::{Drawing, View, Way};
use crate::workload::Lens;
use crate::workload::bilateral::{Bilateral, Extent};
use crate::workload::device::{CUDA, EMULATED, VULKAN};
use crate::workload::explicit::Explicit;

const TABLE: &str = "domains";
const RADII: [usize; 3] = [5, 3, 7];

/// A part of a way, by its name in the rows.
type Part = (&'static str, fn(&Way) -> f64);
const PARTS: [Part; 4] = [
    ("", |way| way.total),
    (", compute", |way| way.compute),
    (", copies within", |way| way.within),
    (", between", |way| way.between),
];

/// The answers of both workers for one image.
struct Answer {
    way: Way,
    copies: f64,
    checksum: f64,
}

impl Answer {
    /// Five numbers of the first worker, six of the second, in the order of [`crate::workload::Sent`] and
    /// [`crate::workload::Got`].
    fn read(numbers: &[f64]) -> Option<Self> {
        let &[start, began, ended, sent, out, got, began_again, ended_again, end, into, checksum] = numbers
        else {
            return None;
        };
        let compute = (ended - began) + (ended_again - began_again);
        let (total, between) = (end - start, got - sent);
        let way = Way { total, compute, within: total - compute - between, between };
        Some(Self { way, copies: out + into, checksum })
    }
}

/// Measures the table.
pub fn run(bench: &mut Bench) -> Result<View, Failure> {
    let cpus = bench.cores(2)?;
    let roles =
        [Role { name: "first", index: 0, cpu: cpus[0] }, Role { name: "second", index: 0, cpu: cpus[1] }];
    let daemon = Daemon::start(bench.session(), &[(64 << 10, 32), (Extent::UHD.bytes() + (64 << 10), 6)]);
    let mut panels = Vec::new();
    for stage in &stages(bench) {
        let mut teams = stage
            .systems
            .iter()
            .map(|&kind| match &daemon {
                Err(reason) if kind.needs_daemon() => Ok(Team::absent(kind, reason)),
                _ => Team::start(bench.session(), TABLE, kind, &roles),
            })
            .collect::<Result<Vec<_>, _>>()?;
        for team in &mut teams {
            let Extent { width, height } = stage.extent;
            team.ask(&format!("open device={} width={width} height={height}", stage.device))?;
            team.ask("run connect=1")?;
            // Touches all memory. A filter of radius 0 is cheap.
            team.ask("run radius=0 sequence=1")?;
            team.ask("run radius=0 sequence=2")?;
        }
        let mut sequence = 2;
        for &radius in stage.radii {
            let name = format!("{}radius {radius}", stage.prefix);
            let ways = measure(bench, &mut teams, &name, radius, &mut sequence)?;
            if ways.iter().any(|ways| !ways.is_empty()) {
                panels.push((name, teams.iter().map(|team| team.kind).zip(ways).collect()));
            }
        }
        for team in &mut teams {
            team.ask("close")?;
        }
    }
    Ok(View::of("Two bilateral filters in two processes, 3840 x 2160 RGBA", Drawing::Ways(panels)))
}

/// The measurements on one device.
struct Stage {
    device: DomainId,
    extent: Extent,
    /// The prefix of the names of its rows.
    prefix: &'static str,
    systems: &'static [Kind],
    radii: &'static [usize],
}

fn stages(bench: &Bench) -> [Stage; 3] {
    let emulated = Stage {
        device: EMULATED,
        extent: Extent::UHD,
        prefix: "",
        systems: &[Kind::SituEmulated, Kind::SituHost, Kind::Iceoryx2, Kind::CycloneDds],
        radii: &RADII,
    };
    // A device that is a CPU takes seconds for a large image. The workers report if there is no device.
    let on_cpu = situ::memory::find(VULKAN).is_ok_and(|device| device.name().contains("llvmpipe"));
    let vulkan = Stage {
        device: VULKAN,
        extent: if on_cpu { Extent { width: 960, height: 540 } } else { Extent::UHD },
        prefix: if on_cpu { "vulkan, 960 x 540, " } else { "vulkan, " },
        systems: &[Kind::SituVulkan, Kind::SituHost, Kind::Iceoryx2],
        radii: if bench.scale(0, 1) == 1 { &RADII } else { &RADII[..1] },
    };
    let cuda = Stage {
        device: CUDA,
        extent: Extent::UHD,
        prefix: "cuda, ",
        systems: &[Kind::SituCuda, Kind::SituHost, Kind::Iceoryx2],
        radii: &RADII,
    };
    [emulated, vulkan, cuda]
}

/// Sends images through the filters, with the systems in turns, and records the times.
fn measure(
    bench: &mut Bench,
    teams: &mut [Team],
    name: &str,
    radius: usize,
    sequence: &mut u64,
) -> Result<Vec<Vec<Way>>, Failure> {
    let case = Case::named(name);
    let mut ways: Vec<Vec<Way>> = vec![Vec::new(); teams.len()];
    let mut copies = vec![0.0; teams.len()];
    let mut result: Option<f64> = None;
    for _ in 0..bench.scale(3, 30) {
        *sequence += 1;
        for (at, team) in teams.iter_mut().enumerate() {
            let numbers = team.ask(&format!("run radius={radius} sequence={sequence}"))?;
            if numbers.is_empty() {
                continue;
            }
            let answer = Answer::read(&numbers)
                .ok_or(Failure::Protocol { line: format!("{numbers:?}"), why: "expected 11 numbers" })?;
            if *result.get_or_insert(answer.checksum) != answer.checksum {
                let why = format!("{} computed a different image than the others", team.kind.name());
                return Err(Failure::Worker(why));
            }
            ways[at].push(answer.way);
            copies[at] += answer.copies;
        }
    }
    for ((team, ways), copies) in teams.iter().zip(&mut ways).zip(copies) {
        if team.absence().is_some() {
            ways.clear();
        }
        for (part, value) in PARTS {
            let mut values: Vec<f64> = ways.iter().map(value).collect();
            if let Some(median) = percentile(&mut values, 0.5) {
                let case = Case::named(format!("{name}{part}"));
                bench.record(TABLE, &case, team.kind, "p50_ns", median);
            }
        }
        if !ways.is_empty() {
            let copies = copies / ways.len() as f64;
            bench.record(TABLE, &case, team.kind, "copies", copies);
            if team.kind.is_own() && copies != 2.0 {
                let why = format!(
                    "{}: {copies} copies for an image, expected one in and one out",
                    team.kind.name()
                );
                return Err(Failure::Worker(why));
            }
        }
    }
    bench.note_absent(TABLE, &case, teams);
    Ok(ways)
}

/// A worker of a system with explicit copies.
pub fn work<S: System>(context: Context) -> Result<(), Failure> {
    let system = S::create(&context.session)?;
    let lens = Explicit::new(system, context.session.directory());
    play(lens, context)
}

/// A worker of any system.
pub fn play(lens: impl Lens, context: Context) -> Result<(), Failure> {
    serve(&mut Player { lens, first: context.role == "first" })
}

struct Player<L: Lens> {
    lens: L,
    first: bool,
}

impl<L: Lens> Duty for Player<L> {
    fn open(&mut self, params: &Params) -> Result<(), Failure> {
        let extent = Extent { width: params.get("width")?, height: params.get("height")? };
        self.lens.open(TABLE, params.get("device")?, extent, self.first)
    }

    fn run(&mut self, params: &Params) -> Result<Vec<f64>, Failure> {
        if params.get_or("connect", 0)? == 1 {
            self.lens.connect()?;
            return Ok(Vec::new());
        }
        let filter = Bilateral::new(params.get("radius")?);
        let sequence = params.get("sequence")?;
        let numbers = if self.first {
            let sent = self.lens.first(&filter, sequence)?;
            vec![sent.start, sent.kernel.0, sent.kernel.1, sent.sent, sent.copies]
        } else {
            let got = self.lens.second(&filter, sequence)?;
            vec![got.got, got.kernel.0, got.kernel.1, got.end, got.copies, got.checksum]
        };
        Ok(numbers.into_iter().map(|number| number as f64).collect())
    }

    fn close(&mut self) {
        self.lens.close();
    }
}
