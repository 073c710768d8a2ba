//! The domain of `own-domain/anonymous.rs` is held to what every domain must do, and the book to its code.

#[path = "../own-domain/anonymous.rs"]
mod anonymous;
#[macro_use]
#[path = "../../crates/situ-memory/tests/conformance/suite.rs"]
mod suite;

use std::sync::Arc;

use anonymous::AnonymousDomain;

conformance!(anonymous_memory, || Ok(Arc::new(AnonymousDomain)));

/// A piece of code without what differs by where it stands.
fn plain(code: &str) -> String {
    code.lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && *line != "// …")
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn the_book_shows_the_code_as_it_is() {
    let page = include_str!("../../docs/src/your-own-domain.md");
    let code =
        plain(include_str!("../own-domain/anonymous.rs")) + "\n" + &plain(include_str!("own_domain.rs"));
    let blocks: Vec<&str> =
        page.split("```rust").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(blocks.len() >= 4, "the page shows code");
    for block in blocks {
        for piece in block.split("// …") {
            let piece = piece.split_once('\n').map_or(piece, |(_, piece)| piece);
            assert!(code.contains(&plain(piece)), "not in the example:\n{piece}");
        }
    }
}
