//! What every memory domain must do. `conformance!(name, open)` makes a module of tests for the domain that
//! `open` returns.
//!
//! A crate with a domain of its own includes this file and `children.rs` beside it: `#[macro_use] #[path =
//! ".../suite.rs"] mod suite;`.

#[path = "children.rs"]
mod children;
#[path = "pools.rs"]
mod pools;

use std::any::Any;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use situ_memory::{
    Beneath, Copier, Domain, DomainError, DomainId, DomainKind, Domains, FenceState, HOST, HostDomain,
    Memory, MemoryRequest, PageOptions, PoolOptions, PoolOwner, Route, Sharing, Strategy, Stream,
    StreamOrder,
};

pub use children::*;
pub use pools::*;

/// Opens a domain, in this process and in others.
pub type Open = fn() -> Result<Arc<dyn Domain>, DomainError>;

/// Longer than any step here takes, even on a busy machine.
pub const TIMEOUT: Duration = Duration::from_secs(60);

/// The tests of a domain. `open` returns a fresh handle, or says why there is none.
macro_rules! conformance {
    ($name:ident, $open:expr) => {
        mod $name {
            #[allow(unused_imports)]
            use super::*;

            const OPEN: crate::suite::Open = $open;

            /// The role of other processes: alone it has nothing to do.
            #[test]
            fn child() {
                crate::suite::child(OPEN);
            }

            conformance!(@tests
                says_what_it_is bytes_come_back_as_they_went ranges_outside_are_refused
                memory_of_others_is_foreign host_access_is_as_promised an_importer_sees_the_same_bytes
                only_the_owner_gives_memory descriptors_of_anything_are_errors a_stream_keeps_its_order
                a_stream_waits_for_a_fence waiting_ends_with_poison waits_end_at_their_timeout copies_stay_within_the_domain
                streams_of_many_threads_do_not_mix memory_and_streams_outlive_their_handle
                copies_to_and_from_the_host copies_are_completed_for_others
                another_process_reads_what_was_written memory_is_as_good_after_its_owner_was_killed
                an_owner_that_was_killed_before_the_import
                what_somebody_holds_is_never_handed_out a_ring_comes_free_in_order
                fixed_slots_are_there_from_the_start
                an_exhausted_pool_says_so memory_that_was_given_back_comes_again
            );
        }
    };
    (@tests $($test:ident)*) => {
        $(
            #[test]
            fn $test() {
                crate::suite::with(module_path!(), OPEN, crate::suite::$test);
            }
        )*
    };
}

/// The domain that a test uses, and its directory.
pub struct Site {
    /// The module of the domain's tests, as the test harness names it.
    pub module: String,
    pub open: Open,
    pub domain: Arc<dyn Domain>,
    directory: PathBuf,
}

impl Drop for Site {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// A number that no other test and no other process uses.
pub fn unique() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    u64::from(std::process::id()) << 32 | NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Runs a test on a domain, if it exists.
pub fn with(module_path: &str, open: Open, test: fn(&Site)) {
    let module = module_path.split_once("::").map_or(module_path, |(_, module)| module).to_owned();
    let required = std::env::var("SITU_TEST_REQUIRE").unwrap_or_default();
    let domain = match open() {
        Ok(domain) => domain,
        Err(error) => {
            let last = module.rsplit("::").next().unwrap_or_default();
            assert!(!required.split(',').any(|name| name == last), "{error}");
            eprintln!("SKIPPED: {error}");
            return;
        }
    };
    let directory = PathBuf::from(format!("/dev/shm/situ-test-domain-{:x}", unique()));
    std::fs::create_dir_all(&directory).unwrap();
    test(&Site { module, open, domain, directory });
}

impl Site {
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Memory of the domain, all of it usable.
    pub fn memory(&self, name: &str, size: u64) -> Arc<dyn Memory> {
        let request = MemoryRequest { size, mode: 0o600, group: None };
        let memory = self.domain.create(&Beneath::from(&self.path(name)), &request).unwrap();
        assert!(memory.size() >= size, "{} of {size} bytes", memory.size());
        memory.back(0, size).unwrap();
        memory
    }

    pub fn stream(&self) -> Arc<dyn Stream> {
        self.domain.stream().unwrap()
    }

    pub fn domains(&self) -> Domains {
        Domains::host_only().with(self.domain.clone())
    }

    /// A pool of the domain.
    pub fn pool(&self, name: &str, slots: u32, capacity: u64, strategy: Strategy) -> PoolOwner {
        create_pool(self.domain.as_ref(), self.path(name), slots, capacity, strategy)
    }
}

pub fn create_pool(
    domain: &dyn Domain,
    path: PathBuf,
    slots: u32,
    capacity: u64,
    strategy: Strategy,
) -> PoolOwner {
    let options = PoolOptions {
        id: unique(),
        owner: 1,
        slots,
        capacity,
        strategy,
        pages: PageOptions::default(),
        mode: 0o600,
        group: None,
        grows: false,
    };
    let mut pool = PoolOwner::create(domain, &path, &options).unwrap();
    pool.prepare().unwrap();
    pool
}

/// Bytes in which neighbouring words differ.
pub fn pattern(len: usize, seed: u64) -> Vec<u8> {
    let words = 0..len.div_ceil(8) as u64;
    let mut bytes: Vec<u8> = words
        .flat_map(|word| ((word + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ seed).to_le_bytes())
        .collect();
    bytes.truncate(len);
    bytes
}

pub fn write(stream: &dyn Stream, memory: &Arc<dyn Memory>, offset: u64, bytes: &[u8]) {
    // SAFETY: the bytes live until the stream is synchronized.
    unsafe { stream.copy_from_host(bytes.as_ptr(), memory, offset, bytes.len() as u64) }.unwrap();
    stream.synchronize(TIMEOUT).unwrap();
}

pub fn read(stream: &dyn Stream, memory: &Arc<dyn Memory>, offset: u64, len: usize) -> Vec<u8> {
    let mut bytes = vec![0xa5; len];
    // SAFETY: the bytes live until the stream is synchronized.
    unsafe { stream.copy_to_host(memory, offset, bytes.as_mut_ptr(), len as u64) }.unwrap();
    stream.synchronize(TIMEOUT).unwrap();
    bytes
}

pub fn says_what_it_is(site: &Site) {
    let domain = &site.domain;
    assert_eq!(domain.id().to_string().parse(), Ok(domain.id()));
    assert!(!domain.name().is_empty());
    assert_eq!(domain.capabilities(), (site.open)().unwrap().capabilities());
    assert!(domain.reaches(domain.id()));
    assert_eq!(site.stream().domain(), domain.id());
    assert_eq!(site.memory("m.data", 4096).domain(), domain.id());
    assert_eq!(site.domains().get(domain.id()).unwrap().id(), domain.id());
}

pub fn bytes_come_back_as_they_went(site: &Site) {
    let memory = site.memory("m.data", 1 << 20);
    let stream = site.stream();
    let mut expected = pattern(1 << 20, 1);
    write(&*stream, &memory, 0, &expected);
    for (turn, (offset, len)) in
        [(0, 1), (1, 1), (3, 5), (4095, 2), (65_536, 65_536), (99_991, 100_003), ((1 << 20) - 1, 1), (7, 0)]
            .into_iter()
            .enumerate()
    {
        let bytes = pattern(len, turn as u64 + 7);
        write(&*stream, &memory, offset as u64, &bytes);
        expected[offset..offset + len].copy_from_slice(&bytes);
        assert!(read(&*stream, &memory, offset as u64, len) == bytes, "{offset}+{len}");
    }
    assert!(read(&*stream, &memory, 0, 1 << 20) == expected, "and the bytes between are untouched");
    let large = pattern((24 << 20) + 13, 3);
    let memory = site.memory("large.data", 32 << 20);
    write(&*stream, &memory, 5, &large);
    assert!(read(&*stream, &memory, 5, large.len()) == large);
}

pub fn ranges_outside_are_refused(site: &Site) {
    let memory = site.memory("m.data", 65_536);
    let size = memory.size();
    let stream = site.stream();
    let mut byte = [0u8; 8];
    for (offset, len) in [(size, 1), (size - 1, 2), (u64::MAX, 1), (1, u64::MAX), (u64::MAX, u64::MAX)] {
        // SAFETY: nothing is copied: the range is refused before.
        let from = unsafe { stream.copy_from_host(byte.as_ptr(), &memory, offset, len) };
        // SAFETY: as above.
        let to = unsafe { stream.copy_to_host(&memory, offset, byte.as_mut_ptr(), len) };
        let (within, out) = (stream.copy(&memory, 0, &memory, offset, len), memory.back(offset, len));
        for result in [from, to, within, out, stream.copy(&memory, offset, &memory, 0, len)] {
            let error = result.expect_err("a range that reaches out of the memory");
            assert!(matches!(error, DomainError::OutOfRange { .. }), "{offset}+{len}: {error}");
        }
    }
    stream.synchronize(TIMEOUT).expect("the stream works as before");
    write(&*stream, &memory, size - 8, &[3; 8]);
    assert_eq!(read(&*stream, &memory, size - 8, 8), [3; 8]);
}

/// Memory that no domain knows.
#[derive(Debug)]
struct Strange;

impl Memory for Strange {
    fn domain(&self) -> DomainId {
        DomainId { kind: DomainKind::from_number(u32::MAX), number: 0 }
    }
    fn size(&self) -> u64 {
        4096
    }
    fn address(&self) -> u64 {
        4096
    }
    fn host(&self, _offset: u64, _len: u64) -> Result<Option<*mut u8>, DomainError> {
        Ok(None)
    }
    fn back(&self, _offset: u64, _len: u64) -> Result<(), DomainError> {
        Ok(())
    }
    fn unback(&self, _offset: u64, _len: u64) {}
    fn export(&self) -> Result<Option<OwnedFd>, DomainError> {
        Ok(None)
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

pub fn memory_of_others_is_foreign(site: &Site) {
    let (ours, strange) = (site.memory("m.data", 4096), Arc::new(Strange) as Arc<dyn Memory>);
    let stream = site.stream();
    let mut byte = [0u8; 8];
    // SAFETY: nothing is copied: the memory is refused before.
    let from = unsafe { stream.copy_from_host(byte.as_ptr(), &strange, 0, 8) };
    // SAFETY: as above.
    let to = unsafe { stream.copy_to_host(&strange, 0, byte.as_mut_ptr(), 8) };
    let (there, back) = (stream.copy(&ours, 0, &strange, 0, 8), stream.copy(&strange, 0, &ours, 0, 8));
    for result in [from, to, there, back] {
        let error = result.expect_err("memory of an unknown domain");
        assert!(matches!(error, DomainError::Foreign { found, .. } if found == strange.domain()), "{error}");
    }
    assert!(!site.domain.reaches(strange.domain()));
    stream.synchronize(TIMEOUT).unwrap();
}

pub fn host_access_is_as_promised(site: &Site) {
    let promised = site.domain.capabilities().host_access;
    let memory = site.memory("m.data", 65_536);
    assert_eq!(memory.host(0, 0).unwrap().is_some(), promised);
    let mut pool = site.pool("p.pool", 64, 1 << 20, Strategy::SizeClasses);
    let slot = pool.allocate(1000).unwrap();
    let (offset, len) = pool.place(slot);
    assert!(len >= 1000 && offset + len <= pool.bytes().size());
    let (base, host_len) = pool.memory(slot);
    if !promised {
        assert_eq!(host_len, 0, "the CPU gets no pointer");
        assert!(offset.is_multiple_of(256), "aligned for any device");
        return;
    }
    assert!(host_len as u64 == len && (base as usize).is_multiple_of(64));
    // SAFETY: the slot is lent to this test, and has at least 1000 bytes.
    unsafe { base.write_bytes(9, 1000) };
    assert_eq!(read(&*site.stream(), pool.bytes(), offset, 1000), [9; 1000]);
}

/// The memory again, as an importer uses it.
fn import(site: &Site, name: &str, memory: &Arc<dyn Memory>) -> Arc<dyn Memory> {
    let descriptor = match site.domain.capabilities().sharing {
        Sharing::File => File::open(site.path(name)).unwrap().into(),
        Sharing::Descriptor => memory.export().unwrap().expect("a descriptor"),
    };
    (site.open)().unwrap().import(descriptor, memory.size()).unwrap()
}

pub fn an_importer_sees_the_same_bytes(site: &Site) {
    let memory = site.memory("m.data", 300_000);
    let imported = import(site, "m.data", &memory);
    assert_eq!((imported.domain(), imported.size()), (memory.domain(), memory.size()));
    let (writer, reader) = (site.stream(), (site.open)().unwrap().stream().unwrap());
    for seed in 0..3 {
        let bytes = pattern(299_000, seed);
        write(&*writer, &memory, 500, &bytes);
        assert!(read(&*reader, &imported, 500, 299_000) == bytes, "it is the same memory and no copy");
    }
    drop(memory);
    assert!(read(&*reader, &imported, 500, 299_000) == pattern(299_000, 2));
}

pub fn only_the_owner_gives_memory(site: &Site) {
    let memory = site.memory("m.data", 65_536);
    let imported = import(site, "m.data", &memory);
    memory.back(0, 0).unwrap();
    for (offset, len) in [(0, 0), (0, 4096), (65_536, 0)] {
        assert!(imported.back(offset, len).is_err(), "{offset}+{len}");
    }
    // A mistake, not an attack: the owner's memory is untouched.
    write(&*site.stream(), &memory, 0, &[5; 64]);
    imported.unback(0, 65_536);
    assert_eq!(read(&*site.stream(), &memory, 0, 64), [5; 64]);
}

pub fn descriptors_of_anything_are_errors(site: &Site) {
    let path = site.path("short");
    std::fs::write(&path, [0; 5000]).unwrap();
    let (pipe, _other_end) = std::io::pipe().unwrap();
    let things: [(&str, OwnedFd); 5] = [
        ("a device", File::open("/dev/null").unwrap().into()),
        ("a pipe", pipe.into()),
        ("a directory", File::open("/").unwrap().into()),
        ("a file that is too short", File::open(&path).unwrap().into()),
        ("a socket", std::os::unix::net::UnixDatagram::unbound().unwrap().into()),
    ];
    for (what, thing) in things {
        for size in [12_288, 1 << 30, 1 << 62, u64::MAX] {
            assert!(has_less(site, thing.try_clone().unwrap(), size), "{what} as {size} bytes");
        }
    }
    // The right thing, but with less than its header promises.
    let memory = site.memory("m.data", 65_536);
    let descriptor = || match site.domain.capabilities().sharing {
        Sharing::File => File::open(site.path("m.data")).unwrap().into(),
        Sharing::Descriptor => memory.export().unwrap().expect("a descriptor"),
    };
    for size in [memory.size() * 64, 1 << 62, u64::MAX] {
        assert!(has_less(site, descriptor(), size), "{size} bytes");
    }
}

/// Whether it is an error to import `size` bytes, or to use the last of them. Files grow, so a missing part
/// is an error only when it is used.
fn has_less(site: &Site, descriptor: OwnedFd, size: u64) -> bool {
    let Ok(imported) = site.domain.import(descriptor, size) else { return true };
    assert!(site.domain.capabilities().sharing == Sharing::File, "{size} bytes are promised");
    let (stream, mut byte) = (site.stream(), [0u8; 1]);
    // SAFETY: the byte is waited for, if it is copied at all.
    let used = unsafe { stream.copy_to_host(&imported, size - 1, byte.as_mut_ptr(), 1) };
    stream.synchronize(TIMEOUT).unwrap();
    used.is_err()
}

pub fn a_stream_keeps_its_order(site: &Site) {
    let mut pool = site.pool("p.pool", 64, 1 << 20, Strategy::SizeClasses);
    let slot = pool.allocate(50_000).unwrap();
    let (offset, _) = pool.place(slot);
    let stream = site.stream();
    let versions: Vec<Vec<u8>> = (0..20).map(|seed| pattern(50_000, seed)).collect();
    for version in &versions {
        // SAFETY: the versions live until the fence below is complete.
        unsafe { stream.copy_from_host(version.as_ptr(), pool.bytes(), offset, 50_000) }.unwrap();
    }
    let fence = pool.fence(slot);
    stream.signal(&fence).unwrap();
    assert_eq!(fence.wait(TIMEOUT), FenceState::Complete);
    // Through another stream: only the fence says that the bytes are complete.
    assert!(read(&*site.stream(), pool.bytes(), offset, 50_000) == versions[19]);
}

pub fn a_stream_waits_for_a_fence(site: &Site) {
    let mut pool = site.pool("p.pool", 64, 4 << 20, Strategy::SizeClasses);
    let slot = pool.allocate(1 << 20).unwrap();
    let (offset, _) = pool.place(slot);
    let (producer, consumer) = (site.stream(), site.stream());
    let old = pattern(1 << 20, 1);
    write(&*producer, pool.bytes(), offset, &old);
    let (fence, new) = (pool.fence(slot), pattern(1 << 20, 2));
    let mut seen = vec![0u8; 1 << 20];
    std::thread::scope(|scope| {
        let target = &mut seen;
        let (waiting, bytes, fence_of_reader) = (&consumer, pool.bytes(), fence.clone());
        let reader = scope.spawn(move || {
            waiting.wait(&fence_of_reader, TIMEOUT).unwrap();
            // SAFETY: the buffer lives until the stream is synchronized.
            unsafe { waiting.copy_to_host(bytes, offset, target.as_mut_ptr(), 1 << 20) }.unwrap();
            waiting.synchronize(TIMEOUT).unwrap();
        });
        // Long enough for the reader to be too early.
        std::thread::sleep(Duration::from_millis(20));
        assert_eq!(fence.state(), FenceState::Pending);
        // SAFETY: the bytes live until the stream is synchronized.
        unsafe { producer.copy_from_host(new.as_ptr(), pool.bytes(), offset, 1 << 20) }.unwrap();
        producer.signal(&fence).unwrap();
        reader.join().unwrap();
        producer.synchronize(TIMEOUT).unwrap();
    });
    assert!(seen == new);
}

pub fn waiting_ends_with_poison(site: &Site) {
    let mut pool = site.pool("p.pool", 64, 1 << 20, Strategy::SizeClasses);
    let slot = pool.allocate(64).unwrap();
    let (fence, stream) = (pool.fence(slot), site.stream());
    std::thread::scope(|scope| {
        let (waiting, pending) = (&stream, fence.clone());
        let waiter = scope.spawn(move || {
            waiting.wait(&pending, TIMEOUT).unwrap();
            waiting.synchronize(TIMEOUT).unwrap();
        });
        std::thread::sleep(Duration::from_millis(10));
        assert!(fence.poison(), "it is pending");
        waiter.join().unwrap();
    });
    assert_eq!(fence.state(), FenceState::Poisoned);
    write(&*stream, pool.bytes(), pool.place(slot).0, &[1; 64]);
}

pub fn waits_end_at_their_timeout(site: &Site) {
    let mut pool = site.pool("p.pool", 64, 1 << 20, Strategy::SizeClasses);
    let slot = pool.allocate(64).unwrap();
    let (fence, stream) = (pool.fence(slot), site.stream());
    let short = Duration::from_millis(20);
    let waited = stream.wait(&fence, short).and_then(|()| stream.synchronize(short));
    let error = waited.expect_err("no thread completes it");
    assert!(matches!(error, DomainError::TimedOut { .. }), "{error}");
    if site.domain.capabilities().order == StreamOrder::Host {
        stream.synchronize(short).expect("nothing was enqueued, so nothing is waited for");
    }
    fence.complete();
    stream.synchronize(TIMEOUT).unwrap();
}

pub fn copies_stay_within_the_domain(site: &Site) {
    let (from, to) = (site.memory("a.data", 1 << 20), site.memory("b.data", 1 << 20));
    let stream = site.stream();
    let bytes = pattern(1 << 20, 4);
    write(&*stream, &from, 0, &bytes);
    write(&*stream, &to, 0, &vec![0; 1 << 20]);
    stream.copy(&from, 4096, &to, 8192, 500_001).unwrap();
    stream.copy(&from, 9, &to, 3, 11).unwrap();
    stream.copy(&from, 0, &to, 0, 0).unwrap();
    stream.synchronize(TIMEOUT).unwrap();
    let mut expected = vec![0; 1 << 20];
    expected[8192..508_193].copy_from_slice(&bytes[4096..504_097]);
    expected[3..14].copy_from_slice(&bytes[9..20]);
    assert!(read(&*stream, &to, 0, 1 << 20) == expected);
    assert!(read(&*stream, &from, 0, 1 << 20) == bytes);
}

pub fn streams_of_many_threads_do_not_mix(site: &Site) {
    const EACH: usize = 100_000;
    let memory = site.memory("m.data", 4 * EACH as u64);
    let shared = site.stream();
    std::thread::scope(|scope| {
        for thread in 0..4usize {
            let (memory, shared) = (&memory, &shared);
            scope.spawn(move || {
                let own = site.stream();
                let offset = (thread * EACH) as u64;
                for turn in 0..10 {
                    let bytes = pattern(EACH, (thread * 100 + turn) as u64);
                    let stream = if turn % 2 == 0 { &own } else { shared };
                    write(&**stream, memory, offset, &bytes);
                    assert!(read(&*own, memory, offset, EACH) == bytes, "thread {thread}, turn {turn}");
                }
            });
        }
    });
}

pub fn memory_and_streams_outlive_their_handle(site: &Site) {
    let domain = (site.open)().unwrap();
    let request = MemoryRequest { size: 4096, mode: 0o600, group: None };
    let memory = domain.create(&Beneath::from(&site.path("m.data")), &request).unwrap();
    memory.back(0, 4096).unwrap();
    let stream = domain.stream().unwrap();
    drop(domain);
    write(&*stream, &memory, 0, &[8; 4096]);
    assert_eq!(read(&*stream, &memory, 0, 4096), [8; 4096]);
}

/// Counts its drop.
struct Kept(Arc<AtomicU64>);

impl Drop for Kept {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

pub fn copies_are_completed_for_others(site: &Site) {
    let mut pool = site.pool("p.pool", 64, 4 << 20, Strategy::SizeClasses);
    let [source, target] = [(); 2].map(|()| pool.allocate(100_000).unwrap());
    let (from, to) = (pool.place(source).0, pool.place(target).0);
    let stream = site.stream();
    let dropped = Arc::new(AtomicU64::new(0));
    let mut turns = 0;
    for poisoned in [false, true] {
        pool.control(target).retire();
        pool.control(source).retire();
        let (fence, fence_of_source) = (pool.fence(target), pool.fence(source));
        let bytes = pattern(100_000, turns);
        write(&*stream, pool.bytes(), from, &bytes);
        if poisoned {
            _ = fence_of_source.poison()
        } else {
            fence_of_source.complete()
        }
        stream.copy(pool.bytes(), from, pool.bytes(), to, 100_000).unwrap();
        stream.complete_copy(&fence, Some(&fence_of_source), Box::new(Kept(dropped.clone()))).unwrap();
        let expected = if poisoned { FenceState::Poisoned } else { FenceState::Complete };
        assert_eq!(fence.wait(TIMEOUT), expected);
        stream.synchronize(TIMEOUT).unwrap();
        turns += 1;
        assert_eq!(dropped.load(Ordering::SeqCst), turns, "the stream has passed it");
        if !poisoned {
            assert!(read(&*site.stream(), pool.bytes(), to, 100_000) == bytes);
        }
        pool.control(source).fence().word().store(0, Ordering::SeqCst);
    }
    // A stream that is dropped still does its enqueued work.
    drop(stream);
    let stream = site.stream();
    pool.control(target).fence().word().store(0, Ordering::SeqCst);
    let fence = pool.fence(target);
    stream.copy(pool.bytes(), from, pool.bytes(), to, 100_000).unwrap();
    stream.complete_copy(&fence, None, Box::new(Kept(dropped.clone()))).unwrap();
    drop(stream);
    assert_eq!(fence.wait(TIMEOUT), FenceState::Complete);
    let start = std::time::Instant::now();
    while dropped.load(Ordering::SeqCst) <= turns {
        assert!(start.elapsed() < TIMEOUT, "it is kept for ever");
        std::thread::yield_now();
    }
}

pub fn copies_to_and_from_the_host(site: &Site) {
    let request = MemoryRequest { size: 1 << 20, mode: 0o600, group: None };
    let host = HostDomain.create(&Beneath::from(&site.path("h.data")), &request).unwrap();
    host.back(0, 1 << 20).unwrap();
    let memory = site.memory("m.data", 1 << 20);
    let base = host.host(0, host.size()).unwrap().unwrap();
    let bytes = pattern(1 << 20, 6);
    // SAFETY: the memory has 1 MiB, and no other code uses it.
    unsafe { base.copy_from_nonoverlapping(bytes.as_ptr(), 1 << 20) };
    let mut copier = Copier::new(site.domains());
    let there = copier.copy((&host, 3), (&memory, 77), 1_000_000, None, TIMEOUT).unwrap();
    // SAFETY: as above.
    unsafe { base.write_bytes(0, 1 << 20) };
    let back = copier.copy((&memory, 77), (&host, 3), 1_000_000, None, TIMEOUT).unwrap();
    // SAFETY: as above; no code writes it any more.
    assert!(unsafe { std::slice::from_raw_parts(base, 1_000_003) }[3..] == bytes[3..1_000_003]);
    let direct = |there: Route| there == Route::Direct;
    assert_eq!(direct(there), site.domain.reaches(HOST));
    assert_eq!(direct(back), HostDomain.reaches(site.domain.id()));
    assert!(there != Route::Staged && back != Route::Staged, "host memory is never staged");
}
