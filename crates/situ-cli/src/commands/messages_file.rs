//! Reads messages for `situ topic pub` from a file or from standard input: YAML documents or lines of JSON.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::mpsc::{Receiver, sync_channel};

/// The largest text of a message.
const MAX_TEXT: u64 = 256 << 20;

/// A message, and the line in which it begins.
#[derive(Debug, PartialEq, Eq)]
pub struct MessageText {
    /// The first line, from 1.
    pub line: usize,
    /// The message.
    pub text: String,
}

/// Reads in a thread of its own, because reading from a terminal or a pipe does not end by Ctrl-C. The path
/// `-` is standard input.
pub fn read(path: &Path) -> io::Result<Receiver<io::Result<MessageText>>> {
    let input: Box<dyn BufRead + Send> = if path == Path::new("-") {
        Box::new(BufReader::new(io::stdin()))
    } else {
        Box::new(BufReader::new(File::open(path)?))
    };
    let (sender, receiver) = sync_channel(1);
    std::thread::spawn(move || {
        let mut texts = Texts { input, line: 0 };
        loop {
            let sent = match texts.next() {
                Ok(Some(text)) => sender.send(Ok(text)),
                Ok(None) => return,
                Err(error) => {
                    let _ = sender.send(Err(error));
                    return;
                }
            };
            if sent.is_err() {
                return;
            }
        }
    });
    Ok(receiver)
}

struct Texts<R> {
    input: R,
    line: usize,
}

impl<R: BufRead> Texts<R> {
    /// Returns the next message. A message is one line in braces, or all lines up to `---`. Messages of
    /// comments and empty lines alone are skipped.
    fn next(&mut self) -> io::Result<Option<MessageText>> {
        let mut text = String::new();
        let mut first = 0;
        loop {
            let begin = text.len();
            let left = (MAX_TEXT + 1).saturating_sub(begin as u64);
            let count = self.input.by_ref().take(left).read_line(&mut text)?;
            if text.len() as u64 > MAX_TEXT {
                let line = self.line + 1;
                return Err(io::Error::other(format!("line {line}: the message is larger than 256 MiB")));
            }
            self.line += usize::from(count > 0);
            let line = text[begin..].trim_end();
            let is_end = count == 0 || line == "---" || line == "...";
            if is_end {
                text.truncate(begin);
            } else if first == 0 && (line.is_empty() || line.starts_with('#')) {
                text.truncate(begin);
                continue;
            } else if first == 0 {
                first = self.line;
                if line.starts_with('{') && line.ends_with('}') {
                    return Ok(Some(MessageText { line: first, text }));
                }
            }
            if is_end && first > 0 {
                return Ok(Some(MessageText { line: first, text }));
            }
            if count == 0 {
                return Ok(None);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(input: &str) -> Vec<(usize, String)> {
        let mut texts = Texts { input: input.as_bytes(), line: 0 };
        std::iter::from_fn(|| texts.next().unwrap()).map(|it| (it.line, it.text)).collect()
    }

    #[test]
    fn documents_and_lines_are_messages() {
        let owned = |all: &[(usize, &str)]| -> Vec<(usize, String)> {
            all.iter().map(|(line, text)| (*line, (*text).to_owned())).collect()
        };
        assert_eq!(texts(""), []);
        assert_eq!(texts("{\"x\": 1}\n\n{\"x\": 2}"), owned(&[(1, "{\"x\": 1}\n"), (3, "{\"x\": 2}")]));
        assert_eq!(texts("x: 1\ny: 2\n---\nx: 3\n"), owned(&[(1, "x: 1\ny: 2\n"), (4, "x: 3\n")]));
        // As `situ topic echo` prints several topics.
        assert_eq!(texts("# pose\nx: 1\n---\n# pose\nx: 2\n---\n"), owned(&[(2, "x: 1\n"), (5, "x: 2\n")]));
        assert_eq!(
            texts("{x: 1,\n y: 2}\n---\n{x: 3}\n"),
            owned(&[(1, "{x: 1,\n y: 2}\n"), (4, "{x: 3}\n")])
        );
        assert_eq!(texts("---\n---\n...\n"), []);
    }
}
