//! Pages of the host in the `vulkan` domain: registered ones are imported once, and go when nothing uses
//! them. There is only one test, because the counters are the process's.

use std::sync::Arc;
use std::time::Duration;

use situ_memory::vulkan::{HostPages, VulkanDomain};
use situ_memory::{Beneath, Domain, DomainError, Fence, HostDomain, Memory, MemoryRequest, Stream};

const SIZE: u64 = 1 << 20;
const TIMEOUT: Duration = Duration::from_secs(20);

fn request() -> MemoryRequest {
    MemoryRequest { size: SIZE, mode: 0o600, group: None }
}

/// Host memory in which neighbouring bytes differ.
fn host(seed: u8) -> Arc<dyn Memory> {
    let path = format!("/dev/shm/situ-test-vulkan-{}-{seed}.data", std::process::id());
    let memory = HostDomain.create(&Beneath::from(&path), &request()).unwrap();
    std::fs::remove_file(&path).unwrap();
    memory.back(0, SIZE).unwrap();
    for at in 0..SIZE as usize {
        // SAFETY: the memory has `SIZE` bytes, and no other code uses it.
        unsafe { memory.host(0, memory.size()).unwrap().unwrap().add(at).write((at % 251) as u8 ^ seed) };
    }
    memory
}

fn bytes(memory: &Arc<dyn Memory>, offset: usize, len: usize) -> &[u8] {
    // SAFETY: as above; the device's writes were waited for.
    unsafe { std::slice::from_raw_parts(memory.host(0, memory.size()).unwrap().unwrap().add(offset), len) }
}

/// Copies there and back, and checks that the bytes are the same.
fn there_and_back(
    stream: &dyn Stream,
    from: &Arc<dyn Memory>,
    device: &Arc<dyn Memory>,
    to: &Arc<dyn Memory>,
) {
    let (begin, len) = (5000, 600_000);
    stream.copy(from, begin, device, 7, len).unwrap();
    let target = to.host(0, to.size()).unwrap().unwrap().wrapping_add(begin as usize);
    // SAFETY: the memory is kept until the stream has passed, and no other code uses it.
    unsafe { stream.copy_to_host(device, 7, target, len) }.unwrap();
    stream.synchronize(TIMEOUT).unwrap();
    assert!(bytes(to, begin as usize, len as usize) == bytes(from, begin as usize, len as usize));
}

#[test]
fn registered_pages_are_imported_once_and_go_when_nothing_uses_them() {
    let domain = match VulkanDomain::find(0) {
        Ok(domain) if domain.registers() => domain,
        Ok(_) => return eprintln!("SKIPPED: the device cannot import pages of the host"),
        Err(error) => return eprintln!("SKIPPED: {error}"),
    };
    let counts = || domain.host_pages().unwrap();
    let (from, to) = (host(1), host(2));
    let device = domain.create(&Beneath::from("/nowhere"), &request()).unwrap();
    let stream = domain.stream().unwrap();
    assert_eq!(counts(), HostPages { imported: 0, registered: 0, copies: 0 });
    there_and_back(&*stream, &from, &device, &to);
    assert_eq!(counts(), HostPages { imported: 2, registered: 0, copies: 2 }, "for each copy");

    // Two registrations that meet on a page within the copied bytes, and one that is not of whole pages.
    let first = domain.register(&from, 0, 300_000 / 4096 * 4096).unwrap();
    let second = domain.register(&from, 300_000 / 4096 * 4096, 400_001).unwrap();
    let third = domain.register(&to, 5000, 600_000).unwrap();
    assert_eq!(counts(), HostPages { imported: 5, registered: 3, copies: 2 });
    for _ in 0..10 {
        there_and_back(&*stream, &from, &device, &to);
    }
    assert_eq!(counts(), HostPages { imported: 5, registered: 3, copies: 22 });

    for (memory, offset, len) in [(&from, 0, 1), (&from, 650_000, 200_000), (&to, 604_999, 1), (&to, 0, SIZE)]
    {
        let again = domain.register(memory, offset, len);
        assert!(matches!(again, Err(DomainError::Refused { .. })), "{offset}+{len} is registered");
    }
    assert!(matches!(domain.register(&from, SIZE, 1), Err(DomainError::OutOfRange { .. })));
    assert!(matches!(domain.register(&from, SIZE, 0), Err(DomainError::Refused { .. })), "nothing");
    assert!(matches!(domain.register(&device, 0, 4096), Err(DomainError::Refused { .. })), "no host memory");

    // Partly registered bytes count as not registered.
    drop(second);
    let before = counts();
    there_and_back(&*stream, &from, &device, &to);
    assert_eq!(
        counts(),
        HostPages { imported: before.imported + 1, copies: before.copies + 2, registered: 2 }
    );

    // A registration keeps its memory, and so does work under way; nothing else does.
    let (left, gone) = (bytes(&from, 0, 200_000).to_vec(), Arc::downgrade(&from));
    let fence = Fence::of_process(0, 1);
    stream.wait(&fence, TIMEOUT).unwrap();
    stream.copy(&from, 0, &device, 0, 200_000).unwrap();
    drop(from);
    drop(first);
    assert!(gone.upgrade().is_some(), "a copy from it is under way");
    fence.complete();
    // SAFETY: the memory is kept until the stream has passed, and no other code uses it.
    unsafe { stream.copy_to_host(&device, 0, to.host(0, to.size()).unwrap().unwrap(), 200_000) }.unwrap();
    stream.synchronize(TIMEOUT).unwrap();
    assert!(bytes(&to, 0, 200_000) == left.as_slice());
    assert!(gone.upgrade().is_none(), "no work needs it");
    drop(third);
    assert_eq!(counts().registered, 0);
    // There may be other memory at its address by now.
    let other = host(3);
    there_and_back(&*stream, &other, &device, &to);
}
