#!/usr/bin/env bash
# Builds the API reference and, where mdbook is installed, the book.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh rust
[ ! -f "$HOME/.cargo/env" ] || . "$HOME/.cargo/env"
cargo doc --workspace --no-deps
echo "API reference: target/doc/situ/index.html"
if command -v mdbook >/dev/null 2>&1; then
  mdbook build docs --dest-dir "$PWD/build/book"
  echo "Book: build/book/index.html"
else
  echo "Book: plain Markdown in docs/src; for HTML, install mdbook (cargo install mdbook) and run this again"
fi
