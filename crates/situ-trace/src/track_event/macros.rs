//! Macros that create statics from names known at compile time.

/// Declares a category: `category!(PLANNER, "planner");` creates a static. `category!(PLANNER, "planner",
/// tags = "slow");` has tags. Names with commas between them make a group: see
/// [`Category::new`](crate::Category::new).
#[macro_export]
macro_rules! category {
    ($(#[$attribute:meta])* $visibility:vis $name:ident, $text:expr) => {
        $crate::category!($(#[$attribute])* $visibility $name, $text, tags = "");
    };
    ($(#[$attribute:meta])* $visibility:vis $name:ident, $text:expr, tags = $tags:expr) => {
        $(#[$attribute])*
        $visibility static $name: $crate::Category = $crate::Category::with_tags($text, $tags);
    };
}

/// Begins a slice, which ends when the returned value is dropped: `let _slice = slice!(PLANNER, "plan",
/// "goal" => 3.5);`
///
/// The name is a constant, or `dynamic(text)`. After it may follow, in this order:
///
/// | | |
/// |---|---|
/// | `track = &track` | the [`Track`](crate::Track) on which it lies, instead of the thread's |
/// | `at = ns` | its time, by [`now_ns`](crate::now_ns), instead of now |
/// | `flow = number` | arrows connect events with the same number; may be repeated |
/// | `last_flow = number` | the arrow ends here; may be repeated |
/// | `fields = &bytes` | encoded fields of Perfetto's `TrackEvent`, which [`typed`](crate::typed) writes |
/// | `"name" => value` | arguments; [`dictionary!`](crate::dictionary), [`array!`](crate::array) nest them |
///
/// All of them are evaluated only if the category is on.
///
/// ```
/// use situ_trace::{Track, array, category, dictionary, slice};
///
/// category!(ARM, "arm");
///
/// # let (object, begin_ns) = ("cup", 17);
/// let _slice = slice!(
///     ARM, dynamic(&format!("grasp {object}")), track = &Track::new("grasps", 3), at = begin_ns,
///     "pose" => dictionary!("x" => 0.5, "y" => -1.0), "joints" => array![1, 2, 3],
/// );
/// ```
#[macro_export]
macro_rules! slice {
    ($category:expr, dynamic($name:expr) $($rest:tt)*) => {
        if $category.is_enabled() {
            $crate::Slice::begin(&$crate::event!(Begin, $category, $crate::Label::from($name) $($rest)*))
        } else {
            $crate::Slice::none()
        }
    };
    ($category:expr, $name:expr $(, $($rest:tt)*)?) => {
        if $category.is_enabled() {
            $crate::Slice::begin(&$crate::event!(Begin, $category, $crate::label!($name) $(, $($rest)*)?))
        } else {
            $crate::Slice::none()
        }
    };
}

/// Writes an instant: `instant!(PLANNER, "replanned", "reason" => reason);` The rest is as for
/// [`slice!`](crate::slice).
#[macro_export]
macro_rules! instant {
    ($category:expr, dynamic($name:expr) $($rest:tt)*) => {
        if $category.is_enabled() {
            $crate::write_event(&$crate::event!(Instant, $category, $crate::Label::from($name) $($rest)*));
        }
    };
    ($category:expr, $name:expr $(, $($rest:tt)*)?) => {
        if $category.is_enabled() {
            $crate::write_event(&$crate::event!(Instant, $category, $crate::label!($name) $(, $($rest)*)?));
        }
    };
}

/// Begins a slice that [`end!`](crate::end) ends, in this thread or, with a track, in another: `begin!(ARM,
/// "grasp", track = &grasps);`. The rest is as for [`slice!`](crate::slice).
#[macro_export]
macro_rules! begin {
    ($category:expr, dynamic($name:expr) $($rest:tt)*) => {
        if $category.is_enabled() {
            $crate::write_event(&$crate::event!(Begin, $category, $crate::Label::from($name) $($rest)*));
        }
    };
    ($category:expr, $name:expr $(, $($rest:tt)*)?) => {
        if $category.is_enabled() {
            $crate::write_event(&$crate::event!(Begin, $category, $crate::label!($name) $(, $($rest)*)?));
        }
    };
}

/// Ends the slice that began last on the thread's track, or on another: `end!(ARM, track = &grasps, "held" =>
/// true);`. It has no name; the rest is as for [`slice!`](crate::slice).
#[macro_export]
macro_rules! end {
    ($category:expr $(, $($rest:tt)*)?) => {
        if $category.is_enabled() {
            $crate::write_event(&$crate::event!(@ End, $category, None $(, $($rest)*)?));
        }
    };
}

/// Sets a counter: `counter!(PLANNER, "candidates", 17);`. Then may follow its [`Unit`](crate::Unit), and a
/// time by [`now_ns`](crate::now_ns) from which on it has the value: `counter!(PLANNER, "cost", 2.5,
/// Unit::Count, at = ns)`. A counter whose name is computed, or that belongs to a track, is given as a
/// [`Track`](crate::Track) in place of the name: `counter!(PLANNER, track = &Track::below(&ARM, &joint, 0),
/// 0.5)`.
#[macro_export]
macro_rules! counter {
    ($category:expr, track = $track:expr, $value:expr) => {
        $crate::counter!($category, track = $track, $value, $crate::Unit::Count, at = 0)
    };
    ($category:expr, track = $track:expr, $value:expr, at = $at:expr) => {
        $crate::counter!($category, track = $track, $value, $crate::Unit::Count, at = $at)
    };
    ($category:expr, track = $track:expr, $value:expr, $unit:expr) => {
        $crate::counter!($category, track = $track, $value, $unit, at = 0)
    };
    ($category:expr, track = $track:expr, $value:expr, $unit:expr, at = $at:expr) => {
        if $category.is_enabled() {
            $crate::write_count(&$category, $track, $unit, $value as f64, $at);
        }
    };
    ($category:expr, $name:expr, $value:expr) => {
        $crate::counter!($category, $name, $value, $crate::Unit::Count, at = 0)
    };
    ($category:expr, $name:expr, $value:expr, at = $at:expr) => {
        $crate::counter!($category, $name, $value, $crate::Unit::Count, at = $at)
    };
    ($category:expr, $name:expr, $value:expr, $unit:expr) => {
        $crate::counter!($category, $name, $value, $unit, at = 0)
    };
    ($category:expr, $name:expr, $value:expr, $unit:expr, at = $at:expr) => {{
        static COUNTER: $crate::Counter = $crate::Counter::new(&$category, $name, $unit);
        if $category.is_enabled() {
            COUNTER.set_at($value as f64, $at);
        }
    }};
}

/// Arguments within an argument: `dictionary!("x" => 0.5, "y" => -1.0)`.
#[macro_export]
macro_rules! dictionary {
    ($($argument:literal => $value:expr),* $(,)?) => {
        $crate::Value::Dictionary(&[$($crate::argument!($argument, $value)),*])
    };
}

/// A list of values as an argument: `array![1, 2, 3]`.
#[macro_export]
macro_rules! array {
    ($($value:expr),* $(,)?) => {
        $crate::Value::Array(&[$($crate::Value::from($value)),*])
    };
}

/// A static name.
#[doc(hidden)]
#[macro_export]
macro_rules! label {
    ($name:expr) => {{
        static NAME: $crate::Name = $crate::Name::new($name);
        $crate::Label::Known(&NAME)
    }};
}

/// An argument with a static name.
// The value is outside of the block with the static: what it borrows lives as long as the statement.
#[doc(hidden)]
#[macro_export]
macro_rules! argument {
    ($name:literal, $value:expr) => {
        $crate::Argument { name: $crate::label!($name), value: $crate::Value::from($value) }
    };
}

/// An event with what may follow its name.
#[doc(hidden)]
#[macro_export]
macro_rules! event {
    ($kind:ident, $category:expr, $name:expr $(, $($rest:tt)*)?) => {
        $crate::event!(@ $kind, $category, Some($name) $(, $($rest)*)?)
    };
    (@ $kind:ident, $category:expr, $name:expr $(, track = $track:expr)? $(, at = $at:expr)?
        $(, flow = $flow:expr)* $(, last_flow = $last:expr)* $(, fields = $fields:expr)?
        $(, $argument:literal => $value:expr)* $(,)?) => {
        $crate::Event {
            $(track: Some($track),)?
            $(at_ns: $at,)?
            flows: &[$($flow),*],
            last_flows: &[$($last),*],
            $(fields: $fields,)?
            arguments: &[$($crate::argument!($argument, $value)),*],
            ..$crate::Event::new($crate::Kind::$kind, Some(&$category), $name)
        }
    };
}
