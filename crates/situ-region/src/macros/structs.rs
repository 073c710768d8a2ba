//! The macros that describe the types of values in a region: structs with containers, and plain structs.

/// Describes a struct whose values lie in regions. Two traits, named after the struct's name, add accessors
/// for its members to [`Ref`](crate::Ref) and [`Mut`](crate::Mut).
///
/// ```
/// use situ_region::{FlatMap, Region, Text, Vector};
/// use situ_region::{region_plain, region_struct};
///
/// region_plain! {
///     /// What a character can do.
///     pub struct Skill { id: u32, level: u32 }
/// }
/// region_struct! {
///     /// A character of a game.
///     pub struct Character: CharacterRef, CharacterMut {
///         id: u64,
///         name: Text,
///         skills: Vector<Skill>,
///     }
/// }
///
/// let mut r = Region::<Character>::new();
/// let mut c = r.root_mut();
/// c.name().set("Hero")?;
/// *c.id() += 1;
/// c.skills().push(Skill { id: 1054, level: 3 })?;
/// assert_eq!(r.root().skills().as_slice()[0].id, 1054);
/// # Ok::<(), situ_region::Full>(())
/// ```
///
/// A base is a first member called `base`. A struct written `appendable struct` may get more members at its
/// end. Programs with and without these members understand each other's images. Such a struct can be the
/// root, or lie behind a [`Unique`](crate::Unique) or [`Shared`](crate::Shared) link, and
/// nowhere else.
///
/// ```
/// use situ_region::{Region, Text};
/// use situ_region::region_struct;
///
/// mod before {
///     situ_region::region_struct! { pub appendable struct Profile: ProfileRef, ProfileMut { id: u64 } }
/// }
/// region_struct! { appendable struct Profile: ProfileRef, ProfileMut { id: u64, name: Text } }
///
/// let old = Region::<before::Profile>::new();
/// let mut new = Region::<Profile>::adopt(old.bytes())?;
/// new.root_mut().name().set("given later")?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A struct has at least one member, and an array at least one element: values without bytes could not be
/// counted by bytes.
///
/// ```compile_fail,E0080
/// situ_region::region_struct! { struct Nothing: NothingRef, NothingMut {} }
/// ```
///
/// ```compile_fail,E0080
/// situ_region::region_struct! { struct Nothing: NothingRef, NothingMut { none: [u32; 0] } }
/// let r = situ_region::Region::<Nothing>::new();
/// ```
///
/// An array has at most as many elements as 32 bits can count.
///
/// ```compile_fail,E0080
/// let r = situ_region::Region::<[u8; (1 << 32) + 1]>::new();
/// ```
#[macro_export]
macro_rules! region_struct {
    ($(#[$attribute:meta])* $visible:vis struct $name:ident: $ref:ident, $mut:ident {
        $($member:ident: $type:ty),* $(,)?
    }) => {
        $(#[$attribute])*
        $visible enum $name {}
        $crate::__region_accessors! { [$visible] $name $ref $mut $($member: $type),* }
        $crate::__region_stored! { final $name stringify!($name), 0; $([stringify!($member)] $member: $type;)* }
    };
    ($(#[$attribute:meta])* $visible:vis appendable struct $name:ident: $ref:ident, $mut:ident {
        $($member:ident: $type:ty),* $(,)?
    }) => {
        $(#[$attribute])*
        $visible enum $name {}
        $crate::__region_accessors! { [$visible] $name $ref $mut $($member: $type),* }
        $crate::__region_stored! { appendable $name stringify!($name), 0; $([stringify!($member)] $member: $type;)* }
    };
}

/// Defines the accessors of members.
#[macro_export]
#[doc(hidden)]
macro_rules! __region_accessors {
    ([$visible:vis] $name:ident $ref:ident $mut:ident $($member:ident: $type:ty),*) => {
        /// Read access to the members of the struct in a region.
        #[allow(dead_code, missing_docs, clippy::wrong_self_convention, clippy::should_implement_trait)]
        $visible trait $ref<'r> {
            $(fn $member(self) -> $crate::Ref<'r, $type>;)*
        }

        /// Mutable access to the members of the struct in a region.
        #[allow(dead_code, missing_docs, clippy::wrong_self_convention, clippy::should_implement_trait)]
        $visible trait $mut {
            $(fn $member(&mut self) -> $crate::Mut<'_, $type>;)*
        }

        const _: () = {
            $crate::__region_members! { $($member: $type),* }

            impl<'r> $ref<'r> for $crate::Ref<'r, $name> {
                $(#[inline]
                fn $member(self) -> $crate::Ref<'r, $type> {
                    self.part(PLACES[__Member::$member as usize])
                })*
            }

            impl $mut for $crate::Mut<'_, $name> {
                $(#[inline]
                fn $member(&mut self) -> $crate::Mut<'_, $type> {
                    self.part(PLACES[__Member::$member as usize])
                })*
            }
        };
    };
}

/// Implements the layout of a struct in a region, for `final` and for `appendable` structs.
#[macro_export]
#[doc(hidden)]
macro_rules! __region_stored {
    (
        final $name:ident $full:expr, $schema:expr;
        $([$label:expr] $member:ident: $type:ty $(= $default:expr)?;)*
    ) => {
        const _: () = {
            $crate::__region_members! { $($member: $type),* }

            impl $crate::Stored for $name {
                const SIZE: u32 = PLACES[COUNT];
                const ALIGN: u32 = ALIGNMENT;
                const LINKS: bool = false $(|| <$type as $crate::Stored>::LINKS)*;
                const DENSE: bool = true $(&& <$type as $crate::Stored>::DENSE)* && (0 $(+ <$type as $crate::Stored>::SIZE)*) == PLACES[COUNT];
                const ANY: bool = true $(&& <$type as $crate::Stored>::ANY)*;

                $crate::__region_common! { $full, $schema; $($member: $type $(= $default)?;)* }

                fn needed(lines: &mut $crate::Lines) {
                    if let ::core::option::Option::Some(name) = lines.begin_struct::<Self>() {
                        lines.line(&name, 0, Self::SIZE, Self::ALIGN, "struct");
                        $(lines.member::<$type>(&name, $label, PLACES[__Member::$member as usize]);)*
                        $(<$type as $crate::Stored>::needed(lines);)*
                    }
                }
                #[inline]
                fn write(writer: &mut $crate::Writer<'_>, from: u32, to: u32) {
                    $({
                        let place = PLACES[__Member::$member as usize];
                        <$type as $crate::Stored>::write(writer, from + place, to + place);
                    })*
                }
                #[inline]
                fn check<const __CANONICAL: bool>(check: &mut $crate::Check<'_, __CANONICAL>, at: u32) -> ::core::result::Result<(), $crate::Invalid> {
                    let mut end = at;
                    $({
                        let place = at + PLACES[__Member::$member as usize];
                        check.zero(end, place)?;
                        <$type as $crate::Stored>::check(check, place).map_err(|error| error.in_member($label))?;
                        end = place + <$type as $crate::Stored>::SIZE;
                    })*
                    check.zero(end, at + Self::SIZE)
                }
            }
        };
    };
    (
        appendable $name:ident $full:expr, $schema:expr;
        $([$label:expr] $member:ident: $type:ty $(= $default:expr)?;)*
    ) => {
        const _: () = {
            $crate::__region_members! { $($member: $type),* }

            impl $crate::Stored for $name {
                const SIZE: u32 = PLACES[COUNT].next_multiple_of(8);
                const ALIGN: u32 = 8;
                const LINKS: bool = true;
                const DENSE: bool = false;
                const ANY: bool = false;
                const APPENDABLE: bool = true;

                $crate::__region_common! { $full, $schema; $($member: $type $(= $default)?;)* }

                fn needed(lines: &mut $crate::Lines) {
                    if let ::core::option::Option::Some(name) = lines.begin_struct::<Self>() {
                        lines.line(&name, 0, 0, 0, "appendable");
                        let version = || {
                            let mut version = $crate::Version::of::<Self>($full);
                            $(version.member::<$type>($label, PLACES[__Member::$member as usize]);)*
                            version
                        };
                        if lines.version(version) {
                            $(<$type as $crate::Stored>::needed(lines);)*
                        }
                    }
                }
                fn write(writer: &mut $crate::Writer<'_>, from: u32, to: u32) {
                    let members = writer.members_of::<Self>();
                    $({
                        let place = PLACES[__Member::$member as usize];
                        if (__Member::$member as u32) < members {
                            <$type as $crate::Stored>::write(writer, from + place, to + place);
                        } else {
                            writer.default_value::<$type>(to + place, |_memory, _at| {
                                $($crate::begin_with::<$type, _>(_memory, _at, $default);)?
                            });
                        }
                    })*
                }
                fn check<const __CANONICAL: bool>(check: &mut $crate::Check<'_, __CANONICAL>, at: u32) -> ::core::result::Result<(), $crate::Invalid> {
                    let (members, size) = check.version_of::<Self>(at)?;
                    let mut end = at;
                    $(if (__Member::$member as u32) < members {
                        let place = at + PLACES[__Member::$member as usize];
                        check.zero(end, place)?;
                        <$type as $crate::Stored>::check(check, place).map_err(|error| error.in_member($label))?;
                        end = place + <$type as $crate::Stored>::SIZE;
                    })*
                    // The image may have other members after those that this program knows.
                    if members <= COUNT as u32 || size == Self::SIZE {
                        check.zero(end, at + size)
                    } else {
                        ::core::result::Result::Ok(())
                    }
                }
            }
        };
    };
}

/// The common part of `final` and `appendable` structs.
#[macro_export]
#[doc(hidden)]
macro_rules! __region_common {
    ($full:expr, $schema:expr; $($member:ident: $type:ty $(= $default:expr)?;)*) => {
        const SCHEMA_HASH: u64 = $schema;
        const NAMED: bool = true;

        fn facts() -> &'static $crate::Facts {
            const { $($crate::fixed::<$type>();)* }
            static FACTS: ::std::sync::OnceLock<$crate::Facts> = ::std::sync::OnceLock::new();
            FACTS.get_or_init($crate::Facts::work_out::<Self>)
        }
        fn kind() -> ::std::string::String {
            ::std::borrow::ToOwned::to_owned($full)
        }
        fn begin(mut memory: $crate::MemoryMut<'_>, at: u32) {
            $(
                <$type as $crate::Stored>::begin(memory.reborrow(), at + PLACES[__Member::$member as usize]);
                $($crate::begin_with::<$type, _>(memory.reborrow(), at + PLACES[__Member::$member as usize], $default);)?
            )*
        }
        fn moved(mut memory: $crate::MemoryMut<'_>, at: u32, distance: u32) {
            $(<$type as $crate::Stored>::moved(memory.reborrow(), at + PLACES[__Member::$member as usize], distance);)*
        }
        fn slide(slide: &mut $crate::Slide<'_>, at: u32) {
            $(<$type as $crate::Stored>::slide(slide, at + PLACES[__Member::$member as usize]);)*
        }
        fn release(mut memory: $crate::MemoryMut<'_>, at: u32) {
            $(<$type as $crate::Stored>::release(memory.reborrow(), at + PLACES[__Member::$member as usize]);)*
        }
    };
}

/// Computes the places of members.
#[macro_export]
#[doc(hidden)]
macro_rules! __region_members {
    ($($member:ident: $type:ty),*) => {
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        enum __Member { $($member),* }
        const SIZES: &[(u32, u32)] = &[$((<$type as $crate::Stored>::SIZE, <$type as $crate::Stored>::ALIGN)),*];
        const COUNT: usize = SIZES.len();
        const _: () = assert!(COUNT != 0, "a struct of a region has at least one member");
        const ALIGNMENT: u32 = $crate::alignment(SIZES);
        /// The entry after the last member is the size of the struct.
        const PLACES: [u32; COUNT + 1] = $crate::places::<{ COUNT + 1 }>(SIZES);
    };
}

/// Describes a struct of numbers without padding, which is accessible as a Rust value in a region.
/// Compilation fails if it has padding or a member that is not plain, or if an attribute changes its
/// alignment from that of its members.
///
/// ```compile_fail,E0080
/// situ_region::region_plain! { #[repr(align(16))] struct Pair { first: u64, second: u64 } }
/// ```
#[macro_export]
macro_rules! region_plain {
    ($(#[$attribute:meta])* $visible:vis struct $name:ident {
        $($(#[$member_attribute:meta])* $member:ident: $type:ty),* $(,)?
    }) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, Default, PartialEq)]
        #[repr(C)]
        #[allow(missing_docs)]
        $visible struct $name {
            $($(#[$member_attribute])* pub $member: $type),*
        }

        const _: () = {
            $crate::__region_members! { $($member: $type),* }

            const fn plain<T: $crate::Plain>() -> u32 {
                T::SIZE
            }
            const _: () = assert!(0 $(+ plain::<$type>())* == ::core::mem::size_of::<$name>() as u32, "a plain struct has no padding");
            const _: () = assert!(ALIGNMENT == ::core::mem::align_of::<$name>() as u32, "a plain struct is aligned as its members are");

            impl $crate::Stored for $name {
                const SIZE: u32 = ::core::mem::size_of::<$name>() as u32;
                const ALIGN: u32 = ALIGNMENT;
                const LINKS: bool = false;
                const DENSE: bool = true;
                const ANY: bool = true;
                const NAMED: bool = true;

                fn kind() -> ::std::string::String {
                    stringify!($name).to_owned()
                }
                fn needed(lines: &mut $crate::Lines) {
                    if let ::core::option::Option::Some(name) = lines.begin_struct::<Self>() {
                        lines.line(&name, 0, Self::SIZE, Self::ALIGN, "struct");
                        $(lines.member::<$type>(&name, stringify!($member), PLACES[__Member::$member as usize]);)*
                        $(<$type as $crate::Stored>::needed(lines);)*
                    }
                }
                fn write(writer: &mut $crate::Writer<'_>, from: u32, to: u32) {
                    writer.copy(from, to, Self::SIZE);
                }
                fn check<const __CANONICAL: bool>(_: &mut $crate::Check<'_, __CANONICAL>, _: u32) -> ::core::result::Result<(), $crate::Invalid> {
                    ::core::result::Result::Ok(())
                }
            }

            // SAFETY: the struct is repr(C). The assertions above prove that its members are plain, leave no
            // padding, and give the struct its alignment.
            unsafe impl $crate::Plain for $name {}
        };
    };
}
