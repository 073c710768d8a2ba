//! Methods that containers of several storages implement alike.

/// The methods of [`Value`](crate::Value) that pass a text to a visitor's method `text` or `wide_text`.
macro_rules! visit_as {
    ($method:ident) => {
        fn visit<V: $crate::value::traits::Visitor>(&self, visitor: &mut V) -> Result<(), V::Error> {
            visitor.$method(self)
        }

        fn visit_mut<V: $crate::value::traits::VisitorMut>(
            &mut self,
            visitor: &mut V,
        ) -> Result<(), V::Error> {
            visitor.$method(self)
        }
    };
}

pub(crate) use visit_as;
