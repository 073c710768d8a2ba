//! The guard against shortened files of shared memory, for C programs that install it.

use situ_memory::guard::install;

use crate::error::{Failure, guard, situ_error, situ_status};

/// Installs the guard. Calling it again does nothing.
///
/// # Safety
/// `error` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_guard_install(error: *mut situ_error) -> situ_status {
    let install = || {
        install().map_err(|source| {
            Failure::new(situ_status::System, format_args!("cannot install the SIGBUS handler: {source}"))
        })?;
        Ok(situ_status::Ok)
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, install) }
}
