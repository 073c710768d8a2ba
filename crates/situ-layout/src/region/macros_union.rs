//! The macro that describes unions in regions.

/// Describes a union: what its discriminator is, and which member each of its values selects. The members are reached through
/// two traits, whose names stand behind the union's. `select` chooses a value of the discriminator: a member that was not
/// selected before begins with its default value.
///
/// ```
/// use situ_layout::region::{Region, Text, Vector};
/// use situ_layout::{region_struct, region_union};
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
/// # Ok::<(), situ_layout::region::Full>(())
/// ```
///
/// A member that has labels may be the default as well: `4 | 5 default => ...`.
#[macro_export]
macro_rules! region_union {
    ($(#[$attribute:meta])* $visible:vis union $name:ident: $ref:ident, $mut:ident ($discriminator:ty) { $($cases:tt)* }) => {
        $crate::__region_cases! {
            [$(#[$attribute])* $visible union $name: $ref, $mut ($discriminator)] [] $($cases)*
        }
    };
}

/// Makes of each case `[labels] [default or nothing] "member" member: type`, one by one.
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

/// The region form of a generated union, for a type that is a name for what lies in regions: the discriminator that a new one has
/// stands behind its type.
///
/// ```text
/// situ::layout::region_union_type! {
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

/// The union itself.
#[macro_export]
#[doc(hidden)]
macro_rules! __region_union {
    ([$visible:vis] $name:ident: $ref:ident, $mut:ident ($discriminator:ty = $initial:literal), $full:expr;
        $([$($label:literal)*] [$($default:ident)?] [$text:expr] $member:ident: $type:ty;)*
    ) => {
        /// The members of the union in a region, to be read.
        #[allow(dead_code, missing_docs, clippy::wrong_self_convention, clippy::should_implement_trait)]
        $visible trait $ref<'r> {
            fn discriminator(self) -> <$discriminator as $crate::region::Discriminator>::Value;
            $(fn $member(self) -> ::core::option::Option<$crate::region::Ref<'r, $type>>;)*
        }

        /// The members of the union in a region, to be changed.
        #[allow(dead_code, missing_docs, clippy::wrong_self_convention, clippy::should_implement_trait)]
        $visible trait $mut {
            fn select(&mut self, discriminator: <$discriminator as $crate::region::Discriminator>::Value);
            $(fn $member(&mut self) -> ::core::option::Option<$crate::region::Mut<'_, $type>>;)*
        }

        const _: () = {
            use $crate::region::{
                Check, Facts, Invalid, Lines, MemoryMut, Mut, Ref, Selected, Slide, Stored, Union, Writer, fixed,
                union_begin, union_case, union_check, union_discriminator, union_labels, union_layout, union_moved,
                union_release, union_select, union_slide, union_write,
            };

            #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
            #[derive(PartialEq)]
            enum Case { $($member,)* Nothing }

            /// Where the members begin, the size and the alignment.
            const LAYOUT: (u32, u32, u32) =
                union_layout(<$discriminator as Stored>::SIZE, &[$((<$type as Stored>::SIZE, <$type as Stored>::ALIGN)),*]);

            #[allow(unreachable_code, unused_variables)]
            fn case(value: Selected<$name>) -> Case {
                let number = union_case::<$name>(value);
                $($(if number == $label as i128 {
                    return Case::$member;
                })*)*
                $($(
                    let _ = ::core::stringify!($default);
                    return Case::$member;
                )?)*
                Case::Nothing
            }

            impl Stored for $name {
                const SIZE: u32 = LAYOUT.1;
                const ALIGN: u32 = LAYOUT.2;
                const LINKS: bool = true;
                const DENSE: bool = false;
                const ANY: bool = false;
                const NAMED: bool = true;

                fn facts() -> &'static Facts {
                    const { $(fixed::<$type>();)* }
                    static FACTS: ::std::sync::OnceLock<Facts> = ::std::sync::OnceLock::new();
                    FACTS.get_or_init(Facts::work_out::<Self>)
                }
                fn kind() -> ::std::string::String {
                    ::std::borrow::ToOwned::to_owned($full)
                }
                fn needed(lines: &mut Lines) {
                    if let ::core::option::Option::Some(name) = lines.begin_struct::<Self>() {
                        lines.line(&name, 0, Self::SIZE, Self::ALIGN, "union");
                        lines.member::<$discriminator>(&name, "discriminator", 0);
                        $({
                            let default = false $(|| ::core::stringify!($default) == "default")?;
                            let labels = union_labels(&[$($label as i128),*], default);
                            lines.case::<$type>(&name, $text, LAYOUT.0, &labels);
                        })*
                        $(<$type as Stored>::needed(lines);)*
                    }
                }
                fn begin(memory: MemoryMut<'_>, at: u32) {
                    union_begin::<Self>(memory, at);
                }
                fn moved(memory: MemoryMut<'_>, at: u32, distance: u32) {
                    union_moved::<Self>(memory, at, distance);
                }
                fn slide(slide: &mut Slide<'_>, at: u32) {
                    union_slide::<Self>(slide, at);
                }
                fn release(memory: MemoryMut<'_>, at: u32) {
                    union_release::<Self>(memory, at);
                }
                fn write(writer: &mut Writer<'_>, from: u32, to: u32) {
                    union_write::<Self>(writer, from, to);
                }
                fn check<const CANONICAL: bool>(check: &mut Check<'_, CANONICAL>, at: u32) -> ::core::result::Result<(), Invalid> {
                    union_check::<Self, CANONICAL>(check, at)
                }
            }

            impl Union for $name {
                type Discriminator = $discriminator;
                const VALUE: u32 = LAYOUT.0;
                const INITIAL: i128 = $initial;

                fn value_begin(selected: Selected<Self>, memory: MemoryMut<'_>, at: u32) {
                    match case(selected) {
                        $(Case::$member => <$type as Stored>::begin(memory, at),)*
                        Case::Nothing => {}
                    }
                }
                fn value_moved(selected: Selected<Self>, memory: MemoryMut<'_>, at: u32, distance: u32) {
                    match case(selected) {
                        $(Case::$member => <$type as Stored>::moved(memory, at, distance),)*
                        Case::Nothing => {}
                    }
                }
                fn value_slide(selected: Selected<Self>, slide: &mut Slide<'_>, at: u32) {
                    match case(selected) {
                        $(Case::$member => <$type as Stored>::slide(slide, at),)*
                        Case::Nothing => {}
                    }
                }
                fn value_release(selected: Selected<Self>, memory: MemoryMut<'_>, at: u32) {
                    match case(selected) {
                        $(Case::$member => <$type as Stored>::release(memory, at),)*
                        Case::Nothing => {}
                    }
                }
                fn value_write(selected: Selected<Self>, writer: &mut Writer<'_>, from: u32, to: u32) {
                    match case(selected) {
                        $(Case::$member => <$type as Stored>::write(writer, from, to),)*
                        Case::Nothing => {}
                    }
                }
                fn value_check<const CANONICAL: bool>(selected: Selected<Self>, check: &mut Check<'_, CANONICAL>, at: u32) -> ::core::result::Result<u32, Invalid> {
                    match case(selected) {
                        $(Case::$member => {
                            <$type as Stored>::check(check, at).map_err(|error| error.in_member($text))?;
                            ::core::result::Result::Ok(<$type as Stored>::SIZE)
                        })*
                        Case::Nothing => ::core::result::Result::Ok(0),
                    }
                }
            }

            impl<'r> $ref<'r> for Ref<'r, $name> {
                fn discriminator(self) -> Selected<$name> {
                    union_discriminator(self)
                }
                $(fn $member(self) -> ::core::option::Option<Ref<'r, $type>> {
                    (case(union_discriminator(self)) == Case::$member).then(|| self.part(LAYOUT.0))
                })*
            }

            impl $mut for Mut<'_, $name> {
                fn select(&mut self, discriminator: Selected<$name>) {
                    let is_same = case(union_discriminator(self.as_ref())) == case(discriminator);
                    union_select(self, discriminator, is_same);
                }
                $(fn $member(&mut self) -> ::core::option::Option<Mut<'_, $type>> {
                    (case(union_discriminator(self.as_ref())) == Case::$member).then(|| self.part(LAYOUT.0))
                })*
            }
        };
    };
}
