//! The macros that describe the types of values in a region: structs with containers, and plain structs.

/// Describes a struct whose values lie in regions. Two traits, named after the struct's name, add accessors
/// for its members to [`Ref`](crate::Ref) and [`Mut`](crate::Mut).
///
/// ```
/// use situ_region::{SortedMap, Region, Text, Vector};
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
/// A struct written `key struct` can be the key of sets and maps, if all its members are keys. It has at most
/// 12 of them. Keys are looked up by tuples, and are compared member by member, in order.
///
/// ```
/// use situ_region::{HashMap, Region, Text};
/// use situ_region::region_struct;
///
/// region_struct! { key struct Place: PlaceRef, PlaceMut { area: Text, number: u8 } }
/// region_struct! { struct Plan: PlanRef, PlanMut { places: HashMap<Place, f32> } }
///
/// let mut plan = Region::<Plan>::new();
/// plan.root_mut().places().insert(("cellar", 3), 2.5_f32)?;
/// assert_eq!(*plan.root().places().get(("cellar", 3)).unwrap(), 2.5);
/// # Ok::<(), situ_region::Full>(())
/// ```
///
/// ```compile_fail,E0277
/// use situ_region::{Maybe, region_struct};
/// region_struct! { key struct Place: PlaceRef, PlaceMut { area: Maybe<u8> } }
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
        $crate::__region_stored! { of false $name $($member: $type),* }
    };
    ($(#[$attribute:meta])* $visible:vis appendable struct $name:ident: $ref:ident, $mut:ident {
        $($member:ident: $type:ty),* $(,)?
    }) => {
        $(#[$attribute])*
        $visible enum $name {}
        $crate::__region_accessors! { [$visible] $name $ref $mut $($member: $type),* }
        $crate::__region_stored! { appendable true $name $($member: $type),* }
    };
    ($(#[$attribute:meta])* $visible:vis key struct $name:ident: $ref:ident, $mut:ident {
        $($member:ident: $type:ty),* $(,)?
    }) => {
        $crate::region_struct! { $(#[$attribute])* $visible struct $name: $ref, $mut { $($member: $type),* } }

        const _: () = {
            $crate::__region_members! { $($member: $type),* }

            #[inline]
            fn packed_place(member: __Member) -> u32 {
                const ALL: [u32; COUNT] = {
                    let (mut all, mut i) = ([0; COUNT], 0);
                    while i < COUNT {
                        all[i] = <$name as $crate::Struct>::LAYOUT.packed_place(i);
                        i += 1;
                    }
                    all
                };
                ALL[member as usize]
            }

            impl $crate::Key for $name {
                type View<'a> = ($(<$type as $crate::Key>::View<'a>,)*);
                fn view(image: &[u8], at: u32) -> Self::View<'_> {
                    ($(<$type as $crate::Key>::view(image, at + PLACES[__Member::$member as usize]),)*)
                }
                fn of(key: $crate::Ref<'_, Self>) -> Self::View<'_> {
                    ($(<$type as $crate::Key>::of(key.part(PLACES[__Member::$member as usize])),)*)
                }
                fn compare(image: &[u8], at: u32, ($($member,)*): Self::View<'_>) -> ::core::cmp::Ordering {
                    ::core::cmp::Ordering::Equal$(.then_with(|| {
                        <$type as $crate::Key>::compare(image, at + PLACES[__Member::$member as usize], $member)
                    }))*
                }
                fn packed(image: &[u8], at: u32) -> Self::View<'_> {
                    ($(<$type as $crate::Key>::packed(image, at + packed_place(__Member::$member)),)*)
                }
                fn compare_packed(
                    image: &[u8],
                    at: u32,
                    ($($member,)*): Self::View<'_>,
                ) -> ::core::cmp::Ordering {
                    ::core::cmp::Ordering::Equal$(.then_with(|| {
                        let place = at + packed_place(__Member::$member);
                        <$type as $crate::Key>::compare_packed(image, place, $member)
                    }))*
                }
                fn hash(($($member,)*): Self::View<'_>, seed: u32) -> u64 {
                    let hash = $crate::hash_parts(COUNT, seed);
                    $(let hash = $crate::hash_part(hash, <$type as $crate::Key>::hash($member, seed));)*
                    hash
                }
                fn put(
                    memory: $crate::MemoryMut<'_>,
                    at: u32,
                    ($($member,)*): Self::View<'_>,
                ) -> ::core::result::Result<(), $crate::Full> {
                    $crate::put_parts::<Self>(memory, at, |mut memory| {
                        $(<$type as $crate::Key>::put(
                            memory.reborrow(),
                            at + PLACES[__Member::$member as usize],
                            $member,
                        )?;)*
                        ::core::result::Result::Ok(())
                    })
                }
            }
        };
    };
}

/// Defines the accessors of members.
#[macro_export]
#[doc(hidden)]
macro_rules! __region_accessors {
    ([$visible:vis] $name:ident $ref:ident $mut:ident $($member:ident: $type:ty),*) => {
        /// Read access to the members of the struct in a region or a packed image.
        #[allow(dead_code, missing_docs, clippy::wrong_self_convention, clippy::should_implement_trait)]
        $visible trait $ref<'r>: $crate::Access<'r> {
            $(fn $member(self) -> <Self as $crate::Access<'r>>::Of<$type>;)*
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

            impl<'r> $ref<'r> for $crate::Packed<'r, $name> {
                $(#[inline]
                fn $member(self) -> $crate::Packed<'r, $type> {
                    self.member::<$type, { __Member::$member as usize }>()
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

/// Describes a struct. `of` or `appendable` gives its layout, `false` or `true` says which it is.
#[macro_export]
#[doc(hidden)]
macro_rules! __region_stored {
    ($layout:ident $is_appendable:literal $name:ident $($member:ident: $type:ty),*) => {
        const _: () = {
            $crate::__region_members! { $($member: $type),* }
            const MEMBERS: &[$crate::Member] = &[$(
                $crate::Field::<$type>::new("", PLACES[__Member::$member as usize]).member()
            ),*];
            const LAYOUT: $crate::StructLayout = $crate::StructLayout::$layout(MEMBERS);

            impl $crate::Struct for $name {
                const NAME: &'static str = stringify!($name);
                const LAYOUT: $crate::StructLayout = LAYOUT;
                const IS_APPENDABLE: bool = $is_appendable;

                fn own_facts() -> &'static $crate::Facts {
                    static FACTS: ::std::sync::OnceLock<$crate::Facts> = ::std::sync::OnceLock::new();
                    FACTS.get_or_init($crate::Facts::work_out::<Self>)
                }
                #[inline(always)]
                fn visit_members<V: $crate::MemberVisitor>(visitor: &mut V) -> ::core::result::Result<(), V::Error> {
                    $(visitor.member($crate::Field::<$type>::new(
                        stringify!($member),
                        PLACES[__Member::$member as usize],
                    ))?;)*
                    ::core::result::Result::Ok(())
                }
            }
        };
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
///
/// A struct written `key struct` can be the key of sets and maps, if all its members are keys. It is looked
/// up by its value: `map.get(Cell { x: 1, y: 2 })`.
#[macro_export]
macro_rules! region_plain {
    ($(#[$attribute:meta])* $visible:vis key struct $name:ident {
        $($(#[$member_attribute:meta])* $member:ident: $type:ty),* $(,)?
    }) => {
        $crate::region_plain! {
            $(#[$attribute])* $visible struct $name { $($(#[$member_attribute])* $member: $type),* }
        }

        const _: () = {
            $crate::__region_members! { $($member: $type),* }

            impl $crate::Key for $name {
                type View<'a> = Self;
                #[inline]
                fn view(image: &[u8], at: u32) -> Self {
                    Self { $($member: <$type as $crate::Key>::view(image, at + PLACES[__Member::$member as usize])),* }
                }
                #[inline]
                fn of(key: $crate::Ref<'_, Self>) -> Self {
                    *key
                }
                #[inline]
                fn compare(image: &[u8], at: u32, other: Self) -> ::core::cmp::Ordering {
                    ::core::cmp::Ordering::Equal$(.then_with(|| {
                        <$type as $crate::Key>::compare(image, at + PLACES[__Member::$member as usize], other.$member)
                    }))*
                }
                #[inline]
                fn hash(key: Self, seed: u32) -> u64 {
                    let hash = $crate::hash_parts(COUNT, seed);
                    $(let hash = $crate::hash_part(hash, <$type as $crate::Key>::hash(key.$member, seed));)*
                    hash
                }
                #[inline]
                fn put(
                    memory: $crate::MemoryMut<'_>,
                    at: u32,
                    key: Self,
                ) -> ::core::result::Result<(), $crate::Full> {
                    $crate::put_plain(memory, at, &[key]);
                    ::core::result::Result::Ok(())
                }
            }
        };
    };
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
                fn show(
                    walk: &$crate::ShowWalk<'_>,
                    at: u32,
                    f: &mut ::core::fmt::Formatter<'_>,
                ) -> ::core::fmt::Result {
                    $crate::show_plain::<Self>(walk, at, f)
                }
                fn equals(equal: &mut $crate::Equal<'_, '_>, a: u32, b: u32) -> bool {
                    $crate::plain_equals::<Self>(equal, a, b)
                }
            }

            // SAFETY: the struct is repr(C). The assertions above prove that its members are plain, leave no
            // padding, and give the struct its alignment.
            unsafe impl $crate::Plain for $name {}
        };
    };
}
