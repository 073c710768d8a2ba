//! A short notation for structures in the tests of this crate.

/// Defines structures without type parameters:
/// `Name: Extensibility { 0 member: Type, 1 other: Type [flag], … }`.
macro_rules! structures {
    ($($name:ident: $extensibility:ident { $($id:literal $member:ident: $type:ty $([$flag:ident])?,)* })*) => {$(
        #[repr(C)]
        struct $name {
            $($member: $type,)*
        }

        situ_layout::__structure! {
            $name {} {} : $extensibility "test";
            $($id (stringify!($member)) $member: copy $([$flag])?;)*
        }

        situ_layout::__owned! {
            $name {} {} : $extensibility "test";
            $($id (stringify!($member)) $member: copy $([$flag])?;)*
        }
    )*};
}

pub(crate) use structures;
