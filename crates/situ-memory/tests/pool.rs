//! The host pool: allocation, sharing with a view, exhaustion, and malformed files.
#![cfg(not(loom))]

use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;

use proptest::prelude::*;
use situ_memory::{
    Access, AllocateError, Beneath, Capabilities, Domain, DomainError, DomainId, DomainKind, Domains,
    EmulatedDomain, GRANULE, HostDomain, Memory, MemoryError, MemoryRequest, PageOptions, PoolOptions,
    PoolOwner, PoolView, Registered, Strategy as Allocation, Stream, ViewError,
};

struct Scratch(situ_testkit::Scratch);

impl Scratch {
    fn new() -> Self {
        Self(situ_testkit::Scratch::created("pool"))
    }
    fn control(&self) -> PathBuf {
        self.0.join("p.pool")
    }
}

fn options(slots: u32, capacity: u64) -> PoolOptions {
    let strategy = Allocation::SizeClasses;
    PoolOptions {
        id: 0x1_0007,
        owner: 42,
        slots,
        capacity,
        strategy,
        pages: PageOptions::default(),
        mode: 0o600,
        group: None,
        grows: false,
    }
}

fn open(scratch: &Scratch) -> Result<PoolView, ViewError> {
    PoolView::open(&Domains::host_only(), &scratch.control(), Access::ReadWrite)
}

/// If the owner gave registered pages back and got others in their place, the device would go on with the old
/// ones.
#[test]
fn what_is_registered_with_a_device_is_not_given_back() {
    use std::os::unix::fs::MetadataExt;
    for strategy in [Allocation::SizeClasses, Allocation::Ring] {
        let scratch = Scratch::new();
        let options = PoolOptions { strategy, ..options(64, 4 << 20) };
        let mut owner = PoolOwner::create(&HostDomain, &scratch.control(), &options).unwrap();
        let memory = || fs::metadata(scratch.0.join("p.data")).unwrap().blocks() * 512;
        let mut use_one = |register: bool| {
            let slot = owner.allocate(1 << 20).unwrap();
            if register {
                let view = open(&scratch).unwrap();
                view.control(slot).unwrap().note_registered();
            }
            owner.deallocate(slot);
            let before = memory();
            owner.trim();
            (before, memory())
        };
        let (before, after) = use_one(false);
        assert!(before >= 1 << 20 && after == 0, "{before} {after}");
        let (before, after) = use_one(true);
        assert!(before >= 1 << 20 && after == before, "{before} {after}");
        // Other memory is not given back either: it may be the same pages.
        assert_eq!(use_one(false), (before, before));
    }
}

/// The memory that was needed at any moment between two calls stays, in whichever slots.
#[test]
fn what_is_not_needed_between_two_looks_is_given_back() {
    const MIB: u64 = 1 << 20;
    let scratch = Scratch::new();
    let mut owner = PoolOwner::create(&HostDomain, &scratch.control(), &options(64, 64 << 20)).unwrap();
    let use_some = |owner: &mut PoolOwner, count: usize| {
        let slots: Vec<_> = (0..count).map(|_| owner.allocate(MIB as usize).unwrap()).collect();
        slots.into_iter().for_each(|slot| owner.deallocate(slot));
    };
    use_some(&mut owner, 20);
    assert_eq!((owner.give_idle_back(u64::MAX), owner.free_bytes()), (0, 20 * MIB), "all of it was needed");
    for _ in 0..3 {
        use_some(&mut owner, 3);
        use_some(&mut owner, 5);
        let rest = owner.free_bytes() - 5 * MIB;
        assert_eq!((owner.give_idle_back(u64::MAX), owner.free_bytes()), (rest, 5 * MIB));
    }
    assert_eq!(owner.give_idle_back(2 * MIB), 2 * MIB, "as much as is wanted at once");
    assert_eq!(owner.give_idle_back(1), MIB, "a whole slot, though");
    let lent = owner.allocate(MIB as usize).unwrap();
    assert_eq!(owner.free_bytes(), MIB);
    assert_eq!((owner.give_back_down_to(0), owner.free_bytes()), (MIB, 0));
    owner.deallocate(lent);
    assert_eq!((owner.free_bytes(), owner.trim(), owner.free_bytes()), (MIB, MIB, 0));
}

/// A domain that would register pages, but whose driver refuses.
#[derive(Debug)]
struct Refusing;

impl Domain for Refusing {
    fn id(&self) -> DomainId {
        DomainId { kind: DomainKind::from_number(1024), number: 0 }
    }
    fn name(&self) -> String {
        "refuses".to_owned()
    }
    fn capabilities(&self) -> Capabilities {
        HostDomain.capabilities()
    }
    fn create(&self, place: &Beneath, request: &MemoryRequest) -> Result<Arc<dyn Memory>, DomainError> {
        HostDomain.create(place, request)
    }
    fn import(&self, descriptor: OwnedFd, size: u64) -> Result<Arc<dyn Memory>, DomainError> {
        HostDomain.import(descriptor, size)
    }
    fn stream(&self) -> Result<Arc<dyn Stream>, DomainError> {
        HostDomain.stream()
    }
    fn registers(&self) -> bool {
        true
    }
}

#[test]
fn what_could_not_be_registered_is_given_back() {
    use std::os::unix::fs::MetadataExt;
    let scratch = Scratch::new();
    let mut owner = PoolOwner::create(&HostDomain, &scratch.control(), &options(64, 4 << 20)).unwrap();
    let slot = owner.allocate(1 << 20).unwrap();
    let view = open(&scratch).unwrap();
    let note = || view.metadata().note_registered(slot);
    Registered::default().add(&Refusing, view.bytes(), 1 << 20, (&note, view.place(slot).unwrap()));
    owner.deallocate(slot);
    owner.trim();
    assert_eq!(fs::metadata(scratch.0.join("p.data")).unwrap().blocks(), 0);
}

#[test]
fn what_the_owner_writes_the_view_reads() {
    let scratch = Scratch::new();
    let mut owner = PoolOwner::create(&HostDomain, &scratch.control(), &options(64, 1 << 20)).unwrap();
    let slot = owner.allocate(1000).unwrap();
    let (memory, len) = owner.memory(slot);
    assert!(len >= 1000 && (memory as usize).is_multiple_of(GRANULE));
    // SAFETY: the slot has at least 1000 bytes, and no other code uses it yet.
    unsafe { memory.write_bytes(7, 1000) };
    let view = open(&scratch).unwrap();
    let generation = owner.control(slot).generation();
    assert_eq!(generation, 7, "the first generation is the low half of the pool's number");
    assert_eq!((owner.share(slot), view.control(slot).unwrap().has_generation(7)), (7, true));
    let (seen, seen_len) = view.memory(slot).unwrap();
    assert_eq!(seen_len, len);
    // SAFETY: the owner does not use the slot, and it has at least 1000 bytes.
    assert_eq!(unsafe { std::slice::from_raw_parts(seen, 1000) }, [7u8; 1000]);
    assert_eq!(view.metadata().slots(), 16, "small slots are cut by the slab");
    owner.control(slot).retire();
    assert_eq!((owner.share(slot), view.control(slot).unwrap().has_generation(7)), (8, false));
}

#[test]
fn the_most_recently_freed_slot_comes_first_and_exhaustion_says_so() {
    let scratch = Scratch::new();
    let mut owner = PoolOwner::create(&HostDomain, &scratch.control(), &options(64, 64 << 10)).unwrap();
    let slots: Vec<_> = (0..16).map(|_| owner.allocate(4096).unwrap()).collect();
    assert!(matches!(owner.allocate(4096), Err(AllocateError::Exhausted { in_use: 16, .. })));
    for impossible in [65 << 10, usize::MAX / 2, usize::MAX - 63, usize::MAX] {
        assert!(matches!(owner.allocate(impossible), Err(AllocateError::TooLarge { .. })));
    }
    owner.deallocate(slots[3]);
    owner.deallocate(slots[9]);
    assert_eq!(owner.allocate(4000).unwrap(), slots[9]);
    assert_eq!(owner.allocate(4000).unwrap(), slots[3]);
    // Memory of one size can be used for another.
    slots.iter().for_each(|slot| owner.deallocate(*slot));
    let whole = owner.allocate(64 << 10).unwrap();
    assert_eq!(owner.memory(whole).1, 64 << 10);
    owner.deallocate(whole);
    assert_eq!(owner.statistics().in_use, 0);
    assert!(owner.allocate(64).is_ok());
}

/// What an owner does with its pool.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// Allocates this number of bytes.
    Allocate(usize),
    /// Returns one of its slots.
    Return(usize),
    Trim,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let size = (0u32..17, any::<usize>()).prop_map(|(bits, random)| 1 + random % (1 << bits));
    let step = prop_oneof![
        4 => size.prop_map(Step::Allocate),
        3 => any::<usize>().prop_map(Step::Return),
        1 => Just(Step::Trim),
    ];
    proptest::collection::vec(step, 1..200)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_lent_is_nobody_elses(steps in steps(), ring: bool) {
        let scratch = Scratch::new();
        let capacity = 256 << 10;
        let strategy = if ring { Allocation::Ring } else { Allocation::SizeClasses };
        let options = PoolOptions { strategy, ..options(64, capacity) };
        let mut owner = PoolOwner::create(&HostDomain, &scratch.control(), &options).unwrap();
        // In the order of allocation: slot, first byte, end, whether it is still lent.
        let mut known: Vec<(u32, u64, u64, bool)> = Vec::new();
        for step in steps {
            let lent = known.iter().filter(|one| one.3).count();
            match step {
                Step::Allocate(size) => match owner.allocate(size) {
                    Ok(slot) => {
                        let (start, len) = owner.place(slot);
                        let end = start + len;
                        prop_assert!(len >= size as u64 && end <= capacity && start % GRANULE as u64 == 0);
                        prop_assert!(ring || len <= (size as u64 * 5 / 4).max(8 * 64).next_multiple_of(64), "waste");
                        // In a ring, a slot that was returned before its turn still counts as lent.
                        let oldest = known.iter().position(|one| one.3).unwrap_or(known.len());
                        for (index, one) in known.iter().enumerate() {
                            let taken = one.3 || (ring && index > oldest);
                            prop_assert!(!taken || (slot != one.0 && (end <= one.1 || start >= one.2)), "{one:?}");
                        }
                        known.push((slot, start, end, true));
                    }
                    Err(AllocateError::Exhausted { in_use, .. }) => {
                        prop_assert!(in_use == lent && lent > 0, "with nothing lent there is room for all that fits");
                    }
                    Err(error) => panic!("{error}"),
                },
                Step::Return(random) if lent > 0 => {
                    let one = known.iter_mut().filter(|one| one.3).nth(random % lent).unwrap();
                    one.3 = false;
                    owner.deallocate(one.0);
                }
                Step::Return(_) => {}
                Step::Trim => _ = owner.trim(),
            }
            prop_assert_eq!(owner.statistics().in_use, known.iter().filter(|one| one.3).count());
        }
    }
}

/// A role that the next test starts in a memory file system of one megabyte; alone it has nothing to do.
#[test]
fn within_a_small_file_system() {
    let Some(directory) = std::env::var_os("SITU_TEST_SMALL") else { return };
    let control = PathBuf::from(directory).join("p.pool");
    let mut owner = PoolOwner::create(&HostDomain, &control, &options(64, 1 << 30)).unwrap();
    match owner.allocate(2 << 20) {
        Err(AllocateError::Memory(MemoryError::System { source, .. })) => {
            assert_eq!(source.raw_os_error(), Some(28), "ENOSPC");
        }
        other => panic!("two megabytes do not fit into one: {other:?}"),
    }
    let slot = owner.allocate(256 << 10).expect("the pool still works");
    let (memory, len) = owner.memory(slot);
    // SAFETY: the slot has `len` bytes, and no other code uses it.
    unsafe { memory.write_bytes(1, len) };
}

#[test]
fn a_full_file_system_is_an_error_and_not_a_signal() {
    let scratch = Scratch::new();
    let script = "mount -t tmpfs -o size=1M none \"$SITU_TEST_SMALL\" && echo mounted && exec \"$0\" \"$@\"";
    let mut inside = situ_testkit::process::this_program();
    inside.args(["--exact", "within_a_small_file_system"]);
    let output = std::process::Command::new("unshare")
        .args(["--mount", "--map-root-user", "sh", "-c", script])
        .arg(inside.get_program())
        .args(inside.get_args())
        .env("SITU_TEST_SMALL", &scratch.0)
        .output();
    match output {
        Ok(output) if output.stdout.starts_with(b"mounted") => {
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        }
        _ => eprintln!("skipped: this system does not let a test mount a file system of its own"),
    }
}

#[test]
fn malformed_files_are_refused() {
    let scratch = Scratch::new();
    assert!(matches!(open(&scratch), Err(ViewError::Gone(_))));
    let _owner = PoolOwner::create(&HostDomain, &scratch.control(), &options(64, 1 << 20)).unwrap();
    let file = fs::OpenOptions::new().read(true).write(true).open(scratch.control()).unwrap();
    let mut header = [0u8; 72];
    file.read_exact_at(&mut header, 0).unwrap();
    let domains = Domains::host_only().with(std::sync::Arc::new(EmulatedDomain::default()));
    let mut refused = 0;
    for byte in 0..72 {
        for value in [0u8, 1, 0x7f, 0xff] {
            let mut changed = header;
            changed[byte] = value;
            file.write_all_at(&changed, 0).unwrap();
            // As memory of a device, it is out of reach instead.
            if let Ok(view) = PoolView::open(&domains, &scratch.control(), Access::ReadWrite)
                && view.header().domain().kind != DomainKind::HOST
            {
                assert!((0..64).all(|slot| view.memory(slot).is_none()));
            }
            match open(&scratch) {
                Err(ViewError::Memory(_) | ViewError::Domain(_)) => refused += 1,
                Err(ViewError::Gone(_)) => panic!("it is there"),
                // Its number, its owner and its domain's number may have any value. All slots must still be
                // safe.
                Ok(view) => {
                    for slot in [0, 63, 64, u32::MAX] {
                        let _ = view.control(slot).map(|control| control.generation());
                        let _ = view.memory(slot);
                        let _ = view.fence(slot).map(|fence| fence.state());
                    }
                }
            }
        }
    }
    assert!(refused > 100, "{refused}");
    file.write_all_at(&header, 0).unwrap();
    file.set_len(100).unwrap();
    assert!(matches!(open(&scratch), Err(ViewError::Memory(MemoryError::Malformed { .. }))));
}

/// Patches the files as a hostile peer does that wants a reader's addresses: the largest possible size, with
/// a slot at the very end.
fn patched(scratch: &Scratch, capacity: u64) {
    let file = fs::OpenOptions::new().read(true).write(true).open(scratch.control()).unwrap();
    file.write_all_at(&capacity.to_le_bytes(), 56).unwrap();
    file.write_all_at(&(capacity - 4096).to_le_bytes(), 128 + 8).unwrap();
    file.write_all_at(&4096_u64.to_le_bytes(), 128 + 16).unwrap();
    let data = fs::OpenOptions::new().write(true).open(scratch.control().with_extension("data")).unwrap();
    data.set_len(capacity).unwrap();
    // It is no hole.
    data.write_all_at(&[1; 4096], capacity - 4096).unwrap();
}

#[test]
fn patched_pools_take_a_limited_part_of_a_readers_addresses() {
    const MOST: u64 = (1 << 38) - 8192;
    const MAX_IN_ALL: u64 = 1 << 45;
    let scratch = Scratch::new();
    let mut owner = PoolOwner::create(&HostDomain, &scratch.control(), &options(64, 1 << 20)).unwrap();
    owner.allocate(64).unwrap();
    patched(&scratch, MOST * 2);
    let error = open(&scratch).unwrap_err().to_string();
    assert!(error.contains(&MOST.to_string()) && error.contains(&(MOST * 2).to_string()), "{error}");
    patched(&scratch, MOST);
    let mut views = Vec::new();
    let refused = loop {
        let view = open(&scratch).unwrap();
        if view.memory(0).is_none() {
            break view;
        }
        views.push(view);
        assert!(views.len() as u64 * MOST <= MAX_IN_ALL, "{} views", views.len());
    };
    match refused.unreachable(0) {
        Some(ViewError::Memory(MemoryError::TooMuchMapped { wanted, mapped, limit, .. })) => {
            assert!(limit == MAX_IN_ALL && wanted <= 1 << 38 && mapped + wanted > limit);
        }
        other => panic!("{other:?}"),
    }
    drop(views);
    assert!(refused.memory(0).is_some(), "when the others are gone, there is room");
}

#[test]
fn a_slot_that_lies_behind_the_end_of_its_file_is_not_given_out() {
    let scratch = Scratch::new();
    let mut owner = PoolOwner::create(&HostDomain, &scratch.control(), &options(64, 1 << 30)).unwrap();
    owner.allocate(64).unwrap();
    patched(&scratch, 1 << 30);
    let data = scratch.control().with_extension("data");
    let view = open(&scratch).unwrap();
    fs::OpenOptions::new().write(true).open(&data).unwrap().set_len(1 << 20).unwrap();
    assert!(view.memory(0).is_none());
    let error = view.unreachable(0).unwrap().to_string();
    assert!(error.contains(&(1 << 20).to_string()) && error.contains(&(1 << 30).to_string()), "{error}");
    // Another file is not taken for it either.
    fs::remove_file(&data).unwrap();
    fs::write(&data, []).unwrap();
    assert!(view.unreachable(0).unwrap().to_string().contains("replaced"));
}

/// What an owner does with slots that grow.
#[derive(Debug, Clone, Copy)]
enum Growth {
    Allocate(usize),
    Grow(usize, usize),
    /// Publishes one of its slots with a part of its bytes.
    Publish(usize),
    Return(usize),
    Plain(usize),
    Trim,
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn slots_that_grow_keep_their_place_and_their_bytes(
        steps in proptest::collection::vec(
            prop_oneof![
                3 => (1usize..200_000).prop_map(Growth::Allocate),
                4 => (any::<usize>(), 1usize..2_000_000).prop_map(|(one, size)| Growth::Grow(one, size)),
                2 => any::<usize>().prop_map(Growth::Publish),
                3 => any::<usize>().prop_map(Growth::Return),
                1 => (1usize..100_000).prop_map(Growth::Plain),
                1 => Just(Growth::Trim),
            ],
            1..80,
        )
    ) {
        const ROOM: usize = 1 << 20;
        const LIMIT: u64 = 8 << 20;
        let scratch = Scratch::new();
        let options = PoolOptions { grows: true, ..options(64, LIMIT) };
        let mut owner = PoolOwner::create(&HostDomain, &scratch.control(), &options).unwrap();
        // Slot, first byte, the value that fills it, its length, whether it grows.
        let mut lent: Vec<(u32, *mut u8, u8, usize, bool)> = Vec::new();
        for (mark, step) in steps.into_iter().enumerate() {
            let mark = mark as u8 + 1;
            let grow = matches!(step, Growth::Allocate(_));
            match step {
                Growth::Allocate(size) | Growth::Plain(size) => {
                    let made = if grow { owner.allocate_growing(size, ROOM) } else { owner.allocate(size) };
                    let Ok(slot) = made else { continue };
                    let (memory, len) = owner.memory(slot);
                    prop_assert!(len >= size);
                    // SAFETY: the slot has at least `size` bytes, and is lent only once.
                    unsafe { memory.write_bytes(mark, size) };
                    lent.push((slot, memory, mark, size, grow));
                }
                Growth::Grow(one, size) if !lent.is_empty() => {
                    let index = one % lent.len();
                    let one = &mut lent[index];
                    match owner.grow(one.0, size) {
                        Ok(had) => {
                            prop_assert!(owner.memory(one.0).1 >= size && (one.4 || had >= size));
                            // SAFETY: as above; the added bytes are zero, and the others were initialized.
                            let added = unsafe { std::slice::from_raw_parts(one.1, size.max(had)) };
                            prop_assert!(added[had..].iter().all(|byte| *byte == 0));
                            if size > one.3 {
                                // SAFETY: as above.
                                unsafe { one.1.write_bytes(one.2, size) };
                                one.3 = size;
                            }
                        }
                        Err(AllocateError::NoRoom { room, .. }) => prop_assert!(!one.4 || room >= ROOM as u64),
                        Err(AllocateError::Exhausted { bytes, .. }) => prop_assert!(bytes <= LIMIT),
                        Err(error) => panic!("{error}"),
                    }
                }
                Growth::Publish(one) if !lent.is_empty() => {
                    let index = one % lent.len();
                    lent[index].3 /= 2;
                    owner.give_tail_back(lent[index].0, lent[index].3);
                }
                Growth::Return(one) if !lent.is_empty() => {
                    let one = lent.swap_remove(one % lent.len());
                    owner.deallocate(one.0);
                }
                Growth::Trim => _ = owner.trim(),
                _ => {}
            }
            prop_assert!(owner.statistics().bytes <= LIMIT);
            for (_, memory, mark, len, _) in &lent {
                // SAFETY: as above.
                let bytes = unsafe { std::slice::from_raw_parts(*memory, *len) };
                prop_assert!(bytes.iter().all(|byte| byte == mark), "{mark}");
            }
        }
        lent.iter().for_each(|one| owner.deallocate(one.0));
        owner.trim();
        prop_assert_eq!((owner.statistics().in_use, owner.statistics().bytes), (0, 0));
        use std::os::unix::fs::MetadataExt;
        let left = fs::metadata(scratch.control().with_extension("data")).unwrap().blocks() * 512;
        // Pages that hold parts of slots of other classes stay.
        prop_assert!(left <= 64 * 2 * 4096, "{left}");
    }
}
