//! The `cuda` domain: on a GPU where there is one, and on every machine against a driver that emulates
//! devices in host memory (`driver.c`). Not every machine has the real driver, and this library's calls to it
//! should not go untested.
#![cfg(not(loom))]

#[macro_use]
#[path = "../conformance/suite.rs"]
mod suite;
#[path = "played.rs"]
mod driver;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use driver::{called, is_played, play};
use rustix::fs::MemfdFlags;
use situ_memory::cuda::{CudaDomain, CudaStream};
use situ_memory::{
    Beneath, Domain, DomainId, DomainKind, Fence, FenceState, HostDomain, Memory, MemoryRequest, PageOptions,
    PoolOptions, PoolOwner, Strategy, StreamOrder, find,
};
use suite::{TIMEOUT, pattern, read, unique, write};

conformance!(played, || { if is_played() { find(id(0)) } else { Err(elsewhere()) } });

/// On a real driver the suite runs as `conformance cuda`.
fn elsewhere() -> situ_memory::DomainError {
    situ_memory::DomainError::Absent { domain: id(0), reason: "this is not the driver of ours".to_owned() }
}

fn id(number: u32) -> DomainId {
    DomainId { kind: DomainKind::CUDA, number }
}

fn device(number: u32) -> Option<CudaDomain> {
    match CudaDomain::find(number) {
        Ok(domain) => Some(domain),
        Err(error) => {
            assert!(!is_played(), "{error}");
            eprintln!("SKIPPED: {error}");
            None
        }
    }
}

fn create(domain: &dyn Domain, size: u64) -> Arc<dyn Memory> {
    domain.create(&Beneath::from("/nowhere"), &MemoryRequest { size, mode: 0o600, group: None }).unwrap()
}

fn pool(domain: &dyn Domain) -> PoolOwner {
    let path = format!("/dev/shm/situ-test-cuda-{:x}.pool", unique());
    let options = PoolOptions {
        id: unique(),
        owner: 1,
        slots: 64,
        capacity: 4 << 20,
        strategy: Strategy::SizeClasses,
        pages: PageOptions::default(),
        mode: 0o600,
        group: None,
        grows: false,
    };
    let pool = PoolOwner::create(domain, Path::new(&path), &options).unwrap();
    pool.unlink();
    pool
}

#[test]
fn everything_again_on_a_driver_of_ours() {
    if is_played() {
        return;
    }
    play();
}

#[test]
fn the_order_of_streams_is_what_the_device_can_do() {
    let Some(domain) = device(0) else { return };
    let attribute = |name: &str| domain.attributes().iter().find(|(is, _)| *is == name).unwrap().1;
    let words = attribute("64-bit stream memory operations") == 1;
    let expected = if words { StreamOrder::Words } else { StreamOrder::Host };
    assert_eq!(domain.capabilities().order, expected);
    assert_eq!(domain.capabilities().outlives_owner, attribute("memory as descriptors") == 1);
}

#[test]
fn nothing_is_waited_for_when_it_is_enqueued() {
    let Some(domain) = device(0).filter(|domain| domain.capabilities().order == StreamOrder::Words) else {
        return;
    };
    let (mut pool, mut another) = (pool(&domain), pool(&domain));
    let slots: Vec<_> = (0..2).map(|_| pool.allocate(100_000).unwrap()).collect();
    let fences: Vec<_> = slots.iter().map(|slot| pool.fence(*slot)).collect();
    let slot = another.allocate(64).unwrap();
    let fence_of_another = another.fence(slot);
    let (memory, more) = (create(&domain, 12 << 20), create(&domain, 1 << 20));
    let (bytes, mut back) = (pattern(12 << 20, 5), vec![0_u8; 12 << 20]);
    let (stream, other) = (domain.stream().unwrap(), domain.stream().unwrap());
    // All of this runs on one thread, which completes the fence at the end: any earlier wait would last for
    // ever.
    stream.wait(&fences[0], Duration::ZERO).unwrap();
    // SAFETY: both live until the stream is synchronized.
    unsafe {
        stream.copy_from_host(bytes.as_ptr(), &memory, 0, 12 << 20).unwrap();
        stream.copy_to_host(&memory, 0, back.as_mut_ptr(), 12 << 20).unwrap();
    }
    stream.signal(&fences[1]).unwrap();
    // Other streams work meanwhile, are made, and are dropped.
    drop(domain.stream().unwrap());
    write(&*other, &more, 0, &pattern(1 << 20, 6));
    other.signal(&fence_of_another).unwrap();
    other.synchronize(TIMEOUT).unwrap();
    assert_eq!(fence_of_another.state(), FenceState::Complete);
    drop((other, more, another, fence_of_another));
    assert_eq!(fences[1].state(), FenceState::Pending);
    fences[0].complete();
    assert_eq!(fences[1].wait(TIMEOUT), FenceState::Complete);
    stream.synchronize(TIMEOUT).unwrap();
    assert!(back == bytes);
}

#[test]
fn what_goes_while_a_stream_waits_is_let_go_of_when_none_does() {
    let Some(domain) = device(0).filter(|domain| domain.capabilities().order == StreamOrder::Words) else {
        return;
    };
    if !is_played() || std::env::var_os("FAKE_CUDA_STRICT").is_none() {
        // The driver's counters are those of all tests of the process.
        return;
    }
    let before = live();
    let mut pool_of_fence = pool(&domain);
    let slot = pool_of_fence.allocate(64).unwrap();
    let (fence, stream) = (pool_of_fence.fence(slot), domain.stream().unwrap());
    let more = (create(&domain, 1 << 20), pool(&domain));
    let with_all = live();
    assert_eq!(with_all.memory, before.memory + 3);
    assert_eq!(with_all.words, before.words + 2);
    stream.wait(&fence, Duration::ZERO).unwrap();
    drop(more);
    assert_eq!(live(), with_all, "a stream waits");
    fence.complete();
    stream.synchronize(TIMEOUT).unwrap();
    assert_eq!(live(), Live { memory: before.memory + 1, words: before.words + 1 });
    drop((stream, fence, pool_of_fence));
    // The pool's memory goes last; a stream's end releases what it needed.
    domain.stream().unwrap().synchronize(TIMEOUT).unwrap();
    assert_eq!(live(), before);
}

/// The resources of the emulating driver.
#[derive(Debug, PartialEq, Eq)]
struct Live {
    /// Memory of devices.
    memory: i32,
    /// Registered ranges with words of fences.
    words: i32,
}

fn live() -> Live {
    let mut live = [0; 2];
    // SAFETY: the function has this type; the array is as long as it writes.
    unsafe { called::<extern "C" fn(*mut i32)>(c"fakeCudaLive")(live.as_mut_ptr()) };
    Live { memory: live[0], words: live[1] }
}

#[test]
fn a_stream_of_ones_own_takes_part() {
    let Some(domain) = device(0) else { return };
    let (memory, whole) = (create(&domain, 1 << 20), domain.stream().unwrap());
    let raw = whole.as_any().downcast_ref::<CudaStream>().unwrap().raw();
    assert!(!domain.context().unwrap().is_null() && !raw.is_null());
    // SAFETY: `whole` lives longer.
    let adopted = unsafe { domain.adopt(raw) }.unwrap();
    write(&*adopted, &memory, 100, &pattern(1000, 3));
    drop(adopted);
    assert_eq!(read(&*whole, &memory, 100, 1000), pattern(1000, 3), "the stream is still there");
}

#[test]
fn registered_host_memory_is_read_and_written_without_a_detour() {
    let Some(domain) = device(0) else { return };
    let path = format!("/dev/shm/situ-test-cuda-{:x}.data", unique());
    let request = MemoryRequest { size: 1 << 20, mode: 0o600, group: None };
    let host = HostDomain.create(&Beneath::from(&path), &request).unwrap();
    std::fs::remove_file(&path).unwrap();
    host.back(0, 1 << 20).unwrap();
    let base = host.host(0, host.size()).unwrap().unwrap();
    let bytes = pattern(600_000, 8);
    // SAFETY: the memory has 1 MiB, and no other code uses it.
    unsafe { base.add(5000).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    let registration = domain.register_host(&host, 4096, 700_000).unwrap();
    assert!(domain.register_host(&host, 1 << 20, 1).is_err(), "out of range");
    let (memory, stream) = (create(&domain, 1 << 20), domain.stream().unwrap());
    stream.copy(&host, 5000, &memory, 7, 600_000).unwrap();
    stream.synchronize(TIMEOUT).unwrap();
    assert!(read(&*stream, &memory, 7, 600_000) == bytes);
    drop(registration);
    stream.copy(&host, 5000, &memory, 8, 600_000).unwrap();
    stream.synchronize(TIMEOUT).unwrap();
    assert!(read(&*stream, &memory, 8, 600_000) == bytes, "with a detour");
}

#[test]
fn a_stream_lets_go_of_what_it_has_passed_also_if_nobody_synchronizes() {
    let Some(domain) = device(0) else { return };
    let stream = domain.stream().unwrap();
    let memories: Vec<_> = (0..40).map(|_| create(&domain, 4096)).collect();
    // SAFETY: the byte is static.
    let copy = |to| unsafe { stream.copy_from_host(b"x".as_ptr(), to, 0, 1) }.unwrap();
    memories.iter().for_each(copy);
    let fence = Fence::of_process(0, 1);
    stream.signal(&fence).unwrap();
    assert_eq!(fence.wait(TIMEOUT), FenceState::Complete);
    let begin = Instant::now();
    // It checks only when it keeps many resources.
    while memories.iter().filter(|memory| Arc::strong_count(memory) > 1).count() >= 32 {
        assert!(begin.elapsed() < TIMEOUT, "it is kept for ever");
        copy(&memories[0]);
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_stream_forgets_copies_that_are_complete_also_if_nobody_synchronizes() {
    let Some(domain) = device(0) else { return };
    let stream = domain.stream().unwrap();
    let mut words = Vec::new();
    for _ in 0..10 {
        let fence = Fence::of_process(0, 1);
        stream.complete_copy(&fence, None, Box::new(())).unwrap();
        assert_eq!(fence.wait(TIMEOUT), FenceState::Complete);
        words.push(Arc::downgrade(fence.mapped()));
    }
    let begin = Instant::now();
    // The last one may not be complete yet.
    while words.iter().filter(|words| words.strong_count() > 0).count() > 1 {
        assert!(begin.elapsed() < TIMEOUT, "their fences are kept for ever");
        stream.complete_copy(&Fence::of_process(0, 1), None, Box::new(())).unwrap();
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The access rights of a page, as the kernel lists them.
fn protection(address: usize) -> String {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let found = maps.lines().find_map(|line| {
        let (range, may) = line.split_once(' ')?;
        let (begin, end) = range.split_once('-')?;
        let number = |digits| usize::from_str_radix(digits, 16).unwrap();
        (number(begin)..number(end)).contains(&address).then(|| may[..4].to_owned())
    });
    found.unwrap()
}

#[test]
fn memory_of_others_is_registered_if_its_file_may_be_written_or_the_device_only_reads() {
    let Some(domain) = device(0).filter(CudaDomain::registers) else { return };
    let reads_only = domain.attributes().contains(&("registering read-only host memory", 1));
    let path = format!("/dev/shm/situ-test-cuda-{:x}.data", unique());
    let request = MemoryRequest { size: 1 << 20, mode: 0o600, group: None };
    let owner = HostDomain.create(&Beneath::from(&path), &request).unwrap();
    owner.back(0, 1 << 20).unwrap();
    let bytes = pattern(600_000, 8);
    // SAFETY: the memory has 1 MiB, and no other code uses it.
    unsafe {
        owner
            .host(0, owner.size())
            .unwrap()
            .unwrap()
            .add(5000)
            .copy_from_nonoverlapping(bytes.as_ptr(), bytes.len())
    };
    for write in [true, false] {
        let file = std::fs::OpenOptions::new().read(true).write(write).open(&path).unwrap();
        let imported = HostDomain.import(file.into(), 1 << 20).unwrap();
        let registration = domain.register_host(&imported, 4096, 700_000);
        assert_eq!(registration.is_ok(), write || reads_only, "{registration:?}");
        for page in [0, 4096, 700_000, 710_000] {
            assert_eq!(protection(imported.host(0, 0).unwrap().unwrap() as usize + page), "r--s");
        }
        let (memory, stream) = (create(&domain, 1 << 20), domain.stream().unwrap());
        stream.copy(&imported, 5000, &memory, 7, 600_000).unwrap();
        stream.synchronize(TIMEOUT).unwrap();
        assert!(read(&*stream, &memory, 7, 600_000) == bytes);
    }
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn memory_that_lies_elsewhere_is_refused() {
    let Some(domain) = device(0).filter(|domain| domain.capabilities().outlives_owner) else { return };
    if !is_played() {
        return;
    }
    // Names that the emulating driver takes for its blocks: on this device, on the other one, and at an
    // unknown kind of location.
    for (place, fits) in [("0", true), ("1", false), ("x", false)] {
        let block =
            rustix::fs::memfd_create(format!("fake-cuda-block-{place}"), MemfdFlags::CLOEXEC).unwrap();
        rustix::fs::ftruncate(&block, 2 << 20).unwrap();
        let imported = domain.import(block, 1 << 20);
        assert_eq!(imported.is_ok(), fits, "{place}: {imported:?}");
    }
}

#[test]
fn peers_copy_straight() {
    let Some(first) = device(0) else { return };
    let Ok(second) = CudaDomain::find(1) else {
        eprintln!("SKIPPED: there is one device only");
        return;
    };
    if !second.reaches(first.id()) {
        eprintln!("SKIPPED: the devices do not reach each other");
        return;
    }
    let (from, to) = (create(&first, 3 << 20), create(&second, 3 << 20));
    let bytes = pattern(3 << 20, 4);
    write(&*first.stream().unwrap(), &from, 0, &bytes);
    let stream = second.stream().unwrap();
    stream.copy(&from, 0, &to, 0, 3 << 20).unwrap();
    stream.synchronize(TIMEOUT).unwrap();
    assert!(read(&*stream, &to, 0, 3 << 20) == bytes);
}
