//! Files of the edition 2023, made readable for a parser that knows proto2 alone: features are taken out and kept, what has no
//! label gets one. Bytes keep their places but for those that are put in, so that messages can name the right place.

use std::collections::BTreeMap;

use super::descriptor::Features;

/// A file of an edition, as proto2.
#[derive(Debug, Default)]
pub struct Edition {
    /// Its text.
    pub text: String,
    /// Where something was put in, in the original, and how many bytes.
    inserted: Vec<(usize, usize)>,
    /// By the path of names from the file to what they stand at; that of the file is empty.
    pub features: BTreeMap<Vec<String>, Features>,
}

/// What is wrong with a file of an edition, and where.
#[derive(Debug, PartialEq, Eq)]
pub struct EditionError {
    pub message: String,
    pub at: usize,
    pub end: usize,
}

impl Edition {
    /// A file that needs no change.
    pub fn unchanged(text: &str) -> Self {
        Self { text: text.to_owned(), ..Self::default() }
    }

    /// Reads a file, if it is of an edition.
    pub fn read(source: &str) -> Option<Result<Self, EditionError>> {
        let tokens = tokens(source);
        let [first, equals, edition, end, ..] = &tokens[..] else { return None };
        if (first.text(source), equals.text(source), end.text(source)) != ("edition", "=", ";") {
            return None;
        }
        let name = edition.text(source).trim_matches(['"', '\'']);
        if name != "2023" {
            let message = format!("edition {name} is not supported; 2023, proto2 and proto3 are");
            return Some(Err(EditionError { message, at: edition.start, end: edition.end }));
        }
        let mut rewriter = Rewriter { source, tokens: &tokens, at: 4, ..Rewriter::default() };
        rewriter.blank(first.start, end.end);
        Some(rewriter.body(Body::File, &mut Vec::new()).map(|()| rewriter.finish()))
    }

    /// The place in the original of a byte of the text.
    pub fn original(&self, at: usize) -> usize {
        let mut shift = 0;
        for (place, count) in &self.inserted {
            if place + shift + count > at {
                // Within what was put in, or in front of it.
                return (at - shift).min(*place);
            }
            shift += count;
        }
        at - shift
    }
}

/// Something between blanks and comments: a word, a number, a string, or one other character.
#[derive(Debug, Clone, Copy)]
struct Token {
    start: usize,
    end: usize,
}

impl Token {
    fn text(self, source: &str) -> &str {
        source.get(self.start..self.end).unwrap_or_default()
    }
}

/// Text that ends early just ends: the parser complains.
fn tokens(source: &str) -> Vec<Token> {
    let bytes = source.as_bytes();
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.');
        let rest = &bytes[at..];
        match rest[0] {
            b' ' | b'\t' | b'\r' | b'\n' => at += 1,
            b'/' if rest.starts_with(b"//") => at += rest.iter().take_while(|it| **it != b'\n').count(),
            b'/' if rest.starts_with(b"/*") => {
                at += rest.windows(2).skip(2).position(|it| it == b"*/").map_or(rest.len(), |it| it + 4);
            }
            quote @ (b'"' | b'\'') => {
                at += 1;
                while at < bytes.len() && bytes[at] != quote && bytes[at] != b'\n' {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
                at = (at + 1).min(bytes.len());
                tokens.push(Token { start, end: at });
            }
            byte if is_word(&byte) => {
                at += rest.iter().take_while(|it| is_word(it)).count();
                tokens.push(Token { start, end: at });
            }
            _ => {
                at += source[at..].chars().next().map_or(1, char::len_utf8);
                tokens.push(Token { start, end: at });
            }
        }
    }
    tokens
}

/// What a pair of braces is around.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Body {
    File,
    Message,
    Extend,
    Oneof,
    Enum,
    /// A service, or a value in text format.
    Other,
}

#[derive(Default)]
struct Rewriter<'a> {
    source: &'a str,
    tokens: &'a [Token],
    at: usize,
    blanks: Vec<(usize, usize)>,
    inserted: Vec<usize>,
    features: BTreeMap<Vec<String>, Features>,
}

/// What stands in front of fields in proto2.
const LABEL: &str = "optional ";

impl Rewriter<'_> {
    fn peek(&self, ahead: usize) -> &str {
        self.tokens.get(self.at + ahead).map_or("", |it| it.text(self.source))
    }

    fn place(&self, index: usize) -> (usize, usize) {
        self.tokens.get(index).map_or((self.source.len(), self.source.len()), |it| (it.start, it.end))
    }

    fn blank(&mut self, from: usize, to: usize) {
        self.blanks.push((from, to));
    }

    /// The statements up to the end of the braces, which is passed.
    fn body(&mut self, body: Body, path: &mut Vec<String>) -> Result<(), EditionError> {
        while self.at < self.tokens.len() {
            if self.peek(0) == "}" {
                self.at += 1;
                return Ok(());
            }
            self.statement(body, path)?;
        }
        Ok(())
    }

    fn statement(&mut self, body: Body, path: &mut Vec<String>) -> Result<(), EditionError> {
        let begin = self.at;
        let inner = match (body, self.peek(0)) {
            (_, "option") if self.peek(1).starts_with("features.") => {
                self.at += 1;
                let features = self.feature()?;
                self.keep(path, features);
                let (from, _) = self.place(begin);
                self.skip_to(";");
                let (_, to) = self.place(self.at - 1);
                self.blank(from, to);
                return Ok(());
            }
            // Names stand there without quotes, which proto2 does not have.
            (Body::Message | Body::Enum, "reserved") => {
                self.skip_to(";");
                let (from, _) = self.place(begin);
                let (_, to) = self.place(self.at - 1);
                self.blank(from, to);
                return Ok(());
            }
            (_, ";") => {
                self.at += 1;
                return Ok(());
            }
            (Body::File | Body::Message, "message") => Body::Message,
            (Body::File | Body::Message, "enum") => Body::Enum,
            (Body::File | Body::Message, "extend") => Body::Extend,
            (Body::Message, "oneof") => Body::Oneof,
            (Body::File, "service") => Body::Other,
            _ => return self.plain(body, path),
        };
        let name = self.peek(1).to_owned();
        self.skip_to("{");
        // Members of a oneof are the message's.
        let names = matches!(inner, Body::Message | Body::Enum);
        if names {
            path.push(name);
        }
        self.body(inner, path)?;
        if names {
            path.pop();
        }
        Ok(())
    }

    /// A field, an enum's value, or anything else that ends with a semicolon (or braces, which are passed over).
    fn plain(&mut self, body: Body, path: &mut Vec<String>) -> Result<(), EditionError> {
        let is_member = matches!(body, Body::Message | Body::Extend);
        let has_label = matches!(
            self.peek(0),
            "repeated" | "optional" | "required" | "map" | "extensions" | "option" | "group"
        );
        if is_member && !has_label && self.peek(2) == "=" {
            self.inserted.push(self.place(self.at).0);
        }
        // What stands in front of the equals sign is its name.
        let mut name = String::new();
        let mut depth = 0_usize;
        while self.at < self.tokens.len() {
            match self.peek(0) {
                ";" if depth == 0 => {
                    self.at += 1;
                    return Ok(());
                }
                "}" if depth == 0 => return Ok(()),
                "=" if name.is_empty() && self.at > 0 => {
                    name = self.tokens[self.at - 1].text(self.source).to_owned();
                }
                "[" if depth == 0 && matches!(body, Body::Message | Body::Extend | Body::Oneof) => {
                    path.push(name.clone());
                    let outcome = self.options(path);
                    path.pop();
                    outcome?;
                    continue;
                }
                "{" => depth += 1,
                "}" => {
                    depth -= 1;
                    if depth == 0 && self.peek(1) != ";" {
                        self.at += 1;
                        return Ok(());
                    }
                }
                _ => {}
            }
            self.at += 1;
        }
        Ok(())
    }

    /// A field's options in brackets: its features are taken out, with a comma.
    fn options(&mut self, path: &[String]) -> Result<(), EditionError> {
        let (open, _) = self.place(self.at);
        self.at += 1;
        let mut kept = 0;
        let mut comma = None;
        while self.at < self.tokens.len() && self.peek(0) != "]" {
            let begin = self.at;
            let is_feature = self.peek(0).starts_with("features.");
            if is_feature {
                let features = self.feature()?;
                self.keep(path, features);
            }
            let mut depth = 0;
            while self.at < self.tokens.len() {
                match self.peek(0) {
                    "{" | "[" => depth += 1,
                    "]" if depth == 0 => break,
                    "," if depth == 0 => break,
                    "}" | "]" => depth -= 1,
                    _ => {}
                }
                self.at += 1;
            }
            let (from, _) = self.place(begin);
            let (_, to) = self.place(self.at - 1);
            if is_feature {
                self.blank(from, to);
                // So is the comma in front of it, or, if there is none that counts, the one behind it.
                if kept > 0
                    && let Some((from, to)) = comma
                {
                    self.blank(from, to);
                }
            } else {
                kept += 1;
            }
            comma = None;
            if self.peek(0) == "," {
                let place = self.place(self.at);
                if kept == 0 {
                    self.blank(place.0, place.1);
                } else {
                    comma = Some(place);
                }
                self.at += 1;
            }
        }
        let (close, end) = self.place(self.at);
        self.at += 1;
        if kept == 0 {
            self.blank(open, open + 1);
            self.blank(close, end);
        }
        Ok(())
    }

    /// `features.name = VALUE`, whose end is not passed.
    fn feature(&mut self) -> Result<Features, EditionError> {
        let (at, _) = self.place(self.at);
        let name = self.peek(0).trim_start_matches("features.").to_owned();
        let value = self.peek(2).to_owned();
        let (_, end) = self.place(self.at + 2);
        let mut features = Features::default();
        match (name.as_str(), value.as_str()) {
            ("enum_type", "OPEN") => features.enum_type = 1,
            ("enum_type", "CLOSED") => features.enum_type = 2,
            ("repeated_field_encoding", "PACKED") => features.repeated_field_encoding = 1,
            ("repeated_field_encoding", "EXPANDED") => features.repeated_field_encoding = 2,
            ("message_encoding", "LENGTH_PREFIXED") => features.message_encoding = 1,
            ("message_encoding", "DELIMITED") => features.message_encoding = 2,
            ("field_presence", "EXPLICIT" | "IMPLICIT" | "LEGACY_REQUIRED") => {}
            ("utf8_validation", "VERIFY" | "NONE") | ("json_format", "ALLOW" | "LEGACY_BEST_EFFORT") => {}
            // Those of one language: `features.(pb.cpp).string_type`.
            ("", "pb.cpp" | "pb.java" | "pb.go" | "pb.python") => {}
            _ => {
                let message = format!("the edition 2023 has no feature `{name} = {value}`");
                return Err(EditionError { message, at, end });
            }
        }
        Ok(features)
    }

    fn keep(&mut self, path: &[String], features: Features) {
        let kept = self.features.entry(path.to_vec()).or_default();
        *kept = Features::within(Some(features), *kept);
    }

    /// Behind the next token of this kind.
    fn skip_to(&mut self, text: &str) {
        while self.at < self.tokens.len() && self.peek(0) != text {
            self.at += 1;
        }
        self.at = (self.at + 1).min(self.tokens.len());
    }

    fn finish(self) -> Edition {
        let mut bytes = self.source.as_bytes().to_vec();
        for (from, to) in self.blanks {
            for byte in &mut bytes[from..to] {
                // Lines stay where they are.
                if *byte != b'\n' {
                    *byte = b' ';
                }
            }
        }
        let blanked = String::from_utf8(bytes).unwrap_or_default();
        let mut text = String::new();
        let mut done = 0;
        for at in &self.inserted {
            text.push_str(&blanked[done..*at]);
            text.push_str(LABEL);
            done = *at;
        }
        text.push_str(&blanked[done..]);
        let inserted = self.inserted.into_iter().map(|at| (at, LABEL.len())).collect();
        Edition { text, inserted, features: self.features }
    }
}

#[cfg(test)]
mod tests {
    use super::{Edition, LABEL};

    const SOURCE: &str = r#"// A file.
edition = "2023";
package p; /* here */
option features.enum_type = CLOSED;
message M {
  option features.message_encoding = LENGTH_PREFIXED;
  reserved a, b;
  int32 one = 1 [default = 5, features.field_presence = EXPLICIT];
  repeated int32 many = 2 [features.repeated_field_encoding = EXPANDED, deprecated = true];
  .p.M next = 3 [features = { message_encoding: DELIMITED }];
  map<string, M> all = 4 [features.field_presence = IMPLICIT];
  oneof choice { string text = 5; M.In in = 6 [features.message_encoding = DELIMITED]; }
  enum E { option features.enum_type = OPEN; A = 3; }
  extensions 100 to 200;
  extend M { bool more = 100; }
}
"#;

    #[test]
    fn an_edition_becomes_proto2() {
        let edition = Edition::read(&SOURCE.replace("[features = { message_encoding: DELIMITED }]", ""));
        let edition = edition.expect("it is one").expect("it is right");
        let lines: Vec<&str> = edition.text.lines().map(str::trim).collect();
        assert_eq!(lines[1], "");
        assert_eq!(lines[3], "");
        assert_eq!(lines[5], "");
        assert_eq!(lines[6], "");
        assert!(lines[7].starts_with("optional int32 one = 1 [default = 5 "), "{}", lines[7]);
        assert!(!lines[7].contains(','), "{}", lines[7]);
        assert!(lines[8].contains(" deprecated = true];") && !lines[8].contains(','), "{}", lines[8]);
        assert!(lines[9].starts_with("optional .p.M next = 3"), "{}", lines[9]);
        assert!(lines[10].starts_with("map<string, M> all = 4  ") && !lines[10].contains('['));
        assert!(lines[11].starts_with("oneof choice { string text = 5; M.In in = 6 "));
        assert_eq!(lines[14], "extend M { optional bool more = 100; }");
        let at = |path: &[&str]| {
            edition.features.get(&path.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>()).copied()
        };
        assert_eq!(at(&[]).map(|it| it.enum_type), Some(2));
        assert_eq!(at(&["M"]).map(|it| it.message_encoding), Some(1));
        assert_eq!(at(&["M", "many"]).map(|it| it.repeated_field_encoding), Some(2));
        assert_eq!(at(&["M", "in"]).map(|it| it.message_encoding), Some(2));
        assert_eq!(at(&["M", "E"]).map(|it| it.enum_type), Some(1));
        // Places lead back.
        let original = SOURCE.replace("[features = { message_encoding: DELIMITED }]", "");
        for word in ["one", "next", "more", "package"] {
            let (now, then) = (edition.text.find(word), original.find(word));
            assert_eq!(now.map(|at| edition.original(at)), then, "{word}");
        }
        assert_eq!(edition.text.len(), original.len() + 3 * LABEL.len());
    }

    #[test]
    fn others_are_left_alone_and_unknown_ones_refused() {
        assert!(Edition::read("syntax = \"proto3\"; message M {}").is_none());
        assert!(Edition::read("").is_none());
        let error = Edition::read("edition = \"2024\";").expect("it is one").expect_err("it is unknown");
        assert!(error.message.contains("edition 2024 is not supported"), "{}", error.message);
        let error = Edition::read("edition = \"2023\"; option features.enum_type = AJAR;");
        assert!(error.expect("it is one").expect_err("it is wrong").message.contains("enum_type = AJAR"));
        // Text that ends early.
        for end in 0..SOURCE.len() {
            let _ = Edition::read(&SOURCE[..end]);
        }
    }
}
