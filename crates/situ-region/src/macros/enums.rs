//! The macro that describes enums in a region.

/// Describes an enum whose values lie in regions: an integer with constants, because another program may know
/// enumerators that this one does not. The default is 0. It can be the key of sets and maps.
///
/// ```
/// use situ_region::{Region, SortedMap};
/// use situ_region::{region_enum, region_struct};
///
/// region_enum! { pub enum Side: i8 { LEFT = -1, RIGHT = 1 } }
/// region_struct! { struct Cart: CartRef, CartMut { front: Side, weights: SortedMap<Side, f32> } }
///
/// let mut cart = Region::<Cart>::new();
/// *cart.root_mut().front() = Side::LEFT;
/// cart.root_mut().weights().insert(Side::RIGHT, 2.5_f32)?;
/// assert_eq!(cart.root().front().0, -1);
/// # Ok::<(), situ_region::Full>(())
/// ```
///
/// ```compile_fail,E0277
/// situ_region::region_enum! { enum Side: f32 { LEFT = 1.0 } }
/// ```
#[macro_export]
macro_rules! region_enum {
    ($(#[$attribute:meta])* $visible:vis enum $name:ident: $number:ty {
        $($(#[$constant_attribute:meta])* $constant:ident = $value:expr),* $(,)?
    }) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(transparent)]
        #[allow(missing_docs)]
        $visible struct $name(pub $number);

        #[allow(dead_code, missing_docs)]
        impl $name {
            $($(#[$constant_attribute])* pub const $constant: Self = Self($value);)*
        }

        impl $crate::Stored for $name {
            const SIZE: u32 = <$number as $crate::Stored>::SIZE;
            const ALIGN: u32 = <$number as $crate::Stored>::ALIGN;
            const LINKS: bool = false;
            const DENSE: bool = true;
            const ANY: bool = true;

            fn kind() -> ::std::string::String {
                <$number as $crate::Stored>::kind()
            }
            fn write(writer: &mut $crate::Writer<'_>, from: u32, to: u32) {
                writer.copy(from, to, Self::SIZE);
            }
            fn check<const __CANONICAL: bool>(
                _: &mut $crate::Check<'_, __CANONICAL>,
                _: u32,
            ) -> ::core::result::Result<(), $crate::Invalid> {
                ::core::result::Result::Ok(())
            }
            fn show(
                walk: &$crate::ShowWalk<'_>,
                at: u32,
                f: &mut ::core::fmt::Formatter<'_>,
            ) -> ::core::fmt::Result {
                $crate::show_plain::<Self>(walk, at, f)
            }
        }

        // SAFETY: it is a number, which is plain: the function below requires this.
        unsafe impl $crate::Plain for $name {}
        const _: () = {
            const fn number<T: $crate::Plain + ::core::cmp::Ord>() {}
            number::<$number>();
        };

        impl $crate::Key for $name {
            type View<'a> = Self;
            #[inline]
            fn view(image: &[u8], at: u32) -> Self {
                Self(<$number as $crate::Key>::view(image, at))
            }
            #[inline]
            fn compare(image: &[u8], at: u32, other: Self) -> ::core::cmp::Ordering {
                <$number as $crate::Key>::compare(image, at, other.0)
            }
            #[inline]
            fn hash(key: Self, seed: u32) -> u64 {
                <$number as $crate::Key>::hash(key.0, seed)
            }
            #[inline]
            fn put(
                memory: $crate::MemoryMut<'_>,
                at: u32,
                key: Self,
            ) -> ::core::result::Result<(), $crate::Full> {
                <$number as $crate::Key>::put(memory, at, key.0)
            }
        }
    };
}
