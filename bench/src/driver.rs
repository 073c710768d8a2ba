//! Starts the workers of each system, lets the systems take turns, and survives failing workers.

use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use crate::failure::Failure;
use crate::os;
use crate::session::Session;
use crate::systems::Kind;

/// Long enough for thousands of participants.
const OPEN_LIMIT: Duration = Duration::from_secs(60);
const RUN_LIMIT: Duration = Duration::from_secs(20);
const CLOSE_LIMIT: Duration = Duration::from_secs(10);
/// Rounds that are measured even if they exceed the time limit.
const LEAST_ROUNDS: usize = 3;
const EXIT_LIMIT: Duration = Duration::from_secs(3);

/// One process of a measurement.
pub struct Worker {
    name: String,
    child: Child,
    input: Option<ChildStdin>,
    output: ChildStdout,
    buffer: Vec<u8>,
    doing: String,
}

/// The role of a worker.
#[derive(Clone, Copy, Debug)]
pub struct Role {
    /// Its name in the table.
    pub name: &'static str,
    /// The index among workers with the same role.
    pub index: usize,
    /// The core it is bound to.
    pub cpu: usize,
}

/// The command that starts a worker of this system.
fn command(kind: Kind, table: &str) -> Result<Command, Failure> {
    match kind.peer_binary(table) {
        None if kind.is_rust_region() => {
            let program = std::env::current_exe().map_err(Failure::io("cannot find this program"))?;
            let mut command = Command::new(program.with_file_name("situ-bench-region"));
            command.args(["--system", kind.name()]);
            Ok(command)
        }
        None => {
            let program = std::env::current_exe().map_err(Failure::io("cannot find this program"))?;
            let mut command = Command::new(program);
            command.arg("worker").args(["--system", kind.name()]);
            Ok(command)
        }
        Some(binary) => {
            let path = peers_directory().join(binary);
            if path.is_file() {
                return Ok(Command::new(path));
            }
            let reason = std::fs::read_to_string(path.with_extension("absent")).unwrap_or_else(|_| {
                format!("{} is not built; run bench/setup.sh (it prints what is missing)", path.display())
            });
            Err(Failure::Worker(reason.trim().replace('\n', "; ")))
        }
    }
}

/// The directory in which bench/setup.sh installs the peers that are not Rust.
pub fn peers_directory() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("build").join("bin")
}

impl Worker {
    /// Starts the process and waits until it is ready.
    pub fn start(session: &Session, table: &str, kind: Kind, role: Role) -> Result<Self, Failure> {
        let name = format!("{} {table} {} {}", kind.name(), role.name, role.index);
        let mut command = command(kind, table)?;
        command
            .args(["--table", table, "--role", role.name])
            .args(["--index", &role.index.to_string()])
            .args(["--cpu", &role.cpu.to_string()])
            .args(["--session", &session.pid().to_string()])
            .args(["--page", &session.file(&format!("page-{}-{table}", kind.name())).display().to_string()])
            .args(["--domain", &session.domain().to_string()])
            // Separates the two systems of Situ. They interoperate, and would meet on the same topics.
            .env("SITU_ROOT", session.file(kind.name()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0);
        let driver = std::process::id();
        // SAFETY: makes only system calls that are allowed between fork and exec.
        unsafe {
            command.pre_exec(move || {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                if libc::getppid() as u32 == driver {
                    Ok(())
                } else {
                    Err(io::Error::from_raw_os_error(libc::ESRCH))
                }
            });
        }
        let mut child = command.spawn().map_err(Failure::io(format!("cannot start {name}")))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Failure::Worker(format!("{name} has no pipes")));
        };
        let mut worker =
            Self { name, child, input: Some(input), output, buffer: Vec::new(), doing: "start".to_owned() };
        worker.reply(OPEN_LIMIT)?;
        Ok(worker)
    }

    /// The process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a command.
    pub fn send(&mut self, line: &str) -> Result<(), Failure> {
        self.doing = line.to_owned();
        let sent = self.input.as_mut().map(|input| input.write_all(format!("{line}\n").as_bytes()));
        match sent {
            Some(Ok(())) => Ok(()),
            _ => Err(self.died()),
        }
    }

    /// Waits for the answer to the last command.
    pub fn reply(&mut self, limit: Duration) -> Result<Vec<f64>, Failure> {
        let deadline = Instant::now() + limit;
        let line = loop {
            if let Some(end) = self.buffer.iter().position(|&byte| byte == b'\n') {
                let rest = self.buffer.split_off(end + 1);
                let line = std::mem::replace(&mut self.buffer, rest);
                break String::from_utf8_lossy(&line[..end]).into_owned();
            }
            if os::interrupted() {
                return Err(Failure::Interrupted);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Failure::Timeout { worker: self.name.clone(), doing: self.doing.clone(), limit });
            }
            let mut poll = libc::pollfd { fd: self.output.as_raw_fd(), events: libc::POLLIN, revents: 0 };
            // SAFETY: the array has one valid entry.
            let ready = unsafe { libc::poll(&mut poll, 1, left.as_millis().clamp(1, 1000) as libc::c_int) };
            if ready > 0 {
                let mut chunk = [0; 65536];
                match self.output.read(&mut chunk) {
                    Ok(0) => return Err(self.died()),
                    Ok(n) => self.buffer.extend_from_slice(&chunk[..n]),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(_) => return Err(self.died()),
                }
            }
        };
        match line.split_once(' ').unwrap_or((&line, "")) {
            ("ok", _) => Ok(Vec::new()),
            ("samples", words) => words.split(' ').filter(|word| !word.is_empty()).map(number).collect(),
            ("error", words) => Err(Failure::Worker(words.to_owned())),
            _ => Err(Failure::Protocol { line: line.chars().take(200).collect(), why: "unknown answer" }),
        }
    }

    fn died(&mut self) -> Failure {
        let status = match self.child.wait() {
            Ok(status) => match status.signal() {
                Some(signal) => format!("signal {signal}"),
                None => status.to_string(),
            },
            Err(error) => error.to_string(),
        };
        Failure::Died { worker: self.name.clone(), status, doing: self.doing.clone() }
    }
}

fn number(word: &str) -> Result<f64, Failure> {
    word.parse().map_err(|_| Failure::Protocol { line: word.to_owned(), why: "expected a number" })
}

impl Drop for Worker {
    fn drop(&mut self) {
        // The end of its input tells the worker to clean up and exit.
        self.input = None;
        let deadline = Instant::now() + EXIT_LIMIT;
        loop {
            match self.child.try_wait() {
                Ok(Some(_)) | Err(_) => return,
                Ok(None) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(2)),
                Ok(None) => break,
            }
        }
        // A process that cannot be killed is left alone.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The processes of one system in one table, or the reason why it is absent.
pub struct Team {
    /// The system.
    pub kind: Kind,
    workers: Result<Vec<Worker>, String>,
}

impl Team {
    /// Starts a worker for each role. A system that cannot start is absent, with the reason.
    pub fn start(session: &Session, table: &str, kind: Kind, roles: &[Role]) -> Result<Self, Failure> {
        let mut workers = Vec::new();
        for &role in roles {
            match Worker::start(session, table, kind, role) {
                Ok(worker) => workers.push(worker),
                Err(Failure::Interrupted) => return Err(Failure::Interrupted),
                Err(failure) => return Ok(Self::absent(kind, failure.to_string())),
            }
        }
        Ok(Self { kind, workers: Ok(workers) })
    }

    /// A system that cannot take part.
    pub fn absent(kind: Kind, reason: impl Into<String>) -> Self {
        Self { kind, workers: Err(reason.into()) }
    }

    /// Its processes; empty if it is absent.
    pub fn workers(&mut self) -> &mut [Worker] {
        self.workers.as_mut().map_or(&mut [], |workers| workers.as_mut_slice())
    }

    /// Why it is absent, if it is.
    pub fn absence(&self) -> Option<&str> {
        self.workers.as_ref().err().map(String::as_str)
    }

    /// Sends every worker the same command and collects their samples, in the order of the roles. A team that
    /// fails is absent from then on.
    pub fn ask(&mut self, line: &str) -> Result<Vec<f64>, Failure> {
        self.ask_first(usize::MAX, line)
    }

    /// The same for the first `count` workers alone.
    pub fn ask_first(&mut self, count: usize, line: &str) -> Result<Vec<f64>, Failure> {
        let Ok(all) = &mut self.workers else { return Ok(Vec::new()) };
        let asked = count.min(all.len());
        let workers = &mut all[..asked];
        let limit = match line.split(' ').next() {
            Some("open") => OPEN_LIMIT,
            Some("run") => RUN_LIMIT,
            _ => CLOSE_LIMIT,
        };
        let mut samples = Vec::new();
        let mut outcome = workers.iter_mut().try_for_each(|worker| worker.send(line));
        if outcome.is_ok() {
            outcome = gather(workers, limit, &mut samples);
        }
        match outcome {
            Ok(()) => Ok(samples),
            Err(Failure::Interrupted) => Err(Failure::Interrupted),
            Err(failure) => {
                // The others may wait for the failed worker: end them all.
                for worker in all.iter_mut() {
                    let _ = worker.child.kill();
                }
                self.workers = Err(failure.to_string());
                Ok(Vec::new())
            }
        }
    }
}

/// Waits for all answers, but stops at the first failure: the other workers would wait for the failed one.
fn gather(workers: &mut [Worker], limit: Duration, samples: &mut Vec<f64>) -> Result<(), Failure> {
    let deadline = Instant::now() + limit;
    let mut answers: Vec<Option<Vec<f64>>> = workers.iter().map(|_| None).collect();
    while answers.iter().any(Option::is_none) {
        let mut polls: Vec<libc::pollfd> = workers
            .iter()
            .zip(&answers)
            .map(|(worker, answer)| libc::pollfd {
                fd: if answer.is_none() { worker.output.as_raw_fd() } else { -1 },
                events: libc::POLLIN,
                revents: 0,
            })
            .collect();
        let left = deadline.saturating_duration_since(Instant::now());
        // SAFETY: the pointer and the length are the vector's.
        unsafe {
            libc::poll(
                polls.as_mut_ptr(),
                polls.len() as libc::nfds_t,
                left.as_millis().clamp(1, 1000) as libc::c_int,
            )
        };
        for ((worker, answer), poll) in workers.iter_mut().zip(&mut answers).zip(&polls) {
            if answer.is_none() && (poll.revents != 0 || left.is_zero() || os::interrupted()) {
                *answer = Some(worker.reply(left)?);
            }
        }
    }
    samples.extend(answers.into_iter().flatten().flatten());
    Ok(())
}

/// One case of a table: opened for every system, then measured in turns, then closed.
pub struct Turns<'a> {
    /// `open ...`
    pub open: &'a str,
    /// `run ...`, once before the measurement.
    pub warm: &'a str,
    /// `run ...` in each round.
    pub run: &'a str,
    /// The number of rounds, within `budget`.
    pub rounds: usize,
    /// The time limit. The round that is under way is completed.
    pub budget: Duration,
}

/// Lets the systems take turns, so that other load of the machine affects all alike. Returns one vector of
/// samples for each team, empty for an absent one.
pub fn alternate(teams: &mut [Team], turns: &Turns) -> Result<Vec<Vec<f64>>, Failure> {
    for team in teams.iter_mut() {
        team.ask(turns.open)?;
    }
    for team in teams.iter_mut() {
        team.ask(turns.warm)?;
    }
    let mut samples = vec![Vec::new(); teams.len()];
    let start = Instant::now();
    for round in 0..turns.rounds {
        if round >= LEAST_ROUNDS && start.elapsed() > turns.budget {
            break;
        }
        for (team, samples) in teams.iter_mut().zip(&mut samples) {
            samples.append(&mut team.ask(turns.run)?);
        }
    }
    for (team, samples) in teams.iter_mut().zip(&mut samples) {
        team.ask("close")?;
        if team.absence().is_some() {
            // Samples from before a failure are not comparable.
            samples.clear();
        }
    }
    Ok(samples)
}
