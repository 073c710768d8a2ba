//! Publishing before the device is done: the cost for the publisher, and a chain of nodes compared with one
//! process.

use std::collections::VecDeque;
use std::time::Duration;

use situ::memory::cuda::CudaDomain;
use situ::memory::{Domain, DomainId, MemoryRequest};

use crate::kernels::Kernels;
use crate::process::{TIMEOUT, Role, Scratch, node, now_ns, publisher, subscriber};
use crate::table::{Finding, Table, percentile, size as sized};
use crate::{Result, Wanted};

/// Rounds of arithmetic for each number: a step takes some milliseconds on a large GPU.
const ROUNDS: i32 = 4000;
const NODES: usize = 4;

/// Measures this part of the table.
pub fn measure(wanted: &Wanted, table: &mut Table) {
    if !wanted.is_cuda() {
        table.fact("publishing behind a kernel; chains", "need kernels: CUDA only");
        return;
    }
    table.row("publishing behind a kernel of 10 ms", blocked(wanted));
    let size = if wanted.quick { 16 << 20 } else { 256 << 20 };
    table.row(&format!("{NODES} nodes in a chain, {}", sized(size)), chain(wanted, size));
}

/// The duration of publishing while the stream is busy.
fn blocked(wanted: &Wanted) -> Result<Finding> {
    const HELD_NS: u64 = 10_000_000;
    let _scratch = Scratch::new();
    let domain = CudaDomain::find(wanted.domain.number)?;
    let kernels = Kernels::load(&domain)?;
    let node = node("blocked", wanted.domain)?;
    let publisher = publisher(&node, "blocked", wanted.domain, 1 << 20)?;
    let subscriber = subscriber(&node, "blocked", wanted.domain)?;
    let stream = domain.stream()?;
    let (mut times, mut early) = (Vec::new(), 0);
    let turns = 60;
    for turn in 0..turns {
        kernels.hold(stream.as_ref(), HELD_NS)?;
        let began = now_ns();
        let mut loan = publisher.loan(8, 8, 1 << 20)?;
        loan.head_bytes().copy_from_slice(&began.to_ne_bytes());
        loan.publish_on(stream.as_ref())?;
        let took = now_ns() - began;
        let sample = subscriber.take()?.ok_or("the message is not available at once")?;
        let pending = sample.fence().is_some_and(|fence| fence.state() == situ::memory::FenceState::Pending);
        early += usize::from(pending);
        sample.synchronize(TIMEOUT)?;
        stream.synchronize(TIMEOUT)?;
        if turn >= turns / 6 {
            times.push(took);
        }
    }
    let (p50, p99) = (percentile(&mut times, 50), percentile(&mut times, 99));
    let value = format!("p50 {p50:.1} us  p99 {p99:.1} us  ({early} of {turns} early)");
    Ok(Finding::asked(value, "p50 < 5 us", p50 < 5.0 && early == turns))
}

/// The time through a chain of processes, compared with one process with one stream.
fn chain(wanted: &Wanted, size: u64) -> Result<Finding> {
    let _scratch = Scratch::new();
    let domain = CudaDomain::find(wanted.domain.number)?;
    let kernels = Kernels::load(&domain)?;
    let stream = domain.stream()?;
    let count = size / 4;
    let turns = if wanted.quick { 10 } else { 40 };

    // One process, with a buffer for each message.
    let request = MemoryRequest { size, mode: 0o600, group: None };
    let buffers: Vec<_> =
        (0..=NODES).map(|_| domain.create(&"".into(), &request)).collect::<std::result::Result<_, _>>()?;
    let mut alone = Vec::new();
    for turn in 0..turns {
        let began = now_ns();
        // SAFETY: each buffer holds `count` numbers and lives until the stream is synchronized.
        unsafe {
            kernels.fill(stream.as_ref(), buffers[0].address(), count, turn as f32)?;
            for pair in buffers.windows(2) {
                kernels.step(stream.as_ref(), pair[1].address(), pair[0].address(), count, ROUNDS)?;
            }
        }
        stream.synchronize(TIMEOUT)?;
        alone.push(now_ns() - began);
    }
    drop(buffers);

    // One process for each step. This process publishes the first message and receives the last one.
    let node = node("ends", wanted.domain)?;
    let publisher = publisher(&node, "chain0", wanted.domain, size)?;
    let mut steps = Vec::new();
    for number in 0..NODES {
        let (from, to) = (format!("chain{number}"), format!("chain{}", number + 1));
        let arguments = ["step", &wanted.domain.to_string(), &from, &to, &size.to_string()];
        let mut step = Role::start(&arguments, None)?;
        step.hear("ready")?;
        steps.push(step);
    }
    let last = subscriber(&node, &format!("chain{NODES}"), wanted.domain)?;
    let mut together = Vec::new();
    let mut result = [0_f32; 2];
    for turn in 0..turns {
        let began = now_ns();
        let mut loan = publisher.loan(8, 8, size as usize)?;
        loan.head_bytes().copy_from_slice(&began.to_ne_bytes());
        // SAFETY: the span holds `count` numbers. It stays valid until the message is overwritten, which
        // happens after the chain has passed.
        unsafe { kernels.fill(stream.as_ref(), loan.span().address(), count, turn as f32) }?;
        loan.publish_on(stream.as_ref())?;
        let sample = loop {
            if let Some(sample) = last.take()? {
                break sample;
            }
            if now_ns() - began > TIMEOUT.as_nanos() as u64 {
                return Err("the last message of the chain did not arrive".into());
            }
            std::hint::spin_loop();
        };
        sample.synchronize(TIMEOUT)?;
        together.push(now_ns() - began);
        let span = sample.span();
        for (at, number) in [0, size - 4].into_iter().zip(&mut result) {
            // SAFETY: the number lives until the stream is synchronized.
            unsafe {
                let target = std::ptr::from_mut(number).cast();
                stream.copy_to_host(span.memory(), span.offset() + at, target, 4)?;
            }
        }
        stream.synchronize(TIMEOUT)?;
        let expected = expected(turn as f32);
        if result.iter().any(|number| (number - expected).abs() > 0.01 * expected.abs()) {
            return Err(format!("turn {turn}: {result:?} instead of {expected}").into());
        }
    }
    let warm = turns / 5;
    let (alone, together) = (percentile(&mut alone[warm..], 50), percentile(&mut together[warm..], 50));
    let ratio = together / alone;
    let value = format!("{together:.0} us, one process {alone:.0} us: {ratio:.3}");
    Ok(Finding::asked(value, "<= 1.05", ratio <= 1.05))
}

/// The result of the chain's kernels for a number.
fn expected(mut value: f32) -> f32 {
    for _ in 0..NODES {
        for _ in 0..ROUNDS {
            value = value.mul_add(0.999, 0.001);
        }
        value += 1.0;
    }
    value
}

/// The role of a node in the chain: waits and computes on its stream, and publishes messages before they are
/// complete.
pub fn step(id: DomainId, from: &str, to: &str, size: u64) -> Result<()> {
    let domain = CudaDomain::find(id.number)?;
    let kernels = Kernels::load(&domain)?;
    let node = node(to, id)?;
    let subscriber = subscriber(&node, from, id)?;
    let publisher = publisher(&node, to, id, size)?;
    let stream = domain.stream()?;
    println!("ready");
    let mut held = VecDeque::new();
    loop {
        let Some(sample) = subscriber.take()? else {
            if !subscriber.wait(Some(TIMEOUT)) {
                return Ok(());
            }
            continue;
        };
        sample.wait_on(stream.as_ref(), TIMEOUT)?;
        let mut loan = publisher.loan(8, 8, size as usize)?;
        loan.head_bytes().copy_from_slice(sample.head_in_place());
        // SAFETY: both spans hold `size / 4` numbers. The sample is held until the stream has passed, and the
        // loan is published behind the kernel.
        unsafe {
            let (to, from) = (loan.span().address(), sample.span().address());
            kernels.step(stream.as_ref(), to, from, size / 4, ROUNDS)?;
        }
        loan.publish_on(stream.as_ref())?;
        // The next message comes after the chain has passed this one. One more than that is held.
        held.push_back(sample);
        if held.len() > 2 {
            stream.synchronize(Duration::from_secs(10))?;
            held.clear();
        }
    }
}
