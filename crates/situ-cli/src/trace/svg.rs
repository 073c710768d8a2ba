//! What pictures of traces share: text that fits, and colours.

/// The width of a letter of a slice's label, in pixels.
pub const LETTER: f64 = 5.9;

const COLOURS: [&str; 10] = [
    "#8ecae6", "#ffcb77", "#b7e4c7", "#f7b2ad", "#cdb4db", "#a9def9", "#e4c1f9", "#d0f4de", "#fcf6bd",
    "#ffd6a5",
];

/// Escapes text for XML.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            // XML does not allow these characters at all.
            letter if letter.is_control() => escaped.push('\u{fffd}'),
            letter => escaped.push(letter),
        }
    }
    escaped
}

/// Returns the part of a text that fits into `width` pixels.
pub fn fit(text: &str, width: f64, letter: f64) -> String {
    let most = (width / letter).max(0.0) as usize;
    match text.chars().count() {
        count if count <= most => escape(text),
        _ if most < 3 => String::new(),
        _ => escape(&text.chars().take(most - 1).chain(['…']).collect::<String>()),
    }
}

/// Returns a colour that depends only on the name (FNV-1a).
pub fn colour(name: &str) -> &'static str {
    let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    COLOURS[(hash >> 32) as usize % COLOURS.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped_and_shortened() {
        assert_eq!(escape("a<b>&\"c\"\u{1}"), "a&lt;b&gt;&amp;&quot;c&quot;\u{fffd}");
        assert_eq!(fit("publish lidar", 80.0, 5.0), "publish lidar");
        assert_eq!(fit("publish lidar", 40.0, 5.0), "publish…");
        assert_eq!(fit("publish", 10.0, 5.0), "");
    }
}
