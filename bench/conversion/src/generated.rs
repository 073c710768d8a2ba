//! Messages as `rosidl_generator_rs` generates them, written by hand. They have the same types, and their
//! conversions make the same calls of `rosidl_runtime_rs`.
//!
//! Module `elementwise` has the calls of version 0.4.12 and before. Module `memcpy` has those since June
//! 2026: they take sequences of numbers by `From<Sequence<T>> for Vec<T>` and give them by `From<&[T]> for
//! Sequence<T>`. There is no other difference.

/// Defines messages: as in C (`rmw`), and idiomatic (`elementwise` and `memcpy`).
#[macro_export]
macro_rules! generated_messages {
    ($($messages:tt)*) => {
        /// As in C.
        pub mod rmw {
            $crate::generated_rmw! { $($messages)* }
        }
        /// As the generator wrote them up to version 0.4.12.
        pub mod elementwise {
            $crate::generated_idiomatic! { elementwise; $($messages)* }
        }
        /// As the generator writes them now.
        pub mod memcpy {
            $crate::generated_idiomatic! { memcpy; $($messages)* }
        }
    };
}

/// The type of a member in C.
#[macro_export]
macro_rules! generated_c_type {
    ((plain $type:ty)) => { $type };
    ((text)) => { ::rosidl_runtime_rs::String };
    ((list $type:ty)) => { ::rosidl_runtime_rs::Sequence<$type> };
    ((texts)) => { ::rosidl_runtime_rs::Sequence<::rosidl_runtime_rs::String> };
    ((nested $type:ident)) => { super::rmw::$type };
    ((nesteds $type:ident)) => { ::rosidl_runtime_rs::Sequence<super::rmw::$type> };
}

/// The idiomatic type of a member.
#[macro_export]
macro_rules! generated_type {
    ((plain $type:ty)) => { $type };
    ((text)) => { ::std::string::String };
    ((list $type:ty)) => { ::std::vec::Vec<$type> };
    ((texts)) => { ::std::vec::Vec<::std::string::String> };
    ((nested $type:ident)) => { $type };
    ((nesteds $type:ident)) => { ::std::vec::Vec<$type> };
}

/// Converts a member of a message that is given away to C.
#[macro_export]
macro_rules! generated_into {
    (elementwise $value:expr, (list $type:ty)) => {
        $value.into()
    };
    (memcpy $value:expr, (list $type:ty)) => {
        $value.as_slice().into()
    };
    ($state:ident $value:expr, (plain $type:ty)) => {
        $value
    };
    ($state:ident $value:expr, (text)) => {
        $value.as_str().into()
    };
    ($state:ident $value:expr, (texts)) => {
        $value.into_iter().map(|it| it.as_str().into()).collect()
    };
    ($state:ident $value:expr, (nested $type:ident)) => {
        <$type as ::rosidl_runtime_rs::Message>::into_rmw_message(::std::borrow::Cow::Owned($value))
            .into_owned()
    };
    ($state:ident $value:expr, (nesteds $type:ident)) => {
        $value
            .into_iter()
            .map(|it| {
                <$type as ::rosidl_runtime_rs::Message>::into_rmw_message(::std::borrow::Cow::Owned(it))
                    .into_owned()
            })
            .collect()
    };
}

/// Converts a member of a message that is lent to C.
#[macro_export]
macro_rules! generated_lent {
    ($value:expr, (list $type:ty)) => {
        $value.as_slice().into()
    };
    ($value:expr, (plain $type:ty)) => {
        $value
    };
    ($value:expr, (text)) => {
        $value.as_str().into()
    };
    ($value:expr, (texts)) => {
        $value.iter().map(|it| it.as_str().into()).collect()
    };
    ($value:expr, (nested $type:ident)) => {
        <$type as ::rosidl_runtime_rs::Message>::into_rmw_message(::std::borrow::Cow::Borrowed(&$value))
            .into_owned()
    };
    ($value:expr, (nesteds $type:ident)) => {
        $value
            .iter()
            .map(|it| {
                <$type as ::rosidl_runtime_rs::Message>::into_rmw_message(::std::borrow::Cow::Borrowed(it))
                    .into_owned()
            })
            .collect()
    };
}

/// Converts a member that C wrote to its idiomatic type.
#[macro_export]
macro_rules! generated_from {
    (elementwise $value:expr, (list $type:ty)) => {
        $value.into_iter().collect()
    };
    (memcpy $value:expr, (list $type:ty)) => {
        $value.into()
    };
    ($state:ident $value:expr, (plain $type:ty)) => {
        $value
    };
    ($state:ident $value:expr, (text)) => {
        $value.to_string()
    };
    ($state:ident $value:expr, (texts)) => {
        $value.into_iter().map(|it| it.to_string()).collect()
    };
    ($state:ident $value:expr, (nested $type:ident)) => {
        <$type as ::rosidl_runtime_rs::Message>::from_rmw_message($value)
    };
    ($state:ident $value:expr, (nesteds $type:ident)) => {
        $value.into_iter().map(<$type as ::rosidl_runtime_rs::Message>::from_rmw_message).collect()
    };
}

/// The C structs. The build script links their functions.
#[macro_export]
macro_rules! generated_rmw {
    ($($package:ident $name:ident { $($member:ident: $kind:tt,)* })*) => {$(
        /// The C struct of that name.
        #[repr(C)]
        #[derive(Clone, Debug, PartialEq, PartialOrd)]
        pub struct $name {
            $(
                /// As in the message's definition.
                pub $member: $crate::generated_c_type!($kind),
            )*
        }

        const _: () = {
            unsafe extern "C" {
                #[link_name = concat!(stringify!($package), "__msg__", stringify!($name), "__init")]
                fn init(message: *mut $name) -> bool;
                #[link_name = concat!(stringify!($package), "__msg__", stringify!($name), "__Sequence__init")]
                fn sequence_init(sequence: *mut ::rosidl_runtime_rs::Sequence<$name>, size: usize) -> bool;
                #[link_name = concat!(stringify!($package), "__msg__", stringify!($name), "__Sequence__fini")]
                fn sequence_fini(sequence: *mut ::rosidl_runtime_rs::Sequence<$name>);
                #[link_name = concat!(stringify!($package), "__msg__", stringify!($name), "__Sequence__copy")]
                fn sequence_copy(
                    from: *const ::rosidl_runtime_rs::Sequence<$name>,
                    to: *mut ::rosidl_runtime_rs::Sequence<$name>,
                ) -> bool;
                #[link_name = concat!(
                    "rosidl_typesupport_c__get_message_type_support_handle__",
                    stringify!($package),
                    "__msg__",
                    stringify!($name)
                )]
                fn type_support() -> *const ::std::ffi::c_void;
            }

            impl Default for $name {
                fn default() -> Self {
                    let mut message = ::std::mem::MaybeUninit::zeroed();
                    // SAFETY: `init` expects zeroed memory, and makes a message of it.
                    unsafe {
                        assert!(init(message.as_mut_ptr()), "out of memory");
                        message.assume_init()
                    }
                }
            }

            impl ::rosidl_runtime_rs::SequenceAlloc for $name {
                fn sequence_init(sequence: &mut ::rosidl_runtime_rs::Sequence<Self>, size: usize) -> bool {
                    // SAFETY: this is C's function for sequences of this struct.
                    unsafe { sequence_init(sequence, size) }
                }

                fn sequence_fini(sequence: &mut ::rosidl_runtime_rs::Sequence<Self>) {
                    // SAFETY: as above.
                    unsafe { sequence_fini(sequence) }
                }

                fn sequence_copy(
                    from: &::rosidl_runtime_rs::Sequence<Self>,
                    to: &mut ::rosidl_runtime_rs::Sequence<Self>,
                ) -> bool {
                    // SAFETY: as above.
                    unsafe { sequence_copy(from, to) }
                }
            }

            impl ::rosidl_runtime_rs::Message for $name {
                type RmwMsg = Self;

                fn into_rmw_message(message: ::std::borrow::Cow<'_, Self>) -> ::std::borrow::Cow<'_, Self> {
                    message
                }

                fn from_rmw_message(message: Self) -> Self {
                    message
                }
            }

            impl ::rosidl_runtime_rs::RmwMessage for $name {
                const TYPE_NAME: &'static str =
                    concat!(stringify!($package), "/msg/", stringify!($name));

                fn get_type_support() -> *const ::std::ffi::c_void {
                    // SAFETY: the function only returns an address.
                    unsafe { type_support() }
                }
            }
        };
    )*};
}

/// The idiomatic structs and their conversions.
#[macro_export]
macro_rules! generated_idiomatic {
    ($state:ident; $($package:ident $name:ident { $($member:ident: $kind:tt,)* })*) => {$(
        /// The message of that name.
        #[derive(Clone, Debug, PartialEq, PartialOrd)]
        pub struct $name {
            $(
                /// As in the message's definition.
                pub $member: $crate::generated_type!($kind),
            )*
        }

        impl Default for $name {
            fn default() -> Self {
                <Self as ::rosidl_runtime_rs::Message>::from_rmw_message(super::rmw::$name::default())
            }
        }

        impl ::rosidl_runtime_rs::Message for $name {
            type RmwMsg = super::rmw::$name;

            fn into_rmw_message(
                message: ::std::borrow::Cow<'_, Self>,
            ) -> ::std::borrow::Cow<'_, super::rmw::$name> {
                ::std::borrow::Cow::Owned(match message {
                    ::std::borrow::Cow::Owned(message) => super::rmw::$name {
                        $($member: $crate::generated_into!($state message.$member, $kind),)*
                    },
                    ::std::borrow::Cow::Borrowed(message) => super::rmw::$name {
                        $($member: $crate::generated_lent!(message.$member, $kind),)*
                    },
                })
            }

            fn from_rmw_message(message: super::rmw::$name) -> Self {
                Self { $($member: $crate::generated_from!($state message.$member, $kind),)* }
            }
        }
    )*};
}
