//! Structures by hand, in few words, for the tests of the wire.

/// Defines structures whose members are read and written in order: `Name: Extensibility { 0 member: Type, … }`.
macro_rules! structures {
    ($($name:ident: $extensibility:ident { $($id:literal $(@$flag:ident)* $member:ident: $type:ty,)* })*) => {$(
        #[derive(Clone, Debug, PartialEq)]
        #[repr(C)]
        struct $name {
            $($member: $type,)*
        }

        impl Default for $name {
            fn default() -> Self {
                situ_layout::default_value()
            }
        }

        // SAFETY: every member is written.
        unsafe impl situ_layout::InPlace for $name {
            unsafe fn default_at(dst: *mut Self) {
                // SAFETY: dst is valid for writes of Self.
                unsafe { $(situ_layout::InPlace::default_at(&raw mut (*dst).$member);)* }
            }

            unsafe fn clone_at(&self, dst: *mut Self) {
                // SAFETY: dst is valid for writes of Self.
                unsafe { $(self.$member.clone_at(&raw mut (*dst).$member);)* }
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

            fn visit_mut<V: situ_layout::visit::VisitorMut>(
                &mut self,
                visitor: &mut V,
            ) -> Result<(), V::Error> {
                visitor.structure(self)
            }
        }

        impl situ_layout::visit::Structure for $name {
            const INFO: &'static situ_layout::visit::TypeInfo = &situ_layout::visit::TypeInfo {
                name: stringify!($name),
                extensibility: situ_layout::visit::Extensibility::$extensibility,
                members: &[
                    $(situ_layout::visit::MemberInfo::new(stringify!($member), $id)$(.$flag())*,)*
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
    )*};
}

pub(crate) use structures;
