#!/usr/bin/env python3
"""Draws the pictures of the book into docs/src/pictures: `docs/figures.py`. With --check it only compares them."""
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.dont_write_bytecode = True

from pictures import ideas, plots  # noqa: E402  (the folder beside this file)


def main() -> int:
    folder = HERE / "src" / "pictures"
    drawn = {**ideas.draw(), **plots.draw(HERE / "numbers.json")}
    if sys.argv[1:] == ["--check"]:
        found = {path.name: path.read_text() for path in folder.glob("*.svg")}
        wrong = sorted(name for name in drawn.keys() | found.keys() if drawn.get(name) != found.get(name))
        for name in wrong:
            print(f"docs/src/pictures/{name} is not what docs/figures.py draws: run it", file=sys.stderr)
        return 1 if wrong else 0
    folder.mkdir(exist_ok=True)
    for path in folder.glob("*.svg"):
        path.unlink()
    for name, text in drawn.items():
        (folder / name).write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
