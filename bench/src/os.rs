//! The services of Linux that measuring needs: pinning, shared pages, futexes, signals, and counting files
//! and system calls.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// Binds the calling thread, and the threads that it starts from now on, to one core.
pub fn pin(cpu: usize) -> io::Result<()> {
    bind(&[cpu])
}

/// Binds the calling thread, and the threads and processes that it starts from now on, to these cores.
pub fn bind(cpus: &[usize]) -> io::Result<()> {
    // SAFETY: an all-zero `cpu_set_t` is the empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    for &cpu in cpus {
        // SAFETY: `set` is a valid set. `CPU_SET` checks nothing, but the cores that Linux reports lie within
        // the set.
        unsafe { libc::CPU_SET(cpu, &mut set) };
    }
    // SAFETY: the size given is the size of the set pointed at.
    let rc = unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set) };
    if rc == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The cores this process may use, one hardware thread of each physical core first.
pub fn cores() -> io::Result<Vec<usize>> {
    // SAFETY: an all-zero `cpu_set_t` is the empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: the size given is the size of the set pointed at.
    if unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let allowed: Vec<usize> = (0..libc::CPU_SETSIZE as usize)
        // SAFETY: the index stays below `CPU_SETSIZE`.
        .filter(|&cpu| unsafe { libc::CPU_ISSET(cpu, &set) })
        .collect();
    let siblings = |cpu: usize| {
        let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
        std::fs::read_to_string(path).unwrap_or_else(|_| cpu.to_string())
    };
    let mut seen = Vec::new();
    let (mut first, mut second) = (Vec::new(), Vec::new());
    for cpu in allowed {
        let core = siblings(cpu);
        if seen.contains(&core) {
            second.push(cpu);
        } else {
            seen.push(core);
            first.push(cpu);
        }
    }
    first.append(&mut second);
    Ok(first)
}

/// A file mapped shared and writable. Dropping unmaps it; the file remains.
pub struct Mapping {
    address: NonNull<u8>,
    length: usize,
}

impl Mapping {
    /// Opens or creates the file, gives it at least `length` bytes, and maps it with every page present.
    pub fn open(path: &Path, length: usize) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        if file.metadata()?.len() < length as u64 {
            file.set_len(length as u64)?;
        }
        Self::map(&file, length)
    }

    fn map(file: &File, length: usize) -> io::Result<Self> {
        // SAFETY: the kernel chooses the address, so the mapping overlaps nothing.
        let address = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                length,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_POPULATE,
                file.as_raw_fd(),
                0,
            )
        };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let address = NonNull::new(address.cast()).ok_or_else(io::Error::last_os_error)?;
        Ok(Self { address, length })
    }

    /// The address of the first byte.
    pub fn address(&self) -> *mut u8 {
        self.address.as_ptr()
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: this is exactly the mapped range, and no reference outlives the mapping.
        unsafe { libc::munmap(self.address.as_ptr().cast(), self.length) };
    }
}

/// A page of shared words, one in each cache line, through which the processes of a measurement synchronize.
pub struct Page {
    mapping: Mapping,
}

impl Page {
    const WORDS: usize = 64;

    /// Maps the page. All processes of a measurement name the same file.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { mapping: Mapping::open(path, Self::WORDS * 64)? })
    }

    /// The word with this index.
    pub fn word(&self, index: usize) -> &AtomicU64 {
        assert!(index < Self::WORDS, "the page has {} words", Self::WORDS);
        // SAFETY: the word lies inside the mapping, is aligned to 64 bytes, and is only used as an atomic.
        unsafe { &*self.mapping.address().add(index * 64).cast::<AtomicU64>() }
    }

    /// The lower half of a word, for futexes.
    pub fn half(&self, index: usize) -> &AtomicU32 {
        assert!(index < Self::WORDS, "the page has {} words", Self::WORDS);
        // SAFETY: the word lies inside the mapping, is aligned to 64 bytes, and is only used as an atomic.
        unsafe { &*self.mapping.address().add(index * 64).cast::<AtomicU32>() }
    }
}

/// Sleeps while the word, shared between processes, holds `value`.
pub fn futex_wait(word: &AtomicU32, value: u32) {
    // SAFETY: the word lives as long as the call. There is no time-out.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAIT,
            value,
            std::ptr::null::<libc::timespec>(),
        )
    };
}

/// Wakes all processes that sleep on the word.
pub fn futex_wake(word: &AtomicU32) {
    // SAFETY: the kernel only uses the address as a key.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
}

/// CLOCK_MONOTONIC in nanoseconds: comparable between processes and languages.
pub fn monotonic_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is writable.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The time that a process has spent on the CPU.
pub fn cpu_ns(process: u32) -> io::Result<u64> {
    let mut clock = 0;
    // SAFETY: `clock` is writable.
    let error = unsafe { libc::clock_getcpuclockid(process as libc::pid_t, &mut clock) };
    if error != 0 {
        return Err(io::Error::from_raw_os_error(error));
    }
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is writable.
    if unsafe { libc::clock_gettime(clock, &mut time) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// Waits without giving up the core.
pub fn spin_for(time: Duration) {
    let end = monotonic_ns() + time.as_nanos() as u64;
    while monotonic_ns() < end {
        std::hint::spin_loop();
    }
}

/// Keeps idle cores out of deep sleep until it is dropped, as real-time systems do. Waking from deep sleep
/// takes longer than everything that is measured here (in a virtual machine, tens of microseconds).
pub struct Awake {
    _file: File,
}

impl Awake {
    /// Asks the kernel. Usually only root may do so.
    pub fn request() -> io::Result<Self> {
        let mut file = OpenOptions::new().write(true).open("/dev/cpu_dma_latency")?;
        io::Write::write_all(&mut file, &0_i32.to_ne_bytes())?;
        Ok(Self { _file: file })
    }
}

/// Keeps cores from becoming idle: a thread on each core yields to any other thread. An idle virtual core is
/// returned to its host, even with [`Awake`].
pub struct Busy(Arc<AtomicBool>);

impl Busy {
    /// Keeps these cores busy until it is dropped.
    pub fn keep(cpus: &[usize]) -> io::Result<Self> {
        let busy = Self(Arc::new(AtomicBool::new(true)));
        for &cpu in cpus {
            let on = busy.0.clone();
            std::thread::Builder::new().spawn(move || {
                let lowest = libc::sched_param { sched_priority: 0 };
                // SAFETY: the parameters are valid for the call, which affects this thread only.
                let idle = unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &lowest) } == 0;
                // A thread that does not yield must not run.
                while idle && pin(cpu).is_ok() && on.load(Ordering::Relaxed) {
                    (0..10_000).for_each(|_| std::hint::spin_loop());
                }
            })?;
        }
        Ok(busy)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// Lets this process open as many files as it may.
pub fn allow_files() -> io::Result<()> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is writable.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) } != 0 {
        return Err(io::Error::last_os_error());
    }
    limit.rlim_cur = limit.rlim_max;
    // SAFETY: `limit` is valid for the call.
    if unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// The number of files that this process has open.
pub fn open_files() -> io::Result<usize> {
    // Does not count the directory that is being read.
    Ok(std::fs::read_dir("/proc/self/fd")?.count().saturating_sub(1))
}

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

extern "C" fn on_signal(_: libc::c_int) {
    INTERRUPTED.store(true, Ordering::Relaxed);
}

/// Makes SIGINT, SIGTERM and SIGHUP set a flag, so that the program can clean up and exit.
pub fn catch_signals() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        // SAFETY: the handler only stores to an atomic. An all-zero `sigaction` without SA_RESTART lets
        // blocking calls return EINTR.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = on_signal as *const () as usize;
            libc::sigaction(signal, &action, std::ptr::null_mut());
        }
    }
}

/// Acts as if such a signal had arrived.
pub fn interrupt() {
    INTERRUPTED.store(true, Ordering::Relaxed);
}

/// Whether one of those signals has arrived.
pub fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}
