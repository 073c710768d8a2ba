//! `Debug` of error types: the sentence of the error, and those of its sources.
//!
//! `fn main() -> Result<(), Box<dyn Error>>` prints the error that it returns with `Debug`, as `unwrap` and
//! `expect` do. The sentence holds all values of the error, and says what to do.

use std::error::Error;
use std::fmt::{self, Write};

/// Implements `Debug` for an error type by its text: see the module's documentation.
#[doc(hidden)]
#[macro_export]
macro_rules! debug_as_text {
    ($error:ty) => {
        impl ::core::fmt::Debug for $error {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                $crate::write_error_text(self, f)
            }
        }
    };
}

/// Writes an error and its sources. A source whose text the error already contains is left out.
#[doc(hidden)]
pub fn write_error_text(error: &dyn Error, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let part = error.to_string();
        if !text.contains(&part) {
            write!(text, ": {part}")?;
        }
        source = error.source();
    }
    f.write_str(&text)
}

#[cfg(test)]
mod tests {
    use thiserror::Error;

    #[derive(Error)]
    #[error("the disk is full")]
    struct Full;
    crate::debug_as_text!(Full);

    #[derive(Error)]
    enum Failure {
        #[error("cannot write `{0}`")]
        Write(&'static str, #[source] Full),
        #[error("cannot copy: {0}")]
        Copy(#[from] Full),
    }
    crate::debug_as_text!(Failure);

    #[test]
    fn errors_of_main_are_sentences() {
        let boxed: Box<dyn std::error::Error> = Failure::Write("log", Full).into();
        assert_eq!(format!("{boxed:?}"), "cannot write `log`: the disk is full");
        assert_eq!(format!("{:#?}", Failure::Copy(Full)), "cannot copy: the disk is full");
    }
}
