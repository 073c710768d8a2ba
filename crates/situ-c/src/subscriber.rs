//! Subscribers and samples for C.

use std::cell::OnceCell;
use std::ffi::{c_char, c_int, c_void};
use std::os::fd::{AsFd, AsRawFd};
use std::ptr::null;

use situ_bus::{EventFd, RawSample, RawSubscriber, wait_any};

use crate::error::{Failure, guard, guard_value, situ_error, situ_status};
use crate::node::situ_node;
use crate::types::{
    given, limit, read_placement, read_subscriber_qos, read_type, situ_placement, situ_subscriber_qos,
    situ_type, target, text,
};

/// `situ_subscriber`.
pub struct situ_subscriber {
    pub(crate) raw: RawSubscriber,
    event: OnceCell<EventFd>,
}

/// The `state_` of a sample that holds a message: a number that uninitialized memory is unlikely to contain.
const HELD: u32 = 0x5361_6d70;
const HELD_WORDS: usize = 12;

/// `situ_sample`.
#[repr(C)]
pub struct situ_sample {
    pub head: *const c_void,
    pub head_size: usize,
    pub body: *const c_void,
    pub body_size: usize,
    pub sequence: u64,
    pub published_at_ns: u64,
    pub publisher: u64,
    pub encoding: u32,
    state: u32,
    held: [u64; HELD_WORDS],
}

const _: () = assert!(size_of::<RawSample>() <= size_of::<[u64; HELD_WORDS]>());
const _: () = assert!(align_of::<RawSample>() <= align_of::<u64>());

/// `situ_subscriber_statistics`.
#[repr(C)]
#[derive(Default)]
pub struct situ_subscriber_statistics {
    pub taken: u64,
    pub lost: u64,
    pub skipped: u64,
    pub expired: u64,
    pub deadlines_missed: u64,
    pub publishers: u64,
    pub next: u64,
    pub published: u64,
}

impl situ_sample {
    /// Stores a sample in the caller's structure.
    ///
    /// # Safety
    /// `target` is valid for writes.
    #[inline]
    pub(crate) unsafe fn write(target: *mut Self, raw: RawSample) {
        let (head, body_size) = (raw.head(), raw.body_size());
        // A body on a device has a size, but no address that C can use.
        let body = if raw.body().len() == body_size { raw.body().as_ptr() } else { null() };
        // SAFETY: the caller's promise; the fields are written one by one, because `held` may have
        // uninitialized bytes.
        unsafe {
            (&raw mut (*target).head).write(head.as_ptr().cast());
            (&raw mut (*target).head_size).write(head.len());
            (&raw mut (*target).body).write(body.cast());
            (&raw mut (*target).body_size).write(body_size);
            (&raw mut (*target).sequence).write(raw.sequence());
            (&raw mut (*target).published_at_ns).write(raw.published_at_ns());
            (&raw mut (*target).publisher).write(raw.publisher().0);
            (&raw mut (*target).encoding).write(raw.encoding() as u32);
            (&raw mut (*target).state).write(HELD);
            (&raw mut (*target).held).cast::<RawSample>().write(raw);
        }
    }

    /// Makes the caller's structure hold no message.
    ///
    /// # Safety
    /// `target` is valid for writes.
    pub(crate) unsafe fn write_none(target: *mut Self) {
        // SAFETY: the caller's promise.
        unsafe {
            (&raw mut (*target).head).write(null());
            (&raw mut (*target).head_size).write(0);
            (&raw mut (*target).body).write(null());
            (&raw mut (*target).body_size).write(0);
            (&raw mut (*target).state).write(0);
        }
    }
}

/// Joins a topic as subscriber.
///
/// # Safety
/// As the header says: handles are live, texts end with a zero, pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_subscriber_create(
    node: *const situ_node,
    topic: *const c_char,
    description: *const situ_type,
    qos: *const situ_subscriber_qos,
    subscriber: *mut *mut situ_subscriber,
    error: *mut situ_error,
) -> situ_status {
    // SAFETY: the caller's promise is passed on.
    unsafe { situ_subscriber_create_in(node, topic, description, qos, null(), subscriber, error) }
}

/// Joins a topic as subscriber, in a memory domain.
///
/// # Safety
/// As for [`situ_subscriber_create`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_subscriber_create_in(
    node: *const situ_node,
    topic: *const c_char,
    description: *const situ_type,
    qos: *const situ_subscriber_qos,
    placement: *const situ_placement,
    subscriber: *mut *mut situ_subscriber,
    error: *mut situ_error,
) -> situ_status {
    let create = || {
        let target = target(subscriber, "subscriber")?;
        // SAFETY: the caller passes a live handle, texts and valid pointers.
        let (node, topic) = unsafe { (given(node, "node")?, text(topic, "topic")?) };
        // SAFETY: as above.
        let (description, qos) = unsafe { (read_type(description)?, read_subscriber_qos(qos)?) };
        // SAFETY: as above.
        let placement = unsafe { read_placement(placement) }?;
        let raw = RawSubscriber::create_in(&node.node, topic, &description, qos, &placement)?;
        // SAFETY: not null, and valid for writes as the caller promises.
        unsafe { target.write(Box::into_raw(Box::new(situ_subscriber { raw, event: OnceCell::new() }))) };
        Ok(situ_status::Ok)
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, create) }
}

/// Leaves the topic. Samples stay valid.
///
/// # Safety
/// `subscriber` is null, or a live handle that is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_subscriber_destroy(subscriber: *mut situ_subscriber) {
    if !subscriber.is_null() {
        // SAFETY: it came from `Box::into_raw`, and the caller gives it up.
        guard_value(|| drop(unsafe { Box::from_raw(subscriber) }));
    }
}

/// Takes the next message, if there is one.
///
/// # Safety
/// `subscriber` is null or a live handle that no other thread uses; the others are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_subscriber_take(
    subscriber: *mut situ_subscriber,
    sample: *mut situ_sample,
    error: *mut situ_error,
) -> situ_status {
    let take = || {
        let target = target(sample, "sample")?;
        // SAFETY: the caller's promise.
        let subscriber = unsafe { given(subscriber, "subscriber") }?;
        let Some(raw) = subscriber.raw.take()? else { return Ok(situ_status::Empty) };
        // SAFETY: not null, and valid as the caller promises.
        unsafe { situ_sample::write(target, raw) };
        Ok(situ_status::Ok)
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, take) }
}

/// The message that a sample holds.
///
/// # Safety
/// `sample` is null, all zero, or was taken and not copied since; it is not released while the result is
/// used.
pub(crate) unsafe fn held<'a>(sample: *const situ_sample) -> Result<&'a RawSample, Failure> {
    let sample = target(sample.cast_mut(), "sample")?;
    // SAFETY: the caller's promise; only the state is known to be initialized.
    if unsafe { (&raw const (*sample).state).read() } != HELD {
        return Err(Failure::argument("`sample` holds no message: it was released, or never taken"));
    }
    // SAFETY: `write` stored it.
    Ok(unsafe { &*(&raw const (*sample).held).cast::<RawSample>() })
}

/// Takes the message out of a sample. Afterwards the sample holds no message.
///
/// # Safety
/// `sample` is null, all zero, or was taken and not copied since.
pub(crate) unsafe fn let_go(sample: *mut situ_sample) -> Option<RawSample> {
    if sample.is_null() {
        return None;
    }
    // SAFETY: the caller's promise; only the state is known to be initialized.
    if unsafe { std::mem::replace(&mut (*sample).state, 0) } != HELD {
        return None;
    }
    // SAFETY: `write` stored it, and the state, reset above, ensures that it is read only once.
    let raw = unsafe { (&raw const (*sample).held).cast::<RawSample>().read() };
    // SAFETY: valid, as above.
    unsafe {
        (&raw mut (*sample).head).write(null());
        (&raw mut (*sample).head_size).write(0);
        (&raw mut (*sample).body).write(null());
        (&raw mut (*sample).body_size).write(0);
    }
    Some(raw)
}

/// Releases a message.
///
/// # Safety
/// `sample` is null, all zero, or was taken and not copied since.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_sample_release(sample: *mut situ_sample) {
    // SAFETY: the caller's promise.
    guard_value(|| drop(unsafe { let_go(sample) }));
}

/// Whether a sample is read from a private copy, because its publisher is not trusted.
///
/// # Safety
/// As for [`situ_sample_release`], and the sample is not released meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_sample_is_copy(sample: *const situ_sample) -> u32 {
    // SAFETY: the caller's promise.
    guard_value(|| unsafe { held(sample) }.map_or(0, |raw| u32::from(raw.is_copy())))
}

/// Fails in a forked child.
pub(crate) fn check_process(subscriber: &situ_subscriber) -> Result<(), Failure> {
    if subscriber.raw.is_inherited() {
        return Err(Failure::forked("topic", subscriber.raw.topic()));
    }
    Ok(())
}

/// Returns the subscribers of `count` handles. Fails if one of them is a forked child's copy.
///
/// # Safety
/// `subscribers` is null or leads to `count` pointers. Each is null or a live handle that no other thread
/// uses while the result is used.
pub(crate) unsafe fn raw_of<'a>(
    subscribers: *const *mut situ_subscriber,
    count: usize,
) -> Result<Vec<&'a RawSubscriber>, Failure> {
    let first = target(subscribers.cast_mut(), "subscribers")?.cast_const();
    if count == 0 {
        return Err(Failure::argument("`count` is 0: there is nothing to wait for"));
    }
    // SAFETY: not null, and `count` pointers as the caller promises.
    let handles = unsafe { std::slice::from_raw_parts(first, count) };
    let mut raw = Vec::with_capacity(count);
    for handle in handles {
        // SAFETY: the caller's promise.
        let subscriber: &'a situ_subscriber = unsafe { given(*handle, "subscribers[i]") }?;
        check_process(subscriber)?;
        raw.push(&subscriber.raw);
    }
    Ok(raw)
}

pub(crate) fn found(anything: bool) -> situ_status {
    if anything { situ_status::Ok } else { situ_status::Empty }
}

/// Waits until a message can be taken.
///
/// # Safety
/// As for [`situ_subscriber_take`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_subscriber_wait(
    subscriber: *mut situ_subscriber,
    timeout_ns: u64,
    error: *mut situ_error,
) -> situ_status {
    let wait = || {
        // SAFETY: the caller's promise.
        let subscriber = unsafe { given(subscriber, "subscriber") }?;
        check_process(subscriber)?;
        Ok(found(subscriber.raw.wait(limit(timeout_ns))))
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, wait) }
}

/// Waits until one of several subscribers has a message.
///
/// # Safety
/// `subscribers` leads to `count` pointers, each as for [`situ_subscriber_take`]; the others are null or
/// valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_wait_any(
    subscribers: *const *mut situ_subscriber,
    count: usize,
    timeout_ns: u64,
    index: *mut usize,
    error: *mut situ_error,
) -> situ_status {
    let wait = || {
        let target = target(index, "index")?;
        // SAFETY: the caller's promise.
        let raw = unsafe { raw_of(subscribers, count) }?;
        let ready = wait_any(&raw, limit(timeout_ns));
        if let Some(ready) = ready {
            // SAFETY: not null, and valid as the caller promises.
            unsafe { target.write(ready) };
        }
        Ok(found(ready.is_some()))
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, wait) }
}

/// Returns a descriptor that is readable when a message was published.
///
/// # Safety
/// As for [`situ_subscriber_take`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_subscriber_fd(
    subscriber: *mut situ_subscriber,
    fd: *mut c_int,
    error: *mut situ_error,
) -> situ_status {
    let make = || {
        let target = target(fd, "fd")?;
        // SAFETY: the caller's promise.
        let subscriber = unsafe { given(subscriber, "subscriber") }?;
        check_process(subscriber)?;
        let event = match subscriber.event.get() {
            Some(event) => event,
            None => {
                let made = subscriber.raw.event_fd().map_err(|error| {
                    Failure::new(
                        situ_status::System,
                        format_args!(
                            "cannot make an event descriptor for topic {:?}: {error}",
                            subscriber.raw.topic()
                        ),
                    )
                })?;
                subscriber.event.get_or_init(|| made)
            }
        };
        // SAFETY: not null, and valid as the caller promises.
        unsafe { target.write(event.as_fd().as_raw_fd()) };
        Ok(situ_status::Ok)
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, make) }
}

/// Makes the descriptor unreadable until the next message.
///
/// # Safety
/// As for [`situ_subscriber_take`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_subscriber_clear_fd(subscriber: *mut situ_subscriber) {
    guard_value(|| {
        // SAFETY: the caller's promise.
        let subscriber = unsafe { subscriber.as_ref() };
        if let Some(event) = subscriber.and_then(|subscriber| subscriber.event.get()) {
            event.clear();
        }
    });
}

/// Writes the 16 bytes of a subscriber's id; zeroes for a null handle.
///
/// # Safety
/// `subscriber` is null or a live handle that no other thread uses; `id` is null or has room for 16 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_subscriber_id(subscriber: *const situ_subscriber, id: *mut u8) {
    guard_value(|| {
        // SAFETY: the caller's promise.
        let bytes = unsafe { subscriber.as_ref() }.map_or([0; 16], |it| it.raw.id().to_bytes());
        if !id.is_null() {
            // SAFETY: not null, and with room for 16 bytes as the caller promises.
            unsafe { id.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        }
    });
}

/// The statistics of a subscriber.
///
/// # Safety
/// As for [`situ_subscriber_take`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_subscriber_get_statistics(
    subscriber: *const situ_subscriber,
) -> situ_subscriber_statistics {
    guard_value(|| {
        // SAFETY: the caller's promise.
        let Some(subscriber) = (unsafe { subscriber.as_ref() }) else { return Default::default() };
        let raw = &subscriber.raw;
        situ_subscriber_statistics {
            taken: raw.taken(),
            lost: raw.lost(),
            skipped: raw.skipped(),
            expired: raw.expired(),
            deadlines_missed: raw.deadlines_missed(),
            publishers: raw.publishers() as u64,
            next: raw.cursor(),
            published: raw.published(),
        }
    })
}
