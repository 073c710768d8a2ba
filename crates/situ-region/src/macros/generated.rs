//! The macros that generated region types consist of.

use situ_layout::Message;

use crate::convert::{LoadInto, StoreFrom};
use crate::value::stored::Stored;

/// A type that lies in regions and can be published: the region form of a generated structure.
pub trait RegionMessage: Stored + LoadInto<Self::Message> + StoreFrom<Self::Message> {
    /// The same structure outside of regions, on the heap.
    type Message: Message;
    /// The fully qualified name, such as `sensor_msgs::msg::Image`.
    const NAME: &'static str = <Self::Message as Message>::NAME;
    /// The canonical schema: see [`Message::SCHEMA`].
    const SCHEMA: &'static str = <Self::Message as Message>::SCHEMA;
}

/// The region form of a generated structure. Two traits add accessors for its members to [`Ref`](crate::Ref)
/// and [`Mut`](crate::Mut). The type itself is only a name for values in regions.
///
/// ```text
/// situ::region::region_type! {
///     final CharacterRegion: CharacterRef, CharacterMut, "game::Character" 0x0123456789abcdef, Character;
///     "id" id: u64;
///     "name" name: Text = "Hero";
/// }
/// ```
#[macro_export]
#[doc(hidden)]
macro_rules! region_type {
    (
        $extensibility:ident $name:ident: $ref:ident, $mut:ident, $full:literal $schema:literal, $message:ty;
        $($label:literal $member:ident: $type:ty $(= $default:expr)?;)*
    ) => {
        $crate::__region_accessors! { [pub] $name $ref $mut $($member: $type),* }
        $crate::__region_stored! { $extensibility $name $full, $schema; $([$label] $member: $type $(= $default)?;)* }

        impl $crate::RegionMessage for $name {
            type Message = $message;
        }
    };
}

/// As `region_type`, for a structure that does not depend on the storage and lies in regions under its own
/// name. `plain` states that it has neither padding nor booleans, so it is accessible as a Rust value there.
#[macro_export]
#[doc(hidden)]
macro_rules! region_value {
    (
        plain $name:ident: $full:literal $schema:literal;
        $($label:literal $member:ident $field:ident: $type:ty $(= $default:expr)?;)*
    ) => {
        $crate::__region_stored! { final $name $full, $schema; $([$label] $member: $type $(= $default)?;)* }

        impl $crate::RegionMessage for $name {
            type Message = $name;
        }
        $crate::__region_conversions_of_value! { $name }

        const _: () = {
            $crate::__region_members! { $($member: $type),* }

            const fn plain<T: $crate::Plain>() -> u32 {
                T::SIZE
            }
            const _: () = assert!(
                0 $(+ plain::<$type>())* == ::core::mem::size_of::<$name>() as u32,
                "a plain struct has no padding"
            );
            const _: () = assert!(
                ALIGNMENT == ::core::mem::align_of::<$name>() as u32,
                "a plain struct is aligned as its members are"
            );
            const _: fn(&$name) = |value| {
                const fn plain_field<T: $crate::Plain>(_: &T) {}
                $(plain_field(&value.$field);)*
            };
            $(const _: () = assert!(
                PLACES[__Member::$member as usize] == ::core::mem::offset_of!($name, $field) as u32
            );)*

            // SAFETY: the assertions above prove that the struct's members are plain, have the region's
            // offsets, leave no padding, and give the struct its alignment.
            unsafe impl $crate::Plain for $name {}

            $crate::__region_copied_plain! { $name }
        };
    };
    (
        $name:ident: $ref:ident, $mut:ident, $full:literal $schema:literal;
        $($label:literal $member:ident $field:ident: $type:ty $(= $default:expr)?;)*
    ) => {
        $crate::region_type! {
            final $name: $ref, $mut, $full $schema, $name;
            $($label $member: $type $(= $default)?;)*
        }
        $crate::__region_conversions_of_value! { $name }
        $crate::__region_assigned_copy! { $name }

        const _: () = {
            $crate::__region_members! { $($member: $type),* }

            impl $crate::Copied<$name> for $name {
                fn put(mut memory: $crate::MemoryMut<'_>, at: u32, value: &$name) {
                    $(<$type as $crate::Copied<_>>::put(memory.reborrow(), at + PLACES[__Member::$member as usize], &value.$field);)*
                }
                fn get(from: $crate::Ref<'_, $name>) -> $name {
                    $name { $($field: <$type as $crate::Copied<_>>::get(from.part(PLACES[__Member::$member as usize]))),* }
                }
            }
        };
    };
}

/// Assigns a value that does not depend on the storage, and is not plain in regions, by copying it.
#[macro_export]
#[doc(hidden)]
macro_rules! __region_assigned_copy {
    ($name:ident) => {
        impl $crate::Assign<$name> for $name {
            fn assign(
                memory: $crate::MemoryMut<'_>,
                at: u32,
                value: $name,
            ) -> ::core::result::Result<(), $crate::Full> {
                <$name as $crate::Copied<$name>>::put(memory, at, &value);
                ::core::result::Result::Ok(())
            }
        }
    };
}

/// Converts a structure that does not depend on the storage by copying it.
#[macro_export]
#[doc(hidden)]
macro_rules! __region_conversions_of_value {
    ($name:ident) => {
        impl $crate::StoreFrom<$name> for $name {
            fn store(
                memory: $crate::MemoryMut<'_>,
                at: u32,
                from: &$name,
                _: &[u8],
            ) -> ::core::result::Result<(), $crate::StoreError> {
                $crate::convert::store_copy::<$name, $name>(memory, at, from, &[])
            }
        }

        impl $crate::LoadInto<$name> for $name {
            fn load(
                from: $crate::Ref<'_, $name>,
                to: &mut $name,
                bodies: &mut $crate::layout::Bodies<'_>,
            ) -> ::core::result::Result<(), $crate::layout::AssignError> {
                $crate::convert::load_copy::<$name, $name>(from, to, bodies)
            }
        }
    };
}

/// Implements the conversion of a union that does not depend on the storage, by copying it.
#[macro_export]
#[doc(hidden)]
macro_rules! region_union_value {
    ($name:ident $case:ident; $($member:ident $member_mut:ident $variant:ident: $type:ty;)*) => {
        $crate::__region_conversions_of_value! { $name }
        $crate::__region_assigned_copy! { $name }

        impl $crate::Copied<$name> for $name {
            fn put(mut memory: $crate::MemoryMut<'_>, at: u32, value: &$name) {
                // It has no blocks, so the previous value needs no release.
                let place = $crate::union_begin_at::<$name>(memory.reborrow(), at, value.discriminator());
                match value.case() {
                    $($case::$variant(value) => {
                        <$type as $crate::Copied<_>>::put(memory, place, value);
                    })*
                    $case::Nothing => {}
                }
            }
            fn get(from: $crate::Ref<'_, $name>) -> $name {
                let mut made = $crate::layout::default_value::<$name>();
                made.select($crate::union_discriminator(from));
                $(if let (::core::option::Option::Some(from), ::core::option::Option::Some(to)) =
                    (from.$member(), made.$member_mut())
                {
                    *to = <$type as $crate::Copied<_>>::get(from);
                })*
                made
            }
        }
    };
}

/// Stores enums and bitmasks in regions as their integers, under their own names.
#[macro_export]
#[doc(hidden)]
macro_rules! region_newtype {
    ($name:ident($bits:ident)) => {
        impl $crate::Stored for $name {
            const SIZE: u32 = <$bits as $crate::Stored>::SIZE;
            const ALIGN: u32 = <$bits as $crate::Stored>::ALIGN;
            const LINKS: bool = false;
            const DENSE: bool = true;
            const ANY: bool = true;

            fn kind() -> ::std::string::String {
                <$bits as $crate::Stored>::kind()
            }
            fn begin(memory: $crate::MemoryMut<'_>, at: u32) {
                let initial = <$name as ::core::default::Default>::default();
                if initial.0 != 0 {
                    $crate::put_plain(memory, at, &[initial]);
                }
            }
            fn write(writer: &mut $crate::Writer<'_>, from: u32, to: u32) {
                <$bits as $crate::Stored>::write(writer, from, to);
            }
            fn check<const __CANONICAL: bool>(
                _: &mut $crate::Check<'_, __CANONICAL>,
                _: u32,
            ) -> ::core::result::Result<(), $crate::Invalid> {
                ::core::result::Result::Ok(())
            }
        }

        const _: fn($name) -> $bits = |$name(bits)| bits;
        const _: () = assert!(
            ::core::mem::size_of::<$name>() == ::core::mem::size_of::<$bits>()
                && ::core::mem::align_of::<$name>() == ::core::mem::align_of::<$bits>()
        );

        // SAFETY: the type holds only a plain value, and the assertions above prove that it has its size and
        // alignment.
        unsafe impl $crate::Plain for $name where $bits: $crate::Plain {}

        $crate::__region_copied_plain! { $name }
    };
}

/// As `region_newtype`, and makes enums usable as keys in regions, like their integers.
#[macro_export]
#[doc(hidden)]
macro_rules! region_enumeration {
    ($name:ident) => {
        $crate::region_newtype! { $name(i32) }

        impl $crate::Key for $name {
            type View<'a> = $name;
            fn view(image: &[u8], at: u32) -> $name {
                $name(<i32 as $crate::Key>::view(image, at))
            }
            fn compare(image: &[u8], at: u32, other: $name) -> ::core::cmp::Ordering {
                <i32 as $crate::Key>::compare(image, at, other.0)
            }
            fn hash(key: $name) -> u32 {
                <i32 as $crate::Key>::hash(key.0)
            }
            fn put(
                memory: $crate::MemoryMut<'_>,
                at: u32,
                key: $name,
            ) -> ::core::result::Result<(), $crate::Full> {
                <i32 as $crate::Key>::put(memory, at, key.0)
            }
        }

        $crate::__region_key_of_self! { $name }

        impl $crate::Discriminator for $name {
            type Value = $name;
            fn get(image: &[u8], at: u32) -> $name {
                <$name as $crate::Key>::view(image, at)
            }
            fn set(memory: $crate::MemoryMut<'_>, at: u32, value: $name) {
                $crate::put_plain(memory, at, &[value]);
            }
        }
    };
}
