//! The macros that generated code consists of. They implement the traits of this crate for a type that is
//! defined beside them.
//!
//! Generated files define each type in plain Rust, with its documentation, and then list its members once:
//!
//! ```text
//! situ::layout::structure! {
//!     PointField<S: Storage>: Final "situ::sensor::PointField";
//!     0 "name" name: text;
//!     1 "offset" offset: copy;
//!     2 "count" count: copy = 1;
//! }
//! ```
//!
//! The type's parameter is `S: Storage` or `S: Unbounded`; the latter has members without a bound, so it has
//! no flat form. A type without a parameter does not depend on the storage and is `Copy`. A member's kind
//! says how the member is converted between storages and how its default is written:
//!
//! | kind | member |
//! |---|---|
//! | `copy` | a type that does not depend on the storage |
//! | `nested` | a generated type that does |
//! | `text`, `wide` | a string, a wide string |
//! | `(list kind)`, `(array kind)` | a sequence, an array |
//! | `(map kind kind)` | a map |
//! | `(maybe kind)` | an optional member |
//! | `bulk` | a bulk sequence |
//!
//! `ros` in front of the name marks a message of ROS, which can be lent to C ([`Lend`](crate::ros::Lend)).
//! Such a message has no base, no maps and no optional members.
//!
//! The flags of [`MemberInfo`](crate::visit::MemberInfo) follow the kind in brackets; the default follows
//! `=`. A structure with a base begins with a section that names the members of the base: `base base: nested
//! { 0 "x" [key] x; }`.

/// Implements [`Structure`](crate::visit::Structure) and its supertraits, the conversion between storages,
/// and the standard traits. A plain structure derives the standard traits instead.
#[macro_export]
#[doc(hidden)]
macro_rules! structure {
    (ros $name:ident<$s:ident: $storage:ident>: $($rest:tt)*) => {
        $crate::structure! { $name<$s: $storage>: $($rest)* }
        $crate::__lend! { $name {<$s: $crate::$storage>} {<$s>} {<$crate::Ros>} $($rest)* }
    };
    (ros $name:ident: $($rest:tt)*) => {
        $crate::structure! { $name: $($rest)* }
        $crate::__lend! { $name {} {} {} $($rest)* }
    };
    ($name:ident<$s:ident: Storage>: $($rest:tt)*) => {
        $crate::__structure! { $name {$s: $crate::Storage} {$s} : $($rest)* }
        $crate::__owned! { $name {$s: $crate::Storage} {$s} : $($rest)* }
        $crate::__assign! { $name {$s: $crate::Storage, __Other: $crate::Storage} {$s} {__Other} : $($rest)* }
        $crate::__self_contained! { {$name<$crate::Flat>} : $($rest)* }
    };
    ($name:ident<$s:ident: Unbounded>: $($rest:tt)*) => {
        $crate::__structure! { $name {$s: $crate::Unbounded} {$s} : $($rest)* }
        $crate::__owned! { $name {$s: $crate::Unbounded} {$s} : $($rest)* }
        $crate::__assign! { $name {$s: $crate::Unbounded, __Other: $crate::Unbounded} {$s} {__Other} : $($rest)* }
    };
    ($name:ident: $($rest:tt)*) => {
        $crate::__structure! { $name {} {} : $($rest)* }
        $crate::__self_contained! { {$name} : $($rest)* }

        // SAFETY: the check above proves that the members are self-contained, and the structure is plain.
        unsafe impl $crate::Plain for $name {}

        impl ::core::default::Default for $name {
            fn default() -> Self {
                $crate::default_value()
            }
        }

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

/// Implements the traits that structures of all storages have.
#[macro_export]
#[doc(hidden)]
macro_rules! __structure {
    (
        $name:ident {$($params:tt)*} {$($args:tt)*} : $extensibility:ident $full:literal;
        $(base $base:ident: $base_kind:tt {
            $($base_id:literal $base_name:literal $([$($base_flag:ident)*])? $base_member:ident $(. $base_path:ident)*;)*
        })?
        $($id:literal $member_name:tt $member:ident: $kind:tt $([$($flag:ident)*])? $(= $default:expr)?;)*
    ) => {
        // SAFETY: every member is written, and none unwinds. The structure is dense if its members are and
        // leave no gaps.
        unsafe impl<$($params)*> $crate::InPlace for $name<$($args)*> {
            type CTail = $crate::ros::NoTail;

            const DENSE: bool = ::core::matches!(
                $crate::visit::Extensibility::$extensibility,
                $crate::visit::Extensibility::Final
            )
                $(&& $crate::field::is_dense(|it: &Self| &it.$base))?
                $(&& $crate::field::is_dense(|it: &Self| &it.$member))*
                && ::core::mem::size_of::<Self>()
                    == 0
                        $(+ $crate::field::size(|it: &Self| &it.$base))?
                        $(+ $crate::field::size(|it: &Self| &it.$member))*;
            const BITWISE: bool = true
                $(&& $crate::field::is_bitwise(|it: &Self| &it.$base))?
                $(&& $crate::field::is_bitwise(|it: &Self| &it.$member))*;

            unsafe fn default_at(dst: *mut Self) {
                // SAFETY: dst is valid for writes of Self, and the members lie within.
                unsafe {
                    $($crate::InPlace::default_at(&raw mut (*dst).$base);)?
                    $(
                        $crate::InPlace::default_at(&raw mut (*dst).$member);
                        $(
                            let member = &mut (*dst).$member;
                            $crate::__default! { (member) $kind = $default }
                        )?
                    )*
                }
            }

            unsafe fn vacant_at(dst: *mut Self) {
                // SAFETY: dst is valid for writes of Self, and the members lie within.
                unsafe {
                    $($crate::InPlace::vacant_at(&raw mut (*dst).$base);)?
                    $($crate::InPlace::vacant_at(&raw mut (*dst).$member);)*
                }
            }

            unsafe fn clone_at(&self, dst: *mut Self) {
                // SAFETY: dst is valid for writes of Self, and the members lie within.
                unsafe {
                    $($crate::InPlace::clone_at(&self.$base, &raw mut (*dst).$base);)?
                    $($crate::InPlace::clone_at(&self.$member, &raw mut (*dst).$member);)*
                }
            }
        }

        impl<$($params)*> $crate::Value for $name<$($args)*> {
            unsafe fn validate_at(
                src: *const Self,
                validation: &$crate::Validation,
            ) -> ::core::result::Result<(), $crate::ValidateError> {
                // SAFETY: the members lie within the caller's bytes.
                unsafe {
                    $(
                        $crate::Value::validate_at(&raw const (*src).$base, validation)
                            .map_err(|error| error.in_member("base"))?;
                    )?
                    $(
                        $crate::Value::validate_at(&raw const (*src).$member, validation)
                            .map_err(|error| error.in_member($member_name))?;
                    )*
                }
                ::core::result::Result::Ok(())
            }

            fn visit<V: $crate::visit::Visitor>(
                &self,
                visitor: &mut V,
            ) -> ::core::result::Result<(), V::Error> {
                visitor.structure(self)
            }

            fn visit_mut<V: $crate::visit::VisitorMut>(
                &mut self,
                visitor: &mut V,
            ) -> ::core::result::Result<(), V::Error> {
                visitor.structure(self)
            }
        }

        impl<$($params)*> $crate::visit::Structure for $name<$($args)*> {
            const INFO: &'static $crate::visit::TypeInfo = &$crate::visit::TypeInfo {
                name: $full,
                extensibility: $crate::visit::Extensibility::$extensibility,
                members: &[
                    $($($crate::visit::MemberInfo::new($base_name, $base_id)$($(.$base_flag())*)?,)*)?
                    $($crate::visit::MemberInfo::new($member_name, $id)$($(.$flag())*)?,)*
                ],
            };

            fn visit_members<V: $crate::visit::MemberVisitor<Self>>(
                visitor: &mut V,
            ) -> ::core::result::Result<(), V::Error> {
                let mut infos = Self::INFO.members.iter();
                let mut next = || infos.next().unwrap_or(&$crate::visit::MemberInfo::NONE);
                $($(visitor.member(
                    next(),
                    |it| &it.$base.$base_member$(.$base_path)*,
                    |it| &mut it.$base.$base_member$(.$base_path)*,
                )?;)*)?
                $(visitor.member(next(), |it| &it.$member, |it| &mut it.$member)?;)*
                ::core::result::Result::Ok(())
            }
        }
    };
}

/// Implements the standard traits of structures that depend on the storage.
#[macro_export]
#[doc(hidden)]
macro_rules! __owned {
    (
        $name:ident {$($params:tt)*} {$($args:tt)*} : $extensibility:ident $full:literal;
        $(base $base:ident: $base_kind:tt { $($inherited:tt)* })?
        $($id:literal $member_name:tt $member:ident: $kind:tt $([$($flag:ident)*])? $(= $default:expr)?;)*
    ) => {
        impl<$($params)*> ::core::default::Default for $name<$($args)*> {
            fn default() -> Self {
                $crate::default_value()
            }
        }

        impl<$($params)*> ::core::clone::Clone for $name<$($args)*> {
            fn clone(&self) -> Self {
                $crate::clone_value(self)
            }
        }

        impl<$($params)*> ::core::cmp::PartialEq for $name<$($args)*> {
            fn eq(&self, other: &Self) -> bool {
                true $(&& self.$base == other.$base)? $(&& self.$member == other.$member)*
            }
        }

        impl<$($params)*> ::core::fmt::Debug for $name<$($args)*> {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                f.debug_struct(::core::stringify!($name))
                    $(.field("base", &self.$base))?
                    $(.field($member_name, &self.$member))*
                    .finish()
            }
        }
    };
}

/// Implements the conversion from the same structure with another storage.
#[macro_export]
#[doc(hidden)]
macro_rules! __assign {
    (
        $name:ident {$($params:tt)*} {$($args:tt)*} {$($other:tt)*} : $extensibility:ident $full:literal;
        $(base $base:ident: $base_kind:tt { $($inherited:tt)* })?
        $($id:literal $member_name:tt $member:ident: $kind:tt $([$($flag:ident)*])? $(= $default:expr)?;)*
    ) => {
        impl<$($params)*> $crate::AssignFrom<$name<$($other)*>> for $name<$($args)*> {
            fn assign_parts(
                &mut self,
                source: &$name<$($other)*>,
                bodies: &mut $crate::Bodies<'_>,
            ) -> ::core::result::Result<(), $crate::AssignError> {
                $(
                    $crate::__assign_kind! { (&mut self.$base, &source.$base, bodies) $base_kind }
                        .map_err(|error| error.in_member("base"))?;
                )?
                $(
                    $crate::__assign_kind! { (&mut self.$member, &source.$member, bodies) $kind }
                        .map_err(|error| error.in_member($member_name))?;
                )*
                ::core::result::Result::Ok(())
            }
        }

        impl<$($params)*> $crate::TakeFrom<$name<$($other)*>> for $name<$($args)*> {
            fn take_from(
                &mut self,
                source: &mut $name<$($other)*>,
            ) -> ::core::result::Result<(), $crate::AssignError> {
                $(
                    $crate::__take_kind! { (&mut self.$base, &mut source.$base) $base_kind }
                        .map_err(|error| error.in_member("base"))?;
                )?
                $(
                    $crate::__take_kind! { (&mut self.$member, &mut source.$member) $kind }
                        .map_err(|error| error.in_member($member_name))?;
                )*
                ::core::result::Result::Ok(())
            }
        }
    };
}

/// Takes over one value by its kind. A value whose memory cannot be handed over is copied.
#[macro_export]
#[doc(hidden)]
macro_rules! __take_kind {
    (($target:expr, $source:expr) nested) => {
        $crate::TakeFrom::take_from($target, $source)
    };
    (($target:expr, $source:expr) text) => {
        $crate::take::text($target, $source)
    };
    (($target:expr, $source:expr) (list copy)) => {
        $crate::take::list_of_copies($target, $source)
    };
    (($target:expr, $source:expr) (list $kind:tt)) => {
        $crate::take::list($target, $source, |target, source| {
            $crate::__take_kind! { (target, source) $kind }
        })
    };
    (($target:expr, $source:expr) (array $kind:tt)) => {
        $crate::take::array($target, $source, |target, source| {
            $crate::__take_kind! { (target, source) $kind }
        })
    };
    (($target:expr, $source:expr) $kind:tt) => {
        $crate::__assign_kind! { ($target, $source, &mut $crate::Bodies::default()) $kind }
    };
}

/// Converts one value by its kind.
#[macro_export]
#[doc(hidden)]
macro_rules! __assign_kind {
    (($target:expr, $source:expr, $bodies:expr) copy) => {
        $crate::assign::copy($target, $source)
    };
    (($target:expr, $source:expr, $bodies:expr) nested) => {
        $crate::AssignFrom::assign_parts($target, $source, $bodies)
    };
    (($target:expr, $source:expr, $bodies:expr) text) => {
        $crate::assign::text($target, $source)
    };
    (($target:expr, $source:expr, $bodies:expr) wide) => {
        $crate::assign::wide($target, $source)
    };
    (($target:expr, $source:expr, $bodies:expr) bulk) => {
        $crate::assign::bulk($target, $source, $bodies)
    };
    (($target:expr, $source:expr, $bodies:expr) (list copy)) => {
        $crate::assign::list_of_copies($target, $source)
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

/// Implements lending a message as its C struct.
#[macro_export]
#[doc(hidden)]
macro_rules! __lend {
    (
        $name:ident {$($params:tt)*} {$($args:tt)*} {$($ros:tt)*} $extensibility:ident $full:literal;
        $($id:literal $member_name:tt $member:ident: $kind:tt $([$($flag:ident)*])? $(= $default:expr)?;)*
    ) => {
        // SAFETY: every member is written, and points into the borrowed source or into the block.
        unsafe impl $($params)* $crate::ros::Lend for $name $($args)* {
            type C = $name $($ros)*;

            #[allow(unused_variables)]
            unsafe fn lend_at(
                &self,
                dst: *mut Self::C,
                block: &mut $crate::ros::lend::Block<'_>,
            ) -> ::core::result::Result<(), $crate::AssignError> {
                $(
                    // SAFETY: the member lies within the caller's struct.
                    unsafe { $crate::__lend_kind! { (&self.$member, &raw mut (*dst).$member, block) $kind } }
                        .map_err(|error| error.in_member($member_name))?;
                )*
                ::core::result::Result::Ok(())
            }
        }
    };
}

/// Lends one value by its kind.
#[macro_export]
#[doc(hidden)]
macro_rules! __lend_kind {
    (($source:expr, $dst:expr, $block:expr) copy) => {
        $crate::ros::lend::copy($source, $dst)
    };
    (($source:expr, $dst:expr, $block:expr) nested) => {
        $crate::ros::Lend::lend_at($source, $dst, $block)
    };
    (($source:expr, $dst:expr, $block:expr) text) => {
        $crate::ros::lend::text($source, $dst, $block)
    };
    (($source:expr, $dst:expr, $block:expr) wide) => {
        $crate::ros::lend::wide($source, $dst, $block)
    };
    (($source:expr, $dst:expr, $block:expr) bulk) => {
        $crate::ros::lend::bulk($source, $dst, $block)
    };
    (($source:expr, $dst:expr, $block:expr) (list copy)) => {
        $crate::ros::lend::list_of_copies($source, $dst)
    };
    (($source:expr, $dst:expr, $block:expr) (list $kind:tt)) => {
        $crate::ros::lend::list($source, $dst, $block, |source, dst, block| {
            // SAFETY: it is called with the place of an element.
            unsafe {
                $crate::__lend_kind! { (source, dst, block) $kind }
            }
        })
    };
    (($source:expr, $dst:expr, $block:expr) (array $kind:tt)) => {
        $crate::ros::lend::array($source, $dst, $block, |source, dst, block| {
            // SAFETY: it is called with the place of an element.
            unsafe {
                $crate::__lend_kind! { (source, dst, block) $kind }
            }
        })
    };
}

/// Writes the default of a member over the default of its type.
#[macro_export]
#[doc(hidden)]
macro_rules! __default {
    (($member:ident) copy = $default:expr) => {
        *$member = $default
    };
    (($member:ident) text = $default:expr) => {
        $crate::assign::default_text($member, $default)
    };
    (($member:ident) wide = $default:expr) => {
        $crate::assign::default_wide($member, $default)
    };
    (($member:ident) (list copy) = $default:expr) => {
        $crate::assign::default_list($member, &$default)
    };
    (($member:ident) (list $kind:tt) = $default:expr) => {
        for value in $default {
            if let ::core::result::Result::Ok(element) = $crate::List::try_push_default($member) {
                $crate::__default! { (element) $kind = value }
            }
        }
    };
    (($member:ident) (array $kind:tt) = $default:expr) => {
        for (element, value) in $member.iter_mut().zip($default) {
            $crate::__default! { (element) $kind = value }
        }
    };
}

/// Marks the flat form as self-contained, and checks that every member is.
#[macro_export]
#[doc(hidden)]
macro_rules! __self_contained {
    (
        {$flat:ty} : $extensibility:ident $full:literal;
        $(base $base:ident: $base_kind:tt { $($inherited:tt)* })?
        $($id:literal $member_name:tt $member:ident: $kind:tt $([$($flag:ident)*])? $(= $default:expr)?;)*
    ) => {
        // SAFETY: every member is self-contained, or the constant below would not compile.
        unsafe impl $crate::SelfContained for $flat {}

        const _: () = {
            $($crate::field::assert_self_contained(|it: &$flat| &it.$base);)?
            $($crate::field::assert_self_contained(|it: &$flat| &it.$member);)*
        };
    };
}

/// Implements [`Message`](crate::Message), and [`FlatMessage`](crate::FlatMessage) for the flat form. The
/// layout of the flat form is compared with the numbers of the schema at compile time.
#[macro_export]
#[doc(hidden)]
macro_rules! message {
    ($name:ident<$s:ident: Storage> { $($rest:tt)* }) => {
        $crate::__message! {
            $name {$s: $crate::Storage} {$s} {$name<$crate::Flat>} {<$s as $crate::Storage>::KIND} $($rest)*
        }
        $crate::__flat_message! { $name {$name<$crate::Flat>} $($rest)* }
    };
    ($name:ident<$s:ident: Unbounded> { $($rest:tt)* }) => {
        $crate::__message! { $name {$s: $crate::Unbounded} {$s} {} {<$s as $crate::Storage>::KIND} $($rest)* }
    };
    ($name:ident { $($rest:tt)* }) => {
        $crate::__message! { $name {} {} {$name} {$crate::StorageKind::Flat} $($rest)* }
        $crate::__flat_message! { $name {$name} $($rest)* }
    };
}

/// Implements [`Message`](crate::Message).
#[macro_export]
#[doc(hidden)]
macro_rules! __message {
    (
        $name:ident {$($params:tt)*} {$($args:tt)*} {$($flat:tt)*} {$($storage:tt)*}
        name: $full:literal,
        schema: $schema:expr,
        schema_hash: $schema_hash:literal,
        layout_hash: $layout_hash:literal,
        $(layout: { $($layout:tt)* },)?
        $(region: $region:ty,)?
        $(bulk: $lengths:ident { $($bulk:ident: $how:ident $(($element:ty, $bound:expr))?),* $(,)? },)?
    ) => {
        impl<$($params)*> $crate::Message for $name<$($args)*> {
            const NAME: &'static str = $full;
            const SCHEMA: &'static str = $schema;
            const SCHEMA_HASH: u64 = $schema_hash;
            const STORAGE: $crate::StorageKind = $($storage)*;
            const LAYOUT_HASH: u64 = match Self::STORAGE {
                $crate::StorageKind::Flat => $layout_hash,
                _ => 0,
            };
            $crate::__bulk! { $($lengths { $($bulk: $how $(($element, $bound))?;)* })? }
            $crate::__flat_form! { $($flat)* }
            $(
                fn read_region(
                    &mut self,
                    own_body: &mut [u8],
                    image: $crate::SharedBytes<'_>,
                ) -> ::core::result::Result<(), $crate::RegionFormError> {
                    $crate::read_region::<Self, $region>(self, own_body, image)
                }
            )?
        }
    };
}

/// The parts of [`Message`](crate::Message) that concern bulk members.
#[macro_export]
#[doc(hidden)]
macro_rules! __bulk {
    () => {
        type BulkLengths = ();
    };
    ($lengths:ident { $($bulk:ident: $how:ident $(($element:ty, $bound:expr))?;)* }) => {
        type BulkLengths = $lengths;

        fn bulk_lengths(&self) -> $lengths {
            $lengths { $($bulk: $crate::__bulk_length! { (&self.$bulk) $how $(($element, $bound))? },)* }
        }

        fn measure_bulk(
            lengths: &$lengths,
            cursor: &mut $crate::BulkCursor,
        ) -> ::core::option::Option<()> {
            $($crate::__measure_bulk! { (Self, lengths, cursor, $bulk) $how $(($element, $bound))? })*
            ::core::option::Option::Some(())
        }

        unsafe fn place_bulk(dst: *mut Self, lengths: &$lengths, cursor: &mut $crate::BulkCursor) {
            // SAFETY: dst points to a valid, writable value, and measuring succeeded for the same lengths.
            unsafe { $($crate::__place_bulk! { (dst, lengths, cursor, $bulk) $how $(($element, $bound))? })* }
        }
    };
}

/// The type of a bulk member's length, or of the lengths within a member that has bulk members.
#[macro_export]
#[doc(hidden)]
macro_rules! __bulk_length {
    (($member:expr) leaf($element:ty, $bound:expr)) => {
        $crate::BulkField::<$element>::element_count($member)
    };
    (($member:expr) nested) => {
        $crate::Message::bulk_lengths($member)
    };
}

/// Moves the cursor over a bulk member, or over those within a member.
#[macro_export]
#[doc(hidden)]
macro_rules! __measure_bulk {
    (($self:ty, $lengths:ident, $cursor:ident, $bulk:ident) leaf($element:ty, $bound:expr)) => {
        if $lengths.$bulk > $bound {
            return ::core::option::Option::None;
        }
        $cursor.advance::<$element>($lengths.$bulk)?;
    };
    (($self:ty, $lengths:ident, $cursor:ident, $bulk:ident) nested) => {
        $crate::field::measure_bulk(|it: &$self| &it.$bulk, &$lengths.$bulk, $cursor)?;
    };
}

/// Sets the place of a bulk member, or of those within a member.
#[macro_export]
#[doc(hidden)]
macro_rules! __place_bulk {
    (($dst:ident, $lengths:ident, $cursor:ident, $bulk:ident) leaf($element:ty, $bound:expr)) => {
        if let ::core::option::Option::Some(offset) = $cursor.advance::<$element>($lengths.$bulk) {
            let member = &mut (*$dst).$bulk;
            $crate::BulkField::<$element>::place(member, offset, $lengths.$bulk);
        }
    };
    (($dst:ident, $lengths:ident, $cursor:ident, $bulk:ident) nested) => {
        $crate::Message::place_bulk(&raw mut (*$dst).$bulk, &$lengths.$bulk, $cursor);
    };
}

/// The parts of [`Message`](crate::Message) that concern the flat form.
#[macro_export]
#[doc(hidden)]
macro_rules! __flat_form {
    () => {};
    ($($flat:tt)+) => {
        const FLAT_FORM: ::core::option::Option<$crate::FlatForm> =
            ::core::option::Option::Some($crate::FlatForm::of::<$($flat)+>());

        fn read_flat(
            &mut self,
            own_body: &mut [u8],
            head: $crate::SharedBytes<'_>,
            body: $crate::SharedBytes<'_>,
        ) -> ::core::result::Result<(), $crate::FlatFormError> {
            $crate::read_flat::<Self, $($flat)+>(self, own_body, head, body)
        }

        unsafe fn write_flat(
            &self,
            own_body: &[u8],
            head: *mut u8,
            body: &mut [u8],
        ) -> ::core::result::Result<(), $crate::FlatFormError> {
            // SAFETY: the caller's promises are the same.
            unsafe { $crate::write_flat::<Self, $($flat)+>(self, own_body, head, body) }
        }
    };
}

/// Marks the flat form as a flat message and compares its layout with that of the schema.
#[macro_export]
#[doc(hidden)]
macro_rules! __flat_message {
    (
        $name:ident {$flat:ty}
        name: $full:literal,
        schema: $schema:expr,
        schema_hash: $schema_hash:literal,
        layout_hash: $layout_hash:literal,
        layout: { size: $size:literal, align: $align:literal $(; $($member:ident: $offset:literal),* $(,)?)? },
        $($rest:tt)*
    ) => {
        // SAFETY: `structure!` checks that the members are self-contained. If the layout were not the
        // schema's, the constants below would not compile.
        unsafe impl $crate::FlatMessage for $flat {}

        $crate::__layout! { {$flat} $size $align $($($member: $offset)*)? }
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
