//! What the strings and wide strings of all storages have in common: their unit, and the traits that only
//! read the text.

/// The unit of a text: a byte of UTF-8, or 16 bits of UTF-16.
pub trait TextUnit: Copy + Eq + Send + Sync + 'static {
    /// The unit that ends a text in C.
    const ZERO: Self;
}

impl TextUnit for u8 {
    const ZERO: Self = 0;
}

impl TextUnit for u16 {
    const ZERO: Self = 0;
}

/// Implements the traits that a string (`narrow`) or a wide string (`wide`) has by the text that it
/// dereferences to.
macro_rules! text_traits {
    (narrow $text:ident) => {
        $crate::storage::text::text_traits!($text shown by $crate::value::container::TextField::to_text);

        impl<const N: usize> AsRef<str> for $text<N> {
            fn as_ref(&self) -> &str {
                self
            }
        }

        impl<const N: usize> std::borrow::Borrow<str> for $text<N> {
            fn borrow(&self) -> &str {
                self
            }
        }

        impl<const N: usize> PartialEq<str> for $text<N> {
            fn eq(&self, other: &str) -> bool {
                **self == *other
            }
        }

        impl<const N: usize> PartialEq<&str> for $text<N> {
            fn eq(&self, other: &&str) -> bool {
                **self == **other
            }
        }
    };
    (wide $text:ident) => {
        $crate::storage::text::text_traits!($text shown by String::from_utf16_lossy);
    };
    ($text:ident shown by $shown:path) => {
        impl<const N: usize> $crate::value::traits::MapKey for $text<N> {}

        impl<const N: usize> PartialEq for $text<N> {
            fn eq(&self, other: &Self) -> bool {
                **self == **other
            }
        }

        impl<const N: usize> Eq for $text<N> {}

        impl<const N: usize> PartialOrd for $text<N> {
            fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
                Some(self.cmp(other))
            }
        }

        impl<const N: usize> Ord for $text<N> {
            fn cmp(&self, other: &Self) -> std::cmp::Ordering {
                (**self).cmp(&**other)
            }
        }

        impl<const N: usize> std::hash::Hash for $text<N> {
            fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
                (**self).hash(state);
            }
        }

        impl<const N: usize> std::fmt::Debug for $text<N> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Debug::fmt(&*$shown(self), f)
            }
        }

        impl<const N: usize> std::fmt::Display for $text<N> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(&*$shown(self), f)
            }
        }
    };
}

pub(crate) use text_traits;
