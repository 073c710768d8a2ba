//! Macros that create statics from names known at compile time.

/// Declares a category: `category!(PLANNER, "planner");` creates a static.
#[macro_export]
macro_rules! category {
    ($(#[$attribute:meta])* $visibility:vis $name:ident, $text:expr) => {
        $(#[$attribute])*
        $visibility static $name: $crate::Category = $crate::Category::new($text);
    };
}

/// Begins a slice, which ends when the returned value is dropped: `let _slice = slice!(PLANNER, "plan",
/// "goal" => 3.5);`
///
/// After the name may follow `flow = number` (arrows connect events with the same number), `last_flow =
/// number` (the arrow ends here), then arguments. They are evaluated only if the category is on.
#[macro_export]
macro_rules! slice {
    ($category:expr, $name:expr $(, flow = $flow:expr)* $(, last_flow = $last:expr)*
        $(, $argument:literal => $value:expr)* $(,)?) => {
        if $category.is_enabled() {
            static NAME: $crate::Name = $crate::Name::new($name);
            $crate::Slice::begin(&$category, &NAME, &[$($flow),*], &[$($last),*], &[$($crate::argument!($argument, $value)),*])
        } else {
            $crate::Slice::none()
        }
    };
}

/// Writes an instant: `instant!(PLANNER, "replanned", "reason" => reason);` The rest is as for
/// [`slice!`](crate::slice).
#[macro_export]
macro_rules! instant {
    ($category:expr, $name:expr $(, flow = $flow:expr)* $(, last_flow = $last:expr)*
        $(, $argument:literal => $value:expr)* $(,)?) => {
        if $category.is_enabled() {
            static NAME: $crate::Name = $crate::Name::new($name);
            $crate::Slice::instant(&$category, &NAME, &[$($flow),*], &[$($last),*], &[$($crate::argument!($argument, $value)),*]);
        }
    };
}

/// Sets a counter: `counter!(PLANNER, "candidates", 17);`. A fourth argument is its [`Unit`](crate::Unit).
#[macro_export]
macro_rules! counter {
    ($category:expr, $name:expr, $value:expr) => {
        $crate::counter!($category, $name, $value, $crate::Unit::Count)
    };
    ($category:expr, $name:expr, $value:expr, $unit:expr) => {{
        static COUNTER: $crate::Counter = $crate::Counter::new(&$category, $name, $unit);
        if $category.is_enabled() {
            COUNTER.set($value as f64);
        }
    }};
}

/// An argument with a static name.
#[doc(hidden)]
#[macro_export]
macro_rules! argument {
    ($name:literal, $value:expr) => {{
        static NAME: $crate::Name = $crate::Name::new($name);
        $crate::Argument { name: &NAME, value: $crate::Value::from($value) }
    }};
}
