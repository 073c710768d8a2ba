//! A hop from one process to another within the domain, for every size, and its floor: one word of shared
//! memory.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use situ::memory::{Access, DomainId, Mapping};

use crate::process::{
    TIMEOUT, Role, Scratch, node, now_ns, publisher, say_times, subscriber as subscribe, times,
};
use crate::table::{Finding, Table, percentile, size as sized};
use crate::{Result, Wanted};

const TOPIC: &str = "hop";
/// The value in the head that ends the measurement.
const END: u64 = 0;

/// Measures all sizes, spinning and blocking.
pub fn measure(wanted: &Wanted, table: &mut Table) {
    let count = if wanted.quick { 200 } else { 2000 };
    table.row("floor: a word of shared memory, spinning", run_floor(count));
    let sizes: &[u64] = if wanted.quick {
        &[4 << 10, 1 << 20, 16 << 20]
    } else {
        &[4 << 10, 64 << 10, 1 << 20, 16 << 20, 256 << 20, 1 << 30]
    };
    for (mode, asked) in [("spinning", 10.0), ("blocking", 25.0)] {
        for size in sizes {
            let found = run(wanted.domain, mode, *size, count).map(|mut times| {
                let (p50, p99) = (percentile(&mut times, 50), percentile(&mut times, 99));
                let value = format!("p50 {p50:.1}  p99 {p99:.1}  ({} messages)", times.len());
                Finding::asked(value, format!("p50 <= {asked}"), p50 <= asked)
            });
            table.row(&format!("{mode}, {}", sized(*size)), found);
        }
    }
}

/// Publishes `count` messages, and returns the times that the subscriber's process measured.
fn run(domain: DomainId, mode: &str, size: u64, count: usize) -> Result<Vec<u64>> {
    let _scratch = Scratch::new();
    let node = node("publisher", domain)?;
    let publisher = publisher(&node, TOPIC, domain, size)?;
    let (size_text, count_text) = (size.to_string(), count.to_string());
    let mut other = Role::start(&["subscriber", &domain.to_string(), mode, &size_text, &count_text], None)?;
    other.hear("ready")?;
    let pause = if mode == "spinning" { Duration::from_micros(50) } else { Duration::from_micros(400) };
    for turn in 0..=count {
        let first = now_ns();
        let (mut loan, began) = loop {
            // The time includes lending, as in every system here, but not waiting for the subscriber.
            let began = now_ns();
            match publisher.loan(8, 8, size as usize) {
                Ok(loan) => break (loan, began),
                // The subscriber still holds all messages.
                Err(error) if began - first > TIMEOUT.as_nanos() as u64 => return Err(error.into()),
                Err(_) => std::thread::yield_now(),
            }
        };
        let _written_by_a_kernel = loan.span().address();
        let time = if turn == count { END } else { began };
        loan.head_bytes().copy_from_slice(&time.to_ne_bytes());
        loan.publish()?;
        if mode == "spinning" {
            let until = now_ns() + pause.as_nanos() as u64;
            while now_ns() < until {
                std::hint::spin_loop();
            }
        } else {
            std::thread::sleep(pause);
        }
    }
    times(&other.hear("times")?)
}

/// The subscriber's role.
pub fn subscriber(domain: DomainId, mode: &str, size: u64, count: usize) -> Result<()> {
    let node = node("subscriber", domain)?;
    let subscriber = subscribe(&node, TOPIC, domain)?;
    println!("ready");
    let mut times = Vec::with_capacity(count);
    loop {
        let sample = loop {
            if let Some(sample) = subscriber.take()? {
                break sample;
            }
            if mode == "spinning" {
                std::hint::spin_loop();
            } else if !subscriber.wait(Some(TIMEOUT)) {
                return Err("no message arrived".into());
            }
        };
        let span = sample.span();
        let (address, now) = (span.address(), now_ns());
        let time = u64::from_ne_bytes(sample.head_in_place().try_into()?);
        if time == END {
            break;
        }
        if span.size() != size || address == 0 || sample.was_brought() {
            return Err("another message, or a copy".into());
        }
        times.push(now - time);
    }
    // Drops the first samples, which load pages and caches.
    say_times(&times[times.len() / 10..]);
    Ok(())
}

fn words() -> Result<Mapping> {
    let path = format!("{}.floor", std::env::var("SITU_ROOT")?);
    let file = std::fs::OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
    file.set_len(4096)?;
    Ok(Mapping::new(std::os::fd::AsFd::as_fd(&file), 0, 4096, Access::ReadWrite)?)
}

fn word(mapping: &Mapping, index: usize) -> Result<&AtomicU64> {
    let at = mapping.at::<AtomicU64>(index * 128).ok_or("no such word")?;
    // SAFETY: the word lies in the mapping and is aligned, and all bit patterns are valid.
    Ok(unsafe { &*at })
}

fn run_floor(count: usize) -> Result<Finding> {
    let _scratch = Scratch::new();
    let mapping = words()?;
    let (there, back) = (word(&mapping, 0)?, word(&mapping, 1)?);
    there.store(0, Ordering::SeqCst);
    back.store(0, Ordering::SeqCst);
    let mut other = Role::start(&["floor", &count.to_string()], None)?;
    other.hear("ready")?;
    let mut times = Vec::with_capacity(count);
    for turn in 1..=count as u64 {
        let began = now_ns();
        there.store(turn, Ordering::Release);
        while back.load(Ordering::Acquire) != turn {
            std::hint::spin_loop();
        }
        times.push((now_ns() - began) / 2);
    }
    let _ = std::fs::remove_file(format!("{}.floor", std::env::var("SITU_ROOT")?));
    let value = format!("p50 {:.2}  p99 {:.2}", percentile(&mut times, 50), percentile(&mut times, 99));
    Ok(Finding::plain(value))
}

/// The role of the other end of the floor.
pub fn floor(count: usize) -> Result<()> {
    let mapping = words()?;
    let (there, back) = (word(&mapping, 0)?, word(&mapping, 1)?);
    println!("ready");
    for turn in 1..=count as u64 {
        while there.load(Ordering::Acquire) != turn {
            std::hint::spin_loop();
        }
        back.store(turn, Ordering::Release);
    }
    Ok(())
}
