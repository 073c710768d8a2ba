#!/usr/bin/env bash
# Builds the API references (Rust, C++ and C) and the book, and checks the links of the book.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh reference book
[ ! -f "$HOME/.cargo/env" ] || . "$HOME/.cargo/env"
RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps
echo "Rust: target/doc/situ/index.html"

# Members of a class may go without text, as those that the standard containers have. All else is an error.
rm -rf build/cpp-reference
mkdir -p build/cpp-reference
doxygen docs/Doxyfile 2>build/cpp-reference/warnings.txt
if grep -vE 'Member .* of (class|struct|union|namespace situ::protobuf::kind).* is not documented' build/cpp-reference/warnings.txt; then
  echo "docs: Doxygen reports the above" >&2
  exit 1
fi
echo "C++ and C: build/cpp-reference/index.html"

PATH=$PWD/build/tools/bin:$PATH
if command -v mdbook >/dev/null 2>&1; then
  docs/pages.py prepare build/book-sources
  rm -rf build/book
  mdbook build build/book-sources --dest-dir "$PWD/build/book"
  # The pages lie as in the repository; the first one is the front page.
  echo '<!DOCTYPE html><meta http-equiv="refresh" content="0; url=docs/src/index.html">' >build/book/index.html
  docs/pages.py check build/book
  echo "Book: build/book/index.html"
else
  echo "Book: plain Markdown in docs/src; for pages, install mdbook (cargo install mdbook) and run this again"
fi
