//! Rewrites files of the editions 2023 and 2024 as proto2, which the parser understands. Features are blanked
//! out and kept aside, and fields without a label get one. Other bytes keep their places, except that
//! insertions shift them. `Edition::original` maps places back for messages.

use std::collections::BTreeMap;

use super::descriptor::{EDITION_2023, EDITION_2024, Features};

/// A file of an edition, as proto2.
#[derive(Debug, Default)]
pub struct Edition {
    /// Its text.
    pub text: String,
    /// The places of insertions in the original, and their numbers of bytes.
    inserted: Vec<(usize, usize)>,
    /// Features by the path of names of what they belong to. The path of the file is empty.
    pub features: BTreeMap<Vec<String>, Features>,
    /// Its number; 0 for proto2 and proto3.
    pub number: i32,
    /// The files that are imported for their options alone.
    pub option_imports: Vec<String>,
    /// The visibility of messages and enums that are marked, by the path of names.
    pub visibility: BTreeMap<Vec<String>, Visibility>,
}

/// Whether other files may name a message or enum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Visibility {
    Export,
    Local,
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
        let number = match name {
            "2023" => EDITION_2023,
            "2024" => EDITION_2024,
            _ => {
                let message =
                    format!("edition {name} is not supported; 2024, 2023, proto2 and proto3 are supported");
                return Some(Err(EditionError { message, at: edition.start, end: edition.end }));
            }
        };
        let mut rewriter = Rewriter { source, tokens: &tokens, at: 4, number, ..Rewriter::default() };
        rewriter.blank(first.start, end.end);
        Some(rewriter.body(Body::File, &mut Vec::new()).map(|()| rewriter.finish()))
    }

    /// Inserts texts at the given places.
    pub fn insert(&mut self, mut more: Vec<(usize, String)>) {
        more.sort_by_key(|(at, _)| *at);
        // From the last to the first, so that earlier places stay valid.
        for (at, text) in more.into_iter().rev() {
            // The places come from a parser, and may be invalid.
            if !self.text.is_char_boundary(at) {
                continue;
            }
            let place = (self.original(at), text.len());
            let index = self.inserted.partition_point(|it| it.0 <= place.0);
            self.inserted.insert(index, place);
            self.text.insert_str(at, &text);
        }
    }

    /// The place in the original of a byte of the text.
    pub fn original(&self, at: usize) -> usize {
        let mut shift = 0;
        for (place, count) in &self.inserted {
            if place + shift + count > at {
                // Within an insertion, or before it.
                return (at - shift).min(*place);
            }
            shift += count;
        }
        at - shift
    }
}

/// A token: a word, a number, a string, or one other character.
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

/// Incomplete tokens are no error here, because the parser reports them.
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

/// What a pair of braces encloses.
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
    number: i32,
    option_imports: Vec<String>,
    visibility: BTreeMap<Vec<String>, Visibility>,
}

fn is_feature(name: &str) -> bool {
    name == "features" || name.starts_with("features.")
}

/// The label that proto2 requires before a field.
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

    /// Rewrites the statements up to and including the closing brace.
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
            (Body::File, "import") => return self.import(),
            (Body::File | Body::Message, "export" | "local") if self.is_marked() => {
                let mark = if self.peek(0) == "local" { Visibility::Local } else { Visibility::Export };
                let (from, to) = self.place(begin);
                self.blank(from, to);
                self.visibility.insert([path.as_slice(), &[self.peek(2).to_owned()]].concat(), mark);
                self.at += 1;
                return Ok(());
            }
            (_, "option") if is_feature(self.peek(1)) => {
                self.at += 1;
                let features = self.feature()?;
                self.keep(path, features);
                let (from, _) = self.place(begin);
                self.skip_to(";");
                let (_, to) = self.place(self.at - 1);
                self.blank(from, to);
                return Ok(());
            }
            // Names are unquoted there, which proto2 does not allow.
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

    /// Whether a message or an enum with a visibility follows. Fields may have these words as types and
    /// names.
    fn is_marked(&self) -> bool {
        self.number >= EDITION_2024 && matches!(self.peek(1), "message" | "enum") && self.peek(3) == "{"
    }

    /// `import`. An `import option` becomes a plain one, and is recorded.
    fn import(&mut self) -> Result<(), EditionError> {
        let (at, end) = self.place(self.at + 1);
        let refused = match (self.peek(1), self.number >= EDITION_2024) {
            ("option", false) => Some("`import option` exists since edition 2024"),
            ("weak", true) => {
                Some("weak imports were removed after edition 2023; did you mean `import option`?")
            }
            _ => None,
        };
        if let Some(message) = refused {
            return Err(EditionError { message: message.to_owned(), at, end });
        }
        if self.peek(1) == "option" {
            self.blank(at, end);
            self.option_imports.push(self.peek(2).trim_matches(['"', '\'']).to_owned());
        }
        self.skip_to(";");
        Ok(())
    }

    /// A field, an enum's value, or anything else that ends with a semicolon or braces.
    fn plain(&mut self, body: Body, path: &mut Vec<String>) -> Result<(), EditionError> {
        let is_member = matches!(body, Body::Message | Body::Extend);
        let has_label = matches!(
            self.peek(0),
            "repeated" | "optional" | "required" | "map" | "extensions" | "option" | "group"
        );
        if is_member && !has_label && self.peek(2) == "=" {
            self.inserted.push(self.place(self.at).0);
        }
        // Its name is before the equals sign.
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

    /// A field's options in brackets: features are blanked out, with a comma.
    fn options(&mut self, path: &[String]) -> Result<(), EditionError> {
        let (open, _) = self.place(self.at);
        self.at += 1;
        let mut kept = 0;
        let mut comma = None;
        while self.at < self.tokens.len() && self.peek(0) != "]" {
            let begin = self.at;
            let is_feature = is_feature(self.peek(0));
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
                // The comma before it is blanked out, too, or the comma after it if no option before it is
                // kept.
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

    /// `features.name = VALUE` or `features = { name: VALUE }`, up to the end of the statement, which stays
    /// to be read.
    fn feature(&mut self) -> Result<Features, EditionError> {
        if self.peek(0) != "features" {
            return self.one_feature(self.peek(0).trim_start_matches("features."));
        }
        let mut features = Features::default();
        let begin = self.at;
        self.at += 3; // `features = {`
        while !matches!(self.peek(0), "}" | "") {
            let is_pair = self.peek(1) == ":";
            let found = if is_pair { self.one_feature(self.peek(0))? } else { Features::default() };
            features = Features::within(Some(found), features);
            self.at += if is_pair { 3 } else { 1 };
        }
        self.at = begin;
        Ok(features)
    }

    /// Records the feature with this name. Its value is two tokens further.
    fn one_feature(&self, name: &str) -> Result<Features, EditionError> {
        let (at, _) = self.place(self.at);
        let (_, end) = self.place(self.at + 2);
        let value = self.peek(2);
        let is_new = self.number >= EDITION_2024;
        let mut features = Features::default();
        match (name, value) {
            ("enum_type", "OPEN") => features.enum_type = 1,
            ("enum_type", "CLOSED") => features.enum_type = 2,
            ("repeated_field_encoding", "PACKED") => features.repeated_field_encoding = 1,
            ("repeated_field_encoding", "EXPANDED") => features.repeated_field_encoding = 2,
            ("message_encoding", "LENGTH_PREFIXED") => features.message_encoding = 1,
            ("message_encoding", "DELIMITED") => features.message_encoding = 2,
            ("json_format", "ALLOW") => features.json_format = 1,
            ("json_format", "LEGACY_BEST_EFFORT") => features.json_format = 2,
            ("enforce_naming_style", "STYLE2024") if is_new => features.enforce_naming_style = 1,
            ("enforce_naming_style", "STYLE_LEGACY") if is_new => features.enforce_naming_style = 2,
            ("default_symbol_visibility", "EXPORT_ALL") if is_new => features.default_symbol_visibility = 1,
            ("default_symbol_visibility", "EXPORT_TOP_LEVEL") if is_new => {
                features.default_symbol_visibility = 2;
            }
            ("default_symbol_visibility", "LOCAL_ALL") if is_new => features.default_symbol_visibility = 3,
            ("default_symbol_visibility", "STRICT") if is_new => features.default_symbol_visibility = 4,
            ("field_presence", "EXPLICIT" | "IMPLICIT" | "LEGACY_REQUIRED") => {}
            ("utf8_validation", "VERIFY" | "NONE") => {}
            // Features of one language: `features.(pb.cpp).string_type`.
            ("", language) if language.starts_with("pb.") => {}
            _ => {
                let edition = if is_new { "2024" } else { "2023" };
                let message = format!("the edition {edition} has no feature `{name} = {value}`");
                return Err(EditionError { message, at, end });
            }
        }
        Ok(features)
    }

    fn keep(&mut self, path: &[String], features: Features) {
        let kept = self.features.entry(path.to_vec()).or_default();
        *kept = Features::within(Some(features), *kept);
    }

    /// Skips to behind the next token of this kind.
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
        let Self { features, number, option_imports, visibility, .. } = self;
        Edition { text, inserted, features, number, option_imports, visibility }
    }
}

#[cfg(test)]
mod tests {
    use super::{Edition, LABEL, Visibility};

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
        let edition = Edition::read(SOURCE);
        let edition = edition.expect("it is one").expect("it is right");
        let lines: Vec<&str> = edition.text.lines().map(str::trim).collect();
        assert_eq!(lines[1], "");
        assert_eq!(lines[3], "");
        assert_eq!(lines[5], "");
        assert_eq!(lines[6], "");
        assert!(lines[7].starts_with("optional int32 one = 1 [default = 5 "), "{}", lines[7]);
        assert!(!lines[7].contains(','), "{}", lines[7]);
        assert!(lines[8].contains(" deprecated = true];") && !lines[8].contains(','), "{}", lines[8]);
        assert!(lines[9].starts_with("optional .p.M next = 3  ") && !lines[9].contains('['), "{}", lines[9]);
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
        let places_lead_back = |edition: &Edition| {
            for word in ["one", "next", "more", "package"] {
                let (now, then) = (edition.text.find(word), SOURCE.find(word));
                assert_eq!(now.map(|at| edition.original(at)), then, "{word}");
            }
        };
        places_lead_back(&edition);
        assert_eq!(edition.text.len(), SOURCE.len() + 3 * LABEL.len());
        // So they do with more in the text.
        let mut edition = edition;
        let at = |word: &str| edition.text.find(word).expect("it is there");
        let more = vec![(at("next"), "more of it ".replace("more", "less")), (at("one"), "a ".to_owned())];
        edition.insert(more);
        assert!(
            edition.text.contains("int32 a one = 1") && edition.text.contains(".p.M less of it next = 3")
        );
        places_lead_back(&edition);
    }

    #[test]
    fn the_edition_2024_marks_symbols_and_imports_options() {
        let source = r#"edition = "2024";
import option "options.proto";
import "whole.proto";
local message A { export message B {} export enum E { X = 0; } local message = 1; export export = 2; }
export enum F { option features = { enum_type: CLOSED json_format: LEGACY_BEST_EFFORT }; Y = 1; }
"#;
        let edition = Edition::read(source).expect("it is one").expect("it is right");
        assert_eq!(edition.option_imports, ["options.proto"]);
        assert!(edition.text.contains("import        \"options.proto\";"), "{}", edition.text);
        assert!(
            edition.text.contains("      message A {        message B {}        enum E {"),
            "{}",
            edition.text
        );
        assert!(
            edition.text.contains("optional local message = 1; optional export export = 2;"),
            "{}",
            edition.text
        );
        let marked: Vec<_> = edition.visibility.iter().map(|(path, mark)| (path.join("."), *mark)).collect();
        let expected = [("A", Visibility::Local), ("A.B", Visibility::Export), ("A.E", Visibility::Export)];
        let expected = expected.into_iter().chain([("F", Visibility::Export)]);
        assert_eq!(marked, expected.map(|(path, mark)| (path.to_owned(), mark)).collect::<Vec<_>>());
        let features = edition.features[&vec!["F".to_owned()]];
        assert_eq!((features.enum_type, features.json_format), (2, 2));
    }

    #[test]
    fn others_are_left_alone_and_unknown_ones_refused() {
        assert!(Edition::read("syntax = \"proto3\"; message M {}").is_none());
        assert!(Edition::read("").is_none());
        let error = Edition::read("edition = \"2022\";").expect("it is one").expect_err("it is unknown");
        assert!(error.message.contains("edition 2022 is not supported"), "{}", error.message);
        for (edition, text, expected) in [
            ("2023", "import option \"a\";", "since edition 2024"),
            ("2024", "import weak \"a\";", "weak imports were removed"),
            ("2023", "option features.enforce_naming_style = STYLE2024;", "2023 has no feature"),
            ("2024", "option features.enforce_naming_style = STYLE2023;", "2024 has no feature"),
        ] {
            let error = Edition::read(&format!("edition = \"{edition}\"; {text}"));
            let error = error.expect("it is one").expect_err("it is wrong");
            assert!(error.message.contains(expected), "{}", error.message);
        }
        let error = Edition::read("edition = \"2023\"; option features.enum_type = AJAR;");
        assert!(error.expect("it is one").expect_err("it is wrong").message.contains("enum_type = AJAR"));
        // Text that ends early.
        for end in 0..SOURCE.len() {
            let _ = Edition::read(&SOURCE[..end]);
        }
    }
}
