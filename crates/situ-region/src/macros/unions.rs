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
    ($(#[$attribute:meta])* $visible:vis union $name:ident: $ref:ident, $mut:ident ($discriminator:ty) {
        $($($label:literal)|* $(default $($never:ident)?)? => $member:ident: $type:ty),* $(,)?
    }) => {
        $(#[$attribute])*
        $visible enum $name {}

        /// Read access to the members of the union in a region or a packed image.
        #[allow(dead_code, missing_docs, clippy::wrong_self_convention, clippy::should_implement_trait)]
        $visible trait $ref<'r>: $crate::Access<'r> {
            fn discriminator(self) -> <$discriminator as $crate::Discriminator>::Value;
            $(fn $member(self) -> ::core::option::Option<<Self as $crate::Access<'r>>::Of<$type>>;)*
        }

        /// Mutable access to the members of the union in a region.
        #[allow(dead_code, missing_docs, clippy::wrong_self_convention, clippy::should_implement_trait)]
        $visible trait $mut {
            fn select(&mut self, discriminator: <$discriminator as $crate::Discriminator>::Value);
            $(fn $member(&mut self) -> ::core::option::Option<$crate::Mut<'_, $type>>;)*
        }

        const _: () = {
            #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
            enum __Case { $($member,)* __Nothing }

            /// The offset of the members, the size and the alignment.
            const LAYOUT: (u32, u32, u32) = $crate::union_layout::<$discriminator>(MEMBERS);
            const MEMBERS: &[$crate::Member] = &[$($crate::Field::<$type>::new("", 0).member()),*];
            const PACKED: $crate::PackedUnion = $crate::PackedUnion::of::<$discriminator>(MEMBERS);

            #[allow(unreachable_code, unused_variables)]
            fn case(value: $crate::Selected<$name>) -> __Case {
                let number = $crate::union_case::<$name>(value);
                $($(if number == $label as i128 {
                    return __Case::$member;
                })*)*
                $($(
                    $(let $never = ();)?
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
                const PACKED_SIZE: u32 = PACKED.size;
                const PACKED_ALIGN: u32 = PACKED.align;

                fn facts() -> &'static $crate::Facts {
                    static FACTS: ::std::sync::OnceLock<$crate::Facts> = ::std::sync::OnceLock::new();
                    FACTS.get_or_init($crate::Facts::work_out::<Self>)
                }
                fn kind() -> ::std::string::String {
                    ::std::borrow::ToOwned::to_owned(stringify!($name))
                }
                fn needed(lines: &mut $crate::Lines) {
                    if let ::core::option::Option::Some(name) = lines.begin_struct::<Self>() {
                        lines.line(&name, 0, Self::SIZE, Self::ALIGN, "union");
                        lines.member::<$discriminator>(&name, "discriminator", 0);
                        $({
                            let default = false $(|| { $(let $never = ();)? true })?;
                            let case = $crate::Field::<$type>::new(stringify!($member), LAYOUT.0);
                            $crate::union_line(lines, &name, case, LAYOUT.0, &[$($label as i128),*], default);
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
                fn pack(writer: &mut $crate::Writer<'_>, from: u32, to: u32) {
                    $crate::union_pack::<Self>(writer, from, to);
                }
                fn check_packed<const __CANONICAL: bool>(check: &mut $crate::Check<'_, __CANONICAL>, at: u32) -> ::core::result::Result<(), $crate::Invalid> {
                    $crate::union_check_packed::<Self, __CANONICAL>(check, at)
                }
                fn unpack(unpacker: &mut $crate::Unpacker<'_>, memory: $crate::MemoryMut<'_>, at: u32, from: u32) -> ::core::result::Result<(), $crate::Full> {
                    $crate::union_unpack::<Self>(unpacker, memory, at, from)
                }
                fn show(
                    walk: &$crate::ShowWalk<'_>,
                    at: u32,
                    f: &mut ::core::fmt::Formatter<'_>,
                ) -> ::core::fmt::Result {
                    $crate::union_show::<Self>(walk, at, f)
                }
                fn equals(equal: &mut $crate::Equal<'_, '_>, a: u32, b: u32) -> bool {
                    $crate::union_equals::<Self>(equal, a, b)
                }
            }

            impl $crate::Union for $name {
                type Discriminator = $discriminator;
                const VALUE: u32 = LAYOUT.0;
                const PACKED: $crate::PackedUnion = PACKED;
                const INITIAL: i128 = 0;

                fn case(selected: $crate::Selected<Self>) -> u32 {
                    case(selected) as u32
                }
                fn visit_case<V: $crate::CaseVisitor>(
                    selected: $crate::Selected<Self>,
                    visitor: V,
                ) -> ::core::option::Option<V::Output> {
                    ::core::option::Option::Some(match case(selected) {
                        $(__Case::$member => {
                            visitor.visit($crate::Field::<$type>::new(stringify!($member), LAYOUT.0))
                        })*
                        __Case::__Nothing => return ::core::option::Option::None,
                    })
                }
            }

            impl<'r> $ref<'r> for $crate::Ref<'r, $name> {
                fn discriminator(self) -> $crate::Selected<$name> {
                    $crate::union_discriminator(self)
                }
                $(fn $member(self) -> ::core::option::Option<$crate::Ref<'r, $type>> {
                    $crate::union_member(self, __Case::$member as u32)
                })*
            }

            impl<'r> $ref<'r> for $crate::Packed<'r, $name> {
                fn discriminator(self) -> $crate::Selected<$name> {
                    $crate::packed_discriminator(self)
                }
                $(fn $member(self) -> ::core::option::Option<$crate::Packed<'r, $type>> {
                    $crate::packed_member(self, __Case::$member as u32)
                })*
            }

            impl $mut for $crate::Mut<'_, $name> {
                fn select(&mut self, discriminator: $crate::Selected<$name>) {
                    $crate::union_select(self, discriminator);
                }
                $(fn $member(&mut self) -> ::core::option::Option<$crate::Mut<'_, $type>> {
                    $crate::union_member_mut(self, __Case::$member as u32)
                })*
            }
        };
    };
}
