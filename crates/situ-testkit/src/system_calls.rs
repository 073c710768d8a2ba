//! Threads that may not call the system, for tests of code that must not.

/// From here on the first system call of this thread kills its process. It may still end its process.
pub fn forbid_system_calls() {
    const ARCH: u32 = if cfg!(target_arch = "x86_64") { 0xc000_003e } else { 0xc000_00b7 };
    let statement = |code: u32, k: u32, jt: u8, jf: u8| libc::sock_filter { code: code as u16, jt, jf, k };
    let load = |offset| statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset, 0, 0);
    let equal = |k, jt, jf| statement(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, k, jt, jf);
    let give = |k| statement(libc::BPF_RET | libc::BPF_K, k, 0, 0);
    // If the clock cannot be read without a system call, reading it does not count.
    let clock = std::fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    let fast = ["tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter"];
    let clock = clock.map_or(true, |clock| fast.contains(&clock.trim()));
    let allowed = if clock { libc::SYS_exit_group } else { libc::SYS_clock_gettime };
    let filter = [
        load(4),
        equal(ARCH, 0, 3),
        load(0),
        equal(libc::SYS_exit_group as u32, 2, 0),
        equal(allowed as u32, 1, 0),
        give(libc::SECCOMP_RET_KILL_PROCESS),
        give(libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_ptr().cast_mut() };
    // SAFETY: the program is a valid filter that outlives the calls.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        assert_eq!(libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &program), 0);
    }
}

/// The exit status of a process that made no system call.
pub const SURVIVED: i32 = 42;

/// Ends this process with that status.
pub fn survive() -> ! {
    // SAFETY: no state of this process is needed any more.
    unsafe { libc::_exit(SURVIVED) }
}
