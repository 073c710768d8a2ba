//! Memory of publishers for C: fixed slots, reservations, huge pages, NUMA nodes.

use std::ffi::c_char;

use situ_bus::RawPublisher;
use situ_memory::{Outcome, PageOptions, Strategy};

use crate::error::{Failure, guard, guard_value, situ_error, situ_status};
use crate::lender::{Lender, situ_publisher};
use crate::node::situ_node;
use crate::types::{
    FIXED_SLOTS, given, read_placement_with, read_publisher_qos, read_type, situ_placement,
    situ_publisher_qos, situ_type, target, text,
};

/// `situ_memory_options`.
#[repr(C)]
#[derive(Default)]
pub struct situ_memory_options {
    pub fixed_slots: u32,
    pub slot_size: u64,
    pub huge_pages: u32,
    pub prefer_node: u32,
    pub node: u32,
}

/// `situ_page_answer`.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum situ_page_answer {
    NotAsked = 0,
    Done = 1,
    Refused = 2,
}

/// `situ_pages`.
#[repr(C)]
#[derive(Default)]
pub struct situ_pages {
    pub huge: u32,
    pub huge_errno: i32,
    pub huge_bytes: u64,
    pub node: u32,
    pub node_errno: i32,
}

fn answer(outcome: Outcome) -> (u32, i32) {
    match outcome {
        Outcome::NotAsked => (situ_page_answer::NotAsked as u32, 0),
        Outcome::Done => (situ_page_answer::Done as u32, 0),
        Outcome::Refused(number) => (situ_page_answer::Refused as u32, number),
    }
}

/// The fixed slots of the options, if the placement's strategy has them.
fn fixed_slots(strategy: u32, memory: &situ_memory_options) -> Result<Option<Strategy>, Failure> {
    let is_given = memory.fixed_slots != 0 && memory.slot_size != 0;
    match (strategy == FIXED_SLOTS, is_given) {
        (true, true) => Ok(Some(Strategy::FixedSlots { slots: memory.fixed_slots, size: memory.slot_size })),
        (true, false) => Err(Failure::argument(format_args!(
            "SITU_FIXED_SLOTS needs `memory->fixed_slots` and `memory->slot_size`, which are {} and {}",
            memory.fixed_slots, memory.slot_size
        ))),
        (false, _) if memory.fixed_slots != 0 || memory.slot_size != 0 => {
            Err(Failure::argument(format_args!(
                "`memory` has fixed slots, but `placement->strategy` is {strategy}: SITU_FIXED_SLOTS is meant"
            )))
        }
        (false, _) => Ok(None),
    }
}

/// Joins a topic as publisher, with options for its memory.
///
/// # Safety
/// As the header says: handles are live, texts end with a zero, pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_publisher_create_with(
    node: *const situ_node,
    topic: *const c_char,
    description: *const situ_type,
    qos: *const situ_publisher_qos,
    placement: *const situ_placement,
    memory: *const situ_memory_options,
    publisher: *mut *mut situ_publisher,
    error: *mut situ_error,
) -> situ_status {
    let create = || {
        let target = target(publisher, "publisher")?;
        // SAFETY: the caller passes a live handle, texts and valid pointers.
        let (node, topic) = unsafe { (given(node, "node")?, text(topic, "topic")?) };
        // SAFETY: as above.
        let (description, (qos, stamps)) = unsafe { (read_type(description)?, read_publisher_qos(qos)?) };
        let default = situ_memory_options::default();
        // SAFETY: as above.
        let (memory, given) = unsafe { (memory.as_ref().unwrap_or(&default), placement.as_ref()) };
        let fixed = fixed_slots(given.map_or(0, |placement| placement.strategy), memory)?;
        // SAFETY: as above.
        let mut placement = unsafe { read_placement_with(placement, fixed) }?;
        let node_number = (memory.prefer_node != 0).then_some(memory.node);
        placement.pages = PageOptions { huge: memory.huge_pages != 0, node: node_number };
        let raw = RawPublisher::create_in(&node.node, topic, &description, qos, &placement)?;
        let raw = if stamps { raw } else { raw.without_stamps() };
        // SAFETY: not null, and valid for writes as the caller promises.
        unsafe { target.write(Lender::new(raw)) };
        Ok(situ_status::Ok)
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, create) }
}

/// Gives memory to messages before they are lent.
///
/// # Safety
/// `publisher` is null or a live handle that no other thread uses; `error` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_publisher_reserve(
    publisher: *mut situ_publisher,
    messages: usize,
    bytes: usize,
    error: *mut situ_error,
) -> situ_status {
    let reserve = || {
        // SAFETY: the caller's promise.
        let publisher = unsafe { given(publisher, "publisher") }?;
        publisher.raw.reserve(messages, bytes)?;
        Ok(situ_status::Ok)
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, reserve) }
}

/// What became of the wishes for pages.
///
/// # Safety
/// `publisher` is null or a live handle that no other thread uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_publisher_pages(publisher: *const situ_publisher) -> situ_pages {
    guard_value(|| {
        // SAFETY: the caller's promise.
        let Some(publisher) = (unsafe { publisher.as_ref() }) else { return Default::default() };
        let pages = publisher.raw.pages();
        let ((huge, huge_errno), (node, node_errno)) = (answer(pages.huge), answer(pages.node));
        situ_pages { huge, huge_errno, huge_bytes: pages.huge_bytes, node, node_errno }
    })
}
