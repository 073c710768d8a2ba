//! The macros that make statics of what is known when a program is compiled.

/// Declares a category: `category!(PLANNER, "planner");` makes a static.
#[macro_export]
macro_rules! category {
    ($(#[$attribute:meta])* $visibility:vis $name:ident, $text:expr) => {
        $(#[$attribute])*
        $visibility static $name: $crate::Category = $crate::Category::new($text);
    };
}

/// Begins a slice, which ends with the value that this gives: `let _slice = slice!(PLANNER, "plan", "goal" => 3.5);`
///
/// Behind the name may come `flow = number` (events with the same number are connected by arrows), `last_flow = number`
/// (the arrow ends here), then arguments. All of that is looked at only if the category is on.
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

/// Marks a moment: `instant!(PLANNER, "replanned", "reason" => reason);` Otherwise as [`slice!`](crate::slice).
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

/// Says what a number is from now on: `counter!(PLANNER, "candidates", 17);`. With [`Unit`](crate::Unit) as a fourth argument, of
/// what.
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
