//! Words of fences for devices: host shared memory that is registered with the driver. Also what must not be
//! done while a stream waits for one.
//!
//! A pool's control is registered as a whole. This happens when the pool is made or opened, if its bodies are
//! the device's, else when one of its words is first used. For fences that a program makes by itself, the
//! word's page is registered. Registered memory is kept mapped.
//!
//! **While a stream of this process waits for a fence, nothing is unregistered, unmapped or freed.** In such
//! a call the driver waits for the device, the device for the fence, and the fence perhaps for this very
//! thread. Such calls are therefore deferred ([`leave`]) until no stream waits. Registering and allocating
//! may wait for the device too. They are done as early as possible, and without a lock that the completer of
//! a fence needs.
//!
//! Pools of the host are registered by their slots, for copies ([`Registered`](crate::Registered)), and
//! released by the same rule.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use cudarc::driver::sys::{self, CUresult};

use super::driver::{Device, lock};
use crate::domain::host::HostMemory;
use crate::domain::traits::{DomainError, Memory};
use crate::os::mapped_range::Access;
use crate::os::mapping::Mapping;
use crate::sync::fence::{Fence, FenceState};

const PAGE: usize = 4096;

/// What keeps a word mapped.
pub type Mapped = Arc<dyn Any + Send + Sync>;

/// Registered words.
struct Words {
    end: usize,
    /// The mappings that they belong to: one pool's control, unless a program makes fences of its own.
    mapped: Vec<Mapped>,
    /// The device that registered them; `None` if the program itself had registered them already.
    by: Option<Arc<Device>>,
    /// The devices' addresses of the first byte, by device number.
    pointers: Vec<(u32, sys::CUdeviceptr)>,
}

/// A resource that is released when no stream waits.
struct Leaving {
    /// Releases it in the driver.
    end: Box<dyn FnMut() + Send>,
    /// Streams keep the memory that they still copy from or to, so no other code may have this memory.
    after: Option<Arc<dyn Memory>>,
}

struct Table {
    /// By the address of their first byte.
    words: BTreeMap<usize, Words>,
    /// Fences that streams were told to wait for, and that may still be pending.
    waited: Vec<Fence>,
    leaving: Vec<Leaving>,
}

static TABLE: Mutex<Table> =
    Mutex::new(Table { words: BTreeMap::new(), waited: Vec::new(), leaving: Vec::new() });

/// Host memory that is registered for copies: begin and end of each registration.
static RANGES: Mutex<BTreeMap<usize, usize>> = Mutex::new(BTreeMap::new());

/// How many bytes from `address` on are registered for copies, in one range.
pub fn registered_from(address: u64) -> u64 {
    let address = address as usize;
    let ranges = lock(&RANGES);
    ranges.range(..=address).next_back().map_or(0, |(_, end)| end.saturating_sub(address) as u64)
}

/// Whether both are the same mapping.
pub fn same(one: &Mapped, other: &Mapped) -> bool {
    std::ptr::addr_eq(Arc::as_ptr(one), Arc::as_ptr(other))
}

/// The device's address of the fence's word. The device's context must be current.
pub fn pointer(device: &Arc<Device>, fence: &Fence) -> Result<sys::CUdeviceptr, DomainError> {
    const ACTION: &str = "register the word of a fence";
    static ONE: Mutex<()> = Mutex::new(());
    if let Some(pointer) = known(device, fence, ACTION)? {
        return Ok(pointer);
    }
    tidy();
    // The table stays unlocked: other threads may complete what the driver waits for.
    let _one = lock(&ONE);
    if let Some(pointer) = known(device, fence, ACTION)? {
        return Ok(pointer);
    }
    let (begin, end) = extent(fence);
    let flags = sys::CU_MEMHOSTREGISTER_PORTABLE | sys::CU_MEMHOSTREGISTER_DEVICEMAP;
    // SAFETY: it is mapped, since the word is; the fence's mapping is kept below while it is registered.
    let by = match unsafe { sys::cuMemHostRegister_v2(begin as *mut _, end - begin, flags) } {
        CUresult::CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED => None,
        result => {
            device.check(ACTION, result)?;
            Some(device.clone())
        }
    };
    let words = Words { end, mapped: vec![fence.mapped().clone()], by, pointers: Vec::new() };
    lock(&TABLE).words.insert(begin, words);
    known(device, fence, ACTION)?.ok_or_else(|| device.refuse(ACTION, "it vanished"))
}

/// The range to register for a word: begin and end.
fn extent(fence: &Fence) -> (usize, usize) {
    match fence.mapped().downcast_ref::<Mapping>() {
        Some(control) => {
            let begin = control.base() as usize;
            (begin, begin + control.len().next_multiple_of(PAGE))
        }
        None => {
            let page = fence.word().as_ptr() as usize / PAGE * PAGE;
            (page, page + PAGE)
        }
    }
}

/// The device's address of the fence's word, if it is registered.
fn known(device: &Arc<Device>, fence: &Fence, action: &str) -> Result<Option<sys::CUdeviceptr>, DomainError> {
    let word = fence.word().as_ptr() as usize;
    let mut table = lock(&TABLE);
    let found = table.words.range_mut(..=word).next_back().filter(|(_, words)| word < words.end);
    let Some((begin, words)) = found else { return Ok(None) };
    if !words.mapped.iter().any(|mapped| same(mapped, fence.mapped())) {
        words.mapped.push(fence.mapped().clone());
    }
    let within = (word - begin) as u64;
    if let Some((_, pointer)) = words.pointers.iter().find(|(number, _)| *number == device.number) {
        return Ok(Some(pointer + within));
    }
    let mut pointer = 0;
    // SAFETY: it is registered.
    let result = unsafe { sys::cuMemHostGetDevicePointer_v2(&mut pointer, *begin as *mut _, 0) };
    device.check(action, result)?;
    words.pointers.push((device.number, pointer));
    Ok(Some(pointer + within))
}

/// Notes that a stream will wait for this fence.
pub fn waiting(fence: &Fence) {
    let mut table = lock(&TABLE);
    table.look();
    table.waited.push(fence.clone());
}

/// Whether no stream of this process waits for a fence, at this moment.
pub fn nothing_waits() -> bool {
    lock(&TABLE).look()
}

/// Calls `end`, which releases a resource in the driver. This happens now, or as soon as no stream waits for
/// a fence and no other code has the memory `after`.
pub fn leave(end: impl FnMut() + Send + 'static, after: Option<Arc<dyn Memory>>) {
    lock(&TABLE).leaving.push(Leaving { end: Box::new(end), after });
    tidy();
}

/// Releases unused mappings.
pub fn tidy() {
    // Dropping these may call back into this module, so drop them without the lock.
    let gone = lock(&TABLE).sweep();
    drop(gone);
}

impl Table {
    /// Drops the fences that have ended. Returns whether none is left.
    fn look(&mut self) -> bool {
        self.waited.retain(|waited| waited.state() == FenceState::Pending);
        self.waited.is_empty()
    }

    /// Releases all it can. It holds the lock, so no stream can be told to wait meanwhile.
    fn sweep(&mut self) -> (Vec<Leaving>, Vec<Words>) {
        if !self.look() {
            return Default::default();
        }
        let mut leaving = Vec::new();
        for mut one in std::mem::take(&mut self.leaving) {
            if one.after.as_ref().is_some_and(|memory| Arc::strong_count(memory) > 1) {
                self.leaving.push(one);
            } else {
                (one.end)();
                leaving.push(one);
            }
        }
        // Streams keep the mappings whose words they may still use. If only the table has a mapping, no other
        // code can get it any more.
        let idle = |_: &usize, words: &mut Words| words.mapped.iter().all(|it| Arc::strong_count(it) == 1);
        let words = self.words.extract_if(.., idle).map(|(begin, words)| {
            if let Some(by) = &words.by
                && let Ok(_entered) = by.enter_anyway()
            {
                // SAFETY: registered by `pointer`, and mapped until the words are dropped, by the caller.
                let _ = unsafe { sys::cuMemHostUnregister(begin as *mut _) };
            }
            words
        });
        let words = words.collect();
        (leaving, words)
    }
}

/// A range of host memory that the device reads and writes without a detour. It ends when this is dropped.
/// That may wait for the device, so it happens only when no stream of this process waits for a fence.
#[derive(Debug)]
pub struct HostRegistration {
    device: Arc<Device>,
    first: usize,
    /// Kept mapped while it is registered.
    memory: Option<Arc<dyn Memory>>,
    /// Whether it ends only when no other code has the memory any more.
    lasting: bool,
}

impl HostRegistration {
    pub(super) fn new(
        device: Arc<Device>,
        memory: &Arc<dyn Memory>,
        offset: u64,
        len: u64,
    ) -> Result<Self, DomainError> {
        const ACTION: &str = "register host memory";
        let Some(begin) = memory.host(offset, len)?.filter(|_| len > 0) else {
            return Err(device.refuse(ACTION, "there is nothing that the CPU may touch"));
        };
        // Whole pages: the driver pins no less, and two registrations may not share one. Mappings are whole
        // pages too.
        let begin = begin as usize;
        let first = begin / PAGE * PAGE;
        let end = (begin + len as usize).next_multiple_of(PAGE);
        let entered = device.enter()?;
        let register = |flags: u32| {
            // SAFETY: the range is mapped, and kept so while it is registered.
            unsafe { sys::cuMemHostRegister_v2(first as *mut _, end - first, flags) }
        };
        let portable = sys::CU_MEMHOSTREGISTER_PORTABLE;
        let result = match memory.as_any().downcast_ref::<HostMemory>().map(HostMemory::windows) {
            // Another process's pool. Most drivers register only writable memory, so it becomes writable for
            // this moment.
            Some(windows) if windows.access() == Access::Read && !device.read_only => {
                let allowed = windows.while_writable(first as u64, || register(portable));
                allowed.map_err(|error| {
                    device.refuse(ACTION, format!("it may only be read ({error}), and the device wants more"))
                })?
            }
            Some(windows) if windows.access() == Access::Read => {
                register(portable | sys::CU_MEMHOSTREGISTER_READ_ONLY)
            }
            _ => register(portable),
        };
        device.check(ACTION, result)?;
        drop(entered);
        lock(&RANGES).insert(first, end);
        Ok(Self { device, first, memory: Some(memory.clone()), lasting: false })
    }

    /// The same, until no other code has the memory any more.
    pub(super) fn lasting(mut self) -> Self {
        self.lasting = true;
        self
    }
}

impl Drop for HostRegistration {
    fn drop(&mut self) {
        let (device, first, memory) = (self.device.clone(), self.first, self.memory.take());
        let after = memory.clone().filter(|_| self.lasting);
        let kept = memory.filter(|_| !self.lasting);
        let end = move || {
            let _mapped = &kept;
            lock(&RANGES).remove(&first);
            if let Ok(_entered) = device.enter_anyway() {
                // SAFETY: registered by `new`, and still mapped.
                let _ = unsafe { sys::cuMemHostUnregister(first as *mut _) };
            }
        };
        leave(end, after);
    }
}
