//! The book and the pages at the top of the repository: links and inclusions resolve, and every chapter is
//! listed.

use std::path::{Path, PathBuf};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn pages(folder: &Path) -> Vec<PathBuf> {
    let mut pages: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "md"))
        .collect();
    pages.sort();
    pages
}

/// Returns the text without its code: drops every second part between backquotes.
fn prose(text: &str) -> String {
    text.split('`').step_by(2).collect()
}

/// Returns the texts between `open` and `close`.
fn between<'a>(text: &'a str, open: &'a str, close: &'a str) -> impl Iterator<Item = &'a str> {
    text.split(open).skip(1).filter_map(move |rest| rest.split(close).next())
}

#[test]
fn links_and_inclusions_lead_somewhere() {
    let mut checked = 0;
    for page in
        [pages(&repository()), pages(&repository().join("docs/src")), pages(&repository().join("examples"))]
            .concat()
    {
        let text = std::fs::read_to_string(&page).unwrap();
        let folder = page.parent().unwrap();
        let prose = prose(&text);
        let links = between(&prose, "](", ")").filter(|l| !l.contains("://") && !l.starts_with('#'));
        let included = between(&text, "{{#include ", "}}").map(|i| i.split(':').next().unwrap());
        for target in links.map(|l| l.split('#').next().unwrap()).chain(included) {
            assert!(
                folder.join(target).exists(),
                "{} links to {target}, which does not exist",
                page.display()
            );
            checked += 1;
        }
    }
    assert!(checked > 30, "only {checked} links were found");
}

#[test]
fn every_chapter_is_listed_once() {
    let folder = repository().join("docs/src");
    let summary = std::fs::read_to_string(folder.join("SUMMARY.md")).unwrap();
    for page in pages(&folder) {
        let name = page.file_name().unwrap().to_str().unwrap();
        let listed = summary.matches(&format!("]({name})")).count();
        assert_eq!(listed, usize::from(name != "SUMMARY.md"), "{name} in SUMMARY.md");
    }
}

/// The map of the repository names exactly the existing folders.
#[test]
fn the_map_is_the_folder_tree() {
    let map = std::fs::read_to_string(repository().join("CONTRIBUTING.md")).unwrap();
    let named: Vec<&str> = map
        .lines()
        .filter_map(|l| l.strip_prefix("| `")?.split('`').next())
        .map(|n| n.trim_end_matches('/'))
        .collect();
    for name in &named {
        assert!(repository().join(name).is_dir(), "the map names {name}, which does not exist");
    }
    let hidden = |n: &str| n.starts_with('.') || ["target", "build"].contains(&n);
    let folders = |path: &Path| -> Vec<String> {
        let entries = std::fs::read_dir(path).unwrap().map(|e| e.unwrap());
        entries.filter(|e| e.path().is_dir()).map(|e| e.file_name().into_string().unwrap()).collect()
    };
    for folder in folders(&repository()).into_iter().filter(|f| !hidden(f) && f != "crates") {
        assert!(named.contains(&folder.as_str()), "the map does not name {folder}/");
    }
    for room in folders(&repository().join("crates")) {
        assert!(named.contains(&format!("crates/{room}").as_str()), "the map does not name crates/{room}");
    }
}

/// The rows of promises in SECURITY.md name their tests, and those tests exist.
#[test]
fn every_promise_of_security_has_its_test() {
    let text = std::fs::read_to_string(repository().join("SECURITY.md")).unwrap();
    let mut shown = 0;
    let (mut promises, mut files) = (false, Vec::new());
    for line in text.lines() {
        promises = line.starts_with('|') && (promises || line.starts_with("| promise | shown by |"));
        if !promises || line.starts_with("| promise |") || line.starts_with("|---") {
            continue;
        }
        let (_, evidence) = line.trim_end_matches(" |").rsplit_once(" | ").unwrap();
        if evidence.starts_with("by construction") {
            continue;
        }
        let before = shown;
        for code in evidence.split('`').skip(1).step_by(2) {
            if code.contains('/') {
                let source = std::fs::read_to_string(repository().join(code));
                files.push(source.unwrap_or_else(|_| panic!("{code} does not exist")));
            } else {
                let source = files.last().expect("a test is named behind its file");
                assert!(source.contains(&format!("fn {code}()")), "{code} is not a test of its file: {line}");
                shown += 1;
            }
        }
        assert!(shown > before, "no test is named for {line}");
    }
    assert!(shown > 20, "only {shown} tests are named");
}
