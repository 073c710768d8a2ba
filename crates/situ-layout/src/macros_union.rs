//! The macros that generated unions consist of.

/// Implements the traits and methods of a generated union, and the enum of references through which it is
/// read. The union is a structure of a discriminator and a union.
///
/// ```text
/// situ::layout::union! {
///     Shape<S: Storage>: Final "shapes::Shape", ShapePayload, ShapeCase, ShapeKind = 0;
///     1 "circle" circle circle circle_mut set_circle Circle(Circle<S>): nested [0 | 1] = 0;
///     2 "other" other other other_mut set_other Other(u8): copy [_] = 7;
///     layout { size: 16, align: 8, payload: 8 }
/// }
/// ```
#[macro_export]
#[doc(hidden)]
macro_rules! union {
    ($name:ident<$s:ident: Storage>: $($rest:tt)*) => {
        $crate::__union! { $name {$s: $crate::Storage} {$s} : $($rest)* }
        $crate::__owned_union! { $name {$s: $crate::Storage} {$s} : $($rest)* }
        $crate::__assign_union! { $name {$s: $crate::Storage, __Other: $crate::Storage} {$s} {__Other} : $($rest)* }
        $crate::__flat_union! { {$name<$crate::Flat>} : $($rest)* }
    };
    ($name:ident<$s:ident: Unbounded>: $($rest:tt)*) => {
        $crate::__union! { $name {$s: $crate::Unbounded} {$s} : $($rest)* }
        $crate::__owned_union! { $name {$s: $crate::Unbounded} {$s} : $($rest)* }
        $crate::__assign_union! { $name {$s: $crate::Unbounded, __Other: $crate::Unbounded} {$s} {__Other} : $($rest)* }
    };
    ($name:ident: $($rest:tt)*) => {
        $crate::__union! { $name {} {} : $($rest)* }
        $crate::__flat_union! { {$name} : $($rest)* }

        // SAFETY: the check above proves that the cases are self-contained, and the union is plain.
        unsafe impl $crate::Plain for $name {}
    };
}

/// Implements the traits and methods that unions of all storages have.
#[macro_export]
#[doc(hidden)]
macro_rules! __union {
    (
        $name:ident {$($params:tt)*} {$($args:tt)*} : $extensibility:ident $full:literal,
        $payload:ident, $case:ident, $discriminator:ty = $initial:literal;
        $($id:literal $case_name:literal $member:ident $get:ident $member_mut:ident $set:ident $variant:ident($type:ty):
            $kind:tt [$($label:tt)*] = $first:literal;)*
        $(layout $layout:tt)?
    ) => {
        impl<$($params)*> $name<$($args)*> {
            /// Which case the union holds.
            pub fn discriminator(&self) -> $discriminator {
                self.discriminator
            }

            /// Selects the case of a discriminator. A newly selected case begins with its default value.
            pub fn select(&mut self, discriminator: $discriminator) {
                let old = $crate::visit::Union::discriminator(self);
                if Self::index(old) != Self::index(discriminator) {
                    self.end();
                    // SAFETY: the previous case was dropped, and self is valid for writes.
                    unsafe { Self::begin(self, discriminator) };
                }
                self.discriminator = discriminator;
            }

            /// A reference to the value of the current case.
            pub fn case(&self) -> $case<'_ $(, $args)*> {
                // SAFETY: the discriminator says which case is initialized.
                #[allow(unreachable_patterns)]
                unsafe {
                    match $crate::visit::Discriminator::raw(self.discriminator) {
                        $($($label)* => $case::$variant(&*(&raw const self.payload.$member).cast::<$type>()),)*
                        _ => $case::Nothing,
                    }
                }
            }

            $(
                #[doc = ::core::concat!("The value of `", $case_name, "`, if that is what the union holds.")]
                pub fn $get(&self) -> ::core::option::Option<&$type> {
                    match self.case() {
                        $case::$variant(value) => ::core::option::Option::Some(value),
                        #[allow(unreachable_patterns)]
                        _ => ::core::option::Option::None,
                    }
                }

                #[doc = ::core::concat!("The value of `", $case_name, "`, to be changed, if that is what the union holds.")]
                pub fn $member_mut(&mut self) -> ::core::option::Option<&mut $type> {
                    match self.case() {
                        $case::$variant(_) => {
                            let value = (&raw mut self.payload.$member).cast::<$type>();
                            // SAFETY: the discriminator says that this case is initialized.
                            ::core::option::Option::Some(unsafe { &mut *value })
                        }
                        #[allow(unreachable_patterns)]
                        _ => ::core::option::Option::None,
                    }
                }

                #[doc = ::core::concat!("Makes the union hold this value of `", $case_name, "`.")]
                pub fn $set(&mut self, value: $type) {
                    let discriminator: $discriminator = $crate::visit::Discriminator::from_raw($first);
                    if let ::core::option::Option::Some(held) = self.$member_mut() {
                        *held = value;
                    } else {
                        self.end();
                        self.payload = $payload { $member: ::core::mem::ManuallyDrop::new(value) };
                    }
                    self.discriminator = discriminator;
                }
            )*

            /// The position of a discriminator's case.
            #[allow(unused_assignments, unused_mut)]
            fn index(discriminator: $discriminator) -> usize {
                let mut index = 0;
                $(
                    #[allow(unreachable_patterns)]
                    match $crate::visit::Discriminator::raw(discriminator) {
                        $($label)* => return index,
                        _ => index += 1,
                    }
                )*
                usize::MAX
            }

            /// Writes a discriminator and the default value of its case.
            ///
            /// # Safety
            /// `dst` is valid for writes and aligned.
            unsafe fn begin(dst: *mut Self, discriminator: $discriminator) {
                // SAFETY: the caller's promise; the cases lie within.
                #[allow(unreachable_patterns)]
                unsafe {
                    (&raw mut (*dst).discriminator).write(discriminator);
                    match $crate::visit::Discriminator::raw(discriminator) {
                        $($($label)* => {
                            $crate::InPlace::default_at((&raw mut (*dst).payload.$member).cast::<$type>());
                        })*
                        _ => {}
                    }
                }
            }

            /// Drops the value of the current case. The caller must set the discriminator afterwards.
            fn end(&mut self) {
                // SAFETY: the discriminator says which case is initialized; no caller uses the case
                // afterwards.
                #[allow(unreachable_patterns)]
                unsafe {
                    match $crate::visit::Discriminator::raw(self.discriminator) {
                        $($($label)* => ::core::mem::ManuallyDrop::drop(&mut self.payload.$member),)*
                        _ => {}
                    }
                }
            }
        }

        // SAFETY: the discriminator and its case are written, and none unwinds.
        unsafe impl<$($params)*> $crate::InPlace for $name<$($args)*> {
            type Class = $crate::Composite;

            unsafe fn default_at(dst: *mut Self) {
                // SAFETY: the caller's promise.
                unsafe { Self::begin(dst, $crate::visit::Discriminator::from_raw($initial)) }
            }

            unsafe fn clone_at(&self, dst: *mut Self) {
                // SAFETY: dst is valid for writes of Self, and the cases lie within.
                #[allow(unreachable_patterns)]
                unsafe {
                    (&raw mut (*dst).discriminator).write(self.discriminator);
                    match self.case() {
                        $($case::$variant(value) => {
                            $crate::InPlace::clone_at(value, (&raw mut (*dst).payload.$member).cast::<$type>());
                        })*
                        $case::Nothing => {}
                    }
                }
            }
        }

        impl<$($params)*> $crate::Value for $name<$($args)*> {
            unsafe fn validate_at(
                src: *const Self,
                validation: &$crate::Validation,
            ) -> ::core::result::Result<(), $crate::ValidateError> {
                // SAFETY: the parts lie within the caller's bytes; the discriminator is read once it is
                // valid.
                #[allow(unreachable_patterns)]
                unsafe {
                    let discriminator = &raw const (*src).discriminator;
                    $crate::Value::validate_at(discriminator, validation)
                        .map_err(|error| error.in_member("discriminator"))?;
                    match $crate::visit::Discriminator::raw(discriminator.read()) {
                        $($($label)* => {
                            let value = (&raw const (*src).payload.$member).cast::<$type>();
                            $crate::Value::validate_at(value, validation)
                                .map_err(|error| error.in_member($case_name))
                        })*
                        _ => ::core::result::Result::Ok(()),
                    }
                }
            }

            fn visit<V: $crate::visit::Visitor>(
                &self,
                visitor: &mut V,
            ) -> ::core::result::Result<(), V::Error> {
                visitor.union(self)
            }

            fn visit_mut<V: $crate::visit::VisitorMut>(
                &mut self,
                visitor: &mut V,
            ) -> ::core::result::Result<(), V::Error> {
                visitor.union(self)
            }
        }

        impl<$($params)*> $crate::visit::Union for $name<$($args)*> {
            const INFO: &'static $crate::visit::TypeInfo = &$crate::visit::TypeInfo {
                name: $full,
                extensibility: $crate::visit::Extensibility::$extensibility,
                members: &[$($crate::visit::MemberInfo::new($case_name, $id),)*],
            };

            type Discriminator = $discriminator;

            fn discriminator(&self) -> $discriminator {
                self.discriminator
            }

            fn case_of(
                discriminator: $discriminator,
            ) -> ::core::option::Option<(&'static $crate::visit::MemberInfo, $crate::visit::Shape)> {
                let index = Self::index(discriminator);
                let shapes = [$(<$type as $crate::Value>::SHAPE),*];
                ::core::option::Option::Some((Self::INFO.members.get(index)?, shapes[index]))
            }

            fn visit_case<V: $crate::visit::Visitor>(
                &self,
                visitor: &mut V,
            ) -> ::core::result::Result<(), V::Error> {
                match self.case() {
                    $($case::$variant(value) => $crate::Value::visit(value, visitor),)*
                    $case::Nothing => ::core::result::Result::Ok(()),
                }
            }

            fn select(&mut self, discriminator: $discriminator) {
                self.select(discriminator);
            }

            fn visit_case_mut<V: $crate::visit::VisitorMut>(
                &mut self,
                visitor: &mut V,
            ) -> ::core::result::Result<(), V::Error> {
                $(
                    if let ::core::option::Option::Some(value) = self.$member_mut() {
                        return $crate::Value::visit_mut(value, visitor);
                    }
                )*
                ::core::result::Result::Ok(())
            }
        }

        impl<$($params)*> ::core::default::Default for $name<$($args)*> {
            fn default() -> Self {
                $crate::default_value()
            }
        }

        impl<$($params)*> ::core::cmp::PartialEq for $name<$($args)*> {
            fn eq(&self, other: &Self) -> bool {
                self.discriminator == other.discriminator
                    && match (self.case(), other.case()) {
                        $(($case::$variant(value), $case::$variant(other)) => value == other,)*
                        _ => true,
                    }
            }
        }

        impl<$($params)*> ::core::fmt::Debug for $name<$($args)*> {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                let mut debug = f.debug_struct(::core::stringify!($name));
                match self.case() {
                    $($case::$variant(value) => debug.field($case_name, value),)*
                    $case::Nothing => debug.field("discriminator", &self.discriminator),
                };
                debug.finish()
            }
        }
    };
}

/// Implements the further traits of unions that depend on the storage.
#[macro_export]
#[doc(hidden)]
macro_rules! __owned_union {
    ($name:ident {$($params:tt)*} {$($args:tt)*} : $($rest:tt)*) => {
        impl<$($params)*> ::core::clone::Clone for $name<$($args)*> {
            fn clone(&self) -> Self {
                $crate::clone_value(self)
            }
        }

        impl<$($params)*> ::core::ops::Drop for $name<$($args)*> {
            fn drop(&mut self) {
                self.end();
            }
        }
    };
}

/// Implements the conversion from the same union with another storage.
#[macro_export]
#[doc(hidden)]
macro_rules! __assign_union {
    (
        $name:ident {$($params:tt)*} {$($args:tt)*} {$($other:tt)*} : $extensibility:ident $full:literal,
        $payload:ident, $case:ident, $discriminator:ty = $initial:literal;
        $($id:literal $case_name:literal $member:ident $get:ident $member_mut:ident $set:ident $variant:ident($type:ty):
            $kind:tt [$($label:tt)*] = $first:literal;)*
        $(layout $layout:tt)?
    ) => {
        impl<$($params)*> $crate::AssignFrom<$name<$($other)*>> for $name<$($args)*> {
            fn assign_parts(
                &mut self,
                source: &$name<$($other)*>,
                bodies: &mut $crate::Bodies<'_>,
            ) -> ::core::result::Result<(), $crate::AssignError> {
                self.select(source.discriminator());
                $(
                    if let (::core::option::Option::Some(target), ::core::option::Option::Some(source)) =
                        (self.$member_mut(), source.$get())
                    {
                        return $crate::__assign_kind! { (target, source, bodies) $kind }
                            .map_err(|error| error.in_member($case_name));
                    }
                )*
                ::core::result::Result::Ok(())
            }
        }

        impl<$($params)*> $crate::TakeFrom<$name<$($other)*>> for $name<$($args)*> {}
    };
}

/// Marks the flat form of a union as self-contained and compares its layout with that of the schema.
#[macro_export]
#[doc(hidden)]
macro_rules! __flat_union {
    (
        {$flat:ty} : $extensibility:ident $full:literal,
        $payload:ident, $case:ident, $discriminator:ty = $initial:literal;
        $($id:literal $case_name:literal $member:ident $get:ident $member_mut:ident $set:ident $variant:ident($type:ty):
            $kind:tt [$($label:tt)*] = $first:literal;)*
        layout { size: $size:literal, align: $align:literal, payload: $offset:literal }
    ) => {
        // SAFETY: the discriminator and every case are self-contained, or the constant below would not
        // compile.
        unsafe impl $crate::SelfContained for $flat {}

        const _: () = {
            $crate::assert_self_contained::<$discriminator>();
            $($crate::field::assert_case_self_contained(<$flat>::$get);)*
        };

        $crate::__layout! { {$flat} $size $align discriminator: 0 payload: $offset }
    };
}

/// Converts one value by its kind.
#[macro_export]
#[doc(hidden)]
macro_rules! __assign_kind {
    (($target:expr, $source:expr, $bodies:expr) copy) => {
        $crate::assign::copy($target, $source, $bodies)
    };
    (($target:expr, $source:expr, $bodies:expr) nested) => {
        $crate::AssignFrom::assign_parts($target, $source, $bodies)
    };
    (($target:expr, $source:expr, $bodies:expr) text) => {
        $crate::assign::text($target, $source, $bodies)
    };
    (($target:expr, $source:expr, $bodies:expr) wide) => {
        $crate::assign::wide($target, $source, $bodies)
    };
    (($target:expr, $source:expr, $bodies:expr) bulk) => {
        $crate::assign::bulk($target, $source, $bodies)
    };
    (($target:expr, $source:expr, $bodies:expr) (list copy)) => {
        $crate::assign::list_of_copies($target, $source, $bodies)
    };
    (($target:expr, $source:expr, $bodies:expr) (list $kind:tt)) => {
        $crate::assign::list($target, $source, $bodies, |target, source, bodies| {
            $crate::__assign_kind! { (target, source, bodies) $kind }
        })
    };
    (($target:expr, $source:expr, $bodies:expr) (array $kind:tt)) => {
        $crate::assign::array($target, $source, $bodies, |target, source, bodies| {
            $crate::__assign_kind! { (target, source, bodies) $kind }
        })
    };
    (($target:expr, $source:expr, $bodies:expr) (maybe $kind:tt)) => {
        $crate::assign::maybe($target, $source, $bodies, |target, source, bodies| {
            $crate::__assign_kind! { (target, source, bodies) $kind }
        })
    };
    (($target:expr, $source:expr, $bodies:expr) (map $key:tt $value:tt)) => {
        $crate::assign::map(
            $target,
            $source,
            $bodies,
            |target, source, bodies| $crate::__assign_kind! { (target, source, bodies) $key },
            |target, source, bodies| $crate::__assign_kind! { (target, source, bodies) $value },
        )
    };
}

/// Fails to compile unless a type's layout is the one that the schema computed.
#[macro_export]
#[doc(hidden)]
macro_rules! __layout {
    ({$flat:ty} $size:literal $align:literal $($member:ident: $offset:literal)*) => {
        const _: () = {
            ::core::assert!(::core::mem::size_of::<$flat>() == $size);
            ::core::assert!(::core::mem::align_of::<$flat>() == $align);
            $(::core::assert!(::core::mem::offset_of!($flat, $member) == $offset);)*
        };
    };
}
