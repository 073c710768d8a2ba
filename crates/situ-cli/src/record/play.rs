//! `situ play`.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind};
use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};
use serde::Serialize;
use situ_record::{Command, PlayOptions, Player, Progress};

use super::edit::times;
use super::open;
use super::select::select;
use crate::cli::PlayArgs;
use crate::commands::{Context, Interrupt};
use crate::error::{CliError, complain};
use crate::output::units::duration;
use crate::output::{LiveBlock, Output};

/// The interval between updates of the live line.
const REDRAW: Duration = Duration::from_millis(100);
/// How far the arrow keys go.
const JUMP: u64 = 5_000_000_000;

#[derive(Serialize)]
struct Report<'a> {
    messages: u64,
    topics: &'a [String],
    problems: &'a [String],
}

/// A terminal that gives keys one by one, without showing them. Dropping this restores what it was.
///
/// The rest of what is called raw mode is not used: Ctrl-C stays a signal, and a new line still begins at the
/// left.
struct Keys(Option<Termios>);

impl Keys {
    fn start(output: &Output) -> Self {
        let stdin = std::io::stdin();
        if !output.is_live() || !stdin.is_terminal() {
            return Self(None);
        }
        let Ok(before) = tcgetattr(&stdin) else { return Self(None) };
        let mut modes = before.clone();
        modes.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
        modes.special_codes[SpecialCodeIndex::VMIN] = 1;
        modes.special_codes[SpecialCodeIndex::VTIME] = 0;
        Self(tcsetattr(&stdin, OptionalActions::Now, &modes).is_ok().then_some(before))
    }

    /// What the next key means, if there is one.
    fn next(&self, progress: &Progress) -> Option<Command> {
        if self.0.is_none() || !event::poll(Duration::ZERO).ok()? {
            return None;
        }
        let Event::Key(key) = event::read().ok()? else { return None };
        if key.kind != KeyEventKind::Press {
            return None;
        }
        Some(match key.code {
            KeyCode::Char('q') | KeyCode::Esc => Command::Stop,
            KeyCode::Char(' ') => Command::TogglePause,
            KeyCode::Char('n') => Command::Step,
            KeyCode::Char('+') => Command::Rate(progress.rate * 1.25),
            KeyCode::Char('-') => Command::Rate(progress.rate * 0.8),
            KeyCode::Right => Command::Seek(progress.time.saturating_add(JUMP).min(progress.range.1)),
            KeyCode::Left => Command::Seek(progress.time.saturating_sub(JUMP).max(progress.range.0)),
            _ => return None,
        })
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, before);
        }
    }
}

/// `situ play`.
pub fn run(context: &Context, arguments: &PlayArgs) -> Result<(), CliError> {
    let start = arguments.files.iter().map(|file| Ok(open(file)?.statistics().start_time));
    let start = start.collect::<Result<Vec<u64>, CliError>>()?.into_iter().min().unwrap_or(0);
    let (from, until) = times(&arguments.range, start);
    let interrupt = Interrupt::listen()?;
    let node = context.node()?;
    let bare = |name: &str| name.strip_prefix('/').unwrap_or(name).to_owned();
    let options = PlayOptions {
        files: arguments.files.clone(),
        rate: arguments.rate,
        from,
        until,
        repeat: arguments.repeat,
        selection: select(&arguments.topics, arguments.regex.as_deref(), &arguments.exclude)?,
        remap: arguments.remap.iter().map(|(from, to)| (bare(from), bare(to))).collect(),
        clock: arguments.clock,
        wait: Duration::from_secs_f64(arguments.wait),
    };
    let player = Player::new(&node, options).map_err(CliError::failed)?;
    let topics: Vec<String> = player.topics().into_iter().map(str::to_owned).collect();
    let output = &context.output;
    if !output.is_json() && !output.is_live() {
        output.line(format!("playing {} topics; Ctrl-C ends it", topics.len()))?;
    }
    let keys = Keys::start(output);
    let (mut block, mut drawn) = (LiveBlock::default(), None::<Instant>);
    let mut begin_paused = arguments.paused;
    let mut control = |progress: Progress| {
        if interrupt.is_set() {
            return Command::Stop;
        }
        if std::mem::take(&mut begin_paused) {
            return Command::TogglePause;
        }
        if output.is_live() && drawn.is_none_or(|drawn| drawn.elapsed() >= REDRAW) {
            drawn = Some(Instant::now());
            let _ = output.draw(&mut block, &line(&progress));
        }
        keys.next(&progress).unwrap_or_default()
    };
    let played = player.play(&mut control);
    drop(keys);
    if output.is_live() {
        output.draw(&mut block, "")?;
    }
    let played = played.map_err(CliError::failed)?;
    played.problems.iter().for_each(complain);
    if played.more_problems > 0 {
        complain(&format!("{} more problems of this kind", played.more_problems));
    }
    if output.is_json() {
        output.record(&Report { messages: played.messages, topics: &topics, problems: &played.problems })?;
    } else {
        output.line(format!("{} messages on {} topics.", played.messages, topics.len()))?;
    }
    if played.problems.is_empty() { Ok(()) } else { Err(CliError::CheckFailed) }
}

fn line(progress: &Progress) -> String {
    let at = progress.time.saturating_sub(progress.range.0);
    let all = progress.range.1.saturating_sub(progress.range.0);
    let state = if progress.is_paused { "paused" } else { "playing" };
    format!(
        "{state} {} of {}, {} messages, speed {:.2}; space pauses, q ends\n",
        duration(at),
        duration(all),
        progress.messages,
        progress.rate
    )
}
