//! Methods that containers of several storages implement alike.

/// The methods of [`Value`](crate::Value) that pass a value to a visitor's method of this name.
macro_rules! visit_as {
    ($method:ident) => {
        fn visit<W: $crate::value::traits::Visitor>(&self, visitor: &mut W) -> Result<(), W::Error> {
            visitor.$method(self)
        }

        fn visit_mut<W: $crate::value::traits::VisitorMut>(
            &mut self,
            visitor: &mut W,
        ) -> Result<(), W::Error> {
            visitor.$method(self)
        }
    };
}

/// The method of [`Value`](crate::Value) of a type that has no flat form.
macro_rules! not_flat {
    () => {
        unsafe fn validate_at(
            _: *const Self,
            _: &$crate::value::traits::Validation,
        ) -> Result<(), $crate::value::error::ValidateError> {
            Err($crate::value::error::ValidateProblem::NotFlat.into())
        }
    };
}

/// The methods of [`InPlace`](crate::InPlace) of a type that is written as a whole. Its default does not
/// unwind.
macro_rules! write_whole {
    () => {
        unsafe fn default_at(dst: *mut Self) {
            // SAFETY: the caller promises that dst is valid for writes and aligned.
            unsafe { dst.write(Self::default()) }
        }

        unsafe fn clone_at(&self, dst: *mut Self) {
            // SAFETY: as above.
            unsafe { dst.write(self.clone()) }
        }
    };
}

pub(crate) use {not_flat, visit_as, write_whole};
