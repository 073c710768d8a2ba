//! The names of topics, and those that Situ keeps for itself.

use situ_layout::foreign::is_name;

use super::register_error::RegisterError;
use crate::root::file_name;

/// Names with this beginning belong to Situ: services carry their messages on such topics.
const RESERVED: &str = "situ:";
/// The greatest number of characters of a name that a user gives.
const MAX_CHARS: usize = 230;
/// The greatest number of characters of a topic's name, with the beginning that Situ adds.
const MAX_HIDDEN_CHARS: usize = 256;
/// The longest name that file systems accept, in bytes.
const MAX_FILE_NAME: usize = 255;

/// Whether a topic is one of Situ's own, which lists of topics leave out.
pub(crate) fn is_hidden(topic: &str) -> bool {
    topic.starts_with(RESERVED)
}

/// Checks a name that a user gives.
pub(crate) fn check_given(topic: &str) -> Result<(), RegisterError> {
    if !is_name(topic, MAX_CHARS) || file_name(topic).len() > MAX_FILE_NAME {
        return Err(RegisterError::InvalidName(topic.to_owned()));
    }
    if is_hidden(topic) {
        return Err(RegisterError::ReservedName { topic: topic.to_owned(), reserved: RESERVED });
    }
    Ok(())
}

/// Checks the name of any topic.
pub(super) fn check(topic: &str) -> Result<(), RegisterError> {
    if is_name(topic, MAX_HIDDEN_CHARS) && file_name(topic).len() <= MAX_FILE_NAME {
        return Ok(());
    }
    Err(RegisterError::InvalidName(topic.to_owned()))
}

/// The topic of a service's requests.
pub(crate) fn of_requests(service: &str) -> String {
    format!("{RESERVED}request/{service}")
}

/// The service whose requests a topic carries.
pub(crate) fn service_of(topic: &str) -> Option<&str> {
    topic.strip_prefix(RESERVED)?.strip_prefix("request/")
}

/// The topic of the replies to a client.
pub(crate) fn of_replies(client: u64) -> String {
    format!("{RESERVED}reply/{client:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_cannot_take_the_names_of_services() {
        assert!(
            check_given("situ").is_ok() && check_given("situ/x").is_ok() && check_given("a situ:").is_ok()
        );
        assert!(matches!(check_given("situ:x"), Err(RegisterError::ReservedName { reserved: "situ:", .. })));
        assert!(matches!(check_given(""), Err(RegisterError::InvalidName(_))));
        assert!(check_given(&"x".repeat(230)).is_ok() && check_given(&"x".repeat(231)).is_err());
        let longest = of_requests(&"x".repeat(230));
        assert!(check(&longest).is_ok() && is_hidden(&longest));
        assert_eq!(service_of(&longest), Some(&*"x".repeat(230)));
        assert_eq!(of_requests("a b"), "situ:request/a b");
        assert_eq!(of_replies(0x12), "situ:reply/0000000000000012");
        assert_eq!(service_of("situ:reply/0000000000000012"), None);
    }
}
