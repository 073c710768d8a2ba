//! The macro that describes unions in regions.

/// Describes a union: what its discriminator is, and which member each of its values selects. The members are reached through
/// two traits, whose names stand behind the union's; `select` makes another one begin with its default value.
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

/// Makes of each case `[labels] [default or nothing] member: type`, one by one.
#[macro_export]
#[doc(hidden)]
macro_rules! __region_cases {
    ($head:tt [$($done:tt)*]) => {
        $crate::__region_union! { $head $($done)* }
    };
    ($head:tt [$($done:tt)*] default => $member:ident: $type:ty $(, $($rest:tt)*)?) => {
        $crate::__region_cases! { $head [$($done)* [] [default] $member: $type,] $($($rest)*)? }
    };
    ($head:tt [$($done:tt)*] $($label:literal)|+ => $member:ident: $type:ty $(, $($rest:tt)*)?) => {
        $crate::__region_cases! { $head [$($done)* [$($label)*] [] $member: $type,] $($($rest)*)? }
    };
    ($head:tt [$($done:tt)*] $($label:literal)|+ default => $member:ident: $type:ty $(, $($rest:tt)*)?) => {
        $crate::__region_cases! { $head [$($done)* [$($label)*] [default] $member: $type,] $($($rest)*)? }
    };
}

/// The union itself.
#[macro_export]
#[doc(hidden)]
macro_rules! __region_union {
    ([$(#[$attribute:meta])* $visible:vis union $name:ident: $ref:ident, $mut:ident ($discriminator:ty)]
        $([$($label:literal)*] [$($default:ident)?] $member:ident: $type:ty,)*
    ) => {
        $(#[$attribute])*
        $visible enum $name {}

        /// The members of the union of the same name, to be read.
        #[allow(missing_docs, dead_code)]
        $visible trait $ref<'r> {
            fn discriminator(self) -> <$discriminator as $crate::region::Discriminator>::Value;
            $(fn $member(self) -> Option<$crate::region::Ref<'r, $type>>;)*
        }

        /// The members of the union of the same name, to be changed.
        #[allow(missing_docs, dead_code)]
        $visible trait $mut {
            fn select(&mut self, discriminator: <$discriminator as $crate::region::Discriminator>::Value);
            $(fn $member(&mut self) -> Option<$crate::region::Mut<'_, $type>>;)*
        }

        const _: () = {
            use $crate::region::{
                Check, Facts, Invalid, Lines, Memory, Mut, Ref, Selected, Stored, Union, Writer, fixed, union_begin,
                union_check, union_discriminator, union_labels, union_layout, union_moved, union_release, union_select,
                union_write,
            };

            #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
            #[derive(PartialEq)]
            enum Case { $($member,)* Nothing }

            /// Where the members begin, the size and the alignment.
            const LAYOUT: (u32, u32, u32) =
                union_layout(<$discriminator as Stored>::SIZE, &[$((<$type as Stored>::SIZE, <$type as Stored>::ALIGN)),*]);

            #[allow(unreachable_code)]
            fn case(value: Selected<$name>) -> Case {
                $($(if value == $label {
                    return Case::$member;
                })*)*
                $($(
                    let _ = stringify!($default);
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

                fn facts() -> &'static Facts {
                    const { $(fixed::<$type>();)* }
                    static FACTS: ::std::sync::OnceLock<Facts> = ::std::sync::OnceLock::new();
                    FACTS.get_or_init(Facts::work_out::<Self>)
                }
                fn kind() -> String {
                    stringify!($name).to_owned()
                }
                fn needed(lines: &mut Lines) {
                    if lines.begin_struct(stringify!($name)) {
                        lines.line(stringify!($name), 0, Self::SIZE, Self::ALIGN, "union");
                        lines.value::<$discriminator>(concat!(stringify!($name), ".discriminator"), 0);
                        $({
                            let default = false $(|| stringify!($default) == "default")?;
                            let labels = union_labels(&[$($label as i128),*], default);
                            lines.case::<$type>(concat!(stringify!($name), ".", stringify!($member)), LAYOUT.0, &labels);
                        })*
                        $(<$type>::needed(lines);)*
                    }
                }
                fn begin(memory: &mut Memory, at: u32) {
                    union_begin::<Self>(memory, at);
                }
                fn moved(memory: &mut Memory, at: u32, distance: u32) {
                    union_moved::<Self>(memory, at, distance);
                }
                fn release(memory: &mut Memory, at: u32) {
                    union_release::<Self>(memory, at);
                }
                fn write(writer: &mut Writer<'_>, from: u32, to: u32) {
                    union_write::<Self>(writer, from, to);
                }
                fn check(check: &mut Check<'_>, at: u32) -> Result<(), Invalid> {
                    union_check::<Self>(check, at)
                }
            }

            impl Union for $name {
                type Discriminator = $discriminator;
                const VALUE: u32 = LAYOUT.0;

                fn value_begin(selected: Selected<Self>, memory: &mut Memory, at: u32) {
                    match case(selected) {
                        $(Case::$member => <$type>::begin(memory, at),)*
                        Case::Nothing => {}
                    }
                }
                fn value_moved(selected: Selected<Self>, memory: &mut Memory, at: u32, distance: u32) {
                    match case(selected) {
                        $(Case::$member => <$type>::moved(memory, at, distance),)*
                        Case::Nothing => {}
                    }
                }
                fn value_release(selected: Selected<Self>, memory: &mut Memory, at: u32) {
                    match case(selected) {
                        $(Case::$member => <$type>::release(memory, at),)*
                        Case::Nothing => {}
                    }
                }
                fn value_write(selected: Selected<Self>, writer: &mut Writer<'_>, from: u32, to: u32) {
                    match case(selected) {
                        $(Case::$member => <$type>::write(writer, from, to),)*
                        Case::Nothing => {}
                    }
                }
                fn value_check(selected: Selected<Self>, check: &mut Check<'_>, at: u32) -> Result<u32, Invalid> {
                    match case(selected) {
                        $(Case::$member => {
                            <$type>::check(check, at).map_err(|error| error.in_member(stringify!($member)))?;
                            Ok(<$type>::SIZE)
                        })*
                        Case::Nothing => Ok(0),
                    }
                }
            }

            impl<'r> $ref<'r> for Ref<'r, $name> {
                fn discriminator(self) -> Selected<$name> {
                    union_discriminator(self)
                }
                $(fn $member(self) -> Option<Ref<'r, $type>> {
                    (case(union_discriminator(self)) == Case::$member).then(|| self.part(LAYOUT.0))
                })*
            }

            impl $mut for Mut<'_, $name> {
                fn select(&mut self, discriminator: Selected<$name>) {
                    union_select(self, discriminator);
                }
                $(fn $member(&mut self) -> Option<Mut<'_, $type>> {
                    (case(union_discriminator(self.as_ref())) == Case::$member).then(|| self.part(LAYOUT.0))
                })*
            }
        };
    };
}
