//! The header's structures for types, placements and quality of service, and the functions that read them.

use std::ffi::{CStr, CString, c_char, c_void};
use std::time::Duration;

use situ_bus::{
    Durability, Encoding, History, Limits, Liveliness, Placement, PublisherQos, QosProfile, Reliability,
    Root, SubscriberQos, Trust, TypeDescription, WhenFull,
};
use situ_memory::{DomainId, HOST, PageOptions, Strategy};

use crate::error::Failure;

/// `SITU_FOREVER`.
pub const FOREVER: u64 = u64::MAX;
/// `SITU_NO_GROUP`.
pub const NO_GROUP: u32 = u32::MAX;
/// `SITU_FIXED_SLOTS`.
pub const FIXED_SLOTS: u32 = 2;
/// `SITU_DEFAULT_DOMAIN`.
pub const DEFAULT_DOMAIN: u32 = u32::MAX;

/// `situ_root`.
#[repr(C)]
pub struct situ_root {
    pub path: *const c_char,
    pub group: u32,
    pub graph_domain: u32,
}

/// `situ_type`.
#[repr(C)]
pub struct situ_type {
    pub name: *const c_char,
    pub schema: *const c_char,
    pub schema_hash: u64,
    pub layout_hash: u64,
    pub encoding: u32,
    pub fixed_size: u32,
    pub user_header_size: u32,
}

/// `situ_placement`.
#[repr(C)]
pub struct situ_placement {
    pub domain: *const c_char,
    pub capacity: u64,
    pub eager_copies: u32,
    pub strategy: u32,
    pub serialized: u32,
}

/// Reads a memory domain from C. Null is the host.
///
/// # Safety
/// `name` is null or a text.
pub unsafe fn read_domain(name: *const c_char, what: &str) -> Result<DomainId, Failure> {
    if name.is_null() {
        return Ok(HOST);
    }
    // SAFETY: the caller's promise.
    let name = unsafe { text(name, what) }?;
    name.parse().map_err(|error| Failure::argument(format_args!("`{what}`: {error}")))
}

/// The placement of bodies or copies.
///
/// # Safety
/// `placement` is null or valid for reads, and its domain null or a text.
pub unsafe fn read_placement(placement: *const situ_placement) -> Result<Placement, Failure> {
    // SAFETY: the caller's promise is passed on.
    unsafe { read_placement_with(placement, None) }
}

/// The same, with the strategy that `SITU_FIXED_SLOTS` means.
///
/// # Safety
/// As for [`read_placement`].
pub unsafe fn read_placement_with(
    placement: *const situ_placement,
    fixed: Option<Strategy>,
) -> Result<Placement, Failure> {
    // SAFETY: the caller's promise.
    let Some(placement) = (unsafe { placement.as_ref() }) else { return Ok(Placement::default()) };
    Ok(Placement {
        // SAFETY: the caller's promise.
        domain: unsafe { read_domain(placement.domain, "placement->domain") }?,
        capacity: (placement.capacity != 0).then_some(placement.capacity),
        eager_copies: placement.eager_copies != 0,
        serialized: placement.serialized != 0,
        pages: PageOptions::default(),
        strategy: match (placement.strategy, fixed) {
            (0, _) => Strategy::SizeClasses,
            (1, _) => Strategy::Ring,
            (FIXED_SLOTS, Some(fixed)) => fixed,
            (FIXED_SLOTS, None) => {
                let what =
                    format_args!("SITU_FIXED_SLOTS needs situ_publisher_create_with, of situ/memory.h");
                return Err(Failure::argument(what));
            }
            (other, _) => {
                let what = format_args!("`placement->strategy` is {other}, which is not a situ_strategy");
                return Err(Failure::argument(what));
            }
        },
    })
}

/// `situ_publisher_qos`.
#[repr(C)]
pub struct situ_publisher_qos {
    pub reliability: u32,
    pub durability: u32,
    pub depth: u64,
    pub block_ns: u64,
    pub deadline_ns: u64,
    pub lifespan_ns: u64,
    pub without_stamps: u32,
    pub trim_above: u64,
    pub user_data: *const c_void,
    pub user_data_size: usize,
    pub liveliness: u32,
    pub best_available: u32,
    pub lease_ns: u64,
}

/// `situ_subscriber_qos`.
#[repr(C)]
pub struct situ_subscriber_qos {
    pub reliability: u32,
    pub durability: u32,
    pub keep_last: u64,
    pub deadline_ns: u64,
    pub trust: u32,
    pub max_message: u64,
    pub max_pool: u64,
    pub max_held: u64,
    pub user_data: *const c_void,
    pub user_data_size: usize,
    pub liveliness: u32,
    pub best_available: u32,
    pub lease_ns: u64,
}

fn ns_of(time: Option<Duration>) -> u64 {
    time.map_or(0, |time| u64::try_from(time.as_nanos()).unwrap_or(FOREVER))
}

impl From<PublisherQos> for situ_publisher_qos {
    fn from(qos: PublisherQos) -> Self {
        Self {
            reliability: u32::from(qos.reliability == Reliability::Reliable),
            durability: u32::from(qos.durability == Durability::TransientLocal),
            depth: qos.depth as u64,
            block_ns: match qos.when_full {
                WhenFull::Fail => 0,
                WhenFull::Block(None) => FOREVER,
                WhenFull::Block(limit) => ns_of(limit),
            },
            deadline_ns: ns_of(qos.deadline),
            lifespan_ns: ns_of(qos.lifespan),
            without_stamps: 0,
            trim_above: qos.trim_above.unwrap_or(u64::MAX),
            user_data: std::ptr::null(),
            user_data_size: 0,
            liveliness: u32::from(qos.liveliness == Liveliness::ManualByTopic),
            best_available: u32::from(qos.best_available),
            lease_ns: ns_of(qos.lease),
        }
    }
}

impl From<SubscriberQos> for situ_subscriber_qos {
    fn from(qos: SubscriberQos) -> Self {
        Self {
            reliability: u32::from(qos.reliability == Reliability::Reliable),
            durability: u32::from(qos.durability == Durability::TransientLocal),
            keep_last: match qos.history {
                History::KeepAll => 0,
                History::KeepLast(last) => last as u64,
            },
            deadline_ns: ns_of(qos.deadline),
            trust: 0,
            max_message: qos.limits.message,
            max_pool: qos.limits.pool,
            max_held: 0,
            user_data: std::ptr::null(),
            user_data_size: 0,
            liveliness: u32::from(qos.liveliness == Liveliness::ManualByTopic),
            best_available: u32::from(qos.best_available),
            lease_ns: ns_of(qos.lease),
        }
    }
}

/// Best effort, volatile, a depth of 8, one second to block, no limits.
#[unsafe(no_mangle)]
pub extern "C" fn situ_publisher_qos_default() -> situ_publisher_qos {
    PublisherQos::default().into()
}

/// Best effort, volatile, all messages, no expectation. Reads a message in place if only the same user may
/// write to it.
#[unsafe(no_mangle)]
pub extern "C" fn situ_subscriber_qos_default() -> situ_subscriber_qos {
    SubscriberQos::default().into()
}

/// The numbers of `situ_qos_profile`.
pub const PROFILES: [QosProfile; 7] = [
    QosProfile::Default,
    QosProfile::SensorData,
    QosProfile::Services,
    QosProfile::Parameters,
    QosProfile::ParameterEvents,
    QosProfile::SystemDefault,
    QosProfile::BestAvailable,
];

fn profile(number: u32) -> QosProfile {
    *PROFILES.get(number as usize).unwrap_or(&QosProfile::SystemDefault)
}

/// What a profile of ROS offers.
#[unsafe(no_mangle)]
pub extern "C" fn situ_publisher_qos_profile(number: u32) -> situ_publisher_qos {
    PublisherQos::from(profile(number)).into()
}

/// What a profile of ROS requests.
#[unsafe(no_mangle)]
pub extern "C" fn situ_subscriber_qos_profile(number: u32) -> situ_subscriber_qos {
    SubscriberQos::from(profile(number)).into()
}

/// The target of a pointer. Fails for null.
///
/// # Safety
/// `pointer` is null or valid for reads for as long as the result is used.
#[inline]
pub unsafe fn given<'a, T>(pointer: *const T, what: &str) -> Result<&'a T, Failure> {
    // SAFETY: the caller's promise.
    unsafe { pointer.as_ref() }.ok_or_else(|| missing(what))
}

/// The pointer itself. Fails for null.
#[inline]
pub fn target<T>(pointer: *mut T, what: &str) -> Result<*mut T, Failure> {
    if pointer.is_null() { Err(missing(what)) } else { Ok(pointer) }
}

#[cold]
fn missing(what: &str) -> Failure {
    Failure::argument(format_args!("`{what}` is NULL"))
}

/// A text from C.
///
/// # Safety
/// `pointer` is null or leads to a text that ends with a zero.
pub unsafe fn text<'a>(pointer: *const c_char, what: &str) -> Result<&'a str, Failure> {
    if pointer.is_null() {
        return Err(missing(what));
    }
    // SAFETY: the caller's promise.
    let text = unsafe { CStr::from_ptr(pointer) };
    text.to_str()
        .map_err(|error| Failure::argument(format_args!("`{what}` is not UTF-8 text: {error} ({text:?})")))
}

/// Bytes from C.
///
/// # Safety
/// `pointer` is null or valid for reads of `size` bytes.
pub unsafe fn bytes(pointer: *const c_void, size: usize, what: &str) -> Result<Vec<u8>, Failure> {
    match (size, pointer.is_null()) {
        (0, _) => Ok(Vec::new()),
        (_, true) => Err(missing(what)),
        // SAFETY: not null, and valid for reads as the caller promises.
        _ => Ok(unsafe { std::slice::from_raw_parts(pointer.cast::<u8>(), size) }.to_vec()),
    }
}

/// Converts a text for C. A zero within it is replaced, because C could not show it.
pub fn c_text(text: &str) -> CString {
    CString::new(text.replace('\0', "\u{fffd}")).unwrap_or_default()
}

/// A time limit from C.
#[inline]
pub fn limit(nanoseconds: u64) -> Option<Duration> {
    (nanoseconds != FOREVER).then(|| Duration::from_nanos(nanoseconds))
}

/// Converts a period from C. Returns `None` for 0.
fn period(nanoseconds: u64) -> Option<Duration> {
    (nanoseconds != 0).then(|| Duration::from_nanos(nanoseconds))
}

/// A number from C that counts something.
pub fn number(value: u64, what: &str) -> Result<usize, Failure> {
    usize::try_from(value)
        .map_err(|_| Failure::argument(format_args!("`{what}` is {value}, which is too large")))
}

fn reliability(value: u32) -> Result<Reliability, Failure> {
    match value {
        0 => Ok(Reliability::BestEffort),
        1 => Ok(Reliability::Reliable),
        other => Err(Failure::argument(format_args!(
            "`reliability` is {other}; there are SITU_BEST_EFFORT (0) and SITU_RELIABLE (1)"
        ))),
    }
}

fn durability(value: u32) -> Result<Durability, Failure> {
    match value {
        0 => Ok(Durability::Volatile),
        1 => Ok(Durability::TransientLocal),
        other => Err(Failure::argument(format_args!(
            "`durability` is {other}; there are SITU_VOLATILE (0) and SITU_TRANSIENT_LOCAL (1)"
        ))),
    }
}

fn liveliness(value: u32) -> Result<Liveliness, Failure> {
    match value {
        0 => Ok(Liveliness::Automatic),
        1 => Ok(Liveliness::ManualByTopic),
        other => Err(Failure::argument(format_args!(
            "`liveliness` is {other}; there are SITU_AUTOMATIC (0) and SITU_MANUAL_BY_TOPIC (1)"
        ))),
    }
}

/// The publishers that a subscriber trusts: a `situ_trust`.
pub fn trust(value: u32) -> Result<Trust, Failure> {
    match value {
        0 => Ok(Trust::SameUser),
        1 => Ok(Trust::Everyone),
        2 => Ok(Trust::Nobody),
        other => Err(Failure::argument(format_args!("`trust` is {other}, which is not a situ_trust"))),
    }
}

/// An encoding from C.
#[inline]
pub fn encoding(value: u32) -> Result<Encoding, Failure> {
    Encoding::from_number(value).ok_or_else(|| {
        Failure::argument(format_args!(
            "`encoding` is {value}; there are SITU_FLAT (1), SITU_XCDR1 (2), SITU_XCDR2 (3) and SITU_REGION (4)"
        ))
    })
}

/// The root directory.
///
/// # Safety
/// `root` is null or valid for reads, and its path a text.
pub unsafe fn read_root(root: *const situ_root) -> Result<Root, Failure> {
    // SAFETY: the caller's promise.
    let Some(root) = (unsafe { root.as_ref() }) else { return Ok(Root::from_environment()?) };
    let found = if root.path.is_null() {
        Root::from_environment()?
    } else {
        // SAFETY: the caller's promise.
        let path = unsafe { text(root.path, "root->path") }?;
        Root::at(path, (root.group != NO_GROUP).then_some(root.group))
    };
    match root.graph_domain {
        DEFAULT_DOMAIN => Ok(found),
        domain => Ok(found.in_graph_domain(domain)?),
    }
}

/// # Safety
/// `description` is null or valid for reads, and its name and schema are texts.
pub unsafe fn read_type(description: *const situ_type) -> Result<TypeDescription, Failure> {
    // SAFETY: the caller's promise.
    let description = unsafe { given(description, "type") }?;
    // SAFETY: the caller's promise, for both texts.
    let (name, schema) =
        unsafe { (text(description.name, "type->name")?, text(description.schema, "type->schema")?) };
    Ok(TypeDescription {
        name: name.to_owned(),
        schema: schema.to_owned(),
        schema_hash: description.schema_hash,
        layout_hash: description.layout_hash,
        encoding: encoding(description.encoding)?,
        fixed_size: description.fixed_size,
        user_header_size: description.user_header_size,
    })
}

/// The quality of service of a publisher, and whether its messages carry time stamps.
///
/// # Safety
/// `qos` is null or valid for reads, and so are its user data.
pub unsafe fn read_publisher_qos(qos: *const situ_publisher_qos) -> Result<(PublisherQos, bool), Failure> {
    // SAFETY: the caller's promise.
    let Some(qos) = (unsafe { qos.as_ref() }) else { return Ok((PublisherQos::default(), true)) };
    let read = PublisherQos {
        reliability: reliability(qos.reliability)?,
        durability: durability(qos.durability)?,
        depth: number(qos.depth, "depth")?,
        when_full: match qos.block_ns {
            0 => WhenFull::Fail,
            time => WhenFull::Block(limit(time)),
        },
        deadline: period(qos.deadline_ns),
        lifespan: period(qos.lifespan_ns),
        trim_above: (qos.trim_above != u64::MAX).then_some(qos.trim_above),
        // SAFETY: the caller's promise.
        user_data: unsafe { bytes(qos.user_data, qos.user_data_size, "user_data") }?,
        liveliness: liveliness(qos.liveliness)?,
        lease: period(qos.lease_ns),
        best_available: qos.best_available != 0,
    };
    Ok((read, qos.without_stamps == 0))
}

/// The quality of service of a subscriber.
///
/// # Safety
/// `qos` is null or valid for reads, and so are its user data.
pub unsafe fn read_subscriber_qos(qos: *const situ_subscriber_qos) -> Result<SubscriberQos, Failure> {
    // SAFETY: the caller's promise.
    let Some(qos) = (unsafe { qos.as_ref() }) else { return Ok(SubscriberQos::default()) };
    Ok(SubscriberQos {
        reliability: reliability(qos.reliability)?,
        durability: durability(qos.durability)?,
        history: match number(qos.keep_last, "keep_last")? {
            0 => History::KeepAll,
            last => History::KeepLast(last),
        },
        deadline: period(qos.deadline_ns),
        trust: trust(qos.trust)?,
        limits: Limits { message: qos.max_message, pool: qos.max_pool },
        max_held: match number(qos.max_held, "max_held")? {
            0 => SubscriberQos::default().max_held,
            held => held,
        },
        // SAFETY: the caller's promise.
        user_data: unsafe { bytes(qos.user_data, qos.user_data_size, "user_data") }?,
        liveliness: liveliness(qos.liveliness)?,
        lease: period(qos.lease_ns),
        best_available: qos.best_available != 0,
        reception_times: false,
    })
}
