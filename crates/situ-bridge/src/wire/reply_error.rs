//! Why a call of another machine fails, as the encoding of Zenoh's error reply says it.
//!
//! ```text
//!   situ/refused;<number>   the server refused the request, with this number; the payload is its text
//!   situ/gone               the server has ended
//!   anything else           the payload is a text
//! ```

/// What the encoding of a refusal begins with.
const REFUSED: &str = "situ/refused;";
/// The encoding that says that the server has ended.
const GONE: &str = "situ/gone";

/// Why a call fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplyFailure {
    /// The server refused it, with this number.
    Refused(u64),
    /// The server has ended.
    Gone,
    /// Something else.
    Other,
}

impl ReplyFailure {
    /// The encoding. Empty for what has none.
    pub fn to_encoding(self) -> String {
        match self {
            Self::Refused(code) => format!("{REFUSED}{code}"),
            Self::Gone => GONE.to_owned(),
            Self::Other => String::new(),
        }
    }

    /// Reads an encoding. It is that of an unknown peer.
    pub fn from_encoding(text: &str) -> Self {
        match text.strip_prefix(REFUSED).map(str::parse) {
            Some(Ok(code)) => Self::Refused(code),
            _ if text == GONE => Self::Gone,
            _ => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_have_encodings() {
        for (failure, text) in [
            (ReplyFailure::Refused(7), "situ/refused;7"),
            (ReplyFailure::Refused(u64::MAX), "situ/refused;18446744073709551615"),
            (ReplyFailure::Gone, "situ/gone"),
            (ReplyFailure::Other, ""),
        ] {
            assert_eq!((failure.to_encoding().as_str(), ReplyFailure::from_encoding(text)), (text, failure));
        }
        for other in [
            "text/plain",
            "situ/refused;",
            "situ/refused;-1",
            "situ/refused;99999999999999999999",
            "situ/gone;1",
        ] {
            assert_eq!(ReplyFailure::from_encoding(other), ReplyFailure::Other, "{other}");
        }
    }
}
