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

/// The anchors of a page: one for each heading, as code hosts and mdBook make them, and those of HTML.
fn anchors(text: &str) -> Vec<String> {
    let mut anchors: Vec<String> = between(text, " id=\"", "\"").map(str::to_owned).collect();
    let mut fenced = false;
    for line in text.lines() {
        fenced ^= line.trim_start().starts_with("```");
        let Some(heading) = line.strip_prefix('#').filter(|_| !fenced) else { continue };
        // Of a link, only its text counts.
        let parts = heading.trim_start_matches('#').trim().split("](");
        let shown = parts.enumerate().map(|(at, part)| match at {
            0 => part,
            _ => part.split_once(')').map_or("", |(_, rest)| rest),
        });
        let kept = |c: &char| c.is_alphanumeric() || ['-', '_', ' '].contains(c);
        let slug = shown.collect::<String>().to_lowercase().chars().filter(kept).collect::<String>();
        let slug = slug.replace(' ', "-");
        let before = anchors.iter().filter(|a| **a == slug || a.starts_with(&format!("{slug}-"))).count();
        anchors.push(if anchors.contains(&slug) { format!("{slug}-{before}") } else { slug });
    }
    anchors
}

/// Links in Markdown, pictures in HTML, and inclusions. A link may name a heading of its target.
#[test]
fn links_and_inclusions_lead_somewhere() {
    let (mut checked, mut headings) = (0, 0);
    let mut read = Vec::new();
    for folder in ["", "docs/src", "examples", "spec", "bench"] {
        read.extend(pages(&repository().join(folder)));
    }
    for page in read {
        let text = std::fs::read_to_string(&page).unwrap();
        let folder = page.parent().unwrap();
        let prose = prose(&text);
        let links = between(&prose, "](", ")").chain(between(&prose, "src=\"", "\""));
        let links = links.chain(between(&prose, "srcset=\"", "\"")).filter(|l| !l.contains("://"));
        let included = between(&text, "{{#include ", "}}").map(|i| i.split(':').next().unwrap());
        for target in links.chain(included) {
            let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
            let path = if path.is_empty() { page.clone() } else { folder.join(path) };
            assert!(path.exists(), "{} links to {target}, which does not exist", page.display());
            if !anchor.is_empty() && path.extension().is_some_and(|e| e == "md") {
                let anchors = anchors(&std::fs::read_to_string(&path).unwrap());
                assert!(
                    anchors.iter().any(|a| a == anchor),
                    "{} links to {target}, which has no such heading",
                    page.display()
                );
                headings += 1;
            }
            checked += 1;
        }
    }
    assert!(checked > 100 && headings > 10, "only {checked} links and {headings} headings were found");
}

#[test]
fn anchors_are_those_of_code_hosts() {
    let text = "# One two\n```sh\n# no heading\n```\n## `a_b`, c-d!\n## [Link](x.md) (more)\n## One two\n";
    assert_eq!(anchors(text), ["one-two", "a_b-c-d", "link-more", "one-two-1"]);
}

/// The page has a section with this title for each check of `situ doctor`, and no other check.
#[test]
fn every_check_of_doctor_has_its_section() {
    let folder = repository().join("crates/situ-cli/src/doctor");
    let mut checks: Vec<String> = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        let product = text.split("#[cfg(test)]").next().unwrap();
        let squeezed: String = product.split_whitespace().collect::<Vec<_>>().join(" ").replace("( ", "(");
        for start in
            ["const NAME: &str = \"", "Check::ok(\"", "Check::warn(\"", "Check::fail(\"", " known(\""]
        {
            checks.extend(between(&squeezed, start, "\"").map(str::to_owned));
        }
    }
    checks.sort();
    checks.dedup();
    let page = std::fs::read_to_string(repository().join("docs/src/troubleshooting.md")).unwrap();
    let mut sections: Vec<&str> = page.lines().filter_map(|l| l.strip_prefix("### ")).collect();
    sections.sort();
    assert_eq!(sections, checks);
    for section in page.split("\n### ").skip(1) {
        let what = section.lines().next().unwrap();
        assert!(section.contains("*Found:*"), "{what} does not say what is found");
        assert!(section.contains("```sh\n"), "{what} does not say what to type");
    }
    // What the command reports here, however it builds its checks.
    let run = std::process::Command::new(env!("CARGO_BIN_EXE_situ")).args(["doctor", "--json"]).output();
    let report: serde_json::Value = serde_json::from_slice(&run.unwrap().stdout).unwrap();
    for check in report["checks"].as_array().unwrap() {
        let name = check["name"].as_str().unwrap();
        assert!(sections.contains(&name), "{name} has no section");
    }
}

/// Code in the book is a copy, so that the pages can be read without building the book. A comment before it
/// names its file, and where it is not the whole file, its first line or its part: the lines between the
/// comments `ANCHOR: NAME` and `ANCHOR_END: NAME`. With `SITU_BLESS=1` in the environment, the test writes
/// the copies.
#[test]
fn code_in_the_book_is_that_of_the_files() {
    const MARK: &str = "<!-- The code is that of ";
    let mut checked = 0;
    for page in pages(&repository().join("docs/src")) {
        let text = std::fs::read_to_string(&page).unwrap();
        assert!(
            !text.contains("{{#include"),
            "{}: copy the code, with a comment `{MARK}FILE. -->`",
            page.display()
        );
        let mut parts = text.split(MARK);
        let mut renewed = parts.next().unwrap().to_owned();
        for part in parts {
            let (source, rest) = part.split_once(". -->\n```").unwrap();
            let (file, name) = source.split_once(", part ").unwrap_or((source, ""));
            let (file, first) = file.split_once(" from line ").unwrap_or((file, "1"));
            let (language, rest) = rest.split_once('\n').unwrap();
            let (_, rest) = rest.split_once("\n```\n").unwrap();
            let code = std::fs::read_to_string(repository().join(file)).unwrap();
            let skipped = first.parse::<usize>().unwrap() - 1;
            let code = match name {
                "" => {
                    let lines = code.lines().skip(skipped);
                    // The comments that begin and end a part are for this test alone.
                    let shown = lines.filter(|line| !line.trim_start().starts_with("// ANCHOR"));
                    shown.collect::<Vec<_>>().join("\n")
                }
                _ => part_of(&code, name).unwrap_or_else(|| panic!("{file} has no part {name}")),
            };
            renewed.push_str(&format!("{MARK}{source}. -->\n```{language}\n{code}\n```\n{rest}"));
            checked += 1;
        }
        if std::env::var_os("SITU_BLESS").is_some() {
            std::fs::write(&page, &renewed).unwrap();
        } else {
            assert!(text == renewed, "{} has other code than its files: set SITU_BLESS=1", page.display());
        }
    }
    assert!(checked > 20, "only {checked} copies were found");
}

/// The lines between the comments that begin and end a part, without the indentation that all of them have.
fn part_of(code: &str, name: &str) -> Option<String> {
    let (_, from) = code.split_once(&format!(" ANCHOR: {name}\n"))?;
    let (part, _) = from.split_once(&format!(" ANCHOR_END: {name}\n"))?;
    let (part, _) = part.rsplit_once('\n')?;
    let filled = part.lines().filter(|line| !line.is_empty());
    let indented = filled.map(|line| line.len() - line.trim_start().len()).min()?;
    Some(part.lines().map(|line| line.get(indented..).unwrap_or("")).collect::<Vec<_>>().join("\n"))
}

#[test]
fn a_part_of_a_file_is_between_its_comments() {
    let code =
        "a\n  // ANCHOR: x\n    b\n\n      c\n  // ANCHOR_END: x\n  // ANCHOR: xy\nd\n// ANCHOR_END: xy\n";
    assert_eq!(part_of(code, "x").as_deref(), Some("b\n\n  c"));
    assert_eq!(part_of(code, "xy").as_deref(), Some("d"));
    assert_eq!(part_of(code, "y"), None);
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

/// The pictures are what `docs/figures.py` draws. Machines without Python skip the comparison.
#[test]
fn pictures_are_what_their_script_draws() {
    let script = repository().join("docs/figures.py");
    let run = std::process::Command::new("python3").arg(script).arg("--check").output();
    let Ok(run) = run else {
        eprintln!("SKIPPED: there is no python3 here");
        return;
    };
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
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
