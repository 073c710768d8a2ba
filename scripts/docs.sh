#!/usr/bin/env bash
# Builds the API reference and, with mdbook, the book.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh book
[ ! -f "$HOME/.cargo/env" ] || . "$HOME/.cargo/env"
cargo doc --workspace --no-deps
echo "API reference: target/doc/situ/index.html"
PATH=$PWD/build/tools/bin:$PATH
if command -v mdbook >/dev/null 2>&1; then
  mdbook build docs --dest-dir "$PWD/build/book"
  echo "Book: build/book/index.html"
else
  echo "Book: plain Markdown in docs/src; for pages, install mdbook (cargo install mdbook) and run this again"
fi
