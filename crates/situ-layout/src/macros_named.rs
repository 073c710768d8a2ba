//! The macros that generated enums, bitmasks and unions consist of; see `macros.rs`.

/// Implements the traits of a generated enum, an open newtype over `i32`. The arguments are the default, then
/// all names.
#[macro_export]
#[doc(hidden)]
macro_rules! enumeration {
    ($name:ident: $default:ident; $($label:literal $enumerator:ident),* $(,)?) => {
        impl $crate::visit::Enumeration for $name {
            const NAMES: &'static [(i32, &'static str)] = &[$((Self::$enumerator.0, $label)),*];

            fn from_value(value: i32) -> Self {
                Self(value)
            }

            fn value(self) -> i32 {
                self.0
            }
        }

        impl $crate::visit::Discriminator for $name {
            fn raw(self) -> i128 {
                i128::from(self.0)
            }

            fn from_raw(raw: i128) -> Self {
                Self(raw as i32)
            }
        }

        impl ::core::default::Default for $name {
            fn default() -> Self {
                Self::$default
            }
        }

        impl ::core::fmt::Debug for $name {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                match $crate::visit::Enumeration::name(*self) {
                    ::core::option::Option::Some(name) => f.write_str(name),
                    ::core::option::Option::None => {
                        f.debug_tuple(::core::stringify!($name)).field(&self.0).finish()
                    }
                }
            }
        }

        $crate::__newtype! { $name(i32) enumeration Self::$default }
        $crate::__region_newtype! { $name(i32) Self::$default }
        $crate::__region_enumeration! { $name }
    };
}

/// Implements the traits and operators of a generated bitmask, a newtype over an unsigned integer. The
/// arguments are all flags and their positions.
#[macro_export]
#[doc(hidden)]
macro_rules! bitmask {
    ($name:ident: $bits:ident; $($label:literal $flag:ident $position:literal),* $(,)?) => {
        impl $name {
            /// No flag.
            pub const fn empty() -> Self {
                Self(0)
            }

            /// Whether no flag is set.
            pub const fn is_empty(self) -> bool {
                self.0 == 0
            }

            /// Whether all flags of `other` are set.
            pub const fn contains(self, other: Self) -> bool {
                self.0 & other.0 == other.0
            }

            /// Sets the flags of `other`.
            pub const fn insert(&mut self, other: Self) {
                self.0 |= other.0;
            }

            /// Clears the flags of `other`.
            pub const fn remove(&mut self, other: Self) {
                self.0 &= !other.0;
            }
        }

        impl $crate::visit::Bitmask for $name {
            type Bits = $bits;

            const FLAGS: &'static [(u8, &'static str)] = &[$(($position, $label)),*];

            fn from_bits(bits: $bits) -> Self {
                Self(bits)
            }

            fn bits(self) -> $bits {
                self.0
            }
        }

        impl ::core::default::Default for $name {
            fn default() -> Self {
                Self::empty()
            }
        }

        impl ::core::ops::BitOr for $name {
            type Output = Self;

            fn bitor(self, other: Self) -> Self {
                Self(self.0 | other.0)
            }
        }

        impl ::core::ops::BitAnd for $name {
            type Output = Self;

            fn bitand(self, other: Self) -> Self {
                Self(self.0 & other.0)
            }
        }

        impl ::core::ops::BitXor for $name {
            type Output = Self;

            fn bitxor(self, other: Self) -> Self {
                Self(self.0 ^ other.0)
            }
        }

        impl ::core::ops::Not for $name {
            type Output = Self;

            fn not(self) -> Self {
                Self(!self.0)
            }
        }

        impl ::core::ops::BitOrAssign for $name {
            fn bitor_assign(&mut self, other: Self) {
                self.0 |= other.0;
            }
        }

        impl ::core::ops::BitAndAssign for $name {
            fn bitand_assign(&mut self, other: Self) {
                self.0 &= other.0;
            }
        }

        impl ::core::ops::BitXorAssign for $name {
            fn bitxor_assign(&mut self, other: Self) {
                self.0 ^= other.0;
            }
        }

        impl ::core::fmt::Debug for $name {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                $crate::field::fmt_flags(
                    f,
                    ::core::stringify!($name),
                    u64::from(self.0),
                    <Self as $crate::visit::Bitmask>::FLAGS,
                )
            }
        }

        $crate::__newtype! { $name($bits) bitmask Self::empty() }
        $crate::__region_newtype! { $name($bits) Self::empty() }
    };
}

/// Implements the traits that enums and bitmasks share.
#[macro_export]
#[doc(hidden)]
macro_rules! __newtype {
    ($name:ident($bits:ident) $visit:ident $default:expr) => {
        // SAFETY: both functions write a whole value; any bytes are valid, as they form a number.
        unsafe impl $crate::InPlace for $name {
            type CTail = $crate::ros::NoTail;

            const DENSE: bool = true;

            unsafe fn default_at(dst: *mut Self) {
                // SAFETY: dst is valid for writes and aligned.
                unsafe { dst.write($default) }
            }

            unsafe fn clone_at(&self, dst: *mut Self) {
                // SAFETY: as above.
                unsafe { dst.write(*self) }
            }
        }

        impl $crate::Value for $name {
            const SHAPE: $crate::visit::Shape = $crate::visit::Shape::one(
                $crate::visit::Element::Enumerated,
                ::core::mem::size_of::<$bits>(),
            );

            unsafe fn validate_at(
                _: *const Self,
                _: &$crate::Validation,
            ) -> ::core::result::Result<(), $crate::ValidateError> {
                ::core::result::Result::Ok(())
            }

            fn visit<V: $crate::visit::Visitor>(
                &self,
                visitor: &mut V,
            ) -> ::core::result::Result<(), V::Error> {
                visitor.$visit(*self)
            }

            fn visit_mut<V: $crate::visit::VisitorMut>(
                &mut self,
                visitor: &mut V,
            ) -> ::core::result::Result<(), V::Error> {
                visitor.$visit(self)
            }
        }

        impl $crate::Key for $name {}
        // SAFETY: a number holds no pointer.
        unsafe impl $crate::SelfContained for $name {}
        // SAFETY: a number is plain.
        unsafe impl $crate::Plain for $name {}

        const _: () = ::core::assert!(::core::mem::size_of::<$name>() == ::core::mem::size_of::<$bits>());
    };
}

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

        impl $crate::AssignFrom<$name> for $name {
            fn assign_parts(
                &mut self,
                source: &$name,
                _: &mut $crate::Bodies<'_>,
            ) -> ::core::result::Result<(), $crate::AssignError> {
                *self = *source;
                ::core::result::Result::Ok(())
            }
        }

        impl $crate::TakeFrom<$name> for $name {}
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
            type CTail = $crate::ros::NoTail;

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
