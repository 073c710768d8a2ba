//! What bridges and nodes of rmw_zenoh say to each other: keys, tokens, attachments, hashes of types.
//!
//! ```text
//!   attachment   the bytes beside each message: its number, its time, its publisher, its origin
//!   token        the keys by which nodes and endpoints show that they are alive
//!   token_qos    the quality of service in such a key
//!   names        names of topics and types as ROS and as DDS write them, and keys of topics
//!   type_hash    the hash of a type (RIHS01) from its schema
//!   reply_error  why a call of another machine fails
//!   schema_text  a type of Situ, as one bridge tells it another
//! ```
//!
//! `spec/bridge.md` specifies it. All of this is read from the network: nothing here panics, and sizes are
//! limited before memory is taken.

pub mod attachment;
pub mod names;
pub mod reply_error;
pub mod schema_text;
pub mod token;
pub mod token_qos;
pub mod type_hash;

#[cfg(test)]
mod tests {
    use situ_testkit::Random;

    use super::attachment::Attachment;
    use super::token::Token;
    use super::{schema_text, token_qos};

    /// What is read of any bytes is written and read again.
    fn read(bytes: &[u8]) {
        if let Ok(attachment) = Attachment::from_bytes(bytes) {
            assert_eq!(Attachment::from_bytes(&attachment.to_bytes()), Ok(attachment));
        }
        if let Ok(description) = schema_text::from_bytes(bytes, |_, _| Ok(())) {
            let text = schema_text::to_text(&description);
            assert_eq!(schema_text::from_bytes(text.as_bytes(), |_, _| Ok(())), Ok(description));
        }
        let Ok(text) = std::str::from_utf8(bytes) else { return };
        if let Ok(token) = Token::from_key(text) {
            assert_eq!(Token::from_key(&token.key()).map(|again| again.key()), Ok(token.key()));
        }
        if let Ok(qos) = token_qos::from_text(text) {
            assert_eq!(token_qos::from_text(&token_qos::to_text(&qos)), Ok(qos));
        }
    }

    /// The first inputs of the fuzz target, and mutations of them.
    #[test]
    fn mutated_inputs_are_read_or_refused() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/bridge_wire");
        let mut random = Random(25);
        let mut inputs = 0;
        for entry in std::fs::read_dir(folder).unwrap() {
            let input = std::fs::read(entry.unwrap().path()).unwrap();
            read(&input);
            for _ in 0..2000 {
                let mut bytes = input.clone();
                for _ in 0..=random.below(4) {
                    let at = random.below(bytes.len() as u64) as usize;
                    match random.below(3) {
                        0 => bytes[at] = random.below(256) as u8,
                        1 => bytes[at] = b"/%:,@0129_"[random.below(10) as usize],
                        _ => bytes.truncate(at.max(1)),
                    }
                }
                read(&bytes);
            }
            inputs += 1;
        }
        assert!(inputs >= 8);
    }
}
