//! A short notation for structures in the tests of this crate.

/// Defines structures without type parameters, and implements what a structure needs to be encoded:
/// `Name: Extensibility { 0 member: Type, 1 other: Type [flag], … }`.
macro_rules! structures {
    ($($name:ident: $extensibility:ident { $($id:literal $member:ident: $type:ty $([$flag:ident])?,)* })*) => {$(
        #[derive(Clone, Debug, PartialEq)]
        #[repr(C)]
        struct $name {
            $($member: $type,)*
        }

        // SAFETY: every member is written, and none unwinds.
        unsafe impl situ_layout::InPlace for $name {
            type Class = situ_layout::Composite;

            unsafe fn default_at(dst: *mut Self) {
                // SAFETY: the members lie within the destination.
                unsafe { $(situ_layout::InPlace::default_at(&raw mut (*dst).$member);)* }
            }

            unsafe fn clone_at(&self, dst: *mut Self) {
                // SAFETY: the members lie within the destination.
                unsafe { $(situ_layout::InPlace::clone_at(&self.$member, &raw mut (*dst).$member);)* }
            }
        }

        impl situ_layout::Value for $name {
            unsafe fn validate_at(
                src: *const Self,
                validation: &situ_layout::Validation,
            ) -> Result<(), situ_layout::ValidateError> {
                // SAFETY: the members lie within the caller's bytes.
                unsafe { $(situ_layout::Value::validate_at(&raw const (*src).$member, validation)?;)* }
                Ok(())
            }

            fn visit<V: situ_layout::visit::Visitor>(&self, visitor: &mut V) -> Result<(), V::Error> {
                visitor.structure(self)
            }

            fn visit_mut<V: situ_layout::visit::VisitorMut>(&mut self, visitor: &mut V) -> Result<(), V::Error> {
                visitor.structure(self)
            }
        }

        impl situ_layout::visit::Structure for $name {
            const INFO: &'static situ_layout::visit::TypeInfo = &situ_layout::visit::TypeInfo {
                name: "test",
                extensibility: situ_layout::visit::Extensibility::$extensibility,
                members: &[
                    $(situ_layout::visit::MemberInfo::new(stringify!($member), $id)$(.$flag())?,)*
                ],
            };

            fn visit_members<V: situ_layout::visit::MemberVisitor<Self>>(
                visitor: &mut V,
            ) -> Result<(), V::Error> {
                let mut infos = Self::INFO.members.iter();
                $(visitor.member(infos.next().unwrap(), |it| &it.$member, |it| &mut it.$member)?;)*
                Ok(())
            }
        }

        impl Default for $name {
            fn default() -> Self {
                situ_layout::default_value()
            }
        }
    )*};
}

pub(crate) use structures;
