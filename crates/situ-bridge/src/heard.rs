//! What tokens of other machines say now.
//!
//! Threads of Zenoh change it in place, and tell the bridge once that it has changed. So a peer that declares
//! tokens and takes them back, faster than the bridge looks at them, takes no more memory than what it has
//! declared at one time.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::status::PeerStatus;
use crate::wire::token::Token;

/// What keys of bridges begin with.
pub const BRIDGES: &str = "@situ_bridge";
/// How many tokens of others are kept.
const MAX_TOKENS: usize = 20_000;
/// How many other bridges are kept.
const MAX_BRIDGES: usize = 1024;
/// The most characters of a machine's name.
const MAX_HOST: usize = 64;

/// Another bridge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherBridge {
    /// Its session and its machine.
    pub peer: PeerStatus,
    /// The number of its root.
    pub origin: u64,
}

/// What tokens of other machines say now.
#[derive(Debug)]
pub struct Heard {
    session: String,
    origin: u64,
    tokens: HashMap<String, Token>,
    bridges: BTreeMap<String, OtherBridge>,
    has_changed: bool,
    /// Of what there was a warning.
    warned: HashSet<&'static str>,
}

/// Tokens by their keys, and other bridges by theirs.
pub type Read = (HashMap<String, Token>, BTreeMap<String, OtherBridge>);

/// The characters of a text that the name of a machine may have.
pub fn host_name(text: &str) -> String {
    let good = |letter: &char| letter.is_ascii_alphanumeric() || "-._".contains(*letter);
    text.chars().filter(good).take(MAX_HOST).collect()
}

/// The key by which a bridge shows itself.
pub fn bridge_key(domain: u32, session: &str, origin: u64, host: &str) -> String {
    format!("{BRIDGES}/{domain}/{session}/{origin:016x}/{host}")
}

/// Reads such a key. It is that of an unknown peer, and what it says is printed.
fn read_bridge(key: &str) -> Option<OtherBridge> {
    let parts: Vec<&str> = key.splitn(6, '/').collect();
    let [BRIDGES, _domain, session, origin, host] = parts[..] else { return None };
    let is_hex = |text: &str, most| text.len() <= most && text.bytes().all(|it| it.is_ascii_hexdigit());
    let is_good = is_hex(session, 32) && is_hex(origin, 16) && host_name(host) == host;
    let origin = u64::from_str_radix(origin, 16).ok().filter(|_| is_good && !session.is_empty())?;
    Some(OtherBridge { peer: PeerStatus { session: session.to_owned(), host: host.to_owned() }, origin })
}

impl Heard {
    /// For a session and a root.
    pub fn new(session: String, origin: u64) -> Self {
        Self {
            session,
            origin,
            tokens: HashMap::new(),
            bridges: BTreeMap::new(),
            has_changed: false,
            warned: HashSet::new(),
        }
    }

    /// Takes what tokens say now, if it has changed since the last call.
    pub fn read(&mut self) -> Option<Read> {
        std::mem::take(&mut self.has_changed).then(|| (self.tokens.clone(), self.bridges.clone()))
    }

    /// Adds or removes a token. Returns whether the bridge has to be told that something has changed.
    pub fn take(&mut self, key: &str, is_there: bool, warn: &mut dyn FnMut(String)) -> bool {
        let has_changed = match is_there {
            true => self.join(key, warn),
            false => self.tokens.remove(key).is_some() | self.bridges.remove(key).is_some(),
        };
        has_changed && !std::mem::replace(&mut self.has_changed, true)
    }

    fn join(&mut self, key: &str, warn: &mut dyn FnMut(String)) -> bool {
        if key.starts_with(BRIDGES) {
            return self.join_bridge(key, warn);
        }
        let token = match Token::from_key(key) {
            Ok(token) if token.session == self.session => return false,
            Ok(token) => token,
            Err(error) => {
                self.warn_once("malformed", warn, || error.to_string());
                return false;
            }
        };
        if self.tokens.len() >= MAX_TOKENS && !self.tokens.contains_key(key) {
            self.warn_once("tokens", warn, || {
                format!("more than {MAX_TOKENS} nodes and endpoints on other machines: others are ignored")
            });
            return false;
        }
        self.tokens.insert(key.to_owned(), token).is_none()
    }

    fn join_bridge(&mut self, key: &str, warn: &mut dyn FnMut(String)) -> bool {
        let Some(other) = read_bridge(key) else {
            self.warn_once("malformed bridge", warn, || {
                let short: String = key.chars().take(200).collect();
                format!("the token of a bridge is malformed: {short:?}")
            });
            return false;
        };
        if other.peer.session == self.session || self.bridges.len() >= MAX_BRIDGES {
            return false;
        }
        if other.origin == self.origin {
            let PeerStatus { session, host } = other.peer.clone();
            self.warn_once("same root", warn, || {
                format!(
                    "another bridge of the same root is on this network (session {session} on {host}): \
                     other machines get each message twice. End one of them"
                )
            });
        }
        self.bridges.insert(key.to_owned(), other).is_none()
    }

    fn warn_once(&mut self, what: &'static str, warn: &mut dyn FnMut(String), text: impl FnOnce() -> String) {
        if self.warned.insert(what) {
            warn(text());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NODE: &str = "@ros2_lv/0/aa/0/0/NN/%/%/talker";

    fn heard() -> (Heard, Vec<String>) {
        (Heard::new("aa01".into(), 7), Vec::new())
    }

    #[test]
    fn the_bridge_is_told_once_until_it_reads() {
        let (mut heard, mut warnings) = heard();
        let mut warn = |text| warnings.push(text);
        assert!(heard.read().is_none());
        assert!(heard.take(NODE, true, &mut warn));
        for _ in 0..3 {
            assert!(!heard.take(NODE, false, &mut warn) && !heard.take(NODE, true, &mut warn));
        }
        assert_eq!(heard.read().unwrap().0.len(), 1);
        assert!(heard.read().is_none());
        // It is there already.
        assert!(!heard.take(NODE, true, &mut warn) && heard.read().is_none());
        assert!(heard.take(NODE, false, &mut warn));
        assert!(heard.read().unwrap().0.is_empty());
        // Its own tokens are none of others.
        assert!(!heard.take(&NODE.replace("/aa/", "/aa01/"), true, &mut warn));
        assert!(warnings.is_empty());
    }

    #[test]
    fn tokens_and_bridges_without_end_are_limited() {
        let (mut heard, mut warnings) = heard();
        let mut warn = |text| warnings.push(text);
        for number in 0..MAX_TOKENS + 10 {
            heard.take(&format!("@ros2_lv/0/aa/{number}/{number}/NN/%/%/talker"), true, &mut warn);
            heard.take(&format!("@ros2_lv/0/{number}"), true, &mut warn);
        }
        for number in 0..MAX_BRIDGES + 10 {
            heard.take(&bridge_key(0, &format!("{number:x}"), 7, "robot"), true, &mut warn);
        }
        let (tokens, bridges) = heard.read().unwrap();
        assert_eq!((tokens.len(), bridges.len()), (MAX_TOKENS, MAX_BRIDGES));
        assert_eq!(warnings.len(), 3, "one of each kind: {warnings:?}");
    }

    #[test]
    fn bridges_say_nothing_that_a_terminal_obeys() {
        let good = bridge_key(3, "ab12", 0x1f, "robot-1.local");
        let other = read_bridge(&good).unwrap();
        assert_eq!((other.peer.session.as_str(), other.peer.host.as_str()), ("ab12", "robot-1.local"));
        assert_eq!(other.origin, 0x1f);
        let long = "x".repeat(65);
        for (session, origin, host) in [
            ("ab12", "1f", "\x1b[2J"),
            ("ab12", "1f", "a b"),
            ("ab12", "1f", long.as_str()),
            ("ab12", "1f", "robot/x"),
            ("ab\x1b", "1f", "robot"),
            ("", "1f", "robot"),
            ("ab12", "+1f", "robot"),
            ("ab12", "", "robot"),
            ("ab12", "11112222333344445", "robot"),
        ] {
            assert_eq!(read_bridge(&format!("{BRIDGES}/0/{session}/{origin}/{host}")), None, "{host:?}");
        }
        assert_eq!(host_name("robot\x1b[2J!\n"), "robot2J");
    }
}
