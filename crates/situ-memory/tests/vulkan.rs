//! The `vulkan` domain where there is a device (lavapipe counts): sharing with processes that die, and
//! invalid descriptors. What every domain must do is in the conformance suite.

use std::ffi::CString;
use std::io::{IoSlice, IoSliceMut, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags,
};
use situ_memory::vulkan::{VulkanDomain, VulkanMemory, VulkanStream};
use situ_memory::{
    Beneath, Domain, DomainError, Fence, FenceState, Memory, MemoryRequest, Stream, StreamOrder,
};
use situ_testkit::process::{rerun, role};

const SIZE: u64 = 5 << 20;
const TIMEOUT: Duration = Duration::from_secs(20);

/// The first device; `None`, after printing why, if there is none.
fn device() -> Option<VulkanDomain> {
    match VulkanDomain::find(0) {
        Ok(domain) => Some(domain),
        Err(error) => {
            eprintln!("SKIPPED: {error}");
            None
        }
    }
}

fn create(domain: &VulkanDomain, size: u64) -> Arc<dyn Memory> {
    let request = MemoryRequest { size, mode: 0o600, group: None };
    domain.create(&Beneath::from("/nowhere"), &request).unwrap()
}

/// Bytes in which neighbouring words differ.
fn pattern(len: u64, seed: u64) -> Vec<u8> {
    (0..len / 8)
        .flat_map(|index| ((index + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ seed).to_le_bytes())
        .collect()
}

fn write(domain: &VulkanDomain, memory: &Arc<dyn Memory>, offset: u64, bytes: &[u8]) {
    let stream = domain.stream().unwrap();
    // SAFETY: the bytes outlive the synchronization.
    unsafe { stream.copy_from_host(bytes.as_ptr(), memory, offset, bytes.len() as u64) }.unwrap();
    stream.synchronize(TIMEOUT).unwrap();
}

fn read(domain: &VulkanDomain, memory: &Arc<dyn Memory>, offset: u64, len: u64) -> Vec<u8> {
    let mut bytes = vec![0; len as usize];
    let stream = domain.stream().unwrap();
    // SAFETY: the bytes outlive the synchronization.
    unsafe { stream.copy_to_host(memory, offset, bytes.as_mut_ptr(), len) }.unwrap();
    stream.synchronize(TIMEOUT).unwrap();
    bytes
}

/// Sends a descriptor.
fn send(socket: &UnixStream, descriptor: &OwnedFd) {
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let descriptors = [descriptor.as_fd()];
    assert!(ancillary.push(SendAncillaryMessage::ScmRights(&descriptors)));
    rustix::net::sendmsg(socket, &[IoSlice::new(b"m")], &mut ancillary, SendFlags::empty()).unwrap();
}

fn receive(socket: &UnixStream) -> OwnedFd {
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    rustix::net::recvmsg(socket, &mut [IoSliceMut::new(&mut byte)], &mut ancillary, RecvFlags::CMSG_CLOEXEC)
        .unwrap();
    let message = ancillary.drain().next();
    let Some(RecvAncillaryMessage::ScmRights(mut descriptors)) = message else {
        panic!("no descriptor came")
    };
    descriptors.next().expect("a descriptor came")
}

/// The role of a child that is started to be killed: it makes memory, hands it out, and waits for its end.
#[test]
fn child_that_exports() {
    let Some(_) = role() else { return };
    // The socket is the child's standard input.
    let socket = UnixStream::from(std::io::stdin().as_fd().try_clone_to_owned().unwrap());
    let domain = VulkanDomain::find(0).unwrap();
    let memory = create(&domain, SIZE);
    write(&domain, &memory, 0, &pattern(SIZE, 7));
    send(&socket, &memory.export().unwrap().unwrap());
    std::thread::sleep(Duration::from_secs(60));
    panic!("the test did not kill this process");
}

#[test]
fn memory_outlives_an_exporter_that_was_killed_before_the_import() {
    let Some(domain) = device() else { return };
    let (ours, theirs) = UnixStream::pair().unwrap();
    let mut child = rerun("child_that_exports", "export")
        .stdin(OwnedFd::from(theirs))
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    ours.set_read_timeout(Some(TIMEOUT)).unwrap();
    let descriptor = receive(&ours);
    child.kill().unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(9), "killed, not ended");

    let memory = domain.import(descriptor, SIZE).unwrap();
    assert_eq!(memory.size(), SIZE);
    assert!(read(&domain, &memory, 0, SIZE) == pattern(SIZE, 7), "other bytes than were written");
    assert!(memory.export().is_err(), "an importer does not hand it out");
}

#[test]
fn what_is_no_memory_is_refused_and_nothing_leaks() {
    let Some(domain) = device() else { return };
    let own = create(&domain, SIZE);
    let file = |content: &[u8]| {
        let name = CString::new("situ-test").unwrap();
        let descriptor = rustix::fs::memfd_create(&name, rustix::fs::MemfdFlags::CLOEXEC).unwrap();
        std::fs::File::from(descriptor.try_clone().unwrap()).write_all(content).unwrap();
        descriptor
    };
    let (reader, writer) = rustix::pipe::pipe().unwrap();
    let (socket, _other) = UnixStream::pair().unwrap();
    let open = |path: &str| OwnedFd::from(std::fs::File::open(path).unwrap());
    let hostile = [
        ("the reading end of a pipe", reader),
        ("the writing end of a pipe", writer),
        ("a socket", socket.into()),
        ("a directory", open("/")),
        ("nothing", open("/dev/null")),
        ("zeros", open("/dev/zero")),
        ("an empty file", file(b"")),
        ("a file of zeros", file(&vec![0; 6 << 20])),
        ("a program", open("/proc/self/exe")),
    ];
    let open_descriptors = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    for (what, descriptor) in hostile {
        let before = open_descriptors();
        let error = domain.import(descriptor, SIZE).expect_err(what);
        assert!(matches!(error, DomainError::Refused { .. }), "{what}: {error}");
        // Other tests open descriptors too: a leak of one for each attempt would exceed this.
        assert!(open_descriptors() <= before + 8, "{what}: descriptors are left open");
    }
    // Real memory, but smaller than promised; and sizes that no device has.
    for size in [SIZE * 2, 1 << 46, u64::MAX, 0] {
        let error = domain.import(own.export().unwrap().unwrap(), size).expect_err("a wrong size");
        assert!(matches!(error, DomainError::Refused { .. }), "{size}: {error}");
    }
    for size in [0, 1 << 46, u64::MAX] {
        let request = MemoryRequest { size, mode: 0o600, group: None };
        assert!(
            matches!(domain.create(&Beneath::from("/"), &request), Err(DomainError::Refused { .. })),
            "{size}"
        );
    }
    // Still usable after all that.
    write(&domain, &own, 0, &pattern(4096, 1));
    assert_eq!(read(&domain, &own, 0, 4096), pattern(4096, 1));
}

/// Lavapipe trusts the words at the beginning of its memory, so it must not see every descriptor.
#[test]
fn memory_whose_beginning_was_tampered_with_is_refused() {
    let Some(domain) = device() else { return };
    let own = create(&domain, SIZE);
    let descriptor = own.export().unwrap().unwrap();
    if !rustix::fs::fcntl_get_seals(&descriptor)
        .is_ok_and(|seals| seals.contains(rustix::fs::SealFlags::SHRINK))
    {
        eprintln!("SKIPPED: the device is no lavapipe");
        return;
    }
    let at = |offset: u64| {
        let mut word = [0; 8];
        assert_eq!(rustix::io::pread(&descriptor, &mut word, offset).unwrap(), 8);
        u64::from_le_bytes(word)
    };
    let put = |offset: u64, word: u64| {
        assert_eq!(rustix::io::pwrite(&descriptor, &word.to_le_bytes(), offset).unwrap(), 8);
    };
    let (mapped, begin) = (at(0), at(8));
    let hostile = [
        (0, mapped + 4096),
        (0, u64::MAX),
        (0, 1 << 46),
        (0, SIZE),
        (0, 0),
        (8, 0),
        (8, 16),
        (8, begin + 64),
        (8, u64::MAX),
        (8, mapped),
        (16, 0),
        (begin - 8, 0),
    ];
    for (offset, word) in hostile {
        let before = at(offset);
        put(offset, word);
        let imported = domain.import(descriptor.try_clone().unwrap(), SIZE);
        // Before it is dropped, because the driver reads there again.
        put(offset, before);
        let error = imported.err().unwrap_or_else(|| panic!("{word:#x} at {offset}"));
        assert!(matches!(error, DomainError::Refused { .. }), "{word:#x} at {offset}: {error}");
    }
    assert_eq!(domain.import(descriptor, SIZE).unwrap().size(), SIZE);
}

#[test]
fn many_import_from_one_descriptor_at_once() {
    let Some(domain) = device() else { return };
    let own = create(&domain, SIZE);
    let bytes = pattern(SIZE, 5);
    write(&domain, &own, 0, &bytes);
    let descriptor = own.export().unwrap().unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..25 {
                    // Copies of a descriptor share its position.
                    let memory = domain.import(descriptor.try_clone().unwrap(), SIZE).unwrap();
                    assert_eq!(read(&domain, &memory, 8, 64), bytes[8..72]);
                }
            });
        }
    });
}

#[test]
fn imported_memory_is_the_same_memory() {
    let Some(domain) = device() else { return };
    let own = create(&domain, SIZE);
    let imported = domain.import(own.export().unwrap().unwrap(), SIZE).unwrap();
    let stream = domain.stream().unwrap();
    let refused = stream.copy(&own, 0, &imported, 0, 8);
    assert!(matches!(refused, Err(DomainError::Refused { .. })), "an importer reads");
    // Small copies are staged, large ones are not; none is aligned.
    for (offset, len, seed) in [(0, 8, 1), (3, 4096, 2), (61, 200_000, 3), (1 << 20, SIZE - (1 << 20), 4)] {
        let bytes = pattern(len, seed);
        write(&domain, &own, offset, &bytes);
        assert!(read(&domain, &imported, offset, bytes.len() as u64) == bytes, "{len} bytes at {offset}");
    }
}

#[test]
fn a_stream_that_waits_holds_up_nobody_else() {
    let Some(domain) = device() else { return };
    assert_eq!(domain.capabilities().order, StreamOrder::Watched);
    let (first, second) = (create(&domain, SIZE), create(&domain, SIZE));
    let bytes = pattern(SIZE, 9);
    let (filled, copied) = (Fence::of_process(4, 5), Fence::of_process(0, 1));

    // The reader's work is enqueued before the writer has begun.
    let reader = domain.stream().unwrap();
    let begin = Instant::now();
    reader.wait(&filled, Duration::ZERO).unwrap();
    reader.copy(&first, 0, &second, 0, SIZE).unwrap();
    reader.signal(&copied).unwrap();
    assert!(begin.elapsed() < Duration::from_secs(2), "enqueueing waits for nothing");
    assert!(matches!(reader.synchronize(Duration::from_millis(20)), Err(DomainError::TimedOut { .. })));
    assert_eq!(copied.state(), FenceState::Pending);

    let writer = domain.stream().unwrap();
    // SAFETY: the bytes outlive the synchronization.
    unsafe { writer.copy_from_host(bytes.as_ptr(), &first, 0, SIZE) }.unwrap();
    writer.signal(&filled).unwrap();
    writer.synchronize(TIMEOUT).unwrap();
    assert_eq!(filled.state(), FenceState::Complete);
    reader.synchronize(TIMEOUT).unwrap();
    assert_eq!(copied.state(), FenceState::Complete);
    assert!(read(&domain, &second, 0, SIZE) == bytes, "the copy ran before the bytes were there");
}

#[test]
fn work_of_ones_own_takes_its_turn() {
    let Some(domain) = device() else { return };
    let memory = create(&domain, 4096);
    let stream = domain.stream().unwrap();
    let stream: &VulkanStream = stream.as_any().downcast_ref().unwrap();
    let buffer = memory.as_any().downcast_ref::<VulkanMemory>().unwrap().buffer();
    let filled = Fence::of_process(0, 1);
    // SAFETY: filling a buffer with usage transfer is valid on every queue.
    unsafe {
        stream.submit(vec![memory.clone()], move |device, commands| {
            device.cmd_fill_buffer(commands, buffer, 0, 4096, 0x0403_0201);
        })
    }
    .unwrap();
    stream.signal(&filled).unwrap();
    assert_eq!(filled.wait(TIMEOUT), FenceState::Complete);
    assert_eq!(read(&domain, &memory, 4088, 8), [1, 2, 3, 4, 1, 2, 3, 4]);
    assert!(memory.address() != 0 && memory.host(0, 0).unwrap().is_none());
}

#[test]
fn a_dropped_stream_does_its_work_and_gives_up_on_fences_that_never_come() {
    let Some(domain) = device() else { return };
    let memory = create(&domain, SIZE);
    let (never, after, done) = (Fence::of_process(0, 1), Fence::of_process(0, 1), Fence::of_process(0, 1));
    let bytes = pattern(SIZE, 11);
    let stream = domain.stream().unwrap();
    // SAFETY: dropping the stream waits for its work.
    unsafe { stream.copy_from_host(bytes.as_ptr(), &memory, 0, SIZE) }.unwrap();
    stream.signal(&done).unwrap();
    drop(stream);
    assert_eq!(done.state(), FenceState::Complete);
    assert!(read(&domain, &memory, 0, SIZE) == bytes);

    let stream = domain.stream().unwrap();
    stream.wait(&never, Duration::from_millis(50)).unwrap();
    stream.signal(&after).unwrap();
    drop(stream);
    assert_eq!(after.state(), FenceState::Poisoned, "what comes after an unfinished wait is not done");
    assert_eq!(never.word().load(Ordering::Relaxed), 0);
}

#[test]
fn ranges_are_checked_when_they_are_enqueued() {
    let Some(domain) = device() else { return };
    let memory = create(&domain, 4096);
    let stream = domain.stream().unwrap();
    let mut bytes = [0_u8; 8];
    for (offset, len) in [(4089, 8), (4096, 1), (u64::MAX, 2), (0, u64::MAX)] {
        // SAFETY: nothing is enqueued.
        let up = unsafe { stream.copy_from_host(bytes.as_ptr(), &memory, offset, len) };
        assert!(matches!(up, Err(DomainError::OutOfRange { .. })), "{offset}+{len}");
        // SAFETY: nothing is enqueued.
        let down = unsafe { stream.copy_to_host(&memory, offset, bytes.as_mut_ptr(), len) };
        assert!(matches!(down, Err(DomainError::OutOfRange { .. })), "{offset}+{len}");
        assert!(matches!(memory.back(offset, len), Err(DomainError::OutOfRange { .. })), "{offset}+{len}");
    }
    assert!(stream.copy(&memory, 0, &memory, 8, 16).is_err(), "the ranges overlap");
    memory.back(0, 4096).unwrap();
}
