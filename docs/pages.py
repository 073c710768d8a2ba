#!/usr/bin/env python3
"""Prepares the book for mdBook, and checks the pages that mdBook made.

docs/pages.py prepare FOLDER   copies the chapters, spec/ and every file that they link to, in the repository's layout,
                               so that all links of the sources also hold in the book
docs/pages.py check FOLDER     fails if a link or a picture of a page leads nowhere, anchors included
"""
import html.parser
import pathlib
import re
import shutil
import subprocess
import sys
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Pages beside the chapters: the heading in the table of contents, and the files.
BESIDE = [
    ("Formats", [*sorted(ROOT.glob("spec/*.md")), *sorted(ROOT.glob("spec/vectors/**/README.md"))]),
    ("The repository", [ROOT / name for name in (
        "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "examples/README.md", "bench/README.md")]),
]
LINK = re.compile(r"\]\(([^)\s]+)\)|(?:src|srcset|href)=\"([^\"]+)\"|\{\{#include ([^}:]+)")


def title(page):
    return next(line[2:] for line in page.read_text().splitlines() if line.startswith("# ")).replace("`", "")


def copy(path, folder):
    """Copies a file or, of a folder, the files that git knows."""
    files = [path] if path.is_file() else [
        ROOT / name for name in subprocess.run(
            ["git", "ls-files", "--", str(path)], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()]
    for file in files:
        target = folder / file.relative_to(ROOT)
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, target)


def prepare(folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    summary = (ROOT / "docs/src/SUMMARY.md").read_text()
    contents = re.sub(r"\]\(([^)]+)\)", r"](docs/src/\1)", summary)
    for heading, pages in BESIDE:
        contents += f"\n# {heading}\n\n" + "".join(f"- [{title(page)}]({page.relative_to(ROOT)})\n" for page in pages)
    (folder / "SUMMARY.md").write_text(contents)
    chapters = [*(ROOT / "docs/src").glob("*.md"), *(page for _, pages in BESIDE for page in pages)]
    for page in chapters:
        if page.name == "SUMMARY.md":
            continue
        copy(page, folder)
        for groups in LINK.findall(page.read_text()):
            link = urllib.parse.unquote(next(filter(None, groups))).split("#")[0]
            target = (page.parent / link).resolve()
            if link and "://" not in link and target.is_relative_to(ROOT) and target.exists():
                copy(target, folder)
                # mdBook renames these chapters.
                if target in chapters and target.name == "README.md":
                    copied = folder / page.relative_to(ROOT)
                    text = copied.read_text().replace(f"]({link}", f"]({link[:-len('README.md')]}index.md")
                    copied.write_text(text)
    for name in ("book.toml", "wide.css"):
        shutil.copy(ROOT / "docs" / name, folder)


class Page(html.parser.HTMLParser):
    """The anchors and links of a page."""

    def __init__(self, path):
        super().__init__()
        self.ids, self.links = set(), []
        self.feed(path.read_text())

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.ids.update(filter(None, (attrs.get("id"), attrs.get("name"))))
        for name in ("href", "src", "srcset"):
            if attrs.get(name) and tag != "base":
                self.links.append(attrs[name])


def check(folder):
    # The print page has all chapters in one, and the page for errors is shown at any address.
    paths = [path for path in folder.rglob("*.html") if path.name not in ("print.html", "404.html", "toc.html")]
    pages = {path.resolve(): Page(path) for path in paths}
    wrong, checked = [], 0
    for path, page in pages.items():
        for link in page.links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else path
            known = pages.get(target)
            checked += 1
            if not target.exists():
                wrong.append(f"{path.relative_to(folder.resolve())}: {link} does not exist")
            elif parts.fragment and known and urllib.parse.unquote(parts.fragment) not in known.ids:
                wrong.append(f"{path.relative_to(folder.resolve())}: {link} has no such anchor")
    print("\n".join(sorted(set(wrong))), file=sys.stderr, end="\n" if wrong else "")
    print(f"Book: {len(pages)} pages, {checked} links, {len(set(wrong))} of them wrong")
    return 1 if wrong or not checked else 0


if __name__ == "__main__":
    what, where = sys.argv[1], pathlib.Path(sys.argv[2])
    sys.exit(prepare(where) if what == "prepare" else check(where))
