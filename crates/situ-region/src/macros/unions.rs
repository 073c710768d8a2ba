//! The macro that describes unions in regions.

/// Describes a union: the type of its discriminator, and the member that each of its values selects. Two
/// traits, named after the union's name, give access to the members. `select` sets the discriminator; a newly
/// selected member begins with its default value.
///
/// ```
/// use situ_region::{Region, Text, Vector};
/// use situ_region::{region_struct, region_union};
///
/// region_union! {
///     /// What is drawn.
///     pub union Shape: ShapeRef, ShapeMut (i32) {
///         1 => radius: f32,
///         2 | 3 => label: Text,
///         default => points: Vector<f32>,
///     }
/// }
/// region_struct! { struct Picture: PictureRef, PictureMut { shape: Shape } }
///
/// let mut r = Region::<Picture>::new();
/// let mut picture = r.root_mut();
/// assert!(picture.shape().points().is_some(), "0 is no label of the others");
/// picture.shape().select(3);
/// picture.shape().label().unwrap().set("a label")?;
/// assert_eq!(r.root().shape().discriminator(), 3);
/// assert_eq!(&*r.root().shape().label().unwrap(), "a label");
/// # Ok::<(), situ_region::Full>(())
/// ```
///
/// A member with labels may also be the default: `4 | 5 default => ...`.
#[macro_export]
macro_rules! region_union {
    ($(#[$attribute:meta])* $visible:vis union $name:ident: $ref:ident, $mut:ident ($discriminator:ty) { $($cases:tt)* }) => {
        $crate::__region_cases! {
            [$(#[$attribute])* $visible union $name: $ref, $mut ($discriminator)] [] $($cases)*
        }
    };
}

/// Converts the cases to the form `[labels] [default or nothing] "member" member: type`, one by one.
#[macro_export]
#[doc(hidden)]
macro_rules! __region_cases {
    ([$(#[$attribute:meta])* $visible:vis union $name:ident: $ref:ident, $mut:ident ($discriminator:ty)] [$($done:tt)*]) => {
        $(#[$attribute])*
        $visible enum $name {}
        $crate::__region_union! {
            [$visible] $name: $ref, $mut ($discriminator = 0), stringify!($name);
            $($done)*
        }
    };
    ($head:tt [$($done:tt)*] default => $member:ident: $type:ty $(, $($rest:tt)*)?) => {
        $crate::__region_cases! { $head [$($done)* [] [default] [stringify!($member)] $member: $type;] $($($rest)*)? }
    };
    ($head:tt [$($done:tt)*] $($label:literal)|+ => $member:ident: $type:ty $(, $($rest:tt)*)?) => {
        $crate::__region_cases! { $head [$($done)* [$($label)*] [] [stringify!($member)] $member: $type;] $($($rest)*)? }
    };
    ($head:tt [$($done:tt)*] $($label:literal)|+ default => $member:ident: $type:ty $(, $($rest:tt)*)?) => {
        $crate::__region_cases! { $head [$($done)* [$($label)*] [default] [stringify!($member)] $member: $type;] $($($rest)*)? }
    };
}

/// The region form of a generated union. The type is only a name for values in regions. The discriminator of
/// a new value follows the discriminator's type.
///
/// ```text
/// situ::region::region_union_type! {
///     ShapeRegion: ShapeRef, ShapeMut (i32 = 1), "game::Shape";
///     [1] [] "radius" radius: f32;
///     [2 3] [default] "label" label: Text;
/// }
/// ```
#[macro_export]
#[doc(hidden)]
macro_rules! region_union_type {
    (
        $name:ident: $ref:ident, $mut:ident ($discriminator:ty = $initial:literal), $full:literal;
        $($labels:tt $default:tt $label:literal $member:ident: $type:ty;)*
    ) => {
        $crate::__region_union! {
            [pub] $name: $ref, $mut ($discriminator = $initial), $full;
            $($labels $default [$label] $member: $type;)*
        }
    };
}

/// The implementation of the union.
#[macro_export]
#[doc(hidden)]
macro_rules! __region_union {
    ([$visible:vis] $name:ident: $ref:ident, $mut:ident ($discriminator:ty = $initial:literal), $full:expr;
        $([$($label:literal)*] [$($default:ident)?] [$text:expr] $member:ident: $type:ty;)*
    ) => {
        /// Read access to the members of the union in a region.
        #[allow(dead_code, missing_docs, clippy::wrong_self_convention, clippy::should_implement_trait)]
        $visible trait $ref<'r> {
            fn discriminator(self) -> <$discriminator as $crate::Discriminator>::Value;
            $(fn $member(self) -> ::core::option::Option<$crate::Ref<'r, $type>>;)*
        }

        /// Mutable access to the members of the union in a region.
        #[allow(dead_code, missing_docs, clippy::wrong_self_convention, clippy::should_implement_trait)]
        $visible trait $mut {
            fn select(&mut self, discriminator: <$discriminator as $crate::Discriminator>::Value);
            $(fn $member(&mut self) -> ::core::option::Option<$crate::Mut<'_, $type>>;)*
        }

        const _: () = {
            #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
            #[derive(PartialEq)]
            enum __Case { $($member,)* __Nothing }

            /// The offset of the members, the size and the alignment.
            const LAYOUT: (u32, u32, u32) =
                $crate::union_layout(<$discriminator as $crate::Stored>::SIZE, &[$((<$type as $crate::Stored>::SIZE, <$type as $crate::Stored>::ALIGN)),*]);

            #[allow(unreachable_code, unused_variables)]
            fn case(value: $crate::Selected<$name>) -> __Case {
                let number = $crate::union_case::<$name>(value);
                $($(if number == $label as i128 {
                    return __Case::$member;
                })*)*
                $($(
                    let _ = ::core::stringify!($default);
                    return __Case::$member;
                )?)*
                __Case::__Nothing
            }

            impl $crate::Stored for $name {
                const SIZE: u32 = LAYOUT.1;
                const ALIGN: u32 = LAYOUT.2;
                const LINKS: bool = true;
                const DENSE: bool = false;
                const ANY: bool = false;
                const NAMED: bool = true;

                fn facts() -> &'static $crate::Facts {
                    const { $($crate::fixed::<$type>();)* }
                    static FACTS: ::std::sync::OnceLock<$crate::Facts> = ::std::sync::OnceLock::new();
                    FACTS.get_or_init($crate::Facts::work_out::<Self>)
                }
                fn kind() -> ::std::string::String {
                    ::std::borrow::ToOwned::to_owned($full)
                }
                fn needed(lines: &mut $crate::Lines) {
                    if let ::core::option::Option::Some(name) = lines.begin_struct::<Self>() {
                        lines.line(&name, 0, Self::SIZE, Self::ALIGN, "union");
                        lines.member::<$discriminator>(&name, "discriminator", 0);
                        $({
                            let default = false $(|| ::core::stringify!($default) == "default")?;
                            let labels = $crate::union_labels(&[$($label as i128),*], default);
                            lines.case::<$type>(&name, $text, LAYOUT.0, &labels);
                        })*
                        $(<$type as $crate::Stored>::needed(lines);)*
                    }
                }
                fn begin(memory: $crate::MemoryMut<'_>, at: u32) {
                    $crate::union_begin::<Self>(memory, at);
                }
                fn moved(memory: $crate::MemoryMut<'_>, at: u32, distance: u32) {
                    $crate::union_moved::<Self>(memory, at, distance);
                }
                fn slide(slide: &mut $crate::Slide<'_>, at: u32) {
                    $crate::union_slide::<Self>(slide, at);
                }
                fn release(memory: $crate::MemoryMut<'_>, at: u32) {
                    $crate::union_release::<Self>(memory, at);
                }
                fn write(writer: &mut $crate::Writer<'_>, from: u32, to: u32) {
                    $crate::union_write::<Self>(writer, from, to);
                }
                fn check<const __CANONICAL: bool>(check: &mut $crate::Check<'_, __CANONICAL>, at: u32) -> ::core::result::Result<(), $crate::Invalid> {
                    $crate::union_check::<Self, __CANONICAL>(check, at)
                }
            }

            impl $crate::Union for $name {
                type Discriminator = $discriminator;
                const VALUE: u32 = LAYOUT.0;
                const INITIAL: i128 = $initial;

                fn value_begin(selected: $crate::Selected<Self>, memory: $crate::MemoryMut<'_>, at: u32) {
                    match case(selected) {
                        $(__Case::$member => <$type as $crate::Stored>::begin(memory, at),)*
                        __Case::__Nothing => {}
                    }
                }
                fn value_moved(selected: $crate::Selected<Self>, memory: $crate::MemoryMut<'_>, at: u32, distance: u32) {
                    match case(selected) {
                        $(__Case::$member => <$type as $crate::Stored>::moved(memory, at, distance),)*
                        __Case::__Nothing => {}
                    }
                }
                fn value_slide(selected: $crate::Selected<Self>, slide: &mut $crate::Slide<'_>, at: u32) {
                    match case(selected) {
                        $(__Case::$member => <$type as $crate::Stored>::slide(slide, at),)*
                        __Case::__Nothing => {}
                    }
                }
                fn value_release(selected: $crate::Selected<Self>, memory: $crate::MemoryMut<'_>, at: u32) {
                    match case(selected) {
                        $(__Case::$member => <$type as $crate::Stored>::release(memory, at),)*
                        __Case::__Nothing => {}
                    }
                }
                fn value_write(selected: $crate::Selected<Self>, writer: &mut $crate::Writer<'_>, from: u32, to: u32) {
                    match case(selected) {
                        $(__Case::$member => <$type as $crate::Stored>::write(writer, from, to),)*
                        __Case::__Nothing => {}
                    }
                }
                fn value_check<const __CANONICAL: bool>(selected: $crate::Selected<Self>, check: &mut $crate::Check<'_, __CANONICAL>, at: u32) -> ::core::result::Result<u32, $crate::Invalid> {
                    match case(selected) {
                        $(__Case::$member => {
                            <$type as $crate::Stored>::check(check, at).map_err(|error| error.in_member($text))?;
                            ::core::result::Result::Ok(<$type as $crate::Stored>::SIZE)
                        })*
                        __Case::__Nothing => ::core::result::Result::Ok(0),
                    }
                }
            }

            impl<'r> $ref<'r> for $crate::Ref<'r, $name> {
                fn discriminator(self) -> $crate::Selected<$name> {
                    $crate::union_discriminator(self)
                }
                $(fn $member(self) -> ::core::option::Option<$crate::Ref<'r, $type>> {
                    (case($crate::union_discriminator(self)) == __Case::$member).then(|| self.part(LAYOUT.0))
                })*
            }

            impl $mut for $crate::Mut<'_, $name> {
                fn select(&mut self, discriminator: $crate::Selected<$name>) {
                    let is_same = case($crate::union_discriminator(self.as_ref())) == case(discriminator);
                    $crate::union_select(self, discriminator, is_same);
                }
                $(fn $member(&mut self) -> ::core::option::Option<$crate::Mut<'_, $type>> {
                    (case($crate::union_discriminator(self.as_ref())) == __Case::$member).then(|| self.part(LAYOUT.0))
                })*
            }
        };
    };
}
