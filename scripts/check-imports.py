#!/usr/bin/env python3
"""Refuses circles of imports: a source file that, by way of others, imports itself.

    scripts/check-imports.py                 checks every crate, with python/ and bench/, and the C++ headers
    scripts/check-imports.py crates/situ-bus checks one

In Rust, an import is a `use` of `crate::`, `self::` or `super::`, or a path `crate::a::b` in code, and leads to the file of
the longest part of the path that is a module. A parent does not import the children that it declares or re-exports, and
tests may import anything. In C and C++, an import is an `#include` of a header below the same folder. A circle means that
none of its files can be understood, tested or moved without all others; responsibility has to move to cut it.
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def split_tree(tree):
    """The paths of a `use` tree: `a::{b, c::{d, e}}` gives a::b, a::c::d, a::c::e, each as a list."""
    tree = tree.strip()
    brace = tree.find("{")
    if brace < 0:
        path = re.split(r"\s+as\s+", tree)[0]
        return [[part.strip() for part in path.split("::") if part.strip()]]
    head = [part.strip() for part in tree[:brace].split("::") if part.strip()]
    inner, depth, part, parts = tree[brace + 1 : tree.rfind("}")], 0, "", []
    for char in inner + ",":
        if char == "," and depth == 0:
            parts.append(part)
            part = ""
            continue
        depth += (char == "{") - (char == "}")
        part += char
    return [head + path for part in parts if part.strip() for path in split_tree(part)]


def rust_imports(crate):
    """The imports among the files of a crate: {file: {file}}."""
    source = crate / "src"
    files = {}
    for file in source.rglob("*.rs"):
        relative = file.relative_to(source)
        if file.name == "tests.rs" or "generated" in relative.parts:
            continue
        module = list(relative.with_suffix("").parts)
        if module[-1] in ("mod", "lib", "main"):
            module.pop()
        files[tuple(module)] = file

    def file_of(path):
        return next((files[tuple(path[:n])] for n in range(len(path), 0, -1) if tuple(path[:n]) in files), None)

    imports = {}
    for module, file in files.items():
        text = re.sub(r"//[^\n]*", "", re.split(r"#\[cfg\((?:all\()?test", file.read_text())[0])
        is_parent = file.name in ("mod.rs", "lib.rs") or file.with_suffix("").is_dir()
        use = re.compile(r"^[ \t]*(pub(?:\([^)]*\))?\s+)?use\s+([^;]+);", re.M)
        paths = [path for public, tree in use.findall(text) if not (public and is_parent) for path in split_tree(tree)]
        paths += [path.split("::") for path in re.findall(r"\bcrate(?:::\w+)+", use.sub("", text))]
        found = imports.setdefault(file, set())
        for path in paths:
            supers = next((n for n, part in enumerate(path) if part != "super"), len(path))
            if path[:1] == ["crate"]:
                target = path[1:]
            elif path[:1] == ["self"]:
                target = [*module, *path[1:]]
            elif supers:
                target = [*module[: len(module) - supers], *path[supers:]]
            else:
                continue
            reached = file_of(target)
            if reached and reached != file:
                found.add(reached)
    return imports


def header_imports(folder):
    """The includes among the headers below a folder: {file: {file}}."""
    headers = {file.resolve() for pattern in ("*.h", "*.hpp") for file in folder.rglob(pattern)}
    include = re.compile(r'^\s*#\s*include\s+[<"]([^>"]+)[>"]', re.M)
    imports = {}
    for file in headers:
        found = imports.setdefault(file, set())
        for name in include.findall(file.read_text()):
            reached = {(file.parent / name).resolve(), (folder / name).resolve()} & headers
            found |= reached - {file}
    return imports


def shortest_circle(imports, start):
    """The shortest way from a file back to itself, or None."""
    ways, seen = [[start]], {start}
    while ways:
        following = []
        for way in ways:
            for reached in sorted(imports.get(way[-1], ())):
                if reached == start:
                    return [*way, start]
                if reached not in seen:
                    seen.add(reached)
                    following.append([*way, reached])
        ways = following
    return None


def check(folder):
    """Prints the shortest circle through each file that lies in one and in none printed before; returns their number."""
    is_crate = (folder / "src").is_dir()
    imports = rust_imports(folder) if is_crate else header_imports(folder)
    printed, circles = set(), 0
    for way in sorted((way for file in imports if (way := shortest_circle(imports, file))), key=lambda way: (len(way), way)):
        if printed.isdisjoint(way):
            circles += 1
            names = " -> ".join(str(file.relative_to(folder.resolve())) for file in way)
            print(f"{folder.relative_to(ROOT)}: {names}")
        printed.update(way)
    return circles


def main():
    named = [Path(name).resolve() for name in sys.argv[1:]]
    manifests = ("crates/*/Cargo.toml", "python/Cargo.toml", "bench/Cargo.toml", "bench/*/Cargo.toml")
    crates = sorted(file.parent for pattern in manifests for file in ROOT.glob(pattern))
    everything = [*crates, ROOT / "cpp/include"]
    circles = sum(check(folder) for folder in named or everything)
    if circles:
        print(f"imports: {circles} circles; move what two files share to a file below both")
    return 1 if circles else 0


if __name__ == "__main__":
    sys.exit(main())
