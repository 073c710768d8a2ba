//! Cyclone DDS for the tables `domains` and `graphs`: blocks of any size, serialized into shared memory and
//! out of it. A small library of ours (`peers/cyclonedds/transport.cpp`) wraps its C library. It is loaded
//! when it is needed, so this program builds and runs without it.

use std::cell::{Cell, RefCell, RefMut};
use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr::NonNull;
use std::rc::Rc;
use std::time::{Duration, Instant};

use super::{Channel, Loan, Message, Receiver, Sender, System};
use crate::driver::peers_directory;
use crate::failure::Failure;
use crate::payload::{self, Found, HEADER, Touch};
use crate::session::Session;

const NAME: &str = "cyclonedds";
const LIBRARY: &str = "libtransport-cyclonedds.so";
const MATCH_LIMIT: Duration = Duration::from_secs(10);

/// An object of the library.
type Endpoint = NonNull<c_void>;

/// The library's functions, as transport.cpp defines them.
struct Library {
    error: unsafe extern "C" fn() -> *const c_char,
    participant: unsafe extern "C" fn(u32) -> i32,
    leave: unsafe extern "C" fn(i32),
    open: unsafe extern "C" fn(i32, *const c_char, bool) -> *mut c_void,
    close: unsafe extern "C" fn(Endpoint),
    matched: unsafe extern "C" fn(Endpoint) -> i32,
    write: unsafe extern "C" fn(Endpoint, u64, u64, *mut u8, u32) -> i32,
    take: unsafe extern "C" fn(Endpoint, *mut u64, *mut u64, *mut *const u8, *mut u32) -> i32,
    give_back: unsafe extern "C" fn(Endpoint),
    wait: unsafe extern "C" fn(Endpoint) -> i32,
}

fn failure(what: &'static str, why: impl Into<String>) -> Failure {
    Failure::System { system: NAME, what, why: why.into() }
}

impl Library {
    #[allow(clippy::missing_transmute_annotations, reason = "the fields declare the types")]
    fn load() -> Result<Self, Failure> {
        let path = peers_directory().join(LIBRARY);
        if !path.is_file() {
            let reason = std::fs::read_to_string(peers_directory().join("peer-cyclonedds.absent"))
                .unwrap_or_else(|_| format!("{} is not built; run bench/setup.sh", path.display()));
            return Err(failure("load", reason.trim()));
        }
        let path =
            CString::new(path.display().to_string()).map_err(|error| failure("load", error.to_string()))?;
        // SAFETY: the path ends in NUL. Loading runs the initialization of Cyclone and of the C++ library.
        // The library is never unloaded.
        let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if handle.is_null() {
            // SAFETY: after a failure there is a text that ends in NUL. It is valid until the next call of
            // this thread.
            let why = unsafe { CStr::from_ptr(libc::dlerror()) }.to_string_lossy().into_owned();
            return Err(failure("dlopen", why));
        }
        macro_rules! symbol {
            ($name:literal) => {{
                // SAFETY: the handle is open, and the name ends in NUL.
                let address = unsafe { libc::dlsym(handle, $name.as_ptr()) };
                if address.is_null() {
                    return Err(failure("dlsym", $name.to_string_lossy()));
                }
                // SAFETY: transport.cpp defines the function with the type of this field.
                unsafe { std::mem::transmute::<*mut c_void, _>(address) }
            }};
        }
        Ok(Self {
            error: symbol!(c"transport_error"),
            participant: symbol!(c"transport_participant"),
            leave: symbol!(c"transport_leave"),
            open: symbol!(c"transport_open"),
            close: symbol!(c"transport_close"),
            matched: symbol!(c"transport_matched"),
            write: symbol!(c"transport_write"),
            take: symbol!(c"transport_take"),
            give_back: symbol!(c"transport_return"),
            wait: symbol!(c"transport_wait"),
        })
    }

    fn why(&self, what: &'static str) -> Failure {
        // SAFETY: the text ends in NUL, and is valid until this thread's next call into the library.
        let why = unsafe { CStr::from_ptr((self.error)()) };
        failure(what, why.to_string_lossy())
    }

    fn check(&self, what: &'static str, result: i32) -> Result<i32, Failure> {
        if result < 0 { Err(self.why(what)) } else { Ok(result) }
    }
}

struct Participant {
    library: Library,
    handle: i32,
}

impl Drop for Participant {
    fn drop(&mut self) {
        // SAFETY: the participant is open. Its endpoints keep it alive, so they are gone.
        unsafe { (self.library.leave)(self.handle) };
    }
}

/// A participant.
pub struct Cyclone {
    participant: Rc<Participant>,
}

struct Port {
    endpoint: Endpoint,
    participant: Rc<Participant>,
}

impl Port {
    fn open(participant: &Rc<Participant>, channel: &Channel, writes: bool) -> Result<Self, Failure> {
        let name = CString::new(channel.name.replace('-', "_"))
            .map_err(|error| failure("open", error.to_string()))?;
        // SAFETY: the participant is open, and the name ends in NUL.
        let endpoint = unsafe { (participant.library.open)(participant.handle, name.as_ptr(), writes) };
        let endpoint = NonNull::new(endpoint).ok_or_else(|| participant.library.why("open"))?;
        Ok(Self { endpoint, participant: Rc::clone(participant) })
    }

    fn library(&self) -> &Library {
        &self.participant.library
    }

    /// Waits for `count` matched endpoints of the other side.
    fn connect(&self, others: usize) -> Result<(), Failure> {
        let deadline = Instant::now() + MATCH_LIMIT;
        loop {
            // SAFETY: the endpoint is open.
            let found = self.library().check("match", unsafe { (self.library().matched)(self.endpoint) })?;
            if found as usize >= others {
                return Ok(());
            }
            if Instant::now() > deadline {
                return Err(failure("match", format!("only {found} of {others} after {MATCH_LIMIT:?}")));
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        // SAFETY: the endpoint was opened once, and is closed once.
        unsafe { (self.library().close)(self.endpoint) };
    }
}

impl System for Cyclone {
    const NAME: &'static str = NAME;
    /// Serializing is one copy, deserializing another.
    const COPIES: (u64, u64) = (1, 1);
    /// The shared-memory connection comes after the match: iceoryx's daemon connects within its cycle of 100
    /// ms.
    const SETTLING: Duration = Duration::from_millis(300);
    type Sender = CycloneSender;
    type Receiver = CycloneReceiver;

    fn create(session: &Session) -> Result<Self, Failure> {
        let library = Library::load()?;
        // SAFETY: the call only takes a number.
        let handle = unsafe { (library.participant)(session.domain()) };
        let handle = library.check("participant", handle)?;
        Ok(Self { participant: Rc::new(Participant { library, handle }) })
    }

    fn sender(&self, channel: &Channel) -> Result<CycloneSender, Failure> {
        let port = Port::open(&self.participant, channel, true)?;
        // Writes the memory once, so that the timed part touches no page for the first time.
        let bytes = RefCell::new(vec![1; channel.size - HEADER]);
        Ok(CycloneSender { port, places: channel.places, bytes })
    }

    fn receiver(&self, channel: &Channel) -> Result<CycloneReceiver, Failure> {
        Ok(CycloneReceiver { port: Port::open(&self.participant, channel, false)?, lent: Cell::new(false) })
    }
}

/// A writer, and the memory from which it serializes.
pub struct CycloneSender {
    port: Port,
    places: usize,
    bytes: RefCell<Vec<u8>>,
}

impl Sender for CycloneSender {
    type Loan<'a> = CycloneLoan<'a>;

    fn connect(&self) -> Result<(), Failure> {
        self.port.connect(self.places)
    }

    fn loan(&self, _size: usize) -> Result<CycloneLoan<'_>, Failure> {
        Ok(CycloneLoan { port: &self.port, bytes: self.bytes.borrow_mut(), sequence: 0, time: 0 })
    }
}

/// A message in the writer's memory.
pub struct CycloneLoan<'a> {
    port: &'a Port,
    bytes: RefMut<'a, Vec<u8>>,
    sequence: u64,
    time: u64,
}

impl Loan for CycloneLoan<'_> {
    fn write(&mut self, sequence: u64, time: u64, touch: Touch) -> Result<(), Failure> {
        (self.sequence, self.time) = (sequence, time);
        payload::fill(&mut self.bytes, sequence, touch);
        Ok(())
    }

    fn data(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    fn publish(mut self) -> Result<(), Failure> {
        let library = self.port.library();
        let (address, length) = (self.bytes.as_mut_ptr(), self.bytes.len() as u32);
        // SAFETY: the endpoint is a writer. The library reads these bytes only during the call.
        let result =
            unsafe { (library.write)(self.port.endpoint, self.sequence, self.time, address, length) };
        library.check("write", result).map(drop)
    }
}

/// A reader.
pub struct CycloneReceiver {
    port: Port,
    /// Whether a message is held. The library keeps one at a time.
    lent: Cell<bool>,
}

/// A deserialized message. It is returned on drop.
pub struct CycloneMessage<'a> {
    receiver: &'a CycloneReceiver,
    sequence: u64,
    time: u64,
    data: &'a [u8],
}

impl Message for CycloneMessage<'_> {
    fn read(&self, touch: Touch) -> Result<Found, Failure> {
        payload::find(NAME, self.sequence, self.time, self.data, touch)
    }

    fn data(&self) -> &[u8] {
        self.data
    }
}

impl Drop for CycloneMessage<'_> {
    fn drop(&mut self) {
        let port = &self.receiver.port;
        // SAFETY: the message was taken from this endpoint, which holds no other.
        unsafe { (port.library().give_back)(port.endpoint) };
        self.receiver.lent.set(false);
    }
}

impl Receiver for CycloneReceiver {
    type Message<'a> = CycloneMessage<'a>;

    fn connect(&self) -> Result<(), Failure> {
        self.port.connect(1)
    }

    fn take(&self) -> Result<Option<CycloneMessage<'_>>, Failure> {
        if self.lent.get() {
            return Err(failure("take", "the last message has not been returned"));
        }
        let library = self.port.library();
        let (mut sequence, mut time, mut address, mut length) = (0, 0, std::ptr::null(), 0);
        // SAFETY: the endpoint is a reader that holds no message. The library writes to these places only
        // during the call.
        let found = unsafe {
            (library.take)(self.port.endpoint, &mut sequence, &mut time, &mut address, &mut length)
        };
        if library.check("take", found)? == 0 {
            return Ok(None);
        }
        self.lent.set(true);
        // SAFETY: the library promises this many bytes, valid until the message is returned.
        let data = unsafe { std::slice::from_raw_parts(address, length as usize) };
        Ok(Some(CycloneMessage { receiver: self, sequence, time, data }))
    }

    fn wait(&self) -> Result<(), Failure> {
        // SAFETY: the endpoint is a reader.
        let result = unsafe { (self.port.library().wait)(self.port.endpoint) };
        self.port.library().check("wait", result).map(drop)
    }
}
