//! The emulated device: its memory is out of reach, its work takes the configured time, and it fails on
//! demand.
#![cfg(not(loom))]

use std::sync::Arc;
use std::time::{Duration, Instant};

use situ_memory::{
    AllocateError, Beneath, Copier, Domain, DomainError, Domains, EmulatedDomain, EmulatedOptions,
    EmulatedStream, FaultPlan, FenceState, HostDomain, Memory, MemoryRequest, PageOptions, PoolOptions,
    PoolOwner, Route, Strategy,
};
use situ_testkit::process::{rerun, role};

const TIMEOUT: Duration = Duration::from_secs(20);

struct Scratch(situ_testkit::Scratch);

impl Scratch {
    fn new() -> Self {
        Self(situ_testkit::Scratch::created("emulated"))
    }
    fn memory(&self, domain: &dyn Domain, name: &str, size: u64) -> Arc<dyn Memory> {
        let memory = domain
            .create(&Beneath::from(&self.0.join(name)), &MemoryRequest { size, mode: 0o600, group: None })
            .unwrap();
        memory.back(0, size).unwrap();
        memory
    }
    fn pool(&self, domain: &dyn Domain, name: &str) -> Result<PoolOwner, DomainError> {
        let strategy = Strategy::SizeClasses;
        let options = PoolOptions {
            id: 9,
            owner: 1,
            slots: 64,
            capacity: 1 << 20,
            strategy,
            pages: PageOptions::default(),
            mode: 0o600,
            group: None,
            grows: false,
        };
        PoolOwner::create(domain, &self.0.join(name), &options)
    }
}

fn quick() -> EmulatedDomain {
    EmulatedDomain::new(EmulatedOptions {
        latency: Duration::ZERO,
        bandwidth_bytes_per_s: 0,
        ..EmulatedOptions::default()
    })
}

fn faulty(fault: FaultPlan) -> EmulatedDomain {
    EmulatedDomain::new(EmulatedOptions { latency: Duration::ZERO, fault, ..EmulatedOptions::default() })
}

/// A role that the next test starts in a process of its own; alone it has nothing to do.
#[test]
fn touches_the_device() {
    let Some(how) = role() else { return };
    let scratch = Scratch::new();
    let memory = scratch.memory(&quick(), "m.data", 4096);
    let _ = std::fs::remove_dir_all(&scratch.0);
    let address = memory.address() as *mut u8;
    // SAFETY: none: this is the mistake that the process must die of.
    unsafe {
        if how == "read" {
            std::hint::black_box(address.read_volatile())
        } else {
            address.write_volatile(1);
            0
        }
    };
}

#[test]
fn a_program_that_touches_device_memory_dies() {
    use std::os::unix::process::ExitStatusExt;
    for how in ["read", "write"] {
        let output = rerun("touches_the_device", how).output().unwrap();
        assert_eq!(output.status.signal(), Some(11), "{how}: SIGSEGV");
    }
}

#[test]
fn a_kernel_works_between_two_copies() {
    let scratch = Scratch::new();
    let domain = quick();
    let memory = scratch.memory(&domain, "m.data", 8192);
    let stream = domain.stream().unwrap();
    let input: Vec<u8> = (0..=255).collect();
    let mut output = vec![0u8; 256];
    // SAFETY: both live until the stream is synchronized below.
    unsafe { stream.copy_from_host(input.as_ptr(), &memory, 4096, 256).unwrap() };
    let device_memory = memory.clone();
    let emulated = stream.as_any().downcast_ref::<EmulatedStream>().unwrap();
    emulated
        .launch(move |view| {
            // SAFETY: only this stream uses the memory.
            let bytes = unsafe { view.bytes_mut(&device_memory, 4096, 256)? };
            bytes.iter_mut().for_each(|byte| *byte = byte.wrapping_mul(3));
            Ok(())
        })
        .unwrap();
    // SAFETY: as above.
    unsafe { stream.copy_to_host(&memory, 4096, output.as_mut_ptr(), 256).unwrap() };
    stream.synchronize(TIMEOUT).unwrap();
    assert!(input.iter().zip(&output).all(|(input, output)| input.wrapping_mul(3) == *output));
    // One kernel that leaves its bounds, and one that panics.
    emulated
        .launch(move |view| {
            // SAFETY: it is refused.
            unsafe { view.bytes(&memory, 8000, 193) }.map(drop)
        })
        .unwrap();
    assert!(matches!(stream.synchronize(TIMEOUT), Err(DomainError::OutOfRange { size: 8192, .. })));
    emulated.launch(|_| panic!("a kernel with a fault")).unwrap();
    assert!(matches!(stream.synchronize(TIMEOUT), Err(DomainError::Refused { .. })));
    stream.synchronize(TIMEOUT).expect("the stream goes on");
}

#[test]
fn copies_take_at_least_the_time_of_the_model() {
    let scratch = Scratch::new();
    let domain = EmulatedDomain::new(EmulatedOptions {
        latency: Duration::from_millis(5),
        bandwidth_bytes_per_s: 100_000_000,
        ..EmulatedOptions::default()
    });
    let memory = scratch.memory(&domain, "m.data", 2_000_000);
    let bytes = vec![1u8; 1_000_000];
    let streams = [domain.stream().unwrap(), domain.stream().unwrap()];
    let start = Instant::now();
    for (index, stream) in streams.iter().enumerate() {
        // SAFETY: the bytes live until both are synchronized.
        unsafe {
            stream.copy_from_host(bytes.as_ptr(), &memory, index as u64 * 1_000_000, 1_000_000).unwrap()
        };
    }
    streams.iter().for_each(|stream| stream.synchronize(TIMEOUT).unwrap());
    // 5 ms of latency each, which overlap, and 10 ms on the bus each, which do not.
    assert!(start.elapsed() >= Duration::from_millis(25), "{:?}", start.elapsed());
}

#[test]
fn refused_allocations_are_errors_and_the_next_ones_succeed() {
    let scratch = Scratch::new();
    let domain = faulty(FaultPlan { refuse_allocation: Some(0), ..FaultPlan::default() });
    let error = scratch.pool(&domain, "a.pool").err().unwrap();
    assert!(matches!(error, DomainError::Refused { .. }), "{error}");
    let mut pool = scratch.pool(&domain, "b.pool").unwrap();
    domain.faults().plan(FaultPlan { refuse_allocation: Some(0), ..FaultPlan::default() });
    assert!(matches!(pool.allocate(5000), Err(AllocateError::Domain(DomainError::Refused { .. }))));
    assert_eq!(pool.statistics().in_use, 0);
    let slot = pool.allocate(5000).unwrap();
    assert_eq!(pool.memory(slot).1, 0, "the CPU gets no pointer");
    let (offset, len) = pool.place(slot);
    assert!(offset % 256 == 0 && len >= 5000 && offset + len <= 1 << 20);
}

#[test]
fn after_a_failed_copy_no_fence_says_complete() {
    let scratch = Scratch::new();
    let domain = faulty(FaultPlan { fail_copy: Some(1), ..FaultPlan::default() });
    let mut pool = scratch.pool(&domain, "p.pool").unwrap();
    let stream = domain.stream().unwrap();
    let bytes = [7u8; 64];
    let mut fences = Vec::new();
    let mut last = 0;
    for _ in 0..3 {
        last = pool.allocate(64).unwrap();
        // SAFETY: the bytes live until the stream is synchronized.
        unsafe { stream.copy_from_host(bytes.as_ptr(), pool.bytes(), pool.place(last).0, 64).unwrap() };
        stream.signal(&pool.fence(last)).unwrap();
        fences.push(pool.fence(last));
    }
    let error = stream.synchronize(TIMEOUT).unwrap_err();
    assert!(matches!(error, DomainError::Refused { .. }), "{error}");
    let states: Vec<FenceState> = fences.iter().map(|fence| fence.state()).collect();
    assert_eq!(states, [FenceState::Complete, FenceState::Poisoned, FenceState::Poisoned]);
    // The poison goes with the message: the slot's next message is pending, then complete.
    pool.control(last).retire();
    pool.deallocate(last);
    assert_eq!(pool.allocate(64).unwrap(), last);
    let fence = pool.fence(last);
    assert_eq!(fence.state(), FenceState::Pending);
    stream.signal(&fence).unwrap();
    stream.synchronize(TIMEOUT).unwrap();
    assert_eq!(fence.state(), FenceState::Complete);
}

#[test]
fn a_lost_device_is_lost_for_everybody_and_nobody_waits_for_it() {
    let scratch = Scratch::new();
    let domain = faulty(FaultPlan { lose_device: Some(1), ..FaultPlan::default() });
    let mut pool = scratch.pool(&domain, "p.pool").unwrap();
    let (first, second) = (pool.allocate(64).unwrap(), pool.allocate(64).unwrap());
    let stuck = domain.stream().unwrap();
    stuck.wait(&pool.fence(second), TIMEOUT).unwrap();
    let stream = domain.stream().unwrap();
    let bytes = [7u8; 64];
    for slot in [first, second] {
        // SAFETY: the bytes live until the stream is synchronized.
        let copied = unsafe { stream.copy_from_host(bytes.as_ptr(), pool.bytes(), pool.place(slot).0, 64) };
        // The device may be lost by now, and the call then fails at once; a caller that cannot signal poisons
        // the fence itself.
        if copied.and_then(|()| stream.signal(&pool.fence(slot))).is_err() {
            pool.fence(slot).poison();
        }
    }
    for stream in [&stream, &stuck] {
        let error = stream.synchronize(TIMEOUT).unwrap_err();
        assert!(matches!(error, DomainError::Lost { .. }), "{error}");
    }
    assert_eq!(pool.fence(first).state(), FenceState::Complete);
    assert_eq!(pool.fence(second).state(), FenceState::Poisoned);
    assert!(matches!(domain.stream(), Err(DomainError::Lost { .. })));
    assert!(matches!(scratch.pool(&domain, "q.pool").err(), Some(DomainError::Lost { .. })));
    assert!(matches!(stream.signal(&pool.fence(first)), Err(DomainError::Lost { .. })));
    assert!(matches!(pool.allocate(64 << 10), Err(AllocateError::Domain(DomainError::Lost { .. }))));
}

#[test]
fn a_dropped_stream_still_does_what_it_was_given() {
    let scratch = Scratch::new();
    let domain = EmulatedDomain::default();
    let mut pool = scratch.pool(&domain, "p.pool").unwrap();
    let slot = pool.allocate(64).unwrap();
    let stream = domain.stream().unwrap();
    static BYTES: [u8; 64] = [5; 64];
    for _ in 0..100 {
        // SAFETY: the bytes live for ever.
        unsafe { stream.copy_from_host(BYTES.as_ptr(), pool.bytes(), pool.place(slot).0, 64).unwrap() };
    }
    let fence = pool.fence(slot);
    stream.signal(&fence).unwrap();
    drop((stream, domain));
    assert_eq!(fence.wait(TIMEOUT), FenceState::Complete);
}

/// The number of streams of emulated devices in this process.
fn stream_threads() -> usize {
    let threads = std::fs::read_dir("/proc/self/task").unwrap();
    let names = threads.filter_map(|thread| std::fs::read_to_string(thread.ok()?.path().join("comm")).ok());
    names.filter(|name| name.trim() == "situ-emulated").count()
}

/// A role that the next test starts in a process without other streams; alone it has nothing to do.
#[test]
fn drops_a_stream_that_waits() {
    let Some(_) = role() else { return };
    let scratch = Scratch::new();
    let mut pool = scratch.pool(&quick(), "p.pool").unwrap();
    let (never, behind) = (pool.allocate(64).unwrap(), pool.allocate(64).unwrap());
    let stream = quick().stream().unwrap();
    stream.wait(&pool.fence(never), Duration::from_millis(20)).unwrap();
    stream.signal(&pool.fence(behind)).unwrap();
    let start = Instant::now();
    while stream_threads() == 0 {
        assert!(start.elapsed() < TIMEOUT, "a thread gives itself its name");
    }
    drop(stream);
    assert_eq!(pool.fence(behind).wait(TIMEOUT), FenceState::Poisoned, "not complete");
    let start = Instant::now();
    while stream_threads() > 0 {
        assert!(start.elapsed() < TIMEOUT, "the thread goes on for ever");
        std::thread::yield_now();
    }
}

#[test]
fn a_dropped_stream_does_not_wait_for_ever() {
    let output = rerun("drops_a_stream_that_waits", "drop").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn copies_between_domains_take_the_shortest_way() {
    let scratch = Scratch::new();
    let other = EmulatedDomain::new(EmulatedOptions { number: 1, ..EmulatedOptions::default() });
    let domains =
        Domains::host_only().with(Arc::new(EmulatedDomain::default())).with(Arc::new(other.clone()));
    let mut copier = Copier::new(domains.clone());
    let size = 9u64 << 20;
    let memories: Vec<_> = domains
        .iter()
        .enumerate()
        .map(|(index, domain)| scratch.memory(domain.as_ref(), &format!("{index}.data"), size))
        .collect();
    let [host, first, second] = &memories[..] else { unreachable!() };
    let base = host.host(0, host.size()).unwrap().unwrap();
    let pattern: Vec<u8> = (0..size).map(|byte| (byte % 251) as u8).collect();
    // SAFETY: the memory has that many bytes, and no other code uses it.
    unsafe { base.copy_from_nonoverlapping(pattern.as_ptr(), size as usize) };
    let mut copy = |from, to, len| copier.copy((from, 0), (to, 0), len, None, TIMEOUT).unwrap();
    assert_eq!(copy(host, first, size), Route::FromHost);
    assert_eq!(copy(first, second, size), Route::Staged);
    // SAFETY: as above.
    unsafe { base.write_bytes(0, size as usize) };
    assert_eq!(copy(second, host, size), Route::ToHost);
    // SAFETY: as above; no code writes it any more.
    assert!(unsafe { std::slice::from_raw_parts(base, size as usize) } == pattern);
    assert_eq!(copy(first, first, 0), Route::Direct);
    assert_eq!(copy(host, host, size), Route::Direct);
    // A fence that is never completed, and a range that does not exist.
    let mut pool = scratch.pool(&HostDomain, "p.pool").unwrap();
    let slot = pool.allocate(64).unwrap();
    let fence = pool.fence(slot);
    let mut late = |timeout| copier.copy((first, 0), (second, 0), 64, Some(&fence), timeout);
    assert!(matches!(late(Duration::from_millis(20)), Err(DomainError::TimedOut { .. })));
    fence.complete();
    assert_eq!(late(TIMEOUT).unwrap(), Route::Staged);
    assert!(matches!(
        copier.copy((first, 1), (second, 0), size, None, TIMEOUT),
        Err(DomainError::OutOfRange { offset: 1, .. })
    ));
}
