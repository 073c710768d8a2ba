//! Compares the layout of messages in the ROS libraries that the program has loaded with the compiled layout.

use std::ffi::{CStr, c_char, c_void};
use std::sync::{Mutex, PoisonError};

use super::tail::{Finalize, SEQUENCES_HAVE_FLAGS, set_finalize};

/// Set to `unchecked` if a program must run although the layout of messages cannot be looked up.
const OVERRIDE: &str = "SITU_ROS_LAYOUT";

/// The beginning of a `rosidl_message_type_support_t`.
#[repr(C)]
struct TypeSupport {
    identifier: *const c_char,
    data: *const c_void,
    find: Option<unsafe extern "C" fn(*const Self, *const c_char) -> *const Self>,
}

/// The beginning of a `rosidl_typesupport_introspection_c__MessageMembers`.
#[repr(C)]
struct Members {
    namespace: *const c_char,
    name: *const c_char,
    count: u32,
    size: usize,
}

/// The identifier of the type support that has a message's size.
const INTROSPECTION: &CStr = c"rosidl_typesupport_introspection_c";

/// A lookup of a type support may load a library and stores its handle, so lookups must not run at the same
/// time.
static LOOKING: Mutex<()> = Mutex::new(());

/// Returns the type support `handle` of a message. First checks that the loaded library's struct has the size
/// of `T`.
///
/// # Panics
/// If the sizes differ: the program was built for another release of ROS, or for another version of
/// the package. Also panics if the library `<package>__rosidl_typesupport_introspection_c`, which has the
/// size, is not installed, unless the environment variable `SITU_ROS_LAYOUT` is `unchecked`.
/// `SITU_ROS_LAYOUT=unchecked`.
///
/// # Safety
/// `handle` is what the function `rosidl_typesupport_c__get_message_type_support_handle__…` of a message
/// returned, and `finalize` is `rosidl_runtime_c__uint8__Sequence__fini`.
pub unsafe fn checked_type_support<T>(
    handle: *const c_void,
    name: &str,
    finalize: Finalize,
) -> *const c_void {
    // SAFETY: the caller's promise.
    unsafe { set_finalize(finalize) };
    let own = size_of::<T>();
    // SAFETY: the caller's promise.
    match unsafe { size_of_message(handle.cast()) } {
        Some(size) => assert!(
            size == own,
            "the message {name} has {size} bytes in the ROS libraries and {own} in this program, which was built for \
             {}: build it with ROS_DISTRO set to the release that it runs with, and with crates generated from \
             the interfaces that are installed",
            if SEQUENCES_HAVE_FLAGS { "Lyrical or later" } else { "releases up to Kilted" }
        ),
        None => assert!(
            std::env::var(OVERRIDE).is_ok_and(|it| it == "unchecked"),
            "the layout of the message {name} cannot be checked, because its rosidl_typesupport_introspection_c library is \
             not installed: install it, or set {OVERRIDE}=unchecked if the program was built for this release of ROS"
        ),
    }
    handle
}

/// The size of a message in C; `None` if no type support has it.
///
/// # Safety
/// `handle` is null, or a message's type support.
unsafe fn size_of_message(handle: *const TypeSupport) -> Option<usize> {
    let _alone = LOOKING.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: type supports are constant and begin as the struct says. The function takes them with a C
    // string, and returns null or the type support of that name. The data of that type support are the
    // members.
    unsafe {
        let found = (handle.as_ref()?.find?)(handle, INTROSPECTION.as_ptr()).as_ref()?;
        if found.identifier.is_null() || CStr::from_ptr(found.identifier) != INTROSPECTION {
            return None;
        }
        found.data.cast::<Members>().as_ref().map(|it| it.size)
    }
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;
    use std::ptr;

    use super::*;

    unsafe extern "C" fn nothing(_: *mut c_void) {}

    unsafe extern "C" fn find(asked: *const TypeSupport, name: *const c_char) -> *const TypeSupport {
        // SAFETY: the code above provides both.
        unsafe { if CStr::from_ptr(name) == INTROSPECTION { (*asked).data.cast() } else { ptr::null() } }
    }

    unsafe extern "C" fn find_nothing(_: *const TypeSupport, _: *const c_char) -> *const TypeSupport {
        ptr::null()
    }

    /// Checks against a library in which the message has this size; `None` is a library that does not give
    /// it.
    fn check<T>(size: Option<usize>) -> Result<(), String> {
        let members =
            Members { namespace: ptr::null(), name: ptr::null(), count: 0, size: size.unwrap_or_default() };
        let introspection =
            TypeSupport { identifier: INTROSPECTION.as_ptr(), data: (&raw const members).cast(), find: None };
        let find = if size.is_some() { find } else { find_nothing };
        let handle = TypeSupport {
            identifier: c"rosidl_typesupport_c".as_ptr(),
            data: (&raw const introspection).cast(),
            find: Some(find),
        };
        let handle: *const c_void = (&raw const handle).cast();
        let checked = catch_unwind(|| {
            // SAFETY: the handle is built as ROS's are; no sequence is finalized.
            unsafe { checked_type_support::<T>(handle, "test_msgs/msg/Test", nothing) }
        });
        match checked {
            Ok(given) => {
                assert_eq!(given, handle);
                Ok(())
            }
            Err(panic) => Err(*panic.downcast::<String>().expect("the message of a panic")),
        }
    }

    #[test]
    fn a_library_with_another_layout_is_refused() {
        assert_eq!(check::<[u64; 4]>(Some(32)), Ok(()));
        let error = check::<[u64; 3]>(Some(32)).expect_err("another size");
        assert!(
            error.contains("test_msgs/msg/Test has 32 bytes in the ROS libraries and 24 in this program"),
            "{error}"
        );
    }

    #[test]
    fn a_library_that_does_not_tell_is_refused() {
        let error = check::<u64>(None).expect_err("nobody knows");
        assert!(error.contains("SITU_ROS_LAYOUT=unchecked"), "{error}");
    }
}
