//! Memory that is imported after its exporter was killed, and the tests that `device.sh` copies beside this
//! program.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::sync::Arc;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags,
};
use situ::memory::{DomainId, Memory, MemoryRequest, Sharing};

use crate::process::{TIMEOUT, Role};
use crate::table::Finding;
use crate::{Result, Wanted};

const SIZE: usize = 64 << 20;

fn pattern() -> Vec<u8> {
    (0..SIZE as u64 / 8).flat_map(|word| (word.wrapping_mul(0x9e37_79b9_7f4a_7c15)).to_le_bytes()).collect()
}

fn socket_path() -> String {
    format!("/dev/shm/situ-device-{}.data", std::process::id())
}

/// The exporter's role: fills memory, sends its descriptor, and waits to be killed.
pub fn exporter(domain: DomainId) -> Result<()> {
    let socket = UnixStream::from(std::io::stdin().as_fd().try_clone_to_owned()?);
    let domain = situ::memory::find(domain)?;
    let request = MemoryRequest { size: SIZE as u64, mode: 0o600, group: None };
    let memory = domain.create(&(&socket_path()).into(), &request)?;
    memory.back(0, SIZE as u64)?;
    let (bytes, stream) = (pattern(), domain.stream()?);
    // SAFETY: the bytes live until the stream is synchronized.
    unsafe { stream.copy_from_host(bytes.as_ptr(), &memory, 0, SIZE as u64) }?;
    stream.synchronize(TIMEOUT)?;
    let descriptor = memory.export()?.ok_or("nothing to export")?;
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let descriptors = [descriptor.as_fd()];
    ancillary.push(SendAncillaryMessage::ScmRights(&descriptors));
    rustix::net::sendmsg(&socket, &[IoSlice::new(b"m")], &mut ancillary, SendFlags::empty())?;
    std::thread::sleep(TIMEOUT);
    Ok(())
}

/// Imports the memory of an exporter that has been killed, and compares the bytes.
pub fn measure(wanted: &Wanted) -> Result<Finding> {
    let domain = situ::memory::find(wanted.domain)?;
    if domain.capabilities().sharing == Sharing::File {
        return Ok(Finding::plain("the memory is a file"));
    }
    let (ours, theirs) = UnixStream::pair()?;
    let exporter = Role::start(&["exporter", &wanted.domain.to_string()], Some(OwnedFd::from(theirs)))?;
    ours.set_read_timeout(Some(TIMEOUT))?;
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let mut target = [IoSliceMut::new(&mut byte)];
    rustix::net::recvmsg(&ours, &mut target, &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
    let Some(RecvAncillaryMessage::ScmRights(mut descriptors)) = ancillary.drain().next() else {
        return Err("no descriptor arrived".into());
    };
    let descriptor = descriptors.next().ok_or("no descriptor arrived")?;
    exporter.kill()?;
    let memory: Arc<dyn Memory> = domain.import(descriptor, SIZE as u64)?;
    let (mut bytes, stream) = (vec![0; SIZE], domain.stream()?);
    // SAFETY: the bytes live until the stream is synchronized.
    unsafe { stream.copy_to_host(&memory, 0, bytes.as_mut_ptr(), SIZE as u64) }?;
    stream.synchronize(TIMEOUT)?;
    let same = bytes == pattern();
    Ok(Finding::asked(if same { "64 MiB, all equal" } else { "different bytes" }, "the same bytes", same))
}

/// Runs tests that lie beside this program, one after the other. A test may make its streams wait, which may
/// delay other tests of the same process.
pub fn tests(wanted: &Wanted, program: &str, arguments: &[&str]) -> Result<Finding> {
    /// More seconds than the tests take.
    const LIMIT: &str = "120";
    let beside = std::env::current_exe()?.with_file_name(program);
    if !beside.exists() {
        return Ok(Finding::plain("not copied to this machine: see bench/device.sh"));
    }
    // Also ends the processes that the tests have started.
    let output = Command::new("timeout")
        .args(["--kill-after=5", LIMIT])
        .arg(beside)
        .args(["--test-threads=1", "--skip", "everything_again"])
        .args(arguments)
        .env("SITU_TEST_REQUIRE", wanted.domain.kind.to_string())
        .output()?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let unfinished = said.lines().last().filter(|line| line.ends_with("... ")).map(str::trim_end);
    let unfinished = unfinished.map(|line| format!("ended after {LIMIT} s at most, in {line}"));
    let result = said.lines().find(|line| line.starts_with("test result")).map(str::to_owned);
    let result = result.or(unfinished).unwrap_or_else(|| "no result".to_owned());
    let counts = result.split(';').take(2).collect::<Vec<_>>().join(",");
    for line in said.lines().filter(|line| line.ends_with("FAILED") || line.contains("panicked")) {
        eprintln!("{program}: {line}");
    }
    Ok(Finding::asked(counts.trim_start_matches("test result: "), "all pass", output.status.success()))
}
