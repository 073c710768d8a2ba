//! `situ top`: a live view of all topics and domains, or one snapshot for programs and pipes.
//!
//! ```text
//!   sampler    samples messages in the background
//!   snapshot   the figures between two observations
//!   app        the state, and its changes by keys
//!   view       the screen
//! ```

mod app;
mod sampler;
pub mod snapshot;
mod view;

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use ratatui::crossterm::event::{self, Event, KeyEventKind};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use situ::bus::inspect;

use crate::cli::TopArgs;
use crate::commands::{Context, Interrupt};
use crate::error::CliError;
use crate::output::table::{Cell, Column, Table};
use crate::output::{Output, Style, units};
use app::{Action, App};
use sampler::Sampler;
use snapshot::{Look, Snapshot};

/// The longest wait for a key before the loop checks whether to stop or draw.
const GLANCE: Duration = Duration::from_millis(100);

/// Observes all topics and nodes, and passes the topics to the sampler.
fn look(context: &Context, sampler: &Sampler) -> Result<Look, CliError> {
    let topics = inspect::topics(&context.root).map_err(CliError::failed)?;
    let nodes = inspect::nodes(&context.root).map_err(CliError::failed)?;
    sampler.watch(topics.iter().map(|topic| topic.name.clone()));
    Ok(Look { topics, nodes, samples: sampler.take() })
}

/// `situ top`.
pub fn run(context: &Context, arguments: &TopArgs) -> Result<(), CliError> {
    let interval = Duration::from_secs_f64(arguments.interval);
    let interrupt = Interrupt::listen()?;
    let sampler = Sampler::start(context.root.clone());
    if context.output.is_live() && io::stdin().is_terminal() {
        let mut terminal = ratatui::try_init().map_err(CliError::Output)?;
        end_with_the_terminal();
        let result = live(context, interval, &interrupt, &sampler, &mut terminal);
        ratatui::restore();
        return result;
    }
    let before = look(context, &sampler)?;
    let start = Instant::now();
    while start.elapsed() < interval {
        if interrupt.is_set() {
            return Err(CliError::Interrupted);
        }
        std::thread::sleep(GLANCE.min(interval.saturating_sub(start.elapsed())));
    }
    let snapshot = Snapshot::between(&before, &look(context, &sampler)?, start.elapsed());
    let output = &context.output;
    if output.is_json() {
        return Ok(output.record(&snapshot)?);
    }
    if snapshot.topics.is_empty() {
        return Ok(output.line(format!("No topics in {}.", context.root.path().display()))?);
    }
    Ok(output.text(render(&snapshot, output))?)
}

/// Ends the program when its terminal is closed. Otherwise crossterm would read the closed terminal in an
/// endless loop and never return. There is no terminal state left to restore, and other processes remove the
/// files of a dead node.
fn end_with_the_terminal() {
    std::thread::spawn(|| {
        let stdin = io::stdin();
        // No event is requested: the kernel reports the hang-up of the terminal in any case.
        while let Err(Errno::INTR) = poll(&mut [PollFd::new(&stdin, PollFlags::empty())], None) {}
        std::process::exit(129);
    });
}

fn live(
    context: &Context,
    interval: Duration,
    interrupt: &Interrupt,
    sampler: &Sampler,
    terminal: &mut ratatui::DefaultTerminal,
) -> Result<(), CliError> {
    let mut app = App::new(context.root.path().display().to_string());
    let mut before = look(context, sampler)?;
    let mut looked = Instant::now();
    app.update(Snapshot::between(&before, &before, interval));
    while !interrupt.is_set() {
        terminal.draw(|frame| view::draw(&mut app, frame))?;
        let timeout = interval.saturating_sub(looked.elapsed()).min(GLANCE);
        if event::poll(timeout)?
            && let Event::Key(key) = event::read()?
            && key.kind != KeyEventKind::Release
            && app.key(key) == Action::Quit
        {
            break;
        }
        if looked.elapsed() >= interval {
            let after = look(context, sampler)?;
            app.update(Snapshot::between(&before, &after, looked.elapsed()));
            (before, looked) = (after, Instant::now());
        }
    }
    Ok(())
}

/// The snapshot as a table.
fn render(snapshot: &Snapshot, output: &Output) -> String {
    let mut table = Table::new([
        Column::left("TOPIC").flexible(),
        Column::right("RATE"),
        Column::right("BANDWIDTH").rank(5),
        Column::right("P50").rank(8),
        Column::right("P99").rank(3),
        Column::right("PUB").rank(7),
        Column::right("SUB").rank(4),
        Column::right("LOST").rank(1),
        Column::right("BEHIND").rank(2),
        Column::left("DOMAINS").rank(9),
        Column::right("MEMORY").rank(6),
    ]);
    let age = |ns: Option<u64>| ns.map_or_else(|| "-".into(), units::duration);
    for topic in &snapshot.topics {
        table.row([
            Cell::styled(topic.name.as_str(), Style::Strong),
            units::hertz(topic.rate_hz).into(),
            units::bandwidth(topic.bytes_per_second).into(),
            age(topic.p50_ns).into(),
            age(topic.p99_ns).into(),
            topic.publishers.to_string().into(),
            topic.subscribers.to_string().into(),
            Cell::styled(topic.lost.to_string(), if topic.lost > 0 { Style::Warn } else { Style::Plain }),
            topic.behind.to_string().into(),
            topic.domains.join(" ").into(),
            units::bytes(topic.memory_bytes).into(),
        ]);
    }
    table.render(output)
}
