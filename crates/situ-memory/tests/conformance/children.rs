//! The part of the suite with other processes: readers, and owners that die.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Stdio};

use situ_memory::{Access, Domains, PoolOwner, PoolView, Sharing, Strategy, ViewError, short_generation};

use super::{Open, Site, create_pool, pattern, read, write};

const ROLE: &str = "SITU_TEST_ROLE";
const POOL: &str = "SITU_TEST_POOL";
const LEN: usize = 700_001;

/// A pool with one message in it, shared, and the message's slot.
fn pool_with_a_message(path: &Path, domain: &dyn situ_memory::Domain, seed: u64) -> (PoolOwner, u32) {
    let mut pool = create_pool(domain, path.to_owned(), 64, 2 << 20, Strategy::SizeClasses);
    // Not the first slot, so that its place matters.
    pool.allocate(5000).unwrap();
    let slot = pool.allocate(LEN).unwrap();
    let stream = domain.stream().unwrap();
    write(&*stream, pool.bytes(), pool.place(slot).0, &pattern(LEN, seed));
    stream.signal(&pool.fence(slot)).unwrap();
    stream.synchronize(super::TIMEOUT).unwrap();
    (pool, slot)
}

/// Takes the message: looks for the slot's generation, waits for its fence, reads it.
fn take(view: &PoolView, domain: &dyn situ_memory::Domain, slot: u32) -> Vec<u8> {
    let control = view.control(slot).unwrap();
    assert!(control.has_generation(short_generation(control.generation())));
    let stream = domain.stream().unwrap();
    stream.wait(&view.fence(slot).unwrap(), super::TIMEOUT).unwrap();
    let (offset, len) = view.place(slot).unwrap();
    assert!(len >= LEN as u64);
    read(&*stream, view.bytes(), offset, LEN)
}

/// The part of a process that a test has started, as the environment says.
pub fn child(open: Open) {
    let (Ok(role), Some(path)) = (std::env::var(ROLE), std::env::var_os(POOL)) else { return };
    let (domain, path) = (open().unwrap(), Path::new(&path));
    match role.split_once(' ').unwrap_or((&role, "")) {
        ("read", slot) => {
            let view =
                PoolView::open(&Domains::host_only().with(domain.clone()), path, Access::ReadWrite).unwrap();
            assert!(take(&view, domain.as_ref(), slot.parse().unwrap()) == pattern(LEN, 1));
        }
        ("own", _) => {
            let (_pool, slot) = pool_with_a_message(path, domain.as_ref(), 2);
            println!("\nslot {slot}");
            std::io::stdout().flush().unwrap();
            // Until the test kills it, or ends.
            let _ = std::io::stdin().read_line(&mut String::new());
        }
        _ => unreachable!("{role}"),
    }
}

fn start(site: &Site, role: &str, path: &Path) -> Child {
    let mut command = situ_testkit::process::this_program();
    command.args(["--exact", &format!("{}::child", site.module), "--nocapture"]);
    command.env(ROLE, role).env(POOL, path).stdin(Stdio::piped()).stdout(Stdio::piped());
    command.spawn().unwrap()
}

pub fn another_process_reads_what_was_written(site: &Site) {
    let path = site.path("p.pool");
    let (_pool, slot) = pool_with_a_message(&path, site.domain.as_ref(), 1);
    let readers: Vec<Child> = (0..2).map(|_| start(site, &format!("read {slot}"), &path)).collect();
    for reader in readers {
        let output = reader.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
}

/// An owner in another process, with a message in this slot.
fn owner(site: &Site, path: &Path) -> (Child, u32) {
    let mut owner = start(site, "own", path);
    let lines = BufReader::new(owner.stdout.take().unwrap()).lines();
    let slot = lines.map_while(Result::ok).find_map(|line| line.strip_prefix("slot ")?.parse().ok());
    (owner, slot.expect("the owner got so far"))
}

/// As `SIGKILL` does: nothing is cleaned up.
fn kill(mut owner: Child) {
    owner.kill().unwrap();
    owner.wait().unwrap();
}

pub fn memory_is_as_good_after_its_owner_was_killed(site: &Site) {
    let path = site.path("p.pool");
    let (owner, slot) = owner(site, &path);
    let view = PoolView::open(&site.domains(), &path, Access::ReadWrite).unwrap();
    kill(owner);
    if site.domain.capabilities().outlives_owner {
        assert!(take(&view, site.domain.as_ref(), slot) == pattern(LEN, 2));
    }
}

pub fn an_owner_that_was_killed_before_the_import(site: &Site) {
    let path = site.path("p.pool");
    let (owner, slot) = owner(site, &path);
    kill(owner);
    let view = PoolView::open(&site.domains(), &path, Access::ReadWrite);
    match site.domain.capabilities().sharing {
        Sharing::File => assert!(take(&view.unwrap(), site.domain.as_ref(), slot) == pattern(LEN, 2)),
        Sharing::Descriptor => assert!(matches!(view, Err(ViewError::Gone(_))), "{view:?}"),
    }
}
