//! Words of fences as devices see them: pages of host shared memory that are registered with the driver.
//!
//! A page is registered when one of its words is first used, and kept mapped as long as it is registered. It is let go of when
//! nobody else has its mapping any more, but only while no stream of this process waits for a fence: the driver may wait for
//! the device when it unregisters, and the device for a fence that the thread in question has yet to complete.
//!
//! Pools of the host are registered by their slots, for copies ([`Registered`](crate::Registered)), and let go of by the same rule.

use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use cudarc::driver::sys::{self, CUresult};

use super::driver::{Device, lock};
use crate::domain::{DomainError, Memory, check_range};
use crate::fence::{Fence, FenceState};

const PAGE: usize = 4096;

/// What keeps a word mapped.
pub type Mapped = Arc<dyn Any + Send + Sync>;

/// A registered page.
struct Page {
    /// What its words belong to: one pool's control, unless a program makes fences of its own.
    mapped: Vec<Mapped>,
    /// The device that registered it; nothing if it was registered already, by the program itself.
    by: Option<Arc<Device>>,
    /// Where devices see it, by their number.
    pointers: Vec<(u32, sys::CUdeviceptr)>,
}

#[derive(Default)]
struct Table {
    pages: HashMap<usize, Page>,
    /// Fences that streams were told to wait for, and that may still be pending.
    waited: Vec<Fence>,
    /// What is to be let go of as soon as nobody else has its memory.
    leaving: Vec<HostRegistration>,
}

static TABLE: Mutex<Option<Table>> = Mutex::new(None);

/// Whether two are the same.
pub fn same(one: &Mapped, other: &Mapped) -> bool {
    std::ptr::addr_eq(Arc::as_ptr(one), Arc::as_ptr(other))
}

/// Where the device sees the fence's word. The device's context must be current.
pub fn pointer(device: &Arc<Device>, fence: &Fence) -> Result<sys::CUdeviceptr, DomainError> {
    const ACTION: &str = "register the word of a fence";
    let address = fence.word().as_ptr() as usize;
    let (page, within) = (address / PAGE * PAGE, (address % PAGE) as u64);
    let mut table = lock(&TABLE);
    let table = table.get_or_insert_with(Table::default);
    if !table.pages.contains_key(&page) {
        sweep(table);
        let flags = sys::CU_MEMHOSTREGISTER_PORTABLE | sys::CU_MEMHOSTREGISTER_DEVICEMAP;
        // SAFETY: the page is mapped, since the word is; the fence's mapping is kept below as long as it is registered.
        let by = match unsafe { sys::cuMemHostRegister_v2(page as *mut _, PAGE, flags) } {
            CUresult::CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED => None,
            result => {
                device.check(ACTION, result)?;
                Some(device.clone())
            }
        };
        table.pages.insert(page, Page { mapped: vec![fence.mapped().clone()], by, pointers: Vec::new() });
    }
    let Some(entry) = table.pages.get_mut(&page) else {
        return Err(device.refuse(ACTION, "its page vanished"));
    };
    if !entry.mapped.iter().any(|mapped| same(mapped, fence.mapped())) {
        entry.mapped.push(fence.mapped().clone());
    }
    if let Some((_, pointer)) = entry.pointers.iter().find(|(number, _)| *number == device.number) {
        return Ok(pointer + within);
    }
    let mut pointer = 0;
    // SAFETY: the page is registered.
    let result = unsafe { sys::cuMemHostGetDevicePointer_v2(&mut pointer, page as *mut _, 0) };
    device.check(ACTION, result)?;
    entry.pointers.push((device.number, pointer));
    Ok(pointer + within)
}

/// A stream will wait for this fence.
pub fn waiting(fence: &Fence) {
    let mut table = lock(&TABLE);
    let table = table.get_or_insert_with(Table::default);
    // What is complete is dropped from the front: streams wait in turns, mostly.
    table.waited.retain(|waited| waited.state() == FenceState::Pending);
    table.waited.push(fence.clone());
}

/// Lets go of the pages that nobody needs any more.
pub fn tidy() {
    if let Some(table) = lock(&TABLE).as_mut() {
        sweep(table);
    }
}

fn sweep(table: &mut Table) {
    table.waited.retain(|waited| waited.state() == FenceState::Pending);
    if !table.waited.is_empty() {
        return;
    }
    // Streams keep the memory that they still copy from or to.
    table.leaving.retain(|it| Arc::strong_count(&it.memory) > 1);
    table.pages.retain(|address, page| {
        // Streams keep the mappings whose words they may still use. Ours alone: nobody else can come by it any more.
        let needed = page.mapped.iter().any(|mapped| Arc::strong_count(mapped) > 1);
        if needed {
            return true;
        }
        if let Some(by) = &page.by
            && let Ok(_entered) = by.enter_anyway()
        {
            // SAFETY: registered by `pointer`, and mapped until `page` is dropped, right after this.
            let _ = unsafe { sys::cuMemHostUnregister(*address as *mut _) };
        }
        false
    });
}

/// A range of host memory that the device reads and writes without a detour. Ends when it is dropped, which may wait for
/// the device.
#[derive(Debug)]
pub struct HostRegistration {
    device: Arc<Device>,
    first: usize,
    /// Mapped as long as it is registered.
    memory: Arc<dyn Memory>,
}

impl HostRegistration {
    pub(super) fn new(
        device: Arc<Device>,
        memory: &Arc<dyn Memory>,
        offset: u64,
        len: u64,
    ) -> Result<Self, DomainError> {
        const ACTION: &str = "register host memory";
        check_range(memory.as_ref(), offset, len)?;
        let Some(base) = memory.host().filter(|_| len > 0) else {
            return Err(device.refuse(ACTION, "there is nothing that the CPU may touch"));
        };
        // Whole pages: the driver pins no less, and two registrations may not share one. Mappings are whole pages too.
        let begin = base as usize + offset as usize;
        let first = begin / PAGE * PAGE;
        let end = (begin + len as usize).next_multiple_of(PAGE);
        let entered = device.enter()?;
        let register = |flags: u32| {
            // SAFETY: the range is mapped, and kept so as long as it is registered.
            unsafe { sys::cuMemHostRegister_v2(first as *mut _, end - first, flags) }
        };
        let mut result = register(sys::CU_MEMHOSTREGISTER_PORTABLE);
        if result != CUresult::CUDA_SUCCESS && device.read_only {
            // Pools of other processes are mapped for reading.
            result = register(sys::CU_MEMHOSTREGISTER_PORTABLE | sys::CU_MEMHOSTREGISTER_READ_ONLY);
        }
        device.check(ACTION, result)?;
        drop(entered);
        Ok(Self { device, first, memory: memory.clone() })
    }
}

impl Drop for HostRegistration {
    fn drop(&mut self) {
        if let Ok(_entered) = self.device.enter_anyway() {
            // SAFETY: registered by `new`.
            let _ = unsafe { sys::cuMemHostUnregister(self.first as *mut _) };
        }
    }
}

/// A range of host memory that is registered until this is dropped and, after that, nobody else has the memory and no stream of this process
/// waits for a fence.
pub struct Leaving(Option<HostRegistration>);

impl Leaving {
    pub fn later(registration: HostRegistration) -> Self {
        Self(Some(registration))
    }
}

impl Drop for Leaving {
    fn drop(&mut self) {
        let mut table = lock(&TABLE);
        let table = table.get_or_insert_with(Table::default);
        table.leaving.extend(self.0.take());
        sweep(table);
    }
}
